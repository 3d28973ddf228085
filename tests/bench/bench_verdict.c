/* What ci/verdict asks of stored comparisons:
 *
 *     bench_verdict value FILE PATH                       of its first case: "time.verdict", "base_ns",
 *     "exact.instructions.base"
 *     bench_verdict resample DECISIONS PLANTED FILE…      decisions on pairs drawn from those of A/A runs
 *
 * A decision that is resampled goes the way of a live one (harness/compare/paired.c): ABBA groups of two
 * pairs and two A/A pairs are drawn, with replacement, from all ABBA groups of one workload; looked at as
 * they come; what is flagged is confirmed on fresh ones. PLANTED is a share that head is made slower by: 0
 * gives the share of false flags, 0.03 the power. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/run/result.h"
#include "harness/verdict/exact.h"
#include "harness/verdict/stored.h"
#include "results/document.h"
#include "results/stats/decide.h"
#include "results/stats/random.h"

enum { PAIRS_PER_ABBA = 2, CONFIRMATION = 24, SERIES_MAX = 64, TEXT = 256 };
struct abba {
  double pairs[PAIRS_PER_ABBA], aa_pairs[PAIRS_PER_ABBA];
};
struct pool {
  char id[TEXT];
  TC_VEC(struct abba) abbas;
  tb_doubles lengths;
};
struct pools {
  struct tc_arena *arena;
  struct pool all[SERIES_MAX];
  int count;
};

static const cJSON *first_case(const cJSON *document) {
  return cJSON_GetArrayItem(tb_doc_at(document, "cases"), 0);
}

/* --- value --- */

/* "exact.FIGURE.MEMBER": exact findings are a list. */
static const cJSON *find_exact(const cJSON *one_case, const char *path) {
  const cJSON *finding;
  cJSON_ArrayForEach(finding, tb_doc_at(one_case, "exact")) {
    const char *figure = tb_doc_text(finding, "figure", "");
    const size_t n = strlen(figure);
    if (!strncmp(path, figure, n) && path[n] == '.') return tb_doc_at(finding, path + n + 1);
  }
  return NULL;
}

static int show_value(const cJSON *document, const char *path) {
  static const char exact[] = "exact.";
  const cJSON *one = first_case(document), *item = strncmp(path, exact, strlen(exact))
                                                       ? tb_doc_at(one, path)
                                                       : find_exact(one, path + strlen(exact));
  if (cJSON_IsString(item))
    puts(item->valuestring);
  else if (cJSON_IsNumber(item))
    printf("%.10g\n", item->valuedouble);
  else
    puts("-");
  return EXIT_SUCCESS;
}

/* --- resample --- */

static struct pool *pool_of(struct pools *p, const char *id) {
  for (int i = 0; i < p->count; i++)
    if (!strcmp(p->all[i].id, id)) return &p->all[i];
  if (p->count == SERIES_MAX) return NULL;
  snprintf(p->all[p->count].id, TEXT, "%s", id);
  return &p->all[p->count++];
}

static bool take_abbas(struct pools *p, struct pool *pool, const cJSON *pairs, const cJSON *aa_pairs) {
  const int n = cJSON_GetArraySize(pairs) / PAIRS_PER_ABBA;
  for (int q = 0; q < n; q++) {
    struct abba abba;
    for (int i = 0; i < PAIRS_PER_ABBA; i++) {
      const cJSON *pair = cJSON_GetArrayItem(pairs, q * PAIRS_PER_ABBA + i),
                  *aa_pair = cJSON_GetArrayItem(aa_pairs, q * PAIRS_PER_ABBA + i);
      abba.pairs[i] = cJSON_IsNumber(pair) ? pair->valuedouble : NAN;
      abba.aa_pairs[i] = cJSON_IsNumber(aa_pair) ? aa_pair->valuedouble : NAN;
    }
    if (!tc_vec_push(tc_arena_alloc(p->arena), &pool->abbas, abba)) return false;
  }
  return !n || tc_vec_push(tc_arena_alloc(p->arena), &pool->lengths, (double)(n * PAIRS_PER_ABBA));
}

static bool take_file(struct pools *p, const char *path) {
  struct tc_error err = {0};
  cJSON *document = tb_stored_load(p->arena, path, &err);
  const cJSON *one;
  if (!document) return fprintf(stderr, "%s\n", err.message), false;
  bool good = true;
  cJSON_ArrayForEach(one, tb_doc_at(document, "cases")) {
    struct pool *pool = pool_of(p, tb_doc_text(one, "id", "?"));
    good =
        good && pool && take_abbas(p, pool, tb_doc_at(one, "log_ratios"), tb_doc_at(one, "twin_log_ratios"));
  }
  cJSON_Delete(document);
  return good;
}

