/* Inside of a worker: its requests, a function each, and what they share.
 *
 * All run under lua_pcall on w->L: they raise Lua's errors, and hold nothing that only C would free while
 * they call Lua. */
#ifndef TB_REQUESTS_H
#define TB_REQUESTS_H

#include "harness/wire/protocol.h"
#include "harness/worker/serve.h"

#define TB_REQUEST(name, fields, reply) void tb_answer_##name(lua_State *L, struct tb_serving *w);
#include "harness/wire/requests.def"
#undef TB_REQUEST

/* Gives the error that follows a kind (an outcome, or "usage"); to be followed by luaL_error at once. */
lua_State *tb_request_failing(lua_State *L, struct tb_serving *w, const char *kind);
/* Raise where the request came before `prepare`, or lacks a text. */
void tb_request_need_workload(lua_State *L, struct tb_serving *w);
const char *tb_request_need_text(lua_State *L, struct tb_serving *w, const char *field);
/* "calls" and "warm" of the request; raises where they are no counts. */
struct tb_request_calls {
  int64_t timed, warm;
};
struct tb_request_calls tb_request_need_calls(lua_State *L, struct tb_serving *w);

/* --- requests_count.c --- */
/* A first call whose instructions are counted, by stage. */
void tb_answer_counted_first(lua_State *L, struct tb_serving *w);

#endif
