/* Workers on this host. Invariants:
 * 1. A worker leads its own process group: Ctrl-C reaches the harness alone, and the end of a worker, however
 *    it comes, is the end of all that it started. The group is killed while the dead leader still holds its
 *    number.
 * 2. The CPU set is the parent's at the moment of the fork, so that it holds before the worker's first
 *    instruction; the parent takes its own back at once. */
#include "harness/wire/transport.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/args.h"
#include "harness/base/clock.h"
#include "harness/wire/protocol.h"

/* Words of a worker's command line: what runs (a peer's has three words), each switch, each plug-in, threads,
 * cpus, cache_dir, callgrind, memory_mb; and NULL. */
enum {
  SWITCHES = 0
#define TC_CONFIG(field, name, type, dflt, key, acts, takes, help) +1
#include "base/config.def"
#undef TC_CONFIG
  ,
  LAUNCH_WORDS = 3 + SWITCHES + TB_PLUGINS_MAX + 5 + 1
};

/* How long idle OpenMP threads spin: long enough between two kernels, gone before the other worker's turn. */
static const char spin_settings[] = "GOMP_SPINCOUNT=20000";

/* Python writes nothing beside the adapters. */
static const char leave_no_bytecode[] = "-B";

struct words {
  const char *items[LAUNCH_WORDS];
  int count;
};

static bool add_word(struct words *words, const char *text) {
  if (!text || words->count + 1 >= LAUNCH_WORDS) return false;
  words->items[words->count++] = text;
  words->items[words->count] = NULL;
  return true;
}

static bool add_switches(struct tc_arena *arena, const struct tb_launch *launch, struct words *words) {
  for (int i = 0; i < tc_config_count(); i++) {
    const char *name = tc_config_row(i)->name;
    const bool replaced = launch->cache_dir && !strcmp(name, "cache_dir");
    if (replaced || tc_config_is_default(launch->config, i)) continue;
    struct tc_strbuf text;
    tc_strbuf_init(&text, tc_arena_alloc(arena));
    tc_config_get(launch->config, i, &text);
    if (!add_word(words, tb_format(arena, "%s=%s", name, tc_strbuf_text(&text)))) return false;
  }
  return true;
}

static bool make_arguments(struct tc_arena *arena, const struct tb_launch *launch, struct words *words) {
  bool good = launch->script ? add_word(words, launch->program) && add_word(words, leave_no_bytecode) &&
                                   add_word(words, launch->script)
                             : add_word(words, "tbench") && add_word(words, "worker") &&
                                   add_switches(arena, launch, words);
  if (launch->place) good = good && add_word(words, tb_format(arena, "threads=%d", launch->place->threads));
  if (launch->place && launch->place->binds)
    good = good && add_word(words, tb_format(arena, "cpus=%s", launch->place->cpus));
  if (launch->cache_dir) good = good && add_word(words, tb_format(arena, "cache_dir=%s", launch->cache_dir));
  if (launch->cache_dir && !launch->script)
    good = good && add_word(words, "share_choices=on"); /* one choice for all processes of a case */
  if (launch->callgrind) good = good && add_word(words, tb_format(arena, "callgrind=%s", launch->callgrind));
  if (launch->memory_mb)
    good = good && add_word(words, tb_format(arena, "memory_mb=%lld", launch->memory_mb));
  for (int i = 0; launch->plugins && !launch->script && i < launch->plugins->count; i++)
    good = good && add_word(words, tb_plugin_word(arena, &launch->plugins->items[i]));
  return good;
}

