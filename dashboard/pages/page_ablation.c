/* GET /ablation: what each switch of compile time buys: a chart a model and one over all of them, and all
 * figures as a table. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dashboard/analysis/machine.h"
#include "dashboard/api/ablation.h"
#include "dashboard/pages/bars.h"
#include "dashboard/pages/html.h"
#include "dashboard/server/answer.h"

enum { MODEL = 256, RESULTS = 20 };

/* --- which result, which figure --- */

static const struct {
  const char *word, *name, *axis;
} figures[] = {
    [TB_ABLATION_COLD] = {"cold", "cold compile", "cold compile with it off, over that with all on"},
    [TB_ABLATION_WHOLE] = {"start_cold", "start of the process and cold compile",
                           "start and cold compile with it off, over those with all on"},
};

/* figure= of a query. False: it was answered that there is none. */
static bool find_figure(struct tb_query *request, enum tb_ablation_figure *out) {
  const char *word = tb_argument(request, "figure");
  *out = TB_ABLATION_COLD;
  if (!word) return true;
  for (int i = 0; i < TB_ABLATION_FIGURES; i++)
    if (!strcmp(word, figures[i].word)) return *out = (enum tb_ablation_figure)i, true;
  tb_answer_error(request, MHD_HTTP_BAD_REQUEST, "figure: cold or start_cold");
  return false;
}

static void put_figures(struct tc_strbuf *out, const char *key, enum tb_ablation_figure shown) {
  tc_strbuf_puts(out, "<nav class=tabs aria-label=figures>");
  for (int i = 0; i < TB_ABLATION_FIGURES; i++) {
    const struct tb_web_pair query[] = {{"key", key}, {"figure", figures[i].word}};
    tb_web_link(out, i == (int)shown ? "aria-current=page" : "", "/ablation", query, TB_COUNT(query),
                figures[i].name);
  }
  tc_strbuf_puts(out, "</nav>\n");
}

static void put_result(struct tc_strbuf *out, sqlite3_stmt *row) {
  const char *key = tb_column_text(row, 0);
  tb_web_cell_time(out, sqlite3_column_int64(row, 1));
  tb_web_cell_commit(out, tb_column_text(row, 2));
  tc_strbuf_printf(out, "<td class=figure>%d", sqlite3_column_int(row, 4));
  tb_web_cell_machine(out, tb_column_text(row, 3));
  tc_strbuf_printf(out, "<td><a href=\"/ablation?key=%s\">ablation</a> <a href=\"/result?key=%s\">result</a>",
                   key, key);
}

static void put_results(struct tc_strbuf *out, struct tb_store *store) {
  static const char *const columns[] = {"run", "commit", "cases", "machine", ""};
  sqlite3_stmt *rows = tb_store_get(store, TB_SQL_ABLATIONS);
  if (rows) sqlite3_bind_int(rows, 1, RESULTS);
  tb_web_list(out, store, rows,
              &(struct tb_web_list){columns, TB_COUNT(columns), "Newest results with such cases", "None.",
                                    put_result});
}

/* --- charts --- */

/* Above 1 the switch is worth it, unless the interval holds 1. */
static struct tb_bar bar_of(const struct tb_ablation_row *row, enum tb_ablation_figure figure) {
  const struct tb_ratio r = tb_ablation_figure_of(row, figure);
  return (struct tb_bar){.label = row->label,
                         .ratio = r.ratio,
                         .lo = r.lo,
                         .hi = r.hi,
                         .kind = r.lo > 1   ? TB_BAR_MORE
                                 : r.hi < 1 ? TB_BAR_LESS
                                            : TB_BAR_UNSURE};
}

/* The rows of the model at `first`. */
static int put_model(struct tc_strbuf *out, const struct tb_stored_ablation *ablation, int first,
                     enum tb_ablation_figure figure, const struct tb_bar_range *range) {
  const struct tb_ablation *a = &ablation->rows;
  struct tb_bar *bars = calloc((size_t)(a->n_rows - first), sizeof *bars);
  char model[MODEL];
  int n = 0;
  while (first + n < a->n_rows && a->rows[first + n].on == a->rows[first].on) n++;
  for (int i = 0; bars && i < n; i++) bars[i] = bar_of(&a->rows[first + i], figure);
  tb_ablation_model(ablation, &a->rows[first], model, sizeof model);
  if (bars) tb_web_bars(out, model, figures[figure].axis, bars, n, range);
  free(bars);
  return n;
}

/* Charts have one axis, so that models can be compared; that over all models comes first. */
static void put_charts(struct tc_strbuf *out, const struct tb_stored_ablation *ablation,
                       enum tb_ablation_figure figure) {
  const struct tb_ablation *a = &ablation->rows;
  struct tb_bar_range range = tb_bar_range_none;
  int overall = 0;
  for (int i = 0; i < a->n_rows; i++) {
    const struct tb_bar bar = bar_of(&a->rows[i], figure);
    tb_bar_range_add(&range, &bar);
  }
  while (overall < a->n_rows && a->rows[overall].on) overall++;
  tc_strbuf_puts(out, "<section class=charts aria-label=charts>\n");
  if (overall < a->n_rows) put_model(out, ablation, overall, figure, &range);
  for (int i = 0; i < overall;) i += put_model(out, ablation, i, figure, &range);
  tc_strbuf_puts(out, "</section>\n");
}

