/* Runs the parts of open_numbers.lua. */
#include "tests/compiler/lua/parts.h"

PART("lua/open_numbers.lua", functions)
PART("lua/open_numbers.lua", indices)
PART("lua/open_numbers.lua", disabled)

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_functions), cmocka_unit_test(test_indices),
                                     cmocka_unit_test(test_disabled)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
