/* The table of tensor functions, and the binder of arguments to signatures.
 *
 * Invariants: 1. A signature is read at each call, from left to right, without allocation: a call of
 * `add` scans some twenty characters. 2. After binding, every parameter has its place in bound[]. */
#include "ops/function.h"

#include <string.h>

#include "ops/call.h"

/* ---- the table ---- */

enum {
#define TC_FN(name, method, function, functional, list, implementation, op, signature, help) FN_##name,
#include "ops/functions.def"
#undef TC_FN
  FN_COUNT
};

static const struct tc_function functions[FN_COUNT];

static tc_status run(int index, tc_fn implementation, tc_op op, struct tc_builder *b,
                     const struct tc_arg *args, struct tc_results *results, struct tc_error *err) {
  struct tc_call c = {{b, TC_OK, err}, &functions[index], op, args, results};
  results->count = 0;
  struct tc_value *value = implementation(&c);
  if (value) tc_call_push(&c, value);
  return c.r.status;
}

#define TC_FN(name, method, function, functional, list, implementation, op, signature, help)                 \
  static tc_status run_##name(struct tc_builder *b, const struct tc_arg *args, int n_args,                   \
                              struct tc_results *results, struct tc_error *err) {                            \
    (void)n_args;                                                                                            \
    return run(FN_##name, tc_fn_##implementation, (tc_op)TC_OP_##op, b, args, results, err);                 \
  }
#include "ops/functions.def"
#undef TC_FN

static const struct tc_function functions[FN_COUNT] = {
#define TC_FN(name, method, function, functional, list, implementation, op, signature, help)                 \
  {#name, signature, help, method, function, functional, list, run_##name},
#include "ops/functions.def"
#undef TC_FN
};

int tc_function_count(void) { return FN_COUNT; }

const struct tc_function *tc_function_at(int index) { return &functions[index]; }

const struct tc_function *tc_function_find(const char *name) {
  for (int i = 0; i < FN_COUNT; i++)
    if (!strcmp(functions[i].name, name)) return &functions[i];
  return NULL;
}

const struct tc_function *tc_function_for_event(const char *event) {
  static const struct {
    const char *event;
    int function;
  } rows[] = {
      {"__add", FN_add},       {"__sub", FN_sub},           {"__mul", FN_mul}, {"__div", FN_div},
      {"__mod", FN_remainder}, {"__idiv", FN_floor_divide}, {"__pow", FN_pow}, {"__unm", FN_neg},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (!strcmp(rows[i].event, event)) return &functions[rows[i].function];
  return NULL;
}

/* ---- the binder ---- */

struct param {
  const char *name;
  int length;
  bool optional, rest, any_name;
};

/* Reads the next parameter of a signature; false at its end. */
static bool next_param(const char **cursor, struct param *p) {
  const char *s = *cursor;
  while (*s == ' ' || *s == ',') s++;
  if (!*s) return false;
  p->name = s;
  p->optional = false;
  while (*s && *s != ',' && *s != '=') s++;
  p->length = (int)(s - p->name);
  if (*s == '=') {
    p->optional = true;
    while (*s && *s != ',') s++;
  }
  p->rest = p->name[0] == '.';
  p->any_name = p->name[0] == '*';
  *cursor = s;
  return true;
}

static struct tc_arg rest_as_list(const struct tc_arg *rest, int count) {
  if (count == 1 && rest->kind == TC_ARG_LIST) return *rest;
  return (struct tc_arg){TC_ARG_LIST, .list = {rest, count}};
}

struct binding {
  int count; /* parameters */
  int used;  /* positional arguments */
  bool any_name;
  struct param params[TC_MAX_ARGS]; /* filled only when `names` is asked for */
};

/* Places the positional arguments. A parameter that is missing and not optional is left to the caller. */
static int place(const struct tc_function *f, const struct tc_arg *positional, int n, struct tc_arg *bound,
                 struct binding *to, bool names) {
  const char *cursor = f->signature;
  struct param p;
  int missing = -1;
  bool by_name_only = false;
  to->count = to->used = 0;
  to->any_name = false;
  while (next_param(&cursor, &p)) {
    if (p.any_name) {
      to->any_name = true;
      continue;
    }
    const int at = to->count++;
    if (names) to->params[at] = p;
    if (p.rest) {
      bound[at] = rest_as_list(positional + to->used, n - to->used);
      to->used = n;
      by_name_only = true;
      continue;
    }
    if (!by_name_only && to->used < n)
      bound[at] = positional[to->used++];
    else
      bound[at].kind = TC_ARG_NIL;
    if (!p.optional && bound[at].kind == TC_ARG_NIL && missing < 0) missing = at;
  }
  return missing;
}

static tc_status fail_missing(const struct tc_function *f, int missing, struct tc_error *err) {
  const struct tc_call c = {.f = f};
  const struct tc_param_name name = tc_call_param(&c, missing);
  return tc_fail(err, TC_ARG, "ops", "%s: argument %d (%.*s) is missing; it takes (%s)", f->name, missing + 1,
                 name.length, name.text, f->signature);
}

static tc_status place_named(const struct tc_function *f, const struct tc_named_arg *named,
                             struct tc_arg *bound, const struct binding *to, struct tc_error *err) {
  const int length = (int)strlen(named->name);
  for (int i = 0; i < to->count; i++) {
    const struct param *p = &to->params[i];
    if (p->rest || p->length != length || memcmp(p->name, named->name, (size_t)length)) continue;
    if (bound[i].kind != TC_ARG_NIL)
      return tc_fail(err, TC_ARG, "ops", "%s: %s is given twice", f->name, named->name);
    bound[i] = named->arg;
    return TC_OK;
  }
  if (to->any_name) return TC_OK;
  return tc_fail(err, TC_ARG, "ops", "%s: there is no argument '%s'; it takes (%s)", f->name, named->name,
                 f->signature);
}

tc_status tc_function_bind(const struct tc_function *f, const struct tc_arg *positional, int n_positional,
                           const struct tc_named_arg *named, int n_named, struct tc_arg bound[TC_MAX_ARGS],
                           struct tc_error *err) {
  struct binding to;
  int missing = place(f, positional, n_positional, bound, &to, n_named > 0);
  if (to.used < n_positional)
    return tc_fail(err, TC_ARG, "ops", "%s: takes at most %d arguments, got %d; it takes (%s)", f->name,
                   to.used, n_positional, f->signature);
  for (int i = 0; i < n_named; i++) {
    const tc_status status = place_named(f, &named[i], bound, &to, err);
    if (status) return status;
  }
  if (n_named && missing >= 0) {
    missing = -1;
    for (int i = 0; i < to.count && missing < 0; i++)
      if (!to.params[i].optional && !to.params[i].rest && bound[i].kind == TC_ARG_NIL) missing = i;
  }
  return missing >= 0 ? fail_missing(f, missing, err) : TC_OK;
}
