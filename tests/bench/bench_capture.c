/* What capture costs an operation, without compiling what was captured: functions of N tensor operations are
 * captured again and again, the lengths in turn, and the fastest capture of each counts.
 *
 *     bench_capture [FORM [N]]
 *
 * prints, for each form (or the one) and each length, the time in all, the time an operation, and both
 * against the shortest function of the form: the exponent e says that the time grows as N^e. With N it
 * captures the one function once and states no time, for counts that do not depend on noise:
 *
 *     for n in 1000 10000 100000; do valgrind --tool=callgrind --collect-atstart=no
 *     --toggle-collect=tc_capture_call \
 *       tests/bench/bench_capture loop $n; done
 *
 * Forms: loop (a loop of four operations that is unrolled), straight (the same as that many lines of code),
 * modules (a list of modules: each brings a call, fields and guards), views (each a view of the one before
 * it, asked for its layout), sizes (the sizes vary: each turn computes with them), facts (the sizes vary:
 * each operation brings a guard on them).
 *
 * Not part of the test suite: it states times. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>
#include <lualib.h>

#include "base/clock.h"
#include "capture/capture.h"
#include "lua/module.h"
#include "tcompile.h"

enum { SHORTEST = 1000, TURNS = 7 };
static const int lengths[] = {SHORTEST, 10000, 100000};
enum { N_LENGTHS = sizeof lengths / sizeof *lengths };

/* Makers of a function and its argument, for about n operations. */
static const char PROGRAM[] =
    "local tb = require 'tbench'\n"
    "local x = tb.ones(4, 8)\n"
    "local makers = {}\n"
    "function makers.loop(n)\n"
    "  return function(x) for _ = 1, n // 4 do x = (x + 1):relu() * 0.5 - x end return x end, x\n"
    "end\n"
    "function makers.straight(n)\n"
    "  return load('local x = ... ' .. ('x = (x + 1):relu() * 0.5 - x\\n'):rep(n // 4) .. 'return x'), x\n"
    "end\n"
    "function makers.modules(n)\n"
    "  local model = {}\n"
    "  local class = {}\n"
    "  class.__index = class\n"
    "  function class:forward(x) return (x * self.scale + self.bias):relu() - self.gain end\n"
    "  for i = 1, n // 4 do model[i] = setmetatable({scale = i, bias = tb.ones(8), gain = i / 2}, class) "
    "end\n"
    "  return function(x) for _, m in ipairs(model) do x = m:forward(x) end return x end, x\n"
    "end\n"
    "function makers.views(n)\n"
    "  return function(x)\n"
    "    for _ = 1, n do\n"
    "      x = x:transpose(1, 2)\n"
    "      if x:is_contiguous() ~= (x:stride(2) == 1) then return end\n"
    "    end\n"
    "    return x\n"
    "  end, x\n"
    "end\n"
    "function makers.sizes(n)\n"
    "  return function(x)\n"
    "    local rows = x:size(1)\n"
    "    for i = 1, n // 4 do x = (x + 1):reshape(x:size(1) * 4, 2):relu():reshape(rows, 8) end\n"
    "    return x\n"
    "  end, x\n"
    "end\n"
    "function makers.facts(n)\n"
    "  return function(x)\n"
    "    local y\n"
    "    for i = 1, n do y = x:narrow(1, i, 2) end\n"
    "    return y\n"
    "  end, tb.ones(n + 2, 2)\n"
    "end\n"
    "return function(form, n) return makers[form](n) end\n";

struct form {
  const char *name;
  bool all_dynamic;
};
static const struct form forms[] = {{"loop", false},  {"straight", false}, {"modules", false},
                                    {"views", false}, {"sizes", true},     {"facts", true}};
enum { N_FORMS = sizeof forms / sizeof *forms };

/* Stack: the maker at 1; leaves the function and its argument. */
static void make(lua_State *L, const char *form, int n) {
  lua_pushvalue(L, 1);
  lua_pushstring(L, form);
  lua_pushinteger(L, n);
  lua_call(L, 2, 2);
}

/* Captures the function below the argument at the stack top; gives its operations. */
static int capture(lua_State *L, const struct tc_host *host, const struct form *form, double *ns) {
  const struct tc_capture_options options = {.all_dynamic = form->all_dynamic};
  const struct tc_frame frame = {
      .L = L, .function = lua_gettop(L) - 1, .first_arg = lua_gettop(L), .n_args = 1};
  struct tc_capture captured;
  struct tc_error err;
  const double start = tc_now_ns();
  const tc_status status = tc_capture_call(tc_lua_context(L), host, &frame, &options, &captured, &err);
  *ns = tc_now_ns() - start;
  if (status || captured.broke) {
    fprintf(stderr, "bench_capture: %s: %s\n", form->name, status ? err.message : captured.break_.detail);
    exit(EXIT_FAILURE);
  }
  const int n_ops = captured.n_ops;
  tc_capture_free(&captured, L);
  return n_ops;
}

static void measure(lua_State *L, const struct tc_host *host, const struct form *form) {
  double best[N_LENGTHS];
  int n_ops[N_LENGTHS];
  for (int turn = 0; turn < TURNS; turn++) {
    for (int i = 0; i < N_LENGTHS; i++) {
      double ns;
      make(L, form->name, lengths[i]);
      n_ops[i] = capture(L, host, form, &ns);
      if (!turn || ns < best[i]) best[i] = ns;
      lua_settop(L, 1);
      lua_gc(L, LUA_GCCOLLECT, 0);
    }
  }
  for (int i = 0; i < N_LENGTHS; i++) {
    printf("%-8s %6d operations %10.3f ms, %6.0f ns an operation", form->name, n_ops[i], best[i] / 1e6,
           best[i] / n_ops[i]);
    if (i)
      printf(", %.2f× the shortest's, exponent %.3f", best[i] / n_ops[i] / (best[0] / n_ops[0]),
             log(best[i] / best[0]) / log((double)n_ops[i] / n_ops[0]));
    printf("\n");
  }
}

int main(int argc, char **argv) {
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  luaL_requiref(L, "tbench", luaopen_tbench, 0);
  lua_settop(L, 0);
  struct tc_host host = {0};
  tc_lua_fill_host(&host);
  int status = luaL_dostring(L, PROGRAM);
  if (status) fprintf(stderr, "%s\n", lua_tostring(L, -1));
  bool found = false;
  for (int i = 0; i < N_FORMS && !status; i++) {
    if (argc > 1 && strcmp(argv[1], forms[i].name)) continue;
    found = true;
    if (argc <= 2) {
      measure(L, &host, &forms[i]);
      continue;
    }
    double ns;
    make(L, forms[i].name, atoi(argv[2]));
    printf("%s: %d operations\n", forms[i].name, capture(L, &host, &forms[i], &ns));
    lua_settop(L, 1);
  }
  if (!found && !status)
    fprintf(stderr, "usage: bench_capture [loop|straight|modules|views|sizes|facts [N]]\n");
  lua_close(L);
  return status || !found;
}
