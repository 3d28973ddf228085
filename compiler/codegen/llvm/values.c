/* Positions, types and constants. A "shape" is a type whose element count (or being a scalar) is copied. */
#include "codegen/llvm/types.h"

void ll_at(struct ll_emit *e, int scope) {
  const struct ll_scope *s = &e->scopes[scope];
  e->at = scope;
  if (s->anchor)
    LLVMPositionBuilderBefore(e->m->builder, s->anchor);
  else
    LLVMPositionBuilderAtEnd(e->m->builder, s->block);
}

bool ll_is_vector(LLVMTypeRef type) { return LLVMGetTypeKind(type) == LLVMVectorTypeKind; }

LLVMTypeRef ll_like(LLVMTypeRef element, LLVMTypeRef shape) {
  return ll_is_vector(shape) ? LLVMVectorType(element, LLVMGetVectorSize(shape)) : element;
}

static LLVMTypeRef compute_element(const struct tc_module *m, tc_dtype dtype) {
  switch (dtype) {
    case TC_BOOL: return m->i1;
    case TC_I64: return m->i64;
    case TC_F64: return m->f64;
    default: return m->f32; /* F32, and BF16, which is computed in F32 */
  }
}

LLVMTypeRef ll_type(struct ll_emit *e, tc_dtype compute, bool varying) {
  LLVMTypeRef element = compute_element(e->m, compute);
  return varying ? LLVMVectorType(element, (unsigned)e->lanes) : element;
}

LLVMTypeRef ll_stored_type(struct ll_emit *e, tc_dtype stored, bool varying) {
  LLVMTypeRef element = stored == TC_BOOL   ? e->m->i8
                        : stored == TC_BF16 ? e->m->i16
                                            : compute_element(e->m, stored);
  return varying ? LLVMVectorType(element, (unsigned)e->lanes) : element;
}

LLVMValueRef ll_i64(struct ll_emit *e, int64_t value) {
  return LLVMConstInt(e->m->i64, (unsigned long long)value, true);
}

static LLVMValueRef const_splat(LLVMValueRef scalar, unsigned count) {
  LLVMValueRef all[LL_MAX_LANES];
  for (unsigned i = 0; i < count; i++) all[i] = scalar;
  return LLVMConstVector(all, count);
}

LLVMValueRef ll_const_int(LLVMTypeRef type, int64_t value) {
  if (!ll_is_vector(type)) return LLVMConstInt(type, (unsigned long long)value, true);
  if (!value) return LLVMConstNull(type);
  return const_splat(LLVMConstInt(LLVMGetElementType(type), (unsigned long long)value, true),
                     LLVMGetVectorSize(type));
}

LLVMValueRef ll_const_real(LLVMTypeRef type, double value) {
  if (!ll_is_vector(type)) return LLVMConstReal(type, value);
  return const_splat(LLVMConstReal(LLVMGetElementType(type), value), LLVMGetVectorSize(type));
}

LLVMValueRef ll_iota(struct ll_emit *e, LLVMTypeRef element, int64_t start, int64_t step) {
  LLVMValueRef all[LL_MAX_LANES];
  for (int i = 0; i < e->lanes; i++)
    all[i] = LLVMConstInt(element, (unsigned long long)(start + step * i), true);
  return LLVMConstVector(all, (unsigned)e->lanes);
}

LLVMValueRef ll_splat(struct ll_emit *e, LLVMValueRef scalar) {
  if (LLVMIsAConstantInt(scalar) || LLVMIsAConstantFP(scalar)) return const_splat(scalar, (unsigned)e->lanes);
  LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(scalar), (unsigned)e->lanes);
  LLVMValueRef poison = LLVMGetPoison(type);
  LLVMValueRef one =
      LLVMBuildInsertElement(e->m->builder, poison, scalar, LLVMConstInt(e->m->i32, 0, false), "");
  return LLVMBuildShuffleVector(e->m->builder, one, poison,
                                LLVMConstNull(LLVMVectorType(e->m->i32, (unsigned)e->lanes)), "");
}
