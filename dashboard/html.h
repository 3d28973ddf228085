/* Writing pages: every text from outside goes through tb_web_text or tb_web_query. */
#ifndef TB_DASHBOARD_HTML_H
#define TB_DASHBOARD_HTML_H

#include "dashboard/server.h"

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
/* A link to a case on a machine. */
void tb_web_case(struct tc_strbuf *out, const char *name, const char *machine);
/* <th scope=col> of each. */
void tb_web_header(struct tc_strbuf *out, const char *const *columns, int count);

/* Columns of a row. */
double tb_column_number(sqlite3_stmt *row, int column); /* NaN: null */
const char *tb_column_text(sqlite3_stmt *row, int column); /* NULL: null */

#endif
