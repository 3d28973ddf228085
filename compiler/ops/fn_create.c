/* Tensor functions that create: zeros, ones, full, arange, rand, randn and their *_like forms, casts.
 *
 * Options of every creation function: dtype; device; reference_dtype,
 * for a case of the harness that computes a reference: the values are those of `dtype`, rounded to
 * it, and then cast to reference_dtype, so that a model and its reference see equal numbers. */
#include <math.h>
#include <string.h>

#include "ops/call.h"

/* Where the options stand depends on the signature; they follow one another. */
struct options {
  tc_dtype dtype, reference;
};

static const char *name_of(const struct tc_device *device) {
  return device ? tc_device_base_of(device)->name : "cpu";
}

/* Values are made on the device of this name from now on. */
static void use_device(struct tc_call *c, const char *name) {
  struct tc_builder *b = c->r.b;
  if (c->r.status || !strcmp(name, name_of(b->device))) return;
  if (b->methods->use_device && !b->methods->use_device(b, name, NULL)) return;
  tc_call_fail(c, TC_UNSUPPORTED, "there is no device '%s'; tensors are created on %s", name,
               name_of(b->device));
}

static void check_device(struct tc_call *c, int arg) {
  const char *name = tc_call_text(c, arg, NULL);
  if (name) use_device(c, name);
}

static struct options read_options(struct tc_call *c, int first, tc_dtype dtype) {
  struct options o;
  o.dtype = tc_call_dtype(c, first, dtype);
  check_device(c, first + 1);
  o.reference = tc_call_dtype(c, first + 2, o.dtype);
  if (!tc_dtype_is_float(o.dtype)) o.reference = o.dtype; /* integers are exact */
  return o;
}

struct shape {
  int ndim;
  tc_sym sizes[TC_MAX_DIMS];
};

static void read_shape(struct tc_call *c, int arg, struct shape *shape) {
  shape->ndim = tc_call_ints(c, arg, TC_MAX_DIMS, shape->sizes);
}

static void shape_like(struct tc_call *c, struct tc_value *x, struct shape *shape, tc_dtype *dtype) {
  const struct tc_meta meta = tc_r_meta(&c->r, x);
  *dtype = meta.dtype;
  shape->ndim = meta.ndim;
  memcpy(shape->sizes, meta.sizes, (size_t)meta.ndim * sizeof *meta.sizes);
}

static struct tc_value *emit_full(struct tc_call *c, const struct shape *shape, const struct tc_arg *value,
                                  struct options o) {
  return tc_r_cast(&c->r, tc_call_full(c, value, o.dtype, shape->ndim, shape->sizes), o.reference);
}

static struct tc_value *full_of_sizes(struct tc_call *c, int64_t value) {
  struct shape shape;
  read_shape(c, 0, &shape);
  const struct options o = read_options(c, 1, c->r.b->default_dtype);
  return emit_full(c, &shape, &(struct tc_arg){TC_ARG_INT, .integer = tc_sym_const(value)}, o);
}

struct tc_value *tc_fn_zeros(struct tc_call *c) { return full_of_sizes(c, 0); }
struct tc_value *tc_fn_ones(struct tc_call *c) { return full_of_sizes(c, 1); }

static struct tc_value *full_in_shape_of(struct tc_call *c, int options, const struct tc_arg *value) {
  struct shape shape;
  tc_dtype dtype;
  shape_like(c, tc_call_tensor(c, 0), &shape, &dtype);
  const struct options o = read_options(c, options, dtype);
  return c->r.status ? NULL : emit_full(c, &shape, value, o);
}

struct tc_value *tc_fn_zeros_like(struct tc_call *c) {
  return full_in_shape_of(c, 1, &(struct tc_arg){TC_ARG_INT, .integer = tc_sym_const(0)});
}
struct tc_value *tc_fn_ones_like(struct tc_call *c) {
  return full_in_shape_of(c, 1, &(struct tc_arg){TC_ARG_INT, .integer = tc_sym_const(1)});
}
struct tc_value *tc_fn_full_like(struct tc_call *c) { return full_in_shape_of(c, 2, &c->args[1]); }

struct tc_value *tc_fn_full(struct tc_call *c) {
  struct shape shape;
  read_shape(c, 0, &shape);
  const struct tc_arg *value = &c->args[1];
  const bool is_integer = value->kind == TC_ARG_INT || value->kind == TC_ARG_WIDE;
  const tc_dtype natural = value->kind == TC_ARG_BOOL ? TC_BOOL : is_integer ? TC_I64 : c->r.b->default_dtype;
  const struct options o = read_options(c, 2, natural);
  return emit_full(c, &shape, value, o);
}

