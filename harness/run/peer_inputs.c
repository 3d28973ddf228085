/* Invariant: the inputs are written before any call is made on them, by a process of their own, which has
 * ended before the peer starts. */
#include "harness/run/peer_inputs.h"

#include <string.h>
#include <unistd.h>

#include "harness/base/args.h"
#include "harness/run/role.h"

/* Asks a worker that has made the workload for the file. */
static tc_status ask(struct tb_run *run, struct tb_process *writer, const char *path, double timeout_s,
                     struct tc_error *err) {
  const char *name;
  tc_status status = tb_transport_file(run->transport, run->arena, path, &name, err);
  if (status) return status;
  cJSON *reply, *request = tb_process_request(TB_REQUEST_inputs);
  cJSON_AddStringToObject(request, "path", name);
  status = tb_process_ask(writer, request, timeout_s, &reply, err);
  if (status) return status;
  const char *why = tb_json_text(reply, "why", NULL);
  if (why) status = tb_process_fail(writer, TB_OUTCOME_UNSUPPORTED, err, "no inputs for a peer: %s", why);
  cJSON_Delete(reply);
  return status;
}

tc_status tb_peer_inputs(struct tb_run *run, const struct tb_case *kase, double timeout_s, const char **path,
                         struct tb_process *process, struct tc_error *err) {
  struct tb_process writer;
  struct tb_prepared prepared;
  *path = run->inputs.path;
  if (*path && run->inputs.group == kase->group) return TC_OK;
  *path = tb_format(run->arena, "%s/inputs", run->cache_root);
  if (!*path) return tc_fail_memory(err, "run");
  run->inputs.path = NULL;
  const struct tb_launch launch = tb_run_launch(run, kase, NULL);
  tc_status status = tb_role_launch(run, kase, TB_ROLE_BASELINE, &launch, timeout_s, &writer, &prepared, err);
  if (!status) status = ask(run, &writer, *path, timeout_s, err);
  if (!status) {
    run->inputs.path = *path;
    run->inputs.group = kase->group;
  } else {
    tb_process_clear(process);
    process->outcome = writer.outcome;
    memcpy(process->why, writer.why, sizeof process->why);
    unlink(*path);
  }
  tb_process_stop(&writer);
  return status;
}
