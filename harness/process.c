/* Starting and asking workers. Invariants:
 * 1. A worker is the leader of its own process group: Ctrl-C reaches the harness alone, and a kill reaches all that
 *    the worker started.
 * 2. Every wait has an end: the reply, the worker's death, the time limit, or the user.
 * 3. The CPU set is the parent's at the moment of the fork, so that it holds before the worker's first instruction;
 *    the parent takes its own back at once. */
#include "harness/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "harness/args.h"
#include "harness/clock.h"

enum { STOP_GRACE_MS = 300, INTERRUPT_GRACE_S = 5, LAUNCH_WORDS = 64, READ_BYTES = 8192 };

/* How long idle OpenMP threads spin: long enough between two kernels, gone before the other worker's turn. */
static const char spin_settings[] = "GOMP_SPINCOUNT=20000";

const char *tb_program_path(void) { return "/proc/self/exe"; }

/* --- failing --- */

static tc_status fail_process(struct tb_process *p, enum tb_outcome outcome, struct tc_error *err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static tc_status fail_process(struct tb_process *p, enum tb_outcome outcome, struct tc_error *err, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(p->why, sizeof p->why, format, args);
  va_end(args);
  p->outcome = outcome;
  return tc_fail(err, TC_IO, "worker", "%s: %s", tb_outcome_text(outcome), p->why);
}

static void reap(struct tb_process *p, int *status) {
  while (waitpid(p->pid, status, 0) < 0 && errno == EINTR) {}
  p->pid = 0;
}

static void kill_process(struct tb_process *p) {
  if (!p->pid) return;
  int status;
  kill(-p->pid, SIGKILL);
  reap(p, &status);
}

/* Last line that the worker printed, for an error line. */
static const char *last_words(struct tb_process *p) {
  while (p->tail_bytes && p->tail[p->tail_bytes - 1] == '\n') p->tail_bytes--;
  p->tail[p->tail_bytes] = '\0';
  const char *line = strrchr(p->tail, '\n');
  return line ? line + 1 : p->tail;
}

static void take_text(struct tb_process *p) {
  char chunk[READ_BYTES];
  for (;;) {
    const ssize_t got = read(p->text, chunk, sizeof chunk);
    if (got <= 0) return;
    if (p->echo) (void)!write(STDERR_FILENO, chunk, (size_t)got);
    for (ssize_t i = 0; i < got; i++) {
      if (p->tail_bytes + 1 >= sizeof p->tail) { /* keep the newer half */
        memmove(p->tail, p->tail + sizeof p->tail / 2, sizeof p->tail / 2);
        p->tail_bytes -= sizeof p->tail / 2;
      }
      p->tail[p->tail_bytes++] = chunk[i];
    }
  }
}

/* The control socket closed: what happened to the worker? */
static tc_status fail_dead(struct tb_process *p, struct tc_error *err) {
  int status = 0;
  kill(-p->pid, SIGKILL); /* a helper that it left behind, or itself if it only closed the socket */
  reap(p, &status);
  take_text(p);
  const char *words = last_words(p), *colon = *words ? ": " : "";
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
    return fail_process(p, TB_OUTCOME_OOM, err, "the system killed the worker, as it does when memory is out%s%s", colon, words);
  if (WIFSIGNALED(status))
    return fail_process(p, TB_OUTCOME_CRASHED, err, "the worker died of signal %d (%s)%s%s", WTERMSIG(status), strsignal(WTERMSIG(status)), colon, words);
  return fail_process(p, TB_OUTCOME_CRASHED, err, "the worker left with status %d before it was told to%s%s", WEXITSTATUS(status), colon, words);
}

/* --- waiting --- */

static tc_status fail_early_reply(struct tb_process *p, struct tc_error *err);

/* Waits until `fd` can be read. The deadline shrinks when Ctrl-C comes. */
static tc_status wait_readable(struct tb_process *p, int fd, double timeout_s, struct tc_error *err) {
  int64_t deadline = tb_now_ns() + (int64_t)(timeout_s * TB_NS_PER_S);
  bool hurried = false;
  for (;;) {
    if (p->interrupt) {
      const int signals = tb_interrupt_poll(p->interrupt);
      if (signals > 1) return kill_process(p), tc_fail(err, TC_INTERRUPTED, "harness", "interrupted");
      const int64_t grace = tb_now_ns() + (int64_t)INTERRUPT_GRACE_S * TB_NS_PER_S;
      if (signals && !hurried && grace < deadline) deadline = grace;
      hurried = signals > 0;
    }
    const int64_t left = deadline - tb_now_ns();
    if (left <= 0) {
      kill_process(p);
      take_text(p);
      return hurried ? fail_process(p, TB_OUTCOME_TIMEOUT, err, "interrupted")
                     : fail_process(p, TB_OUTCOME_TIMEOUT, err, "no answer within %.3g s (timeout=SECONDS gives more)", timeout_s);
    }
    struct pollfd fds[] = {{fd, POLLIN, 0}, {p->text, POLLIN, 0}, {p->interrupt ? p->interrupt->fd : -1, POLLIN, 0}, {p->control, fd == p->exchange ? POLLIN : 0, 0}};
    const int ready = poll(fds, sizeof fds / sizeof *fds, (int)(left / TB_NS_PER_MS) + 1);
    if (ready < 0 && errno != EINTR) return fail_process(p, TB_OUTCOME_ERROR, err, "poll: %s", strerror(errno));
    if (fds[1].revents & POLLIN) take_text(p);
    if (fds[1].revents & POLLHUP && !(fds[1].revents & POLLIN)) { /* it closed its output: do not spin on that */
      close(p->text);
      p->text = -1;
    }
    if (fds[0].revents) return TC_OK;
    if (fds[3].revents & POLLIN) return fail_early_reply(p, err);
    if (fds[3].revents & (POLLHUP | POLLERR)) return fail_dead(p, err);
  }
}

tc_status tb_process_read(struct tb_process *p, void *data, size_t bytes, double timeout_s, struct tc_error *err) {
  if (!p->pid) return tc_fail(err, TC_IO, "worker", "%s", p->why);
  for (char *at = data; bytes;) {
    const ssize_t got = read(p->exchange, at, bytes);
    if (got > 0) {
      at += got;
      bytes -= (size_t)got;
      continue;
    }
    if (got == 0) return fail_dead(p, err);
    if (errno != EAGAIN && errno != EINTR) return fail_process(p, TB_OUTCOME_ERROR, err, "exchange pipe: %s", strerror(errno));
    const tc_status status = wait_readable(p, p->exchange, timeout_s, err);
    if (status) return status;
  }
  return TC_OK;
}

/* --- asking --- */

cJSON *tb_process_request(enum tb_request request) {
  cJSON *json = cJSON_CreateObject();
  if (json) cJSON_AddStringToObject(json, "op", tb_request_name(request));
  return json;
}

tc_status tb_process_send(struct tb_process *p, cJSON *request, struct tc_error *err) {
  if (!p->pid) {
    cJSON_Delete(request);
    return tc_fail(err, TC_IO, "worker", "%s", p->why);
  }
  const bool sent = tb_message_write(p->control, request);
  const bool made = request != NULL;
  cJSON_Delete(request);
  if (sent) return TC_OK;
  return made ? fail_dead(p, err) : fail_process(p, TB_OUTCOME_ERROR, err, "the harness is out of memory");
}

static enum tb_outcome outcome_of_kind(const char *kind) {
  if (!strcmp(kind, "unsupported")) return TB_OUTCOME_UNSUPPORTED;
  return strcmp(kind, "oom") ? TB_OUTCOME_ERROR : TB_OUTCOME_OOM;
}

/* A reply that is no "ok" becomes the process' outcome. */
static tc_status judge(struct tb_process *p, cJSON *reply, struct tc_error *err) {
  if (tb_json_bool(reply, "ok", false)) return TC_OK;
  const cJSON *error = cJSON_GetObjectItemCaseSensitive(reply, "error");
  const char *trace = tb_json_text(error, "trace", NULL);
  free(p->trace);
  p->trace = trace ? strdup(trace) : NULL;
  const tc_status status = fail_process(p, outcome_of_kind(tb_json_text(error, "kind", "error")), err, "%s", tb_json_text(error, "text", "no reason given"));
  cJSON_Delete(reply);
  return status;
}

tc_status tb_process_receive(struct tb_process *p, double timeout_s, cJSON **reply, struct tc_error *err) {
  *reply = NULL;
  if (!p->pid) return tc_fail(err, TC_IO, "worker", "%s", p->why);
  for (;;) {
    bool bad;
    cJSON *message = tb_message_take(&p->inbox, &bad);
    if (bad) return kill_process(p), fail_process(p, TB_OUTCOME_CRASHED, err, "the worker sent a line that is no JSON");
    if (message) {
      const tc_status status = judge(p, message, err);
      if (!status) *reply = message;
      return status;
    }
    char chunk[READ_BYTES];
    const ssize_t got = recv(p->control, chunk, sizeof chunk, MSG_DONTWAIT);
    if (got > 0) {
      tc_strbuf_bytes(&p->inbox, chunk, (size_t)got);
      if (p->inbox.failed) return kill_process(p), fail_process(p, TB_OUTCOME_ERROR, err, "the harness is out of memory");
      continue;
    }
    if (got == 0 || (errno != EAGAIN && errno != EINTR)) return fail_dead(p, err);
    const tc_status status = wait_readable(p, p->control, timeout_s, err);
    if (status) return status;
  }
}

tc_status tb_process_ask(struct tb_process *p, cJSON *request, double timeout_s, cJSON **reply, struct tc_error *err) {
  *reply = NULL;
  const tc_status status = tb_process_send(p, request, err);
  return status ? status : tb_process_receive(p, timeout_s, reply, err);
}

/* It answered before it had sent all values: with its error, then. */
static tc_status fail_early_reply(struct tb_process *p, struct tc_error *err) {
  cJSON *reply;
  const tc_status status = tb_process_receive(p, INTERRUPT_GRACE_S, &reply, err);
  if (status) return status;
  cJSON_Delete(reply);
  return fail_process(p, TB_OUTCOME_ERROR, err, "the worker sent fewer values than it announced");
}

/* --- starting --- */

struct words { const char *items[LAUNCH_WORDS]; int count; };

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
  bool good = add_word(words, "tbench") && add_word(words, "worker") && add_switches(arena, launch, words);
  if (launch->place) good = good && add_word(words, tb_format(arena, "threads=%d", launch->place->threads));
  if (launch->place && launch->place->binds) good = good && add_word(words, tb_format(arena, "cpus=%s", launch->place->cpus));
  if (launch->cache_dir) good = good && add_word(words, tb_format(arena, "cache_dir=%s", launch->cache_dir));
  if (launch->memory_mb) good = good && add_word(words, tb_format(arena, "memory_mb=%lld", launch->memory_mb));
  return good;
}

