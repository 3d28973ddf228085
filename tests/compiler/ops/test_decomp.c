/* Decompositions: each composite operation, decomposed and interpreted in double precision, against its
 * definition; and what tc_decompose promises of the graph. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "decomp/decomp.h"
#include "tests/compiler/ir/reference.h"

enum { MAX_IN = 4 };

struct fixture {
  struct tc_arena *arena;
  struct tc_graph *graph, *decomposed;
  int n_in;
  struct tc_node *in[MAX_IN];
  struct numbers {
    int64_t count;
    double *data;
  } values[MAX_IN]; /* row-major */
};

static struct tc_config defaults;

/* With walks of their own, and with a graph built again, the same graph comes out. */
static void check_ways(const struct fixture *f) {
  struct tc_strbuf expected, text;
  tc_strbuf_init(&expected, tc_alloc_system());
  tc_graph_print(&expected, f->decomposed);
  for (int way = 0; way < 3; way++) {
    struct tc_config config = defaults;
    struct tc_graph *again;
    struct tc_error err = {0};
    config.opt_fused_passes = way == 1;
    config.opt_inplace_dce = way == 2;
    assert_int_equal(tc_decompose(f->graph, &config, &again, &err), TC_OK);
    tc_strbuf_init(&text, tc_alloc_system());
    tc_graph_print(&text, again);
    assert_string_equal(tc_strbuf_text(&text), tc_strbuf_text(&expected));
    assert_int_equal(again->draws, f->decomposed->draws);
    for (size_t i = 0; i < again->nodes.len; i++) {
      assert_int_equal(again->nodes.data[i]->draw, f->decomposed->nodes.data[i]->draw);
      assert_int_equal(again->nodes.data[i]->uses, f->decomposed->nodes.data[i]->uses);
    }
    tc_strbuf_free(&text);
  }
  tc_strbuf_free(&expected);
}

static struct numbers numbers_new(int ndim, const int64_t *sizes) {
  struct numbers n = {.count = 1};
  for (int d = 0; d < ndim; d++) n.count *= sizes[d];
  n.data = calloc((size_t)n.count + 1, sizeof *n.data);
  assert_non_null(n.data);
  return n;
}

static void numbers_free(struct numbers *n) { free(n->data); }

/* What the decomposed graph makes of its inputs, all of F64. */
static struct numbers interpret(const struct fixture *f) {
  void *data[MAX_IN];
  for (int i = 0; i < f->n_in; i++) data[i] = f->values[i].data;
  struct ref_value *values = ref_evaluate(f->decomposed, &(struct ref_inputs){.data = data});
  struct ref_value *result = &values[f->decomposed->outputs.data[0]->id];
  const struct numbers out = {result->numel, result->f};
  result->f = NULL;
  ref_free_all(values, f->decomposed->nodes.len);
  return out;
}

static int setup(void **state) {
  tc_config_default(&defaults);
  struct fixture *f = calloc(1, sizeof *f);
  if (!f) return -1;
  f->arena = tc_arena_new(tc_alloc_system());
  f->graph = tc_graph_new(f->arena);
  *state = f;
  return f->graph ? 0 : -1;
}

static int teardown(void **state) {
  struct fixture *f = *state;
  for (int i = 0; i < f->n_in; i++) numbers_free(&f->values[i]);
  tc_arena_free(f->arena);
  free(f);
  return 0;
}

static uint64_t random_state = 0x9E3779B97F4A7C15u;
static double random_between(double low, double high) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return low + (high - low) * (double)(random_state >> 11) * 0x1p-53;
}

static struct tc_node *input(struct fixture *f, tc_dtype dtype, int ndim, const int64_t *sizes) {
  struct tc_meta meta = {.dtype = dtype, .ndim = ndim};
  tc_sym strides[TC_MAX_DIMS];
  int64_t stride = 1;
  for (int d = ndim - 1; d >= 0; d--) {
    meta.sizes[d] = tc_sym_const(sizes[d]);
    strides[d] = tc_sym_const(stride);
    stride *= sizes[d];
  }
  struct tc_node *node = tc_graph_input(f->graph, &meta, strides);
  assert_non_null(node);
  f->values[f->n_in] = numbers_new(ndim, sizes);
  for (int64_t i = 0; i < f->values[f->n_in].count; i++) f->values[f->n_in].data[i] = random_between(-3, 3);
  return f->in[f->n_in++] = node;
}
#define INPUT(f, dtype, ...)                                                                                 \
  input((f), (dtype), (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),                             \
        (const int64_t[]){__VA_ARGS__})

