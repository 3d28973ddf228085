/* The server in a worker process. Invariants:
 * 1. Each request gets exactly one reply, also when Lua raises or runs out of memory.
 * 2. Nothing but replies goes to the control socket, and no program that a suite starts has it; what a suite prints goes to
 *    standard output.
 * 3. The worker never outlives the harness: it dies with it (PR_SET_PDEATHSIG), and the end of the socket ends it.
 * To add a request: a row in requests.def and a function do_NAME here. */
#include "harness/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <lualib.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "harness/args.h"
#include "harness/build.h"
#include "harness/clock.h"
#include "harness/counters.h"
#include "harness/description.h"
#include "harness/exitcode.h"
#include "harness/luacall.h"
#include "harness/luajson.h"
#include "harness/protocol.h"
#include "harness/thrown.h"
#include "harness/topology.h"
#include "harness/triad.h"
#include "harness/workload.h"
#include "tcompile.h"

enum { MIB = 1 << 20 };

struct worker {
  lua_State *L;
  struct tb_workload workload;
  bool prepared, leaving;
  const cJSON *request; /* of the one that is being answered */
  cJSON *reply;
  const char *kind;     /* of the error that the worker itself raised, else NULL */
  cpu_set_t cpus; /* of the case */
  cpu_set_t seat; /* where OpenMP put this thread before main: its place in the team */
};

/* --- requests; each runs under lua_pcall and adds to w->reply --- */

/* To be followed by luaL_error at once. */
static lua_State *failing(lua_State *L, struct worker *w, const char *kind) {
  w->kind = kind;
  return L;
}

static void need_workload(lua_State *L, struct worker *w) {
  if (!w->prepared) luaL_error(failing(L, w, "usage"), "prepare comes first");
}

static const char *need_text(lua_State *L, struct worker *w, const char *field) {
  const char *text = tb_json_text(w->request, field, NULL);
  if (!text) luaL_error(failing(L, w, "usage"), "the request lacks '%s'", field);
  return text;
}

static void do_describe(lua_State *L, struct worker *w) {
  const char *path = need_text(L, w, "suite");
  tb_description_load(L, path);
  cJSON_AddItemToObject(w->reply, "description", tb_description_json(L, -1, path));
}

static void do_prepare(lua_State *L, struct worker *w) {
  enum tb_role role;
  if (!tb_role_parse(need_text(L, w, "role"), &role)) luaL_error(failing(L, w, "usage"), "unknown role");
  const cJSON *kase = cJSON_GetObjectItemCaseSensitive(w->request, "case");
  if (!cJSON_IsObject(kase)) luaL_error(failing(L, w, "usage"), "the request lacks 'case'");
  const char *device = tb_json_text(kase, "device", "cpu");
  if (strcmp(device, "cpu")) luaL_error(failing(L, w, "unsupported"), "device '%s' is not built", device);
  tb_description_load(L, need_text(L, w, "suite"));
  const char *backend = tb_json_text(w->request, "backend", "inductor"), *mode = tb_json_text(w->request, "mode", "default");
  tb_workload_make(L, lua_gettop(L), need_text(L, w, "workload"), kase, role, backend, mode, &w->workload);
  w->prepared = true;
  if (w->workload.generated) cJSON_AddNumberToObject(w->reply, "calls_max", TB_GENERATED_MAX);
  if (w->workload.tolerance > 0) cJSON_AddNumberToObject(w->reply, "tolerance", w->workload.tolerance);
}

static void add_stats(lua_State *L, struct worker *w) {
  if (w->workload.role != TB_ROLE_COMPILED) return;
  lua_rawgeti(L, LUA_REGISTRYINDEX, w->workload.fn);
  tb_lua_call_function(L, "stats", 1, 1);
  cJSON_AddItemToObject(w->reply, "stats", tb_json_from_lua(L, -1));
  lua_pop(L, 1);
}

/* Threads that a compile starts inherit this thread's CPUs: it has all of the case's while it may compile, and its own place in
 * the team while calls are timed. Where the system refuses, the harness knows it by its own binding. */
static void leave_seat(const struct worker *w) { (void)sched_setaffinity(0, sizeof w->cpus, &w->cpus); }
static void take_seat(const struct worker *w) { (void)sched_setaffinity(0, sizeof w->seat, &w->seat); }

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

static void do_first(lua_State *L, struct worker *w) {
  double before[N_EVIDENCE], after[N_EVIDENCE];
  need_workload(L, w);
  leave_seat(w);
  if (tb_json_bool(w->request, "reset", false)) tb_workload_reset(L, &w->workload);
  read_evidence(L, before);
  cJSON_AddNumberToObject(w->reply, "ns", tb_workload_call(L, &w->workload));
  read_evidence(L, after);
  cJSON *evidence = cJSON_AddObjectToObject(w->reply, "evidence");
  for (int i = 0; i < N_EVIDENCE; i++) cJSON_AddNumberToObject(evidence, evidence_rows[i].name, after[i] - before[i]);
  add_stats(L, w);
}

