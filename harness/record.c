/* Result → JSON. Invariants:
 * 1. What was not measured is null, never 0 and never left out.
 * 2. Fields are added to the schema, never renamed.
 * 3. A finished result has every case of its plan; one whose `finished` is null has those that something is known of.
 * To add a field: its line here, and its row in results/schema.json. */
#include "harness/record.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/args.h"
#include "harness/clock.h"
#include "harness/probe.h"
#include "harness/text.h"

enum { FILE_MODE = 0666 };
static const double tenths = 10; /* nanoseconds are written to one decimal */

static void add_number(cJSON *object, const char *name, double value) {
  if (isfinite(value)) cJSON_AddNumberToObject(object, name, value);
  else cJSON_AddNullToObject(object, name);
}

static void add_ns(cJSON *object, const char *name, double ns) { add_number(object, name, round(ns * tenths) / tenths); }

static void add_text(cJSON *object, const char *name, const char *text) {
  if (text) cJSON_AddStringToObject(object, name, text);
  else cJSON_AddNullToObject(object, name);
}

static void add_texts(cJSON *object, const char *name, const tb_texts *texts) {
  cJSON *array = cJSON_AddArrayToObject(object, name);
  for (size_t i = 0; i < texts->len; i++) cJSON_AddItemToArray(array, cJSON_CreateString(texts->data[i]));
}

static void add_samples(cJSON *object, const char *name, const tb_doubles *samples) {
  cJSON *array = cJSON_AddArrayToObject(object, name);
  for (size_t i = 0; i < samples->len; i++) cJSON_AddItemToArray(array, cJSON_CreateNumber(round(samples->data[i] * tenths) / tenths));
}

/* --- environment --- */

static void add_cpu(cJSON *object, const struct tb_cpu *cpu) {
  cJSON *json = cJSON_AddObjectToObject(object, "cpu");
  add_text(json, "model", cpu->model);
  add_texts(json, "features", &cpu->features);
  add_text(json, "governor", cpu->governor);
  add_number(json, "packages", cpu->packages);
  add_number(json, "numa", cpu->numa);
  add_number(json, "cores", cpu->cores);
  add_number(json, "pus", cpu->pus);
}

static void add_noise(cJSON *array, const struct tb_noise *n) {
  cJSON *json = cJSON_CreateObject();
  cJSON_AddItemToArray(array, json);
  add_text(json, "cause", n->name);
  add_text(json, "what", n->what);
  add_text(json, "state", tb_noise_state_text(n->state));
  add_text(json, "seen", n->seen);
  add_text(json, "fix", n->fix);
  add_text(json, "done", n->done);
}

static void add_environment(cJSON *array, const struct tb_environment *e) {
  cJSON *json = cJSON_CreateObject();
  cJSON_AddItemToArray(array, json);
  add_text(json, "host", e->host);
  add_text(json, "os", e->os);
  add_text(json, "kernel", e->kernel);
  add_cpu(json, &e->cpu);
  cJSON_AddNullToObject(json, "gpu");
  add_text(json, "llvm", e->llvm);
  add_text(json, "lua", e->lua);
  add_text(json, "blas", e->blas);
  add_text(json, "topology", e->topology);
  add_text(json, "topology_xml", e->topology_xml);
  add_text(json, "bound_to", e->bound_to);
  add_text(json, "cpus", e->cpus);
  add_number(json, "threads", e->threads);
  add_number(json, "triad_bytes_per_s", e->triad_bytes_per_s > 0 ? round(e->triad_bytes_per_s) : NAN);
  add_number(json, "fma_flops_per_s", e->fma_flops_per_s > 0 ? round(e->fma_flops_per_s) : NAN);
  add_texts(json, "warnings", &e->warnings);
  cJSON *noise = cJSON_AddArrayToObject(json, "noise");
  for (size_t i = 0; i < e->noise.len; i++) add_noise(noise, &e->noise.data[i]);
}

