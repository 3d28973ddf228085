/* The product of all axes, as cases. Invariants:
 * 1. Two cases never have the same id; an id says everything that makes a case different from another.
 * 2. Cases with one group differ in backend and mode alone, so that one baseline serves them.
 * The product is an odometer over dimensions (backend and mode turn fastest): to add an axis, add a dimension. */
#include "harness/plan.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "harness/index.h"

static const double exact_max = 9007199254740992.0 - 1; /* larger whole numbers are not all doubles */

struct dimension { const char *name; struct tb_value *values; int count; int at; };

struct maker {
  struct tc_arena *arena;
  const struct tb_spec *spec;
  struct tb_topology *topology;
  const struct tc_config *base;
  struct tb_plan *plan;
  struct tb_index ids, group_keys; /* numbered as cases and groups are */
  struct tc_error *err;
};

static tc_status no_memory(struct tc_error *err) { return tc_fail(err, TC_NOMEM, "plan", "out of memory"); }

/* --- values of each dimension --- */

static tc_status parse_values(struct maker *m, const struct tb_values *given, enum tb_value_kind kind, const char *example, struct dimension *out) {
  out->name = given->name;
  out->values = tc_arena_bytes(m->arena, sizeof *out->values * (size_t)given->count);
  if (!out->values) return no_memory(m->err);
  for (int i = 0; i < given->count; i++)
    if (!tb_value_parse(m->arena, kind, given->values[i], &out->values[i]))
      return tc_fail(m->err, TC_ARG, "plan", "%s=%s: this axis takes %s, as %s=%s", given->name, given->values[i], tb_value_kind_name(kind), given->name, example);
  out->count = given->count;
  return TC_OK;
}

static const struct tb_suite_axis *find_axis(const struct tb_suite *suite, const char *name) {
  for (int i = 0; i < suite->n_axes; i++)
    if (tb_name_equal(suite->axes[i].name, name)) return &suite->axes[i];
  return NULL;
}

static const struct tb_values *find_given(const struct tb_spec *spec, const char *name) {
  for (size_t i = 0; i < spec->suite_axes.len; i++)
    if (tb_name_equal(spec->suite_axes.data[i].name, name)) return &spec->suite_axes.data[i];
  return NULL;
}

static bool is_shared(const char *name) {
  for (int i = 0; i < TB_AXIS_COUNT; i++)
    if (!strcmp(tb_axis_row(i)->name, name)) return true;
  return false;
}

static tc_status texts_dimension(struct maker *m, const char *name, const char **texts, int count, struct dimension *out) {
  const struct tb_values values = {name, texts, count};
  return parse_values(m, &values, TB_VALUE_TEXT, "", out);
}

/* Command line, else the suite's own list, else the default of axis.def ("" stands for one value that is chosen later). */
static tc_status shared_dimension(struct maker *m, const struct tb_suite *suite, enum tb_axis_id id, const char **own, int n_own, struct dimension *out) {
  const struct tb_axis_row *row = tb_axis_row(id);
  const struct tb_values *given = &m->spec->axes[id];
  if (given->count) return texts_dimension(m, row->name, given->values, given->count, out);
  const struct tb_suite_axis *axis = find_axis(suite, row->name);
  if (axis) return *out = (struct dimension){axis->name, axis->values, axis->count, 0}, TC_OK;
  if (n_own) return texts_dimension(m, row->name, own, n_own, out);
  struct tb_value *only = tc_arena_bytes(m->arena, sizeof *only);
  if (!only) return no_memory(m->err);
  *only = (struct tb_value){TB_VALUE_TEXT, row->default_text, 0};
  *out = (struct dimension){row->name, only, 1, 0};
  return TC_OK;
}

static tc_status workload_dimension(struct maker *m, const struct tb_suite *suite, struct dimension *out) {
  const struct tb_values *given = &m->spec->axes[TB_AXIS_WORKLOAD];
  int count = 0;
  const char **chosen = tc_arena_bytes(m->arena, sizeof *chosen * (size_t)(given->count + 1));
  if (!chosen) return no_memory(m->err);
  for (int i = 0; i < given->count; i++)
    for (int w = 0; w < suite->n_workloads; w++)
      if (!strcmp(suite->workloads[w], given->values[i])) chosen[count++] = suite->workloads[w];
  return given->count ? texts_dimension(m, "workload", chosen, count, out) : texts_dimension(m, "workload", suite->workloads, suite->n_workloads, out);
}

