/* Code generators against the meaning of kernels: operators, conversions, addresses, ranges. Reductions, rows
 * and random kernels have files of their own. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/compiler/codegen/kernel_maker.h"
#include "tests/compiler/codegen/kernel_trial.h"

enum { ODD_COUNT = 203 };

static void run(struct maker *m, int64_t elements, bool special, uint64_t seed) {
  struct trial t = {.kernel = maker_kernel(m)};
  for (int i = 0; i < m->kernel.n_buffers; i++) {
    t.buffers[i].elements = elements;
    t.buffers[i].data = trial_data(m->buffers[i].dtype, elements, seed + (uint64_t)i, special);
    if (m->buffers[i].role == TC_ROLE_STATUS) memset(t.buffers[i].data, 0, (size_t)elements * 8);
  }
  trial_run(&t);
  for (int i = 0; i < m->kernel.n_buffers; i++) free(t.buffers[i].data);
}

/* out[i] = op(a[i], b[i], c[i]) */
static void run_operator(enum tc_expr_op op, int arity, tc_dtype operand, tc_dtype result) {
  struct maker maker, *m = &maker;
  maker_begin(m, tc_expr_op_name(op));
  const tc_sym i = maker_inner(m, C(ODD_COUNT));
  m->kernel.split_inner = true;
  const int p = maker_phase(m, true);
  struct tc_expr e = {.op = op, .dtype = tc_compute_dtype(result)};
  for (int a = 0; a < arity; a++)
    e.args[a] = maker_load(m, maker_buffer(m, op == TC_E_SELECT && !a ? TC_BOOL : operand, TC_ROLE_READ), i);
  const int out = maker_buffer(m, result, TC_ROLE_WRITE);
  maker_store(m, p, out, i, tc_expr_make(m->exprs, &e));
  run(m, ODD_COUNT, true, 7 + (uint64_t)op);
  maker_end(m);
}

static void arithmetic_of_reals(void **state) {
  (void)state;
  static const enum tc_expr_op unary[] = {TC_E_NEG,        TC_E_ABS,  TC_E_SIGN,  TC_E_FLOOR, TC_E_CEIL,
                                          TC_E_RECIPROCAL, TC_E_SQRT, TC_E_RSQRT, TC_E_RELU};
  static const enum tc_expr_op binary[] = {TC_E_ADD,      TC_E_SUB,       TC_E_MUL, TC_E_DIV,
                                           TC_E_FLOORDIV, TC_E_REMAINDER, TC_E_MAX, TC_E_MIN};
  static const tc_dtype dtypes[] = {TC_F32, TC_F64, TC_BF16};
  for (int d = 0; d < 3; d++) {
    for (unsigned i = 0; i < sizeof unary / sizeof *unary; i++)
      run_operator(unary[i], 1, dtypes[d], dtypes[d]);
    for (unsigned i = 0; i < sizeof binary / sizeof *binary; i++)
      run_operator(binary[i], 2, dtypes[d], dtypes[d]);
    run_operator(TC_E_FMA, 3, dtypes[d], dtypes[d]);
    run_operator(TC_E_SELECT, 3, dtypes[d], dtypes[d]);
  }
}

static void rounding_to_bf16(void **state) {
  (void)state;
  run_operator(TC_E_ROUND, 1, TC_F32, TC_F32);
}

static void functions_of_reals(void **state) {
  (void)state;
  static const enum tc_expr_op unary[] = {TC_E_EXP, TC_E_LOG,  TC_E_LOG1P,   TC_E_SIN, TC_E_COS,
                                          TC_E_TAN, TC_E_TANH, TC_E_SIGMOID, TC_E_ERF};
  for (unsigned i = 0; i < sizeof unary / sizeof *unary; i++) {
    run_operator(unary[i], 1, TC_F32, TC_F32);
    run_operator(unary[i], 1, TC_F64, TC_F64);
  }
  run_operator(TC_E_EXP, 1, TC_BF16, TC_BF16);
  run_operator(TC_E_POW, 2, TC_F32, TC_F32);
  run_operator(TC_E_POW, 2, TC_F64, TC_F64);
}

static void arithmetic_of_integers(void **state) {
  (void)state;
  static const enum tc_expr_op unary[] = {TC_E_NEG, TC_E_ABS, TC_E_SIGN, TC_E_FLOOR, TC_E_CEIL, TC_E_RELU};
  static const enum tc_expr_op binary[] = {TC_E_ADD,       TC_E_SUB, TC_E_MUL, TC_E_FLOORDIV,
                                           TC_E_REMAINDER, TC_E_POW, TC_E_MAX, TC_E_MIN};
  for (unsigned i = 0; i < sizeof unary / sizeof *unary; i++) run_operator(unary[i], 1, TC_I64, TC_I64);
  for (unsigned i = 0; i < sizeof binary / sizeof *binary; i++) run_operator(binary[i], 2, TC_I64, TC_I64);
  run_operator(TC_E_SELECT, 3, TC_I64, TC_I64);
  run_operator(TC_E_SELECT, 3, TC_BOOL, TC_BOOL);
}

