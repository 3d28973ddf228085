/* GET /: the overview. */

#include "dashboard/analysis.h"
#include "dashboard/answer.h"
#include "dashboard/html.h"
#include "dashboard/lists.h"
#include "dashboard/news.h"
#include "harness/outcome.h"

enum { ROWS = 100, RUNS = 10 };

static sqlite3_stmt *limited(struct tb_store *store, enum tb_statement which, int limit) {
  sqlite3_stmt *rows = tb_store_get(store, which);
  if (rows) sqlite3_bind_int(rows, 1, limit);
  return rows;
}

/* --- overview --- */

static void put_moved(struct tc_strbuf *out, sqlite3_stmt *row) {
  tc_strbuf_puts(out, "<td>");
  tb_web_verdict(out, sqlite3_column_int(row, 2));
  tc_strbuf_puts(out, "<td class=name>");
  tb_web_case(out, tb_column_text(row, 0), tb_column_text(row, 1));
  tc_strbuf_puts(out, "<td class=figure>");
  tb_web_move(out, tb_column_number(row, 4), tb_column_number(row, 5), tb_column_number(row, 6));
  tb_web_cell_ns(out, tb_column_number(row, 11));
  tb_web_cell_commit(out, tb_column_text(row, 8));
  tb_web_cell_time(out, sqlite3_column_int64(row, 7));
  tb_web_cell_text(out, sqlite3_column_int(row, 3) == TB_BASIS_STEP ? "a step" : "the newest run");
  tb_web_cell_machine(out, tb_column_text(row, 1));
}

static void put_failed(struct tc_strbuf *out, sqlite3_stmt *row) {
  tc_strbuf_puts(out, "<td>");
  tb_web_outcome(out, sqlite3_column_int(row, 2));
  tc_strbuf_puts(out, "<td class=name>");
  tb_web_case(out, tb_column_text(row, 0), tb_column_text(row, 1));
  tb_web_cell_commit(out, tb_column_text(row, 4));
  tb_web_cell_time(out, sqlite3_column_int64(row, 3));
  tb_web_cell_machine(out, tb_column_text(row, 1));
}

static void put_run(struct tc_strbuf *out, sqlite3_stmt *row) {
  tb_web_cell_time(out, sqlite3_column_int64(row, 1));
  tb_web_cell_commit(out, tb_column_text(row, 2));
  tc_strbuf_printf(out, "<td class=figure>%d", sqlite3_column_int(row, 4));
  tb_web_cell_machine(out, tb_column_text(row, 3));
  tc_strbuf_printf(out, "<td><a href=\"/result?key=%s\">page</a> <a href=\"/api/v1/results/%s\">JSON</a>", tb_column_text(row, 0), tb_column_text(row, 0));
}

/* Numbers of cases by verdict, as one line of tiles. */
static void put_tiles(struct tc_strbuf *out, struct tb_store *store) {
  sqlite3_stmt *rows = tb_store_get(store, TB_SQL_VERDICTS);
  long long counts[TB_VERDICT_COUNT + 1] = {0};
  while (tb_store_step(store, rows)) {
    const int verdict = sqlite3_column_type(rows, 0) == SQLITE_NULL ? TB_VERDICT_COUNT : sqlite3_column_int(rows, 0);
    if (verdict >= 0 && verdict <= TB_VERDICT_COUNT) counts[verdict] = sqlite3_column_int64(rows, 1);
  }
  if (rows) tb_store_done(rows);
  tc_strbuf_puts(out, "<ul class=tiles>");
  static const int order[] = {TB_VERDICT_SLOWER, TB_VERDICT_FASTER, TB_VERDICT_SAME, TB_VERDICT_UNSURE, TB_VERDICT_COUNT};
  for (int i = 0; i < TB_COUNT(order); i++) {
    if (!counts[order[i]] && order[i] == TB_VERDICT_COUNT) continue;
    tc_strbuf_printf(out, "<li><b>%lld</b> ", counts[order[i]]);
    tb_web_verdict(out, order[i] == TB_VERDICT_COUNT ? -1 : order[i]);
    tc_strbuf_puts(out, "</li>");
  }
  tc_strbuf_printf(out, "<li><b>%lld</b> results</li><li><b>%lld</b> points</li></ul>\n", (long long)tb_store_meta(store, "documents"), (long long)tb_store_meta(store, "points"));
}

/* How many fail, where the list has not all of them, and how many are no failures although they did not run. */
static void put_outcomes(struct tc_strbuf *out, struct tb_store *store) {
  sqlite3_stmt *rows = tb_store_get(store, TB_SQL_OUTCOMES);
  long long failed = 0, unsupported = 0;
  while (tb_store_step(store, rows)) {
    const int outcome = sqlite3_column_int(rows, 0);
    if (outcome == TB_OUTCOME_UNSUPPORTED) unsupported += sqlite3_column_int64(rows, 1);
    else if (outcome != TB_OUTCOME_OK) failed += sqlite3_column_int64(rows, 1);
  }
  if (rows) tb_store_done(rows);
  if (failed > ROWS) tc_strbuf_printf(out, "<p class=quiet>The first %d of %lld that fail; <a href=\"/api/v1/overview?limit=10000\">JSON has more</a>.</p>\n", ROWS, failed);
  if (unsupported) tc_strbuf_printf(out, "<p class=quiet>Besides, %lld of all cases: %s.</p>\n", unsupported, "their backend, mode or device is not built on their machine");
}

/* How what moved was told from noise. */
static void put_method(struct tc_strbuf *out) {
  tc_strbuf_printf(out, "<p class=quiet>Newest runs are tested all together, so that of those listed here no more than %.0f%% are expected to be noise (procedure of Benjamini and Hochberg, 1995); their intervals "
                        "are wider for it (Benjamini and Yekutieli, 2005). A step was tested by itself, and is listed for %d runs. First comes what is the furthest from no change at the near end of its "
                        "interval. Cases that were not measured for %d days before the newest result are not listed.</p>\n",
                   TB_ANALYSIS_FALSE_SHARE * 100, TB_ANALYSIS_RECENT, TB_NEWS_DAYS);
}

void tb_page_overview(struct tb_query *request, struct tb_store *store) {
  static const char *const moved[] = {"verdict", "case", "time, new over old", "newest", "commit", "since", "told by", "machine"};
  static const char *const failed[] = {"outcome", "case", "commit", "run", "machine"}, *const runs[] = {"run", "commit", "cases", "machine", ""};
  struct tc_strbuf *out = &request->answer.body;
  tb_web_begin(request, "Overview", "/");
  put_tiles(out, store);
  const int moves = tb_web_list(out, store, limited(store, TB_SQL_MOVED, ROWS), &(struct tb_web_list){moved, TB_COUNT(moved), "What moved", "Nothing moved.", put_moved});
  if (moves == ROWS) tc_strbuf_printf(out, "<p class=quiet>The %d largest moves; <a href=\"/api/v1/overview?limit=10000\">JSON has more</a>.</p>\n", ROWS);
  put_method(out);
  tb_web_list(out, store, tb_failed_rows(store, ROWS), &(struct tb_web_list){failed, TB_COUNT(failed), "What fails", "Every case's newest run was right.", put_failed});
  put_outcomes(out, store);
  tb_web_list(out, store, limited(store, TB_SQL_NEWEST_RUNS, RUNS), &(struct tb_web_list){runs, TB_COUNT(runs), "Newest results", "None yet: send one with tbench push.", put_run});
  tc_strbuf_puts(out, "<p class=data><a href=/api/v1/overview>this page as JSON</a></p>\n");
  tb_web_end(request);
}