/* The harness' environment without what would change the worker, and with the settings of its thread pool. */
static const char **make_environment(struct tc_arena *arena, const struct tb_launch *launch) {
  static const char *const dropped[] = {"TB_",  "OMP_",        "GOMP_",        "OPENBLAS_",
                                        "KMP_", "PYTHONPATH=", "TBENCH_TOKEN=" /* for tbench push alone */};
  enum { ADDED = 8 };
  size_t count = 0;
  while (environ[count]) count++;
  const char **out = tc_arena_bytes(arena, sizeof *out * (count + ADDED));
  if (!out) return NULL;
  size_t n = 0;
  const bool spin_given = getenv("GOMP_SPINCOUNT") != NULL;
  for (size_t i = 0; i < count; i++) {
    bool drop = false;
    for (size_t d = 0; d < sizeof dropped / sizeof *dropped; d++)
      drop |= !strncmp(environ[i], dropped[d], strlen(dropped[d]));
    if (!drop || !strncmp(environ[i], "GOMP_SPINCOUNT=", strlen("GOMP_SPINCOUNT="))) out[n++] = environ[i];
  }
  if (!spin_given) out[n++] = spin_settings;
  const char *modules = getenv("PYTHONPATH");
  if (launch->library)
    out[n++] =
        tb_format(arena, "PYTHONPATH=%s%s%s", launch->library, modules ? ":" : "", modules ? modules : "");
  out[n++] = "OMP_DYNAMIC=false";
  out[n++] = "KMP_BLOCKTIME=1";
  if (launch->place) out[n++] = tb_format(arena, "OMP_NUM_THREADS=%d", launch->place->threads);
  if (launch->place && launch->place->binds) {
    out[n++] = "OMP_PROC_BIND=close";
    out[n++] = tb_format(arena, "OMP_PLACES=%s", launch->place->threads_places);
  }
  out[n] = NULL;
  return out;
}

struct ends {
  int control[2], exchange[2], text[2];
};

static void close_all(const struct ends *ends) {
  const int fds[] = {ends->control[0],  ends->control[1], ends->exchange[0],
                     ends->exchange[1], ends->text[0],    ends->text[1]};
  for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
    if (fds[i] >= 0) close(fds[i]);
}

/* All of them above the numbers that the child gives them, so that no dup2 overwrites another's source. */
static bool open_ends(struct ends *ends) {
  *ends = (struct ends){{-1, -1}, {-1, -1}, {-1, -1}};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends->control) || pipe2(ends->exchange, O_CLOEXEC) ||
      pipe2(ends->text, O_CLOEXEC))
    return false;
  int *const childs[] = {&ends->control[1], &ends->exchange[1], &ends->text[1]};
  for (size_t i = 0; i < sizeof childs / sizeof *childs; i++) {
    const int moved = fcntl(*childs[i], F_DUPFD_CLOEXEC, TB_FD_EXCHANGE + 1);
    if (moved < 0) return false;
    close(*childs[i]);
    *childs[i] = moved;
  }
  return true;
}

static int spawn(struct tb_link *link, const char *program, const struct ends *ends, const sigset_t *mask,
                 const struct words *words, const char **environment) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends->text[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends->text[1], STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends->control[1], TB_FD_CONTROL);
  posix_spawn_file_actions_adddup2(&actions, ends->exchange[1], TB_FD_EXCHANGE);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | (mask ? POSIX_SPAWN_SETSIGMASK : 0));
  posix_spawnattr_setpgroup(&attributes, 0);
  if (mask) posix_spawnattr_setsigmask(&attributes, mask);
  const int status = posix_spawnp(&link->pid, program, &actions, &attributes, (char *const *)words->items,
                                  (char *const *)environment);
  if (status) link->pid = 0;
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return status;
}

/* spawn() with the parent bound as the child is to be. */
static int spawn_bound(struct tb_link *link, const struct tb_launch *launch, const struct ends *ends,
                       const sigset_t *mask, const struct words *words, const char **environment) {
  cpu_set_t own, wanted;
  const bool binds = launch->place && launch->place->binds && tb_cpus_parse(launch->place->cpus, &wanted) &&
                     !sched_getaffinity(0, sizeof own, &own);
  link->bound = binds && !sched_setaffinity(0, sizeof wanted, &wanted);
  const bool memory = link->bound && tb_topology_bind_memory(launch->topology, launch->place->cpus);
  const int status =
      spawn(link, launch->program ? launch->program : launch->own, ends, mask, words, environment);
  if (memory) tb_topology_bind_memory(launch->topology, NULL);
  if (link->bound) sched_setaffinity(0, sizeof own, &own);
  return status;
}

