/* The product of all axes, as cases. Invariants:
 * 1. Two cases never have the same id; an id says everything that makes a case different from another.
 * 2. Cases with one group differ in backend and mode alone, so that one baseline serves them.
 * The product is an odometer over dimensions (backend and mode turn fastest): to add an axis, add a
 * dimension. */
#include "harness/plan/plan.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/index.h"
#include "harness/plan/dimension.h"
#include "harness/plan/peer.h"
#include "harness/plan/switch_set.h"

struct maker {
  struct tc_arena *arena;
  const struct tb_spec *spec;
  struct tb_topology *topology;
  const struct tc_config *base;
  struct tb_plan *plan;
  struct tb_index ids, group_keys; /* numbered as cases and groups are */
  struct tc_error *err;
};

/* --- one case --- */

static const struct tb_value *value_of(const struct tb_dimensions *d, int dimension) {
  return &d->all[dimension].values[d->all[dimension].at];
}
static const char *text_of(const struct tb_dimensions *d, enum tb_axis_id axis) {
  return value_of(d, axis)->text;
}

static tc_status read_threads(struct maker *m, const char *text, int *threads) {
  long long whole = 0;
  if (*text && (!tb_whole_parse(text, &whole) || whole < 1 || whole > CPU_SETSIZE))
    return tc_fail(m->err, TC_ARG, "plan", "threads=%s: use a whole number from 1 to %d", text, CPU_SETSIZE);
  *threads = (int)whole;
  return TC_OK;
}

static tc_status set_place(struct maker *m, const struct tb_dimensions *d, struct tb_case *out) {
  int threads = 0;
  struct tb_place *place = tc_arena_bytes(m->arena, sizeof *place);
  if (!place) return tc_fail_memory(m->err, "plan");
  tc_status status = read_threads(m, text_of(d, TB_AXIS_THREADS), &threads);
  if (status) return status;
  out->smt = strcmp(text_of(d, TB_AXIS_SMT), "off") != 0;
  status = tb_topology_place(m->topology, m->arena, text_of(d, TB_AXIS_TOPOLOGY), out->smt, threads, place,
                             m->err);
  out->place = place;
  out->topology = place->text;
  out->threads = place->threads;
  return status;
}

static tc_status set_params(struct maker *m, const struct tb_dimensions *d, struct tb_case *out) {
  out->params = tc_arena_bytes(m->arena, sizeof *out->params * (size_t)(d->n_own + 1));
  if (!out->params) return tc_fail_memory(m->err, "plan");
  for (int i = TB_AXIS_COUNT; i < TB_AXIS_COUNT + d->n_own; i++) {
    const struct tb_value *value = value_of(d, i);
    if (!strcmp(d->all[i].name, "batch")) {
      out->has_batch = true;
      out->batch = (long long)value->number;
    } else {
      out->params[out->n_params++] = (struct tb_param){d->all[i].name, *value};
    }
  }
  return TC_OK;
}

/* Where parameters are sorted by name. set_params has left room for one. */
static tc_status add_again(struct maker *m, double number, struct tb_case *out) {
  const struct tb_param again = {TB_AGAIN, {TB_VALUE_NUMBER, tb_format(m->arena, "%.0f", number), number}};
  int at = out->n_params++;
  if (!again.value.text) return tc_fail_memory(m->err, "plan");
  for (; at > 0 && strcmp(out->params[at - 1].name, again.name) > 0; at--)
    out->params[at] = out->params[at - 1];
  out->params[at] = again;
  return TC_OK;
}

static tc_status set_switches(struct maker *m, const struct tb_dimensions *d, struct tb_case *out) {
  out->config = *m->base;
  for (int i = TB_AXIS_COUNT + d->n_own; i < d->count; i++) {
    const char *name = d->all[i].name, *text = value_of(d, i)->text;
    const double before = name ? 0 : value_of(d, i)->number;
    tc_status status = name ? tc_config_set(&out->config, name, text, m->err)
                            : tb_switch_set_apply(m->arena, text, &out->config, m->err);
    if (!status && before > 0) status = add_again(m, before, out);
    if (status) return status;
  }
  return TC_OK;
}

