/* The page of comparisons: the verdict, what moved, ranked, then all cases and what else was found. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reporters/html/html.h"

enum { REASON = 512 };
static const double ns_per_us = 1e3, percent = 100;

static void put_time(FILE *out, double ns) {
  char text[TB_CELL];
  tb_format3(isfinite(ns) ? ns / ns_per_us : NAN, text, sizeof text);
  fprintf(out, "<td>%s</td>", text);
}

static void put_verdict(FILE *out, const cJSON *one) {
  static const char *const known[] = {"SLOWER", "FASTER", "UNSURE"};
  const char *verdict = tb_comparison_verdict(one), *class = "";
  char reason[REASON];
  tb_comparison_reason(one, reason, sizeof reason);
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (!strcmp(verdict, known[i])) class = known[i];
  fprintf(out, "<td class=\"text\"><span class=\"%s\">", class);
  tb_html_text(out, verdict);
  fputs("</span>", out);
  if (cJSON_IsTrue(tb_doc_at(one, "confirmed"))) fputs(", confirmed by fresh pairs", out);
  if (cJSON_IsTrue(tb_doc_at(one, "control"))) fputs(", a control: same artifact, same program", out);
  if (*reason) fputs(": ", out);
  tb_html_text(out, reason);
  fputs("</td>", out);
}

static void put_row(FILE *out, const cJSON *one, const struct tb_html_range *range) {
  char interval[TB_CELL];
  const double floor = tb_doc_number(one, "time.floor");
  tb_comparison_interval(one, interval);
  fputs("<tr><td class=\"l id\">", out);
  tb_html_text(out, tb_doc_text(one, "id", "?"));
  fputs("</td>", out);
  put_verdict(out, one);
  fprintf(out, "<td>%s</td><td class=\"s0\">", interval);
  tb_html_interval(out, one, range);
  fputs("</td>", out);
  put_time(out, tb_doc_number(one, "base_ns"));
  put_time(out, tb_doc_number(one, "head_ns"));
  if (isfinite(floor))
    fprintf(out, "<td>±%.2f%%</td>", floor * percent);
  else
    fputs("<td>–</td>", out);
  fputs("</tr>\n", out);
}

static void put_table(FILE *out, const struct tb_ranked *ranked, int count) {
  struct tb_html_range range = {0, 0};
  for (int i = 0; i < count; i++) tb_html_range_add(&range, ranked[i].one);
  fputs("<div class=\"scroll\" tabindex=\"0\"><table>\n<thead><tr><th scope=\"col\" class=\"l\">case</th><th "
        "scope=\"col\" class=\"l\">verdict</th>"
        "<th scope=\"col\">head/base [95%]</th><th scope=\"col\" class=\"l\">around 1</th><th "
        "scope=\"col\">base<br>(µs)</th><th scope=\"col\">head<br>(µs)</th>"
        "<th scope=\"col\">floor</th></tr></thead>\n<tbody>\n",
        out);
  for (int i = 0; i < count; i++) put_row(out, ranked[i].one, &range);
  fputs("</tbody></table></div>\n", out);
}

static void put_list(FILE *out, const cJSON *texts, const char *class) {
  const cJSON *text;
  if (!cJSON_GetArraySize(texts)) return;
  fprintf(out, "<ul class=\"%s\">\n", class);
  cJSON_ArrayForEach(text, texts) {
    fputs("<li>", out);
    tb_html_text(out, cJSON_IsString(text) ? text->valuestring : "?");
    fputs("</li>\n", out);
  }
  fputs("</ul>\n", out);
}

static void put_side(FILE *out, const cJSON *attribution, const char *side, const char *words) {
  const cJSON *d = tb_doc_at(attribution, side);
  const double ratio = tb_doc_number(d, "ratio"), lo = tb_doc_number(d, "lo"), hi = tb_doc_number(d, "hi");
  if (!isfinite(ratio) || !isfinite(lo) || !isfinite(hi)) return;
  fprintf(out, "<li>%s: %.3f [%.3f, %.3f] ", words, ratio, lo, hi);
  tb_html_text(out, tb_doc_text(d, "verdict", "?"));
  fputs("</li>\n", out);
}

static void put_findings(FILE *out, const cJSON *one) {
  const cJSON *finding, *attribution = tb_doc_at(one, "attribution");
  const char *problem = tb_doc_text(one, "problem", NULL);
  bool any = problem || cJSON_IsObject(attribution);
  cJSON_ArrayForEach(finding, tb_doc_at(one, "exact"))
    any |= strcmp(tb_doc_text(finding, "outcome", ""), "same") != 0;
  if (!any) return;
  fputs("<li><code>", out);
  tb_html_text(out, tb_doc_text(one, "id", "?"));
  fputs("</code><ul>\n", out);
  if (problem) fputs("<li>", out), tb_html_text(out, problem), fputs("</li>\n", out);
  cJSON_ArrayForEach(finding, tb_doc_at(one, "exact")) {
    if (!strcmp(tb_doc_text(finding, "outcome", ""), "same")) continue;
    fputs("<li>", out);
    tb_html_text(out, tb_doc_text(finding, "line", "?"));
    fputs("</li>\n", out);
  }
  put_side(out, attribution, "artifact", "head's compiler output on base's runtime / base");
  put_side(out, attribution, "runtime", "base's compiler output on head's runtime / base");
  fputs("</ul></li>\n", out);
}

static void put_title(FILE *out, const cJSON *document) {
  static const char *const sides[] = {"base", "head"};
  fputs("<h2>", out);
  tb_html_text(out, tb_doc_text(document, "verb", "compare"));
  fputs(": ", out);
  tb_html_text(out, tb_doc_text(document, "meaning", "?"));
  fputs("</h2>\n<p>", out);
  tb_put_verdicts(out, document);
  fputs("</p>\n<ul class=\"faint\">", out);
  for (int i = 0; i < 2; i++) {
    fprintf(out, "<li>%s: ", sides[i]);
    tb_put_origin(out, document, sides[i], tb_html_text);
    fputs("</li>\n", out);
  }
  fputs("</ul>\n", out);
  put_list(out, tb_doc_at(document, "problems"), "bad");
}

static bool put_comparison(FILE *out, const cJSON *document) {
  int count, moved = 0;
  struct tb_ranked *ranked = tb_comparison_ranked(document, &count);
  if (!ranked) return false;
  while (moved < count && tb_comparison_moved(ranked[moved].one)) moved++;
  fputs("<section>\n", out);
  put_title(out, document);
  fputs("<h3>What moved</h3>\n", out);
  if (moved)
    put_table(out, ranked, moved);
  else
    fputs("<p>Nothing moved.</p>\n", out);
  fprintf(out, "<details%s><summary>All %d case%s</summary>\n", moved ? "" : " open", count,
          count == 1 ? "" : "s");
  put_table(out, ranked, count);
  fputs("</details>\n<details><summary>What else was found, case by case</summary><ul>\n", out);
  for (int i = 0; i < count; i++) put_findings(out, ranked[i].one);
  fputs("</ul>\n", out);
  put_list(out, tb_doc_at(document, "remarks"), "faint");
  fputs("</details>\n</section>\n", out);
  free(ranked);
  return true;
}

bool tb_report_comparison_html(const cJSON *documents, const struct tb_report_options *options, FILE *out) {
  bool good = true;
  (void)options;
  tb_html_begin(out, "tbench: comparison");
  for (int i = 0; i < tb_doc_count(documents); i++) good &= put_comparison(out, tb_doc_nth(documents, i));
  tb_html_end(out);
  return good && !ferror(out);
}
