/* The code of continuations and steps.
 *
 *   0            VARARGPREP k      with variable arguments, where P has its own; else the jump stands here
 *   0 or 1       JMP → entry
 *   1 + pc       P's code, unchanged; variable names in error messages depend on what stands before the
 *   failing instruction
 *   1 + n_code   what is added
 *
 * Invariants:
 *  1. The jump of the prologue goes behind all of P's code, and from there back to pc. Lua finds the name of
 *     a value from the instruction that last set its register, and distrusts what stands before the target of
 *     a jump that it passes; a target behind the failing instruction does not count, nor does an instruction
 *     behind it.
 *  2. A unit that goes straight on, or a region, runs in its place, and the instructions behind it become
 *     jumps to epilogues: nothing before it changes. A unit that jumps runs as a copy in the added code,
 *     where its targets are jumps to epilogues: P's code stays whole, whatever the targets are. Copies have
 *     the names of their local variables; their errors need nothing else.
 *  3. An epilogue moves the registers up by two, for the function and the exit's number, from the highest on:
 *     it needs two registers more than are live. Before, it parts them from closures, which would see the
 *     moves.
 *  4. RETURN follows TAILCALL: a C function that yielded comes back to it. */
#include <string.h>

#include "capture/bytecode/flow.h"
#include "capture/bytecode/resume.h"

enum { PROLOGUE = 1, LEAST_STACK = 2 };
enum {
  ADDED = 32,
  HOOK = 8,
  EPILOGUE = TC_REGISTERS + 8
}; /* instructions: of entry and copies at most, of a hook, of an epilogue at most */
enum { CALLEE = 0, NUMBER = 1, MOVED = 2 }; /* registers of an epilogue */

struct writer {
  const struct tc_resume *r;
  struct tc_arena *arena; /* of this function alone */
  struct tc_proto made;
  int line;  /* of added code */
  int entry; /* where the prologue jumps to */
  int n_locals;
};

static uint32_t jump(int from, int to) {
  return (uint32_t)TC_LUA_JMP | (uint32_t)(to - from - 1 + TC_JUMP_EXCESS) << 7;
}
static uint32_t with_b(uint32_t code, int b) { return (code & ~(UINT32_C(0xff) << 16)) | (uint32_t)b << 16; }
static uint32_t with_c(uint32_t code, int c) { return (code & ~(UINT32_C(0xff) << 24)) | (uint32_t)c << 24; }

static int emit(struct writer *m, uint32_t code) {
  const int at = m->made.n_code++;
  m->made.code[at] = code;
  if (m->made.lines) m->made.lines[at] = m->line;
  return at;
}

/* What RETURN and TAILCALL tell of a function with variable arguments: its parameters, from 1. */
static int parameters_code(const struct writer *m) { return m->made.is_vararg ? m->made.n_params + 1 : 0; }

static void copy_locals(struct writer *m) {
  const struct tc_proto *p = m->r->proto;
  for (int i = 0; i < p->n_locals; i++) {
    struct tc_local_row *local = &m->made.locals[m->made.n_locals++];
    *local = p->locals[i];
    local->start += PROLOGUE;
    local->end += PROLOGUE;
  }
}

static void copy_code(struct writer *m) {
  const struct tc_proto *p = m->r->proto;
  memcpy(m->made.code + PROLOGUE, p->code, sizeof *p->code * (size_t)p->n_code);
  if (m->made.lines) memcpy(m->made.lines + PROLOGUE, p->lines, sizeof *p->lines * (size_t)p->n_code);
  m->made.n_code = PROLOGUE + p->n_code;
  if (!p->is_vararg) return;
  for (int pc = PROLOGUE; pc < m->made.n_code; pc++) {
    const int op = tc_code_op(m->made.code[pc]);
    if (op == TC_LUA_RETURN || op == TC_LUA_TAILCALL)
      m->made.code[pc] = with_c(m->made.code[pc], parameters_code(m));
  }
  m->made.code[0] = tc_code_abc(TC_LUA_VARARGPREP, m->made.n_params, 0, 0, false);
  if (m->made.lines) m->made.lines[0] = p->lines[0];
}

static size_t count_hooks(const struct tc_resume *r) {
  size_t count = 0;
  for (int pc = 0; pc < r->proto->n_code && r->hooks; pc++) count += tc_resume_makes_argument(r->proto, pc);
  return count;
}

