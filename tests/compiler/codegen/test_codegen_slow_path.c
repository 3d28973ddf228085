/* Generated code on arguments that come seldom: angles and quotients of every size, whose lanes take a call
 * out of line, wherever in a kernel they stand; and divisors that are 0. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/compiler/codegen/kernel_maker.h"
#include "tests/compiler/codegen/kernel_reference.h"
#include "tests/compiler/codegen/kernel_trial.h"

enum { COUNT = 1003, ROWS = 6, COLUMNS = 75 };

/* Any bit pattern, so of any exponent, NaN and denormals among them; half of them of everyday size. */
static void *patterns(tc_dtype dtype, int64_t elements, uint64_t seed) {
  uint64_t state = seed * 0x9E3779B97F4A7C15u + 77;
  void *data = trial_data(dtype, elements, seed, true);
  const size_t bytes = (size_t)tc_dtype_bytes(dtype);
  for (int64_t i = 0; i < elements; i++) {
    const uint64_t word = trial_random(&state);
    if (trial_random(&state) & 1) memcpy((char *)data + (size_t)i * bytes, &word, bytes);
  }
  return data;
}

static void run(struct maker *m, int64_t elements, uint64_t seed, bool far) {
  struct trial t = {.kernel = maker_kernel(m)};
  for (int i = 0; i < m->kernel.n_buffers; i++) {
    t.buffers[i].elements = elements;
    const uint64_t own = seed + (uint64_t)i;
    t.buffers[i].data = far ? patterns(m->buffers[i].dtype, elements, own)
                            : trial_data(m->buffers[i].dtype, elements, own, true);
    if (m->buffers[i].role == TC_ROLE_STATUS) memset(t.buffers[i].data, 0, (size_t)elements * 8);
  }
  trial_run(&t);
  for (int i = 0; i < m->kernel.n_buffers; i++) free(t.buffers[i].data);
}

static void one_operator(enum tc_expr_op op, tc_dtype dtype) {
  struct maker maker, *m = &maker;
  maker_begin(m, tc_expr_op_name(op));
  const tc_sym i = maker_inner(m, C(COUNT));
  m->kernel.split_inner = true;
  const int p = maker_phase(m, true);
  struct tc_expr e = {.op = op, .dtype = tc_compute_dtype(dtype)};
  for (int a = 0; a < tc_expr_arity(op); a++)
    e.args[a] = maker_load(m, maker_buffer(m, dtype, TC_ROLE_READ), i);
  maker_store(m, p, maker_buffer(m, dtype, TC_ROLE_WRITE), i, tc_expr_make(m->exprs, &e));
  for (uint64_t seed = 1; seed < 6; seed++) run(m, COUNT, seed * 1000 + (uint64_t)op, true);
  maker_end(m);
}

static void operators(void **state) {
  static const enum tc_expr_op ops[] = {TC_E_FLOORDIV, TC_E_REMAINDER, TC_E_SIN, TC_E_COS, TC_E_TAN};
  static const tc_dtype dtypes[] = {TC_F32, TC_F64, TC_BF16};
  (void)state;
  for (unsigned i = 0; i < sizeof ops / sizeof *ops; i++)
    for (int d = 0; d < 3; d++) one_operator(ops[i], dtypes[d]);
}

/* sin(a[i, j]) % cos(b[i]) // tan(c): a value of each element, of each row, and of the whole kernel; reduced,
 * and stored again. */