static void comparisons_and_logic(void **state) {
  (void)state;
  static const enum tc_expr_op compare[] = {TC_E_EQ, TC_E_NE, TC_E_LT, TC_E_LE, TC_E_GT, TC_E_GE};
  static const tc_dtype dtypes[] = {TC_F32, TC_F64, TC_I64, TC_BOOL};
  for (int d = 0; d < 4; d++)
    for (unsigned i = 0; i < sizeof compare / sizeof *compare; i++)
      run_operator(compare[i], 2, dtypes[d], TC_BOOL);
  static const enum tc_expr_op logic[] = {TC_E_AND, TC_E_OR, TC_E_XOR};
  for (unsigned i = 0; i < 3; i++) run_operator(logic[i], 2, TC_BOOL, TC_BOOL);
  run_operator(TC_E_NOT, 1, TC_BOOL, TC_BOOL);
  for (int d = 0; d < 3; d++) {
    run_operator(TC_E_ISNAN, 1, dtypes[d], TC_BOOL);
    run_operator(TC_E_ISINF, 1, dtypes[d], TC_BOOL);
  }
}

static void conversions(void **state) {
  (void)state;
  for (int from = 0; from < TC_DTYPE_COUNT; from++)
    for (int to = 0; to < TC_DTYPE_COUNT; to++) run_operator(TC_E_CAST, 1, (tc_dtype)from, (tc_dtype)to);
}

/* Against the C library's f64: the polynomials reach the generated code with the accuracy that they
 * promise. */
static void functions_are_accurate(void **state) {
  (void)state;
  static const struct {
    enum tc_expr_op op;
    double (*f)(double);
  } rows[] = {{TC_E_EXP, exp}, {TC_E_LOG, log}, {TC_E_LOG1P, log1p}, {TC_E_SIN, sin},
              {TC_E_COS, cos}, {TC_E_TAN, tan}, {TC_E_TANH, tanh},   {TC_E_ERF, erf}};
  enum { COUNT = 4001 };
  static const double ULPS = 4;
  for (unsigned r = 0; r < sizeof rows / sizeof *rows; r++) {
    struct maker maker, *m = &maker;
    maker_begin(m, "accurate");
    const tc_sym i = maker_inner(m, C(COUNT));
    m->kernel.split_inner = true;
    const int a = maker_buffer(m, TC_F32, TC_ROLE_READ), out = maker_buffer(m, TC_F32, TC_ROLE_WRITE),
              p = maker_phase(m, true);
    maker_store(m, p, out, i, tc_expr_1(m->exprs, rows[r].op, maker_load(m, a, i)));
    static float x[COUNT], y[COUNT];
    for (int j = 0; j < COUNT; j++)
      x[j] = (float)j * 0.003f + (rows[r].op == TC_E_LOG || rows[r].op == TC_E_LOG1P ? 0.001f : -6.0f);
    for (int t = 0; t < TRIAL_GENERATORS * TRIAL_TARGETS; t++) {
      const struct tc_codegen *generator = trial_generator(t / TRIAL_TARGETS);
      const struct tc_target *target = trial_target(t % TRIAL_TARGETS);
      if (!target || !trial_takes(generator, maker_kernel(m), target)) continue;
      struct trial_code code = trial_compile(generator, maker_kernel(m), target);
      code.run((void *[]){x, y}, NULL, 0, COUNT);
      for (int j = 0; j < COUNT; j++) {
        const double right = rows[r].f((double)x[j]),
                     ulp = fabs((double)(nextafterf((float)right, INFINITY) - (float)right));
        if (fabs((double)y[j] - right) > ULPS * ulp)
          fail_msg("%s(%.9g) is %.9g, should be %.17g", tc_expr_op_name(rows[r].op), (double)x[j],
                   (double)y[j], right);
      }
      trial_free(&code);
    }
    maker_end(m);
  }
}

/* --- addresses --- */

enum { ROWS = 5, COLUMNS = 37, SPAN = 4000 };

