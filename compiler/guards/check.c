/* Running of guard programs.
 *
 * Invariants: raw accesses alone; nothing here allocates, raises, or enters Lua code; both stacks are left as they were. The
 * stack that a check needs was reserved by tc_guards_seal. */
#include "guards/program.h"

/* Moves the value at `index` of the frame's stack to the guards' thread. */
static void push_root(const struct tc_guards *g, const struct tc_frame *frame, int index) {
  if (!lua_checkstack(frame->L, 1)) {
    lua_pushnil(g->thread);
    return;
  }
  lua_pushvalue(frame->L, index);
  lua_xmove(frame->L, g->thread, 1);
}

/* Pushes the value of a source whose parent lies at `parent` and is what the kind needs. */
static inline void push_value(const struct tc_guards *g, const struct tc_frame *frame, const struct tc_source *source, int parent) {
  lua_State *G = g->thread;
  switch (source->kind) {
    case TC_SOURCE_FUNCTION: push_root(g, frame, frame->function); break;
    case TC_SOURCE_ARG:
      if (source->number < frame->n_args) push_root(g, frame, frame->first_arg + source->number);
      else lua_pushnil(G);
      break;
    case TC_SOURCE_UPVALUE:
      if (!lua_getupvalue(G, parent, source->number)) lua_pushnil(G);
      break;
    case TC_SOURCE_FIELD:
      if (source->number) {
        lua_pushvalue(G, source->number);
        lua_rawget(G, parent);
      } else {
        lua_rawgeti(G, parent, source->integer);
      }
      break;
    case TC_SOURCE_OBJECT: lua_pushvalue(G, source->number); break;
  }
}

static bool check_equal(lua_State *G, int at, const struct tc_fact *fact) {
  if (lua_type(G, at) != fact->type) return false;
  switch (fact->type) {
    case LUA_TBOOLEAN: return lua_toboolean(G, at) == fact->integer;
    case LUA_TSTRING: return lua_rawequal(G, at, fact->other);
    default: break;
  }
  if (lua_isinteger(G, at)) return fact->is_integer && lua_tointeger(G, at) == fact->integer;
  const lua_Number number = lua_tonumber(G, at);
  int64_t bits;
  memcpy(&bits, &number, sizeof bits);
  return !fact->is_integer && bits == fact->integer;
}

static bool check_metatable(lua_State *G, int at, int anchor) {
  if (!lua_getmetatable(G, at)) return anchor == 0;
  const bool holds = anchor && lua_rawequal(G, -1, anchor);
  lua_pop(G, 1);
  return holds;
}

static bool check_keys(lua_State *G, int at, const struct tc_fact *fact) {
  const int top = lua_gettop(G);
  bool holds = true;
  lua_pushnil(G);
  for (int64_t i = 0; i < fact->integer && holds; i++) {
    holds = lua_next(G, at) && lua_rawequal(G, -2, fact->other + (int)i);
    if (holds) lua_pop(G, 1);
  }
  holds = holds && !lua_next(G, at);
  lua_settop(G, top);
  return holds;
}

static inline bool check_tensor(const struct tc_guards *g, int at, const struct tc_fact_tensor *expected, const struct tc_tensor **inputs) {
  const struct tc_tensor *t = g->host->tensor_at(g->thread, at);
  if (!t || t->dtype != expected->dtype || t->ndim != expected->ndim || t->storage->device != expected->device) return false;
  for (int d = 0; d < expected->ndim; d++)
    if (t->sizes[d] != expected->sizes[d] || t->strides[d] != expected->strides[d]) return false;
  if (expected->input >= 0) inputs[expected->input] = t;
  return true;
}

static bool check_fact(const struct tc_guards *g, const struct tc_frame *frame, const struct tc_fact *fact, const struct tc_tensor **inputs) {
  lua_State *G = g->thread;
  const int at = fact->source >= 0 ? tc_guards_place(g, &g->sources.data[fact->source]) : 0;
  switch (fact->kind) {
    case TC_GUARD_TYPE: return lua_type(G, at) == fact->type;
    case TC_GUARD_EQUAL: return check_equal(G, at, fact);
    case TC_GUARD_IDENTITY: return lua_rawequal(G, at, fact->other);
    case TC_GUARD_METATABLE: return check_metatable(G, at, fact->other);
    case TC_GUARD_ABSENT: return lua_isnil(G, at);
    case TC_GUARD_LENGTH: return (int64_t)lua_rawlen(G, at) == fact->integer;
    case TC_GUARD_KEYS: return check_keys(G, at, fact);
    case TC_GUARD_TENSOR: return check_tensor(g, at, fact->tensor, inputs);
    case TC_GUARD_SAME: return lua_rawequal(G, at, tc_guards_place(g, &g->sources.data[fact->other]));
    case TC_GUARD_DISTINCT: return !lua_rawequal(G, at, tc_guards_place(g, &g->sources.data[fact->other]));
    case TC_GUARD_ARGS: return frame->n_args == fact->integer;
    case TC_GUARD_DEFAULT_DTYPE: return (int64_t)g->host->default_dtype(G) == fact->integer;
    default: return false;
  }
}

int tc_guards_check(struct tc_guards *g, const struct tc_frame *frame, const struct tc_tensor **inputs) {
  int failed = 0;
  for (size_t i = 0; i < g->steps.len; i++) {
    const struct tc_guard_step step = g->steps.data[i];
    if (step.is_fact) {
      if (check_fact(g, frame, &g->facts.data[step.item], inputs)) continue;
      failed = step.item + 1;
      break;
    }
    const struct tc_source *source = &g->sources.data[step.item];
    push_value(g, frame, source, source->parent >= 0 ? tc_guards_place(g, &g->sources.data[source->parent]) : 0);
  }
  lua_settop(g->thread, g->n_anchors);
  return failed;
}

void tc_guards_evaluate(const struct tc_guards *g, const struct tc_frame *frame, int item) {
  lua_State *G = g->thread;
  const struct tc_source *source = &g->sources.data[item];
  const bool has_parent = source->kind == TC_SOURCE_UPVALUE || source->kind == TC_SOURCE_FIELD;
  if (!has_parent) {
    push_value(g, frame, source, 0);
    return;
  }
  tc_guards_evaluate(g, frame, source->parent);
  const int parent = lua_gettop(G);
  const int wanted = source->kind == TC_SOURCE_FIELD ? LUA_TTABLE : LUA_TFUNCTION;
  if (lua_type(G, parent) == wanted) push_value(g, frame, source, parent);
  else lua_pushnil(G);
  lua_replace(G, parent);
}

void tc_guards_push_source(const struct tc_guards *g, const struct tc_frame *frame, int source) {
  tc_guards_evaluate(g, frame, source);
  lua_xmove(g->thread, frame->L, 1);
}
