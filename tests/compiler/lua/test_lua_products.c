/* Runs the parts of products.lua. */
#include "tests/compiler/lua/parts.h"

enum { COMMAND = 256 };

PART("lua/products.lua", ways)
PART("lua/products.lua", fused)
PART("lua/products.lua", changing)
PART("lua/products.lua", switches)
PART("lua/products.lua", search)
PART("lua/products.lua", recorded)
PART("lua/products.lua", shared)

/* A cache of its own on disk. */
static int open_folder(void **state) {
  static char folder[] = "/tmp/tbench-products.XXXXXX";
  *state = folder;
  return !mkdtemp(folder) || setenv("XDG_CACHE_HOME", folder, 1);
}

static int close_folder(void **state) {
  char command[COMMAND];
  snprintf(command, sizeof command, "rm -rf '%s'", (const char *)*state);
  return system(command);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_ways),     cmocka_unit_test(test_fused),
                                     cmocka_unit_test(test_changing), cmocka_unit_test(test_switches),
                                     cmocka_unit_test(test_search),   cmocka_unit_test(test_recorded),
                                     cmocka_unit_test(test_shared)};
  return cmocka_run_group_tests(tests, open_folder, close_folder);
}