/* --- the table --- */

static void put_ratio(struct tc_strbuf *out, const struct tb_ablation_row *row,
                      enum tb_ablation_figure figure) {
  const struct tb_ratio r = tb_ablation_figure_of(row, figure);
  tc_strbuf_puts(out, "<td class=figure>");
  if (isnan(r.ratio))
    tc_strbuf_puts(out, "–");
  else
    tc_strbuf_printf(out, "%.3f", r.ratio);
  if (!isnan(r.lo)) tc_strbuf_printf(out, " <span class=interval>[%.3f, %.3f]</span>", r.lo, r.hi);
}

static void put_row(struct tc_strbuf *out, const struct tb_stored_ablation *ablation,
                    const struct tb_ablation_row *row) {
  char model[MODEL];
  char machine[TB_MACHINE_NAME];
  const char *id = row->off ? tb_doc_text(row->off, "id", NULL) : NULL;
  tb_machine_name(tb_case_environment(ablation->document, row->off), machine);
  const struct tb_web_pair query[] = {{"case", id}, {"machine", machine}};
  tc_strbuf_puts(out, "<tr><td>");
  if (id)
    tb_web_link(out, "", "/case", query, TB_COUNT(query), row->label);
  else
    tb_web_text(out, row->label);
  for (int i = 0; i < TB_ABLATION_FIGURES; i++) put_ratio(out, row, (enum tb_ablation_figure)i);
  tc_strbuf_puts(out, "<td class=figure>");
  if (isnan(row->instructions))
    tc_strbuf_puts(out, "–");
  else
    tc_strbuf_printf(out, "%.4f", row->instructions);
  tb_web_cell_ns(out, row->median_ns);
  tb_web_cell_text(out, tb_ablation_artifact(row));
  tb_ablation_model(ablation, row, model, sizeof model);
  tb_web_cell_text(out, model);
  tc_strbuf_puts(out, "</tr>\n");
}

static void put_table(struct tc_strbuf *out, const struct tb_stored_ablation *ablation) {
  static const char *const columns[] = {
      "off",  "cold, off / on [95%]", "start + cold [95%]", "instructions, off / on", "cold, off", "artifact",
      "model"};
  tc_strbuf_puts(out, "<section><h2>All figures</h2>\n");
  tb_web_table(out, "ablation", columns, TB_COUNT(columns));
  for (int i = 0; i < ablation->rows.n_rows; i++) put_row(out, ablation, &ablation->rows.rows[i]);
  tb_web_table_end(out);
  tc_strbuf_puts(out, "</section>\n");
}

static void put_all(struct tc_strbuf *out, const struct tb_stored_ablation *ablation,
                    enum tb_ablation_figure figure) {
  const struct tb_web_pair query[] = {{"key", ablation->key}};
  tc_strbuf_puts(out, "<p>commit ");
  tb_web_commit(out, tb_doc_text(ablation->document, "tbench.commit", "?"));
  tc_strbuf_puts(out, ", started ");
  tb_web_text(out, tb_doc_text(ablation->document, "started", "?"));
  tc_strbuf_puts(out, " · ");
  tb_web_link(out, "", "/result", query, TB_COUNT(query), "the whole result");
  tc_strbuf_puts(out, "</p>\n");
  if (!ablation->rows.n_rows) {
    tc_strbuf_puts(out, "<p class=quiet>No case of this result has a switch opt.* off beside the same case "
                        "with all of them on.</p>\n");
    return;
  }
  put_figures(out, ablation->key, figure);
  tc_strbuf_puts(out,
                 "<p class=quiet>Each switch of compile time off, alone and together, in pairs of one "
                 "replicate. Right of 1: compiling takes that much longer without it. Blue: it is worth it; "
                 "orange: it costs; grey: the interval holds 1, or there is none. "
                 "<q>on / on</q>: all of them on, measured twice; what is no further from 1 is noise.</p>\n");
  put_charts(out, ablation, figure);
  tb_web_data(out, "these charts as data:", "/api/v1/ablation", query, TB_COUNT(query));
  put_table(out, ablation);
}

/* Nobody has asked for a certain result, and there is none at all. */
static bool is_empty(struct tb_query *request) {
  return request->answer.status == MHD_HTTP_NOT_FOUND && !tb_argument(request, "key");
}

static void put_nothing(struct tb_query *request) {
  request->answer.status = MHD_HTTP_OK;
  request->answer.body.len = 0;
  tb_web_begin(request, "Ablation", "/ablation");
  tc_strbuf_puts(&request->answer.body,
                 "<p class=quiet>No result has cases with switches of compile time (opt.*) off. This makes "
                 "one: <code>tbench run suite=compile_opts</code>, and <code>tbench push</code>.</p>\n");
  tb_web_end(request);
}

void tb_page_ablation(struct tb_query *request, struct tb_store *store) {
  struct tb_stored_ablation ablation;
  enum tb_ablation_figure figure;
  if (!find_figure(request, &figure) || !tb_ablation_query(request, store, &ablation)) {
    if (is_empty(request))
      put_nothing(request);
    else
      tb_web_error(request);
    return;
  }
  tb_web_begin(request, "Ablation", "/ablation");
  put_all(&request->answer.body, &ablation, figure);
  put_results(&request->answer.body, store);
  tb_web_end(request);
  tb_stored_ablation_free(&ablation);
}
