/* A set of switches as one text, as a suite's `switches` lists them: "name=value name=value", with blanks; ""
 * is the empty set. */
#ifndef TB_SWITCH_SET_H
#define TB_SWITCH_SET_H

#include "base/arena.h"
#include "base/config.h"
#include "base/error.h"

/* Sets them one after another; their texts are kept in the arena. TC_ARG: a word that is no name=value, no
 * switch, or a value that the switch does not take; and a switch that makes no other case (where things lie,
 * what is told). */
tc_status tb_switch_set_apply(struct tc_arena *arena, const char *set, struct tc_config *config,
                              struct tc_error *err);

#endif
