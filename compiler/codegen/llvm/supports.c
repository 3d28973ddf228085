/* What this generator can make. A kernel that passes is emitted without a failure, but for memory. */
#include "codegen/llvm/supports.h"

#include <stdio.h>

enum { AVX2_BYTES = 32, AVX512_BYTES = 64, MOST_EXPRESSIONS = 1 << 16, WORD_BITS = 64 };

struct ask {
  const struct tc_kernel *k;
  char *why;
  size_t bytes;
  uint64_t seen[MOST_EXPRESSIONS / WORD_BITS]; /* by id: expressions share operands */
};

#define REFUSE(a, ...) (snprintf((a)->why, (a)->bytes, __VA_ARGS__), false)

static bool has_role(const struct tc_kernel *k, enum tc_buffer_role role) {
  for (int i = 0; i < k->n_buffers; i++)
    if (k->buffers[i].role == role) return true;
  return false;
}

static bool real_only(enum tc_expr_op op) {
  switch (op) {
    case TC_E_RECIPROCAL:
    case TC_E_SQRT:
    case TC_E_RSQRT:
    case TC_E_EXP:
    case TC_E_LOG:
    case TC_E_LOG1P:
    case TC_E_SIN:
    case TC_E_COS:
    case TC_E_TAN:
    case TC_E_TANH:
    case TC_E_SIGMOID:
    case TC_E_ERF:
    case TC_E_DIV:
    case TC_E_FMA: return true;
    default: return false;
  }
}

static bool expression(struct ask *a, const struct tc_expr *x) {
  if (!x) return REFUSE(a, "an expression is missing");
  if (x->id < 0 || x->id >= a->k->n_exprs)
    return REFUSE(a, "expression %d of a kernel with %d", x->id, a->k->n_exprs);
  if (real_only(x->op) && !tc_dtype_is_float(x->dtype))
    return REFUSE(a, "%s of %s", tc_expr_op_name(x->op), tc_dtype_name(x->dtype));
  if (x->op == TC_E_ROUND && x->dtype != TC_F32) return REFUSE(a, "round of %s", tc_dtype_name(x->dtype));
  const bool whole = x->op == TC_E_FLOORDIV || x->op == TC_E_REMAINDER || x->op == TC_E_POW;
  if (whole && x->dtype == TC_BOOL) return REFUSE(a, "%s of bool", tc_expr_op_name(x->op));
  if (x->op == TC_E_LOAD && (x->buffer < 0 || x->buffer >= a->k->n_buffers))
    return REFUSE(a, "a load from buffer %d of %d", x->buffer, a->k->n_buffers);
  if (x->op == TC_E_CHECK && !has_role(a->k, TC_ROLE_STATUS))
    return REFUSE(a, "an index check without a status buffer");
  if (x->op == TC_E_DIVISOR && (x->dtype != TC_I64 || !has_role(a->k, TC_ROLE_STATUS)))
    return REFUSE(a, "a divisor other than i64, or without a status buffer");
  const bool random = x->op == TC_E_UNIFORM || x->op == TC_E_NORMAL;
  if (random && !has_role(a->k, TC_ROLE_RNG)) return REFUSE(a, "random numbers without a generator's state");
  if (x->op == TC_E_ACC && (x->acc < 0 || x->acc >= a->k->n_accs))
    return REFUSE(a, "reduction %d of %d", x->acc, a->k->n_accs);
  return true;
}

static bool tree(struct ask *a, const struct tc_expr *x) {
  if (!expression(a, x)) return false;
  uint64_t *word = &a->seen[x->id / WORD_BITS];
  const uint64_t bit = UINT64_C(1) << (x->id % WORD_BITS);
  if (*word & bit) return true;
  *word |= bit;
  for (int i = 0; i < TC_EXPR_ARGS; i++)
    if (x->args[i] && !tree(a, x->args[i])) return false;
  return true;
}

