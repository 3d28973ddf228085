/* Reductions: accumulators by lane and by copy of the loop body, joined in a fixed order.
 *
 * 1. An inactive lane keeps its accumulator.
 * 2. Joining takes the earlier part first; lanes are joined by halves. So the result depends on sizes and
 *    vector width alone.
 * 3. MAX and MIN pass NaN on. ARGMAX and ARGMIN give the first position; the first NaN wins over all. */
#include "codegen/llvm/types.h"

static bool is_arg(const struct tc_kernel_reduction *r) {
  return r->op == TC_RED_ARGMAX || r->op == TC_RED_ARGMIN;
}
tc_dtype ll_reduction_dtype(const struct tc_kernel_reduction *r) {
  const tc_dtype dtype = tc_compute_dtype(r->value->dtype);
  if (r->op == TC_RED_ANY || r->op == TC_RED_ALL) return TC_BOOL;
  const bool counts = r->op == TC_RED_SUM || r->op == TC_RED_PROD || is_arg(r);
  return counts && dtype == TC_BOOL ? TC_I64 : dtype;
}

static LLVMValueRef identity(const struct tc_kernel_reduction *r, LLVMTypeRef type, tc_dtype dtype) {
  const bool real = tc_dtype_is_float(dtype);
  switch (r->op) {
    case TC_RED_PROD: return real ? ll_const_real(type, 1) : ll_const_int(type, 1);
    case TC_RED_ALL: return LLVMConstAllOnes(type);
    case TC_RED_MAX:
    case TC_RED_ARGMAX:
      return real               ? ll_const_real(type, -__builtin_inf())
             : dtype == TC_BOOL ? LLVMConstNull(type)
                                : ll_const_int(type, INT64_MIN);
    case TC_RED_MIN:
    case TC_RED_ARGMIN:
      return real               ? ll_const_real(type, __builtin_inf())
             : dtype == TC_BOOL ? LLVMConstAllOnes(type)
                                : ll_const_int(type, INT64_MAX);
    default: return LLVMConstNull(type); /* SUM, ANY */
  }
}

struct ll_state ll_reduction_start(struct ll_emit *e, const struct tc_kernel_reduction *r) {
  const tc_dtype dtype = ll_reduction_dtype(r);
  LLVMTypeRef type = ll_type(e, dtype, e->lanes > 1);
  /* Position 0 beside the identity: right where every element equals the identity. */
  return (struct ll_state){identity(r, type, dtype),
                           is_arg(r) ? LLVMConstNull(ll_type(e, TC_I64, e->lanes > 1)) : NULL};
}

/* Is b, which comes later, to replace a? Strictly better, or the first NaN. */
static LLVMValueRef better(struct ll_emit *e, const struct tc_kernel_reduction *r, LLVMValueRef a,
                           LLVMValueRef b) {
  LLVMBuilderRef at = e->m->builder;
  const bool max = r->op == TC_RED_ARGMAX;
  if (!tc_dtype_is_float(ll_reduction_dtype(r)))
    return LLVMBuildICmp(at, max ? LLVMIntSGT : LLVMIntSLT, b, a, "");
  LLVMValueRef wins = LLVMBuildFCmp(at, max ? LLVMRealUGT : LLVMRealULT, b, a, "");
  return LLVMBuildAnd(at, wins, LLVMBuildFCmp(at, LLVMRealORD, a, a, ""), "");
}

static LLVMValueRef apply(struct ll_emit *e, const struct tc_kernel_reduction *r, LLVMValueRef a,
                          LLVMValueRef b) {
  LLVMBuilderRef at = e->m->builder;
  const tc_dtype dtype = ll_reduction_dtype(r);
  const bool real = tc_dtype_is_float(dtype);
  switch (r->op) {
    case TC_RED_SUM: return real ? LLVMBuildFAdd(at, a, b, "") : LLVMBuildAdd(at, a, b, "");
    case TC_RED_PROD: return real ? LLVMBuildFMul(at, a, b, "") : LLVMBuildMul(at, a, b, "");
    case TC_RED_MAX: return ll_max(e, a, b, dtype);
    case TC_RED_MIN: return ll_min(e, a, b, dtype);
    case TC_RED_ANY: return LLVMBuildOr(at, a, b, "");
    default: return LLVMBuildAnd(at, a, b, "");
  }
}

/* Over outer lanes an inactive one is never stored. */
static bool masks(const struct ll_emit *e) { return e->mask && e->k->lanes == TC_LANES_INNER; }

