/* Rows that queries and pages both list. */
#include "dashboard/api/lists.h"

#include <stdlib.h>
#include <string.h>

#include "dashboard/analysis/movers.h"
#include "dashboard/server/answer.h"
#include "results/outcome.h"

/* --- documents --- */

static int hex_value(char c) {
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool key_of(const char *text, unsigned char key[TC_SHA256_BYTES]) {
  if (!text || strlen(text) != 2 * TC_SHA256_BYTES) return false;
  for (int i = 0; i < TC_SHA256_BYTES; i++) {
    const int high = hex_value(text[2 * i]), low = hex_value(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    key[i] = (unsigned char)(high << 4 | low);
  }
  return true;
}

char *tb_document_text(struct tb_query *request, struct tb_store *store, const char *text_key,
                       size_t *length) {
  unsigned char key[TC_SHA256_BYTES];
  if (!key_of(text_key, key))
    return tb_answer_error(request, MHD_HTTP_BAD_REQUEST, "a key is 64 hex digits"), NULL;
  sqlite3_stmt *row = tb_store_get(store, TB_SQL_DOCUMENT_BY_KEY);
  if (!row) return tb_answer_store_failed(request, store), NULL;
  sqlite3_bind_blob(row, 1, key, sizeof key, SQLITE_STATIC);
  const bool found = tb_store_step(store, row);
  char *text = found ? tb_store_unpack(store, row, 0, length) : NULL;
  tb_store_done(row);
  if (!found)
    tb_answer_error(request, MHD_HTTP_NOT_FOUND, "there is no result with this key");
  else if (!text)
    tb_answer_store_failed(request, store);
  return text;
}

cJSON *tb_document_json(struct tb_query *request, struct tb_store *store, const char *key) {
  size_t length = 0;
  char *text = tb_document_text(request, store, key, &length);
  cJSON *document = text ? cJSON_ParseWithLength(text, length) : NULL;
  if (text && !document) tb_answer_error(request, MHD_HTTP_SERVICE_UNAVAILABLE, "out of memory");
  free(text);
  return document;
}

/* --- cases --- */

sqlite3_stmt *tb_cases_beside(struct tb_query *request, struct tb_store *store, bool before, const char *name,
                              const char *machine, int64_t limit) {
  sqlite3_stmt *rows = tb_store_get(store, before ? TB_SQL_CASES_BEFORE : TB_SQL_CASES);
  if (!rows) return NULL;
  sqlite3_bind_text(rows, 1, name, -1, SQLITE_STATIC);
  sqlite3_bind_text(rows, 2, machine, -1, SQLITE_STATIC);
  sqlite3_bind_text(rows, 3, tb_argument(request, "match"), -1, SQLITE_STATIC);
  sqlite3_bind_int64(rows, 4, limit);
  return rows;
}

sqlite3_stmt *tb_cases_rows(struct tb_query *request, struct tb_store *store, int64_t limit) {
  const char *after = tb_argument(request, "after"), *before = tb_argument(request, "before");
  if (before)
    return tb_cases_beside(request, store, true, before, tb_argument(request, "before_machine"), limit);
  return tb_cases_beside(request, store, false, after ? after : "", tb_argument(request, "after_machine"),
                         limit);
}

/* A statement that takes how many rows, and since when what it lists was measured. */
static sqlite3_stmt *limited_since(struct tb_store *store, enum tb_statement which, int64_t limit) {
  const int64_t edge = tb_movers_edge(store);
  sqlite3_stmt *rows = tb_store_get(store, which);
  if (!rows) return NULL;
  sqlite3_bind_int64(rows, 1, limit);
  sqlite3_bind_int64(rows, 2, edge);
  return rows;
}

_Static_assert(TB_OUTCOME_OK == 0 && TB_OUTCOME_UNSUPPORTED == 5,
               "tables.sql and statements.def have these numbers, by which failures are found");

sqlite3_stmt *tb_failed_rows(struct tb_store *store, int64_t limit) {
  return limited_since(store, TB_SQL_FAILED, limit);
}

void tb_failed_count(struct tb_store *store, struct tb_failed *out) {
  const int64_t edge = tb_movers_edge(store);
  sqlite3_stmt *row = tb_store_get(store, TB_SQL_COUNT_FAILED);
  *out = (struct tb_failed){0};
  if (!row) return;
  sqlite3_bind_int64(row, 1, edge);
  if (tb_store_step(store, row))
    *out = (struct tb_failed){sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1)};
  tb_store_done(row);
}

/* --- regressions --- */

bool tb_regressions_state(struct tb_query *request, enum tb_regressions initial, enum tb_regressions *state) {
  static const char *const states[] = {
      [TB_REGRESSIONS_OPEN] = "open", [TB_REGRESSIONS_CLOSED] = "closed", [TB_REGRESSIONS_ALL] = "all"};
  const char *word = tb_argument(request, "state");
  *state = initial;
  if (!word) return true;
  for (int i = TB_REGRESSIONS_OPEN; i <= TB_REGRESSIONS_ALL; i++)
    if (!strcmp(word, states[i])) return *state = (enum tb_regressions)i, true;
  tb_answer_error(request, MHD_HTTP_BAD_REQUEST, "state: open, closed or all");
  return false;
}

void tb_open_regressions(struct tb_store *store, int64_t now_ms, struct tb_open_regressions *out) {
  static const int64_t day_ms = 24LL * 3600 * 1000;
  const int64_t edge = tb_movers_edge(store);
  sqlite3_stmt *row = tb_store_get(store, TB_SQL_OPEN_REGRESSIONS);
  *out = (struct tb_open_regressions){0};
  if (!row) return;
  sqlite3_bind_int64(row, 1, now_ms - TB_OPEN_WEEK * day_ms);
  sqlite3_bind_int64(row, 2, now_ms - TB_OPEN_MONTH * day_ms);
  sqlite3_bind_int64(row, 3, edge);
  if (tb_store_step(store, row))
    *out = (struct tb_open_regressions){.count = sqlite3_column_int64(row, 0),
                                        .within_week = sqlite3_column_int64(row, 1),
                                        .within_month = sqlite3_column_int64(row, 2),
                                        .oldest_ms = sqlite3_column_int64(row, 3),
                                        .gone = sqlite3_column_int64(row, 4)};
  tb_store_done(row);
}

sqlite3_stmt *tb_longest_open_rows(struct tb_store *store, int64_t limit) {
  return limited_since(store, TB_SQL_LONGEST_OPEN, limit);
}

sqlite3_stmt *tb_regressions_rows(struct tb_store *store, enum tb_regressions state, int64_t limit,
                                  int64_t skip) {
  sqlite3_stmt *rows = tb_store_get(store, TB_SQL_REGRESSIONS);
  if (!rows) return NULL;
  sqlite3_bind_int(rows, 1, state);
  sqlite3_bind_int64(rows, 2, limit);
  sqlite3_bind_int64(rows, 3, skip);
  return rows;
}
