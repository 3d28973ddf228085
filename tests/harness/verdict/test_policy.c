/* The policy file: what it says, what it does not, and what each mistake is told as. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/verdict/policy.h"

struct fixture {
  struct tc_arena *arena;
  struct tb_policy policy;
  struct tc_error err;
};

static int set_up(void **state) {
  struct fixture *f = calloc(1, sizeof *f);
  f->arena = tc_arena_new(tc_alloc_system());
  *state = f;
  return 0;
}

static int tear_down(void **state) {
  struct fixture *f = *state;
  tc_arena_free(f->arena);
  free(f);
  return 0;
}

static tc_status parse(struct fixture *f, const char *text) {
  return tb_policy_parse(f->arena, "a/gate.lua", text, strlen(text), &f->policy, &f->err);
}

static void test_empty_has_defaults(void **state) {
  struct fixture *f = *state;
  assert_int_equal(parse(f, ""), TC_OK);
  assert_true(tb_policy_threshold(&f->policy, "mlp/x") == 0.01);
  assert_true(tb_policy_required(&f->policy, "mlp/x"));
  assert_true(isnan(tb_policy_pays_off(&f->policy, "mlp/x")));
  assert_true(tb_policy_value(&f->policy, TB_POLICY_BUDGET, NULL) == 1800);
  const struct tb_exact_rule rule = tb_policy_exact_rule(&f->policy, tb_exact_find("bytes_moved"));
  assert_true(rule.on && rule.tolerance == 0.001);
}

/* The text that explains the defaults says exactly what a policy that says nothing means. */
static void test_default_text_is_the_defaults(void **state) {
  struct fixture *f = *state;
  struct tb_policy nothing;
  assert_int_equal(tb_policy_load(f->arena, NULL, &f->policy, &f->err), TC_OK);
  assert_int_equal(tb_policy_parse(f->arena, "none", "", 0, &nothing, &f->err), TC_OK);
  assert_string_equal(f->policy.path, "default");
  for (int i = 0; i < TB_POLICY_COUNT; i++) {
    const double a = tb_policy_value(&f->policy, (enum tb_policy_field)i, "x"),
                 b = tb_policy_value(&nothing, (enum tb_policy_field)i, "x");
    assert_true(a == b || (isnan(a) && isnan(b)));
  }
  for (int i = 0; i < tb_exact_count(); i++) {
    const struct tb_exact_rule a = tb_policy_exact_rule(&f->policy, tb_exact_at(i)),
                               b = tb_policy_exact_rule(&nothing, tb_exact_at(i));
    assert_true(a.on == b.on && a.tolerance == b.tolerance);
  }
  assert_int_equal(f->policy.exact.len, tb_exact_count()); /* it names every figure */
  static const char *const fields[] = {
#define TB_POLICY(NAME, name, kind, scope, initial, lowest, highest, help) #name,
#include "harness/verdict/policy.def"
#undef TB_POLICY
  };
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
    assert_non_null(strstr(tb_policy_default_text(), fields[i]));
}

static void test_patterns(void **state) {
  struct fixture *f = *state;
  assert_int_equal(parse(f, "threshold['mlp/*'] = 0.02\n"
                            "threshold['*/b[12]/*'] = 0.05\n"
                            "threshold = 2 * 0.015\n"
                            "local slack = 0.5\n"
                            "floor_limit['att*'] = slack\n"
                            "required['experiments/*'] = false\n"
                            "required['mlp/wanted'] = true\n"
                            "pays_off_after_calls = 100\n"
                            "pays_off_after_calls['mlp/*'] = false\n"
                            "exact.kernels = false exact['peak-bytes'] = 0.5 exact.artifact = true\n"
                            "confirmation_pairs = 12 budget = 60"),
                   TC_OK);
  const struct tb_policy *p = &f->policy;
  assert_true(tb_policy_threshold(p, "softmax/x") == 0.03); /* a pattern counts before the value for all */
  assert_true(tb_policy_threshold(p, "mlp/x/b8/m") == 0.02);
  assert_true(tb_policy_threshold(p, "mlp/x/b2/m") == 0.05); /* the last that matches */
  assert_true(tb_policy_floor_limit(p, "attention/x") == 0.5 && tb_policy_floor_limit(p, "mlp/x") == 0.05);
  assert_false(tb_policy_required(p, "experiments/x"));
  assert_true(tb_policy_required(p, "mlp/x"));
  assert_true(tb_policy_pays_off(p, "softmax/x") == 100 && isnan(tb_policy_pays_off(p, "mlp/x")));
  assert_false(tb_policy_exact_rule(p, tb_exact_find("kernels")).on);
  assert_true(tb_policy_exact_rule(p, tb_exact_find("peak_bytes")).tolerance == 0.5);
  assert_true(tb_policy_value(p, TB_POLICY_BUDGET, NULL) == 60 &&
              tb_policy_value(p, TB_POLICY_CONFIRMATION_PAIRS, NULL) == 12);
}

