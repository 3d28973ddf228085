/* One case on one machine, as queries and pages ask for it. */
#ifndef TB_DASHBOARD_SERIES_H
#define TB_DASHBOARD_SERIES_H

#include "dashboard/ingest/submission.h"
#include "dashboard/server/server.h"

enum {
  TB_POINT_STARTED,
  TB_POINT_COMMIT,
  TB_POINT_OUTCOME,
  TB_POINT_CALIBRATION,
  TB_POINT_VALUE,
  TB_POINT_KEY,
  TB_POINT_DOCUMENT,
  TB_POINT_POSITION,
  TB_POINT_FIGURES
};

#define TB_SERIES_MOST  10000 /* points of one answer */
#define TB_SERIES_DRAWN 2000  /* the newest ones, which a chart draws */

struct tb_series_name {
  int64_t id, points;
  const char *name;
  char machine[TB_SUBMISSION_NAME * 2];
};

/* The series of case= and machine= (where there is none: the one measured last). False: it was answered why
 * not. */
bool tb_series_find(struct tb_query *request, struct tb_store *store, struct tb_series_name *out);
/* A point's place in the order of all of its series: of those that began at the same time one stands before
 * the other too. */
struct tb_series_place {
  int64_t started, document, position;
};
/* Of before=, before_document= and before_position=; where these two are missing, all that began before that
 * time. False: it was answered why not. */
bool tb_series_before(struct tb_query *request, struct tb_series_place *out);
/* Its newest points before a place (NULL: the newest of all), with the columns above; ended by tb_store_done.
 * NULL with store->error. */
sqlite3_stmt *tb_series_points(struct tb_store *store, int64_t series, bool newest_first,
                               const struct tb_series_place *before, int64_t limit);

#endif
