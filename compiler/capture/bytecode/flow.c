/* Reads, writes and ways out of each instruction. Registers that stand alone follow from the letters in
 * opcodes.def; runs of registers and jumps are here, by opcode. */
#include "capture/bytecode/flow.h"

enum { WORD = 64, WORDS = TC_REGISTERS / WORD };
enum { LOOP_STATE = 3, ITERATOR_STATE = 4 }; /* registers of a loop in front of its variables */

void tc_live_add(struct tc_live *live, int first, int end) {
  if (end > TC_REGISTERS) end = TC_REGISTERS;
  while (first < end) {
    const int shift = first % WORD, stop = first - shift + WORD < end ? WORD : (end - 1) % WORD + 1;
    const uint64_t below_stop = stop == WORD ? UINT64_MAX : (UINT64_C(1) << stop) - 1;
    live->bits[first / WORD] |= below_stop & (UINT64_MAX << shift);
    first += stop - shift;
  }
}

void tc_live_join(struct tc_live *live, const struct tc_live *other) {
  for (int i = 0; i < WORDS; i++) live->bits[i] |= other->bits[i];
}

void tc_live_remove(struct tc_live *live, const struct tc_live *other) {
  for (int i = 0; i < WORDS; i++) live->bits[i] &= ~other->bits[i];
}

bool tc_live_equal(const struct tc_live *a, const struct tc_live *b) {
  for (int i = 0; i < WORDS; i++)
    if (a->bits[i] != b->bits[i]) return false;
  return true;
}

bool tc_live_meet(const struct tc_live *a, const struct tc_live *b) {
  for (int i = 0; i < WORDS; i++)
    if (a->bits[i] & b->bits[i]) return true;
  return false;
}

bool tc_code_gives_open(uint32_t code) {
  const int op = tc_code_op(code);
  return (op == TC_LUA_CALL || op == TC_LUA_VARARG) && tc_code_c(code) == 0;
}

bool tc_code_takes_open(uint32_t code) {
  const int op = tc_code_op(code);
  return (op == TC_LUA_CALL || op == TC_LUA_TAILCALL || op == TC_LUA_RETURN || op == TC_LUA_SETLIST) &&
         tc_code_b(code) == 0;
}

bool tc_code_has_extra(uint32_t code) {
  const int op = tc_code_op(code);
  return op == TC_LUA_LOADKX || op == TC_LUA_NEWTABLE || (op == TC_LUA_SETLIST && tc_code_k(code));
}

static void operand(struct tc_effect *e, char letter, int number, bool is_constant) {
  if (letter == 'R' || (letter == 'X' && !is_constant)) tc_live_add(&e->reads, number, number + 1);
  if (letter == 'W') tc_live_add(&e->edges[0].writes, number, number + 1);
}

static void single_operands(struct tc_effect *e, uint32_t code) {
  const struct tc_opcode_row *row = tc_opcode_row(tc_code_op(code));
  if (!*row->operands) return;
  operand(e, row->operands[0], tc_code_a(code), false);
  if (row->format != TC_FORMAT_ABC) return;
  operand(e, row->operands[1], tc_code_b(code), false);
  operand(e, row->operands[2], tc_code_c(code), tc_code_k(code));
}

static void fork_to(struct tc_effect *e, int to) {
  e->edges[1] = (struct tc_edge){.to = to};
  e->n_edges = TC_MAX_EDGES;
}

/* `count` registers from `first` are read; with open values, all of them. */
static void read_run(struct tc_effect *e, int first, int count, bool is_open) {
  tc_live_add(&e->reads, first, is_open ? TC_REGISTERS : first + count);
}

static void write_run(struct tc_effect *e, int first, int end) {
  tc_live_add(&e->edges[0].writes, first, end);
}

static void read_captured(struct tc_effect *e, const struct tc_proto *inner, int self) {
  for (int i = 0; i < inner->n_upvalues; i++) {
    const struct tc_upvalue_row *up = &inner->upvalues[i];
    if (up->in_stack && up->index != self)
      tc_live_add(&e->reads, up->index, up->index + 1); /* a function that captures itself is made first */
  }
}

