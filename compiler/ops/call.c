/* Arguments of a tensor function: conversion from what callers pass to what operations take.
 *
 * Invariants: callers count dimensions and indices from 1, operations from 0, and only this file (with
 * promote.c) translates. The first failure of a call stays; later ones are not recorded. */
#include "ops/call.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void *tc_call_fail(struct tc_call *c, tc_status status, const char *format, ...) {
  if (c->r.status) return NULL;
  c->r.status = status;
  if (!c->r.err) return NULL;
  char message[TC_ERROR_TEXT];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  tc_fail(c->r.err, status, "ops", "%s: %s", c->f->name, message);
  return NULL;
}

struct tc_param_name tc_call_param(const struct tc_call *c, int arg) {
  const char *text = c->f->signature;
  for (; arg > 0; arg--) {
    const char *comma = strchr(text, ',');
    if (!comma) break;
    text = comma + 1;
  }
  text += strspn(text, " ");
  return (struct tc_param_name){text, (int)strcspn(text, ",= ")};
}

static const char *kind_text(const struct tc_arg *arg) {
  static const char *const texts[] = {
      [TC_ARG_NIL] = "nil",        [TC_ARG_BOOL] = "a boolean",
      [TC_ARG_INT] = "an integer", [TC_ARG_NUM] = "a number",
      [TC_ARG_TEXT] = "a string",  [TC_ARG_VALUE] = "a tensor",
      [TC_ARG_LIST] = "a table",   [TC_ARG_WIDE] = "an integer of more than 62 bits",
  };
  return texts[arg->kind];
}

void *tc_call_bad_arg(struct tc_call *c, int arg, const char *wanted) {
  const struct tc_param_name name = tc_call_param(c, arg);
  return tc_call_fail(c, TC_ARG, "argument %d (%.*s) must be %s, got %s", arg + 1, name.length, name.text,
                      wanted, kind_text(&c->args[arg]));
}

struct tc_value *tc_call_tensor(struct tc_call *c, int arg) {
  if (c->args[arg].kind == TC_ARG_VALUE) return c->args[arg].value;
  return tc_call_bad_arg(c, arg, "a tensor");
}

struct tc_value *tc_call_optional(struct tc_call *c, int arg) {
  return tc_call_given(c, arg) ? tc_call_tensor(c, arg) : NULL;
}

bool tc_call_bool(struct tc_call *c, int arg, bool otherwise) {
  if (!tc_call_given(c, arg)) return otherwise;
  if (c->args[arg].kind == TC_ARG_BOOL) return c->args[arg].boolean;
  tc_call_bad_arg(c, arg, "true or false");
  return otherwise;
}

int64_t tc_call_constant(struct tc_call *c, tc_sym s) {
  if (tc_sym_is_const(s)) return tc_sym_value(s);
  if (!tc_sym_valid(s)) {
    tc_call_fail(c, TC_LIMIT, "an integer is too large");
    return 0;
  }
  const int64_t hint = tc_sym_hint(s);
  tc_sym_decide_eq(tc_call_tab(c), s, tc_sym_const(hint));
  return hint;
}

double tc_call_number(struct tc_call *c, int arg, double otherwise) {
  switch (c->args[arg].kind) {
    case TC_ARG_NIL: return otherwise;
    case TC_ARG_NUM: return c->args[arg].number;
    case TC_ARG_INT: return (double)tc_call_constant(c, c->args[arg].integer);
    case TC_ARG_WIDE: return (double)c->args[arg].wide;
    default: tc_call_bad_arg(c, arg, "a number"); return otherwise;
  }
}

/* An integer, also as a float without fraction; INVALID if it is none. */
static tc_sym whole_number(const struct tc_arg *arg) {
  if (arg->kind == TC_ARG_INT) return arg->integer;
  if (arg->kind != TC_ARG_NUM || !(arg->number >= -0x1p53 && arg->number <= 0x1p53)) return TC_SYM_INVALID;
  const int64_t whole = (int64_t)arg->number;
  return (double)whole == arg->number ? tc_sym_const(whole) : TC_SYM_INVALID;
}

