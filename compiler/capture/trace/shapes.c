/* Sizes that change between calls: dimensions of tensors from outside as size variables, and integers that
 * are computed from them.
 *
 * Invariants:
 *  1. A dimension is a variable when it is known to have changed, or when every size of the arguments is to
 *     vary, and is at least 2; any other is guarded to be what it is. Dimensions of equal size share a
 *     variable (as PyTorch's duck shaping), and guards hold them equal.
 *  2. Strides are expressions over the variables where the layout has that form, else constants; guards hold
 *     them to it.
 *  3. An integer that Lua code sees of a size is lazy (lazy.c): its source is an expression over size
 *     variables, and `lazy_sizes` leads back to the symbol when it becomes a size again. What has no such
 *     form is fixed by a guard. */
#include "capture/trace/shapes.h"
#include "capture/trace/lazy.h"
#include "capture/trace/trace.h"

static struct tc_symtab *symbols(const struct tc_trace *t) { return t->builder.builder.tab; }

/* --- size variables --- */

/* The variable for sizes that are `value` in the captured call; -1: there are too many. It is found at
 * dimension `dim` of the tensor at `source`, or (-1) is the number there, if it was not found before. */
static int variable_of(struct tc_trace *t, int64_t value, int source, int dim) {
  const struct tc_traced_size size = {value, source, dim};
  for (size_t i = 0; i < t->sizes.len; i++)
    if (t->sizes.data[i].value == value) return (int)i;
  if (t->sizes.len >= TC_MAX_GUARD_SIZES || !tc_vec_push(tc_arena_alloc(t->arena), &t->sizes, size))
    return -1;
  return (int)t->sizes.len - 1;
}

static tc_sym variable(struct tc_trace *t, int id) {
  return tc_sym_size(symbols(t), id, t->sizes.data[id].value);
}

/* --- tensors from outside --- */

/* Which dimensions are variables. */
static uint32_t varying(struct tc_trace *t, const struct tc_traced_tensor *x) {
  const struct tc_capture_options *options = t->options;
  const int source = x->origin.source;
  uint32_t dims = 0;
  if (t->host->marked_dims) {
    lua_rawgeti(t->L, t->objects, x->origin.object);
    dims = t->host->marked_dims(t->L, lua_gettop(t->L));
    lua_pop(t->L, 1);
  }
  if (options->all_dynamic && tc_guards_is_arg(t->guards, source)) dims = UINT32_MAX;
  if (options->n_changed) {
    const uint64_t path = tc_guards_path(t->guards, source);
    for (int i = 0; i < options->n_changed; i++)
      if (options->changed[i].path == path && !options->changed[i].is_number)
        dims |= options->changed[i].dims;
  }
  return dims;
}

/* Strides that are products of sizes, from the innermost dimension on. */
static void find_strides(struct tc_trace *t, const struct tc_tensor *x, struct tc_traced_shape *shape) {
  bool done[TC_MAX_DIMS] = {false};
  tc_sym next = tc_sym_const(1);
  for (int d = 0; d < x->ndim; d++) shape->strides[d] = tc_sym_const(x->strides[d]);
  for (int k = 0; k < x->ndim; k++) {
    int inner = -1;
    for (int d = x->ndim - 1; d >= 0; d--)
      if (!done[d] && x->strides[d] > 0 && x->sizes[d] > 1 &&
          (inner < 0 || x->strides[d] < x->strides[inner]))
        inner = d;
    if (inner < 0) return;
    done[inner] = true;
    if (tc_sym_valid(next) && tc_sym_hint(next) == x->strides[inner]) shape->strides[inner] = next;
    next = tc_sym_mul(symbols(t), shape->strides[inner], shape->sizes[inner]);
  }
}

tc_status tc_shape_of(struct tc_trace *t, struct tc_traced_tensor *x, const struct tc_traced_shape **out) {
  const struct tc_tensor *external = x->external;
  int ids[TC_MAX_DIMS];
  bool varies = false;
  *out = x->shape;
  if (x->shape) return TC_OK;
  struct tc_traced_shape *shape = tc_arena_bytes(t->arena, sizeof *shape);
  if (!shape) return tc_trace_nomem(t);
  const uint32_t dims = varying(t, x);
  for (int d = 0; d < external->ndim; d++) {
    ids[d] = dims >> d & 1 && external->sizes[d] >= 2
                 ? variable_of(t, external->sizes[d], x->origin.source, d)
                 : -1;
    varies |= ids[d] >= 0;
    shape->sizes[d] = ids[d] < 0 ? tc_sym_const(external->sizes[d]) : variable(t, ids[d]);
    if (!tc_sym_valid(shape->sizes[d])) return tc_trace_nomem(t);
  }
  find_strides(t, external, shape);
  if (varies)
    tc_guards_tensor_dynamic(t->guards, x->origin.source, external, ids, shape->strides);
  else
    tc_guards_tensor(t->guards, x->origin.source, external);
  *out = x->shape = shape;
  return TC_OK;
}

/* --- between symbols and the integers of Lua --- */

static int source_of(struct tc_trace *t, tc_sym s);

static int expression_of(struct tc_trace *t, int op, tc_sym s) {
  const int left = source_of(t, tc_sym_left(s)), right = source_of(t, tc_sym_right(s));
  return left == TC_NO_SOURCE || right == TC_NO_SOURCE ? TC_NO_SOURCE
                                                       : tc_guards_expr(t->guards, op, left, right);
}