static const char *example_of(struct tc_arena *arena, const struct tb_suite_axis *axis) {
  const char *text = tb_format(arena, "%s%s%s", axis->values[0].text, axis->count > 1 ? "," : "", axis->count > 1 ? axis->values[1].text : "");
  return text ? text : "";
}

static tc_status own_dimension(struct maker *m, const struct tb_suite_axis *axis, struct dimension *out) {
  const struct tb_values *given = find_given(m->spec, axis->name);
  if (!given) return *out = (struct dimension){axis->name, axis->values, axis->count, 0}, TC_OK;
  const tc_status status = parse_values(m, given, axis->values[0].kind, example_of(m->arena, axis), out);
  out->name = axis->name;
  for (int i = 0; !status && i < out->count; i++) {
    const struct tb_value *value = &out->values[i];
    const bool whole = value->number >= 1 && value->number <= exact_max && value->number == floor(value->number);
    if (!strcmp(axis->name, "batch") && !whole) return tc_fail(m->err, TC_ARG, "plan", "batch=%s: use whole numbers of 1 or more, below 2^53", value->text);
    if (value->kind == TB_VALUE_TEXT && !tb_value_is_word(value->text))
      return tc_fail(m->err, TC_ARG, "plan", "%s: a value may not hold ; / = or what cannot be printed", axis->name);
  }
  return status;
}

/* --- one case --- */

struct cursor {
  struct dimension *dims;
  int n_dims, n_own, n_switches; /* shared dimensions first, by enum tb_axis_id; then the suite's, then switches */
};

static const struct tb_value *value_of(const struct cursor *c, int dimension) { return &c->dims[dimension].values[c->dims[dimension].at]; }
static const char *text_of(const struct cursor *c, enum tb_axis_id axis) { return value_of(c, axis)->text; }

static tc_status read_threads(struct maker *m, const char *text, int *threads) {
  long long whole = 0;
  if (*text && (!tb_whole_parse(text, &whole) || whole < 1 || whole > CPU_SETSIZE))
    return tc_fail(m->err, TC_ARG, "plan", "threads=%s: use a whole number from 1 to %d", text, CPU_SETSIZE);
  *threads = (int)whole;
  return TC_OK;
}

static tc_status set_place(struct maker *m, const struct cursor *c, struct tb_case *out) {
  int threads = 0;
  struct tb_place *place = tc_arena_bytes(m->arena, sizeof *place);
  if (!place) return no_memory(m->err);
  tc_status status = read_threads(m, text_of(c, TB_AXIS_THREADS), &threads);
  if (status) return status;
  out->smt = strcmp(text_of(c, TB_AXIS_SMT), "off") != 0;
  status = tb_topology_place(m->topology, m->arena, text_of(c, TB_AXIS_TOPOLOGY), out->smt, threads, place, m->err);
  out->place = place;
  out->topology = place->text;
  out->threads = place->threads;
  return status;
}

static tc_status set_params(struct maker *m, const struct cursor *c, struct tb_case *out) {
  out->params = tc_arena_bytes(m->arena, sizeof *out->params * (size_t)(c->n_own + 1));
  if (!out->params) return no_memory(m->err);
  for (int i = TB_AXIS_COUNT; i < TB_AXIS_COUNT + c->n_own; i++) {
    const struct tb_value *value = value_of(c, i);
    if (!strcmp(c->dims[i].name, "batch")) {
      out->has_batch = true;
      out->batch = (long long)value->number;
    } else {
      out->params[out->n_params++] = (struct tb_param){c->dims[i].name, *value};
    }
  }
  return TC_OK;
}

static int by_name(const void *a, const void *b) { return strcmp(((const struct tb_setting *)a)->name, ((const struct tb_setting *)b)->name); }

