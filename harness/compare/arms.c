/* Arms of an A/B run. */
#include "harness/compare/arms.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/verb.h"
#include "harness/plan/dimension.h"
#include "harness/plan/peer.h"
#include "harness/plan/spec.h"

static const char *const arm_names[] = {"base", "head"};
const char *tb_arm_name(enum tb_arm_id arm) { return arm_names[arm]; }

/* --- command line --- */

/* Full path of a program that can be started: workers may be started from another folder. */
static tc_status find_program(struct tc_arena *arena, const char *arm, const char *text, const char **program,
                              struct tc_error *err) {
  char path[PATH_MAX];
  struct stat facts;
  if (!realpath(text, path))
    return tc_fail(err, TC_ARG, "ab", "%s=%s: %s; give the path of a tbench program", arm, text,
                   strerror(errno));
  if (stat(path, &facts) || !S_ISREG(facts.st_mode) || access(path, X_OK))
    return tc_fail(err, TC_ARG, "ab", "%s=%s is not a program; give the path of a tbench", arm, text);
  *program = tb_format(arena, "%s", path);
  return *program ? TC_OK : tc_fail_memory(err, "ab");
}

static tc_status check_mode(struct tc_arena *arena, const char *arm, const struct tb_arg *setting,
                            struct tc_error *err) {
  const char *names = tb_axis_row(TB_AXIS_MODE)->choices;
  struct tb_nearest nearest = tb_nearest_to(setting->value);
  int count;
  const char **choices = tb_split(arena, names, &count);
  if (!choices) return tc_fail_memory(err, "ab");
  for (int i = 0; i < count; i++) {
    if (!strcmp(choices[i], setting->value)) return TC_OK;
    tb_nearest_offer(&nearest, choices[i]);
  }
  return tc_fail(err, TC_ARG, "ab", "%s.mode=%s: unknown%s; modes: %s", arm, setting->value,
                 tb_nearest_hint(arena, &nearest), names);
}

static tc_status check_setting(struct tc_arena *arena, const char *arm, const struct tb_arg *setting,
                               struct tc_error *err) {
  struct tc_config scratch;
  struct tb_nearest nearest = tb_nearest_to(setting->name);
  if (!*setting->value) return tc_fail(err, TC_ARG, "ab", "%s.%s= has no value", arm, setting->name);
  if (tb_name_equal(setting->name, tb_axis_row(TB_AXIS_MODE)->name))
    return check_mode(arena, arm, setting, err);
  if (tb_name_equal(setting->name, tb_axis_row(TB_AXIS_MODE)->name) ||
      tb_name_equal(setting->name, tb_axis_row(TB_AXIS_BACKEND)->name))
    return TC_OK;
  tc_config_default(&scratch);
  for (int i = 0; i < tc_config_count(); i++) {
    const struct tc_config_row *row = tc_config_row(i);
    if (tb_name_equal(row->name, setting->name))
      return row->aside
                 ? tc_fail(err, TC_ARG, "ab",
                           "%s.%s does not change any figure, so it cannot be a difference between the sides",
                           arm, row->name)
                 : tc_config_set(&scratch, row->name, setting->value, err);
    tb_nearest_offer(&nearest, tc_config_row(i)->name);
  }
  return tc_fail(err, TC_ARG, "ab", "%s.%s is not a switch of the compiler, mode or backend%s", arm,
                 setting->name, tb_nearest_hint(arena, &nearest));
}

const char *tb_arms_value(const struct tb_arms *arms, const char *name) {
  for (size_t i = 0; i < arms->own.len; i++)
    if (tb_name_equal(arms->own.data[i].name, name)) return arms->own.data[i].value;
  return NULL;
}

bool tb_arms_whole(const struct tb_arms *arms, const char *verb, const char *name, long long least,
                   long long most, long long *value) {
  const char *given = tb_arms_value(arms, name),
             *text = given ? given : tb_verb_option_find(verb, name)->default_text;
  if (tb_whole_parse(text, value) && *value >= least && *value <= most) return true;
  tb_verb_usage(verb, "%s=%s: use a whole number from %lld to %lld", name, text, least, most);
  return false;
}

/* The verb's own flags, those of a run, and "base.fuse" as "fuse". */
static bool stands_alone(const void *verb, const char *name, const char *next) {
  const struct tb_verb_option *own = tb_verb_option_find(verb, name);
  if (own) return tb_verb_option_alone(own, next);
  for (int s = 0; s < TB_ARM_COUNT; s++) {
    const size_t length = strlen(arm_names[s]);
    if (!strncmp(name, arm_names[s], length) && name[length] == '.')
      return tb_option_alone(NULL, name + length + 1, next);
  }
  return tb_option_alone(NULL, name, next);
}

