/* Which library functions are known, and the general handlers.
 *
 * Functions are recognised by identity: the C functions that a fresh state has under the names. A program
 * that puts another function under such a name, whenever it does so, calls that other function, here as in
 * plain Lua. */
#include "capture/library/library.h"
#include "capture/trace/frames.h"
#include "capture/trace/library_seam.h"

#include <lauxlib.h>
#include <lualib.h>
#include <string.h>

struct row {
  const char *table, *name;
  tc_library_fn run;
};

static const struct row rows[] = {
#define TC_LIBRARY(table, name, handler) {table, name, tc_library_##handler},
#include "capture/library/library.def"
#undef TC_LIBRARY
};
enum { ROWS = sizeof rows / sizeof *rows };

static const char registry_key = 'l';

/* The C functions that `factory` of a library, called with an empty table or string, gives as iterators. */
static void find_iterator(lua_State *L, lua_CFunction *functions, const char *library, const char *factory) {
  lua_getglobal(L, library);
  lua_getfield(L, -1, factory);
  if (!strcmp(library, LUA_GNAME))
    lua_newtable(L);
  else
    lua_pushliteral(L, "");
  lua_call(L, 1, 1);
  for (int k = 0; k < ROWS; k++)
    if (!strcmp(rows[k].table, "iterator") && !strcmp(rows[k].name, factory))
      functions[k] = lua_tocfunction(L, -1);
  lua_pop(L, 2);
}

/* Stack of a fresh state: light userdata of an array that takes the C functions of the rows. */
static int find_functions(lua_State *L) {
  static const luaL_Reg libraries[] = {{LUA_LOADLIBNAME, luaopen_package}, {LUA_GNAME, luaopen_base},
                                       {LUA_COLIBNAME, luaopen_coroutine}, {LUA_TABLIBNAME, luaopen_table},
                                       {LUA_STRLIBNAME, luaopen_string},   {LUA_MATHLIBNAME, luaopen_math},
                                       {LUA_UTF8LIBNAME, luaopen_utf8}};
  lua_CFunction *functions = lua_touserdata(L, 1);
  for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
    luaL_requiref(L, libraries[i].name, libraries[i].func, 1);
    for (int k = 0; k < ROWS; k++) {
      if (strcmp(rows[k].table, libraries[i].name)) continue;
      lua_getfield(L, -1, rows[k].name);
      functions[k] = lua_tocfunction(L, -1);
      lua_pop(L, 1);
    }
    lua_pop(L, 1);
  }
  find_iterator(L, functions, LUA_GNAME, "ipairs");
  find_iterator(L, functions, LUA_UTF8LIBNAME, "codes");
  /* The C functions that make operators on strings that are numbers. */
  lua_pushliteral(L, "");
  lua_getmetatable(L, -1);
  for (int k = 0; k < ROWS; k++) {
    if (strcmp(rows[k].table, "metamethod")) continue;
    lua_getfield(L, -1, rows[k].name);
    functions[k] = lua_tocfunction(L, -1);
    lua_pop(L, 1);
  }
  lua_pop(L, 2);
  return 0;
}

static bool find_in_fresh_state(lua_CFunction *functions) {
  lua_State *fresh = luaL_newstate();
  if (!fresh) return false;
  lua_pushcfunction(fresh, find_functions);
  lua_pushlightuserdata(fresh, functions);
  const bool found = lua_pcall(fresh, 1, 0, 0) == LUA_OK;
  lua_close(fresh);
  return found;
}

/* The C functions of the rows, in a userdata of the registry, NULL where Lua has none; NULL itself when
 * memory is out. */
static const lua_CFunction *known_functions(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &registry_key) != LUA_TUSERDATA) {
    lua_pop(L, 1);
    lua_CFunction *functions = lua_newuserdatauv(L, sizeof *functions * ROWS, 0);
    memset(functions, 0, sizeof *functions * ROWS);
    if (!find_in_fresh_state(functions)) {
      lua_pop(L, 1);
      return NULL;
    }
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &registry_key);
  }
  const lua_CFunction *functions = lua_touserdata(L, -1);
  lua_pop(L, 1); /* the registry keeps it */
  return functions;
}

void tc_capture_prepare(lua_State *L) { (void)known_functions(L); }

bool tc_capture_is_protected_call(lua_State *L, int index) {
  const lua_CFunction function = lua_tocfunction(L, index), *known = function ? known_functions(L) : NULL;
  for (int i = 0; i < ROWS && known; i++)
    if (known[i] == function) return rows[i].run == tc_library_pcall || rows[i].run == tc_library_xpcall;
  return false;
}

bool tc_library_is_protected(tc_library_fn library) {
  return library == tc_library_pcall || library == tc_library_xpcall;
}

static bool is_named(const struct row *row, const char *name) {
  return name && !strcmp(row->table, "tbench") && !strcmp(row->name, name);
}

