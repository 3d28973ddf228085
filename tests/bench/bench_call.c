/* What a call costs before any work: an eager addition of two one-element tensors from Lua, and a compiled
 * function of ten and more guards, kernel and result included. An empty Lua call in the same turn says what
 * the loop itself costs; the fastest turn counts.
 *
 *     bench_call
 *
 * Not part of the test suite: it states times. */
#include <stdio.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "tcompile.h"

static const char PROGRAM[] =
    "local tb = require 'tbench'\n"
    "local CALLS, TURNS = 20000, 15\n"
    "local x, y = tb.randn({1}), tb.randn({1})\n"
    "local add = function() return x + y end\n"
    "local model = {scale = 2, shift = 3, on = true, name = 'm', inner = {gain = 0.5, bias = 1}}\n"
    "local guarded = tb.compile(function(a, b)\n"
    "  local i = model.inner\n"
    "  if model.on and model.name == 'm' then return (a * model.scale + model.shift) * i.gain + b * i.bias "
    "end\n"
    "  return a\n"
    "end)\n"
    "local call = function() return guarded(x, y) end\n"
    "local empty = function() return x end\n"
    "local function time(f)\n"
    "  local start = os.clock()\n"
    "  for _ = 1, CALLS do f() end\n"
    "  return (os.clock() - start) / CALLS * 1e9\n"
    "end\n"
    "call()\n"
    "local best = {empty = 1e18, add = 1e18, call = 1e18}\n"
    "for _ = 1, TURNS do\n"
    "  best.empty = math.min(best.empty, time(empty))\n"
    "  best.add = math.min(best.add, time(add))\n"
    "  best.call = math.min(best.call, time(call))\n"
    "end\n"
    "print(('eager add of one element   %5.0f ns (the loop and an empty call: %.0f ns)'):format(best.add, "
    "best.empty))\n"
    "print(('compiled call, %2d guards   %5.0f ns in all'):format(tb.stats(guarded).guards, best.call))\n";

int main(void) {
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  luaL_requiref(L, "tbench", luaopen_tbench, 0);
  const int status = luaL_dostring(L, PROGRAM);
  if (status) fprintf(stderr, "%s\n", lua_tostring(L, -1));
  lua_close(L);
  return status != 0;
}
