/* Exact figures: each outcome from two case objects, and the exit code it makes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "harness/verdict/exact.h"

static const char base_text[] = "{\"graph\": {\"graphs\": 1, \"breaks\": [], \"recompiles\": 0, \"guards\": "
                                "3, \"fallbacks\": [\"a\"], \"kernels\": 4, \"library_calls\": 2,"
                                " \"bytes_moved\": 100000, \"peak_bytes\": 5000, \"artifact\": \"aa\"},"
                                " \"instructions\": {\"cold\": {\"total\": 1000000, \"stages\": "
                                "{\"capture\": 400000, \"codegen\": 600000}}, \"steady\": 1000}}";

static const struct tb_exact_finding *find(const tb_exact_findings *all, const char *name,
                                           const char *member) {
  for (size_t i = 0; i < all->len; i++) {
    const struct tb_exact_finding *f = &all->data[i];
    if (!strcmp(f->figure->exact.name, name) && (!member || !strcmp(f->member, member))) return f;
  }
  return NULL;
}

/* Compares the base with itself after `change` was merged into it: "graph.kernels" of head becomes the JSON
 * `value`. */
static void expect(const char *path, const char *value, const char *name, const char *member,
                   enum tb_exact_outcome outcome, enum tb_exit exit_code, const char *line) {
  struct tc_arena *arena = tc_arena_new(tc_alloc_system());
  cJSON *base = cJSON_Parse(base_text), *head = cJSON_Parse(base_text), *at = head;
  tb_exact_findings findings = {0};
  char part[64];
  const char *rest = path;
  for (size_t n; (n = strcspn(rest, ".")), rest[n]; rest += n + 1) {
    memcpy(part, rest, n);
    part[n] = '\0';
    at = cJSON_GetObjectItemCaseSensitive(at, part);
  }
  if (value)
    cJSON_ReplaceItemInObjectCaseSensitive(at, rest, cJSON_Parse(value));
  else
    cJSON_DeleteItemFromObjectCaseSensitive(at, rest);
  assert_true(tb_exact_compare(arena, base, head, NULL, NULL, &findings));
  const struct tb_exact_finding *f = find(&findings, name, member);
  assert_non_null(f);
  assert_string_equal(tb_exact_line(arena, f), line);
  assert_int_equal(f->outcome, outcome);
  assert_int_equal(tb_exact_exit(&findings), exit_code);
  cJSON_Delete(base);
  cJSON_Delete(head);
  tc_arena_free(arena);
}

static void test_outcomes(void **state) {
  (void)state;
  expect("graph.kernels", "4", "kernels", NULL, TB_EXACT_SAME, TB_EXIT_PASS, "kernels 4");
  expect("graph.kernels", "5", "kernels", NULL, TB_EXACT_WORSE, TB_EXIT_REGRESSION,
         "kernels 4 -> 5 (+25%): worse");
  expect("graph.kernels", "3", "kernels", NULL, TB_EXACT_BETTER, TB_EXIT_PASS,
         "kernels 4 -> 3 (-25%): better");
  expect("graph.kernels", "null", "kernels", NULL, TB_EXACT_MISSING, TB_EXIT_NOT_MEASURABLE,
         "kernels 4 -> none: missing: head has no such figure");
  expect("graph.kernels", NULL, "kernels", NULL, TB_EXACT_MISSING, TB_EXIT_NOT_MEASURABLE,
         "kernels 4 -> none: missing: head has no such figure");
  expect("graph.breaks", "[{}]", "breaks", NULL, TB_EXACT_WORSE, TB_EXIT_REGRESSION, "breaks 0 -> 1: worse");
  expect("graph.fallbacks", "[]", "fallbacks", NULL, TB_EXACT_BETTER, TB_EXIT_PASS,
         "fallbacks 1 -> 0 (-100%): better");
  expect("graph.artifact", "\"bb\"", "artifact", NULL, TB_EXACT_CHANGED, TB_EXIT_PASS,
         "artifact aa -> bb: changed");
  expect("graph.artifact", "null", "artifact", NULL, TB_EXACT_MISSING, TB_EXIT_NOT_MEASURABLE,
         "artifact aa -> none: missing: head has no such figure");
  expect("graph", "null", "peak_bytes", NULL, TB_EXACT_MISSING, TB_EXIT_NOT_MEASURABLE,
         "peak_bytes 5000 -> none: missing: head has no such figure");
}

