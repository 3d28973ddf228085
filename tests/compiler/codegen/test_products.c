/* Own kernels of matrix products, as the interpreter runs them: register tiles over random shapes, most of
 * which fill neither tiles nor vectors, with batches, operands that lie in any way, and what is fused in
 * front of and behind them; at constant and at symbolic sizes. */
#include "base/products.h"
#include "tests/campaign.h"
#include "tests/compiler/ir/lowered.h"

enum {
  GRAPHS = 120,
  MOST = 21 /* rows, columns, terms: more than two tiles of any way and vectors of either target */,
  OPERATIONS = 5
};

static const struct {
  const char *name;
  int vector_bytes, registers;
} machines[] = {{"avx2", 32, 16}, {"avx512", 64, 32}};
static const tc_dtype dtypes[] = {TC_F32, TC_F64, TC_BF16};

/* --- a random product --- */

struct maker {
  struct tc_graph *g;
  tc_dtype dtype;
  bool symbolic;
};

static struct tc_node *add(struct maker *m, tc_op op, struct tc_node *a, struct tc_node *b, int n_ints,
                           const int64_t *values) {
  struct tc_error err = {0};
  struct tc_node *in[] = {a, b}, *made = NULL;
  tc_sym ints[TC_MAX_ATTRS];
  for (int i = 0; i < n_ints; i++) ints[i] = tc_sym_const(values[i]);
  const struct tc_attrs attrs = {.ints = ints, .n_ints = n_ints};
  LOWERED_OK(tc_graph_add(m->g, op, b ? 2 : 1, in, &attrs, &made, &err), err);
  return made;
}

/* A matrix, or a batch of them: dense, with gaps, or column by column. */
static struct tc_node *operand(struct maker *m, int64_t batch, tc_sym rows, tc_sym columns) {
  struct tc_meta meta = {.dtype = m->dtype};
  tc_sym strides[3], step = tc_sym_const(1 + random_below(4) / 3);
  const bool turned = random_below(3) == 0;
  if (batch) meta.sizes[meta.ndim++] = tc_sym_const(batch);
  const int first = meta.ndim;
  meta.sizes[meta.ndim++] = rows;
  meta.sizes[meta.ndim++] = columns;
  strides[turned ? first : first + 1] = step;
  step = tc_sym_mul(m->g->tab, step, turned ? rows : columns);
  strides[turned ? first + 1 : first] = step;
  if (batch) strides[0] = tc_sym_mul(m->g->tab, step, turned ? columns : rows);
  struct tc_node *node = tc_graph_input(m->g, &meta, strides);
  assert_non_null(node);
  return node;
}

/* The same values as the transposed view of a matrix that lies the other way. */
static struct tc_node *viewed(struct maker *m, int64_t batch, tc_sym rows, tc_sym columns) {
  static const int64_t plain[] = {1, 0}, batched[] = {0, 2, 1};
  if (random_below(3)) return operand(m, batch, rows, columns);
  return add(m, TC_OP_permute, operand(m, batch, columns, rows), NULL, batch ? 3 : 2,
             batch ? batched : plain);
}

static tc_sym size(struct maker *m, int id) {
  const int64_t hint = 1 + random_below(MOST);
  if (!m->symbolic || hint == 1) return tc_sym_const(hint);
  return tc_sym_size(m->g->tab, id, hint);
}

static struct tc_node *pointwise(struct maker *m, struct tc_node *x) {
  static const tc_op ops[] = {TC_OP_relu, TC_OP_neg, TC_OP_sigmoid};
  return random_below(2) ? x : add(m, ops[random_below(3)], x, NULL, 0, NULL);
}

/* A bias, a sum over rows or columns, another product, or nothing. */
static struct tc_node *behind(struct maker *m, struct tc_node *x, tc_sym columns) {
  const int last = x->meta.ndim - 1;
  switch (random_below(OPERATIONS)) {
    case 0: return add(m, TC_OP_add, x, operand(m, 0, tc_sym_const(1), columns), 0, NULL);
    case 1: return add(m, TC_OP_sum, x, NULL, 2, (const int64_t[]){0, last - random_below(2)});
    case 2: return add(m, TC_OP_matmul, x, operand(m, 0, columns, size(m, 3)), 0, NULL);
    default: return x;
  }
}

static struct tc_graph *random_product(struct tc_arena *arena, uint64_t seed, bool symbolic) {
  random_state = seed * 2654435761u + 88172645463325252u;
  struct maker m = {.g = tc_graph_new(arena),
                    .dtype = dtypes[random_below(sizeof dtypes / sizeof *dtypes)],
                    .symbolic = symbolic};
  for (int i = 0; i < LOWERED_SIZES && symbolic; i++) (void)tc_sym_size(m.g->tab, i, 1 + MOST);
  const tc_sym rows = size(&m, 0), columns = size(&m, 1), terms = size(&m, 2);
  const int64_t batch = random_below(3) ? 0 : 1 + random_below(3);
  struct tc_node *a = pointwise(&m, viewed(&m, batch, rows, terms)),
                 *b = pointwise(&m, viewed(&m, batch && random_below(2) ? batch : 0, terms, columns));
  struct tc_node *c = add(&m, TC_OP_matmul, a, b, 0, NULL);
  assert_true(tc_graph_output(m.g, pointwise(&m, behind(&m, c, columns))));
  if (random_below(3) == 0) assert_true(tc_graph_output(m.g, c));
  tc_graph_count_uses(m.g);
  tc_graph_remove_unused(m.g);
  return m.g;
}

