/* Runs the parts of closures.lua. */
#include "tests/compiler/lua/parts.h"

PART("lua/closures.lua", anew)
PART("lua/closures.lua", upvalues)
PART("lua/closures.lua", code)
PART("lua/closures.lua", shared)
PART("lua/closures.lua", identity)
PART("lua/closures.lua", string_metatable)
PART_OF_SEEDS("lua/closures.lua", random, 200)

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_anew),
                                     cmocka_unit_test(test_upvalues),
                                     cmocka_unit_test(test_code),
                                     cmocka_unit_test(test_shared),
                                     cmocka_unit_test(test_identity),
                                     cmocka_unit_test(test_random),
                                     cmocka_unit_test(test_string_metatable)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