static tc_status begin(struct writer *m, const struct tc_resume *r, int pc, int registers,
                       struct tc_error *err) {
  const struct tc_proto *p = r->proto;
  const char *why;
  *m = (struct writer){.r = r, .made = *p};
  if (!tc_resume_may_cut(r, pc, &why)) return tc_fail(err, TC_LIMIT, "capture", "resume functions: %s", why);
  if (registers + MOVED > TC_REGISTERS - 1)
    return tc_fail(err, TC_LIMIT, "capture", "resume functions: too many open values");
  m->arena = tc_arena_new(tc_arena_parent(r->arena));
  const size_t n_code = (size_t)p->n_code + PROLOGUE + ADDED + TC_MAX_RESUME_EXITS * EPILOGUE +
                        count_hooks(r) * HOOK,
               n_locals = 2 * (size_t)p->n_locals;
  m->made.code = m->arena ? tc_arena_bytes(m->arena, sizeof *m->made.code * n_code) : NULL;
  m->made.lines = m->arena && p->lines ? tc_arena_bytes(m->arena, sizeof *m->made.lines * n_code) : NULL;
  m->made.locals = m->arena ? tc_arena_bytes(m->arena, sizeof *m->made.locals * n_locals + 1) : NULL;
  if (!m->made.code || !m->made.locals || (p->lines && !m->made.lines))
    return tc_fail(err, TC_NOMEM, "capture", "resume functions: out of memory");
  m->line = tc_proto_line(p, pc);
  m->made.n_params = registers;
  m->made.n_locals = 0;
  if (m->made.max_stack < registers) m->made.max_stack = registers;
  if (m->made.max_stack < LEAST_STACK) m->made.max_stack = LEAST_STACK;
  copy_locals(m);
  copy_code(m);
  return TC_OK;
}

static void finish(struct writer *m, struct tc_strbuf *chunk, struct tc_error *err, tc_status *status) {
  if (!*status) {
    const int at = m->made.is_vararg; /* VARARGPREP comes first */
    m->made.code[at] = jump(at, m->entry);
    if (m->made.lines) m->made.lines[at] = m->line;
    *status = m->r->makes ? tc_bytecode_factory(m->arena, &m->made, chunk, err)
                          : tc_bytecode_encode(&m->made, chunk, err);
  }
  tc_arena_free(m->arena);
}

static int place(const struct writer *m, int pc) {
  return PROLOGUE + (pc == 0 && m->made.is_vararg ? 1 : pc);
}

static void enter_place(struct writer *m, int pc) {
  /* Added code begins with an instruction that does nothing, but tells Lua where it is: Lua up to 5.4.4
   * reports integer divisions by zero at the line of the last instruction that did. */
  m->entry = emit(m, tc_code_abc(TC_LUA_CLOSE, 0, 0, 0, false));
  emit(m, jump(m->made.n_code, place(m, pc)));
}

int tc_resume_original(const struct tc_resume *r, int pc) {
  const int original = pc - PROLOGUE, first = r->proto->is_vararg; /* the jump stands where VARARGPREP did */
  return original >= first && original < r->proto->n_code ? original : -1;
}

tc_status tc_resume_continuation(const struct tc_resume *r, int pc, struct tc_strbuf *chunk,
                                 struct tc_error *err) {
  struct writer m;
  struct tc_resume_unit unit;
  tc_status status = tc_resume_unit_at(r, pc, -1, &unit, err);
  if (status) return status;
  status = begin(&m, r, pc, tc_resume_registers(r, pc, -1), err);
  if (!status) enter_place(&m, pc);
  finish(&m, chunk, err, &status);
  return status;
}

/* What a step calls: where it leaves, and for hooked calls. */
static tc_status add_upvalues(struct writer *m, struct tc_error *err) {
  const struct tc_proto *p = m->r->proto;
  m->made.upvalues = tc_arena_bytes(m->arena, sizeof *p->upvalues * ((size_t)p->n_upvalues + 2));
  if (!m->made.upvalues) return tc_fail(err, TC_NOMEM, "capture", "resume functions: out of memory");
  if (p->n_upvalues) memcpy(m->made.upvalues, p->upvalues, sizeof *p->upvalues * (size_t)p->n_upvalues);
  m->made.upvalues[m->made.n_upvalues++] = (struct tc_upvalue_row){.in_stack = true, .name = "(exit)"};
  if (m->r->hooks)
    m->made.upvalues[m->made.n_upvalues++] = (struct tc_upvalue_row){.in_stack = true, .name = "(call)"};
  return TC_OK;
}

