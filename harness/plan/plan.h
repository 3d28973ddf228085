/* Cases, and the order in which they are measured.
 *
 * Ownership: everything is in the arena of the plan's maker. A case is immutable. */
#ifndef TB_PLAN_H
#define TB_PLAN_H

#include "base/config.h"
#include "harness/plan/spec.h"
#include "harness/plan/suite.h"
#include "results/stats/random.h"

enum { TB_CASES_MAX = 50000 /* of one plan */ };

struct tb_param {
  const char *name;
  struct tb_value value;
};
struct tb_setting {
  const char *name, *value;
};

struct tb_case {
  const char *id; /* "mlp/mlp/inductor/default/cpu/f32/b8/machine/t2", then ";name=value" sorted by name */
  const char *suite, *workload, *backend, *mode, *device, *dtype;
  bool has_batch;
  long long batch;
  struct tb_param *params; /* the suite's other axes, sorted by name */
  int n_params;
  const char *topology;
  bool smt;
  int threads;
  struct tb_setting
      *switches; /* that can change what is measured, and are not at their default; sorted by name */
  int n_switches;
  const struct tb_suite *description; /* NULL in a case that was read from a result */
  const struct tb_place *place;       /* likewise */
  const char *arm;                    /* of tbench ab (arms.h): "base", "head", …; NULL: there are none */
  const char *pair;                   /* equal for the arms of one case: its id without them; NULL: no arms */
  const char
      *peer; /* file of the adapter, where the backend is a peer's (peer.h); NULL: it is one of tbench */
  const char *program;     /* that its compiled workers run; NULL: this one */
  const char *selection;   /* why it is timed (selection.h); NULL: all are */
  struct tc_config config; /* with the switches */
  int group;               /* cases that share one baseline worker */
};

struct tb_plan {
  TC_VEC(struct tb_case) cases;
  int n_groups; /* numbered from 0 in the order of the cases */
};

/* All cases of the suites (in the order of spec->suites), each once. `base` holds defaults and environment.
 * TC_LIMIT: too many; TC_ARG for an axis that no suite has, a value of the wrong type, an unknown workload, a
 * topology the machine lacks. */
tc_status tb_plan_make(struct tc_arena *arena, const struct tb_spec *spec, const struct tb_suite *suites,
                       struct tb_topology *topology, const struct tc_config *base, struct tb_plan *out,
                       struct tc_error *err);
/* Order of groups for a replicate: a permutation drawn from the seed, into order[n_groups]. */
void tb_plan_order(const struct tb_plan *plan, uint64_t seed, int replicate, int *order);
/* Sets switches and id of a case from its other fields. *group_key: equal for cases that one baseline can
 * serve. In the arena. */
tc_status tb_case_name(struct tc_arena *arena, struct tb_case *kase, const char **group_key,
                       struct tc_error *err);
/* What a human calls a case: "mlp b64 default". In the arena; "" when memory is out. */
const char *tb_case_label(struct tc_arena *arena, const struct tb_case *kase);

#endif
