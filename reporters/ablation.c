/* Pairs of cases that differ in switches of compile time (opt.*) alone, and what their cold compiles took.
 * Invariant: a pair is of one replicate. Cases end after different numbers of them: the first ones of both
 * are pairs. Where a case has not a sample for each of its replicates, some failed, and no pair is told. */
#include "reporters/ablation.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "reporters/equal_texts.h"
#include "results/stats/stats.h"

static const double confidence = 0.95;
static const char prefix[] = "opt.", again_param[] = "again" /* as harness/plan/dimension.h has it */;

static bool is_technique(const cJSON *setting) {
  return setting->string && !strncmp(setting->string, prefix, strlen(prefix));
}

/* Of switches and parameters: what the cases of a pair may differ in. */
static bool is_apart(const cJSON *setting) {
  return is_technique(setting) || (setting->string && !strcmp(setting->string, again_param));
}

/* Switches of compile time that are not at their default. */
static int count_off(const cJSON *switches) {
  const cJSON *setting;
  int n = 0;
  cJSON_ArrayForEach(setting, switches) n += is_technique(setting);
  return n;
}

static bool is_reference(const cJSON *c) { return !count_off(tb_doc_at(c, "case.switches")); }
static bool is_again(const cJSON *c) {
  return is_reference(c) && cJSON_GetObjectItemCaseSensitive(tb_doc_at(c, "case.params"), again_param);
}

bool tb_ablation_is_floor(const struct tb_ablation_row *row) { return !count_off(row->switches); }

/* Up to NAMED of them by name. */
static void set_label(struct tb_ablation_row *row) {
  enum { NAMED = 2 };
  const int n = count_off(row->switches);
  const cJSON *setting;
  if (!n) snprintf(row->label, sizeof row->label, "on / on");
  if (n > NAMED) snprintf(row->label, sizeof row->label, "%d together", n);
  cJSON_ArrayForEach(setting, row->switches) {
    const size_t used = strlen(row->label);
    if (n <= NAMED && is_technique(setting))
      snprintf(row->label + used, sizeof row->label - used, "%s%s", used ? ", " : "",
               setting->string + strlen(prefix));
  }
}

/* Has b every other setting of a, with its value? */
static bool has_settings(const cJSON *a, const cJSON *b) {
  const cJSON *setting;
  cJSON_ArrayForEach(setting, a) {
    if (!is_apart(setting) &&
        !cJSON_Compare(setting, cJSON_GetObjectItemCaseSensitive(b, setting->string), true))
      return false;
  }
  return true;
}

static bool same_settings(const cJSON *a, const cJSON *b) { return has_settings(a, b) && has_settings(b, a); }

static bool is_settings(const cJSON *field) {
  return field->string && (!strcmp(field->string, "switches") || !strcmp(field->string, "params"));
}

static bool same_otherwise(const cJSON *a, const cJSON *b) {
  const cJSON *x = tb_doc_at(a, "case"), *y = tb_doc_at(b, "case"), *field;
  cJSON_ArrayForEach(field, x) {
    const cJSON *other = cJSON_GetObjectItemCaseSensitive(y, field->string);
    if (!is_settings(field) && !cJSON_Compare(field, other, true)) return false;
  }
  return same_settings(tb_doc_at(x, "switches"), tb_doc_at(y, "switches")) &&
         same_settings(tb_doc_at(x, "params"), tb_doc_at(y, "params"));
}

static const char *host_of(const cJSON *result, const cJSON *c) {
  return tb_doc_text(tb_case_environment(result, c), "host", "");
}

/* --- which cases are pairs: cases of one key alone are looked at together, so that it takes no longer the
 * more cases there are beside --- */

enum { KEY = 17 /* digits of a number, and the end */, NUMBER = 32 };

/* Equal where two values are, in whatever order their members stand; what the cases of a pair may differ in
 * does not count. */
static uint64_t hash_of(const cJSON *value) {
  const cJSON *member;
  char number[NUMBER];
  uint64_t sum = 0, place = 0;
  if (cJSON_IsString(value))
    return tc_hash_bytes(cJSON_String, value->valuestring, strlen(value->valuestring));
  if (cJSON_IsNumber(value))
    return tc_hash_bytes(cJSON_Number, number,
                         (size_t)snprintf(number, sizeof number, "%.10g", value->valuedouble));
  cJSON_ArrayForEach(member, value) {
    const uint64_t name = member->string ? tc_hash_bytes(0, member->string, strlen(member->string)) : place++;
    if (!is_apart(member)) sum += tc_hash_u64(name, hash_of(member));
  }
  return tc_hash_u64(value ? (uint64_t)(value->type & 0xFF /* without flags of the memory */) : 0, sum);
}

