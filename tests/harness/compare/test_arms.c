/* The arms of an A/B run: what the command line says of them, what it may not say, and the cases they
 * make. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/base/verb.h"
#include "harness/compare/arms.h"

enum { WORDS_MAX = 16 };
struct fixture {
  struct tc_arena *arena;
  struct tb_arms arms;
  struct tc_error err;
};

static int open_fixture(void **state) {
  static struct fixture f;
  f = (struct fixture){.arena = tc_arena_new(tc_alloc_system())};
  *state = &f;
  return !f.arena;
}

static int close_fixture(void **state) {
  tc_arena_free(((struct fixture *)*state)->arena);
  return 0;
}

static tc_status parse(struct fixture *f, const char *line) {
  char *words[WORDS_MAX], *save = NULL;
  int count = 0;
  for (char *word = strtok_r(tc_arena_text(f->arena, line), " ", &save); word;
       word = strtok_r(NULL, " ", &save))
    words[count++] = word;
  return tb_arms_parse(f->arena, "ab", count, words, &f->arms, &f->err);
}

static void test_takes_its_own(void **state) {
  struct fixture *f = *state;
  assert_int_equal(
      parse(f, "suite=mlp base=self head.fuse=off base.opt.key_cache=off seconds=3 --quick batch=8"), TC_OK);
  const struct tb_arm *base = &f->arms.arm[TB_ARM_BASE], *head = &f->arms.arm[TB_ARM_HEAD];
  assert_true(base->given && !base->program && !head->given);
  assert_int_equal(base->settings.len, 1);
  assert_string_equal(base->settings.data[0].name, "opt.key_cache");
  assert_string_equal(head->settings.data[0].name, "fuse");
  assert_string_equal(head->settings.data[0].value, "off");
  assert_string_equal(tb_arms_value(&f->arms, "seconds"), "3");
  assert_null(tb_arms_value(&f->arms, "pairs"));
  assert_int_equal(f->arms.argc, 3);
  assert_string_equal(f->arms.argv[0], "suite=mlp");
  assert_string_equal(f->arms.argv[1], "quick=yes");
  assert_string_equal(f->arms.argv[2], "batch=8");
}

/* As everywhere: a flag alone means yes, and leaves the word behind it alone unless that is its value. */
static void test_flags(void **state) {
  struct fixture *f = *state;
  assert_int_equal(parse(f, "--base.fuse off --head.opt.key_cache --attribute --seconds 3 suite=mlp"), TC_OK);
  assert_string_equal(f->arms.arm[TB_ARM_BASE].settings.data[0].value, "off");
  assert_string_equal(f->arms.arm[TB_ARM_HEAD].settings.data[0].value, "yes");
  assert_string_equal(tb_arms_value(&f->arms, "attribute"), "yes");
  assert_string_equal(tb_arms_value(&f->arms, "seconds"), "3");
  assert_int_equal(f->arms.argc, 1);
  assert_int_equal(parse(f, "head=self --attribute no suite=mlp"), TC_OK);
  assert_string_equal(tb_arms_value(&f->arms, "attribute"), "no");
}

static void test_whole_numbers(void **state) {
  struct fixture *f = *state;
  static const struct {
    const char *line;
    bool good;
    long long value;
  } rows[] = {{"head=self pairs=4", true, 4},
              {"head=self pairs=9", true, 9},
              {"head=self pairs=3", false, 0},
              {"head=self pairs=10", false, 0},
              {"head=self pairs=x", false, 0}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    long long value = 7;
    assert_int_equal(parse(f, rows[i].line), TC_OK);
    assert_int_equal(tb_arms_whole(&f->arms, "ab", "pairs", 4, 9, &value), rows[i].good);
    if (rows[i].good) assert_int_equal(value, rows[i].value);
  }
  /* Not given: what `tbench help` shows, of each verb. */
  static const char *const verbs[] = {"ab", "bisect"}, *const names[] = {"seconds", "pairs"};
  for (size_t v = 0; v < 2; v++) {
    for (size_t n = 0; n < 2; n++) {
      long long value = 7, shown;
      assert_int_equal(parse(f, "head=self"), TC_OK);
      assert_true(tb_whole_parse(tb_verb_option_find(verbs[v], names[n])->default_text, &shown));
      assert_true(tb_arms_whole(&f->arms, verbs[v], names[n], 4, 4096, &value) && value == shown &&
                  value != 7);
    }
  }
}

