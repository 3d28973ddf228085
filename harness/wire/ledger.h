/* Where the time of a run goes: what its workers were asked for, and what the harness itself takes. One
 * thread. */
#ifndef TB_LEDGER_H
#define TB_LEDGER_H

#include <stdint.h>

#include "harness/wire/protocol.h"

struct tb_ledger {
  double request_ns[TB_REQUEST_COUNT]; /* from sending a request until its reply, or until the worker died of
                                          it or its time was over */
  double start_ns, stop_ns;            /* of processes */
  double pause_ns;                     /* pauses after blocks */
  double wall_ns;                      /* of all sessions together */
  int processes;
  int64_t counted_ns; /* the moment up to which time is counted: requests to several workers may overlap */
};

/* A request that was sent at `asked_ns` is answered now, or will never be. Time that another request has
 * taken already is not counted twice. */
static inline void tb_ledger_answered(struct tb_ledger *l, enum tb_request request, int64_t asked_ns,
                                      int64_t now_ns) {
  l->request_ns[request] += (double)(now_ns - (asked_ns > l->counted_ns ? asked_ns : l->counted_ns));
  l->counted_ns = now_ns;
}

/* Time of what a run is for: suite code, compiles, checks, samples, counters. */
static inline double tb_ledger_work_ns(const struct tb_ledger *l) {
  double sum = 0;
  for (int i = 0; i < TB_REQUEST_COUNT; i++) sum += l->request_ns[i];
  return sum;
}

/* All else: starting and ending processes, pauses, statistics, writing the result. */
static inline double tb_ledger_own_ns(const struct tb_ledger *l) { return l->wall_ns - tb_ledger_work_ns(l); }

#endif
