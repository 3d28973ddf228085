/* Runs the parts of policy.lua. */
#include "tests/compiler/lua/parts.h"

PART("lua/policy.lua", shapes)
PART("lua/policy.lua", scalars)
PART("lua/policy.lua", marks)
PART("lua/policy.lua", entries)
PART("lua/policy.lua", stances)
PART("lua/policy.lua", eager_then_compile)
PART("lua/policy.lua", limits)
PART("lua/policy.lua", kept_out)
PART("lua/policy.lua", allowed)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_shapes),  cmocka_unit_test(test_scalars),
      cmocka_unit_test(test_marks),   cmocka_unit_test(test_entries),
      cmocka_unit_test(test_stances), cmocka_unit_test(test_eager_then_compile),
      cmocka_unit_test(test_limits),  cmocka_unit_test(test_kept_out),
      cmocka_unit_test(test_allowed)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
