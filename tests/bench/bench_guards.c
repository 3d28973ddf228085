/* What guards cost, on real tensors and tables, without capture or kernels around them.
 *
 *     bench_guards [CASE [CALLS]]
 *
 * prints, for each case (or the one), the number of guards, distinct sources read from tables, and the
 * fastest turn's time of a check. With CALLS it makes so many checks and states no time: two runs under
 * `valgrind --tool=callgrind` with N and 2N calls differ by the instructions of N checks. Cases:
 *
 *     ten             two tensors, six scalars in two tables: 10 guards
 *     depth:D         D tables inside of one another, with 4 leaves each
 *     leaves          36 modules with 14 leaves each, 504 in all: tensors, numbers, booleans, strings,
 *     functions. Beside the leaves it
 *                     reads the 36 modules themselves out of their list (540 fields), and looks at their
 *                     metatables (578 guards)
 *     entry           the 10 guards, one program
 *     entries:N       N programs that differ by the first tensor's shape, called in turn
 *
 * Not part of the test suite: it states times. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>
#include <lualib.h>

#include "base/clock.h"
#include "guards/build.h"
#include "lua/module.h"
#include "tcompile.h"

enum { TURNS = 25, TURN_NS = 2000000, MOST_ENTRIES = 64, MOST_INPUTS = 1024 };

static const char PROGRAM[] =
    "local tb = require 'tbench'\n"
    "local makers = {}\n"
    "function makers.ten()\n"
    "  return {scale = 2, shift = 3, on = true, name = 'm', inner = {gain = 0.5, bias = 1}}, tb.ones(4, 8), "
    "tb.ones(8)\n"
    "end\n"
    "function makers.depth(depth)\n"
    "  local model\n"
    "  for i = 1, depth do model = {child = model, weight = tb.ones(4), size = i, on = true, name = 'm' .. "
    "i} end\n"
    "  return model, tb.ones(4)\n"
    "end\n"
    "function makers.leaves()\n"
    "  local class, model, f = {}, {}, print\n"
    "  for i = 1, 36 do\n"
    "    model[i] = setmetatable({weight = tb.ones(4, 4), bias = tb.ones(4), gain = tb.ones(4), shift = "
    "tb.ones(4), n = i, m = 2, k = 3, width = 4,\n"
    "      eps = 1e-5, p = 0.5, training = true, causal = false, kind = 'linear', act = f}, class)\n"
    "  end\n"
    "  return model, tb.ones(4)\n"
    "end\n"
    "function makers.entries(n)\n"
    "  local model, y = makers.ten()\n"
    "  local shapes = {}\n"
    "  for i = 1, n do shapes[i] = tb.ones(i, 8) end\n"
    "  return model, y, table.unpack(shapes)\n"
    "end\n"
    "return function(case, n) return makers[case](n) end\n";

static int n_sources;

/* Guards about the value at the top of the stack, as capture makes them; pops it. */
static void guard_value(struct tc_guards *g, const struct tc_host *host, lua_State *L, int source) {
  const int at = lua_gettop(L);
  const struct tc_tensor *tensor = host->tensor_at(L, at);
  if (tensor) {
    tc_guards_tensor(g, source, tensor);
    tc_guards_input(g, source);
  } else if (lua_istable(L, at)) {
    luaL_checkstack(L, LUA_MINSTACK, NULL);
    tc_guards_type(g, source, LUA_TTABLE);
    if (lua_getmetatable(L, at)) tc_guards_metatable(g, L, source, lua_gettop(L));
    lua_settop(L, at);
    for (lua_pushnil(L); lua_next(L, at);) {
      n_sources++;
      guard_value(g, host, L, tc_guards_field(g, L, source, lua_gettop(L) - 1));
    }
  } else if (lua_isfunction(L, at)) {
    tc_guards_identity(g, L, source, at);
  } else {
    tc_guards_equal(g, L, source, at);
  }
  lua_settop(L, at - 1);
}

/* Stack: function, model, tensors. A program for the call of the function with the tensors at the two
 * places. */
static struct tc_guards *make_guards(const struct tc_host *host, lua_State *L, const int *tensors,
                                     int count) {
  struct tc_guards *g;
  struct tc_error err;
  if (tc_guards_new(tc_alloc_system(), host, L, &g, &err)) exit(EXIT_FAILURE);
  for (int i = 0; i < count; i++) {
    lua_pushvalue(L, tensors[i]);
    guard_value(g, host, L, tc_guards_arg(g, i, "x"));
  }
  lua_pushvalue(L, 2);
  guard_value(g, host, L, tc_guards_upvalue(g, tc_guards_function(g), 1, "model"));
  if (tc_guards_seal(g, &err)) exit(EXIT_FAILURE);
  return g;
}

struct calls {
  struct tc_guard_dispatch *dispatch;
  struct tc_guards *programs[MOST_ENTRIES];
  struct tc_frame frames[MOST_ENTRIES];
  int count;
};

