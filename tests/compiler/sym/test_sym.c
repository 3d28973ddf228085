/* Symbols: simplification must keep the value. Random expressions over indices and sizes are built twice, as
 * symbols and as a plain tree, and evaluated at random points; known simplifications are checked by their
 * text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "sym/sym.h"

enum { N_VARIABLES = 4, N_EXPRESSIONS = 20000, N_POINTS = 8, MAX_DEPTH = 4 };

struct tree {
  enum tc_sym_kind kind;
  int variable;
  int64_t value;
  struct tree *left, *right;
};

static uint64_t random_state = 0x9E3779B97F4A7C15u;
static uint64_t next_random(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state;
}
static int64_t below(int64_t n) { return (int64_t)(next_random() % (uint64_t)n); }

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b && (a < 0) != (b < 0)); }

static struct tree *random_tree(struct tc_arena *arena, int depth) {
  struct tree *t = TC_NEW(tc_arena_alloc(arena), struct tree);
  const int choice = depth ? (int)below(9) : (int)below(2);
  if (choice == 0)
    *t = (struct tree){.kind = TC_SYM_CONST, .value = below(13) - 3};
  else if (choice <= 2)
    *t = (struct tree){.kind = TC_SYM_INDEX, .variable = (int)below(N_VARIABLES)};
  else {
    static const enum tc_sym_kind kinds[] = {TC_SYM_ADD, TC_SYM_MUL, TC_SYM_DIV,
                                             TC_SYM_MOD, TC_SYM_MIN, TC_SYM_MAX};
    t->kind = kinds[choice - 3];
    t->left = random_tree(arena, depth - 1);
    if (t->kind == TC_SYM_DIV || t->kind == TC_SYM_MOD) {
      t->right = TC_NEW(tc_arena_alloc(arena), struct tree);
      *t->right = (struct tree){.kind = TC_SYM_CONST, .value = 1 + below(12)};
    } else {
      t->right = random_tree(arena, depth - 1);
    }
  }
  return t;
}

static tc_sym symbol_of(struct tc_symtab *tab, const struct tree *t, const tc_sym *variables) {
  if (t->kind == TC_SYM_CONST) return tc_sym_const(t->value);
  if (t->kind == TC_SYM_INDEX) return variables[t->variable];
  const tc_sym a = symbol_of(tab, t->left, variables), b = symbol_of(tab, t->right, variables);
  switch (t->kind) {
    case TC_SYM_ADD: return tc_sym_add(tab, a, b);
    case TC_SYM_MUL: return tc_sym_mul(tab, a, b);
    case TC_SYM_DIV: return tc_sym_div(tab, a, b);
    case TC_SYM_MOD: return tc_sym_mod(tab, a, b);
    case TC_SYM_MIN: return tc_sym_min(tab, a, b);
    default: return tc_sym_max(tab, a, b);
  }
}

static int64_t value_of(const struct tree *t, const int64_t *values) {
  if (t->kind == TC_SYM_CONST) return t->value;
  if (t->kind == TC_SYM_INDEX) return values[t->variable];
  const int64_t a = value_of(t->left, values), b = value_of(t->right, values);
  switch (t->kind) {
    case TC_SYM_ADD: return a + b;
    case TC_SYM_MUL: return a * b;
    case TC_SYM_DIV: return floor_div(a, b);
    case TC_SYM_MOD: return a - b * floor_div(a, b);
    case TC_SYM_MIN: return a < b ? a : b;
    default: return a > b ? a : b;
  }
}

static void check_at_points(struct tc_symtab *tab, const struct tree *t, tc_sym s, const tc_sym *variables,
                            const int64_t *extents) {
  int64_t low, high;
  const bool bounded = tc_sym_bounds(s, &low, &high);
  for (int p = 0; p < N_POINTS; p++) {
    int64_t values[N_VARIABLES];
    tc_sym constants[N_VARIABLES];
    for (int v = 0; v < N_VARIABLES; v++) constants[v] = tc_sym_const(values[v] = below(extents[v]));
    const tc_sym at = tc_sym_substitute(tab, s, N_VARIABLES, variables, constants);
    assert_true(tc_sym_is_const(at));
    assert_int_equal(tc_sym_value(at), value_of(t, values));
    if (bounded) assert_in_range(tc_sym_value(at) - low, 0, high - low);
  }
}

static void test_random_expressions(void **state) {
  (void)state;
  for (int n = 0; n < N_EXPRESSIONS; n++) {
    struct tc_arena *arena = tc_arena_new(tc_alloc_system());
    struct tc_symtab *tab = tc_symtab_new(tc_arena_alloc(arena));
    tc_sym variables[N_VARIABLES];
    int64_t extents[N_VARIABLES];
    for (int v = 0; v < N_VARIABLES; v++)
      variables[v] = tc_sym_index(tab, tc_sym_const(extents[v] = 1 + below(12)));
    const struct tree *t = random_tree(arena, 1 + (int)below(MAX_DEPTH));
    const tc_sym s = symbol_of(tab, t, variables);
    if (tc_sym_valid(s)) check_at_points(tab, t, s, variables, extents);
    tc_arena_free(arena);
  }
}

static void test_print_parse(void **state) {
  (void)state;
  for (int n = 0; n < 2000; n++) {
    struct tc_arena *arena = tc_arena_new(tc_alloc_system());
    struct tc_symtab *tab = tc_symtab_new(tc_arena_alloc(arena));
    tc_sym variables[N_VARIABLES];
    for (int v = 0; v < N_VARIABLES; v++)
      variables[v] = v % 2 ? tc_sym_size(tab, v, 7) : tc_sym_index(tab, tc_sym_const(1 + below(12)));
    tc_sym by_number[2] = {variables[0], variables[2]};
    const tc_sym s = symbol_of(tab, random_tree(arena, MAX_DEPTH), variables);
    if (tc_sym_valid(s)) {
      struct tc_strbuf text;
      tc_strbuf_init(&text, tc_arena_alloc(arena));
      tc_sym_print(&text, s);
      const char *at = tc_strbuf_text(&text);
      const tc_sym back = tc_sym_parse(tab, &at, 2, by_number, NULL);
      assert_string_equal(at, "");
      assert_true(tc_sym_same(s, back));
    }
    tc_arena_free(arena);
  }
}

static void expect(struct tc_symtab *tab, tc_sym s, const char *text) {
  (void)tab;
  struct tc_strbuf out;
  tc_strbuf_init(&out, tc_alloc_system());
  tc_sym_print(&out, s);
  assert_string_equal(tc_strbuf_text(&out), text);
  tc_strbuf_free(&out);
}

static void test_known(void **state) {
  (void)state;
  struct tc_symtab *tab = tc_symtab_new(tc_alloc_system());
  const tc_sym i = tc_sym_index(tab, tc_sym_const(64)), h = tc_sym_index(tab, tc_sym_const(12)),
               s = tc_sym_size(tab, 0, 5);
  const tc_sym flat = tc_sym_add(tab, tc_sym_mul(tab, h, tc_sym_const(64)), i);
  expect(tab, tc_sym_div(tab, flat, tc_sym_const(64)), "i1");
  expect(tab, tc_sym_mod(tab, flat, tc_sym_const(64)), "i0");
  expect(tab, tc_sym_div(tab, flat, tc_sym_const(128)), "i1//2");
  const tc_sym j = tc_sym_index(tab, tc_sym_const(768));
  const tc_sym back = tc_sym_add(tab, tc_sym_mul(tab, tc_sym_div(tab, j, tc_sym_const(64)), tc_sym_const(64)),
                                 tc_sym_mod(tab, j, tc_sym_const(64)));
  expect(tab, back, "i2");
  /* a flat index taken apart into three dimensions and put together again */
  const tc_sym outer = tc_sym_mul(tab, tc_sym_div(tab, j, tc_sym_const(12)), tc_sym_const(12));
  const tc_sym middle = tc_sym_mod(tab, tc_sym_div(tab, j, tc_sym_const(4)), tc_sym_const(3));
  const tc_sym inner =
      tc_sym_add(tab, tc_sym_mul(tab, middle, tc_sym_const(4)), tc_sym_mod(tab, j, tc_sym_const(4)));
  expect(tab, tc_sym_add(tab, outer, inner), "i2");
  expect(tab,
         tc_sym_sub(tab, tc_sym_mul(tab, tc_sym_add(tab, s, i), tc_sym_const(2)),
                    tc_sym_mul(tab, i, tc_sym_const(2))),
         "s0*2");
  const tc_sym rows = tc_sym_index(tab, s);
  expect(tab, tc_sym_mod(tab, tc_sym_add(tab, tc_sym_mul(tab, h, s), rows), s), "i3");
  expect(tab, tc_sym_div(tab, tc_sym_add(tab, tc_sym_mul(tab, h, s), rows), s), "i1");
  tc_sym coefficient, rest;
  assert_true(tc_sym_affine(tab, tc_sym_add(tab, tc_sym_mul(tab, i, s), h), i, &coefficient, &rest));
  expect(tab, coefficient, "s0");
  expect(tab, rest, "i1");
  assert_false(tc_sym_affine(tab, tc_sym_div(tab, i, tc_sym_const(3)), i, &coefficient, &rest));
  assert_true(tc_sym_decide_eq(tab, s, tc_sym_const(5)));
  assert_int_equal(tc_sym_fact_count(tab), 1);
  assert_false(tc_sym_valid(tc_sym_div(tab, s, tc_sym_const(0))));
  assert_false(tc_sym_valid(tc_sym_const(INT64_MAX)));
  const int64_t sizes[] = {11};
  assert_int_equal(tc_sym_eval(tc_sym_add(tab, tc_sym_mul(tab, s, s), tc_sym_const(-1)), sizes), 120);
  tc_symtab_free(tab);
}

