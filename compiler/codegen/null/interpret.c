/* Walks kernels and launch lists: see interpret.h.
 *
 * 1. A point is one assignment of all loop variables; at a point every value is computed before any store.
 * 2. Every element that is touched lies in [0, elements) of its buffer, or the run fails.
 * 3. Scratch rows are filled with garbage before each item (and each lane of it). */
#include "codegen/null/interpret.h"

#include <string.h>

#include "codegen/null/internal.h"

enum { POISON = 0xA5 };

struct walker {
  const struct tc_alloc *alloc;
  const struct tc_kernel *k;
  void *buffers[TC_MAX_KERNEL_BUFFERS];
  int64_t elements[TC_MAX_KERNEL_BUFFERS];
  const int64_t *sizes;
  int64_t outer[TC_MAX_KERNEL_DIMS], inner[TC_MAX_KERNEL_DIMS];
  struct null_value *values; /* by expression, of the point `stamp` */
  uint64_t *stamps, stamp;
  struct null_state *states;    /* by acc */
  const struct tc_phase *phase; /* that is under way, */
  int turn;                     /* and its turn */
  tc_dtype *acc_dtypes;         /* of what each acc reduces */
  enum tc_reduction *acc_ops;
  tc_status status;
  struct tc_error *err;
};

static int64_t divide(int64_t a, int64_t b) { return b ? a / b - (a % b != 0 && (a < 0) != (b < 0)) : 0; }

static int64_t variable(const struct walker *w, tc_sym s) {
  for (int i = 0; i < w->k->n_outer; i++)
    if (tc_sym_same(w->k->outer[i].var, s)) return w->outer[i];
  for (int i = 0; i < w->k->n_inner; i++)
    if (tc_sym_same(w->k->inner[i].var, s)) return w->inner[i];
  for (int c = 0; w->phase && c < w->phase->n_columns; c++)
    if (tc_sym_same(w->phase->columns[c], s)) return w->phase->table[w->turn * w->phase->n_columns + c];
  return 0;
}

static int64_t symbol(const struct walker *w, tc_sym s) {
  if (tc_sym_is_const(s)) return tc_sym_value(s);
  const enum tc_sym_kind kind = tc_sym_kind(s);
  if (kind == TC_SYM_INDEX) return variable(w, s);
  if (kind == TC_SYM_SIZE) return w->sizes[tc_sym_id(s)];
  const int64_t a = symbol(w, tc_sym_left(s)), b = symbol(w, tc_sym_right(s));
  switch (kind) {
    case TC_SYM_ADD: return a + b;
    case TC_SYM_MUL: return a * b;
    case TC_SYM_DIV: return divide(a, b);
    case TC_SYM_MOD: return a - b * divide(a, b);
    case TC_SYM_MIN: return a < b ? a : b;
    default: return a > b ? a : b;
  }
}

/* Is the element inside? The first one outside fails the run. */
static bool inside(struct walker *w, int buffer, int64_t element, const char *what) {
  if (element >= 0 && element < w->elements[buffer]) return true;
  if (w->status == TC_OK)
    w->status = tc_fail(
        w->err, TC_VERIFY, "null", "kernel %s: %s of element %lld of buffer %d, which has %lld",
        w->k->name ? w->k->name : "?", what, (long long)element, buffer, (long long)w->elements[buffer]);
  return false;
}

static int role_buffer(const struct walker *w, enum tc_buffer_role role) {
  for (int i = 0; i < w->k->n_buffers; i++)
    if (w->k->buffers[i].role == role) return i;
  return -1;
}

static struct null_value evaluate(struct walker *w, const struct tc_expr *e);

static struct null_value load(struct walker *w, const struct tc_expr *e) {
  if (e->args[1] && !evaluate(w, e->args[1]).i) return (struct null_value){0};
  const int64_t element = symbol(w, e->address) + (e->args[0] ? evaluate(w, e->args[0]).i : 0);
  if (!inside(w, e->buffer, element, "load")) return (struct null_value){0};
  return null_read(w->k->buffers[e->buffer].dtype, w->buffers[e->buffer], element);
}

static void raise_flag(struct walker *w, int flag) {
  ((char *)w->buffers[role_buffer(w, TC_ROLE_STATUS)])[flag] = 1;
}

