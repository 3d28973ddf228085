/* What tables for people share: columns, groups of cases, the line that sums a result up. */
#ifndef TB_REPORTERS_TABLE_H
#define TB_REPORTERS_TABLE_H

#include "reporters/reporter.h"

enum { TB_CELL = 64, TB_GROUP = 256 };

struct tb_column {
  const char *title, *unit;
  void (*format)(const cJSON *one_case, char out[TB_CELL]);
  bool left;    /* its texts begin at the left */
  bool verbose; /* shown when all columns are asked for */
};
int tb_column_count(void);
const struct tb_column *tb_column_at(int index);
bool tb_column_shown(const struct tb_report_options *options, int index);

/* The cases of one group, by batch; the array is the caller's. */
typedef void tb_group_visit(const cJSON **cases, int count, void *context);
/* Visits the groups in the order of their first cases. Cases that Ctrl-C came before are left out, and right
 * ones that the table of an ablation has; `ablation`: whether there is one. False: memory is out. */
bool tb_each_group(const cJSON *result, tb_group_visit *visit, void *context, bool *ablation);
/* "3 of 4 right (against f64), 1 not measured (interrupted)": no end of line. */
void tb_put_summary(FILE *out, const cJSON *result);
/* Texts of what made figures worse, or what else must be known of a result: each through `put`. */
typedef void tb_note_visit(const char *text, void *context);
void tb_each_note(const cJSON *result, tb_note_visit *visit, void *context);
/* Characters on the screen: UTF-8 continuation bytes do not count. */
int tb_screen_width(const char *text);

/* --- comparisons --- */

/* Cases of a comparison in the order of what matters: what failed first, then what moved, by how far; then
 * all others as they stand. */
struct tb_ranked {
  const cJSON *one;
  int kind;
  double distance;
  int place;
};
/* The caller frees it; NULL: memory is out. */
struct tb_ranked *tb_comparison_ranked(const cJSON *document, int *count);
/* Is it a case that people should look at: it failed, moved, or could not be told where it had to be? */
bool tb_comparison_moved(const cJSON *one);
/* "0.950 [0.940, 0.960]"; "–": not known. */
void tb_comparison_interval(const cJSON *one, char out[TB_CELL]);
/* What is to be said of its verdict: why it is unsure, what is wrong, which exact figures are worse; "" where
 * there is nothing. */
void tb_comparison_reason(const cJSON *one, char *out, size_t size);
/* FASTER, SLOWER, SAME, UNSURE; or what stands in its place: vanished, new, left out, "crashed on both
 * sides", not compared. */
const char *tb_comparison_verdict(const cJSON *one);
/* "2 SLOWER · 1 SAME · 1 without a verdict" */
void tb_put_verdicts(FILE *out, const cJSON *document);
/* "base.json · 1234abcd · 2026-01-02T03:04:05Z" */
typedef void tb_text_put(FILE *out, const char *text);
void tb_put_origin(FILE *out, const cJSON *document, const char *side, tb_text_put *put);

#endif