/* The harness' environment without what would change the worker, and with the settings of its thread pool. */
static const char **make_environment(struct tc_arena *arena, const struct tb_launch *launch) {
  static const char *const dropped[] = {"TB_", "OMP_", "GOMP_", "OPENBLAS_", "KMP_"};
  enum { ADDED = 8 };
  size_t count = 0;
  while (environ[count]) count++;
  const char **out = tc_arena_bytes(arena, sizeof *out * (count + ADDED));
  if (!out) return NULL;
  size_t n = 0;
  const bool spin_given = getenv("GOMP_SPINCOUNT") != NULL;
  for (size_t i = 0; i < count; i++) {
    bool drop = false;
    for (size_t d = 0; d < sizeof dropped / sizeof *dropped; d++) drop |= !strncmp(environ[i], dropped[d], strlen(dropped[d]));
    if (!drop || !strncmp(environ[i], "GOMP_SPINCOUNT=", strlen("GOMP_SPINCOUNT="))) out[n++] = environ[i];
  }
  if (!spin_given) out[n++] = spin_settings;
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

struct ends { int control[2], exchange[2], text[2]; };

static void close_all(const struct ends *ends) {
  const int fds[] = {ends->control[0], ends->control[1], ends->exchange[0], ends->exchange[1], ends->text[0], ends->text[1]};
  for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
    if (fds[i] >= 0) close(fds[i]);
}

/* All of them above the numbers that the child gives them, so that no dup2 overwrites another's source. */
static bool open_ends(struct ends *ends) {
  *ends = (struct ends){{-1, -1}, {-1, -1}, {-1, -1}};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends->control) || pipe2(ends->exchange, O_CLOEXEC) || pipe2(ends->text, O_CLOEXEC)) return false;
  int *const childs[] = {&ends->control[1], &ends->exchange[1], &ends->text[1]};
  for (size_t i = 0; i < sizeof childs / sizeof *childs; i++) {
    const int moved = fcntl(*childs[i], F_DUPFD_CLOEXEC, TB_FD_EXCHANGE + 1);
    if (moved < 0) return false;
    close(*childs[i]);
    *childs[i] = moved;
  }
  return true;
}