static tc_status set_switches(struct maker *m, const struct cursor *c, struct tb_case *out) {
  out->config = *m->base;
  for (int i = TB_AXIS_COUNT + c->n_own; i < c->n_dims; i++) {
    const tc_status status = tc_config_set(&out->config, c->dims[i].name, value_of(c, i)->text, m->err);
    if (status) return status;
  }
  out->switches = tc_arena_bytes(m->arena, sizeof *out->switches * (size_t)tc_config_count());
  if (!out->switches) return no_memory(m->err);
  for (int i = 0; i < tc_config_count(); i++) {
    if (tc_config_is_default(&out->config, i)) continue;
    struct tc_strbuf text;
    tc_strbuf_init(&text, tc_arena_alloc(m->arena));
    tc_config_get(&out->config, i, &text);
    const struct tb_setting setting = {tc_config_row(i)->name, tc_strbuf_text(&text)};
    if (!setting.value) return no_memory(m->err);
    out->switches[out->n_switches++] = setting;
  }
  qsort(out->switches, (size_t)out->n_switches, sizeof *out->switches, by_name);
  return TC_OK;
}

/* ";name=value" of parameters, smt and switches, sorted by name. */
static const char *id_tail(struct tc_arena *arena, const struct tb_case *kase) {
  const int most = kase->n_params + kase->n_switches + 1;
  struct tb_setting *all = tc_arena_bytes(arena, sizeof *all * (size_t)most);
  int count = 0;
  if (!all) return NULL;
  for (int i = 0; i < kase->n_params; i++) all[count++] = (struct tb_setting){kase->params[i].name, kase->params[i].value.text};
  for (int i = 0; i < kase->n_switches; i++) all[count++] = kase->switches[i];
  if (!kase->smt) all[count++] = (struct tb_setting){"smt", "off"};
  qsort(all, (size_t)count, sizeof *all, by_name);
  const char *tail = "";
  for (int i = 0; i < count && tail; i++) tail = tb_format(arena, "%s;%s=%s", tail, all[i].name, all[i].value);
  return tail;
}

static tc_status set_id(struct maker *m, struct tb_case *kase, const char **group_key) {
  const char *batch = kase->has_batch ? tb_format(m->arena, "b%lld", kase->batch) : "-", *tail = id_tail(m->arena, kase);
  if (!batch || !tail) return no_memory(m->err);
  const char *rest = tb_format(m->arena, "%s/%s/%s/%s/t%d%s", kase->device, kase->dtype, batch, kase->topology, kase->threads, tail);
  kase->id = tb_format(m->arena, "%s/%s/%s/%s/%s", kase->suite, kase->workload, kase->backend, kase->mode, rest);
  *group_key = tb_format(m->arena, "%s/%s/%s", kase->suite, kase->workload, rest);
  return rest && kase->id && *group_key ? TC_OK : no_memory(m->err);
}

static tc_status add_case(struct maker *m, struct tb_case *kase, const char *group_key) {
  int number;
  if (!tb_index_add(&m->ids, kase->id, &number)) return no_memory(m->err);
  if (number < (int)m->plan->cases.len) return TC_OK; /* it is there */
  if (!tb_index_add(&m->group_keys, group_key, &kase->group)) return no_memory(m->err);
  m->plan->n_groups = m->group_keys.count;
  return tc_vec_push(tc_arena_alloc(m->arena), &m->plan->cases, *kase) ? TC_OK : no_memory(m->err);
}

static tc_status make_case(struct maker *m, const struct tb_suite *suite, const struct cursor *c) {
  struct tb_case kase = {.suite = suite->name, .description = suite};
  kase.workload = text_of(c, TB_AXIS_WORKLOAD);
  kase.backend = text_of(c, TB_AXIS_BACKEND);
  kase.dtype = text_of(c, TB_AXIS_DTYPE);
  kase.device = *text_of(c, TB_AXIS_DEVICE) ? text_of(c, TB_AXIS_DEVICE) : "cpu";
  const bool has_modes = !strcmp(kase.backend, "inductor") && *text_of(c, TB_AXIS_MODE); /* modes are inductor's */
  kase.mode = has_modes ? text_of(c, TB_AXIS_MODE) : "default";
  const char *group_key = NULL;
  tc_status status = set_place(m, c, &kase);
  if (!status) status = set_params(m, c, &kase);
  if (!status) status = set_switches(m, c, &kase);
  if (!status) status = set_id(m, &kase, &group_key);
  return status ? status : add_case(m, &kase, group_key);
}