tc_sym tc_call_sym(struct tc_call *c, int arg) {
  const tc_sym s = whole_number(&c->args[arg]);
  if (tc_sym_valid(s)) return s;
  tc_call_bad_arg(c, arg, "an integer");
  return tc_sym_const(0);
}

tc_sym tc_call_bound(struct tc_call *c, int arg) {
  const struct tc_arg *given = &c->args[arg];
  const tc_sym s = given->kind == TC_ARG_WIDE ? tc_sym_const(given->wide > 0 ? TC_CALL_FAR : -TC_CALL_FAR)
                                              : tc_call_sym(c, arg);
  if (tc_sym_is_const(s) && tc_sym_value(s) > TC_CALL_FAR) return tc_sym_const(TC_CALL_FAR);
  return tc_sym_is_const(s) && tc_sym_value(s) < -TC_CALL_FAR ? tc_sym_const(-TC_CALL_FAR) : s;
}

const char *tc_call_text(struct tc_call *c, int arg, const char *otherwise) {
  if (!tc_call_given(c, arg)) return otherwise;
  if (c->args[arg].kind == TC_ARG_TEXT) return c->args[arg].text;
  tc_call_bad_arg(c, arg, "a string");
  return otherwise;
}

tc_dtype tc_call_dtype(struct tc_call *c, int arg, tc_dtype otherwise) {
  const char *text = tc_call_text(c, arg, NULL);
  tc_dtype dtype = otherwise;
  if (text && !tc_dtype_parse(text, &dtype))
    tc_call_fail(c, TC_ARG, "'%s' is no dtype; there are f32, f64, bf16, i64 and bool", text);
  return dtype;
}

/* One dimension as passed → from 0; -1 after a failure. */
static int resolve_dim(struct tc_call *c, tc_sym passed, int ndim) {
  const int64_t dim = tc_call_constant(c, passed);
  const int limit = ndim ? ndim : 1;
  if (c->r.status) return -1;
  if (dim == 0) {
    tc_call_fail(c, TC_ARG, "dimension 0: dimensions count from 1 (or from the end: -1 is the last)");
    return -1;
  }
  if (dim < -limit || dim > limit) {
    tc_call_fail(c, TC_SHAPE, "dimension %lld is out of range for %d dimension%s (1 to %d, or -1 to -%d)",
                 (long long)dim, ndim, ndim == 1 ? "" : "s", limit, limit);
    return -1;
  }
  return (int)(dim > 0 ? dim - 1 : limit + dim);
}

int tc_call_dim(struct tc_call *c, int arg, int ndim, int otherwise) {
  if (!tc_call_given(c, arg)) return otherwise;
  const int dim = resolve_dim(c, tc_call_sym(c, arg), ndim);
  return dim < 0 ? 0 : dim;
}

int tc_call_dims(struct tc_call *c, int arg, int ndim, int dims[TC_MAX_DIMS]) {
  tc_sym passed[TC_MAX_DIMS];
  const int count = tc_call_given(c, arg) ? tc_call_ints(c, arg, TC_MAX_DIMS, passed) : 0;
  if (count == 0) {
    for (int d = 0; d < ndim; d++) dims[d] = d;
    return ndim;
  }
  unsigned seen = 0;
  for (int i = 0; i < count; i++) {
    dims[i] = resolve_dim(c, passed[i], ndim);
    if (dims[i] < 0) return 0;
    if (seen >> dims[i] & 1) {
      tc_call_fail(c, TC_ARG, "dimension %d is named twice", dims[i] + 1);
      return 0;
    }
    seen |= 1u << dims[i];
  }
  return ndim ? count : 0; /* a 0-dimensional tensor has nothing to name */
}

int tc_call_ints(struct tc_call *c, int arg, int limit, tc_sym *ints) {
  const struct tc_arg *given = &c->args[arg];
  const bool is_list = given->kind == TC_ARG_LIST;
  const struct tc_arg *items = is_list ? given->list.items : given;
  const int count = is_list ? given->list.count : 1;
  if (count > limit) {
    tc_call_fail(c, TC_LIMIT, "%d integers are given, at most %d can be taken", count, limit);
    return 0;
  }
  for (int i = 0; i < count; i++) {
    ints[i] = whole_number(&items[i]);
    if (tc_sym_valid(ints[i])) continue;
    if (is_list)
      tc_call_fail(c, TC_ARG, "an integer is needed, got %s", kind_text(&items[i]));
    else
      tc_call_bad_arg(c, arg, "an integer or a list of integers");
    return 0;
  }
  return count;
}

