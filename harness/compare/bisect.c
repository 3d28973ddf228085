/* Narrowing: switches, then backends, then optional transformations, then kernels. */
#include "harness/compare/bisect.h"

#include <stdio.h>
#include <string.h>

/* --- differences --- */

static const char *value_in(const struct tb_arm *arm, const char *name) {
  for (size_t i = 0; i < arm->settings.len; i++)
    if (tb_name_equal(arm->settings.data[i].name, name)) return arm->settings.data[i].value;
  return NULL;
}

/* Cases of the arms as they are. A peer takes no fuel, and what it compiles is its own. */
static tc_status refuse_peers(struct tb_bisect *b, struct tc_error *err) {
  const struct tb_trial head = tb_trial_new(b, true);
  struct tb_case cases[TB_ARM_COUNT];
  const tc_status status = tb_trial_cases(b, &head, cases, err);
  for (int s = 0; s < TB_ARM_COUNT && !status; s++)
    if (cases[s].peer)
      return tc_fail(err, TC_ARG, "bisect",
                     "backend=%s is a peer; only tbench's own backends can be bisected", cases[s].backend);
  return status;
}

static bool same_text(const char *a, const char *b) { return a == b || (a && b && !strcmp(a, b)); }

static bool known(const struct tb_bisect *b, const char *name) {
  for (size_t i = 0; i < b->differences.len; i++)
    if (tb_name_equal(b->differences.data[i].name, name)) return true;
  return false;
}

tc_status tb_bisect_open(struct tb_bisect *b, struct tc_error *err) {
  const struct tc_alloc *alloc = tc_arena_alloc(b->run->arena);
  const struct tb_arm *base = &b->arms->arm[TB_ARM_BASE], *head = &b->arms->arm[TB_ARM_HEAD];
  const struct tb_difference program = {"program", base->program, head->program, true};
  bool good = same_text(base->program, head->program) || tc_vec_push(alloc, &b->differences, program);
  for (int s = 0; s < TB_ARM_COUNT; s++)
    for (size_t i = 0; i < b->arms->arm[s].settings.len && good; i++) {
      const char *name = b->arms->arm[s].settings.data[i].name;
      const struct tb_difference d = {name, value_in(base, name), value_in(head, name), false};
      if (!known(b, name) && !same_text(d.base, d.head)) good = tc_vec_push(alloc, &b->differences, d);
    }
  if (!good) return tc_fail_memory(err, "bisect");
  if (b->differences.len <= TB_SEARCH_ELEMENTS) return refuse_peers(b, err);
  return tc_fail(err, TC_LIMIT, "bisect", "the sides differ in %zu settings; the limit is %d",
                 b->differences.len, TB_SEARCH_ELEMENTS);
}

/* --- switches --- */

/* "fuse=off tile=off" */
static const char *settings_text(struct tb_bisect *b, const bool *in) {
  const char *text = "";
  for (size_t i = 0; i < b->differences.len && text; i++) {
    const struct tb_difference *d = &b->differences.data[i];
    if (in[i])
      text = tb_format(b->run->arena, "%s%s%s=%s", text, *text ? " " : "", d->name,
                       d->head      ? d->head
                       : d->program ? "self"
                                    : "(head's default)");
  }
  return text;
}

static enum tb_bad ask_subset(void *self, const bool *in) {
  struct tb_bisect *b = self;
  struct tb_trial trial = tb_trial_new(b, false);
  const char *settings = settings_text(b, in);
  memcpy(trial.from_head, in, sizeof *in * b->differences.len);
  return tb_bisect_ask(b, &trial, settings ? tb_format(b->run->arena, "base with %s", settings) : NULL);
}

/* Slower by more than half of what head is, behind the question that told that it is slower? Where that one
 * does not tell, it is asked for. */
static enum tb_bad ask_alike(struct tb_bisect *b, const struct tb_trial *trial, const char *what) {
  if (b->trouble != TB_TROUBLE_SLOWER || !(b->ratio - 1 > b->half.share) || !(b->half.share > 0))
    return TB_BAD_NO;
  if (b->lo - 1 > b->half.share) return TB_BAD_YES;
  return tb_bisect_ask(b, trial, what);
}

/* Is head bad also without these settings? Then something else makes it bad as well. */
static enum tb_bad ask_others(struct tb_bisect *b, const bool *without) {
  struct tb_trial trial = tb_trial_new(b, true);
  const char *settings = settings_text(b, without);
  size_t others = 0;
  b->others = NULL;
  b->others_unsure = b->others_alike = false;
  for (size_t i = 0; i < b->differences.len; i++) others += trial.from_head[i] = !without[i];
  if (!others || others == b->differences.len) return TB_BAD_NO;
  const char *what = settings ? tb_format(b->run->arena, "head without %s", settings) : NULL;
  const enum tb_bad answer = tb_bisect_ask_at_all(b, &trial, what);
  if (answer == TB_BAD_YES || answer == TB_BAD_UNSURE) b->others = b->evidence;
  b->others_unsure = answer == TB_BAD_UNSURE; /* no doubt of what was found */
  const enum tb_bad alike = answer == TB_BAD_YES ? ask_alike(b, &trial, what) : TB_BAD_NO;
  b->others_alike = alike == TB_BAD_YES;
  if (b->others_alike) b->others = b->evidence;
  return alike == TB_BAD_STOP ? alike : answer;
}

