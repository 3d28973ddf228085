/* The table of a comparison (harness/verdicts_json.c has the document): a row a case, below it what else was found. */
#include <math.h>
#include <string.h>

#include "reporters/reporter.h"

enum { CELL = 96, TIME = 10 /* a column's width; its title has one byte more than characters */ };
static const double ns_per_us = 1e3, percent = 100;

static void put_origin(const cJSON *document, const char *side, FILE *out) {
  char path[CELL];
  snprintf(path, sizeof path, "%s.what", side);
  fprintf(out, "%s: %s", side, tb_doc_text(document, path, "?"));
  snprintf(path, sizeof path, "%s.commit", side);
  const char *commit = tb_doc_text(document, path, NULL);
  snprintf(path, sizeof path, "%s.started", side);
  const char *started = tb_doc_text(document, path, NULL);
  fprintf(out, "%s%s%s%s\n", commit ? " · " : "", commit ? commit : "", started ? " · " : "", started ? started : "");
}

static int longest_id(const cJSON *cases) {
  const cJSON *one;
  int longest = 0;
  cJSON_ArrayForEach(one, cases) {
    const int length = (int)strlen(tb_doc_text(one, "id", "?"));
    if (length > longest) longest = length;
  }
  return longest;
}

static void put_time(double ns, FILE *out) {
  char text[CELL];
  tb_format3(ns / ns_per_us, text, sizeof text);
  if (isnan(ns)) fprintf(out, "  %*s", TIME, "-");
  else fprintf(out, "  %*s", TIME, text);
}

static const char *colour_of(const char *verdict) {
  if (!strcmp(verdict, "SLOWER")) return "\033[31m";
  if (!strcmp(verdict, "FASTER")) return "\033[32m";
  return !strcmp(verdict, "UNSURE") ? "\033[33m" : "";
}

static void put_verdict(const cJSON *one, const struct tb_report_options *options, FILE *out) {
  const char *verdict = tb_doc_text(one, "time.verdict", tb_doc_text(one, "presence", "?"));
  const char *colour = options->colour ? colour_of(verdict) : "";
  fprintf(out, "  %s%s%s", colour, verdict, *colour ? "\033[0m" : "");
  if (cJSON_IsTrue(tb_doc_at(one, "confirmed"))) fputs(", confirmed by fresh pairs", out);
  if (cJSON_IsTrue(tb_doc_at(one, "control"))) fputs(" (control: same artifact, same program)", out);
}

static void put_row(const cJSON *one, int width, const struct tb_report_options *options, FILE *out) {
  char text[CELL];
  fprintf(out, "%-*s", width, tb_doc_text(one, "id", "?"));
  put_time(tb_doc_number(one, "base_ns"), out);
  put_time(tb_doc_number(one, "head_ns"), out);
  const double ratio = tb_doc_number(one, "time.ratio"), lo = tb_doc_number(one, "time.lo"), hi = tb_doc_number(one, "time.hi");
  if (isnan(ratio)) snprintf(text, sizeof text, "-");
  else if (isnan(lo)) snprintf(text, sizeof text, "%.3f", ratio);
  else snprintf(text, sizeof text, "%.3f [%.3f, %.3f]", ratio, lo, hi);
  fprintf(out, "  %21s", text);
  const double floor = tb_doc_number(one, "time.floor"), pairs = tb_doc_number(one, "time.pairs");
  if (isnan(floor)) fprintf(out, "  %6s", "-");
  else fprintf(out, "  %5.2f%%", floor * percent);
  if (isnan(pairs)) fprintf(out, "  %5s", "-");
  else fprintf(out, "  %5.0f", pairs);
  put_verdict(one, options, out);
  fputc('\n', out);
}

static void put_side(const cJSON *attribution, const char *name, const char *words, FILE *out) {
  const cJSON *d = tb_doc_at(attribution, name);
  fprintf(out, "    %s: %.3f [%.3f, %.3f] %s\n", words, tb_doc_number(d, "ratio"), tb_doc_number(d, "lo"), tb_doc_number(d, "hi"), tb_doc_text(d, "verdict", "?"));
}

static void put_findings(const cJSON *one, const struct tb_report_options *options, FILE *out) {
  const cJSON *finding, *attribution = tb_doc_at(one, "attribution");
  const char *problem = tb_doc_text(one, "problem", NULL);
  const char *basis = tb_doc_text(one, "basis", NULL);
  if (problem) fprintf(out, "    %s\n", problem);
  if (basis && options->verbose) fprintf(out, "    against %s\n", basis);
  cJSON_ArrayForEach(finding, tb_doc_at(one, "exact"))
    if (options->verbose || strcmp(tb_doc_text(finding, "outcome", ""), "same")) fprintf(out, "    %s\n", tb_doc_text(finding, "line", "?"));
  if (!cJSON_IsObject(attribution)) return;
  const char *why = tb_doc_text(attribution, "why_not", NULL);
  if (why) {
    fprintf(out, "    compiler's output or runtime: %s\n", why);
    return;
  }
  put_side(attribution, "artifact", "head's compiler output on base's runtime / base", out);
  put_side(attribution, "runtime", "base's compiler output on head's runtime / base", out);
}

static void put_counts(const cJSON *document, FILE *out) {
  static const char *const verdicts[] = {"FASTER", "SLOWER", "SAME", "UNSURE"};
  const cJSON *one;
  const char *separator = "";
  int others = 0;
  for (size_t v = 0; v < sizeof verdicts / sizeof *verdicts; v++) {
    int count = 0;
    cJSON_ArrayForEach(one, tb_doc_at(document, "cases")) count += !strcmp(tb_doc_text(one, "time.verdict", ""), verdicts[v]);
    if (!count) continue;
    fprintf(out, "%s%d %s", separator, count, verdicts[v]);
    separator = " · ";
  }
  cJSON_ArrayForEach(one, tb_doc_at(document, "cases")) others += !tb_doc_at(one, "time.verdict");
  if (others) fprintf(out, "%s%d without a verdict", separator, others);
  else if (!*separator) fputs("no cases", out);
}

bool tb_report_comparison(const cJSON *document, const struct tb_report_options *options, FILE *out) {
  const cJSON *cases = tb_doc_at(document, "cases"), *one;
  const int width = longest_id(cases);
  put_origin(document, "base", out);
  put_origin(document, "head", out);
  fprintf(out, "\n%-*s  %*s  %*s  %21s  %6s  %5s  verdict\n", width, "case", TIME + 1, "base (µs)", TIME + 1, "head (µs)", "head/base [95%]", "floor", "pairs");
  cJSON_ArrayForEach(one, cases) {
    put_row(one, width, options, out);
    put_findings(one, options, out);
  }
  fputc('\n', out);
  cJSON_ArrayForEach(one, tb_doc_at(document, "remarks")) fprintf(out, "%s\n", cJSON_IsString(one) ? one->valuestring : "?");
  cJSON_ArrayForEach(one, tb_doc_at(document, "problems")) fprintf(out, "%s\n", cJSON_IsString(one) ? one->valuestring : "?");
  put_counts(document, out);
  const char *meaning = tb_doc_text(document, "meaning", NULL);
  fprintf(out, " · %s", meaning ? meaning : "");
  if (options->result_path) fprintf(out, " · %s", options->result_path);
  fputc('\n', out);
  return !ferror(out);
}
