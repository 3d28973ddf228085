/* Making a workload: what the suite says of it, checked, and the function of the case's role. */
#include "harness/worker/workload.h"

#include <lauxlib.h>
#include <string.h>

#include "harness/worker/compile_options.h"
#include "harness/worker/luacall.h"
#include "harness/worker/luajson.h"
#include "harness/worker/parts.h"
#include "tcompile.h"

static const double amount_max = 1e300; /* no infinity, and no NaN */

static bool callable(lua_State *L, int index) {
  if (lua_isfunction(L, index)) return true;
  if (luaL_getmetafield(L, index, "__call") == LUA_TNIL) return false;
  lua_pop(L, 1);
  return true;
}

static void check_fields(lua_State *L, int table, const char *name) {
  static const char *const known[] = {"fn",    "parts", "args",  "options",    "tolerance",
                                      "check", "flops", "bytes", "unsupported"};
  for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) {
    bool found = false;
    for (size_t i = 0; lua_type(L, -2) == LUA_TSTRING && i < sizeof known / sizeof *known; i++)
      found |= !strcmp(known[i], lua_tostring(L, -2));
    if (found) continue;
    lua_pushvalue(L, -2);
    luaL_error(L,
               "workload %s: unknown field '%s'; it returns fn or parts, args, options, tolerance, check, "
               "flops, bytes, or unsupported",
               name, luaL_tolstring(L, -1, NULL));
  }
}

static int read_check(lua_State *L, int table, const char *name) {
  if (lua_getfield(L, table, "check") != LUA_TNIL) {
    if (!callable(L, -1))
      luaL_error(L, "workload %s: check: expected a function, got %s", name, luaL_typename(L, -1));
    return luaL_ref(L, LUA_REGISTRYINDEX);
  }
  lua_pop(L, 1);
  return LUA_NOREF;
}

/* What the suite says of the work of one call; -1 where it says nothing. */
static double read_amount(lua_State *L, int table, const char *field, const char *name) {
  const int type = lua_getfield(L, table, field);
  const double amount = type == LUA_TNUMBER ? lua_tonumber(L, -1) : -1;
  if (type != LUA_TNIL && !(amount >= 0 && amount <= amount_max))
    luaL_error(L, "workload %s: %s: expected a number of 0 or more, got %s", name, field,
               luaL_tolstring(L, -1, NULL));
  lua_pop(L, 1);
  return amount;
}

static void read_args(lua_State *L, int table, const char *name, struct tb_workload *out) {
  const int type = lua_getfield(L, table, "args");
  if (type == LUA_TNIL)
    lua_pop(L, 1), lua_newtable(L);
  else if (type != LUA_TTABLE && type != LUA_TFUNCTION)
    luaL_error(L, "workload %s: args: expected a list of arguments or function(i) that returns one, got %s",
               name, luaL_typename(L, -1));
  out->generated = type == LUA_TFUNCTION;
  out->args = luaL_ref(L, LUA_REGISTRYINDEX);
}

static double read_tolerance(lua_State *L, int table, const char *name) {
  const int type = lua_getfield(L, table, "tolerance");
  const double tolerance = type == LUA_TNUMBER ? lua_tonumber(L, -1) : 0;
  if (type != LUA_TNIL && !(tolerance > 0))
    luaL_error(L, "workload %s: tolerance: expected a number above 0, a share of the largest value", name);
  lua_pop(L, 1);
  return tolerance;
}

/* A workload that the suite lists and that cannot be had: its reason, which stays in the registry. */
static bool read_unsupported(lua_State *L, int table, const char *name, struct tb_workload *out) {
  const int type = lua_getfield(L, table, "unsupported");
  if (type != LUA_TNIL && type != LUA_TSTRING)
    luaL_error(L, "workload %s: unsupported: expected the reason as a string, got %s", name,
               luaL_typename(L, -1));
  out->unsupported = type == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
  if (out->unsupported)
    luaL_ref(L, LUA_REGISTRYINDEX);
  else
    lua_pop(L, 1);
  return out->unsupported != NULL;
}

/* What is called in this role. Parts that are compiled by themselves are explained as one whole. */
static void push_function(lua_State *L, int table, const struct tb_parts_case *kase, struct tb_workload *w) {
  const char *function = w->role == TB_ROLE_COMPILED    ? "compile"
                         : w->role == TB_ROLE_EXPLAINED ? "explain"
                                                        : NULL;
  const bool parts = lua_getfield(L, table, "parts") != LUA_TNIL;
  lua_pop(L, 1);
  if (lua_getfield(L, table, "fn") != LUA_TNIL && parts)
    luaL_error(L, "workload %s: fn and parts: expected one of them", kase->workload);
  if (parts) {
    lua_pop(L, 1);
    tb_parts_push(L, table, kase, w->role == TB_ROLE_COMPILED, &w->parts);
    if (w->role == TB_ROLE_COMPILED) return;
  }
  if (!callable(L, -1))
    luaL_error(L, "workload %s: fn: expected a function, got %s", kase->workload, luaL_typename(L, -1));
  if (function)
    tb_compile_options_apply(L, table, kase->suite, kase->workload, function, kase->backend, kase->mode);
}

void tb_workload_make(lua_State *L, int suite, const char *name, const cJSON *kase, enum tb_role role,
                      const char *backend, const char *mode, struct tb_workload *out) {
  const int top = lua_gettop(L);
  *out = (struct tb_workload){.role = role,
                              .fn = LUA_NOREF,
                              .parts = LUA_NOREF,
                              .args = LUA_NOREF,
                              .check = LUA_NOREF,
                              .results = LUA_NOREF,
                              .last_args = LUA_NOREF};
  const cJSON *seed = cJSON_GetObjectItemCaseSensitive(kase, "seed");
  lua_pushinteger(L, seed ? (lua_Integer)seed->valuedouble : 0);
  tb_lua_call_function(L, "manual_seed", 1, 0);
  lua_getfield(L, suite, "name");
  const char *suite_name = lua_tostring(L, -1);
  lua_getfield(L, suite, "workloads");
  if (lua_getfield(L, -1, name) != LUA_TFUNCTION) luaL_error(L, "the suite has no workload '%s'", name);
  tb_lua_push_json(L, kase);
  lua_call(L, 1, 1);
  const int table = lua_gettop(L);
  if (!lua_istable(L, table))
    luaL_error(L, "workload %s: expected it to return { fn = …, args = … }, got %s", name,
               luaL_typename(L, table));
  check_fields(L, table, name);
  if (read_unsupported(L, table, name, out)) {
    lua_settop(L, top);
    return;
  }
  tb_compile_options_check(L, table, suite_name, name);
  push_function(L, table, &(struct tb_parts_case){suite_name, name, backend, mode}, out);
  out->fn = luaL_ref(L, LUA_REGISTRYINDEX);
  read_args(L, table, name, out);
  out->check = read_check(L, table, name);
  out->flops = read_amount(L, table, "flops", name);
  out->bytes = read_amount(L, table, "bytes", name);
  out->tolerance = read_tolerance(L, table, name);
  lua_settop(L, top);
}
