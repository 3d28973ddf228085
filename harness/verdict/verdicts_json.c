/* Comparison → JSON: { "kind": "comparison", … }, for reporters and for other programs. What is not known is
 * null. */
#include <math.h>
#include <string.h>

#include "harness/base/args.h"
#include "harness/base/build.h"
#include "harness/verdict/verdicts.h"
#include "results/json_add.h"
#include "results/stats/stats.h"

static void add_origin(cJSON *object, const char *name, const struct tb_origin *origin) {
  cJSON *json = cJSON_AddObjectToObject(object, name);
  tb_add_text(json, "what", origin->what);
  tb_add_text(json, "version", origin->version);
  tb_add_text(json, "commit", origin->commit);
  tb_add_text(json, "started", origin->started);
}

static void fill_decision(cJSON *json, const struct tb_decision *d) {
  tb_add_text(json, "verdict", tb_verdict_word(d->verdict));
  tb_add_text(json, "why", d->verdict == TB_VERDICT_UNSURE ? tb_unsure_text(d->why) : NULL);
  tb_add_number(json, "ratio", d->ratio);
  tb_add_number(json, "lo", d->lo);
  tb_add_number(json, "hi", d->hi);
  tb_add_number(json, "confidence", d->confidence);
  tb_add_number(json, "p", d->p);
  tb_add_number(json, "floor", d->floor);
  cJSON_AddBoolToObject(
      json, "twins_differ",
      d->aa_differ); /* the floor then is the far end of their interval, not its half-width */
  tb_add_number(json, "limit", d->limit);
  tb_add_number(json, "pairs", d->pairs);
  tb_add_number(json, "points",
                d->points ? d->points : NAN); /* of a history: earlier results that foretell head */
  tb_add_number(json, "twins", d->aa_pairs);
  tb_add_text(json, "interval", d->by_ranks ? "signed ranks" : "Student's t");
}

static void add_decision(cJSON *object, const char *name, const struct tb_decision *d) {
  fill_decision(cJSON_AddObjectToObject(object, name), d);
}

static void add_exact(cJSON *object, struct tc_arena *arena, const tb_exact_findings *findings) {
  cJSON *array = cJSON_AddArrayToObject(object, "exact");
  for (size_t i = 0; i < findings->len; i++) {
    const struct tb_exact_finding *f = &findings->data[i];
    cJSON *one = cJSON_CreateObject();
    cJSON_AddItemToArray(array, one);
    tb_add_text(one, "figure", f->figure->exact.name);
    tb_add_text(one, "member", f->member);
    tb_add_text(one, "outcome", tb_exact_outcome_text(f->outcome));
    tb_add_number(one, "base", f->base);
    tb_add_number(one, "head", f->head);
    tb_add_text(one, "since", f->since);
    tb_add_text(one, "line", tb_exact_line(arena, f));
  }
}

static void add_attribution(cJSON *object, const struct tb_attribution *a) {
  if (!a->known && !a->why) {
    cJSON_AddNullToObject(object, "attribution");
    return;
  }
  cJSON *json = cJSON_AddObjectToObject(object, "attribution");
  tb_add_text(json, "why_not", a->why);
  if (!a->known) return;
  add_decision(json, "artifact", &a->artifact);
  add_decision(json, "runtime", &a->runtime);
}

static void add_step(cJSON *object, const struct tb_step *s) {
  cJSON *json = s->since ? cJSON_AddObjectToObject(object, "step") : cJSON_AddNullToObject(object, "step");
  if (!s->since) return;
  tb_add_text(json, "since", s->since);
  tb_add_text(json, "commit", s->commit);
  tb_add_number(json, "before_ns", s->before);
  tb_add_number(json, "after_ns", s->after);
  tb_add_number(json, "ratio", s->after / s->before);
}

static const char *presence_text(enum tb_presence presence) {
  static const char *const texts[] = {"both", "vanished", "new", "left out"};
  return texts[presence];
}

/* What became of a case in one run; NULL: it was measured. */
static const char *happened(const cJSON *one_case) {
  const cJSON *outcome = cJSON_GetObjectItemCaseSensitive(one_case, "outcome");
  if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(one_case, "interrupted"))) return "interrupted";
  if (!cJSON_IsString(outcome)) return "no outcome";
  return strcmp(outcome->valuestring, tb_outcome_text(TB_OUTCOME_OK)) ? outcome->valuestring : NULL;
}

