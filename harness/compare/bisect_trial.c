/* Trials: cases of settings and limits, and what their compiles are made of. */
#include <stdio.h>
#include <string.h>

#include "harness/compare/bisect.h"
#include "harness/run/role.h"

struct tb_trial tb_trial_new(const struct tb_bisect *b, bool from_head) {
  struct tb_trial trial = {.backend = NULL};
  for (size_t i = 0; i < b->differences.len; i++) trial.from_head[i] = from_head;
  for (int i = 0; i < TC_FUEL_COUNT; i++) trial.limit[i] = TC_CONFIG_UNLIMITED;
  return trial;
}

bool tb_trial_limits_base(const struct tb_bisect *b) {
  for (size_t i = 0; i < b->differences.len; i++)
    if (b->differences.data[i].program) return false; /* another program may know of no fuel */
  return b->trouble == TB_TROUBLE_SLOWER;
}

bool tb_trial_drops(const struct tb_trial *trial, const char *name) {
  return trial->backend && (tb_name_equal(name, "backend") ||
                            (tb_name_equal(name, "mode") && strcmp(trial->backend, "inductor")));
}

static bool add(struct tc_arena *arena, struct tb_arm *arm, const char *name, const char *value) {
  const struct tb_arg setting = {name, value};
  return tc_vec_push(tc_arena_alloc(arena), &arm->settings, setting);
}

/* What both arms have in common stands in neither's differences. */
static bool add_common(struct tb_bisect *b, const struct tb_trial *trial, struct tb_arm *arm) {
  const struct tb_arm *head = &b->arms->arm[TB_ARM_HEAD];
  for (size_t i = 0; i < head->settings.len; i++) {
    bool differs = false;
    for (size_t k = 0; k < b->differences.len; k++)
      differs |= !strcmp(b->differences.data[k].name, head->settings.data[i].name);
    if (!differs && !tb_trial_drops(trial, head->settings.data[i].name) &&
        !add(b->run->arena, arm, head->settings.data[i].name, head->settings.data[i].value))
      return false;
  }
  return true;
}

static bool add_limits(struct tb_bisect *b, const struct tb_trial *trial, struct tb_arm *arm) {
  struct tc_arena *arena = b->run->arena;
  for (int i = 0; i < TC_FUEL_COUNT; i++) {
    if (trial->limit[i] == TC_CONFIG_UNLIMITED) continue;
    const char *name = tb_format(arena, "fuel.%s", tc_fuel_name((enum tc_fuel_kind)i)),
               *value = tb_format(arena, "%lld", trial->limit[i]);
    if (!name || !value || !add(arena, arm, name, value)) return false;
  }
  return true;
}

static bool fill_arm(struct tb_bisect *b, const struct tb_trial *trial, bool is_head, struct tb_arm *arm) {
  if (!add_common(b, trial, arm)) return false;
  for (size_t i = 0; i < b->differences.len; i++) {
    const struct tb_difference *d = &b->differences.data[i];
    const char *value = is_head && trial->from_head[i] ? d->head : d->base;
    if (d->program)
      arm->program = value;
    else if (value && !(is_head && tb_trial_drops(trial, d->name)) &&
             !add(b->run->arena, arm, d->name, value))
      return false;
  }
  if (is_head && trial->backend && !add(b->run->arena, arm, "backend", trial->backend)) return false;
  return (!is_head && !tb_trial_limits_base(b)) || add_limits(b, trial, arm);
}

tc_status tb_trial_cases(struct tb_bisect *b, const struct tb_trial *trial, struct tb_case out[TB_ARM_COUNT],
                         struct tc_error *err) {
  struct tb_arms arms = {.argc = 0};
  struct tb_plan plan = {.n_groups = 1};
  for (int s = 0; s < TB_ARM_COUNT; s++)
    if (!fill_arm(b, trial, s == TB_ARM_HEAD, &arms.arm[s])) return tc_fail_memory(err, "bisect");
  struct tb_case kase = b->kase;
  if (trial->backend && strcmp(trial->backend, "inductor")) kase.mode = "default"; /* modes are inductor's */
  if (!tc_vec_push(tc_arena_alloc(b->run->arena), &plan.cases, kase)) return tc_fail_memory(err, "bisect");
  const tc_status status = tb_arms_apply(b->run->arena, &arms, &plan, err);
  for (int s = 0; s < TB_ARM_COUNT && !status; s++) out[s] = plan.cases.data[s];
  return status;
}

