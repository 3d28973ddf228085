/* Control flow: blocks, scopes in them, and loops with carried accumulators. */
#include "codegen/llvm/types.h"

LLVMBasicBlockRef ll_block(struct ll_emit *e) { return LLVMCreateBasicBlockInContext(e->m->context, ""); }

void ll_end(struct ll_emit *e) {
  LLVMPositionBuilderAtEnd(e->m->builder, e->block);
  e->at = e->current;
}

void ll_enter(struct ll_emit *e, LLVMBasicBlockRef block) {
  LLVMAppendExistingBasicBlock(e->function, block);
  e->block = block;
  ll_end(e);
}

void ll_open(struct ll_emit *e, int scope) {
  e->scopes[scope] = (struct ll_scope){e->block, NULL, ++e->stamps};
  e->current = scope;
}

static void close_scopes(struct ll_emit *e, LLVMValueRef terminator) {
  for (int i = 0; i < LL_SCOPES; i++)
    if (e->scopes[i].block == e->block && !e->scopes[i].anchor) e->scopes[i].anchor = terminator;
}

void ll_jump(struct ll_emit *e, LLVMBasicBlockRef to) {
  ll_end(e);
  close_scopes(e, LLVMBuildBr(e->m->builder, to));
}
void ll_branch(struct ll_emit *e, LLVMValueRef condition, LLVMBasicBlockRef yes, LLVMBasicBlockRef no) {
  ll_end(e);
  close_scopes(e, LLVMBuildCondBr(e->m->builder, condition, yes, no));
}

void ll_incoming(LLVMValueRef phi, LLVMValueRef value, LLVMBasicBlockRef from) {
  LLVMAddIncoming(phi, &value, &from, 1);
}

LLVMValueRef ll_phi(struct ll_emit *e, LLVMTypeRef type, LLVMValueRef value, LLVMBasicBlockRef from) {
  LLVMValueRef phi = LLVMBuildPhi(e->m->builder, type, "");
  ll_incoming(phi, value, from);
  return phi;
}

LLVMValueRef ll_less(struct ll_emit *e, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildICmp(e->m->builder, LLVMIntSLT, a, b, "");
}

static struct ll_state phi_state(struct ll_emit *e, struct ll_state s, LLVMBasicBlockRef from) {
  return (struct ll_state){ll_phi(e, LLVMTypeOf(s.value), s.value, from),
                           s.index ? ll_phi(e, LLVMTypeOf(s.index), s.index, from) : NULL};
}
static void state_incoming(struct ll_state phi, struct ll_state s, LLVMBasicBlockRef from) {
  ll_incoming(phi.value, s.value, from);
  if (phi.index) ll_incoming(phi.index, s.index, from);
}

void ll_loop_begin(struct ll_emit *e, struct ll_loop *loop, LLVMValueRef from, LLVMValueRef to, bool guarded,
                   struct ll_state *state, int n) {
  *loop = (struct ll_loop){
      .before = e->block, .body = ll_block(e), .exit = ll_block(e), .guarded = guarded, .n = n};
  loop->phis = n ? TC_NEW_ARRAY(e->m->alloc, struct ll_state, (size_t)n * 2) : NULL;
  if (n && !loop->phis) loop->n = 0, ll_fail(e, TC_NOMEM, e->m->i64, "out of memory");
  ll_end(e);
  if (guarded)
    ll_branch(e, ll_less(e, from, to), loop->body, loop->exit);
  else
    ll_jump(e, loop->body);
  ll_enter(e, loop->body);
  loop->variable = ll_phi(e, e->m->i64, from, loop->before);
  loop->initial = loop->phis + loop->n;
  for (int i = 0; i < loop->n; i++) {
    loop->initial[i] = state[i];
    state[i] = loop->phis[i] = phi_state(e, state[i], loop->before);
  }
}

void ll_loop_end(struct ll_emit *e, struct ll_loop *loop, LLVMValueRef to, int64_t step,
                 struct ll_state *state) {
  ll_end(e);
  ll_loop_end_at(e, loop, LLVMBuildAdd(e->m->builder, loop->variable, ll_i64(e, step), ""), to, state);
}

void ll_loop_end_at(struct ll_emit *e, struct ll_loop *loop, LLVMValueRef next, LLVMValueRef to,
                    struct ll_state *state) {
  LLVMBasicBlockRef latch = e->block;
  ll_branch(e, ll_less(e, next, to), loop->body, loop->exit);
  ll_incoming(loop->variable, next, latch);
  for (int i = 0; i < loop->n; i++) state_incoming(loop->phis[i], state[i], latch);
  ll_enter(e, loop->exit);
  for (int i = 0; i < loop->n && loop->guarded; i++) {
    const struct ll_state out = phi_state(e, loop->initial[i], loop->before);
    state_incoming(out, state[i], latch);
    state[i] = out;
  }
  TC_FREE_ARRAY(e->m->alloc, loop->phis, (size_t)loop->n * 2);
}

enum { BITS_OF_BYTE = 8 };

LLVMValueRef ll_lane_mask(struct ll_emit *e, LLVMValueRef active) {
  LLVMBuilderRef at = e->m->builder;
  const unsigned fitting = (unsigned)(e->m->target->vector_bytes * BITS_OF_BYTE / e->lanes);
  LLVMTypeRef element = LLVMIntTypeInContext(e->m->context, fitting < BITS_OF_BYTE ? BITS_OF_BYTE
                                                            : fitting > 64         ? 64
                                                                                   : fitting);
  LLVMValueRef all = ll_i64(e, e->lanes);
  LLVMValueRef count = LLVMBuildSelect(at, ll_less(e, active, all), active, all, "");
  LLVMValueRef limit = ll_splat(e, fitting >= 64 ? count : LLVMBuildTrunc(at, count, element, ""));
  return LLVMBuildICmp(at, LLVMIntSLT, ll_iota(e, element, 0, 1), limit, "");
}
