/* What the harness itself costs.
 *
 *     bench_harness [PROGRAM]
 *
 * 1. The time that is reported for a workload which does nothing, by the loop that times all workloads,
 *    beside an empty loop in Lua and a loop in Lua that calls the same function. They take turns; the fastest
 *    turn counts. Nothing is subtracted from reported times.
 * 2. With PROGRAM (a tbench): a run of a small suite, and what of its time was suite code, compiles, checks
 *    and samples, and what was the harness' own: starting and ending processes, pauses, statistics, writing.
 *
 * Not part of the test suite: it states times. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lauxlib.h>
#include <lualib.h>

#include "harness/base/clock.h"
#include "harness/wire/protocol.h"
#include "harness/worker/workload.h"
#include "tcompile.h"

enum { CALLS = 200000, TURNS = 15, COMMAND = 4096 };

static const char suite[] =
    "local tb = require 'tbench'\n"
    "return tb.suite { name = 'nothing', workloads = {\n"
    "  none = function() return { fn = function() end } end,\n"
    "  one = function(case) return { fn = function(x) return x end, args = { tb.randn({1}, case) } } end,\n"
    "} }\n";

static const char loops[] = "local function none() end\n"
                            "return function(calls) for _ = 1, calls do end end, function(calls) for _ = 1, "
                            "calls do none() end end\n";

static const char small_suite[] = "local tb = require 'tbench'\n"
                                  "return tb.suite { name = 'small', workloads = {\n"
                                  "  chain = function(case) return { fn = function(x) return (x * 2 + "
                                  "1):sigmoid():sum(-1) end, args = { tb.randn({64, 1000}, case) } } end,\n"
                                  "} }\n";

static double min(double a, double b) { return a < b ? a : b; }

static double time_loop(lua_State *L, int loop) {
  lua_pushvalue(L, loop);
  lua_pushinteger(L, CALLS);
  const int64_t start = tb_now_ns();
  lua_call(L, 1, 0);
  return (double)(tb_now_ns() - start) / CALLS;
}

static int time_calls(lua_State *L) {
  struct tb_workload none, one;
  cJSON *kase = cJSON_Parse("{\"device\": \"cpu\", \"dtype\": \"f32\", \"threads\": 1, \"seed\": 1}");
  if (luaL_dostring(L, suite) || !kase)
    return luaL_error(L, "the suite was not loaded: %s", lua_tostring(L, -1));
  tb_workload_make(L, lua_gettop(L), "none", kase, TB_ROLE_BASELINE, "inductor", "default", &none);
  tb_workload_make(L, lua_gettop(L), "one", kase, TB_ROLE_BASELINE, "inductor", "default", &one);
  cJSON_Delete(kase);
  if (luaL_dostring(L, loops)) return luaL_error(L, "the loops were not loaded: %s", lua_tostring(L, -1));
  const int empty = lua_gettop(L) - 1, calling = lua_gettop(L);
  double best_empty = 1e18, best_calling = 1e18, best_none = 1e18, best_one = 1e18;
  for (int turn = 0; turn < TURNS; turn++) {
    best_empty = min(best_empty, time_loop(L, empty));
    best_calling = min(best_calling, time_loop(L, calling));
    best_none = min(best_none, tb_workload_block(L, &none, 1, CALLS, NULL) / CALLS);
    best_one = min(best_one, tb_workload_block(L, &one, 1, CALLS, NULL) / CALLS);
  }
  printf("empty loop in Lua                  %6.1f ns a turn\n", best_empty);
  printf("loop in Lua that calls nothing     %6.1f ns a call\n", best_calling);
  printf("workload that does nothing         %6.1f ns a call, %.1f above the empty loop (at most 30)\n",
         best_none, best_none - best_empty);
  printf("workload that returns its argument %6.1f ns a call, %.1f above the empty loop\n", best_one,
         best_one - best_empty);
  return 0;
}

/* --- a run --- */

static cJSON *run_small(const char *program, const char *folder) {
  char path[COMMAND], command[2 * COMMAND];
  snprintf(path, sizeof path, "%s/small.lua", folder);
  FILE *file = fopen(path, "we");
  if (!file || fputs(small_suite, file) < 0 || fclose(file)) return NULL;
  snprintf(command, sizeof command,
           "cd '%s' && '%s' run suite=./small.lua replicates=5 out=r.json > /dev/null 2>&1", folder, program);
  if (system(command)) return NULL;
  snprintf(path, sizeof path, "%s/r.json", folder);
  char *text = NULL;
  size_t room = 0;
  file = fopen(path, "re");
  const ssize_t length = file ? getdelim(&text, &room, '\0', file) : -1;
  if (file) fclose(file);
  cJSON *document = length > 0 ? cJSON_Parse(text) : NULL;
  free(text);
  return document;
}

static void tell(const char *what, double ns, double wall) {
  printf("  %-34s %9.1f ms  %5.1f%%\n", what, ns / TB_NS_PER_MS, 100 * ns / wall);
}

static int show_run(const char *program) {
  char folder[] = "/tmp/tbench-harness.XXXXXX", absolute[COMMAND], command[COMMAND];
  if (!realpath(program, absolute) || !mkdtemp(folder))
    return fprintf(stderr, "%s cannot be run\n", program), 1;
  cJSON *document = run_small(absolute, folder);
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  if (system(command)) fprintf(stderr, "%s was left\n", folder);
  const cJSON *h = cJSON_GetObjectItemCaseSensitive(document, "harness"), *request;
  if (!h) return fprintf(stderr, "the run failed\n"), 1;
  const double wall = tb_json_number(h, "wall_ns", 0), own = tb_json_number(h, "own_ns", 0),
               processes = tb_json_number(h, "processes", 1);
  printf("\na run of %.0f processes, %.0f ms:\n", processes, wall / TB_NS_PER_MS);
  cJSON_ArrayForEach(request, cJSON_GetObjectItemCaseSensitive(h, "requests_ns"))
    tell(request->string, request->valuedouble, wall);
  tell("harness", own, wall);
  tell("  of which starting processes", tb_json_number(h, "start_ns", 0), wall);
  tell("  ending processes", tb_json_number(h, "stop_ns", 0), wall);
  tell("  pauses between blocks", tb_json_number(h, "settle_ns", 0), wall);
  printf("the harness: %.1f%% of the time (at most 5), %.1f ms a process (at most 20)\n", 100 * own / wall,
         own / processes / TB_NS_PER_MS);
  cJSON_Delete(document);
  return 0;
}

int main(int argc, char **argv) {
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  luaL_requiref(L, "tbench", luaopen_tbench, 1);
  lua_settop(L, 0);
  lua_pushcfunction(L, time_calls);
  const int status = lua_pcall(L, 0, 0, 0);
  if (status) fprintf(stderr, "%s\n", lua_tostring(L, -1));
  lua_close(L);
  return status || (argc > 1 && show_run(argv[1]));
}
