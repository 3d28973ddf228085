/* The statistics of a result. */
#ifndef TB_SUMMARY_H
#define TB_SUMMARY_H

#include "harness/run/run.h"

/* Medians, speedups and pay-off from what the sessions left so far; may be called again after more of
 * them. */
void tb_summarise(struct tb_run *run);

#endif
