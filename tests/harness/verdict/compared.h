/* Two results of one case each, compared: what the tests of verdicts share. */
#ifndef TB_TESTS_COMPARED_H
#define TB_TESTS_COMPARED_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/verdict/verdicts.h"
#include "results/document.h"

enum { REPLICATES = 12 };
struct fixture {
  struct tc_arena *arena;
  struct tb_policy required, optional;
  struct tc_error err;
};

static inline int open_fixture(void **state) {
  static struct fixture f;
  static const char optional[] = "required = false";
  f = (struct fixture){.arena = tc_arena_new(tc_alloc_system())};
  *state = &f;
  return !f.arena || tb_policy_parse(f.arena, "p", "", 0, &f.required, &f.err) ||
         tb_policy_parse(f.arena, "p", optional, strlen(optional), &f.optional, &f.err);
}

static inline int close_fixture(void **state) {
  tc_arena_free(((struct fixture *)*state)->arena);
  return 0;
}

/* A case as a result has it: `ns` a call, spread over replicates by `spread` without a draw. */
static inline cJSON *new_case(const char *id, const char *outcome, double ns, double spread) {
  cJSON *one = cJSON_CreateObject(), *steady = cJSON_CreateObject(), *replicates = cJSON_CreateArray(),
        *aa = cJSON_CreateObject(), *ratios = cJSON_CreateArray();
  cJSON_AddStringToObject(one, "id", id);
  cJSON_AddStringToObject(one, "outcome", outcome);
  for (int i = 0; i < REPLICATES; i++) {
    const double away = spread * ((double)i / (REPLICATES - 1) - 0.5);
    cJSON *replicate = cJSON_CreateObject();
    cJSON_AddNumberToObject(replicate, "median_ns", ns * exp(away));
    cJSON_AddItemToArray(replicates, replicate);
    cJSON_AddItemToArray(ratios, cJSON_CreateNumber(away));
  }
  cJSON_AddItemToObject(steady, "replicates", replicates);
  cJSON_AddNumberToObject(steady, "median_ns", ns);
  cJSON_AddItemToObject(one, "steady", steady);
  cJSON_AddItemToObject(aa, "log_ratios", ratios);
  cJSON_AddItemToObject(one, "aa", aa);
  cJSON_AddItemToObject(one, "graph", cJSON_Parse("{\"kernels\": 1, \"artifact\": \"aa\"}"));
  return one;
}

static inline cJSON *document(cJSON *only_case) {
  cJSON *json = cJSON_CreateObject(), *cases = cJSON_AddArrayToObject(json, "cases");
  cJSON_AddStringToObject(json, "finished", "2026-01-02T03:04:05Z");
  if (only_case) cJSON_AddItemToArray(cases, only_case);
  return json;
}

static inline struct tb_verdicts compare(struct fixture *f, const struct tb_policy *policy, const cJSON *base,
                                         const cJSON *head) {
  struct tb_verdicts c = tb_verdicts_new(f->arena, policy, "compare");
  assert_true(tb_verdicts_add_documents(&c, base, head) && tb_verdicts_decide_unpaired(&c) &&
              tb_verdicts_judge(&c));
  return c;
}

/* What one case on both sides comes to, required and not; each side may be NULL. The documents go. */
static inline void expect(struct fixture *f, const char *what, cJSON *base, cJSON *head,
                          enum tb_exit required, enum tb_exit optional) {
  const struct tb_verdicts c = compare(f, &f->required, base, head), o = compare(f, &f->optional, base, head);
  if (c.exit != required || o.exit != optional)
    fail_msg("%s: exit %d and %d, not %d and %d", what, c.exit, o.exit, required, optional);
  cJSON_Delete(base);
  cJSON_Delete(head);
}

/* Spreads of a quiet machine, and of one that tells nothing. */
static const double tight = 0.002, noisy = 0.8;

/* A result with the case "a" alone. */
#define SIDE(outcome, ns, spread) document(new_case("a", outcome, ns, spread))

#endif
