/* What an instruction does to the registers, and where control goes from it: the ground of liveness and of
 * resume functions.
 *
 * A register may be written on one way out of an instruction and not on the other (TESTSET, loops, arithmetic
 * before its metamethod), so writes belong to the edges. A call leaves nothing of what lay at its A and
 * above: all of it counts as written. A target may lie outside of code that nobody checked: whoever follows
 * an edge looks first. Threads: pure. */
#ifndef TC_CAPTURE_FLOW_H
#define TC_CAPTURE_FLOW_H

#include "capture/bytecode/liveness.h"

enum { TC_MAX_EDGES = 2 };

struct tc_edge {
  int to;
  struct tc_live writes;
};
struct tc_effect {
  struct tc_live reads;
  int n_edges;
  struct tc_edge edges[TC_MAX_EDGES];
}; /* no edge: the function ends */

void tc_effect_of(const struct tc_proto *proto, int pc, struct tc_effect *out);
/* TC_CORRUPT when control would leave the code. */
tc_status tc_flow_check(const struct tc_proto *proto, struct tc_error *err);

/* Arithmetic, with a metamethod's instruction behind it. */
static inline bool tc_code_is_arithmetic(uint32_t code) {
  return tc_code_op(code) >= TC_LUA_ADDI && tc_code_op(code) <= TC_LUA_SHR;
}
/* A condition, with a jump behind it. */
static inline bool tc_code_is_test(uint32_t code) {
  return tc_code_op(code) >= TC_LUA_EQ && tc_code_op(code) <= TC_LUA_TESTSET;
}
/* Leaves as many values as there are (C is 0), for the next instruction, which takes them (B is 0). */
bool tc_code_gives_open(uint32_t code);
bool tc_code_takes_open(uint32_t code);
/* Does an EXTRAARG follow? */
bool tc_code_has_extra(uint32_t code);

/* Sets of registers. */
void tc_live_add(struct tc_live *live, int first, int end); /* first ≤ number < end */
void tc_live_join(struct tc_live *live, const struct tc_live *other);
void tc_live_remove(struct tc_live *live, const struct tc_live *other);
bool tc_live_equal(const struct tc_live *a, const struct tc_live *b);
bool tc_live_meet(const struct tc_live *a, const struct tc_live *b); /* is a register in both? */

#endif
