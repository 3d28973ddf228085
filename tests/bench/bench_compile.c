/* One first call of a suite's workload, to be counted or timed on its own.
 *
 *     bench_compile SUITE.lua WORKLOAD BATCH         prints what the cache answered and how long capture and
 *     compile took
 *
 * Instructions of a compile that do not depend on noise, cold (empty cache folder) and then from disk:
 *
 *     export TB_CACHE_DIR=$(mktemp -d)
 *     for state in cold disk; do valgrind --tool=callgrind --collect-atstart=no
 *     --toggle-collect=tc_capture_call \
 *       --toggle-collect=tc_compile_graph tests/bench/bench_compile suites/pointwise.lua gelu 4; done
 *
 * (valgrind has no AVX-512: code is generated for AVX2 there.) Not part of the test suite: it states
 * times. */
#include <stdio.h>
#include <stdlib.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "tcompile.h"

static const char PROGRAM[] = "local tb = require 'tbench'\n"
                              "local file, name, batch = ...\n"
                              "tb.suite = function(suite) return suite end\n"
                              "local case = {batch = batch, dtype = 'f32', device = 'cpu'}\n"
                              "local work = assert(dofile(file).workloads[name], 'no such workload')(case)\n"
                              "local args = type(work.args) == 'function' and work.args(1) or work.args\n"
                              "local compiled = tb.compile(work.fn, work.options)\n"
                              "compiled(table.unpack(args))\n"
                              "local stats, ns = tb.stats(compiled), 0\n"
                              "for _, stage in pairs(stats.stages_ns) do ns = ns + stage end\n"
                              "print(('%s %s batch %d: cache %s, %d kernels, %.3f ms'):format(file, name, "
                              "batch, stats.cache, stats.kernels, ns / 1e6))\n";

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: bench_compile SUITE.lua WORKLOAD BATCH\n");
    return 2;
  }
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  luaL_requiref(L, "tbench", luaopen_tbench, 0);
  int status = luaL_loadstring(L, PROGRAM);
  lua_pushstring(L, argv[1]);
  lua_pushstring(L, argv[2]);
  lua_pushinteger(L, atoi(argv[3]));
  if (!status) status = lua_pcall(L, 3, 0, 0);
  if (status) fprintf(stderr, "%s\n", lua_tostring(L, -1));
  lua_close(L);
  return status != 0;
}