static void add_disturbance(cJSON *object, const struct tb_disturbance *d) {
  cJSON *json = cJSON_AddObjectToObject(object, "disturbance");
  add_number(json, "steal_share", d->known ? d->steal_share : NAN);
  add_number(json, "others_share", d->known ? d->others_share : NAN);
  add_number(json, "load_before", d->load_before);
  add_number(json, "load_after", d->load_after);
}

/* Where the time went. What a run is for comes first; `own_ns` is all that the harness adds. */
static void add_ledger(cJSON *object, const struct tb_ledger *l) {
  cJSON *json = cJSON_AddObjectToObject(object, "harness"), *requests = cJSON_AddObjectToObject(json, "requests_ns");
  for (int i = 0; i < TB_REQUEST_COUNT; i++)
    if (l->request_ns[i] > 0) add_ns(requests, tb_request_name((enum tb_request)i), l->request_ns[i]);
  add_number(json, "processes", l->processes);
  add_ns(json, "wall_ns", l->wall_ns);
  add_ns(json, "start_ns", l->start_ns);
  add_ns(json, "stop_ns", l->stop_ns);
  add_ns(json, "settle_ns", l->settle_ns);
  add_ns(json, "own_ns", tb_ledger_own_ns(l));
}

/* --- case --- */

static void add_case(cJSON *object, const struct tb_case *k) {
  cJSON *json = cJSON_AddObjectToObject(object, "case");
  add_text(json, "suite", k->suite);
  add_text(json, "workload", k->workload);
  add_text(json, "backend", k->backend);
  add_text(json, "mode", k->mode);
  add_text(json, "device", k->device);
  add_text(json, "dtype", k->dtype);
  add_number(json, "batch", k->has_batch ? (double)k->batch : NAN);
  add_text(json, "side", k->side);
  cJSON *params = cJSON_AddObjectToObject(json, "params");
  for (int i = 0; i < k->n_params; i++) cJSON_AddItemToObject(params, k->params[i].name, tb_value_to_json(&k->params[i].value));
  add_text(json, "topology", k->topology);
  cJSON_AddBoolToObject(json, "smt", k->smt);
  add_number(json, "threads", k->threads);
  cJSON *switches = cJSON_AddObjectToObject(json, "switches");
  for (int i = 0; i < k->n_switches; i++) add_text(switches, k->switches[i].name, k->switches[i].value);
}

static void add_timing(cJSON *object, const char *name, const struct tb_timing *t) {
  if (!t->replicates.len) {
    cJSON_AddNullToObject(object, name);
    return;
  }
  cJSON *json = cJSON_AddObjectToObject(object, name);
  add_ns(json, "median_ns", t->median_ns);
  add_ns(json, "mad_ns", t->mad_ns);
  add_ns(json, "p05_ns", t->p05_ns);
  add_ns(json, "p95_ns", t->p95_ns);
  cJSON *replicates = cJSON_AddArrayToObject(json, "replicates");
  for (size_t i = 0; i < t->replicates.len; i++) {
    cJSON *replicate = cJSON_CreateObject();
    cJSON_AddItemToArray(replicates, replicate);
    add_ns(replicate, "median_ns", t->replicates.data[i].median_ns);
    add_number(replicate, "preempted", t->replicates.data[i].preempted);
    add_samples(replicate, "samples_ns", &t->replicates.data[i].samples_ns);
  }
}

/* Numbers as they are, not times. */
static void add_numbers(cJSON *object, const char *name, const tb_doubles *numbers) {
  cJSON *array = cJSON_AddArrayToObject(object, name);
  for (size_t i = 0; i < numbers->len; i++) cJSON_AddItemToArray(array, cJSON_CreateNumber(numbers->data[i]));
}

static void add_aa(cJSON *object, const struct tb_aa *aa) {
  if (!aa->log_ratios.len) {
    cJSON_AddNullToObject(object, "aa");
    return;
  }
  cJSON *json = cJSON_AddObjectToObject(object, "aa");
  add_text(json, "of", aa->of);
  add_numbers(json, "log_ratios", &aa->log_ratios);
}