static tc_status add_case(struct maker *m, struct tb_case *kase, const char *group_key) {
  int number;
  if (!tb_index_add(&m->ids, kase->id, &number)) return tc_fail_memory(m->err, "plan");
  if (number < (int)m->plan->cases.len) return TC_OK; /* it is there */
  if (!tb_index_add(&m->group_keys, group_key, &kase->group)) return tc_fail_memory(m->err, "plan");
  m->plan->n_groups = (int)m->group_keys.texts.len;
  return tc_vec_push(tc_arena_alloc(m->arena), &m->plan->cases, *kase) ? TC_OK
                                                                       : tc_fail_memory(m->err, "plan");
}

static tc_status make_case(struct maker *m, const struct tb_suite *suite, const struct tb_dimensions *d) {
  struct tb_case kase = {.suite = suite->name, .description = suite};
  kase.workload = text_of(d, TB_AXIS_WORKLOAD);
  tc_status status = tb_peer_set_backend(m->arena, text_of(d, TB_AXIS_BACKEND), &kase, m->err);
  kase.dtype = text_of(d, TB_AXIS_DTYPE);
  kase.device = *text_of(d, TB_AXIS_DEVICE) ? text_of(d, TB_AXIS_DEVICE) : "cpu";
  const bool inductor = !strcmp(kase.backend, "inductor"),
             has_modes = inductor && *text_of(d, TB_AXIS_MODE); /* modes are inductor's */
  if (!status && inductor && !tb_mode_is_of(m->spec, suite, kase.workload, text_of(d, TB_AXIS_MODE)))
    return TC_OK;
  kase.mode = has_modes ? text_of(d, TB_AXIS_MODE) : "default";
  const char *group_key = NULL;
  if (!status) status = set_place(m, d, &kase);
  if (!status) status = set_params(m, d, &kase);
  if (!status) status = set_switches(m, d, &kase);
  if (!status) status = tb_case_name(m->arena, &kase, &group_key, m->err);
  return status ? status : add_case(m, &kase, group_key);
}

/* --- all cases of a suite --- */

/* Dimensions that make a new group come first in the order of turning; backend and mode turn fastest. */
static bool turn(struct tb_dimensions *d) {
  static const int fastest[] = {TB_AXIS_MODE, TB_AXIS_BACKEND};
  enum { N_FASTEST = sizeof fastest / sizeof *fastest };
  for (int i = 0; i < N_FASTEST + d->count; i++) {
    const int at = i < N_FASTEST ? fastest[i] : d->count - 1 - (i - N_FASTEST);
    if (i >= N_FASTEST && (at == TB_AXIS_MODE || at == TB_AXIS_BACKEND)) continue;
    if (++d->all[at].at < d->all[at].count) return true;
    d->all[at].at = 0;
  }
  return false;
}

static tc_status add_suite(struct maker *m, const struct tb_suite *suite) {
  struct tb_dimensions d;
  tc_status status = tb_dimensions_make(m->arena, m->spec, suite, &d, m->err);
  size_t product = 1;
  for (int i = 0; i < d.count && !status; i++) {
    if (!d.all[i].count) return TC_OK; /* none of the workloads asked for is this suite's */
    product *= (size_t)d.all[i].count;
    if (m->plan->cases.len + product > TB_CASES_MAX)
      status = tc_fail(m->err, TC_LIMIT, "plan", "more than %d cases: name fewer values, or fewer suites",
                       TB_CASES_MAX);
  }
  if (status) return status;
  do status = make_case(m, suite, &d);
  while (!status && turn(&d));
  return status;
}

tc_status tb_plan_make(struct tc_arena *arena, const struct tb_spec *spec, const struct tb_suite *suites,
                       struct tb_topology *topology, const struct tc_config *base, struct tb_plan *out,
                       struct tc_error *err) {
  *out = (struct tb_plan){.n_groups = 0};
  struct maker m = {.arena = arena,
                    .spec = spec,
                    .topology = topology,
                    .base = base,
                    .plan = out,
                    .err = err,
                    .ids.arena = arena,
                    .group_keys.arena = arena};
  tc_status status = tb_names_check(arena, spec, suites, err);
  for (int s = 0; !status && s < spec->n_suites; s++) status = add_suite(&m, &suites[s]);
  return status;
}

void tb_plan_order(const struct tb_plan *plan, uint64_t seed, int replicate, int *order) {
  struct tb_random random = {seed + (uint64_t)replicate};
  tb_random_next(&random); /* neighbouring seeds start far apart */
  for (int i = 0; i < plan->n_groups; i++) order[i] = i;
  tb_random_shuffle(&random, order, plan->n_groups);
}
