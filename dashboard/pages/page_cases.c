/* GET /cases and /regressions: long lists, page by page. Each page has its URL; the links to its neighbours
 * have access keys, n and p. */
#include <stdlib.h>
#include <string.h>

#include "dashboard/api/lists.h"
#include "dashboard/pages/html.h"
#include "dashboard/server/answer.h"

enum { ROWS = 200, ROWS_MOST = 1000 };

/* --- cases --- */

struct name {
  char *series, *machine;
};

static void set_name(struct name *name, sqlite3_stmt *row) {
  free(name->series);
  free(name->machine);
  name->series = strdup(tb_column_text(row, 0));
  name->machine = strdup(tb_column_text(row, 1));
}

static void put_case(struct tc_strbuf *out, sqlite3_stmt *row) {
  tc_strbuf_puts(out, "<tr><td class=name>");
  tb_web_case(out, tb_column_text(row, 0), tb_column_text(row, 1));
  tc_strbuf_puts(out, "<td>");
  tb_web_state(out, row, 4, 11);
  tb_web_cell_ns(out, tb_column_number(row, 5));
  tc_strbuf_puts(out, "<td class=figure>");
  tb_web_interval(out, tb_column_number(row, 6), tb_column_number(row, 7), tb_column_number(row, 8));
  tb_web_cell_ns(out, tb_column_number(row, 9));
  tb_web_cell_time(out, sqlite3_column_int64(row, 2));
  tb_web_cell_machine(out, tb_column_text(row, 1));
  tc_strbuf_puts(out, "</tr>\n");
}

/* Leaves the names of the first and the last one. */
static int put_cases(struct tc_strbuf *out, struct tb_store *store, sqlite3_stmt *rows, struct name *first,
                     struct name *last) {
  static const char *const columns[] = {"case", "verdict", "compiled", "speedup", "cold", "run", "machine"};
  int n = 0;
  while (tb_store_step(store, rows)) {
    if (!n++) set_name(first, rows), tb_web_table(out, "cases", columns, TB_COUNT(columns));
    set_name(last, rows);
    put_case(out, rows);
  }
  tb_store_done(rows);
  if (n)
    tb_web_table_end(out);
  else
    tc_strbuf_puts(out, "<p class=quiet>No case fits.</p>\n");
  return n;
}

static bool is_more(struct tb_query *request, struct tb_store *store, bool before, const struct name *name) {
  sqlite3_stmt *rows =
      name->series ? tb_cases_beside(request, store, before, name->series, name->machine, 1) : NULL;
  const bool found = tb_store_step(store, rows);
  if (rows) tb_store_done(rows);
  return found;
}

static void put_neighbours(struct tb_query *request, struct tb_store *store, const struct name *first,
                           const struct name *last) {
  struct tc_strbuf *out = &request->answer.body;
  const char *match = tb_argument(request, "match"), *limit = tb_argument(request, "limit");
  const bool back = is_more(request, store, true, first), on = is_more(request, store, false, last);
  if (!back && !on) return;
  tc_strbuf_puts(out, "<nav class=pages aria-label=\"pages of the list\">");
  const struct tb_web_pair start[] = {{"match", match}, {"limit", limit}};
  if (back) tb_web_link(out, "", "/cases", start, TB_COUNT(start), "first page");
  const struct tb_web_pair to_back[] = {
      {"match", match}, {"limit", limit}, {"before", first->series}, {"before_machine", first->machine}};
  if (back) tb_web_link(out, "rel=prev accesskey=p", "/cases", to_back, TB_COUNT(to_back), "← previous page");
  const struct tb_web_pair to_next[] = {
      {"match", match}, {"limit", limit}, {"after", last->series}, {"after_machine", last->machine}};
  if (on) tb_web_link(out, "rel=next accesskey=n", "/cases", to_next, TB_COUNT(to_next), "next page →");
  tc_strbuf_puts(out, "</nav>\n");
}

void tb_page_cases(struct tb_query *request, struct tb_store *store) {
  struct tc_strbuf *out = &request->answer.body;
  const char *match = tb_argument(request, "match");
  struct name first = {0}, last = {0};
  int64_t limit = ROWS;
  if (!tb_argument_number(request, "limit", 1, ROWS_MOST, &limit)) {
    tb_web_error(request);
    return;
  }
  tb_web_begin(request, "Cases", "/cases");
  if (match) {
    tc_strbuf_puts(out, "<p>matching <code>");
    tb_web_text(out, match);
    tc_strbuf_puts(out, "</code> (* any text, ? one character)</p>\n");
  }
  sqlite3_stmt *rows = tb_cases_rows(request, store, limit);
  if (rows && put_cases(out, store, rows, &first, &last)) put_neighbours(request, store, &first, &last);
  const struct tb_web_pair query[] = {{"match", match},
                                      {"limit", tb_argument(request, "limit")},
                                      {"after", tb_argument(request, "after")},
                                      {"after_machine", tb_argument(request, "after_machine")},
                                      {"before", tb_argument(request, "before")},
                                      {"before_machine", tb_argument(request, "before_machine")}};
  tc_strbuf_puts(out, "<p class=data>");
  tb_web_link(out, "", "/api/v1/cases", query, TB_COUNT(query), "this list as JSON");
  tc_strbuf_puts(out, "</p>\n");
  tb_web_end(request);
  free(first.series), free(first.machine), free(last.series), free(last.machine);
}

