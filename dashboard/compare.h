/* Two sides of stored results, each a commit on a machine, compared as `tbench compare` does. */
#ifndef TB_DASHBOARD_COMPARE_H
#define TB_DASHBOARD_COMPARE_H

#include <cjson/cJSON.h>

#include "dashboard/server.h"

/* The comparison that base=, head=, machine=, base_machine= and head_machine= of a query name, as a document (harness/verdicts_json.c); the
 * caller deletes it. NULL: it was answered why not. */
cJSON *tb_compare_query(struct tb_query *request, struct tb_store *store);

#endif
