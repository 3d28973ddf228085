/* Requests of a worker, one after the other. Invariants:
 * 1. Each request gets exactly one reply, also when Lua raises or runs out of memory.
 * 2. A handler (requests.h) runs under lua_pcall and adds to the reply; what it raises becomes the reply
 *    instead. */
#include "harness/worker/serve.h"

#include <stdio.h>

#include <lauxlib.h>

#include "harness/wire/protocol.h"
#include "harness/worker/lua_error.h"
#include "harness/worker/requests.h"

static void (*const handlers[TB_REQUEST_COUNT])(lua_State *, struct tb_serving *) = {
#define TB_REQUEST(name, fields, reply) tb_answer_##name,
#include "harness/wire/requests.def"
#undef TB_REQUEST
};

/* Threads that a compile starts inherit this thread's CPUs: it has all of the case's while it may compile,
 * and its own place in the team while calls are timed. Where the system refuses, the harness knows it by its
 * own binding. */
void tb_serve_use_case_cpus(const struct tb_serving *w) {
  (void)sched_setaffinity(0, sizeof w->cpus, &w->cpus);
}
void tb_serve_use_own_cpus(const struct tb_serving *w) {
  (void)sched_setaffinity(0, sizeof w->own_cpus, &w->own_cpus);
}

static int answer_protected(lua_State *L) {
  struct tb_serving *w = lua_touserdata(L, 1);
  enum tb_request request;
  lua_settop(L, 0);
  const char *name = tb_request_need_text(L, w, "op");
  if (!tb_request_parse(name, &request))
    return luaL_error(tb_request_failing(L, w, "usage"), "unknown request '%s'", name);
  handlers[request](L, w);
  return 0;
}

/* Puts the error at the stack top into a fresh reply. */
static void add_error(struct tb_serving *w, int status) {
  cJSON_Delete(w->reply);
  w->reply = cJSON_CreateObject();
  cJSON_AddBoolToObject(w->reply, "ok", false);
  cJSON_AddItemToObject(w->reply, "error", tb_lua_error_json(w->L, status, w->kind));
}

void tb_serve_failure(struct tb_serving *w, int status) {
  add_error(w, status);
  tb_message_write(TB_FD_CONTROL, w->reply);
  cJSON_Delete(w->reply);
  w->reply = NULL;
}

static void answer(struct tb_serving *w) {
  w->kind = NULL;
  w->reply = cJSON_CreateObject();
  cJSON_AddBoolToObject(w->reply, "ok", true);
  lua_settop(w->L, 0);
  lua_pushcfunction(w->L, tb_lua_error_handler);
  lua_pushcfunction(w->L, answer_protected);
  lua_pushlightuserdata(w->L, w);
  const int status = lua_pcall(w->L, 1, 0, 1);
  if (status) add_error(w, status);
  fflush(stdout); /* what the suite wrote without an end of line belongs to this request */
}

void tb_serve(struct tb_serving *w) {
  struct tc_strbuf inbox;
  tc_strbuf_init(&inbox, tc_alloc_system());
  for (cJSON *request; !w->leaving && (request = tb_message_read(TB_FD_CONTROL, &inbox));
       cJSON_Delete(request)) {
    w->request = request;
    answer(w);
    const bool sent = tb_message_write(TB_FD_CONTROL, w->reply);
    cJSON_Delete(w->reply);
    w->reply = NULL;
    if (!sent) w->leaving = true;
  }
  tc_strbuf_free(&inbox);
}
