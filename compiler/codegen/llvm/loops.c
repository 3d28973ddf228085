/* The skeleton of a kernel: items, phases, and the loops over inner dimensions.
 *
 *     entry:  first < last?
 *     setup:  function scope
 *     item:   outer indices by division (over blocks of lanes: the block, its lanes, its mask); item scope
 *       each phase: phase scope; loops over inner dimensions, the innermost by strips.c; accumulators end
 *
 * With split_inner the items are the elements of the one inner dimension, and there is no item loop. */
#include "codegen/llvm/types.h"

/* --- one instance of a phase's body --- */

static LLVMValueRef reduction_index(struct ll_emit *e, const struct tc_kernel_reduction *r, int scope) {
  if (!tc_sym_valid(r->index)) return NULL;
  if (ll_sym_varies(e, r->index)) return ll_index_lanes(e, r->index);
  LLVMValueRef index = ll_index(e, r->index);
  ll_at(e, scope);
  return e->lanes > 1 ? ll_splat(e, index) : index;
}

static void store_all(struct ll_emit *e, const struct tc_phase *phase, LLVMValueRef *values) {
  for (int i = 0; i < phase->n_stores; i++) ll_store(e, &phase->stores[i], values[i]);
}

/* Masked stores are slow on some machines: only the last strip takes them. */
static void store_in_two_ways(struct ll_emit *e, const struct tc_phase *phase, int scope,
                              LLVMValueRef *values) {
  LLVMBasicBlockRef whole = ll_block(e), part = ll_block(e), done = ll_block(e);
  LLVMValueRef mask = e->mask;
  ll_branch(e, e->whole, whole, part);
  ll_enter(e, whole);
  ll_open(e, scope);
  e->mask = NULL;
  store_all(e, phase, values);
  e->mask = mask;
  ll_jump(e, done);
  ll_enter(e, part);
  ll_open(e, scope);
  store_all(e, phase, values);
  ll_jump(e, done);
  ll_enter(e, done);
  ll_open(e, scope);
}

/* All values before any store: a result may lie where an operand was. */
void ll_body(struct ll_emit *e, const struct tc_phase *phase, int scope, struct ll_state *state) {
  ll_open(e, scope);
  LLVMValueRef *values = TC_NEW_ARRAY(e->m->alloc, LLVMValueRef, (size_t)phase->n_stores + 1);
  if (!values) {
    ll_fail(e, TC_NOMEM, e->m->i64, "out of memory");
    return;
  }
  for (int i = 0; i < phase->n_stores; i++)
    values[i] = ll_sym_varies(e, phase->stores[i].address) ? ll_lanes_value(e, phase->stores[i].value)
                                                           : ll_value(e, phase->stores[i].value);
  for (int i = 0; i < phase->n_reductions; i++) {
    const struct tc_kernel_reduction *r = &phase->reductions[i];
    if (ll_is_dot(e, r)) {
      LLVMValueRef a = ll_lanes_value(e, r->value->args[0]), b = ll_lanes_value(e, r->value->args[1]);
      ll_at(e, scope);
      state[i] = ll_dot_step(e, state[i], a, b);
      continue;
    }
    LLVMValueRef value = ll_lanes_value(e, r->value), index = reduction_index(e, r, scope);
    ll_at(e, scope);
    state[i] = ll_reduction_step(e, r, state[i], value, index);
  }
  if (e->mask && e->whole)
    store_in_two_ways(e, phase, scope, values);
  else
    store_all(e, phase, values);
  TC_FREE_ARRAY(e->m->alloc, values, (size_t)phase->n_stores + 1);
  ll_end(e);
}

/* --- inner loops --- */

