/* The table of a comparison (harness/verdict/verdicts_json.c has the document): a row a case, below it what
 * else was found. */
#include <math.h>
#include <string.h>

#include "reporters/table.h"
#include "reporters/text_out.h"

enum {
  CELL = 96,
  COUNT = 5,
  HISTORY_COUNT = 11,
  TIME = 10 /* a column's width; its title has one byte more than characters */
};
static const double ns_per_us = 1e3, percent = 100;

static void put_line(FILE *out, const char *text) { tb_put_text(out, text, tb_escape_line); }

static void put_origin(const cJSON *document, const char *side, FILE *out) {
  fprintf(out, "%s: ", side);
  tb_put_origin(out, document, side, put_line);
  fputc('\n', out);
}

static int longest_id(const cJSON *cases) {
  const cJSON *one;
  int longest = 0;
  cJSON_ArrayForEach(one, cases) {
    const int length = tb_screen_width(tb_doc_text(one, "id", "?"));
    if (length > longest) longest = length;
  }
  return longest;
}

static void put_time(double ns, FILE *out) {
  char text[CELL];
  tb_format3(ns / ns_per_us, text, sizeof text);
  if (isnan(ns))
    fprintf(out, "  %*s", TIME, "-");
  else
    fprintf(out, "  %*s", TIME, text);
}

static const char *colour_of(const char *verdict) {
  if (!strcmp(verdict, "SLOWER")) return "\033[31m";
  if (!strcmp(verdict, "FASTER")) return "\033[32m";
  return !strcmp(verdict, "UNSURE") ? "\033[33m" : "";
}

/* What a verdict rests on: pairs of processes, or points of a history, which say so. */
static void put_count(const cJSON *one, bool of_history, FILE *out) {
  const double points = tb_doc_number(one, "time.points"), pairs = tb_doc_number(one, "time.pairs");
  const int width = of_history ? HISTORY_COUNT : COUNT;
  char text[CELL] = "-";
  if (!isnan(points))
    snprintf(text, sizeof text, "%.0f point%s", points, points == 1 ? "" : "s");
  else if (!isnan(pairs))
    snprintf(text, sizeof text, of_history ? "%.0f pairs" : "%.0f", pairs);
  fprintf(out, "  %*s", width, text);
}

static bool is_of_history(const cJSON *cases) {
  const cJSON *one;
  cJSON_ArrayForEach(one, cases)
    if (!isnan(tb_doc_number(one, "time.points"))) return true;
  return false;
}

static void put_row(const cJSON *one, int width, bool of_history, const struct tb_report_options *options,
                    FILE *out) {
  char text[CELL];
  const char *id = tb_doc_text(one, "id", "?");
  put_line(out, id);
  fprintf(out, "%*s", width - tb_screen_width(id), "");
  put_time(tb_doc_number(one, "base_ns"), out);
  put_time(tb_doc_number(one, "head_ns"), out);
  const double ratio = tb_doc_number(one, "time.ratio"), lo = tb_doc_number(one, "time.lo"),
               hi = tb_doc_number(one, "time.hi");
  if (isnan(ratio))
    snprintf(text, sizeof text, "-");
  else if (isnan(lo))
    snprintf(text, sizeof text, "%.3f", ratio);
  else
    snprintf(text, sizeof text, "%.3f [%.3f, %.3f]", ratio, lo, hi);
  fprintf(out, "  %21s", text);
  const double floor = tb_doc_number(one, "time.floor");
  if (isnan(floor))
    fprintf(out, "  %6s", "-");
  else
    fprintf(out, "  %5.2f%%", floor * percent);
  put_count(one, of_history, out);
  const char *verdict = tb_comparison_verdict(one);
  const char *colour = options->colour ? colour_of(verdict) : "";
  fprintf(out, "  %s", colour);
  put_line(out, verdict);
  fputs(*colour ? "\033[0m" : "", out);
  if (cJSON_IsTrue(tb_doc_at(one, "confirmed"))) fputs(", confirmed by fresh pairs", out);
  if (cJSON_IsTrue(tb_doc_at(one, "control"))) fputs(" (control: same artifact, same program)", out);
  fputc('\n', out);
}

