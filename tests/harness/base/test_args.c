/* Command lines: the three ways to write a name, flags, what is an error and how it is told; specification
 * from words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/config.h"
#include "harness/base/value.h"
#include "harness/base/verb.h"
#include "harness/plan/spec.h"

static int open_arena(void **state) { return !(*state = tc_arena_new(tc_alloc_system())); }
static int close_arena(void **state) {
  tc_arena_free(*state);
  return 0;
}

enum { WORDS_MAX = 16 };
static tc_status parse(struct tc_arena *arena, const char *line, struct tb_args *args, struct tc_error *err) {
  char *words[WORDS_MAX], *copy = tc_arena_text(arena, line), *save = NULL;
  int count = 0;
  for (char *word = strtok_r(copy, " ", &save); word && count < WORDS_MAX; word = strtok_r(NULL, " ", &save))
    words[count++] = word;
  return tb_args_parse(arena, count, words, tb_option_alone, NULL, args, err);
}

static tc_status spec(struct tc_arena *arena, const char *line, struct tb_spec *out, struct tc_error *err) {
  struct tb_args args;
  const tc_status status = parse(arena, line, &args, err);
  return status ? status : tb_spec_parse(arena, &args, out, err);
}

static void test_three_ways(void **state) {
  struct tb_args args;
  struct tc_error err;
  assert_int_equal(parse(*state, "suite=mlp --batch 1,8 --out=x=y.json word", &args, &err), TC_OK);
  assert_string_equal(tb_args_value(&args, "suite"), "mlp");
  assert_string_equal(tb_args_value(&args, "batch"), "1,8");
  assert_string_equal(tb_args_value(&args, "out"), "x=y.json");
  assert_int_equal(args.words.len, 1);
  assert_string_equal(args.words.data[0], "word");
  assert_null(tb_args_value(&args, "seed"));
}

static void test_flags(void **state) {
  struct tb_args args;
  struct tc_error err;
  assert_int_equal(parse(*state, "--quick --dry-run no --fuse suite=a", &args, &err), TC_OK);
  assert_string_equal(tb_args_value(&args, "quick"), "yes");
  assert_string_equal(tb_args_value(&args, "dry_run"), "no"); /* - and _ are the same */
  assert_string_equal(tb_args_value(&args, "fuse"), "yes");
  assert_string_equal(tb_args_value(&args, "suite"), "a");
}

/* name=VALUE, --name=VALUE and --name VALUE say the same, with a word before and a name behind. */
static void assert_three_ways(struct tc_arena *arena, const struct tb_verb_option *option,
                              const char *value) {
  char name[64], short_form[128], long_form[128], dashed[128];
  snprintf(name, sizeof name, "%s", option->name);
  snprintf(short_form, sizeof short_form, "%s=%s", name, value);
  snprintf(long_form, sizeof long_form, "--%s=%s", name, value);
  snprintf(dashed, sizeof dashed, "--%s", name);
  char *word = tc_arena_text(arena, "word"), *last = tc_arena_text(arena, value);
  char *const lines[][3] = {
      {word, short_form}, {word, long_form}, {word, dashed, last}, {dashed, last, word}};
  static const int lengths[] = {2, 2, 3, 3};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    struct tb_verb verb;
    if (!tb_verb_begin(&verb, option->verb, lengths[i], lines[i], 1))
      fail_msg("%s does not take %s %s (way %zu)", option->verb, dashed, value, i);
    assert_string_equal(tb_args_value(&verb.args, name), value);
    assert_int_equal(verb.args.words.len, 1);
    tb_verb_end(&verb);
  }
}

static void test_options_of_verbs(void **state) {
  static const char *const verbs[] = {
#define TB_VERB(name, function, usage, what, more, example, codes) #name,
#include "harness/cli/verbs.def"
#undef TB_VERB
  };
  int flags = 0, others = 0, choices = 0;
  for (size_t v = 0; v < sizeof verbs / sizeof *verbs; v++) {
    for (const struct tb_verb_option *o = tb_verb_option_next(verbs[v], NULL); o;
         o = tb_verb_option_next(verbs[v], o)) {
      const bool flag = tb_verb_option_alone(o, NULL);
      assert_three_ways(*state, o, flag ? "no" : "a,b:c/d.json");
      if (flag) assert_three_ways(*state, o, "yes");
      if (o->more) assert_three_ways(*state, o, o->more);
      flag ? flags++ : others++;
      choices += o->more != NULL;
    }
  }
  assert_true(flags > 5 && others > 30 && choices > 0);
}

