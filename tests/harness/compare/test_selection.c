/* The sample that changed-since= times all the same: as many as asked for, by the seed alone, and each case
 * in its turn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/index.h"
#include "harness/compare/selection.h"

enum { CASES = 20, DRAWN = 3, SEEDS = 400 };

static int drawn(uint64_t seed, int n, int count, bool *out) {
  int scratch[CASES], sum = 0;
  tb_selection_draw(seed, n, count, scratch, out);
  for (int i = 0; i < n; i++) sum += out[i];
  return sum;
}

static void test_count_and_seed(void **state) {
  (void)state;
  bool first[CASES], again[CASES], other[CASES];
  assert_int_equal(drawn(1, CASES, DRAWN, first), DRAWN);
  assert_int_equal(drawn(1, CASES, DRAWN, again), DRAWN);
  assert_memory_equal(first, again, sizeof first);
  assert_int_equal(drawn(2, CASES, DRAWN, other), DRAWN);
  assert_memory_not_equal(first, other, sizeof first);
  assert_int_equal(drawn(1, 2, DRAWN, other), 2);
  assert_int_equal(drawn(1, 0, DRAWN, other), 0);
}

static void test_each_has_its_turn(void **state) {
  (void)state;
  int times[CASES] = {0};
  for (uint64_t seed = 0; seed < SEEDS; seed++) {
    bool out[CASES];
    drawn(seed, CASES, DRAWN, out);
    for (int i = 0; i < CASES; i++) times[i] += out[i];
  }
  for (int i = 0; i < CASES; i++)
    assert_in_range(times[i], SEEDS * DRAWN / CASES / 2, SEEDS * DRAWN / CASES * 2);
}

/* Each night's sample is another one, and that of a night always the same. */
static void test_seed_of_an_earlier_result(void **state) {
  (void)state;
  static const char night[] = "2026-01-02T00:00:00Z", next[] = "2026-01-03T00:00:00Z";
  assert_true(tb_selection_seed(1, night) == tb_selection_seed(1, night));
  assert_true(tb_selection_seed(1, night) != tb_selection_seed(1, next) &&
              tb_selection_seed(1, night) != tb_selection_seed(2, night));
}

static void test_index(void **state) {
  (void)state;
  struct tc_arena *arena = tc_arena_new(tc_alloc_system());
  struct tb_index index = {.arena = arena};
  int number;
  assert_int_equal(tb_index_find(&index, "a"), -1);
  assert_true(tb_index_add(&index, "a", &number) && tb_index_add(&index, "b", &number));
  assert_int_equal(tb_index_find(&index, "a"), 0);
  assert_int_equal(tb_index_find(&index, "b"), 1);
  assert_int_equal(tb_index_find(&index, "c"), -1);
  tc_arena_free(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_count_and_seed), cmocka_unit_test(test_each_has_its_turn),
      cmocka_unit_test(test_seed_of_an_earlier_result), cmocka_unit_test(test_index)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