static int spawn(struct tb_process *p, const struct ends *ends, const struct words *words, const char **environment) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends->text[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends->text[1], STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends->control[1], TB_FD_CONTROL);
  posix_spawn_file_actions_adddup2(&actions, ends->exchange[1], TB_FD_EXCHANGE);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | (p->interrupt ? POSIX_SPAWN_SETSIGMASK : 0));
  posix_spawnattr_setpgroup(&attributes, 0);
  if (p->interrupt) posix_spawnattr_setsigmask(&attributes, &p->interrupt->before);
  const int status = posix_spawn(&p->pid, tb_program_path(), &actions, &attributes, (char *const *)words->items, (char *const *)environment);
  if (status) p->pid = 0;
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return status;
}

/* spawn() with the parent bound as the child is to be. */
static int spawn_bound(struct tb_process *p, const struct tb_launch *launch, const struct ends *ends, const struct words *words,
                       const char **environment) {
  cpu_set_t own, wanted;
  const bool binds = launch->place && launch->place->binds && tb_cpus_parse(launch->place->cpus, &wanted) && !sched_getaffinity(0, sizeof own, &own);
  p->bound = binds && !sched_setaffinity(0, sizeof wanted, &wanted);
  const bool memory = p->bound && tb_topology_bind_memory(launch->topology, launch->place->cpus);
  const int status = spawn(p, ends, words, environment);
  if (memory) tb_topology_bind_memory(launch->topology, NULL);
  if (p->bound) sched_setaffinity(0, sizeof own, &own);
  return status;
}

