/* Inside of the plot: what its parts share, and running the external program. */
#ifndef TB_REPORTERS_GNUPLOT_H
#define TB_REPORTERS_GNUPLOT_H

#include "reporters/ablation.h"

/* Makes the pictures from plot->script; both are whole, or neither is there and plot->message says why. */
bool tb_gnuplot_draw(struct tb_plot *plot);

/* A single-quoted gnuplot string: quotes doubled, control characters dropped. */
void tb_plot_quote(FILE *out, const char *text);
/* "#rrggbb" of the i-th series. */
const char *tb_plot_colour(int i);

/* --- gnuplot_ablation.c --- */
void tb_plot_ablation_data(FILE *out, const struct tb_ablation *ablation, tb_half_width_function *half_width);
/* One panel over the data file of that name. */
void tb_plot_ablation_panel(FILE *out, const char *data, const struct tb_ablation *ablation);

#endif
