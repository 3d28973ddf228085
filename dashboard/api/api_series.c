/* A case over time, as JSON and CSV. */
#include <stdio.h>
#include <string.h>

#include "dashboard/api/series.h"
#include "dashboard/server/answer.h"
#include "results/outcome.h"

bool tb_series_find(struct tb_query *request, struct tb_store *store, struct tb_series_name *out) {
  const char *name = tb_argument(request, "case"), *machine = tb_argument(request, "machine");
  sqlite3_stmt *find = name ? tb_store_get(store, TB_SQL_SERIES_BY_NAME) : NULL;
  *out = (struct tb_series_name){.name = name};
  if (!name) return tb_answer_error(request, MHD_HTTP_BAD_REQUEST, "name a case: case=ID"), false;
  if (!find) return tb_answer_store_failed(request, store), false;
  sqlite3_bind_text(find, 1, name, -1, SQLITE_STATIC);
  sqlite3_bind_text(find, 2, machine, -1, SQLITE_STATIC);
  if (tb_store_step(store, find)) {
    out->id = sqlite3_column_int64(find, 0);
    out->points = sqlite3_column_int64(find, 2);
    snprintf(out->machine, sizeof out->machine, "%s", (const char *)sqlite3_column_text(find, 1));
  }
  tb_store_done(find);
  if (!out->id)
    tb_answer_error(request, MHD_HTTP_NOT_FOUND, "there is no such case%s",
                    machine ? " on that machine" : "");
  return out->id != 0;
}

/* --- which figures --- */

struct selection {
  bool shown[TB_FIGURE_COUNT];
};

/* figures=NAME,… of a query; all where it names none; "value" is always there. False: it was answered what is
 * wrong. */
static bool select_figures(struct tb_query *request, struct selection *out) {
  static const char value[] = "value";
  const char *names = tb_argument(request, "figures");
  for (int i = 0; i < TB_FIGURE_COUNT; i++) out->shown[i] = !names;
  while (names && *names) {
    const int length = (int)strcspn(names, ",");
    int i = 0;
    if (length == (int)strlen(value) && !strncmp(names, value, strlen(value))) {
      names += length + (names[length] == ',');
      continue;
    }
    while (i < TB_FIGURE_COUNT && (strncmp(tb_figure_name((enum tb_figure)i), names, (size_t)length) ||
                                   tb_figure_name((enum tb_figure)i)[length]))
      i++;
    if (i == TB_FIGURE_COUNT)
      return tb_answer_error(request, MHD_HTTP_BAD_REQUEST,
                             "figures: there is no %.*s; /api/v1/figures lists them", length, names),
             false;
    out->shown[i] = true;
    names += length + (names[length] == ',');
  }
  return true;
}

/* --- the points --- */

static void put_csv_figure(struct tc_strbuf *out, sqlite3_stmt *row, int column) {
  if (sqlite3_column_type(row, column) != SQLITE_NULL)
    tb_csv_put_number(out, sqlite3_column_double(row, column));
}

static void put_csv(struct tc_strbuf *out, struct tb_store *store, sqlite3_stmt *rows,
                    const struct selection *selection) {
  char started[32];
  tc_strbuf_puts(out, "started,commit,outcome,probe,value,key");
  for (int i = 0; i < TB_FIGURE_COUNT; i++)
    if (selection->shown[i]) tc_strbuf_printf(out, ",%s", tb_figure_name((enum tb_figure)i));
  tc_strbuf_puts(out, "\n");
  while (tb_store_step(store, rows)) {
    tb_time_text(sqlite3_column_int64(rows, 0), started, sizeof started);
    tc_strbuf_printf(out, "%s,", started);
    tb_csv_put_text(out, (const char *)sqlite3_column_text(rows, 1));
    tc_strbuf_printf(out, ",%s,%lld,", tb_outcome_text((enum tb_outcome)sqlite3_column_int(rows, 2)),
                     (long long)sqlite3_column_int64(rows, 3));
    put_csv_figure(out, rows, TB_POINT_VALUE);
    const char *key = (const char *)sqlite3_column_text(rows, 5);
    tc_strbuf_printf(out, ",%s", key ? key : "");
    for (int i = 0; i < TB_FIGURE_COUNT; i++) {
      if (!selection->shown[i]) continue;
      tc_strbuf_puts(out, ",");
      put_csv_figure(out, rows, TB_POINT_FIGURES + i);
    }
    tc_strbuf_puts(out, "\n");
  }
}

