/* Pages that are lists: overview, cases, regressions. */
#include <math.h>
#include <stdio.h>

#include "dashboard/analysis.h"
#include "dashboard/answer.h"
#include "dashboard/html.h"
#include "harness/outcome.h"

enum { ROWS = 100, RUNS = 10 };
#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))

/* <table> with its columns, or a line where there are no rows. Each row is written by `put`. */
struct table { const char *const *columns; int n_columns; const char *name, *nothing; void (*put)(struct tc_strbuf *out, sqlite3_stmt *row); };

static void put_table(struct tc_strbuf *out, sqlite3_stmt *rows, const struct table *table) {
  int n = 0;
  tc_strbuf_printf(out, "<section><h2>%s</h2>\n", table->name);
  while (rows && sqlite3_step(rows) == SQLITE_ROW) {
    if (!n++) tc_strbuf_printf(out, "<div class=scroll role=region aria-label=\"%s\" tabindex=0><table>", table->name), tb_web_header(out, table->columns, table->n_columns);
    tc_strbuf_puts(out, "<tr>");
    table->put(out, rows);
    tc_strbuf_puts(out, "</tr>\n");
  }
  tc_strbuf_printf(out, n ? "</table></div></section>\n" : "<p class=quiet>%s</p></section>\n", table->nothing);
  if (rows) tb_store_done(rows);
}

static sqlite3_stmt *limited(struct tb_store *store, enum tb_statement which, int limit) {
  sqlite3_stmt *rows = tb_store_get(store, which);
  if (rows) sqlite3_bind_int(rows, 1, limit);
  return rows;
}

static void put_cell_text(struct tc_strbuf *out, const char *text) {
  tc_strbuf_puts(out, "<td>");
  tb_web_text(out, text);
}

static void put_commit(struct tc_strbuf *out, const char *commit) {
  tc_strbuf_puts(out, "<td><code>");
  tb_web_text(out, commit);
  tc_strbuf_puts(out, "</code>");
}

static void put_time(struct tc_strbuf *out, int64_t ms) {
  tc_strbuf_puts(out, "<td class=date>");
  tb_web_time(out, ms);
}

/* --- overview --- */

static void put_moved(struct tc_strbuf *out, sqlite3_stmt *row) {
  tc_strbuf_puts(out, "<td>");
  tb_web_verdict(out, sqlite3_column_int(row, 2));
  tc_strbuf_puts(out, "<td class=figure>");
  tb_web_move(out, tb_column_number(row, 4), tb_column_number(row, 5), tb_column_number(row, 6));
  tc_strbuf_puts(out, "<td class=name>");
  tb_web_case(out, tb_column_text(row, 0), tb_column_text(row, 1));
  tc_strbuf_puts(out, "<td class=figure>");
  tb_web_ns(out, tb_column_number(row, 11));
  put_commit(out, tb_column_text(row, 8));
  put_time(out, sqlite3_column_int64(row, 7));
  put_cell_text(out, sqlite3_column_int(row, 3) == TB_BASIS_STEP ? "a step" : "the newest run");
  put_cell_text(out, tb_column_text(row, 1));
}

static void put_failed(struct tc_strbuf *out, sqlite3_stmt *row) {
  tc_strbuf_puts(out, "<td>");
  tb_web_outcome(out, sqlite3_column_int(row, 2));
  tc_strbuf_puts(out, "<td class=name>");
  tb_web_case(out, tb_column_text(row, 0), tb_column_text(row, 1));
  put_commit(out, tb_column_text(row, 4));
  put_time(out, sqlite3_column_int64(row, 3));
  put_cell_text(out, tb_column_text(row, 1));
}

static void put_run(struct tc_strbuf *out, sqlite3_stmt *row) {
  put_time(out, sqlite3_column_int64(row, 1));
  put_commit(out, tb_column_text(row, 2));
  tc_strbuf_printf(out, "<td class=figure>%d", sqlite3_column_int(row, 4));
  put_cell_text(out, tb_column_text(row, 3));
  tc_strbuf_printf(out, "<td><a href=\"/result?key=%s\">page</a> <a href=\"/api/v1/results/%s\">JSON</a>", tb_column_text(row, 0), tb_column_text(row, 0));
}

/* Numbers of cases by verdict, as one line of tiles. */
static void put_tiles(struct tc_strbuf *out, struct tb_store *store) {
  sqlite3_stmt *rows = tb_store_get(store, TB_SQL_VERDICTS);
  long long counts[TB_VERDICT_COUNT + 1] = {0};
  while (rows && sqlite3_step(rows) == SQLITE_ROW) {
    const int verdict = sqlite3_column_type(rows, 0) == SQLITE_NULL ? TB_VERDICT_COUNT : sqlite3_column_int(rows, 0);
    if (verdict >= 0 && verdict <= TB_VERDICT_COUNT) counts[verdict] = sqlite3_column_int64(rows, 1);
  }
  if (rows) tb_store_done(rows);
  tc_strbuf_puts(out, "<ul class=tiles>");
  static const int order[] = {TB_VERDICT_SLOWER, TB_VERDICT_FASTER, TB_VERDICT_SAME, TB_VERDICT_UNSURE, TB_VERDICT_COUNT};
  for (int i = 0; i < COUNT(order); i++) {
    if (!counts[order[i]] && order[i] == TB_VERDICT_COUNT) continue;
    tc_strbuf_printf(out, "<li><b>%lld</b> ", counts[order[i]]);
    tb_web_verdict(out, order[i] == TB_VERDICT_COUNT ? -1 : order[i]);
    tc_strbuf_puts(out, "</li>");
  }
  tc_strbuf_printf(out, "<li><b>%lld</b> results</li><li><b>%lld</b> points</li></ul>\n", (long long)tb_store_meta(store, "documents"), (long long)tb_store_meta(store, "points"));
}

