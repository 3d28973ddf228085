/* Result → JSON: the run and its environments; record_case.c has the cases. Invariants, of both:
 * 1. What was not measured is null, never 0 and never left out.
 * 2. Fields are added to the schema, never renamed.
 * 3. A finished result has every case of its plan; one whose `finished` is null has those that something is
 *    known of.
 * To add a field: its line here or there, and its row in results/fields.def, or results/schema.frame. */
#include "harness/run/record.h"

#include <math.h>

#include "harness/base/text.h"
#include "results/json_add.h"

/* --- environment --- */

static void add_cpu(cJSON *object, const struct tb_cpu *cpu) {
  cJSON *json = cJSON_AddObjectToObject(object, "cpu");
  tb_add_text(json, "model", cpu->model);
  tb_add_texts(json, "features", &cpu->features);
  tb_add_text(json, "governor", cpu->governor);
  tb_add_number(json, "packages", cpu->packages);
  tb_add_number(json, "numa", cpu->numa);
  tb_add_number(json, "cores", cpu->cores);
  tb_add_number(json, "pus", cpu->pus);
}

static void add_noise(cJSON *array, const struct tb_noise *n) {
  cJSON *json = cJSON_CreateObject();
  cJSON_AddItemToArray(array, json);
  tb_add_text(json, "cause", n->name);
  tb_add_text(json, "what", n->what);
  tb_add_text(json, "state", tb_noise_state_text(n->state));
  tb_add_text(json, "seen", n->seen);
  tb_add_text(json, "fix", n->fix);
  tb_add_text(json, "done", n->done);
}

static void add_environment(cJSON *array, const struct tb_environment *e) {
  cJSON *json = cJSON_CreateObject();
  cJSON_AddItemToArray(array, json);
  tb_add_text(json, "host", e->host);
  tb_add_text(json, "os", e->os);
  tb_add_text(json, "kernel", e->kernel);
  add_cpu(json, &e->cpu);
  cJSON_AddNullToObject(json, "gpu");
  tb_add_text(json, "llvm", e->llvm);
  tb_add_text(json, "lua", e->lua);
  tb_add_text(json, "blas", e->blas);
  tb_add_text(json, "topology", e->topology);
  tb_add_text(json, "topology_xml", e->topology_xml);
  tb_add_text(json, "bound_to", e->bound_to);
  tb_add_text(json, "cpus", e->cpus);
  tb_add_number(json, "threads", e->threads);
  tb_add_number(json, "triad_bytes_per_s", e->triad_bytes_per_s > 0 ? round(e->triad_bytes_per_s) : NAN);
  tb_add_number(json, "fma_flops_per_s", e->fma_flops_per_s > 0 ? round(e->fma_flops_per_s) : NAN);
  tb_add_texts(json, "warnings", &e->warnings);
  cJSON *noise = cJSON_AddArrayToObject(json, "noise");
  for (size_t i = 0; i < e->noise.len; i++) add_noise(noise, &e->noise.data[i]);
}

static void add_disturbance(cJSON *object, const struct tb_disturbance *d) {
  cJSON *json = cJSON_AddObjectToObject(object, "disturbance");
  tb_add_number(json, "steal_share", d->known ? d->steal_share : NAN);
  tb_add_number(json, "others_share", d->known ? d->others_share : NAN);
  tb_add_number(json, "load_before", d->load_before);
  tb_add_number(json, "load_after", d->load_after);
}

/* Where the time went. What a run is for comes first; `own_ns` is all that the harness adds. */
static void add_ledger(cJSON *object, const struct tb_ledger *l) {
  cJSON *json = cJSON_AddObjectToObject(object, "harness"),
        *requests = cJSON_AddObjectToObject(json, "requests_ns");
  for (int i = 0; i < TB_REQUEST_COUNT; i++)
    if (l->request_ns[i] > 0) tb_add_ns(requests, tb_request_name((enum tb_request)i), l->request_ns[i]);
  tb_add_number(json, "processes", l->processes);
  tb_add_ns(json, "wall_ns", l->wall_ns);
  tb_add_ns(json, "start_ns", l->start_ns);
  tb_add_ns(json, "stop_ns", l->stop_ns);
  tb_add_ns(json, "settle_ns", l->pause_ns);
  tb_add_ns(json, "own_ns", tb_ledger_own_ns(l));
}

static void add_left_out(cJSON *object, const struct tb_result *result) {
  tb_add_text(object, "changed_since", result->changed_since);
  cJSON *array = cJSON_AddArrayToObject(object, "left_out");
  for (size_t i = 0; i < result->left_out.len; i++) {
    cJSON *one = cJSON_CreateObject();
    cJSON_AddItemToArray(array, one);
    tb_add_text(one, "id", result->left_out.data[i].id);
    tb_add_text(one, "artifact", result->left_out.data[i].artifact);
  }
}

/* --- the document --- */

cJSON *tb_record_json(const struct tb_result *result) {
  cJSON *json = cJSON_CreateObject();
  if (!json) return NULL;
  tb_add_number(json, "schema", TB_SCHEMA);
  cJSON *program = cJSON_AddObjectToObject(json, "tbench");
  tb_add_text(program, "version", result->version);
  tb_add_text(program, "commit", result->commit);
  tb_add_text(program, "commit_whole", result->commit_whole);
  tb_add_text(program, "build", result->build);
  tb_add_number(program, "artifact_abi", result->artifact_abi);
  tb_add_text(json, "started", result->started);
  tb_add_text(json, "finished", result->finished);
  tb_add_texts(json, "argv", &result->argv);
  tb_add_number(json, "seed", result->seed);
  cJSON_AddBoolToObject(json, "interrupted", result->interrupted);
  tb_add_number(json, "planned", result->planned);
  add_left_out(json, result);
  add_disturbance(json, &result->disturbance);
  add_ledger(json, &result->ledger);
  cJSON *environments = cJSON_AddArrayToObject(json, "environments"),
        *cases = cJSON_AddArrayToObject(json, "cases");
  for (size_t i = 0; i < result->environments.len; i++)
    add_environment(environments, &result->environments.data[i]);
  for (size_t i = 0; i < result->cases.len; i++)
    if (result->finished || tb_case_known(&result->cases.data[i]))
      tb_record_case(cases, &result->cases.data[i]);
  tb_text_clean_json(json); /* texts of suites, paths and arguments may hold any bytes; JSON is UTF-8 */
  return json;
}
