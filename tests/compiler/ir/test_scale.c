/* Graphs of a hundred thousand operations: no stage recurses by their depth (they run on a stack that is far
 * too small for that), what they take grows no faster than the graph, equal regions share one code, and
 * results stay right. */
#include "codegen/emit.h"
#include "tests/campaign.h"
#include "tests/compiler/ir/lowered.h"

#include <pthread.h>

enum { LARGE = 100000, MEDIUM = 12000, SMALL_STACK = 256 << 10, ROWS = 4, COLUMNS = 8, MATRIX = 16 };

/* Under a sanitizer a quarter of it, which is as deep for a stack of that size. */
static int large(void) { return 2 * campaign(LARGE / 2) < LARGE ? LARGE / 4 : LARGE; }

/* --- graphs --- */

static struct tc_node *add(struct tc_graph *g, tc_op op, int n_in, struct tc_node *const *in, int n_ints,
                           const int64_t *ints) {
  struct tc_error err = {0};
  tc_sym syms[TC_MAX_ATTRS];
  for (int i = 0; i < n_ints; i++) syms[i] = tc_sym_const(ints[i]);
  const struct tc_attrs attrs = {syms, n_ints, NULL, 0};
  struct tc_node *node = NULL;
  return tc_graph_add(g, op, n_in, in, &attrs, &node, &err) ? NULL : node;
}
static struct tc_node *unary(struct tc_graph *g, tc_op op, struct tc_node *x) {
  return add(g, op, 1, &x, 0, NULL);
}
static struct tc_node *binary(struct tc_graph *g, tc_op op, struct tc_node *x, struct tc_node *y) {
  struct tc_node *const in[] = {x, y};
  return add(g, op, 2, in, 0, NULL);
}
static struct tc_node *input(struct tc_graph *g, int64_t rows, int64_t columns) {
  const struct tc_meta meta = {
      .dtype = TC_F32, .ndim = 2, .sizes = {tc_sym_const(rows), tc_sym_const(columns)}};
  const tc_sym strides[] = {tc_sym_const(columns), tc_sym_const(1)};
  return tc_graph_input(g, &meta, strides);
}

/* One operation feeds the next. */
static void chain(struct tc_graph *g, int n) {
  static const tc_op ops[] = {TC_OP_relu, TC_OP_neg, TC_OP_tanh};
  struct tc_node *x = input(g, ROWS, COLUMNS);
  for (int i = 0; i < n; i++) x = unary(g, ops[i % 3], x);
  tc_graph_output(g, x);
}

/* Each operation reads the last one twice: a walk that does not mark what it has met would not end. */
static void ladder(struct tc_graph *g, int n) {
  struct tc_node *x = input(g, ROWS, COLUMNS);
  for (int i = 0; i < n; i++) x = i % 2 ? unary(g, TC_OP_tanh, x) : binary(g, TC_OP_add, x, x);
  tc_graph_output(g, x);
}

/* Independent operations. */
static void wide(struct tc_graph *g, int n) {
  static const tc_op ops[] = {TC_OP_relu, TC_OP_neg, TC_OP_tanh, TC_OP_abs};
  for (int i = 0; i < n; i++) tc_graph_output(g, unary(g, ops[i % 4], input(g, ROWS, COLUMNS)));
}

/* A tree of sums over different leaves. */
static void tree(struct tc_graph *g, int n) {
  struct tc_node **level = calloc((size_t)n, sizeof *level), *x = input(g, ROWS, COLUMNS);
  int width = n / 2;
  for (int i = 0; i < width; i++) level[i] = x = unary(g, i % 2 ? TC_OP_tanh : TC_OP_neg, x);
  for (; width > 1; width = (width + 1) / 2)
    for (int i = 0; i < width; i += 2)
      level[i / 2] = i + 1 < width ? binary(g, TC_OP_add, level[i], level[i + 1]) : level[i];
  tc_graph_output(g, level[0]);
  free(level);
}

