/* Questions: is a trial bad? */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/compare/bisect.h"
#include "harness/run/correctness.h"
#include "harness/run/role.h"
#include "harness/run/states.h"
#include "results/stats/stats.h"

enum { CHECKED_CALLS = 3, REPEATS = 2, MORE_TIME = 4, MORE_PAIRS = 2 };

static enum tb_bad stop(struct tb_bisect *b, enum tb_exit code, const char *why) {
  b->stopped = code;
  if (why) fprintf(stderr, "tbench bisect: %s\n", why);
  return TB_BAD_STOP;
}

/* Where a status ends everything, or the user did. */
static bool over(struct tb_bisect *b, tc_status status, const struct tc_error *err) {
  if (status == TC_INTERRUPTED || tb_interrupt_poll(&b->run->interrupt))
    stop(b, TB_EXIT_INTERRUPTED, NULL);
  else if (status == TC_NOMEM)
    stop(b, TB_EXIT_FAILED, err->message);
  else
    return false;
  return true;
}

static const char *folder_of(struct tb_bisect *b, const char *arm) {
  return tb_format(b->run->arena, "%s/bisect-%s", b->run->cache_root, arm);
}

/* --- right or wrong --- */

enum { WORKER_BASELINE, WORKER_REFERENCE, WORKER_COMPILED, WORKERS };
static const enum tb_role worker_roles[WORKERS] = {TB_ROLE_BASELINE, TB_ROLE_REFERENCE, TB_ROLE_COMPILED};

struct check {
  struct tb_bisect *b;
  const struct tb_case *kase;
  struct tb_process process[WORKERS];
  struct tb_prepared prepared[WORKERS];
  bool started[WORKERS], lost_reference;
  double timeout_s;
};

static tc_status call(struct check *c, int worker, bool first, struct tc_error *err) {
  cJSON *reply = NULL;
  if (first) {
    c->started[worker] = true;
    const char *cache = worker == WORKER_COMPILED ? folder_of(c->b, "head") : NULL;
    tc_status status = tb_role_start(c->b->run, c->kase, worker_roles[worker], cache, &c->process[worker],
                                     &c->prepared[worker], err);
    struct tb_first found = {.stats = NULL};
    if (!status && worker == WORKER_COMPILED) {
      status = tb_first_call(&c->process[worker], false, c->timeout_s, &found, err);
      cJSON_Delete(found.stats);
      return status;
    }
    if (status) return status;
  }
  const tc_status status =
      tb_process_ask(&c->process[worker], tb_process_request(TB_REQUEST_call), c->timeout_s, &reply, err);
  cJSON_Delete(reply);
  return status;
}

static const char *failure_of(struct tb_bisect *b, const struct tb_process *process) {
  return tb_format(b->run->arena, "%s: %s", tb_outcome_text(process->outcome), process->why);
}

/* The compiled function does not run. What is unsupported was asked for by a trial of ours, if head as it is
 * was not. */
static enum tb_bad failed(struct check *c) {
  const struct tb_process *process = &c->process[WORKER_COMPILED];
  const char *failure = failure_of(c->b, process);
  const bool unsupported = process->outcome == TB_OUTCOME_UNSUPPORTED;
  if (unsupported && !c->b->steps) return stop(c->b, TB_EXIT_USAGE, failure);
  c->b->evidence = failure;
  if (!unsupported) c->b->seen = TB_TROUBLE_FAILED;
  return unsupported ? TB_BAD_UNSURE : TB_BAD_YES;
}

/* Nothing that is compiled can be right then, nor be blamed. */
static enum tb_bad plain_wrong(struct tb_bisect *b, const char *why) {
  return stop(b, TB_EXIT_FAILED,
              tb_format(b->run->arena,
                        "the plain function is wrong, before anything is compiled: %s\n  fix the suite: the "
                        "function, its check, its tolerance, or what is random or kept between calls. If the "
                        "suite is right, an eager kernel is wrong, and no backend is to blame",
                        why));
}

