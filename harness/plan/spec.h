/* What a command line asks for, before any suite is known: options, axes and switches, with their texts.
 *
 * Ownership: texts in the arena or argv. A name that is no option, no shared axis and no switch is kept as an
 * axis of a suite; the plan rejects it when no suite has it. */
#ifndef TB_SPEC_H
#define TB_SPEC_H

#include "harness/base/args.h"
#include "harness/wire/plugins.h"

enum tb_axis_id {
#define TB_AXIS(FIELD, name, dflt, choices, takes, help) TB_AXIS_##FIELD,
#include "harness/plan/axis.def"
#undef TB_AXIS
  TB_AXIS_COUNT
};
struct tb_axis_row {
  const char *name, *default_text, *choices, *takes, *help;
};
const struct tb_axis_row *tb_axis_row(enum tb_axis_id axis);

enum tb_option_type { TB_OPTION_TEXT, TB_OPTION_INT, TB_OPTION_SHARE, TB_OPTION_FLAG };
enum tb_option_use {
  TB_OPTION_PLANS,
  TB_OPTION_WRITES,
  TB_OPTION_MEASURES,
  TB_OPTION_REPEATS,
  TB_OPTION_EXPLAINS
};
struct tb_option_row {
  const char *name, *default_text, *default_words, *takes, *help;
  enum tb_option_type type;
  enum tb_option_use use;
};
int tb_option_count(void);
const struct tb_option_row *tb_option_row(int index);
/* Does run alone take it, of run and explain? */
bool tb_option_measures(const struct tb_option_row *row);
/* As a person writes it: "no", "5", "the suite's, or 60"; "" where there is none. */
const char *tb_option_default(const struct tb_option_row *row);
/* For tb_args_parse: options of type FLAG and switches that are on or off; `names` is not read. */
bool tb_option_alone(const void *names, const char *name, const char *next);

struct tb_options {
#define TB_OPTION_CTYPE_TEXT                                        const char *
#define TB_OPTION_CTYPE_INT                                         long long
#define TB_OPTION_CTYPE_SHARE                                       double /* 0.005 for 0.5% */
#define TB_OPTION_CTYPE_FLAG                                        bool
#define TB_OPTION(field, name, type, dflt, use, words, takes, help) TB_OPTION_CTYPE_##type field;
#include "harness/plan/options.def"
#undef TB_OPTION
};

struct tb_values {
  const char *name;
  const char **values;
  int count;
};

struct tb_spec {
  struct tb_options options;
  const char *measuring,
      *explaining;     /* the first option given that run, that explain alone takes; NULL: none */
  const char **suites; /* options.suite, split */
  int n_suites;
  struct tb_plugins plugins;            /* options.plugin, split */
  struct tb_values axes[TB_AXIS_COUNT]; /* count 0: not given */
  TC_VEC(struct tb_values) suite_axes;  /* names that a suite must know */
  TC_VEC(struct tb_values) switches;    /* by their names in config.def */
};

/* TC_ARG with the nearest name for what is unknown or wrong. */
tc_status tb_spec_parse(struct tc_arena *arena, const struct tb_args *args, struct tb_spec *out,
                        struct tc_error *err);

/* Offers every option, shared axis and switch to a search for a mistyped name. */
void tb_spec_offer_names(struct tb_nearest *nearest);

#endif
