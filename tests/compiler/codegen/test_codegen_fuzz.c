/* Random kernels through the code generators, bit for bit against their meaning: every operator that keeps to
 * single elements, all dtypes, loops of every kind, addresses of every kind, maxima over rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/campaign.h"
#include "tests/compiler/codegen/kernel_maker.h"
#include "tests/compiler/codegen/kernel_trial.h"

enum { POOL = 96, READS = 6, WRITES = 3, ELEMENTS = 6000, KERNELS = 220 };

struct fuzz {
  struct maker maker;
  uint64_t state;
  const struct tc_expr *pool[POOL];
  int n;
  int reads[READS], writes[WRITES];
  tc_sym at; /* the row-major position of a point */
  tc_sym vars[TC_MAX_KERNEL_DIMS];
  int n_vars;
};

static uint64_t below(struct fuzz *f, uint64_t n) { return (trial_random(&f->state) >> 20) % n; }

static void add(struct fuzz *f, const struct tc_expr *e) {
  assert_non_null(e);
  if (f->n < POOL) f->pool[f->n++] = e;
}

static const struct tc_expr *pick(struct fuzz *f, tc_dtype dtype) {
  for (int tries = 0; tries < 64; tries++) {
    const struct tc_expr *e =
        f->pool[f->n - 1 -
                (int)(below(f, 4) ? below(f, (uint64_t)(f->n < 12 ? f->n : 12)) : below(f, (uint64_t)f->n))];
    if (e->dtype == dtype) return e;
  }
  return tc_expr_cast(f->maker.exprs, f->pool[below(f, (uint64_t)f->n)], dtype);
}

/* An address in [0, ELEMENTS): extents are small. */
static tc_sym random_address(struct fuzz *f) {
  struct maker *m = &f->maker;
  tc_sym s = C((int64_t)below(f, 20));
  if (below(f, 2)) return PLUS(f->at, s);
  for (int i = 0; i < f->n_vars; i++) {
    const tc_sym v = f->vars[i];
    switch (below(f, 6)) {
      case 0: break;
      case 1: s = PLUS(s, PLUS(TIMES(v, C(-1)), C(450))); break;
      case 2: s = PLUS(s, TIMES(v, C((int64_t)below(f, 9) + 2))); break;
      case 3: s = PLUS(s, tc_sym_div(m->tab, v, C((int64_t)below(f, 4) + 2))); break;
      case 4: s = PLUS(s, tc_sym_mod(m->tab, v, C((int64_t)below(f, 5) + 2))); break;
      default: s = PLUS(s, v); break;
    }
  }
  return s;
}

static const struct tc_expr *random_load(struct fuzz *f) {
  struct maker *m = &f->maker;
  const struct tc_expr *offset = NULL, *predicate = below(f, 4) ? NULL : pick(f, TC_BOOL);
  if (!below(f, 4)) { /* 0 … 499 */
    offset =
        E2(REMAINDER, pick(f, TC_I64), tc_expr_cast(m->exprs, tc_expr_num(m->exprs, TC_F64, 500), TC_I64));
  }
  return maker_load_if(m, f->reads[below(f, READS)], random_address(f), offset, predicate);
}

static const struct tc_expr *random_operation(struct fuzz *f) {
  static const enum tc_expr_op reals[] = {
      TC_E_NEG,   TC_E_ABS,      TC_E_SIGN,      TC_E_FLOOR, TC_E_CEIL, TC_E_RECIPROCAL, TC_E_SQRT,
      TC_E_RSQRT, TC_E_EXP,      TC_E_LOG,       TC_E_LOG1P, TC_E_SIN,  TC_E_COS,        TC_E_TAN,
      TC_E_TANH,  TC_E_SIGMOID,  TC_E_ERF,       TC_E_RELU,  TC_E_ADD,  TC_E_SUB,        TC_E_MUL,
      TC_E_DIV,   TC_E_FLOORDIV, TC_E_REMAINDER, TC_E_POW,   TC_E_MAX,  TC_E_MIN,        TC_E_FMA};
  static const enum tc_expr_op wholes[] = {TC_E_NEG,       TC_E_ABS, TC_E_SIGN, TC_E_RELU,
                                           TC_E_ADD,       TC_E_SUB, TC_E_MUL,  TC_E_FLOORDIV,
                                           TC_E_REMAINDER, TC_E_MAX, TC_E_MIN};
  static const enum tc_expr_op truths[] = {TC_E_NOT, TC_E_AND, TC_E_OR, TC_E_XOR};
  static const enum tc_expr_op tests[] = {TC_E_EQ, TC_E_NE, TC_E_LT, TC_E_LE, TC_E_GT, TC_E_GE};
  static const tc_dtype dtypes[] = {TC_F32, TC_F32, TC_F32, TC_F64, TC_I64, TC_BOOL};
  struct maker *m = &f->maker;
  const tc_dtype d = dtypes[below(f, 6)];
  switch (below(f, 8)) {
    case 0: return tc_expr_2(m->exprs, tests[below(f, 6)], pick(f, d), pick(f, d));
    case 1: return E3(SELECT, pick(f, TC_BOOL), pick(f, d), pick(f, d));
    case 2: return tc_expr_cast(m->exprs, pick(f, dtypes[below(f, 6)]), d);
    case 3: return random_load(f);
    default: break;
  }
  const enum tc_expr_op op = d == TC_BOOL  ? truths[below(f, 4)]
                             : d == TC_I64 ? wholes[below(f, sizeof wholes / sizeof *wholes)]
                                           : reals[below(f, sizeof reals / sizeof *reals)];
  switch (tc_expr_arity(op)) {
    case 1: return tc_expr_1(m->exprs, op, pick(f, d));
    case 2: return tc_expr_2(m->exprs, op, pick(f, d), pick(f, d));
    default: return tc_expr_3(m->exprs, op, pick(f, d), pick(f, d), pick(f, d));
  }
}

