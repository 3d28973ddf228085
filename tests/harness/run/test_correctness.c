/* The rules of comparison: bounds from the reference, NaN and infinities, what stays of several results; and
 * the evidence that a compile state needs. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "harness/run/correctness.h"
#include "harness/run/states.h"

static const double huge = 3.4e38; /* largest f32, nearly */

static struct tb_comparison compare(const double *y, const double *b, const double *r, size_t count,
                                    const char *dtype, bool has_reference) {
  struct tb_comparison c = {.ok = true};
  struct tb_maxima m = {0};
  tb_maxima_add(&m, y, b, r, count, huge);
  tb_comparison_add(&c, &m, tb_tolerance_of(dtype), 0, has_reference, "result[1]");
  return c;
}

static void test_bound(void **state) {
  (void)state;
  const double r[] = {1, -2}, b[] = {1 + 1e-5, -2};
  /* 3 · 1e-5 + 8 · eps · 2 */
  const double inside[] = {1 - 2.9e-5, -2}, outside[] = {1 - 3.3e-5, -2};
  const struct tb_comparison good = compare(inside, b, r, 2, "f32", true),
                             bad = compare(outside, b, r, 2, "f32", true);
  assert_true(good.ok);
  assert_float_equal(good.bound, 3e-5 + 8 * 1.1920928955078125e-7 * 2, 1e-9);
  assert_float_equal(good.max_error, 2.9e-5, 1e-9);
  assert_false(bad.ok);
  assert_non_null(strstr(bad.detail, "result[1]: max|compiled - f64|"));
}

static void test_exact_baseline_allows_rounding_alone(void **state) {
  (void)state;
  const double r[] = {1}, near[] = {1 + 7 * 2.220446049250313e-16}, far[] = {1 + 1e-14};
  assert_true(compare(near, r, r, 1, "f64", true).ok);
  assert_false(compare(far, r, r, 1, "f64", true).ok);
  assert_true(compare(far, r, r, 1, "f32", true).ok);
}

static void test_zeros(void **state) {
  (void)state;
  const double zero[] = {0, 0}, not_zero[] = {0, 1e-30};
  assert_true(compare(zero, zero, zero, 2, "f32", true).ok);
  assert_false(compare(not_zero, zero, zero, 2, "f32", true).ok);
}

static void test_special_values(void **state) {
  (void)state;
  const double r[] = {NAN, INFINITY, -INFINITY, 1};
  assert_true(compare(r, r, r, 4, "f32", true).ok);
  const double lost_nan[] = {0, INFINITY, -INFINITY, 1}, lost_sign[] = {NAN, -INFINITY, -INFINITY, 1},
               new_nan[] = {NAN, INFINITY, -INFINITY, NAN};
  assert_false(compare(lost_nan, r, r, 4, "f32", true).ok);
  assert_false(compare(lost_sign, r, r, 4, "f32", true).ok);
  assert_false(compare(new_nan, r, r, 4, "f32", true).ok);
  /* f32 overflows where f64 does not: no mistake of the function, and the compiled one may do either. */
  const double wide[] = {1e200}, inf[] = {INFINITY};
  assert_true(compare(inf, inf, wide, 1, "f32", true).ok);
  /* But a NaN out of nothing is one. */
  const double one[] = {1}, nan_value[] = {NAN};
  assert_false(compare(nan_value, nan_value, one, 1, "f32", true).ok);
}

static void test_baseline_itself(void **state) {
  (void)state;
  const double r[] = {1}, off[] = {1.01};
  const struct tb_comparison c = compare(off, off, r, 1, "f32", true);
  assert_false(c.ok);
  assert_non_null(strstr(c.detail, "the function itself is wrong"));
  /* That is told by itself, be the compiled one far more wrong; and nothing of the kind of a compiled one
   * that is wrong alone. */
  const double far[] = {7};
  const struct tb_comparison both = compare(far, off, r, 1, "f32", true),
                             compiled = compare(far, r, r, 1, "f32", true);
  assert_non_null(strstr(both.detail, "max|compiled - f64|"));
  assert_non_null(strstr(both.baseline, "the function itself is wrong"));
  assert_false(compiled.ok);
  assert_string_equal(compiled.baseline, "");
  assert_true(compare(off, off, r, 1, "bf16", true).ok);
}

