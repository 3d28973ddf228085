/* One case of a result → JSON. Invariants: those of record.c. */
#include <math.h>

#include "harness/base/clock.h"
#include "harness/machine/calibration.h"
#include "harness/run/record.h"
#include "results/json_add.h"

static void add_case(cJSON *object, const struct tb_case *k) {
  cJSON *json = cJSON_AddObjectToObject(object, "case");
  tb_add_text(json, "suite", k->suite);
  tb_add_text(json, "workload", k->workload);
  tb_add_text(json, "backend", k->backend);
  tb_add_text(json, "mode", k->mode);
  tb_add_text(json, "device", k->device);
  tb_add_text(json, "dtype", k->dtype);
  tb_add_number(json, "batch", k->has_batch ? (double)k->batch : NAN);
  tb_add_text(json, "side", k->arm);
  cJSON *params = cJSON_AddObjectToObject(json, "params");
  for (int i = 0; i < k->n_params; i++)
    cJSON_AddItemToObject(params, k->params[i].name, tb_value_to_json(&k->params[i].value));
  tb_add_text(json, "topology", k->topology);
  cJSON_AddBoolToObject(json, "smt", k->smt);
  tb_add_number(json, "threads", k->threads);
  cJSON *switches = cJSON_AddObjectToObject(json, "switches");
  for (int i = 0; i < k->n_switches; i++) tb_add_text(switches, k->switches[i].name, k->switches[i].value);
}

static void add_timing(cJSON *object, const char *name, const struct tb_timing *t) {
  if (!t->replicates.len) {
    cJSON_AddNullToObject(object, name);
    return;
  }
  cJSON *json = cJSON_AddObjectToObject(object, name);
  tb_add_ns(json, "median_ns", t->median_ns);
  tb_add_ns(json, "mad_ns", t->mad_ns);
  tb_add_ns(json, "p05_ns", t->p05_ns);
  tb_add_ns(json, "p95_ns", t->p95_ns);
  cJSON *replicates = cJSON_AddArrayToObject(json, "replicates");
  for (size_t i = 0; i < t->replicates.len; i++) {
    cJSON *replicate = cJSON_CreateObject();
    cJSON_AddItemToArray(replicates, replicate);
    tb_add_ns(replicate, "median_ns", t->replicates.data[i].median_ns);
    tb_add_number(replicate, "preempted", t->replicates.data[i].preempted);
    tb_add_ns_list(replicate, "samples_ns", &t->replicates.data[i].samples_ns);
  }
}

static void add_aa(cJSON *object, const struct tb_aa *aa) {
  if (!aa->log_ratios.len) {
    cJSON_AddNullToObject(object, "aa");
    return;
  }
  cJSON *json = cJSON_AddObjectToObject(object, "aa");
  tb_add_text(json, "of", aa->of);
  tb_add_numbers(json, "log_ratios", &aa->log_ratios);
}

static void add_calibration(cJSON *object, const struct tb_calibrated *p) {
  add_timing(object, "probe", &p->timing);
  cJSON *json = cJSON_GetObjectItemCaseSensitive(object, "probe");
  if (!cJSON_IsObject(json)) return;
  tb_add_number(json, "version", TB_CALIBRATION_VERSION);
  tb_add_numbers(json, "log_ratios", &p->log_ratios);
}

static void add_speedup(cJSON *object, const struct tb_case_result *r) {
  const struct tb_speedup *s = &r->speedup;
  if (!s->replicates) {
    cJSON_AddNullToObject(object, "speedup");
    return;
  }
  cJSON *json = cJSON_AddObjectToObject(object, "speedup");
  tb_add_number(json, "ratio", s->ratio);
  tb_add_number(json, "lo", s->lo);
  tb_add_number(json, "hi", s->hi);
  tb_add_number(json, "confidence", s->confidence);
  tb_add_number(json, "interval_confidence", s->interval_confidence);
  tb_add_number(json, "replicates", s->replicates);
  tb_add_text(json, "interval_over", s->over_blocks ? "blocks" : "replicates");
  tb_add_number(json, "noise_floor", s->noise_floor);
  tb_add_number(json, "sign_flip_p", s->p);
  tb_add_numbers(json, "log_ratios", &r->replicate_log_ratios);
  tb_add_text(json, "stop_reason", s->stop_reason);
  tb_add_text(json, "replicates_stop", tb_replicates_text(s->replicates_stop));
}

static void add_duration(cJSON *object, const char *name, const struct tb_duration *d) {
  if (!d->samples.len) {
    cJSON_AddNullToObject(object, name);
    return;
  }
  cJSON *json = cJSON_AddObjectToObject(object, name);
  tb_add_ns(json, "median", d->median);
  tb_add_ns_list(json, "samples", &d->samples);
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
    tb_add_number(one, "misses", e->misses);
    tb_add_number(one, "disk_hits", e->disk_hits);
    tb_add_number(one, "memory_hits", e->memory_hits);
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
  tb_add_number(json, "pays_off_after_calls", c->break_even_calls);
  tb_add_number(json, "pays_off_lo", c->break_even.lo);
  tb_add_number(json, "pays_off_hi", c->break_even.hi);
  cJSON_AddBoolToObject(json, "pays_off_infinite", c->break_even.infinite);
  cJSON *stages = cJSON_AddObjectToObject(json, "stages_ns");
  for (size_t i = 0; i < c->stages.len; i++)
    tb_add_ns(stages, c->stages.data[i].name, c->stages.data[i].ns.median);
  add_evidence(json, c);
  cJSON *invalid = cJSON_AddObjectToObject(json, "invalid");
  for (int i = 0; i < TB_STATE_COUNT; i++)
    if (c->invalid[i]) tb_add_text(invalid, tb_state_name((enum tb_state)i), c->invalid[i]);
}

