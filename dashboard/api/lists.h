/* Rows that queries and pages both list. Each statement is ended by tb_store_done; NULL with store->error. */
#ifndef TB_DASHBOARD_LISTS_H
#define TB_DASHBOARD_LISTS_H

#include <cjson/cJSON.h>

#include "dashboard/server/server.h"

/* Series by name and machine, as match=, after= and after_machine=, or before= and before_machine= of a query
 * say. */
sqlite3_stmt *tb_cases_rows(struct tb_query *request, struct tb_store *store, int64_t limit);
/* Those that match and come before or after a series; machine NULL: before the first one of that name, or
 * after its last. */
sqlite3_stmt *tb_cases_beside(struct tb_query *request, struct tb_store *store, bool before, const char *name,
                              const char *machine, int64_t limit);

/* Cases whose newest run failed, those first that failed last for the first time; with the commit that each
 * fails since (null: retention removed that run). What is not built on its machine did not: it is left out,
 * as is what is measured no longer (movers.h). */
sqlite3_stmt *tb_failed_rows(struct tb_store *store, int64_t limit);
/* How many these are, and how many failed when they were last measured. */
struct tb_failed {
  long long count, gone;
};
void tb_failed_count(struct tb_store *store, struct tb_failed *out);

enum tb_regressions { TB_REGRESSIONS_OPEN, TB_REGRESSIONS_CLOSED, TB_REGRESSIONS_ALL };
/* state= of a query. False: it was answered why not. */
bool tb_regressions_state(struct tb_query *request, enum tb_regressions initial, enum tb_regressions *state);
/* How many steps to slower are open, and of these how many for less than so many days; when the oldest of
 * them began (0: there is none). Those of cases that are measured no longer are `gone`, and none of these. */
enum { TB_OPEN_WEEK = 7, TB_OPEN_MONTH = 30 };
struct tb_open_regressions {
  long long count, within_week, within_month, gone;
  int64_t oldest_ms;
};
void tb_open_regressions(struct tb_store *store, int64_t now_ms, struct tb_open_regressions *out);
/* Those that are open the longest. */
sqlite3_stmt *tb_longest_open_rows(struct tb_store *store, int64_t limit);
sqlite3_stmt *tb_regressions_rows(struct tb_store *store, enum tb_regressions state, int64_t limit,
                                  int64_t skip);

/* A stored document by the text of its key (NULL: none was named): free() it, or cJSON_Delete. NULL: it was
 * answered why not. */
char *tb_document_text(struct tb_query *request, struct tb_store *store, const char *key, size_t *length);
cJSON *tb_document_json(struct tb_query *request, struct tb_store *store, const char *key);

#endif
