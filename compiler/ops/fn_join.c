/* Tensor functions that take tensors apart, put them together, and choose by index. */
#include "ops/call.h"

static tc_sym size_of(struct tc_call *c, struct tc_value *x, int dim) {
  const struct tc_meta meta = tc_r_meta(&c->r, x);
  return dim < meta.ndim ? meta.sizes[dim] : tc_sym_const(1);
}

/* A dimension argument of a tensor that must have dimensions. */
static int real_dim(struct tc_call *c, struct tc_value *x, int arg) {
  const int ndim = tc_r_meta(&c->r, x).ndim;
  if (ndim == 0) tc_call_fail(c, TC_SHAPE, "a 0-dimensional tensor has no dimension to choose");
  return tc_call_dim(c, arg, ndim, 0);
}

/* ---- slices ---- */

static struct tc_value *select_at(struct tc_call *c, struct tc_value *x, int dim, tc_sym index) {
  const tc_sym one = tc_sym_const(1), dims[] = {tc_sym_const(dim)};
  return tc_call_emit_ints(c, TC_OP_squeeze, tc_call_slice(c, x, dim, index, one, one), 1, dims);
}

struct tc_value *tc_fn_select(struct tc_call *c) {
  struct tc_value *x = tc_call_tensor(c, 0);
  const int dim = real_dim(c, x, 1);
  return select_at(c, x, dim, tc_call_index(c, tc_call_sym(c, 2), size_of(c, x, dim), dim));
}

struct tc_value *tc_fn_narrow(struct tc_call *c) {
  struct tc_value *x = tc_call_tensor(c, 0);
  struct tc_symtab *tab = tc_call_tab(c);
  const int dim = real_dim(c, x, 1);
  const tc_sym size = size_of(c, x, dim), length = tc_call_sym(c, 3), passed = tc_call_sym(c, 2),
               zero = tc_sym_const(0);
  if (c->r.status) return NULL;
  /* An empty run may start just behind the end. */
  const bool behind =
      tc_sym_is(length, 0) && tc_sym_decide_eq(tab, passed, tc_sym_add(tab, size, tc_sym_const(1)));
  const tc_sym start = behind ? size : tc_call_index(c, passed, size, dim);
  const tc_sym end = tc_sym_add(tab, start, length);
  if (!c->r.status &&
      (tc_sym_decide_lt(tab, length, zero) || !tc_sym_valid(end) || tc_sym_decide_lt(tab, size, end)))
    return tc_call_fail(c, TC_INDEX, "%lld elements from %lld on do not lie in dimension %d of size %lld",
                        (long long)tc_sym_hint(length), (long long)tc_sym_hint(passed), dim + 1,
                        (long long)tc_sym_hint(size));
  return tc_call_slice(c, x, dim, start, length, tc_sym_const(1));
}

/* A bound from 1 or from the end → from 1, where the bounds may lie outside (they are clipped after). */
static tc_sym bound_from_1(struct tc_call *c, int arg, tc_sym size, tc_sym otherwise) {
  struct tc_symtab *tab = tc_call_tab(c);
  if (!tc_call_given(c, arg)) return otherwise;
  const tc_sym passed = tc_call_bound(c, arg);
  return tc_sym_decide_lt(tab, passed, tc_sym_const(0))
             ? tc_sym_add(tab, tc_sym_add(tab, size, passed), tc_sym_const(1))
             : passed;
}

