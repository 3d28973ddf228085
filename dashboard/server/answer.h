/* Writing answers: JSON, CSV and HTML, each value escaped for where it goes. Failure (memory) is sticky in
 * the buffer. */
#ifndef TB_DASHBOARD_ANSWER_H
#define TB_DASHBOARD_ANSWER_H

#include "dashboard/server/server.h"

/* {"error": text} with a status. */
void tb_answer_error(struct tb_query *request, unsigned status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* 503, and to come again in a second; returns false. */
bool tb_answer_busy(struct tb_query *request, const char *what);
/* After what the store could not do: 500, or 503 and Retry-After where memory or room is out, or somebody
 * else has the database. */
void tb_answer_store_failed(struct tb_query *request, const struct tb_store *store);

/* Ends a JSON object; where it is not whole, answers what the store could not do instead. */
void tb_answer_end(struct tb_query *request, const struct tb_store *store, bool whole);

/* A query's argument; NULL where it is not there or empty. */
const char *tb_argument(const struct tb_query *request, const char *name);
/* A whole number from `lowest` to `highest`; false, with 400 answered, where it is something else. */
bool tb_argument_number(struct tb_query *request, const char *name, int64_t lowest, int64_t highest,
                        int64_t *value);
/* format=json|csv: whether it is CSV, and then the answer's type is set. False: 400 is answered. */
bool tb_argument_csv(struct tb_query *request, bool *csv);

/* JSON values. Numbers, here and in CSV, are the shortest text that reads back as the same one. */
void tb_json_put_text(struct tc_strbuf *out, const char *text); /* NULL: null; what is no UTF-8: U+FFFD */
void tb_json_put_number(struct tc_strbuf *out, double value);   /* NaN: null */
/* A column of a row: null, number or text. */
void tb_json_put_column(struct tc_strbuf *out, sqlite3_stmt *row, int column);
/* {"names[0]": column 0, …}; a column whose name is NULL is left out, but the first one has a name. */
void tb_json_put_row(struct tc_strbuf *out, sqlite3_stmt *row, const char *const *names, int count);
/* "name": [rows…]; false with store->error. The statement's use ends. */
bool tb_json_put_rows(struct tc_strbuf *out, struct tb_store *store, sqlite3_stmt *rows, const char *name,
                      const char *const *names, int count);
/* A CSV field: quoted where it must be; one that a spreadsheet would run as a formula is quoted behind a
 * '. */
void tb_csv_put_text(struct tc_strbuf *out, const char *text);
/* Empty where it is not finite. */
void tb_csv_put_number(struct tc_strbuf *out, double value);

#endif
