/* The segments of a history's series: between two steps, or marks, its level is one. */
#ifndef TB_HISTORY_SEGMENTS_H
#define TB_HISTORY_SEGMENTS_H

#include "harness/verdict/history.h"

/* Fills changes and forecast of a series that has all of its points; the history has all marks. Where a mark
 * lies behind all points and not behind head, the forecast is empty: tonight is the first of its segment.
 * TC_NOMEM. */
tc_status tb_history_segment(const struct tb_history *history, const cJSON *head, struct tb_history_series *s,
                             struct tc_error *err);

#endif