/* As string.sub: both bounds are included, clipped to the dimension; a stop before start is empty. */
struct tc_value *tc_fn_slice(struct tc_call *c) {
  enum { ARG_START = 2, ARG_STOP = 3, ARG_STEP = 4 };
  struct tc_value *x = tc_call_tensor(c, 0);
  struct tc_symtab *tab = tc_call_tab(c);
  const int dim = real_dim(c, x, 1);
  const tc_sym size = size_of(c, x, dim), zero = tc_sym_const(0), one = tc_sym_const(1);
  const int64_t step = tc_call_given(c, ARG_STEP) ? tc_call_constant(c, tc_call_bound(c, ARG_STEP)) : 1;
  tc_sym start = bound_from_1(c, ARG_START, size, one), stop = bound_from_1(c, ARG_STOP, size, size);
  if (c->r.status) return NULL;
  if (step < 1) return tc_call_fail(c, TC_ARG, "the step must be at least 1; use flip for the reverse order");
  if (tc_call_given(c, ARG_START) && tc_sym_is(tc_call_bound(c, ARG_START), 0))
    return tc_call_fail(c, TC_INDEX, "start 0: indices count from 1 (or from the end: -1 is the last)");
  if (tc_sym_decide_lt(tab, start, one)) start = one;
  if (tc_sym_decide_lt(tab, size, stop)) stop = size;
  if (tc_sym_decide_lt(tab, stop, start)) return tc_call_slice(c, x, dim, zero, zero, one);
  const tc_sym length =
      tc_sym_add(tab, tc_sym_div(tab, tc_sym_sub(tab, stop, start), tc_sym_const(step)), one);
  return tc_call_slice(c, x, dim, tc_sym_sub(tab, start, one), length, tc_sym_const(step));
}

/* ---- pieces ---- */

/* Pieces of one size; the last may be shorter. An empty dimension gives one empty piece. */
static void split_equally(struct tc_call *c, struct tc_value *x, int dim, tc_sym piece) {
  struct tc_symtab *tab = tc_call_tab(c);
  const tc_sym size = size_of(c, x, dim), one = tc_sym_const(1);
  tc_sym start = tc_sym_const(0);
  if (tc_sym_is(size, 0)) tc_call_push(c, tc_call_slice(c, x, dim, start, start, one));
  while (!c->r.status && tc_sym_decide_lt(tab, start, size)) {
    const tc_sym end = tc_sym_add(tab, start, piece);
    const tc_sym rest = tc_sym_sub(tab, size, start),
                 length = tc_sym_always_le(end, size) ? piece : tc_sym_min(tab, piece, rest);
    tc_call_push(c, tc_call_slice(c, x, dim, start, length, one));
    start = end;
  }
}

static void split_by_list(struct tc_call *c, struct tc_value *x, int dim, const struct tc_arg *list) {
  struct tc_symtab *tab = tc_call_tab(c);
  tc_sym lengths[TC_MAX_RESULTS], start = tc_sym_const(0);
  const int count = tc_call_ints(c, 1, TC_MAX_RESULTS, lengths);
  for (int i = 0; i < count; i++) start = tc_sym_add(tab, start, lengths[i]);
  if (!c->r.status && !tc_sym_decide_eq(tab, start, size_of(c, x, dim)))
    tc_call_fail(c, TC_SHAPE, "the %d sizes sum to %lld, and dimension %d has size %lld", list->list.count,
                 (long long)tc_sym_hint(start), dim + 1, (long long)tc_sym_hint(size_of(c, x, dim)));
  start = tc_sym_const(0);
  for (int i = 0; i < count && !c->r.status; i++) {
    tc_call_push(c, tc_call_slice(c, x, dim, start, lengths[i], tc_sym_const(1)));
    start = tc_sym_add(tab, start, lengths[i]);
  }
}

struct tc_value *tc_fn_split(struct tc_call *c) {
  struct tc_value *x = tc_call_tensor(c, 0);
  const int dim = real_dim(c, x, 2);
  if (c->args[1].kind == TC_ARG_LIST) return split_by_list(c, x, dim, &c->args[1]), NULL;
  const tc_sym piece = tc_call_bound(c, 1);
  if (!c->r.status && !tc_sym_decide_lt(tc_call_tab(c), tc_sym_const(0), piece))
    return tc_call_fail(c, TC_ARG, "the size of a piece must be at least 1");
  split_equally(c, x, dim, piece);
  return NULL;
}

struct tc_value *tc_fn_chunk(struct tc_call *c) {
  struct tc_value *x = tc_call_tensor(c, 0);
  struct tc_symtab *tab = tc_call_tab(c);
  const int dim = real_dim(c, x, 2);
  const int64_t chunks = tc_call_constant(c, tc_call_bound(c, 1));
  if (c->r.status) return NULL;
  if (chunks < 1) return tc_call_fail(c, TC_ARG, "the number of pieces must be at least 1");
  const tc_sym rounded = tc_sym_add(tab, size_of(c, x, dim), tc_sym_const(chunks - 1));
  split_equally(c, x, dim, tc_sym_div(tab, rounded, tc_sym_const(chunks)));
  return NULL;
}