static struct null_value check(struct walker *w, const struct tc_expr *e) {
  const int64_t index = evaluate(w, e->args[0]).i, limit = symbol(w, e->address);
  if (index >= 0 && index < limit) return null_integer(index);
  raise_flag(w, TC_FLAG_INDEX);
  return null_integer(index < 0 || limit == 0 ? 0 : limit - 1);
}

static struct null_value divisor(struct walker *w, const struct tc_expr *e) {
  const struct null_value value = evaluate(w, e->args[0]);
  if (value.i == 0) raise_flag(w, e->acc);
  return value;
}

static struct null_value accumulated(const struct walker *w, const struct tc_expr *e) {
  const struct null_state *s = &w->states[e->acc];
  const enum tc_reduction op = w->acc_ops[e->acc];
  if (op == TC_RED_ARGMAX || op == TC_RED_ARGMIN) return null_integer(s->position);
  return null_cast(s->value, w->acc_dtypes[e->acc], e->dtype);
}

static struct null_value compute(struct walker *w, const struct tc_expr *e) {
  struct null_value args[TC_EXPR_ARGS] = {{0}};
  switch (e->op) {
    case TC_E_CONST:
      return tc_dtype_is_float(e->dtype) ? null_number(e->dtype, e->number) : null_integer(e->integer);
    case TC_E_INDEX: return null_integer(symbol(w, e->address));
    case TC_E_LOAD: return load(w, e);
    case TC_E_ACC: return accumulated(w, e);
    case TC_E_CHECK: return check(w, e);
    case TC_E_DIVISOR: return divisor(w, e);
    case TC_E_UNIFORM:
    case TC_E_NORMAL: return null_random(e, w->buffers[role_buffer(w, TC_ROLE_RNG)], symbol(w, e->address));
    default: break;
  }
  for (int i = 0; i < tc_expr_arity(e->op); i++) args[i] = evaluate(w, e->args[i]);
  return null_apply(e, args);
}

static struct null_value evaluate(struct walker *w, const struct tc_expr *e) {
  if (w->stamps[e->id] == w->stamp) return w->values[e->id];
  const struct null_value value = compute(w, e);
  w->stamps[e->id] = w->stamp;
  return w->values[e->id] = value;
}

/* Is the point in the phase's part (of this turn)? */
static bool in_part(const struct walker *w, const struct tc_phase *phase) {
  if (!tc_sym_valid(phase->var)) return true;
  const int64_t at = variable(w, phase->var);
  return symbol(w, phase->from) <= at && at < symbol(w, phase->to);
}

static void point(struct walker *w, const struct tc_phase *phase) {
  w->phase = phase;
  for (w->turn = 0; w->turn < (phase->n_turns ? phase->n_turns : 1); w->turn++)
    if (in_part(w, phase)) {
      w->stamp++;
      for (int i = 0; i < phase->n_stores; i++) evaluate(w, phase->stores[i].value);
      for (int i = 0; i < phase->n_reductions; i++) {
        const struct tc_kernel_reduction *r = &phase->reductions[i];
        const int64_t position = tc_sym_valid(r->index) ? symbol(w, r->index) : 0;
        null_reduce(r->op, r->value->dtype, &w->states[r->acc], evaluate(w, r->value), position);
      }
      for (int i = 0; i < phase->n_stores; i++) {
        const struct tc_kernel_store *s = &phase->stores[i];
        const int64_t element = symbol(w, s->address);
        if (inside(w, s->buffer, element, "store"))
          null_write(w->k->buffers[s->buffer].dtype, w->buffers[s->buffer], element, s->value->dtype,
                     evaluate(w, s->value));
      }
    }
}

static void inner_points(struct walker *w, const struct tc_phase *phase, int dim) {
  if (dim == w->k->n_inner) {
    point(w, phase);
    return;
  }
  const int64_t extent = symbol(w, w->k->inner[dim].extent);
  for (w->inner[dim] = 0; w->inner[dim] < extent && w->status == TC_OK; w->inner[dim]++)
    inner_points(w, phase, dim + 1);
}

/* All phases of one lane. */
static void lane(struct walker *w) {
  for (int i = 0; i < w->k->n_buffers; i++)
    if (w->k->buffers[i].role == TC_ROLE_SCRATCH)
      memset(w->buffers[i], POISON, (size_t)w->elements[i] * (size_t)tc_dtype_bytes(w->k->buffers[i].dtype));
  for (int p = 0; p < w->k->n_phases && w->status == TC_OK; p++) {
    const struct tc_phase *phase = &w->k->phases[p];
    for (int i = 0; i < phase->n_reductions; i++) {
      const struct tc_kernel_reduction *r = &phase->reductions[i];
      w->acc_dtypes[r->acc] = r->value->dtype;
      w->acc_ops[r->acc] = r->op;
      w->states[r->acc] = (struct null_state){.value = null_reduce_start(r->op, r->value->dtype)};
    }
    if (phase->over_inner)
      inner_points(w, phase, 0);
    else
      point(w, phase);
  }
}

