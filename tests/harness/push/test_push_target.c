/* Where push sends a result: the format's target, and the group of a host and its suites at a Pushgateway. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/args.h"
#include "harness/push/push_format.h"

static struct tc_arena *arena;

static int open_arena(void **state) {
  (void)state;
  return !(arena = tc_arena_new(tc_alloc_system()));
}

static int close_arena(void **state) {
  (void)state;
  tc_arena_free(arena);
  return 0;
}

static void test_targets(void **state) {
  (void)state;
  static const struct {
    const char *format, *to, *target;
  } rows[] = {
      {"tbench", "http://h", "http://h/api/v1/results"},
      {"tbench", "http://h/behind/proxy/", "http://h/behind/proxy/api/v1/results"},
      {"tbench", "http://h/api/v1/results", "http://h/api/v1/results"},
      {"victoriametrics", "http://h:8428?extra_label=a=b", "http://h:8428/api/v1/import?extra_label=a=b"},
      {"influx", "http://h?org=o&bucket=b", "http://h/api/v2/write?org=o&bucket=b&precision=ns"},
      {"influx", "http://h/write?db=d&precision=ns", "http://h/write?db=d&precision=ns"},
      {"influx", "http://h?org=o", NULL},
      {"prometheus", "http://h", "http://h/metrics/job/tbench/instance{host}/suites{suites}"},
      {"prometheus", "http://h/metrics/job/mine/instance/a", "http://h/metrics/job/mine/instance/a"},
      {"bencher", "https://api.bencher.dev?project=p", "https://api.bencher.dev/v0/run?project=p"},
      {"bencher", "https://h/api/v0/run?project=p", "https://h/api/v0/run?project=p"},
      {"bencher", "https://api.bencher.dev", NULL},
      {"lnt", "http://h", "http://h/api/db_default/v4/nts/runs?merge=replace"},
      {"lnt", "http://h/api/db_mine/v4/nts/runs?merge=append",
       "http://h/api/db_mine/v4/nts/runs?merge=append"},
      {"lnt", "http://h?select_machine=update",
       "http://h/api/db_default/v4/nts/runs?select_machine=update&merge=replace"},
      {"conbench", "http://h", "http://h/api/benchmark-results/"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct tb_url url;
    struct tc_error err = {0};
    const char *target = NULL;
    assert_int_equal(tb_url_parse(arena, rows[i].to, &url, &err), TC_OK);
    const tc_status status = tb_push_target(arena, tb_push_format_find(rows[i].format), &url, &target, &err);
    assert_int_equal(status, rows[i].target ? TC_OK : TC_ARG);
    if (rows[i].target) assert_string_equal(target, rows[i].target);
  }
}

/* A result of this host whose cases are of the suites "a b …"; in the caller's hands. */
static cJSON *result_of(const char *host, const char *suites) {
  cJSON *result = cJSON_CreateObject(), *environment = cJSON_CreateObject(),
        *cases = cJSON_AddArrayToObject(result, "cases");
  char name[64];
  cJSON_AddItemToArray(cJSON_AddArrayToObject(result, "environments"), environment);
  if (host) cJSON_AddStringToObject(environment, "host", host);
  for (const char *at = suites; *at; at += strcspn(at, " "), at += *at == ' ') {
    cJSON *one = cJSON_CreateObject();
    snprintf(name, sizeof name, "%.*s", (int)strcspn(at, " "), at);
    cJSON_AddStringToObject(cJSON_AddObjectToObject(one, "case"), "suite", name);
    cJSON_AddItemToArray(cases, one);
  }
  return result;
}

/* Runs of other suites or hosts go elsewhere; what a path of the Pushgateway cannot say is said in base64. */
static void test_groups(void **state) {
  (void)state;
  static const struct {
    const char *host, *suites, *path;
  } rows[] = {
      {"h", "mlp", "instance/h/suites/mlp"},
      {"h", "mlp mlp mlp", "instance/h/suites/mlp"},
      {"h.example-1", "mlp pointwise mlp", "instance/h.example-1/suites/mlp,pointwise"},
      {"h", "pointwise mlp", "instance/h/suites/pointwise,mlp"},
      {NULL, "mlp", "instance/unknown/suites/mlp"},
      {"", "", "instance/unknown/suites/unknown"},
      {"a/b", "?", "instance@base64/YS9i/suites@base64/Pw"},
      {"..", "a", "instance@base64/Li4/suites/a"},
      {"{suites}", "\xc3\xa4\xff>", "instance@base64/e3N1aXRlc30/suites@base64/w6T_Pg"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    cJSON *result = result_of(rows[i].host, rows[i].suites);
    const char *target =
        tb_push_target_of(arena, "http://h/metrics/job/tbench/instance{host}/suites{suites}", result);
    struct tb_url url;
    struct tc_error err = {0};
    assert_string_equal(target, tb_format(arena, "http://h/metrics/job/tbench/%s", rows[i].path));
    assert_int_equal(tb_url_parse(arena, target, &url, &err), TC_OK);
    assert_string_equal(tb_push_target_of(arena, "http://h/metrics/job/mine", result),
                        "http://h/metrics/job/mine");
    cJSON_Delete(result);
  }
}

static void test_who_replaces(void **state) {
  (void)state;
  for (int i = 0; i < tb_push_format_count(); i++)
    assert_int_equal(tb_push_replaces(tb_push_format_at(i)),
                     !strcmp(tb_push_format_at(i)->name, "prometheus"));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_targets), cmocka_unit_test(test_groups),
                                     cmocka_unit_test(test_who_replaces)};
  return cmocka_run_group_tests(tests, open_arena, close_arena);
}
