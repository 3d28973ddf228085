/* A step that a history shows by itself. Where the current segment begins at a cut that was found, tonight is
 * as expected of the nights since, and the change that they show would never be told: single nights may all
 * have been within what was foretold. */
#ifndef TB_HISTORY_STEP_H
#define TB_HISTORY_STEP_H

#include "harness/verdict/history.h"
#include "harness/verdict/verdicts.h"

/* The level of the current segment against the lowest one since the newest mark (slower), or against the one
 * before it (faster). Slower is told where it is so by more than the threshold, and, where other segments lie
 * between, by more than medians of so many nights differ by chance: what came back almost is back. A faster
 * one is told while the segment has not settled (TB_FORECAST_POINTS_SETTLED). False: there is none. */
bool tb_history_step(const struct tb_history_series *series, double threshold, struct tb_step *out);

#endif
