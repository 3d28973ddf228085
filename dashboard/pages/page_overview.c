/* GET /: the overview. */

#include "dashboard/analysis/analysis.h"
#include "dashboard/analysis/movers.h"
#include "dashboard/api/lists.h"
#include "dashboard/pages/html.h"
#include "dashboard/server/answer.h"
#include "results/outcome.h"

enum { ROWS = 100, RUNS = 10, LONGEST = 5 };

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
  tb_web_cell_time(out, sqlite3_column_int64(row, 5));
  tb_web_cell_commit(out, tb_column_text(row, 6));
  tb_web_cell_time(out, sqlite3_column_int64(row, 3));
  tb_web_cell_machine(out, tb_column_text(row, 1));
}

static void put_run(struct tc_strbuf *out, sqlite3_stmt *row) {
  tb_web_cell_time(out, sqlite3_column_int64(row, 1));
  tb_web_cell_commit(out, tb_column_text(row, 2));
  tc_strbuf_printf(out, "<td class=figure>%d", sqlite3_column_int(row, 4));
  tb_web_cell_machine(out, tb_column_text(row, 3));
  tc_strbuf_printf(out, "<td><a href=\"/result?key=%s\">page</a> <a href=\"/api/v1/results/%s\">JSON</a>",
                   tb_column_text(row, 0), tb_column_text(row, 0));
}

/* --- what is open still --- */

static void put_days(struct tc_strbuf *out, int64_t since_ms) {
  static const int64_t day_ms = 24LL * 3600 * 1000;
  const long long days = (tb_now_ms() - since_ms) / day_ms;
  if (days < 1)
    tc_strbuf_puts(out, "less than a day");
  else
    tc_strbuf_printf(out, "%lld %s", days, days == 1 ? "day" : "days");
}

static void put_open(struct tc_strbuf *out, sqlite3_stmt *row) {
  tc_strbuf_puts(out, "<td class=name>");
  tb_web_case(out, tb_column_text(row, 0), tb_column_text(row, 1));
  tc_strbuf_puts(out, "<td class=figure>");
  tb_web_percent(out, tb_column_number(row, 5) / tb_column_number(row, 4));
  tc_strbuf_puts(out, "<td class=figure>");
  put_days(out, sqlite3_column_int64(row, 2));
  tb_web_cell_commit(out, tb_column_text(row, 3));
  tb_web_cell_time(out, sqlite3_column_int64(row, 2));
  tb_web_cell_machine(out, tb_column_text(row, 1));
}

/* What moved long ago is not listed as moved any more; it is here until something takes it back. */
static void put_open_regressions(struct tc_strbuf *out, struct tb_store *store,
                                 const struct tb_open_regressions *open) {
  static const char *const columns[] = {"case", "slower by", "open for", "commit", "since", "machine"};
  tb_web_list(out, store, tb_longest_open_rows(store, LONGEST),
              &(struct tb_web_list){columns, TB_COUNT(columns), "Open the longest",
                                    "No step to slower is open: each one was taken back.", put_open});
  if (open->gone)
    tc_strbuf_printf(out,
                     "<p class=quiet>Besides, there %s <a href=\"/regressions?state=open\">%lld open</a> of "
                     "cases that are measured no longer.</p>\n",
                     open->gone == 1 ? "is" : "are", open->gone);
  if (!open->count) return;
  tc_strbuf_printf(
      out,
      "<p class=quiet>Of <a href=\"/regressions?state=open\">%lld open %s</a> %lld began less than %d days "
      "ago, %lld before that and less than %d days ago, %lld earlier; the oldest one is open for ",
      open->count, open->count == 1 ? "regression" : "regressions", open->within_week, TB_OPEN_WEEK,
      open->within_month - open->within_week, TB_OPEN_MONTH, open->count - open->within_month);
  put_days(out, open->oldest_ms);
  tc_strbuf_puts(out, ".</p>\n");
}

/* Numbers of cases by verdict, and of what is open, as one line of tiles. */
static void put_tiles(struct tc_strbuf *out, struct tb_store *store, const struct tb_open_regressions *open) {
  sqlite3_stmt *rows = tb_store_get(store, TB_SQL_VERDICTS);
  enum { WAITS = TB_MOVERS_GONE + 1 };
  long long counts[WAITS + 1] = {0};
  while (tb_store_step(store, rows)) {
    const int verdict = sqlite3_column_type(rows, 0) == SQLITE_NULL ? WAITS : sqlite3_column_int(rows, 0);
    if (verdict >= 0 && verdict <= WAITS) counts[verdict] = sqlite3_column_int64(rows, 1);
  }
  if (rows) tb_store_done(rows);
  tc_strbuf_puts(out, "<ul class=tiles>");
  static const int order[] = {TB_VERDICT_SLOWER, TB_VERDICT_FASTER, TB_VERDICT_SAME, TB_VERDICT_UNSURE, WAITS,
                              TB_MOVERS_GONE};
  for (int i = 0; i < TB_COUNT(order); i++) {
    if (!counts[order[i]] && order[i] >= TB_VERDICT_COUNT) continue;
    tc_strbuf_printf(out, "<li><b>%lld</b> ", counts[order[i]]);
    tb_web_verdict(out, order[i] == WAITS ? -1 : order[i]);
    tc_strbuf_puts(out, "</li>");
  }
  tc_strbuf_printf(out, "<li><b>%lld</b> <a href=\"/regressions?state=open\">open %s</a></li>", open->count,
                   open->count == 1 ? "regression" : "regressions");
  tc_strbuf_printf(out, "<li><b>%lld</b> results</li><li><b>%lld</b> points</li></ul>\n",
                   (long long)tb_store_meta(store, "documents"), (long long)tb_store_meta(store, "points"));
}