/* Compares the newest outputs. */
static enum tb_bad compare(struct check *c, struct tc_error *err) {
  struct tb_comparison comparison;
  char digest[TB_DIGEST_BYTES], why[TB_DETAIL_BYTES];
  bool good = true;
  struct tb_process *reference = c->lost_reference ? NULL : &c->process[WORKER_REFERENCE];
  tc_status status =
      tb_compare(&c->process[WORKER_COMPILED], &c->process[WORKER_BASELINE], reference, c->kase->dtype,
                 c->prepared[WORKER_BASELINE].tolerance, c->timeout_s, &comparison, err);
  if (!status && comparison.ok)
    status = tb_digest(&c->process[WORKER_COMPILED], c->timeout_s, digest, &good, why, err);
  if (over(c->b, status, err)) return TB_BAD_STOP;
  if (c->process[WORKER_COMPILED].outcome) return failed(c);
  if (status) return stop(c->b, TB_EXIT_FAILED, err->message);
  if (*comparison.baseline) return plain_wrong(c->b, comparison.baseline);
  if (comparison.ok && good) return TB_BAD_NO;
  c->b->seen = TB_TROUBLE_WRONG;
  c->b->evidence = tb_format(c->b->run->arena, "wrong: %s", comparison.ok ? why : comparison.detail);
  return TB_BAD_YES;
}

static enum tb_bad check_call(struct check *c, bool first) {
  struct tc_error err = {0};
  for (int worker = 0; worker < WORKERS; worker++) {
    if (worker == WORKER_REFERENCE && c->lost_reference) continue;
    const tc_status status = call(c, worker, first, &err);
    if (over(c->b, status, &err)) return TB_BAD_STOP;
    if (!status) continue;
    if (worker == WORKER_COMPILED) return failed(c);
    if (worker == WORKER_BASELINE)
      return stop(c->b, TB_EXIT_FAILED,
                  tb_format(c->b->run->arena, "the plain function does not run: %s",
                            failure_of(c->b, &c->process[worker])));
    c->lost_reference = true; /* held against the plain function, then */
  }
  return compare(c, &err);
}

static enum tb_bad ask_right(struct tb_bisect *b, const struct tb_case *kase) {
  struct check c = {.b = b, .kase = kase, .timeout_s = tb_run_timeout(b->run, kase)};
  enum tb_bad answer = TB_BAD_NO;
  b->evidence = "right";
  b->seen = TB_TROUBLE_NONE;
  for (int i = 0; i < CHECKED_CALLS && answer == TB_BAD_NO; i++) answer = check_call(&c, i == 0);
  for (int worker = 0; worker < WORKERS; worker++)
    if (c.started[worker]) tb_process_stop(&c.process[worker]);
  return answer;
}

/* --- slower or not --- */

static enum tb_bad compare_once(struct tb_bisect *b, const struct tb_case *cases, double seconds, int pairs) {
  enum { SEEDS_APART = 7919, PERCENT = 100 };
  struct tc_error err = {0};
  struct tb_paired d = {
      .base = {&cases[TB_ARM_BASE], folder_of(b, "base")},
      .head = {&cases[TB_ARM_HEAD], folder_of(b, "head")},
      .budget_s = seconds,
      .max_pairs = pairs,
      .threshold = b->threshold,
      .passed_over = b->half,
      .seed = (uint64_t)(b->run->spec.options.seed + (long long)SEEDS_APART * b->comparisons++)};
  const tc_status status = tb_paired_run(b->run, &d, &err);
  if (over(b, status, &err)) return TB_BAD_STOP;
  if (status) return stop(b, TB_EXIT_FAILED, err.message);
  if (d.why) return stop(b, TB_EXIT_FAILED, d.why);
  b->ratio = d.decided ? d.decision.ratio : NAN;
  b->lo = d.decided ? d.decision.lo : NAN;
  b->base_ns = tb_median(d.base_ns.data, d.base_ns.len);
  b->less = false;
  if (!d.decided) return b->evidence = "not measured", TB_BAD_UNSURE;
  b->less = d.decision.verdict == TB_VERDICT_SAME && d.decision.lo > 1 + b->threshold;
  b->evidence = tb_format(b->run->arena, "%s: head/base %.3f [%.3f, %.3f], limit %.1f%%, %d pairs",
                          b->less ? "LESS THAN HALF" : tb_verdict_word(d.decision.verdict), d.decision.ratio,
                          d.decision.lo, d.decision.hi, PERCENT * d.decision.limit, d.decision.pairs);
  if (d.decision.verdict == TB_VERDICT_UNSURE) return TB_BAD_UNSURE;
  return d.decision.verdict == TB_VERDICT_SLOWER ? TB_BAD_YES : TB_BAD_NO;
}