static bool is_exit(const struct tc_resume_unit *unit, int pc) {
  for (int i = 0; i < unit->n_exits; i++)
    if (unit->exits[i] == pc) return true;
  return false;
}

static void hook_calls(struct writer *m, const struct tc_resume_unit *unit) {
  if (m->r->proto->max_stack + 3 > TC_REGISTERS - 1) return;
  for (int pc = 0; pc < m->r->proto->n_code; pc++)
    if (!is_exit(unit, pc) && tc_resume_makes_argument(m->r->proto, pc)) {
      /* The CLOSURE at pc goes to added code, where the hook looks at what
       * it made; the registers for that lie above all of the function's. */
      const int at = place(m, pc), argument = tc_code_a(m->made.code[at]), hook = m->r->proto->max_stack,
                line = m->line;
      const uint32_t closure = m->made.code[at];
      m->line = tc_proto_line(m->r->proto, pc);
      m->made.code[at] = jump(at, emit(m, closure));
      emit(m, tc_code_abc(TC_LUA_GETUPVAL, hook, m->r->proto->n_upvalues + 1, 0, false));
      emit(m, tc_code_abc(TC_LUA_MOVE, hook + 1, argument - 1, 0, false));
      emit(m, tc_code_abc(TC_LUA_MOVE, hook + 2, argument, 0, false));
      emit(m, tc_code_abc(TC_LUA_CALL, hook, 3, 2, false));
      emit(m, tc_code_abc(TC_LUA_MOVE, argument, hook, 0, false));
      emit(m, jump(m->made.n_code, at + 1));
      m->line = line;
      if (m->made.max_stack < hook + 3) m->made.max_stack = hook + 3;
    }
}

static void epilogue(struct writer *m, int number, int exit) {
  const struct tc_live *live = &m->r->live[exit];
  const int count = tc_live_count(live), parameters = parameters_code(m);
  if (m->made.max_stack < count + MOVED) m->made.max_stack = count + MOVED;
  if (m->made.n_protos) emit(m, tc_code_abc(TC_LUA_CLOSE, 0, 0, 0, false));
  for (int i = count - 1; i >= 0; i--) {
    const bool is_live = tc_live_has(live, i);
    emit(m, tc_code_abc(is_live ? TC_LUA_MOVE : TC_LUA_LOADNIL, i + MOVED, is_live ? i : 0, 0, false));
  }
  emit(m, tc_code_abc(TC_LUA_GETUPVAL, CALLEE, m->r->proto->n_upvalues, 0, false));
  emit(m, tc_code_abx(TC_LUA_LOADI, NUMBER, number + TC_BX_EXCESS));
  if (m->made.is_vararg) emit(m, tc_code_abc(TC_LUA_VARARG, count + MOVED, 0, 0, false));
  emit(m, tc_code_abc(TC_LUA_CALL, CALLEE, m->made.is_vararg ? 0 : count + MOVED, 0, false));
  emit(m, tc_code_abc(TC_LUA_TAILCALL, CALLEE, 0, parameters, false));
  emit(m, tc_code_abc(TC_LUA_RETURN, CALLEE, 0, parameters, false));
}

static int exit_number(const struct tc_resume_unit *unit, int pc) { return unit->exits[0] == pc ? 0 : 1; }

/* A jump to the epilogue of an exit, to be set when its place is known. */
struct leaving {
  int at[TC_MAX_RESUME_EXITS + 1], number[TC_MAX_RESUME_EXITS + 1], n;
};

static void leave(struct writer *m, struct leaving *l, int number) {
  l->number[l->n] = number;
  l->at[l->n++] = emit(m, 0);
}

/* Loops jump back only: the jump out stands before them. */
static void copy_loop(struct writer *m, const struct tc_resume_unit *unit, int start, struct leaving *l) {
  const uint32_t *code = m->r->proto->code, loop = code[unit->last];
  const int body = unit->last + 1 - tc_code_bx(loop), op = tc_code_op(code[start]), a = tc_code_a(loop);
  const int back = m->made.n_code;
  leave(m, l, exit_number(unit, body));
  m->entry = m->made.n_code;
  if (op == TC_LUA_TFORPREP) { /* a closing value: the loop runs in its place, and the function to its end */
    const int closing = tc_code_a(code[start]) + 3,
              test = emit(m, tc_code_abc(TC_LUA_TEST, closing, 0, 0, true));
    emit(m, jump(test + 1, place(m, start)));
    emit(m, tc_code_abx(TC_LUA_TFORPREP, tc_code_a(code[start]), 0));
  }
  if (unit->last > start) emit(m, code[unit->last - 1]); /* TFORCALL */
  const int at = m->made.n_code;
  emit(m, tc_code_abx(tc_code_op(loop), a, at + 1 - back));
  leave(m, l, exit_number(unit, unit->last + 1));
}

