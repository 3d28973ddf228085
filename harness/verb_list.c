/* `tbench list [suite=NAME]`: suites, their workloads and axes. Each suite is described by a worker, so a broken one is a line. */
#include <stdio.h>

#include "harness/suite.h"
#include "harness/verb.h"

int tb_verb_list(int argc, char *const *argv);

static void print_axis(const struct tb_suite_axis *axis) {
  printf("    %s=", axis->name);
  for (int i = 0; i < axis->count; i++) printf("%s%s", i ? "," : "", axis->values[i].text);
  putchar('\n');
}

static void print_suite(const struct tb_suite *suite) {
  printf("%s%s%s\n", suite->name, *suite->about ? ": " : "", suite->about);
  for (int i = 0; i < suite->n_workloads; i++) printf("    workload %s\n", suite->workloads[i]);
  for (int i = 0; i < suite->n_axes; i++) print_axis(&suite->axes[i]);
  for (int i = 0; i < suite->n_modes; i++) printf("    mode %s\n", suite->modes[i]);
}

static tc_status list_one(struct tb_verb *verb, const char *name, const struct tc_config *config, struct tb_interrupt *interrupt) {
  struct tc_error err = {0};
  const char *path, *trace = NULL;
  struct tb_suite suite;
  tc_status status = tb_suite_find(verb->arena, name, &path, &err);
  if (!status) status = tb_suite_describe(verb->arena, path, config, interrupt, &suite, &trace, &err);
  if (status) tb_verb_usage("list", "%s%s%s", err.message, trace ? "\n" : "", trace ? trace : "");
  else print_suite(&suite);
  return status;
}

int tb_verb_list(int argc, char *const *argv) {
  static const char *const names[] = {"suite", NULL};
  struct tb_verb verb;
  if (!tb_verb_begin(&verb, "list", argc, argv, names, NULL)) return TB_EXIT_USAGE;
  int count = 0, code = TB_EXIT_PASS;
  const char *wanted = tb_args_value(&verb.args, "suite");
  const char **suites = wanted ? tb_split(verb.arena, wanted, &count) : tb_suite_names(verb.arena, &count);
  struct tc_config config;
  struct tc_error err = {0};
  struct tb_interrupt interrupt;
  tc_config_default(&config);
  if (!suites) code = tb_verb_failed("list", "out of memory");
  else if (tc_config_from_environment(&config, &err)) code = tb_verb_usage("list", "%s", err.message);
  else if (tb_interrupt_open(&interrupt, &err)) code = tb_verb_failed("list", "%s", err.message);
  else {
    for (int i = 0; i < count && !tb_interrupt_poll(&interrupt); i++)
      if (list_one(&verb, suites[i], &config, &interrupt)) code = TB_EXIT_USAGE;
    if (tb_interrupt_poll(&interrupt)) code = TB_EXIT_INTERRUPTED;
    tb_interrupt_close(&interrupt);
  }
  tb_verb_end(&verb);
  return code;
}
