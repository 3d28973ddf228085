/* One case on one machine, as queries and pages ask for it. */
#ifndef TB_DASHBOARD_SERIES_H
#define TB_DASHBOARD_SERIES_H

#include "dashboard/server.h"
#include "dashboard/submission.h"

enum { TB_POINT_STARTED, TB_POINT_COMMIT, TB_POINT_OUTCOME, TB_POINT_PROBE, TB_POINT_VALUE, TB_POINT_KEY, TB_POINT_DOCUMENT, TB_POINT_POSITION, TB_POINT_FIGURES };

#define TB_SERIES_MOST 10000 /* points of one answer */

struct tb_series_name { int64_t id, points; const char *name; char machine[TB_SUBMISSION_NAME * 2]; };

/* The series of case= and machine= (where there is none: the one measured last). False: it was answered why not. */
bool tb_series_find(struct tb_query *request, struct tb_store *store, struct tb_series_name *out);
/* Its newest points that began before a time, with the columns above; ended by tb_store_done. NULL with store->error. */
sqlite3_stmt *tb_series_points(struct tb_store *store, int64_t series, bool newest_first, int64_t before, int64_t limit);

#endif
