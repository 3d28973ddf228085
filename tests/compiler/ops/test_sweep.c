/* Runs the parts of sweep.lua, each in a Lua state of its own. */
#include "tests/compiler/lua/parts.h"

PART("ops/sweep.lua", f32)
PART("ops/sweep.lua", f64)
PART("ops/sweep.lua", bf16)
PART("ops/sweep.lua", special)
PART("ops/sweep.lua", empty)
PART("ops/sweep.lua", strides)
PART("ops/sweep.lua", random)

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_f32),   cmocka_unit_test(test_f64),
                                     cmocka_unit_test(test_bf16),  cmocka_unit_test(test_special),
                                     cmocka_unit_test(test_empty), cmocka_unit_test(test_strides),
                                     cmocka_unit_test(test_random)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
