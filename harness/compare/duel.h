/* Two sides of one case against each other, until it is known which one is faster.
 *
 * A *quad* is four fresh processes, two of each side, that take turns in randomised ABBA rounds; it gives two
 * pairs (head against base) and two twin pairs (base against base, head against head), as decide.h wants
 * them. What differs from process to process does not average out within one, so quads are short and many. It
 * ends at a planned look with a verdict, or when pairs or time are over. The first process of each side fills
 * that side's cache; all others start from it. */
#ifndef TB_DUEL_H
#define TB_DUEL_H

#include "harness/run/measure.h"
#include "harness/run/run.h"
#include "results/stats/decide.h"

struct tb_duelist {
  const struct tb_case *kase;
  const char *cache_dir;
};

/* How much slower something may be and not count, beyond the threshold: a share of base's time, or a time of
 * a call where that is the smaller share; none: zeros. What costs a fixed time is a small share of a slow
 * base. */
struct tb_effect {
  double share, ns;
};

struct tb_duel {
  struct tb_duelist base, head;
  double budget_s; /* of wall time */
  int max_pairs;
  double threshold; /* a share */
  struct tb_effect passed_over;
  uint64_t seed;
  /* out */
  tb_doubles log_ratios, twin_log_ratios; /* in the run's arena, as are those below */
  tb_doubles base_ns, head_ns;            /* median time of a call, of each process of the quads that count */
  bool decided;                           /* `decision` holds: at least one quad was measured */
  struct tb_decision decision;
  const char *stop_reason; /* "decided", "pairs", "budget", "interrupted"; NULL: a worker failed */
  enum tb_outcome outcome; /* of the worker that failed */
  const char *why;         /* its reason */
};

/* Failures of workers are in the duel; a status only for what ends the run: TC_INTERRUPTED (a second Ctrl-C)
 * or TC_NOMEM. */
tc_status tb_duel_run(struct tb_run *run, struct tb_duel *duel, struct tc_error *err);
/* How the blocks of quad `number` are measured; for tests. */
struct tb_measure tb_duel_measure(struct tb_run *run, const struct tb_duel *duel, int number);

#endif