/* --- telling --- */

static void tell(struct tb_bisect *b, const char *what) {
  enum { WHAT_WIDTH = 44 };
  tb_progress_end(&b->run->progress);
  printf("%3d  %-*s %s\n", ++b->steps, WHAT_WIDTH, what, b->evidence ? b->evidence : "out of memory");
  fflush(stdout);
}

static enum tb_bad ask_slower(struct tb_bisect *b, const struct tb_case *cases, const char *what,
                              int repeats) {
  double seconds = b->seconds;
  int pairs = b->pairs;
  for (int i = 0;; i++) {
    const enum tb_bad answer = compare_once(b, cases, seconds, pairs);
    if (answer == TB_BAD_STOP) return answer;
    tell(b, what);
    if (answer != TB_BAD_UNSURE) return answer;
    if (i == repeats)
      return printf("     still unclear with %d pairs in %.0f s: too noisy\n", pairs, seconds), answer;
    seconds *= MORE_TIME;
    pairs *= MORE_PAIRS;
    printf("     unsure: trying again, with up to %d pairs in %.0f s\n", pairs, seconds);
  }
}

static enum tb_bad ask(struct tb_bisect *b, const struct tb_trial *trial, const char *what, int repeats) {
  struct tc_error err = {0};
  struct tb_case cases[TB_ARM_COUNT];
  if (tb_trial_cases(b, trial, cases, &err)) return stop(b, TB_EXIT_FAILED, err.message);
  if (!what) return stop(b, TB_EXIT_FAILED, "out of memory");
  b->run->progress.done = b->steps; /* how many more there are, nobody knows */
  b->run->progress.total = b->steps + 1;
  if (b->trouble == TB_TROUBLE_SLOWER) return ask_slower(b, cases, what, repeats);
  const enum tb_bad answer = ask_right(b, &cases[TB_ARM_HEAD]);
  if (answer != TB_BAD_STOP) tell(b, what);
  return answer;
}

enum tb_bad tb_bisect_ask(struct tb_bisect *b, const struct tb_trial *trial, const char *what) {
  return ask(b, trial, what, REPEATS);
}

enum tb_bad tb_bisect_ask_at_all(struct tb_bisect *b, const struct tb_trial *trial, const char *what) {
  const struct tb_effect half = b->half;
  b->half = (struct tb_effect){0, 0};
  const enum tb_bad answer = ask(b, trial, what, 0);
  b->half = half;
  return answer;
}

/* --- head as it is --- */

static enum tb_bad ask_first_comparison(struct tb_bisect *b, const struct tb_trial *head) {
  b->trouble = TB_TROUBLE_SLOWER;
  enum tb_bad answer = tb_bisect_ask(b, head, "head against base");
  if (answer != TB_BAD_YES) return answer;
  answer = tb_bisect_ask(b, head, "head against base, with fresh pairs");
  if (answer != TB_BAD_YES) return answer == TB_BAD_NO ? TB_BAD_UNSURE : answer;
  const double half = (b->ratio - 1) / 2;
  if (half > b->threshold) {
    enum { PERCENT = 100 };
    b->half = (struct tb_effect){half, half * b->base_ns};
    printf("     from here on, slower means at least half of that: %.1f%% more, or %.0f ns more per call\n",
           PERCENT * half, b->half.ns);
  }
  return TB_BAD_YES;
}

enum tb_bad tb_bisect_ask_first(struct tb_bisect *b) {
  const struct tb_trial head = tb_trial_new(b, true);
  b->trouble = TB_TROUBLE_WRONG;
  enum tb_bad answer = tb_bisect_ask(b, &head, "head");
  if (answer == TB_BAD_YES) {
    b->trouble = b->seen;
    answer = tb_bisect_ask(b, &head, "head, in fresh processes");
    return answer == TB_BAD_NO ? TB_BAD_UNSURE : answer;
  }
  if (answer != TB_BAD_NO || !b->differences.len) return answer;
  return ask_first_comparison(b, &head);
}
