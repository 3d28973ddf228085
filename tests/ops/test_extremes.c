/* Runs the parts of extremes.lua, and calls.lua on each backend. */
#include "tests/lua/parts.h"

PART("ops/extremes.lua", integers)
PART("ops/extremes.lua", bounds)
PART("ops/extremes.lua", ranges)
PART("ops/extremes.lua", long_lists)
PART("ops/extremes.lua", merged_dimensions)
PART_OF_SEEDS("ops/calls.lua", eager, 6000)
PART_OF_SEEDS("ops/calls.lua", aot_eager, 2000)
PART_OF_SEEDS("ops/calls.lua", inductor, 2000)

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_integers),          cmocka_unit_test(test_bounds), cmocka_unit_test(test_ranges),
                                     cmocka_unit_test(test_long_lists),        cmocka_unit_test(test_merged_dimensions),
                                     cmocka_unit_test(test_eager),             cmocka_unit_test(test_aot_eager), cmocka_unit_test(test_inductor)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
