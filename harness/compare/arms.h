/* The two arms of `tbench ab`: a program each, or a set of switches each, or both.
 *
 *     base=PROGRAM head=PROGRAM          a tbench each ("self", the default: this one)
 *     base.NAME=VALUE head.NAME=VALUE    a switch of the compiler, or mode or backend
 *
 * Each case of the plan becomes one case per arm, in one group of its own: the workers of all arms take turns
 * in the same rounds, behind one baseline. Ownership: texts in the arena or argv. */
#ifndef TB_ARMS_H
#define TB_ARMS_H

#include "harness/base/args.h"
#include "harness/plan/plan.h"

enum tb_arm_id { TB_ARM_BASE, TB_ARM_HEAD, TB_ARM_COUNT };
/* "base", "head". */
const char *tb_arm_name(enum tb_arm_id arm);

struct tb_arm {
  bool given;                     /* its program was named */
  const char *program;            /* path; NULL: this program */
  TC_VEC(struct tb_arg) settings; /* without "base." */
};

struct tb_arms {
  struct tb_arm arm[TB_ARM_COUNT];
  TC_VEC(struct tb_arg) own; /* options of the verb itself (verb_options.def) */
  int argc;                  /* the words that are no arm's, as tb_run_open takes them */
  char **argv;
};

/* Value of an option of the verb itself; NULL: not given. */
const char *tb_arms_value(const struct tb_arms *arms, const char *name);
/* A whole number from `least` to `most` of an option of the verb itself; where it was not given, the default
 * of verb_options.def. False, with a line on standard error, where it is none. */
bool tb_arms_whole(const struct tb_arms *arms, const char *verb, const char *name, long long least,
                   long long most, long long *value);
/* `verb`: whose own options are kept apart. TC_ARG: the arms are the same, a program is none, a setting is
 * unknown or wrong. */
tc_status tb_arms_parse(struct tc_arena *arena, const char *verb, int argc, char *const *argv,
                        struct tb_arms *out, struct tc_error *err);
/* Replaces the plan's cases by those of the arms, base first. */
tc_status tb_arms_apply(struct tc_arena *arena, const struct tb_arms *arms, struct tb_plan *plan,
                        struct tc_error *err);

#endif