tc_sym tc_call_index(struct tc_call *c, tc_sym index, tc_sym size, int dim) {
  struct tc_symtab *tab = tc_call_tab(c);
  const tc_sym zero = tc_sym_const(0);
  if (c->r.status) return zero;
  if (tc_sym_decide_eq(tab, index, zero)) {
    tc_call_fail(c, TC_INDEX, "index 0: indices count from 1 (or from the end: -1 is the last)");
    return zero;
  }
  const tc_sym start = tc_sym_decide_lt(tab, zero, index) ? tc_sym_sub(tab, index, tc_sym_const(1))
                                                          : tc_sym_add(tab, size, index);
  if (tc_sym_valid(start) && !tc_sym_decide_lt(tab, start, zero) && tc_sym_decide_lt(tab, start, size))
    return start;
  tc_call_fail(c, TC_INDEX, "index %lld is out of range for dimension %d of size %lld",
               (long long)tc_sym_hint(index), dim + 1, (long long)tc_sym_hint(size));
  return zero;
}

int tc_call_tensors(struct tc_call *c, int arg) {
  const struct tc_arg *given = &c->args[arg];
  if (given->kind != TC_ARG_LIST) {
    tc_call_bad_arg(c, arg, "a list of tensors");
    return 0;
  }
  if (given->list.count == 0) tc_call_fail(c, TC_ARG, "the list of tensors is empty");
  for (int i = 0; i < given->list.count; i++) {
    if (given->list.items[i].kind != TC_ARG_VALUE) {
      tc_call_fail(c, TC_ARG, "item %d of the list must be a tensor, got %s", i + 1,
                   kind_text(&given->list.items[i]));
      return 0;
    }
  }
  return given->list.count;
}

void tc_call_push(struct tc_call *c, struct tc_value *value) {
  if (!value || c->r.status) return;
  if (c->results->count >= TC_MAX_RESULTS) {
    tc_call_fail(c, TC_LIMIT, "more than %d results", TC_MAX_RESULTS);
    return;
  }
  c->results->values[c->results->count++] = value;
}

const char *tc_call_shape(struct tc_call *c, struct tc_value *value, char *text) {
  const struct tc_meta meta = tc_r_meta(&c->r, value);
  struct tc_strbuf buf;
  tc_strbuf_init(&buf, tc_alloc_system());
  tc_meta_print(&buf, &meta);
  const char *printed = tc_strbuf_text(&buf);
  snprintf(text, TC_SHAPE_TEXT, "%s", printed ? printed : "?");
  tc_strbuf_free(&buf);
  return text;
}

struct tc_value *tc_call_emit_ints(struct tc_call *c, tc_op op, struct tc_value *x, int n,
                                   const tc_sym *ints) {
  return tc_rn(&c->r, op, 1, &x, &(struct tc_attrs){ints, n, NULL, 0});
}

struct tc_value *tc_call_slice(struct tc_call *c, struct tc_value *x, int dim, tc_sym start, tc_sym length,
                               tc_sym step) {
  const tc_sym ints[] = {tc_sym_const(dim), start, length, step};
  return tc_call_emit_ints(c, TC_OP_slice, x, 4, ints);
}

struct tc_value *tc_call_reshape(struct tc_call *c, struct tc_value *x, int ndim, const tc_sym *sizes) {
  return tc_call_emit_ints(c, TC_OP_reshape, x, ndim, sizes);
}

struct tc_value *tc_call_transpose(struct tc_call *c, struct tc_value *x, int dim0, int dim1) {
  const int ndim = tc_r_meta(&c->r, x).ndim;
  tc_sym dims[TC_MAX_DIMS];
  for (int d = 0; d < ndim; d++) dims[d] = tc_sym_const(d == dim0 ? dim1 : d == dim1 ? dim0 : d);
  return tc_call_emit_ints(c, TC_OP_permute, x, ndim, dims);
}
