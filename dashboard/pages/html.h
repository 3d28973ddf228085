/* Writing pages: every text from outside goes through tb_web_text or tb_web_query. */
#ifndef TB_DASHBOARD_HTML_H
#define TB_DASHBOARD_HTML_H

#include "dashboard/server/server.h"

/* With &, <, >, " and ' escaped: fit for an element and for an attribute in quotes. NULL: a dash. */
void tb_web_text(struct tc_strbuf *out, const char *text);
/* A value of a query, within an attribute. */
void tb_web_query(struct tc_strbuf *out, const char *text);

/* Head, navigation (`here`: the path of the page) and the beginning of main; then its end. */
void tb_web_begin(struct tb_query *request, const char *title, const char *here);
void tb_web_end(struct tb_query *request);
/* As tb_answer_error, as a page: what was answered so far becomes one. */
void tb_web_error(struct tb_query *request);

/* 1.23 ms; NaN: a dash. */
void tb_web_ns(struct tc_strbuf *out, double ns);
/* +12.3% of a ratio. */
void tb_web_percent(struct tc_strbuf *out, double ratio);
/* A ratio as a change with its interval. */
void tb_web_move(struct tc_strbuf *out, double move, double lo, double hi);
/* 3 digits. */
void tb_web_number(struct tc_strbuf *out, double value);
/* <time> of a date; 0: a dash. */
void tb_web_time(struct tc_strbuf *out, int64_t ms);
/* The word of a verdict or an outcome, marked so that it is told by more than its colour. */
void tb_web_verdict(struct tc_strbuf *out, int verdict);
void tb_web_outcome(struct tc_strbuf *out, int outcome);
/* Of a case's newest point: its verdict where it was right, else its outcome. Columns of a row. */
void tb_web_state(struct tc_strbuf *out, sqlite3_stmt *row, int outcome, int verdict);
/* A link to a case on a machine. */
void tb_web_case(struct tc_strbuf *out, const char *name, const char *machine);
/* The name of a commit. */
void tb_web_commit(struct tc_strbuf *out, const char *commit);
/* 1.23 MB, 1.23 MFLOP; NaN: a dash. */
void tb_web_bytes(struct tc_strbuf *out, double bytes);
void tb_web_flops(struct tc_strbuf *out, double flops);
/* 1.31 [1.29, 1.33], without the interval where it is not known. */
void tb_web_interval(struct tc_strbuf *out, double value, double lo, double hi);

/* A table that can be scrolled, also by keys: its columns' names; then rows (<tr><td>…), then its end. Names
 * are static texts. */
void tb_web_table(struct tc_strbuf *out, const char *label, const char *const *columns, int count);
void tb_web_table_end(struct tc_strbuf *out);
/* A section of its own: title, table, or a line where there are no rows. Each row's cells are written by
 * `put`. Ends the statement's use; NULL: no rows. Gives the number of rows; store->failed says where they are
 * not all. */
struct tb_web_list {
  const char *const *columns;
  int n_columns;
  const char *title, *nothing;
  void (*put)(struct tc_strbuf *out, sqlite3_stmt *row);
};
int tb_web_list(struct tc_strbuf *out, struct tb_store *store, sqlite3_stmt *rows,
                const struct tb_web_list *list);
/* Cells. */
void tb_web_cell_text(struct tc_strbuf *out, const char *text);
void tb_web_cell_machine(struct tc_strbuf *out, const char *machine);
void tb_web_cell_commit(struct tc_strbuf *out, const char *commit);
void tb_web_cell_time(struct tc_strbuf *out, int64_t ms);
void tb_web_cell_ns(struct tc_strbuf *out, double ns);

/* A link to another part of a page's list: " · <a …>". Query: pairs of name and value, those with a NULL
 * value are left out. */
struct tb_web_pair {
  const char *name, *value;
};
void tb_web_link(struct tc_strbuf *out, const char *attributes, const char *path,
                 const struct tb_web_pair *query, int count, const char *text);
/* The address of such a link, within an attribute; with format= unless it is NULL. */
void tb_web_target(struct tc_strbuf *out, const char *path, const struct tb_web_pair *query, int count,
                   const char *format);
/* <p class=data>what JSON CSV</p>: links to a route that takes format=. */
void tb_web_data(struct tc_strbuf *out, const char *what, const char *path, const struct tb_web_pair *query,
                 int count);

#define TB_COUNT(list) ((int)(sizeof(list) / sizeof *(list)))

/* Columns of a row. */
double tb_column_number(sqlite3_stmt *row, int column); /* NaN: null */

#endif
