/* What a comparison comes to: every kind of outcome, of presence and of decision, required or not, has its
 * exit code, and what was not compared never passes. */
#include "tests/harness/verdict/compared.h"

static void test_times(void **state) {
  struct fixture *f = *state;
  expect(f, "same", SIDE("ok", 1000, tight), SIDE("ok", 1000, tight), TB_EXIT_PASS, TB_EXIT_PASS);
  expect(f, "slower", SIDE("ok", 1000, tight), SIDE("ok", 1100, tight), TB_EXIT_REGRESSION,
         TB_EXIT_REGRESSION);
  expect(f, "faster", SIDE("ok", 1000, tight), SIDE("ok", 900, tight), TB_EXIT_PASS, TB_EXIT_PASS);
  expect(f, "too noisy to tell", SIDE("ok", 1000, noisy), SIDE("ok", 1000, noisy), TB_EXIT_NOT_MEASURABLE,
         TB_EXIT_NOT_MEASURABLE);
  expect(f, "much faster, in much noise", SIDE("ok", 1000, noisy), SIDE("ok", 10, noisy), TB_EXIT_PASS,
         TB_EXIT_PASS); /* a win beyond the floor is one */
}

/* A result of which all is too noisy says so. */
static void test_all_noisy(void **state) {
  struct fixture *f = *state;
  static const struct {
    double spread;
    const char *told;
  } rows[] = {{0.3, "no case could be compared: all are too noisy"}, {NAN, "no case could be compared"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    cJSON *base = SIDE("ok", 1000, tight), *head = SIDE(i ? "unsupported" : "ok", 1000, tight);
    struct tb_verdicts c = compare(f, &f->required, base, head);
    c.cases.data[0].time.floor = rows[i].spread;
    assert_true(tb_verdicts_judge(&c));
    assert_true(c.problems.len == 1 && c.exit != TB_EXIT_PASS);
    assert_string_equal(c.problems.data[0], rows[i].told);
    cJSON_Delete(base);
    cJSON_Delete(head);
  }
}

/* Where base was measured in this run, as by ab, what became of it is this run's outcome. */
static void test_base_of_this_run(void **state) {
  struct fixture *f = *state;
  static const struct {
    const char *base;
    enum tb_exit stored, now;
  } rows[] = {{"crashed", TB_EXIT_NOT_MEASURABLE, TB_EXIT_FAILED},
              {"timeout", TB_EXIT_NOT_MEASURABLE, TB_EXIT_FAILED},
              {"wrong", TB_EXIT_NOT_MEASURABLE, TB_EXIT_WRONG},
              {"unsupported", TB_EXIT_NOT_MEASURABLE, TB_EXIT_NOT_MEASURABLE}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    cJSON *base = SIDE(rows[i].base, 1000, tight), *head = SIDE("ok", 1000, tight);
    struct tb_verdicts c = compare(f, &f->required, base, head);
    assert_int_equal(c.exit, rows[i].stored);
    c.base_now = true;
    assert_true(tb_verdicts_judge(&c));
    assert_int_equal(c.exit, rows[i].now);
    cJSON_Delete(base);
    cJSON_Delete(head);
  }
}

/* Outcome of head by outcome of base. */
static void test_outcomes(void **state) {
  struct fixture *f = *state;
  static const struct {
    const char *base, *head;
    enum tb_exit required, optional;
  } rows[] = {
      {"ok", "wrong", TB_EXIT_WRONG, TB_EXIT_WRONG},
      {"ok", "crashed", TB_EXIT_FAILED, TB_EXIT_FAILED},
      {"ok", "timeout", TB_EXIT_FAILED, TB_EXIT_FAILED},
      {"ok", "oom", TB_EXIT_FAILED, TB_EXIT_FAILED},
      {"ok", "error", TB_EXIT_FAILED, TB_EXIT_FAILED},
      {"ok", "never heard of", TB_EXIT_FAILED, TB_EXIT_FAILED},
      {"ok", "unsupported", TB_EXIT_FAILED, TB_EXIT_NOT_MEASURABLE},
      {"unsupported", "unsupported", TB_EXIT_NOT_MEASURABLE, TB_EXIT_NOT_MEASURABLE},
      {"crashed", "ok", TB_EXIT_NOT_MEASURABLE, TB_EXIT_NOT_MEASURABLE},
      {"unsupported", "ok", TB_EXIT_NOT_MEASURABLE, TB_EXIT_NOT_MEASURABLE},
      {"crashed", "crashed", TB_EXIT_FAILED, TB_EXIT_FAILED},
      {"crashed", "wrong", TB_EXIT_WRONG, TB_EXIT_WRONG},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char what[64];
    snprintf(what, sizeof what, "%s, then %s", rows[i].base, rows[i].head);
    expect(f, what, SIDE(rows[i].base, 1000, tight), SIDE(rows[i].head, 1000, tight), rows[i].required,
           rows[i].optional);
  }
}

static void test_presence(void **state) {
  struct fixture *f = *state;
  expect(f, "vanished", SIDE("ok", 1000, tight), document(NULL), TB_EXIT_FAILED, TB_EXIT_NOT_MEASURABLE);
  expect(f, "new", document(NULL), SIDE("ok", 1000, tight), TB_EXIT_NOT_MEASURABLE, TB_EXIT_NOT_MEASURABLE);
  expect(f, "new and crashed", document(NULL), SIDE("crashed", 1000, tight), TB_EXIT_FAILED, TB_EXIT_FAILED);
  expect(f, "nothing at all", document(NULL), document(NULL), TB_EXIT_NOT_MEASURABLE, TB_EXIT_NOT_MEASURABLE);
}

/* Beside a case that is the same, so that something was compared. */
static void expect_beside(struct fixture *f, const char *what, cJSON *base_case, cJSON *head_case,
                          enum tb_exit required, enum tb_exit optional) {
  cJSON *base = SIDE("ok", 1000, tight), *head = SIDE("ok", 1000, tight);
  if (base_case) cJSON_AddItemToArray(cJSON_GetObjectItem(base, "cases"), base_case);
  if (head_case) cJSON_AddItemToArray(cJSON_GetObjectItem(head, "cases"), head_case);
  expect(f, what, base, head, required, optional);
}

static void test_beside_another(void **state) {
  struct fixture *f = *state;
#define CASE(outcome, spread) new_case("b", outcome, 1000, spread)
  expect_beside(f, "vanished", CASE("ok", tight), NULL, TB_EXIT_FAILED, TB_EXIT_PASS);
  expect_beside(f, "new", NULL, CASE("ok", tight), TB_EXIT_PASS, TB_EXIT_PASS);
  expect_beside(f, "unsure", CASE("ok", noisy), CASE("ok", noisy), TB_EXIT_NOT_MEASURABLE, TB_EXIT_PASS);
  expect_beside(f, "unsupported now", CASE("ok", tight), CASE("unsupported", tight), TB_EXIT_FAILED,
                TB_EXIT_PASS);
  expect_beside(f, "unsupported as before", CASE("unsupported", tight), CASE("unsupported", tight),
                TB_EXIT_PASS, TB_EXIT_PASS);
  expect_beside(f, "failed before", CASE("crashed", tight), CASE("ok", tight), TB_EXIT_NOT_MEASURABLE,
                TB_EXIT_PASS);
}

static cJSON *left_out(const char *artifact) {
  cJSON *head = SIDE("ok", 1000, tight), *list = cJSON_AddArrayToObject(head, "left_out"),
        *entry = cJSON_CreateObject();
  cJSON_AddStringToObject(entry, "id", "b");
  cJSON_AddStringToObject(entry, "artifact", artifact);
  cJSON_AddItemToArray(list, entry);
  return head;
}

/* changed-since=: not timed is not compared. */
static void test_left_out(void **state) {
  struct fixture *f = *state;
  const struct {
    const char *what, *artifact;
    bool in_base;
    enum tb_exit required, optional;
  } rows[] = {{"the same artifact", "aa", true, TB_EXIT_PASS, TB_EXIT_PASS},
              {"another artifact", "bb", true, TB_EXIT_NOT_MEASURABLE, TB_EXIT_PASS},
              {"not in base", "aa", false, TB_EXIT_NOT_MEASURABLE, TB_EXIT_PASS}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    cJSON *base = SIDE("ok", 1000, tight);
    if (rows[i].in_base) cJSON_AddItemToArray(cJSON_GetObjectItem(base, "cases"), CASE("ok", tight));
    expect(f, rows[i].what, base, left_out(rows[i].artifact), rows[i].required, rows[i].optional);
  }
  cJSON *head = left_out("aa");
  cJSON_DeleteItemFromArray(cJSON_GetObjectItem(head, "cases"), 0);
  cJSON *base = document(CASE("ok", tight));
  expect(f, "nothing was timed", base, head, TB_EXIT_NOT_MEASURABLE, TB_EXIT_NOT_MEASURABLE);
}

static void test_documents_that_are_not_whole(void **state) {
  struct fixture *f = *state;
  cJSON *head = SIDE("ok", 1000, tight), *base = SIDE("ok", 1000, tight);
  cJSON_DeleteItemFromObject(head, "finished");
  expect(f, "head was killed", base, head, TB_EXIT_INTERRUPTED, TB_EXIT_INTERRUPTED);
  head = SIDE("ok", 1000, tight);
  cJSON_AddTrueToObject(head, "interrupted");
  expect(f, "head was interrupted", SIDE("ok", 1000, tight), head, TB_EXIT_INTERRUPTED, TB_EXIT_INTERRUPTED);
  head = SIDE("ok", 1000, tight);
  cJSON_AddNumberToObject(head, "planned", 2);
  expect(f, "a planned case is missing", SIDE("ok", 1000, tight), head, TB_EXIT_FAILED, TB_EXIT_FAILED);
  base = SIDE("ok", 1000, tight);
  cJSON_DeleteItemFromObject(base, "finished");
  expect(f, "base was killed", base, SIDE("ok", 1000, tight), TB_EXIT_NOT_MEASURABLE, TB_EXIT_NOT_MEASURABLE);
}

static void test_required_pattern_without_case(void **state) {
  struct fixture *f = *state;
  static const char text[] = "required[\"mlp/*\"] = true";
  struct tb_policy policy;
  assert_int_equal(tb_policy_parse(f->arena, "p", text, strlen(text), &policy, &f->err), TC_OK);
  cJSON *base = SIDE("ok", 1000, tight), *head = SIDE("ok", 1000, tight);
  const struct tb_verdicts c = compare(f, &policy, base, head);
  assert_int_equal(c.exit, TB_EXIT_FAILED);
  assert_int_equal(c.problems.len, 1);
  assert_string_equal(c.problems.data[0],
                      "the policy requires 'mlp/*', but head has no case with such an id");
  cJSON_Delete(base);
  cJSON_Delete(head);
}

static void test_pay_off(void **state) {
  struct fixture *f = *state;
  static const char text[] = "pays_off_after_calls = 100";
  static const struct {
    const char *compile;
    enum tb_exit exit;
  } rows[] = {
      {"{\"pays_off_after_calls\": 50, \"pays_off_lo\": 40, \"pays_off_hi\": 60}", TB_EXIT_PASS},
      {"{\"pays_off_after_calls\": 50, \"pays_off_lo\": 40, \"pays_off_hi\": 160}", TB_EXIT_NOT_MEASURABLE},
      {"{\"pays_off_after_calls\": 150, \"pays_off_lo\": 90, \"pays_off_hi\": 260}", TB_EXIT_NOT_MEASURABLE},
      {"{\"pays_off_after_calls\": 150, \"pays_off_lo\": 140, \"pays_off_hi\": 160}", TB_EXIT_REGRESSION},
      {"{\"pays_off_after_calls\": null, \"pays_off_lo\": null, \"pays_off_hi\": null}", TB_EXIT_REGRESSION},
      {"{\"pays_off_after_calls\": null, \"pays_off_lo\": 140, \"pays_off_hi\": null, \"pays_off_infinite\": "
       "true}",
       TB_EXIT_REGRESSION},
      /* the interval has no end, or is not known: of one replicate there is none */
      {"{\"pays_off_after_calls\": null, \"pays_off_lo\": 40, \"pays_off_hi\": null, \"pays_off_infinite\": "
       "true}",
       TB_EXIT_NOT_MEASURABLE},
      {"{\"pays_off_after_calls\": 50, \"pays_off_lo\": 40, \"pays_off_hi\": null, \"pays_off_infinite\": "
       "true}",
       TB_EXIT_NOT_MEASURABLE},
      {"{\"pays_off_after_calls\": 50, \"pays_off_lo\": null, \"pays_off_hi\": null, \"pays_off_infinite\": "
       "false}",
       TB_EXIT_NOT_MEASURABLE},
      /* what was not measured is not "never" */
      {"{\"pays_off_after_calls\": null, \"pays_off_lo\": null, \"pays_off_hi\": null, "
       "\"pays_off_infinite\": false}",
       TB_EXIT_NOT_MEASURABLE},
      {"null", TB_EXIT_NOT_MEASURABLE}};
  struct tb_policy policy;
  assert_int_equal(tb_policy_parse(f->arena, "p", text, strlen(text), &policy, &f->err), TC_OK);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    cJSON *base = SIDE("ok", 1000, tight), *head = SIDE("ok", 1000, tight);
    cJSON_AddItemToObject(cJSON_GetArrayItem(cJSON_GetObjectItem(head, "cases"), 0), "compile",
                          cJSON_Parse(rows[i].compile));
    const struct tb_verdicts c = compare(f, &policy, base, head);
    if (c.exit != rows[i].exit) fail_msg("%s: exit %d", rows[i].compile, c.exit);
    cJSON_Delete(base);
    cJSON_Delete(head);
  }
}

