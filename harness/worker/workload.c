/* The calls that are measured. Invariants:
 * 1. The timed loop does, for each call: push the function, push its arguments, call, drop the results.
 *    Nothing else.
 * 2. Argument lists of args = function(i) are made before the clock starts.
 * 3. Only the newest call's results are kept; Lua's collector frees the rest under memory pressure. */
#include "harness/worker/workload.h"

#include <lauxlib.h>
#include <string.h>

#include "harness/base/clock.h"
#include "harness/worker/compile_options.h"
#include "harness/worker/luacall.h"
#include "harness/worker/luajson.h"
#include "harness/worker/parts.h"
#include "tcompile.h"

static const char *const role_names[TB_ROLE_COUNT] = {"baseline", "compiled", "reference", "explained",
                                                      "probe"};

const char *tb_role_name(enum tb_role role) { return role_names[role]; }

bool tb_role_parse(const char *name, enum tb_role *role) {
  for (int i = 0; i < TB_ROLE_COUNT; i++)
    if (!strcmp(role_names[i], name)) return *role = (enum tb_role)i, true;
  return false;
}

/* --- calling --- */

/* Leaves call i's argument list (i counts from 1) on the stack. */
static void push_list(lua_State *L, const struct tb_workload *w, int64_t i) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, w->args);
  if (!w->generated) return;
  lua_pushinteger(L, (lua_Integer)i);
  lua_call(L, 1, 1);
  if (!lua_istable(L, -1))
    luaL_error(L, "args(%d): expected a list of arguments, got %s", (int)i, luaL_typename(L, -1));
}

static int list_count(lua_State *L, int list) {
  const int declared = lua_getfield(L, list, "n");
  int whole = declared == LUA_TNIL;
  const lua_Integer count = whole ? (lua_Integer)lua_rawlen(L, list) : lua_tointegerx(L, -1, &whole);
  lua_pop(L, 1);
  if (!whole || count < 0 || count > TB_ARGUMENTS_MAX)
    luaL_error(L, "args: expected 0 to %d arguments (n says how many, where it is there)", TB_ARGUMENTS_MAX);
  return (int)count;
}

/* Pushes the elements of a list; returns how many. */
static int push_elements(lua_State *L, int list) {
  const int count = list_count(L, list);
  for (int i = 1; i <= count; i++) lua_rawgeti(L, list, i);
  return count;
}

static void keep(lua_State *L, int *reference) {
  luaL_unref(L, LUA_REGISTRYINDEX, *reference);
  *reference = luaL_ref(L, LUA_REGISTRYINDEX);
}

/* Packs what stands above `first` into a list and keeps it as the newest results. */
static void keep_results(lua_State *L, int first, struct tb_workload *w) {
  const int count = lua_gettop(L) - first + 1;
  lua_createtable(L, count, 1);
  lua_insert(L, first);
  for (int i = count; i >= 1; i--) lua_rawseti(L, first, i);
  lua_pushinteger(L, count);
  lua_setfield(L, first, "n");
  keep(L, &w->results);
}

static void drop_results(lua_State *L, struct tb_workload *w) {
  luaL_unref(L, LUA_REGISTRYINDEX, w->results);
  w->results = LUA_NOREF;
}

static void watch_arguments(lua_State *L, int list, struct tb_workload *w) {
  const int count = list_count(L, list);
  for (int i = 0; i < count; i++) {
    lua_rawgeti(L, list, i + 1);
    w->argument_digests[i] = tb_value_digest(L, -1);
    lua_pop(L, 1);
  }
}

/* A stretch that is timed: nothing that was begun before it runs in it, and all that it begins has ended when
 * the clock stops. What counts it stands outside of the clock. */
struct timed {
  const struct tb_stretch *stretch;
  struct tc_device *device; /* NULL: the state has none */
  int64_t start;
};