static void one_address(tc_dtype dtype, const char *name,
                        tc_sym (*address)(struct maker *m, tc_sym r, tc_sym c), bool outer_lanes,
                        bool store) {
  struct maker maker, *m = &maker;
  maker_begin(m, name);
  const tc_sym r = maker_outer(m, C(ROWS)),
               c = outer_lanes ? maker_outer(m, C(COLUMNS)) : maker_inner(m, C(COLUMNS));
  if (outer_lanes) m->kernel.lanes = TC_LANES_OUTER, m->kernel.block = 32;
  const int a = maker_buffer(m, dtype, TC_ROLE_READ), out = maker_buffer(m, dtype, TC_ROLE_WRITE),
            p = maker_phase(m, !outer_lanes);
  const tc_sym plain = PLUS(TIMES(r, C(COLUMNS)), c), other = address(m, r, c);
  maker_store(m, p, out, store ? other : plain, maker_load(m, a, store ? plain : other));
  run(m, SPAN, false, 3);
  maker_end(m);
}

static tc_sym forward(struct maker *m, tc_sym r, tc_sym c) { return PLUS(PLUS(TIMES(r, C(50)), c), C(3)); }
static tc_sym backward(struct maker *m, tc_sym r, tc_sym c) {
  return PLUS(PLUS(TIMES(r, C(50)), TIMES(c, C(-1))), C(COLUMNS));
}
static tc_sym same(struct maker *m, tc_sym r, tc_sym c) { return (void)c, TIMES(r, C(7)); }
static tc_sym stepped(struct maker *m, tc_sym r, tc_sym c) { return PLUS(TIMES(r, C(3)), TIMES(c, C(17))); }
static tc_sym two_steps_back(struct maker *m, tc_sym r, tc_sym c) {
  return PLUS(PLUS(TIMES(r, C(100)), TIMES(c, C(-2))), C(80));
}
static tc_sym divided(struct maker *m, tc_sym r, tc_sym c) {
  return PLUS(TIMES(r, C(40)), tc_sym_div(m->tab, c, C(3)));
}
static tc_sym wrapped(struct maker *m, tc_sym r, tc_sym c) {
  return PLUS(TIMES(r, C(11)), tc_sym_mod(m->tab, PLUS(c, r), C(11)));
}
static tc_sym halves(struct maker *m, tc_sym r, tc_sym c) {
  return PLUS(TIMES(tc_sym_div(m->tab, c, C(8)), C(64)), PLUS(tc_sym_mod(m->tab, c, C(8)), TIMES(r, C(8))));
}
static tc_sym bounded(struct maker *m, tc_sym r, tc_sym c) {
  return tc_sym_min(m->tab, PLUS(r, c), tc_sym_max(m->tab, C(20), TIMES(r, C(9))));
}

