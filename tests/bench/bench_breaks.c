/* What graph breaks cost: functions of the same additions with 0 to 32 breaks among them, plain and compiled,
 * in turn in one process.
 *
 *     bench_breaks
 *
 * prints for each number of breaks the fastest turn of both sides, compiled over plain, and what a break
 * costs: the compiled time beyond that without breaks, less the breaking calls themselves as plain Lua makes
 * them, over the breaks. A break ends one graph and begins another, so that its cost holds the launch of one
 * more graph.
 *
 * Not part of the test suite: it states times. */
#include <stdio.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "tcompile.h"

static const char PROGRAM[] =
    "local tb = require 'tbench'\n"
    "local CALLS, TURNS, OPERATIONS, MOST = 2000, 25, 32, 32\n"
    "local step = tb.disable(function() end)\n"
    "local function make(breaks, operations)\n"
    "  local lines, done = {'local step = ... return function(x)'}, 0\n"
    "  for i = 1, OPERATIONS do\n"
    "    if operations then lines[#lines + 1] = ('x = x + %g'):format(i / 64) end\n"
    "    while done * OPERATIONS < i * breaks do lines[#lines + 1], done = 'step()', done + 1 end\n"
    "  end\n"
    "  lines[#lines + 1] = 'return x end'\n"
    "  return load(table.concat(lines, '\\n'))(step)\n"
    "end\n"
    "local x = tb.randn({64})\n"
    "local function time(f)\n"
    "  local start = os.clock()\n"
    "  for _ = 1, CALLS do f(x) end\n"
    "  return (os.clock() - start) / CALLS * 1e9\n"
    "end\n"
    "local sides, best = {}, {}\n"
    "local function add(name, f) sides[#sides + 1], best[name] = {name, f}, 1e18 end\n"
    "local counts = {0, 1, 2, 4, 8, 16, 32}\n"
    "for _, n in ipairs(counts) do\n"
    "  local compiled = tb.compile(make(n, true))\n"
    "  compiled(x)\n"
    "  compiled(x)\n"
    "  assert(#tb.stats(compiled).breaks == n)\n"
    "  add('plain' .. n, make(n, true))\n"
    "  add('compiled' .. n, compiled)\n"
    "end\n"
    "add('no calls', make(0, false))\n"
    "add('calls', make(MOST, false))\n"
    "for _ = 1, TURNS do\n"
    "  for _, side in ipairs(sides) do best[side[1]] = math.min(best[side[1]], time(side[2])) end\n"
    "end\n"
    "local call = (best.calls - best['no calls']) / MOST\n"
    "print(('the breaking call in plain Lua  %5.0f ns'):format(call))\n"
    "for _, n in ipairs(counts) do\n"
    "  local plain, compiled = best['plain' .. n], best['compiled' .. n]\n"
    "  local each = n > 0 and (', a break %5.0f ns'):format((compiled - best.compiled0) / n - call) or ''\n"
    "  print(('%2d breaks: plain %6.2f µs, compiled %6.2f µs, ratio %.2f%s'):format(n, plain / 1e3, compiled "
    "/ 1e3, compiled / plain, each))\n"
    "end\n";

int main(void) {
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  luaL_requiref(L, "tbench", luaopen_tbench, 0);
  const int status = luaL_dostring(L, PROGRAM);
  if (status) fprintf(stderr, "%s\n", lua_tostring(L, -1));
  lua_close(L);
  return status != 0;
}