/* Reductions between pointwise operations, over rows and columns in turn, so that no two fuse. */
static void reductions(struct tc_graph *g, int n) {
  struct tc_node *x = input(g, ROWS, COLUMNS), *y = x;
  for (int i = 0; i < n; i += 3) {
    const int64_t attrs[] = {1, i % 2};
    y = binary(g, TC_OP_sub, y, add(g, TC_OP_amax, 1, &y, 2, attrs));
    y = binary(g, TC_OP_mul, y, x);
  }
  tc_graph_output(g, y);
}

/* Products with what is fused around them: equal layers. */
static void layers(struct tc_graph *g, int n) {
  struct tc_node *x = input(g, MATRIX, MATRIX), *w = input(g, MATRIX, MATRIX);
  for (int i = 0; i < n; i += 4) {
    struct tc_node *y = unary(g, TC_OP_relu, binary(g, TC_OP_matmul, x, w));
    x = unary(g, TC_OP_tanh, binary(g, TC_OP_add, y, x));
  }
  tc_graph_output(g, x);
}

/* All values of the first half are needed again in the second, the last one first, as gradients need them. */
static void nested(struct tc_graph *g, int n) {
  struct tc_node **values = calloc((size_t)n, sizeof *values), *w = input(g, MATRIX, MATRIX), *x = w;
  const int half = n / 4;
  for (int i = 0; i < half; i++) values[i] = x = unary(g, TC_OP_tanh, binary(g, TC_OP_matmul, x, w));
  for (int i = half - 1; i >= 0; i--) x = binary(g, TC_OP_mul, binary(g, TC_OP_matmul, x, w), values[i]);
  tc_graph_output(g, x);
  free(values);
}

/* Rows of another length after each step: dims are split until they meet. */
static void reshapes(struct tc_graph *g, int n) {
  struct tc_node *x = input(g, ROWS, COLUMNS);
  for (int i = 0; i < n; i += 4) {
    const int64_t sizes[] = {i % 8 ? ROWS : ROWS / 2, i % 8 ? COLUMNS : COLUMNS * 2}, attrs[] = {1, 1};
    x = unary(g, TC_OP_tanh, add(g, TC_OP_reshape, 1, &x, 2, sizes));
    x = binary(g, TC_OP_sub, x, add(g, TC_OP_amax, 1, &x, 2, attrs));
  }
  tc_graph_output(g, x);
}

/* --- a compile on a small stack --- */

struct job {
  void (*make)(struct tc_graph *g, int n);
  int n;
  bool fuse;
  tc_status status;
  struct tc_error err;
  int launches, codes;
  size_t bytes;
};

static tc_status compile(struct tc_arena *arena, struct job *job) {
  static const struct tc_codegen *const codegens[] = {&tc_codegen_null, NULL};
  struct tc_graph *g = tc_graph_new(arena), *again;
  struct tc_loops *loops;
  struct tc_launch_list *list;
  struct tc_blobs blobs = {0};
  struct tc_config config;
  struct tc_strbuf text;
  tc_config_default(&config);
  config.verify = true;
  config.fuse = job->fuse;
  job->make(g, job->n);
  tc_status status = tc_decompose(g, &config, &g, &job->err);
  if (!status) status = tc_graph_verify(g, TC_SPEC_DECOMPOSED, &job->err);
  if (!status) status = tc_lower(g, &config, &loops, &job->err);
  if (!status) status = tc_loops_verify(loops, &job->err);
  if (!status) status = tc_schedule(g, loops, &lowered_target, &config, &list, &job->err);
  if (!status)
    status =
        tc_emit_kernels(tc_alloc_system(), codegens, &lowered_target, &config, list, &blobs, NULL, &job->err);
  if (status) return status;
  tc_blobs_free(&blobs);
  job->bytes = tc_arena_used(arena);
  job->launches = list->n_launches;
  job->codes = list->n_codes;
  tc_strbuf_init(&text, tc_alloc_system());
  tc_graph_print(&text, g);
  status = tc_graph_parse(arena, tc_strbuf_text(&text), &again, &job->err);
  if (!status && again->nodes.len != g->nodes.len)
    status = tc_fail(&job->err, TC_VERIFY, "test", "the text has other nodes than the graph");
  tc_strbuf_free(&text);
  return status;
}

