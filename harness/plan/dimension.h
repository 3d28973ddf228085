/* The dimensions of a suite's cases: for each axis and switch the values that it takes in this plan, and what
 * is wrong with the names and values that were asked for. */
#ifndef TB_DIMENSION_H
#define TB_DIMENSION_H

#include "harness/plan/spec.h"
#include "harness/plan/suite.h"

/* Parameter of the cases of a set of switches that stands in a suite's list before: 1, 2, …: the same case,
 * measured again. */
#define TB_AGAIN "again"

struct tb_dimension {
  const char *name; /* NULL: values are sets of switches (switch_set.h), their numbers how often each stands
                       before in the list */
  struct tb_value *values;
  int count, at; /* of an odometer over all of them */
};

struct tb_dimensions {
  struct tb_dimension *all; /* shared ones first, by enum tb_axis_id; then the suite's own, then the suite's
                               sets of switches, then switches */
  int count, n_own;
};

/* In the arena. A dimension without values: none of the workloads asked for is this suite's. TC_ARG: a value
 * that its axis does not take, or a mode that could act in no case. */
tc_status tb_dimensions_make(struct tc_arena *arena, const struct tb_spec *spec, const struct tb_suite *suite,
                             struct tb_dimensions *out, struct tc_error *err);
/* Does a plan have the workload in this mode ("": the default)? */
bool tb_mode_is_of(const struct tb_spec *spec, const struct tb_suite *suite, const char *workload,
                   const char *mode);
/* TC_ARG, with the nearest name or all of them: a backend that is neither of tbench nor registered where this
 * suite is loaded. */
tc_status tb_backend_check(struct tc_arena *arena, const struct tb_suite *suite, const char *name,
                           struct tc_error *err);
/* TC_ARG: an axis or a workload that none of the suites (spec->n_suites) has. */
tc_status tb_names_check(struct tc_arena *arena, const struct tb_spec *spec, const struct tb_suite *suites,
                         struct tc_error *err);

#endif