/* How many fail, where the list has not all of them, and how many are no failures although they did not
 * run. */
static void put_outcomes(struct tc_strbuf *out, struct tb_store *store) {
  sqlite3_stmt *rows = tb_store_get(store, TB_SQL_OUTCOMES);
  long long unsupported = 0;
  struct tb_failed failed;
  tb_failed_count(store, &failed);
  while (tb_store_step(store, rows))
    if (sqlite3_column_int(rows, 0) == TB_OUTCOME_UNSUPPORTED) unsupported += sqlite3_column_int64(rows, 1);
  if (rows) tb_store_done(rows);
  if (failed.count > ROWS)
    tc_strbuf_printf(out,
                     "<p class=quiet>The first %d of %lld that fail; <a "
                     "href=\"/api/v1/overview?limit=10000\">JSON has more</a>.</p>\n",
                     ROWS, failed.count);
  if (failed.gone)
    tc_strbuf_printf(
        out, "<p class=quiet>Besides, %lld %s when last measured, and %s not measured for %d days.</p>\n",
        failed.gone, failed.gone == 1 ? "case failed" : "cases failed", failed.gone == 1 ? "was" : "were",
        TB_MOVERS_DAYS);
  if (unsupported)
    tc_strbuf_printf(out, "<p class=quiet>Besides, %lld of all cases: %s.</p>\n", unsupported,
                     "their backend, mode or device is not built on their machine");
}

/* How what moved was told from noise. */
static void put_method(struct tc_strbuf *out) {
  tc_strbuf_printf(
      out,
      "<p class=quiet>Newest runs are tested all together, so that of those listed here no more than %.0f%% "
      "are expected to be noise (procedure of Benjamini and Hochberg, 1995); their intervals "
      "are wider for it (Benjamini and Yekutieli, 2005). A step was tested by itself, and is listed for %d "
      "runs. First comes what is the furthest from no change at the near end of its "
      "interval. Cases that were not measured for %d days before the newest result are not listed.</p>\n",
      TB_ANALYSIS_FALSE_SHARE * 100, TB_ANALYSIS_RECENT, TB_MOVERS_DAYS);
}

void tb_page_overview(struct tb_query *request, struct tb_store *store) {
  static const char *const moved[] = {"verdict", "case",   "time, new over old", "newest", "commit", "since",
                                      "told by", "machine"};
  static const char *const failed[] = {"outcome",           "case",       "since",
                                       "first with commit", "newest run", "machine"},
                           *const runs[] = {"run", "commit", "cases", "machine", ""};
  struct tc_strbuf *out = &request->answer.body;
  struct tb_open_regressions open;
  tb_web_begin(request, "Overview", "/");
  tb_open_regressions(store, tb_now_ms(), &open);
  put_tiles(out, store, &open);
  const int moves =
      tb_web_list(out, store, limited(store, TB_SQL_MOVED, ROWS),
                  &(struct tb_web_list){moved, TB_COUNT(moved), "What moved", "Nothing moved.", put_moved});
  if (moves == ROWS)
    tc_strbuf_printf(out,
                     "<p class=quiet>The %d largest moves; <a href=\"/api/v1/overview?limit=10000\">JSON has "
                     "more</a>.</p>\n",
                     ROWS);
  put_method(out);
  put_open_regressions(out, store, &open);
  tb_web_list(out, store, tb_failed_rows(store, ROWS),
              &(struct tb_web_list){failed, TB_COUNT(failed), "What fails",
                                    "Every case's newest run was right.", put_failed});
  put_outcomes(out, store);
  tb_web_list(out, store, limited(store, TB_SQL_NEWEST_RUNS, RUNS),
              &(struct tb_web_list){runs, TB_COUNT(runs), "Newest results",
                                    "None yet: send one with tbench push.", put_run});
  tc_strbuf_puts(out, "<p class=data><a href=/api/v1/overview>this page as JSON</a></p>\n");
  tb_web_end(request);
}