/* Adds `op` over all inputs as the output, and decomposes. */
static void decompose(struct fixture *f, tc_op op, int n_ints, const int64_t *ints, double num) {
  tc_sym syms[TC_MAX_ATTRS];
  struct tc_error err = {0};
  struct tc_node *out;
  for (int i = 0; i < n_ints; i++) syms[i] = tc_sym_const(ints[i]);
  const struct tc_attrs attrs = {syms, n_ints, &num, 1};
  if (tc_graph_add(f->graph, op, f->n_in, f->in, &attrs, &out, &err)) fail_msg("%s", err.message);
  assert_true(tc_graph_output(f->graph, out));
  if (tc_decompose(f->graph, &defaults, &f->decomposed, &err)) fail_msg("%s", err.message);
  if (tc_graph_verify(f->decomposed, TC_SPEC_DECOMPOSED, &err)) fail_msg("%s", err.message);
  check_ways(f);
  const struct tc_meta *want = &out->meta, *got = &f->decomposed->outputs.data[0]->meta;
  assert_int_equal(got->dtype, want->dtype);
  assert_int_equal(got->ndim, want->ndim);
  for (int d = 0; d < want->ndim; d++) assert_true(tc_sym_same(got->sizes[d], want->sizes[d]));
}
#define INTS(...)                                                                                            \
  (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]) { __VA_ARGS__ }

static void assert_close(double got, double want, double tolerance) {
  if (isnan(want) ? isnan(got) : isinf(want) ? got == want : fabs(got - want) <= tolerance * (1 + fabs(want)))
    return;
  fail_msg("%.17g instead of %.17g", got, want);
}

static int count_ops(const struct tc_graph *g, tc_op op) {
  int count = 0;
  for (size_t i = 0; i < g->nodes.len; i++) count += g->nodes.data[i]->op == op;
  return count;
}

static const double close = 1e-12;

/* ---- pointwise ---- */

static double gelu(double x) { return x * erfc(-x / sqrt(2)) / 2; }
static double gelu_tanh(double x) {
  return x / 2 * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * pow(x, 3))));
}
static double silu(double x) { return x / (1 + exp(-x)); }
static double softplus(double x) { return x > 20 ? x : x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)); }

static void pointwise(void **state) {
  struct fixture *f = *state;
  static const struct {
    tc_op op;
    double (*of)(double);
  } rows[] = {
      {TC_OP_gelu, gelu}, {TC_OP_gelu_tanh, gelu_tanh}, {TC_OP_silu, silu}, {TC_OP_softplus, softplus}};
  static const double special[] = {0, 19.9, 20.1, 700, -700, NAN};
  INPUT(f, TC_F64, 100);
  memcpy(f->values[0].data, special, sizeof special);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    f->graph->outputs.len = 0;
    decompose(f, rows[i].op, 0, NULL, 0);
    struct numbers out = interpret(f);
    for (int64_t k = 0; k < out.count; k++)
      assert_close(out.data[k], rows[i].of(f->values[0].data[k]), close);
    numbers_free(&out);
  }
}

/* ---- reductions: [3, 4, 5] over the middle, and over 1 and 3 ---- */

enum { A = 3, B = 4, C = 5 };
static double at(const struct fixture *f, int a, int b, int c) {
  return f->values[0].data[(a * B + b) * C + c];
}

static void mean_and_var(void **state) {
  struct fixture *f = *state;
  INPUT(f, TC_F64, A, B, C);
  for (int which = 0; which < 2; which++) {
    f->graph->outputs.len = 0;
    decompose(f, which ? TC_OP_var : TC_OP_mean, INTS(0, 0, 2), 1);
    struct numbers out = interpret(f);
    assert_int_equal(out.count, B);
    for (int b = 0; b < B; b++) {
      double sum = 0, squares = 0;
      for (int a = 0; a < A; a++)
        for (int c = 0; c < C; c++) sum += at(f, a, b, c);
      const double mean = sum / (A * C);
      for (int a = 0; a < A; a++)
        for (int c = 0; c < C; c++) squares += pow(at(f, a, b, c) - mean, 2);
      assert_close(out.data[b], which ? squares / (A * C - 1) : mean, close);
    }
    numbers_free(&out);
  }
}

