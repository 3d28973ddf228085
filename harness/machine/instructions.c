/* Instruction counts → JSON. Invariant: what was not counted is null, and `why` says it by the same name. */
#include "harness/machine/instructions.h"

static const char *const names[TB_COUNTED_COUNT] = {"cold", "disk", "memory", "steady"};

static void add_first_call(cJSON *json, const char *name, const struct tb_instruction_count *c) {
  cJSON *one = cJSON_AddObjectToObject(json, name);
  cJSON_AddNumberToObject(one, "total", c->total);
  cJSON *stages = cJSON_AddObjectToObject(one, "stages");
  for (size_t i = 0; i < c->stages.len; i++)
    cJSON_AddNumberToObject(stages, c->stages.data[i].stage, c->stages.data[i].count);
}

void tb_instructions_record(cJSON *object, const struct tb_instructions *in) {
  if (!in->asked) {
    cJSON_AddNullToObject(object, "instructions");
    return;
  }
  cJSON *json = cJSON_AddObjectToObject(object, "instructions");
  for (int i = 0; i < TB_COUNTED_COUNT; i++) {
    const struct tb_instruction_count *c = &in->counts[i];
    if (!c->known)
      cJSON_AddNullToObject(json, names[i]);
    else if (i == TB_COUNTED_STEADY)
      cJSON_AddNumberToObject(json, names[i], c->total);
    else
      add_first_call(json, names[i], c);
  }
  if (in->counts[TB_COUNTED_STEADY].known)
    cJSON_AddNumberToObject(json, "steady_calls", in->steady_calls);
  else
    cJSON_AddNullToObject(json, "steady_calls");
  cJSON *why = cJSON_AddObjectToObject(json, "why");
  for (int i = 0; i < TB_COUNTED_COUNT; i++)
    if (!in->counts[i].known)
      cJSON_AddStringToObject(why, names[i], in->counts[i].why ? in->counts[i].why : "not reached");
}
