/* Generated kernels against the same expressions by hand with vector intrinsics, and against a triad and a
 * copy of the same working set. The sides take turns in one process, and each one's fastest turn counts, so
 * that other work on the machine spoils little.
 *
 *     bench_codegen [threads]     prints a table: generated/hand (below 1 is faster), share of the triad's
 *     bandwidth,
 *                                 and the compile time of each kernel (a module each, the best of some)
 *
 * Not part of the test suite: it states times. Sizes are those of the suite `pointwise` (elements of f32). */
#include <omp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/clock.h"
#include "tests/bench/bench_hand.h"
#include "tests/compiler/codegen/kernel_maker.h"
#include "tests/compiler/codegen/kernel_trial.h"

enum { ROW = 4096, TURNS = 25, COMPILES = 15, BUFFERS = 5, ALIGN = 1 << 21 };
static const int64_t STREAM_FROM =
    (int64_t)8
    << 20; /* bytes of all operands beyond which results are streamed: the last-level cache's share */

struct bench {
  float *data[BUFFERS];
  int64_t n;
  int threads;
  const struct bench_hand *hand;
  bool stream;
  tc_cpu_kernel run;
};

/* CPU time of this thread, in nanoseconds. */
static double spent_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* --- the kernels --- */

static tc_sym elements(struct maker *m, int64_t n) {
  m->kernel.split_inner = true;
  return maker_inner(m, C(n));
}

static void make_gelu(struct maker *m, int64_t n) {
  const tc_sym i = elements(m, n);
  const int y = maker_buffer(m, TC_F32, TC_ROLE_WRITE), x = maker_buffer(m, TC_F32, TC_ROLE_READ),
            r = maker_buffer(m, TC_F32, TC_ROLE_READ);
  const int b = maker_buffer(m, TC_F32, TC_ROLE_READ), p = maker_phase(m, true);
  const struct tc_expr *v = E2(ADD, E2(MUL, maker_load(m, x, i), NUM(1.7)), maker_load(m, b, C(0)));
  const struct tc_expr *gate = E2(ADD, E1(ERF, E2(MUL, v, NUM(0.70710678118654752440))), NUM(1));
  maker_store(m, p, y, i, E2(ADD, E2(MUL, E2(MUL, v, NUM(0.5)), gate), maker_load(m, r, i)));
}
static void make_chain(struct maker *m, int64_t n) {
  const tc_sym i = elements(m, n);
  const int y = maker_buffer(m, TC_F32, TC_ROLE_WRITE), a = maker_buffer(m, TC_F32, TC_ROLE_READ),
            p = maker_phase(m, true);
  const struct tc_expr *x = maker_load(m, a, i);
  maker_store(m, p, y, i,
              E2(MUL, E2(MUL, E2(MUL, E2(MUL, E1(SIN, x), E1(COS, x)), E1(TAN, x)), E1(EXP, x)), E1(LOG, x)));
}
static void make_triad(struct maker *m, int64_t n) {
  const tc_sym i = elements(m, n);
  const int y = maker_buffer(m, TC_F32, TC_ROLE_WRITE), a = maker_buffer(m, TC_F32, TC_ROLE_READ),
            b = maker_buffer(m, TC_F32, TC_ROLE_READ);
  maker_store(m, maker_phase(m, true), y, i,
              E2(ADD, maker_load(m, a, i), E2(MUL, maker_load(m, b, i), NUM(1.7))));
}
static void make_softmax(struct maker *m, int64_t n) {
  const tc_sym r = maker_outer(m, C(n / ROW)), i = maker_inner(m, C(ROW)), at = PLUS(TIMES(r, C(ROW)), i);
  const int y = maker_buffer(m, TC_F32, TC_ROLE_READ_WRITE), a = maker_buffer(m, TC_F32, TC_ROLE_READ);
  const int p = maker_phase(m, true), q = maker_phase(m, true), s = maker_phase(m, true);
  const struct tc_expr *x = maker_load(m, a, at),
                       *e = E1(EXP, E2(SUB, x, maker_reduce(m, p, TC_RED_MAX, x, TC_SYM_INVALID)));
  const struct tc_expr *sum = maker_reduce(m, q, TC_RED_SUM, e, TC_SYM_INVALID);
  maker_store(m, q, y, at, e);
  maker_store(m, s, y, at, E2(DIV, maker_load(m, y, at), sum));
}
static void make_norm(struct maker *m, int64_t n) {
  const tc_sym r = maker_outer(m, C(n / ROW)), i = maker_inner(m, C(ROW)), at = PLUS(TIMES(r, C(ROW)), i);
  const int y = maker_buffer(m, TC_F32, TC_ROLE_WRITE), a = maker_buffer(m, TC_F32, TC_ROLE_READ),
            w = maker_buffer(m, TC_F32, TC_ROLE_READ);
  const int b = maker_buffer(m, TC_F32, TC_ROLE_READ), p = maker_phase(m, true), q = maker_phase(m, true),
            s = maker_phase(m, true);
  const struct tc_expr *x = maker_load(m, a, at), *scale = NUM(1.0 / ROW),
                       *mean = E2(MUL, maker_reduce(m, p, TC_RED_SUM, x, TC_SYM_INVALID), scale);
  const struct tc_expr *d = E2(SUB, x, mean),
                       *variance =
                           E2(MUL, maker_reduce(m, q, TC_RED_SUM, E2(MUL, d, d), TC_SYM_INVALID), scale);
  const struct tc_expr *unit = E2(MUL, d, E1(RSQRT, E2(ADD, variance, NUM(1e-5))));
  maker_store(m, s, y, at, E2(ADD, E2(MUL, unit, maker_load(m, w, i)), maker_load(m, b, i)));
}

