/* Exact figures against a history. The newest earlier result alone would let a figure creep: each night
 * within the tolerance of the night before. So the least since the newest mark counts too. A step that is
 * meant is told by a mark (marks.h). */
#ifndef TB_EXACT_HISTORY_H
#define TB_EXACT_HISTORY_H

#include "harness/verdict/exact.h"

/* The least of one figure, and when the result that has it was started. */
struct tb_exact_minimum {
  const struct tb_field *figure;
  const char *member;
  double value;
  const char *started;
};
struct tb_exact_history {
  TC_VEC(struct tb_exact_minimum) least;
  bool accepted; /* a mark lies between the newest earlier result and head: what is worse was meant */
};

/* Takes the figures of a result, oldest first; `anew`: a mark lies before it, and what was earlier counts no
 * more. False when memory is out. */
bool tb_exact_history_add(struct tc_arena *arena, struct tb_exact_history *past, const cJSON *one_case,
                          const char *started, bool anew);
/* Findings against the newest result, held against the past: what is no worse than the newest, but beyond the
 * tolerance of the least, is WORSE, and has that as its base and says `since` when. What a mark accepts is
 * CHANGED; a collapse stays one. */
void tb_exact_history_hold(const struct tb_exact_history *past, tb_exact_findings *findings);

#endif