static void add_breaks(cJSON *object, const struct tb_graph *g) {
  cJSON *array = cJSON_AddArrayToObject(object, "breaks");
  for (size_t i = 0; i < g->breaks.len; i++) {
    cJSON *one = cJSON_CreateObject();
    cJSON_AddItemToArray(array, one);
    tb_add_text(one, "reason", g->breaks.data[i].reason);
    tb_add_text(one, "detail", g->breaks.data[i].detail);
    tb_add_text(one, "file", g->breaks.data[i].file);
    tb_add_number(one, "line", g->breaks.data[i].line);
  }
}

static void add_launches(cJSON *object, const struct tb_graph *g) {
  cJSON *array = cJSON_AddArrayToObject(object, "launches");
  for (size_t i = 0; i < g->launches.len; i++) {
    const struct tb_launched *launch = &g->launches.data[i];
    cJSON *one = cJSON_CreateObject();
    cJSON_AddItemToArray(array, one);
    tb_add_text(one, "label", launch->label);
    tb_add_text(one, "kind", launch->kind);
    tb_add_text(one, "generator", launch->generator);
    tb_add_text(one, "fused", launch->fused);
    tb_add_number(one, "ops", launch->ops);
    tb_add_number(one, "bytes", launch->bytes);
    tb_add_number(one, "flops", launch->flops);
  }
}

static void add_graph(cJSON *object, const struct tb_graph *g) {
  if (!g->known) {
    cJSON_AddNullToObject(object, "graph");
    return;
  }
  cJSON *json = cJSON_AddObjectToObject(object, "graph");
#define TB_FIELD(path, member, ...) member
#define GRAPH(name)                 tb_add_number(json, #name, g->name);
#define NONE
#include "results/fields.def"
  add_breaks(json, g);
  tb_add_text(json, "artifact", g->artifact);
  add_launches(json, g);
  tb_add_texts(json, "fallbacks", &g->fallbacks);
}

static void add_amount(cJSON *json, const char *name, const char *from, const char *rate,
                       const struct tb_amount *amount, double call_ns) {
  tb_add_number(json, name, amount->value);
  tb_add_text(json, from, isnan(amount->value) ? NULL : amount->stated ? "suite" : "compiler");
  tb_add_number(json, rate, round(amount->value / call_ns * TB_NS_PER_S));
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
    tb_add_number(one, "value", r->counters.data[i].value);
    if (r->counters.data[i].why) tb_add_text(one, "why", r->counters.data[i].why);
    if (r->counters.data[i].multiplexed) cJSON_AddBoolToObject(one, "multiplexed", true);
  }
}

static void add_correctness(cJSON *object, const struct tb_correctness *c) {
  if (!c->checked) {
    cJSON_AddNullToObject(object, "correctness");
    return;
  }
  cJSON *json = cJSON_AddObjectToObject(object, "correctness");
  tb_add_number(json, "max_error", c->max_error);
  tb_add_number(json, "bound", c->bound);
  tb_add_number(json, "compared", c->compared);
  cJSON_AddBoolToObject(json, "ok", c->ok);
  tb_add_text(json, "against", c->against);
  tb_add_text(json, "detail", c->detail);
}

static void add_peer(cJSON *object, const struct tb_peer_facts *p) {
  if (!p->adapter) {
    cJSON_AddNullToObject(object, "peer");
    return;
  }
  cJSON *json = cJSON_AddObjectToObject(object, "peer");
  tb_add_text(json, "adapter", p->adapter);
  tb_add_text(json, "framework", p->framework);
  tb_add_text(json, "no_graph", p->no_graph);
}

void tb_record_case(cJSON *array, const struct tb_case_result *r) {
  cJSON *json = cJSON_CreateObject();
  cJSON_AddItemToArray(array, json);
  tb_add_text(json, "id", r->kase->id);
  tb_add_number(json, "env", r->env);
  add_case(json, r->kase);
  tb_add_text(json, "outcome", tb_outcome_text(r->outcome));
  cJSON_AddBoolToObject(json, "interrupted", r->interrupted);
  tb_add_text(json, "error", r->error);
  tb_add_text(json, "trace", r->trace);
  tb_add_text(json, "selection", r->kase->selection);
  cJSON_AddBoolToObject(json, "bound", r->bound);
  add_timing(json, "baseline", &r->baseline);
  add_timing(json, "steady", &r->steady);
  add_speedup(json, r);
  add_aa(json, &r->aa);
  add_calibration(json, &r->calibration);
  add_compile(json, &r->compile);
  add_graph(json, &r->graph);
  add_work(json, r);
  add_counters(json, r);
  tb_add_number(json, "counted_calls", r->counted_calls);
  tb_instructions_record(json, &r->instructions);
  add_correctness(json, &r->correctness);
  add_peer(json, &r->peer);
}
