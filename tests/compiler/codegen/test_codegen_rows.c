/* Code generators on rows and columns: every reduction, by dtype, length and lanes; kernels of several
 * phases. */
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

enum form { INNER, INNER_TWO, OUTER, OUTER_WIDE, OUTER_ODD, FORMS };
static const char *const form_names[FORMS] = {"rows", "planes", "columns", "columns_wide", "columns_odd"};

/* A grid of `outer` by `length` elements, reduced over the second. */
struct grid {
  tc_sym outer, at, position;
};
static struct grid make_grid(struct maker *m, enum form form, tc_sym outer, tc_sym length) {
  struct grid g;
  g.outer = maker_outer(m, outer);
  if (form == INNER_TWO) {
    const tc_sym two = C(2), i = maker_inner(m, two), j = maker_inner(m, length);
    g.position = PLUS(TIMES(i, length), j);
    g.at = PLUS(TIMES(g.outer, TIMES(length, two)), g.position);
    return g;
  }
  g.position = maker_inner(m, length);
  if (form == INNER) {
    g.at = PLUS(TIMES(g.outer, length), g.position);
    return g;
  }
  m->kernel.lanes = TC_LANES_OUTER;
  m->kernel.block = form == OUTER ? 16 : form == OUTER_WIDE ? 64 : 24;
  g.at = PLUS(TIMES(g.position, outer), g.outer);
  return g;
}

/* Small integers: their sums are exact in any order. `ordinary` false: products, of numbers near 1. */
static void *mild_data(tc_dtype dtype, int64_t elements, uint64_t seed, enum tc_reduction op) {
  uint64_t state = seed * 77 + 13;
  void *data = trial_data(dtype, elements, seed,
                          op == TC_RED_MAX || op == TC_RED_MIN || op == TC_RED_ARGMAX || op == TC_RED_ARGMIN);
  if (op != TC_RED_SUM && op != TC_RED_PROD && op != TC_RED_ANY && op != TC_RED_ALL) {
    for (int64_t i = 0; i < elements && dtype == TC_F32;
         i++) /* NaN in few places, so that other cases are seen */
      if (isnan(((float *)data)[i]) && trial_random(&state) % 16) ((float *)data)[i] = -3.0f;
    return data;
  }
  for (int64_t i = 0; i < elements; i++) {
    const int small = (int)(trial_random(&state) >> 33) % 7 - 3;
    const double x = op == TC_RED_SUM                 ? small
                     : op == TC_RED_PROD              ? 1.0 + small * 0.01
                     : trial_random(&state) % 64 == 0 ? op == TC_RED_ANY
                                                      : op == TC_RED_ALL;
    switch (dtype) {
      case TC_BOOL: ((uint8_t *)data)[i] = x != 0; break;
      case TC_I64: ((int64_t *)data)[i] = op == TC_RED_PROD ? small * 2 + 1 : (int64_t)x; break;
      case TC_BF16: ((uint16_t *)data)[i] = tc_f32_to_bf16((float)x); break;
      case TC_F32: ((float *)data)[i] = (float)x; break;
      default: ((double *)data)[i] = x; break;
    }
  }
  return data;
}

static void reduce_grid(enum tc_reduction op, tc_dtype dtype, enum form form, int64_t outer, int64_t length,
                        bool symbolic) {
  struct maker maker, *m = &maker;
  maker_begin(m, form_names[form]);
  const int64_t sizes[] = {outer, length};
  m->kernel.n_sizes = 2;
  const struct grid g = make_grid(m, form, symbolic ? tc_sym_size(m->tab, 0, 100) : C(outer),
                                  symbolic ? tc_sym_size(m->tab, 1, 100) : C(length));
  const int a = maker_buffer(m, dtype, TC_ROLE_READ), p = maker_phase(m, true);
  const struct tc_expr *acc = maker_reduce(m, p, op, maker_load(m, a, g.at), g.position);
  const int out = maker_buffer(m, acc->dtype, TC_ROLE_WRITE), q = maker_phase(m, false);
  maker_store(m, q, out, g.outer, acc);
  struct trial t = {.kernel = maker_kernel(m), .sizes = sizes, .tolerance = op == TC_RED_PROD ? 1e-5 : 0};
  t.buffers[a].elements = outer * length * (form == INNER_TWO ? 2 : 1);
  t.buffers[a].data = mild_data(dtype, t.buffers[a].elements, (uint64_t)(outer * 31 + length), op);
  t.buffers[out].elements = outer;
  t.buffers[out].data = trial_data(acc->dtype, outer, 1, false);
  trial_run(&t);
  free(t.buffers[a].data);
  free(t.buffers[out].data);
  maker_end(m);
}