/* The system's count of processes that it killed for memory; -1: it does not say. */
static long long memory_kills(void) {
  FILE *in = fopen("/proc/vmstat", "re");
  char name[64];
  long long value, kills = -1;
  while (in && fscanf(in, "%63s %lld", name, &value) == 2)
    if (!strcmp(name, "oom_kill")) kills = value;
  if (in) fclose(in);
  return kills;
}

static tc_status start(const struct tb_transport *transport, const struct tb_launch *launch,
                       const sigset_t *mask, struct tb_link *link, struct tc_error *err) {
  *link = tb_link_none();
  link->transport = transport;
  link->memory_kills = memory_kills();
  struct ends ends = {{-1, -1}, {-1, -1}, {-1, -1}};
  struct words words = {.count = 0};
  tc_status status = TC_OK;
  struct tc_arena *arena = tc_arena_new(tc_alloc_system());
  const char **environment = arena ? make_environment(arena, launch) : NULL;
  if (!environment || !make_arguments(arena, launch, &words)) {
    status = tc_fail_memory(err, "worker");
    goto done;
  }
  if (!open_ends(&ends)) {
    status = tc_fail(err, TC_IO, "worker", "%s", strerror(errno));
    close_all(&ends);
    goto done;
  }
  link->started_ns = tb_now_ns();
  const int failure = spawn_bound(link, launch, &ends, mask, &words, environment);
  close(ends.control[1]);
  close(ends.exchange[1]);
  close(ends.text[1]);
  link->control = ends.control[0];
  link->exchange = ends.exchange[0];
  link->text = ends.text[0];
  fcntl(link->exchange, F_SETFL, O_NONBLOCK);
  fcntl(link->text, F_SETFL, O_NONBLOCK);
  if (failure) {
    tb_link_close(link);
    status = tc_fail(err, TC_IO, "worker", "%s", strerror(failure));
  }
done:
  tc_arena_free(arena);
  return status;
}

/* --- ending --- */

static int kill_and_reap(struct tb_link *link) {
  int status = 0;
  kill(-link->pid, SIGKILL); /* also a helper that it left behind, or itself if it only closed the socket */
  while (waitpid(link->pid, &status, 0) < 0 && errno == EINTR) {}
  link->pid = 0;
  return status;
}

static void kill_link(struct tb_link *link) {
  if (link->pid) kill_and_reap(link);
}

static struct tb_end bury(struct tb_link *link) {
  const int status = kill_and_reap(link);
  if (!WIFSIGNALED(status)) return (struct tb_end){TB_END_LEFT, WEXITSTATUS(status)};
  const bool memory = WTERMSIG(status) == SIGKILL && memory_kills() != link->memory_kills;
  return (struct tb_end){memory ? TB_END_MEMORY : TB_END_SIGNAL, WTERMSIG(status)};
}

static bool has_left(const struct tb_link *link) {
  siginfo_t info = {0};
  return !waitid(P_PID, (id_t)link->pid, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid == link->pid;
}

/* --- the host --- */

static tc_status host(const struct tb_transport *transport, struct tb_topology *topology,
                      struct tc_arena *arena, struct tb_host *out, struct tc_error *err) {
  (void)transport;
  return tb_host_read(arena, topology, out) ? TC_OK : tc_fail_memory(err, "host");
}

/* --- files --- */

static tc_status file(const struct tb_transport *transport, struct tc_arena *arena, const char *path,
                      const char **name, struct tc_error *err) {
  (void)transport, (void)arena, (void)err;
  *name = path;
  return TC_OK;
}

const struct tb_transport *tb_transport_local(void) {
  static const struct tb_transport_kind kind = {.name = "local",
                                                .start = start,
                                                .kill = kill_link,
                                                .bury = bury,
                                                .has_left = has_left,
                                                .host = host,
                                                .file = file};
  static const struct tb_transport local = {&kind, NULL};
  return &local;
}
