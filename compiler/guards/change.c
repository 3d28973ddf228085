/* What changed between the call that guards were made for and another one: numbers with another value (an
 * integer that became a float too: where the two take turns, each would else be fixed anew), tensors with
 * other sizes, other closures of the same code. The next capture leaves those open. */
#include "guards/program.h"

static bool same_number(lua_State *G, const struct tc_fact *fact) {
  if ((lua_isinteger(G, -1) != 0) != fact->is_integer) return false;
  if (fact->is_integer) return lua_tointeger(G, -1) == fact->integer;
  const lua_Number number = lua_tonumber(G, -1);
  return !memcmp(&number, &fact->integer, sizeof number);
}

/* Of the value at the top of the guards' thread. */
static bool number_changed(const struct tc_guards *g, const struct tc_fact *fact,
                           struct tc_guard_change *out) {
  lua_State *G = g->thread;
  const struct tc_source *s = &g->sources.data[fact->source];
  if (fact->kind != TC_GUARD_EQUAL || fact->type != LUA_TNUMBER || s->kind == TC_SOURCE_EXPR ||
      s->kind == TC_SOURCE_DIM)
    return false;
  if (lua_type(G, -1) != LUA_TNUMBER || same_number(G, fact)) return false;
  *out = (struct tc_guard_change){.path = s->path, .is_number = true};
  return true;
}

/* Another closure of the code: one that is made anew. */
static bool closure_changed(const struct tc_guards *g, const struct tc_fact *fact,
                            struct tc_guard_change *out) {
  const int at = lua_gettop(g->thread);
  if (fact->kind != TC_GUARD_IDENTITY || fact->type != LUA_TFUNCTION ||
      lua_topointer(g->thread, at) == fact->pointer)
    return false;
  *out = (struct tc_guard_change){.path = g->sources.data[fact->source].path, .is_code = true};
  return tc_guards_same_code(g, at, fact->other);
}

static bool sizes_changed(const struct tc_guards *g, const struct tc_fact *fact,
                          struct tc_guard_change *out) {
  if (fact->kind != TC_GUARD_TENSOR) return false;
  const struct tc_fact_tensor *expected = fact->tensor;
  const struct tc_tensor *now = g->host->tensor_at(g->thread, -1);
  if (!now || now->ndim != expected->ndim || now->dtype != expected->dtype) return false;
  *out = (struct tc_guard_change){.path = g->sources.data[fact->source].path};
  for (int d = 0; d < now->ndim; d++) {
    const bool varies = expected->dims && expected->dims->ids[d] >= 0;
    if (!varies && now->sizes[d] != expected->sizes[d]) out->dims |= UINT32_C(1) << d;
  }
  return out->dims != 0;
}

int tc_guards_changes(const struct tc_guards *g, const struct tc_frame *frame, struct tc_guard_change *out,
                      int limit) {
  int count = 0;
  for (size_t i = 0; i < g->facts.len && count < limit; i++) {
    const struct tc_fact *fact = &g->facts.data[i];
    if (fact->kind != TC_GUARD_EQUAL && fact->kind != TC_GUARD_TENSOR && fact->kind != TC_GUARD_IDENTITY)
      continue;
    tc_guards_evaluate(g, frame, fact->source);
    count += number_changed(g, fact, &out[count]) || sizes_changed(g, fact, &out[count]) ||
             closure_changed(g, fact, &out[count]);
    lua_settop(g->thread, g->n_anchors);
  }
  return count;
}
