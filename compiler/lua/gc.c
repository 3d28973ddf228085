/* Lua's collector and tensor memory.
 *
 * Lua sees a tensor as some two hundred bytes, whatever it holds; so the module watches the device's live
 * bytes and collects when they have grown by a bound since the last collection. Dead tensors then go at once,
 * and the allocator hands their warm buffers to the next operation.
 *
 * Invariants:
 *  1. Young collections are the rule (generational mode: their cost does not grow with the number of old
 *     objects). They miss a tensor that outlived two of them, as one does that a stale stack slot keeps alive
 *     for a while; so a full collection follows when what they leave has grown by the bound too, and by so
 *     much that it pays for walking Lua's whole heap.
 *  2. A young collection also runs after TC_LUA_GC_OBJECTS operations, so that the memory of dead objects
 *     stays in the cache: a program with a large heap would otherwise pile up a fifth of it in dead tensors
 *     of a few bytes.
 *  3. A collector that was stopped by the program stays stopped. */
#include "lua/module.h"

enum {
  BOUND_BYTES = 4 << 20, /* least growth before a collection */
  BOUND_SHARE = 4,       /* or one such part of what was alive after the last one */
  FULL_GAIN =
      16, /* bytes of tensors, for each byte of Lua's heap, that a full collection must be able to free */
  MINOR_MULTIPLIER =
      20, /* percent that Lua's own heap grows between its own young collections: Lua's default */
  KIB = 1024
};

static int64_t live_bytes(struct tc_lua_module *m) {
  return atomic_load_explicit(&m->ctx.device->bytes_live, memory_order_relaxed);
}

static int64_t bound_above(int64_t live) {
  const int64_t share = live / BOUND_SHARE;
  return share > BOUND_BYTES ? share : BOUND_BYTES;
}

static bool full_collection_pays(lua_State *L, struct tc_lua_module *m) {
  const int64_t growth = live_bytes(m) - m->gc_full_live;
  return growth > bound_above(m->gc_full_live) && growth > (int64_t)FULL_GAIN * KIB * lua_gc(L, LUA_GCCOUNT);
}

void tc_lua_gc_open(lua_State *L, struct tc_lua_module *m) {
  lua_gc(L, LUA_GCGEN, MINOR_MULTIPLIER, 0);
  m->gc_full_live = live_bytes(m);
  m->gc_next = m->gc_full_live + bound_above(m->gc_full_live);
}

void tc_lua_gc_collect(lua_State *L, struct tc_lua_module *m) {
  if (lua_gc(L, LUA_GCISRUNNING) == 1) {
    lua_gc(L, LUA_GCSTEP, 0);
    m->gc_young++;
    if (full_collection_pays(L, m)) {
      lua_gc(L, LUA_GCCOLLECT);
      m->gc_full++;
      m->gc_full_live = live_bytes(m);
    }
  }
  const int64_t live = live_bytes(m);
  m->gc_objects = 0;
  m->gc_next = live + bound_above(live);
}