/* What is said to hold for all sizes holds at some of them; and what sizes of at least 2 give is found. */
static void test_comparisons(void **state) {
  (void)state;
  int found = 0;
  for (int n = 0; n < N_EXPRESSIONS; n++) {
    struct tc_arena *arena = tc_arena_new(tc_alloc_system());
    struct tc_symtab *tab = tc_symtab_new(tc_arena_alloc(arena));
    tc_sym sizes[N_VARIABLES];
    for (int v = 0; v < N_VARIABLES; v++) sizes[v] = tc_sym_size(tab, v, 2 + below(9));
    const struct tree *x = random_tree(arena, 3), *y = random_tree(arena, 3);
    const tc_sym a = symbol_of(tab, x, sizes), b = symbol_of(tab, y, sizes);
    int64_t values[N_VARIABLES], low, high;
    const bool less = tc_sym_always_lt(a, b), no_more = tc_sym_always_le(a, b),
               bounded = tc_sym_bounds(a, &low, &high);
    found += less;
    for (int p = 0; p < N_POINTS && tc_sym_valid(a) && tc_sym_valid(b); p++) {
      for (int v = 0; v < N_VARIABLES; v++) values[v] = p ? 2 + below(40) : 2;
      const int64_t left = value_of(x, values), right = value_of(y, values);
      int64_t checked;
      assert_true(!less || left < right);
      assert_true(!no_more || left <= right);
      assert_true(!bounded || (low <= left && left <= high));
      assert_true(tc_sym_eval_checked(a, values, &checked) && checked == left);
    }
    tc_arena_free(arena);
  }
  assert_true(found > N_EXPRESSIONS / 10);
}

