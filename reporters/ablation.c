/* Pairs of cases that differ in switches of compile time (opt.*) alone, and what their cold compiles took. Invariant: a pair is of one
 * replicate. Cases end after different numbers of them: the first ones of both are pairs. Where a case has not a sample for each of its
 * replicates, some failed, and no pair is told. */
#include "reporters/ablation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double confidence = 0.95;
static const char prefix[] = "opt.";

static bool is_technique(const cJSON *setting) { return setting->string && !strncmp(setting->string, prefix, strlen(prefix)); }

/* Switches of compile time that are not at their default. */
static int count_off(const cJSON *switches) {
  const cJSON *setting;
  int n = 0;
  cJSON_ArrayForEach(setting, switches) n += is_technique(setting);
  return n;
}

static bool is_reference(const cJSON *c) { return !count_off(tb_doc_at(c, "case.switches")); }

bool tb_ablation_same_set(const struct tb_ablation_row *a, const struct tb_ablation_row *b) {
  const cJSON *setting;
  cJSON_ArrayForEach(setting, a->switches) {
    if (is_technique(setting) && !cJSON_Compare(setting, cJSON_GetObjectItemCaseSensitive(b->switches, setting->string), true)) return false;
  }
  return count_off(a->switches) == count_off(b->switches);
}

/* Up to NAMED of them by name. */
static void set_label(struct tb_ablation_row *row) {
  enum { NAMED = 2 };
  const int n = count_off(row->switches);
  const cJSON *setting;
  if (n > NAMED) snprintf(row->label, sizeof row->label, "%d together", n);
  cJSON_ArrayForEach(setting, row->switches) {
    const size_t used = strlen(row->label);
    if (n <= NAMED && is_technique(setting)) snprintf(row->label + used, sizeof row->label - used, "%s%s", used ? ", " : "", setting->string + strlen(prefix));
  }
}

/* Has b every other switch of a, with its value? */
static bool has_switches(const cJSON *a, const cJSON *b) {
  const cJSON *setting;
  cJSON_ArrayForEach(setting, a) {
    if (!is_technique(setting) && !cJSON_Compare(setting, cJSON_GetObjectItemCaseSensitive(b, setting->string), true)) return false;
  }
  return true;
}

static bool same_otherwise(const cJSON *a, const cJSON *b) {
  const cJSON *x = tb_doc_at(a, "case"), *y = tb_doc_at(b, "case"), *field;
  cJSON_ArrayForEach(field, x) {
    const cJSON *other = cJSON_GetObjectItemCaseSensitive(y, field->string);
    if ((!field->string || strcmp(field->string, "switches")) && !cJSON_Compare(field, other, true)) return false;
  }
  const cJSON *p = tb_doc_at(x, "switches"), *q = tb_doc_at(y, "switches");
  return has_switches(p, q) && has_switches(q, p);
}

const cJSON *tb_ablation_reference(const cJSON *result, const cJSON *one_case) {
  const cJSON *c;
  if (is_reference(one_case)) return NULL;
  cJSON_ArrayForEach(c, tb_doc_at(result, "cases")) {
    if (tb_case_right(c) && is_reference(c) && same_otherwise(c, one_case)) return c;
  }
  return NULL;
}

/* --- figures --- */

static bool has_breaks(const cJSON *c) { return cJSON_GetArraySize(tb_doc_at(c, "graph.breaks")) > 0; }

static const cJSON *cold_of(const cJSON *c, const cJSON *on) { return tb_doc_at(c, has_breaks(on) ? "compile.first_call_ns" : "compile.cold_ns"); }

static double sample(const cJSON *samples, int i) {
  const cJSON *at = cJSON_GetArrayItem(samples, i);
  return cJSON_IsNumber(at) ? at->valuedouble : NAN;
}

static int count_colds(const cJSON *c, const cJSON *on) { return cJSON_GetArraySize(tb_doc_at(cold_of(c, on), "samples")); }

/* Sample i of a case's figure. Starts are told of each fresh process of a replicate, that of the cold call first. */
static double figure_at(const cJSON *c, const cJSON *on, enum tb_ablation_figure figure, int i) {
  const cJSON *starts = tb_doc_at(c, "compile.start_ns.samples");
  const double cold = sample(tb_doc_at(cold_of(c, on), "samples"), i);
  return figure == TB_ABLATION_COLD ? cold : cold + sample(starts, i * (cJSON_GetArraySize(starts) / count_colds(c, on)));
}

/* Samples of a case's figure; 0 where not each replicate has one. */
static int count_samples(const cJSON *c, const cJSON *on, enum tb_ablation_figure figure) {
  const cJSON *replicates = tb_doc_at(c, "steady.replicates");
  const int n = count_colds(c, on), starts = cJSON_GetArraySize(tb_doc_at(c, "compile.start_ns.samples"));
  if (replicates && cJSON_GetArraySize(replicates) != n) return 0;
  return figure == TB_ABLATION_WHOLE && (!n || !starts || starts % n) ? 0 : n;
}

static int count_pairs(const struct tb_ablation_row *row, enum tb_ablation_figure figure) {
  const int off = count_samples(row->off, row->on, figure), on = count_samples(row->on, row->on, figure);
  return off < on ? off : on;
}

