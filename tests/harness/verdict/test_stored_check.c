/* Results that do not agree with themselves are told, and nothing that a run may write is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/args.h"
#include "harness/verdict/stored_check.h"

/* A result of one case; NULL: it holds together. */
static const char *wrong_in(struct tc_arena *arena, const char *one_case) {
  const char *text = tb_format(arena,
                               "{\"environments\": [{}, {}], \"cases\": [{\"id\": \"good\", \"outcome\": "
                               "\"ok\"}, {\"id\": \"a\", %s}]}",
                               one_case);
  cJSON *document = cJSON_Parse(text);
  assert_non_null(document);
  const char *why = tb_stored_wrong(arena, document);
  cJSON_Delete(document);
  return why;
}

#define TIMES(name, median)                                                                                  \
  "\"" name "\": {\"median_ns\": " median ", \"replicates\": [{\"median_ns\": 100.1}, {\"median_ns\": 90}, " \
  "{\"median_ns\": 120}, {\"median_ns\": null}]}"

static void test_wrong(void **state) {
  static const struct {
    const char *one_case, *told;
  } rows[] = {
      {"\"outcome\": \"ok\", " TIMES("steady", "1000"),
       "case a: steady.median_ns is 1000, and the largest of its replicates 120"},
      {"\"outcome\": \"ok\", " TIMES("steady", "50"),
       "case a: steady.median_ns is 50, and the least of its replicates 90"},
      {"\"outcome\": \"ok\", " TIMES("baseline", "50"), "baseline.median_ns"},
      {"\"outcome\": \"crashed\", " TIMES("probe", "50"), "probe.median_ns"},
      {"\"outcome\": \"ok\", \"graph\": {\"kernels\": -1}", "graph.kernels is -1"},
      {"\"outcome\": \"ok\", \"instructions\": {\"cold\": {\"total\": -7}}", "instructions.cold.total is -7"},
      {"\"outcome\": \"ok\", \"steady\": null, \"speedup\": {\"ratio\": 1}", "no time (steady)"},
      {"\"outcome\": \"ok\", \"steady\": null, \"probe\": {\"log_ratios\": [1]}", "no time (steady)"},
      {"\"outcome\": \"ok\", \"correctness\": {\"ok\": false}", "correctness.ok"},
      {"\"outcome\": \"ok\", \"env\": 2", "names none of the result's 2 environments"},
      {"\"outcome\": \"ok\", \"env\": -1", "names none of"},
      {"\"outcome\": \"ok\", \"env\": 0.5", "names none of"},
      {"\"outcome\": \"ok\", \"env\": \"0\"", "names none of"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const char *why = wrong_in(*state, rows[i].one_case);
    if (!why || !strstr(why, rows[i].told) || !strstr(why, "case a: "))
      fail_msg("%s: %s", rows[i].one_case, why ? why : "nothing");
  }
}

static void test_right(void **state) {
  static const char *const rows[] = {
      "\"outcome\": \"ok\", \"env\": 1, " TIMES("steady", "100.1"),
      "\"outcome\": \"ok\", " TIMES("steady", "95"),    /* of all samples, as earlier versions wrote it */
      "\"outcome\": \"ok\", " TIMES("steady", "120.1"), /* rounded */
      "\"outcome\": \"ok\", \"steady\": {\"median_ns\": null, \"replicates\": []}, \"speedup\": null",
      "\"outcome\": \"ok\", \"steady\": {\"median_ns\": 5, \"replicates\": [{\"median_ns\": null}]}",
      ("\"outcome\": \"ok\", \"steady\": null, \"speedup\": null, \"probe\": null, \"instructions\": "
       "{\"cold\": {\"total\": 7}}"),                                            /* counted */
      "\"outcome\": \"crashed\", \"steady\": null, \"speedup\": {\"ratio\": 1}", /* behind its first replicate
                                                                                  */
      "\"outcome\": \"wrong\", \"correctness\": {\"ok\": false}",
      "\"outcome\": \"unsupported\", \"graph\": null, \"correctness\": null",
      "\"outcome\": \"ok\", \"graph\": {\"kernels\": 0, \"bytes_moved\": 0, \"breaks\": []}",
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const char *why = wrong_in(*state, rows[i]);
    if (why) fail_msg("%s: %s", rows[i], why);
  }
  cJSON *bare =
      cJSON_Parse("{\"cases\": [{\"id\": \"a\", \"env\": 0, \"outcome\": \"ok\"}]}"); /* another program's: it
                                                                                         does not say where */
  assert_null(tb_stored_wrong(*state, bare));
  cJSON_Delete(bare);
}

static int set_up(void **state) { return (*state = tc_arena_new(tc_alloc_system())) ? 0 : -1; }
static int tear_down(void **state) { return tc_arena_free(*state), 0; }

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_wrong, set_up, tear_down),
                                     cmocka_unit_test_setup_teardown(test_right, set_up, tear_down)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
