/* Confirmation of a gate's flags. */
#include "harness/compare/confirm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/clock.h"
#include "harness/base/folder.h"
#include "harness/base/verb.h"
#include "harness/compare/ab.h"
#include "harness/compare/arms.h"
#include "results/document.h"

static bool says_cases(const char *name) {
  for (int i = 0; i < tb_option_count(); i++)
    if (tb_name_equal(tb_option_row(i)->name, name)) return tb_option_row(i)->use == TB_OPTION_PLANS;
  return true; /* an axis or a switch */
}

/* What stands behind "tbench run". */
static tc_status stored_words(struct tc_arena *arena, const cJSON *document, int *argc, char ***argv,
                              struct tc_error *err) {
  enum { PROGRAM_AND_VERB = 2 };
  const cJSON *words = tb_doc_at(document, "argv"), *word;
  const int count = cJSON_GetArraySize(words);
  int index = 0;
  const cJSON *verb = cJSON_GetArrayItem(words, PROGRAM_AND_VERB - 1);
  *argc = 0;
  if (count <= PROGRAM_AND_VERB || !cJSON_IsString(verb) || strcmp(verb->valuestring, "run"))
    return tc_fail(err, TC_ARG, "gate",
                   "the result does not record its tbench run command, so flagged cases cannot be confirmed "
                   "(leave base= out)");
  *argv = tc_arena_bytes(arena, sizeof **argv * (size_t)count);
  if (!*argv) return tc_fail_memory(err, "gate");
  cJSON_ArrayForEach(word, words)
    if (index++ >= PROGRAM_AND_VERB && cJSON_IsString(word)) (*argv)[(*argc)++] = word->valuestring;
  return TC_OK;
}

tc_status tb_confirm_arguments(struct tc_arena *arena, const cJSON *document, const char *base,
                               const char *head, int *argc, char ***argv, struct tc_error *err) {
  struct tb_args args;
  int count;
  char **words;
  *argc = 0;
  tc_status status = stored_words(arena, document, &count, &words, err);
  if (!status) status = tb_args_parse(arena, count, words, tb_option_alone, NULL, &args, err);
  if (status) return status;
  *argv = tc_arena_bytes(arena, sizeof **argv * (args.named.len + TB_ARM_COUNT));
  if (!*argv) return tc_fail_memory(err, "gate");
  bool good = true;
  for (size_t i = 0; i < args.named.len; i++) {
    const struct tb_arg *arg = &args.named.data[i];
    if (says_cases(arg->name))
      good = ((*argv)[(*argc)++] = (char *)tb_format(arena, "%s=%s", arg->name, arg->value)) && good;
  }
  good = ((*argv)[(*argc)++] = (char *)tb_format(arena, "%s=%s", tb_arm_name(TB_ARM_BASE), base)) && good;
  good = ((*argv)[(*argc)++] =
              (char *)tb_format(arena, "%s=%s", tb_arm_name(TB_ARM_HEAD), head ? head : "self")) &&
         good;
  return good ? TC_OK : tc_fail_memory(err, "gate");
}

/* The plan's cases that are flagged, in the order of the comparison; the others go. `which[i]`: of which
 * compared case pair i is. */
static bool keep_flagged(struct tb_run *run, const struct tb_verdicts *c, size_t *which) {
  struct tb_plan kept = {.n_groups = 0};
  for (size_t i = 0; i < c->cases.len; i++) {
    for (size_t p = 0; p < run->plan.cases.len && tb_compared_flagged(&c->cases.data[i]); p += TB_ARM_COUNT) {
      if (strcmp(run->plan.cases.data[p].pair, c->cases.data[i].id)) continue;
      which[kept.n_groups] = i;
      for (int s = 0; s < TB_ARM_COUNT; s++) {
        run->plan.cases.data[p + (size_t)s].group = kept.n_groups;
        if (!tc_vec_push(tc_arena_alloc(run->arena), &kept.cases, run->plan.cases.data[p + (size_t)s]))
          return false;
      }
      kept.n_groups++;
      break;
    }
  }
  run->plan = kept;
  return true;
}

