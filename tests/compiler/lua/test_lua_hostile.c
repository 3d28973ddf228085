/* Runs hostile_tables.lua and hostile_tensors.lua. */
#include "tests/compiler/lua/parts.h"

PART("lua/hostile_tables.lua", tables)
PART("lua/hostile_tensors.lua", tensors)

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_tables), cmocka_unit_test(test_tensors)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
