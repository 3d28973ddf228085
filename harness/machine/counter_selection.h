/* What counters= asks for: none, or several of papi, papi:SET (counters_sets.def) and callgrind, with
 * commas. */
#ifndef TB_COUNTER_SELECTION_H
#define TB_COUNTER_SELECTION_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"

struct tb_counter_selection {
  bool callgrind;   /* instruction counts (callgrind.h) */
  const char *papi; /* names of counters.def, with commas and each once; "": none of them */
};

int tb_counter_set_count(void);
const char *tb_counter_set_name(int index);
const char *tb_counter_set_members(int index);
const char *tb_counter_set_help(int index);

/* In the arena. TC_ARG for a word that is none of these, with the nearest; TC_NOMEM. */
tc_status tb_counter_selection_parse(struct tc_arena *arena, const char *text,
                                     struct tb_counter_selection *out, struct tc_error *err);
/* Whether `name` is among names with commas. */
bool tb_name_listed(const char *name, const char *names);

#endif
