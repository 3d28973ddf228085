/* Which registers are live, and which frames may be left: small functions whose answer can be read off.
 * test_resume overwrites dead registers in running functions. */
#include "tests/compiler/lua/snippet.h"

#include <stdlib.h>

#include "tests/compiler/capture/resume_driver.h"

static int open_driver(void **state) {
  lua_State *L = luaL_newstate();
  if (!L) return -1;
  luaL_openlibs(L);
  tests_open_resume_driver(L);
  lua_setglobal(L, "driver");
  run(L, "local function first(o, name, from) for pc = from or 0, o:length() - 1 do if o:opcode(pc) == name "
         "then return pc end end error('no ' .. name) end\n"
         "function at(f, name, n) local o = driver.open(f); local pc = -1; for _ = 1, n or 1 do pc = "
         "first(o, name, pc + 1) end return o, pc end\n"
         "function live(f, name, n) local o, pc = at(f, name, n); local s = ''; for i = 0, 9 do s = s .. "
         "(o:is_live(pc, i) and i or '-') end return s end\n"
         "function cut(f, name, n) local o, pc = at(f, name, n); local ok, why = o:may_cut(pc); return ok "
         "and 'yes' or why end\n");
  *state = L;
  return 0;
}

static void test_straight(void **state) {
  lua_State *L = *state;
  run_gives(L, "return live(function(a, b) local c = a + b; return c end, 'ADD')", "01--------");
  run_gives(L, "return live(function(a, b) local c = a + b; return c end, 'MMBIN')", "01--------");
  run_gives(L, "return live(function(a, b) local c = a + b; return c end, 'RETURN1')", "--2-------");
  run_gives(L, "return live(function(a, b) a = 1; return a, b end, 'LOADI')", "-1--------");
  run_gives(L, "return live(function(a, b) local x, y; return b, x, y end, 'LOADNIL')", "-1--------");
  run_gives(L, "return live(function(a, b, c) return a(c) .. b end, 'CALL')", "-1-34-----");
  run_gives(L, "return live(function(a, b, c) local t = { c, b }; return t end, 'SETLIST')", "---345----");
  run_gives(L, "return live(function(a, ...) return a, ... end, 'VARARG')", "-1--------");
  run_gives(L, "return live(function(a, ...) a() end, 'RETURN')", "----------");
  run_gives(L, "return live(function(a, b) return { a() } end, 'CALL')", "--23------");
  run_gives(L, "return live(function(a, b) return a:m(b) end, 'SELF')", "01--------");
  run_gives(L, "return live(function(a, b) return a:m(b) end, 'TAILCALL')", "--234-----");
}

static void test_branches(void **state) {
  lua_State *L = *state;
  run_gives(L, "return live(function(a, b, c) if a then return b end return c end, 'TEST')", "012-------");
  run_gives(L, "return live(function(a, b, c) local x = a and b; return x end, 'TESTSET')",
            "01--------"); /* x is not read from before */
  run_gives(L, "return live(function(a, b, c) if a then b = c end return b end, 'TEST')", "012-------");
  run_gives(L,
            "return live(function(a) local s = 0; while a do s = s + 1; a = s < 3 end return s end, 'ADDI')",
            "-1--------");
}

static void test_loops(void **state) {
  lua_State *L = *state;
  run_gives(L, "return live(function(n) local s = 0; for i = 1, n do s = s + i end return s end, 'FORPREP')",
            "-1234-----"); /* the variable is set by it */
  run_gives(L, "return live(function(n) local s = 0; for i = 1, n do s = s + i end return s end, 'FORLOOP')",
            "-1234-----");
  run_gives(L, "return live(function(t) for k, v in t do end end, 'TFORLOOP')",
            "-12--5----"); /* R[A] … for the next turn */
  run_gives(L, "return live(function(t) local s; for k, v in t do s = v end return s end, 'TFORPREP')",
            "-12345----"); /* the closing value */
  run_gives(L, "return live(function(t) local s; for k, v in t do s = v end return s end, 'TFORCALL')",
            "-1234-----");
  run_gives(L, "return live(function(t) local s; for k, v in t do s = v end return s end, 'TFORLOOP')",
            "-123--67--"); /* the control value is set by it */
}