static void always_less(struct tc_symtab *tab, const char *a, const char *b) {
  const tc_sym x = tc_sym_parse(tab, &a, 0, NULL, NULL), y = tc_sym_parse(tab, &b, 0, NULL, NULL);
  assert_true(tc_sym_always_lt(x, y));
  assert_false(tc_sym_always_le(y, x));
}

static void test_known_comparisons(void **state) {
  (void)state;
  struct tc_symtab *tab = tc_symtab_new(tc_alloc_system());
  const tc_sym s = tc_sym_size(tab, 0, 5), one = tc_sym_const(1);
  always_less(tab, "1", "s0");
  always_less(tab, "s1", "s0*s1");
  always_less(tab, "s0*2 + s1", "s0*s1*2 + s1");
  always_less(tab, "(s0 + 1)//2", "s0");
  always_less(tab, "s0%7", "7");
  always_less(tab, "min(s0, s1)", "s0 + 1");
  assert_false(tc_sym_always_lt(tc_sym_const(2), s));
  /* What holds always, or follows from a fact, is none. */
  assert_false(tc_sym_decide_eq(tab, s, one));
  assert_true(tc_sym_decide_lt(tab, one, s));
  assert_int_equal(tc_sym_fact_count(tab), 0);
  assert_true(tc_sym_decide_lt(tab, tc_sym_const(4), s));
  assert_true(tc_sym_decide_lt(tab, tc_sym_const(3), s));
  assert_int_equal(tc_sym_fact_count(tab), 1);
  tc_symtab_mark_facts(tab); /* not known any more */
  assert_true(tc_sym_decide_lt(tab, tc_sym_const(3), s));
  assert_int_equal(tc_sym_fact_count(tab), 2);
  const struct tc_sym_fact fact = tc_sym_fact_at(tab, 1);
  const int64_t small[] = {3, 2}, large[] = {4, 2};
  assert_false(tc_sym_fact_true(&fact, small));
  assert_true(tc_sym_fact_true(&fact, large));
  tc_symtab_free(tab);
}