/* Texts of these numbers, and which are alike; false: memory is out. */
static bool find_alike(const uint64_t *keys, int count, struct tb_equal_texts *out) {
  char(*digits)[KEY] = calloc((size_t)count + 1, sizeof *digits);
  const char **texts = calloc((size_t)count + 1, sizeof *texts);
  for (int i = 0; digits && texts && i < count; i++) {
    snprintf(digits[i], sizeof digits[i], "%016" PRIx64, keys[i]);
    texts[i] = digits[i];
  }
  const bool good = digits && texts && tb_equal_texts_make(texts, count, out);
  free(digits);
  free(texts);
  return good;
}

static bool is_pair(const cJSON *result, const cJSON *on, const cJSON *off) {
  return on != off && (!is_reference(off) || is_again(off)) && same_otherwise(on, off) &&
         !strcmp(host_of(result, on), host_of(result, off));
}

/* The cases of a list as an array, which the caller frees; NULL: memory is out. */
static const cJSON **array_of(const cJSON *list) {
  const cJSON **cases = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof *cases), *one;
  int n = 0;
  if (cases)
    cJSON_ArrayForEach(one, list) cases[n++] = one;
  return cases;
}

static bool any_technique(const cJSON *const *cases, int n) {
  for (int i = 0; i < n; i++)
    if (!is_reference(cases[i])) return true;
  return false;
}

/* Of the cases of one key: the first right one with all switches on is the reference of the others. */
static void find_references(const cJSON *result, const cJSON *const *cases, int n,
                            const struct tb_equal_texts *equal, int *references) {
  for (int i = 0; i < n; i++) {
    int on = -1;
    if (equal->first[i] != i) continue;
    for (int k = i; k >= 0 && on < 0; k = equal->next[k])
      if (tb_case_right(cases[k]) && is_reference(cases[k])) on = k;
    for (int k = on < 0 ? -1 : i; k >= 0; k = equal->next[k])
      if (is_pair(result, cases[on], cases[k])) references[k] = on;
  }
}

int *tb_ablation_references(const cJSON *result) {
  const cJSON *list = tb_doc_at(result, "cases");
  const int n = cJSON_GetArraySize(list);
  const cJSON **cases = array_of(list);
  uint64_t *keys = calloc((size_t)n + 1, sizeof *keys);
  int *references = calloc((size_t)n + 1, sizeof *references);
  struct tb_equal_texts equal = {0};
  bool good = cases && keys && references;
  for (int i = 0; good && i < n; i++) references[i] = -1;
  if (good && any_technique(cases, n)) { /* most results have none */
    for (int i = 0; i < n; i++) {
      const char *host = host_of(result, cases[i]);
      keys[i] = tc_hash_u64(hash_of(tb_doc_at(cases[i], "case")), tc_hash_bytes(0, host, strlen(host)));
    }
    good = find_alike(keys, n, &equal);
    if (good) find_references(result, cases, n, &equal, references);
  }
  tb_equal_texts_free(&equal);
  free(cases);
  free(keys);
  if (good) return references;
  free(references);
  return NULL;
}

/* --- figures --- */

static const cJSON *cold_of(const cJSON *c, const cJSON *on) {
  const bool has_breaks = cJSON_GetArraySize(tb_doc_at(on, "graph.breaks")) > 0;
  return tb_doc_at(c, has_breaks ? "compile.first_call_ns" : "compile.cold_ns");
}

static double sample(const cJSON *samples, int i) {
  const cJSON *at = cJSON_GetArrayItem(samples, i);
  return cJSON_IsNumber(at) ? at->valuedouble : NAN;
}

static int count_colds(const cJSON *c, const cJSON *on) {
  return cJSON_GetArraySize(tb_doc_at(cold_of(c, on), "samples"));
}

/* Sample i of a case's figure. Starts are told of each fresh process of a replicate, that of the cold call
 * first. */
