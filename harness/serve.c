/* Requests of a worker, one after the other. Invariants:
 * 1. Each request gets exactly one reply, also when Lua raises or runs out of memory.
 * 2. A handler runs under lua_pcall and adds to the reply; what it raises becomes the reply instead.
 * To add a request: a row in requests.def and a function do_NAME here. */
#include "harness/serve.h"

#include <lauxlib.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "harness/counters.h"
#include "harness/description.h"
#include "harness/luacall.h"
#include "harness/luajson.h"
#include "harness/protocol.h"
#include "harness/thrown.h"
#include "harness/triad.h"
#include "harness/wanted.h"
#include "tcompile.h"

/* --- requests; each runs under lua_pcall and adds to w->reply --- */

/* To be followed by luaL_error at once. */
static lua_State *failing(lua_State *L, struct tb_server *w, const char *kind) {
  w->kind = kind;
  return L;
}

static void need_workload(lua_State *L, struct tb_server *w) {
  if (!w->prepared) luaL_error(failing(L, w, "usage"), "prepare comes first");
}

static const char *need_text(lua_State *L, struct tb_server *w, const char *field) {
  const char *text = tb_json_text(w->request, field, NULL);
  if (!text) luaL_error(failing(L, w, "usage"), "the request lacks '%s'", field);
  return text;
}

static void do_describe(lua_State *L, struct tb_server *w) {
  const char *path = need_text(L, w, "suite");
  tb_description_load(L, path);
  cJSON_AddItemToObject(w->reply, "description", tb_description_json(L, -1, path));
}

static void prepare_probe(lua_State *L, struct tb_server *w) {
  tb_probe_close(w->probe);
  w->probe = tb_probe_open();
  if (!w->probe) luaL_error(failing(L, w, "unsupported"), "the probe kernel needs AVX2, FMA and 40 MiB");
}

static void do_prepare(lua_State *L, struct tb_server *w) {
  enum tb_role role;
  if (!tb_role_parse(need_text(L, w, "role"), &role)) luaL_error(failing(L, w, "usage"), "unknown role");
  if (role == TB_ROLE_PROBE) {
    prepare_probe(L, w);
    return;
  }
  const cJSON *kase = cJSON_GetObjectItemCaseSensitive(w->request, "case");
  if (!cJSON_IsObject(kase)) luaL_error(failing(L, w, "usage"), "the request lacks 'case'");
  const char *device = tb_json_text(kase, "device", "cpu");
  if (strcmp(device, "cpu")) luaL_error(failing(L, w, "unsupported"), "device '%s' is not built", device);
  tb_description_load(L, need_text(L, w, "suite"));
  const char *backend = tb_json_text(w->request, "backend", "inductor"), *mode = tb_json_text(w->request, "mode", "default");
  tb_workload_make(L, lua_gettop(L), need_text(L, w, "workload"), kase, role, backend, mode, &w->workload);
  if (w->workload.unsupported) luaL_error(failing(L, w, "unsupported"), "%s", w->workload.unsupported);
  w->prepared = true;
  if (w->workload.generated) cJSON_AddNumberToObject(w->reply, "calls_max", TB_GENERATED_MAX);
  if (w->workload.tolerance > 0) cJSON_AddNumberToObject(w->reply, "tolerance", w->workload.tolerance);
  if (w->workload.flops >= 0) cJSON_AddNumberToObject(w->reply, "flops", w->workload.flops);
  if (w->workload.bytes >= 0) cJSON_AddNumberToObject(w->reply, "bytes", w->workload.bytes);
}

static void add_stats(lua_State *L, struct tb_server *w) {
  if (w->workload.role != TB_ROLE_COMPILED) return;
  lua_rawgeti(L, LUA_REGISTRYINDEX, w->workload.fn);
  tb_lua_call_function(L, "stats", 1, 1);
  cJSON_AddItemToObject(w->reply, "stats", tb_json_from_lua(L, -1));
  lua_pop(L, 1);
}

/* Threads that a compile starts inherit this thread's CPUs: it has all of the case's while it may compile, and its own place in
 * the team while calls are timed. Where the system refuses, the harness knows it by its own binding. */