/* --- counts --- */

static void add_entry(struct tb_bisect *b, const cJSON *entry, const struct tb_trial *trial,
                      struct tb_counts *out) {
  const cJSON *fuel = cJSON_GetObjectItemCaseSensitive(entry, "fuel");
  for (int i = 0; i < TC_FUEL_COUNT; i++) {
    const cJSON *one = cJSON_GetObjectItemCaseSensitive(fuel, tc_fuel_name((enum tc_fuel_kind)i));
    const long long spent = (long long)tb_json_number(one, "spent", 0);
    const char *last = tb_json_text(one, "last", NULL);
    if (spent > out->spent[i]) out->spent[i] = spent;
    if (!last || spent != trial->limit[i]) continue;
    out->last[i] = out->last[i]
                       ? tb_format(b->run->arena, "%s; and, in another graph, %s", out->last[i], last)
                       : tb_format(b->run->arena, "%s", last);
  }
}

static enum tb_bad count_case(struct tb_bisect *b, const struct tb_case *kase, const struct tb_trial *trial,
                              struct tb_counts *out) {
  struct tc_error err = {0};
  struct tb_process process;
  struct tb_prepared prepared;
  cJSON *reply = NULL;
  struct tb_launch launch = tb_run_launch(b->run, kase, NULL);
  struct tc_config config = kase->config;
  config.cache = false; /* what an entry of it holds is told by nobody */
  launch.config = &config;
  launch.program = kase->program;
  const double timeout = tb_run_timeout(b->run, kase);
  tc_status status =
      tb_role_launch(b->run, kase, TB_ROLE_EXPLAINED, &launch, timeout, &process, &prepared, &err);
  if (!status) {
    cJSON *asked = tb_process_request(TB_REQUEST_explain);
    cJSON_AddBoolToObject(asked, "table", true);
    status = tb_process_ask(&process, asked, timeout, &reply, &err);
  }
  if (!status) {
    const cJSON *piece, *entry;
    cJSON_ArrayForEach(piece, cJSON_GetObjectItemCaseSensitive(
                                  cJSON_GetObjectItemCaseSensitive(reply, "explanation"), "pieces"))
      cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(piece, "entries"))
        add_entry(b, entry, trial, out);
  }
  cJSON_Delete(reply);
  tb_process_stop(&process);
  if (!tb_interrupt_poll(&b->run->interrupt)) return status ? TB_BAD_UNSURE : TB_BAD_NO;
  b->stopped = TB_EXIT_INTERRUPTED;
  return TB_BAD_STOP;
}

enum tb_bad tb_trial_count(struct tb_bisect *b, const struct tb_trial *trial, struct tb_counts *out) {
  struct tc_error err = {0};
  struct tb_case cases[TB_ARM_COUNT];
  *out = (struct tb_counts){.spent = {0}};
  if (tb_trial_cases(b, trial, cases, &err)) {
    fprintf(stderr, "tbench bisect: %s\n", err.message);
    b->stopped = TB_EXIT_FAILED;
    return TB_BAD_STOP;
  }
  enum tb_bad answer = count_case(b, &cases[TB_ARM_HEAD], trial, out);
  struct tb_counts base = {.spent = {0}};
  if (answer == TB_BAD_NO && tb_trial_limits_base(b))
    answer = count_case(b, &cases[TB_ARM_BASE], trial, &base);
  for (int i = 0; i < TC_FUEL_COUNT; i++) {
    if (base.spent[i] > out->spent[i]) out->spent[i] = base.spent[i];
    if (base.last[i] && (!out->last[i] || strcmp(base.last[i], out->last[i])))
      out->last[i] = out->last[i] ? tb_format(b->run->arena, "%s; of base: %s", out->last[i], base.last[i])
                                  : tb_format(b->run->arena, "of base: %s", base.last[i]);
  }
  return answer;
}
