/* Factories of the closures that a call makes (closure_factory_code.c has their code): loaded once, at
 * capture, and kept by the guards like any object of theirs. The variables of a closure that one made are set
 * by the replay, or joined to others. */
#include <lauxlib.h>

#include "capture/bytecode/resume.h"
#include "capture/trace/results.h"
#include "capture/trace/trace.h"

static tc_status load_factory(struct tc_trace *t, const struct tc_proto *proto, int *source) {
  struct tc_strbuf chunk;
  tc_strbuf_init(&chunk, tc_arena_alloc(t->arena)); /* freed with the trace, also when Lua raises */
  const tc_status status = tc_bytecode_factory(t->arena, proto, &chunk, t->err);
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

tc_status tc_closure_factory(struct tc_trace *t, const struct tc_proto *proto, int *source) {
  for (size_t i = 0; i < t->factories.len; i++) {
    *source = t->factories.data[i].source;
    if (t->factories.data[i].proto == proto) return TC_OK;
  }
  if (proto->n_upvalues > TC_FACTORY_UPVALUES)
    return tc_trace_break(t, TC_BREAK_RESULTS, "a function with %d upvalues", proto->n_upvalues);
  const tc_status status = load_factory(t, proto, source);
  const struct tc_factory factory = {proto, *source};
  if (status) return status;
  return tc_vec_push(tc_arena_alloc(t->arena), &t->factories, factory) ? TC_OK : tc_trace_nomem(t);
}