/* bf16 is drawn in f32 and rounded, so that each dtype sees the same numbers. */
static struct tc_value *emit_random(struct tc_call *c, const struct shape *shape, struct options o) {
  if (c->r.status) return NULL;
  if (!tc_dtype_is_float(o.dtype))
    return tc_call_fail(c, TC_DTYPE, "%s: random numbers need a floating-point dtype",
                        tc_dtype_name(o.dtype));
  tc_sym ints[1 + TC_MAX_DIMS] = {tc_sym_const(o.dtype == TC_BF16 ? TC_F32 : o.dtype)};
  memcpy(ints + 1, shape->sizes, (size_t)shape->ndim * sizeof *ints);
  struct tc_value *drawn = tc_rn(&c->r, c->op, 0, NULL, &(struct tc_attrs){ints, 1 + shape->ndim, NULL, 0});
  return tc_r_cast(&c->r, tc_r_cast(&c->r, drawn, o.dtype), o.reference);
}

struct tc_value *tc_fn_random(struct tc_call *c) {
  struct shape shape;
  read_shape(c, 0, &shape);
  return emit_random(c, &shape, read_options(c, 1, c->r.b->default_dtype));
}

struct tc_value *tc_fn_random_like(struct tc_call *c) {
  struct shape shape;
  tc_dtype dtype;
  shape_like(c, tc_call_tensor(c, 0), &shape, &dtype);
  return emit_random(c, &shape, read_options(c, 1, dtype));
}

/* ---- arange ---- */

static bool is_whole(const struct tc_arg *arg) { return arg->kind == TC_ARG_INT || arg->kind == TC_ARG_WIDE; }

/* A bound or the step, as a number. */
static int64_t whole_value(struct tc_call *c, const struct tc_arg *arg) {
  return arg->kind == TC_ARG_WIDE ? arg->wide : tc_call_constant(c, arg->integer);
}

/* ⌈(stop - start) / step⌉; -1 when the stop lies on the wrong side. The difference of two numbers may need 64
 * bits without sign. */
static tc_sym count_whole(int64_t start, int64_t stop, int64_t step) {
  if (start == stop) return tc_sym_const(0);
  if ((stop > start) != (step > 0)) return tc_sym_const(-1);
  const uint64_t span = step > 0 ? (uint64_t)stop - (uint64_t)start : (uint64_t)start - (uint64_t)stop;
  const uint64_t width = step > 0 ? (uint64_t)step : -(uint64_t)step,
                 count = span / width + (span % width != 0);
  return count > INT64_MAX ? TC_SYM_INVALID : tc_sym_const((int64_t)count);
}

/* The same where a bound is a symbol; INVALID where the other is too large for one. */
static tc_sym count_symbolic(struct tc_call *c, const struct tc_arg *start, const struct tc_arg *stop,
                             int64_t step) {
  struct tc_symtab *tab = tc_call_tab(c);
  if (start->kind != TC_ARG_INT || stop->kind != TC_ARG_INT) return TC_SYM_INVALID;
  const bool up = step > 0;
  const tc_sym first = up ? start->integer : stop->integer, last = up ? stop->integer : start->integer;
  const tc_sym span = tc_sym_sub(tab, first, last),
               width = tc_sym_const(up ? step : -step); /* the span's negative */
  return tc_sym_sub(tab, tc_sym_const(0), tc_sym_div(tab, span, width));
}

static tc_sym count_real(double start, double stop, double step) {
  const double steps = ceil((stop - start) / step);
  return steps >= -0x1p60 && steps <= 0x1p60 ? tc_sym_const((int64_t)steps) : TC_SYM_INVALID;
}

static struct tc_value *emit_arange(struct tc_call *c, tc_dtype dtype, tc_sym count, double start,
                                    double step) {
  const tc_sym ints[] = {tc_sym_const(dtype), count};
  const double nums[] = {start, step};
  return tc_rn(&c->r, TC_OP_arange, 0, NULL, &(struct tc_attrs){ints, 2, nums, 2});
}

/* The operation holds start and step as floats: those beyond their exact range are applied to 0, 1, 2, …
 * instead. */
static struct tc_value *emit_whole_arange(struct tc_call *c, tc_dtype dtype, tc_sym count, int64_t start,
                                          int64_t step) {
  enum { EXACT_BITS = 53 };
  const int64_t exact = (int64_t)1 << EXACT_BITS;
  const bool is_exact = start >= -exact && start <= exact && step >= -exact && step <= exact;
  if (is_exact || dtype != TC_I64) return emit_arange(c, dtype, count, (double)start, (double)step);
  const struct tc_arg first = tc_arg_integer(start), width = tc_arg_integer(step);
  struct tc_value *numbers = emit_arange(c, TC_I64, count, 0, 1),
                  *scaled = tc_r2(&c->r, TC_OP_mul, numbers, tc_call_scalar(c, &width, TC_I64));
  return tc_r2(&c->r, TC_OP_add, scaled, tc_call_scalar(c, &first, TC_I64));
}