static bool fill_pairs(struct tb_ablation_row *row, enum tb_ablation_figure figure) {
  const int n = count_pairs(row, figure);
  row->logs[figure] = calloc((size_t)n + 1, sizeof **row->logs);
  if (!row->logs[figure]) return false;
  for (int i = 0; i < n; i++) {
    const double off = figure_at(row->off, row->on, figure, i), on = figure_at(row->on, row->on, figure, i);
    if (!(off > 0) || !(on > 0)) return true;
    row->logs[figure][row->n_pairs[figure]++] = log(off / on);
  }
  return true;
}

static bool fill_row(struct tb_ablation_row *row, const cJSON *off, const cJSON *on) {
  *row = (struct tb_ablation_row){.switches = tb_doc_at(off, "case.switches"), .off = off, .on = on};
  set_label(row);
  row->median_ns = tb_doc_number(cold_of(off, on), "median");
  row->instructions = tb_doc_number(off, "instructions.cold.total") / tb_doc_number(on, "instructions.cold.total");
  return fill_pairs(row, TB_ABLATION_COLD) && fill_pairs(row, TB_ABLATION_WHOLE);
}

struct tb_ratio tb_ablation_ratio(const struct tb_ablation_row *row, enum tb_ablation_figure figure, tb_half_width_function *half_width) {
  const int n = row->n_pairs[figure];
  double mean = 0;
  for (int i = 0; i < n; i++) mean += row->logs[figure][i] / n;
  if (!n) return (struct tb_ratio){NAN, NAN, NAN};
  const double width = half_width ? half_width(row->logs[figure], (size_t)n, confidence) : NAN;
  return (struct tb_ratio){exp(mean), exp(mean - width), exp(mean + width)};
}

/* --- over all models --- */

/* Adds a model's row: sums of logarithms, by replicate, as far as all models have them. */
static void add_to(struct tb_ablation_row *sum, const struct tb_ablation_row *row, int n_added) {
  for (int f = 0; f < TB_ABLATION_FIGURES; f++) {
    if (!n_added || row->n_pairs[f] < sum->n_pairs[f]) sum->n_pairs[f] = row->n_pairs[f];
    for (int i = 0; i < sum->n_pairs[f]; i++) sum->logs[f][i] += row->logs[f][i];
  }
  sum->instructions += log(row->instructions);
}

static bool fill_overall(struct tb_ablation *a, int n_own, const struct tb_ablation_row *like) {
  struct tb_ablation_row *sum = &a->rows[a->n_rows++];
  int most = 0, n_added = 0;
  *sum = (struct tb_ablation_row){.switches = like->switches, .median_ns = NAN};
  set_label(sum);
  for (int i = 0; i < n_own; i++)
    for (int f = 0; f < TB_ABLATION_FIGURES; f++)
      if (a->rows[i].n_pairs[f] > most) most = a->rows[i].n_pairs[f];
  for (int f = 0; f < TB_ABLATION_FIGURES; f++)
    if (!(sum->logs[f] = calloc((size_t)most + 1, sizeof **sum->logs))) return false;
  for (int i = 0; i < n_own; i++)
    if (tb_ablation_same_set(&a->rows[i], like)) add_to(sum, &a->rows[i], n_added++);
  for (int f = 0; f < TB_ABLATION_FIGURES; f++)
    for (int i = 0; i < sum->n_pairs[f]; i++) sum->logs[f][i] /= n_added;
  sum->instructions = exp(sum->instructions / n_added);
  return true;
}

static bool is_known(const struct tb_ablation *a, int from, const struct tb_ablation_row *like) {
  for (int i = from; i < a->n_rows; i++)
    if (tb_ablation_same_set(&a->rows[i], like)) return true;
  return false;
}

/* --- all rows --- */

static bool fill_model(struct tb_ablation *a, const cJSON *cases, const cJSON *on) {
  const int before = a->n_rows;
  const cJSON *off;
  cJSON_ArrayForEach(off, cases) {
    if (tb_case_right(off) && !is_reference(off) && same_otherwise(off, on) && !fill_row(&a->rows[a->n_rows++], off, on)) return false;
  }
  a->n_models += a->n_rows > before;
  return true;
}

bool tb_ablation_make(const cJSON *result, struct tb_ablation *out) {
  const cJSON *cases = tb_doc_at(result, "cases"), *on;
  *out = (struct tb_ablation){.rows = calloc(2 * (size_t)cJSON_GetArraySize(cases) + 1, sizeof *out->rows)};
  bool good = out->rows != NULL, any = false;
  if (!good) return false;
  cJSON_ArrayForEach(on, cases) any |= !is_reference(on);
  if (!any) return true; /* most results: their cases are not looked at in pairs */
  cJSON_ArrayForEach(on, cases) {
    if (tb_case_right(on) && is_reference(on)) good = good && fill_model(out, cases, on);
  }
  const int n_own = out->n_rows;
  for (int i = 0; good && out->n_models > 1 && i < n_own; i++)
    if (!is_known(out, n_own, &out->rows[i])) good = fill_overall(out, n_own, &out->rows[i]);
  return good;
}

void tb_ablation_free(struct tb_ablation *a) {
  for (int i = 0; a->rows && i < a->n_rows; i++)
    for (int f = 0; f < TB_ABLATION_FIGURES; f++) free(a->rows[i].logs[f]);
  free(a->rows);
  *a = (struct tb_ablation){0};
}
