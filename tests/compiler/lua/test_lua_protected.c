/* Runs the parts of protected.lua. */
#include "tests/compiler/lua/parts.h"

PART("lua/protected.lua", readers)
PART("lua/protected.lua", errors)
PART("lua/protected.lua", writers)
PART("lua/protected.lua", identity)
PART("lua/protected.lua", yields)
PART("lua/protected.lua", strangers)

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_readers), cmocka_unit_test(test_errors),
                                     cmocka_unit_test(test_writers), cmocka_unit_test(test_identity),
                                     cmocka_unit_test(test_yields),  cmocka_unit_test(test_strangers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
