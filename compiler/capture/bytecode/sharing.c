/* Two data flows: forward, what is shared; backward, what is done to it later. Both grow only, so they end.
 *
 * Invariants:
 *  1. CLOSE is the only instruction that parts a register from closures while the function goes on: Lua's
 *     compiler puts one wherever a captured variable's register may be taken for another one. */
#include "capture/bytecode/sharing.h"

#include <string.h>

#include "capture/bytecode/flow.h"

struct finder {
  const struct tc_proto *proto;
  struct tc_shared *at;
  const struct tc_live *written_upvalues; /* of each nested function */
};

/* Upvalues that a function or one inside of it may write. */
static void find_written_upvalues(const struct tc_proto *proto, struct tc_live *out) {
  for (int pc = 0; pc < proto->n_code; pc++) {
    const uint32_t code = proto->code[pc];
    if (tc_code_op(code) == TC_LUA_SETUPVAL) tc_live_add(out, tc_code_b(code), tc_code_b(code) + 1);
  }
  for (int i = 0; i < proto->n_protos; i++) {
    struct tc_live written = {0};
    const struct tc_proto *inner = proto->protos[i];
    find_written_upvalues(inner, &written);
    for (int k = 0; k < inner->n_upvalues; k++)
      if (!inner->upvalues[k].in_stack && tc_live_has(&written, k))
        tc_live_add(out, inner->upvalues[k].index, inner->upvalues[k].index + 1);
  }
}

static void join(struct tc_live *live, const struct tc_live *other, bool *changed) {
  const struct tc_live before = *live;
  tc_live_join(live, other);
  if (!tc_live_equal(&before, live)) *changed = true;
}

/* The registers that the closure made at pc captures, and those that it may write. */
static void captures_of(const struct finder *f, int pc, struct tc_live *captured, struct tc_live *written) {
  const int number = tc_code_bx(f->proto->code[pc]);
  const struct tc_proto *inner = f->proto->protos[number];
  for (int i = 0; i < inner->n_upvalues; i++) {
    if (!inner->upvalues[i].in_stack) continue;
    const int reg = inner->upvalues[i].index;
    tc_live_add(captured, reg, reg + 1);
    if (tc_live_has(&f->written_upvalues[number], i)) tc_live_add(written, reg, reg + 1);
  }
}

static void forward(const struct finder *f, int pc, bool *changed) {
  struct tc_effect effect;
  struct tc_shared behind = f->at[pc];
  const uint32_t code = f->proto->code[pc];
  tc_effect_of(f->proto, pc, &effect);
  if (tc_code_op(code) == TC_LUA_CLOSURE) captures_of(f, pc, &behind.captured, &behind.written_inside);
  if (tc_code_op(code) == TC_LUA_TBC) tc_live_add(&behind.to_close, tc_code_a(code), tc_code_a(code) + 1);
  if (tc_code_op(code) == TC_LUA_CLOSE) {
    struct tc_live parted = {0};
    tc_live_add(&parted, tc_code_a(code), TC_REGISTERS);
    tc_live_remove(&behind.captured, &parted);
    tc_live_remove(&behind.written_inside, &parted);
    tc_live_remove(&behind.to_close, &parted);
  }
  for (int i = 0; i < effect.n_edges; i++) {
    struct tc_shared *next = &f->at[effect.edges[i].to];
    join(&next->captured, &behind.captured, changed);
    join(&next->written_inside, &behind.written_inside, changed);
    join(&next->to_close, &behind.to_close, changed);
  }
}

static void backward(const struct finder *f, int pc, bool *changed) {
  struct tc_effect effect;
  struct tc_live used = {0}, written = {0};
  const uint32_t code = f->proto->code[pc];
  tc_effect_of(f->proto, pc, &effect);
  for (int i = 0; i < effect.n_edges; i++) {
    tc_live_join(&used, &f->at[effect.edges[i].to].used);
    tc_live_join(&written, &f->at[effect.edges[i].to].written);
  }
  if (tc_code_op(code) == TC_LUA_CLOSE) {
    struct tc_live parted = {0};
    tc_live_add(&parted, tc_code_a(code), TC_REGISTERS);
    tc_live_remove(&used, &parted);
    tc_live_remove(&written, &parted);
  }
  for (int i = 0; i < effect.n_edges; i++) tc_live_join(&written, &effect.edges[i].writes);
  if (tc_code_op(code) == TC_LUA_CLOSURE) captures_of(f, pc, &used, &written);
  tc_live_join(&used, &effect.reads);
  tc_live_join(&used, &written);
  join(&f->at[pc].used, &used, changed);
  join(&f->at[pc].written, &written, changed);
}

static bool shares(const struct tc_proto *proto) {
  for (int i = 0; i < proto->n_protos; i++)
    for (int k = 0; k < proto->protos[i]->n_upvalues; k++)
      if (proto->protos[i]->upvalues[k].in_stack) return true;
  for (int pc = 0; pc < proto->n_code; pc++)
    if (tc_code_op(proto->code[pc]) == TC_LUA_TBC) return true;
  return false;
}

static void *cleared(struct tc_arena *arena, size_t count, size_t bytes) {
  void *items = tc_arena_bytes(arena, count * bytes + 1);
  if (items) memset(items, 0, count * bytes);
  return items;
}

tc_status tc_sharing_find(struct tc_arena *arena, const struct tc_proto *proto, struct tc_sharing *out,
                          struct tc_error *err) {
  *out = (struct tc_sharing){0};
  if (!shares(proto)) return TC_OK;
  struct tc_shared *at = cleared(arena, (size_t)proto->n_code, sizeof *at);
  struct tc_live *written = cleared(arena, (size_t)proto->n_protos, sizeof *written);
  if (!at || !written) return tc_fail(err, TC_NOMEM, "capture", "captured registers: out of memory");
  for (int i = 0; i < proto->n_protos; i++) find_written_upvalues(proto->protos[i], &written[i]);
  const struct finder f = {.proto = proto, .at = at, .written_upvalues = written};
  for (bool changed = true; changed;) {
    changed = false;
    for (int pc = 0; pc < proto->n_code; pc++)
      if (tc_code_op(proto->code[pc]) != TC_LUA_EXTRAARG) forward(&f, pc, &changed);
    for (int pc = proto->n_code - 1; pc >= 0; pc--)
      if (tc_code_op(proto->code[pc]) != TC_LUA_EXTRAARG) backward(&f, pc, &changed);
  }
  out->at = at;
  return TC_OK;
}

const char *tc_sharing_forbids(const struct tc_sharing *sharing, int pc) {
  if (!sharing->at) return NULL;
  const struct tc_shared *s = &sharing->at[pc];
  static const struct tc_live none;
  if (!tc_live_equal(&s->to_close, &none)) return "a to-be-closed variable is in scope";
  struct tc_live read_later = s->used;
  for (size_t i = 0; i < sizeof read_later.bits / sizeof *read_later.bits; i++)
    read_later.bits[i] &= s->written_inside.bits[i];
  if (tc_live_meet(&s->captured, &s->written) || tc_live_meet(&s->captured, &read_later))
    return "a local variable that a closure has captured is written later";
  return NULL;
}