static void reductions(void **state) {
  (void)state;
  static const int64_t shapes[][2] = {{1, 1},   {3, 2},   {5, 15},  {4, 16},  {7, 17},
                                      {33, 33}, {64, 64}, {2, 257}, {65, 100}};
  for (int op = 0; op <= TC_RED_ARGMIN; op++)
    for (int d = 0; d < TC_DTYPE_COUNT; d++) {
      const bool position = op == TC_RED_ARGMAX || op == TC_RED_ARGMIN;
      if (position && d == TC_BOOL) continue;
      for (int form = 0; form < FORMS; form++)
        for (unsigned s = 0; s < sizeof shapes / sizeof *shapes; s++)
          if (((unsigned)d + (unsigned)form + s + (unsigned)op) % 3 ==
              0) /* a third of the combinations: each pair of axes meets */
            reduce_grid((enum tc_reduction)op, (tc_dtype)d, (enum form)form, shapes[s][0], shapes[s][1],
                        false);
    }
}

static void reductions_of_symbolic_length(void **state) {
  (void)state;
  static const int64_t shapes[][2] = {{2, 2}, {5, 63}, {40, 130}, {17, 1000}};
  for (int op = 0; op <= TC_RED_ARGMIN; op++)
    for (int form = 0; form < FORMS; form++)
      for (unsigned s = 0; s < sizeof shapes / sizeof *shapes; s++)
        reduce_grid((enum tc_reduction)op, TC_F32, (enum form)form, shapes[s][0], shapes[s][1], true);
}

/* Ties, NaN and infinities decide positions. */
static void positions(void **state) {
  (void)state;
  enum { LENGTH = 150 };
  static const double fills[][3] = {{-INFINITY, -INFINITY, -INFINITY},
                                    {INFINITY, INFINITY, INFINITY},
                                    {2, 2, 2},
                                    {1, NAN, NAN},
                                    {NAN, NAN, NAN},
                                    {0.0, -0.0, 0.0}};
  for (int op = TC_RED_ARGMAX; op <= TC_RED_ARGMIN; op++)
    for (int form = 0; form < FORMS; form++)
      for (unsigned f = 0; f < sizeof fills / sizeof *fills; f++) {
        struct maker maker, *m = &maker;
        maker_begin(m, "positions");
        const struct grid g = make_grid(m, (enum form)form, C(3), C(LENGTH / 2));
        const int a = maker_buffer(m, TC_F32, TC_ROLE_READ), p = maker_phase(m, true),
                  out = maker_buffer(m, TC_I64, TC_ROLE_WRITE);
        const struct tc_expr *acc =
            maker_reduce(m, p, (enum tc_reduction)op, maker_load(m, a, g.at), g.position);
        maker_store(m, maker_phase(m, false), out, g.outer, acc);
        float data[3 * LENGTH];
        int64_t result[3] = {-1, -1, -1};
        for (int i = 0; i < 3 * LENGTH; i++)
          data[i] = (float)fills[f][i % 50 == 37 ? 1 : i % 50 == 41 ? 2 : 0];
        struct trial t = {.kernel = maker_kernel(m), .buffers = {{data, 3 * LENGTH}, {result, 3}}};
        trial_run(&t);
        maker_end(m);
      }
}

/* --- kernels of several phases --- */

static void run_rows(struct maker *m, const int64_t *elements, double tolerance) {
  struct trial t = {.kernel = maker_kernel(m), .tolerance = tolerance};
  for (int i = 0; i < m->kernel.n_buffers; i++)
    t.buffers[i].elements = elements[i],
    t.buffers[i].data = trial_data(m->buffers[i].dtype, elements[i], (uint64_t)i + 3, false);
  trial_run(&t);
  for (int i = 0; i < m->kernel.n_buffers; i++) free(t.buffers[i].data);
}

