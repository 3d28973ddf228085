/* `tbench list [suite=NAME]`: suites, their workloads and axes. Each suite is described by a worker, so a
 * broken one is a line. */
#include <stdio.h>

#include "harness/base/verb.h"
#include "harness/cli/verbs.h"
#include "harness/plan/suite.h"
#include "harness/wire/program.h"

static void print_axis(const struct tb_suite_axis *axis) {
  printf("    %s=", axis->name);
  for (int i = 0; i < axis->count; i++) printf("%s%s", i ? "," : "", axis->values[i].text);
  putchar('\n');
}

static tc_status list_one(struct tb_verb *verb, const char *name, const struct tb_describer *describer) {
  struct tc_error err = {0};
  const char *path, *trace = NULL;
  struct tb_suite suite;
  tc_status status = tb_suite_find(verb->arena, name, &path, &err);
  if (!status) status = tb_suite_describe(verb->arena, path, describer, &suite, &trace, &err);
  if (status)
    tb_verb_usage("list", "%s%s%s", err.message, trace ? "\n" : "", trace ? trace : "");
  else {
    printf("%s%s%s\n", suite.name, *suite.about ? ": " : "", suite.about);
    for (int i = 0; i < suite.n_workloads; i++) printf("    workload %s\n", suite.workloads[i]);
    for (int i = 0; i < suite.n_axes; i++) print_axis(&suite.axes[i]);
    for (int i = 0; i < suite.n_modes; i++) printf("    mode %s\n", suite.modes[i]);
    for (int i = 0; i < suite.n_modes_of; i++)
      for (int k = 0; k < suite.modes_of[i].count; k++)
        printf("    mode %s of %s\n", suite.modes_of[i].values[k].text, suite.modes_of[i].name);
  }
  return status;
}

static int list_all(struct tb_verb *verb, const char **suites, int count,
                    const struct tb_describer *describer) {
  int code = TB_EXIT_PASS;
  for (int i = 0; i < count && !tb_interrupt_poll(describer->interrupt); i++)
    if (list_one(verb, suites[i], describer)) code = TB_EXIT_USAGE;
  return tb_interrupt_poll(describer->interrupt) ? TB_EXIT_INTERRUPTED : code;
}

static int run_list(struct tb_verb *verb) {
  struct tb_worker_output worker_output = {0};
  struct tc_config config;
  struct tc_error err = {0};
  struct tb_interrupt interrupt;
  long long timeout = 0;
  int count;
  const char *wanted = tb_args_value(&verb->args, "suite"), *seconds = tb_args_value(&verb->args, "timeout");
  const char **suites = wanted ? tb_split(verb->arena, wanted, &count) : tb_suite_names(verb->arena, &count);
  tc_config_default(&config);
  if (!suites) return tb_verb_failed("list", "out of memory");
  if (!wanted && !count)
    return tb_verb_usage("list", "there are no suites: %s", tb_suite_places(verb->arena));
  if (wanted && !count) return tb_verb_usage("list", "suite= has no value; write suite=NAME");
  if (seconds && (!tb_whole_parse(seconds, &timeout) || !timeout))
    return tb_verb_usage("list", "timeout=%s: use seconds, 1 or more", seconds);
  if (tc_config_from_environment(&config, &err)) return tb_verb_usage("list", "%s", err.message);
  if (tb_interrupt_open(&interrupt, &err)) return tb_verb_failed("list", "%s", err.message);
  struct tb_program program;
  tb_program_open(&program);
  const struct tb_describer describer = {.own = program.path,
                                         .config = &config,
                                         .interrupt = &interrupt,
                                         .worker_output = &worker_output,
                                         .timeout_s = (double)timeout};
  const int code = list_all(verb, suites, count, &describer);
  tb_program_close(&program);
  tb_worker_output_end(&worker_output);
  tb_interrupt_close(&interrupt);
  return code;
}

int tb_verb_list(int argc, char *const *argv) {
  struct tb_verb verb;
  if (!tb_verb_begin(&verb, "list", argc, argv, 0)) return TB_EXIT_USAGE;
  const int code = run_list(&verb);
  tb_verb_end(&verb);
  return code;
}
