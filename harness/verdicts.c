/* Pairing the cases of two results, and deciding on times that were not measured in one run. */
#include "harness/verdicts.h"

#include <math.h>
#include <string.h>

#include "harness/index.h"
#include "reporters/reporter.h"

struct tb_verdicts tb_verdicts_new(struct tc_arena *arena, const struct tb_policy *policy, const char *verb) {
  return (struct tb_verdicts){.arena = arena, .policy = policy, .verb = verb};
}

struct tb_compared *tb_verdicts_add(struct tb_verdicts *c, const char *id, const cJSON *base, const cJSON *head) {
  const struct tb_compared one = {.id = id, .base = base, .head = head,
                                  .presence = base && head ? TB_PRESENCE_BOTH : base ? TB_PRESENCE_VANISHED : TB_PRESENCE_NEW};
  return tc_vec_push(tc_arena_alloc(c->arena), &c->cases, one) ? &c->cases.data[c->cases.len - 1] : NULL;
}

struct tb_compared *tb_verdicts_add_left_out(struct tb_verdicts *c, const cJSON *entry, const cJSON *base) {
  const struct tb_compared one = {.id = tb_doc_text(entry, "id", "?"), .base = base, .presence = TB_PRESENCE_LEFT_OUT, .left_out = tb_doc_text(entry, "artifact", NULL)};
  return tc_vec_push(tc_arena_alloc(c->arena), &c->cases, one) ? &c->cases.data[c->cases.len - 1] : NULL;
}

bool tb_result_unfinished(const cJSON *document) { return cJSON_IsTrue(tb_doc_at(document, "interrupted")) || !cJSON_IsString(tb_doc_at(document, "finished")); }

void tb_verdicts_take_head(struct tb_verdicts *c, const cJSON *head) {
  const double planned = tb_doc_number(head, "planned"), there = cJSON_GetArraySize(tb_doc_at(head, "cases"));
  c->interrupted = tb_result_unfinished(head);
  c->missing = planned > there ? (int)(planned - there) : 0;
}

bool tb_compared_measured(const struct tb_compared *one) {
  static const char ok[] = "ok";
  return one->base && one->head && !strcmp(tb_doc_text(one->base, "outcome", ""), ok) && !strcmp(tb_doc_text(one->head, "outcome", ""), ok);
}

bool tb_verdicts_add_documents(struct tb_verdicts *c, const cJSON *base, const cJSON *head) {
  struct tb_index ids = {.arena = c->arena};
  const cJSON *base_cases = tb_doc_at(base, "cases"), *head_cases = tb_doc_at(head, "cases"), *one;
  TC_VEC(const cJSON *) known = {0};
  int number;
  c->base_unfinished = tb_result_unfinished(base);
  tb_verdicts_take_head(c, head);
  cJSON_ArrayForEach(one, base_cases) {
    if (!tb_index_add(&ids, tb_doc_text(one, "id", "?"), &number)) return false;
    if (number == (int)known.len && !tc_vec_push(tc_arena_alloc(c->arena), &known, one)) return false;
  }
  cJSON_ArrayForEach(one, head_cases) {
    const char *id = tb_doc_text(one, "id", "?");
    if (!tb_index_add(&ids, id, &number)) return false;
    const cJSON *other = number < (int)known.len ? known.data[number] : NULL;
    if (!tb_verdicts_add(c, id, other, one)) return false;
    if (other) known.data[number] = NULL;
  }
  cJSON_ArrayForEach(one, tb_doc_at(head, "left_out")) {
    if (!tb_index_add(&ids, tb_doc_text(one, "id", "?"), &number)) return false;
    if (!tb_verdicts_add_left_out(c, one, number < (int)known.len ? known.data[number] : NULL)) return false;
    if (number < (int)known.len) known.data[number] = NULL;
  }
  for (size_t i = 0; i < known.len; i++)
    if (known.data[i] && !tb_verdicts_add(c, tb_doc_text(known.data[i], "id", "?"), known.data[i], NULL)) return false;
  return true;
}

/* --- times of two runs --- */

static bool push_numbers(struct tc_arena *arena, const cJSON *array, tb_doubles *out) {
  const cJSON *item;
  cJSON_ArrayForEach(item, array)
    if (cJSON_IsNumber(item) && !tc_vec_push(tc_arena_alloc(arena), out, item->valuedouble)) return false;
  return true;
}

/* Logarithms of the compiled time of each replicate. */
static bool push_times(struct tc_arena *arena, const cJSON *one_case, tb_doubles *out) {
  const cJSON *replicate;
  cJSON_ArrayForEach(replicate, tb_doc_at(one_case, "steady.replicates")) {
    const double ns = tb_doc_number(replicate, "median_ns");
    if (ns > 0 && !tc_vec_push(tc_arena_alloc(arena), out, log(ns))) return false;
  }
  return true;
}

static bool has_probe(const cJSON *one_case) { return cJSON_GetArraySize(tb_doc_at(one_case, "probe.log_ratios")) > 0; }

/* Probes of two versions are two pieces of work. */
static bool same_probe(const cJSON *a, const cJSON *b) {
  return has_probe(a) && has_probe(b) && tb_doc_number(a, "probe.version") == tb_doc_number(b, "probe.version");
}

/* By the probe's time of the same rounds, where both runs have it: so a machine that was slower that night is no regression. */
static bool gather(struct tc_arena *arena, const struct tb_compared *one, tb_doubles *base, tb_doubles *head, tb_doubles *twins) {
  const bool probed = same_probe(one->base, one->head);
  const cJSON *const sides[] = {one->base, one->head};
  tb_doubles *const out[] = {base, head};
  for (int s = 0; s < 2; s++) {
    const bool good = probed ? push_numbers(arena, tb_doc_at(sides[s], "probe.log_ratios"), out[s]) : push_times(arena, sides[s], out[s]);
    if (!good || !push_numbers(arena, tb_doc_at(sides[s], "aa.log_ratios"), twins)) return false;
  }
  return true;
}

bool tb_verdicts_correct(struct tb_verdicts *c, size_t family) {
  struct tb_decision *decisions = tc_arena_bytes(c->arena, sizeof *decisions * (c->cases.len + 1));
  size_t count = 0;
  if (!decisions) return false;
  for (size_t i = 0; i < c->cases.len; i++)
    if (c->cases.data[i].timed) decisions[count++] = c->cases.data[i].time;
  if (tb_decide_correct(decisions, count, family, tb_confidence_default) < 0) return false;
  count = 0;
  for (size_t i = 0; i < c->cases.len; i++)
    if (c->cases.data[i].timed) c->cases.data[i].time = decisions[count++];
  return true;
}

bool tb_verdicts_decide_apart(struct tb_verdicts *c) {
  size_t family = 0;
  for (size_t i = 0; i < c->cases.len; i++) {
    struct tb_compared *one = &c->cases.data[i];
    tb_doubles base = {0}, head = {0}, twins = {0};
    if (!tb_compared_measured(one)) continue;
    if (!gather(c->arena, one, &base, &head, &twins)) return false;
    const struct tb_decide_options options = {tb_policy_threshold(c->policy, one->id), tb_confidence_default};
    one->time = tb_decide_apart(base.data, base.len, head.data, head.len, twins.data, twins.len, 0, options);
    one->timed = true;
    family++;
  }
  return tb_verdicts_correct(c, family);
}
