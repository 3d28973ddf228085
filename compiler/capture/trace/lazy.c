/* Lazy scalars: numbers from outside whose value changes between calls. What is computed from them stays an
 * expression over their sources, so that a call with another value may use the same graph; a comparison
 * becomes a guard on its outcome. Whatever needs the value itself asks for it by tc_use, which guards it, as
 * for any other scalar.
 *
 * Invariants:
 *  1. A number is lazy while it has a source that is marked (tc_guards_set_dynamic), or is an expression over
 *     one.
 *  2. A tracked lazy number holds the value of the captured call, as a hint.
 *  3. Its kind, integer or float, is guarded where it is first used; so that of every expression follows. */
#include "capture/trace/lazy.h"
#include "capture/trace/shapes.h"
#include "capture/trace/trace.h"

bool tc_is_lazy(const struct tc_trace *t, const struct tc_tracked *v) {
  return tc_is_number(v) && v->source != TC_NO_SOURCE && tc_guards_is_dynamic(t->guards, v->source);
}

void tc_lazy_import(struct tc_trace *t, const struct tc_tracked *v) {
  const struct tc_capture_options *options = t->options;
  if (!tc_is_number(v) || (!options->n_changed && !options->all_dynamic)) return;
  bool changes = options->all_dynamic && tc_guards_is_arg(t->guards, v->source);
  const uint64_t path = options->n_changed && !changes ? tc_guards_path(t->guards, v->source) : 0;
  for (int i = 0; i < options->n_changed && !changes; i++)
    changes = options->changed[i].path == path && options->changed[i].is_number;
  if (changes) tc_guards_set_dynamic(t->guards, v->source);
}

/* The number as an operand of an expression. */
static tc_status operand(struct tc_trace *t, struct tc_tracked *v, int *source) {
  if (tc_is_lazy(t, v)) {
    tc_guards_number(t->guards, v->source, v->kind == TC_IS_INT);
    *source = v->source;
    return TC_OK;
  }
  const tc_status status = tc_use(t, v);
  if (status) return status;
  tc_push(t, v);
  *source = tc_guards_constant(t->guards, t->L, lua_gettop(t->L));
  lua_pop(t->L, 1);
  return TC_OK;
}

/* TC_NO_SOURCE: no operand is lazy, or the expression would be too long; they are fixed then. */
static tc_status expression(struct tc_trace *t, int op, struct tc_tracked *a, struct tc_tracked *b,
                            int *source) {
  const bool is_unary = tc_guards_is_unary(op);
  int left, right = TC_NO_SOURCE;
  tc_status status = TC_OK;
  *source = TC_NO_SOURCE;
  if (tc_is_lazy(t, a) || (!is_unary && tc_is_lazy(t, b))) {
    status = operand(t, a, &left);
    if (!status && !is_unary) status = operand(t, b, &right);
    if (!status) *source = tc_guards_expr(t->guards, op, left, right);
  }
  if (!status && *source == TC_NO_SOURCE) status = tc_use(t, a);
  if (!status && *source == TC_NO_SOURCE && !is_unary) status = tc_use(t, b);
  return status;
}

tc_status tc_lazy_arith(struct tc_trace *t, int op, struct tc_tracked *a, struct tc_tracked *b,
                        struct tc_tracked *result) {
  int source;
  tc_status status = expression(t, op, a, b, &source);
  if (status) return status;
  result->source = source;
  return source == TC_NO_SOURCE ? TC_OK : tc_lazy_symbol(t, op, a, b, result);
}

tc_status tc_lazy_compare(struct tc_trace *t, int op, struct tc_tracked *a, struct tc_tracked *b,
                          bool outcome) {
  int source;
  const tc_status status = expression(t, op, a, b, &source);
  if (status || source == TC_NO_SOURCE) return status;
  lua_pushboolean(t->L, outcome);
  tc_guards_equal(t->guards, t->L, source, lua_gettop(t->L));
  lua_pop(t->L, 1);
  return TC_OK;
}