/* What a confirmation found, as it outlives the run that found it. */
static bool keep_found(struct tb_verdicts *c, struct tb_compared *out, const struct tb_compared *found) {
  const tb_doubles pairs = found->fresh_log_ratios, aa_pairs = found->fresh_aa_log_ratios;
  out->time = found->time;
  out->timed = found->timed;
  out->confirmed = found->confirmed;
  out->calibration_ratio = out->drift = 0; /* both arms were in one run */
  out->failed = found->failed;
  out->failure = found->failure ? tb_format(c->arena, "%s", found->failure) : NULL;
  bool good = !found->failure == !out->failure;
  out->base_ns.len = out->head_ns.len = 0;
  for (size_t i = 0; i < found->base_ns.len; i++)
    good = good && tc_vec_push(tc_arena_alloc(c->arena), &out->base_ns, found->base_ns.data[i]);
  for (size_t i = 0; i < found->head_ns.len; i++)
    good = good && tc_vec_push(tc_arena_alloc(c->arena), &out->head_ns, found->head_ns.data[i]);
  for (size_t i = 0; i < pairs.len; i++)
    good = good && tc_vec_push(tc_arena_alloc(c->arena), &out->fresh_log_ratios, pairs.data[i]);
  for (size_t i = 0; i < aa_pairs.len; i++)
    good = good && tc_vec_push(tc_arena_alloc(c->arena), &out->fresh_aa_log_ratios, aa_pairs.data[i]);
  return good;
}

static int wanted_pairs(const struct tb_verdicts *c, int needed) {
  const int wanted = (int)tb_policy_value(c->policy, TB_POLICY_CONFIRMATION_PAIRS, NULL);
  return !wanted ? 0 : wanted < needed ? needed : wanted;
}

static tc_status remark(struct tb_verdicts *c, const char *text, struct tc_error *err) {
  return tb_verdicts_remark(c, text) ? TC_OK : tc_fail_memory(err, "gate");
}

/* What fresh pairs do not suffice for stands as it was stored. */
static tc_status keep_or_leave(struct tb_verdicts *c, struct tb_compared *one,
                               const struct tb_compared *found, const char *unconfirmed,
                               struct tc_error *err) {
  if (unconfirmed)
    return remark(c,
                  tb_format(c->arena, "%s is %s in the stored results, unconfirmed: %s", one->id,
                            tb_verdict_word(one->time.verdict), unconfirmed),
                  err);
  return keep_found(c, one, found) ? TC_OK : tc_fail_memory(err, "gate");
}

/* Cases share what is left of the policy's budget, each as long as one of tbench ab at most. */
static tc_status confirm_cases(struct tb_ab *ab, struct tb_verdicts *c, const size_t *which, int needed,
                               struct tc_error *err) {
  struct tb_run *run = ab->run;
  const int n = run->plan.n_groups, pairs = wanted_pairs(c, needed);
  const double seconds_each = strtod(tb_verb_option_find("ab", "seconds")->default_text, NULL);
  const int64_t end =
      tb_now_ns() + (int64_t)(tb_policy_value(c->policy, TB_POLICY_BUDGET, NULL) * TB_NS_PER_S);
  for (int i = 0; i < n && pairs && !tb_interrupt_poll(&run->interrupt); i++) {
    const double left_s = (double)(end - tb_now_ns()) / TB_NS_PER_S;
    if (left_s <= 0)
      return remark(c,
                    tb_format(c->arena,
                              "the policy's budget ended after %d of %d flagged cases were measured again", i,
                              n),
                    err);
    ab->seconds = fmin(seconds_each, left_s / (n - i));
    const char *unconfirmed;
    tc_status status =
        tb_ab_confirm(ab, (size_t)i, pairs, needed, (uint64_t)run->spec.options.seed, &unconfirmed, err);
    run->progress.done++;
    if (!status)
      status = keep_or_leave(c, &c->cases.data[which[i]], &ab->comparison->cases.data[i], unconfirmed, err);
    if (status) return status;
  }
  return TC_OK;
}