static void inner_loops(struct ll_emit *e, int number, int dim, struct ll_state *state) {
  const struct tc_kernel *k = e->k;
  const struct tc_phase *phase = &k->phases[number];
  const tc_sym extent = k->inner[dim].extent;
  LLVMValueRef from = ll_i64(e, 0), to = ll_index(e, extent);
  if (dim == k->n_inner - 1) {
    ll_part_strips(e, number, from, to, extent, state);
  } else if (tc_sym_is(extent, 1)) {
    e->inner[dim] = from;
    ll_open(e, LL_INNER + dim);
    inner_loops(e, number, dim + 1, state);
  } else {
    struct ll_loop loop;
    ll_loop_begin(e, &loop, from, to, !tc_sym_is_const(extent) || tc_sym_value(extent) < 1, state,
                  phase->n_reductions);
    e->inner[dim] = loop.variable;
    ll_open(e, LL_INNER + dim);
    inner_loops(e, number, dim + 1, state);
    ll_loop_end(e, &loop, to, 1, state);
  }
  e->inner[dim] = NULL;
}

static void phase_of_item(struct ll_emit *e, int number, const void *unused) {
  (void)unused;
  const struct tc_phase *phase = &e->k->phases[number];
  struct ll_state *state = TC_NEW_ARRAY(e->m->alloc, struct ll_state, (size_t)phase->n_reductions + 1);
  if (!state) {
    ll_fail(e, TC_NOMEM, e->m->i64, "out of memory");
    return;
  }
  for (int i = 0; i < phase->n_reductions; i++) state[i] = ll_reduction_start(e, &phase->reductions[i]);
  if (phase->over_inner && e->k->n_inner) {
    ll_open(e, LL_PHASE);
    inner_loops(e, number, 0, state);
  } else
    ll_body(e, phase, LL_PHASE, state);
  ll_end(e);
  for (int i = 0; i < phase->n_reductions; i++)
    e->acc[phase->reductions[i].acc] = ll_reduction_end(e, &phase->reductions[i], state[i]);
  TC_FREE_ARRAY(e->m->alloc, state, (size_t)phase->n_reductions + 1);
}

static void phases(struct ll_emit *e) {
  ll_open(e, LL_ITEM);
  for (int i = 0; i < e->k->n_phases; i++) ll_part_rows(e, i, phase_of_item, NULL);
}

/* --- items --- */

/* Splits `rest` into the indices of dimensions 0 … n-1, the last fastest. */
static void decode(struct ll_emit *e, LLVMValueRef rest, int n) {
  for (int d = n - 1; d > 0; d--) {
    LLVMValueRef extent = ll_index(e, e->k->outer[d].extent);
    ll_end(e);
    e->outer[d] = LLVMBuildURem(e->m->builder, rest, extent, "");
    rest = LLVMBuildUDiv(e->m->builder, rest, extent, "");
  }
  if (n) e->outer[0] = rest;
}

static bool divides(int64_t divisor, tc_sym extent) {
  return tc_sym_is_const(extent) && tc_sym_value(extent) % divisor == 0;
}

struct block {
  LLVMValueRef start, to;
  bool whole;
};

static void phase_of_block(struct ll_emit *e, int number, const void *state) {
  const struct block *block = state;
  ll_open(e, LL_PHASE);
  ll_part_strips(e, number, block->start, block->to,
                 block->whole ? tc_sym_const(e->k->block) : TC_SYM_INVALID, NULL);
}

/* Whole blocks: strips along each one. */
static void block_strips(struct ll_emit *e, LLVMValueRef start, LLVMValueRef to, bool whole) {
  const struct block block = {start, to, whole};
  ll_open(e, LL_ITEM);
  for (int i = 0; i < e->k->n_phases; i++) ll_part_rows(e, i, phase_of_block, &block);
}

/* The phases for the lanes from `start`; with two versions where the last group may be short, so that loads
 * of full groups are not masked. */