static enum tb_bad search_switches(struct tb_bisect *b) {
  const enum tb_bad answer = tb_search_subset(b, ask_subset, b->found.from_head, (int)b->differences.len);
  b->doubtful |= answer == TB_BAD_UNSURE;
  return answer;
}

/* Where head stays as slow without what was found, or nearly: puts that aside, and searches in the rest. */
static enum tb_bad search_hidden(struct tb_bisect *b) {
  bool without[TB_SEARCH_ELEMENTS];
  enum tb_bad answer = ask_others(b, b->found.from_head);
  if (!b->others_alike || answer == TB_BAD_STOP) return answer;
  while (b->others_alike) {
    b->aside_evidence = b->others; /* of all that is aside */
    puts("     that is more than half of the slowdown of head: the finding does not explain it; searching "
         "for another cause");
    for (size_t i = 0; i < b->differences.len; i++) {
      b->aside[i] |= b->found.from_head[i];
      b->found.from_head[i] = !b->aside[i];
    }
    answer = search_switches(b);
    if (answer == TB_BAD_STOP) return answer;
    for (size_t i = 0; i < b->differences.len; i++) without[i] = b->aside[i] || b->found.from_head[i];
    answer = ask_others(b, without);
    if (answer == TB_BAD_STOP) return answer;
  }
  return ask_others(b, b->found.from_head); /* does it explain head, with what was put aside still there? */
}

static enum tb_bad narrow_switches(struct tb_bisect *b) {
  const bool none[TB_SEARCH_ELEMENTS] = {false};
  enum tb_bad answer = TB_BAD_NO;
  if (!b->differences.len) return TB_BAD_YES;
  if (b->trouble != TB_TROUBLE_SLOWER) { /* base is not slower than itself */
    const struct tb_trial base = tb_trial_new(b, false);
    answer = tb_bisect_ask(b, &base, "base");
    if (answer == TB_BAD_STOP) return answer;
  }
  if (answer == TB_BAD_YES) { /* then it is none of the settings */
    memcpy(b->found.from_head, none, sizeof *none * b->differences.len);
    puts("     base is no better: the settings in which the sides differ are not the cause");
    return TB_BAD_YES;
  }
  answer = search_switches(b);
  if (answer != TB_BAD_STOP) answer = search_hidden(b);
  return answer == TB_BAD_STOP ? answer : TB_BAD_YES;
}

/* --- backends --- */

static const char *own_backend(const struct tb_bisect *b) {
  const char *own = b->kase.backend;
  for (size_t i = 0; i < b->differences.len; i++)
    if (b->found.from_head[i] && b->differences.data[i].head &&
        !strcmp(b->differences.data[i].name, "backend"))
      own = b->differences.data[i].head;
  return own;
}

/* Each one does what the one before it does, and more; but a registered one, which is none of them, does what
 * it likes. */
static enum tb_bad narrow_backends(struct tb_bisect *b) {
  static const char *const backends[] = {"eager", "aot_eager", "inductor"};
  enum { N_BACKENDS = sizeof backends / sizeof *backends };
  const char *own = own_backend(b);
  if (b->trouble == TB_TROUBLE_SLOWER) return TB_BAD_YES;
  for (int i = 0; i < N_BACKENDS; i++) {
    const bool last = !strcmp(backends[i], own);
    struct tb_trial trial = b->found;
    trial.backend = backends[i];
    const enum tb_bad answer =
        last ? TB_BAD_YES : tb_bisect_ask(b, &trial, tb_format(b->run->arena, "backend=%s", backends[i]));
    if (answer == TB_BAD_STOP) return answer;
    if (answer == TB_BAD_YES) {
      b->backend = backends[i];
      if (!last) b->found.backend = backends[i];
      return TB_BAD_YES;
    }
    if (answer == TB_BAD_NO)
      b->backend_before = backends[i];
    else
      b->doubtful = true;
  }
  b->backend = own;
  return TB_BAD_YES;
}

/* --- optional transformations, and kernels --- */

struct fuel_search {
  struct tb_bisect *b;
  struct tb_trial trial;
  enum tc_fuel_kind kind;
  const char *evidence;
};

static enum tb_bad ask_limit(void *self, long long units) {
  struct fuel_search *f = self;
  f->trial.limit[f->kind] = units;
  const enum tb_bad answer = tb_bisect_ask(
      f->b, &f->trial, tb_format(f->b->run->arena, "fuel.%s=%lld", tc_fuel_name(f->kind), units));
  if (answer == TB_BAD_YES) f->evidence = f->b->evidence;
  return answer;
}

