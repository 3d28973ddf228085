/* A case as a worker is told of it. */
#include "harness/run/role.h"

#include <math.h>
#include <string.h>

#include "base/sanitized.h"
#include "harness/plan/peer.h"
#include "harness/run/peer_inputs.h"

static const double timeout_default_s = 60;
static const double no_bound = 1e15;
enum { MEMORY_TENTHS = 9 };

double tb_run_timeout(const struct tb_run *run, const struct tb_case *kase) {
  if (run->spec.options.timeout) return (double)run->spec.options.timeout;
  return kase->description->timeout_s > 0 ? kase->description->timeout_s : timeout_default_s;
}

tc_status tb_run_counter_selection(const struct tb_run *run, const struct tb_case *kase,
                                   struct tb_counter_selection *out, struct tc_error *err) {
  const char *asked = run->spec.options.counters, *own = kase->description->counters;
  return tb_counter_selection_parse(run->arena, *asked ? asked : *own ? own : "papi", out, err);
}

/* Sanitizers reserve more address space than there is memory, so a limit is set there only when it is asked
 * for. */
long long tb_run_memory_mb(const struct tb_run *run) {
  if (run->spec.options.memory_mb) return run->spec.options.memory_mb;
  return TC_SANITIZED ? 0 : run->host_memory_mb * MEMORY_TENTHS / 10;
}

struct tb_launch tb_run_launch(struct tb_run *run, const struct tb_case *kase, const char *cache_dir) {
  return (struct tb_launch){.transport = run->transport,
                            .own = run->program.path,
                            .place = kase->place,
                            .topology = run->topology,
                            .config = &kase->config,
                            .cache_dir = cache_dir ? cache_dir : run->cache_root,
                            .memory_mb = tb_run_memory_mb(run),
                            .worker_output = &run->worker_output,
                            .plugins = &run->spec.plugins,
                            .suite = kase->description->path,
                            .ledger = &run->result.ledger};
}

/* The table that the workload's function gets. */
static cJSON *case_table(const struct tb_run *run, const struct tb_case *kase, enum tb_role role) {
  cJSON *table = cJSON_CreateObject();
  cJSON_AddStringToObject(table, "device", kase->device);
  cJSON_AddStringToObject(table, "dtype", kase->dtype);
  cJSON_AddNumberToObject(table, "threads", kase->threads);
  cJSON_AddNumberToObject(table, "seed", (double)run->spec.options.seed);
  if (kase->has_batch) cJSON_AddNumberToObject(table, "batch", (double)kase->batch);
  if (role == TB_ROLE_REFERENCE) cJSON_AddStringToObject(table, "reference_dtype", "f64");
  for (int i = 0; i < kase->n_params; i++)
    cJSON_AddItemToObject(table, kase->params[i].name, tb_value_to_json(&kase->params[i].value));
  return table;
}

/* NULL, with an error: a file that it names cannot be had where the worker runs. */
static cJSON *prepare_request(const struct tb_run *run, const struct tb_case *kase, enum tb_role role,
                              const struct tb_launch *launch, struct tc_error *err) {
  const char *suite, *inputs = NULL;
  if (tb_transport_file(run->transport, run->arena, kase->description->path, &suite, err) ||
      (launch->script && tb_transport_file(run->transport, run->arena, run->inputs.path, &inputs, err)))
    return NULL;
  cJSON *request = tb_process_request(TB_REQUEST_prepare);
  cJSON_AddStringToObject(request, "suite", suite);
  cJSON_AddStringToObject(request, "workload", kase->workload);
  cJSON_AddStringToObject(request, "role", tb_role_name(role));
  cJSON_AddStringToObject(request, "backend", kase->backend);
  cJSON_AddStringToObject(request, "mode", kase->mode);
  cJSON_AddItemToObject(request, "case", case_table(run, kase, role));
  if (launch->script) {
    cJSON_AddStringToObject(request, "suite_name", kase->suite);
    cJSON_AddStringToObject(request, "inputs", inputs);
  }
  return request;
}

tc_status tb_role_launch(struct tb_run *run, const struct tb_case *kase, enum tb_role role,
                         const struct tb_launch *launch, double timeout_s, struct tb_process *process,
                         struct tb_prepared *out, struct tc_error *err) {
  cJSON *reply = NULL, *request = NULL;
  tc_status status = tb_process_start(process, launch, &run->interrupt, timeout_s, err);
  struct tc_error why = {0};
  if (!status && !(request = prepare_request(run, kase, role, launch, &why)))
    status = why.status == TC_INTERRUPTED
                 ? tc_fail(err, TC_INTERRUPTED, "harness", "interrupted")
                 : tb_process_fail(process, TB_OUTCOME_ERROR, err, "%s", why.message);
  if (!status) status = tb_process_ask(process, request, timeout_s, &reply, err);
  if (!status)
    *out = (struct tb_prepared){tb_json_number(reply, "calls_max", no_bound),
                                tb_json_number(reply, "tolerance", 0), tb_json_number(reply, "flops", NAN),
                                tb_json_number(reply, "bytes", NAN)};
  cJSON_Delete(reply);
  return status;
}

tc_status tb_role_start(struct tb_run *run, const struct tb_case *kase, enum tb_role role,
                        const char *cache_dir, struct tb_process *process, struct tb_prepared *out,
                        struct tc_error *err) {
  const double timeout_s = tb_run_timeout(run, kase);
  struct tb_launch launch = tb_run_launch(run, kase, cache_dir);
  if (role == TB_ROLE_COMPILED) launch.program = kase->program;
  if (role == TB_ROLE_COMPILED && kase->peer) {
    const char *inputs;
    tb_process_clear(process);
    tc_status status = tb_peer_inputs(run, kase, timeout_s, &inputs, process, err);
    if (!status) status = tb_peer_launch(run->arena, kase, &launch, err);
    if (status) return status;
  }
  return tb_role_launch(run, kase, role, &launch, timeout_s, process, out, err);
}
