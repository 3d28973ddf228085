/* Runs the parts of compile.lua. */
#include "tests/compiler/lua/parts.h"

PART("lua/compile.lua", inlined)
PART("lua/compile.lua", passed_over)
PART("lua/compile.lua", casts)
PART("lua/compile.lua", module_functions)
PART("lua/compile.lua", index_errors)
PART("lua/compile.lua", arguments)
PART("lua/compile.lua", callables)
PART("lua/compile.lua", result_tables)
PART("lua/compile.lua", check_guards)
PART("lua/compile.lua", messages)
PART("lua/compile.lua", long_sums)
PART("lua/compile.lua", same_artifact)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_inlined),      cmocka_unit_test(test_passed_over),
      cmocka_unit_test(test_casts),        cmocka_unit_test(test_module_functions),
      cmocka_unit_test(test_index_errors), cmocka_unit_test(test_arguments),
      cmocka_unit_test(test_callables),    cmocka_unit_test(test_result_tables),
      cmocka_unit_test(test_check_guards), cmocka_unit_test(test_messages),
      cmocka_unit_test(test_long_sums),    cmocka_unit_test(test_same_artifact)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
