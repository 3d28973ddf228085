/* Requests that count: instructions under callgrind, and the machine's counters. */
#include <lauxlib.h>

#include "harness/machine/counter_selection.h"
#include "harness/machine/counters.h"
#include "harness/worker/requests.h"
#include "tcompile.h"

/* --- instructions --- */

static struct tb_stretch counted_stretch(struct tb_serving *w) {
  return (struct tb_stretch){w->callgrind, tb_callgrind_begin, tb_callgrind_end};
}

static void need_callgrind(lua_State *L, struct tb_serving *w) {
  if (!w->callgrind)
    luaL_error(tb_request_failing(L, w, "usage"),
               "instructions are counted by a worker that was started with callgrind=FOLDER");
}

/* Stages are told apart in a compile, not in steady calls. */
static void watch_stages(lua_State *L, struct tb_serving *w, bool on) {
  struct tc_context *ctx = tc_lua_context(L);
  if (ctx) ctx->watch = on ? &w->callgrind->watch : NULL;
}

static void add_instructions(lua_State *L, struct tb_serving *w) {
  cJSON *counts = tb_callgrind_take(w->callgrind);
  if (!counts) luaL_error(L, "callgrind left no counts");
  cJSON_AddItemToObject(w->reply, "instructions", counts);
}

void tb_answer_counted_first(lua_State *L, struct tb_serving *w) {
  need_callgrind(L, w);
  const struct tb_stretch stretch = counted_stretch(w);
  watch_stages(L, w, true);
  tb_workload_call(L, &w->workload, &stretch);
  watch_stages(L, w, false);
  add_instructions(L, w);
}

void tb_answer_instructions(lua_State *L, struct tb_serving *w) {
  tb_request_need_workload(L, w);
  need_callgrind(L, w);
  const struct tb_request_calls calls = tb_request_need_calls(L, w);
  const struct tb_stretch stretch = counted_stretch(w);
  tb_workload_block(L, &w->workload, calls.warm, calls.timed, &stretch);
  add_instructions(L, w);
}

/* --- counters --- */

static void add_count(cJSON *counters, const struct tb_count *count, double calls) {
  cJSON *item = cJSON_AddObjectToObject(counters, count->name);
  if (count->known)
    cJSON_AddNumberToObject(item, "value", count->value / calls);
  else
    cJSON_AddNullToObject(item, "value");
  if (!count->known) cJSON_AddStringToObject(item, "why", count->why);
  if (count->known && count->multiplexed) cJSON_AddBoolToObject(item, "multiplexed", true);
}

static int close_counting(lua_State *L) {
  struct tb_counting **counting = lua_touserdata(L, 1);
  tb_counting_close(*counting, NULL);
  *counting = NULL;
  return 0;
}

/* Pushes what closes the counters where a call raises. */
static struct tb_counting **push_counting(lua_State *L, struct tb_serving *w, const char *names) {
  struct tb_counting **counting = lua_newuserdatauv(L, sizeof *counting, 0);
  *counting = NULL;
  if (luaL_newmetatable(L, "tbench.counting")) {
    lua_pushcfunction(L, close_counting);
    lua_setfield(L, -2, "__gc");
  }
  lua_setmetatable(L, -2);
  *counting = tb_counting_open_named(names);
  if (!*counting) luaL_error(tb_request_failing(L, w, "oom"), "out of memory");
  return counting;
}

static void begin_counting(void *self) { tb_counting_begin(self); }
static void end_counting(void *self) { tb_counting_end(self); }

void tb_answer_counters(lua_State *L, struct tb_serving *w) {
  tb_request_need_workload(L, w);
  tb_serve_use_own_cpus(w);
  const struct tb_request_calls calls = tb_request_need_calls(L, w);
  const char *names = tb_json_text(w->request, "names", "");
  struct tb_count *counts = lua_newuserdatauv(L, sizeof *counts * (size_t)tb_counter_count(), 0);
  struct tb_counting **counting = push_counting(L, w, names);
  const struct tb_stretch stretch = {*counting, begin_counting, end_counting};
  tb_workload_block(L, &w->workload, calls.warm, calls.timed, &stretch);
  tb_counting_close(*counting, counts);
  *counting = NULL;
  cJSON *json = cJSON_AddObjectToObject(w->reply, "counters");
  for (int i = 0; i < tb_counter_count(); i++)
    if (tb_name_listed(counts[i].name, names)) add_count(json, &counts[i], (double)calls.timed);
}