static void test_finds_programs(void **state) {
  struct fixture *f = *state;
  char self[4096] = {0}, line[4200];
  assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
  snprintf(line, sizeof line, "suite=mlp head=%s", self);
  assert_int_equal(parse(f, line), TC_OK);
  assert_string_equal(f->arms.arm[TB_ARM_HEAD].program, self);
}

static void test_refuses(void **state) {
  struct fixture *f = *state;
  static const struct {
    const char *line, *text;
  } bad[] = {
      {"suite=mlp", "say what differs"},
      {"suite=mlp batch=8 seconds=3", "say what differs"},
      {"suite=mlp base=/none/tbench", "base=/none/tbench: No such file or directory"},
      {"suite=mlp head=/etc/passwd", "head=/etc/passwd is not a program"},
      {"suite=mlp head=/usr", "head=/usr is not a program"},
      {"suite=mlp head=", "No such file or directory"},
      {"suite=mlp head.fuze=off", "did you mean 'fuse'"},
      {"suite=mlp head.batch=8", "is not a switch of the compiler, mode or backend"},
      {"suite=mlp head.fuse=perhaps", "fuse=perhaps: use on or off"},
      {"suite=mlp head.fuse=", "head.fuse= has no value"},
      {"suite=mlp head.mode=defualt", "did you mean 'default'"},
      {"suite=mlp head.cache_dir=/tmp", "does not change any figure"},
      {"suite=mlp head.generator=0123456789abcdef", "does not change any figure"},
      {"suite=mlp head.fuse=off head.fuse=on", "given twice"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_int_equal(parse(f, bad[i].line), TC_ARG);
    if (!strstr(f->err.message, bad[i].text)) fail_msg("%s: %s", bad[i].line, f->err.message);
  }
}

static struct tb_plan one_case(struct fixture *f, const char *backend) {
  static const struct tb_suite suite = {.name = "s"};
  struct tb_plan plan = {.n_groups = 1};
  struct tb_case kase = {.id = "s/w/inductor/default/cpu/f32/-/machine/t1",
                         .suite = "s",
                         .workload = "w",
                         .backend = backend,
                         .mode = "default",
                         .device = "cpu",
                         .dtype = "f32",
                         .topology = "machine",
                         .smt = true,
                         .threads = 1,
                         .description = &suite};
  tc_config_default(&kase.config);
  assert_true(tc_vec_push(tc_arena_alloc(f->arena), &plan.cases, kase));
  return plan;
}

static void test_makes_two_cases(void **state) {
  struct fixture *f = *state;
  struct tb_plan plan = one_case(f, "inductor");
  assert_int_equal(parse(f, "suite=s head.fuse=off head.mode=max-autotune"), TC_OK);
  assert_int_equal(tb_arms_apply(f->arena, &f->arms, &plan, &f->err), TC_OK);
  assert_int_equal(plan.cases.len, 2);
  assert_string_equal(plan.cases.data[0].id, "s/w/inductor/default/cpu/f32/-/machine/t1;side=base");
  assert_string_equal(plan.cases.data[1].id,
                      "s/w/inductor/max-autotune/cpu/f32/-/machine/t1;fuse=off;side=head");
  assert_string_equal(plan.cases.data[1].pair, "s/w/inductor/default/cpu/f32/-/machine/t1");
  assert_true(plan.cases.data[0].config.fuse && !plan.cases.data[1].config.fuse);
  assert_int_equal(plan.cases.data[0].group, plan.cases.data[1].group);
}

static void test_modes_are_inductors(void **state) {
  struct fixture *f = *state;
  struct tb_plan plan = one_case(f, "inductor");
  assert_int_equal(parse(f, "suite=s head.backend=eager head.mode=default"), TC_OK);
  assert_int_equal(tb_arms_apply(f->arena, &f->arms, &plan, &f->err), TC_ARG);
  assert_non_null(strstr(f->err.message, "backend=eager has none"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)
      TEST(test_takes_its_own),       TEST(test_flags),   TEST(test_whole_numbers),
      TEST(test_finds_programs),      TEST(test_refuses), TEST(test_makes_two_cases),
      TEST(test_modes_are_inductors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