static void wait_for_device(lua_State *L, struct tc_device *device) {
  struct tc_error err = {.message = ""};
  if (device && device->methods->synchronize(device, &err)) luaL_error(L, "%s", err.message);
}

static struct timed begin_stretch(lua_State *L, const struct tb_stretch *stretch) {
  const struct tc_context *ctx = tc_lua_context(L);
  struct timed timed = {.stretch = stretch, .device = ctx ? ctx->device : NULL};
  wait_for_device(L, timed.device);
  if (stretch) stretch->begin(stretch->self);
  timed.start = tb_now_ns();
  return timed;
}

static double end_stretch(lua_State *L, const struct timed *timed) {
  wait_for_device(L, timed->device);
  const double ns = (double)(tb_now_ns() - timed->start);
  if (timed->stretch) timed->stretch->end(timed->stretch->self);
  return ns;
}

double tb_workload_call(lua_State *L, struct tb_workload *w, const struct tb_stretch *stretch) {
  const int top = lua_gettop(L);
  drop_results(L, w);
  luaL_checkstack(L, 2 * TB_ARGUMENTS_MAX, "arguments");
  w->calls++;
  push_list(L, w, w->was_reset ? 1 : w->calls); /* what is compiled again is what the first call compiled */
  w->was_reset = false;
  watch_arguments(L, top + 1, w);
  lua_pushvalue(L, top + 1);
  keep(L, &w->last_args);
  lua_rawgeti(L, LUA_REGISTRYINDEX, w->fn);
  const int count = push_elements(L, top + 1);
  const struct timed timed = begin_stretch(L, stretch);
  lua_call(L, count, LUA_MULTRET);
  const double ns = end_stretch(L, &timed);
  keep_results(L, top + 2, w);
  lua_settop(L, top);
  return ns;
}

const char *tb_workload_explain(lua_State *L, struct tb_workload *w) {
  tb_workload_call(L, w, NULL);
  lua_rawgeti(L, LUA_REGISTRYINDEX, w->results);
  lua_rawgeti(L, -1, 1);
  return luaL_tolstring(L, -1, NULL);
}

/* Calls with one list. Stack: … function, arguments. The last call's results stay above them. */
static double time_constant(lua_State *L, int function, int count, int64_t calls,
                            const struct tb_stretch *stretch) {
  const int top = function + count;
  const struct timed timed = begin_stretch(L, stretch);
  for (int64_t i = 0; i < calls; i++) {
    lua_settop(L, top);
    for (int a = function; a <= top; a++) lua_pushvalue(L, a);
    lua_call(L, count, LUA_MULTRET);
  }
  return end_stretch(L, &timed);
}

static double block_constant(lua_State *L, struct tb_workload *w, int64_t warm, int64_t calls,
                             const struct tb_stretch *stretch) {
  const int top = lua_gettop(L);
  push_list(L, w, 1);
  lua_pushvalue(L, -1);
  keep(L, &w->last_args);
  lua_rawgeti(L, LUA_REGISTRYINDEX, w->fn);
  const int function = top + 2, count = push_elements(L, top + 1);
  if (warm) time_constant(L, function, count, warm, NULL);
  const double ns = time_constant(L, function, count, calls, stretch);
  keep_results(L, function + count + 1, w);
  lua_settop(L, top);
  return ns;
}

