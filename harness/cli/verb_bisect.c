/* `tbench bisect base.SWITCH=VALUE head.SWITCH=VALUE suite=… [axis=VALUE…]`: what made one case wrong or
 * slower. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/folder.h"
#include "harness/base/verb.h"
#include "harness/cli/verbs.h"
#include "harness/cli/verdicts_verb.h"
#include "harness/compare/bisect.h"

static const char verb_name[] = "bisect";

struct work {
  struct tb_run run;
  struct tb_arms arms;
  struct tb_bisect bisect;
};

static enum tb_exit read_options(struct work *w) {
  enum { SECONDS_MOST = 100000, PAIRS_LEAST = 4, PAIRS_MOST = 4096 };
  long long seconds, pairs;
  struct tb_policy policy;
  if (!tb_arms_whole(&w->arms, verb_name, "seconds", 1, SECONDS_MOST, &seconds) ||
      !tb_arms_whole(&w->arms, verb_name, "pairs", PAIRS_LEAST, PAIRS_MOST, &pairs))
    return TB_EXIT_USAGE;
  const enum tb_exit code =
      tb_verdicts_policy(verb_name, w->run.arena, tb_arms_value(&w->arms, "policy"), &policy);
  if (code != TB_EXIT_PASS) return code;
  w->bisect.seconds = (double)seconds;
  w->bisect.pairs = (int)pairs;
  w->bisect.threshold = tb_policy_threshold(&policy, w->bisect.kase.id);
  return TB_EXIT_PASS;
}

static enum tb_exit refuse_cases(const struct tb_plan *plan) {
  enum { SHOWN = 20 };
  tb_verb_usage(verb_name, "it takes one case, and these are %zu: name a workload and one value of each axis",
                plan->cases.len);
  for (size_t i = 0; i < plan->cases.len && i < SHOWN; i++) fprintf(stderr, "  %s\n", plan->cases.data[i].id);
  if (plan->cases.len > SHOWN) fprintf(stderr, "  and %zu more\n", plan->cases.len - SHOWN);
  return TB_EXIT_USAGE;
}

static enum tb_exit run_all(struct work *w) {
  struct tc_error err = {0};
  struct tb_bisect *b = &w->bisect;
  if (w->run.spec.explaining)
    return tb_verb_usage(verb_name, "it takes no '%s'; tbench explain does", w->run.spec.explaining);
  if (*w->run.spec.options.push) return tb_verb_usage(verb_name, "it takes no 'push'; tbench run does");
  if (w->run.plan.cases.len != 1) return refuse_cases(&w->run.plan);
  *b = (struct tb_bisect){.run = &w->run, .arms = &w->arms, .kase = w->run.plan.cases.data[0]};
  const enum tb_exit code = read_options(w);
  if (code != TB_EXIT_PASS) return code;
  if (tb_bisect_open(b, &err) || tb_run_make_cache(&w->run, &err))
    return tb_verb_usage(verb_name, "%s", err.message);
  tb_progress_begin(&w->run.progress, 1);
  printf("%s\n", b->kase.id);
  enum tb_bad answer = tb_bisect_ask_first(b);
  if (answer == TB_BAD_NO) {
    if (b->differences.len)
      return tb_verb_usage(verb_name, "head is right, and not slower than base: there is nothing to find");
    return tb_verb_usage(verb_name, "the case is right; say what to compare it with: base.SWITCH=VALUE, "
                                    "head.SWITCH=VALUE, base=PROGRAM or head=PROGRAM");
  }
  if (answer == TB_BAD_UNSURE) {
    fputs(b->trouble == TB_TROUBLE_SLOWER
              ? "tbench bisect: it is unclear whether head is slower; use more seconds= or pairs=, or a "
                "quieter machine (tbench doctor)\n"
              : "tbench bisect: head was bad and then right: a fault that comes and goes cannot be found by "
                "halving (uninitialised memory, a race, a check that depends on more than its arguments)\n",
          stderr);
    return TB_EXIT_NOT_MEASURABLE;
  }
  if (answer == TB_BAD_YES) answer = tb_bisect_narrow(b);
  if (answer == TB_BAD_STOP) return b->stopped;
  return tb_bisect_answer(b);
}

/* head, head=PROGRAM, head.SWITCH=VALUE; an axis of a suite may begin with the same letters. */
static bool is_arm(const char *word, const char *arm) {
  const size_t length = strlen(arm);
  return !strncmp(word, arm, length) && (!word[length] || word[length] == '=' || word[length] == '.');
}

/* A case alone is asked whether it is right. */
static tc_status parse(struct tc_arena *arena, int argc, char *const *argv, struct tb_arms *out,
                       struct tc_error *err) {
  static const char itself[] = "head=self";
  bool has_arms = false;
  char **words = tc_arena_bytes(arena, sizeof *words * (size_t)(argc + 1));
  if (!words) return tc_fail_memory(err, verb_name);
  for (int i = 0; i < argc; i++) {
    const char *word = argv[i] + strspn(argv[i], "-");
    words[i + 1] = argv[i];
    for (int s = 0; s < TB_ARM_COUNT; s++) has_arms |= is_arm(word, tb_arm_name((enum tb_arm_id)s));
  }
  words[0] = (char *)itself; /* in front: a name at the end that lacks its value must not take it */
  return tb_arms_parse(arena, verb_name, argc + !has_arms, words + has_arms, out, err);
}

int tb_verb_bisect(int argc, char *const *argv) {
  struct tc_error err = {0};
  struct work w = {.arms = {.argc = 0}};
  signal(SIGPIPE, SIG_IGN);
  struct tc_arena *arena = tc_arena_new(tc_alloc_system());
  if (!arena) return tb_verb_failed(verb_name, "out of memory");
  enum tb_exit code = TB_EXIT_PASS;
  if (parse(arena, argc, argv, &w.arms, &err)) code = tb_verb_usage(verb_name, "%s", err.message);
  if (code == TB_EXIT_PASS) {
    code = tb_run_open(&w.run, verb_name, w.arms.argc, w.arms.argv);
    if (code == TB_EXIT_PASS) code = run_all(&w);
    tb_progress_end(&w.run.progress);
    tb_folder_remove(w.run.cache_root);
    tb_run_close(&w.run);
  }
  tc_arena_free(arena);
  return code;
}