static const int64_t lengths[] = {1, 16, 37, 64, 100, 513};
enum { N_LENGTHS = sizeof lengths / sizeof *lengths, GRID_ROWS = 6 };

/* exp(x - max) is kept where the result goes, or in a scratch row, and divided by its sum. */
static void softmax(void **state) {
  (void)state;
  for (int l = 0; l < N_LENGTHS; l++)
    for (int form = 0; form < FORMS; form++)
      for (int scratch = 0; scratch < 2; scratch++) {
        if (scratch && form != INNER) continue;
        struct maker maker, *m = &maker;
        maker_begin(m, "softmax");
        const struct grid g = make_grid(m, (enum form)form, C(GRID_ROWS), C(lengths[l]));
        const int a = maker_buffer(m, TC_F32, TC_ROLE_READ),
                  out = maker_buffer(m, TC_F32, scratch ? TC_ROLE_WRITE : TC_ROLE_READ_WRITE);
        const int kept = scratch ? maker_buffer(m, TC_F32, TC_ROLE_SCRATCH) : out;
        const tc_sym where = scratch ? g.position : g.at;
        const int p = maker_phase(m, true), q = maker_phase(m, true), r = maker_phase(m, true);
        const struct tc_expr *max = maker_reduce(m, p, TC_RED_MAX, maker_load(m, a, g.at), TC_SYM_INVALID);
        const struct tc_expr *e = E1(EXP, E2(SUB, maker_load(m, a, g.at), max));
        const struct tc_expr *sum = maker_reduce(m, q, TC_RED_SUM, e, TC_SYM_INVALID);
        maker_store(m, q, kept, where, e);
        maker_store(m, r, out, g.at, E2(DIV, maker_load(m, kept, where), sum));
        const int64_t n = GRID_ROWS * lengths[l] * 2;
        run_rows(m, (const int64_t[]){n, n, n}, 1e-6);
        maker_end(m);
      }
}

/* Two reductions at once, values of whole rows, and stores of them. */
static void layer_norm(void **state) {
  (void)state;
  for (int l = 0; l < N_LENGTHS; l++)
    for (int form = 0; form < FORMS; form++)
      for (int d = 0; d < 3; d++) {
        static const tc_dtype dtypes[] = {TC_F32, TC_BF16, TC_F64};
        const tc_dtype stored = dtypes[d], compute = tc_compute_dtype(stored);
        if (form == INNER_TWO) continue;
        struct maker maker, *m = &maker;
        maker_begin(m, "norm");
        const struct grid g = make_grid(m, (enum form)form, C(GRID_ROWS), C(lengths[l]));
        const int a = maker_buffer(m, stored, TC_ROLE_READ), w = maker_buffer(m, stored, TC_ROLE_READ),
                  out = maker_buffer(m, stored, TC_ROLE_WRITE);
        const int means = maker_buffer(m, stored, TC_ROLE_WRITE);
        const int p = maker_phase(m, true), row = maker_phase(m, false), q = maker_phase(m, true);
        const struct tc_expr *x = maker_load(m, a, g.at),
                             *n = tc_expr_num(m->exprs, compute, 1.0 / (double)lengths[l]);
        const struct tc_expr *mean = E2(MUL, maker_reduce(m, p, TC_RED_SUM, x, TC_SYM_INVALID), n);
        const struct tc_expr *square =
            E2(MUL, maker_reduce(m, p, TC_RED_SUM, E2(MUL, x, x), TC_SYM_INVALID), n);
        const struct tc_expr *variance =
            E2(ADD, E2(SUB, square, E2(MUL, mean, mean)), tc_expr_num(m->exprs, compute, 0.1));
        maker_store(m, row, means, g.outer, mean);
        maker_store(m, q, out, g.at,
                    E2(MUL, E2(MUL, E2(SUB, x, mean), E1(RSQRT, variance)), maker_load(m, w, g.position)));
        const int64_t count = GRID_ROWS * lengths[l];
        run_rows(m, (const int64_t[]){count, lengths[l], count, GRID_ROWS}, stored == TC_BF16 ? 1e-2 : 1e-5);
        maker_end(m);
      }
}

