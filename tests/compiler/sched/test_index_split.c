/* Index set splitting (sched/index_split.c): loops whose values come from parts. What kernels they become,
 * that what is emitted and what is computed for an element does not grow with the number of parts as it would
 * uncut, and random concatenations by the interpreter. */
#include "tests/compiler/ir/random_cat.h"

#include "lower/walk.h"

static const struct tc_kernel *only_kernel(const struct lowered *l) {
  assert_int_equal(l->list->n_launches, 1);
  return l->list->codes[l->list->launches[0].code].kernel;
}

/* cat of n parts along the first dimension: each an input of its own, or a slice of one, turned around. */
static void make_cat(struct graph_maker *m, int n, bool slices) {
  enum { SHORTEST = 64 };
  struct tc_node *parts[TC_MAX_INPUTS], *source = NULL;
  const int64_t dim = 0;
  const tc_sym whole = tc_sym_const(n * (SHORTEST + n));
  if (slices) source = make_input_node(m, TC_F32, 1, &whole);
  for (int i = 0, at = 0; i < n; at += SHORTEST + i, i++) {
    const tc_sym size = tc_sym_const(SHORTEST + i);
    const int64_t slice[] = {0, at, SHORTEST + i, 1};
    struct tc_node *x = slices ? make_node(m, TC_OP_slice, 1, &source, 4, slice, 0, NULL)
                               : make_input_node(m, TC_F32, 1, &size);
    parts[i] = slices ? make_node(m, TC_OP_flip, 1, &x, 1, &dim, 0, NULL) : make_unary(m, TC_OP_abs, x);
  }
  tc_graph_output(m->g, make_node(m, TC_OP_cat, n, parts, 1, &dim, 0, NULL));
}

struct counts {
  int exprs, phases, heaviest, table;
};

/* Expressions that the phase's stores need. */
static int expressions_of(const struct tc_kernel *k, const struct tc_phase *phase) {
  struct tc_walk walk = {.alloc = tc_alloc_system()};
  int count = 0;
  assert_true(tc_walk_begin(&walk, TC_WALK_PRE, k->n_exprs));
  for (int i = 0; i < phase->n_stores; i++) {
    assert_true(tc_walk_from(&walk, phase->stores[i].value));
    while (tc_walk_next(&walk)) count++;
  }
  tc_vec_free(tc_alloc_system(), &walk.stack);
  tc_vec_free(tc_alloc_system(), &walk.met);
  return count;
}

static struct counts count_cat(int n, bool slices) {
  struct lowered l = {.arena = tc_arena_new(tc_alloc_system())};
  struct graph_maker m = {.g = tc_graph_new(l.arena), .dtype = TC_F32};
  random_state = 1;
  make_cat(&m, n, slices);
  lower_graph(&l, m.g, true);
  run_and_compare(&l, 3, 1);
  const struct tc_kernel *k = only_kernel(&l);
  struct counts counts = {.exprs = k->n_exprs, .phases = k->n_phases};
  for (int p = 0; p < k->n_phases; p++) {
    const int here = expressions_of(k, &k->phases[p]);
    if (here > counts.heaviest) counts.heaviest = here;
    counts.table += k->phases[p].n_turns * k->phases[p].n_columns;
  }
  tc_arena_free(l.arena);
  return counts;
}

/* One loop over a table, however many slices there are; the table has some numbers a slice. */
static void test_slices_of_one(void **state) {
  (void)state;
  for (int n = 2; n <= 32; n *= 2) {
    const struct counts c = count_cat(n, true);
    assert_int_equal(c.phases, 1);
    assert_int_equal(c.exprs, 1); /* a load */
    assert_int_equal(c.table, 3 * n);
  }
}

/* A loop for each tensor: an element is computed in one way, and the whole grows as the number of parts
 * does. */
static void test_tensors(void **state) {
  (void)state;
  for (int n = 2; n <= 16; n *= 2) {
    const struct counts c = count_cat(n, false);
    assert_int_equal(c.phases, n);
    assert_int_equal(c.heaviest, 2);
    assert_int_equal(c.exprs, 2 * n);
  }
}

/* Rows of several tensors: along an outer dimension. */
static void test_rows(void **state) {
  (void)state;
  struct lowered l = lower_text("graph {\n v0 = input [0] : f32[5, 64] strides [64, 1]\n v1 = input [1] : "
                                "f32[7, 64] strides [64, 1]\n v2 = neg v1 : f32[7, 64]\n"
                                " v3 = cat v0 v2 v0 [0] : f32[17, 64]\n return v3\n}\n",
                                true);
  const struct tc_kernel *k = only_kernel(&l);
  assert_int_equal(k->n_phases, 3);
  assert_true(tc_sym_same(k->phases[1].var, k->outer[0].var));
  assert_int_equal(tc_sym_value(k->phases[1].from), 5);
  assert_int_equal(tc_sym_value(k->phases[1].to), 12);
  assert_int_equal(l.list->launches[0].bytes, (5 + 7 + 17) * 64 * 4);
  run_and_compare(&l, 2, 1e3);
  tc_arena_free(l.arena);
}