static void hand_gelu(const struct bench *b, int64_t at, int64_t n) {
  b->hand->gelu(b->data[0] + at, b->data[1] + at, b->data[3][0], b->data[2] + at, n, b->stream);
}
static void hand_chain(const struct bench *b, int64_t at, int64_t n) {
  b->hand->chain(b->data[0] + at, b->data[1] + at, n, b->stream);
}
static void hand_triad(const struct bench *b, int64_t at, int64_t n) {
  b->hand->triad(b->data[0] + at, b->data[1] + at, b->data[2] + at, n, b->stream);
}
static void hand_copy(const struct bench *b, int64_t at, int64_t n) {
  b->hand->copy(b->data[0] + at, b->data[1] + at, n, b->stream);
}
static void hand_softmax(const struct bench *b, int64_t at, int64_t n) {
  b->hand->softmax(b->data[0] + at, b->data[1] + at, n / ROW, ROW);
}
static void hand_norm(const struct bench *b, int64_t at, int64_t n) {
  b->hand->norm(b->data[0] + at, b->data[1] + at, b->data[2], b->data[3], n / ROW, ROW, b->stream);
}

struct row {
  const char *name;
  void (*make)(struct maker *, int64_t);
  void (*hand)(const struct bench *, int64_t at, int64_t n);
  bool rows, two_operands;
};
static const struct row rows[] = {
    {"triad", make_triad, hand_triad, false, true},
    {"gelu(x*a+b)+r", make_gelu, hand_gelu, false, true},
    {"sin cos tan exp log", make_chain, hand_chain, false, false},
    {"softmax", make_softmax, hand_softmax, true, false},
    {"layer norm", make_norm, hand_norm, true, false},
};

/* --- one run, on all threads --- */

static void run_hand(const struct bench *b, void (*hand)(const struct bench *, int64_t, int64_t)) {
#pragma omp parallel num_threads(b->threads)
  {
    const int64_t share = b->n / b->threads, t = omp_get_thread_num();
    hand(b, t * share, share);
  }
}
static void run_code(const struct bench *b, bool in_rows) {
  void *pointers[BUFFERS];
  for (int i = 0; i < BUFFERS; i++) pointers[i] = b->data[i];
  const int64_t items = in_rows ? b->n / ROW : b->n;
#pragma omp parallel num_threads(b->threads)
  {
    const int64_t share = items / b->threads, t = omp_get_thread_num();
    b->run(pointers, NULL, t * share, (t + 1) * share);
  }
}

static double smaller(double a, double b) { return a < b ? a : b; }

