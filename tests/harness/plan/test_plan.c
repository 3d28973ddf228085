/* The product of axes as cases: ids, defaults, duplicates, groups, order; and axes that nobody has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "harness/plan/plan.h"

struct fixture {
  struct tc_arena *arena;
  struct tb_topology *topology;
  struct tb_suite suite;
  struct tc_config config;
  struct tb_spec spec;
};

static struct tb_value number(struct tc_arena *arena, double n) {
  return (struct tb_value){TB_VALUE_NUMBER, tb_number_text(arena, n), n};
}

/* suite "demo": workloads a and b, batch 1 and 8, alpha 0.5, modes default and reduce-overhead. */
static int open_fixture(void **state) {
  static struct fixture f;
  static const char *workloads[] = {"a", "b"}, *modes[] = {"default", "reduce-overhead"};
  static struct tb_suite_axis axes[3];
  static struct tb_value values[4];
  struct tc_error err;
  f = (struct fixture){.arena = tc_arena_new(tc_alloc_system())};
  *state = &f;
  if (!f.arena || tb_topology_open("pack:1 l3:1 core:4 pu:2", &f.topology, &err)) return 1;
  values[0] = number(f.arena, 0.5);
  values[1] = number(f.arena, 1);
  values[2] = number(f.arena, 8);
  values[3] = (struct tb_value){TB_VALUE_TEXT, "f32", 0};
  axes[0] = (struct tb_suite_axis){"alpha", &values[0], 1};
  axes[1] = (struct tb_suite_axis){"batch", &values[1], 2};
  axes[2] = (struct tb_suite_axis){"dtype", &values[3], 1};
  f.suite = (struct tb_suite){.name = "demo",
                              .about = "",
                              .path = "demo.lua",
                              .workloads = workloads,
                              .n_workloads = 2,
                              .axes = axes,
                              .n_axes = 3,
                              .modes = modes,
                              .n_modes = 2};
  tc_config_default(&f.config);
  return 0;
}

static int close_fixture(void **state) {
  struct fixture *f = *state;
  tb_topology_close(f->topology);
  tc_arena_free(f->arena);
  return 0;
}

static tc_status plan_of(struct fixture *f, const char *line, struct tb_plan *plan, struct tc_error *err) {
  enum { WORDS_MAX = 16 };
  char *words[WORDS_MAX], *copy = tc_arena_text(f->arena, line), *save = NULL;
  int count = 0;
  struct tb_args args;
  words[count++] = tc_arena_text(f->arena, "suite=demo");
  for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
    words[count++] = word;
  tc_status status = tb_args_parse(f->arena, count, words, tb_option_alone, NULL, &args, err);
  if (!status) status = tb_spec_parse(f->arena, &args, &f->spec, err);
  return status ? status : tb_plan_make(f->arena, &f->spec, &f->suite, f->topology, &f->config, plan, err);
}

static void assert_ids(const struct tb_plan *plan, const char *const *ids, size_t count) {
  assert_int_equal(plan->cases.len, count);
  for (size_t i = 0; i < count; i++) assert_string_equal(plan->cases.data[i].id, ids[i]);
}

static void test_defaults(void **state) {
  static const char *const ids[] = {"demo/a/inductor/default/cpu/f32/b1/machine/t4;alpha=0.5",
                                    "demo/a/inductor/reduce-overhead/cpu/f32/b1/machine/t4;alpha=0.5",
                                    "demo/a/inductor/default/cpu/f32/b8/machine/t4;alpha=0.5",
                                    "demo/a/inductor/reduce-overhead/cpu/f32/b8/machine/t4;alpha=0.5",
                                    "demo/b/inductor/default/cpu/f32/b1/machine/t4;alpha=0.5",
                                    "demo/b/inductor/reduce-overhead/cpu/f32/b1/machine/t4;alpha=0.5",
                                    "demo/b/inductor/default/cpu/f32/b8/machine/t4;alpha=0.5",
                                    "demo/b/inductor/reduce-overhead/cpu/f32/b8/machine/t4;alpha=0.5"};
  struct tb_plan plan;
  struct tc_error err = {0};
  assert_int_equal(plan_of(*state, "", &plan, &err), TC_OK);
  assert_ids(&plan, ids, 8);
  assert_int_equal(plan.n_groups, 4);
  assert_int_equal(plan.cases.data[0].group, plan.cases.data[1].group);
  assert_int_not_equal(plan.cases.data[1].group, plan.cases.data[2].group);
  assert_true(plan.cases.data[0].has_batch);
  assert_int_equal(plan.cases.data[0].n_params, 1);
}