static void add_probe(cJSON *object, const struct tb_probed *p) {
  add_timing(object, "probe", &p->timing);
  cJSON *json = cJSON_GetObjectItemCaseSensitive(object, "probe");
  if (!cJSON_IsObject(json)) return;
  add_number(json, "version", TB_PROBE_VERSION);
  add_numbers(json, "log_ratios", &p->log_ratios);
}

static void add_speedup(cJSON *object, const struct tb_case_result *r) {
  const struct tb_speedup *s = &r->speedup;
  if (!s->replicates) {
    cJSON_AddNullToObject(object, "speedup");
    return;
  }
  cJSON *json = cJSON_AddObjectToObject(object, "speedup");
  add_number(json, "ratio", s->ratio);
  add_number(json, "lo", s->lo);
  add_number(json, "hi", s->hi);
  add_number(json, "confidence", s->confidence);
  add_number(json, "interval_confidence", s->interval_confidence);
  add_number(json, "replicates", s->replicates);
  add_text(json, "interval_over", s->over_blocks ? "blocks" : "replicates");
  add_number(json, "noise_floor", s->noise_floor);
  add_number(json, "sign_flip_p", s->p);
  add_numbers(json, "log_ratios", &r->replicate_log_ratios);
  add_text(json, "stop_reason", s->stop_reason);
  add_text(json, "replicates_stop", tb_replicates_text(s->replicates_stop));
}

static void add_duration(cJSON *object, const char *name, const struct tb_duration *d) {
  if (!d->samples.len) {
    cJSON_AddNullToObject(object, name);
    return;
  }
  cJSON *json = cJSON_AddObjectToObject(object, name);
  add_ns(json, "median", d->median);
  add_samples(json, "samples", &d->samples);
}

static void add_evidence(cJSON *object, const struct tb_compile *c) {
  cJSON *json = cJSON_AddObjectToObject(object, "evidence");
  for (int i = 0; i < TB_STATE_COUNT; i++) {
    const struct tb_evidence *e = &c->evidence[i];
    if (!e->known) {
      cJSON_AddNullToObject(json, tb_state_name((enum tb_state)i));
      continue;
    }
    cJSON *one = cJSON_AddObjectToObject(json, tb_state_name((enum tb_state)i));
    add_number(one, "misses", e->misses);
    add_number(one, "disk_hits", e->disk_hits);
    add_number(one, "memory_hits", e->memory_hits);
  }
}

static void add_compile(cJSON *object, const struct tb_compile *c) {
  cJSON *json = cJSON_AddObjectToObject(object, "compile");
  add_duration(json, "cold_ns", &c->state_ns[TB_STATE_COLD]);
  add_duration(json, "disk_ns", &c->state_ns[TB_STATE_DISK]);
  add_duration(json, "memory_ns", &c->state_ns[TB_STATE_MEMORY]);
  add_duration(json, "first_call_ns", &c->first_call_ns[TB_STATE_COLD]);
  add_duration(json, "disk_first_call_ns", &c->first_call_ns[TB_STATE_DISK]);
  add_duration(json, "memory_first_call_ns", &c->first_call_ns[TB_STATE_MEMORY]);
  add_duration(json, "library_ns", &c->library_ns);
  add_duration(json, "start_ns", &c->start_ns);
  add_number(json, "pays_off_after_calls", c->pays_off_after_calls);
  add_number(json, "pays_off_lo", c->pays_off.lo);
  add_number(json, "pays_off_hi", c->pays_off.hi);
  cJSON_AddBoolToObject(json, "pays_off_infinite", c->pays_off.infinite);
  cJSON *stages = cJSON_AddObjectToObject(json, "stages_ns");
  for (size_t i = 0; i < c->stages.len; i++) add_ns(stages, c->stages.data[i].name, c->stages.data[i].ns.median);
  add_evidence(json, c);
  cJSON *invalid = cJSON_AddObjectToObject(json, "invalid");
  for (int i = 0; i < TB_STATE_COUNT; i++)
    if (c->invalid[i]) add_text(invalid, tb_state_name((enum tb_state)i), c->invalid[i]);
}