/* One element less the correction leaves nothing: 0 / 0. The mean of nothing: 0 / 0. */
static void mean_and_var_of_too_little(void **state) {
  struct fixture *f = *state;
  INPUT(f, TC_F64, 2, 1);
  decompose(f, TC_OP_var, INTS(0, 1), 1);
  struct numbers out = interpret(f);
  assert_true(isnan(out.data[0]));
  numbers_free(&out);
  struct fixture empty = {.arena = f->arena, .graph = tc_graph_new(f->arena)};
  INPUT(&empty, TC_F64, 2, 0);
  decompose(&empty, TC_OP_mean, INTS(1, 1), 0);
  out = interpret(&empty);
  assert_int_equal(out.count, 2);
  assert_true(isnan(out.data[1]));
  numbers_free(&out);
  numbers_free(&empty.values[0]);
}

static double log_sum_exp(const struct fixture *f, int a, int c) {
  double largest = -INFINITY, sum = 0;
  for (int b = 0; b < B; b++) largest = fmax(largest, at(f, a, b, c));
  if (isinf(largest)) return largest;
  for (int b = 0; b < B; b++) sum += exp(at(f, a, b, c) - largest);
  return largest + log(sum);
}

static void softmax_and_relatives(void **state) {
  struct fixture *f = *state;
  static const tc_op ops[] = {TC_OP_softmax, TC_OP_log_softmax, TC_OP_logsumexp};
  INPUT(f, TC_F64, A, B, C);
  for (int i = 0; i < f->values[0].count; i += 7) f->values[0].data[i] *= 400; /* exp would overflow */
  for (int which = 0; which < 3; which++) {
    f->graph->outputs.len = 0;
    if (ops[which] == TC_OP_logsumexp)
      decompose(f, ops[which], INTS(0, 1), 0);
    else
      decompose(f, ops[which], INTS(1), 0);
    struct numbers out = interpret(f);
    for (int a = 0; a < A; a++)
      for (int b = 0; b < B; b++)
        for (int c = 0; c < C; c++) {
          const double total = log_sum_exp(f, a, c), down = at(f, a, b, c) - total;
          if (which == 2)
            assert_close(out.data[a * C + c], total, close);
          else
            assert_close(out.data[(a * B + b) * C + c], which ? down : exp(down), close);
        }
    numbers_free(&out);
  }
}

static void logsumexp_of_infinities(void **state) {
  struct fixture *f = *state;
  INPUT(f, TC_F64, 3, 2);
  const double values[] = {-INFINITY, -INFINITY, INFINITY, 1, -INFINITY, 1};
  memcpy(f->values[0].data, values, sizeof values);
  decompose(f, TC_OP_logsumexp, INTS(1, 1), 0);
  struct numbers out = interpret(f);
  assert_close(out.data[0], -INFINITY, 0);
  assert_close(out.data[1], INFINITY, 0);
  assert_close(out.data[2], 1, 0);
  numbers_free(&out);
}

static void softmax_of_nothing_and_of_one(void **state) {
  struct fixture *f = *state;
  INPUT(f, TC_F64, 3, 0);
  decompose(f, TC_OP_softmax, INTS(1), 0);
  struct fixture one = {.arena = f->arena, .graph = tc_graph_new(f->arena)};
  input(&one, TC_F64, 0, NULL);
  decompose(&one, TC_OP_softmax, INTS(0), 0);
  struct numbers out = interpret(&one);
  assert_close(out.data[0], 1, 0);
  numbers_free(&out);
  numbers_free(&one.values[0]);
}

/* ---- layers ---- */

static void norms(void **state) {
  struct fixture *f = *state;
  enum { ROWS = 4, COLUMNS = 6 };
  static const double eps = 1e-3;
  INPUT(f, TC_F64, ROWS, 2, 3);
  INPUT(f, TC_F64, 2, 3);
  INPUT(f, TC_F64, 2, 3);
  for (int which = 0; which < 2; which++) {
    f->graph->outputs.len = 0;
    f->n_in = which ? 2 : 3;
    decompose(f, which ? TC_OP_rms_norm : TC_OP_layer_norm, INTS(2, 1, !which), eps);
    f->n_in = 3;
    struct numbers out = interpret(f);
    for (int row = 0; row < ROWS; row++) {
      const double *x = f->values[0].data + row * COLUMNS;
      double mean = 0, power = 0;
      for (int i = 0; i < COLUMNS && !which; i++) mean += x[i] / COLUMNS;
      for (int i = 0; i < COLUMNS; i++) power += pow(x[i] - mean, 2) / COLUMNS;
      for (int i = 0; i < COLUMNS; i++) {
        const double unit = (x[i] - mean) / sqrt(power + eps) * f->values[1].data[i];
        assert_close(out.data[row * COLUMNS + i], which ? unit : unit + f->values[2].data[i], close);
      }
    }
    numbers_free(&out);
  }
}