static void compare(struct bench *b, const struct row *row) {
  double code = 1e18, hand = 1e18, memory = 1e18;
  const int repeats = (int)(((int64_t)1 << 20) / b->n) + 1;
  for (int turn = 0; turn < TURNS; turn++) {
    const double t0 = tc_now_ns();
    for (int i = 0; i < repeats; i++) run_code(b, row->rows);
    const double t1 = tc_now_ns();
    for (int i = 0; i < repeats; i++) run_hand(b, row->hand);
    const double t2 = tc_now_ns();
    for (int i = 0; i < repeats; i++) run_hand(b, row->two_operands ? hand_triad : hand_copy);
    const double t3 = tc_now_ns();
    code = smaller(code, (t1 - t0) / repeats);
    hand = smaller(hand, (t2 - t1) / repeats);
    memory = smaller(memory, (t3 - t2) / repeats);
  }
  const double bytes = (double)b->n * 4 * (row->two_operands ? 3 : 2);
  printf("  %8.1f MB  %9.1f us  %6.1f GB/s  generated/hand %.3f  of %s %3.0f%%\n", bytes / 1e6, code / 1e3,
         bytes / code, code / hand, row->two_operands ? "triad" : "copy ", 100 * memory / code);
}

static double compile_ms(const struct tc_kernel *k, const struct tc_target *target) {
  double best = 1e18;
  for (int i = 0; i < COMPILES; i++) {
    struct tc_config config;
    struct tc_error err;
    struct tc_module *module;
    struct tc_blob blob;
    tc_config_default(&config);
    const double start = spent_ns();
    if (tc_codegen_llvm.begin(tc_alloc_system(), target, &config, &module, &err) ||
        tc_codegen_llvm.emit(module, k, &err) || tc_codegen_llvm.finish(module, &blob, NULL, &err))
      exit(1);
    const double ns = spent_ns() - start;
    if (ns < best) best = ns;
    tc_blob_free(&blob);
  }
  return best / 1e6;
}

static void bench_row(struct bench *b, const struct row *row, const struct tc_target *target) {
  static const int64_t sizes[] = {(int64_t)16 << 10, (int64_t)1 << 20, (int64_t)4 << 20, (int64_t)64 << 20};
  for (unsigned s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    struct maker maker;
    maker_begin(&maker, "bench");
    b->n = sizes[s];
    b->stream = b->n * 4 * (row->two_operands ? 3 : 2) > STREAM_FROM * 4;
    row->make(&maker, b->n);
    maker.buffers[0].stream = b->stream && maker.buffers[0].role == TC_ROLE_WRITE;
    const struct tc_kernel *k = maker_kernel(&maker);
    if (s == 0 || s == 3)
      printf("%s, %s%s: compile %.2f ms\n", row->name, target->name, b->stream ? ", streamed" : "",
             compile_ms(k, target));
    struct trial_code code = trial_compile(&tc_codegen_llvm, k, target);
    b->run = code.run;
    compare(b, row);
    trial_free(&code);
    maker_end(&maker);
  }
}

int main(int argc, char **argv) {
  struct bench b = {.threads = argc > 1 ? atoi(argv[1]) : 1};
  const char *only = argc > 2 ? argv[2] : NULL;
  const int64_t most = (int64_t)64 << 20;
  for (int i = 0; i < BUFFERS; i++) {
    b.data[i] = aligned_alloc(ALIGN, (size_t)most * 4);
    if (!b.data[i]) return 1;
#pragma omp parallel for num_threads(b.threads)
    for (int64_t j = 0; j < most; j++) b.data[i][j] = 0.01f + (float)(j % 1009) * 0.002f;
  }
  for (int t = TRIAL_TARGETS - 1; t >= 0; t--)
    for (unsigned r = 0; r < sizeof rows / sizeof *rows; r++) {
      if (!trial_target(t) || (only && !strstr(rows[r].name, only))) continue;
      b.hand = t ? &bench_hand_avx512 : &bench_hand_avx2;
      bench_row(&b, &rows[r], trial_target(t));
    }
  for (int i = 0; i < BUFFERS; i++) free(b.data[i]);
  return 0;
}