static void test_command_line_overrides(void **state) {
  static const char *const ids[] = {
      "demo/b/inductor/default/cpu/bf16/b64/core:2/t2;alpha=0.25;fuse=off;smt=off",
      "demo/b/inductor/default/cpu/bf16/b64/core:2/t2;alpha=2;fuse=off;smt=off"};
  struct tb_plan plan;
  struct tc_error err = {0};
  assert_int_equal(
      plan_of(*state,
              "workload=b mode=default batch=64 alpha=0.25,2 dtype=bf16 topology=core:2 smt=off fuse=off",
              &plan, &err),
      TC_OK);
  assert_ids(&plan, ids, 2);
  assert_false(plan.cases.data[0].config.fuse);
}

static void test_no_duplicates(void **state) {
  struct tb_plan plan;
  struct tc_error err = {0};
  /* Modes are inductor's alone; the default value of a switch adds nothing; threads=4 is what machine has. */
  assert_int_equal(
      plan_of(*state, "workload=a batch=1 backend=eager,inductor fuse=on threads=4", &plan, &err), TC_OK);
  static const char *const ids[] = {"demo/a/eager/default/cpu/f32/b1/machine/t4;alpha=0.5",
                                    "demo/a/inductor/default/cpu/f32/b1/machine/t4;alpha=0.5",
                                    "demo/a/inductor/reduce-overhead/cpu/f32/b1/machine/t4;alpha=0.5"};
  assert_ids(&plan, ids, 3);
  assert_int_equal(plan.n_groups, 1); /* one baseline serves all three */
  assert_int_equal(
      plan_of(*state, "workload=a batch=1 mode=default topology=core:4,machine,core", &plan, &err), TC_OK);
  assert_int_equal(plan.cases.len, 3);
  assert_string_equal(plan.cases.data[2].id, "demo/a/inductor/default/cpu/f32/b1/core:1/t1;alpha=0.5");
}

static void test_without_batch(void **state) {
  struct fixture *f = *state;
  struct tb_plan plan;
  struct tc_error err = {0};
  f->suite.n_axes = 1; /* alpha alone; dtype has its default */
  assert_int_equal(plan_of(f, "workload=a mode=default", &plan, &err), TC_OK);
  assert_string_equal(plan.cases.data[0].id, "demo/a/inductor/default/cpu/f32/-/machine/t4;alpha=0.5");
  assert_false(plan.cases.data[0].has_batch);
}