static double figure_at(const cJSON *c, const cJSON *on, enum tb_ablation_figure figure, int i) {
  const cJSON *starts = tb_doc_at(c, "compile.start_ns.samples");
  const double cold = sample(tb_doc_at(cold_of(c, on), "samples"), i);
  return figure == TB_ABLATION_COLD
             ? cold
             : cold + sample(starts, i * (cJSON_GetArraySize(starts) / count_colds(c, on)));
}

/* Samples of a case's figure; 0 where not each replicate has one. */
static int count_samples(const cJSON *c, const cJSON *on, enum tb_ablation_figure figure) {
  const cJSON *replicates = tb_doc_at(c, "steady.replicates");
  const int n = count_colds(c, on), starts = cJSON_GetArraySize(tb_doc_at(c, "compile.start_ns.samples"));
  if (replicates && cJSON_GetArraySize(replicates) != n) return 0;
  return figure == TB_ABLATION_WHOLE && (!n || !starts || starts % n) ? 0 : n;
}

/* What a sample of the row's case is over; `again` has one for each pair, or none at all. */
static const cJSON *second_on(const struct tb_ablation_row *row, enum tb_ablation_figure figure) {
  return row->again && row->again != row->off && count_samples(row->again, row->on, figure) ? row->again
                                                                                            : NULL;
}

static int count_pairs(const struct tb_ablation_row *row, enum tb_ablation_figure figure) {
  const cJSON *second = second_on(row, figure);
  const int off = count_samples(row->off, row->on, figure), on = count_samples(row->on, row->on, figure),
            again = second ? count_samples(second, row->on, figure) : on;
  const int fewer = on < again ? on : again;
  return off < fewer ? off : fewer;
}

/* Of a row that is not the floor's, the geometric mean of both samples. */
static double on_at(const struct tb_ablation_row *row, enum tb_ablation_figure figure, int i) {
  const cJSON *second = second_on(row, figure);
  const double first = figure_at(row->on, row->on, figure, i);
  return second ? sqrt(first * figure_at(second, row->on, figure, i)) : first;
}

static bool fill_pairs(struct tb_ablation_row *row, enum tb_ablation_figure figure) {
  const int n = count_pairs(row, figure);
  row->logs[figure] = calloc((size_t)n + 1, sizeof **row->logs);
  if (!row->logs[figure]) return false;
  for (int i = 0; i < n; i++) {
    const double off = figure_at(row->off, row->on, figure, i), on = on_at(row, figure, i);
    if (!(off > 0) || !(on > 0)) return true;
    row->logs[figure][row->n_pairs[figure]++] = log(off / on);
  }
  return true;
}

static bool fill_row(struct tb_ablation_row *row, const cJSON *off, const cJSON *on, const cJSON *again) {
  *row = (struct tb_ablation_row){
      .switches = tb_doc_at(off, "case.switches"), .off = off, .on = on, .again = again};
  set_label(row);
  row->median_ns = tb_doc_number(cold_of(off, on), "median");
  row->on_ns = tb_doc_number(cold_of(on, on), "median");
  row->instructions =
      tb_doc_number(off, "instructions.cold.total") / tb_doc_number(on, "instructions.cold.total");
  return fill_pairs(row, TB_ABLATION_COLD) && fill_pairs(row, TB_ABLATION_WHOLE);
}