static void item(struct walker *w, int64_t index) {
  const struct tc_kernel *k = w->k;
  const bool blocks = k->lanes == TC_LANES_OUTER;
  int64_t rest = index;
  for (int i = k->n_outer - 1; i >= 0; i--) {
    int64_t extent = symbol(w, k->outer[i].extent);
    if (blocks && i == k->n_outer - 1) extent = (extent + k->block - 1) / k->block;
    w->outer[i] = extent ? rest % extent : 0;
    rest = extent ? rest / extent : 0;
  }
  if (!blocks) {
    lane(w);
    return;
  }
  const int last = k->n_outer - 1;
  const int64_t from = w->outer[last] * k->block, extent = symbol(w, k->outer[last].extent);
  for (int64_t i = from; i < from + k->block && i < extent && w->status == TC_OK; i++) {
    w->outer[last] = i;
    lane(w);
  }
}

static bool prepare(struct walker *w, void *const *buffers) {
  const struct tc_kernel *k = w->k;
  for (int i = 0; i < k->n_buffers; i++) {
    w->elements[i] = symbol(w, k->buffers[i].elements);
    w->buffers[i] = buffers[i];
    if (k->buffers[i].role != TC_ROLE_SCRATCH) continue;
    w->buffers[i] =
        tc_new_bytes(w->alloc, (size_t)w->elements[i] * (size_t)tc_dtype_bytes(k->buffers[i].dtype) + 1);
    if (!w->buffers[i]) return false;
  }
  w->values = TC_NEW_ARRAY(w->alloc, struct null_value, (size_t)k->n_exprs + 1);
  w->stamps = TC_NEW_ARRAY(w->alloc, uint64_t, (size_t)k->n_exprs + 1);
  w->states = TC_NEW_ARRAY(w->alloc, struct null_state, (size_t)k->n_accs + 1);
  w->acc_dtypes = TC_NEW_ARRAY(w->alloc, tc_dtype, (size_t)k->n_accs + 1);
  w->acc_ops = TC_NEW_ARRAY(w->alloc, enum tc_reduction, (size_t)k->n_accs + 1);
  return w->values && w->stamps && w->states && w->acc_dtypes && w->acc_ops;
}

static void release(struct walker *w) {
  const struct tc_kernel *k = w->k;
  for (int i = 0; i < k->n_buffers; i++)
    if (k->buffers[i].role == TC_ROLE_SCRATCH)
      tc_free_bytes(w->alloc, w->buffers[i],
                    (size_t)w->elements[i] * (size_t)tc_dtype_bytes(k->buffers[i].dtype) + 1);
  TC_FREE_ARRAY(w->alloc, w->values, (size_t)k->n_exprs + 1);
  TC_FREE_ARRAY(w->alloc, w->stamps, (size_t)k->n_exprs + 1);
  TC_FREE_ARRAY(w->alloc, w->states, (size_t)k->n_accs + 1);
  TC_FREE_ARRAY(w->alloc, w->acc_dtypes, (size_t)k->n_accs + 1);
  TC_FREE_ARRAY(w->alloc, w->acc_ops, (size_t)k->n_accs + 1);
}

tc_status tc_interpret_kernel(const struct tc_alloc *alloc, const struct tc_kernel *k, void *const *buffers,
                              const int64_t *sizes, int64_t first, int64_t last, struct tc_error *err) {
  struct walker w = {.alloc = alloc, .k = k, .sizes = sizes, .err = err};
  if (!prepare(&w, buffers))
    w.status = tc_fail_memory(err, "null");
  else if (k->split_inner) {
    /* Items are elements of the one inner dim. */
    for (w.inner[0] = first; w.inner[0] < last && w.status == TC_OK; w.inner[0]++)
      for (int p = 0; p < w.k->n_phases; p++) point(&w, &w.k->phases[p]);
  } else
    for (int64_t i = first; i < last && w.status == TC_OK; i++) item(&w, i);
  release(&w);
  return w.status;
}