static void do_call(lua_State *L, struct worker *w) {
  need_workload(L, w);
  cJSON_AddNumberToObject(w->reply, "ns", tb_workload_call(L, &w->workload));
}

static void do_block(lua_State *L, struct worker *w) {
  need_workload(L, w);
  take_seat(w);
  const double calls = tb_json_number(w->request, "calls", 0), warm = tb_json_number(w->request, "warm", 0);
  if (calls < 1 || warm < 0) luaL_error(failing(L, w, "usage"), "block needs calls of 1 or more and warm of 0 or more");
  cJSON_AddNumberToObject(w->reply, "ns", tb_workload_block(L, &w->workload, (int64_t)warm, (int64_t)calls));
}

static void do_check(lua_State *L, struct worker *w) {
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

static void do_stats(lua_State *L, struct worker *w) {
  need_workload(L, w);
  add_stats(L, w);
}

static void add_count(cJSON *counters, const struct tb_count *count, double calls) {
  cJSON *item = cJSON_AddObjectToObject(counters, count->name);
  if (count->known) cJSON_AddNumberToObject(item, "value", count->value / calls);
  else cJSON_AddNullToObject(item, "value");
  if (!count->known) cJSON_AddStringToObject(item, "why", count->why);
}

static void do_counters(lua_State *L, struct worker *w) {
  need_workload(L, w);
  const double calls = tb_json_number(w->request, "calls", 1);
  struct tb_count *counts = lua_newuserdatauv(L, sizeof *counts * (size_t)tb_counter_count(), 0);
  memset(counts, 0, sizeof *counts * (size_t)tb_counter_count());
  struct tb_counting *counting = tb_counting_start();
  if (!counting) luaL_error(failing(L, w, "oom"), "out of memory");
  tb_workload_block(L, &w->workload, 0, calls < 1 ? 1 : (int64_t)calls);
  tb_counting_stop(counting, counts);
  cJSON *json = cJSON_AddObjectToObject(w->reply, "counters");
  for (int i = 0; i < tb_counter_count(); i++) add_count(json, &counts[i], calls);
}

static void do_explain(lua_State *L, struct worker *w) {
  need_workload(L, w);
  if (w->workload.role != TB_ROLE_EXPLAINED) luaL_error(failing(L, w, "usage"), "explain needs the role explained");
  cJSON_AddStringToObject(w->reply, "text", tb_workload_explain(L, &w->workload));
}

static void do_machine(lua_State *L, struct worker *w) {
  const int threads = (int)tb_json_number(w->request, "threads", 1);
  cJSON_AddNumberToObject(w->reply, "triad_bytes_per_s", tb_triad_bytes_per_s(&w->cpus, threads));
  cJSON_AddNumberToObject(w->reply, "fma_flops_per_s", tb_fma_flops_per_s(&w->cpus, threads));
  const struct tc_context *ctx = tc_lua_context(L);
  struct tc_error err = {0};
  const char *blas = ctx ? tc_device_cpu_blas(ctx->device, &err) : NULL;
  cJSON_AddStringToObject(w->reply, "blas", blas ? blas : lua_pushfstring(L, "none: %s", err.message));
}

static void do_quit(lua_State *L, struct worker *w) {
  (void)L;
  w->leaving = true;
}

static void (*const handlers[TB_REQUEST_COUNT])(lua_State *, struct worker *) = {
#define TB_REQUEST(name, fields, reply) do_##name,
#include "harness/requests.def"
#undef TB_REQUEST
};

/* --- serving --- */

static int answer_protected(lua_State *L) {
  struct worker *w = lua_touserdata(L, 1);
  enum tb_request request;
  lua_settop(L, 0);
  const char *name = need_text(L, w, "op");
  if (!tb_request_parse(name, &request)) return luaL_error(failing(L, w, "usage"), "unknown request '%s'", name);
  handlers[request](L, w);
  return 0;
}

/* Puts the error at the stack top into a fresh reply. */
static void add_error(struct worker *w, int status) {
  cJSON_Delete(w->reply);
  w->reply = cJSON_CreateObject();
  cJSON_AddBoolToObject(w->reply, "ok", false);
  cJSON_AddItemToObject(w->reply, "error", tb_thrown_json(w->L, status, w->kind));
}

static void answer(struct worker *w) {
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

static void serve(struct worker *w) {
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

static void say_hello(void) {
  cJSON *message = cJSON_CreateObject();
  cJSON_AddBoolToObject(message, "ok", true);
  cJSON *hello = cJSON_AddObjectToObject(message, "hello");
  cJSON_AddStringToObject(hello, "version", PACKAGE_VERSION);
  cJSON_AddNumberToObject(hello, "artifact_abi", TC_ARTIFACT_ABI);
  cJSON_AddNumberToObject(hello, "pid", (double)getpid());
  cJSON_AddNumberToObject(hello, "ready_ns", (double)tb_now_ns());
  tb_message_write(TB_FD_CONTROL, message);
  cJSON_Delete(message);
}

/* --- starting --- */

static bool no_flags(const char *name) {
  (void)name;
  return false;
}

struct settings { struct tc_config config; long long threads, memory_mb; const char *cpus; struct tc_arena *arena; /* of the texts; lives as long as the process */ };

static tc_status read_settings(const struct tb_args *args, struct settings *out, struct tc_error *err) {
  *out = (struct settings){.threads = 0};
  tc_config_default(&out->config);
  for (size_t i = 0; i < args->named.len; i++) {
    const struct tb_arg *arg = &args->named.data[i];
    if (!strcmp(arg->name, "cpus")) {
      out->cpus = arg->value;
      continue;
    }
    long long *whole = !strcmp(arg->name, "threads") ? &out->threads : !strcmp(arg->name, "memory_mb") ? &out->memory_mb : NULL;
    if (whole && !tb_whole_parse(arg->value, whole)) return tc_fail(err, TC_ARG, "worker", "%s=%s: use a whole number", arg->name, arg->value);
    const tc_status status = whole ? TC_OK : tc_config_set(&out->config, arg->name, arg->value, err);
    if (status) return status;
  }
  return TC_OK;
}

static void limit_resources(long long memory_mb) {
  const struct rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  if (memory_mb > 0) {
    const struct rlimit memory = {(rlim_t)memory_mb * MIB, (rlim_t)memory_mb * MIB};
    setrlimit(RLIMIT_DATA, &memory);
  }
  FILE *score = fopen("/proc/self/oom_score_adj", "w"); /* the system shall take the worker, not its neighbours */
  if (score) {
    fputs("1000", score);
    fclose(score);
  }
}

static int open_protected(lua_State *L) {
  luaL_openlibs(L);
  luaL_requiref(L, "tbench", luaopen_tbench, 0);
  return 0;
}

/* Says why the module could not be opened, in place of hello. */
static void say_failure(struct worker *w, int status) {
  add_error(w, status);
  tb_message_write(TB_FD_CONTROL, w->reply);
  cJSON_Delete(w->reply);
}

static int run_worker(const struct settings *settings) {
  struct worker w = {.L = luaL_newstate()};
  if (!w.L) return TB_EXIT_FAILED;
  sched_getaffinity(0, sizeof w.seat, &w.seat);
  if (!settings->cpus || !tb_cpus_parse(settings->cpus, &w.cpus)) w.cpus = w.seat;
  leave_seat(&w);
  tc_lua_configure(w.L, &settings->config, (int)settings->threads);
  lua_pushcfunction(w.L, open_protected);
  const int status = lua_pcall(w.L, 0, 0, 0);
  if (status) {
    say_failure(&w, status);
  } else {
    say_hello();
    serve(&w);
  }
  /* The state is not closed: the system takes the memory back faster than the collector could. */
  fflush(NULL);
  _exit(status ? TB_EXIT_USAGE : TB_EXIT_PASS);
}

int tb_verb_worker(int argc, char *const *argv) {
  struct tc_error err = {0};
  struct tb_args args;
  struct settings settings;
  if (fcntl(TB_FD_CONTROL, F_GETFD) < 0 || fcntl(TB_FD_EXCHANGE, F_GETFD) < 0) {
    fputs("tbench worker: started by tbench itself, never by hand (see harness/protocol.h)\n", stderr);
    return TB_EXIT_USAGE;
  }
  fcntl(TB_FD_CONTROL, F_SETFD, FD_CLOEXEC); /* a program that a suite starts must not hold the harness' ends open */
  fcntl(TB_FD_EXCHANGE, F_SETFD, FD_CLOEXEC);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_NAME, "tbench-worker"); /* not the name of the link that it was started through */
  signal(SIGPIPE, SIG_IGN);
  setvbuf(stdout, NULL, _IOLBF, 0);
  struct tc_arena *arena = tc_arena_new(tc_alloc_system());
  if (!arena || tb_args_parse(arena, argc, argv, no_flags, &args, &err) || read_settings(&args, &settings, &err)) {
    fprintf(stderr, "tbench worker: %s\n", arena ? err.message : "out of memory");
    return TB_EXIT_USAGE;
  }
  settings.arena = arena;
  limit_resources(settings.memory_mb);
  return run_worker(&settings);
}