/* A row value with everything in it: transcendental functions of scalars are the same as of lanes. */
static void scalars_equal_lanes(void **state) {
  (void)state;
  struct maker maker, *m = &maker;
  maker_begin(m, "scalars");
  const tc_sym r = maker_outer(m, C(GRID_ROWS)), c = maker_inner(m, C(20));
  const int a = maker_buffer(m, TC_F32, TC_ROLE_READ), b = maker_buffer(m, TC_F64, TC_ROLE_READ),
            out = maker_buffer(m, TC_F32, TC_ROLE_WRITE);
  const int wide = maker_buffer(m, TC_F64, TC_ROLE_WRITE), p = maker_phase(m, true);
  const struct tc_expr *x = maker_load(m, a, r), *y = maker_load(m, b, r), *narrow = maker_load(m, a, c);
  const struct tc_expr *f =
      E2(ADD, E1(EXP, x), E2(ADD, E1(SIN, x), E2(ADD, E1(LOG, E1(ABS, x)), E2(POW, E1(ABS, x), NUM(1.7)))));
  const struct tc_expr *g = E2(ADD, E1(TANH, y), E2(ADD, E1(ERF, y), E2(POW, E1(ABS, y), E1(SIGMOID, y))));
  maker_store(m, p, out, PLUS(TIMES(r, C(20)), c), E2(MUL, f, narrow));
  maker_store(m, p, wide, PLUS(TIMES(r, C(20)), c), E2(MUL, g, tc_expr_cast(m->exprs, narrow, TC_F64)));
  run_rows(m, (const int64_t[]){GRID_ROWS * 20, GRID_ROWS * 20, GRID_ROWS * 20, GRID_ROWS * 20}, 0);
  maker_end(m);
}

/* Dimensions of size 1, no inner dimension, no dimension at all. */
static void degenerate_loops(void **state) {
  (void)state;
  for (int outer = 0; outer < 3; outer++)
    for (int inner = 0; inner < 4; inner++) {
      struct maker maker, *m = &maker;
      maker_begin(m, "degenerate");
      tc_sym at = C(0);
      for (int i = 0; i < outer; i++)
        at = PLUS(TIMES(at, C(i == 1 ? 5 : 1)), maker_outer(m, C(i == 1 ? 5 : 1)));
      tc_sym row = at;
      for (int i = 0; i < inner; i++)
        at = PLUS(TIMES(at, C(i == 1 ? 3 : 1)), maker_inner(m, C(i == 1 ? 3 : 1)));
      const int a = maker_buffer(m, TC_F32, TC_ROLE_READ), out = maker_buffer(m, TC_F32, TC_ROLE_WRITE),
                sums = maker_buffer(m, TC_F32, TC_ROLE_WRITE);
      const int p = maker_phase(m, true), q = maker_phase(m, false);
      const struct tc_expr *x = maker_load(m, a, at),
                           *sum = maker_reduce(m, p, TC_RED_SUM, x, TC_SYM_INVALID);
      maker_store(m, p, out, at, E2(ADD, x, NUM(1)));
      maker_store(m, q, sums, row, sum);
      run_rows(m, (const int64_t[]){64, 64, 64}, 1e-6);
      maker_end(m);
    }
}

/* --- phases of a part of a dimension --- */

enum part_form {
  PART_ITEMS,
  PART_ROW,
  PART_ROWS,
  PART_BLOCK,
  PART_BLOCKS,
  PART_FORMS
}; /* which dimension is in parts, and how it runs */
enum { PART_ROWS_N = 7, PART_SLACK = 40 };

/* From `from` to `to` (or by the rows of `table`) the result is what lies `moved` (or the last column)
 * behind, plus one. */
