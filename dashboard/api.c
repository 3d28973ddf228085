/* Queries that give JSON (a series also CSV). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dashboard/answer.h"
#include "dashboard/series.h"
#include "harness/outcome.h"

enum { ROWS_DEFAULT = 100, ROWS_MOST = 10000 };

static int64_t limit_of(struct tb_query *request, int64_t initial) {
  int64_t limit = initial;
  return tb_argument_number(request, "limit", 1, ROWS_MOST, &limit) ? limit : -1;
}

static void finish(struct tb_query *request, struct tb_store *store, bool good) {
  if (good) tc_strbuf_puts(&request->answer.body, "}\n");
  else tb_answer_store_failed(request, store);
}

/* --- documents --- */

static int hex_value(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

static bool key_of(const char *text, unsigned char key[TC_SHA256_BYTES]) {
  if (!text || strlen(text) != 2 * TC_SHA256_BYTES) return false;
  for (int i = 0; i < TC_SHA256_BYTES; i++) {
    const int high = hex_value(text[2 * i]), low = hex_value(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    key[i] = (unsigned char)(high << 4 | low);
  }
  return true;
}

void tb_api_document(struct tb_query *request, struct tb_store *store) {
  unsigned char key[TC_SHA256_BYTES];
  size_t length = 0;
  if (!key_of(request->rest, key)) {
    tb_answer_error(request, MHD_HTTP_BAD_REQUEST, "a key is 64 hex digits");
    return;
  }
  sqlite3_stmt *row = tb_store_get(store, TB_SQL_DOCUMENT_BY_KEY);
  if (!row) {
    tb_answer_store_failed(request, store);
    return;
  }
  sqlite3_bind_blob(row, 1, key, sizeof key, SQLITE_STATIC);
  const bool found = sqlite3_step(row) == SQLITE_ROW;
  char *text = found ? tb_store_unpack(store, row, 0, &length) : NULL;
  tb_store_done(row);
  if (!found) tb_answer_error(request, MHD_HTTP_NOT_FOUND, "there is no result with this key");
  else if (!text) tb_answer_store_failed(request, store);
  else tc_strbuf_bytes(&request->answer.body, text, length);
  free(text);
}

/* --- lists --- */

static bool put_limited(struct tb_query *request, struct tb_store *store, enum tb_statement which, int64_t limit, const char *name, const char *const *names, int count) {
  sqlite3_stmt *rows = tb_store_get(store, which);
  if (rows && sqlite3_bind_parameter_count(rows)) sqlite3_bind_int64(rows, 1, limit);
  return tb_json_put_rows(&request->answer.body, store, rows, name, names, count);
}

void tb_api_overview(struct tb_query *request, struct tb_store *store) {
  static const char *const moved[] = {"case", "machine", "verdict", "basis", "move", "lo", "hi", "moved_ms", "commit", "latest_ms", "outcome", "steady_ns", "speedup"};
  static const char *const failed[] = {"case", "machine", "outcome", "latest_ms", "commit"}, *const verdicts[] = {"verdict", "count"}, *const outcomes[] = {"outcome", "count"};
  static const char *const runs[] = {"key", "started_ms", "commit", "machine", "cases"};
  enum { RUNS = 20 };
  struct tc_strbuf *out = &request->answer.body;
  const int64_t limit = limit_of(request, ROWS_DEFAULT);
  if (limit < 0) return;
  tc_strbuf_printf(out, "{\"documents\":%lld,\"points\":%lld,", (long long)tb_store_meta(store, "documents"), (long long)tb_store_meta(store, "points"));
  bool good = put_limited(request, store, TB_SQL_MOVED, limit, "moved", moved, sizeof moved / sizeof *moved);
  tc_strbuf_puts(out, ",");
  good = good && put_limited(request, store, TB_SQL_FAILED, limit, "failed", failed, sizeof failed / sizeof *failed);
  tc_strbuf_puts(out, ",");
  good = good && put_limited(request, store, TB_SQL_VERDICTS, 0, "by_verdict", verdicts, 2);
  tc_strbuf_puts(out, ",");
  good = good && put_limited(request, store, TB_SQL_OUTCOMES, 0, "by_outcome", outcomes, 2);
  tc_strbuf_puts(out, ",");
  good = good && put_limited(request, store, TB_SQL_NEWEST_RUNS, RUNS, "runs", runs, sizeof runs / sizeof *runs);
  finish(request, store, good);
}

static const char *const newest[] = {"case", "machine", "started_ms", "commit", "outcome", "steady_ns", "speedup", "speedup_lo", "speedup_hi", "cold_ns", "points", "verdict"};
enum { N_NEWEST = sizeof newest / sizeof *newest };

void tb_api_cases(struct tb_query *request, struct tb_store *store) {
  struct tc_strbuf *out = &request->answer.body;
  const int64_t limit = limit_of(request, ROWS_DEFAULT);
  const char *after = tb_argument(request, "after");
  if (limit < 0) return;
  tc_strbuf_puts(out, "{");
  sqlite3_stmt *rows = tb_store_get(store, TB_SQL_CASES);
  if (rows) {
    sqlite3_bind_text(rows, 1, after ? after : "", -1, SQLITE_STATIC);
    sqlite3_bind_int64(rows, 2, after ? INT64_MAX : 0);
    sqlite3_bind_text(rows, 3, tb_argument(request, "match"), -1, SQLITE_STATIC);
    sqlite3_bind_int64(rows, 4, limit);
  }
  finish(request, store, tb_json_put_rows(out, store, rows, "cases", newest, N_NEWEST));
}

void tb_api_latest(struct tb_query *request, struct tb_store *store) {
  struct tc_strbuf *out = &request->answer.body;
  const char *name = tb_argument(request, "case");
  if (!name) {
    tb_answer_error(request, MHD_HTTP_BAD_REQUEST, "name a case: case=ID");
    return;
  }
  tc_strbuf_puts(out, "{");
  sqlite3_stmt *rows = tb_store_get(store, TB_SQL_LATEST);
  if (rows) sqlite3_bind_text(rows, 1, name, -1, SQLITE_STATIC);
  finish(request, store, tb_json_put_rows(out, store, rows, "machines", newest, N_NEWEST));
}

static void list(struct tb_query *request, struct tb_store *store, enum tb_statement which, const char *name) {
  static const char *const names[] = {"name"};
  const int64_t limit = limit_of(request, ROWS_DEFAULT);
  if (limit < 0) return;
  tc_strbuf_puts(&request->answer.body, "{");
  finish(request, store, put_limited(request, store, which, limit, name, names, 1));
}

void tb_api_commits(struct tb_query *request, struct tb_store *store) { list(request, store, TB_SQL_COMMITS, "commits"); }
void tb_api_machines(struct tb_query *request, struct tb_store *store) { list(request, store, TB_SQL_MACHINES, "machines"); }

void tb_api_regressions(struct tb_query *request, struct tb_store *store) {
  static const char *const names[] = {"case", "machine", "started_ms", "commit", "before", "after", "p", "closed_ms", "closed_commit"};
  static const char *const states[] = {"open", "closed", "all"};
  const char *state = tb_argument(request, "state");
  const int64_t limit = limit_of(request, ROWS_DEFAULT);
  int which = state ? 0 : 2;
  if (limit < 0) return;
  while (state && which < 3 && strcmp(state, states[which])) which++;
  if (which == 3) {
    tb_answer_error(request, MHD_HTTP_BAD_REQUEST, "state: open, closed or all");
    return;
  }
  tc_strbuf_puts(&request->answer.body, "{");
  sqlite3_stmt *rows = tb_store_get(store, TB_SQL_REGRESSIONS);
  if (rows) sqlite3_bind_int(rows, 1, which), sqlite3_bind_int64(rows, 2, limit);
  finish(request, store, tb_json_put_rows(&request->answer.body, store, rows, "regressions", names, sizeof names / sizeof *names));
}

void tb_api_figures(struct tb_query *request, struct tb_store *store) {
  struct tc_strbuf *out = &request->answer.body;
  (void)store;
  tc_strbuf_puts(out, "{\"figures\":[");
  for (int i = 0; i < TB_FIGURE_COUNT; i++) {
    const char *const texts[] = {tb_figure_name((enum tb_figure)i), tb_figure_path((enum tb_figure)i), tb_figure_meaning((enum tb_figure)i)};
    static const char *const names[] = {"name", "path", "meaning"};
    for (int k = 0; k < 3; k++) {
      tc_strbuf_printf(out, "%s\"%s\":", k ? "," : i ? ",\n{" : "\n{", names[k]);
      tb_json_put_text(out, texts[k]);
    }
    tc_strbuf_puts(out, "}");
  }
  tc_strbuf_puts(out, "]}\n");
}

/* --- one series --- */

bool tb_series_find(struct tb_query *request, struct tb_store *store, struct tb_series_name *out) {
  const char *name = tb_argument(request, "case"), *machine = tb_argument(request, "machine");
  sqlite3_stmt *find = name ? tb_store_get(store, TB_SQL_SERIES_BY_NAME) : NULL;
  *out = (struct tb_series_name){.name = name};
  if (!name) return tb_answer_error(request, MHD_HTTP_BAD_REQUEST, "name a case: case=ID"), false;
  if (!find) return tb_answer_store_failed(request, store), false;
  sqlite3_bind_text(find, 1, name, -1, SQLITE_STATIC);
  sqlite3_bind_text(find, 2, machine, -1, SQLITE_STATIC);
  if (sqlite3_step(find) == SQLITE_ROW) {
    out->id = sqlite3_column_int64(find, 0);
    snprintf(out->machine, sizeof out->machine, "%s", (const char *)sqlite3_column_text(find, 1));
  }
  tb_store_done(find);
  if (!out->id) tb_answer_error(request, MHD_HTTP_NOT_FOUND, "there is no such case%s", machine ? " on that machine" : "");
  return out->id != 0;
}

static void put_csv(struct tc_strbuf *out, sqlite3_stmt *rows) {
  char started[32];
  tc_strbuf_puts(out, "started,commit,outcome,probe,value,key");
  for (int i = 0; i < TB_FIGURE_COUNT; i++) tc_strbuf_printf(out, ",%s", tb_figure_name((enum tb_figure)i));
  tc_strbuf_puts(out, "\n");
  while (sqlite3_step(rows) == SQLITE_ROW) {
    tb_time_text(sqlite3_column_int64(rows, 0), started, sizeof started);
    tc_strbuf_printf(out, "%s,", started);
    tb_csv_put_text(out, (const char *)sqlite3_column_text(rows, 1));
    tc_strbuf_printf(out, ",%s,%lld,", tb_outcome_text((enum tb_outcome)sqlite3_column_int(rows, 2)), (long long)sqlite3_column_int64(rows, 3));
    if (sqlite3_column_type(rows, 4) != SQLITE_NULL) tc_strbuf_printf(out, "%.9g", sqlite3_column_double(rows, 4));
    const char *key = (const char *)sqlite3_column_text(rows, 5);
    tc_strbuf_printf(out, ",%s", key ? key : "");
    for (int i = 0; i < TB_FIGURE_COUNT; i++) {
      tc_strbuf_puts(out, ",");
      if (sqlite3_column_type(rows, TB_POINT_FIGURES + i) != SQLITE_NULL) tc_strbuf_printf(out, "%.9g", sqlite3_column_double(rows, TB_POINT_FIGURES + i));
    }
    tc_strbuf_puts(out, "\n");
  }
}

static bool put_changes(struct tc_strbuf *out, struct tb_store *store, int64_t series) {
  static const char *const names[] = {"started_ms", "commit", "slower", "before", "after", "p", "closed_ms", "closed_commit"};
  sqlite3_stmt *rows = tb_store_get(store, TB_SQL_CHANGES_OF);
  if (rows) sqlite3_bind_int64(rows, 1, series);
  return tb_json_put_rows(out, store, rows, "changes", names, sizeof names / sizeof *names);
}

static bool put_points(struct tc_strbuf *out, struct tb_store *store, sqlite3_stmt *rows) {
  const char *all[TB_POINT_FIGURES + TB_FIGURE_COUNT] = {"started_ms", "commit", "outcome", "probe", "value", "key", "document", "position"};
  for (int i = 0; i < TB_FIGURE_COUNT; i++) all[TB_POINT_FIGURES + i] = tb_figure_name((enum tb_figure)i);
  return tb_json_put_rows(out, store, rows, "points", all, sizeof all / sizeof *all);
}

sqlite3_stmt *tb_series_points(struct tb_store *store, int64_t series, bool newest_first, int64_t before, int64_t limit) {
  sqlite3_stmt *rows = tb_store_get(store, newest_first ? TB_SQL_RUNS : TB_SQL_POINTS);
  if (!rows) return NULL;
  sqlite3_bind_int64(rows, 1, series);
  sqlite3_bind_int64(rows, 2, before);
  sqlite3_bind_int64(rows, 3, limit);
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
  const char *format = tb_argument(request, "format");
  struct tb_series_name series;
  int64_t limit = POINTS, before = INT64_MAX;
  if (!tb_argument_number(request, "limit", 1, ROWS_MOST, &limit) || !tb_argument_number(request, "before", 0, INT64_MAX, &before)) return;
  if (format && strcmp(format, "json") && strcmp(format, "csv")) {
    tb_answer_error(request, MHD_HTTP_BAD_REQUEST, "format: json or csv");
    return;
  }
  if (!tb_series_find(request, store, &series)) return;
  sqlite3_stmt *rows = tb_series_points(store, series.id, false, before, limit);
  if (!rows) {
    tb_answer_store_failed(request, store);
  } else if (format && !strcmp(format, "csv")) {
    request->answer.type = "text/csv; charset=utf-8";
    put_csv(out, rows);
    tb_store_done(rows);
  } else {
    put_names(out, &series);
    bool good = put_points(out, store, rows);
    tc_strbuf_puts(out, ",");
    good = good && put_changes(out, store, series.id);
    finish(request, store, good);
  }
}

void tb_api_changes(struct tb_query *request, struct tb_store *store) {
  struct tb_series_name series;
  if (!tb_series_find(request, store, &series)) return;
  put_names(&request->answer.body, &series);
  finish(request, store, put_changes(&request->answer.body, store, series.id));
}
