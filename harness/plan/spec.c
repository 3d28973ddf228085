/* Command line → specification. To add an option, an axis or a switch: a row in its table. */
#include "harness/plan/spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "harness/machine/counter_selection.h"

/* Each with a comma in front. */
static const char modes[] = ""
#define TC_MODE(name, matmul, record) "," name
#include "lua/compile/modes.def"
#undef TC_MODE
    ;

static const struct tb_axis_row axis_rows[] = {
#define MODES                                            (modes + 1)
#define TB_AXIS(FIELD, name, dflt, choices, takes, help) {name, dflt, choices, takes, help},
#include "harness/plan/axis.def"
#undef TB_AXIS
#undef MODES
};

static const struct tb_option_row option_rows[] = {
#define TB_OPTION(field, name, type, dflt, use, words, takes, help)                                          \
  {name, #dflt, words, takes, help, TB_OPTION_##type, TB_OPTION_##use},
#include "harness/plan/options.def"
#undef TB_OPTION
};

const char *tb_option_default(const struct tb_option_row *row) {
  if (*row->default_words) return row->default_words;
  if (row->type == TB_OPTION_FLAG) return strcmp(row->default_text, "0") ? "yes" : "no";
  return strcmp(row->default_text, "\"\"") ? row->default_text : "";
}

static const size_t option_offsets[] = {
#define TB_OPTION(field, name, type, dflt, use, words, takes, help) offsetof(struct tb_options, field),
#include "harness/plan/options.def"
#undef TB_OPTION
};

bool tb_option_measures(const struct tb_option_row *row) {
  return row->use == TB_OPTION_MEASURES || row->use == TB_OPTION_REPEATS;
}

const struct tb_axis_row *tb_axis_row(enum tb_axis_id axis) { return &axis_rows[axis]; }
int tb_option_count(void) { return (int)(sizeof option_rows / sizeof *option_rows); }
const struct tb_option_row *tb_option_row(int index) { return &option_rows[index]; }

static int find_option(const char *name) {
  for (int i = 0; i < tb_option_count(); i++)
    if (tb_name_equal(option_rows[i].name, name)) return i;
  return -1;
}

static int find_axis(const char *name) {
  for (int i = 0; i < TB_AXIS_COUNT; i++)
    if (tb_name_equal(axis_rows[i].name, name)) return i;
  return -1;
}

static int find_switch(const char *name) {
  for (int i = 0; i < tc_config_count(); i++)
    if (tb_name_equal(tc_config_row(i)->name, name)) return i;
  return -1;
}

bool tb_option_alone(const void *names, const char *name, const char *next) {
  const int option = find_option(name), config = find_switch(name);
  bool value;
  (void)names;
  if (next && tb_flag_parse(next, &value)) return false;
  return (option >= 0 && option_rows[option].type == TB_OPTION_FLAG) ||
         (config >= 0 && tc_config_row(config)->type == TC_CONFIG_BOOL);
}

void tb_spec_offer_names(struct tb_nearest *nearest) {
  for (int i = 0; i < tb_option_count(); i++) tb_nearest_offer(nearest, option_rows[i].name);
  for (int i = 0; i < TB_AXIS_COUNT; i++) tb_nearest_offer(nearest, axis_rows[i].name);
  for (int i = 0; i < tc_config_count(); i++) tb_nearest_offer(nearest, tc_config_row(i)->name);
}

/* "0.5%", of more than 0% and less than 100%. The sign is asked for: 0.5 alone could be either. */
static bool parse_share(const char *text, double *out) {
  static const double hundred = 100;
  char *end;
  const double percent = strtod(text, &end);
  if (end == text || strcmp(end, "%") || !(percent > 0 && percent < hundred)) return false;
  *out = percent / hundred;
  return true;
}

static tc_status set_option(struct tb_options *options, int index, const char *text, struct tc_error *err) {
  const struct tb_option_row *row = &option_rows[index];
  void *at = (char *)options + option_offsets[index];
  switch (row->type) {
    case TB_OPTION_TEXT: *(const char **)at = text; return TC_OK;
    case TB_OPTION_INT:
      return tb_whole_parse(text, at) ? TC_OK
                                      : tc_fail(err, TC_ARG, "command line",
                                                "%s=%s: use a whole number of 0 or more", row->name, text);
    case TB_OPTION_SHARE:
      return parse_share(text, at)
                 ? TC_OK
                 : tc_fail(err, TC_ARG, "command line", "%s=%s: use a percentage, as 0.5%%", row->name, text);
    case TB_OPTION_FLAG:
      return tb_flag_parse(text, at)
                 ? TC_OK
                 : tc_fail(err, TC_ARG, "command line", "%s=%s: use yes or no", row->name, text);
  }
  return TC_OK;
}

/* Values split at commas, none empty, none twice. */
static tc_status split_values(struct tc_arena *arena, const char *name, const char *text,
                              struct tb_values *out, struct tc_error *err) {
  *out = (struct tb_values){.name = name};
  const char **parts = tb_split(arena, text, &out->count);
  if (!parts) return tc_fail_memory(err, "command line");
  if (!out->count)
    return tc_fail(err, TC_ARG, "command line", "%s= has no value; write %s=VALUE or %s=V1,V2", name, name,
                   name);
  out->values = parts;
  int kept = 0;
  for (int i = 0; i < out->count; i++) {
    if (!*parts[i]) return tc_fail(err, TC_ARG, "command line", "%s=%s has an empty value", name, text);
    bool twice = false;
    for (int j = 0; j < kept; j++) twice |= !strcmp(parts[j], parts[i]);
    if (!twice) parts[kept++] = parts[i];
  }
  out->count = kept;
  return TC_OK;
}

static tc_status check_choices(struct tc_arena *arena, const struct tb_axis_row *row,
                               const struct tb_values *given, struct tc_error *err) {
  int count;
  const char **choices = tb_split(arena, row->choices, &count);
  if (!choices) return tc_fail_memory(err, "command line");
  for (int i = 0; count && i < given->count; i++) {
    struct tb_nearest nearest = tb_nearest_to(given->values[i]);
    bool known = false;
    for (int c = 0; c < count; c++) {
      known |= !strcmp(choices[c], given->values[i]);
      tb_nearest_offer(&nearest, choices[c]);
    }
    if (known) continue;
    const char *hint = tb_nearest_hint(arena, &nearest);
    return *hint ? tc_fail(err, TC_ARG, "command line", "%s=%s: unknown%s", row->name, given->values[i], hint)
                 : tc_fail(err, TC_ARG, "command line", "%s=%s: unknown; use one of %s", row->name,
                           given->values[i], row->choices);
  }
  return TC_OK;
}

/* One try of each value now, so that a wrong one is told before anything runs. One value, which may hold
 * commas: switches that make no two cases. */
static tc_status add_switch(struct tc_arena *arena, struct tb_spec *out, int index, const char *text,
                            struct tc_error *err) {
  const struct tc_config_row *row = tc_config_row(index);
  struct tb_values values = {.name = row->name};
  if (row->aside) {
    values.values = tc_arena_bytes(arena, sizeof *values.values);
    if (!values.values) return tc_fail_memory(err, "command line");
    values.values[values.count++] = text;
  } else {
    const tc_status status = split_values(arena, row->name, text, &values, err);
    if (status) return status;
  }
  for (int i = 0; i < values.count; i++) {
    struct tc_config scratch;
    tc_config_default(&scratch);
    const tc_status status = tc_config_set(&scratch, row->name, values.values[i], err);
    if (status) return status;
  }
  return tc_vec_push(tc_arena_alloc(arena), &out->switches, values) ? TC_OK
                                                                    : tc_fail_memory(err, "command line");
}

static tc_status add_arg(struct tc_arena *arena, struct tb_spec *out, const struct tb_arg *arg,
                         struct tc_error *err) {
  const int option = find_option(arg->name), axis = find_axis(arg->name), config = find_switch(arg->name);
  if (option >= 0 && tb_option_measures(&option_rows[option]) && !out->measuring)
    out->measuring = option_rows[option].name;
  if (option >= 0 && option_rows[option].use == TB_OPTION_EXPLAINS && !out->explaining)
    out->explaining = option_rows[option].name;
  if (option >= 0) return set_option(&out->options, option, arg->value, err);
  if (config >= 0) return add_switch(arena, out, config, arg->value, err);
  if (axis >= 0) {
    const tc_status status = split_values(arena, axis_rows[axis].name, arg->value, &out->axes[axis], err);
    return status ? status : check_choices(arena, &axis_rows[axis], &out->axes[axis], err);
  }
  struct tb_values values;
  const tc_status status = split_values(arena, arg->name, arg->value, &values, err);
  if (status) return status;
  return tc_vec_push(tc_arena_alloc(arena), &out->suite_axes, values) ? TC_OK
                                                                      : tc_fail_memory(err, "command line");
}

/* Whole numbers that make sense where they are given; the largest ones keep all arithmetic on them exact. */
static tc_status check_bounds(const struct tb_args *args, const struct tb_options *o, struct tc_error *err) {
  const struct {
    const char *name;
    long long value, least, most;
  } bounds[] = {{"replicates", o->replicates, 1, 10000},   {"replicates_max", o->replicates_max, 1, 10000},
                {"budget", o->budget, 1, 10000000},        {"timeout", o->timeout, 1, 10000000},
                {"memory_mb", o->memory_mb, 1, 1LL << 40}, {"seed", o->seed, 0, 1LL << 53}};
  for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
    const char *given = tb_args_value(args, bounds[i].name);
    if (given && (bounds[i].value < bounds[i].least || bounds[i].value > bounds[i].most))
      return tc_fail(err, TC_ARG, "command line", "%s=%s: use a whole number from %lld to %lld",
                     bounds[i].name, given, bounds[i].least, bounds[i].most);
  }
  return TC_OK;
}

