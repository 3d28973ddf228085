/* The kernels of suites/scorers.lua, compiled through the Lua module, beside the same by hand with vector
 * intrinsics. Both read the same tensors, and take turns in one process; each one's fastest turn counts.
 * Results are compared.
 *
 *     bench_scorers [threads]
 *
 * Not part of the test suite: it states times. */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "base/clock.h"
#include "base/target.h"
#include "device/cpu/features.h"
#include "tcompile.h"
#include "tests/bench/bench_hand.h"

enum { TURNS = 40, ENTROPY_ROWS = 196, ENTROPY_COLUMNS = 768, IMAGE = 224, ALIGN = 64 };

static const char PROGRAM[] = "local tb = require 'tbench'\n"
                              "local file, name, batch = ...\n"
                              "tb.suite = function(suite) return suite end\n"
                              "local case = {batch = batch, dtype = 'f32', device = 'cpu'}\n"
                              "local w = dofile(file).workloads[name](case)\n"
                              "local f = tb.compile(w.fn)\n"
                              "return function() return f(w.args[1]) end, w.args[1]\n";

struct bench {
  lua_State *L;
  const struct bench_hand *hand;
  int threads, batch;
  const float *x;
  float *y;
};
typedef void side(const struct bench *b, int64_t first, int64_t last); /* of the batch */

static void hand_entropy(const struct bench *b, int64_t first, int64_t last) {
  b->hand->entropy(b->y + first, b->x + first * ENTROPY_COLUMNS, last - first, ENTROPY_COLUMNS);
}
static void hand_sobel(const struct bench *b, int64_t first, int64_t last) {
  enum { OUT = IMAGE - 2 };
  for (int64_t at = first; at < last;) { /* rows of the result, image by image */
    const int64_t image = at / OUT, row = at % OUT, rows = OUT - row < last - at ? OUT - row : last - at;
    b->hand->sobel(b->y + at * OUT, b->x + (image * IMAGE + row) * IMAGE, rows + 2, IMAGE);
    at += rows;
  }
}

struct workload {
  const char *name;
  side *hand;
  int64_t items, outputs;
}; /* of one batch item */
static const struct workload workloads[] = {
    {"entropy", hand_entropy, ENTROPY_ROWS, ENTROPY_ROWS},
    {"sobel", hand_sobel, IMAGE - 2, (IMAGE - 2) * (IMAGE - 2)},
};

static void die(lua_State *L) {
  fprintf(stderr, "%s\n", lua_tostring(L, -1));
  exit(1);
}

static double call_compiled(const struct bench *b, float *checked, int64_t n) {
  const double start = tc_now_ns();
  lua_pushvalue(b->L, 1);
  if (lua_pcall(b->L, 0, 1, 0)) die(b->L);
  const double ns = tc_now_ns() - start;
  const float *y = tc_tensor_data(tc_lua_tensor(b->L, -1));
  for (int64_t i = 0; checked && i < n; i++) checked[i] = y[i];
  lua_settop(b->L, 2);
  lua_gc(b->L, LUA_GCCOLLECT); /* the result's memory is used again */
  return ns;
}

static double call_hand(const struct bench *b, const struct workload *w) {
  const int64_t items = w->items * b->batch;
  const double start = tc_now_ns();
#pragma omp parallel num_threads(b->threads)
  {
    const int64_t t = omp_get_thread_num();
    w->hand(b, items * t / b->threads, items * (t + 1) / b->threads);
  }
  return tc_now_ns() - start;
}

static void measure(struct bench *b, const struct workload *w, int batch) {
  const int64_t n = w->outputs * batch;
  double compiled = 1e18, hand = 1e18, apart = 0;
  b->batch = batch;
  lua_settop(b->L, 0);
  if (luaL_loadstring(b->L, PROGRAM)) die(b->L);
  lua_pushliteral(b->L, TB_SRCDIR "/suites/scorers.lua");
  lua_pushstring(b->L, w->name);
  lua_pushinteger(b->L, batch);
  if (lua_pcall(b->L, 3, 2, 0)) die(b->L);
  b->x = tc_tensor_data(tc_lua_tensor(b->L, 2));
  float *checked = malloc(sizeof *checked * (size_t)n);
  b->y = aligned_alloc(ALIGN, ((size_t)n * sizeof *b->y + ALIGN - 1) / ALIGN * ALIGN);
  if (!checked || !b->y) exit(1);
  call_compiled(b, checked, n);
  call_hand(b, w);
  for (int64_t i = 0; i < n; i++) apart = fmax(apart, fabs((double)checked[i] - b->y[i]));
  for (int turn = 0; turn < TURNS; turn++) {
    call_compiled(b, NULL, 0); /* what the other side left in the caches is gone after one call */
    compiled = fmin(compiled, call_compiled(b, NULL, 0));
    call_hand(b, w);
    hand = fmin(hand, call_hand(b, w));
  }
  printf("%-8s batch %2d  compiled %8.1f us  by hand %8.1f us  compiled/hand %.3f  (results differ by at "
         "most %.1e)\n",
         w->name, batch, compiled / 1e3, hand / 1e3, compiled / hand, apart);
  fflush(stdout);
  free(checked);
  free(b->y);
}

int main(int argc, char **argv) {
  static const int batches[] = {1, 8, 32};
  struct bench b = {.threads = argc > 1 ? atoi(argv[1]) : 1};
  struct tc_config config;
  struct tc_target target;
  struct tc_error err;
  tc_config_default(&config);
  config.cache = false;
  if (b.threads < 1 || tc_cpu_target("auto", b.threads, &target, &err)) return 2;
  b.hand = target.vector_bytes == 64 ? &bench_hand_avx512 : &bench_hand_avx2;
  b.L = luaL_newstate();
  luaL_openlibs(b.L);
  tc_lua_configure(b.L, &config, b.threads);
  luaL_requiref(b.L, "tbench", luaopen_tbench, 0);
  for (size_t w = 0; w < sizeof workloads / sizeof *workloads; w++)
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++) measure(&b, &workloads[w], batches[i]);
  lua_close(b.L);
  return 0;
}
