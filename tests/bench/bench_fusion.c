/* Does fusion take what there is to take? The workloads of suites/pointwise.lua, eager and compiled through
 * the Lua module, beside the same expressions by hand with vector intrinsics, and a triad or copy with the
 * same streams. The sides take turns in one process, and each one's fastest turn counts, so that other work
 * on the machine spoils little.
 *
 *     bench_fusion [threads [workload]]
 *
 * roofline: the longer of memory (triad or copy of the same bytes) and arithmetic (the best version by hand).
 * The workloads `add` and `exp` are one operation each: there the eager kernel is held against the roofline,
 * by the same columns. speedup: eager over compiled; possible: eager over the roofline; taken: the one over
 * the other. Not part of the test suite: it states times. */
#include <omp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "base/clock.h"
#include "base/target.h"
#include "device/cpu/features.h"
#include "tcompile.h"
#include "tests/bench/bench_hand.h"

enum {
  ROW = 262144,
  TURNS = 20,
  BUFFERS = 5,
  SCALE = 3,
  SHIFT = 4,
  ALIGN = 1 << 21,
  MIB = 1 << 20,
  WARM = 3
};

static const char PROGRAM[] = "local tb = require 'tbench'\n"
                              "local F, ROW = tb.nn.functional, 262144\n"
                              "local workload, batch = ...\n"
                              "local x, r = tb.randn({batch, ROW}), tb.randn({batch, ROW})\n"
                              "local a, b, row = tb.randn({ROW}), tb.randn({ROW}), tb.randn({batch, 1})\n"
                              "local f = ({\n"
                              "  trig = function() return x:sin():cos():tan():exp():log() end,\n"
                              "  gelu = function() return F.gelu(x * a + b) + r end,\n"
                              "  broadcast = function() return (x * a + row):relu() * 0.5 - x end,\n"
                              "  add = function() return x + r end,\n"
                              "  exp = function() return x:exp() end,\n"
                              "})[workload]\n"
                              "return f, tb.compile(f)\n";

struct bench {
  lua_State *L;
  const struct bench_hand *hand;
  int threads;
  int64_t n;
  bool stream;
  float *data[BUFFERS]; /* result, two operands, and the vectors of ROW elements: SCALE, SHIFT */
};
typedef void side(const struct bench *b, int64_t at, int64_t n);

static void hand_nested(const struct bench *b, int64_t at, int64_t n) {
  b->hand->nested(b->data[0] + at, b->data[1] + at, n, b->stream);
}
static void hand_staged(const struct bench *b, int64_t at, int64_t n) {
  b->hand->staged(b->data[0] + at, b->data[1] + at, n, b->stream);
}
static void hand_copy(const struct bench *b, int64_t at, int64_t n) {
  b->hand->copy(b->data[0] + at, b->data[1] + at, n, b->stream);
}
static void hand_exp(const struct bench *b, int64_t at, int64_t n) {
  b->hand->exponential(b->data[0] + at, b->data[1] + at, n, b->stream);
}
static void hand_triad(const struct bench *b, int64_t at, int64_t n) {
  b->hand->triad(b->data[0] + at, b->data[1] + at, b->data[2] + at, n, b->stream);
}
/* Part by part of the rows that share the vectors of ROW elements. */
static void hand_gelu(const struct bench *b, int64_t at, int64_t n) {
  for (int64_t end = at + n; at < end;) {
    const int64_t in_row = at % ROW, part = end - at < ROW - in_row ? end - at : ROW - in_row;
    b->hand->affine_gelu(b->data[0] + at, b->data[1] + at, b->data[SCALE] + in_row, b->data[SHIFT] + in_row,
                         b->data[2] + at, part, b->stream);
    at += part;
  }
}
static void hand_broadcast(const struct bench *b, int64_t at, int64_t n) {
  for (int64_t end = at + n; at < end;) {
    const int64_t in_row = at % ROW, part = end - at < ROW - in_row ? end - at : ROW - in_row;
    b->hand->broadcast(b->data[0] + at, b->data[1] + at, b->data[SCALE] + in_row, b->data[SHIFT][at / ROW],
                       part, b->stream);
    at += part;
  }
}

enum { SIDES = 5, EAGER = 0, COMPILED = 1, HAND = 2, OTHER_HAND = 3, MEMORY = 4 };
struct workload {
  const char *name;
  int streams;
  side *hand, *other, *memory;
};
static const struct workload workloads[] = {
    {"trig", 2, hand_nested, hand_staged, hand_copy},
    {"gelu", 3, hand_gelu, hand_gelu, hand_triad},
    {"broadcast", 2, hand_broadcast, hand_broadcast, hand_copy},
    {"add", 3, hand_triad, hand_triad, hand_triad},
    {"exp", 2, hand_exp, hand_exp, hand_copy},
};