/* What is not known of a case fails only where it is required; what is known to be worse does always. */
static void test_not_required(void **state) {
  struct fixture *f = *state;
  static const char text[] = "pays_off_after_calls = 100 required = false";
  static const struct {
    const char *compile, *graph;
    enum tb_exit exit;
  } rows[] = {{"{\"pays_off_after_calls\": 90, \"pays_off_lo\": 80, \"pays_off_hi\": 120}",
               "{\"kernels\": 1, \"artifact\": \"aa\"}", TB_EXIT_PASS},
              {"{\"pays_off_after_calls\": 190, \"pays_off_lo\": 180, \"pays_off_hi\": 220}",
               "{\"kernels\": 1, \"artifact\": \"aa\"}", TB_EXIT_REGRESSION},
              {"{\"pays_off_hi\": 90}", "{\"artifact\": \"aa\"}", TB_EXIT_PASS},
              {"{\"pays_off_hi\": 90}", "{\"kernels\": 2, \"artifact\": \"aa\"}", TB_EXIT_REGRESSION}};
  struct tb_policy policy;
  assert_int_equal(tb_policy_parse(f->arena, "p", text, strlen(text), &policy, &f->err), TC_OK);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    cJSON *base = SIDE("ok", 1000, tight), *head = SIDE("ok", 1000, tight),
          *one = cJSON_GetArrayItem(cJSON_GetObjectItem(head, "cases"), 0);
    cJSON_AddItemToObject(one, "compile", cJSON_Parse(rows[i].compile));
    cJSON_ReplaceItemInObject(one, "graph", cJSON_Parse(rows[i].graph));
    const struct tb_verdicts c = compare(f, &policy, base, head);
    if (c.exit != rows[i].exit) fail_msg("row %zu: exit %d", i, c.exit);
    cJSON_Delete(base);
    cJSON_Delete(head);
  }
}

