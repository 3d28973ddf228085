/* Runs the parts of breaks.lua. */
#include "tests/compiler/lua/parts.h"

PART("lua/breaks.lua", textbook)
PART("lua/breaks.lua", control)
PART("lua/breaks.lua", frames)
PART("lua/breaks.lua", errors)
PART("lua/breaks.lua", closures)
PART("lua/breaks.lua", running)
PART("lua/breaks.lua", generation)

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_textbook),  cmocka_unit_test(test_control),
                                     cmocka_unit_test(test_frames),    cmocka_unit_test(test_errors),
                                     cmocka_unit_test(test_closures),  cmocka_unit_test(test_running),
                                     cmocka_unit_test(test_generation)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
