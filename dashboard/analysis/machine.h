/* Machines of documents, by the names that the tables have for them. */
#ifndef TB_DASHBOARD_MACHINE_H
#define TB_DASHBOARD_MACHINE_H

#include <cjson/cJSON.h>

#include "dashboard/ingest/submission.h"

enum { TB_MACHINE_NAME = 2 * TB_SUBMISSION_NAME };

/* "host · CPU", as histories tell machines apart: many environments (those of several topologies) may be of
 * one. NULL: "?" twice. */
void tb_machine_name(const cJSON *environment, char out[TB_MACHINE_NAME]);
/* Leaves those cases of a document that ran on a machine, of as many fewer that were planned; how many these
 * are. */
int tb_machine_keep(cJSON *document, const char *machine);

#endif