/* Lanes across which there are loops are all in one part or another: no. */
static bool part(struct ask *a, const struct tc_phase *p) {
  const struct tc_kernel *k = a->k;
  if (!tc_sym_valid(p->var)) return true;
  if (p->n_reductions) return REFUSE(a, "a reduction in a part of a dimension");
  if (p->n_columns > TC_MAX_COLUMNS)
    return REFUSE(a, "%d columns, more than %d", p->n_columns, TC_MAX_COLUMNS);
  if (k->lanes == TC_LANES_OUTER && k->n_inner)
    return REFUSE(a, "parts of a kernel with loops around its lanes");
  for (int i = 0; i < k->n_inner - 1; i++)
    if (tc_sym_same(k->inner[i].var, p->var))
      return REFUSE(a, "a part of an inner dimension other than the last");
  return true;
}

static bool phase(struct ask *a, const struct tc_phase *p) {
  if (!part(a, p)) return false;
  if (p->n_reductions && !p->over_inner) return REFUSE(a, "a reduction outside of the inner loops");
  for (int i = 0; i < p->n_reductions; i++) {
    const struct tc_kernel_reduction *r = &p->reductions[i];
    const bool position = r->op == TC_RED_ARGMAX || r->op == TC_RED_ARGMIN;
    if (position && !tc_sym_valid(r->index))
      return REFUSE(a, "%s without a position", tc_reduction_name(r->op));
    if (r->acc < 0 || r->acc >= a->k->n_accs) return REFUSE(a, "reduction %d of %d", r->acc, a->k->n_accs);
    if (!tree(a, r->value)) return false;
  }
  for (int i = 0; i < p->n_stores; i++) {
    const struct tc_kernel_store *s = &p->stores[i];
    if (s->buffer < 0 || s->buffer >= a->k->n_buffers)
      return REFUSE(a, "a store to buffer %d of %d", s->buffer, a->k->n_buffers);
    if (!tree(a, s->value)) return false;
  }
  return true;
}

static bool shape(struct ask *a) {
  const struct tc_kernel *k = a->k;
  if (k->n_exprs > MOST_EXPRESSIONS)
    return REFUSE(a, "%d expressions, more than %d", k->n_exprs, MOST_EXPRESSIONS);
  if (k->n_buffers > TC_MAX_KERNEL_BUFFERS)
    return REFUSE(a, "%d buffers, more than %d", k->n_buffers, TC_MAX_KERNEL_BUFFERS);
  if (k->n_outer > TC_MAX_KERNEL_DIMS || k->n_inner > TC_MAX_KERNEL_DIMS)
    return REFUSE(a, "more than %d loops", TC_MAX_KERNEL_DIMS);
  if (k->lanes == TC_LANES_OUTER && (!k->n_outer || k->block < 1))
    return REFUSE(a, "lanes of an outer dimension, but no such dimension or block");
  if (k->lanes == TC_LANES_OUTER && k->split_inner)
    return REFUSE(a, "lanes of an outer dimension in a kernel split by elements");
  if (k->split_inner && (k->n_outer || k->n_inner != 1))
    return REFUSE(a, "split by elements with %d outer and %d inner loops", k->n_outer, k->n_inner);
  for (int i = 0; k->split_inner && i < k->n_phases; i++)
    if (k->phases[i].n_reductions || !k->phases[i].over_inner)
      return REFUSE(a, "split by elements with a reduction or a store of whole items");
  return true;
}

bool ll_supports(const struct tc_target *target, const struct tc_kernel *k, char *why, size_t why_bytes) {
  struct ask a = {.k = k, .why = why, .bytes = why_bytes};
  if (target->arch != TC_ARCH_X86_64) return REFUSE(&a, "a target other than x86-64");
  if (target->vector_bytes != AVX2_BYTES && target->vector_bytes != AVX512_BYTES)
    return REFUSE(&a, "vectors of %d bytes (AVX2 and AVX-512 have 32 and 64)", target->vector_bytes);
  if (!shape(&a)) return false;
  for (int i = 0; i < k->n_phases; i++)
    if (!phase(&a, &k->phases[i])) return false;
  return true;
}