struct tb_ratio tb_ablation_ratio(const struct tb_ablation_row *row, enum tb_ablation_figure figure) {
  const int n = row->n_pairs[figure];
  double mean = 0;
  for (int i = 0; i < n; i++) mean += row->logs[figure][i] / n;
  if (!n) return (struct tb_ratio){NAN, NAN, NAN};
  const double width = tb_half_width(row->logs[figure], (size_t)n, confidence);
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

/* A row over all of the model's rows with these switches off, which stand in `sets` from the first one on. */
static bool fill_overall(struct tb_ablation *a, const struct tb_equal_texts *sets, int first) {
  struct tb_ablation_row *sum = &a->rows[a->n_rows++];
  int most = 0, n_added = 0;
  *sum = (struct tb_ablation_row){
      .switches = a->rows[first].switches, .set = first, .median_ns = NAN, .on_ns = NAN};
  set_label(sum);
  for (int i = first; i >= 0; i = sets->next[i])
    for (int f = 0; f < TB_ABLATION_FIGURES; f++)
      if (a->rows[i].n_pairs[f] > most) most = a->rows[i].n_pairs[f];
  for (int f = 0; f < TB_ABLATION_FIGURES; f++)
    if (!(sum->logs[f] = calloc((size_t)most + 1, sizeof **sum->logs))) return false;
  for (int i = first; i >= 0; i = sets->next[i]) add_to(sum, &a->rows[i], n_added++);
  for (int f = 0; f < TB_ABLATION_FIGURES; f++)
    for (int i = 0; i < sum->n_pairs[f]; i++) sum->logs[f][i] /= n_added;
  sum->instructions = exp(sum->instructions / n_added);
  return true;
}

static uint64_t set_hash(const cJSON *switches) {
  const cJSON *setting;
  uint64_t sum = 0;
  cJSON_ArrayForEach(setting, switches)
    if (is_technique(setting))
      sum += tc_hash_u64(tc_hash_bytes(0, setting->string, strlen(setting->string)), hash_of(setting));
  return sum;
}

/* Numbers the sets of switches by the first row that has each, and adds the rows over all models. */
static bool number_sets(struct tb_ablation *a) {
  const int n_own = a->n_rows;
  uint64_t *keys = calloc((size_t)n_own + 1, sizeof *keys);
  struct tb_equal_texts sets = {0};
  for (int i = 0; keys && i < n_own; i++) keys[i] = set_hash(a->rows[i].switches);
  bool good = keys && find_alike(keys, n_own, &sets);
  for (int i = 0; good && i < n_own; i++) a->rows[i].set = sets.first[i];
  for (int i = 0; good && a->n_models > 1 && i < n_own; i++)
    if (sets.first[i] == i) good = fill_overall(a, &sets, i);
  tb_equal_texts_free(&sets);
  free(keys);
  return good;
}

/* --- all rows --- */

struct pair {
  int on, off;
};

static int by_model(const void *a, const void *b) {
  const struct pair *x = a, *y = b;
  return x->on != y->on ? x->on - y->on : x->off - y->off;
}

/* The first of a model's pairs, from the one at `from` on, that is of its case measured again; NULL: none
 * is. */
static const cJSON *find_again(const cJSON *const *cases, const struct pair *pairs, int from, int count) {
  for (int i = from; i < count && pairs[i].on == pairs[from].on; i++)
    if (is_again(cases[pairs[i].off])) return cases[pairs[i].off];
  return NULL;
}

static bool fill_models(struct tb_ablation *a, const cJSON *const *cases, const int *references, int n) {
  struct pair *pairs = calloc((size_t)n + 1, sizeof *pairs);
  const cJSON *again = NULL;
  int count = 0;
  bool good = pairs != NULL;
  for (int i = 0; good && i < n; i++)
    if (references[i] >= 0 && tb_case_right(cases[i])) pairs[count++] = (struct pair){references[i], i};
  if (good) qsort(pairs, (size_t)count, sizeof *pairs, by_model);
  for (int i = 0; good && i < count; i++) {
    const bool begins = !i || pairs[i].on != pairs[i - 1].on;
    a->n_models += begins;
    if (begins) again = find_again(cases, pairs, i, count);
    good = fill_row(&a->rows[a->n_rows++], cases[pairs[i].off], cases[pairs[i].on], again);
  }
  free(pairs);
  return good;
}

bool tb_ablation_make(const cJSON *result, struct tb_ablation *out) {
  const cJSON *list = tb_doc_at(result, "cases"), **cases = array_of(list);
  const int n = cJSON_GetArraySize(list);
  int *references = tb_ablation_references(result);
  *out = (struct tb_ablation){
      .rows = calloc(2 * (size_t)n + 1, sizeof *out->rows)}; /* a case is in one pair at most */
  const bool good =
      out->rows && cases && references && fill_models(out, cases, references, n) && number_sets(out);
  free(cases);
  free(references);
  return good;
}

void tb_ablation_free(struct tb_ablation *a) {
  for (int i = 0; a->rows && i < a->n_rows; i++)
    for (int f = 0; f < TB_ABLATION_FIGURES; f++) free(a->rows[i].logs[f]);
  free(a->rows);
  *a = (struct tb_ablation){0};
}
