/* Two arms of one case against each other, until it is known which one is faster.
 *
 * An *ABBA group* is four fresh processes, two of each arm, that take turns in randomised ABBA rounds; it
 * gives two pairs (head against base) and two A/A pairs (base against base, head against head), as decide.h
 * wants them. What differs from process to process does not average out within one, so ABBA groups are short
 * and many. It ends at a planned look with a verdict, or when pairs or time are over. The first process of
 * each arm fills that arm's cache; all others start from it. */
#ifndef TB_PAIRED_H
#define TB_PAIRED_H

#include "harness/run/measure.h"
#include "harness/run/run.h"
#include "results/stats/decide.h"

struct tb_paired_arm {
  const struct tb_case *kase;
  const char *cache_dir;
};

/* How much slower something may be and not count, beyond the threshold: a share of base's time, or a time of
 * a call where that is the smaller share; none: zeros. What costs a fixed time is a small share of a slow
 * base. */
struct tb_effect {
  double share, ns;
};

struct tb_paired {
  struct tb_paired_arm base, head;
  double budget_s; /* of wall time */
  int max_pairs;
  double threshold; /* a share */
  struct tb_effect passed_over;
  uint64_t seed;
  /* out */
  tb_doubles log_ratios, aa_log_ratios; /* in the run's arena, as are those below */
  tb_doubles base_ns, head_ns; /* median time of a call, of each process of the ABBA groups that count */
  bool decided;                /* `decision` holds: at least one ABBA group was measured */
  struct tb_decision decision;
  const char *stop_reason; /* "decided", "pairs", "budget", "interrupted"; NULL: a worker failed */
  enum tb_outcome outcome; /* of the worker that failed */
  const char *why;         /* its reason */
};

/* Failures of workers are in the paired comparison; a status only for what ends the run: TC_INTERRUPTED (a
 * second Ctrl-C) or TC_NOMEM. */
tc_status tb_paired_run(struct tb_run *run, struct tb_paired *paired, struct tc_error *err);
/* How the blocks of ABBA group `number` are measured; for tests. */
struct tb_measure tb_paired_measure(struct tb_run *run, const struct tb_paired *paired, int number);

#endif
