/* Integer powers, by squaring: one function of the module, called lane by lane (they are rare, and a loop
 * inside of straight-line lanes would not pay).
 *
 *     power(a, b): b < 0: the exact power rounded to 0 (1 and -1 have one that is not 0); else a^b,
 * wrapped. */
#include "codegen/llvm/types.h"

static LLVMValueRef negative_power(struct ll_emit *e, LLVMValueRef a, LLVMValueRef b) {
  LLVMBuilderRef at = e->m->builder;
  LLVMValueRef one = ll_i64(e, 1), minus = ll_i64(e, -1), zero = ll_i64(e, 0);
  LLVMValueRef odd = LLVMBuildICmp(at, LLVMIntNE, LLVMBuildAnd(at, b, one, ""), zero, "");
  LLVMValueRef of_minus = LLVMBuildSelect(at, LLVMBuildICmp(at, LLVMIntEQ, a, minus, ""),
                                          LLVMBuildSelect(at, odd, minus, one, ""), zero, "");
  return LLVMBuildSelect(at, LLVMBuildICmp(at, LLVMIntEQ, a, one, ""), one, of_minus, "");
}

static void build_power(struct ll_emit *e, LLVMValueRef function) {
  LLVMBuilderRef at = e->m->builder;
  LLVMContextRef c = e->m->context;
  LLVMTypeRef i64 = e->m->i64;
  LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(c, function, ""),
                    loop = LLVMAppendBasicBlockInContext(c, function, "");
  LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(c, function, "");
  LLVMValueRef a = LLVMGetParam(function, 0), b = LLVMGetParam(function, 1), one = ll_i64(e, 1),
               zero = ll_i64(e, 0);
  LLVMPositionBuilderAtEnd(at, entry);
  LLVMValueRef below = negative_power(e, a, b);
  LLVMBuildCondBr(at, ll_less(e, b, zero), done, loop);
  LLVMPositionBuilderAtEnd(at, loop);
  LLVMValueRef result = ll_phi(e, i64, one, entry), base = ll_phi(e, i64, a, entry),
               rest = ll_phi(e, i64, b, entry);
  LLVMValueRef odd = LLVMBuildICmp(at, LLVMIntNE, LLVMBuildAnd(at, rest, one, ""), zero, "");
  LLVMValueRef next = LLVMBuildMul(at, result, LLVMBuildSelect(at, odd, base, one, ""), "");
  LLVMValueRef square = LLVMBuildMul(at, base, base, ""), half = LLVMBuildLShr(at, rest, one, "");
  LLVMBuildCondBr(at, LLVMBuildICmp(at, LLVMIntNE, half, zero, ""), loop, done);
  ll_incoming(result, next, loop), ll_incoming(base, square, loop), ll_incoming(rest, half, loop);
  LLVMPositionBuilderAtEnd(at, done);
  LLVMValueRef power = ll_phi(e, i64, below, entry);
  ll_incoming(power, next, loop);
  LLVMBuildRet(at, power);
}

static LLVMTypeRef power_type(const struct tc_module *m) {
  LLVMTypeRef parameters[] = {m->i64, m->i64};
  return LLVMFunctionType(m->i64, parameters, 2, false);
}

/* The builder comes back to where it stood. */
static LLVMValueRef power_function(struct ll_emit *e) {
  struct tc_module *m = e->m;
  if (m->integer_power) return m->integer_power;
  LLVMBuilderRef kernel = m->builder;
  m->builder = LLVMCreateBuilderInContext(m->context);
  m->integer_power = LLVMAddFunction(m->module, "tc.integer_power", power_type(m));
  LLVMSetLinkage(m->integer_power, LLVMInternalLinkage);
  LLVMAddAttributeAtIndex(m->integer_power, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, m->nounwind);
  build_power(e, m->integer_power);
  LLVMDisposeBuilder(m->builder);
  m->builder = kernel;
  return m->integer_power;
}

LLVMValueRef ll_integer_power(struct ll_emit *e, LLVMValueRef a, LLVMValueRef b) {
  LLVMBuilderRef at = e->m->builder;
  LLVMValueRef function = power_function(e), args[] = {a, b};
  if (!ll_is_vector(LLVMTypeOf(a))) return LLVMBuildCall2(at, power_type(e->m), function, args, 2, "");
  LLVMValueRef result = LLVMGetPoison(LLVMTypeOf(a));
  for (int i = 0; i < e->lanes; i++) {
    LLVMValueRef lane = ll_i64(e, i);
    args[0] = LLVMBuildExtractElement(at, a, lane, "");
    args[1] = LLVMBuildExtractElement(at, b, lane, "");
    result = LLVMBuildInsertElement(at, result, LLVMBuildCall2(at, power_type(e->m), function, args, 2, ""),
                                    lane, "");
  }
  return result;
}
