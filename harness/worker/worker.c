/* The start of a worker process. Invariants:
 * 1. Nothing but replies goes to the control socket, and no program that a suite starts has it; what a suite
 *    prints goes to standard output.
 * 2. The worker never outlives the harness: it dies with it (PR_SET_PDEATHSIG), and the end of the socket
 *    ends it. */
#include "harness/worker/worker.h"

#include <fcntl.h>
#include <inttypes.h>
#include <lauxlib.h>
#include <lualib.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "harness/base/args.h"
#include "harness/base/build.h"
#include "harness/base/clock.h"
#include "harness/machine/topology.h"
#include "harness/wire/plugins.h"
#include "harness/wire/protocol.h"
#include "harness/worker/luacall.h"
#include "harness/worker/serve.h"
#include "results/exitcode.h"
#include "tcompile.h"

enum { MIB = 1 << 20 };

/* What differs between runs is not said where instructions are counted: its digits would move the heap. */
static void say_hello(const struct tc_context *ctx, bool counted) {
  char generators[TB_GENERATOR_TEXT];
  cJSON *message = cJSON_CreateObject();
  cJSON_AddBoolToObject(message, "ok", true);
  cJSON *hello = cJSON_AddObjectToObject(message, "hello");
  cJSON_AddNumberToObject(hello, "protocol", TB_PROTOCOL);
  cJSON_AddStringToObject(hello, "version", PACKAGE_VERSION);
  cJSON_AddNumberToObject(hello, "artifact_abi", TC_ARTIFACT_ABI);
  snprintf(generators, sizeof generators, "%016" PRIx64, ctx ? tc_generators(ctx) : 0);
  cJSON_AddStringToObject(hello, "generators", generators);
  cJSON_AddNumberToObject(hello, "pid", counted ? 0 : (double)getpid());
  cJSON_AddNumberToObject(hello, "ready_ns", counted ? 0 : (double)tb_now_ns());
  tb_message_write(TB_FD_CONTROL, message);
  cJSON_Delete(message);
}

static bool no_flags(const void *names, const char *name, const char *next) {
  (void)names, (void)name, (void)next;
  return false;
}

struct settings {
  struct tc_config config;
  long long threads, memory_mb;
  const char *cpus, *callgrind; /* in the arena */
  struct tb_plugins plugins;
  struct tc_arena *arena; /* lives as long as the process */
};

