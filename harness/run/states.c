/* Compile states and their evidence. Invariant: a time enters a state's samples only with counters that
 * agree. */
#include "harness/run/states.h"

#include <math.h>
#include <string.h>

#include "harness/base/args.h"
#include "harness/base/text.h"
#include "results/stats/stats.h"

static const char *const state_names[TB_STATE_COUNT] = {"cold", "disk", "memory"};

const char *tb_state_name(enum tb_state state) { return state_names[state]; }

tc_status tb_first_call(struct tb_process *process, bool reset, double timeout_s, struct tb_first *out,
                        struct tc_error *err) {
  *out = (struct tb_first){.call_ns = NAN, .entry_ns = NAN, .library_ns = NAN};
  cJSON *reply, *request = tb_process_request(TB_REQUEST_first);
  if (reset) cJSON_AddBoolToObject(request, "reset", true);
  const tc_status status = tb_process_ask(process, request, timeout_s, &reply, err);
  if (status) return status;
  const cJSON *evidence = cJSON_GetObjectItemCaseSensitive(reply, "evidence");
  out->call_ns = tb_json_number(reply, "ns", NAN);
  out->library_ns = tb_json_number(reply, "library_ns", NAN);
  out->evidence = (struct tb_evidence){evidence != NULL, tb_json_number(evidence, "misses", 0),
                                       tb_json_number(evidence, "disk_hits", 0),
                                       tb_json_number(evidence, "memory_hits", 0)};
  out->stats = cJSON_DetachItemFromObjectCaseSensitive(reply, "stats");
  const double entry = tb_json_number(out->stats, "entry_to_kernel_ns", 0);
  if (entry > 0) out->entry_ns = entry;
  cJSON_Delete(reply);
  return TC_OK;
}

const char *tb_state_contradiction(struct tc_arena *arena, enum tb_state state, const struct tb_evidence *e) {
  const bool agrees = state == TB_STATE_COLD   ? e->misses > 0 && !e->disk_hits
                      : state == TB_STATE_DISK ? e->disk_hits > 0 && !e->misses
                                               : e->memory_hits > 0 && !e->misses && !e->disk_hits;
  if (agrees) return NULL;
  const char *text =
      tb_format(arena, "the compiler counted %.0f miss%s, %.0f disk hit%s and %.0f memory hit%s", e->misses,
                e->misses == 1 ? "" : "es", e->disk_hits, tb_plural(e->disk_hits), e->memory_hits,
                tb_plural(e->memory_hits));
  return text ? text : "the compiler's counters disagree";
}

bool tb_duration_add(struct tc_arena *arena, struct tb_duration *duration, double value) {
  if (isnan(value)) return true;
  if (!tc_vec_push(tc_arena_alloc(arena), &duration->samples, value)) return false;
  duration->median = tb_median(duration->samples.data, duration->samples.len);
  return true;
}

/* Why a first call was not one in that state; NULL: it was. */
static const char *why_not(struct tc_arena *arena, enum tb_state state, const struct tb_first *first,
                           bool cache) {
  if (state == TB_STATE_DISK && !cache) return "cache=off";
  return first->evidence.known ? tb_state_contradiction(arena, state, &first->evidence)
                               : "the worker sent no counters";
}

bool tb_state_add(struct tc_arena *arena, struct tb_compile *compile, enum tb_state state,
                  const struct tb_first *first, bool cache) {
  const bool cold = state == TB_STATE_COLD;
  if (!compile->evidence[state].known) compile->evidence[state] = first->evidence;
  if (cold && !tb_duration_add(arena, &compile->library_ns, first->library_ns)) return false;
  const char *contradiction = why_not(arena, state, first, cache);
  if (contradiction)
    compile->invalid[state] = contradiction;
  else if (!tb_duration_add(arena, &compile->state_ns[state], first->entry_ns))
    return false;
  return (contradiction && !cold) || tb_duration_add(arena, &compile->first_call_ns[state], first->call_ns);
}

