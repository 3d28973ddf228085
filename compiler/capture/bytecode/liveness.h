/* Which registers hold values that are still read, at each instruction of a function: the usual backward data
 * flow.
 *
 * A register is live before an instruction when some way from there reads it before it is written. Open
 * results (C or B of 0) are between two instructions that stand together: before the consumer, every register
 * from its A on counts as read. A register that a nested function has captured stays live as long as they
 * share it, a to-be-closed variable until it is closed (sharing.h); the closing value of a generic `for` only
 * up to TFORPREP. Threads: pure. */
#ifndef TC_CAPTURE_LIVENESS_H
#define TC_CAPTURE_LIVENESS_H

#include "capture/bytecode/bytecode.h"

struct tc_live {
  uint64_t bits[TC_REGISTERS / 64];
};

static inline bool tc_live_has(const struct tc_live *live, int number) {
  return live->bits[number / 64] >> (number % 64) & 1;
}
/* One above the highest live register. */
int tc_live_count(const struct tc_live *live);
/* out[n_code]: live before each instruction. In the arena. TC_CORRUPT when control would leave the code. */
tc_status tc_liveness(struct tc_arena *arena, const struct tc_proto *proto, struct tc_live **out,
                      struct tc_error *err);

#endif