/* Of bounds on one symbol the narrowest alone is a fact. */
static void test_narrower_bounds(void **state) {
  (void)state;
  struct tc_symtab *tab = tc_symtab_new(tc_alloc_system());
  const tc_sym s = tc_sym_size(tab, 0, 500), t = tc_sym_size(tab, 1, 500);
  for (int i = 2; i < 400; i++) assert_true(tc_sym_decide_lt(tab, tc_sym_const(i), s));
  assert_int_equal(tc_sym_fact_count(tab), 1);
  for (int i = 900; i > 600; i--) assert_true(tc_sym_decide_lt(tab, s, tc_sym_const(i)));
  assert_int_equal(tc_sym_fact_count(tab), 2);
  assert_true(tc_sym_decide_lt(tab, tc_sym_const(7), t));
  assert_int_equal(tc_sym_fact_count(tab), 3);
  for (int value = 390; value < 610; value++) {
    const int64_t sizes[] = {value, 8};
    bool holds = true;
    for (int i = 0; i < tc_sym_fact_count(tab); i++) {
      const struct tc_sym_fact fact = tc_sym_fact_at(tab, i);
      holds = holds && tc_sym_fact_true(&fact, sizes);
    }
    assert_int_equal(holds, value > 399 && value < 601);
  }
  tc_symtab_free(tab);
}

/* Division by a sum of sizes. */
static void test_symbolic_divisors(void **state) {
  (void)state;
  struct tc_symtab *tab = tc_symtab_new(tc_alloc_system());
  const tc_sym width = tc_sym_add(tab, tc_sym_size(tab, 0, 5), tc_sym_const(2)),
               row = tc_sym_index(tab, tc_sym_size(tab, 1, 5)), column = tc_sym_index(tab, width);
  const tc_sym at = tc_sym_add(tab, tc_sym_mul(tab, row, width), column);
  assert_true(tc_sym_same(tc_sym_div(tab, at, width), row));
  assert_true(tc_sym_same(tc_sym_mod(tab, at, width), column));
  int64_t value;
  const int64_t sizes[] = {TC_SYM_SIZE_MAX, TC_SYM_SIZE_MAX};
  assert_false(tc_sym_eval_checked(tc_sym_mul(tab, width, tc_sym_size(tab, 1, 5)), sizes, &value));
  tc_symtab_free(tab);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_comparisons),
                                     cmocka_unit_test(test_known_comparisons),
                                     cmocka_unit_test(test_narrower_bounds),
                                     cmocka_unit_test(test_symbolic_divisors),
                                     cmocka_unit_test(test_random_expressions),
                                     cmocka_unit_test(test_print_parse),
                                     cmocka_unit_test(test_known)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