static void scopes_of(enum tc_lanes lanes, tc_dtype dtype, bool reduce) {
  struct maker maker, *m = &maker;
  maker_begin(m, "scopes");
  const tc_sym i = maker_outer(m, C(ROWS)), j = lanes == TC_LANES_OUTER && !reduce
                                                    ? maker_outer(m, C(COLUMNS))
                                                    : maker_inner(m, C(COLUMNS));
  const bool over_inner = m->kernel.n_inner > 0;
  if (lanes == TC_LANES_OUTER) m->kernel.lanes = lanes, m->kernel.block = reduce ? ROWS : 32;
  const int a = maker_buffer(m, dtype, TC_ROLE_READ), b = maker_buffer(m, dtype, TC_ROLE_READ),
            c = maker_buffer(m, dtype, TC_ROLE_READ);
  const int out = maker_buffer(m, dtype, TC_ROLE_WRITE), sums = maker_buffer(m, dtype, TC_ROLE_WRITE);
  const tc_sym at = PLUS(TIMES(i, C(COLUMNS)), j);
  const struct tc_expr *element = E1(SIN, maker_load(m, a, at)), *row = E1(COS, maker_load(m, b, i)),
                       *all = E1(TAN, maker_load(m, c, C(0)));
  const struct tc_expr *value = E2(FLOORDIV, E2(REMAINDER, element, row), all);
  const int first = maker_phase(m, over_inner);
  const struct tc_expr *largest =
      reduce ? maker_reduce(m, first, TC_RED_MAX, E2(ADD, E2(REMAINDER, value, row), element), TC_SYM_INVALID)
             : row;
  const int second = maker_phase(m, over_inner);
  maker_store(m, second, out, at, E2(ADD, value, E1(COS, E2(MUL, largest, all))));
  if (reduce) maker_store(m, maker_phase(m, false), sums, i, E1(SIN, E2(MUL, largest, maker_load(m, b, i))));
  for (uint64_t seed = 1; seed < 4; seed++)
    run(m, ROWS * COLUMNS, seed * 10, true), run(m, ROWS * COLUMNS, seed * 10, false);
  maker_end(m);
}

static void scopes(void **state) {
  static const tc_dtype dtypes[] = {TC_F32, TC_F64};
  (void)state;
  for (int d = 0; d < 2; d++) {
    scopes_of(TC_LANES_INNER, dtypes[d], true);
    scopes_of(TC_LANES_INNER, dtypes[d], false);
    scopes_of(TC_LANES_OUTER, dtypes[d], true);
    scopes_of(TC_LANES_OUTER, dtypes[d], false);
  }
}

/* --- against the C library's long double, which reduces angles of any size --- */

static void angles_are_accurate(void **state) {
  (void)state;
  static const struct {
    enum tc_expr_op op;
    long double (*f)(long double);
  } rows[] = {{TC_E_SIN, sinl}, {TC_E_COS, cosl}, {TC_E_TAN, tanl}};
  static const double ULPS = 4.2;
  for (unsigned r = 0; r < sizeof rows / sizeof *rows; r++) {
    struct maker maker, *m = &maker;
    maker_begin(m, "accurate");
    const tc_sym i = maker_inner(m, C(COUNT));
    m->kernel.split_inner = true;
    const int narrow = maker_buffer(m, TC_F32, TC_ROLE_READ), wide = maker_buffer(m, TC_F64, TC_ROLE_READ);
    const int y32 = maker_buffer(m, TC_F32, TC_ROLE_WRITE), y64 = maker_buffer(m, TC_F64, TC_ROLE_WRITE),
              p = maker_phase(m, true);
    maker_store(m, p, y32, i, tc_expr_1(m->exprs, rows[r].op, maker_load(m, narrow, i)));
    maker_store(m, p, y64, i, tc_expr_1(m->exprs, rows[r].op, maker_load(m, wide, i)));
    float *a = patterns(TC_F32, COUNT, 5), got[COUNT];
    double *b = patterns(TC_F64, COUNT, 6), got_wide[COUNT];
    b[0] = 0x1.6ac5b262ca1ffp+849; /* the double that lies nearest to an odd multiple of pi/2 */
    for (int t = 0; t < TRIAL_GENERATORS * TRIAL_TARGETS; t++) {
      const struct tc_codegen *generator = trial_generator(t / TRIAL_TARGETS);
      const struct tc_target *target = trial_target(t % TRIAL_TARGETS);
      if (!target || !trial_takes(generator, maker_kernel(m), target)) continue;
      struct trial_code code = trial_compile(generator, maker_kernel(m), target);
      code.run((void *[]){a, b, got, got_wide}, NULL, 0, COUNT);
      for (int j = 0; j < COUNT; j++) {
        const double right = (double)rows[r].f((long double)a[j]),
                     right_wide = (double)rows[r].f((long double)b[j]);
        const double ulp = (double)(nextafterf(fabsf((float)right), INFINITY) - fabsf((float)right));
        const double ulp_wide = nextafter(fabs(right_wide), INFINITY) - fabs(right_wide);
        if (isnan(right) ? !isnan(got[j]) : !(fabs((double)got[j] - right) <= ULPS * ulp))
          fail_msg("%s(%a) is %.9g, should be %.17g", tc_expr_op_name(rows[r].op), (double)a[j],
                   (double)got[j], right);
        if (isnan(right_wide) ? !isnan(got_wide[j])
                              : !(fabs(got_wide[j] - right_wide) <= (ULPS + 1) * ulp_wide))
          fail_msg("%s(%a) is %.17g, should be %.17g", tc_expr_op_name(rows[r].op), b[j], got_wide[j],
                   right_wide);
      }
      trial_free(&code);
    }
    free(a), free(b);
    maker_end(m);
  }
}

