/* Runs the parts of backends.lua. */
#include "tests/compiler/lua/parts.h"

#ifndef TB_BUILDDIR
#define TB_BUILDDIR "."
#endif

PART("lua/backends.lua", graph)
PART("lua/backends.lua", interpreter)
PART("lua/backends.lua", dynamic)
PART("lua/backends.lua", errors)
PART("lua/backends.lua", lives)
PART("lua/backends.lua", plugin)
PART("lua/backends.lua", layouts)

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_graph),   cmocka_unit_test(test_interpreter),
                                     cmocka_unit_test(test_dynamic), cmocka_unit_test(test_errors),
                                     cmocka_unit_test(test_lives),   cmocka_unit_test(test_plugin),
                                     cmocka_unit_test(test_layouts)};
  setenv("TB_TEST_PLUGINS", TB_BUILDDIR "/examples/backend_plugin", 1);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
