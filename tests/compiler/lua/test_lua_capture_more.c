/* Runs the parts of capture_more.lua. */
#include "tests/compiler/lua/parts.h"

PART("lua/capture_more.lua", protected)
PART("lua/capture_more.lua", lists)
PART("lua/capture_more.lua", strings)
PART("lua/capture_more.lua", numbers)
PART("lua/capture_more.lua", changing)
PART("lua/capture_more.lua", signs)
PART("lua/capture_more.lua", growing)
PART("lua/capture_more.lua", modules)
PART("lua/capture_more.lua", reasons)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_protected), cmocka_unit_test(test_lists),    cmocka_unit_test(test_strings),
      cmocka_unit_test(test_numbers),   cmocka_unit_test(test_changing), cmocka_unit_test(test_signs),
      cmocka_unit_test(test_growing),   cmocka_unit_test(test_modules),  cmocka_unit_test(test_reasons)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
