/* Which entry of a compiled object serves a call.
 *
 * 1. Entries stand in the order of their use, the newest first.
 * 2. Among several the choice is by a hash of what tells them apart (guards.h), made when it is first needed
 *    after the set of entries changed, and freed before it does. Without memory for it they are tried in
 *    order. */
#include "lua/compile/compiled_object.h"

int tc_lua_match(const struct compiled_entry *e, const struct tc_frame *frame, struct call_values *values) {
  return tc_guards_match(e->guards, frame,
                         &(struct tc_guard_values){values->inputs, values->sizes, values->scalars});
}

static void move_to_front(struct compiled_object *o, size_t index) {
  const struct compiled_entry entry = o->entries.data[index];
  memmove(o->entries.data + 1, o->entries.data, sizeof entry * index);
  o->entries.data[0] = entry;
}

/* Makes the choice among the entries, unless it is there. False: there is none, for want of memory. */
static bool has_dispatch(struct compiled_object *o) {
  const struct tc_alloc *alloc = o->module->ctx.alloc;
  const size_t n = o->entries.len;
  if (o->dispatch) return true;
  struct tc_guards **programs = TC_NEW_ARRAY(alloc, struct tc_guards *, n);
  for (size_t i = 0; programs && i < n; i++) {
    programs[i] = o->entries.data[i].guards;
    o->entries.data[i].place = (int)i;
  }
  if (programs) (void)tc_guards_dispatch_build(alloc, (int)n, programs, &o->dispatch, NULL);
  TC_FREE_ARRAY(alloc, programs, n);
  return o->dispatch != NULL;
}

/* One entry after the other. */
static int find_in_order(const struct compiled_object *o, const struct tc_frame *frame,
                         struct call_values *values, int *tried) {
  for (*tried = 1; (size_t)*tried <= o->entries.len; ++*tried)
    if (!tc_lua_match(&o->entries.data[*tried - 1], frame, values)) return *tried - 1;
  --*tried;
  return -1;
}

const struct compiled_entry *tc_lua_find_entry(struct compiled_object *o, const struct tc_frame *frame,
                                               struct call_values *values) {
  int tried = 0, at = 0;
  if (o->entries.len < 2 || !has_dispatch(o)) {
    at = find_in_order(o, frame, values, &tried);
  } else {
    const int place = tc_guards_dispatch_find(
        o->dispatch, frame, &(struct tc_guard_values){values->inputs, values->sizes, values->scalars},
        &tried);
    while (place >= 0 && o->entries.data[at].place != place) at++;
    if (place < 0) at = -1;
  }
  o->module->ctx.counters.guard_failures += (uint64_t)(tried - (at >= 0));
  if (at < 0) return NULL;
  if (at) move_to_front(o, (size_t)at);
  return &o->entries.data[0];
}

int tc_lua_check_guards(lua_State *L) {
  struct compiled_object *o = tc_lua_compiled_at(L, 1);
  struct call_values values;
  if (!o)
    return tc_lua_raise_text(L, "check_guards",
                             "argument 1 is not a compiled function (tb.compile makes one)");
  luaL_checkstack(L, LUA_MINSTACK, "arguments");
  tc_lua_compiled_parts(L, 1);
  if (o->has_self)
    lua_insert(L, 2);
  else
    lua_pop(L, 1);
  lua_insert(L, 2); /* the function: … of a call, its arguments lie above it */
  const struct tc_frame frame = {.L = L, .function = 2, .first_arg = 3, .n_args = lua_gettop(L) - 2};
  lua_pushboolean(L, !o->eager && tc_lua_find_entry(o, &frame, &values));
  return 1;
}