struct ll_state ll_reduction_step(struct ll_emit *e, const struct tc_kernel_reduction *r,
                                  struct ll_state state, LLVMValueRef value, LLVMValueRef index) {
  LLVMBuilderRef at = e->m->builder;
  const bool masked = masks(e);
  value = ll_convert(e, value, tc_compute_dtype(r->value->dtype), ll_reduction_dtype(r));
  if (!is_arg(r)) {
    LLVMValueRef next = apply(e, r, state.value, value);
    return (struct ll_state){masked ? LLVMBuildSelect(at, e->mask, next, state.value, "") : next, NULL};
  }
  LLVMValueRef take = better(e, r, state.value, value);
  if (masked) take = LLVMBuildAnd(at, take, e->mask, "");
  return (struct ll_state){LLVMBuildSelect(at, take, value, state.value, ""),
                           LLVMBuildSelect(at, take, index, state.index, "")};
}

bool ll_is_dot(const struct ll_emit *e, const struct tc_kernel_reduction *r) {
  const tc_dtype dtype = ll_reduction_dtype(r);
  return e->k->product && r->op == TC_RED_SUM && r->value->op == TC_E_MUL && r->value->dtype == dtype &&
         tc_dtype_is_float(dtype);
}

struct ll_state ll_dot_step(struct ll_emit *e, struct ll_state state, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef next = ll_fma(e, a, b, state.value);
  return (struct ll_state){masks(e) ? LLVMBuildSelect(e->m->builder, e->mask, next, state.value, "") : next,
                           NULL};
}

/* Positions of copies and lanes interleave, so equal values are decided by the position. */
struct ll_state ll_reduction_join(struct ll_emit *e, const struct tc_kernel_reduction *r, struct ll_state a,
                                  struct ll_state b) {
  LLVMBuilderRef at = e->m->builder;
  if (!is_arg(r)) return (struct ll_state){apply(e, r, a.value, b.value), NULL};
  LLVMValueRef wins = better(e, r, a.value, b.value), loses = better(e, r, b.value, a.value);
  LLVMValueRef earlier = LLVMBuildICmp(at, LLVMIntSLT, b.index, a.index, "");
  LLVMValueRef tie = LLVMBuildAnd(at, LLVMBuildNot(at, LLVMBuildOr(at, wins, loses, ""), ""), earlier, "");
  LLVMValueRef take = LLVMBuildOr(at, wins, tie, "");
  return (struct ll_state){LLVMBuildSelect(at, take, b.value, a.value, ""),
                           LLVMBuildSelect(at, take, b.index, a.index, "")};
}

static LLVMValueRef half(struct ll_emit *e, LLVMValueRef vector, unsigned count, bool upper) {
  LLVMValueRef order[LL_MAX_LANES];
  for (unsigned i = 0; i < count; i++) order[i] = LLVMConstInt(e->m->i32, i + (upper ? count : 0), false);
  return LLVMBuildShuffleVector(e->m->builder, vector, LLVMGetPoison(LLVMTypeOf(vector)),
                                LLVMConstVector(order, count), "");
}

LLVMValueRef ll_reduction_end(struct ll_emit *e, const struct tc_kernel_reduction *r, struct ll_state s) {
  if (ll_is_vector(LLVMTypeOf(s.value)) && e->k->lanes == TC_LANES_INNER) {
    if (ll_reduction_dtype(r) == TC_BOOL) {
      LLVMTypeRef word = LLVMIntTypeInContext(e->m->context, LLVMGetVectorSize(LLVMTypeOf(s.value)));
      LLVMValueRef bits = LLVMBuildBitCast(e->m->builder, s.value, word, "");
      const bool all = r->op == TC_RED_ALL || r->op == TC_RED_MIN;
      return LLVMBuildICmp(e->m->builder, all ? LLVMIntEQ : LLVMIntNE, bits,
                           all ? LLVMConstAllOnes(word) : LLVMConstNull(word), "");
    }
    unsigned lanes = LLVMGetVectorSize(LLVMTypeOf(s.value));
    while (lanes > 1) {
      lanes /= 2;
      const struct ll_state low = {half(e, s.value, lanes, false),
                                   s.index ? half(e, s.index, lanes, false) : NULL};
      const struct ll_state high = {half(e, s.value, lanes, true),
                                    s.index ? half(e, s.index, lanes, true) : NULL};
      s = ll_reduction_join(e, r, low, high);
    }
    LLVMValueRef first = ll_i64(e, 0);
    s.value = LLVMBuildExtractElement(e->m->builder, s.value, first, "");
    if (s.index) s.index = LLVMBuildExtractElement(e->m->builder, s.index, first, "");
  }
  return is_arg(r) ? s.index : s.value;
}
