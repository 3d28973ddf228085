/* Fuzz target: Lua source text. What Lua's compiler makes of it is taken apart and put together again; Lua
 * loads every piece, and runs the text plain, as a copy, and instruction by instruction: the three must say
 * the same.
 *
 * Runs are bounded in instructions, depth and memory, and see no function that could run for long by itself,
 * or tell an address or the time of a collection. A run that meets a bound says nothing. Lua up to 5.4.4
 * tells an integer division by a constant zero with the line of whatever saved its place before: such lines
 * are not compared. */
#include <lauxlib.h>
#include <lualib.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/compiler/capture/resume_driver.h"
#include "tests/fuzz/pieces.h"

enum { MOST_INSTRUCTIONS = 4000, EACH_INSTRUCTIONS = 100, MOST_DEPTH = 40, MOST_BYTES = 1 << 24 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

struct bounds {
  size_t used;
  int instructions;
  bool met;
};

static void *allocate(void *data, void *block, size_t old_bytes, size_t new_bytes) {
  struct bounds *bounds = data;
  if (!block) old_bytes = 0;
  if (new_bytes > old_bytes && bounds->used + new_bytes - old_bytes > MOST_BYTES) {
    bounds->met = true;
    return NULL;
  }
  void *moved = new_bytes ? realloc(block, new_bytes) : NULL;
  if (!new_bytes) free(block);
  bounds->used += new_bytes - old_bytes;
  return moved;
}

static void on_event(lua_State *L, lua_Debug *ar) {
  struct bounds *bounds;
  lua_Debug deep;
  lua_getallocf(L, (void **)&bounds);
  if (ar->event == LUA_HOOKCOUNT)
    bounds->instructions += EACH_INSTRUCTIONS;
  else if (lua_getstack(L, MOST_DEPTH, &deep))
    bounds->met = true;
  if (bounds->instructions > MOST_INSTRUCTIONS) bounds->met = true;
  if (bounds->met) luaL_error(L, "bound");
}

/* Coroutines have hooks of their own: there are none. */
static const char setting[] =
    "local driver, text, load = ...\n"
    "local type, tostring, pack, unpack, gsub, open = type, tostring, table.pack, table.unpack, string.gsub, "
    "driver.open\n"
    "local methods = { sub = string.sub, byte = string.byte, char = string.char, upper = string.upper, len = "
    "string.len }\n"
    "getmetatable('').__index = methods\n"
    "local function shown(v)\n"
    "  local kind = type(v)\n"
    "  if kind == 'string' then return (gsub(v, \":%d+: attempt to perform 'n(.-)0'\", \"attempt to perform "
    "'n%10'\")) end\n"
    "  if kind == 'number' then return v == v and math.type(v) .. tostring(v) or 'nan' end\n"
    "  return kind == 'boolean' and tostring(v) or kind\n"
    "end\n"
    "local function environment(log)\n"
    "  local env = { type = type, select = select, ipairs = ipairs, pcall = pcall, xpcall = xpcall, error = "
    "error, assert = assert,\n"
    "    rawget = rawget, rawset = rawset, rawlen = rawlen, rawequal = rawequal, tonumber = tonumber, \n"
    "    setmetatable = function(t, m) assert(not (type(m) == 'table' and rawget(m, '__gc'))) return "
    "setmetatable(t, m) end,\n"
    "    getmetatable = function(t) return type(t) ~= 'string' and getmetatable(t) or nil end,\n"
    "    math = { type = math.type, floor = math.floor, max = math.max, min = math.min, huge = math.huge, pi "
    "= math.pi, maxinteger = math.maxinteger, mininteger = math.mininteger, tointeger = math.tointeger },\n"
    "    table = { pack = table.pack, unpack = table.unpack, concat = table.concat }, string = { sub = "
    "methods.sub, byte = methods.byte, char = methods.char } }\n"
    "  function env.table.insert(t, ...) assert(not getmetatable(t)) return table.insert(t, ...) end\n"
    "  function env.table.remove(t, ...) assert(not getmetatable(t)) return table.remove(t, ...) end\n"
    "  env._G = env\n"
    "  function env.tostring(v) local kind = type(v) return (kind == 'number' or kind == 'string' or v == "
    "nil or kind == 'boolean') and tostring(v) or kind end\n"
    "  function env.print(...) local list = pack(...) for i = 1, list.n do log[#log + 1] = shown(list[i]) "
    "end end\n"
    "  return env\n"
    "end\n"
    "local function stepped(f)\n"
    "  local o, cache, info = open(f), {}, debug.getinfo(f, 'u')\n"
    "  local function go(pc, ...)\n"
    "    if not cache[pc] then local step, why = o:step(pc, -1, go) if not step then assert(pc == 0, why) "
    "step = f end cache[pc] = step end\n"
    "    return cache[pc], ...\n"
    "  end\n"
    "  return function(...)\n"
    "    local given, passed, n = pack(...), {}, o:registers(0)\n"
    "    for i = 1, n do passed[i] = given[i] end\n"
    "    if info.isvararg then for i = info.nparams + 1, given.n do n = n + 1 passed[n] = given[i] end end\n"
    "    return go(0, unpack(passed, 1, n))(unpack(passed, 1, n))\n"
    "  end\n"
    "end\n"
    "local function run(wrap, bounded)\n"
    "  local log = {}\n"
    "  local f = load(text, '=fuzz', 't', environment(log))\n"
    "  local function report(ok, ...)\n"
    "    local list = pack(...)\n"
    "    log[#log + 1] = tostring(ok)\n"
    "    for i = 1, list.n do log[#log + 1] = shown(list[i]) end\n"
    "    return ok and (...)\n"
    "  end\n"
    "  f = wrap(f)\n"
    "  bounded(true)\n"
    "  local given = report(pcall(f, 1, 2.5, 'x'))\n"
    "  bounded(false)\n"
    "  if type(given) == 'function' and debug.getinfo(given, 'S').what == 'Lua' then\n"
    "    given = wrap(given)\n"
    "    bounded(true)\n"
    "    report(pcall(given, 3, '4', {}))\n"
    "    bounded(false)\n"
    "  end\n"
    "  return table.concat(log, ' ')\n"
    "end\n"
    "return run, stepped, function(f) return open(f):copy() end\n";

static int bound(lua_State *L) {
  struct bounds *bounds;
  lua_getallocf(L, (void **)&bounds);
  if (lua_toboolean(L, 1)) bounds->instructions = 0;
  lua_sethook(L, lua_toboolean(L, 1) ? on_event : NULL,
              lua_toboolean(L, 1) ? LUA_MASKCOUNT | LUA_MASKCALL : 0, EACH_INSTRUCTIONS);
  return 0;
}

static int identity(lua_State *L) {
  lua_settop(L, 1);
  return 1;
}

/* Lua must take what was made of its own code. */
static void load_piece(void *data, const struct tc_proto *of, const struct tc_strbuf *chunk) {
  lua_State *L = data;
  (void)of;
  if (luaL_loadbufferx(L, chunk->data, chunk->len, "=piece", "b") == LUA_ERRSYNTAX) abort();
  lua_pop(L, 1);
}

/* Stack: the function of the input. */
static void load_pieces(lua_State *L) {
  struct tc_arena *arena = tc_arena_new(tc_alloc_system());
  struct tc_proto *proto;
  struct tc_error err;
  if (tc_bytecode_of_function(arena, L, &proto, &err)) {
    if (err.status != TC_NOMEM && err.status != TC_LIMIT) abort();
  } else {
    tests_fuzz_pieces(proto, load_piece, L);
  }
  tc_arena_free(arena);
}

/* Stack: run, and a way to wrap; gives the text of the run, or NULL when a bound was met. */
static const char *said(lua_State *L, struct bounds *bounds, int wrap) {
  lua_pushvalue(L, 1);
  lua_pushvalue(L, wrap);
  lua_pushcfunction(L, bound);
  bounds->met = false;
  const int status = lua_pcall(L, 2, 1, 0);
  lua_sethook(L, NULL, 0, 0);
  if (bounds->met) return NULL;
  if (status) {
    fprintf(stderr, "%s\n", lua_tostring(L, -1));
    abort();
  }
  return lua_tostring(L, -1);
}

static void compare_runs(lua_State *L, struct bounds *bounds, const uint8_t *bytes, size_t count) {
  if (luaL_loadbufferx(L, setting, sizeof setting - 1, "=setting", "t")) abort();
  tests_open_resume_driver(L);
  lua_pushlstring(L, (const char *)bytes, count);
  lua_getglobal(L, "load");
  if (lua_pcall(L, 3, 3, 0)) abort(); /* run, stepped, copied */
  lua_pushcfunction(L, identity);
  const char *plain = said(L, bounds, 4);
  for (int wrap = 2; wrap <= 3 && plain; wrap++) {
    const char *other = said(L, bounds, wrap);
    if (!other || !strcmp(plain, other)) continue;
    fprintf(stderr, "plain %s\n%s %s\n", plain, wrap == 2 ? "steps" : "copy ", other);
    abort();
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  struct bounds bounds = {0};
  lua_State *L = lua_newstate(allocate, &bounds);
  luaL_openlibs(L);
  lua_gc(L, LUA_GCSTOP);
  const bool compiles = luaL_loadbufferx(L, (const char *)bytes, count, "=fuzz", "t") == LUA_OK;
  if (compiles) load_pieces(L);
  lua_settop(L, 0);
  if (compiles) compare_runs(L, &bounds, bytes, count);
  lua_close(L);
  return 0;
}