/* Takes an argument that is an arm's or the verb's; *taken: it was one. */
static tc_status take_argument(struct tc_arena *arena, const char *verb, const struct tb_arg *arg,
                               struct tb_arms *out, bool *taken, struct tc_error *err) {
  *taken = true;
  if (!strchr(arg->name, '.') && strcmp(arg->name, arm_names[TB_ARM_BASE]) &&
      strcmp(arg->name, arm_names[TB_ARM_HEAD]) && tb_verb_option_find(verb, arg->name))
    return tc_vec_push(tc_arena_alloc(arena), &out->own, *arg) ? TC_OK : tc_fail_memory(err, "ab");
  for (int s = 0; s < TB_ARM_COUNT; s++) {
    const char *name = arm_names[s];
    const size_t length = strlen(name);
    if (!strcmp(arg->name, name)) {
      out->arm[s].given = true;
      return strcmp(arg->value, "self") ? find_program(arena, name, arg->value, &out->arm[s].program, err)
                                        : TC_OK;
    }
    if (strncmp(arg->name, name, length) || arg->name[length] != '.') continue;
    const struct tb_arg setting = {arg->name + length + 1, arg->value};
    const tc_status status = check_setting(arena, name, &setting, err);
    if (status) return status;
    return tc_vec_push(tc_arena_alloc(arena), &out->arm[s].settings, setting) ? TC_OK
                                                                              : tc_fail_memory(err, "ab");
  }
  *taken = false;
  return TC_OK;
}

tc_status tb_arms_parse(struct tc_arena *arena, const char *verb, int argc, char *const *argv,
                        struct tb_arms *out, struct tc_error *err) {
  struct tb_args args;
  *out = (struct tb_arms){.argc = 0};
  tc_status status = tb_args_parse(arena, argc, argv, stands_alone, verb, &args, err);
  if (status) return status;
  out->argv = tc_arena_bytes(arena, sizeof *out->argv * (args.named.len + args.words.len + 1));
  if (!out->argv) return tc_fail_memory(err, "ab");
  for (size_t i = 0; i < args.words.len; i++) out->argv[out->argc++] = (char *)args.words.data[i];
  for (size_t i = 0; i < args.named.len; i++) {
    const struct tb_arg *arg = &args.named.data[i];
    bool taken;
    status = take_argument(arena, verb, arg, out, &taken, err);
    if (status) return status;
    if (taken) continue;
    out->argv[out->argc] = (char *)tb_format(arena, "%s=%s", arg->name, arg->value);
    if (!out->argv[out->argc++]) return tc_fail_memory(err, "ab");
  }
  for (int s = 0; s < TB_ARM_COUNT; s++)
    if (out->arm[s].given || out->arm[s].settings.len) return TC_OK;
  return tc_fail(
      err, TC_ARG, "ab",
      "both sides are this program with the same switches; say what differs: base=PROGRAM, head=PROGRAM, "
      "base.SWITCH=VALUE or head.SWITCH=VALUE (base=self head=self asks for this program against itself)");
}

/* --- plan --- */

static tc_status set_setting(struct tc_arena *arena, struct tb_case *kase, const struct tb_arg *setting,
                             struct tc_error *err) {
  if (tb_name_equal(setting->name, tb_axis_row(TB_AXIS_MODE)->name))
    return kase->mode = setting->value, TC_OK;
  if (tb_name_equal(setting->name, tb_axis_row(TB_AXIS_BACKEND)->name)) {
    const tc_status status = tb_backend_check(arena, kase->description, setting->value, err);
    return status ? status : tb_peer_set_backend(arena, setting->value, kase, err);
  }
  for (int i = 0; i < tc_config_count(); i++)
    if (tb_name_equal(tc_config_row(i)->name, setting->name))
      return tc_config_set(&kase->config, tc_config_row(i)->name, setting->value, err);
  return TC_OK; /* check_setting has refused it */
}

/* Modes are inductor's: the plan's rule for what an arm made of a case. */
static tc_status check_case(const struct tb_arm *arm, const char *name, const struct tb_case *kase,
                            struct tc_error *err) {
  bool mode_given = false;
  for (size_t i = 0; i < arm->settings.len; i++)
    mode_given |= tb_name_equal(arm->settings.data[i].name, tb_axis_row(TB_AXIS_MODE)->name);
  if (!mode_given || !strcmp(kase->backend, "inductor")) return TC_OK;
  return tc_fail(err, TC_ARG, "ab", "%s.mode=%s: modes are those of backend=inductor; backend=%s has none",
                 name, kase->mode, kase->backend);
}

static tc_status make_arm(struct tc_arena *arena, const struct tb_arm *arm, const char *name,
                          struct tb_case *kase, struct tc_error *err) {
  const char *group_key;
  kase->arm = name;
  kase->program = arm->program;
  for (size_t i = 0; i < arm->settings.len; i++) {
    const tc_status status = set_setting(arena, kase, &arm->settings.data[i], err);
    if (status) return status;
  }
  const tc_status status = check_case(arm, name, kase, err);
  return status ? status : tb_case_name(arena, kase, &group_key, err);
}

tc_status tb_arms_apply(struct tc_arena *arena, const struct tb_arms *arms, struct tb_plan *plan,
                        struct tc_error *err) {
  struct tb_plan out = {.n_groups = (int)plan->cases.len};
  for (size_t i = 0; i < plan->cases.len; i++) {
    for (int s = 0; s < TB_ARM_COUNT; s++) {
      struct tb_case kase = plan->cases.data[i];
      kase.pair = plan->cases.data[i].id;
      kase.group = (int)i;
      const tc_status status = make_arm(arena, &arms->arm[s], arm_names[s], &kase, err);
      if (status) return status;
      if (!tc_vec_push(tc_arena_alloc(arena), &out.cases, kase)) return tc_fail_memory(err, "ab");
    }
  }
  *plan = out;
  return TC_OK;
}