static tc_status receive_hello(struct tb_process *p, int64_t before, double timeout_s, struct tc_error *err) {
  cJSON *hello;
  const tc_status status = tb_process_receive(p, timeout_s, &hello, err);
  if (status) return status;
  const double ready = tb_json_number(cJSON_GetObjectItemCaseSensitive(hello, "hello"), "ready_ns", 0);
  cJSON_Delete(hello);
  p->start_ns = ready - (double)before;
  return TC_OK;
}

tc_status tb_process_start(struct tb_process *p, const struct tb_launch *launch, struct tb_interrupt *interrupt, double timeout_s, struct tc_error *err) {
  *p = (struct tb_process){.control = -1, .exchange = -1, .text = -1, .interrupt = interrupt, .outcome = TB_OUTCOME_OK};
  tc_strbuf_init(&p->inbox, tc_alloc_system());
  p->echo = *launch->config->logs != '\0';
  struct ends ends = {{-1, -1}, {-1, -1}, {-1, -1}};
  struct words words = {.count = 0};
  tc_status status;
  struct tc_arena *arena = tc_arena_new(tc_alloc_system());
  const char **environment = arena ? make_environment(arena, launch) : NULL;
  if (!environment || !make_arguments(arena, launch, &words)) {
    status = fail_process(p, TB_OUTCOME_ERROR, err, "a worker cannot be started: out of memory");
    goto done;
  }
  if (!open_ends(&ends)) {
    status = fail_process(p, TB_OUTCOME_ERROR, err, "a worker cannot be started: %s", strerror(errno));
    close_all(&ends);
    goto done;
  }
  const int64_t before = tb_now_ns();
  const int failure = spawn_bound(p, launch, &ends, &words, environment);
  close(ends.control[1]);
  close(ends.exchange[1]);
  close(ends.text[1]);
  p->control = ends.control[0];
  p->exchange = ends.exchange[0];
  p->text = ends.text[0];
  fcntl(p->exchange, F_SETFL, O_NONBLOCK);
  fcntl(p->text, F_SETFL, O_NONBLOCK);
  status = failure ? fail_process(p, TB_OUTCOME_ERROR, err, "a worker cannot be started: %s", strerror(failure)) : receive_hello(p, before, timeout_s, err);
done:
  tc_arena_free(arena);
  return status;
}

/* Waits for the end of a worker that was told to leave. */
static bool left_in_time(struct tb_process *p) {
  const int64_t deadline = tb_now_ns() + (int64_t)STOP_GRACE_MS * TB_NS_PER_MS;
  while (tb_now_ns() < deadline) {
    int status;
    if (waitpid(p->pid, &status, WNOHANG) == p->pid) return p->pid = 0, true;
    struct pollfd gone = {p->control, 0, 0};
    if (poll(&gone, 1, 1) > 0) tb_sleep_ns(TB_NS_PER_MS / 4);
  }
  return false;
}

void tb_process_stop(struct tb_process *p) {
  if (p->pid) {
    cJSON *request = tb_process_request(TB_REQUEST_quit);
    const bool told = tb_message_write(p->control, request);
    cJSON_Delete(request);
    if (!told || !left_in_time(p)) kill_process(p);
  }
  if (p->control >= 0) close(p->control);
  if (p->exchange >= 0) close(p->exchange);
  if (p->text >= 0) close(p->text);
  p->control = p->exchange = p->text = -1;
  tc_strbuf_free(&p->inbox);
  free(p->trace);
  p->trace = NULL;
}
