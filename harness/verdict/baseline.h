/* A stored baseline, brought up to date from a newer result.
 *
 * Only what became better, or is new, is taken over: a case that stayed the same keeps its old figures, and
 * one whose exact figures alone became better keeps its old times, so that many small slowdowns, each within
 * the threshold, still add up against the same baseline. */
#ifndef TB_BASELINE_H
#define TB_BASELINE_H

#include "harness/verdict/verdicts.h"

enum tb_update {
  TB_UPDATE_NO,
  TB_UPDATE_WINS, /* better and new cases */
  TB_UPDATE_ALL,  /* every case of head that was measured: slower ones are accepted; vanished ones go, unless
                     head is unfinished */
};
/* "no", "yes" (wins), "all"; false: another word. */
bool tb_update_parse(const char *text, enum tb_update *out);

/* How many cases the update would take over. */
int tb_baseline_changes(const struct tb_verdicts *c, enum tb_update update);
/* A new document: base's, with those cases of head's, and the environments that its cases were measured in.
 * The caller deletes it; NULL when memory is out. */
cJSON *tb_baseline_updated(const struct tb_verdicts *c, const cJSON *base, const cJSON *head,
                           enum tb_update update);

#endif