static void check_all(const struct calls *calls, long n) {
  const struct tc_tensor *inputs[MOST_INPUTS];
  const struct tc_guard_values values = {.inputs = inputs};
  for (long i = 0, at = 0; i < n; i++) {
    const int found = calls->count > 1
                          ? tc_guards_dispatch_find(calls->dispatch, &calls->frames[at], &values, NULL)
                          : -(tc_guards_match(calls->programs[0], &calls->frames[at], &values) != 0);
    if (found != at) {
      fprintf(stderr, "bench_guards: the guards do not hold\n");
      exit(EXIT_FAILURE);
    }
    if (++at == calls->count) at = 0;
  }
}

static double fastest(const struct calls *calls) {
  double best = 1e18;
  long n = 16;
  for (double spent = 0; spent < TURN_NS; n *= 2) {
    const double start = tc_now_ns();
    check_all(calls, n);
    spent = tc_now_ns() - start;
  }
  for (int turn = 0; turn < TURNS; turn++) {
    const double start = tc_now_ns();
    check_all(calls, n);
    const double each = (tc_now_ns() - start) / (double)n;
    if (each < best) best = each;
  }
  return best;
}

/* Lays out the calls: each has the function and its arguments in a row of their own. */
static void set_up(lua_State *L, const struct tc_host *host, struct calls *calls, int n_tensors,
                   bool entries) {
  const int first = 3;
  struct tc_error err;
  calls->count = entries ? n_tensors - 1 : 1;
  for (int i = 0; i < calls->count; i++) {
    int tensors[2] = {entries ? first + 1 + i : first, entries ? first : first + 1};
    const int n_args = n_tensors > 1 ? 2 : 1, at = lua_gettop(L) + 1;
    luaL_checkstack(L, LUA_MINSTACK, NULL);
    lua_pushvalue(L, 1);
    for (int k = 0; k < n_args; k++) lua_pushvalue(L, tensors[k]);
    calls->frames[i] = (struct tc_frame){.L = L, .function = at, .first_arg = at + 1, .n_args = n_args};
    n_sources = 0;
    calls->programs[i] = make_guards(host, L, tensors, n_args);
  }
  if (tc_guards_dispatch_build(tc_alloc_system(), calls->count, calls->programs, &calls->dispatch, &err))
    exit(EXIT_FAILURE);
}

static double run_case(lua_State *L, const struct tc_host *host, const char *name, int number,
                       long calls_only, double against) {
  struct calls calls = {0};
  const bool entries = !strcmp(name, "entries");
  lua_settop(L, 1); /* the maker */
  lua_pushvalue(L, 1);
  lua_pushstring(L, name);
  lua_pushinteger(L, number);
  lua_call(L, 2, LUA_MULTRET);
  lua_pushvalue(L, 2);
  if (luaL_loadstring(L, "local model = ... return function() return model end")) exit(EXIT_FAILURE);
  lua_insert(L, -2);
  lua_call(L, 1, 1);
  lua_replace(L, 1); /* the function whose upvalue is the model; the maker is in the registry */
  set_up(L, host, &calls, lua_gettop(L) - 2, entries);
  double each = 0;
  if (calls_only) {
    check_all(&calls, calls_only);
  } else {
    each = fastest(&calls);
    printf("%-8s %3d  %4d guards, %4d fields: %8.1f ns", name, number, tc_guards_count(calls.programs[0]),
           n_sources, each);
    if (n_sources > 16) printf(", %.1f ns a field", each / n_sources);
    if (against > 0) printf(", %.2f× one entry", each / against);
    printf("\n");
  }
  tc_guards_dispatch_free(calls.dispatch);
  for (int i = 0; i < calls.count; i++) tc_guards_free(calls.programs[i], L);
  return each;
}

static void load_maker(lua_State *L) {
  lua_settop(L, 0);
  if (luaL_dostring(L, PROGRAM)) {
    fprintf(stderr, "%s\n", lua_tostring(L, -1));
    exit(EXIT_FAILURE);
  }
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    int number;
  } cases[] = {{"ten", 0},    {"depth", 1},   {"depth", 5},   {"depth", 10},   {"depth", 20},  {"depth", 40},
               {"leaves", 0}, {"entries", 1}, {"entries", 2}, {"entries", 10}, {"entries", 50}};
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  luaL_requiref(L, "tbench", luaopen_tbench, 0);
  struct tc_host host = {0};
  tc_lua_fill_host(&host);
  const char *colon = argc > 1 ? strchr(argv[1], ':') : NULL;
  double one = 0;
  for (size_t i = 0; i < sizeof cases / sizeof *cases && argc < 2; i++) {
    load_maker(L);
    const bool more = !strcmp(cases[i].name, "entries") && cases[i].number > 1;
    const double each = run_case(L, &host, cases[i].name, cases[i].number, 0, more ? one : 0);
    if (!strcmp(cases[i].name, "entries") && cases[i].number == 1) one = each;
  }
  if (argc > 1) {
    char name[16] = {0};
    snprintf(name, sizeof name, "%.*s", colon ? (int)(colon - argv[1]) : 15, argv[1]);
    load_maker(L);
    run_case(L, &host, name, colon ? atoi(colon + 1) : 1, argc > 2 ? atol(argv[2]) : 0, 0);
  }
  lua_close(L);
  return 0;
}