tc_library_fn tc_library_find(struct tc_trace *t, int index, const char **name) {
  const lua_CFunction *known = known_functions(t->L), function = lua_tocfunction(t->L, index);
  const char *own = t->host->name_at ? t->host->name_at(t->L, index) : NULL;
  for (int i = 0; i < ROWS && known; i++) {
    if (known[i] != function && !is_named(&rows[i], own)) continue;
    *name = rows[i].name;
    return rows[i].run;
  }
  return NULL;
}

bool tc_library_push(struct tc_trace *t, const char *table, const char *name) {
  const lua_CFunction *known = known_functions(t->L);
  for (int i = 0; i < ROWS && known; i++) {
    if (!known[i] || strcmp(rows[i].table, table) || strcmp(rows[i].name, name)) continue;
    lua_pushcfunction(t->L, known[i]);
    return true;
  }
  return false;
}

tc_status tc_bad_argument(struct tc_trace *t, size_t at) {
  for (int i = 0; i < 2 && t->limit > at + 1 + (size_t)i; i++) tc_use_type(t, &t->slots[at + 1 + (size_t)i]);
  return tc_trace_raises(t, "bad argument to %s",
                         t->slots[at].kind == TC_IS_NATIVE && t->slots[at].native->name
                             ? t->slots[at].native->name
                             : "a function");
}

tc_status tc_integer_argument(struct tc_trace *t, size_t at, int n_args, int number, lua_Integer otherwise,
                              lua_Integer *out) {
  struct tc_tracked value = tc_argument(t, at, n_args, number);
  int is_integer = 0;
  const tc_status status = tc_use(t, &value);
  if (status) return status;
  *out = otherwise;
  if (value.kind == TC_IS_NIL) return TC_OK;
  if (!tc_is_scalar(&value)) return tc_bad_argument(t, at);
  tc_push(t, &value);
  *out = lua_tointegerx(t->L, -1, &is_integer);
  lua_pop(t->L, 1);
  return is_integer ? TC_OK : tc_bad_argument(t, at);
}

tc_status tc_refuse_objects(struct tc_trace *t, size_t at, int n_args, const char *name) {
  for (int i = 0; i < n_args; i++) {
    const struct tc_tracked *value = &t->slots[at + 1 + (size_t)i];
    if (value->kind == TC_IS_TENSOR)
      return tc_trace_break(t, TC_BREAK_TENSOR_VALUE, "call of %s with a tensor", name);
    if (!tc_is_scalar(value))
      return tc_trace_break(t, TC_BREAK_C_FUNCTION, "call of %s with an object", name);
  }
  return TC_OK;
}

tc_status tc_take_results(struct tc_trace *t, size_t at, int top, const char *name, int *n_results) {
  const int count = lua_gettop(t->L) - top;
  tc_status status = tc_reserve(t, at, (size_t)count);
  for (int i = count - 1; i >= 0 && !status; i--) {
    bool is_scalar;
    status = tc_pop_scalar(t, &is_scalar, &t->slots[at + (size_t)i]);
    if (!status && !is_scalar) status = tc_trace_break(t, TC_BREAK_C_FUNCTION, "%s gives an object", name);
  }
  *n_results = count;
  return status;
}

/* Calls the function itself on constants. */
tc_status tc_library_pure(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  lua_State *L = t->L;
  const struct tc_tracked callee = t->slots[at];
  const int top = lua_gettop(L);
  tc_status status = tc_refuse_objects(t, at, n_args, callee.native->name);
  if (status) return status;
  luaL_checkstack(L, n_args + LUA_MINSTACK, NULL);
  tc_push(t, &callee);
  for (int i = 0; i < n_args && !status; i++) {
    struct tc_tracked *value = &t->slots[at + 1 + (size_t)i];
    status = tc_use(t, value);
    tc_push(t, value);
  }
  if (status) return status;
  if (lua_pcall(L, n_args, LUA_MULTRET, 0) != LUA_OK) {
    lua_settop(L, top);
    return tc_trace_raises(t, "%s raises an error", callee.native->name);
  }
  return tc_take_results(t, at, top, callee.native->name, n_results);
}

tc_status tc_library_prints(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  (void)n_results;
  for (int i = 0; i < n_args; i++)
    if (t->slots[at + 1 + (size_t)i].kind == TC_IS_TENSOR)
      return tc_trace_break(t, TC_BREAK_TENSOR_VALUE, "call of print with a tensor");
  return tc_trace_break(t, TC_BREAK_SIDE_EFFECT, "call of print");
}

tc_status tc_library_coroutine(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  (void)n_args, (void)n_results;
  return tc_trace_break(t, TC_BREAK_COROUTINE, "call of coroutine.%s", t->slots[at].native->name);
}