void tb_page_overview(struct tb_query *request, struct tb_store *store) {
  static const char *const moved[] = {"verdict", "time, new over old", "case", "newest", "commit", "since", "told by", "machine"};
  static const char *const failed[] = {"outcome", "case", "commit", "run", "machine"}, *const runs[] = {"run", "commit", "cases", "machine", ""};
  struct tc_strbuf *out = &request->answer.body;
  tb_web_begin(request, "Overview", "/");
  put_tiles(out, store);
  put_table(out, limited(store, TB_SQL_MOVED, ROWS), &(struct table){moved, COUNT(moved), "What moved", "Nothing moved.", put_moved});
  put_table(out, limited(store, TB_SQL_FAILED, ROWS), &(struct table){failed, COUNT(failed), "What fails", "Every case's newest run was right.", put_failed});
  put_table(out, limited(store, TB_SQL_NEWEST_RUNS, RUNS), &(struct table){runs, COUNT(runs), "Newest results", "None yet: send one with tbench push.", put_run});
  tc_strbuf_puts(out, "<p class=data><a href=/api/v1/overview>this page as JSON</a></p>\n");
  tb_web_end(request);
}

/* --- cases --- */

static void put_case(struct tc_strbuf *out, sqlite3_stmt *row) {
  tc_strbuf_puts(out, "<td class=name>");
  tb_web_case(out, tb_column_text(row, 0), tb_column_text(row, 1));
  tc_strbuf_puts(out, "<td>");
  if (sqlite3_column_int(row, 4) == TB_OUTCOME_OK) tb_web_verdict(out, sqlite3_column_type(row, 11) == SQLITE_NULL ? -1 : sqlite3_column_int(row, 11));
  else tb_web_outcome(out, sqlite3_column_int(row, 4));
  tc_strbuf_puts(out, "<td class=figure>");
  tb_web_ns(out, tb_column_number(row, 5));
  tc_strbuf_puts(out, "<td class=figure>");
  tb_web_number(out, tb_column_number(row, 6));
  tc_strbuf_puts(out, " <span class=interval>[");
  tb_web_number(out, tb_column_number(row, 7));
  tc_strbuf_puts(out, ", ");
  tb_web_number(out, tb_column_number(row, 8));
  tc_strbuf_puts(out, "]</span><td class=figure>");
  tb_web_ns(out, tb_column_number(row, 9));
  put_time(out, sqlite3_column_int64(row, 2));
  put_cell_text(out, tb_column_text(row, 1));
}

void tb_page_cases(struct tb_query *request, struct tb_store *store) {
  static const char *const columns[] = {"case", "verdict", "compiled", "speedup", "cold", "run", "machine"};
  struct tc_strbuf *out = &request->answer.body;
  const char *match = tb_argument(request, "match"), *after = tb_argument(request, "after");
  tb_web_begin(request, "Cases", "/cases");
  if (match) {
    tc_strbuf_puts(out, "<p>matching <code>");
    tb_web_text(out, match);
    tc_strbuf_puts(out, "</code> (* any text, ? one character)</p>\n");
  }
  sqlite3_stmt *rows = tb_store_get(store, TB_SQL_CASES);
  if (rows) {
    sqlite3_bind_text(rows, 1, after ? after : "", -1, SQLITE_STATIC);
    sqlite3_bind_int64(rows, 2, after ? INT64_MAX : 0);
    sqlite3_bind_text(rows, 3, match, -1, SQLITE_STATIC);
    sqlite3_bind_int64(rows, 4, ROWS * 2);
  }
  put_table(out, rows, &(struct table){columns, COUNT(columns), "Newest figures", "No case fits.", put_case});
  tb_web_end(request);
}

/* --- regressions --- */

static void put_regression(struct tc_strbuf *out, sqlite3_stmt *row) {
  const bool closed = sqlite3_column_type(row, 7) != SQLITE_NULL;
  tc_strbuf_printf(out, "<td><span class=\"mark %s\">%s</span><td class=figure>", closed ? "same" : "slower", closed ? "closed" : "open");
  tb_web_percent(out, tb_column_number(row, 5) / tb_column_number(row, 4));
  tc_strbuf_puts(out, "<td class=name>");
  tb_web_case(out, tb_column_text(row, 0), tb_column_text(row, 1));
  put_commit(out, tb_column_text(row, 3));
  put_time(out, sqlite3_column_int64(row, 2));
  put_commit(out, tb_column_text(row, 8));
  put_time(out, sqlite3_column_int64(row, 7));
  put_cell_text(out, tb_column_text(row, 1));
}

void tb_page_regressions(struct tb_query *request, struct tb_store *store) {
  static const char *const columns[] = {"state", "slower by", "case", "commit", "since", "closed by", "on", "machine"};
  enum { ALL = 2 };
  struct tc_strbuf *out = &request->answer.body;
  tb_web_begin(request, "Regressions", "/regressions");
  sqlite3_stmt *rows = tb_store_get(store, TB_SQL_REGRESSIONS);
  if (rows) sqlite3_bind_int(rows, 1, ALL), sqlite3_bind_int(rows, 2, ROWS * 2);
  put_table(out, rows, &(struct table){columns, COUNT(columns), "Steps to slower, newest first", "No case has become slower.", put_regression});
  tc_strbuf_puts(out, "<p class=data><a href=\"/api/v1/regressions?state=all\">this table as JSON</a></p>\n");
  tb_web_end(request);
}
