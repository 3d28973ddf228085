/* Runs the parts of extremes.lua and numbers.lua, and calls.lua on each backend. */
#include "tests/compiler/lua/parts.h"

PART("ops/extremes.lua", integers)
PART("ops/extremes.lua", bounds)
PART("ops/extremes.lua", ranges)
PART("ops/extremes.lua", long_lists)
PART("ops/extremes.lua", merged_dimensions)
PART("ops/numbers.lua", quotients)
PART("ops/numbers.lua", division_by_zero)
PART("ops/numbers.lua", angles)
PART("ops/numbers.lua", moments)
PART("ops/numbers.lua", blind_queries)
PART_OF_SEEDS("ops/calls.lua", eager, 6000)
PART_OF_SEEDS("ops/calls.lua", aot_eager, 2000)
PART_OF_SEEDS("ops/calls.lua", inductor, 2000)

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_integers),
                                     cmocka_unit_test(test_bounds),
                                     cmocka_unit_test(test_ranges),
                                     cmocka_unit_test(test_long_lists),
                                     cmocka_unit_test(test_merged_dimensions),
                                     cmocka_unit_test(test_quotients),
                                     cmocka_unit_test(test_division_by_zero),
                                     cmocka_unit_test(test_angles),
                                     cmocka_unit_test(test_moments),
                                     cmocka_unit_test(test_blind_queries),
                                     cmocka_unit_test(test_eager),
                                     cmocka_unit_test(test_aot_eager),
                                     cmocka_unit_test(test_inductor)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