static void test_unknown_names(void **state) {
  static const struct {
    const char *line, *says;
  } rows[] = {
      {"bacth=1", "did you mean 'batch'"},
      {"flavour=1", "axes of suite demo: alpha, batch, dtype"},
      {"replicatse=2", "did you mean 'replicates'"},
      {"workload=c", "unknown"},
      {"batch=x", "takes numbers, as batch=1,8"},
      {"batch=1.5", "whole numbers"},
      {"batch=0", "whole numbers"},
      {"threads=0", "from 1 to"},
      {"threads=two", "from 1 to"},
      {"topology=core:5", "has 4 cores"},
      {"topology=corner:5", "use machine"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct tb_plan plan;
    struct tc_error err = {0};
    assert_int_equal(plan_of(*state, rows[i].line, &plan, &err), TC_ARG);
    if (!strstr(err.message, rows[i].says)) fail_msg("'%s' said: %s", rows[i].line, err.message);
  }
}

static void test_order_is_seeded(void **state) {
  struct tb_plan plan = {.n_groups = 16};
  int first[16], again[16], other[16], next[16], seen = 0;
  (void)state;
  tb_plan_order(&plan, 1, 0, first);
  tb_plan_order(&plan, 1, 0, again);
  tb_plan_order(&plan, 2, 0, other);
  tb_plan_order(&plan, 1, 1, next);
  assert_memory_equal(first, again, sizeof first);
  assert_memory_not_equal(first, other, sizeof first);
  assert_memory_not_equal(first, next, sizeof first);
  for (int i = 0; i < 16; i++) seen |= 1 << first[i];
  assert_int_equal(seen, 0xffff);
}

static void test_environment_switches(void **state) {
  struct fixture *f = *state;
  struct tb_plan plan;
  struct tc_error err = {0};
  f->config.llvm_level = 2; /* as TB_LLVM_LEVEL=2 would */
  assert_int_equal(plan_of(f, "workload=a batch=1 mode=default", &plan, &err), TC_OK);
  assert_string_equal(plan.cases.data[0].id,
                      "demo/a/inductor/default/cpu/f32/b1/machine/t4;alpha=0.5;llvm_level=2");
}

/* Where things lie and what is told makes no other case; what changes a figure does. */
static void test_switches_aside(void **state) {
  struct fixture *f = *state;
  struct tb_plan plan;
  struct tc_error err = {0};
  static const char plain[] = "demo/a/inductor/default/cpu/f32/b1/machine/t4;alpha=0.5";
  f->config.cache_dir = "/elsewhere"; /* as TB_CACHE_DIR=/elsewhere would */
  assert_int_equal(plan_of(f, "workload=a batch=1 mode=default logs=guards,cache cache_mb=7", &plan, &err),
                   TC_OK);
  assert_int_equal(plan.cases.len, 1);
  assert_string_equal(plan.cases.data[0].id, plain);
  assert_int_equal(plan.cases.data[0].n_switches, 0);
  assert_string_equal(plan.cases.data[0].config.logs, "guards,cache"); /* and yet it holds */
  assert_int_equal(plan.cases.data[0].config.cache_mb, 7);
  assert_string_equal(plan.cases.data[0].config.cache_dir, "/elsewhere");
  assert_int_equal(plan_of(f, "workload=a batch=1 mode=default compile_threads=1,2", &plan, &err), TC_OK);
  assert_int_equal(plan.cases.len, 2);
  assert_string_equal(plan.cases.data[1].id,
                      "demo/a/inductor/default/cpu/f32/b1/machine/t4;alpha=0.5;compile_threads=2");
  assert_int_equal(plan_of(f, "workload=a batch=1 mode=default cache_mb=1,2", &plan, &err),
                   TC_ARG); /* no two cases come of it */
}

/* "batch=1,2,…,count" */
static char *many_batches(struct tc_arena *arena, int count) {
  enum { DIGITS = 8 };
  char *line = tc_arena_bytes(arena, DIGITS * (size_t)count + 64);
  size_t at = (size_t)sprintf(line, "workload=a mode=default batch=1");
  for (int i = 2; i <= count; i++) at += (size_t)sprintf(line + at, ",%d", i);
  return line;
}

static void test_many_cases(void **state) {
  struct fixture *f = *state;
  struct tb_plan plan;
  struct tc_error err = {0};
  const int half = TB_CASES_MAX / 2;
  assert_int_equal(plan_of(f, many_batches(f->arena, 2000), &plan, &err), TC_OK);
  assert_int_equal(plan.cases.len, 2000);
  assert_int_equal(plan.n_groups, 2000);
  for (int i = 0; i < 2000; i++) assert_int_equal(plan.cases.data[i].group, i);
  struct tb_suite_axis *alpha = &f->suite.axes[0]; /* all batches, for each of its values */
  const struct tb_value values[] = {number(f->arena, 1), number(f->arena, 2), number(f->arena, 3)};
  struct tb_value *batches = tc_arena_bytes(f->arena, sizeof *batches * (size_t)half);
  for (int i = 0; i < half; i++) batches[i] = number(f->arena, i + 1);
  f->suite.axes[1] = (struct tb_suite_axis){"batch", batches, half};
  *alpha = (struct tb_suite_axis){"alpha", (struct tb_value *)(uintptr_t)values, 3};
  assert_int_equal(plan_of(f, "workload=a mode=default", &plan, &err), TC_LIMIT);
  assert_non_null(strstr(err.message, "more than"));
}

static void test_values_fit_ids(void **state) {
  struct fixture *f = *state;
  static const char *const wrong[] = {"kind=a;b", "kind=a/b", "kind=\xff", "kind=\x1b",
                                      "batch=9007199254740993"};
  static struct tb_value kinds[] = {{TB_VALUE_TEXT, "x", 0}};
  struct tb_plan plan;
  f->suite.axes[2] = (struct tb_suite_axis){"kind", kinds, 1};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    struct tc_error err = {0};
    if (plan_of(f, wrong[i], &plan, &err) != TC_ARG) fail_msg("%s was accepted", wrong[i]);
  }
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, open_fixture, close_fixture)
/* A workload with modes of its own has those alone, and others have none of them; what the command line names
 * holds for all. */
