/* What the straight code does not serve: a call behind a branch that is hardly ever taken.
 *
 * 1. Values go to the function and come back through the stack, so that it may work lane by lane.
 * 2. At the open end of the current block, control flow splits and meets again: every scope that is open
 *    there goes on behind. A scope that is closed (its values are hoisted out of a loop) takes the call
 *    without a branch; lanes that are not far stay as they are, so the values are the same.
 * 3. The branch is weighted, so that registers are saved around the call alone. */
#include <string.h>

#include "codegen/llvm/types.h"

enum { SLOT_ALIGN = 64, ELEMENT_BYTES = 8 };

LLVMValueRef ll_any_lane(struct ll_emit *e, LLVMValueRef mask) {
  if (!ll_is_vector(LLVMTypeOf(mask))) return mask;
  LLVMTypeRef bits = LLVMIntTypeInContext(e->m->context, LLVMGetVectorSize(LLVMTypeOf(mask)));
  LLVMValueRef word = LLVMBuildBitCast(e->m->builder, mask, bits, "");
  return LLVMBuildICmp(e->m->builder, LLVMIntNE, word, LLVMConstNull(bits), "");
}

/* Moves the builder. */
static void make_slots(struct ll_emit *e) {
  if (e->rare_slots[0]) return;
  LLVMPositionBuilderBefore(e->m->builder, LLVMGetFirstInstruction(e->entry));
  for (int i = 0; i < LL_SLOW_CALL_VALUES; i++) {
    e->rare_slots[i] =
        LLVMBuildAlloca(e->m->builder, LLVMArrayType2(e->m->i8, (uint64_t)e->lanes * ELEMENT_BYTES), "");
    LLVMSetAlignment(e->rare_slots[i], SLOT_ALIGN);
  }
}

static LLVMTypeRef function_type(const struct tc_module *m) {
  LLVMTypeRef parameters[] = {m->ptr, m->ptr, m->ptr, m->i32, m->i32};
  return LLVMFunctionType(m->void_, parameters, 5, false);
}

static LLVMValueRef named_function(struct tc_module *m, const char *name) {
  LLVMValueRef function = LLVMGetNamedFunction(m->module, name);
  if (function) return function;
  function = LLVMAddFunction(m->module, name, function_type(m));
  LLVMAddAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, m->nounwind);
  return function;
}

/* Through memory, at the builder's position; results[i] are the values after the call. */
static void call(struct ll_emit *e, const char *name, LLVMValueRef *values, int kind, LLVMValueRef *results) {
  LLVMBuilderRef at = e->m->builder;
  LLVMTypeRef type = LLVMTypeOf(values[0]);
  const unsigned lanes = ll_is_vector(type) ? LLVMGetVectorSize(type) : 1;
  for (int i = 0; i < LL_SLOW_CALL_VALUES; i++) LLVMBuildStore(at, values[i], e->rare_slots[i]);
  LLVMValueRef args[] = {e->rare_slots[0], e->rare_slots[1], e->rare_slots[2],
                         LLVMConstInt(e->m->i32, lanes, false),
                         LLVMConstInt(e->m->i32, (unsigned long long)kind, false)};
  LLVMBuildCall2(at, function_type(e->m), named_function(e->m, name), args, 5, "");
  for (int i = 0; i < LL_SLOW_CALL_VALUES; i++) results[i] = LLVMBuildLoad2(at, type, e->rare_slots[i], "");
}

static LLVMValueRef weights(struct tc_module *m) {
  static const char name[] = "branch_weights";
  enum { TAKEN = 1, PASSED = 1 << 20 };
  if (!m->hardly_ever) {
    LLVMMetadataRef parts[] = {LLVMMDStringInContext2(m->context, name, sizeof name - 1),
                               LLVMValueAsMetadata(LLVMConstInt(m->i32, TAKEN, false)),
                               LLVMValueAsMetadata(LLVMConstInt(m->i32, PASSED, false))};
    m->hardly_ever = LLVMMetadataAsValue(m->context, LLVMMDNodeInContext2(m->context, parts, 3));
  }
  return m->hardly_ever;
}

void ll_slow_call(struct ll_emit *e, const char *function, LLVMValueRef far, LLVMValueRef *values, int kind) {
  LLVMBuilderRef at = e->m->builder;
  LLVMValueRef results[LL_SLOW_CALL_VALUES];
  const int scope = e->at;
  make_slots(e);
  ll_at(e, scope);
  if (e->scopes[scope].anchor) {
    call(e, function, values, kind, results);
    memcpy(values, results, sizeof results);
    return;
  }
  static const char profile[] = "prof";
  LLVMBasicBlockRef before = e->block, rare = ll_block(e), after = ll_block(e);
  LLVMValueRef branch = LLVMBuildCondBr(at, ll_any_lane(e, far), rare, after);
  LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(e->m->context, profile, sizeof profile - 1),
                  weights(e->m));
  LLVMAppendExistingBasicBlock(e->function, rare);
  LLVMPositionBuilderAtEnd(at, rare);
  call(e, function, values, kind, results);
  LLVMBuildBr(at, after);
  /* The open scopes go on in `after`. */
  for (int i = 0; i < LL_SCOPES; i++)
    if (e->scopes[i].block == e->block && !e->scopes[i].anchor) e->scopes[i].block = after;
  LLVMAppendExistingBasicBlock(e->function, after);
  e->block = after;
  ll_at(e, scope);
  for (int i = 0; i < LL_SLOW_CALL_VALUES; i++) {
    LLVMValueRef known = values[i];
    values[i] = ll_phi(e, LLVMTypeOf(known), known, before);
    ll_incoming(values[i], results[i], rare);
  }
}
