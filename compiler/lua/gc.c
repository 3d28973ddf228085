/* Lua's collector and tensor memory.
 *
 * Lua sees a tensor as some two hundred bytes, whatever it holds; so the module watches the device's live bytes and
 * collects when they have grown by a bound since the last collection. Dead tensors then go at once, and the allocator hands
 * their warm buffers to the next operation.
 *
 * Invariants:
 *  1. Young collections are the rule (generational mode: their cost does not grow with the number of old objects). A full one
 *     runs when the bytes that young ones leave alive have doubled since the last full one, as with Lua's own heap.
 *  2. A young collection also runs after TC_LUA_GC_OBJECTS operations, so that the memory of dead objects stays in the cache: a
 *     program with a large heap would otherwise pile up a fifth of it in dead tensors of a few bytes.
 *  3. A collector that was stopped by the program stays stopped. */
#include "lua/module.h"

enum {
  BOUND_BYTES = 4 << 20, /* least growth before a collection */
  BOUND_SHARE = 4,       /* or one such part of what was alive after the last one */
  MAJOR_GROWTH = 2,      /* a full collection at this many times the bytes that the last one left */
  MINOR_MULTIPLIER = 20  /* percent that Lua's own heap grows between its own young collections: Lua's default */
};

static int64_t live_bytes(struct tc_lua_module *m) { return atomic_load_explicit(&m->ctx.device->bytes_live, memory_order_relaxed); }

static int64_t bound_above(int64_t live) {
  const int64_t share = live / BOUND_SHARE;
  return share > BOUND_BYTES ? share : BOUND_BYTES;
}

void tc_lua_gc_open(lua_State *L, struct tc_lua_module *m) {
  lua_gc(L, LUA_GCGEN, MINOR_MULTIPLIER, 0);
  m->gc_major_live = live_bytes(m);
  m->gc_next = m->gc_major_live + bound_above(m->gc_major_live);
}

void tc_lua_gc_collect(lua_State *L, struct tc_lua_module *m) {
  if (lua_gc(L, LUA_GCISRUNNING) == 1) {
    lua_gc(L, LUA_GCSTEP, 0);
    m->gc_young++;
    if (live_bytes(m) > MAJOR_GROWTH * m->gc_major_live + BOUND_BYTES) {
      lua_gc(L, LUA_GCCOLLECT);
      m->gc_full++;
      m->gc_major_live = live_bytes(m);
    }
  }
  const int64_t live = live_bytes(m);
  m->gc_objects = 0;
  m->gc_next = live + bound_above(live);
}
