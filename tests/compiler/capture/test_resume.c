/* Steps and continuations against plain Lua: results, what is called in which order, error messages with
 * their names and lines. */
#include "tests/compiler/lua/snippet.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/compiler/capture/resume_driver.h"

/* Opcodes that a step begins with: all but EXTRAARG, and but TFORLOOP and LOADKX, which have tests of their
 * own. */
enum {
  MOST_STOPS = 150,
  CASES_AT_LEAST = 115,
  OPCODES_AT_LEAST = 80,
  CUTS_AT_LEAST = 4000,
  OPEN_AT_LEAST = 50,
  KEPT_AT_LEAST = 100
};

static void load_file(lua_State *L, const char *name) {
  const char *root = getenv("TB_SRCDIR");
  char path[1024];
  snprintf(path, sizeof path, "%s/tests/compiler/capture/%s", root ? root : ".", name);
  if (luaL_loadfile(L, path) != LUA_OK) fail_msg("%s", lua_tostring(L, -1));
}

static void call(lua_State *L, int n_arguments, int n_results) {
  if (lua_pcall(L, n_arguments, n_results, 0) != LUA_OK) fail_msg("%s", lua_tostring(L, -1));
}

static void check_count(lua_State *L, const char *name, int least) {
  lua_getfield(L, -1, name);
  if (lua_tointeger(L, -1) < least)
    fail_msg("%s: %d, not %d at least", name, (int)lua_tointeger(L, -1), least);
  lua_pop(L, 1);
}

static int open_plain(void **state) {
  lua_State *L = luaL_newstate();
  if (!L) return -1;
  luaL_openlibs(L);
  *state = L;
  return 0;
}

static void test_cases(void **state) {
  lua_State *L = *state;
  load_file(L, "resume.lua");
  tests_open_resume_driver(L);
  load_file(L, "resume_cases.lua");
  call(L, 0, 1);
  lua_pushinteger(L, MOST_STOPS);
  call(L, 3, 2);
  if (*lua_tostring(L, -2)) fail_msg("%s", lua_tostring(L, -2));
  check_count(L, "cases", CASES_AT_LEAST);
  check_count(L, "opcodes", OPCODES_AT_LEAST);
  check_count(L, "cut", CUTS_AT_LEAST);
  check_count(L, "open", OPEN_AT_LEAST);
  check_count(L, "kept", KEPT_AT_LEAST);
}

/* Each instruction of a long loop is a step of its own: frames that did not go would overflow the stack. */
static void test_frames_go(void **state) {
  lua_State *L = *state;
  tests_open_resume_driver(L);
  lua_setglobal(L, "driver");
  run(L, "local function f(n, ...) local s = 0; for i = 1, n do s = s + i % 7 + select('#', ...) end return "
         "s, ... end\n"
         "local o, cache = driver.open(f), {}\n"
         "local function go(pc, ...) cache[pc] = cache[pc] or assert(o:step(pc, -1, go)); return cache[pc], "
         "... end\n"
         "local step = go(0)\n"
         "local a, b, c = step(50000, 'x', nil)\n"
         "local d, e, g = f(50000, 'x', nil)\n"
         "assert(a == d and b == e and c == g and a > 0)");
}

/* Yields out of a unit, and across the C function at its exit's return. */
static void test_yields(void **state) {
  lua_State *L = *state;
  tests_open_resume_driver(L);
  lua_setglobal(L, "driver");
  run(L,
      "local yield, meta = coroutine.yield, { __add = function(a, b) return coroutine.yield('add', b) end, "
      "__lt = function() return coroutine.yield('lt') end,\n"
      "  __index = function(_, k) return coroutine.yield('index', k) end, __concat = function() return "
      "coroutine.yield('concat') end }\n"
      "local function f(t, ...)\n"
      "  local a = t + 1; local b = t < t; local c = t.key; local d = t .. 'x'\n"
      "  for i in yield, 'state' do if i > 20 then break end a = a + i end\n"
      "  local list = { yield('open', ...) }\n"
      "  return a, b, c, d, #list, yield(...)\n"
      "end\n"
      "local o, cache = driver.open(f), {}\n"
      "local function go(pc, ...) cache[pc] = cache[pc] or assert(o:step(pc, -1, go)); return cache[pc], ... "
      "end\n"
      "local step = go(0)\n"
      "local function trace(f)\n"
      "  local co, text, n, t = coroutine.create(f), {}, 10, setmetatable({}, meta)\n"
      "  local got = table.pack(coroutine.resume(co, t, 'v1', 'v2'))\n"
      "  while true do\n"
      "    for i = 1, got.n do text[#text + 1] = tostring(got[i]) end\n"
      "    if coroutine.status(co) == 'dead' then return table.concat(text, ' ') end\n"
      "    n = n + 3\n"
      "    got = table.pack(coroutine.resume(co, n, n))\n"
      "  end\n"
      "end\n"
      "local want, got = trace(f), trace(step)\n"
      "assert(want == got and #want > 60, got .. '\\n' .. want)\n"
      "local co = coroutine.wrap(o:step(0, -1, function() return yield, 'a C function', 'at an exit' end))\n"
      "assert(table.concat({ co(1) }, ' ') == 'a C function at an exit')\n"
      "assert(table.concat({ co('its', 'results') }, ' ') == 'its results')");
}

