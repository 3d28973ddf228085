/* What the figures of a comparison mean: findings, problems, exit codes. */
#include <math.h>
#include <string.h>

#include "harness/base/text.h"
#include "harness/verdict/verdicts.h"
#include "results/document.h"

static const double percent = 100;

static void worsen(struct tb_compared *one, enum tb_exit code, const char *problem) {
  const enum tb_exit worse = tb_exit_worse(one->exit, code);
  if (problem && (!one->problem || (worse == code && worse != one->exit))) one->problem = problem;
  one->exit = worse;
}

static enum tb_outcome outcome_of(const cJSON *one_case) {
  const char *text = tb_doc_text(one_case, "outcome", "");
  for (int i = 0; i < TB_OUTCOME_COUNT; i++)
    if (!strcmp(text, tb_outcome_text((enum tb_outcome)i))) return (enum tb_outcome)i;
  return TB_OUTCOME_ERROR;
}

/* --- cases that one side alone has, or that were not measured --- */

static const char *outcome_problem(struct tc_arena *arena, const char *side, const cJSON *one_case) {
  const char *error = tb_doc_text(one_case, "error", NULL);
  return tb_format(arena, "%s: %s%s%s", side, tb_doc_text(one_case, "outcome", "no outcome"),
                   error ? ": " : "", error ? error : "");
}

/* Not timed is not compared: it passes only where there was nothing to find out. */
static void judge_left_out(struct tb_compared *one) {
  const char *base = one->base ? tb_doc_text(one->base, "graph.artifact", NULL) : NULL;
  const bool equal = base && one->left_out && !strcmp(base, one->left_out);
  if (equal)
    worsen(one, TB_EXIT_PASS, "not timed: head has the same artifact as base");
  else
    worsen(one, one->required ? TB_EXIT_NOT_MEASURABLE : TB_EXIT_PASS,
           "not timed: its artifact was the same as in another result, which is not base");
}

static bool judge_outcomes(struct tb_verdicts *c, struct tb_compared *one) {
  if (one->presence == TB_PRESENCE_LEFT_OUT) return judge_left_out(one), true;
  if (one->presence == TB_PRESENCE_VANISHED) {
    worsen(one, one->required ? TB_EXIT_FAILED : TB_EXIT_PASS, "it is missing in head's result");
    return true;
  }
  const enum tb_outcome head = outcome_of(one->head),
                        base = one->base ? outcome_of(one->base) : TB_OUTCOME_OK;
  if (head != TB_OUTCOME_OK) {
    const char *problem = outcome_problem(c->arena, "head", one->head);
    if (!problem) return false;
    const bool lost =
        head == TB_OUTCOME_UNSUPPORTED && one->base && base != TB_OUTCOME_UNSUPPORTED && one->required;
    worsen(one, lost ? TB_EXIT_FAILED : tb_outcome_exit(head), problem);
    if (cJSON_IsTrue(tb_doc_at(one->head, "interrupted"))) worsen(one, TB_EXIT_INTERRUPTED, problem);
  } else if (base != TB_OUTCOME_OK) {
    const char *problem = outcome_problem(c->arena, "nothing to compare with: base", one->base);
    if (!problem) return false;
    const enum tb_exit lacking =
        one->required && base != TB_OUTCOME_UNSUPPORTED ? TB_EXIT_NOT_MEASURABLE : TB_EXIT_PASS;
    worsen(one, c->base_now && base != TB_OUTCOME_UNSUPPORTED ? tb_outcome_exit(base) : lacking, problem);
    if (c->base_now && cJSON_IsTrue(tb_doc_at(one->base, "interrupted")))
      worsen(one, TB_EXIT_INTERRUPTED, problem);
  }
  return true;
}

/* --- times --- */

/* Whose floor it is decides what it says: that of A/A pairs in one run, what a history foretells, or how well
 * tonight was measured, unless fresh pairs have judged since. */
