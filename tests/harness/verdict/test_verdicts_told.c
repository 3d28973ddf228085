/* What is told of a comparison: its document, the table made of it, and the words for what was not
 * compared. */
#include "tests/harness/verdict/compared.h"
#include "tests/reporters/reported.h"

/* The document, and the table made of it. */
static void test_document(void **state) {
  struct fixture *f = *state;
  cJSON *base = SIDE("ok", 1000, tight), *head = SIDE("ok", 1100, tight);
  char *text = NULL;
  struct tb_verdicts c = compare(f, &f->required, base, head);
  c.base.what = "old.json", c.head.what = "new.json";
  assert_true(tc_vec_push(tc_arena_alloc(f->arena), &c.remarks, "a remark"));
  cJSON *json = tb_verdicts_json(&c);
  assert_string_equal(tb_doc_text(json, "kind", ""), "comparison");
  assert_true(tb_doc_number(json, "exit") == TB_EXIT_REGRESSION);
  assert_string_equal(tb_doc_text(cJSON_GetArrayItem(tb_doc_at(json, "cases"), 0), "time.verdict", ""),
                      "SLOWER");
  assert_true(
      report_document(tb_report_comparison, json, &(struct tb_report_options){.verbose = true}, &text));
  static const char *const expected[] = {"base: old.json",  "head: new.json",   "1.100 [1.",
                                         "SLOWER",          "a remark",         "1 SLOWER · a regression",
                                         "    kernels 1\n", "    artifact aa\n"};
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
    if (!strstr(text, expected[i])) fail_msg("'%s' is missing from\n%s", expected[i], text);
  free(text);
  cJSON_Delete(json);
  cJSON_Delete(base);
  cJSON_Delete(head);
}

/* Where nothing was compared, its row says what happened, not that both sides have the case. */
static void test_told_instead(void **state) {
  struct fixture *f = *state;
  static const struct {
    const char *base, *head, *told;
    enum tb_exit exit;
  } rows[] = {
      {"crashed", "crashed", "crashed on both sides", TB_EXIT_FAILED},
      {"crashed", "timeout", "base: crashed, head: timeout", TB_EXIT_FAILED},
      {"ok", "wrong", "head: wrong", TB_EXIT_WRONG},
      {"oom", "ok", "base: oom", TB_EXIT_NOT_MEASURABLE},
      {"unsupported", "unsupported", "unsupported on both sides",
       TB_EXIT_NOT_MEASURABLE /* of nothing that was compared */},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    cJSON *base = SIDE(rows[i].base, 1000, tight), *head = SIDE(rows[i].head, 1000, tight);
    const struct tb_verdicts c = compare(f, &f->required, base, head);
    assert_int_equal(c.exit, rows[i].exit);
    char *text = NULL;
    cJSON *json = tb_verdicts_json(&c);
    assert_string_equal(tb_doc_text(cJSON_GetArrayItem(tb_doc_at(json, "cases"), 0), "instead", ""),
                        rows[i].told);
    assert_true(
        report_document(tb_report_comparison, json, &(struct tb_report_options){.verbose = true}, &text));
    if (!strstr(text, rows[i].told) || strstr(text, "  both"))
      fail_msg("'%s' is missing from\n%s", rows[i].told, text);
    free(text);
    cJSON_Delete(json);
    cJSON_Delete(base);
    cJSON_Delete(head);
  }
}

/* What ab measured stands beside its ratio, not what a session measured at another time. */
static void test_times_told(void **state) {
  struct fixture *f = *state;
  cJSON *base = new_case("a", "ok", 1000, tight), *head = new_case("a", "ok", 2000, tight);
  for (int live = 0; live < 2; live++) {
    struct tb_verdicts c = tb_verdicts_new(f->arena, &f->required, "ab");
    struct tb_compared *one = tb_verdicts_add(&c, "a", base, head);
    assert_non_null(one);
    one->timed = true;
    one->time = (struct tb_decision){.verdict = TB_VERDICT_SAME, .floor = 0.001, .aa_differ = live};
    for (int i = 0; i < 3 * live; i++)
      assert_true(tc_vec_push(tc_arena_alloc(f->arena), &one->base_ns, 5 + 2 * i) &&
                  tc_vec_push(tc_arena_alloc(f->arena), &one->head_ns, 14 + i));
    assert_true(tb_verdicts_judge(&c));
    cJSON *json = tb_verdicts_json(&c);
    const cJSON *told = cJSON_GetArrayItem(tb_doc_at(json, "cases"), 0);
    assert_true(cJSON_IsTrue(tb_doc_at(told, "time.twins_differ")) == (live == 1));
    assert_true(tb_doc_number(told, "base_ns") == (live ? 7 : 1000) &&
                tb_doc_number(told, "head_ns") == (live ? 15 : 2000));
    cJSON_Delete(json);
  }
  cJSON_Delete(base);
  cJSON_Delete(head);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)
      TEST(test_document),
      TEST(test_told_instead),
      TEST(test_times_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
