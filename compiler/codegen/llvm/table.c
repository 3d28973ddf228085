/* Vector constants in a table of the kernel, read by ordinary loads.
 *
 * As constants of the IR they would cost half of the compile time: instruction selection spreads each one
 * into its lanes, looks at the lanes wherever it meets it (negating them, to see whether that is cheaper),
 * and gathers them again. A load is one node, and runs as fast. */
#include <string.h>

#include "codegen/llvm/types.h"

/* Bytes from one entry to the next: those of the widest vector. */
static int64_t entry_bytes(const struct ll_emit *e) { return (int64_t)e->lanes * 8; }

static LLVMValueRef table(struct ll_emit *e) {
  if (!e->constant_table) {
    LLVMTypeRef type = LLVMArrayType2(e->m->i8, (uint64_t)(entry_bytes(e) * LL_CONSTANTS));
    e->constant_table = LLVMAddGlobal(e->m->module, type, "");
    LLVMSetLinkage(e->constant_table, LLVMPrivateLinkage);
  }
  return e->constant_table;
}

static LLVMValueRef load_entry(struct ll_emit *e, LLVMTypeRef type, int i) {
  LLVMValueRef offset = ll_i64(e, i * entry_bytes(e));
  LLVMValueRef pointer = LLVMConstInBoundsGEP2(e->m->i8, table(e), &offset, 1);
  LLVMValueRef loaded = LLVMBuildLoad2(e->m->builder, type, pointer, "");
  LLVMSetAlignment(loaded, (unsigned)e->m->target->vector_bytes);
  return loaded;
}

/* Of the vector registers this part may hold constants over a loop; what else needs them spills its own. */
enum { HELD_SHARE_NUMERATOR = 5, HELD_SHARE_DENOMINATOR = 8 };

/* Does the constant deserve a register over the loops of this phase? Not in a long body (the masked form of
 * strips.c): there the registers go round many times, and held ones made such loops half as slow again on
 * operands from memory. */
static bool may_hold(struct ll_emit *e) {
  const struct ll_scope *phase = &e->scopes[LL_PHASE];
  if (e->at <= LL_PHASE || !phase->anchor || e->prefetch) return false;
  if (e->held_stamp != phase->stamp) {
    e->held_stamp = phase->stamp;
    e->held = 0;
  }
  return e->held < e->m->target->vector_registers * HELD_SHARE_NUMERATOR / HELD_SHARE_DENOMINATOR;
}

/* Loads before the phase's loops, and comes back: every position is a block's end, or before its
 * terminator. */
static LLVMValueRef hold(struct ll_emit *e, LLVMTypeRef type, int i) {
  LLVMBasicBlockRef here = LLVMGetInsertBlock(e->m->builder);
  const int at = e->at;
  ll_at(e, LL_PHASE);
  LLVMValueRef loaded = load_entry(e, type, i);
  LLVMValueRef terminator = LLVMGetBasicBlockTerminator(here);
  if (terminator)
    LLVMPositionBuilderBefore(e->m->builder, terminator);
  else
    LLVMPositionBuilderAtEnd(e->m->builder, here);
  e->at = at;
  e->held++;
  e->constants[i].value = loaded;
  e->constants[i].stamp = e->scopes[LL_PHASE].stamp;
  return loaded;
}

static LLVMValueRef from_table(struct ll_emit *e, LLVMTypeRef type, uint64_t bits) {
  int i = 0;
  while (i < e->n_constants && (e->constants[i].bits != bits || e->constants[i].type != type)) i++;
  if (i == LL_CONSTANTS) return NULL;
  if (i == e->n_constants) e->constants[e->n_constants++] = (struct ll_constant){bits, type, NULL, 0};
  if (e->at > LL_PHASE && e->constants[i].value && e->constants[i].stamp == e->scopes[LL_PHASE].stamp)
    return e->constants[i].value;
  return may_hold(e) ? hold(e, type, i) : load_entry(e, type, i);
}

static bool in_table(const struct ll_emit *e, LLVMTypeRef type, uint64_t bits) {
  return bits && ll_is_vector(type) && (int)LLVMGetVectorSize(type) == e->lanes &&
         e->lanes * 4 >= e->m->target->vector_bytes;
}

LLVMValueRef ll_table_int(struct ll_emit *e, LLVMTypeRef type, int64_t value) {
  LLVMValueRef loaded = in_table(e, type, (uint64_t)value) ? from_table(e, type, (uint64_t)value) : NULL;
  return loaded ? loaded : ll_const_int(type, value);
}

LLVMValueRef ll_table_real(struct ll_emit *e, LLVMTypeRef type, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  LLVMValueRef loaded = in_table(e, type, bits) ? from_table(e, type, bits) : NULL;
  return loaded ? loaded : ll_const_real(type, value);
}

/* One entry as bytes, in the form of memory. */
static void write_entry(const struct ll_emit *e, const struct ll_constant *c, char *bytes) {
  LLVMTypeRef element = LLVMGetElementType(c->type);
  const bool narrow = element == e->m->f32 || element == e->m->i32;
  double real;
  memcpy(&real, &c->bits, sizeof real);
  const float narrow_real = (float)real;
  uint32_t narrow_bits = (uint32_t)c->bits;
  if (element == e->m->f32) memcpy(&narrow_bits, &narrow_real, sizeof narrow_bits);
  for (int lane = 0; lane < e->lanes; lane++) {
    if (narrow)
      memcpy(bytes + lane * 4, &narrow_bits, 4);
    else
      memcpy(bytes + lane * 8, &c->bits, 8);
  }
}

void ll_table_end(struct ll_emit *e) {
  if (!e->constant_table) return;
  const size_t size = (size_t)entry_bytes(e) * (size_t)e->n_constants;
  char *bytes = TC_NEW_ARRAY(e->m->alloc, char, size);
  if (!bytes) {
    ll_fail(e, TC_NOMEM, e->m->i64, "out of memory");
    return;
  }
  for (int i = 0; i < e->n_constants; i++)
    write_entry(e, &e->constants[i], bytes + (size_t)i * (size_t)entry_bytes(e));
  LLVMValueRef contents = LLVMConstStringInContext2(e->m->context, bytes, size, true);
  LLVMValueRef global = LLVMAddGlobal(e->m->module, LLVMTypeOf(contents), "");
  LLVMSetLinkage(global, LLVMPrivateLinkage);
  LLVMSetGlobalConstant(global, true);
  LLVMSetUnnamedAddress(global, LLVMGlobalUnnamedAddr);
  LLVMSetAlignment(global, (unsigned)e->m->target->vector_bytes);
  LLVMSetInitializer(global, contents);
  LLVMReplaceAllUsesWith(e->constant_table, global);
  LLVMDeleteGlobal(e->constant_table);
  TC_FREE_ARRAY(e->m->alloc, bytes, size);
}
