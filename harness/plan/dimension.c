/* Values of each dimension. Invariants:
 * 1. The command line wins over the suite, the suite over the defaults of axis.def.
 * 2. No dimension has a value that its axis does not take; a name or workload that nobody has is refused with
 *    the nearest one. */
#include "harness/plan/dimension.h"

#include <math.h>
#include <string.h>

#include "harness/plan/peer.h"

static const double exact_max = 9007199254740992.0 - 1; /* larger whole numbers are not all doubles */

struct maker {
  struct tc_arena *arena;
  const struct tb_spec *spec;
  struct tc_error *err;
};

/* --- searches --- */

/* A name among others, with what to say where it is none of them. */
struct search {
  struct tc_arena *arena;
  const char *name, *all; /* all: NULL when memory is out */
  struct tb_nearest nearest;
  bool found;
};

static struct search search_for(struct tc_arena *arena, const char *name) {
  return (struct search){.arena = arena, .name = name, .all = "", .nearest = tb_nearest_to(name)};
}

static void offer(struct search *s, const char *candidate) {
  s->found |= !strcmp(candidate, s->name);
  tb_nearest_offer(&s->nearest, candidate);
  if (s->all) s->all = tb_format(s->arena, "%s%s%s", s->all, *s->all ? ", " : "", candidate);
}

/* "axis=name: unknown", with the nearest one, or all. */
static tc_status fail_search(const struct search *s, const char *axis, const char *all_are,
                             struct tc_error *err) {
  const char *hint = tb_nearest_hint(s->arena, &s->nearest);
  return *hint || !s->all
             ? tc_fail(err, TC_ARG, "plan", "%s=%s: unknown%s", axis, s->name, hint)
             : tc_fail(err, TC_ARG, "plan", "%s=%s: unknown; %s: %s", axis, s->name, all_are, s->all);
}

/* --- backends --- */

/* Those that are not built are names too: a case of theirs is unsupported, and no mistake. */
static const char *const backends_of_tbench[] = {
#define TC_BACKEND(name, built, help) #name,
#include "backends.def"
#undef TC_BACKEND
};
enum { N_BACKENDS_OF_TBENCH = sizeof backends_of_tbench / sizeof *backends_of_tbench };

static bool is_of_tbench(const char *backend) {
  for (int i = 0; i < N_BACKENDS_OF_TBENCH; i++)
    if (!strcmp(backends_of_tbench[i], backend)) return true;
  return false;
}

tc_status tb_backend_check(struct tc_arena *arena, const struct tb_suite *suite, const char *name,
                           struct tc_error *err) {
  struct search s = search_for(arena, name);
  struct tb_peer peer;
  if (tb_peer_named(name)) return tb_peer_find(arena, name, &peer, err);
  if (!tb_value_is_word(name))
    return tc_fail(err, TC_ARG, "plan", "backend=%s: a name may not hold , ; / = or what cannot be printed",
                   name);
  for (int i = 0; i < N_BACKENDS_OF_TBENCH; i++) offer(&s, backends_of_tbench[i]);
  for (int i = 0; i < suite->n_backends; i++)
    if (!is_of_tbench(suite->backends[i])) offer(&s, suite->backends[i]);
  if (s.found) return TC_OK;
  const char *all_are = tb_format(arena, "backends with suite %s", suite->name);
  return all_are ? fail_search(&s, "backend", all_are, err) : tc_fail_memory(err, "plan");
}

static tc_status check_backends(struct maker *m, const struct tb_suite *suite,
                                const struct tb_dimension *backends) {
  tc_status status = TC_OK;
  for (int i = 0; !status && i < backends->count; i++)
    status = tb_backend_check(m->arena, suite, backends->values[i].text, m->err);
  return status;
}

/* --- values of each dimension --- */

