/* Queries that give lists as JSON. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dashboard/api/lists.h"
#include "dashboard/server/answer.h"

enum { ROWS_DEFAULT = 100, ROWS_MOST = 10000 };

static int64_t limit_of(struct tb_query *request, int64_t initial) {
  int64_t limit = initial;
  return tb_argument_number(request, "limit", 1, ROWS_MOST, &limit) ? limit : -1;
}

/* --- documents --- */

void tb_api_document(struct tb_query *request, struct tb_store *store) {
  size_t length = 0;
  char *text = tb_document_text(request, store, request->rest, &length);
  if (text) tc_strbuf_bytes(&request->answer.body, text, length);
  free(text);
}

/* --- lists --- */

static bool put_limited(struct tb_query *request, struct tb_store *store, enum tb_statement which,
                        int64_t limit, const char *name, const char *const *names, int count) {
  sqlite3_stmt *rows = tb_store_get(store, which);
  if (rows && sqlite3_bind_parameter_count(rows)) sqlite3_bind_int64(rows, 1, limit);
  return tb_json_put_rows(&request->answer.body, store, rows, name, names, count);
}

static void put_open(struct tc_strbuf *out, struct tb_store *store) {
  struct tb_open_regressions open;
  tb_open_regressions(store, tb_now_ms(), &open);
  tc_strbuf_printf(
      out,
      "\"open_regressions\":{\"count\":%lld,\"within_7_days\":%lld,\"within_30_days\":%lld,\"oldest_ms\":",
      open.count, open.within_week, open.within_month);
  tb_json_put_number(out, open.count ? (double)open.oldest_ms : NAN);
  tc_strbuf_puts(out, "},");
  struct tb_failed failed;
  tb_failed_count(store, &failed);
  tc_strbuf_printf(out, "\"measured_no_longer\":{\"open_regressions\":%lld,\"failing\":%lld},", open.gone,
                   failed.gone);
}

void tb_api_overview(struct tb_query *request, struct tb_store *store) {
  static const char *const moved[] = {"case",    "machine",   "verdict",  "basis",  "move",
                                      "lo",      "hi",        "moved_ms", "commit", "latest_ms",
                                      "outcome", "steady_ns", "speedup",  "p"};
  static const char *const failed[] = {"case",   "machine",  "outcome",     "latest_ms",
                                       "commit", "since_ms", "since_commit"},
                           *const verdicts[] = {"verdict", "count"}, *const outcomes[] = {"outcome", "count"};
  static const char *const runs[] = {"key", "started_ms", "commit", "machine", "cases"};
  enum { RUNS = 20 };
  struct tc_strbuf *out = &request->answer.body;
  const int64_t limit = limit_of(request, ROWS_DEFAULT);
  if (limit < 0) return;
  tc_strbuf_printf(out, "{\"documents\":%lld,\"points\":%lld,", (long long)tb_store_meta(store, "documents"),
                   (long long)tb_store_meta(store, "points"));
  put_open(out, store);
  bool good = put_limited(request, store, TB_SQL_MOVED, limit, "moved", moved, sizeof moved / sizeof *moved);
  tc_strbuf_puts(out, ",");
  good = good && tb_json_put_rows(out, store, tb_failed_rows(store, limit), "failed", failed,
                                  sizeof failed / sizeof *failed);
  tc_strbuf_puts(out, ",");
  good = good && put_limited(request, store, TB_SQL_VERDICTS, 0, "by_verdict", verdicts, 2);
  tc_strbuf_puts(out, ",");
  good = good && put_limited(request, store, TB_SQL_OUTCOMES, 0, "by_outcome", outcomes, 2);
  tc_strbuf_puts(out, ",");
  good =
      good && put_limited(request, store, TB_SQL_NEWEST_RUNS, RUNS, "runs", runs, sizeof runs / sizeof *runs);
  tb_answer_end(request, store, good);
}

static const char *const newest[] = {"case",    "machine",    "started_ms", "commit",  "outcome", "steady_ns",
                                     "speedup", "speedup_lo", "speedup_hi", "cold_ns", "points",  "verdict"};
enum { N_NEWEST = sizeof newest / sizeof *newest };

void tb_api_cases(struct tb_query *request, struct tb_store *store) {
  struct tc_strbuf *out = &request->answer.body;
  const int64_t limit = limit_of(request, ROWS_DEFAULT);
  if (limit < 0) return;
  tc_strbuf_puts(out, "{");
  sqlite3_stmt *rows = tb_cases_rows(request, store, limit);
  tb_answer_end(request, store, tb_json_put_rows(out, store, rows, "cases", newest, N_NEWEST));
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
  tb_answer_end(request, store, tb_json_put_rows(out, store, rows, "machines", newest, N_NEWEST));
}

static void list(struct tb_query *request, struct tb_store *store, enum tb_statement which,
                 const char *name) {
  static const char *const names[] = {"name"};
  const int64_t limit = limit_of(request, ROWS_DEFAULT);
  if (limit < 0) return;
  tc_strbuf_puts(&request->answer.body, "{");
  tb_answer_end(request, store, put_limited(request, store, which, limit, name, names, 1));
}

void tb_api_commits(struct tb_query *request, struct tb_store *store) {
  list(request, store, TB_SQL_COMMITS, "commits");
}
void tb_api_machines(struct tb_query *request, struct tb_store *store) {
  list(request, store, TB_SQL_MACHINES, "machines");
}

void tb_api_regressions(struct tb_query *request, struct tb_store *store) {
  static const char *const names[] = {"case",  "machine", "started_ms", "commit",       "before",
                                      "after", "p",       "closed_ms",  "closed_commit"};
  enum tb_regressions state;
  int64_t skip = 0;
  const int64_t limit = limit_of(request, ROWS_DEFAULT);
  if (limit < 0 || !tb_argument_number(request, "skip", 0, INT32_MAX, &skip) ||
      !tb_regressions_state(request, TB_REGRESSIONS_ALL, &state))
    return;
  tc_strbuf_puts(&request->answer.body, "{");
  sqlite3_stmt *rows = tb_regressions_rows(store, state, limit, skip);
  tb_answer_end(request, store,
                tb_json_put_rows(&request->answer.body, store, rows, "regressions", names,
                                 sizeof names / sizeof *names));
}

void tb_api_figures(struct tb_query *request, struct tb_store *store) {
  struct tc_strbuf *out = &request->answer.body;
  (void)store;
  tc_strbuf_puts(out, "{\"figures\":[");
  for (int i = 0; i < TB_FIGURE_COUNT; i++) {
    const char *const texts[] = {tb_figure_name((enum tb_figure)i), tb_figure_path((enum tb_figure)i),
                                 tb_figure_meaning((enum tb_figure)i)};
    static const char *const names[] = {"name", "path", "meaning"};
    for (int k = 0; k < 3; k++) {
      tc_strbuf_printf(out, "%s\"%s\":", k ? "," : i ? ",\n{" : "\n{", names[k]);
      tb_json_put_text(out, texts[k]);
    }
    tc_strbuf_puts(out, "}");
  }
  tc_strbuf_puts(out, "]}\n");
}
