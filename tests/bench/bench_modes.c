/* What modes and ways of matrix products are worth: the same function in each of them, in turns of one
 * process.
 *
 *     bench_modes
 *
 * prints the fastest turn of each way (products.def) of products of some sizes, in microseconds, and the
 * ratio of the library's to the best; then a chain of 200 small products and one of 60 small kernels in each
 * mode. A call has the checks of its guards in it.
 *
 * Not part of the test suite: it states times. */
#include <stdio.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "base/clock.h"
#include "base/products.h"
#include "tcompile.h"

static const char PROGRAM[] =
    "local tb, names, now = require 'tbench', ...\n"
    "local TURNS, TURN_NS = 15, 2e6\n"
    "local function calls_for(f, a, b)\n"
    "  local start, n = now(), 0\n"
    "  repeat f(a, b) n = n + 1 until now() - start > TURN_NS\n"
    "  return n\n"
    "end\n"
    "local function race(sides, a, b)\n"
    "  local best, calls = {}, {}\n"
    "  for i, f in ipairs(sides) do f(a, b) f(a, b) best[i], calls[i] = 1e18, calls_for(f, a, b) end\n"
    "  for _ = 1, TURNS do\n"
    "    for i, f in ipairs(sides) do\n"
    "      local start = now()\n"
    "      for _ = 1, calls[i] do f(a, b) end\n"
    "      best[i] = math.min(best[i], (now() - start) / calls[i] / 1e3)\n"
    "    end\n"
    "  end\n"
    "  return best\n"
    "end\n"
    "local ways = {}\n"
    "for name in names:gmatch('[%w_]+') do if name ~= 'search' and name ~= 'auto' then ways[#ways + 1] = "
    "name end end\n"
    "print('rows x columns x sum', table.concat(ways, '  '))\n"
    "for _, size in ipairs { {10, 10, 10}, {8, 64, 64}, {32, 32, 32}, {1, 256, 256}, {4, 512, 512}, {10, 10, "
    "1000}, {128, 128, 128}, {256, 256, 256} } do\n"
    "  local m, n, k = table.unpack(size)\n"
    "  local sides, texts = {}, {}\n"
    "  for i, way in ipairs(ways) do sides[i] = tb.compile(function(x, y) return x:matmul(y) end, { options "
    "= { matmul = way, cache = false } }) end\n"
    "  local best = race(sides, tb.randn(m, k), tb.randn(k, n))\n"
    "  for i, us in ipairs(best) do texts[i] = ('%7.2f'):format(us) end\n"
    "  print(('%4d x %4d x %4d  %s  library / best %.2f'):format(m, n, k, table.concat(texts, ' '), best[1] "
    "/ math.min(table.unpack(best))))\n"
    "end\n"
    "local function products(a, b) for _ = 1, 200 do a = a:matmul(b) end return a end\n"
    "local function kernels(a) for _ = 1, 60 do a = (a - a:mean(1, true)):transpose(1, 2) / (a:transpose(1, "
    "2):abs():sum(2, true) + 1) end return a end\n"
    "local modes = { 'default', 'reduce-overhead', 'max-autotune-no-cudagraphs', 'max-autotune' }\n"
    "for _, case in ipairs { { 'products', products, tb.ones(10, 10), tb.full({ 10, 10 }, 0.1) }, { "
    "'kernels', kernels, tb.randn(16, 16) } } do\n"
    "  local sides = {}\n"
    "  for i, mode in ipairs(modes) do sides[i] = tb.compile(case[2], { mode = mode, options = { cache = "
    "false } }) end\n"
    "  local best = race(sides, case[3], case[4])\n"
    "  for i, mode in ipairs(modes) do\n"
    "    local s = tb.stats(sides[i])\n"
    "    print(('%-8s %-28s %7.2f µs, default / this %.2f, %d kernels and %d calls'):format(case[1], mode, "
    "best[i], best[1] / best[i], s.kernels, s.library_calls))\n"
    "  end\n"
    "end\n";

static int now(lua_State *L) {
  lua_pushnumber(L, tc_now_ns());
  return 1;
}

int main(void) {
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  luaL_requiref(L, "tbench", luaopen_tbench, 0);
  lua_pop(L, 1);
  const bool failed = luaL_loadstring(L, PROGRAM) ||
                      (lua_pushstring(L, tc_product_names), lua_pushcfunction(L, now), lua_pcall(L, 2, 0, 0));
  if (failed) fprintf(stderr, "bench_modes: %s\n", lua_tostring(L, -1));
  lua_close(L);
  return failed;
}
