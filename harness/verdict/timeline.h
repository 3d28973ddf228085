/* A history made ready to be drawn (reporters/gnuplot/plot.h): runs with numbers, and of each case its
 * points, segments and changes.
 *
 * The band of a segment is what tb_forecast_next said at its end: of the values up to there, cut by the
 * changes up to there. */
#ifndef TB_TIMELINE_H
#define TB_TIMELINE_H

#include "harness/verdict/history.h"
#include "reporters/gnuplot/plot.h"

/* In the history's arena; texts are the history's. Series are in the order of the history, without those that
 * have no points. False: memory is out. */
bool tb_timeline_make(const struct tb_history *history, struct tb_plot_history *out);

#endif
