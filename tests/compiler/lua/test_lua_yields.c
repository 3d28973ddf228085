/* Runs the parts of yields.lua. */
#include "tests/compiler/lua/parts.h"

PART("lua/yields.lua", levels)
PART("lua/yields.lua", errors)
PART("lua/yields.lua", metamethods)
PART("lua/yields.lua", explain)

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_levels), cmocka_unit_test(test_errors),
                                     cmocka_unit_test(test_metamethods), cmocka_unit_test(test_explain)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
