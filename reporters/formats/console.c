/* The table for people: a group for each workload, dtype and machine part; a row for each batch and mode. Its
 * columns: columns.c. */
#include <stdlib.h>
#include <string.h>

#include "reporters/ablation.h"
#include "reporters/series.h"
#include "reporters/table.h"
#include "reporters/text_out.h"

enum { GAP = 2 };

static const double ns_per_ms = 1e6, ns_per_s = 1e9, hundred = 100;

static void put_cell(FILE *out, const char *text, int width, bool left, bool last) {
  const int pad = width - tb_screen_width(text);
  if (!left) fprintf(out, "%*s", pad, "");
  tb_put_text(out, text, tb_escape_line);
  if (left && !last) fprintf(out, "%*s", pad, "");
  if (!last) fprintf(out, "%*s", GAP, "");
}

static void find_widths(const struct tb_report_options *options, const cJSON **cases, int n, int *widths) {
  char cell[TB_CELL];
  for (int k = 0; k < tb_column_count(); k++) {
    const struct tb_column *column = tb_column_at(k);
    widths[k] = 0;
    if (!tb_column_shown(options, k)) continue;
    widths[k] = tb_screen_width(column->title) > tb_screen_width(column->unit)
                    ? tb_screen_width(column->title)
                    : tb_screen_width(column->unit);
    for (int i = 0; i < n; i++) {
      column->format(cases[i], cell);
      if (tb_screen_width(cell) > widths[k]) widths[k] = tb_screen_width(cell);
    }
  }
}

/* One line: titles, units, or the cells of a case. */
static void put_line(FILE *out, const struct tb_report_options *options, const int *widths, const cJSON *c,
                     bool units) {
  char cell[TB_CELL];
  for (int k = 0; k < tb_column_count(); k++) {
    const struct tb_column *column = tb_column_at(k);
    if (!tb_column_shown(options, k)) continue;
    if (c) column->format(c, cell);
    put_cell(out,
             c       ? cell
             : units ? column->unit
                     : column->title,
             widths[k], column->left, k + 1 == tb_column_count());
  }
}

static bool put_rows(FILE *out, const struct tb_report_options *options, const cJSON **cases, int n) {
  int *widths = calloc((size_t)tb_column_count(), sizeof *widths);
  if (!widths) return false;
  find_widths(options, cases, n, widths);
  put_line(out, options, widths, NULL, false);
  fputc('\n', out);
  put_line(out, options, widths, NULL, true);
  fputc('\n', out);
  for (int i = 0; i < n; i++) {
    const bool bad = strcmp(tb_doc_text(cases[i], "outcome", "ok"), "ok") != 0;
    if (bad && options->colour) fputs("\033[31m", out);
    put_line(out, options, widths, cases[i], false);
    if (bad && options->colour) fputs("\033[0m", out);
    fputc('\n', out);
  }
  free(widths);
  return true;
}

/* What the harness itself costs. */
static void put_harness(FILE *out, const cJSON *result) {
  const double wall = tb_doc_number(result, "harness.wall_ns"), own = tb_doc_number(result, "harness.own_ns"),
               processes = tb_doc_number(result, "harness.processes");
  if (!(wall > 0) || !(processes > 0)) return;
  fprintf(out,
          "harness: %.1f s for %.0f processes, of which %.1f%% its own: %.1f ms a process, %.1f ms of that "
          "pauses between blocks\n",
          wall / ns_per_s, processes, hundred * own / wall, own / processes / ns_per_ms,
          tb_doc_number(result, "harness.settle_ns") / processes / ns_per_ms);
}

static void put_note_of(FILE *out, const cJSON *c, const char *text) {
  fputs("  ", out);
  tb_put_text(out, tb_doc_text(c, "id", "?"), tb_escape_line);
  fputs(": ", out);
  tb_put_text(out, text, tb_escape_line);
  fputc('\n', out);
}

struct writing {
  FILE *out;
  const struct tb_report_options *options;
  bool good;
};

static void put_group(const cJSON **cases, int n, void *context) {
  struct writing *w = context;
  char group[TB_GROUP];
  tb_case_group(cases[0], group, sizeof group);
  fputs(w->options->colour ? "\033[1m" : "", w->out);
  tb_put_text(w->out, group, tb_escape_line);
  fprintf(w->out, "%s\n", w->options->colour ? "\033[0m" : "");
  w->good &= put_rows(w->out, w->options, cases, n);
  for (int k = 0; k < n; k++) {
    /* What a person must know of a case beside its figures: errors and fallbacks. */
    const char *error = tb_case_error(cases[k]);
    const cJSON *note;
    if (error) put_note_of(w->out, cases[k], error);
    cJSON_ArrayForEach(note, tb_doc_at(cases[k], "graph.fallbacks")) {
      if (cJSON_IsString(note)) put_note_of(w->out, cases[k], note->valuestring);
    }
  }
  fputc('\n', w->out);
}

static void put_note(const char *text, void *context) {
  FILE *out = ((struct writing *)context)->out;
  fputs("note: ", out);
  tb_put_text(out, text, tb_escape_line);
  fputc('\n', out);
}

bool tb_report_console(const cJSON *result, const struct tb_report_options *options, FILE *out) {
  struct writing w = {out, options, true};
  bool ablation;
  if (!tb_each_group(result, put_group, &w, &ablation) || !w.good) return false;
  if (ablation && tb_report_ablation(result, options, out)) fputc('\n', out);
  tb_each_note(result, put_note, &w);
  if (options->verbose) put_harness(out, result);
  tb_put_summary(out, result);
  if (options->result_path) fprintf(out, " · %s", options->result_path);
  if (options->plot_path) fprintf(out, " · %s", options->plot_path);
  fputc('\n', out);
  return !ferror(out);
}