/* With none of the kind the trial is not bad: which is the first one with which it is? The unit that is named
 * was asked for as well: that it is bad without a limit says nothing of the limit, nor of a fault that comes
 * and goes. */
static enum tb_bad find_unit(struct fuel_search *f, long long of) {
  struct tb_bisect *b = f->b;
  struct tb_culprit *found = &b->culprits[b->n_culprits];
  struct tb_counts counts;
  long long units;
  enum tb_bad answer = tb_search_least(f, ask_limit, 0, of, &units);
  if (answer == TB_BAD_YES && units == of) answer = ask_limit(f, of);
  if (answer == TB_BAD_NO)
    printf("     but without a limit it is: fuel.%s does not decide\n", tc_fuel_name(f->kind));
  if (answer != TB_BAD_YES) return answer == TB_BAD_NO ? TB_BAD_UNSURE : answer;
  f->trial.limit[f->kind] = units;
  answer = tb_trial_count(b, &f->trial, &counts);
  if (answer == TB_BAD_STOP) return answer;
  *found = (struct tb_culprit){.found = true,
                               .kind = f->kind,
                               .units = units,
                               .of = of,
                               .what = counts.last[f->kind],
                               .evidence = f->evidence,
                               .trial = f->trial};
  b->n_culprits++;
  return TB_BAD_YES;
}

static enum tb_bad narrow_kind(struct tb_bisect *b, enum tc_fuel_kind kind, const struct tb_counts *all) {
  struct fuel_search f = {.b = b, .trial = b->found, .kind = kind};
  if (!all->spent[kind]) return TB_BAD_NO;
  enum tb_bad answer = ask_limit(&f, 0);
  if (answer == TB_BAD_NO)
    answer = find_unit(&f, all->spent[kind]);
  else if (answer == TB_BAD_YES)
    answer = TB_BAD_NO; /* it is bad without any of them */
  b->doubtful |= answer == TB_BAD_UNSURE;
  return answer;
}

/* Is it bad without all of them? Then none is it. */
static enum tb_bad ask_without(struct tb_bisect *b) {
  struct tb_trial trial = b->found;
  for (int i = 0; i < TC_FUEL_COUNT; i++) trial.limit[i] = 0;
  const enum tb_bad answer = tb_bisect_ask(b, &trial, "without optional transformations");
  b->always = answer == TB_BAD_YES;
  if (answer == TB_BAD_NO && b->less)
    b->partly = b->evidence; /* so that a part of what head costs is in none of them */
  b->doubtful |= answer == TB_BAD_UNSURE || b->partly;
  return answer;
}

/* None tells alone: leaves out one kind after the other, until it is not bad. */
static enum tb_bad narrow_together(struct tb_bisect *b, const struct tb_counts *all) {
  struct tb_trial trial = b->found;
  for (int i = 0; i < TC_FUEL_COUNT; i++) {
    if (!all->spent[i]) continue;
    struct fuel_search f = {.b = b, .trial = trial, .kind = (enum tc_fuel_kind)i};
    const enum tb_bad answer = ask_limit(&f, 0);
    const enum tb_bad found = answer == TB_BAD_NO ? find_unit(&f, all->spent[i]) : answer;
    b->doubtful |= found == TB_BAD_UNSURE;
    if (answer != TB_BAD_YES) return found;
    trial.limit[i] = 0;
  }
  return TB_BAD_NO;
}

static enum tb_bad narrow_kinds(struct tb_bisect *b, const struct tb_counts *all) {
  for (int i = 0; i < TC_FUEL_COUNT; i++)
    if (narrow_kind(b, (enum tc_fuel_kind)i, all) == TB_BAD_STOP) return TB_BAD_STOP;
  return b->n_culprits || b->doubtful ? TB_BAD_YES : narrow_together(b, all);
}

static enum tb_bad narrow_fuels(struct tb_bisect *b) {
  struct tb_counts all;
  if (b->backend && strcmp(b->backend, "inductor")) return TB_BAD_YES;
  enum tb_bad answer = ask_without(b);
  if (answer == TB_BAD_YES || answer == TB_BAD_STOP) return answer;
  answer = tb_trial_count(b, &b->found, &all);
  if (answer == TB_BAD_NO)
    answer = narrow_kinds(b, &all);
  else if (answer == TB_BAD_UNSURE)
    puts("     what the compile did is unknown: it does not finish, or has no fuel"), b->doubtful = true;
  return answer == TB_BAD_STOP ? answer : TB_BAD_YES;
}

enum tb_bad tb_bisect_narrow(struct tb_bisect *b) {
  b->found = tb_trial_new(b, true);
  enum tb_bad answer = narrow_switches(b);
  if (answer == TB_BAD_YES) answer = narrow_backends(b);
  return answer == TB_BAD_YES ? narrow_fuels(b) : answer;
}