static const char *noisy_problem(const struct tb_verdicts *c, const struct tb_compared *one,
                                 double floor_limit) {
  const struct tb_decision *d = &one->time;
  if (d->points && one->foretold > floor_limit)
    return tb_format(c->arena,
                     "too noisy: %d earlier results predict the next one only to within %.3g%%; the policy "
                     "allows %.3g%% (floor_limit)",
                     d->points, one->foretold * percent, floor_limit * percent);
  if (d->points)
    return tb_format(
        c->arena,
        "too noisy: %d earlier results predict the next one to within %.3g%%, but with the spread of this "
        "result's own replicates and A/A controls it is %.3g%%; the policy allows %.3g%% (floor_limit)",
        d->points, one->foretold * percent, d->floor * percent, floor_limit * percent);
  return tb_format(
      c->arena,
      "too noisy: two equal programs differ by up to %.3g%%; the policy allows %.3g%% (floor_limit)",
      d->floor * percent, floor_limit * percent);
}

/* A floor above the policy's limit says nothing of what lies within it; a win beyond it is one. */
static bool is_too_noisy(const struct tb_verdicts *c, const struct tb_compared *one) {
  const struct tb_decision *d = &one->time;
  const bool beyond =
      d->verdict == TB_VERDICT_SLOWER || (d->verdict == TB_VERDICT_FASTER && d->ratio * (1 + d->floor) < 1);
  return !beyond && d->floor > tb_policy_floor_limit(c->policy, one->id);
}

static bool judge_time(struct tb_verdicts *c, struct tb_compared *one) {
  if (!tb_compared_measured(one)) return true;
  const struct tb_decision *d = &one->time;
  if (one->failure) {
    worsen(one, tb_outcome_exit(one->failed), one->failure);
  } else if (!one->timed) {
    worsen(one, one->required ? TB_EXIT_NOT_MEASURABLE : TB_EXIT_PASS, "its time was not compared");
  } else if (one->control && d->verdict != TB_VERDICT_SAME && d->verdict != TB_VERDICT_UNSURE) {
    worsen(one, TB_EXIT_NOT_MEASURABLE,
           "both sides run the same artifact in the same way on the same program, so this difference is "
           "noise: trust no verdict of this run");
  } else if (d->verdict == TB_VERDICT_SLOWER) {
    worsen(one, TB_EXIT_REGRESSION, NULL);
  } else if (d->verdict == TB_VERDICT_UNSURE) {
    worsen(one, one->required ? TB_EXIT_NOT_MEASURABLE : TB_EXIT_PASS, tb_unsure_text(d->why));
  } else if (is_too_noisy(c, one)) {
    const char *problem = noisy_problem(c, one, tb_policy_floor_limit(c->policy, one->id));
    if (!problem) return false;
    worsen(one, one->required ? TB_EXIT_NOT_MEASURABLE : TB_EXIT_PASS, problem);
  }
  return true;
}

/* After how many calls, as an interval: what of it is known. */
static const char *pay_off_text(struct tc_arena *arena, double calls, double lo, double hi) {
  if (isnan(lo))
    return isnan(calls)
               ? "the number of calls after which compiling pays off was not measured"
               : tb_format(
                     arena,
                     "compiling pays off after %.10g calls, but there are too few replicates for an interval",
                     calls);
  return isnan(hi)
             ? tb_format(arena, "compiling pays off after %.10g calls at the earliest, and may never", lo)
             : tb_format(arena, "compiling pays off after %.10g calls [%.10g, %.10g]", calls, lo, hi);
}

/* "compiling pays off after N calls": the whole interval beyond the limit is a regression; a part of it, or
 * an interval that is not known, passes nothing. */
static bool judge_pay_off(struct tb_verdicts *c, struct tb_compared *one) {
  const double limit = tb_policy_pays_off(c->policy, one->id);
  if (isnan(limit) || !one->head || outcome_of(one->head) != TB_OUTCOME_OK) return true;
  const double calls = tb_doc_number(one->head, "compile.pays_off_after_calls"),
               lo = tb_doc_number(one->head, "compile.pays_off_lo"),
               hi = tb_doc_number(one->head, "compile.pays_off_hi");
  const bool measured = cJSON_IsObject(tb_doc_at(one->head, "compile")) &&
                        !cJSON_IsFalse(tb_doc_at(one->head, "compile.pays_off_infinite"));
  const bool never = measured && isnan(calls) && isnan(lo) && !(tb_doc_number(one->head, "speedup.hi") > 1);
  if (hi <= limit) return true;
  const char *found = never ? "compiling never pays off" : pay_off_text(c->arena, calls, lo, hi);
  const char *problem =
      found ? tb_format(c->arena, "%s; the policy requires it within %.10g calls", found, limit) : NULL;
  if (!problem) return false;
  const bool surely = never || lo > limit;
  worsen(one, surely ? TB_EXIT_REGRESSION : one->required ? TB_EXIT_NOT_MEASURABLE : TB_EXIT_PASS, problem);
  return true;
}

