/* Cases as rows, one below the other: labels beside the axis, that say what tells the rows apart and no
 * more. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reporters/gnuplot/gnuplot.h"

enum { LABEL = 44 /* characters of a label */ };

bool tb_rows_make(const cJSON *cases, bool (*fits)(const cJSON *one_case, const void *data), const void *data,
                  struct tb_rows *out) {
  const cJSON *one;
  *out = (struct tb_rows){.cases = calloc((size_t)cJSON_GetArraySize(cases) + 1, sizeof *out->cases)};
  if (!out->cases) return false;
  cJSON_ArrayForEach(one, cases)
    if (tb_case_right(one) && fits(one, data)) out->cases[out->count++] = one;
  return true;
}

void tb_rows_free(struct tb_rows *rows) {
  free(rows->cases);
  *rows = (struct tb_rows){0};
}

static int downwards(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x < y) - (x > y);
}

double tb_plot_least_kept(double *weights, int count, int most) {
  qsort(weights, (size_t)count, sizeof *weights, downwards);
  return weights[most - 1];
}

int tb_rows_keep(struct tb_rows *rows, int most, double (*weigh)(const cJSON *one_case)) {
  const int before = rows->count;
  double *weights = before > most ? malloc(sizeof *weights * (size_t)before) : NULL;
  if (!weights) return 0;
  for (int i = 0; i < before; i++) weights[i] = weigh(rows->cases[i]);
  const double least = tb_plot_least_kept(weights, before, most);
  free(weights);
  rows->count = 0;
  for (int i = 0; i < before; i++)
    if (weigh(rows->cases[i]) >= least && rows->count < most) rows->cases[rows->count++] = rows->cases[i];
  return before - rows->count;
}

/* --- labels: the parts of a case's name --- */

enum part { WORKLOAD, COLUMN, DTYPE, DEVICE, THREADS, TOPOLOGY, PARAMS, SWITCHES, BATCH, PARTS };

static void put_settings(const cJSON *settings, char *out, size_t size) {
  const cJSON *s;
  size_t used = 0;
  *out = '\0';
  cJSON_ArrayForEach(s, settings) {
    if (used + 1 >= size || !s->string) break;
    if (cJSON_IsString(s))
      snprintf(out + used, size - used, "%s%s=%s", used ? " " : "", s->string, s->valuestring);
    else if (cJSON_IsBool(s))
      snprintf(out + used, size - used, "%s%s=%s", used ? " " : "", s->string,
               cJSON_IsTrue(s) ? "true" : "false");
    else if (cJSON_IsNumber(s) && isfinite(s->valuedouble))
      snprintf(out + used, size - used, "%s%s=%.6g", used ? " " : "", s->string, s->valuedouble);
    else
      snprintf(out + used, size - used, "%s%s=?", used ? " " : "", s->string);
    used = strlen(out);
  }
}

static void part_text(const cJSON *c, enum part part, char *out, size_t size) {
  const double batch = tb_doc_number(c, "case.batch"), threads = tb_doc_number(c, "case.threads");
  *out = '\0';
  switch (part) {
    case WORKLOAD: snprintf(out, size, "%s", tb_doc_text(c, "case.workload", "?")); break;
    case COLUMN: snprintf(out, size, "%s", tb_case_column(c)); break;
    case DTYPE: snprintf(out, size, "%s", tb_doc_text(c, "case.dtype", "?")); break;
    case DEVICE: snprintf(out, size, "%s", tb_doc_text(c, "case.device", "?")); break;
    case THREADS:
      if (isnan(threads))
        snprintf(out, size, "? threads");
      else
        snprintf(out, size, "%.10g thread%s", threads, threads == 1 ? "" : "s");
      break;
    case TOPOLOGY: snprintf(out, size, "%s", tb_doc_text(c, "case.topology", "?")); break;
    case PARAMS: put_settings(tb_doc_at(c, "case.params"), out, size); break;
    case SWITCHES: put_settings(tb_doc_at(c, "case.switches"), out, size); break;
    case BATCH:
      if (!isnan(batch)) snprintf(out, size, "b%.10g", batch);
      break;
    case PARTS: break;
  }
}

static bool differs(const struct tb_rows *rows, enum part part) {
  char first[TB_PLOT_TITLE], other[TB_PLOT_TITLE];
  for (int i = 0; i < rows->count; i++) {
    part_text(rows->cases[i], part, i ? other : first, TB_PLOT_TITLE);
    if (i && strcmp(first, other)) return true;
  }
  return false;
}

/* Appends the parts that `wanted` names, with `between` them. */
static void put_parts(const cJSON *c, const bool wanted[PARTS], const char *between, char *out) {
  size_t used = 0;
  *out = '\0';
  for (int part = 0; part < PARTS; part++) {
    char text[TB_PLOT_TITLE];
    part_text(c, (enum part)part, text, sizeof text);
    if (!wanted[part] || !*text || used + 1 >= TB_PLOT_TITLE) continue;
    snprintf(out + used, TB_PLOT_TITLE - used, "%s%s", used ? between : "", text);
    used = strlen(out);
  }
}

void tb_rows_label(const struct tb_rows *rows, int i, char *label) {
  bool wanted[PARTS];
  for (int part = 0; part < PARTS; part++)
    wanted[part] = part == WORKLOAD || part == BATCH || differs(rows, (enum part)part);
  put_parts(rows->cases[i], wanted, " ", label);
  tb_plot_shorten(label, LABEL);
}

void tb_rows_common(const struct tb_rows *rows, char *common) {
  bool wanted[PARTS];
  for (int part = 0; part < PARTS; part++)
    wanted[part] = part != WORKLOAD && part != BATCH && !differs(rows, (enum part)part);
  *common = '\0';
  if (rows->count) put_parts(rows->cases[0], wanted, " · ", common);
}

void tb_rows_axis(FILE *out, const struct tb_rows *rows) {
  char label[TB_PLOT_TITLE];
  fputs("set ytics scale 0 (", out);
  for (int k = 0; k < rows->count; k++) {
    tb_rows_label(rows, k, label);
    fputs(k ? ", \\\n  " : "", out);
    tb_plot_quote_tic(out, label);
    fprintf(out, " %d", -k);
  }
  fprintf(out, ")\nset yrange [%g:0.6]\nset grid noytics\nunset ylabel\n", -rows->count + 0.4);
}
