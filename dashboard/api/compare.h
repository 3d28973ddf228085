/* Two sides of stored results, each a commit on a machine, compared as `tbench compare` does. */
#ifndef TB_DASHBOARD_COMPARE_H
#define TB_DASHBOARD_COMPARE_H

#include <cjson/cJSON.h>

#include "dashboard/server/server.h"

/* Whether a query names a side: else there is nothing to be compared. */
bool tb_compare_is_asked(const struct tb_query *request);
/* The comparison that base=, head=, machine=, base_machine= and head_machine= of a query name, as a document
 * (harness/verdict/verdicts_json.c); the caller deletes it. NULL: it was answered why not. It holds the
 * documents of both sides, which may be large: one at a time (TB_WAY_COMPARE). */
cJSON *tb_compare_query(struct tb_query *request, struct tb_store *store);

#endif
