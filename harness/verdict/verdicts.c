/* Pairing the cases of two results, and correcting what is flagged over all of them. */
#include "harness/verdict/verdicts.h"

#include <string.h>

#include "harness/base/index.h"
#include "results/document.h"

struct tb_verdicts tb_verdicts_new(struct tc_arena *arena, const struct tb_policy *policy, const char *verb) {
  return (struct tb_verdicts){.arena = arena, .policy = policy, .verb = verb};
}

struct tb_compared *tb_verdicts_add(struct tb_verdicts *c, const char *id, const cJSON *base,
                                    const cJSON *head) {
  const struct tb_compared one = {.id = id,
                                  .base = base,
                                  .head = head,
                                  .presence = base && head ? TB_PRESENCE_BOTH
                                              : base       ? TB_PRESENCE_VANISHED
                                                           : TB_PRESENCE_NEW};
  return tc_vec_push(tc_arena_alloc(c->arena), &c->cases, one) ? &c->cases.data[c->cases.len - 1] : NULL;
}

struct tb_compared *tb_verdicts_add_left_out(struct tb_verdicts *c, const cJSON *entry, const cJSON *base) {
  const struct tb_compared one = {.id = tb_doc_text(entry, "id", "?"),
                                  .base = base,
                                  .presence = TB_PRESENCE_LEFT_OUT,
                                  .left_out = tb_doc_text(entry, "artifact", NULL)};
  return tc_vec_push(tc_arena_alloc(c->arena), &c->cases, one) ? &c->cases.data[c->cases.len - 1] : NULL;
}

bool tb_result_unfinished(const cJSON *document) {
  return cJSON_IsTrue(tb_doc_at(document, "interrupted")) || !cJSON_IsString(tb_doc_at(document, "finished"));
}

/* Cases of a document that it has more than once. False when memory is out. */
static bool count_repeated(struct tb_verdicts *c, const cJSON *document) {
  struct tb_index ids = {.arena = c->arena};
  const cJSON *one;
  int number;
  cJSON_ArrayForEach(one, tb_doc_at(document, "cases")) {
    const int before = (int)ids.texts.len;
    if (!tb_index_add(&ids, tb_doc_text(one, "id", "?"), &number)) return false;
    c->repeated += number < before;
  }
  return true;
}

bool tb_verdicts_take_head(struct tb_verdicts *c, const cJSON *head) {
  const double planned = tb_doc_number(head, "planned"), there = cJSON_GetArraySize(tb_doc_at(head, "cases"));
  c->interrupted = tb_result_unfinished(head);
  c->missing = planned > there ? (int)(planned - there) : 0;
  c->repeated = 0;
  return count_repeated(c, head);
}

/* Base's CPU where head's is another; NULL: they are the same, or one is not known. */
static const char *other_cpu(const cJSON *base, const cJSON *base_case, const cJSON *head,
                             const cJSON *head_case) {
  const char *first = tb_doc_text(tb_case_environment(base, base_case), "cpu.model", NULL),
             *second = tb_doc_text(tb_case_environment(head, head_case), "cpu.model", NULL);
  return first && second && strcmp(first, second) ? first : NULL;
}

bool tb_verdicts_remark(struct tb_verdicts *c, const char *text) {
  return text && tc_vec_push(tc_arena_alloc(c->arena), &c->remarks, text);
}

bool tb_compared_measured(const struct tb_compared *one) {
  static const char ok[] = "ok";
  return one->base && one->head && !strcmp(tb_doc_text(one->base, "outcome", ""), ok) &&
         !strcmp(tb_doc_text(one->head, "outcome", ""), ok);
}

bool tb_verdicts_add_documents(struct tb_verdicts *c, const cJSON *base, const cJSON *head) {
  struct tb_index ids = {.arena = c->arena};
  const cJSON *base_cases = tb_doc_at(base, "cases"), *head_cases = tb_doc_at(head, "cases"), *one;
  TC_VEC(const cJSON *) known = {0};
  int number;
  c->base_unfinished = tb_result_unfinished(base);
  if (!tb_verdicts_take_head(c, head) || !count_repeated(c, base) ||
      !tb_verdicts_remark_environments(c, base, head))
    return false;
  cJSON_ArrayForEach(one, base_cases) {
    if (!tb_index_add(&ids, tb_doc_text(one, "id", "?"), &number)) return false;
    if (number == (int)known.len && !tc_vec_push(tc_arena_alloc(c->arena), &known, one)) return false;
  }
  cJSON_ArrayForEach(one, head_cases) {
    const char *id = tb_doc_text(one, "id", "?");
    if (!tb_index_add(&ids, id, &number)) return false;
    const cJSON *other = number < (int)known.len ? known.data[number] : NULL;
    struct tb_compared *added = tb_verdicts_add(c, id, other, one);
    if (!added) return false;
    if (!other) continue;
    known.data[number] = NULL;
    added->other_cpu = other_cpu(base, other, head, one);
  }
  cJSON_ArrayForEach(one, tb_doc_at(head, "left_out")) {
    if (!tb_index_add(&ids, tb_doc_text(one, "id", "?"), &number)) return false;
    if (!tb_verdicts_add_left_out(c, one, number < (int)known.len ? known.data[number] : NULL)) return false;
    if (number < (int)known.len) known.data[number] = NULL;
  }
  for (size_t i = 0; i < known.len; i++)
    if (known.data[i] && !tb_verdicts_add(c, tb_doc_text(known.data[i], "id", "?"), known.data[i], NULL))
      return false;
  return true;
}

bool tb_verdicts_correct(struct tb_verdicts *c, size_t family) {
  struct tb_decision *decisions = tc_arena_bytes(c->arena, sizeof *decisions * (c->cases.len + 1));
  size_t count = 0, again = 0;
  if (!decisions) return false;
  for (size_t i = 0; i < c->cases.len; i++) {
    if (c->cases.data[i].timed) decisions[count++] = c->cases.data[i].time;
    again += c->cases.data[i].fresh_log_ratios.len > 0;
  }
  if (tb_decide_correct(decisions, count, family > again ? family : again, tb_confidence_default) < 0)
    return false;
  count = 0;
  for (size_t i = 0; i < c->cases.len; i++) {
    struct tb_compared *one = &c->cases.data[i];
    if (!one->timed) continue;
    one->time = decisions[count++];
    one->confirmed = one->confirmed && one->time.why != TB_UNSURE_CORRECTED;
  }
  return true;
}
