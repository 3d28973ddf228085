/* What of this machine makes figures worse: a row a cause (noise.def), with how it was seen, how to mend it,
 * and what the harness has done about it. Looking changes nothing and takes no measurable time. Threads:
 * any. */
#ifndef TB_NOISE_H
#define TB_NOISE_H

#include "harness/machine/topology.h"

enum tb_noise_state { TB_NOISE_QUIET, TB_NOISE_WORSE, TB_NOISE_UNKNOWN /* it cannot be seen here */ };
/* "quiet", "worse", "unknown". */
const char *tb_noise_state_text(enum tb_noise_state state);

enum { TB_NOISE_SEEN_BYTES = 160 };

struct tb_noise {
  const char *name, *what, *fix, *done;
  bool warns; /* each run tells it in a line of its own */
  enum tb_noise_state state;
  char seen[TB_NOISE_SEEN_BYTES];
};

int tb_noise_count(void);
/* "load: 1.20 on 2 cores …", in the arena: what a run tells of it; "" where there is nothing to tell; NULL
 * when memory is out. */
const char *tb_noise_warning(struct tc_arena *arena, const struct tb_noise *noise);
/* Looks at cause `index`. `topology` may be NULL: hwloc failed. */
struct tb_noise tb_noise_look(int index, struct tb_topology *topology);
/* A cause as another host has seen it; false: there is none of that name, or no such state. */
bool tb_noise_told(const char *name, const char *state, const char *seen, struct tb_noise *out);

#endif