static void addresses(void **state) {
  (void)state;
  static const struct {
    const char *name;
    tc_sym (*f)(struct maker *, tc_sym, tc_sym);
    bool stores;
  } rows[] = {{"forward", forward, true},
              {"backward", backward, true},
              {"same", same, false},
              {"stepped", stepped, true},
              {"two_steps_back", two_steps_back, true},
              {"divided", divided, false},
              {"wrapped", wrapped, false},
              {"halves", halves, true},
              {"bounded", bounded, false}};
  static const tc_dtype dtypes[] = {TC_F32, TC_F64, TC_BF16, TC_BOOL, TC_I64};
  for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
    for (unsigned d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
      for (int outer = 0; outer < 2; outer++) {
        one_address(dtypes[d], rows[i].name, rows[i].f, outer, false);
        if (rows[i].stores) one_address(dtypes[d], rows[i].name, rows[i].f, outer, true);
      }
}

/* pad: 0 outside of [4, 30), whose reads touch nothing; a scalar under a predicate of the row; a row number
 * from data. */
static void predicates_and_offsets(void **state) {
  (void)state;
  static const tc_dtype dtypes[] = {TC_F32, TC_F64, TC_BF16, TC_BOOL, TC_I64};
  for (unsigned d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
    struct maker maker, *m = &maker;
    maker_begin(m, "pad");
    const tc_sym r = maker_outer(m, C(ROWS)), c = maker_inner(m, C(COLUMNS));
    const int a = maker_buffer(m, dtypes[d], TC_ROLE_READ), index = maker_buffer(m, TC_I64, TC_ROLE_READ);
    const int o[] = {maker_buffer(m, dtypes[d], TC_ROLE_WRITE), maker_buffer(m, dtypes[d], TC_ROLE_WRITE),
                     maker_buffer(m, dtypes[d], TC_ROLE_WRITE), maker_buffer(m, dtypes[d], TC_ROLE_WRITE),
                     maker_buffer(m, TC_F32, TC_ROLE_WRITE)};
    const int status = maker_buffer(m, TC_I64, TC_ROLE_STATUS), p = maker_phase(m, true);
    const struct tc_expr *column = maker_index(m, c), *row = maker_index(m, r);
    const struct tc_expr *inside =
        E2(AND, E2(GE, column, maker_index(m, C(4))), E2(LT, column, maker_index(m, C(30))));
    const tc_sym plain = PLUS(TIMES(r, C(COLUMNS)), c);
    const int64_t far = (int64_t)1 << 40;
    maker_store(m, p, o[0], plain, maker_load_if(m, a, PLUS(plain, C(-4)), NULL, inside));
    maker_store(m, p, o[1], plain,
                maker_load_if(m, a, TIMES(r, C(far)), NULL, E2(EQ, row, maker_index(m, C(0)))));
    struct tc_expr check = {
        .op = TC_E_CHECK, .dtype = TC_I64, .args = {maker_load(m, index, r)}, .address = C(6)};
    const struct tc_expr *row_number = tc_expr_make(m->exprs, &check), *scale = maker_index(m, C(COLUMNS));
    maker_store(m, p, o[2], plain, maker_load_if(m, a, c, E2(MUL, row_number, scale), NULL));
    check.args[0] = maker_load(m, index, PLUS(c, C(ROWS)));
    maker_store(m, p, o[3], plain, maker_load_if(m, a, TIMES(r, C(6)), tc_expr_make(m->exprs, &check), NULL));
    maker_store(m, p, o[4], plain, tc_expr_cast(m->exprs, tc_expr_make(m->exprs, &check), TC_F32));
    struct trial t = {.kernel = maker_kernel(m)};
    for (int bad = 0; bad < 2; bad++) {
      for (int i = 0; i < m->kernel.n_buffers; i++) {
        t.buffers[i].elements = 300;
        t.buffers[i].data = trial_data(m->buffers[i].dtype, 300, 5, false);
      }
      int64_t *indices = t.buffers[index].data;
      for (int i = 0; i < 300; i++) indices[i] = (int64_t)((uint64_t)indices[i] % 6);
      if (bad) indices[2] = -1, indices[ROWS + 20] = 6, indices[ROWS + 21] = INT64_MIN;
      memset(t.buffers[status].data, 0, 300 * 8);
      trial_run(&t);
      for (int i = 0; i < m->kernel.n_buffers; i++) free(t.buffers[i].data);
    }
    maker_end(m);
  }
}

/* Extents and strides that are known at run time only. */
static void symbolic_sizes(void **state) {
  (void)state;
  for (int outer = 0; outer < 2; outer++) {
    struct maker maker, *m = &maker;
    maker_begin(m, "symbolic");
    const tc_sym rows = tc_sym_size(m->tab, 0, 8), columns = tc_sym_size(m->tab, 1, 64);
    const tc_sym r = maker_outer(m, rows), c = outer ? maker_outer(m, columns) : maker_inner(m, columns);
    if (outer) m->kernel.lanes = TC_LANES_OUTER, m->kernel.block = 48;
    m->kernel.n_sizes = 2;
    const int a = maker_buffer(m, TC_F32, TC_ROLE_READ), out = maker_buffer(m, TC_F32, TC_ROLE_WRITE),
              p = maker_phase(m, !outer);
    const struct tc_expr *transposed = maker_load(m, a, PLUS(TIMES(c, rows), r)),
                         *straight = maker_load(m, a, PLUS(TIMES(r, columns), c));
    maker_store(m, p, out, PLUS(TIMES(r, columns), c), E2(ADD, E2(MUL, transposed, NUM(3)), straight));
    static const int64_t shapes[][2] = {{2, 2}, {3, 15}, {4, 16}, {5, 17}, {2, 97}, {31, 64}};
    for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++) {
      struct trial t = {.kernel = maker_kernel(m), .sizes = shapes[i]};
      for (int b = 0; b < 2; b++)
        t.buffers[b].elements = shapes[i][0] * shapes[i][1],
        t.buffers[b].data = trial_data(TC_F32, SPAN, (uint64_t)i, false);
      trial_run(&t);
      for (int b = 0; b < 2; b++) free(t.buffers[b].data);
    }
    maker_end(m);
  }
}

/* --- streamed results: any alignment, several results, rows --- */