/* Which of two equal cases counts nobody knows: the second may be a slow one that passes as new. */
static void test_repeated(void **state) {
  struct fixture *f = *state;
  for (int side = 0; side < 2; side++) {
    cJSON *documents[] = {SIDE("ok", 1000, tight), SIDE("ok", 1000, tight)};
    cJSON_AddItemToArray(cJSON_GetObjectItem(documents[side], "cases"), new_case("a", "ok", 2000, tight));
    expect(f, side ? "twice in head" : "twice in base", documents[0], documents[1], TB_EXIT_USAGE,
           TB_EXIT_USAGE);
  }
}

/* A worker that fails in a paired comparison, a control that differs, and a case that no paired comparison
 * was over for. */
static void test_live(void **state) {
  struct fixture *f = *state;
  cJSON *base = new_case("a", "ok", 1000, tight), *head = new_case("a", "ok", 1000, tight);
  const struct tb_decision slower = {.verdict = TB_VERDICT_SLOWER, .floor = 0.001},
                           same = {.verdict = TB_VERDICT_SAME, .floor = 0.001};
  const struct {
    struct tb_compared one;
    enum tb_exit exit;
  } rows[] = {{{.timed = true, .time = same}, TB_EXIT_PASS},
              {{.timed = true, .time = slower}, TB_EXIT_REGRESSION},
              {{.timed = true, .time = slower, .control = true}, TB_EXIT_NOT_MEASURABLE},
              {{.timed = true, .time = same, .control = true}, TB_EXIT_PASS},
              {{.timed = false, .failed = TB_OUTCOME_CRASHED, .failure = "head: crashed"}, TB_EXIT_FAILED},
              {{.timed = false, .failed = TB_OUTCOME_WRONG, .failure = "head: wrong"}, TB_EXIT_WRONG},
              {{.timed = false}, TB_EXIT_NOT_MEASURABLE}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct tb_verdicts c = tb_verdicts_new(f->arena, &f->required, "ab");
    struct tb_compared *one = tb_verdicts_add(&c, "a", base, head);
    assert_non_null(one);
    *one = rows[i].one;
    one->id = "a", one->base = base, one->head = head;
    assert_true(tb_verdicts_judge(&c));
    if (c.exit != rows[i].exit) fail_msg("row %zu: exit %d", i, c.exit);
    assert_true(tb_verdicts_judge(&c)); /* once more: nothing adds up */
    assert_int_equal(c.exit, rows[i].exit);
    assert_true(c.problems.len <= 1);
  }
  cJSON_Delete(base);
  cJSON_Delete(head);
}

