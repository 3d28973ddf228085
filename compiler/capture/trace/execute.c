/* The interpreter of tracked values: one handler an instruction, found through opcodes.def; here the loop,
 * and the instructions that move values and make closures. The others are in accesses.c, operators.c,
 * branches.c, loops.c and calls.c.
 *
 * Invariants:
 *  1. Instructions were checked by the decoder; registers beyond a frame's own lie in the reserved part of
 *     the stack.
 *  2. pc points behind the running instruction, as in Lua; handlers skip or jump by changing it. */
#include "capture/trace/externals.h"
#include "capture/trace/frames.h"
#include "capture/trace/place.h"
#include "capture/trace/trace.h"

tc_status tc_execute(struct tc_trace *t, struct tc_activation *a) {
  static tc_status (*const handlers[])(struct tc_trace *, struct tc_activation *, uint32_t) = {
#define TC_OPCODE(NAME, format, operands, handler) tc_do_##handler,
#include "capture/bytecode/opcodes.def"
#undef TC_OPCODE
  };
  while (!a->returned) {
    if (a->pc >= a->proto->n_code)
      return tc_fail(t->err, TC_CORRUPT, "capture", "bytecode: a function runs past its end");
    const uint32_t code = a->proto->code[a->pc++];
    tc_status status = a->is_entry ? tc_trace_step(t, a) : TC_OK;
    if (t->stopped) return TC_OK;
    if (!status) status = handlers[tc_code_op(code)](t, a, code);
    if (status) return status;
  }
  return TC_OK;
}

/* The constants of a function as tracked values, made when the first one is needed. */
static tc_status make_constants(struct tc_trace *t, struct tc_proto *proto) {
  struct tc_tracked *values =
      TC_NEW_ARRAY(tc_arena_alloc(t->arena), struct tc_tracked, (size_t)proto->n_constants + 1);
  if (!values) return tc_trace_nomem(t);
  for (int i = 0; i < proto->n_constants; i++) {
    const struct tc_constant *k = &proto->constants[i];
    tc_status status = TC_OK;
    switch (k->type) {
      case LUA_TBOOLEAN: values[i] = tc_bool(k->boolean); break;
      case LUA_TNUMBER: values[i] = k->is_integer ? tc_int(k->integer) : tc_num(k->number); break;
      case LUA_TSTRING: status = tc_text_of(t, k->text.bytes, k->text.length, &values[i]); break;
      default: values[i] = tc_nil();
    }
    if (status) return status;
  }
  proto->tracked = values;
  return TC_OK;
}

tc_status tc_constant(struct tc_trace *t, const struct tc_activation *a, int number, struct tc_tracked *out) {
  struct tc_proto *proto = a->closure->proto;
  if (!proto->tracked) {
    const tc_status status = make_constants(t, proto);
    if (status) return status;
  }
  *out = proto->tracked[number];
  return TC_OK;
}

tc_status tc_do_move(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  tc_set_register(t, a, code, *tc_register(t, a, tc_code_b(code)));
  return TC_OK;
}

tc_status tc_do_load_integer(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  tc_set_register(t, a, code, tc_int(tc_code_signed_bx(code)));
  return TC_OK;
}

tc_status tc_do_load_float(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  tc_set_register(t, a, code, tc_num(tc_code_signed_bx(code)));
  return TC_OK;
}

static tc_status load(struct tc_trace *t, struct tc_activation *a, uint32_t code, int number) {
  struct tc_tracked value;
  const tc_status status = tc_constant(t, a, number, &value);
  if (!status) tc_set_register(t, a, code, value);
  return status;
}

tc_status tc_do_load_constant(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  return load(t, a, code, tc_code_bx(code));
}

tc_status tc_do_load_far_constant(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  return load(t, a, code, tc_code_ax(a->proto->code[a->pc++]));
}

tc_status tc_do_load_false(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  tc_set_register(t, a, code, tc_bool(false));
  return TC_OK;
}

tc_status tc_do_load_false_skip(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  a->pc++;
  return tc_do_load_false(t, a, code);
}

tc_status tc_do_load_true(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  tc_set_register(t, a, code, tc_bool(true));
  return TC_OK;
}

tc_status tc_do_load_nil(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  for (int i = 0; i <= tc_code_b(code); i++) *tc_register(t, a, tc_code_a(code) + i) = tc_nil();
  return TC_OK;
}

tc_status tc_do_get_upvalue(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  struct tc_tracked value;
  const tc_status status = tc_cell_get(t, a->closure->cells[tc_code_b(code)], &value);
  if (!status) tc_set_register(t, a, code, value);
  return status;
}

tc_status tc_do_set_upvalue(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  const struct tc_tracked value = *tc_register(t, a, tc_code_a(code));
  return tc_cell_set(t, a->closure->cells[tc_code_b(code)], &value);
}

static tc_status make_cell(struct tc_trace *t, struct tc_activation *a, size_t slot, struct tc_cell **out) {
  struct tc_cell **link = &a->open;
  while (*link && (*link)->slot > slot) link = &(*link)->next;
  if (!*link || (*link)->slot != slot) {
    struct tc_cell *cell = TC_NEW(tc_arena_alloc(t->arena), struct tc_cell);
    if (!cell) return tc_trace_nomem(t);
    *cell = (struct tc_cell){.state = TC_CELL_OPEN, .slot = slot, .next = *link};
    *link = cell;
  }
  *out = *link;
  return TC_OK;
}

tc_status tc_do_closure(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  struct tc_proto *proto = a->proto->protos[tc_code_bx(code)];
  struct tc_traced_closure *closure = TC_NEW(tc_arena_alloc(t->arena), struct tc_traced_closure);
  struct tc_cell **cells =
      TC_NEW_ARRAY(tc_arena_alloc(t->arena), struct tc_cell *, (size_t)proto->n_upvalues + 1);
  if (!closure || !cells) return tc_trace_nomem(t);
  *closure = (struct tc_traced_closure){.origin.source = TC_NO_SOURCE, .proto = proto, .cells = cells};
  for (int i = 0; i < proto->n_upvalues; i++) {
    const struct tc_upvalue_row *row = &proto->upvalues[i];
    tc_status status = TC_OK;
    if (row->in_stack)
      status = make_cell(t, a, a->base + (size_t)row->index, &cells[i]);
    else if (row->index < a->proto->n_upvalues)
      cells[i] = a->closure->cells[row->index];
    else
      status = tc_fail(t->err, TC_CORRUPT, "capture", "bytecode: an upvalue outside of its function");
    if (status) return status;
  }
  tc_set_register(t, a, code, tc_tracked_closure(closure));
  return TC_OK;
}

void tc_close_cells(struct tc_trace *t, struct tc_activation *a, size_t from) {
  for (struct tc_cell *cell; (cell = a->open) && cell->slot >= from; a->open = cell->next) {
    cell->value = t->slots[cell->slot];
    cell->state = TC_CELL_CLOSED;
  }
}

tc_status tc_do_close(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  tc_close_cells(t, a, a->base + (size_t)tc_code_a(code));
  return TC_OK;
}

tc_status tc_do_to_be_closed(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  struct tc_tracked *value = tc_register(t, a, tc_code_a(code));
  bool truth;
  const tc_status status = tc_truth(t, value, &truth);
  if (status || !truth) return status; /* nil and false need no closing */
  return tc_trace_break(t, TC_BREAK_TO_BE_CLOSED, "a local variable with <close>");
}

tc_status tc_do_extra_argument(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  (void)a, (void)code;
  return tc_fail(t->err, TC_CORRUPT, "capture", "bytecode: EXTRAARG without its instruction");
}
