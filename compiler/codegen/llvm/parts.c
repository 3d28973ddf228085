/* Phases that run over a part of a dimension, once for each row of a table.
 *
 * Along the strips a part is a shorter loop; across them (an outer dimension) it is a branch. The table is a
 * constant of the module, and its entries are loaded where the phase begins: whatever of the addresses they
 * decide is added before the strips. */
#include "codegen/llvm/types.h"

enum { ENTRY_BYTES = 8 };

struct part {
  struct ll_loop turns;
  LLVMValueRef n_turns, from, to;
};

static LLVMValueRef table_of(struct ll_emit *e, const struct tc_phase *phase) {
  const size_t bytes = (size_t)(phase->n_turns * phase->n_columns) * sizeof *phase->table;
  LLVMValueRef contents = LLVMConstStringInContext2(e->m->context, (const char *)phase->table, bytes, true);
  LLVMValueRef global = LLVMAddGlobal(e->m->module, LLVMTypeOf(contents), "");
  LLVMSetLinkage(global, LLVMPrivateLinkage);
  LLVMSetGlobalConstant(global, true);
  LLVMSetUnnamedAddress(global, LLVMGlobalUnnamedAddr);
  LLVMSetAlignment(global, ENTRY_BYTES);
  LLVMSetInitializer(global, contents);
  return global;
}

static void load_columns(struct ll_emit *e, const struct tc_phase *phase, LLVMValueRef turn) {
  LLVMBuilderRef at = e->m->builder;
  LLVMValueRef row = LLVMBuildMul(at, turn, ll_i64(e, phase->n_columns), "");
  LLVMValueRef pointer = LLVMBuildInBoundsGEP2(at, e->m->i64, table_of(e, phase), &row, 1, "");
  for (int c = 0; c < phase->n_columns; c++) {
    LLVMValueRef column = ll_i64(e, c);
    e->columns[c] =
        LLVMBuildLoad2(at, e->m->i64, LLVMBuildInBoundsGEP2(at, e->m->i64, pointer, &column, 1, ""), "");
  }
}

/* Opens the scope of the phase, in its turn. */
static void begin(struct ll_emit *e, const struct tc_phase *phase, struct part *part) {
  if (phase->n_turns) {
    part->n_turns = ll_i64(e, phase->n_turns);
    ll_loop_begin(e, &part->turns, ll_i64(e, 0), part->n_turns, false, NULL, 0);
    ll_open(e, LL_PHASE);
    load_columns(e, phase, part->turns.variable);
  } else
    ll_open(e, LL_PHASE);
  part->from = ll_index(e, phase->from);
  part->to = ll_index(e, phase->to);
  ll_end(e);
}

static void end(struct ll_emit *e, const struct tc_phase *phase, struct part *part) {
  if (phase->n_turns) ll_loop_end(e, &part->turns, part->n_turns, 1, NULL);
}

static LLVMValueRef larger(struct ll_emit *e, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildSelect(e->m->builder, ll_less(e, a, b), b, a, "");
}
static LLVMValueRef smaller(struct ll_emit *e, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildSelect(e->m->builder, ll_less(e, b, a), b, a, "");
}

static tc_sym strip_variable(const struct ll_emit *e) {
  return e->block_loop   ? e->k->outer[e->k->n_outer - 1].var
         : e->k->n_inner ? e->k->inner[e->k->n_inner - 1].var
                         : TC_SYM_INVALID;
}

static bool is_of_strips(const struct ll_emit *e, const struct tc_phase *phase) {
  return tc_sym_valid(phase->var) && tc_sym_same(phase->var, strip_variable(e));
}

void ll_part_strips(struct ll_emit *e, int number, LLVMValueRef from, LLVMValueRef to, tc_sym length,
                    struct ll_state *state) {
  const struct tc_phase *phase = &e->k->phases[number];
  struct part part;
  if (!is_of_strips(e, phase)) {
    ll_strips(e, number, from, to, length, state);
    return;
  }
  begin(e, phase, &part);
  LLVMValueRef first = larger(e, from, part.from), last = smaller(e, to, part.to);
  const bool whole = !e->k->split_inner && !e->block_loop && tc_sym_is_const(phase->from) &&
                     tc_sym_is_const(phase->to) && tc_sym_is_const(length);
  if (whole)
    ll_strips(e, number, part.from, part.to,
              tc_sym_const(tc_sym_value(phase->to) - tc_sym_value(phase->from)), state);
  else
    ll_strips(e, number, first, larger(e, first, last), TC_SYM_INVALID, state);
  end(e, phase, &part);
}

void ll_part_rows(struct ll_emit *e, int number,
                  void (*body)(struct ll_emit *e, int number, const void *state), const void *state) {
  const struct tc_phase *phase = &e->k->phases[number];
  struct part part;
  if (!tc_sym_valid(phase->var) || is_of_strips(e, phase)) {
    body(e, number, state);
    return;
  }
  begin(e, phase, &part);
  LLVMValueRef at = ll_index(e, phase->var);
  ll_end(e);
  LLVMValueRef outside = LLVMBuildOr(e->m->builder, ll_less(e, at, part.from),
                                     LLVMBuildNot(e->m->builder, ll_less(e, at, part.to), ""), "");
  LLVMBasicBlockRef inside = ll_block(e), done = ll_block(e);
  ll_branch(e, outside, done, inside);
  ll_enter(e, inside);
  body(e, number, state);
  ll_jump(e, done);
  ll_enter(e, done);
  end(e, phase, &part);
}
