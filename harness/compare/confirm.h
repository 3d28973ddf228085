/* Fresh pairs for cases that a stored result has flagged, where the programs of both arms are at hand. */
#ifndef TB_CONFIRM_H
#define TB_CONFIRM_H

#include "harness/base/args.h"
#include "harness/verdict/verdicts.h"

/* Of the command line that a result was made with, what says which cases there are: neither where results go
 * nor how often they are measured. Then base= and head=. TC_ARG: the document does not say how it was started
 * by tbench run. */
tc_status tb_confirm_arguments(struct tc_arena *arena, const cJSON *document, const char *base,
                               const char *head, int *argc, char ***argv, struct tc_error *err);

/* Runs the flagged cases once more, as head's document says it was started (its argv), with `base` and `head`
 * as the programs ("self" or a path; head NULL: this program), their workers taking turns, within the
 * policy's budget. `base` NULL: nothing is confirmed. What could not be confirmed, or on pairs too few or too
 * noisy to take it back, stays flagged, and is told (remarks). TC_ARG: the programs or that command line do
 * not work; TC_INTERRUPTED, TC_NOMEM, TC_IO. */
tc_status tb_confirm_flagged(struct tb_verdicts *c, const cJSON *head_document, const char *base,
                             const char *head, struct tc_error *err);

#endif