static tc_status finish(struct tc_arena *arena, struct tb_spec *out, struct tc_error *err) {
  struct tb_options *o = &out->options;
  if (!*o->suite)
    return tc_fail(err, TC_ARG, "command line", "suite=NAME is missing; `tbench list` shows the suites");
  out->suites = tb_split(arena, o->suite, &out->n_suites);
  if (!out->suites) return tc_fail_memory(err, "command line");
  for (int i = 0; i < out->n_suites; i++)
    if (!*out->suites[i]) return tc_fail(err, TC_ARG, "command line", "suite=%s has an empty name", o->suite);
  const tc_status status = tb_plugins_parse(arena, o->plugin, &out->plugins, err);
  if (status) return status;
  struct tb_counter_selection
      counter_selection; /* tried now, so that a wrong one is told before anything runs */
  return *o->counters ? tb_counter_selection_parse(arena, o->counters, &counter_selection, err) : TC_OK;
}

tc_status tb_spec_parse(struct tc_arena *arena, const struct tb_args *args, struct tb_spec *out,
                        struct tc_error *err) {
  *out = (struct tb_spec){.options = {
#define TB_OPTION(field, name, type, dflt, use, words, takes, help) .field = dflt,
#include "harness/plan/options.def"
#undef TB_OPTION
                          }};
  if (args->words.len)
    return tc_fail(err, TC_ARG, "command line", "'%s': write name=value, as suite=%s", args->words.data[0],
                   args->words.data[0]);
  for (size_t i = 0; i < args->named.len; i++) {
    const tc_status status = add_arg(arena, out, &args->named.data[i], err);
    if (status) return status;
  }
  const tc_status status = check_bounds(args, &out->options, err);
  if (status) return status;
  if (out->options.quick && !tb_args_value(args, "replicates")) out->options.replicates = 1;
  return finish(arena, out, err);
}