/* --- divisors --- */

/* a / b with flags: a run without a zero raises none, in lanes that are not active either; one zero anywhere
 * raises its own flag. */
static void divisors_of(enum tc_lanes lanes, int64_t zero_at) {
  static const enum tc_expr_op ops[] = {TC_E_FLOORDIV, TC_E_REMAINDER};
  for (int o = 0; o < 2; o++) {
    struct maker maker, *m = &maker;
    maker_begin(m, "divide");
    const tc_sym i = maker_outer(m, C(ROWS)),
                 j = lanes == TC_LANES_OUTER ? maker_outer(m, C(COLUMNS)) : maker_inner(m, C(COLUMNS));
    if (lanes == TC_LANES_OUTER) m->kernel.lanes = lanes, m->kernel.block = 32;
    const int a = maker_buffer(m, TC_I64, TC_ROLE_READ), b = maker_buffer(m, TC_I64, TC_ROLE_READ),
              out = maker_buffer(m, TC_I64, TC_ROLE_WRITE);
    const int status = maker_buffer(m, TC_I64, TC_ROLE_STATUS), p = maker_phase(m, lanes == TC_LANES_INNER);
    const tc_sym at = PLUS(TIMES(i, C(COLUMNS)), j);
    struct tc_expr divisor = {.op = TC_E_DIVISOR, .dtype = TC_I64, .args = {maker_load(m, b, at)}};
    divisor.acc = ops[o] == TC_E_FLOORDIV ? TC_FLAG_FLOOR_DIVIDE : TC_FLAG_REMAINDER;
    maker_store(m, p, out, at,
                tc_expr_2(m->exprs, ops[o], maker_load(m, a, at), tc_expr_make(m->exprs, &divisor)));
    struct trial t = {.kernel = maker_kernel(m)};
    for (int k = 0; k < m->kernel.n_buffers; k++) {
      t.buffers[k].elements = ROWS * COLUMNS;
      t.buffers[k].data = trial_data(TC_I64, ROWS * COLUMNS, (uint64_t)k + 3, true);
    }
    int64_t *divisors = t.buffers[b].data, flags = 0;
    memset(t.buffers[status].data, 0, ROWS * COLUMNS * sizeof flags);
    for (int k = 0; k < ROWS * COLUMNS; k++) divisors[k] += divisors[k] == 0;
    if (zero_at >= 0) divisors[zero_at] = 0;
    trial_run(&t); /* the status word is compared as well; that the reference's is right: */
    reference_run(t.kernel, (void *[]){t.buffers[a].data, divisors, t.buffers[out].data, &flags}, NULL, 0,
                  reference_items(t.kernel, NULL));
    assert_int_equal(flags, zero_at < 0 ? 0 : INT64_C(1) << 8 * divisor.acc);
    for (int k = 0; k < m->kernel.n_buffers; k++) free(t.buffers[k].data);
    maker_end(m);
  }
}

static void divisors(void **state) {
  (void)state;
  for (int lanes = TC_LANES_INNER; lanes <= TC_LANES_OUTER; lanes++) {
    divisors_of((enum tc_lanes)lanes, -1);
    divisors_of((enum tc_lanes)lanes, 0);
    divisors_of((enum tc_lanes)lanes, 3 * COLUMNS + 40);
    divisors_of((enum tc_lanes)lanes, ROWS * COLUMNS - 1);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(operators), cmocka_unit_test(scopes),
                                     cmocka_unit_test(angles_are_accurate), cmocka_unit_test(divisors)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
