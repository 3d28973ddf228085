/* The two sides of `tbench ab`: a program each, or a set of switches each, or both.
 *
 *     base=PROGRAM head=PROGRAM          a tbench each ("self", the default: this one)
 *     base.NAME=VALUE head.NAME=VALUE    a switch of the compiler, or mode or backend
 *
 * Each case of the plan becomes one case a side, in one group of its own: the workers of all sides take turns
 * in the same rounds, behind one baseline. Ownership: texts in the arena or argv. */
#ifndef TB_SIDE_H
#define TB_SIDE_H

#include "harness/base/args.h"
#include "harness/plan/plan.h"

enum tb_side_id { TB_SIDE_BASE, TB_SIDE_HEAD, TB_SIDE_COUNT };
/* "base", "head". */
const char *tb_side_name(enum tb_side_id side);

struct tb_side {
  bool given;                     /* its program was named */
  const char *program;            /* path; NULL: this program */
  TC_VEC(struct tb_arg) settings; /* without "base." */
};

struct tb_sides {
  struct tb_side side[TB_SIDE_COUNT];
  TC_VEC(struct tb_arg) own; /* options of the verb itself (verb_options.def) */
  int argc;                  /* the words that are no side's, as tb_run_open takes them */
  char **argv;
};

/* Value of an option of the verb itself; NULL: not given. */
const char *tb_sides_value(const struct tb_sides *sides, const char *name);
/* A whole number from `least` to `most` of an option of the verb itself; where it was not given, the default
 * of verb_options.def. False, with a line on standard error, where it is none. */
bool tb_sides_whole(const struct tb_sides *sides, const char *verb, const char *name, long long least,
                    long long most, long long *value);
/* `verb`: whose own options are kept apart. TC_ARG: the sides are the same, a program is none, a setting is
 * unknown or wrong. */
tc_status tb_sides_parse(struct tc_arena *arena, const char *verb, int argc, char *const *argv,
                         struct tb_sides *out, struct tc_error *err);
/* Replaces the plan's cases by those of the sides, base first. */
tc_status tb_sides_apply(struct tc_arena *arena, const struct tb_sides *sides, struct tb_plan *plan,
                         struct tc_error *err);

#endif