static void test_captured(void **state) {
  lua_State *L = *state;
  run_gives(
      L, "return live(function(a) local n = a; local function g() return n end; return g(a) end, 'CLOSURE')",
      "01--------");
  run_gives(
      L, "return live(function(a) local n = a; local function g() return n end; return g(a) end, 'TAILCALL')",
      "-1-34-----"); /* n: while it is shared */
}

static void test_cuts(void **state) {
  lua_State *L = *state;
  static const char shared[] = "a local variable that a closure has captured is written later",
                    closing[] = "a to-be-closed variable is in scope";
  run_gives(
      L,
      "return cut(function(a) local n = a; local g = function() return n end; log(); return n end, 'CALL')",
      "yes");
  run_gives(
      L, "return cut(function(a) local n = a; local g = function() n = 1 end; log(); return n end, 'CALL')",
      shared);
  run_gives(
      L, "return cut(function(a) local n = a; local g = function() n = 1 end; log(); return a end, 'CALL')",
      "yes"); /* nobody looks */
  run_gives(L,
            "return cut(function(a) local n = a; local g = function() return function() n = 1 end end; "
            "log(); return n end, 'CALL')",
            shared);
  run_gives(L,
            "return cut(function(a) local n = a; local g = function() return n end; log(); n = 2; return g "
            "end, 'CALL')",
            shared);
  run_gives(L,
            "return cut(function(a) local n = a; local g = function() return n end; n = 2; log(); return g "
            "end, 'CALL')",
            "yes"); /* written before */
  run_gives(
      L, "return cut(function(a) local n = a; log(); local g = function() n = 1 end; return n end, 'CALL')",
      "yes"); /* captured later */
  run_gives(L,
            "return cut(function(a) local n = a; local g = function() return n end; log(); return function() "
            "n = 1 end end, 'CALL')",
            shared);
  run_gives(L,
            "return cut(function(a) do local n = a; local g = function() n = 1 end; g(n) end log(); local y "
            "= 1; y = 2; return y end, 'CALL', 2)",
            "yes"); /* out of scope */
  run_gives(L,
            "return cut(function(a) for i = 1, 3 do local n = i; local g = function() return n end; log(g) "
            "end end, 'FORLOOP')",
            "yes");
  run_gives(L,
            "return cut(function(a) local n = 0; for i = 1, 3 do log(function() return n end); n = n + 1 end "
            "end, 'FORLOOP')",
            shared);
  run_gives(L,
            "return cut(function(a) local n = 0; for i = 1, 3 do log(function() return n end); n = n + 1 end "
            "end, 'FORPREP')",
            "yes");
  run_gives(L, "return cut(function(a) do local h <close> = a; log() end log() end, 'TBC')", "yes");
  run_gives(L, "return cut(function(a) do local h <close> = a; log() end log() end, 'CALL')", closing);
  run_gives(L, "return cut(function(a) do local h <close> = a; log() end log() end, 'CALL', 2)", "yes");
  run_gives(L,
            "return cut(load(string.dump(function(a) local n = a; local g = function() n = 1 end; log(); "
            "return n end, true)), 'CALL')",
            shared); /* stripped */
  run_gives(L, "return cut(function(a) return { 70000, x = a } end, 'EXTRAARG')",
            "this is inside of an instruction");
}

static void test_limits(void **state) {
  lua_State *L = *state;
  run(L, "function many(n) local s = {} for i = 1, n do s[i] = 'a' end return load('return function(a, f) "
         "local t = f; return f(' .. table.concat(s, ',') .. ') + 1 end')() end");
  run_gives(L, "return cut(many(240), 'CALL')", "yes");
  run_gives(L, "return cut(many(249), 'CALL')", "yes");
  run_gives(L, "return cut(many(250), 'CALL')", "too many registers are in use");
  run(L, "local u = {} for i = 1, 255 do u[i] = 'u' .. i end\n"
         "local text = 'local ' .. table.concat(u, ',', 1, 150) .. '\\nreturn (function() local ' .. "
         "table.concat(u, ',', 151, 255) .. '\\n local function f() local s = 0 '\n"
         "for i = 1, 255 do text = text .. ' s = u' .. i end\n"
         "full = load(text .. ' return s end return f end)()')()");
  run_gives(L, "return cut(full, 'LOADI')", "the function has too many upvalues");
}