static void test_unmatched(void **state) {
  struct fixture *f = *state;
  const char *const ids[] = {"mlp/a", "softmax/b"};
  int count;
  assert_int_equal(
      parse(f, "required['mlp/*'] = true required['attention/*'] = true required['gone/*'] = false"), TC_OK);
  const char **patterns = tb_policy_unmatched(f->arena, &f->policy, ids, 2, &count);
  assert_int_equal(count, 1);
  assert_string_equal(patterns[0], "attention/*");
}

/* Each with the whole message: the line is that of the assignment. */
static void test_mistakes(void **state) {
  struct fixture *f = *state;
  static const struct {
    const char *text, *message;
  } rows[] = {
      {"\nthreshhold = 0.1", "a/gate.lua:2: there is no field 'threshhold'; did you mean 'threshold'?"},
      {"\n\nrequird['mlp*'] = true", "a/gate.lua:3: there is no field 'requird'; did you mean 'required'?"},
      {"exact.kernel = 0", "a/gate.lua:1: there is no exact figure 'kernel'; did you mean 'kernels'?"},
      {"threshold = 0.1\nthreshold = 0.2",
       "a/gate.lua:2: threshold is given a second time; the first is in line 1"},
      {"required['a'] = true\nrequired['a'] = false",
       "a/gate.lua:2: required is given a second time; the first is in line 1"},
      {"exact.kernels = 0\nexact.kernels = 1",
       "a/gate.lua:2: exact.kernels is given a second time; the first is in line 1"},
      {"threshold = '1%'", "a/gate.lua:1: threshold must be a number from 0 to 10 (a share: 0.01 is 1%)"},
      {"threshold = -1", "a/gate.lua:1: threshold must be a number from 0 to 10 (a share: 0.01 is 1%)"},
      {"threshold = 0/0", "a/gate.lua:1: threshold must be a number from 0 to 10 (a share: 0.01 is 1%)"},
      {"confirmation_pairs = 2.5", "a/gate.lua:1: confirmation_pairs must be a whole number from 0 to 10000"},
      {"required = 1", "a/gate.lua:1: required must be true or false"},
      {"required = {'mlp/*'}", "a/gate.lua:1: required must be true or false"},
      {"exact = 1", "a/gate.lua:1: exact has one rule for each figure: exact.kernels = 0"},
      {"exact.kernels = -1",
       "a/gate.lua:1: exact.kernels must be true or false, or a tolerance as a share (0.01 is 1%)"},
      {"exact.artifact = 0.1", "a/gate.lua:1: exact.artifact must be true or false"},
      {"budget['mlp/*'] = 3", "a/gate.lua:1: budget applies to the whole run, not to a case: budget = value"},
      {"threshold[''] = 1", "a/gate.lua:1: an empty pattern matches no case; \"*\" matches all"},
      {"threshold[1] = 1", "a/gate.lua:1: a name or pattern must be a string, not a number"},
      {"local x = threshold.a", "a/gate.lua:1: a policy only assigns values; it cannot read them"},
      {"\nthreshold =", "a/gate.lua:2: unexpected symbol near <eof>"},
      {"os.exit(3)", "a/gate.lua:1: there is no field 'os'"},
      {"while true do end",
       "a/gate.lua:1: this goes on for more than 1000000 steps; a policy only assigns values"},
      {"local t = {} for i = 1, 1e9 do t[i] = {t} end", "a/gate.lua: not enough memory"},
      {"\33Lua", "a/gate.lua: attempt to load a binary chunk (mode is 't')"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    assert_int_equal(parse(f, rows[i].text), TC_ARG);
    assert_string_equal(f->err.message, rows[i].message);
  }
  assert_int_equal(tb_policy_load(f->arena, "/nowhere/gate.lua", &f->policy, &f->err), TC_ARG);
  assert_string_equal(f->err.message, "/nowhere/gate.lua: No such file or directory");
}

static void test_glob(void **state) {
  (void)state;
  assert_true(tb_glob("mlp/*", "mlp/mlp/inductor/b8") && tb_glob("*", "a/b") && tb_glob("b?", "b8") &&
              tb_glob("b[12]", "b2"));
  assert_false(tb_glob("mlp", "mlp/x") || tb_glob("b?", "b64") || tb_glob("b[12]", "b3") ||
               tb_glob("MLP*", "mlp"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_empty_has_defaults, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_default_text_is_the_defaults, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_patterns, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_unmatched, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_mistakes, set_up, tear_down),
      cmocka_unit_test(test_glob),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
