/* counters= of a run or of a suite. */
#include "harness/machine/counter_selection.h"

#include <string.h>

#include "harness/base/args.h"

static const struct {
  const char *name, *members, *help;
} rows[] = {
#define TB_COUNTER_SET(name, members, help) {name, members, help},
#include "harness/machine/counters_sets.def"
#undef TB_COUNTER_SET
};
enum { N_SETS = sizeof rows / sizeof *rows };

static const char papi[] = "papi", callgrind[] = "callgrind", none[] = "none";

int tb_counter_set_count(void) { return N_SETS; }
const char *tb_counter_set_name(int index) { return rows[index].name; }
const char *tb_counter_set_members(int index) { return rows[index].members; }
const char *tb_counter_set_help(int index) { return rows[index].help; }

bool tb_name_listed(const char *name, const char *names) {
  const size_t length = strlen(name);
  for (const char *at = names; *at;) {
    const size_t word = strcspn(at, ",");
    if (word == length && !strncmp(at, name, length)) return true;
    at += word + (at[word] == ',');
  }
  return false;
}

/* Adds the members of a set that are not there yet. */
static tc_status add_members(struct tc_arena *arena, const char *members, const char **all,
                             struct tc_error *err) {
  int count;
  const char **names = tb_split(arena, members, &count);
  if (!names) return tc_fail_memory(err, "command line");
  for (int i = 0; i < count; i++) {
    if (tb_name_listed(names[i], *all)) continue;
    *all = tb_format(arena, "%s%s%s", *all, **all ? "," : "", names[i]);
    if (!*all) return tc_fail_memory(err, "command line");
  }
  return TC_OK;
}

static tc_status unknown(struct tc_arena *arena, const char *text, const char *word, struct tc_error *err) {
  struct tb_nearest nearest = tb_nearest_to(word);
  const char *all = "papi, callgrind, none";
  tb_nearest_offer(&nearest, papi);
  tb_nearest_offer(&nearest, callgrind);
  tb_nearest_offer(&nearest, none);
  for (int i = 0; i < N_SETS && all; i++) {
    const char *name = tb_format(arena, "%s:%s", papi, rows[i].name);
    if (name) tb_nearest_offer(&nearest, name);
    all = tb_format(arena, "%s, %s:%s", all, papi, rows[i].name);
  }
  const char *hint = tb_nearest_hint(arena, &nearest);
  return tc_fail(err, TC_ARG, "command line", "counters=%s: there is no '%s'%s; use %s", text, word, hint,
                 all ? all : "papi, callgrind or none");
}

static tc_status add_word(struct tc_arena *arena, const char *text, const char *word,
                          struct tb_counter_selection *out, struct tc_error *err) {
  const size_t prefix = sizeof papi - 1;
  if (!strcmp(word, callgrind)) return out->callgrind = true, TC_OK;
  if (!strcmp(word, papi)) return add_members(arena, rows[0].members, &out->papi, err);
  for (int i = 0; i < N_SETS && !strncmp(word, papi, prefix) && word[prefix] == ':'; i++)
    if (!strcmp(word + prefix + 1, rows[i].name)) return add_members(arena, rows[i].members, &out->papi, err);
  return unknown(arena, text, word, err);
}

tc_status tb_counter_selection_parse(struct tc_arena *arena, const char *text,
                                     struct tb_counter_selection *out, struct tc_error *err) {
  int count;
  const char **words = tb_split(arena, text, &count);
  *out = (struct tb_counter_selection){.papi = ""};
  if (!words) return tc_fail_memory(err, "command line");
  if (!count)
    return tc_fail(err, TC_ARG, "command line",
                   "counters= has no value; write counters=papi, callgrind or none");
  for (int i = 0; i < count; i++) {
    if (!strcmp(words[i], none) && count > 1)
      return tc_fail(err, TC_ARG, "command line", "counters=%s: none cannot be combined", text);
    const tc_status status = strcmp(words[i], none) ? add_word(arena, text, words[i], out, err) : TC_OK;
    if (status) return status;
  }
  return TC_OK;
}