static void copy_forprep(struct writer *m, const struct tc_resume_unit *unit, int start, struct leaving *l) {
  const uint32_t code = m->r->proto->code[start];
  m->entry = emit(m, tc_code_abx(TC_LUA_FORPREP, tc_code_a(code), 0));
  leave(m, l, exit_number(unit, start + 1)); /* it skips this one when there is nothing to do */
  leave(m, l, exit_number(unit, start + 2 + tc_code_bx(code)));
}

static void copy_test(struct writer *m, const struct tc_resume_unit *unit, int start, struct leaving *l) {
  const uint32_t *code = m->r->proto->code;
  m->entry = emit(m, code[start]);
  leave(m, l, exit_number(unit, start + 2 + tc_code_jump(code[start + 1])));
  leave(m, l, exit_number(unit, start + 2));
}

static bool jumps(uint32_t code) {
  const int op = tc_code_op(code);
  return tc_code_is_test(code) || op == TC_LUA_JMP || (op >= TC_LUA_FORLOOP && op <= TC_LUA_TFORLOOP);
}

static void run_copy(struct writer *m, const struct tc_resume_unit *unit, int start) {
  struct leaving l = {.n = 0};
  const uint32_t code = m->r->proto->code[start];
  const int op = tc_code_op(code), begins = m->made.n_code;
  m->entry = begins;
  if (tc_code_is_test(code))
    copy_test(m, unit, start, &l);
  else if (op == TC_LUA_FORPREP)
    copy_forprep(m, unit, start, &l);
  else if (op != TC_LUA_JMP)
    copy_loop(m, unit, start, &l);
  const struct tc_proto *p = m->r->proto;
  for (int i = 0; i < p->n_locals; i++)
    if (p->locals[i].start <= start && start < p->locals[i].end)
      m->made.locals[m->made.n_locals++] =
          (struct tc_local_row){.name = p->locals[i].name, .start = begins, .end = m->made.n_code};
  for (int number = 0; number < unit->n_exits; number++) {
    for (int i = 0; i < l.n; i++)
      if (l.number[i] == number) m->made.code[l.at[i]] = jump(l.at[i], m->made.n_code);
    epilogue(m, number, unit->exits[number]);
  }
}

/* Gives an instruction that takes open values their number. */
static void fix_open(struct writer *m, int pc, int open) {
  uint32_t *code = &m->made.code[place(m, pc)];
  if (tc_code_op(*code) != TC_LUA_SETLIST)
    *code = with_b(*code, open + 1);
  else if (open)
    *code = with_b(*code, open);
  else
    *code = jump(0, tc_code_has_extra(*code) ? 2 : 1); /* nothing to do; B of 0 would mean open */
}

tc_status tc_resume_step(const struct tc_resume *r, int pc, int open, struct tc_strbuf *chunk,
                         struct tc_error *err) {
  struct writer m;
  struct tc_resume_unit unit;
  tc_status status = tc_resume_unit_at(r, pc, open, &unit, err);
  if (status) return status;
  /* where the function runs on, it could come back to the instruction with other open values */
  if (open >= 0 && unit.why) return tc_fail(err, TC_LIMIT, "capture", "resume functions: %s", unit.why);
  status = begin(&m, r, pc, tc_resume_registers(r, pc, open), err);
  if (!status) status = add_upvalues(&m, err);
  if (!status) {
    const int start = pc == 0 && r->proto->is_vararg ? 1 : pc;
    if (open >= 0) fix_open(&m, pc, open);
    if (!unit.n_exits)
      enter_place(&m, pc);
    else if (jumps(r->proto->code[start]) && !unit.is_region)
      run_copy(&m, &unit, start);
    else {
      /* The unit or region runs in its place. */
      enter_place(&m, pc);
      for (int number = 0; number < unit.n_exits; number++) {
        const int at = place(&m, unit.exits[number]);
        m.made.code[at] = jump(at, m.made.n_code);
        epilogue(&m, number, unit.exits[number]);
      }
    }
    if (unit.has_hooks) hook_calls(&m, &unit);
  }
  finish(&m, chunk, err, &status);
  return status;
}