/* --- all cases of a suite --- */

/* Dimensions that make a new group come first in the order of turning; backend and mode turn fastest. */
static bool turn(struct cursor *c) {
  static const int fastest[] = {TB_AXIS_MODE, TB_AXIS_BACKEND};
  enum { N_FASTEST = sizeof fastest / sizeof *fastest };
  for (int i = 0; i < N_FASTEST + c->n_dims; i++) {
    const int d = i < N_FASTEST ? fastest[i] : c->n_dims - 1 - (i - N_FASTEST);
    if (i >= N_FASTEST && (d == TB_AXIS_MODE || d == TB_AXIS_BACKEND)) continue;
    if (++c->dims[d].at < c->dims[d].count) return true;
    c->dims[d].at = 0;
  }
  return false;
}

static tc_status fill_dimensions(struct maker *m, const struct tb_suite *suite, struct cursor *c) {
  tc_status status = workload_dimension(m, suite, &c->dims[TB_AXIS_WORKLOAD]);
  for (int id = 0; !status && id < TB_AXIS_COUNT; id++) {
    if (id == TB_AXIS_WORKLOAD) continue;
    const bool modes = id == TB_AXIS_MODE, devices = id == TB_AXIS_DEVICE;
    const char **own = modes ? suite->modes : devices ? suite->devices : NULL;
    status = shared_dimension(m, suite, id, own, modes ? suite->n_modes : devices ? suite->n_devices : 0, &c->dims[id]);
  }
  for (int i = 0; !status && i < suite->n_axes; i++) {
    if (is_shared(suite->axes[i].name)) continue;
    status = own_dimension(m, &suite->axes[i], &c->dims[TB_AXIS_COUNT + c->n_own]);
    c->n_own++;
  }
  c->n_dims = TB_AXIS_COUNT + c->n_own;
  for (size_t i = 0; !status && i < m->spec->switches.len; i++)
    status = parse_values(m, &m->spec->switches.data[i], TB_VALUE_TEXT, "", &c->dims[c->n_dims++]);
  return status;
}

/* Modes are inductor's: one that is asked for and could not act in any case is refused. */
static tc_status check_modes(struct maker *m, const struct dimension *backends) {
  const struct tb_values *modes = &m->spec->axes[TB_AXIS_MODE];
  for (int i = 0; i < backends->count; i++)
    if (!strcmp(backends->values[i].text, "inductor")) return TC_OK;
  for (int i = 0; i < modes->count; i++)
    if (strcmp(modes->values[i], "default"))
      return tc_fail(m->err, TC_ARG, "plan", "mode=%s: modes are those of backend=inductor; backend=%s has none", modes->values[i], backends->values[0].text);
  return TC_OK;
}

static tc_status add_suite(struct maker *m, const struct tb_suite *suite) {
  struct cursor c = {0};
  const size_t most = TB_AXIS_COUNT + (size_t)suite->n_axes + m->spec->switches.len;
  c.dims = tc_arena_bytes(m->arena, sizeof *c.dims * most);
  if (!c.dims) return no_memory(m->err);
  memset(c.dims, 0, sizeof *c.dims * most);
  tc_status status = fill_dimensions(m, suite, &c);
  if (!status) status = check_modes(m, &c.dims[TB_AXIS_BACKEND]);
  size_t product = 1;
  for (int i = 0; i < c.n_dims && !status; i++) {
    if (!c.dims[i].count) return TC_OK; /* none of the workloads asked for is this suite's */
    product *= (size_t)c.dims[i].count;
    if (m->plan->cases.len + product > TB_CASES_MAX) status = tc_fail(m->err, TC_LIMIT, "plan", "more than %d cases: name fewer values, or fewer suites", TB_CASES_MAX);
  }
  if (status) return status;
  do status = make_case(m, suite, &c);
  while (!status && turn(&c));
  return status;
}