/* --- regressions --- */

static const struct {
  const char *word, *name, *title, *nothing;
} states[] = {
    [TB_REGRESSIONS_OPEN] = {"open", "Open", "Steps to slower that nothing has taken back",
                             "None: every step to slower was taken back."},
    [TB_REGRESSIONS_CLOSED] = {"closed", "Closed", "Steps to slower that were taken back",
                               "None was taken back so far."},
    [TB_REGRESSIONS_ALL] = {"all", "All", "Steps to slower, newest first", "No case has become slower."},
};

static void put_regression(struct tc_strbuf *out, sqlite3_stmt *row) {
  const bool closed = sqlite3_column_type(row, 7) != SQLITE_NULL;
  tc_strbuf_printf(out, "<td><span class=\"mark %s\">%s</span><td class=name>", closed ? "same" : "slower",
                   closed ? "closed" : "open");
  tb_web_case(out, tb_column_text(row, 0), tb_column_text(row, 1));
  tc_strbuf_puts(out, "<td class=figure>");
  tb_web_percent(out, tb_column_number(row, 5) / tb_column_number(row, 4));
  tb_web_cell_commit(out, tb_column_text(row, 3));
  tb_web_cell_time(out, sqlite3_column_int64(row, 2));
  tb_web_cell_commit(out, tb_column_text(row, 8));
  tb_web_cell_time(out, sqlite3_column_int64(row, 7));
  tb_web_cell_machine(out, tb_column_text(row, 1));
}

static void put_states(struct tc_strbuf *out, const long long *counts, enum tb_regressions shown) {
  tc_strbuf_puts(out, "<nav class=tabs aria-label=states>");
  for (int i = 0; i < TB_COUNT(states); i++)
    tc_strbuf_printf(out, "<a href=\"/regressions?state=%s\"%s>%s <b>%lld</b></a>", states[i].word,
                     i == (int)shown ? " aria-current=page" : "", states[i].name, counts[i]);
  tc_strbuf_puts(out, "</nav>\n");
}

static void put_skips(struct tc_strbuf *out, enum tb_regressions state, int64_t skip, long long count) {
  if (!skip && count <= ROWS) return;
  tc_strbuf_puts(out, "<nav class=pages aria-label=\"pages of the list\">");
  if (skip)
    tc_strbuf_printf(out,
                     "<a rel=prev accesskey=p href=\"/regressions?state=%s&amp;skip=%lld\">← newer ones</a>",
                     states[state].word, (long long)(skip > ROWS ? skip - ROWS : 0));
  if (skip + ROWS < count)
    tc_strbuf_printf(out,
                     "<a rel=next accesskey=n href=\"/regressions?state=%s&amp;skip=%lld\">older ones →</a>",
                     states[state].word, (long long)(skip + ROWS));
  tc_strbuf_puts(out, "</nav>\n");
}

void tb_page_regressions(struct tb_query *request, struct tb_store *store) {
  static const char *const columns[] = {"state", "case",      "slower by", "commit",
                                        "since", "closed by", "on",        "machine"};
  struct tc_strbuf *out = &request->answer.body;
  long long counts[TB_COUNT(states)] = {0};
  enum tb_regressions state;
  int64_t skip = 0;
  if (!tb_regressions_state(request, TB_REGRESSIONS_OPEN, &state) ||
      !tb_argument_number(request, "skip", 0, INT32_MAX, &skip)) {
    tb_web_error(request);
    return;
  }
  sqlite3_stmt *count = tb_store_get(store, TB_SQL_COUNT_REGRESSIONS);
  if (tb_store_step(store, count))
    for (int i = 0; i < TB_REGRESSIONS_ALL; i++)
      counts[TB_REGRESSIONS_ALL] += counts[i] = sqlite3_column_int64(count, i);
  if (count) tb_store_done(count);
  tb_web_begin(request, "Regressions", "/regressions");
  put_states(out, counts, state);
  tb_web_list(out, store, tb_regressions_rows(store, state, ROWS, skip),
              &(struct tb_web_list){columns, TB_COUNT(columns), states[state].title, states[state].nothing,
                                    put_regression});
  put_skips(out, state, skip, counts[state]);
  tc_strbuf_printf(out,
                   "<p class=data><a href=\"/api/v1/regressions?state=%s&amp;limit=%d&amp;skip=%lld\">this "
                   "list as JSON</a></p>\n",
                   states[state].word, ROWS, (long long)skip);
  tb_web_end(request);
}