static bool put_changes(struct tc_strbuf *out, struct tb_store *store, int64_t series) {
  static const char *const names[] = {"started_ms", "commit",    "slower",        "before",         "after",
                                      "p",          "closed_ms", "closed_commit", "previous_commit"};
  sqlite3_stmt *rows = tb_store_get(store, TB_SQL_CHANGES_OF);
  if (rows) sqlite3_bind_int64(rows, 1, series);
  return tb_json_put_rows(out, store, rows, "changes", names, sizeof names / sizeof *names);
}

/* Columns that were not asked for have no name. */
static bool put_points(struct tc_strbuf *out, struct tb_store *store, sqlite3_stmt *rows,
                       const struct selection *selection) {
  const char *all[TB_POINT_FIGURES + TB_FIGURE_COUNT] = {"started_ms", "commit", "outcome",  "probe",
                                                         "value",      "key",    "document", "position"};
  for (int i = 0; i < TB_FIGURE_COUNT; i++)
    all[TB_POINT_FIGURES + i] = selection->shown[i] ? tb_figure_name((enum tb_figure)i) : NULL;
  return tb_json_put_rows(out, store, rows, "points", all, sizeof all / sizeof *all);
}

bool tb_series_before(struct tb_query *request, struct tb_series_place *out) {
  *out = (struct tb_series_place){.started = INT64_MAX};
  return tb_argument_number(request, "before", 0, INT64_MAX, &out->started) &&
         tb_argument_number(request, "before_document", 0, INT64_MAX, &out->document) &&
         tb_argument_number(request, "before_position", 0, INT64_MAX, &out->position);
}

sqlite3_stmt *tb_series_points(struct tb_store *store, int64_t series, bool newest_first,
                               const struct tb_series_place *before, int64_t limit) {
  sqlite3_stmt *rows = tb_store_get(store, newest_first ? TB_SQL_RUNS : TB_SQL_POINTS);
  if (!rows) return NULL;
  sqlite3_bind_int64(rows, 1, series);
  sqlite3_bind_int64(rows, 2, before ? before->started : INT64_MAX);
  sqlite3_bind_int64(rows, 3, before ? before->document : 0);
  sqlite3_bind_int64(rows, 4, before ? before->position : 0);
  sqlite3_bind_int64(rows, 5, limit);
  return rows;
}

static void put_names(struct tc_strbuf *out, const struct tb_series_name *series) {
  tc_strbuf_puts(out, "{\"case\":");
  tb_json_put_text(out, series->name);
  tc_strbuf_puts(out, ",\"machine\":");
  tb_json_put_text(out, series->machine);
  tc_strbuf_puts(out, ",");
}

void tb_api_series(struct tb_query *request, struct tb_store *store) {
  enum { POINTS = 2000 };
  struct tc_strbuf *out = &request->answer.body;
  struct tb_series_name series;
  struct selection selection;
  struct tb_series_place before;
  int64_t limit = POINTS;
  bool csv;
  if (!tb_argument_number(request, "limit", 1, TB_SERIES_MOST, &limit) || !tb_series_before(request, &before))
    return;
  if (!tb_argument_csv(request, &csv) || !select_figures(request, &selection) ||
      !tb_series_find(request, store, &series))
    return;
  sqlite3_stmt *rows = tb_series_points(store, series.id, false, &before, limit);
  if (!rows) {
    tb_answer_store_failed(request, store);
  } else if (csv) {
    put_csv(out, store, rows, &selection);
    tb_store_done(rows);
  } else {
    put_names(out, &series);
    bool good = put_points(out, store, rows, &selection);
    tc_strbuf_puts(out, ",");
    good = good && put_changes(out, store, series.id);
    tb_answer_end(request, store, good);
  }
}

void tb_api_changes(struct tb_query *request, struct tb_store *store) {
  struct tb_series_name series;
  if (!tb_series_find(request, store, &series)) return;
  put_names(&request->answer.body, &series);
  tb_answer_end(request, store, put_changes(&request->answer.body, store, series.id));
}
