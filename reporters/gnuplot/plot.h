/* Pictures of a result, and of a history of results, drawn by gnuplot (an external program).
 *
 * A page is a column of panels: STEM.svg, STEM.png or STEM.pdf. Its data (STEM.dat) and its script (STEM.gp,
 * which runs by itself in its folder) stay beside it, so that it can be restyled. Kinds of pictures are rows
 * of plots.def. A history comes from the caller as it is drawn.
 * Ownership: documents, histories and texts are borrowed. Threads: pure apart from the files and the program
 * that is started. */
#ifndef TB_REPORTERS_PLOT_H
#define TB_REPORTERS_PLOT_H

#include "reporters/reporter.h"

enum tb_plot_kind {
#define TB_PLOT(NAME, name, needs, help) TB_PLOT_##NAME,
#include "reporters/gnuplot/plots.def"
#undef TB_PLOT
  TB_PLOT_KINDS
};
enum tb_plot_format { TB_PLOT_SVG, TB_PLOT_PNG, TB_PLOT_PDF, TB_PLOT_FORMATS };

const char *tb_plot_kind_name(enum tb_plot_kind kind);
const char *tb_plot_format_name(enum tb_plot_format format); /* "svg": also the end of its files' names */

/* --- a history, as it is drawn: runs are numbered from 0, oldest first; all series share the numbers --- */
struct tb_plot_run {
  const char *started, *commit;
};
struct tb_plot_point {
  int run;
  double value;
};
struct tb_plot_segment {
  int first, last; /* runs; that of the newest segment ends behind the newest run: its band is the forecast */
  double median, lo, hi; /* lo, hi: prediction interval of its next value; NaN: it has too few points */
};
struct tb_plot_change {
  int run;          /* first run of the new segment */
  double ratio, p;  /* median after over median before; p of the test, 0 for a mark */
  const char *mark; /* why a step is known by hand; NULL: it was found */
};
struct tb_plot_series {
  const char *name; /* id of the case */
  bool calibrated;  /* values are in times of the calibration kernel; else nanoseconds */
  const struct tb_plot_point *points;
  const struct tb_plot_segment *segments;
  const struct tb_plot_change *changes;
  int n_points, n_segments, n_changes;
};
struct tb_plot_history {
  const struct tb_plot_run *runs;
  const struct tb_plot_series *series;
  int n_runs, n_series;
  double confidence; /* of lo and hi */
  struct tb_omitted
      omitted; /* of all runs: measurements of these cases that are no points, since they were not right */
};

struct tb_plot_options {
  unsigned kinds; /* bits 1 << kind; 0: the history where there is one, else the ablation that the result is,
                     else what it has */
  unsigned formats;                      /* bits 1 << format; 0: SVG and PNG */
  const struct tb_plot_history *history; /* NULL: none */
};

enum { TB_PLOT_PATH = 1024, TB_PLOT_MESSAGE = 2560 };
struct tb_plot {
  char data[TB_PLOT_PATH], script[TB_PLOT_PATH],
      picture[TB_PLOT_FORMATS][TB_PLOT_PATH]; /* "": not asked for */
  bool drawn;                                 /* all pictures were made */
  char message[TB_PLOT_MESSAGE]; /* why not, and what to do; when drawn: what was left out, mostly nothing */
};

/* Writes STEM.dat and STEM.gp and, with gnuplot, the pictures; each is whole or not there. Without anything
 * to draw nothing is written. False when the data or the script could not be written, or memory is out. */
bool tb_plot_result(const cJSON *result, const char *stem, const struct tb_plot_options *options,
                    struct tb_plot *plot);

#endif
