/* Inside of the plots: the page that kinds add their panels to, what their curves and rows have in common,
 * and running the program.
 *
 * To add a kind: a row of plots.def, a file with its `tb_plot_NAME`, its line in the list of gnuplot.c. */
#ifndef TB_REPORTERS_GNUPLOT_H
#define TB_REPORTERS_GNUPLOT_H

#include "reporters/ablation.h"
#include "reporters/gnuplot/plot.h"

enum {
  TB_PLOT_TITLE = 384,
  TB_PLOT_SERIES = 7 /* curves of one panel: as many colours and shapes as can be told apart */
};

/* Runs gnuplot on plot->script; the pictures are whole, or none is there and plot->message says why. */
bool tb_gnuplot_draw(struct tb_plot *plot);

/* --- gnuplot_page.c --- */
struct tb_page {
  FILE *data, *script; /* in memory; the panels' part of the script */
  char *data_text, *script_text;
  size_t data_size, script_size;
  int n_panels, n_blocks, height; /* pixels so far */
  char second[TB_PLOT_TITLE];     /* line below the title of the page; "": none */
  char notes[TB_PLOT_MESSAGE];    /* what was left out, for whoever draws */
  char below[TB_PLOT_MESSAGE];    /* and what of it stands below the panels: lines */
  int n_below;
};
bool tb_page_open(struct tb_page *page);  /* false: memory is out */
bool tb_page_flush(struct tb_page *page); /* texts are whole then; false: memory is out */
void tb_page_close(struct tb_page *page);
/* Gives the page a second line of its title; before the first panel. */
void tb_page_second(struct tb_page *page, const char *text);
/* Begins a panel of that many pixels, with room for so many lines of a legend. `what` is for the script's
 * reader, and goes into a comment. */
void tb_page_panel(struct tb_page *page, int height, int legend_lines, const char *what);
/* Title of the panel; `second`: a smaller line below it, or "". */
void tb_page_title(struct tb_page *page, const char *title, const char *second);
/* Begins a block of the data file: `what` describes it, `columns` names its columns with their units. Returns
 * its number. */
int tb_page_block(struct tb_page *page, const char *what, const char *columns);
/* The block in a plot command: data index 'block 7:'. */
void tb_page_index(struct tb_page *page, int block);
/* Notes what is not drawn: to be told, and below the panels, so that who has nothing but the picture knows
 * it. */
void tb_page_note(struct tb_page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* To be told alone: it stands in the picture already. */
void tb_page_tell(struct tb_page *page, const char *text);
/* Head and frame of the script around the panels. */
void tb_page_script(const struct tb_page *page, const struct tb_plot *plot, const char *title, FILE *out);

/* A single-quoted gnuplot string: ' becomes ’, the end of ]]> becomes ›, control characters are dropped, '?'
 * for bytes that are no UTF-8 and for what fonts mostly lack. */
void tb_plot_quote(FILE *out, const char *text);
/* The same as the label of a tic, where % would begin a format. */
void tb_plot_quote_tic(FILE *out, const char *text);
/* A text column of the data file, in double quotes. */
void tb_plot_column(FILE *out, const char *text);
/* At most `most` characters: the middle gives way to "…". */
void tb_plot_shorten(char *text, int most);

/* A logarithmic axis ('x' or 'y') over these values, with some room around and between four and nine tics. */
void tb_plot_log_axis(FILE *out, char axis, double lo, double hi);
/* The ends that it takes. */
void tb_plot_log_range(double *lo, double *hi);

/* --- gnuplot_curves.c --- */
struct tb_curve {
  char title[TB_PLOT_TITLE], group[TB_PLOT_TITLE];
  const cJSON **cases;
  int count;
  double weight;
};
struct tb_curves {
  struct tb_curve *data;
  int count;
};
/* Right cases that `fits` takes, as curves over batch, by group and mode, in order of batch; weight: the
 * largest that `weigh` says. False: memory is out. */
bool tb_curves_make(const cJSON *cases, bool (*fits)(const cJSON *one_case, const void *data),
                    const void *data, double (*weigh)(const cJSON *one_case), struct tb_curves *out);
void tb_curves_free(struct tb_curves *curves);
/* Keeps the `most` curves of the largest weight, in their order. Returns how many were dropped. */
int tb_curves_keep(struct tb_curves *curves, int most);
/* How many curves from `first` on stand in one panel: whole groups, as far as they fit. */
int tb_curves_panel(const struct tb_curves *curves, int first);
/* Name of a curve in the legend of a panel: what its title does not say. `out` has TB_PLOT_TITLE bytes. */
void tb_curve_legend(const struct tb_curves *curves, int first, int count, int i, char *out);
/* Title of the panel of these curves: their group, if it is one; else "". */
const char *tb_curves_group(const struct tb_curves *curves, int first, int count);

/* --- gnuplot_rows.c: cases one below the other --- */
struct tb_rows {
  const cJSON **cases;
  int count;
};
/* Right cases that `fits` takes, in their order. False: memory is out. */
bool tb_rows_make(const cJSON *cases, bool (*fits)(const cJSON *one_case, const void *data), const void *data,
                  struct tb_rows *out);
void tb_rows_free(struct tb_rows *rows);
/* As tb_curves_keep. */
int tb_rows_keep(struct tb_rows *rows, int most, double (*weigh)(const cJSON *one_case));
/* What tells one of these rows from the others; `common`: what they share. Each has TB_PLOT_TITLE bytes. */
void tb_rows_label(const struct tb_rows *rows, int i, char *label);
void tb_rows_common(const struct tb_rows *rows, char *common);
/* Sorts the weights, and returns that of the last of the `most` largest. */
double tb_plot_least_kept(double *weights, int count, int most);
/* The labels as tics of the y axis: row k at -k; and its range. */
void tb_rows_axis(FILE *out, const struct tb_rows *rows);

/* --- the kinds: each adds its panels, none where nothing fits. False: memory is out. --- */
struct tb_plot_subject {
  const cJSON *result;
  const struct tb_plot_options *options;
  const struct tb_ablation *ablation;
};
bool tb_plot_speedup(struct tb_page *page, const struct tb_plot_subject *subject);
bool tb_plot_compile(struct tb_page *page, const struct tb_plot_subject *subject);
bool tb_plot_ablation(struct tb_page *page, const struct tb_plot_subject *subject);
bool tb_plot_roofline(struct tb_page *page, const struct tb_plot_subject *subject);
bool tb_plot_history(struct tb_page *page, const struct tb_plot_subject *subject);

#endif