/* Loops: elements, rows, planes of rows, blocks of lanes, blocks with inner loops. True if there are rows to
 * reduce. */
static bool random_loops(struct fuzz *f) {
  struct maker *m = &f->maker;
  const int64_t a = (int64_t)below(f, 5) + 1, b = (int64_t)below(f, 70) + 1, c = (int64_t)below(f, 6) + 1;
  bool rows = true;
  switch (below(f, 5)) {
    case 0:
      m->kernel.split_inner = true;
      f->vars[f->n_vars++] = maker_inner(m, C(b * c));
      f->at = f->vars[0];
      return false;
    case 1:
      f->vars[f->n_vars++] = maker_outer(m, C(a));
      f->vars[f->n_vars++] = maker_inner(m, C(b));
      break;
    case 2:
      f->vars[f->n_vars++] = maker_outer(m, C(a));
      f->vars[f->n_vars++] = maker_inner(m, C(c));
      f->vars[f->n_vars++] = maker_inner(m, C(b));
      break;
    case 3:
      f->vars[f->n_vars++] = maker_outer(m, C(a));
      f->vars[f->n_vars++] = maker_outer(m, C(b));
      m->kernel.lanes = TC_LANES_OUTER, m->kernel.block = (int64_t)below(f, 90) + 1;
      rows = false;
      break;
    default:
      f->vars[f->n_vars++] = maker_outer(m, C(a));
      f->vars[f->n_vars++] = maker_outer(m, C(b));
      f->vars[f->n_vars++] = maker_inner(m, C(c));
      m->kernel.lanes = TC_LANES_OUTER, m->kernel.block = 8 * ((int64_t)below(f, 8) + 1);
      break;
  }
  f->at = C(0);
  for (int i = 0; i < f->n_vars; i++) f->at = PLUS(TIMES(f->at, tc_sym_extent(f->vars[i])), f->vars[i]);
  return rows;
}

static void build(struct fuzz *f, const char *name) {
  static const tc_dtype stored[] = {TC_F32, TC_F32, TC_F64, TC_I64, TC_BF16, TC_BOOL};
  struct maker *m = &f->maker;
  maker_begin(m, name);
  const bool rows = random_loops(f);
  for (int i = 0; i < READS; i++) f->reads[i] = maker_buffer(m, stored[i], TC_ROLE_READ);
  for (int i = 0; i < WRITES; i++) {
    f->writes[i] = maker_buffer(m, stored[below(f, 6)], TC_ROLE_WRITE);
    m->buffers[f->writes[i]].stream = !below(f, 3);
  }
  const bool inner = m->kernel.n_inner > 0;
  const int p = maker_phase(m, inner);
  for (int i = 0; i < READS; i++) add(f, maker_load(m, f->reads[i], i ? random_address(f) : f->at));
  add(f, maker_index(m, f->at));
  add(f, maker_index(m, random_address(f)));
  const int wanted = 10 + (int)below(f, 30);
  for (int i = 0; i < wanted; i++) add(f, random_operation(f));
  if (rows && below(f, 2)) {
    const struct tc_expr *max = maker_reduce(m, p, TC_RED_MAX, pick(f, TC_F32), TC_SYM_INVALID);
    const struct tc_expr *any = maker_reduce(m, p, TC_RED_ANY, pick(f, TC_BOOL), TC_SYM_INVALID);
    const int q = maker_phase(m, inner);
    const struct tc_expr *x = pick(f, TC_F32);
    maker_store(m, q, f->writes[0], f->at, E3(SELECT, any, E2(SUB, x, max), E2(ADD, x, max)));
  } else
    maker_store(m, p, f->writes[0], f->at, pick(f, TC_F32));
  for (int i = 1; i < WRITES; i++) maker_store(m, p, f->writes[i], f->at, f->pool[f->n - i]);
}

static void random_kernels(void **state) {
  (void)state;
  const char *seed = getenv("FUZZ_SEED"), *count = getenv("FUZZ_COUNT");
  const uint64_t first = seed ? strtoull(seed, NULL, 10) : 1,
                 kernels = count ? strtoull(count, NULL, 10) : (uint64_t)campaign(KERNELS);
  for (uint64_t i = first; i < first + kernels; i++) {
    struct fuzz f = {.state = i * 0x9E3779B97F4A7C15u + 1};
    char name[32];
    snprintf(name, sizeof name, "fuzz_%llu", (unsigned long long)i);
    build(&f, name);
    struct trial t = {.kernel = maker_kernel(&f.maker)};
    for (int b = 0; b < f.maker.kernel.n_buffers; b++)
      t.buffers[b].elements = ELEMENTS,
      t.buffers[b].data = trial_data(f.maker.buffers[b].dtype, ELEMENTS, i + (uint64_t)b, true);
    trial_run(&t);
    for (int b = 0; b < f.maker.kernel.n_buffers; b++) free(t.buffers[b].data);
    maker_end(&f.maker);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(random_kernels)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
