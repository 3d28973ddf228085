/* tbench bisect: which switch, stage, optional transformation and kernel makes a case of head wrong, or
 * slower than base.
 *
 * A *trial* is the case with some of head's settings in the place of base's, and with limits on fuel
 * (base/fuel.def). Asking it gives whether it is bad: wrong or failed, where that is what head is; else
 * slower than base, in a paired comparison (paired.h) in which both arms have the same limits, so that what
 * the limits themselves cost is on both. Each question is told as a line on standard output.
 * 1. Head is bad, and was found so twice, in processes of their own, before anything is narrowed.
 * 2. A question that has no answer is asked again with more pairs; if it still has none, that is told, and
 *    nothing is concluded from it.
 * 3. Once it is known what head is slower by, "slower" is by half of that, so that one cause is told from
 *    another; in time of a call, since what costs a fixed time is a small share where limits make both arms
 *    slow. Slower by less is no more than that: it is told.
 * 4. What is named was asked with and without; the answer's command was run, and its exit code looked at.
 * 5. Where head is bad without what is named too, that is told: there is another cause. Causes whose costs
 *    add up leave half of them at most; where more is left, what was found is hidden by something else in
 *    head, or hides it: that is searched for in the rest of the switches.
 * Ownership: texts in the run's arena. Threads: one. */
#ifndef TB_BISECT_H
#define TB_BISECT_H

#include "base/fuel.h"
#include "harness/compare/arms.h"
#include "harness/compare/bisect_search.h"
#include "harness/compare/paired.h"
#include "harness/run/run.h"

/* A setting that the arms differ in; an arm's value is NULL where it does not set it. */
struct tb_difference {
  const char *name, *base, *head;
  bool program;
};

enum tb_trouble { TB_TROUBLE_NONE, TB_TROUBLE_WRONG, TB_TROUBLE_FAILED, TB_TROUBLE_SLOWER };

struct tb_trial {
  bool from_head[TB_SEARCH_ELEMENTS]; /* by difference */
  const char *backend;                /* instead of the case's; NULL: the case's */
  long long limit[TC_FUEL_COUNT];     /* TC_CONFIG_UNLIMITED: none */
};

struct tb_counts {
  long long spent[TC_FUEL_COUNT];
  const char *last[TC_FUEL_COUNT]; /* of the entry that came to the limit; NULL: none did */
};

/* A fuel that tells: with `units` - 1 of it the trial is not bad, with `units` it is. */
struct tb_culprit {
  bool found;
  enum tc_fuel_kind kind;
  long long units, of;
  const char *what;     /* the unit; NULL: nobody said */
  const char *evidence; /* of the bad trial */
  struct tb_trial trial;
};

struct tb_bisect {
  struct tb_run *run;
  const struct tb_arms *arms;
  struct tb_case kase; /* the one case of the plan, without arms */
  double seconds;      /* of one paired comparison */
  int pairs;
  double threshold; /* of SLOWER */
  struct tb_effect
      half; /* of what head is slower by, once that is known: what is less is another cause, or noise */
  TC_VEC(struct tb_difference) differences;
  enum tb_trouble trouble;
  int steps, comparisons;
  const char *evidence; /* of the newest question: "wrong: result 1: …" */
  enum tb_trouble seen; /* there, of one of right or wrong */
  double ratio, lo,
      base_ns; /* of the newest paired comparison, lo: the interval's lower end; base_ns: of a call */
  bool less;   /* there: slower beyond the threshold, but by less than `half`; answered with NO */
  enum tb_exit stopped; /* why a question was answered with STOP */
  bool doubtful;        /* some question had no answer */
  /* the answer */
  struct tb_trial found;
  const char *backend;        /* the first one that is wrong; NULL: it was not asked */
  const char *backend_before; /* the last one that is right; NULL: none is */
  struct tb_culprit culprits[TC_FUEL_COUNT];
  int n_culprits;
  bool always;        /* bad even without all optional transformations */
  const char *partly; /* without them slower too, by less than half of what head is: of that; NULL: it is not,
                         or was not asked */
  const char *others; /* head without the switches that were found: why it is bad too, or cannot be told;
                         NULL: it is not bad, or was not asked */
  bool others_unsure; /* it cannot be told */
  bool others_alike;  /* it is slower by more than half of what head is */
  bool aside[TB_SEARCH_ELEMENTS]; /* by difference: found before, and head without them is slower by more than
                                     half of what it is: they do not explain it */
  const char *aside_evidence;     /* of that; NULL: there are none */
};

/* --- bisect_trial.c --- */
struct tb_trial tb_trial_new(const struct tb_bisect *b, bool from_head);
/* The cases of a trial, [TB_ARM_BASE] and [TB_ARM_HEAD]. */
tc_status tb_trial_cases(struct tb_bisect *b, const struct tb_trial *trial, struct tb_case out[TB_ARM_COUNT],
                         struct tc_error *err);
/* Whether fuel limits base as well as head. */
bool tb_trial_limits_base(const struct tb_bisect *b);
/* Whether a setting has no place in head's arm of the trial: its backend is another, and modes are
 * inductor's. */
bool tb_trial_drops(const struct tb_trial *trial, const char *name);
/* Counts what head's compiles of a trial spend; STOP where it cannot be told. */
enum tb_bad tb_trial_count(struct tb_bisect *b, const struct tb_trial *trial, struct tb_counts *out);

/* --- bisect_ask.c --- */
/* Is the trial bad? Tells `what` with the answer as a line; b->evidence says why. */
enum tb_bad tb_bisect_ask(struct tb_bisect *b, const struct tb_trial *trial, const char *what);
/* Is it bad at all, be it by much less than head is? Asked once: no answer is one that the user is told, and
 * nothing hangs on it. */
enum tb_bad tb_bisect_ask_at_all(struct tb_bisect *b, const struct tb_trial *trial, const char *what);
/* Asks head as it is for any trouble: sets b->trouble. NO: there is none. */
enum tb_bad tb_bisect_ask_first(struct tb_bisect *b);

/* --- bisect.c --- */
/* The arms' differences. TC_LIMIT: too many; TC_ARG: an arm is a peer's, whose compile cannot be taken
 * apart. */
tc_status tb_bisect_open(struct tb_bisect *b, struct tc_error *err);
/* Narrows; the answer is in b. */
enum tb_bad tb_bisect_narrow(struct tb_bisect *b);

/* --- bisect_answer.c --- */
/* Tells the answer, and the command that shows it again, which it runs. */
enum tb_exit tb_bisect_answer(struct tb_bisect *b);

#endif