/* What stands in the place of a verdict where times were not compared. */
static const char *instead(struct tc_arena *arena, const struct tb_compared *one) {
  if (one->presence != TB_PRESENCE_BOTH) return presence_text(one->presence);
  const char *base = happened(one->base), *head = happened(one->head);
  if (base && head)
    return strcmp(base, head) ? tb_format(arena, "base: %s, head: %s", base, head)
                              : tb_format(arena, "%s on both sides", base);
  if (base || head) return tb_format(arena, "%s: %s", base ? "base" : "head", base ? base : head);
  return one->failure ? tb_outcome_text(one->failed) : "not compared";
}

static double steady_ns(const cJSON *one_case) {
  const cJSON *median =
      cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(one_case, "steady"), "median_ns");
  return cJSON_IsNumber(median) ? median->valuedouble : NAN;
}

/* The times that the ratio is of, where ab measured it: those of the documents are of other processes, at
 * another time. */
static double side_ns(const tb_doubles *processes, const cJSON *one_case) {
  return processes->len ? tb_median(processes->data, processes->len) : steady_ns(one_case);
}

static void add_compared(cJSON *array, struct tc_arena *arena, const struct tb_compared *one) {
  cJSON *json = cJSON_CreateObject();
  cJSON_AddItemToArray(array, json);
  tb_add_text(json, "id", one->id);
  tb_add_text(json, "presence", presence_text(one->presence));
  cJSON_AddBoolToObject(json, "required", one->required);
  tb_add_number(json, "base_ns",
                one->expected_ns > 0 && !one->base_ns.len ? one->expected_ns
                                                          : side_ns(&one->base_ns, one->base));
  tb_add_number(json, "head_ns", side_ns(&one->head_ns, one->head));
  if (one->timed)
    add_decision(json, "time", &one->time);
  else
    cJSON_AddNullToObject(json, "time");
  tb_add_text(json, "instead", one->timed ? NULL : instead(arena, one));
  tb_add_number(json, "probe_ratio", one->calibration_ratio > 0 ? one->calibration_ratio : NAN);
  tb_add_number(json, "drift", one->calibration_ratio > 0 ? one->drift : NAN);
  cJSON_AddBoolToObject(json, "confirmed", one->confirmed);
  cJSON_AddBoolToObject(json, "control", one->control);
  tb_add_text(json, "stop_reason", one->stop_reason);
  tb_add_text(json, "basis", one->basis);
  tb_add_number(json, "foretold", one->foretold > 0 ? one->foretold : NAN); /* to within which share */
  add_step(json, &one->step); /* of a history, since a change point; null: none */
  tb_add_numbers(json, "log_ratios", &one->log_ratios);
  tb_add_numbers(json, "twin_log_ratios", &one->aa_log_ratios);
  tb_add_numbers(json, "base_process_ns", &one->base_ns);
  tb_add_numbers(json, "head_process_ns", &one->head_ns);
  tb_add_numbers(json, "fresh_log_ratios", &one->fresh_log_ratios);
  tb_add_numbers(json, "fresh_twin_log_ratios", &one->fresh_aa_log_ratios);
  add_attribution(json, &one->attribution);
  add_exact(json, arena, &one->exact);
  tb_add_text(json, "problem", one->problem);
  tb_add_number(json, "exit", one->exit);
}

cJSON *tb_verdicts_json(const struct tb_verdicts *c) {
  cJSON *json = cJSON_CreateObject();
  if (!json) return NULL;
  tb_add_number(json, "schema", TB_SCHEMA);
  tb_add_text(json, "kind", "comparison");
  tb_add_text(json, "verb", c->verb);
  cJSON *program = cJSON_AddObjectToObject(json, "tbench");
  tb_add_text(program, "version", PACKAGE_VERSION);
  tb_add_text(program, "commit", TB_COMMIT);
  add_origin(json, "base", &c->base);
  add_origin(json, "head", &c->head);
  tb_add_text(json, "policy", c->policy->path);
  cJSON_AddBoolToObject(json, "interrupted", c->interrupted);
  cJSON *cases = cJSON_AddArrayToObject(json, "cases");
  for (size_t i = 0; i < c->cases.len; i++) add_compared(cases, c->arena, &c->cases.data[i]);
  tb_add_texts(json, "remarks", &c->remarks);
  tb_add_texts(json, "problems", &c->problems);
  if (c->result) cJSON_AddItemReferenceToObject(json, "result", c->result);
  tb_add_number(json, "exit", c->exit);
  tb_add_text(json, "meaning", c->exit == TB_EXIT_PASS ? "pass" : tb_exit_help(c->exit));
  return json;
}