struct tc_value *tc_fn_unbind(struct tc_call *c) {
  struct tc_value *x = tc_call_tensor(c, 0);
  const int dim = real_dim(c, x, 1);
  if (c->r.status) return NULL;
  const int64_t count = tc_call_constant(c, size_of(c, x, dim));
  for (int64_t i = 0; i < count && !c->r.status; i++) tc_call_push(c, select_at(c, x, dim, tc_sym_const(i)));
  return NULL;
}

/* ---- joining ---- */

/* The tensors of a list, as they are joined one after the other. */
struct joining {
  struct tc_call *c;
  const struct tc_arg *items;
  int next;       /* item */
  bool stacks;    /* each gets a new dimension */
  bool all_empty; /* of cat: nothing is left out */
  int dim;
  tc_dtype dtype; /* of all */
};

/* A tensor of shape [0] joins anything (PyTorch keeps this from its beginnings). */
static bool is_left_out(struct tc_call *c, struct tc_value *x) {
  const struct tc_meta meta = tc_r_meta(&c->r, x);
  return meta.ndim == 1 && tc_sym_is(meta.sizes[0], 0);
}

static struct tc_value *next_tensor(struct joining *j) {
  struct tc_value *x = j->items[j->next++].value;
  while (!j->stacks && !j->all_empty && is_left_out(j->c, x)) x = j->items[j->next++].value;
  const tc_sym ints[] = {tc_sym_const(j->dim)};
  x = tc_r_cast(&j->c->r, x, j->dtype);
  return j->stacks ? tc_call_emit_ints(j->c, TC_OP_unsqueeze, x, 1, ints) : x;
}

/* The next `count` tensors as one. An operation takes so many operands at most: more are a tree of joins. */
static struct tc_value *join(struct joining *j, int count) {
  struct tc_value *parts[TC_MAX_INPUTS];
  const tc_sym ints[] = {tc_sym_const(j->dim)};
  int piece = 1, n = 0;
  while (count > piece * TC_MAX_INPUTS) piece *= TC_MAX_INPUTS;
  for (int left = count; left > 0 && !j->c->r.status; left -= piece) {
    const int taken = left < piece ? left : piece;
    parts[n++] = taken == 1 ? next_tensor(j) : join(j, taken);
  }
  return j->c->r.status ? NULL : tc_rn(&j->c->r, TC_OP_cat, n, parts, &(struct tc_attrs){ints, 1, NULL, 0});
}

static tc_dtype common_dtype(struct tc_call *c, int count) {
  struct tc_promotion promotion = TC_PROMOTION;
  for (int i = 0; i < count; i++) {
    struct tc_operand operand = {.value = c->args[0].list.items[i].value};
    operand.meta = tc_r_meta(&c->r, operand.value);
    tc_promote(c->r.b, &promotion, &operand);
  }
  return tc_promoted(&promotion);
}

/* Do the sizes of an item fit the first's? An operation says so itself of its own operands; here the items of
 * a tree are told by their places in the list. */
static void check_item(struct tc_call *c, const struct joining *j, struct tc_value *first, int item) {
  struct tc_value *x = j->items[item].value;
  const struct tc_meta a = tc_r_meta(&c->r, first), b = tc_r_meta(&c->r, x);
  bool fits = a.ndim == b.ndim;
  for (int d = 0; d < a.ndim && fits; d++)
    fits = (!j->stacks && d == j->dim) || tc_sym_decide_eq(tc_call_tab(c), a.sizes[d], b.sizes[d]);
  if (fits || (!j->stacks && is_left_out(c, x))) return;
  char text[2][TC_SHAPE_TEXT];
  tc_call_fail(c, TC_SHAPE, "item %d of the list is %s, which does not fit the first, %s", item + 1,
               tc_call_shape(c, x, text[0]), tc_call_shape(c, first, text[1]));
}