void tc_effect_of(const struct tc_proto *proto, int pc, struct tc_effect *out) {
  const uint32_t code = proto->code[pc];
  const int op = tc_code_op(code), a = tc_code_a(code), b = tc_code_b(code), c = tc_code_c(code);
  *out = (struct tc_effect){.n_edges = 1, .edges = {{.to = pc + 1}}};
  single_operands(out, code);
  if (tc_code_has_extra(code)) out->edges[0].to = pc + 2;
  if (tc_code_is_arithmetic(code)) { /* writes where it skips the metamethod's instruction */
    fork_to(out, pc + 2);
    out->edges[1].writes = out->edges[0].writes;
    out->edges[0].writes = (struct tc_live){0};
    return;
  }
  if (tc_code_is_test(code)) { /* TESTSET writes where it takes the jump */
    fork_to(out, pc + 2);
    return;
  }
  switch (op) {
    case TC_LUA_LFALSESKIP: out->edges[0].to = pc + 2; break;
    case TC_LUA_LOADNIL: write_run(out, a, a + b + 1); break;
    case TC_LUA_SELF: write_run(out, a, a + 2); break;
    case TC_LUA_MMBIN:
    case TC_LUA_MMBINI:
    case TC_LUA_MMBINK: /* the result goes where the arithmetic before it would have put it */
      if (pc) write_run(out, tc_code_a(proto->code[pc - 1]), tc_code_a(proto->code[pc - 1]) + 1);
      break;
    case TC_LUA_CONCAT: read_run(out, a, b, false); break;
    case TC_LUA_JMP: out->edges[0].to = pc + 1 + tc_code_jump(code); break;
    case TC_LUA_CALL:
      read_run(out, a, b, b == 0);
      write_run(out, a, TC_REGISTERS);
      break;
    case TC_LUA_TAILCALL:
      read_run(out, a, b, b == 0);
      out->n_edges = 0;
      break;
    case TC_LUA_RETURN:
      read_run(out, a, b - 1, b == 0);
      out->n_edges = 0;
      break;
    case TC_LUA_RETURN0:
    case TC_LUA_RETURN1: out->n_edges = 0; break;
    case TC_LUA_FORLOOP:
      read_run(out, a, LOOP_STATE, false);
      write_run(out, a, a + 2);
      write_run(out, a + LOOP_STATE, a + LOOP_STATE + 1);
      out->edges[0].to = pc + 1 - tc_code_bx(code);
      fork_to(out, pc + 1);
      break;
    case TC_LUA_FORPREP:
      read_run(out, a, LOOP_STATE, false);
      write_run(out, a, a + LOOP_STATE + 1);
      fork_to(out, pc + tc_code_bx(code) + 2);
      break;
    case TC_LUA_TFORPREP:
      read_run(out, a + ITERATOR_STATE - 1, 1, false); /* the closing value */
      out->edges[0].to = pc + 1 + tc_code_bx(code);
      break;
    case TC_LUA_TFORCALL:
      read_run(out, a, ITERATOR_STATE - 1, false);
      write_run(out, a + ITERATOR_STATE, TC_REGISTERS);
      break;
    case TC_LUA_TFORLOOP:
      read_run(out, a + ITERATOR_STATE, 1, false);
      write_run(out, a + 2, a + LOOP_STATE); /* the control value */
      out->edges[0].to = pc + 1 - tc_code_bx(code);
      fork_to(out, pc + 1);
      break;
    case TC_LUA_SETLIST: read_run(out, a, b + 1, b == 0); break;
    case TC_LUA_CLOSURE: read_captured(out, proto->protos[tc_code_bx(code)], a); break;
    case TC_LUA_VARARG: write_run(out, a, c ? a + c - 1 : TC_REGISTERS); break;
    default: break;
  }
}

tc_status tc_flow_check(const struct tc_proto *proto, struct tc_error *err) {
  struct tc_effect effect;
  for (int pc = 0; pc < proto->n_code; pc++) {
    if (tc_code_op(proto->code[pc]) == TC_LUA_EXTRAARG) continue; /* nothing that runs */
    tc_effect_of(proto, pc, &effect);
    for (int i = 0; i < effect.n_edges; i++)
      if (effect.edges[i].to < 0 || effect.edges[i].to >= proto->n_code)
        return tc_fail(err, TC_CORRUPT, "capture", "bytecode: control leaves the code of a function");
  }
  return TC_OK;
}