static void lane_group(struct ll_emit *e, LLVMValueRef start, LLVMValueRef to, bool exact) {
  e->outer[e->k->n_outer - 1] = start;
  if (exact || e->lanes == 1) {
    phases(e);
    return;
  }
  LLVMBasicBlockRef full = ll_block(e), partial = ll_block(e), done = ll_block(e);
  ll_end(e);
  LLVMValueRef active = LLVMBuildSub(e->m->builder, to, start, "");
  ll_branch(e, ll_less(e, active, ll_i64(e, e->lanes)), partial, full);
  ll_enter(e, partial);
  e->mask = ll_lane_mask(e, active);
  phases(e);
  e->mask = NULL;
  ll_jump(e, done);
  ll_enter(e, full);
  phases(e);
  ll_jump(e, done);
  ll_enter(e, done);
}

static void block_item(struct ll_emit *e, LLVMValueRef item) {
  LLVMBuilderRef at = e->m->builder;
  const struct tc_kernel *k = e->k;
  const int last = k->n_outer - 1;
  const tc_sym extent = k->outer[last].extent;
  const bool whole = divides(k->block, extent);
  LLVMValueRef end = ll_index(e, extent), block = ll_i64(e, k->block);
  ll_end(e);
  LLVMValueRef number = item;
  if (k->n_outer > 1) {
    LLVMValueRef blocks = LLVMBuildUDiv(at, LLVMBuildAdd(at, end, ll_i64(e, k->block - 1), ""), block, "");
    number = LLVMBuildURem(at, item, blocks, "");
    decode(e, LLVMBuildUDiv(at, item, blocks, ""), last);
    ll_end(e);
  }
  LLVMValueRef start = LLVMBuildMul(at, number, block, ""), to = LLVMBuildAdd(at, start, block, "");
  if (!whole) to = LLVMBuildSelect(at, ll_less(e, to, end), to, end, "");
  if (e->block_loop)
    block_strips(e, start, to, whole);
  else if (k->block <= e->lanes)
    lane_group(e, start, to, whole && k->block == e->lanes);
  else {
    struct ll_loop loop;
    ll_loop_begin(e, &loop, start, to, false, NULL, 0);
    lane_group(e, loop.variable, to, whole && k->block % e->lanes == 0);
    ll_loop_end(e, &loop, to, e->lanes, NULL);
  }
}

void ll_kernel(struct ll_emit *e) {
  struct tc_module *m = e->m;
  e->function = LLVMAddFunction(m->module, e->k->name, m->kernel_type);
  LLVMAddAttributeAtIndex(e->function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, m->nounwind);
  LLVMBasicBlockRef setup = ll_block(e), done = ll_block(e);
  e->entry = ll_block(e);
  ll_enter(e, e->entry);
  ll_branch(e, ll_less(e, LLVMGetParam(e->function, 2), LLVMGetParam(e->function, 3)), setup, done);
  ll_enter(e, setup);
  ll_open(e, LL_FUNCTION);
  if (e->k->split_inner) {
    ll_open(e, LL_ITEM);
    for (int i = 0; i < e->k->n_phases; i++) {
      ll_open(e, LL_PHASE);
      ll_part_strips(e, i, LLVMGetParam(e->function, 2), LLVMGetParam(e->function, 3), TC_SYM_INVALID, NULL);
      e->inner[0] = NULL;
    }
  } else {
    LLVMValueRef first = LLVMGetParam(e->function, 2), last = LLVMGetParam(e->function, 3);
    struct ll_loop loop;
    ll_loop_begin(e, &loop, first, last, false, NULL, 0);
    if (e->k->lanes == TC_LANES_OUTER)
      block_item(e, loop.variable);
    else {
      decode(e, loop.variable, e->k->n_outer);
      phases(e);
    }
    ll_loop_end(e, &loop, last, 1, NULL);
  }
  ll_jump(e, done);
  ll_enter(e, done);
  if (e->nontemporal_used)
    ll_call(e, LL_SFENCE, NULL, NULL, NULL, 0); /* other threads read what was streamed */
  LLVMBuildRetVoid(m->builder);
  ll_table_end(e);
}