static void draw(const struct pool *pool, struct tb_random *random, double shift, double *pairs,
                 double *aa_pairs) {
  const struct abba *q = &pool->abbas.data[tb_random_next(random) % pool->abbas.len];
  for (int i = 0; i < PAIRS_PER_ABBA; i++) {
    pairs[i] = q->pairs[i] + shift;
    aa_pairs[i] = q->aa_pairs[i];
  }
}

/* One paired comparison of at most `most` pairs. */
static struct tb_decision one_comparison(const struct pool *pool, struct tb_random *random, double shift,
                                         int most) {
  struct tb_looks looks = {.max_pairs = most, .confidence = tb_confidence_default};
  struct tb_decision d = {.verdict = TB_VERDICT_UNSURE};
  double pairs[TB_LOOK_FIRST * SERIES_MAX], aa_pairs[TB_LOOK_FIRST * SERIES_MAX];
  for (int n = PAIRS_PER_ABBA; n <= most; n += PAIRS_PER_ABBA) {
    draw(pool, random, shift, &pairs[n - PAIRS_PER_ABBA], &aa_pairs[n - PAIRS_PER_ABBA]);
    const bool last = n + PAIRS_PER_ABBA > most;
    if (!tb_look_due(&looks, n, last)) continue;
    const struct tb_decide_options options = {tb_threshold_default, tb_look_confidence(&looks, n, last)};
    d = tb_decide(pairs, (size_t)n, aa_pairs, (size_t)n, options);
    if (tb_look_settles(&d, tb_threshold_default)) break;
  }
  return d;
}

/* As many pairs as a live run of this workload got. */
static int usual_length(const struct pool *pool) {
  double sum = 0;
  for (size_t i = 0; i < pool->lengths.len; i++) sum += pool->lengths.data[i];
  const int mean = (int)(sum / (double)pool->lengths.len);
  return mean < TB_LOOK_FIRST                ? TB_LOOK_FIRST
         : mean > TB_LOOK_FIRST * SERIES_MAX ? TB_LOOK_FIRST * SERIES_MAX
                                             : mean;
}

static int resample(struct pools *p, long decisions, double planted) {
  struct tb_random random = {1};
  long counts[TB_VERDICT_COUNT] = {0};
  for (long i = 0; i < decisions; i++) {
    const struct pool *pool = &p->all[i % p->count];
    struct tb_decision d = one_comparison(pool, &random, log1p(planted), usual_length(pool));
    if (d.verdict == TB_VERDICT_SLOWER || d.verdict == TB_VERDICT_FASTER) {
      const struct tb_decision fresh = one_comparison(pool, &random, log1p(planted), CONFIRMATION);
      d = tb_decide_confirm(&d, &fresh);
    }
    counts[d.verdict]++;
  }
  for (int v = 0; v < TB_VERDICT_COUNT; v++)
    printf("%s %ld\n", tb_verdict_word((enum tb_verdict)v), counts[v]);
  return EXIT_SUCCESS;
}

int main(int argc, char **argv) {
  enum { FILES = 4 };
  static struct pools p;
  struct tc_error err = {0};
  int code = EXIT_FAILURE;
  p.arena = tc_arena_new(tc_alloc_system());
  if (!p.arena) return EXIT_FAILURE;
  if (argc == FILES && !strcmp(argv[1], "value")) {
    cJSON *document = tb_stored_load(p.arena, argv[2], &err);
    if (document)
      code = show_value(document, argv[3]);
    else
      fprintf(stderr, "%s\n", err.message);
    cJSON_Delete(document);
  } else if (argc > FILES && !strcmp(argv[1], "resample")) {
    bool good = true;
    for (int i = FILES; i < argc; i++) good = good && take_file(&p, argv[i]);
    for (int i = 0; i < p.count; i++) good = good && p.all[i].abbas.len;
    if (good && p.count)
      code = resample(&p, strtol(argv[2], NULL, 10), strtod(argv[3], NULL));
    else
      fputs("bench_verdict: there are no pairs to draw from\n", stderr);
  } else {
    fputs("usage: bench_verdict value FILE PATH | resample DECISIONS PLANTED FILE…\n", stderr);
  }
  tc_arena_free(p.arena);
  return code;
}
