/* The schema that the build makes against schema_1.json, the last one that was written by hand: whatever was
 * valid stays valid, and whoever reads a field finds it where it was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cjson/cJSON.h>
#include <cmocka.h>

#include "tests/results/schema.h"

enum { PATH = 512 };

/* How many rules of `old` are not in `made` as they were, and how many were added that a document may break.
 * Under "properties" and "$defs" anything may be added. */
static int differences(const char *path, const cJSON *old, const cJSON *made) {
  int found = 0;
  char below[PATH];
  const cJSON *one;
  const char *own = strrchr(path, '.') ? strrchr(path, '.') + 1 : path;
  const bool names = !strcmp(own, "properties") || !strcmp(own, "$defs");
  cJSON_ArrayForEach(one, old) {
    const cJSON *now = cJSON_GetObjectItemCaseSensitive(made, one->string);
    snprintf(below, sizeof below, "%s.%s", path, one->string);
    if (!names && !strcmp(one->string, "description")) continue;
    if (now && cJSON_IsObject(one) && cJSON_IsObject(now))
      found += differences(below, one, now);
    else if (!now || !cJSON_Compare(one, now, true))
      found++, print_message("%s: was removed or changed\n", below);
  }
  cJSON_ArrayForEach(one, made) {
    if (names || !strcmp(one->string, "description") || cJSON_GetObjectItemCaseSensitive(old, one->string))
      continue;
    found++, print_message("%s.%s: was added\n", path, one->string);
  }
  return found;
}

static cJSON *load(const char *path) {
  cJSON *schema = schema_load(path);
  if (!schema) fail_msg("%s cannot be read", path);
  return schema;
}

static void test_kept(void **state) {
  cJSON *old = load(TB_SRCDIR "/tests/results/schema_1.json"),
        *made = load(TB_BUILDDIR "/results/schema.json");
  (void)state;
  assert_int_equal(differences("$", old, made), 0);
  cJSON_Delete(old), cJSON_Delete(made);
}

/* The comparison finds what it is for. */
static void test_finds(void **state) {
  static const char *const text =
      "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"number\"}},\"required\":[\"a\"]}";
  static const struct {
    const char *made;
    int found;
  } cases[] = {
      {"{\"type\":\"object\",\"properties\":{\"b\":{\"type\":\"number\"},\"a\":{\"type\":\"number\"}},"
       "\"required\":[\"a\"]}",
       0},
      {"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"number\",\"description\":\"more\"}},"
       "\"required\":[\"a\"]}",
       0},
      {"{\"type\":\"object\",\"properties\":{\"b\":{\"type\":\"number\"}},\"required\":[\"a\"]}", 1},
      {"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}},\"required\":[\"a\"]}", 1},
      {"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"number\",\"minimum\":0}},\"required\":[\"a\"]"
       "}",
       1},
      {"{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"number\"},\"b\":{}},\"required\":[\"a\",\"b\"]"
       "}",
       1},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cJSON *old = cJSON_Parse(text), *made = cJSON_Parse(cases[i].made);
    assert_non_null(made);
    assert_int_equal(differences("$", old, made), cases[i].found);
    cJSON_Delete(old), cJSON_Delete(made);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_kept), cmocka_unit_test(test_finds)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
