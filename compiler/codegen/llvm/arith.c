/* Arithmetic that takes several instructions.
 *
 * 1. MAX and MIN pass NaN on; of equal operands (+0, -0) the second is the result.
 * 2. Integer division rounds towards minus infinity and never traps: by zero it gives 0, and the remainder by
 *    zero is 0 (lowering wraps the divisor in a DIVISOR, which raises the flag); the smallest integer divided
 *    by -1 wraps.
 * 3. Quotients of floats are those of codegen/quotients.h. */
#include "codegen/llvm/types.h"

LLVMValueRef ll_intrinsic1(struct ll_emit *e, enum ll_intrinsic which, LLVMValueRef a) {
  return ll_call(e, which, LLVMTypeOf(a), NULL, &a, 1);
}

LLVMValueRef ll_fma(struct ll_emit *e, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
  LLVMValueRef args[] = {a, b, c};
  return ll_call(e, LL_FMA, LLVMTypeOf(a), NULL, args, 3);
}

static LLVMValueRef extreme(struct ll_emit *e, LLVMValueRef a, LLVMValueRef b, tc_dtype dtype, bool max) {
  LLVMBuilderRef at = e->m->builder;
  if (dtype == TC_BOOL) return max ? LLVMBuildOr(at, a, b, "") : LLVMBuildAnd(at, a, b, "");
  if (dtype == TC_I64)
    return LLVMBuildSelect(at, LLVMBuildICmp(at, max ? LLVMIntSGT : LLVMIntSLT, a, b, ""), a, b, "");
  LLVMValueRef one = LLVMBuildSelect(at, LLVMBuildFCmp(at, max ? LLVMRealOGT : LLVMRealOLT, a, b, ""), a, b,
                                     ""); /* b if either is NaN */
  return LLVMBuildSelect(at, LLVMBuildFCmp(at, LLVMRealUNO, a, a, ""), a, one, "");
}
LLVMValueRef ll_max(struct ll_emit *e, LLVMValueRef a, LLVMValueRef b, tc_dtype dtype) {
  return extreme(e, a, b, dtype, true);
}
LLVMValueRef ll_min(struct ll_emit *e, LLVMValueRef a, LLVMValueRef b, tc_dtype dtype) {
  return extreme(e, a, b, dtype, false);
}

struct division {
  LLVMValueRef quotient, rest;
};

static struct division divide_integers(struct ll_emit *e, LLVMValueRef a, LLVMValueRef b) {
  LLVMBuilderRef at = e->m->builder;
  LLVMTypeRef type = LLVMTypeOf(a);
  LLVMValueRef zero = LLVMConstNull(type), one = ll_const_int(type, 1);
  LLVMValueRef by_zero = LLVMBuildICmp(at, LLVMIntEQ, b, zero, ""),
               by_minus_one = LLVMBuildICmp(at, LLVMIntEQ, b, ll_const_int(type, -1), "");
  LLVMValueRef safe = LLVMBuildSelect(at, LLVMBuildOr(at, by_zero, by_minus_one, ""), one, b, "");
  LLVMValueRef quotient = LLVMBuildSDiv(at, a, safe, "");
  LLVMValueRef rest = LLVMBuildSub(at, a, LLVMBuildMul(at, quotient, safe, ""), "");
  LLVMValueRef opposite = LLVMBuildICmp(at, LLVMIntSLT, LLVMBuildXor(at, rest, safe, ""), zero, "");
  LLVMValueRef adjust = LLVMBuildAnd(at, opposite, LLVMBuildICmp(at, LLVMIntNE, rest, zero, ""), "");
  quotient = LLVMBuildSelect(at, adjust, LLVMBuildSub(at, quotient, one, ""), quotient, "");
  rest = LLVMBuildSelect(at, adjust, LLVMBuildAdd(at, rest, safe, ""), rest, "");
  quotient = LLVMBuildSelect(at, by_minus_one, LLVMBuildSub(at, zero, a, ""), quotient, "");
  return (struct division){LLVMBuildSelect(at, by_zero, zero, quotient, ""), rest};
}

LLVMValueRef ll_floordiv(struct ll_emit *e, LLVMValueRef a, LLVMValueRef b, tc_dtype dtype) {
  if (dtype == TC_I64) return divide_integers(e, a, b).quotient;
  return ll_quotient(e, TC_E_FLOORDIV, a, b, dtype);
}

LLVMValueRef ll_remainder(struct ll_emit *e, LLVMValueRef a, LLVMValueRef b, tc_dtype dtype) {
  if (dtype == TC_I64) return divide_integers(e, a, b).rest;
  return ll_quotient(e, TC_E_REMAINDER, a, b, dtype);
}