/* A source that computes the symbol; TC_NO_SOURCE: none does. */
static int source_of(struct tc_trace *t, tc_sym s) {
  switch (tc_sym_kind(s)) {
    case TC_SYM_CONST: {
      lua_pushinteger(t->L, tc_sym_value(s));
      const int source = tc_guards_constant(t->guards, t->L, lua_gettop(t->L));
      lua_pop(t->L, 1);
      return source;
    }
    case TC_SYM_SIZE: {
      /* The source of a variable's value. */
      const struct tc_traced_size *size = &t->sizes.data[tc_sym_id(s)];
      const int source = size->dim < 0 ? size->source : tc_guards_dim(t->guards, size->source, size->dim);
      tc_guards_set_dynamic(t->guards, source);
      return source;
    }
    case TC_SYM_ADD: return expression_of(t, LUA_OPADD, s);
    case TC_SYM_MUL: return expression_of(t, LUA_OPMUL, s);
    case TC_SYM_DIV: return expression_of(t, LUA_OPIDIV, s);
    case TC_SYM_MOD: return expression_of(t, LUA_OPMOD, s);
    default: return TC_NO_SOURCE;
  }
}

tc_status tc_lazy_remember(struct tc_trace *t, int source, tc_sym s) {
  while (t->lazy_sizes.len <= (size_t)source)
    if (!tc_vec_push(tc_arena_alloc(t->arena), &t->lazy_sizes, TC_SYM_INVALID)) return tc_trace_nomem(t);
  t->lazy_sizes.data[source] = s;
  return TC_OK;
}

tc_status tc_int_of_sym(struct tc_trace *t, tc_sym s, struct tc_tracked *out) {
  *out = tc_int(tc_sym_hint(s));
  if (tc_sym_is_const(s)) return TC_OK;
  out->source = source_of(t, s);
  if (out->source != TC_NO_SOURCE) return tc_lazy_remember(t, out->source, s);
  tc_sym_decide_eq(symbols(t), s, tc_sym_const(out->integer));
  return TC_OK;
}

bool tc_sym_of_int(const struct tc_trace *t, const struct tc_tracked *v, tc_sym *out) {
  if (v->kind != TC_IS_INT) return false;
  if (!tc_is_lazy(t, v)) {
    *out = tc_sym_const(v->integer);
    return tc_sym_valid(*out);
  }
  *out = (size_t)v->source < t->lazy_sizes.len ? t->lazy_sizes.data[v->source] : TC_SYM_INVALID;
  return tc_sym_valid(*out);
}

/* A lazy integer below -1, which counts from the end: the variable is what it is without its sign. */
static tc_status negative_size(struct tc_trace *t, const struct tc_tracked *v, tc_sym *out) {
  tc_guards_number(t->guards, v->source, true);
  struct tc_tracked size = tc_int(-v->integer);
  size.source = tc_guards_expr(t->guards, LUA_OPUNM, v->source, TC_NO_SOURCE);
  *out = TC_SYM_INVALID;
  if (size.source == TC_NO_SOURCE) return TC_OK;
  const tc_status status = tc_size_of_int(t, &size, out);
  if (status || !tc_sym_valid(*out)) return status;
  *out = tc_sym_sub(symbols(t), tc_sym_const(0), *out);
  return tc_sym_valid(*out) ? tc_lazy_remember(t, v->source, *out) : TC_OK;
}

tc_status tc_size_of_int(struct tc_trace *t, struct tc_tracked *v, tc_sym *out) {
  if (tc_sym_of_int(t, v, out)) return TC_OK;
  if (tc_is_lazy(t, v) && v->integer < -1 && v->integer >= -TC_SYM_SIZE_MAX) {
    const tc_status status = negative_size(t, v, out);
    return status || tc_sym_valid(*out) ? status : tc_use(t, v);
  }
  const int id = tc_is_lazy(t, v) && v->integer >= 2 ? variable_of(t, v->integer, v->source, -1) : -1;
  *out = TC_SYM_INVALID;
  if (id < 0) return tc_use(t, v);
  tc_guards_number(t->guards, v->source, true);
  tc_guards_size(t->guards, v->source, id);
  *out = variable(t, id);
  return tc_lazy_remember(t, v->source, *out);
}

tc_status tc_lazy_symbol(struct tc_trace *t, int op, const struct tc_tracked *a, const struct tc_tracked *b,
                         const struct tc_tracked *result) {
  tc_sym left, right, s;
  if (!tc_is_lazy(t, result) || !tc_sym_of_int(t, a, &left) || !tc_sym_of_int(t, b, &right)) return TC_OK;
  /* Lua's integer operators that symbols have. */
  s = TC_SYM_INVALID;
  switch (op) {
    case LUA_OPADD: s = tc_sym_add(symbols(t), left, right); break;
    case LUA_OPSUB: s = tc_sym_sub(symbols(t), left, right); break;
    case LUA_OPMUL: s = tc_sym_mul(symbols(t), left, right); break;
    case LUA_OPIDIV: s = tc_sym_div(symbols(t), left, right); break;
    case LUA_OPMOD: s = tc_sym_mod(symbols(t), left, right); break;
    default: break;
  }
  return tc_sym_valid(s) ? tc_lazy_remember(t, result->source, s) : TC_OK;
}

/* --- the end --- */

void tc_shapes_seal(struct tc_trace *t) {
  const struct tc_symtab *tab = symbols(t);
  for (int i = 0; tab && i < tc_sym_fact_count(tab); i++) {
    const struct tc_sym_fact fact = tc_sym_fact_at(tab, i);
    tc_guards_shape_fact(t->guards, &fact);
  }
}