static bool judge_exact(struct tb_verdicts *c, struct tb_compared *one) {
  one->exact.len = 0; /* it may be judged more than once */
  if (!tb_compared_measured(one)) return true;
  if (!tb_exact_compare(c->arena, one->base, one->head, tb_policy_exact_rule, c->policy, &one->exact))
    return false;
  if (one->past) tb_exact_history_hold(one->past, &one->exact);
  const enum tb_exit code = tb_exact_exit(&one->exact);
  worsen(one, code == TB_EXIT_NOT_MEASURABLE && !one->required ? TB_EXIT_PASS : code, NULL);
  return true;
}

/* --- steps of a history --- */

/* A night that is clearly back at the old level closes the step; else the nights to come do. */
static bool is_back(const struct tb_verdicts *c, const struct tb_compared *one) {
  const struct tb_step *s = &one->step;
  return one->time.verdict == TB_VERDICT_FASTER &&
         one->time.ratio * s->after <= s->before * (1 + tb_policy_threshold(c->policy, one->id));
}

/* Tonight is held against the nights since the step, which none of them may have shown alone: the cut is what
 * finds it. */
static bool judge_step(const struct tb_verdicts *c, struct tb_compared *one) {
  static const double us = 1e-3;
  const struct tb_step *s = &one->step;
  const bool slower = s->after > s->before;
  if (!s->since || !tb_compared_measured(one) || (slower && is_back(c, one))) return true;
  const char *text = tb_format(
      c->arena, "%s since %s (commit %.12s), by the history's change point: %.4g -> %.4g µs (%+.3g%%)%s",
      slower ? "slower" : "faster", s->since, s->commit, s->before * us, s->after * us,
      (s->after / s->before - 1) * percent,
      slower ? "; open until it goes back, or a line in marks.txt accepts it" : "");
  worsen(one, slower ? TB_EXIT_REGRESSION : TB_EXIT_PASS, text);
  return text != NULL;
}

/* --- the whole --- */

static bool judge_one(struct tb_verdicts *c, struct tb_compared *one) {
  one->required = tb_policy_required(c->policy, one->id);
  one->exit = TB_EXIT_PASS;
  one->problem = NULL;
  if (!judge_outcomes(c, one) || !judge_time(c, one) || !judge_pay_off(c, one) || !judge_exact(c, one))
    return false;
  one->tonight = one->exit;
  return judge_step(c, one);
}

bool tb_verdicts_time_unknown(const struct tb_verdicts *c, const struct tb_compared *one) {
  if (one->tonight != TB_EXIT_NOT_MEASURABLE || !one->timed || one->failure || one->control) return false;
  const bool unknown = one->time.verdict == TB_VERDICT_UNSURE || is_too_noisy(c, one);
  return unknown && tb_exact_exit(&one->exact) != TB_EXIT_NOT_MEASURABLE;
}

/* Whether a case says anything that a pass may rest on. */
static bool compared(const struct tb_verdicts *c, const struct tb_compared *one) {
  if (!tb_compared_measured(one)) return false;
  const bool decided = one->timed && !one->failure && one->time.verdict != TB_VERDICT_UNSURE;
  if (decided && !is_too_noisy(c, one)) return true;
  for (size_t i = 0; i < one->exact.len; i++)
    if (one->exact.data[i].figure->exact.kind == TB_EXACT_INSTRUCTIONS && one->exact.data[i].base > 0 &&
        one->exact.data[i].head > 0)
      return true;
  return false;
}