static tc_status read_settings(const struct tb_args *args, struct settings *out, struct tc_error *err) {
  *out = (struct settings){.threads = 0};
  tc_config_default(&out->config);
  for (size_t i = 0; i < args->named.len; i++) {
    const struct tb_arg *arg = &args->named.data[i];
    bool taken;
    const tc_status plugin = tb_plugin_take(arg->name, arg->value, &out->plugins, &taken, err);
    if (plugin) return plugin;
    if (taken) continue;
    const char **text = !strcmp(arg->name, "cpus")        ? &out->cpus
                        : !strcmp(arg->name, "callgrind") ? &out->callgrind
                                                          : NULL;
    if (text) {
      *text = arg->value;
      continue;
    }
    long long *whole = !strcmp(arg->name, "threads")     ? &out->threads
                       : !strcmp(arg->name, "memory_mb") ? &out->memory_mb
                                                         : NULL;
    if (whole && !tb_whole_parse(arg->value, whole))
      return tc_fail(err, TC_ARG, "worker", "%s=%s: use a whole number", arg->name, arg->value);
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
  FILE *score =
      fopen("/proc/self/oom_score_adj", "w"); /* the system shall take the worker, not its neighbours */
  if (score) {
    fputs("1000", score);
    fclose(score);
  }
}

static void register_plugins(lua_State *L, const struct tb_plugins *plugins) {
  for (int i = 0; i < plugins->count; i++) {
    lua_pushstring(L, plugins->items[i].name);
    lua_pushstring(L, plugins->items[i].path);
    tb_lua_call_function(L, "register_backend", 2, 0);
  }
}

/* Opening modules and registering plug-ins may raise. */
static int open_protected(lua_State *L) {
  const struct tb_plugins *plugins = lua_touserdata(L, 1);
  luaL_openlibs(L);
  luaL_requiref(L, "tbench", luaopen_tbench, 0);
  register_plugins(L, plugins);
  return 0;
}

static int run_worker(const struct settings *settings) {
  struct tb_serving w = {.L = luaL_newstate()};
  if (!w.L) return TB_EXIT_FAILED;
  sched_getaffinity(0, sizeof w.own_cpus, &w.own_cpus);
  if (!settings->cpus || !tb_cpus_parse(settings->cpus, &w.cpus)) w.cpus = w.own_cpus;
  tb_serve_use_case_cpus(&w);
  struct tb_callgrind callgrind;
  if (settings->callgrind) {
    tb_callgrind_open(&callgrind, settings->callgrind);
    w.callgrind = &callgrind;
  }
  tc_lua_configure(w.L, &settings->config, (int)settings->threads);
  lua_pushcfunction(w.L, open_protected);
  lua_pushlightuserdata(w.L, (void *)(uintptr_t)&settings->plugins);
  const int status = lua_pcall(w.L, 1, 0, 0);
  if (status) {
    tb_serve_failure(&w, status);
  } else {
    say_hello(tc_lua_context(w.L), settings->callgrind);
    tb_serve(&w);
  }
  /* The state is not closed: the system takes the memory back faster than the collector could. */
  fflush(NULL);
  _exit(status ? TB_EXIT_USAGE : TB_EXIT_PASS);
}

/* With callgrind=FOLDER this program goes on under valgrind; where it cannot, that is said in place of the
 * hello. */
static void enter_callgrind(int argc, char *const *argv) {
  static const char option[] = "callgrind=";
  const char *folder = NULL;
  char why[TB_CALLGRIND_WHY];
  for (int i = 0; i < argc; i++)
    if (!strncmp(argv[i], option, strlen(option))) folder = argv[i] + strlen(option);
  if (!folder) return;
  tb_callgrind_enter(folder, argc, argv, why);
  cJSON *message = cJSON_CreateObject(), *error = cJSON_CreateObject();
  cJSON_AddBoolToObject(message, "ok", false);
  cJSON_AddStringToObject(error, "kind", "unsupported");
  cJSON_AddStringToObject(error, "text", why);
  cJSON_AddItemToObject(message, "error", error);
  tb_message_write(TB_FD_CONTROL, message);
  _exit(TB_EXIT_USAGE);
}

int tb_verb_worker(int argc, char *const *argv) {
  struct tc_error err = {0};
  struct tb_args args;
  struct settings settings;
  if (fcntl(TB_FD_CONTROL, F_GETFD) < 0 || fcntl(TB_FD_EXCHANGE, F_GETFD) < 0) {
    fputs("tbench worker: only tbench itself starts this (see harness/wire/protocol.h)\n", stderr);
    return TB_EXIT_USAGE;
  }
  if (!tb_callgrind_inside()) enter_callgrind(argc, argv);
  fcntl(TB_FD_CONTROL, F_SETFD,
        FD_CLOEXEC); /* a program that a suite starts must not hold the harness' ends open */
  fcntl(TB_FD_EXCHANGE, F_SETFD, FD_CLOEXEC);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_NAME, "tbench-worker"); /* not the name of the link that it was started through */
  signal(SIGPIPE, SIG_IGN);
  setvbuf(stdout, NULL, _IOLBF, 0);
  struct tc_arena *arena = tc_arena_new(tc_alloc_system());
  if (!arena || tb_args_parse(arena, argc, argv, no_flags, NULL, &args, &err) ||
      read_settings(&args, &settings, &err)) {
    fprintf(stderr, "tbench worker: %s\n", arena ? err.message : "out of memory");
    return TB_EXIT_USAGE;
  }
  settings.arena = arena;
  limit_resources(settings.memory_mb);
  return run_worker(&settings);
}