/* Of twenty that were measured again one is beyond the limit with p = 0.04: that is what chance gives, also
 * where the others were taken back. */
static void test_corrected_over_all_measured_again(void **state) {
  struct fixture *f = *state;
  static char ids[20][8];
  cJSON *base = new_case("a", "ok", 1000, tight), *head = new_case("a", "ok", 1000, tight);
  for (int again = 1; again <= 20; again += 19) {
    struct tb_verdicts c = tb_verdicts_new(f->arena, &f->required, "ab");
    for (int i = 0; i < 20; i++) {
      snprintf(ids[i], sizeof ids[i], "c%d", i);
      struct tb_compared *one = tb_verdicts_add(&c, ids[i], base, head);
      assert_non_null(one);
      one->timed = true;
      one->confirmed = !i;
      one->time = (struct tb_decision){
          .verdict = i ? TB_VERDICT_SAME : TB_VERDICT_SLOWER, .p = i ? 0.5 : 0.04, .floor = 0.001};
      if (i < again) assert_true(tc_vec_push(tc_arena_alloc(f->arena), &one->fresh_log_ratios, 0.02));
    }
    assert_true(tb_verdicts_correct(&c, 0));
    assert_int_equal(c.cases.data[0].time.verdict, again == 1 ? TB_VERDICT_SLOWER : TB_VERDICT_UNSURE);
    assert_int_equal(c.cases.data[0].confirmed, again == 1);
  }
  cJSON_Delete(base);
  cJSON_Delete(head);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)
      TEST(test_times),
      TEST(test_all_noisy),
      TEST(test_base_of_this_run),
      TEST(test_outcomes),
      TEST(test_presence),
      TEST(test_beside_another),
      TEST(test_left_out),
      TEST(test_documents_that_are_not_whole),
      TEST(test_required_pattern_without_case),
      TEST(test_pay_off),
      TEST(test_not_required),
      TEST(test_repeated),
      TEST(test_live),
      TEST(test_corrected_over_all_measured_again),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