static void add_breaks(cJSON *object, const struct tb_graph *g) {
  cJSON *array = cJSON_AddArrayToObject(object, "breaks");
  for (size_t i = 0; i < g->breaks.len; i++) {
    cJSON *one = cJSON_CreateObject();
    cJSON_AddItemToArray(array, one);
    add_text(one, "reason", g->breaks.data[i].reason);
    add_text(one, "detail", g->breaks.data[i].detail);
    add_text(one, "file", g->breaks.data[i].file);
    add_number(one, "line", g->breaks.data[i].line);
  }
}

static void add_graph(cJSON *object, const struct tb_graph *g) {
  if (!g->known) {
    cJSON_AddNullToObject(object, "graph");
    return;
  }
  cJSON *json = cJSON_AddObjectToObject(object, "graph");
  add_number(json, "graphs", g->graphs);
  add_breaks(json, g);
  add_number(json, "guards", g->guards);
  add_number(json, "recompiles", g->recompiles);
  add_number(json, "kernels", g->kernels);
  add_number(json, "ops", g->ops);
  add_number(json, "library_calls", g->library_calls);
  add_number(json, "bytes_moved", g->bytes_moved);
  add_number(json, "flops", g->flops);
  add_number(json, "peak_bytes", g->peak_bytes);
  add_number(json, "code_bytes", g->code_bytes);
  add_text(json, "artifact", g->artifact);
  add_texts(json, "fallbacks", &g->fallbacks);
}

static void add_amount(cJSON *json, const char *name, const char *from, const char *rate, const struct tb_amount *amount, double call_ns) {
  add_number(json, name, amount->value);
  add_text(json, from, isnan(amount->value) ? NULL : amount->stated ? "suite" : "compiler");
  add_number(json, rate, round(amount->value / call_ns * TB_NS_PER_S));
}

/* Of one call, and how fast the compiled function does it. */
static void add_work(cJSON *object, const struct tb_case_result *r) {
  cJSON *json = cJSON_AddObjectToObject(object, "work");
  add_amount(json, "bytes", "bytes_from", "bytes_per_s", &r->bytes, r->steady.median_ns);
  add_amount(json, "flops", "flops_from", "flops_per_s", &r->flops, r->steady.median_ns);
}

static void add_counters(cJSON *object, const struct tb_case_result *r) {
  cJSON *json = cJSON_AddObjectToObject(object, "counters");
  for (size_t i = 0; i < r->counters.len; i++) {
    cJSON *one = cJSON_AddObjectToObject(json, r->counters.data[i].name);
    add_number(one, "value", r->counters.data[i].value);
    if (r->counters.data[i].why) add_text(one, "why", r->counters.data[i].why);
    if (r->counters.data[i].multiplexed) cJSON_AddBoolToObject(one, "multiplexed", true);
  }
}

static void add_correctness(cJSON *object, const struct tb_correctness *c) {
  if (!c->checked) {
    cJSON_AddNullToObject(object, "correctness");
    return;
  }
  cJSON *json = cJSON_AddObjectToObject(object, "correctness");
  add_number(json, "max_error", c->max_error);
  add_number(json, "bound", c->bound);
  add_number(json, "compared", c->compared);
  cJSON_AddBoolToObject(json, "ok", c->ok);
  add_text(json, "against", c->against);
  add_text(json, "detail", c->detail);
}