static tc_status parse_values(struct maker *m, const struct tb_values *given, enum tb_value_kind kind,
                              const char *example, struct tb_dimension *out) {
  out->name = given->name;
  out->values = tc_arena_bytes(m->arena, sizeof *out->values * (size_t)given->count);
  if (!out->values) return tc_fail_memory(m->err, "plan");
  for (int i = 0; i < given->count; i++)
    if (!tb_value_parse(m->arena, kind, given->values[i], &out->values[i]))
      return tc_fail(m->err, TC_ARG, "plan", "%s=%s: this axis takes %s, as %s=%s", given->name,
                     given->values[i], tb_value_kind_name(kind), given->name, example);
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

static tc_status texts_dimension(struct maker *m, const char *name, const char **texts, int count,
                                 struct tb_dimension *out) {
  const struct tb_values values = {name, texts, count};
  return parse_values(m, &values, TB_VALUE_TEXT, "", out);
}

/* Command line, else the suite's own list, else the default of axis.def ("" stands for one value that is
 * chosen later). */
static tc_status shared_dimension(struct maker *m, const struct tb_suite *suite, enum tb_axis_id id,
                                  const char **own, int n_own, struct tb_dimension *out) {
  const struct tb_axis_row *row = tb_axis_row(id);
  const struct tb_values *given = &m->spec->axes[id];
  if (given->count) return texts_dimension(m, row->name, given->values, given->count, out);
  const struct tb_suite_axis *axis = find_axis(suite, row->name);
  if (axis) return *out = (struct tb_dimension){axis->name, axis->values, axis->count, 0}, TC_OK;
  if (n_own) return texts_dimension(m, row->name, own, n_own, out);
  struct tb_value *only = tc_arena_bytes(m->arena, sizeof *only);
  if (!only) return tc_fail_memory(m->err, "plan");
  *only = (struct tb_value){TB_VALUE_TEXT, row->default_text, 0};
  *out = (struct tb_dimension){row->name, only, 1, 0};
  return TC_OK;
}

static tc_status workload_dimension(struct maker *m, const struct tb_suite *suite, struct tb_dimension *out) {
  const struct tb_values *given = &m->spec->axes[TB_AXIS_WORKLOAD];
  int count = 0;
  const char **chosen = tc_arena_bytes(m->arena, sizeof *chosen * (size_t)(given->count + 1));
  if (!chosen) return tc_fail_memory(m->err, "plan");
  for (int i = 0; i < given->count; i++)
    for (int w = 0; w < suite->n_workloads; w++)
      if (!strcmp(suite->workloads[w], given->values[i])) chosen[count++] = suite->workloads[w];
  return given->count ? texts_dimension(m, "workload", chosen, count, out)
                      : texts_dimension(m, "workload", suite->workloads, suite->n_workloads, out);
}

static const char *example_of(struct tc_arena *arena, const struct tb_suite_axis *axis) {
  const char *text = tb_format(arena, "%s%s%s", axis->values[0].text, axis->count > 1 ? "," : "",
                               axis->count > 1 ? axis->values[1].text : "");
  return text ? text : "";
}

static tc_status own_dimension(struct maker *m, const struct tb_suite_axis *axis, struct tb_dimension *out) {
  const struct tb_values *given = find_given(m->spec, axis->name);
  if (!given) return *out = (struct tb_dimension){axis->name, axis->values, axis->count, 0}, TC_OK;
  const tc_status status = parse_values(m, given, axis->values[0].kind, example_of(m->arena, axis), out);
  out->name = axis->name;
  for (int i = 0; !status && i < out->count; i++) {
    const struct tb_value *value = &out->values[i];
    const bool whole =
        value->number >= 1 && value->number <= exact_max && value->number == floor(value->number);
    if (!strcmp(axis->name, "batch") && !whole)
      return tc_fail(m->err, TC_ARG, "plan", "batch=%s: use whole numbers of 1 or more, below 2^53",
                     value->text);
    if (value->kind == TB_VALUE_TEXT && !tb_value_is_word(value->text))
      return tc_fail(m->err, TC_ARG, "plan", "%s: a value may not hold ; / = or what cannot be printed",
                     axis->name);
  }
  return status;
}

static int count_before(const struct tb_suite *suite, int set) {
  int n = 0;
  for (int i = 0; i < set; i++) n += !strcmp(suite->switches[i], suite->switches[set]);
  return n;
}

/* Sets of switches; the empty one too. */
static tc_status sets_dimension(struct maker *m, const struct tb_suite *suite, struct tb_dimension *out) {
  *out = (struct tb_dimension){.values =
                                   tc_arena_bytes(m->arena, sizeof *out->values * (size_t)suite->n_switches),
                               .count = suite->n_switches};
  if (!out->values) return tc_fail_memory(m->err, "plan");
  for (int i = 0; i < suite->n_axes; i++)
    if (!strcmp(suite->axes[i].name, TB_AGAIN))
      return tc_fail(m->err, TC_ARG, "plan", "%s: an axis of a suite with sets of switches is not called %s",
                     suite->name, TB_AGAIN);
  for (int i = 0; i < out->count; i++)
    out->values[i] = (struct tb_value){TB_VALUE_TEXT, suite->switches[i], count_before(suite, i)};
  return TC_OK;
}

/* Every mode that one of the suite's workloads has; which has which is decided case by case. */
static tc_status mode_dimension(struct maker *m, const struct tb_suite *suite, struct tb_dimension *out) {
  tc_status status = shared_dimension(m, suite, TB_AXIS_MODE, suite->modes, suite->n_modes, out);
  if (status || m->spec->axes[TB_AXIS_MODE].count) return status;
  int count = out->count;
  for (int i = 0; i < suite->n_modes_of; i++) count += suite->modes_of[i].count;
  struct tb_value *all = tc_arena_bytes(m->arena, sizeof *all * (size_t)count);
  if (!all) return tc_fail_memory(m->err, "plan");
  memcpy(all, out->values, sizeof *all * (size_t)out->count);
  for (int i = 0; i < suite->n_modes_of; i++)
    for (int k = 0; k < suite->modes_of[i].count; k++) all[out->count++] = suite->modes_of[i].values[k];
  out->values = all;
  return TC_OK;
}

static bool among(const char *text, const struct tb_value *values, int count) {
  for (int i = 0; i < count; i++)
    if (!strcmp(values[i].text, text)) return true;
  return false;
}

bool tb_mode_is_of(const struct tb_spec *spec, const struct tb_suite *suite, const char *workload,
                   const char *mode) {
  if (spec->axes[TB_AXIS_MODE].count) return true;
  for (int i = 0; i < suite->n_modes_of; i++)
    if (!strcmp(suite->modes_of[i].name, workload))
      return among(mode, suite->modes_of[i].values, suite->modes_of[i].count);
  for (int i = 0; i < suite->n_modes; i++)
    if (!strcmp(suite->modes[i], mode)) return true;
  return !suite->n_modes && !strcmp(mode, tb_axis_row(TB_AXIS_MODE)->default_text);
}

static tc_status fill_dimensions(struct maker *m, const struct tb_suite *suite, struct tb_dimensions *d) {
  tc_status status = workload_dimension(m, suite, &d->all[TB_AXIS_WORKLOAD]);
  for (int id = 0; !status && id < TB_AXIS_COUNT; id++) {
    if (id == TB_AXIS_WORKLOAD) continue;
    const bool devices = id == TB_AXIS_DEVICE;
    status = id == TB_AXIS_MODE ? mode_dimension(m, suite, &d->all[id])
                                : shared_dimension(m, suite, id, devices ? suite->devices : NULL,
                                                   devices ? suite->n_devices : 0, &d->all[id]);
  }
  for (int i = 0; !status && i < suite->n_axes; i++) {
    if (is_shared(suite->axes[i].name)) continue;
    status = own_dimension(m, &suite->axes[i], &d->all[TB_AXIS_COUNT + d->n_own]);
    d->n_own++;
  }
  d->count = TB_AXIS_COUNT + d->n_own;
  if (!status && suite->n_switches) status = sets_dimension(m, suite, &d->all[d->count++]);
  for (size_t i = 0; !status && i < m->spec->switches.len; i++)
    status = parse_values(m, &m->spec->switches.data[i], TB_VALUE_TEXT, "", &d->all[d->count++]);
  return status;
}

/* Modes are inductor's: one that is asked for and could not act in any case is refused. */
static tc_status check_modes(struct maker *m, const struct tb_dimension *backends) {
  const struct tb_values *modes = &m->spec->axes[TB_AXIS_MODE];
  for (int i = 0; i < backends->count; i++)
    if (!strcmp(backends->values[i].text, "inductor")) return TC_OK;
  for (int i = 0; i < modes->count; i++)
    if (strcmp(modes->values[i], "default"))
      return tc_fail(m->err, TC_ARG, "plan",
                     "mode=%s: modes are those of backend=inductor; backend=%s has none", modes->values[i],
                     backends->values[0].text);
  return TC_OK;
}

tc_status tb_dimensions_make(struct tc_arena *arena, const struct tb_spec *spec, const struct tb_suite *suite,
                             struct tb_dimensions *out, struct tc_error *err) {
  struct maker m = {arena, spec, err};
  const size_t most = TB_AXIS_COUNT + (size_t)suite->n_axes + 1 + spec->switches.len;
  *out = (struct tb_dimensions){.all = tc_arena_bytes(arena, sizeof *out->all * most)};
  if (!out->all) return tc_fail_memory(err, "plan");
  memset(out->all, 0, sizeof *out->all * most);
  tc_status status = fill_dimensions(&m, suite, out);
  if (!status) status = check_backends(&m, suite, &out->all[TB_AXIS_BACKEND]);
  return status ? status : check_modes(&m, &out->all[TB_AXIS_BACKEND]);
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
    const char *list = tb_format(m->arena, "; axes of suite %s: %s; `tbench help run` has the rest",
                                 m->spec->options.suite, known && *known ? known : "none");
    return tc_fail(m->err, TC_ARG, "plan", "unknown name '%s'%s%s", name, hint, *hint || !list ? "" : list);
  }
  return TC_OK;
}

static tc_status check_workload_names(struct maker *m, const struct tb_suite *suites) {
  const struct tb_values *given = &m->spec->axes[TB_AXIS_WORKLOAD];
  for (int i = 0; i < given->count; i++) {
    struct search search = search_for(m->arena, given->values[i]);
    for (int s = 0; s < m->spec->n_suites; s++)
      for (int w = 0; w < suites[s].n_workloads; w++) offer(&search, suites[s].workloads[w]);
    if (!search.found) return fail_search(&search, "workload", "workloads", m->err);
  }
  return TC_OK;
}

tc_status tb_names_check(struct tc_arena *arena, const struct tb_spec *spec, const struct tb_suite *suites,
                         struct tc_error *err) {
  struct maker m = {arena, spec, err};
  const tc_status status = check_axis_names(&m, suites);
  return status ? status : check_workload_names(&m, suites);
}