/* --- names that no suite has --- */

static tc_status check_axis_names(struct maker *m, const struct tb_suite *suites) {
  for (size_t i = 0; i < m->spec->suite_axes.len; i++) {
    const char *name = m->spec->suite_axes.data[i].name, *known = "";
    bool found = false;
    struct tb_nearest nearest = tb_nearest_to(name);
    tb_spec_offer_names(&nearest);
    for (int s = 0; s < m->spec->n_suites; s++) {
      found |= find_axis(&suites[s], name) != NULL;
      for (int a = 0; a < suites[s].n_axes && known; a++) {
        tb_nearest_offer(&nearest, suites[s].axes[a].name);
        known = tb_format(m->arena, "%s%s%s", known, *known ? ", " : "", suites[s].axes[a].name);
      }
    }
    if (found) continue;
    const char *hint = tb_nearest_hint(m->arena, &nearest);
    const char *list = tb_format(m->arena, "; axes of suite %s: %s; `tbench help run` has the rest", m->spec->options.suite, known && *known ? known : "none");
    return tc_fail(m->err, TC_ARG, "plan", "unknown name '%s'%s%s", name, hint, *hint || !list ? "" : list);
  }
  return TC_OK;
}

static tc_status check_workload_names(struct maker *m, const struct tb_suite *suites) {
  const struct tb_values *given = &m->spec->axes[TB_AXIS_WORKLOAD];
  for (int i = 0; i < given->count; i++) {
    bool found = false;
    const char *known = "";
    struct tb_nearest nearest = tb_nearest_to(given->values[i]);
    for (int s = 0; s < m->spec->n_suites; s++)
      for (int w = 0; w < suites[s].n_workloads && known; w++) {
        found |= !strcmp(suites[s].workloads[w], given->values[i]);
        tb_nearest_offer(&nearest, suites[s].workloads[w]);
        known = tb_format(m->arena, "%s%s%s", known, *known ? ", " : "", suites[s].workloads[w]);
      }
    if (found) continue;
    const char *hint = tb_nearest_hint(m->arena, &nearest);
    return tc_fail(m->err, TC_ARG, "plan", "workload=%s: unknown%s%s", given->values[i], hint,
                   *hint || !known ? "" : tb_format(m->arena, "; workloads: %s", known));
  }
  return TC_OK;
}

tc_status tb_plan_make(struct tc_arena *arena, const struct tb_spec *spec, const struct tb_suite *suites, struct tb_topology *topology,
                       const struct tc_config *base, struct tb_plan *out, struct tc_error *err) {
  *out = (struct tb_plan){.n_groups = 0};
  struct maker m = {.arena = arena, .spec = spec, .topology = topology, .base = base, .plan = out, .err = err, .ids.arena = arena, .group_keys.arena = arena};
  tc_status status = check_axis_names(&m, suites);
  if (!status) status = check_workload_names(&m, suites);
  for (int s = 0; !status && s < spec->n_suites; s++) status = add_suite(&m, &suites[s]);
  return status;
}

void tb_plan_order(const struct tb_plan *plan, uint64_t seed, int replicate, int *order) {
  struct tb_random random = {seed + (uint64_t)replicate};
  tb_random_next(&random); /* neighbouring seeds start far apart */
  for (int i = 0; i < plan->n_groups; i++) order[i] = i;
  tb_random_shuffle(&random, order, plan->n_groups);
}

const char *tb_case_label(struct tc_arena *arena, const struct tb_case *kase) {
  const char *batch = kase->has_batch ? tb_format(arena, " b%lld", kase->batch) : "";
  const char *workload = strcmp(kase->suite, kase->workload) ? tb_format(arena, ".%s", kase->workload) : "";
  const char *backend = strcmp(kase->backend, "inductor") ? kase->backend : kase->mode;
  const char *label = batch && workload ? tb_format(arena, "%s%s%s %s", kase->suite, workload, batch, backend) : NULL;
  return label ? label : "";
}
