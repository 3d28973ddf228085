/* From a command line to a plan. */
#include "harness/run/run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/clock.h"
#include "harness/base/verb.h"
#include "harness/run/role.h"

static const struct tb_suite *named_alike(const struct tb_suite *suites, int count, const char *name) {
  for (int i = 0; i < count; i++)
    if (!strcmp(suites[i].name, name)) return &suites[i];
  return NULL;
}

/* Where workers run, and what machine that is. */
static tc_status open_host(struct tb_run *run, struct tc_error *err) {
  static const char command[] = "command:";
  const char *asked = run->spec.options.transport;
  run->transport = tb_transport_local();
  run->host_memory_mb = tb_host_memory_mb();
  if (!strcmp(asked, run->transport->kind->name)) return tb_topology_open(NULL, &run->topology, err);
  if (strncmp(asked, command, strlen(command)) || !asked[strlen(command)])
    return tc_fail(
        err, TC_ARG, "harness",
        "transport=%s: use local, or command:COMMAND with a command that leads to where workers run, "
        "such as command:ssh HOST",
        asked);
  struct tb_host host;
  tc_status status = tb_transport_command_open(asked + strlen(command), run->program.path, &run->interrupt,
                                               &run->command, err);
  if (status) return status;
  run->transport = tb_transport_of_command(run->command);
  status = run->transport->kind->host(run->transport, NULL, run->arena, &host, err);
  if (status) return status;
  if (!host.topology_xml)
    return tc_fail(err, TC_DEVICE, "harness", "transport=%s: it tells no topology", asked);
  run->host_memory_mb = host.memory_mb;
  return tb_topology_import(host.topology_xml, host.binds, &run->topology, err);
}

static tc_status load_suites(struct tb_run *run, const char **trace, struct tc_error *err) {
  run->suites = tc_arena_bytes(run->arena, sizeof *run->suites * (size_t)run->spec.n_suites);
  if (!run->suites) return tc_fail_memory(err, "harness");
  const struct tb_describer describer = {.transport = run->transport,
                                         .own = run->program.path,
                                         .config = &run->config,
                                         .interrupt = &run->interrupt,
                                         .worker_output = &run->worker_output,
                                         .timeout_s = (double)run->spec.options.timeout,
                                         .memory_mb = tb_run_memory_mb(run),
                                         .plugins = &run->spec.plugins};
  int kept = 0;
  for (int i = 0; i < run->spec.n_suites; i++) {
    struct tb_suite *suite = &run->suites[kept];
    const char *path;
    tc_status status = tb_suite_find(run->arena, run->spec.suites[i], &path, err);
    if (!status) status = tb_suite_describe(run->arena, path, &describer, suite, trace, err);
    const struct tb_suite *other = status ? NULL : named_alike(run->suites, kept, suite->name);
    if (other && strcmp(other->path, path))
      status = tc_fail(err, TC_ARG, "suite", "%s and %s are both named '%s'", other->path, path, suite->name);
    if (status) return status;
    kept += !other; /* the same one again says nothing new */
  }
  run->spec.n_suites = kept;
  return TC_OK;
}

static tc_status make_plan(struct tb_run *run, int argc, char *const *argv, const char **trace,
                           struct tc_error *err) {
  struct tb_args args;
  tc_status status = tb_args_parse(run->arena, argc, argv, tb_option_alone, NULL, &args, err);
  if (!status) status = tb_spec_parse(run->arena, &args, &run->spec, err);
  if (!status) status = tc_config_from_environment(&run->config, err);
  if (!status) status = open_host(run, err);
  if (!status) status = load_suites(run, trace, err);
  const struct tb_options *o = &run->spec.options;
  run->replication = (struct tb_replication){.exact = (int)o->replicates,
                                             .most = (int)o->replicates_max,
                                             .target = log1p(o->target),
                                             .budget_ns = o->budget * TB_NS_PER_S};
  if (!status)
    status = tb_plan_make(run->arena, &run->spec, run->suites, run->topology, &run->config, &run->plan, err);
  return status;
}

enum tb_exit tb_run_open(struct tb_run *run, const char *verb, int argc, char *const *argv) {
  struct tc_error err = {0};
  const char *trace = NULL;
  *run = (struct tb_run){.arena = tc_arena_new(tc_alloc_system()), .interrupt = {.fd = -1}};
  tb_program_open(&run->program);
  if (!run->arena) return tb_verb_failed(verb, "out of memory");
  run->worker_output.progress = &run->progress;
  tc_config_default(&run->config);
  if (tb_interrupt_open(&run->interrupt, &err)) return tb_verb_failed(verb, "%s", err.message);
  const tc_status status = make_plan(run, argc, argv, &trace, &err);
  if (!status) return TB_EXIT_PASS;
  if (status == TC_INTERRUPTED || tb_interrupt_poll(&run->interrupt)) return TB_EXIT_INTERRUPTED;
  const bool ours = status == TC_NOMEM || status == TC_DEVICE;
  const int code = ours ? tb_verb_failed(verb, "%s", err.message) : tb_verb_usage(verb, "%s", err.message);
  if (trace) fprintf(stderr, "%s\n", trace);
  return code;
}

void tb_run_close(struct tb_run *run) {
  tb_worker_output_end(&run->worker_output);
  tb_transport_command_close(run->command);
  tb_topology_close(run->topology);
  tb_program_close(&run->program);
  if (run->interrupt.fd >= 0) tb_interrupt_close(&run->interrupt);
  tc_arena_free(run->arena);
}