static void test_without_reference(void **state) {
  (void)state;
  const double b[] = {100}, near[] = {100.05}, far[] = {100.5};
  assert_true(compare(near, b, b, 1, "f32", false).ok); /* the table's 1e-3 of 100 */
  const struct tb_comparison c = compare(far, b, b, 1, "f32", false);
  assert_false(c.ok);
  assert_non_null(strstr(c.detail, "baseline"));
}

/* The comparison keeps the result that came nearest to its bound, not the largest error. */
static void test_worst_of_several(void **state) {
  (void)state;
  struct tb_comparison c = {.ok = true};
  const struct tb_maxima large = {.error = 1, .baseline_error = 10, .reference = 1e6},
                         tight = {.error = 0.029, .baseline_error = 0.01, .reference = 100};
  tb_comparison_add(&c, &large, tb_tolerance_of("f32"), 0, true, "result[1]");
  tb_comparison_add(&c, &tight, tb_tolerance_of("f32"), 0, true, "result[2]");
  assert_true(c.ok);
  assert_float_equal(c.max_error, 0.029, 1e-12);
}

static void test_chunks_fold(void **state) {
  (void)state;
  const double y[] = {1, 2, 3, 4.5}, b[] = {1, 2, 3.25, 4}, r[] = {1, 2, 3, 4};
  struct tb_maxima whole = {0}, parts = {0};
  tb_maxima_add(&whole, y, b, r, 4, huge);
  for (int i = 0; i < 4; i++) tb_maxima_add(&parts, y + i, b + i, r + i, 1, huge);
  assert_memory_equal(&whole, &parts, sizeof whole);
  assert_true(whole.error == 0.5 && whole.baseline_error == 0.25 && whole.reference == 4);
}

static void test_state_evidence(void **state) {
  (void)state;
  static const struct {
    enum tb_state state;
    struct tb_evidence evidence;
    bool agrees;
  } rows[] = {
      {TB_STATE_COLD, {true, 1, 0, 0}, true},    {TB_STATE_COLD, {true, 0, 1, 0}, false},
      {TB_STATE_COLD, {true, 1, 1, 0}, false},   {TB_STATE_COLD, {true, 2, 0, 1}, true},
      {TB_STATE_COLD, {true, 0, 0, 0}, false},   {TB_STATE_DISK, {true, 0, 1, 0}, true},
      {TB_STATE_DISK, {true, 1, 1, 0}, false},   {TB_STATE_DISK, {true, 0, 0, 1}, false},
      {TB_STATE_MEMORY, {true, 0, 0, 1}, true},  {TB_STATE_MEMORY, {true, 0, 1, 1}, false},
      {TB_STATE_MEMORY, {true, 1, 0, 0}, false},
  };
  struct tc_arena *arena = tc_arena_new(tc_alloc_system());
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    assert_true(!tb_state_contradiction(arena, rows[i].state, &rows[i].evidence) == rows[i].agrees);
  struct tb_compile compile = {.break_even_calls = NAN};
  const struct tb_first cold = {.entry_ns = 5, .evidence = {true, 1, 0, 0}};
  assert_true(tb_state_add(arena, &compile, TB_STATE_COLD, &cold, true));
  assert_true(tb_state_add(arena, &compile, TB_STATE_DISK, &cold,
                           true)); /* a miss where a hit was claimed: no figure */
  assert_true(compile.state_ns[TB_STATE_COLD].median == 5 && !compile.invalid[TB_STATE_COLD]);
  assert_int_equal(compile.state_ns[TB_STATE_DISK].samples.len, 0);
  assert_non_null(strstr(compile.invalid[TB_STATE_DISK], "1 miss, 0 disk hits"));
  tc_arena_free(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bound),
      cmocka_unit_test(test_exact_baseline_allows_rounding_alone),
      cmocka_unit_test(test_zeros),
      cmocka_unit_test(test_special_values),
      cmocka_unit_test(test_baseline_itself),
      cmocka_unit_test(test_without_reference),
      cmocka_unit_test(test_worst_of_several),
      cmocka_unit_test(test_chunks_fold),
      cmocka_unit_test(test_state_evidence),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