/* What belongs together. */
static void test_units(void **state) {
  lua_State *L = *state;
  run(L, "function unit(f, name, n) local o, pc = at(f, name, n); local first, last, exits, why = "
         "o:unit(pc); for i, e in ipairs(exits) do exits[i] = e - pc end\n"
         "return ('%d %d: %s%s'):format(first - pc, last - pc, table.concat(exits, ' '), why and ' ' .. why "
         "or '') end");
  run_gives(L, "return unit(function(a, b) return (a + b) end, 'ADD')", "0 1: 2");
  run_gives(L, "return unit(function(a, b) return (a + b) end, 'MMBIN')", "0 0: 1");
  run_gives(L, "return unit(function(a, b) if a < b then return 1 end return 2 end, 'LT')", "0 1: 4 2");
  run_gives(L, "return unit(function(a, b) if a then end end, 'TEST')",
            "0 1: 2"); /* both ways lead to one place */
  run_gives(L, "return unit(function(a) local t = { a }; return t end, 'NEWTABLE')", "0 1: 2");
  run_gives(L, "return unit(function(a) local t = { a }; return t end, 'SETLIST')", "0 0: 1");
  run_gives(L, "return unit(function(a, f) local t = { f(a) }; return t end, 'CALL')", "0 1: 2");
  run_gives(L, "return unit(function(a, f) local t = f(f(f(a))); return t end, 'CALL')", "0 2: 3");
  run_gives(L, "return unit(function(f, ...) f(...) end, 'VARARG')", "0 1: 2");
  run_gives(L, "return unit(function(f, ...) return ... end, 'VARARG')", "0 1: ");
  run_gives(L, "return unit(function(f) return f() end, 'TAILCALL')", "0 0: ");
  run_gives(L, "return unit(function(a) return a > 1 end, 'LFALSESKIP')", "0 0: 2");
  run_gives(L, "return unit(function(n) for i = 1, n do end end, 'FORPREP')", "0 0: 1 2");
  run_gives(L, "return unit(function(n) for i = 1, n do end end, 'FORLOOP')", "0 0: 0 1");
  run_gives(L, "return unit(function(t) for k in t do log(k) end end, 'TFORPREP')", "0 5: 1 6");
  run_gives(L, "return unit(function(t) for k in t do log(k) end end, 'TFORCALL')", "0 1: -3 2");
  run_gives(L, "return unit(function(t) for k in t do end end, 'TFORCALL')", "0 1: 0 2");
  run_gives(L, "return unit(function(t) for k in t do log(k) end end, 'TFORLOOP')", "0 0: -4 1");
  run_gives(L, "return unit(function(...) local a = 1; return a end, 'VARARGPREP')", "0 1: 2");
  run_gives(L,
            "return unit(function(a) local n = a; local f = function() n = 1 end; log(n, f) end, 'CLOSURE')",
            "0 0: 3 a local variable that a closure has captured is written later");
  run_gives(L,
            "return unit(function(a) local n = a; local f = function() n = 1 end; while log(n, f) do end "
            "end, 'CLOSURE')",
            "0 0: 8 a local variable that a closure has captured is written later");
  run_gives(L, "return unit(function(a) local n <close> = a; log(n) end, 'TBC')",
            "0 0:  a to-be-closed variable is in scope");
  run_gives(L, "return unit(function(a) do local n <close> = a; log(n) end; log(a) end, 'TBC')",
            "0 0: 5 a to-be-closed variable is in scope");
  run_gives(
      L, "return unit(function(a) do local n <close> = a; for k in a do log(k) end end; log(a) end, 'TBC')",
      "0 0:  a to-be-closed variable is in scope");
  run_gives(L, "return unit(function(a) while a do local n <close> = a; a = log(n) end; log(a) end, 'TBC')",
            "0 0: 6 a to-be-closed variable is in scope");
  run_raises(L, "unit(function(f, ...) f(...) end, 'CALL')", "open values");
  run_raises(L, "unit(function() return {} end, 'EXTRAARG')", "stands without what belongs to it");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_straight, open_driver, close_state),
                                     cmocka_unit_test_setup_teardown(test_branches, open_driver, close_state),
                                     cmocka_unit_test_setup_teardown(test_loops, open_driver, close_state),
                                     cmocka_unit_test_setup_teardown(test_captured, open_driver, close_state),
                                     cmocka_unit_test_setup_teardown(test_cuts, open_driver, close_state),
                                     cmocka_unit_test_setup_teardown(test_limits, open_driver, close_state),
                                     cmocka_unit_test_setup_teardown(test_units, open_driver, close_state)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