static void test_tolerance(void **state) {
  (void)state;
  expect("graph.bytes_moved", "100100", "bytes_moved", NULL, TB_EXACT_SAME, TB_EXIT_PASS,
         "bytes_moved 100000 -> 100100 (+0.1%): same");
  expect("graph.bytes_moved", "100101", "bytes_moved", NULL, TB_EXACT_WORSE, TB_EXIT_REGRESSION,
         "bytes_moved 100000 -> 100101 (+0.101%): worse");
  expect("graph.bytes_moved", "99899", "bytes_moved", NULL, TB_EXACT_BETTER, TB_EXIT_PASS,
         "bytes_moved 100000 -> 99899 (-0.101%): better");
}

static void test_instructions(void **state) {
  (void)state;
  expect("instructions.steady", "1010", "instructions", NULL, TB_EXACT_SAME, TB_EXIT_PASS,
         "instructions 1000 -> 1010 (+1%): same");
  expect("instructions.steady", "1011", "instructions", NULL, TB_EXACT_WORSE, TB_EXIT_REGRESSION,
         "instructions 1000 -> 1011 (+1.1%): worse");
  expect("instructions.steady", "800", "instructions", NULL, TB_EXACT_BETTER, TB_EXIT_PASS,
         "instructions 1000 -> 800 (-20%): better");
  expect(
      "instructions.steady", "799", "instructions", NULL, TB_EXACT_COLLAPSE, TB_EXIT_FAILED,
      "instructions 1000 -> 799 (-20.1%): collapsed: such a large fall means that something was not counted");
  expect("instructions.steady", "0", "instructions", NULL, TB_EXACT_COLLAPSE, TB_EXIT_FAILED,
         "instructions 1000 -> 0 (-100%): collapsed: such a large fall means that something was not counted");
  expect("instructions.cold.stages.capture", "420000", "stage_instructions", "capture", TB_EXACT_WORSE,
         TB_EXIT_REGRESSION, "stage_instructions.capture 400000 -> 420000 (+5%): worse");
  expect("instructions.cold.stages.capture", "200000", "stage_instructions", "capture", TB_EXACT_BETTER,
         TB_EXIT_PASS, "stage_instructions.capture 400000 -> 200000 (-50%): better");
  expect("instructions.cold.stages.capture", "0", "stage_instructions", "capture", TB_EXACT_COLLAPSE,
         TB_EXIT_FAILED,
         "stage_instructions.capture 400000 -> 0 (-100%): collapsed: such a large fall means that something "
         "was not counted");
  expect("instructions.cold.stages.capture", NULL, "stage_instructions", "capture", TB_EXACT_MISSING,
         TB_EXIT_NOT_MEASURABLE,
         "stage_instructions.capture 400000 -> none: missing: head has no such figure");
}

static struct tb_exact_rule only_kernels(const void *policy, const struct tb_field *figure) {
  return (struct tb_exact_rule){!strcmp(figure->exact.name, "kernels"), *(const double *)policy};
}

/* Figures that are off make no finding; what only head has is new; what neither has is nothing. */
static void test_rules_and_new(void **state) {
  (void)state;
  struct tc_arena *arena = tc_arena_new(tc_alloc_system());
  cJSON *base = cJSON_Parse("{\"graph\": {\"kernels\": 4}, \"instructions\": null}"),
        *head = cJSON_Parse(base_text);
  tb_exact_findings findings = {0}, all = {0};
  const double tolerance = 0.5;
  assert_true(tb_exact_compare(arena, head, base, only_kernels, &tolerance, &findings));
  assert_int_equal(findings.len, 1);
  assert_true(findings.data[0].outcome == TB_EXACT_SAME && findings.data[0].tolerance == tolerance);
  assert_true(tb_exact_compare(arena, base, head, NULL, NULL, &all));
  assert_int_equal(find(&all, "kernels", NULL)->outcome, TB_EXACT_SAME);
  assert_int_equal(find(&all, "breaks", NULL)->outcome, TB_EXACT_NEW);
  assert_int_equal(find(&all, "stage_instructions", "codegen")->outcome, TB_EXACT_NEW);
  assert_null(find(&all, "code_bytes", NULL));
  assert_int_equal(tb_exact_exit(&all), TB_EXIT_PASS);
  cJSON_Delete(base);
  cJSON_Delete(head);
  tc_arena_free(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_outcomes),
      cmocka_unit_test(test_tolerance),
      cmocka_unit_test(test_instructions),
      cmocka_unit_test(test_rules_and_new),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