void tb_serve_leave_seat(const struct tb_server *w) { (void)sched_setaffinity(0, sizeof w->cpus, &w->cpus); }
static void take_seat(const struct tb_server *w) { (void)sched_setaffinity(0, sizeof w->seat, &w->seat); }

static const struct { const char *counter, *name; } evidence_rows[] = {
    {"cache_misses", "misses"}, {"disk_hits", "disk_hits"}, {"memory_hits", "memory_hits"}};
enum { N_EVIDENCE = sizeof evidence_rows / sizeof *evidence_rows };

static void read_evidence(lua_State *L, double values[N_EVIDENCE]) {
  tb_lua_call_function(L, "counters", 0, 1);
  for (int i = 0; i < N_EVIDENCE; i++) {
    lua_getfield(L, -1, evidence_rows[i].counter);
    values[i] = lua_tonumber(L, -1);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

/* Time that opening the matrix library has taken in this process; 0 while nothing has needed it. */
static double library_ns(lua_State *L) {
  const struct tc_context *ctx = tc_lua_context(L);
  return ctx ? tc_device_cpu_blas_opening_ns(ctx->device) : 0;
}

/* --- instruction counts --- */

static struct tb_stretch counted_stretch(struct tb_server *w) { return (struct tb_stretch){w->callgrind, tb_callgrind_begin, tb_callgrind_end}; }

static void need_callgrind(lua_State *L, struct tb_server *w) {
  if (!w->callgrind) luaL_error(failing(L, w, "usage"), "instructions are counted by a worker that was started with callgrind=FOLDER");
}

/* Stages are told apart in a compile, not in steady calls. */
static void watch_stages(lua_State *L, struct tb_server *w, bool on) {
  struct tc_context *ctx = tc_lua_context(L);
  if (ctx) ctx->watch = on ? &w->callgrind->watch : NULL;
}

static void add_instructions(lua_State *L, struct tb_server *w) {
  cJSON *counts = tb_callgrind_take(w->callgrind);
  if (!counts) luaL_error(L, "callgrind left no counts");
  cJSON_AddItemToObject(w->reply, "instructions", counts);
}

static void count_first(lua_State *L, struct tb_server *w) {
  need_callgrind(L, w);
  const struct tb_stretch stretch = counted_stretch(w);
  watch_stages(L, w, true);
  tb_workload_call(L, &w->workload, &stretch);
  watch_stages(L, w, false);
  add_instructions(L, w);
}

static void time_first(lua_State *L, struct tb_server *w) {
  const double opened_before = library_ns(L);
  cJSON_AddNumberToObject(w->reply, "ns", tb_workload_call(L, &w->workload, NULL));
  const double opening = library_ns(L) - opened_before;
  if (opening > 0) cJSON_AddNumberToObject(w->reply, "library_ns", opening);
}

static void do_first(lua_State *L, struct tb_server *w) {
  double before[N_EVIDENCE], after[N_EVIDENCE];
  need_workload(L, w);
  tb_serve_leave_seat(w);
  if (tb_json_bool(w->request, "reset", false)) tb_workload_reset(L, &w->workload);
  read_evidence(L, before);
  const bool counted = tb_json_bool(w->request, "count", false);
  if (counted) count_first(L, w);
  else time_first(L, w);
  read_evidence(L, after);
  cJSON *evidence = cJSON_AddObjectToObject(w->reply, "evidence");
  for (int i = 0; i < N_EVIDENCE; i++) cJSON_AddNumberToObject(evidence, evidence_rows[i].name, after[i] - before[i]);
  if (!counted) add_stats(L, w); /* its times would make the reply of another length in each run, and move the heap */
}

static void do_call(lua_State *L, struct tb_server *w) {
  need_workload(L, w);
  cJSON_AddNumberToObject(w->reply, "ns", tb_workload_call(L, &w->workload, NULL));
}

/* Times that a thread of this process lost its CPU to another one's, so far. */
static double preempted(void) {
  struct rusage usage;
  return getrusage(RUSAGE_SELF, &usage) ? NAN : (double)usage.ru_nivcsw;
}

static void do_block(lua_State *L, struct tb_server *w) {
  if (!w->probe) need_workload(L, w);
  take_seat(w);
  const double calls = tb_json_number(w->request, "calls", 0), warm = tb_json_number(w->request, "warm", 0);
  if (calls < 1 || warm < 0) luaL_error(failing(L, w, "usage"), "block needs calls of 1 or more and warm of 0 or more");
  const double before = preempted();
  const double ns = w->probe ? tb_probe_block(w->probe, (int64_t)warm, (int64_t)calls) : tb_workload_block(L, &w->workload, (int64_t)warm, (int64_t)calls, NULL);
  cJSON_AddNumberToObject(w->reply, "ns", ns);
  const double lost = preempted() - before;
  if (!isnan(lost)) cJSON_AddNumberToObject(w->reply, "preempted", lost);
}

static void do_check(lua_State *L, struct tb_server *w) {
  need_workload(L, w);
  const char *why;
  if (tb_json_bool(w->request, "send", false)) {
    struct tb_sender sender = {.fd = TB_FD_EXCHANGE};
    tb_workload_send(L, &w->workload, &sender);
  }
  struct tb_sender digest = {.fd = -1};
  tb_workload_send(L, &w->workload, &digest);
  char text[32];
  snprintf(text, sizeof text, "%016llx", (unsigned long long)digest.digest);
  cJSON_AddStringToObject(w->reply, "digest", text); /* as text: 64 bits do not fit a JSON number */
  cJSON_AddBoolToObject(w->reply, "good", tb_workload_check(L, &w->workload, &why));
  if (why) cJSON_AddStringToObject(w->reply, "why", why);
}

static void do_stats(lua_State *L, struct tb_server *w) {
  need_workload(L, w);
  add_stats(L, w);
}

static void add_count(cJSON *counters, const struct tb_count *count, double calls) {
  cJSON *item = cJSON_AddObjectToObject(counters, count->name);
  if (count->known) cJSON_AddNumberToObject(item, "value", count->value / calls);
  else cJSON_AddNullToObject(item, "value");
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
static struct tb_counting **push_counting(lua_State *L, struct tb_server *w) {
  struct tb_counting **counting = lua_newuserdatauv(L, sizeof *counting, 0);
  *counting = NULL;
  if (luaL_newmetatable(L, "tbench.counting")) {
    lua_pushcfunction(L, close_counting);
    lua_setfield(L, -2, "__gc");
  }
  lua_setmetatable(L, -2);
  *counting = tb_counting_open_named(tb_json_text(w->request, "names", ""));
  if (!*counting) luaL_error(failing(L, w, "oom"), "out of memory");
  return counting;
}

static void begin_counting(void *self) { tb_counting_begin(self); }
static void end_counting(void *self) { tb_counting_end(self); }

static void do_counters(lua_State *L, struct tb_server *w) {
  need_workload(L, w);
  take_seat(w);
  const double calls = tb_json_number(w->request, "calls", 0), warm = tb_json_number(w->request, "warm", 0);
  if (calls < 1 || warm < 0) luaL_error(failing(L, w, "usage"), "counters needs calls of 1 or more and warm of 0 or more");
  struct tb_count *counts = lua_newuserdatauv(L, sizeof *counts * (size_t)tb_counter_count(), 0);
  struct tb_counting **counting = push_counting(L, w);
  const struct tb_stretch stretch = {*counting, begin_counting, end_counting};
  tb_workload_block(L, &w->workload, (int64_t)warm, (int64_t)calls, &stretch);
  tb_counting_close(*counting, counts);
  *counting = NULL;
  const char *names = tb_json_text(w->request, "names", "");
  cJSON *json = cJSON_AddObjectToObject(w->reply, "counters");
  for (int i = 0; i < tb_counter_count(); i++)
    if (tb_name_listed(counts[i].name, names)) add_count(json, &counts[i], calls);
}

static void do_instructions(lua_State *L, struct tb_server *w) {
  need_workload(L, w);
  need_callgrind(L, w);
  const double calls = tb_json_number(w->request, "calls", 0), warm = tb_json_number(w->request, "warm", 0);
  if (calls < 1 || warm < 0) luaL_error(failing(L, w, "usage"), "instructions needs calls of 1 or more and warm of 0 or more");
  const struct tb_stretch stretch = counted_stretch(w);
  tb_workload_block(L, &w->workload, (int64_t)warm, (int64_t)calls, &stretch);
  add_instructions(L, w);
}

static void do_explain(lua_State *L, struct tb_server *w) {
  need_workload(L, w);
  if (w->workload.role != TB_ROLE_EXPLAINED) luaL_error(failing(L, w, "usage"), "explain needs the role explained");
  const char *text = tb_workload_explain(L, &w->workload);
  if (tb_json_bool(w->request, "table", false)) cJSON_AddItemToObject(w->reply, "explanation", tb_json_from_lua(L, -2));
  else cJSON_AddStringToObject(w->reply, "text", text);
}

static void do_machine(lua_State *L, struct tb_server *w) {
  const int threads = (int)tb_json_number(w->request, "threads", 1);
  cJSON_AddNumberToObject(w->reply, "triad_bytes_per_s", tb_triad_bytes_per_s(&w->cpus, threads));
  cJSON_AddNumberToObject(w->reply, "fma_flops_per_s", tb_fma_flops_per_s(&w->cpus, threads));
  const struct tc_context *ctx = tc_lua_context(L);
  struct tc_error err = {0};
  const char *blas = ctx ? tc_device_cpu_blas(ctx->device, &err) : NULL;
  cJSON_AddStringToObject(w->reply, "blas", blas ? blas : lua_pushfstring(L, "none: %s", err.message));
}

static void do_quit(lua_State *L, struct tb_server *w) {
  (void)L;
  w->leaving = true;
}

static void (*const handlers[TB_REQUEST_COUNT])(lua_State *, struct tb_server *) = {
#define TB_REQUEST(name, fields, reply) do_##name,
#include "harness/requests.def"
#undef TB_REQUEST
};
/* --- serving --- */

static int answer_protected(lua_State *L) {
  struct tb_server *w = lua_touserdata(L, 1);
  enum tb_request request;
  lua_settop(L, 0);
  const char *name = need_text(L, w, "op");
  if (!tb_request_parse(name, &request)) return luaL_error(failing(L, w, "usage"), "unknown request '%s'", name);
  handlers[request](L, w);
  return 0;
}

/* Puts the error at the stack top into a fresh reply. */
static void add_error(struct tb_server *w, int status) {
  cJSON_Delete(w->reply);
  w->reply = cJSON_CreateObject();
  cJSON_AddBoolToObject(w->reply, "ok", false);
  cJSON_AddItemToObject(w->reply, "error", tb_thrown_json(w->L, status, w->kind));
}

void tb_serve_failure(struct tb_server *w, int status) {
  add_error(w, status);
  tb_message_write(TB_FD_CONTROL, w->reply);
  cJSON_Delete(w->reply);
  w->reply = NULL;
}

static void answer(struct tb_server *w) {
  w->kind = NULL;
  w->reply = cJSON_CreateObject();
  cJSON_AddBoolToObject(w->reply, "ok", true);
  lua_settop(w->L, 0);
  lua_pushcfunction(w->L, tb_thrown_handler);
  lua_pushcfunction(w->L, answer_protected);
  lua_pushlightuserdata(w->L, w);
  const int status = lua_pcall(w->L, 1, 0, 1);
  if (status) add_error(w, status);
  fflush(stdout); /* what the suite wrote without an end of line belongs to this request */
}

void tb_serve(struct tb_server *w) {
  struct tc_strbuf inbox;
  tc_strbuf_init(&inbox, tc_alloc_system());
  for (cJSON *request; !w->leaving && (request = tb_message_read(TB_FD_CONTROL, &inbox)); cJSON_Delete(request)) {
    w->request = request;
    answer(w);
    const bool sent = tb_message_write(TB_FD_CONTROL, w->reply);
    cJSON_Delete(w->reply);
    w->reply = NULL;
    if (!sent) w->leaving = true;
  }
  tc_strbuf_free(&inbox);
}