/* What a comparison that says nothing tells: the reason, where it is one for all. */
static const char *nothing_compared(const struct tb_verdicts *c) {
  size_t measured = 0, noisy = 0;
  for (size_t i = 0; i < c->cases.len; i++) {
    const struct tb_compared *one = &c->cases.data[i];
    measured += tb_compared_measured(one);
    noisy += tb_compared_measured(one) && one->timed && !one->failure &&
             one->time.verdict != TB_VERDICT_UNSURE && is_too_noisy(c, one);
  }
  return measured && noisy == measured ? "no case could be compared: all are too noisy"
                                       : "no case could be compared";
}

static bool add_problem(struct tb_verdicts *c, const char *problem, enum tb_exit code) {
  if (!problem || !tc_vec_push(tc_arena_alloc(c->arena), &c->problems, problem)) return false;
  c->tonight = tb_exit_worse(c->tonight, code);
  c->exit = tb_exit_worse(c->exit, code);
  return true;
}

static bool judge_documents(struct tb_verdicts *c) {
  if (c->interrupted &&
      !add_problem(c, "head's run was stopped early: cases may be missing", TB_EXIT_INTERRUPTED))
    return false;
  if (c->base_unfinished &&
      !add_problem(c, "base's result is unfinished: cases may be missing", TB_EXIT_NOT_MEASURABLE))
    return false;
  if (c->repeated &&
      !add_problem(c,
                   tb_format(c->arena, "%d case%s twice in a result: it is not known which figures count",
                             c->repeated, c->repeated == 1 ? " is" : "s are"),
                   TB_EXIT_USAGE))
    return false;
  return !c->missing || add_problem(c,
                                    tb_format(c->arena, "head planned %d more case%s than its result has",
                                              c->missing, tb_plural(c->missing)),
                                    TB_EXIT_FAILED);
}

static bool judge_absent(struct tb_verdicts *c) {
  const char **ids = tc_arena_bytes(c->arena, sizeof *ids * (c->cases.len + 1));
  int count = 0, absent;
  if (!ids) return false;
  for (size_t i = 0; i < c->cases.len; i++)
    if (c->cases.data[i].head || c->cases.data[i].presence == TB_PRESENCE_LEFT_OUT)
      ids[count++] = c->cases.data[i].id;
  const char **patterns = tb_policy_unmatched(c->arena, c->policy, ids, count, &absent);
  if (!patterns) return false;
  for (int i = 0; i < absent; i++) {
    if (!add_problem(c,
                     tb_format(c->arena, "the policy requires '%s', but head has no case with such an id",
                               patterns[i]),
                     TB_EXIT_FAILED))
      return false;
  }
  return true;
}

bool tb_verdicts_remark_policy(struct tb_verdicts *c) {
  const char **ids = tc_arena_bytes(c->arena, sizeof *ids * (c->cases.len + 1));
  int idle = 0;
  if (!ids) return false;
  for (size_t i = 0; i < c->cases.len; i++) ids[i] = c->cases.data[i].id;
  const char **rules = tb_policy_idle(c->arena, c->policy, ids, (int)c->cases.len, &idle);
  for (int i = 0; rules && i < idle; i++) {
    const char *text = tb_format(c->arena, "the policy's %s matches no case here", rules[i]);
    if (!tb_verdicts_remark(c, text)) return false;
  }
  return rules != NULL;
}

bool tb_verdicts_judge(struct tb_verdicts *c) {
  c->tonight = c->exit = TB_EXIT_PASS;
  c->problems.len = 0;
  bool any = false;
  if (!judge_documents(c)) return false;
  for (size_t i = 0; i < c->cases.len; i++) {
    struct tb_compared *one = &c->cases.data[i];
    if (!judge_one(c, one)) return false;
    any = any || compared(c, one);
    c->tonight = tb_exit_worse(c->tonight, one->tonight);
    c->exit = tb_exit_worse(c->exit, one->exit);
  }
  /* A gate that compared nothing must not pass. */
  return (any || add_problem(c, nothing_compared(c), TB_EXIT_NOT_MEASURABLE)) && judge_absent(c);
}
