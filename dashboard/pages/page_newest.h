/* What a stored document says of one of its cases, as parts of a page. */
#ifndef TB_DASHBOARD_PAGE_NEWEST_H
#define TB_DASHBOARD_PAGE_NEWEST_H

#include "dashboard/server/server.h"

/* Kernels, cold and warm starts, counters and the rest, of the case at `position`. `newest`: it is the newest
 * run of all. Nothing where the document is gone. */
void tb_web_newest(struct tc_strbuf *out, struct tb_store *store, int64_t document, int position,
                   bool newest);

#endif