static tc_status confirm_all(struct tb_run *run, struct tb_verdicts *c, const size_t *which,
                             int flagged_count, struct tc_error *err) {
  struct tb_verdicts again = tb_verdicts_new(run->arena, c->policy, c->verb);
  const int n = run->plan.n_groups, needed = tb_pairs_needed(tb_confidence_default, (size_t)flagged_count);
  struct tb_ab ab = {.run = run, .comparison = &again, .stored = true};
  for (int i = 0; i < n; i++) {
    struct tb_compared *copy = tb_verdicts_add(&again, c->cases.data[which[i]].id,
                                               c->cases.data[which[i]].base, c->cases.data[which[i]].head);
    if (!copy) return tc_fail_memory(err, "gate");
    *copy = c->cases.data[which[i]];
  }
  tc_status status = TC_OK;
  if (n < flagged_count)
    status = remark(
        c,
        tb_format(c->arena,
                  "%d flagged case%s not confirmed: the result's command line does not give such a case here",
                  flagged_count - n, flagged_count - n == 1 ? " is" : "s are"),
        err);
  tb_progress_begin(&run->progress, n);
  if (!status) status = confirm_cases(&ab, c, which, needed, err);
  tb_progress_end(&run->progress);
  if (tb_interrupt_poll(&run->interrupt)) c->interrupted = true;
  if (status || !wanted_pairs(c, needed) || n < flagged_count) return status;
  return tb_verdicts_correct(c, 0) ? TC_OK : tc_fail_memory(err, "gate");
}

/* The run that confirms: the cases of head's command line that are flagged, with two arms. */
static tc_status open_run(struct tb_run *run, struct tb_verdicts *c, const struct tb_arms *arms,
                          size_t **which, struct tc_error *err) {
  const enum tb_exit code = tb_run_open(run, c->verb, arms->argc, arms->argv);
  if (code == TB_EXIT_INTERRUPTED) return tc_fail(err, TC_INTERRUPTED, "gate", "interrupted");
  if (code != TB_EXIT_PASS)
    return tc_fail(err, TC_ARG, "gate",
                   "flagged cases cannot be confirmed: the result's command line does not work here");
  *which = tc_arena_bytes(run->arena, sizeof **which * (c->cases.len + 1));
  if (!*which) return tc_fail_memory(err, "gate");
  const tc_status status = tb_arms_apply(run->arena, arms, &run->plan, err);
  if (status) return status;
  return keep_flagged(run, c, *which) ? tb_run_make_cache(run, err) : tc_fail_memory(err, "gate");
}

tc_status tb_confirm_flagged(struct tb_verdicts *c, const cJSON *head_document, const char *base,
                             const char *head, struct tc_error *err) {
  static const char run_verb[] = "run"; /* its command line it is; none of the gate's own options are in it */
  int argc = 0, count = 0;
  char **argv = NULL;
  size_t *which = NULL;
  struct tb_arms arms;
  struct tb_run run;
  for (size_t i = 0; i < c->cases.len; i++) count += tb_compared_flagged(&c->cases.data[i]);
  if (!base || !count) return TC_OK;
  tc_status status = tb_confirm_arguments(c->arena, head_document, base, head, &argc, &argv, err);
  if (!status) status = tb_arms_parse(c->arena, run_verb, argc, argv, &arms, err);
  if (status) return status;
  status = open_run(&run, c, &arms, &which, err);
  if (!status) status = confirm_all(&run, c, which, count, err);
  tb_folder_remove(run.cache_root);
  tb_run_close(&run);
  return status;
}
