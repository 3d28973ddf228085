/* A comparison as the comment of a pull request: the verdict, what moved, ranked, and folded below it all
 * cases and exact figures. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reporters/formats/markdown.h"
#include "reporters/text_out.h"

enum {
  REASON = 512,
  COMMENT = 60000,
  MOVED = 40000 /* bytes of the rows that moved; the rest is for what is folded */
};
static const double ns_per_us = 1e3, percent = 100;

static void put_time(FILE *out, double ns) {
  char text[TB_CELL];
  tb_format3(isfinite(ns) ? ns / ns_per_us : NAN, text, sizeof text);
  fprintf(out, "| %s ", text);
}

static void put_head(struct tb_comment *comment) {
  FILE *part = tb_part_begin(comment);
  if (!part) return;
  fputs("| case | base (µs) | head (µs) | head/base [95%] | floor | verdict |\n|:--|--:|--:|--:|--:|:--|\n",
        part);
  tb_part_end(comment, part);
}

static void put_row(struct tb_comment *comment, const cJSON *one) {
  FILE *part = tb_part_begin(comment);
  char interval[TB_CELL];
  if (!part) return;
  const double floor = tb_doc_number(one, "time.floor");
  const char *verdict = tb_comparison_verdict(one);
  char reason[REASON];
  tb_comparison_reason(one, reason, sizeof reason);
  const bool loud = strcmp(verdict, "SAME") != 0;
  tb_comparison_interval(one, interval);
  fputs("| ", part);
  tb_markdown_code(part, tb_doc_text(one, "id", "?"));
  fputc(' ', part);
  put_time(part, tb_doc_number(one, "base_ns"));
  put_time(part, tb_doc_number(one, "head_ns"));
  fputs("| ", part);
  tb_markdown_cell(part, interval);
  fputc(' ', part);
  if (isfinite(floor))
    fprintf(part, "| ±%.2f%% | %s", floor * percent, loud ? "**" : "");
  else
    fprintf(part, "| – | %s", loud ? "**" : "");
  tb_markdown_text(part, verdict);
  fputs(loud ? "**" : "", part);
  if (cJSON_IsTrue(tb_doc_at(one, "confirmed"))) fputs(", confirmed", part);
  if (cJSON_IsTrue(tb_doc_at(one, "control"))) fputs(", a control", part);
  if (*reason) fputs(": ", part);
  tb_markdown_text(part, reason);
  fputs(" |\n", part);
  tb_part_end(comment, part);
}

/* How many rows did not fit. */
static void close_table(struct tb_comment *comment, FILE *out) {
  if (comment->left_out)
    fprintf(out, "\n%d more case%s not shown: a comment holds no more. `tbench report FILE` has all.\n",
            comment->left_out, comment->left_out == 1 ? " is" : "s are");
  comment->left_out = 0;
}

static void put_side(FILE *out, const cJSON *attribution, const char *side, const char *words) {
  const cJSON *d = tb_doc_at(attribution, side);
  const double ratio = tb_doc_number(d, "ratio"), lo = tb_doc_number(d, "lo"), hi = tb_doc_number(d, "hi");
  if (!isfinite(ratio) || !isfinite(lo) || !isfinite(hi)) return;
  fprintf(out, "  - %s: %.3f &#91;%.3f, %.3f&#93; ", words, ratio, lo, hi);
  tb_markdown_text(out, tb_doc_text(d, "verdict", "?"));
  fputc('\n', out);
}

/* What else was found of a case; nothing: no part. */
static void put_findings(struct tb_comment *comment, const cJSON *one) {
  const cJSON *finding, *attribution = tb_doc_at(one, "attribution");
  const char *problem = tb_doc_text(one, "problem", NULL);
  bool any = problem || cJSON_IsObject(attribution);
  cJSON_ArrayForEach(finding, tb_doc_at(one, "exact"))
    any |= strcmp(tb_doc_text(finding, "outcome", ""), "same") != 0;
  FILE *part = any ? tb_part_begin(comment) : NULL;
  if (!part) return;
  fputs("- ", part);
  tb_markdown_code(part, tb_doc_text(one, "id", "?"));
  fputc('\n', part);
  if (problem) fputs("  - ", part), tb_markdown_text(part, problem), fputc('\n', part);
  cJSON_ArrayForEach(finding, tb_doc_at(one, "exact")) {
    if (!strcmp(tb_doc_text(finding, "outcome", ""), "same")) continue;
    fputs("  - ", part);
    tb_markdown_text(part, tb_doc_text(finding, "line", "?"));
    fputc('\n', part);
  }
  put_side(part, attribution, "artifact", "head's compiler output on base's runtime / base");
  put_side(part, attribution, "runtime", "base's compiler output on head's runtime / base");
  tb_part_end(comment, part);
}

static void put_list(FILE *out, const cJSON *texts, const char *before) {
  const cJSON *text;
  cJSON_ArrayForEach(text, texts) {
    fputs(before, out);
    tb_markdown_text(out, cJSON_IsString(text) ? text->valuestring : "?");
    fputc('\n', out);
  }
}

static void put_title(FILE *out, const cJSON *document) {
  const char *const sides[] = {"base", "head"};
  fputs("### tbench ", out);
  tb_markdown_text(out, tb_doc_text(document, "verb", "compare"));
  fputs(": ", out);
  tb_markdown_text(out, tb_doc_text(document, "meaning", "?"));
  fputs(" · ", out);
  tb_put_verdicts(out, document);
  fputs("\n\n", out);
  for (int i = 0; i < 2; i++) {
    fprintf(out, "- %s: ", sides[i]);
    tb_put_origin(out, document, sides[i], tb_markdown_text);
    fputc('\n', out);
  }
  put_list(out, tb_doc_at(document, "problems"), "- **problem:** ");
  fputc('\n', out);
}

static void put_moved(struct tb_comment *comment, const struct tb_ranked *ranked, int moved) {
  if (!moved) {
    fputs("Nothing moved.\n", comment->out);
    return;
  }
  put_head(comment);
  for (int i = 0; i < moved; i++) put_row(comment, ranked[i].one);
  close_table(comment, comment->out);
}

static void put_folded(struct tb_comment *comment, const cJSON *document, const struct tb_ranked *ranked,
                       int count) {
  FILE *out = comment->out;
  const size_t used = comment->used;
  fprintf(out, "\n<details><summary>All %d case%s</summary>\n\n", count, count == 1 ? "" : "s");
  comment->limit = used + (COMMENT - used) / 2;
  put_head(comment);
  for (int i = 0; i < count; i++) put_row(comment, ranked[i].one);
  close_table(comment, out);
  fputs("\n</details>\n\n<details><summary>What else was found, case by case</summary>\n\n", out);
  comment->limit = COMMENT;
  for (int i = 0; i < count; i++) put_findings(comment, ranked[i].one);
  close_table(comment, out);
  put_list(out, tb_doc_at(document, "remarks"), "- ");
  fputs("\n</details>\n", out);
}

bool tb_report_comparison_markdown(const cJSON *document, const struct tb_report_options *options,
                                   FILE *out) {
  struct tb_comment comment = {.out = out, .limit = MOVED};
  int count, moved = 0;
  struct tb_ranked *ranked = tb_comparison_ranked(document, &count);
  (void)options;
  if (!ranked) return false;
  while (moved < count && tb_comparison_moved(ranked[moved].one)) moved++;
  put_title(out, document);
  put_moved(&comment, ranked, moved);
  put_folded(&comment, document, ranked, count);
  free(ranked);
  return !comment.failed && !ferror(out);
}