static void put_side(const cJSON *attribution, const char *name, const char *words, FILE *out) {
  const cJSON *d = tb_doc_at(attribution, name);
  const double ratio = tb_doc_number(d, "ratio"), lo = tb_doc_number(d, "lo"), hi = tb_doc_number(d, "hi");
  fprintf(out, "    %s: ", words);
  if (!isnan(ratio) && !isnan(lo) && !isnan(hi)) fprintf(out, "%.3f [%.3f, %.3f] ", ratio, lo, hi);
  put_line(out, tb_doc_text(d, "verdict", "?"));
  fputc('\n', out);
}

static void put_indented(FILE *out, const char *before, const char *text) {
  fprintf(out, "    %s", before);
  put_line(out, text);
  fputc('\n', out);
}

static void put_findings(const cJSON *one, const struct tb_report_options *options, FILE *out) {
  const cJSON *finding, *attribution = tb_doc_at(one, "attribution");
  const char *problem = tb_doc_text(one, "problem", NULL);
  const char *basis = tb_doc_text(one, "basis", NULL);
  if (problem) put_indented(out, "", problem);
  if (basis && options->verbose) put_indented(out, "against ", basis);
  cJSON_ArrayForEach(finding, tb_doc_at(one, "exact"))
    if (options->verbose || strcmp(tb_doc_text(finding, "outcome", ""), "same"))
      put_indented(out, "", tb_doc_text(finding, "line", "?"));
  if (!cJSON_IsObject(attribution)) return;
  const char *why = tb_doc_text(attribution, "why_not", NULL);
  if (why) {
    put_indented(out, "compiler's output or runtime: ", why);
    return;
  }
  put_side(attribution, "artifact", "head's compiler output on base's runtime / base", out);
  put_side(attribution, "runtime", "base's compiler output on head's runtime / base", out);
}

static void put_lines(FILE *out, const cJSON *texts) {
  const cJSON *text;
  cJSON_ArrayForEach(text, texts) {
    put_line(out, cJSON_IsString(text) ? text->valuestring : "?");
    fputc('\n', out);
  }
}

/* Cases of ab may end early: their intervals are wider than the head of the column says, so that it holds
 * whenever they end. */
static void put_levels(const cJSON *cases, FILE *out) {
  static const double level = 0.95, close = 1e-9;
  double most = level;
  const cJSON *one;
  cJSON_ArrayForEach(one, cases)
    most = fmax(most, tb_doc_at(one, "time.confidence") ? tb_doc_number(one, "time.confidence") : level);
  if (most > level + close)
    fprintf(
        out,
        "intervals of cases that ended early are made at up to %.4g%%, so that 95%% hold whenever one ends\n",
        most * percent);
}

bool tb_report_comparison(const cJSON *document, const struct tb_report_options *options, FILE *out) {
  const cJSON *cases = tb_doc_at(document, "cases"), *one;
  const int width = longest_id(cases);
  put_origin(document, "base", out);
  put_origin(document, "head", out);
  const bool of_history = is_of_history(cases);
  fprintf(out, "\n%-*s  %*s  %*s  %21s  %6s  %*s  verdict\n", width, "case", TIME + 1, "base (µs)", TIME + 1,
          "head (µs)", "head/base [95%]", "floor", of_history ? HISTORY_COUNT : COUNT,
          of_history ? "rests on" : "pairs");
  cJSON_ArrayForEach(one, cases) {
    put_row(one, width, of_history, options, out);
    put_findings(one, options, out);
  }
  fputc('\n', out);
  put_levels(cases, out);
  put_lines(out, tb_doc_at(document, "remarks"));
  put_lines(out, tb_doc_at(document, "problems"));
  tb_put_verdicts(out, document);
  fputs(" · ", out);
  put_line(out, tb_doc_text(document, "meaning", ""));
  if (options->result_path) fprintf(out, " · %s", options->result_path);
  fputc('\n', out);
  return !ferror(out);
}
