/* What disturbed a run while it went on, measured from its start to its end: time that a hypervisor took, CPU
 * time of other processes, the load. Shares are of the CPU time that the machine had in that while. */
#ifndef TB_DISTURBANCE_H
#define TB_DISTURBANCE_H

#include <stdbool.h>

struct tb_disturbance {
  bool known; /* /proc/stat could be read at both ends */
  double steal_share,
      others_share;               /* others: busy, and neither the harness nor its workers that have ended */
  double load_before, load_after; /* of a minute each; NaN: not readable */
  /* at the start */
  double busy, steal, all, own; /* seconds */
};

/* Of a run whose workers are on another host. */
void tb_disturbance_unknown(struct tb_disturbance *d);
void tb_disturbance_begin(struct tb_disturbance *d);
/* May be called again later: figures are always from the beginning. Call it when no worker is running. */
void tb_disturbance_end(struct tb_disturbance *d);

#endif