static double block_generated(lua_State *L, struct tb_workload *w, int64_t warm, int64_t calls,
                              const struct tb_stretch *stretch) {
  const int top = lua_gettop(L), lists = top + 1, function = top + 2;
  const int64_t all = warm + calls;
  if (all > TB_GENERATED_MAX)
    luaL_error(L, "a block of args = function(i) has at most %d calls", TB_GENERATED_MAX);
  lua_createtable(L, (int)all, 0);
  for (int64_t i = 1; i <= all; i++) {
    push_list(L, w, w->calls + i);
    lua_rawseti(L, lists, (lua_Integer)i);
  }
  lua_rawgeti(L, lists, (lua_Integer)all);
  watch_arguments(L, function, w);
  lua_pop(L, 1);
  lua_rawgeti(L, LUA_REGISTRYINDEX, w->fn);
  struct timed timed = {0};
  for (int64_t i = 1; i <= all; i++) {
    if (i == warm + 1) timed = begin_stretch(L, stretch);
    lua_settop(L, function);
    lua_pushvalue(L, function);
    lua_rawgeti(L, lists, (lua_Integer)i);
    const int list = function + 2, count = list_count(L, list);
    for (int a = 1; a <= count; a++) lua_rawgeti(L, list, a);
    lua_remove(L, list);
    lua_call(L, count, LUA_MULTRET);
  }
  const double ns = end_stretch(L, &timed);
  keep_results(L, function + 1, w);
  lua_rawgeti(L, lists, (lua_Integer)all);
  keep(L, &w->last_args);
  lua_settop(L, top);
  return ns;
}

double tb_workload_block(lua_State *L, struct tb_workload *w, int64_t warm, int64_t calls,
                         const struct tb_stretch *stretch) {
  drop_results(L, w);
  luaL_checkstack(L, 3 * TB_ARGUMENTS_MAX, "arguments");
  const double ns =
      w->generated ? block_generated(L, w, warm, calls, stretch) : block_constant(L, w, warm, calls, stretch);
  w->calls += warm + calls;
  return ns;
}

void tb_workload_reset(lua_State *L, struct tb_workload *w) {
  w->was_reset = true;
  if (w->parts != LUA_NOREF) {
    tb_parts_reset(L, w->parts);
    return;
  }
  lua_rawgeti(L, LUA_REGISTRYINDEX, w->fn);
  tb_lua_call_function(L, "reset", 1, 0);
}

void tb_workload_stats(lua_State *L, struct tb_workload *w) {
  if (w->parts != LUA_NOREF) {
    tb_parts_stats(L, w->parts);
    return;
  }
  lua_rawgeti(L, LUA_REGISTRYINDEX, w->fn);
  tb_lua_call_function(L, "stats", 1, 1);
}

/* --- checking --- */

static void send_arguments(lua_State *L, struct tb_workload *w, struct tb_sender *sender) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, w->last_args);
  const int list = lua_gettop(L), count = list_count(L, list);
  for (int i = 0; i < count; i++) {
    const char *path = lua_pushfstring(L, "argument %d", i + 1);
    lua_rawgeti(L, list, i + 1);
    if (tb_value_digest(L, -1) == w->argument_digests[i])
      tb_send_same(path, sender);
    else
      tb_send_value(L, -1, path, sender);
    lua_pop(L, 2);
  }
  lua_pop(L, 1);
}

void tb_workload_send(lua_State *L, struct tb_workload *w, struct tb_sender *sender) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, w->results);
  if (!lua_istable(L, -1)) luaL_error(L, "check before the first call");
  tb_send_value(L, -1, "result", sender);
  lua_pop(L, 1);
  send_arguments(L, w, sender);
  tb_send_end(sender);
}

bool tb_workload_check(lua_State *L, struct tb_workload *w, const char **why) {
  *why = NULL;
  if (w->check == LUA_NOREF) return true;
  const int top = lua_gettop(L);
  lua_rawgeti(L, LUA_REGISTRYINDEX, w->check);
  lua_rawgeti(L, LUA_REGISTRYINDEX, w->results);
  const int count = push_elements(L, top + 2);
  lua_remove(L, top + 2);
  lua_call(L, count, 2);
  const bool good = lua_toboolean(L, top + 1) && lua_type(L, top + 1) != LUA_TSTRING;
  const char *text = lua_isstring(L, top + 1) ? lua_tostring(L, top + 1) : lua_tostring(L, top + 2);
  if (!good)
    *why = text ? lua_pushfstring(L, "the suite's check: %s", text) : "the suite's check returned false";
  return good; /* the text lives as long as the caller's stack frame */
}