static struct tb_stage *find_stage(struct tc_arena *arena, struct tb_compile *compile, const char *name) {
  for (size_t i = 0; i < compile->stages.len; i++)
    if (!strcmp(compile->stages.data[i].name, name)) return &compile->stages.data[i];
  const struct tb_stage stage = {tc_arena_text(arena, name), {.median = NAN}};
  if (!stage.name || !tc_vec_push(tc_arena_alloc(arena), &compile->stages, stage)) return NULL;
  return &compile->stages.data[compile->stages.len - 1];
}

bool tb_stages_add(struct tc_arena *arena, const cJSON *stats, struct tb_compile *compile) {
  const cJSON *stages = cJSON_GetObjectItemCaseSensitive(stats, "stages_ns");
  for (const cJSON *item = stages ? stages->child : NULL; item; item = item->next) {
    struct tb_stage *stage = find_stage(arena, compile, item->string);
    if (!stage || !tb_duration_add(arena, &stage->ns, item->valuedouble)) return false;
  }
  return true;
}

static bool read_break(struct tc_arena *arena, const cJSON *item, struct tb_break *out) {
  *out = (struct tb_break){tc_arena_text(arena, tb_json_text(item, "reason", "")),
                           tc_arena_text(arena, tb_json_text(item, "detail", "")),
                           tc_arena_text(arena, tb_json_text(item, "file", "")),
                           (int)tb_json_number(item, "line", 0)};
  return out->reason && out->detail && out->file;
}

static bool read_launch(struct tc_arena *arena, const cJSON *item, struct tb_launched *out) {
  *out = (struct tb_launched){.ops = tb_json_number(item, "ops", NAN),
                              .bytes = tb_json_number(item, "bytes", NAN),
                              .flops = tb_json_number(item, "flops", NAN)};
  const struct {
    const char *name, **text;
  } texts[] = {
      {"label", &out->label}, {"kind", &out->kind}, {"generator", &out->generator}, {"fused", &out->fused}};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    if (!(*texts[i].text = tc_arena_text(arena, tb_json_text(item, texts[i].name, "")))) return false;
  return true;
}

static bool read_launches(struct tc_arena *arena, const cJSON *stats, struct tb_graph *out) {
  const cJSON *launches = cJSON_GetObjectItemCaseSensitive(stats, "launches");
  for (const cJSON *item = launches ? launches->child : NULL; item; item = item->next) {
    struct tb_launched one;
    if (!read_launch(arena, item, &one) || !tc_vec_push(tc_arena_alloc(arena), &out->launches, one))
      return false;
  }
  return true;
}

static bool read_lists(struct tc_arena *arena, const cJSON *stats, struct tb_graph *out) {
  const cJSON *breaks = cJSON_GetObjectItemCaseSensitive(stats, "breaks"),
              *fallbacks = cJSON_GetObjectItemCaseSensitive(stats, "fallbacks");
  for (const cJSON *item = breaks ? breaks->child : NULL; item; item = item->next) {
    struct tb_break one;
    if (!read_break(arena, item, &one) || !tc_vec_push(tc_arena_alloc(arena), &out->breaks, one))
      return false;
  }
  for (const cJSON *item = fallbacks ? fallbacks->child : NULL; item; item = item->next) {
    const char *text = tc_arena_text(arena, cJSON_IsString(item) ? item->valuestring : "");
    if (!text || !tc_vec_push(tc_arena_alloc(arena), &out->fallbacks, text)) return false;
  }
  return true;
}

bool tb_graph_read(struct tc_arena *arena, const cJSON *stats, struct tb_graph *out) {
  *out = (struct tb_graph){.known = cJSON_IsObject(stats)};
  if (!out->known) return true;
#define TB_FIELD(path, member, ...) member
#define GRAPH(name)                 out->name = tb_json_number(stats, #name, NAN);
#define NONE
#include "results/fields.def"
  const char *artifact = tb_json_text(stats, "artifact", "");
  out->artifact = *artifact ? tc_arena_text(arena, artifact) : NULL;
  return read_launches(arena, stats, out) && read_lists(arena, stats, out);
}