/* TFORLOOP alone: Lua runs it as a part of TFORCALL, so no run can be stopped there; a trace can. */
static void test_iteration_ends(void **state) {
  lua_State *L = *state;
  tests_open_resume_driver(L);
  lua_setglobal(L, "driver");
  run(L, "local function f(s, next) for i, v in next, 3, 0 do s = s + i * 10 + v end return s, 'end' end\n"
         "local function upto(n, i) if i < n then return i + 1, i * 100 end end\n"
         "local o, pc = driver.open(f), 0\n"
         "while o:opcode(pc) ~= 'TFORLOOP' do pc = pc + 1 end\n"
         "local step = o:step(pc, -1, function(to, ...) return o:continuation(to), ... end)\n"
         "local a, b = step(5, upto, upto, 3, nil, nil, 2, 100)\n" /* s, next, the loop's four, i, v */
         "assert(a == 5 + 20 + 100 + 30 + 200 and b == 'end', a)\n"
         "a, b = step(5, upto, upto, 3, nil, nil, nil, nil)\n"
         "assert(a == 5 and b == 'end', a)");
}

/* The step of TFORPREP runs the whole loop when it has a closing value; an argument too many lies in the
 * register above it. */
static void test_closing_values(void **state) {
  lua_State *L = *state;
  tests_open_resume_driver(L);
  lua_setglobal(L, "driver");
  run(L, "local closed, left\n"
         "local closing = setmetatable({}, { __close = function() closed = true end })\n"
         "local function f(s, next, c) for i in next, 3, 0, c do s = s + i; assert(not closed) end return s "
         "end\n"
         "local function upto(n, i) if i < n then return i + 1 end end\n"
         "local o, pc = driver.open(f), 0\n"
         "while o:opcode(pc) ~= 'TFORPREP' do pc = pc + 1 end\n"
         "local step = o:step(pc, -1, function(to, ...) left = true; return o:continuation(to), ... end)\n"
         "assert(step(5, upto, closing, upto, 3, 0, closing, nil) == 11 and closed and not left)\n"
         "closed = nil\n"
         "assert(step(5, upto, closing, upto, 3, 0, false, closing) == 11 and not closed and left)");
}

/* Lua up to 5.4.4 names the line of the last instruction that could call something: that is the step's
 * own. */
static void test_divisions(void **state) {
  lua_State *L = *state;
  tests_open_resume_driver(L);
  lua_setglobal(L, "driver");
  run(L, "local function f(a, b)\n"
         "  local x = a\n"
         "  x = x // b\n"
         "  return x\n"
         "end\n"
         "local o, pc = driver.open(f), 0\n"
         "while o:opcode(pc) ~= 'IDIV' do pc = pc + 1 end\n"
         "for _, g in ipairs { o:step(pc, -1, print), o:continuation(pc) } do\n"
         "  local ok, e = pcall(g, 1, 0, 1)\n"
         "  assert(e == 'test.lua:3: attempt to divide by zero' or e == \"test.lua:3: attempt to perform "
         "'n//0'\", e)\n"
         "end");
}

