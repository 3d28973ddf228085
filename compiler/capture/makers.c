/* Makers: Lua functions of no arguments that give a new closure of a function's code at each call.
 *
 * A maker has a local variable for each upvalue of the closure, which captures them: so each closure has variables of its own,
 * which the replay sets, or joins to others. Its code is
 *     LOADNIL 0 … n-1 ; CLOSURE n ; RETURN n (closing)
 * and it is loaded once, at capture, and kept by the guards like any object of theirs. */
#include <lauxlib.h>

#include "capture/resume.h"
#include "capture/trace.h"

/* Registers of a maker: a variable each, and the closure. */
enum { MOST_UPVALUES = TC_REGISTERS - 8, MAKER_CODE = 3 };

static int write_code(int n_upvalues, uint32_t code[MAKER_CODE]) {
  int count = 0;
  if (n_upvalues) code[count++] = tc_code_abc(TC_LUA_LOADNIL, 0, n_upvalues - 1, 0, false);
  code[count++] = tc_code_abx(TC_LUA_CLOSURE, n_upvalues, 0);         /* its only function */
  code[count++] = tc_code_abc(TC_LUA_RETURN, n_upvalues, 2, 0, true); /* one value; k: variables are closed */
  return count;
}

tc_status tc_bytecode_maker(struct tc_arena *arena, const struct tc_proto *proto, struct tc_strbuf *chunk, struct tc_error *err) {
  if (proto->n_upvalues > MOST_UPVALUES) return tc_fail(err, TC_LIMIT, "capture", "a function with %d upvalues", proto->n_upvalues);
  struct tc_upvalue_row *rows = TC_NEW_ARRAY(tc_arena_alloc(arena), struct tc_upvalue_row, (size_t)proto->n_upvalues + 1);
  if (!rows) return tc_fail(err, TC_NOMEM, "capture", "bytecode: out of memory");
  for (int i = 0; i < proto->n_upvalues; i++) rows[i] = (struct tc_upvalue_row){.in_stack = true, .index = i, .name = proto->upvalues[i].name};
  struct tc_proto inner = *proto, *const protos[] = {&inner};
  uint32_t code[MAKER_CODE];
  int lines[MAKER_CODE];
  for (int i = 0; i < MAKER_CODE; i++) lines[i] = proto->line_defined;
  inner.upvalues = rows;
  const struct tc_proto maker = {
      .source = proto->source, .chunk = proto->chunk, .line_defined = proto->line_defined, .last_line_defined = proto->last_line_defined,
      .max_stack = proto->n_upvalues + 2, .n_code = write_code(proto->n_upvalues, code), .n_protos = 1, .code = code,
      .protos = (struct tc_proto **)protos, .lines = proto->lines ? lines : NULL};
  return tc_bytecode_encode(&maker, chunk, err);
}

static tc_status load_maker(struct tc_trace *t, const struct tc_proto *proto, int *source) {
  struct tc_strbuf chunk;
  tc_strbuf_init(&chunk, tc_arena_alloc(t->arena)); /* freed with the trace, also when Lua raises */
  const tc_status status = tc_bytecode_maker(t->arena, proto, &chunk, t->err);
  if (status) return status;
  const char *bytes = tc_strbuf_text(&chunk);
  const int loaded = bytes ? luaL_loadbufferx(t->L, bytes, chunk.len, "=maker", "b") : LUA_ERRMEM;
  if (loaded == LUA_ERRMEM) return tc_trace_nomem(t);
  if (loaded != LUA_OK)
    return tc_fail(t->err, TC_CORRUPT, "capture", "Lua does not load a function of %s", proto->chunk);
  *source = tc_guards_object(t->guards, t->L, lua_gettop(t->L), TC_NO_SOURCE);
  lua_pop(t->L, 1);
  return TC_OK;
}

tc_status tc_closure_maker(struct tc_trace *t, const struct tc_proto *proto, int *source) {
  for (size_t i = 0; i < t->makers.len; i++) {
    *source = t->makers.data[i].source;
    if (t->makers.data[i].proto == proto) return TC_OK;
  }
  if (proto->n_upvalues > MOST_UPVALUES) return tc_trace_break(t, TC_BREAK_RESULTS, "a function with %d upvalues", proto->n_upvalues);
  const tc_status status = load_maker(t, proto, source);
  const struct tc_maker maker = {proto, *source};
  if (status) return status;
  return tc_vec_push(tc_arena_alloc(t->arena), &t->makers, maker) ? TC_OK : tc_trace_nomem(t);
}