struct tc_value *tc_fn_arange(struct tc_call *c) {
  const bool has_stop = tc_call_given(c, 1);
  const struct tc_arg zero = tc_arg_integer(0), one = tc_arg_integer(1);
  const struct tc_arg *first = has_stop ? &c->args[0] : &zero, *last = &c->args[has_stop],
                      *width = tc_call_given(c, 2) ? &c->args[2] : &one;
  const bool whole = is_whole(first) && is_whole(last) && is_whole(width);
  const struct options o = read_options(c, 3, whole ? TC_I64 : c->r.b->default_dtype);
  const double start = has_stop && !whole ? tc_call_number(c, 0, 0) : 0, step = tc_call_number(c, 2, 1);
  if (c->r.status) return NULL;
  if (step == 0 || !isfinite(step)) return tc_call_fail(c, TC_ARG, "the step must not be 0");
  tc_sym count;
  if (!whole)
    count = count_real(start, tc_call_number(c, has_stop, 0), step);
  else if (tc_call_is_symbol(first) || tc_call_is_symbol(last))
    count = count_symbolic(c, first, last, whole_value(c, width));
  else
    count = count_whole(whole_value(c, first), whole_value(c, last), whole_value(c, width));
  if (c->r.status) return NULL;
  if (!tc_sym_valid(count)) return tc_call_fail(c, TC_LIMIT, "the range is too long");
  if (tc_sym_decide_lt(tc_call_tab(c), count, tc_sym_const(0)))
    return tc_call_fail(c, TC_ARG, "stop lies on the wrong side of start for the sign of the step");
  struct tc_value *range;
  if (whole && tc_call_is_symbol(first))
    range = tc_r2(&c->r, TC_OP_add, emit_whole_arange(c, o.dtype, count, 0, whole_value(c, width)),
                  tc_call_scalar(c, first, o.dtype));
  else if (whole)
    range = emit_whole_arange(c, o.dtype, count, whole_value(c, first), whole_value(c, width));
  else
    range = emit_arange(c, o.dtype, count, start, step);
  return tc_r_cast(&c->r, range, o.reference);
}

/* ---- casts ---- */

static struct tc_value *cast_to(struct tc_call *c, tc_dtype dtype) {
  return tc_r_cast(&c->r, tc_call_tensor(c, 0), dtype);
}
struct tc_value *tc_fn_cast_f32(struct tc_call *c) { return cast_to(c, TC_F32); }
struct tc_value *tc_fn_cast_f64(struct tc_call *c) { return cast_to(c, TC_F64); }
struct tc_value *tc_fn_cast_bf16(struct tc_call *c) { return cast_to(c, TC_BF16); }
struct tc_value *tc_fn_cast_i64(struct tc_call *c) { return cast_to(c, TC_I64); }
struct tc_value *tc_fn_cast_bool(struct tc_call *c) { return cast_to(c, TC_BOOL); }

static struct tc_value *move_to(struct tc_call *c, struct tc_value *x, const char *name) {
  const struct tc_device *from = tc_r_meta(&c->r, x).device;
  struct tc_builder *b = c->r.b;
  struct tc_value *moved = NULL;
  if (!name || c->r.status || !strcmp(name, name_of(from ? from : b->device))) return x;
  use_device(c, name);
  if (c->r.status) return NULL;
  if (!b->methods->move)
    return tc_call_fail(c, TC_UNSUPPORTED, "a graph has one device, and this moves from %s to %s",
                        name_of(from), name);
  c->r.status = b->methods->move(b, x, &moved, c->r.err);
  return moved;
}

/* x:to("bf16"), x:to("cpu"), x:to{dtype="bf16"}. */
struct tc_value *tc_fn_to(struct tc_call *c) {
  struct tc_value *x = tc_call_tensor(c, 0);
  const char *text = tc_call_text(c, 1, NULL), *device = tc_call_text(c, 2, NULL);
  tc_dtype dtype = tc_r_meta(&c->r, x).dtype;
  const bool is_dtype = text && tc_dtype_parse(text, &dtype);
  if (text && !is_dtype && device)
    return tc_call_fail(c, TC_ARG, "'%s' is no dtype; there are f32, f64, bf16, i64 and bool", text);
  return tc_r_cast(&c->r, move_to(c, x, text && !is_dtype ? text : device), dtype);
}

struct tc_value *tc_fn_cpu(struct tc_call *c) { return move_to(c, tc_call_tensor(c, 0), "cpu"); }