static void test_modes_of(void **state) {
  struct fixture *f = *state;
  struct tb_value own = {TB_VALUE_TEXT, "max-autotune", 0};
  struct tb_suite_axis of_b = {"b", &own, 1};
  struct tb_plan plan;
  struct tc_error err;
  const char *const both[] = {"demo/a/inductor/default/cpu/f32/b1/machine/t4;alpha=0.5",
                              "demo/a/inductor/reduce-overhead/cpu/f32/b1/machine/t4;alpha=0.5",
                              "demo/b/inductor/max-autotune/cpu/f32/b1/machine/t4;alpha=0.5"};
  const char *const plain[] = {"demo/a/inductor/default/cpu/f32/b1/machine/t4;alpha=0.5",
                               "demo/b/inductor/max-autotune/cpu/f32/b1/machine/t4;alpha=0.5"};
  const char *const eager[] = {"demo/a/eager/default/cpu/f32/b1/machine/t4;alpha=0.5",
                               "demo/b/eager/default/cpu/f32/b1/machine/t4;alpha=0.5"};
  const char *const given[] = {"demo/a/inductor/default/cpu/f32/b1/machine/t4;alpha=0.5",
                               "demo/b/inductor/default/cpu/f32/b1/machine/t4;alpha=0.5"};
  f->suite.modes_of = &of_b;
  f->suite.n_modes_of = 1;
  assert_int_equal(plan_of(f, "batch=1", &plan, &err), TC_OK);
  assert_ids(&plan, both, 3);
  assert_int_equal(plan_of(f, "batch=1 backend=eager", &plan, &err), TC_OK);
  assert_ids(&plan, eager, 2);
  assert_int_equal(plan_of(f, "batch=1 mode=default", &plan, &err), TC_OK);
  assert_ids(&plan, given, 2);
  f->suite.n_modes = 0; /* the default */
  assert_int_equal(plan_of(f, "batch=1", &plan, &err), TC_OK);
  assert_ids(&plan, plain, 2);
  f->suite.n_modes = 2;
  f->suite.n_modes_of = 0;
}

/* A set of switches that a suite lists again makes cases of its own, and groups of their own. */
static void test_sets_again(void **state) {
  struct fixture *f = *state;
  static const char *sets[] = {"", "", "fuse=off", ""}, *sets_of_one[] = {""};
  static const char *const ids[] = {"demo/a/inductor/default/cpu/f32/b1/machine/t4;alpha=0.5",
                                    "demo/a/inductor/default/cpu/f32/b1/machine/t4;again=1;alpha=0.5",
                                    "demo/a/inductor/default/cpu/f32/b1/machine/t4;alpha=0.5;fuse=off",
                                    "demo/a/inductor/default/cpu/f32/b1/machine/t4;again=2;alpha=0.5"};
  struct tb_plan plan;
  struct tc_error err = {0};
  f->suite.switches = sets;
  f->suite.n_switches = 4;
  assert_int_equal(plan_of(f, "workload=a mode=default batch=1", &plan, &err), TC_OK);
  assert_ids(&plan, ids, 4);
  assert_int_equal(plan.n_groups, 4);
  assert_int_equal(plan.cases.data[0].n_params, 1);
  assert_int_equal(plan.cases.data[1].n_params, 2);
  assert_string_equal(plan.cases.data[1].params[0].name, "again");
  f->suite.switches = sets_of_one;
  f->suite.n_switches = 1;
  f->suite.axes[0].name = "again";
  assert_int_equal(plan_of(f, "", &plan, &err), TC_ARG);
  assert_non_null(strstr(err.message, "not called again"));
}

int main(void) {
  const struct CMUnitTest tests[] = {CASE(test_defaults),
                                     CASE(test_command_line_overrides),
                                     CASE(test_no_duplicates),
                                     CASE(test_without_batch),
                                     CASE(test_unknown_names),
                                     cmocka_unit_test(test_order_is_seeded),
                                     CASE(test_environment_switches),
                                     CASE(test_switches_aside),
                                     CASE(test_many_cases),
                                     CASE(test_values_fit_ids),
                                     CASE(test_modes_of),
                                     CASE(test_sets_again)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
