/* Conversions between compute dtypes, and between them and the form in memory.
 *
 * Float to integer truncates (out of range: the machine's 0x8000000000000000). Anything to bool: is it
 * other than 0? bf16 is rounded to nearest even, and its NaNs are quieted, as tensor/dtype.h has it. */
#include "codegen/llvm/types.h"

enum { BF16_SHIFT = 16, BF16_QUIET = 0x40, BF16_HALF = 0x7fff };

LLVMValueRef ll_truth(struct ll_emit *e, LLVMValueRef value, tc_dtype compute) {
  if (compute == TC_BOOL) return value;
  LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(value));
  if (compute == TC_I64) return LLVMBuildICmp(e->m->builder, LLVMIntNE, value, zero, "");
  return LLVMBuildFCmp(e->m->builder, LLVMRealUNE, value, zero, "");
}

static LLVMValueRef f32_to_bf16(struct ll_emit *e, LLVMValueRef value) {
  LLVMBuilderRef at = e->m->builder;
  LLVMTypeRef wide = ll_like(e->m->i32, LLVMTypeOf(value)), narrow = ll_like(e->m->i16, LLVMTypeOf(value));
  LLVMValueRef shift = ll_const_int(wide, BF16_SHIFT), bits = LLVMBuildBitCast(at, value, wide, "");
  LLVMValueRef upper = LLVMBuildLShr(at, bits, shift, "");
  LLVMValueRef odd = LLVMBuildAnd(at, upper, ll_const_int(wide, 1), "");
  LLVMValueRef sum = LLVMBuildAdd(at, LLVMBuildAdd(at, bits, ll_const_int(wide, BF16_HALF), ""), odd, "");
  LLVMValueRef rounded = LLVMBuildLShr(at, sum, shift, "");
  LLVMValueRef quiet = LLVMBuildOr(at, upper, ll_const_int(wide, BF16_QUIET), "");
  LLVMValueRef is_nan = LLVMBuildFCmp(at, LLVMRealUNO, value, value, "");
  return LLVMBuildTrunc(at, LLVMBuildSelect(at, is_nan, quiet, rounded, ""), narrow, "");
}

static LLVMValueRef bf16_to_f32(struct ll_emit *e, LLVMValueRef value) {
  LLVMTypeRef wide = ll_like(e->m->i32, LLVMTypeOf(value)), real = ll_like(e->m->f32, LLVMTypeOf(value));
  LLVMValueRef bits = LLVMBuildZExt(e->m->builder, value, wide, "");
  return LLVMBuildBitCast(e->m->builder,
                          LLVMBuildShl(e->m->builder, bits, ll_const_int(wide, BF16_SHIFT), ""), real, "");
}

static LLVMValueRef to_real(struct ll_emit *e, LLVMValueRef value, tc_dtype from, tc_dtype to) {
  LLVMBuilderRef at = e->m->builder;
  LLVMTypeRef type = ll_like(to == TC_F64 ? e->m->f64 : e->m->f32, LLVMTypeOf(value));
  switch (from) {
    case TC_BOOL: return LLVMBuildSelect(at, value, ll_const_real(type, 1.0), LLVMConstNull(type), "");
    case TC_I64: return LLVMBuildSIToFP(at, value, type, "");
    case TC_F64: return to == TC_F64 ? value : LLVMBuildFPTrunc(at, value, type, "");
    default: return to == TC_F64 ? LLVMBuildFPExt(at, value, type, "") : value;
  }
}

LLVMValueRef ll_convert(struct ll_emit *e, LLVMValueRef value, tc_dtype from, tc_dtype to) {
  LLVMBuilderRef at = e->m->builder;
  if (from == to) return value;
  switch (to) {
    case TC_BOOL: return ll_truth(e, value, from);
    case TC_I64: {
      LLVMTypeRef type = ll_like(e->m->i64, LLVMTypeOf(value));
      return from == TC_BOOL ? LLVMBuildZExt(at, value, type, "") : LLVMBuildFPToSI(at, value, type, "");
    }
    case TC_BF16:
      return bf16_to_f32(e, f32_to_bf16(e, to_real(e, value, from, TC_F32))); /* rounded, kept in F32 */
    default: return to_real(e, value, from, to);
  }
}

LLVMValueRef ll_from_stored(struct ll_emit *e, LLVMValueRef value, tc_dtype stored) {
  if (stored == TC_BOOL)
    return LLVMBuildICmp(e->m->builder, LLVMIntNE, value, LLVMConstNull(LLVMTypeOf(value)), "");
  return stored == TC_BF16 ? bf16_to_f32(e, value) : value;
}

LLVMValueRef ll_to_stored(struct ll_emit *e, LLVMValueRef value, tc_dtype compute, tc_dtype stored) {
  LLVMValueRef v = ll_convert(e, value, compute == TC_BF16 ? TC_F32 : compute, tc_compute_dtype(stored));
  if (stored == TC_BOOL) return LLVMBuildZExt(e->m->builder, v, ll_like(e->m->i8, LLVMTypeOf(v)), "");
  return stored == TC_BF16 ? f32_to_bf16(e, v) : v;
}
