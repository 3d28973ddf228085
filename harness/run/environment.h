/* What a result says of the machine it was made on. */
#ifndef TB_ENVIRONMENT_H
#define TB_ENVIRONMENT_H

#include "harness/run/run.h"

/* Makes the environments of a plan: one for each part of the machine that its cases use, each with triad and
 * peak measured in a bound worker; sets every case's `env`. TC_INTERRUPTED, TC_NOMEM; what cannot be found
 * out is NULL, 0 or a warning. */
tc_status tb_environments_make(struct tb_run *run, struct tc_error *err);
/* Now, as RFC 3339 in UTC: "2026-11-20T14:02:11Z"; with `file` "2026-11-20T14-02-11". In the arena. */
const char *tb_time_text(struct tc_arena *arena, bool file);

#endif
