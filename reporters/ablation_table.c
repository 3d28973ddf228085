/* What each switch of compile time buys, as a table a model and one over all of them. Every switch that the
 * result has off has its row, also where it buys nothing. */
#include <math.h>
#include <string.h>

#include "reporters/ablation.h"
#include "reporters/text_out.h"

enum { GROUP = 256, CELL = 64, LABEL_WIDTH = 30, RATIO_WIDTH = 21, NUMBER_WIDTH = 12 };

static const double ns_per_ms = 1e6;

static void put_ratio(FILE *out, const struct tb_ablation_row *row, enum tb_ablation_figure figure) {
  const struct tb_ratio r = tb_ablation_ratio(row, figure);
  char cell[CELL] = "–";
  int width = RATIO_WIDTH;
  if (isnan(r.ratio))
    width += (int)strlen(cell) - 1; /* bytes of one sign */
  else if (isnan(r.lo))
    snprintf(cell, sizeof cell, "%.3f", r.ratio);
  else
    snprintf(cell, sizeof cell, "%.3f [%.3f, %.3f]", r.ratio, r.lo, r.hi);
  fprintf(out, "  %*s", width, cell);
}

static void put_number(FILE *out, double value, const char *format) {
  char cell[CELL] = "–";
  const bool known = !isnan(value);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* one of two below */
  if (known) snprintf(cell, sizeof cell, format, value);
#pragma GCC diagnostic pop
  fprintf(out, "  %*s", NUMBER_WIDTH + (known ? 0 : (int)strlen(cell) - 1), cell);
}

static const char *same_artifact(const struct tb_ablation_row *row) {
  if (!row->off) return "";
  const char *off = tb_doc_text(row->off, "graph.artifact", NULL),
             *on = tb_doc_text(row->on, "graph.artifact", NULL);
  return !off || !on ? "–" : strcmp(off, on) ? "DIFFERS" : "equal";
}

static void put_titles(FILE *out, const struct tb_report_options *options, const struct tb_ablation_row *row,
                       int n_models) {
  char group[GROUP];
  const char *bold = options->colour ? "\033[1m" : "", *plain = options->colour ? "\033[0m" : "";
  if (row->on)
    tb_case_group(row->on, group, sizeof group);
  else
    snprintf(group, sizeof group, "over %d models (geometric mean)", n_models);
  fprintf(out, "%s%s%s", bold, group, plain);
  if (row->on_ns > 0) fprintf(out, ": %.2f ms cold with all on", row->on_ns / ns_per_ms);
  fprintf(out, "\n%-*s  %*s  %*s  %*s  %*s  %s\n", LABEL_WIDTH, "off", RATIO_WIDTH, "cold, off / on [95%]",
          RATIO_WIDTH, "start + cold [95%]", NUMBER_WIDTH, "instructions", NUMBER_WIDTH, "cold (ms)",
          row->on ? "artifact" : "");
}

/* How the figures are to be read. */
static void put_legend(FILE *out, const struct tb_ablation *a) {
  bool floor = false;
  for (int i = 0; i < a->n_rows; i++) floor |= tb_ablation_is_floor(&a->rows[i]);
  fputs("above 1: compiling takes that much longer without it. Pairs of one replicate; cold is the whole "
        "first call where code has graph breaks\n",
        out);
  fprintf(out,
          "each interval is for itself: of the %d of a column, one in twenty misses by chance. All rows of a "
          "model are over the same samples with all on, so they miss together\n",
          a->n_rows);
  if (floor)
    fputs("on / on: all on, measured again: what is not further from 1 than this row is noise. The other "
          "rows are over the geometric mean of both\n",
          out);
}

/* Cases that are not right have no row here; the console's table has theirs. */
static void put_omitted(FILE *out, const cJSON *result) {
  struct tb_omitted omitted = {0};
  char why[GROUP];
  const cJSON *c;
  cJSON_ArrayForEach(c, tb_doc_at(result, "cases")) tb_omitted_add(&omitted, c);
  tb_omitted_text(&omitted, why, sizeof why);
  if (!omitted.total) return;
  fprintf(out, "%d case%s not right, and without a row here: ", omitted.total,
          omitted.total == 1 ? " is" : "s are");
  tb_put_text(out, why, tb_escape_line);
  fputc('\n', out);
}

bool tb_report_ablation(const cJSON *result, const struct tb_report_options *options, FILE *out) {
  struct tb_ablation a;
  const bool made = tb_ablation_make(result, &a);
  const cJSON *on = NULL;
  for (int i = 0; made && i < a.n_rows; i++) {
    if (!i || a.rows[i].on != on)
      fprintf(out, "%s", i ? "\n" : ""), put_titles(out, options, &a.rows[i], a.n_models);
    on = a.rows[i].on;
    const struct tb_ablation_row *row = &a.rows[i];
    fprintf(out, "%-*s", LABEL_WIDTH, row->label);
    put_ratio(out, row, TB_ABLATION_COLD);
    put_ratio(out, row, TB_ABLATION_WHOLE);
    put_number(out, row->instructions, "%.4f");
    put_number(out, row->median_ns / ns_per_ms, "%.2f");
    fprintf(out, "  %s\n", same_artifact(row));
  }
  if (made && !a.n_rows)
    fputs("no case of this result has a switch opt.* off beside the same case with all of them on\n", out);
  if (made && a.n_rows) put_legend(out, &a);
  if (made) put_omitted(out, result);
  tb_ablation_free(&a);
  return made && !ferror(out);
}