static void linear_is_one_flat_product(void **state) {
  enum { ROWS = 6, IN = 4, OUT = 5 };
  static const struct {
    int ndim;
    int64_t sizes[3];
  } shapes[] = {{2, {ROWS, IN}}, {3, {2, 3, IN}}, {1, {IN}}};
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
    struct fixture g = {.arena = ((struct fixture *)*state)->arena}, *f = &g;
    f->graph = tc_graph_new(f->arena);
    input(f, TC_F64, shapes[s].ndim, shapes[s].sizes);
    INPUT(f, TC_F64, OUT, IN);
    INPUT(f, TC_F64, OUT);
    decompose(f, TC_OP_linear, 0, NULL, 0);
    assert_int_equal(count_ops(f->decomposed, TC_OP_matmul), 1);
    for (size_t i = 0; i < f->decomposed->nodes.len; i++)
      if (f->decomposed->nodes.data[i]->op == TC_OP_matmul)
        assert_int_equal(f->decomposed->nodes.data[i]->meta.ndim, 2);
    struct numbers out = interpret(f);
    for (int64_t i = 0; i < out.count; i++) {
      double want = f->values[2].data[i % OUT];
      for (int k = 0; k < IN; k++)
        want += f->values[0].data[i / OUT * IN + k] * f->values[1].data[i % OUT * IN + k];
      assert_close(out.data[i], want, close);
    }
    numbers_free(&out);
    for (int i = 0; i < f->n_in; i++) numbers_free(&f->values[i]);
  }
}

/* One head, L queries, S keys, E features. */
static void attention(void **state) {
  enum { L = 4, S = 5, E = 3 };
  for (int variant = 0; variant < 3; variant++) { /* plain, masked, causal */
    struct fixture g = {.arena = ((struct fixture *)*state)->arena}, *f = &g;
    f->graph = tc_graph_new(f->arena);
    INPUT(f, TC_F64, 1, L, E);
    INPUT(f, TC_F64, 1, S, E);
    INPUT(f, TC_F64, 1, S, E);
    if (variant == 1) INPUT(f, TC_F64, L, S);
    decompose(f, TC_OP_sdpa, INTS(variant == 2), 0.5);
    assert_int_equal(count_ops(f->decomposed, TC_OP_matmul), 2);
    struct numbers out = interpret(f);
    for (int l = 0; l < L; l++) {
      double weights[S], total = 0;
      for (int s = 0; s < S; s++) {
        double score = variant == 1 ? f->values[3].data[l * S + s] : 0;
        for (int e = 0; e < E; e++)
          score += 0.5 * f->values[0].data[l * E + e] * f->values[1].data[s * E + e];
        weights[s] = variant == 2 && s > l ? 0 : exp(score);
        total += weights[s];
      }
      for (int e = 0; e < E; e++) {
        double want = 0;
        for (int s = 0; s < S; s++) want += weights[s] / total * f->values[2].data[s * E + e];
        assert_close(out.data[l * E + e], want, close);
      }
    }
    numbers_free(&out);
    for (int i = 0; i < f->n_in; i++) numbers_free(&f->values[i]);
  }
}

/* ---- the graph ---- */

/* bf16 is only read and written: between the casts everything is f32. */
static void bf16_is_computed_in_f32(void **state) {
  struct fixture *f = *state;
  static const struct {
    tc_op op;
    int n_ints;
    int64_t ints[3];
  } rows[] = {{TC_OP_softmax, 1, {1}},
              {TC_OP_layer_norm, 3, {1, 0, 0}},
              {TC_OP_mean, 2, {0, 1}},
              {TC_OP_gelu, 0, {0}},
              {TC_OP_logsumexp, 2, {0, 1}}};
  INPUT(f, TC_BF16, 3, 8);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    f->graph->outputs.len = 0;
    decompose(f, rows[i].op, rows[i].n_ints, rows[i].ints, 1e-5);
    for (size_t k = 0; k < f->decomposed->nodes.len; k++) {
      const struct tc_node *node = f->decomposed->nodes.data[k];
      if (node->op != TC_OP_input && node->op != TC_OP_cast) assert_int_not_equal(node->meta.dtype, TC_BF16);
    }
    assert_int_equal(count_ops(f->decomposed, TC_OP_cast), 2);
  }
}

