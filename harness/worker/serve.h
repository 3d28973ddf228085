/* What a worker does with the harness' requests, once it is started (worker.c). See protocol.h and
 * requests.def. */
#ifndef TB_SERVE_H
#define TB_SERVE_H

#include <sched.h>

#include "harness/machine/calibration.h"
#include "harness/machine/callgrind.h"
#include "harness/worker/workload.h"

struct tb_serving {
  lua_State *L;
  struct tb_workload workload;
  struct tb_calibration *calibration; /* of the role probe, else NULL */
  bool prepared, leaving;
  const cJSON *request; /* of the one that is being answered */
  cJSON *reply;
  const char *kind;               /* of the error that the worker itself raised, else NULL */
  cpu_set_t cpus;                 /* of the case */
  struct tb_callgrind *callgrind; /* NULL: this process does not run under it */
  cpu_set_t own_cpus;             /* where OpenMP put this thread before main: its place in the team */
};

/* Answers requests until one tells it to leave, or the harness is gone. */
void tb_serve(struct tb_serving *w);
/* Sends the error at the stack top (of lua_pcall's `status`), in place of a hello. */
void tb_serve_failure(struct tb_serving *w, int status);
/* Give this thread all CPUs of the case (threads that a compile starts inherit them), and its own place in
 * the team, for calls that are timed. */
void tb_serve_use_case_cpus(const struct tb_serving *w);
void tb_serve_use_own_cpus(const struct tb_serving *w);

#endif
