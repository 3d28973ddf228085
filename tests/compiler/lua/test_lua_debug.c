/* Runs the parts of debug.lua and explain.lua. */
#include "tests/compiler/lua/parts.h"

PART("lua/debug.lua", operations)
PART("lua/debug.lua", reductions)
PART("lua/debug.lua", shapes)
PART("lua/debug.lua", indices)
PART("lua/debug.lua", models)
PART("lua/debug.lua", pieces)
PART("lua/debug.lua", again)
PART("lua/debug.lua", large)
PART("lua/debug.lua", failures)
PART("lua/explain.lua", explanation)
PART("lua/explain.lua", recompiles)
PART("lua/explain.lua", eager)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_operations),  cmocka_unit_test(test_reductions), cmocka_unit_test(test_shapes),
      cmocka_unit_test(test_indices),     cmocka_unit_test(test_models),     cmocka_unit_test(test_pieces),
      cmocka_unit_test(test_again),       cmocka_unit_test(test_large),      cmocka_unit_test(test_failures),
      cmocka_unit_test(test_explanation), cmocka_unit_test(test_recompiles), cmocka_unit_test(test_eager)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
