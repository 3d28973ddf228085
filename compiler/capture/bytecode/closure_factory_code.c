/* The code of a closure factory: a Lua function of no arguments that gives a new closure of a function's code
 * at each call.
 *
 * It has a local variable for each upvalue of the closure, which captures them, so each closure has variables
 * of its own:
 *     LOADNIL 0 … n-1 ; CLOSURE n ; RETURN n (closing) */
#include "capture/bytecode/resume.h"

enum { FACTORY_CODE = 3 };

tc_status tc_bytecode_factory(struct tc_arena *arena, const struct tc_proto *proto, struct tc_strbuf *chunk,
                              struct tc_error *err) {
  if (proto->n_upvalues > TC_FACTORY_UPVALUES)
    return tc_fail(err, TC_LIMIT, "capture", "a function with %d upvalues", proto->n_upvalues);
  struct tc_upvalue_row *rows =
      TC_NEW_ARRAY(tc_arena_alloc(arena), struct tc_upvalue_row, (size_t)proto->n_upvalues + 1);
  if (!rows) return tc_fail(err, TC_NOMEM, "capture", "bytecode: out of memory");
  for (int i = 0; i < proto->n_upvalues; i++)
    rows[i] = (struct tc_upvalue_row){.in_stack = true, .index = i, .name = proto->upvalues[i].name};
  struct tc_proto inner = *proto, *const protos[] = {&inner};
  uint32_t code[FACTORY_CODE];
  int lines[FACTORY_CODE];
  for (int i = 0; i < FACTORY_CODE; i++) lines[i] = proto->line_defined;
  inner.upvalues = rows;
  int count = 0;
  if (proto->n_upvalues) code[count++] = tc_code_abc(TC_LUA_LOADNIL, 0, proto->n_upvalues - 1, 0, false);
  code[count++] = tc_code_abx(TC_LUA_CLOSURE, proto->n_upvalues, 0); /* its only function */
  code[count++] =
      tc_code_abc(TC_LUA_RETURN, proto->n_upvalues, 2, 0, true); /* one value; k: variables are closed */
  const struct tc_proto factory = {.source = proto->source,
                                   .chunk = proto->chunk,
                                   .line_defined = proto->line_defined,
                                   .last_line_defined = proto->last_line_defined,
                                   .max_stack = proto->n_upvalues + 2,
                                   .n_code = count,
                                   .n_protos = 1,
                                   .code = code,
                                   .protos = (struct tc_proto **)protos,
                                   .lines = proto->lines ? lines : NULL};
  return tc_bytecode_encode(&factory, chunk, err);
}
