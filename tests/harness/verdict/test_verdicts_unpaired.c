/* Two runs that were not interleaved: of which machine, by which calibration kernel, and how far such times
 * can be trusted. */
#include "tests/harness/verdict/compared.h"

static cJSON *on_machine(const char *host, const char *cpu, double ns) {
  cJSON *json = SIDE("ok", ns, tight), *environments = cJSON_AddArrayToObject(json, "environments"),
        *one = cJSON_CreateObject();
  cJSON_AddItemToArray(environments, one);
  cJSON_AddNumberToObject(cJSON_GetArrayItem(cJSON_GetObjectItem(json, "cases"), 0), "env", 0);
  cJSON_AddStringToObject(one, "host", host);
  cJSON_AddStringToObject(cJSON_AddObjectToObject(one, "cpu"), "model", cpu);
  return json;
}

static bool remarked(const struct tb_verdicts *c, const char *part) {
  for (size_t i = 0; i < c->remarks.len; i++)
    if (strstr(c->remarks.data[i], part)) return true;
  return false;
}

/* Times of two CPUs are not held against each other; another host of the same CPU is told. */
static void test_machines(void **state) {
  struct fixture *f = *state;
  static const struct {
    const char *host, *cpu;
    double ns;
    enum tb_exit exit;
    bool told;
  } rows[] = {{"h", "fast", 1000, TB_EXIT_PASS, false},
              {"other", "fast", 1000, TB_EXIT_PASS, true},
              {"other", "fast", 1100, TB_EXIT_REGRESSION, true},
              {"other", "slow", 1000, TB_EXIT_NOT_MEASURABLE, true},
              {"h", "slow", 1100, TB_EXIT_NOT_MEASURABLE, false},
              {"h", "slow", 900, TB_EXIT_NOT_MEASURABLE, false}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    cJSON *base = on_machine("h", "fast", 1000), *head = on_machine(rows[i].host, rows[i].cpu, rows[i].ns);
    const struct tb_verdicts c = compare(f, &f->required, base, head);
    if (c.exit != rows[i].exit) fail_msg("row %zu: exit %d", i, c.exit);
    assert_int_equal(remarked(&c, "base was measured on h, head on other"), rows[i].told);
    assert_int_equal(c.cases.data[0].time.why == TB_UNSURE_OTHER_CPU, rows[i].exit == TB_EXIT_NOT_MEASURABLE);
    cJSON_Delete(base);
    cJSON_Delete(head);
  }
}

/* What else changed between the runs is told; what stayed, or is not known of one, is not. */
static void test_environments(void **state) {
  struct fixture *f = *state;
  static const char before[] =
      "{\"kernel\": \"Linux 6.1\", \"llvm\": \"19\", \"blas\": null, \"noise\": ["
      "{\"cause\": \"governor\", \"what\": \"frequency governor\", \"state\": \"quiet\", \"seen\": "
      "\"performance\"},"
      "{\"cause\": \"load\", \"what\": \"load\", \"state\": \"worse\", \"seen\": \"1.00 on 2 cores\"},"
      "{\"cause\": \"swap\", \"what\": \"swap\", \"state\": \"quiet\", \"seen\": \"0 MiB used\"}]}";
  static const char after[] =
      "{\"kernel\": \"Linux 6.5\", \"llvm\": \"19\", \"blas\": \"OpenBLAS\", \"noise\": ["
      "{\"cause\": \"governor\", \"what\": \"frequency governor\", \"state\": \"worse\", \"seen\": "
      "\"powersave\"},"
      "{\"cause\": \"load\", \"what\": \"load\", \"state\": \"worse\", \"seen\": \"2.00 on 2 cores\"},"
      "{\"cause\": \"swap\", \"what\": \"swap\", \"state\": \"unknown\", \"seen\": \"not readable\"}]}";
  for (int changed = 0; changed < 2; changed++) {
    cJSON *base = SIDE("ok", 1000, tight), *head = SIDE("ok", 1000, tight);
    cJSON_AddItemToArray(cJSON_AddArrayToObject(base, "environments"), cJSON_Parse(before));
    cJSON_AddItemToArray(cJSON_AddArrayToObject(head, "environments"), cJSON_Parse(changed ? after : before));
    const struct tb_verdicts c = compare(f, &f->required, base, head);
    assert_int_equal(remarked(&c, "changed between base's run and head's: kernel: Linux 6.1 -> Linux 6.5; "
                                  "frequency governor: performance -> powersave"),
                     changed);
    assert_false(remarked(&c, "load") || remarked(&c, "LLVM") || remarked(&c, "swap") ||
                 remarked(&c, "matrix library"));
    cJSON_Delete(base);
    cJSON_Delete(head);
  }
}