/* The same of run's options, of axes and of switches. */
static void assert_run_takes(struct tc_arena *arena, const char *name, const char *value) {
  static const struct {
    const char *before, *between, *behind;
  } forms[] = {{"word ", "=", ""}, {"word --", "=", ""}, {"word --", " ", ""}, {"--", " ", " word"}};
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    struct tb_args args;
    struct tc_error err = {0};
    char line[128];
    snprintf(line, sizeof line, "%s%s%s%s%s", forms[i].before, name, forms[i].between, value,
             forms[i].behind);
    if (parse(arena, line, &args, &err)) fail_msg("%s: %s", line, err.message);
    assert_string_equal(tb_args_value(&args, name), value);
    assert_int_equal(args.words.len, 1);
  }
}

static void test_options_of_run(void **state) {
  for (int i = 0; i < tb_option_count(); i++)
    assert_run_takes(*state, tb_option_row(i)->name, tb_option_row(i)->type == TB_OPTION_FLAG ? "off" : "12");
  for (int i = 0; i < TB_AXIS_COUNT; i++)
    assert_run_takes(*state, tb_axis_row((enum tb_axis_id)i)->name, "on");
  for (int i = 0; i < tc_config_count(); i++)
    assert_run_takes(*state, tc_config_row(i)->name, tc_config_row(i)->type == TC_CONFIG_BOOL ? "off" : "12");
}

/* A flag leaves alone what is no value of its own; a name that the verb does not have is told, not what
 * stands behind it. */
static void test_flags_of_verbs(void **state) {
  (void)state;
  char result[] = "a.json", update[] = "--update", verbose[] = "--verbose", unknown[] = "--unknown";
  char *const alone[] = {update, result}, *const both[] = {result, verbose, update},
              *const wrong[] = {unknown, result};
  struct tb_verb verb;
  assert_true(tb_verb_begin(&verb, "gate", 2, alone, 1));
  assert_string_equal(tb_args_value(&verb.args, "update"), "yes");
  assert_string_equal(verb.args.words.data[0], result);
  tb_verb_end(&verb);
  assert_true(tb_verb_begin(&verb, "gate", 3, both, 1));
  assert_string_equal(tb_args_value(&verb.args, "update"), "yes");
  assert_string_equal(tb_args_value(&verb.args, "verbose"), "yes");
  tb_verb_end(&verb);
  assert_false(tb_verb_begin(&verb, "gate", 2, wrong, 1));
}

