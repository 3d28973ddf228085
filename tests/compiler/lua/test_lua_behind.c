/* Runs the parts of behind.lua. */
#include "tests/compiler/lua/parts.h"

PART("lua/behind.lua", protected)
PART("lua/behind.lua", strangers)
PART("lua/behind.lua", keys)
PART("lua/behind.lua", scopes)
PART("lua/behind.lua", callables)
PART("lua/behind.lua", coroutines)
PART("lua/behind.lua", joined)

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_protected), cmocka_unit_test(test_strangers),
                                     cmocka_unit_test(test_keys),      cmocka_unit_test(test_scopes),
                                     cmocka_unit_test(test_callables), cmocka_unit_test(test_coroutines),
                                     cmocka_unit_test(test_joined)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
