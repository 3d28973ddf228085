/* Everything from graph to machine code at once: random graphs are lowered, fused, generated, loaded and run,
 * and compared with a reference in doubles. The interpreter's counterpart is
 * tests/compiler/lower/test_lower.c: what passes there and fails here is the generator's or the runner's
 * fault. */
#include "tests/campaign.h"
#include "tests/compiler/ir/random_cat.h"

#include "tests/compiler/device/compiled_run.h"

enum { FIRST_SEED = 1000, GRAPHS = 60 };

static void run_graphs(tc_dtype dtype, double scale) {
  lowered_run = run_compiled;
  for (uint64_t seed = FIRST_SEED; seed < FIRST_SEED + (uint64_t)campaign(GRAPHS); seed++) {
    struct lowered l = {.arena = tc_arena_new(tc_alloc_system())};
    lower_graph(&l, random_graph(l.arena, seed, dtype), true);
    run_and_compare(&l, 1, scale);
    tc_arena_free(l.arena);
  }
}

static void test_f64(void **state) {
  (void)state;
  run_graphs(TC_F64, 1e3);
}
static void test_f32(void **state) {
  (void)state;
  run_graphs(TC_F32, 10);
}

/* So small a cache that every batched product is run in tiles with what it can be. */
static void test_tiles(void **state) {
  (void)state;
  const int64_t kept = lowered_target.l2_bytes;
  lowered_target.l2_bytes = 64;
  run_graphs(TC_F64, 1e3);
  lowered_target.l2_bytes = kept;
}

/* Sizes that are variables: compiled once each, run at several. */
static void test_sizes(void **state) {
  (void)state;
  int served = 0, refused = 0;
  lowered_run = run_compiled;
  for (uint64_t seed = FIRST_SEED; seed < FIRST_SEED + GRAPHS / 2; seed++)
    run_symbolic_graph(seed, TC_F64, true, 1e3, &served, &refused);
  const int64_t kept = lowered_target.l2_bytes;
  lowered_target.l2_bytes = 64; /* tiles */
  for (uint64_t seed = FIRST_SEED; seed < FIRST_SEED + GRAPHS / 2; seed++)
    run_symbolic_graph(seed, TC_F32, true, 10, &served, &refused);
  lowered_target.l2_bytes = kept;
  assert_true(served > 20 * refused);
}

/* Concatenations: kernels whose loops are split into parts, and tables of parts. */
static void test_cats(void **state) {
  (void)state;
  int served = 0, refused = 0;
  lowered_run = run_compiled;
  for (uint64_t seed = FIRST_SEED; seed < FIRST_SEED + (uint64_t)campaign(GRAPHS); seed++) {
    struct lowered l = {.arena = tc_arena_new(tc_alloc_system())};
    lower_graph(&l, random_cat(l.arena, seed, seed % 2 ? TC_F32 : TC_F64, false), true);
    run_and_compare(&l, 1, 10);
    tc_arena_free(l.arena);
    if (seed % 4 == 0) run_symbolic_cat(seed, TC_F64, 1e3, &served, &refused);
  }
  assert_true(served > 4 * refused);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_f64), cmocka_unit_test(test_f32),
                                     cmocka_unit_test(test_tiles), cmocka_unit_test(test_sizes),
                                     cmocka_unit_test(test_cats)};
  return cmocka_run_group_tests(tests, open_device, close_device);
}