static void add_part(struct maker *m, tc_sym var, tc_sym at, const int buffers[2], tc_sym from, tc_sym to,
                     int64_t *table, int n_turns) {
  enum { COLUMNS = 3 };
  tc_sym *columns = TC_NEW_ARRAY(tc_arena_alloc(m->arena), tc_sym, COLUMNS);
  assert_non_null(columns);
  const int p = maker_phase(m, m->kernel.n_inner > 0);
  struct tc_phase *phase = &m->phases[p];
  phase->var = var, phase->from = from, phase->to = to;
  tc_sym moved = C(2);
  if (n_turns) {
    for (int c = 0; c < COLUMNS; c++) columns[c] = tc_sym_index(m->tab, C(1 << 20));
    phase->n_turns = n_turns, phase->n_columns = COLUMNS, phase->columns = columns, phase->table = table;
    phase->from = columns[0], phase->to = columns[1], moved = columns[2];
  }
  const struct tc_expr *value = maker_load(m, buffers[0], PLUS(at, moved));
  if (tc_sym_is(from, 0)) value = E2(ADD, value, NUM(1)); /* bodies differ */
  maker_store(m, p, buffers[1], at, value);
}

static void run_parts(enum part_form form, int64_t length, bool symbolic) {
  struct maker maker, *m = &maker;
  maker_begin(m, "parts");
  m->kernel.n_sizes = 2;
  const bool rows_in_parts = form == PART_ROWS || form == PART_BLOCKS,
             blocks = form == PART_BLOCK || form == PART_BLOCKS;
  const int64_t rows = form == PART_ITEMS ? 1 : PART_ROWS_N, cut = rows_in_parts ? rows : length,
                sizes[] = {cut / 3, cut / 2 + 1};
  const tc_sym row = form == PART_ITEMS ? C(0) : maker_outer(m, C(rows));
  const tc_sym column = blocks ? maker_outer(m, C(length)) : maker_inner(m, C(length)),
               at = PLUS(TIMES(row, C(length)), column);
  m->kernel.split_inner = form == PART_ITEMS;
  m->kernel.lanes = blocks ? TC_LANES_OUTER : TC_LANES_INNER;
  if (blocks) m->kernel.block = 64;
  const int buffers[] = {maker_buffer(m, TC_F32, TC_ROLE_READ), maker_buffer(m, TC_F32, TC_ROLE_WRITE)};
  const tc_sym var = rows_in_parts ? row : column;
  const tc_sym first = symbolic ? tc_sym_size(m->tab, 0, 20) : C(sizes[0]),
               second = symbolic ? tc_sym_size(m->tab, 1, 30) : C(sizes[1]);
  int64_t table[] = {sizes[1],
                     sizes[1] + (cut - sizes[1]) / 4,
                     9,
                     sizes[1] + (cut - sizes[1]) / 4,
                     sizes[1] + (cut - sizes[1]) / 4,
                     0,
                     cut - (cut - sizes[1]) / 2,
                     cut,
                     31};
  add_part(m, var, at, buffers, C(0), first, NULL, 0);
  add_part(m, var, at, buffers, first, second, NULL, 0);
  add_part(m, var, at, buffers, C(-1), C(-1), table, 3);
  struct trial t = {.kernel = maker_kernel(m), .sizes = sizes};
  for (int i = 0; i < 2; i++) {
    t.buffers[i].elements = rows * length + (i ? 0 : PART_SLACK);
    t.buffers[i].data = trial_data(TC_F32, t.buffers[i].elements, (uint64_t)(length + i), false);
  }
  trial_run(&t);
  free(t.buffers[0].data);
  free(t.buffers[1].data);
  maker_end(m);
}

static void parts(void **state) {
  (void)state;
  static const int64_t part_lengths[] = {6, 16, 100, 513, 2000};
  for (int form = 0; form < PART_FORMS; form++)
    for (unsigned i = 0; i < sizeof part_lengths / sizeof *part_lengths; i++) {
      run_parts((enum part_form)form, part_lengths[i], false);
      run_parts((enum part_form)form, part_lengths[i], true);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reductions),       cmocka_unit_test(reductions_of_symbolic_length),
      cmocka_unit_test(positions),        cmocka_unit_test(softmax),
      cmocka_unit_test(layer_norm),       cmocka_unit_test(scalars_equal_lanes),
      cmocka_unit_test(degenerate_loops), cmocka_unit_test(parts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
