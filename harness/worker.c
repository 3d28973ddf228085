/* The start of a worker process. Invariants:
 * 1. Nothing but replies goes to the control socket, and no program that a suite starts has it; what a suite prints goes to
 *    standard output.
 * 2. The worker never outlives the harness: it dies with it (PR_SET_PDEATHSIG), and the end of the socket ends it. */
#include "harness/worker.h"

#include <fcntl.h>
#include <lauxlib.h>
#include <lualib.h>
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
#include "harness/exitcode.h"
#include "harness/protocol.h"
#include "harness/serve.h"
#include "harness/topology.h"
#include "tcompile.h"

enum { MIB = 1 << 20 };

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

static int run_worker(const struct settings *settings) {
  struct tb_server w = {.L = luaL_newstate()};
  if (!w.L) return TB_EXIT_FAILED;
  sched_getaffinity(0, sizeof w.seat, &w.seat);
  if (!settings->cpus || !tb_cpus_parse(settings->cpus, &w.cpus)) w.cpus = w.seat;
  tb_serve_leave_seat(&w);
  tc_lua_configure(w.L, &settings->config, (int)settings->threads);
  lua_pushcfunction(w.L, open_protected);
  const int status = lua_pcall(w.L, 0, 0, 0);
  if (status) {
    tb_serve_failure(&w, status);
  } else {
    say_hello();
    tb_serve(&w);
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