/* Sizes that are variables. */
static void test_symbols(void **state) {
  (void)state;
  struct lowered l = {.arena = tc_arena_new(tc_alloc_system())};
  struct graph_maker m = {.g = tc_graph_new(l.arena), .dtype = TC_F32};
  const tc_sym sizes[] = {tc_sym_size(m.g->tab, 0, CAT_S0), tc_sym_size(m.g->tab, 1, CAT_S1),
                          tc_sym_const(40)};
  struct tc_node *parts[4];
  const int64_t dim = 0;
  for (int i = 0; i < 3; i++) parts[i] = make_unary(&m, TC_OP_abs, make_input_node(&m, TC_F32, 1, &sizes[i]));
  parts[3] = parts[0];
  tc_graph_output(m.g, make_node(&m, TC_OP_cat, 4, parts, 1, &dim, 0, NULL));
  lower_graph(&l, m.g, true);
  const struct tc_kernel *k = only_kernel(&l);
  assert_int_equal(k->n_phases, 4);
  assert_true(tc_sym_same(k->phases[1].from, sizes[0]));
  assert_true(tc_sym_same(k->phases[1].to, tc_sym_add(m.g->tab, sizes[0], sizes[1])));
  tc_arena_free(l.arena);
}

/* What stays as it is: without fuel, where parts fill no vector, and where what does not differ would be
 * written too often. */
static void test_left_alone(void **state) {
  static const char cat[] = "graph {\n v0 = input [0] : f32[80] strides [1]\n v1 = input [1] : f32[70] "
                            "strides [1]\n v2 = cat v0 v1 [0] : f32[150]\n return v2\n}\n";
  (void)state;
  struct lowered l = lower_switched(cat, "fuel.cut", "0");
  assert_int_equal(only_kernel(&l)->n_phases, 1);
  assert_false(tc_sym_valid(only_kernel(&l)->phases[0].var));
  run_and_compare(&l, 2, 1);
  tc_arena_free(l.arena);
  l = lower_text("graph {\n v0 = input [0] : f32[5] strides [1]\n v1 = input [1] : f32[6] strides [1]\n v2 = "
                 "cat v0 v1 v0 v1 [0] : f32[22]\n return v2\n}\n",
                 true);
  assert_int_equal(only_kernel(&l)->n_phases, 1);
  tc_arena_free(l.arena);
  struct lowered two = lower_text(cat, true);
  assert_int_equal(only_kernel(&two)->n_phases, 2);
  tc_arena_free(two.arena);
}

/* Two with borders in different places are two kernels: one would be cut at all borders, for both results. */
static void test_side_by_side(void **state) {
  (void)state;
  struct lowered l = lower_text(
      "graph {\n v0 = input [0] : f32[200] strides [1]\n v1 = input [1] : f32[200] strides [1]\n v2 = slice "
      "v0 [0, 0, 80, 1] : f32[80]\n"
      " v3 = slice v0 [0, 80, 120, 1] : f32[120]\n v4 = cat v3 v2 [0] : f32[200]\n v5 = slice v1 [0, 0, 90, "
      "1] : f32[90]\n"
      " v6 = slice v1 [0, 90, 110, 1] : f32[110]\n v7 = cat v6 v5 [0] : f32[200]\n return v4 v7\n}\n",
      true);
  assert_int_equal(l.list->n_launches, 2);
  for (int i = 0; i < 2; i++) assert_int_equal(l.list->codes[l.list->launches[i].code].kernel->n_phases, 1);
  run_and_compare(&l, 2, 1);
  tc_arena_free(l.arena);
}

/* --- random ones --- */

enum { RANDOM_CATS = 300 };

static void test_random_cats(void **state) {
  (void)state;
  int split = 0, tables = 0;
  for (uint64_t seed = 1; seed <= RANDOM_CATS; seed++) {
    struct lowered l = {.arena = tc_arena_new(tc_alloc_system())};
    lower_graph(&l, random_cat(l.arena, seed, TC_F64, false), seed % 5 != 0);
    for (int i = 0; i < l.list->n_codes; i++) {
      const struct tc_phase *phase = &l.list->codes[i].kernel->phases[0];
      split += tc_sym_valid(phase->var);
      tables += phase->n_turns > 0;
    }
    run_and_compare(&l, 1 + (int)(seed % 3), 1e3);
    tc_arena_free(l.arena);
  }
  assert_true(split > RANDOM_CATS / 4 && tables > RANDOM_CATS / 20); /* it is what is tried */
}

static void test_random_symbols(void **state) {
  (void)state;
  int served = 0, refused = 0;
  for (uint64_t seed = 1; seed <= RANDOM_CATS / 3; seed++)
    run_symbolic_cat(seed, TC_F64, 1e3, &served, &refused);
  assert_true(served > 4 * refused);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_slices_of_one),  cmocka_unit_test(test_tensors),
      cmocka_unit_test(test_rows),           cmocka_unit_test(test_symbols),
      cmocka_unit_test(test_left_alone),     cmocka_unit_test(test_random_cats),
      cmocka_unit_test(test_random_symbols), cmocka_unit_test(test_side_by_side),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