/* A calibration kernel of so many nanoseconds; the case takes exp(log_ratio) times as long. */
static void add_calibration(cJSON *result, int version, double ns, double log_ratio) {
  cJSON *calibration = cJSON_CreateObject(), *ratios = cJSON_AddArrayToObject(calibration, "log_ratios");
  cJSON_AddNumberToObject(calibration, "version", version);
  cJSON_AddNumberToObject(calibration, "median_ns", ns);
  for (int i = 0; i < REPLICATES; i++)
    cJSON_AddItemToArray(ratios, cJSON_CreateNumber(log_ratio + 0.0001 * i));
  cJSON_AddItemToObject(cJSON_GetArrayItem(cJSON_GetObjectItem(result, "cases"), 0), "probe", calibration);
}

/* How far the calibration kernel moved is how far two runs can be trusted: the interval is wider by it, and
 * what it takes away says so. */
static void test_drift(void **state) {
  struct fixture *f = *state;
  static const struct {
    double calibration, over_calibration;
    enum tb_verdict verdict;
    enum tb_unsure why;
    enum tb_exit exit;
  } rows[] = {{1, 1.1, TB_VERDICT_SLOWER, TB_UNSURE_NONE, TB_EXIT_REGRESSION},
              {1.003, 1, TB_VERDICT_SAME, TB_UNSURE_NONE, TB_EXIT_PASS},
              {1.05, 1, TB_VERDICT_UNSURE, TB_UNSURE_MOVED, TB_EXIT_NOT_MEASURABLE},
              {0.95, 1, TB_VERDICT_UNSURE, TB_UNSURE_MOVED, TB_EXIT_NOT_MEASURABLE},
              {1.05, 1.1, TB_VERDICT_SLOWER, TB_UNSURE_NONE, TB_EXIT_REGRESSION},
              {0.95, 0.9, TB_VERDICT_FASTER, TB_UNSURE_NONE, TB_EXIT_PASS},
              {1.15, 1.1, TB_VERDICT_UNSURE, TB_UNSURE_MOVED, TB_EXIT_NOT_MEASURABLE},
              {1 / 1.15, 1.1, TB_VERDICT_UNSURE, TB_UNSURE_MOVED, TB_EXIT_NOT_MEASURABLE}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    cJSON *base = SIDE("ok", 1000, tight),
          *head = SIDE("ok", 1000 * rows[i].calibration * rows[i].over_calibration, tight);
    add_calibration(base, 1, 5000, 0);
    add_calibration(head, 1, 5000 * rows[i].calibration, log(rows[i].over_calibration));
    struct tb_verdicts c = compare(f, &f->required, base, head);
    const struct tb_decision *d = &c.cases.data[0].time;
    if (d->verdict != rows[i].verdict || d->why != rows[i].why || c.exit != rows[i].exit)
      fail_msg("row %zu: %s, exit %d", i, tb_verdict_word(d->verdict), c.exit);
    const double moved = fmax(rows[i].calibration, 1 / rows[i].calibration);
    assert_true(d->lo <= rows[i].over_calibration / moved * 1.0001 &&
                d->hi >= rows[i].over_calibration * moved * 0.9999);
    assert_true(remarked(&c, "these are two runs"));
    assert_int_equal(remarked(&c, "each interval is wider by that change"), moved > 1);
    cJSON *json = tb_verdicts_json(&c);
    const cJSON *one = cJSON_GetArrayItem(tb_doc_at(json, "cases"), 0);
    assert_true(fabs(tb_doc_number(one, "probe_ratio") - rows[i].calibration) < 1e-9 &&
                fabs(tb_doc_number(one, "drift") - (moved - 1)) < 1e-9);
    cJSON_Delete(json);
    cJSON_Delete(base);
    cJSON_Delete(head);
  }
}

/* Calibration kernels of two versions are two pieces of work: the times themselves are compared then. */
static void test_calibration_versions(void **state) {
  struct fixture *f = *state;
  for (int version = 1; version <= 2; version++) {
    cJSON *base = SIDE("ok", 1000, tight), *head = SIDE("ok", 1000, tight);
    add_calibration(base, 1, 1000, 0);
    add_calibration(head, version, 1200, 1);
    const struct tb_verdicts c = compare(f, &f->required, base, head);
    assert_int_equal(c.cases.data[0].time.verdict, version == 1 ? TB_VERDICT_SLOWER : TB_VERDICT_SAME);
    assert_int_equal(remarked(&c, "the probe took 1.2 times as long in head's run"), version == 1);
    assert_int_equal(remarked(&c, "1 of 1 case is compared without a probe"), version == 2);
    cJSON_Delete(base);
    cJSON_Delete(head);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)
      TEST(test_machines),
      TEST(test_environments),
      TEST(test_drift),
      TEST(test_calibration_versions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