static double call_lua(struct bench *b, int function) {
  const double start = tc_now_ns();
  lua_pushvalue(b->L, function);
  if (lua_pcall(b->L, 0, 0, 0)) {
    fprintf(stderr, "%s\n", lua_tostring(b->L, -1));
    exit(1);
  }
  const double ns = tc_now_ns() - start;
  lua_gc(b->L, LUA_GCCOLLECT); /* the result's memory is used again, as in a loop that drops it */
  return ns;
}

/* The second of two calls: what the side before left in the caches is then gone, as in a loop over one
 * side. */
static double time_lua(struct bench *b, int function) {
  call_lua(b, function);
  return call_lua(b, function);
}

static double call_hand(const struct bench *b, side *run) {
  const double start = tc_now_ns();
#pragma omp parallel num_threads(b->threads)
  {
    const int64_t share = b->n / b->threads, t = omp_get_thread_num();
    run(b, t * share, share);
  }
  return tc_now_ns() - start;
}

static double time_hand(const struct bench *b, side *run) {
  call_hand(b, run);
  return call_hand(b, run);
}

static void load(struct bench *b, const struct workload *w, int batch) {
  lua_settop(b->L, 0);
  if (luaL_loadstring(b->L, PROGRAM)) exit(1);
  lua_pushstring(b->L, w->name);
  lua_pushinteger(b->L, batch);
  if (lua_pcall(b->L, 2, 2, 0)) {
    fprintf(stderr, "%s\n", lua_tostring(b->L, -1));
    exit(1);
  }
}

static void measure(struct bench *b, const struct workload *w, int batch, int64_t stream_from) {
  double best[SIDES];
  b->n = (int64_t)batch * ROW;
  b->stream = b->n * 4 * w->streams > stream_from;
  load(b, w, batch);
  for (int i = 0; i < SIDES; i++) best[i] = 1e18;
  for (int turn = 0; turn < TURNS + WARM; turn++) {
    const double ns[SIDES] = {time_lua(b, 1), time_lua(b, 2), time_hand(b, w->hand), time_hand(b, w->other),
                              time_hand(b, w->memory)};
    for (int i = 0; i < SIDES; i++)
      if (turn >= WARM && ns[i] < best[i]) best[i] = ns[i];
  }
  const double hand = best[HAND] < best[OTHER_HAND] ? best[HAND] : best[OTHER_HAND],
               roofline = hand > best[MEMORY] ? hand : best[MEMORY];
  printf("%-10s %4d MiB  eager %9.0f us  compiled %9.0f us  by hand %9.0f us  %s %9.0f us  of %s %3.0f%%  "
         "speedup %5.2f  possible %5.2f  taken %3.0f%%  (eager %3.0f%% of the roofline)\n",
         w->name, batch, best[EAGER] / 1e3, best[COMPILED] / 1e3, hand / 1e3,
         w->streams == 3 ? "triad" : "copy ", best[MEMORY] / 1e3, w->streams == 3 ? "triad" : "copy ",
         100 * best[MEMORY] / best[COMPILED], best[EAGER] / best[COMPILED], best[EAGER] / roofline,
         100 * roofline / best[COMPILED], 100 * roofline / best[EAGER]);
  fflush(stdout);
}

int main(int argc, char **argv) {
  static const int batches[] = {4, 16, 256};
  struct bench b = {.threads = argc > 1 ? atoi(argv[1]) : 1};
  const char *only = argc > 2 ? argv[2] : "";
  struct tc_config config;
  tc_config_default(&config);
  config.cache = false;
  struct tc_target target;
  struct tc_error err;
  if (b.threads < 1 || tc_cpu_target("auto", b.threads, &target, &err)) return 2;
  b.hand = target.vector_bytes == 64 ? &bench_hand_avx512 : &bench_hand_avx2;
  b.L = luaL_newstate();
  luaL_openlibs(b.L);
  tc_lua_configure(b.L, &config, b.threads);
  luaL_requiref(b.L, "tbench", luaopen_tbench, 0);
  for (int i = 0; i < BUFFERS; i++) {
    b.data[i] = aligned_alloc(ALIGN, (size_t)256 * MIB);
    if (!b.data[i]) return 1;
#pragma omp parallel for num_threads(b.threads)
    for (int64_t j = 0; j < (int64_t)256 * ROW; j++) b.data[i][j] = 0.01f + (float)(j % 1009) * 0.002f;
  }
  for (size_t w = 0; w < sizeof workloads / sizeof *workloads; w++)
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++)
      if (strstr(workloads[w].name, only)) measure(&b, &workloads[w], batches[i], target.l3_bytes);
  for (int i = 0; i < BUFFERS; i++) free(b.data[i]);
  lua_close(b.L);
  return 0;
}