static void streamed_results(void **state) {
  (void)state;
  static const int64_t lengths[] = {1, 15, 16, 33, 64, 250};
  for (unsigned l = 0; l < sizeof lengths / sizeof *lengths; l++)
    for (int form = 0; form < 3; form++) { /* elements, rows, blocks */
      struct maker maker, *m = &maker;
      maker_begin(m, "streamed");
      const tc_sym n = C(lengths[l]);
      tc_sym at;
      if (form == 0)
        at = maker_inner(m, n), m->kernel.split_inner = true;
      else {
        const tc_sym r = maker_outer(m, C(4)), c = form == 1 ? maker_inner(m, n) : maker_outer(m, n);
        at = PLUS(TIMES(r, n), c);
      }
      if (form == 2) m->kernel.lanes = TC_LANES_OUTER, m->kernel.block = 128;
      const int a = maker_buffer(m, TC_F32, TC_ROLE_READ), x = maker_buffer(m, TC_F32, TC_ROLE_WRITE),
                y = maker_buffer(m, TC_BF16, TC_ROLE_WRITE);
      const int z = maker_buffer(m, TC_F64, TC_ROLE_WRITE), p = maker_phase(m, form < 2);
      const struct tc_expr *v = maker_load(m, a, at);
      maker_store(m, p, x, at, E2(ADD, v, NUM(1)));
      maker_store(m, p, y, at, v);
      maker_store(m, p, z, at, tc_expr_cast(m->exprs, v, TC_F64));
      m->buffers[x].stream = m->buffers[y].stream = m->buffers[z].stream = true;
      run(m, 1000, false, 11);
      maker_end(m);
    }
}

/* --- random numbers --- */

static void random_numbers(void **state) {
  (void)state;
  struct maker maker, *m = &maker;
  maker_begin(m, "random");
  const tc_sym i = maker_inner(m, C(77));
  m->kernel.split_inner = true;
  const int rng = maker_buffer(m, TC_I64, TC_ROLE_RNG), x = maker_buffer(m, TC_F32, TC_ROLE_WRITE),
            y = maker_buffer(m, TC_F32, TC_ROLE_WRITE);
  const int z = maker_buffer(m, TC_F64, TC_ROLE_WRITE), p = maker_phase(m, true);
  const struct tc_expr uniform = {.op = TC_E_UNIFORM, .dtype = TC_F32, .acc = 2, .address = i};
  const struct tc_expr normal = {
      .op = TC_E_NORMAL, .dtype = TC_F32, .acc = 3, .address = PLUS(i, C((int64_t)1 << 33))};
  const struct tc_expr wide = {.op = TC_E_NORMAL, .dtype = TC_F64, .acc = 0, .address = C(5)};
  maker_store(m, p, x, i, tc_expr_make(m->exprs, &uniform));
  maker_store(m, p, y, i, tc_expr_make(m->exprs, &normal));
  maker_store(m, p, z, i, tc_expr_make(m->exprs, &wide));
  struct trial t = {.kernel = maker_kernel(m)};
  for (int b = 0; b < 4; b++)
    t.buffers[b].elements = 77, t.buffers[b].data = trial_data(m->buffers[b].dtype, 77, 1, false);
  const uint64_t generator[] = {0x123456789ABCDEF0u, 0xFFFFFFFFFFFFFFFEu}; /* the draw number wraps */
  memcpy(t.buffers[rng].data, generator, sizeof generator);
  trial_run(&t);
  for (int b = 0; b < 4; b++) free(t.buffers[b].data);
  maker_end(m);
}

/* --- several stores: every value is read before any is written --- */

static void in_place(void **state) {
  (void)state;
  struct maker maker, *m = &maker;
  maker_begin(m, "swap");
  const tc_sym i = maker_inner(m, C(ODD_COUNT));
  m->kernel.split_inner = true;
  const int a = maker_buffer(m, TC_F32, TC_ROLE_READ_WRITE), b = maker_buffer(m, TC_F32, TC_ROLE_READ_WRITE),
            p = maker_phase(m, true);
  const struct tc_expr *x = maker_load(m, a, i), *y = maker_load(m, b, i);
  maker_store(m, p, a, i, E2(ADD, y, NUM(1)));
  maker_store(m, p, b, i, E2(SUB, x, NUM(1)));
  run(m, ODD_COUNT, false, 9);
  maker_end(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(arithmetic_of_reals),
      cmocka_unit_test(rounding_to_bf16),
      cmocka_unit_test(functions_of_reals),
      cmocka_unit_test(arithmetic_of_integers),
      cmocka_unit_test(comparisons_and_logic),
      cmocka_unit_test(conversions),
      cmocka_unit_test(functions_are_accurate),
      cmocka_unit_test(addresses),
      cmocka_unit_test(predicates_and_offsets),
      cmocka_unit_test(symbolic_sizes),
      cmocka_unit_test(streamed_results),
      cmocka_unit_test(random_numbers),
      cmocka_unit_test(in_place),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