/* --- its kernels --- */

/* Schedules it with every product computed this way. Gives the library's calls and the kernels of
 * products. */
static void lower_by(struct lowered *l, struct tc_graph *g, enum tc_product way, int *library, int *own) {
  struct tc_config config;
  struct tc_error err = {0};
  tc_config_default(&config);
  config.verify = true;
  LOWERED_OK(tc_decompose(g, &config, &l->graph, &err), err);
  for (size_t i = 0; i < l->graph->nodes.len; i++)
    if (l->graph->nodes.data[i]->op == TC_OP_matmul) l->graph->nodes.data[i]->product = way;
  LOWERED_OK(tc_lower(l->graph, &config, &l->loops, &err), err);
  LOWERED_OK(tc_schedule(l->graph, l->loops, &lowered_target, &config, &l->list, &err), err);
  *library += count_launches(l->list, TC_LAUNCH_GEMM);
  for (int i = 0; i < l->list->n_codes; i++) {
    LOWERED_OK(tc_kernel_verify(l->list->codes[i].kernel, &err), err);
    *own += l->list->codes[i].kernel->product;
  }
}

static bool facts_hold(const struct tc_graph *g, const int64_t *sizes) {
  for (int i = 0; i < tc_sym_fact_count(g->tab); i++) {
    const struct tc_sym_fact fact = tc_sym_fact_at(g->tab, i);
    if (!tc_sym_fact_true(&fact, sizes)) return false;
  }
  return true;
}

/* Of bf16, whose results are rounded once more where the reference rounds in between. */
static double slack_of(const struct tc_graph *g) { return g->inputs.data[0]->meta.dtype == TC_BF16 ? 8 : 4; }

static void run_constant(uint64_t seed, enum tc_product way, int *library, int *own) {
  struct lowered l = {.arena = tc_arena_new(tc_alloc_system())};
  lower_by(&l, random_product(l.arena, seed, false), way, library, own);
  run_against(l.list, l.graph, 1 + (int)(seed % 3), slack_of(l.graph));
  tc_arena_free(l.arena);
}

/* Scheduled once, for the sizes that its facts let pass: those of the hints, and others that leave other
 * rests. */
static void run_symbolic(uint64_t seed, enum tc_product way, int *own, int *served) {
  static const int64_t rows[][LOWERED_SIZES] = {
      {7, 18, 5, 9}, {8, 16, 2, 4}, {17, 33, 21, 3}, {2, 3, 2, 2}, {25, 65, 13, 31}};
  struct lowered l = {.arena = tc_arena_new(tc_alloc_system())};
  int library = 0;
  struct tc_graph *g = random_product(l.arena, seed, true);
  lower_by(&l, g, way, &library, own);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (!facts_hold(l.graph, rows[i])) continue;
    struct tc_arena *arena = tc_arena_new(tc_alloc_system());
    memcpy(lowered_sizes, rows[i], sizeof lowered_sizes);
    run_against(l.list, graph_at(arena, l.graph, lowered_sizes), 1 + (int)(seed % 3), slack_of(l.graph));
    tc_arena_free(arena);
    ++*served;
  }
  memset(lowered_sizes, 0, sizeof lowered_sizes);
  tc_arena_free(l.arena);
}

static void on_each_machine(void (*run)(uint64_t seed, enum tc_product way)) {
  const struct tc_target before = lowered_target;
  for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
    lowered_target.name = machines[i].name;
    lowered_target.vector_bytes = machines[i].vector_bytes;
    lowered_target.vector_registers = machines[i].registers;
    for (uint64_t seed = 1; seed <= (uint64_t)campaign(GRAPHS); seed++)
      for (int way = TC_PRODUCT_library + 1; way < TC_PRODUCTS; way++) run(seed, (enum tc_product)way);
  }
  lowered_target = before;
}

static int library_calls, own_kernels, served_sizes;
static void constant(uint64_t seed, enum tc_product way) {
  run_constant(seed, way, &library_calls, &own_kernels);
}
static void symbolic(uint64_t seed, enum tc_product way) {
  run_symbolic(seed, way, &own_kernels, &served_sizes);
}

static void test_constant(void **state) {
  (void)state;
  library_calls = own_kernels = 0;
  on_each_machine(constant);
  assert_int_equal(library_calls, 0);
  assert_true(own_kernels > campaign(GRAPHS)); /* a product of one term, or with one element, is none */
}

static void test_symbolic(void **state) {
  (void)state;
  own_kernels = served_sizes = 0;
  on_each_machine(symbolic);
  assert_true(own_kernels > campaign(GRAPHS));
  assert_true(served_sizes > campaign(GRAPHS));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_constant), cmocka_unit_test(test_symbolic)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