/* Constants and jumps beyond 17 bits; the line and the name of an error behind them. */
static void test_far(void **state) {
  lua_State *L = *state;
  tests_open_resume_driver(L);
  lua_setglobal(L, "driver");
  run(L, "local text = {}\n"
         "for i = 1, 131200 do text[i] = 'x=' .. i .. '.5' end\n"
         "local f = load('return function(a) local x\\n' .. table.concat(text, '\\n') .. '\\n if a then "
         "absent(x) end\\n return x, a end', '=far')()\n"
         "local o, near, far = driver.open(f), 0, nil\n"
         "while not far do if o:opcode(near) == 'LOADKX' then far = near end near = near + 1 end\n"
         "near = 5\n"
         "local test = o:length() - 1\n"
         "while o:opcode(test) ~= 'TEST' do test = test - 1 end\n"
         "for _, pc in ipairs { near, far, far + 2, test } do\n"
         "  local piece = assert(o:continuation(pc))\n"
         "  for _, g in ipairs { piece, assert(o:step(pc, -1, function(to, ...) return o:continuation(to), "
         "... end)) } do\n"
         "    local x, a = g(false, 131200.5)\n"
         "    assert(x == 131200.5 and a == false, x)\n"
         "    local ok, e = pcall(g, true, 1)\n"
         "    assert(e == \"far:131202: attempt to call a nil value (global 'absent')\", e)\n"
         "  end\n"
         "end");
}

/* corpus.lua and programs.lua, where "compiled" means: step by step, and at some time a continuation. */
static const char stepping_module[] =
    "local tb, driver, rare = ...\n"
    "local copy, seed = {}, 1\n"
    "for k, v in pairs(tb) do copy[k] = v end\n"
    "function copy.compile(f)\n"
    "  local o, cache, info = driver.open(f), {}, debug.getinfo(f, 'u')\n"
    "  local function go(pc, ...)\n"
    "    seed = (seed * 1103515245 + 12345) % 2147483648\n"
    "    if seed >> 8 < 8388608 // rare then return assert(o:continuation(pc)), ... end\n"
    "    cache[pc] = cache[pc] or assert(o:step(pc, -1, go))\n"
    "    return cache[pc], ...\n"
    "  end\n"
    "  return function(...)\n"
    "    local given, passed, n = table.pack(...), {}, o:registers(0)\n"
    "    for i = 1, n do passed[i] = given[i] end\n"
    "    if info.isvararg then for i = info.nparams + 1, given.n do n = n + 1; passed[n] = given[i] end end\n"
    "    return go(0, table.unpack(passed, 1, n))(table.unpack(passed, 1, n))\n"
    "  end\n"
    "end\n"
    "return copy";

enum { FIRST_PROGRAM = 1, PROGRAMS = 300, RARE = 200 };

static void push_stepping(lua_State *L) {
  if (luaL_loadstring(L, stepping_module) != LUA_OK) fail_msg("%s", lua_tostring(L, -1));
  lua_getglobal(L, "tb");
  tests_open_resume_driver(L);
  lua_pushinteger(L, RARE);
  call(L, 3, 1);
}

static void test_corpus(void **state) {
  lua_State *L = *state;
  load_file(L, "corpus.lua");
  push_stepping(L);
  call(L, 1, 2);
  if (*lua_tostring(L, -2)) fail_msg("%s", lua_tostring(L, -2));
  assert_true(lua_tointeger(L, -1) > 0);
}

/* Lua up to 5.4.4 tells any earlier line for these two errors. */
static const char without_lines[] =
    "local plain = pcall\n"
    "local function strip(ok, e, ...) if not ok and type(e) == 'string' then e = e:gsub(':%d+: (attempt to "
    "divide by zero)', '%1'):gsub(\":%d+: (attempt to perform 'n%%%%0')\", '%1') end return ok, e, ... end\n"
    "function pcall(...) return strip(plain(...)) end";

static void test_programs(void **state) {
  lua_State *L = *state;
  run(L, without_lines);
  load_file(L, "programs.lua");
  push_stepping(L);
  lua_pushinteger(L, FIRST_PROGRAM);
  lua_pushinteger(L, PROGRAMS);
  call(L, 3, 2);
  if (*lua_tostring(L, -2)) fail_msg("%s", lua_tostring(L, -2));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_frames_go, open_plain, close_state),
      cmocka_unit_test_setup_teardown(test_yields, open_plain, close_state),
      cmocka_unit_test_setup_teardown(test_iteration_ends, open_plain, close_state),
      cmocka_unit_test_setup_teardown(test_far, open_plain, close_state),
      cmocka_unit_test_setup_teardown(test_closing_values, open_plain, close_state),
      cmocka_unit_test_setup_teardown(test_divisions, open_plain, close_state),
      cmocka_unit_test_setup_teardown(test_corpus, open_state, close_state),
      cmocka_unit_test_setup_teardown(test_programs, open_state, close_state),
      cmocka_unit_test_setup_teardown(test_cases, open_plain, close_state)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