struct tc_value *tc_fn_cat(struct tc_call *c) {
  const int count = tc_call_tensors(c, 0);
  if (c->r.status) return NULL;
  struct joining j = {.c = c, .items = c->args[0].list.items, .dtype = common_dtype(c, count)};
  struct tc_value *first = NULL;
  int kept = 0;
  for (int i = 0; i < count; i++) {
    if (is_left_out(c, j.items[i].value)) continue;
    if (!kept++) first = j.items[i].value;
  }
  j.all_empty = !kept; /* then the first stands for them */
  if (j.all_empty) first = j.items[0].value;
  j.dim = real_dim(c, first, 1);
  for (int i = 0; i < count && kept > TC_MAX_INPUTS && !c->r.status; i++) check_item(c, &j, first, i);
  return c->r.status ? NULL : join(&j, kept ? kept : 1);
}

struct tc_value *tc_fn_stack(struct tc_call *c) {
  const int count = tc_call_tensors(c, 0);
  if (c->r.status) return NULL;
  struct joining j = {
      .c = c, .items = c->args[0].list.items, .stacks = true, .dtype = common_dtype(c, count)};
  j.dim = tc_call_dim(c, 1, tc_r_meta(&c->r, j.items[0].value).ndim + 1, 0);
  for (int i = 0; i < count && count > TC_MAX_INPUTS && !c->r.status; i++)
    check_item(c, &j, j.items[0].value, i);
  return c->r.status ? NULL : join(&j, count);
}

/* ---- by index ---- */

/* An index tensor, from 1 → from 0. */
static struct tc_value *index_tensor(struct tc_call *c, int arg) {
  struct tc_value *index = tc_call_tensor(c, arg);
  const tc_dtype dtype = tc_r_meta(&c->r, index).dtype;
  if (index && dtype != TC_I64)
    return tc_call_fail(c, TC_DTYPE, "the index must be i64, not %s; cast with :long()",
                        tc_dtype_name(dtype));
  return tc_r2(&c->r, TC_OP_sub, index, tc_r_scalar(&c->r, TC_I64, 1));
}

static struct tc_value *emit_by_index(struct tc_call *c, struct tc_value *x, struct tc_value *index,
                                      int dim) {
  struct tc_value *const in[] = {x, index};
  const tc_sym ints[] = {tc_sym_const(dim)};
  return tc_rn(&c->r, c->op, 2, in, &(struct tc_attrs){ints, 1, NULL, 0});
}

/* The operation needs a dimension: a scalar gets one for its time. */
struct tc_value *tc_fn_gather(struct tc_call *c) {
  struct tc_value *x = tc_call_tensor(c, 0), *index = index_tensor(c, 2);
  const tc_sym zero[] = {tc_sym_const(0)};
  const int ndim = tc_r_meta(&c->r, x).ndim, dim = tc_call_dim(c, 1, ndim, 0);
  if (c->r.status || ndim || tc_r_meta(&c->r, index).ndim) return emit_by_index(c, x, index, dim);
  x = tc_call_emit_ints(c, TC_OP_unsqueeze, x, 1, zero);
  index = tc_call_emit_ints(c, TC_OP_unsqueeze, index, 1, zero);
  return tc_call_emit_ints(c, TC_OP_squeeze, emit_by_index(c, x, index, 0), 1, zero);
}

struct tc_value *tc_fn_index_select(struct tc_call *c) {
  struct tc_value *x = tc_call_tensor(c, 0), *index = index_tensor(c, 2);
  const tc_sym zero[] = {tc_sym_const(0)};
  const int dim = real_dim(c, x, 1);
  if (index && tc_r_meta(&c->r, index).ndim == 0)
    index = tc_call_emit_ints(c, TC_OP_unsqueeze, index, 1, zero);
  return emit_by_index(c, x, index, dim);
}

struct tc_value *tc_fn_embedding(struct tc_call *c) {
  struct tc_value *index = index_tensor(c, 0), *weight = tc_call_tensor(c, 1);
  return tc_r2(&c->r, TC_OP_embedding, weight, index);
}