static void draws_are_kept(void **state) {
  struct fixture *f = *state;
  struct tc_error err;
  struct tc_node *dead, *drawn, *out;
  const tc_sym ints[] = {tc_sym_const(TC_F32), tc_sym_const(4)};
  const struct tc_attrs attrs = {ints, 2, NULL, 0};
  assert_int_equal(tc_graph_add(f->graph, TC_OP_rand, 0, NULL, &attrs, &dead, &err), TC_OK);
  assert_int_equal(tc_graph_add(f->graph, TC_OP_rand, 0, NULL, &attrs, &drawn, &err), TC_OK);
  assert_int_equal(tc_graph_add(f->graph, TC_OP_gelu, 1, &drawn, NULL, &out, &err), TC_OK);
  out->line = 17;
  assert_true(tc_graph_output(f->graph, out));
  assert_true(tc_graph_output(f->graph, drawn));
  assert_true(tc_graph_output(f->graph, out));
  assert_int_equal(tc_decompose(f->graph, &defaults, &f->decomposed, &err), TC_OK);
  check_ways(f);
  assert_int_equal(tc_graph_verify(f->decomposed, TC_SPEC_DECOMPOSED, &err), TC_OK);
  assert_int_equal(count_ops(f->decomposed, TC_OP_rand), 1);
  assert_int_equal(f->decomposed->draws, 2);
  assert_int_equal(f->decomposed->outputs.len, 3);
  assert_int_equal(f->decomposed->outputs.data[1]->draw, 1);
  assert_ptr_equal(f->decomposed->outputs.data[0], f->decomposed->outputs.data[2]);
  assert_int_equal(f->decomposed->outputs.data[0]->line, 17);
}

static void symbolic_sizes_stay_symbolic(void **state) {
  struct fixture *f = *state;
  const tc_sym n = tc_sym_size(f->graph->tab, 0, 32), strides[] = {tc_sym_const(8), tc_sym_const(1)};
  const struct tc_meta meta = {.dtype = TC_F32, .ndim = 2, .sizes = {n, tc_sym_const(8)}};
  static const struct {
    tc_op op;
    int n_ints;
    int64_t ints[3];
  } rows[] = {{TC_OP_softmax, 1, {0}},
              {TC_OP_mean, 2, {0, 0}},
              {TC_OP_var, 3, {0, 0, 1}},
              {TC_OP_layer_norm, 3, {1, 0, 0}},
              {TC_OP_logsumexp, 2, {1, 0}}};
  f->in[0] = tc_graph_input(f->graph, &meta, strides);
  assert_non_null(f->in[0]);
  f->n_in = 1;
  f->values[0].data = NULL;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    f->graph->outputs.len = 0;
    decompose(f, rows[i].op, rows[i].n_ints, rows[i].ints, 1);
  }
  assert_int_equal(tc_sym_fact_count(f->graph->tab), 0); /* nothing was decided on the size */
}

static void rules_are_those_of_the_table(void **state) {
  (void)state;
  assert_non_null(tc_decomp_rule_of(TC_OP_softmax));
  assert_non_null(tc_decomp_rule_of(TC_OP_sdpa));
  assert_null(tc_decomp_rule_of(TC_OP_add));
  assert_null(tc_decomp_rule_of(TC_OP_matmul));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(pointwise),
      TEST(mean_and_var),
      TEST(mean_and_var_of_too_little),
      TEST(softmax_and_relatives),
      TEST(logsumexp_of_infinities),
      TEST(softmax_of_nothing_and_of_one),
      TEST(norms),
      TEST(linear_is_one_flat_product),
      TEST(attention),
      TEST(bf16_is_computed_in_f32),
      TEST(draws_are_kept),
      TEST(symbolic_sizes_stay_symbolic),
      TEST(rules_are_those_of_the_table),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
