/* An A/B run: the paired comparisons of all cases, fresh pairs for those that were flagged, and whose fault a
 * difference is. */
#ifndef TB_AB_H
#define TB_AB_H

#include "harness/compare/paired.h"
#include "harness/verdict/verdicts.h"

struct tb_ab {
  struct tb_run *run;             /* open, with arms, a cache folder, and a result of the plan's cases */
  struct tb_verdicts *comparison; /* case i of it is cases 2i (base) and 2i + 1 (head) of the plan */
  double seconds;                 /* of one case */
  int pairs;                      /* of one case at most */
  bool attribute;                 /* swap artifacts and runtimes of flagged cases */
  bool stored; /* what is confirmed was flagged by results of other runs, not on pairs of this one */
};

/* Paired comparisons of all cases that both arms measured right; each is told and may be saved as it comes by
 * `done`. A status only for what ends the run. After Ctrl-C it returns early, with TC_OK. */
tc_status tb_ab_run(struct tb_ab *ab, bool (*done)(void *self), void *self, struct tc_error *err);
/* A fresh paired comparison for one flagged case, whose decision it confirms or takes back. `seed`: not that
 * of the first. Pairs that are fewer than `needed` (tb_pairs_needed), as time was over, or noisier than the
 * policy's floor_limit take nothing back: a `stored` decision stands as it is, and *unconfirmed says why
 * (else NULL); one of this run's own pairs is UNSURE, unless they find it again. */
tc_status tb_ab_confirm(struct tb_ab *ab, size_t index, int pairs, int needed, uint64_t seed,
                        const char **unconfirmed, struct tc_error *err);

/* --- ab_swap.c --- */
/* Marks a case whose arms run the same artifact in the same way on the same program: a difference is
 * noise. */
void tb_ab_mark_control(struct tb_ab *ab, size_t index);
/* Swaps artifact and runtime of a flagged case, or says why that cannot be. */
tc_status tb_ab_attribute(struct tb_ab *ab, size_t index, struct tc_error *err);

#endif