static void add_case_result(cJSON *array, const struct tb_case_result *r) {
  cJSON *json = cJSON_CreateObject();
  cJSON_AddItemToArray(array, json);
  add_text(json, "id", r->kase->id);
  add_number(json, "env", r->env);
  add_case(json, r->kase);
  add_text(json, "outcome", tb_outcome_text(r->outcome));
  cJSON_AddBoolToObject(json, "interrupted", r->interrupted);
  add_text(json, "error", r->error);
  add_text(json, "trace", r->trace);
  cJSON_AddBoolToObject(json, "bound", r->bound);
  add_timing(json, "baseline", &r->baseline);
  add_timing(json, "steady", &r->steady);
  add_speedup(json, r);
  add_aa(json, &r->aa);
  add_probe(json, &r->probe);
  add_compile(json, &r->compile);
  add_graph(json, &r->graph);
  add_work(json, r);
  add_counters(json, r);
  add_number(json, "counted_calls", r->counted_calls);
  tb_instructions_record(json, &r->instructions);
  add_correctness(json, &r->correctness);
}

cJSON *tb_record_json(const struct tb_result *result) {
  cJSON *json = cJSON_CreateObject();
  if (!json) return NULL;
  add_number(json, "schema", TB_SCHEMA);
  cJSON *program = cJSON_AddObjectToObject(json, "tbench");
  add_text(program, "version", result->version);
  add_text(program, "commit", result->commit);
  add_text(program, "build", result->build);
  add_number(program, "artifact_abi", result->artifact_abi);
  add_text(json, "started", result->started);
  add_text(json, "finished", result->finished);
  add_texts(json, "argv", &result->argv);
  add_number(json, "seed", result->seed);
  cJSON_AddBoolToObject(json, "interrupted", result->interrupted);
  add_number(json, "planned", result->planned);
  add_disturbance(json, &result->disturbance);
  add_ledger(json, &result->ledger);
  cJSON *environments = cJSON_AddArrayToObject(json, "environments"), *cases = cJSON_AddArrayToObject(json, "cases");
  for (size_t i = 0; i < result->environments.len; i++) add_environment(environments, &result->environments.data[i]);
  for (size_t i = 0; i < result->cases.len; i++)
    if (result->finished || tb_case_known(&result->cases.data[i])) add_case_result(cases, &result->cases.data[i]);
  tb_text_clean_json(json); /* texts of suites, paths and arguments may hold any bytes; JSON is UTF-8 */
  return json;
}

/* --- on disk --- */

static bool write_all(int fd, const char *text, size_t bytes) {
  while (bytes) {
    const ssize_t sent = write(fd, text, bytes);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    text += sent;
    bytes -= (size_t)sent;
  }
  return true;
}

tc_status tb_record_write(const cJSON *document, const char *path, struct tc_error *err) {
  char *text = document ? cJSON_Print(document) : NULL, *temporary = NULL;
  if (!text || asprintf(&temporary, "%s.%ld.part", path, (long)getpid()) < 0) {
    cJSON_free(text);
    return tc_fail(err, TC_NOMEM, "result", "the result was not written: out of memory");
  }
  tc_status status = TC_OK;
  const int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, FILE_MODE);
  bool good = fd >= 0 && write_all(fd, text, strlen(text)) && write_all(fd, "\n", 1) && !fsync(fd);
  if (!good) status = tc_fail(err, TC_IO, "result", "%s was not written: %s", path, strerror(errno));
  if (fd >= 0 && close(fd) && good) good = false, status = tc_fail(err, TC_IO, "result", "%s was not written: %s", path, strerror(errno));
  if (good && rename(temporary, path)) good = false, status = tc_fail(err, TC_IO, "result", "%s was not written: %s", path, strerror(errno));
  if (!good && fd >= 0) unlink(temporary);
  free(temporary);
  cJSON_free(text);
  return status;
}

tc_status tb_record_save(struct tc_arena *arena, const cJSON *document, const char *path, const char **written, struct tc_error *err) {
  *written = path;
  const tc_status status = tb_record_write(document, path, err);
  if (!status) return TC_OK;
  const char *slash = strrchr(path, '/'), *folder = getenv("TMPDIR");
  *written = tb_format(arena, "%s/%s", folder && *folder ? folder : "/tmp", slash ? slash + 1 : path);
  if (*written && tb_record_write(document, *written, NULL)) *written = NULL;
  return status;
}
