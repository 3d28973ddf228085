/* Backward data flow over the instructions, from the last to the first and again until nothing changes: once
 * more than the loops are nested. */
#include "capture/bytecode/liveness.h"

#include <string.h>

#include "capture/bytecode/flow.h"
#include "capture/bytecode/sharing.h"

int tc_live_count(const struct tc_live *live) {
  for (int number = TC_REGISTERS - 1; number >= 0; number--)
    if (tc_live_has(live, number)) return number + 1;
  return 0;
}

/* Is `live[pc]` other than before? */
static bool update(const struct tc_proto *proto, int pc, struct tc_live *live) {
  struct tc_effect effect;
  struct tc_live before = {0};
  tc_effect_of(proto, pc, &effect);
  for (int i = 0; i < effect.n_edges; i++) {
    struct tc_live behind = live[effect.edges[i].to];
    tc_live_remove(&behind, &effect.edges[i].writes);
    tc_live_join(&before, &behind);
  }
  tc_live_join(&before, &effect.reads);
  if (tc_live_equal(&before, &live[pc])) return false;
  live[pc] = before;
  return true;
}

tc_status tc_liveness(struct tc_arena *arena, const struct tc_proto *proto, struct tc_live **out,
                      struct tc_error *err) {
  struct tc_sharing sharing;
  tc_status status = tc_flow_check(proto, err);
  if (!status) status = tc_sharing_find(arena, proto, &sharing, err);
  if (status) return status;
  struct tc_live *live = tc_arena_bytes(arena, sizeof *live * (size_t)proto->n_code);
  if (!live) return tc_fail(err, TC_NOMEM, "capture", "liveness: out of memory");
  memset(live, 0, sizeof *live * (size_t)proto->n_code);
  for (bool changed = true; changed;) {
    changed = false;
    for (int pc = proto->n_code - 1; pc >= 0; pc--)
      if (tc_code_op(proto->code[pc]) != TC_LUA_EXTRAARG) changed |= update(proto, pc, live);
  }
  if (sharing.at)
    for (int pc = 0; pc < proto->n_code; pc++) {
      tc_live_join(&live[pc], &sharing.at[pc].captured);
      tc_live_join(&live[pc], &sharing.at[pc].to_close);
    }
  *out = live;
  return TC_OK;
}
