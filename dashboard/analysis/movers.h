/* What moved, over all series together (analysis.h says by which statistics): what each series says by itself
 * is in its row; here they are judged as one family, and what is shown of each follows. A series that was not
 * measured for TB_MOVERS_DAYS before the newest result is no mover: it is none of the family, nothing of it
 * is shown as moved, and the place of its verdict says so. */
#ifndef TB_DASHBOARD_MOVERS_H
#define TB_DASHBOARD_MOVERS_H

#include "dashboard/analysis/analysis.h"
#include "dashboard/store/writer.h"

enum {
  TB_MOVERS_GONE = TB_VERDICT_COUNT /* in the place of a verdict: it is measured no longer */,
  TB_MOVERS_DAYS = 30,
  TB_MOVERS_PORTION = 1000 /* rows that one item writes at most */
};

/* What was last measured before then is measured no longer. */
int64_t tb_movers_edge(struct tb_store *store);
/* Reads all series that say something. *item: what the writer has to write (`done` and `owner` are the
 * caller's, who frees it), NULL: nothing changes; *more: it was not all. False, without an item: the store
 * failed, or memory is out. */
bool tb_movers_judge(struct tb_store *store, double *level, struct tb_write **item, bool *more);
/* Writes what is shown of a series, unless it says something else than `p` by now. */
bool tb_movers_set(struct tb_store *store, int64_t series, double p, const struct tb_shown *shown);

#endif