static void test_broken_lines(void **state) {
  static const struct {
    const char *line, *says;
  } rows[] = {
      {"batch=1 batch=2", "batch is given twice, as 1 and as 2; write it once"},
      {"recompile-limit=1 recompile_limit=2", "twice"},
      {"=3", "no name"},
      {"--out", "needs a value"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct tb_args args;
    struct tc_error err = {0};
    assert_int_equal(parse(*state, rows[i].line, &args, &err), TC_ARG);
    assert_non_null(strstr(err.message, rows[i].says));
  }
}

static void test_spec(void **state) {
  struct tb_spec s;
  struct tc_error err = {0};
  assert_int_equal(
      spec(*state, "suite=mlp,pointwise dtype=f32,bf16,f32 batch=8 fuse=on,off logs=graph,cache quick=yes",
           &s, &err),
      TC_OK);
  assert_int_equal(s.n_suites, 2);
  assert_string_equal(s.suites[1], "pointwise");
  assert_int_equal(s.axes[TB_AXIS_DTYPE].count, 2); /* f32 once */
  assert_int_equal(s.suite_axes.len, 1);
  assert_string_equal(s.suite_axes.data[0].name, "batch");
  assert_int_equal(s.switches.len, 2);
  assert_int_equal(s.switches.data[0].count, 2);
  assert_int_equal(s.switches.data[1].count, 1); /* a list of log channels is one value */
  assert_int_equal(s.options.replicates, 1);     /* quick */
  assert_int_equal(s.options.seed, 1);
  assert_float_equal(s.options.target, 0.005, 1e-15);
  assert_int_equal(spec(*state, "suite=mlp target=1.5% budget=30 replicates_max=24", &s, &err), TC_OK);
  assert_float_equal(s.options.target, 0.015, 1e-15);
  assert_true(s.options.budget == 30 && s.options.replicates_max == 24 && s.options.replicates == 0);
  assert_int_equal(spec(*state, "suite=mlp quick=yes replicates=3", &s, &err), TC_OK);
  assert_int_equal(s.options.replicates, 3);
}

static void test_broken_specs(void **state) {
  static const struct {
    const char *line, *says;
  } rows[] = {
      {"batch=1", "suite=NAME is missing"},
      {"suite=mlp dtype=f23", "did you mean 'f32'"},
      {"suite=mlp mode=defualt", "did you mean 'default'"},
      {"suite=mlp device=abacus", "cpu,cuda"},
      {"suite=mlp seed=x", "whole number"},
      {"suite=mlp replicates=0", "from 1 to"},
      {"suite=mlp replicates=99999999999", "from 1 to"},
      {"suite=mlp timeout=0", "from 1 to"},
      {"suite=mlp timeout=9223372036854775807", "from 1 to"},
      {"suite=mlp memory_mb=0", "from 1 to"},
      {"suite=mlp memory_mb=9223372036854775807", "from 1 to"},
      {"suite=mlp seed=9007199254740993", "from 0 to"},
      {"suite=mlp quick=maybe", "yes or no"},
      {"suite=mlp fuse=maybe", "on or off"},
      {"suite=mlp llvm_level=1,x", "whole number"},
      {"suite=mlp batch=", "no value"},
      {"suite=mlp batch=1,,2", "empty value"},
      {"mlp", "suite=mlp"},
      {"suite=mlp,", "empty name"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct tb_spec s;
    struct tc_error err = {0};
    assert_int_equal(spec(*state, rows[i].line, &s, &err), TC_ARG);
    if (!strstr(err.message, rows[i].says)) fail_msg("'%s' said: %s", rows[i].line, err.message);
  }
}

static void test_nearest(void **state) {
  (void)state;
  struct tb_nearest nearest = tb_nearest_to("bacth");
  tb_nearest_offer(&nearest, "mode");
  assert_null(nearest.best);
  tb_nearest_offer(&nearest, "batch"); /* two neighbours swapped: one step */
  assert_string_equal(nearest.best, "batch");
  assert_int_equal(nearest.distance, 1);
  nearest = tb_nearest_to("x");
  tb_nearest_offer(&nearest, "out"); /* everything is near to a short word; nothing is meant by it */
  assert_null(nearest.best);
}

static void test_values(void **state) {
  struct tb_value value;
  assert_true(tb_value_parse(*state, TB_VALUE_NUMBER, "8.0", &value));
  assert_string_equal(value.text, "8");
  assert_true(tb_value_parse(*state, TB_VALUE_NUMBER, "0.1", &value));
  assert_string_equal(value.text, "0.1");
  assert_true(tb_value_parse(*state, TB_VALUE_BOOL, "on", &value));
  assert_string_equal(value.text, "true");
  assert_false(tb_value_parse(*state, TB_VALUE_NUMBER, "8x", &value));
  assert_false(tb_value_parse(*state, TB_VALUE_NUMBER, "inf", &value));
  assert_false(tb_value_parse(*state, TB_VALUE_TEXT, "", &value));
  assert_string_equal(tb_number_text(*state, 1.0 / 3), "0.3333333333333333");
  assert_string_equal(tb_number_text(*state, 4294967296.0), "4294967296");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_three_ways, open_arena, close_arena),
      cmocka_unit_test_setup_teardown(test_flags, open_arena, close_arena),
      cmocka_unit_test_setup_teardown(test_options_of_verbs, open_arena, close_arena),
      cmocka_unit_test(test_flags_of_verbs),
      cmocka_unit_test_setup_teardown(test_options_of_run, open_arena, close_arena),
      cmocka_unit_test_setup_teardown(test_broken_lines, open_arena, close_arena),
      cmocka_unit_test_setup_teardown(test_spec, open_arena, close_arena),
      cmocka_unit_test_setup_teardown(test_broken_specs, open_arena, close_arena),
      cmocka_unit_test(test_nearest),
      cmocka_unit_test_setup_teardown(test_values, open_arena, close_arena),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
