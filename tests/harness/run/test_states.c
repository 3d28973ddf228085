/* What first calls leave: the time of each state, the whole call, the matrix library's part, and the stages
 * of all replicates. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "harness/run/run.h"
#include "harness/run/states.h"

static const struct tb_evidence seen[TB_STATE_COUNT] = {[TB_STATE_COLD] = {true, 1, 0, 0},
                                                        [TB_STATE_DISK] = {true, 0, 1, 0},
                                                        [TB_STATE_MEMORY] = {true, 0, 0, 1}};

static struct tb_first first_of(enum tb_state evidence, double entry_ns) {
  return (struct tb_first){
      .call_ns = 10 * entry_ns, .entry_ns = entry_ns, .library_ns = NAN, .evidence = seen[evidence]};
}

static struct tb_compile fresh(void) { return tb_case_result_new(NULL).compile; }

static void test_each_state_has_its_first_call(void **state) {
  (void)state;
  struct tc_arena *arena = tc_arena_new(tc_alloc_system());
  struct tb_compile compile = fresh();
  for (int s = 0; s < TB_STATE_COUNT; s++) {
    for (int replicate = 1; replicate <= 3; replicate++) {
      const struct tb_first first = first_of((enum tb_state)s, 100 * (s + 1) * replicate);
      assert_true(tb_state_add(arena, &compile, (enum tb_state)s, &first, true));
    }
    assert_true(compile.state_ns[s].median == 200 * (s + 1));
    assert_true(compile.first_call_ns[s].median == 2000 * (s + 1));
    assert_int_equal(compile.first_call_ns[s].samples.len, 3);
    assert_null(compile.invalid[s]);
  }
  tc_arena_free(arena);
}

/* A call that the counters contradict is no call in that state; the first one of a fresh process is one
 * whatever was compiled. */
static void test_a_contradicted_state_keeps_no_times(void **state) {
  (void)state;
  struct tc_arena *arena = tc_arena_new(tc_alloc_system());
  struct tb_compile compile = fresh();
  const struct tb_first wrong = first_of(TB_STATE_MEMORY, 100), disk = first_of(TB_STATE_DISK, 100);
  assert_true(tb_state_add(arena, &compile, TB_STATE_COLD, &wrong, true) &&
              tb_state_add(arena, &compile, TB_STATE_DISK, &wrong, true));
  assert_non_null(compile.invalid[TB_STATE_COLD]);
  assert_int_equal(compile.state_ns[TB_STATE_COLD].samples.len, 0);
  assert_int_equal(compile.first_call_ns[TB_STATE_COLD].samples.len, 1);
  assert_int_equal(compile.first_call_ns[TB_STATE_DISK].samples.len, 0);
  assert_true(tb_state_add(arena, &compile, TB_STATE_DISK, &disk, false));
  assert_string_equal(compile.invalid[TB_STATE_DISK], "cache=off");
  assert_int_equal(compile.first_call_ns[TB_STATE_DISK].samples.len, 0);
  tc_arena_free(arena);
}

static void test_the_library_is_told_where_it_was_opened(void **state) {
  (void)state;
  struct tc_arena *arena = tc_arena_new(tc_alloc_system());
  struct tb_compile without = fresh(), with = fresh();
  struct tb_first first = first_of(TB_STATE_COLD, 100);
  assert_true(tb_state_add(arena, &without, TB_STATE_COLD, &first, true));
  assert_int_equal(without.library_ns.samples.len, 0);
  first.library_ns = 700;
  assert_true(tb_state_add(arena, &with, TB_STATE_COLD, &first, true));
  assert_true(with.library_ns.median == 700);
  assert_true(with.state_ns[TB_STATE_COLD].median == 100); /* and is no part of it */
  tc_arena_free(arena);
}

static void test_stages_are_medians_over_replicates(void **state) {
  (void)state;
  static const double capture[] = {50, 10, 20};
  struct tc_arena *arena = tc_arena_new(tc_alloc_system());
  struct tb_compile compile = fresh();
  for (size_t i = 0; i < sizeof capture / sizeof *capture; i++) {
    cJSON *stats = cJSON_CreateObject(), *stages = cJSON_AddObjectToObject(stats, "stages_ns");
    cJSON_AddNumberToObject(stages, "capture", capture[i]);
    if (i) cJSON_AddNumberToObject(stages, "codegen", 100);
    assert_true(tb_stages_add(arena, stats, &compile));
    cJSON_Delete(stats);
  }
  assert_int_equal(compile.stages.len, 2);
  assert_string_equal(compile.stages.data[0].name, "capture");
  assert_true(compile.stages.data[0].ns.median == 20);
  assert_true(compile.stages.data[1].ns.median == 100);
  tc_arena_free(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each_state_has_its_first_call),
      cmocka_unit_test(test_a_contradicted_state_keeps_no_times),
      cmocka_unit_test(test_the_library_is_told_where_it_was_opened),
      cmocka_unit_test(test_stages_are_medians_over_replicates),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
