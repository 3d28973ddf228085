/* Inside of the plot: running the external program. */
#ifndef TB_REPORTERS_GNUPLOT_H
#define TB_REPORTERS_GNUPLOT_H

#include "reporters/reporter.h"

/* Makes the pictures from plot->script; both are whole, or neither is there and plot->message says why. */
bool tb_gnuplot_draw(struct tb_plot *plot);

#endif