static void *run_job(void *argument) {
  struct job *job = argument;
  struct tc_arena *arena = tc_arena_new(tc_alloc_system());
  job->status = compile(arena, job);
  tc_arena_free(arena);
  return NULL;
}

static struct job on_small_stack(void (*make)(struct tc_graph *g, int n), int n, bool fuse) {
  struct job job = {.make = make, .n = n, .fuse = fuse};
  pthread_attr_t attributes;
  pthread_t thread;
  assert_int_equal(pthread_attr_init(&attributes), 0);
  assert_int_equal(pthread_attr_setstacksize(&attributes, SMALL_STACK), 0);
  assert_int_equal(pthread_create(&thread, &attributes, run_job, &job), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  pthread_attr_destroy(&attributes);
  LOWERED_OK(job.status, job.err);
  return job;
}

/* Four times the graph takes no more than five times the memory. */
static struct job check(void (*make)(struct tc_graph *g, int n), bool fuse) {
  const struct job quarter = on_small_stack(make, large() / 4, fuse),
                   whole = on_small_stack(make, large(), fuse);
  assert_true(whole.bytes < 5 * quarter.bytes);
  assert_true(whole.launches < 5 * quarter.launches);
  return whole;
}

static void test_chain(void **state) {
  (void)state;
  struct tc_config config;
  tc_config_default(&config);
  const struct job job = check(chain, true);
  assert_true(job.launches >= large() / config.fuse_max_ops &&
              job.launches <= large() / 128); /* kernels have a limit, and are used */
  assert_true(job.codes <= 8);                /* most are equal */
  assert_int_equal(check(chain, false).launches, large());
}

static void test_ladder(void **state) {
  (void)state;
  assert_true(check(ladder, true).launches <= large() / 64);
}

static void test_wide(void **state) {
  (void)state;
  assert_true(check(wide, true).launches <= large() / 4);
}

static void test_tree(void **state) {
  (void)state;
  assert_true(check(tree, true).launches <= large() / 4);
}

static void test_reductions(void **state) {
  (void)state;
  assert_true(check(reductions, true).codes <= 8);
}

/* Layers that are equal are compiled once. */
static void test_layers(void **state) {
  (void)state;
  const struct job job = check(layers, true);
  assert_int_equal(job.codes, 1);
  assert_int_equal(job.launches, large() / 2);
}

static void test_nested(void **state) {
  (void)state;
  assert_int_equal(check(nested, true).codes, 2);
}

static void test_reshapes(void **state) {
  (void)state;
  assert_true(check(reshapes, true).codes <= 8);
}

/* What was cut at limits, moved and laid out like this still computes the same. */
static void test_values(void **state) {
  static void (*const makers[])(struct tc_graph *g, int n) = {chain,  tree,   reductions,
                                                              layers, nested, reshapes};
  (void)state;
  for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) {
    struct lowered l = {.arena = tc_arena_new(tc_alloc_system())};
    struct tc_graph *g = tc_graph_new(l.arena);
    makers[i](g, MEDIUM);
    lower_graph(&l, g, true);
    run_and_compare(&l, 2, 1e3);
    tc_arena_free(l.arena);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_chain),  cmocka_unit_test(test_ladder),     cmocka_unit_test(test_wide),
      cmocka_unit_test(test_tree),   cmocka_unit_test(test_reductions), cmocka_unit_test(test_layers),
      cmocka_unit_test(test_nested), cmocka_unit_test(test_reshapes),   cmocka_unit_test(test_values),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
