/* The launcher. Invariants:
 * 1. Nothing but the stream goes to what was its standard output; a program that it starts has no end of it.
 * 2. It leads a process group of its own: whatever ends the command that led here, it is there to end the
 *    worker. */
#include "harness/wire/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "harness/base/args.h"
#include "harness/base/build.h"
#include "harness/base/file_hash.h"
#include "harness/base/folder.h"
#include "harness/wire/file_store.h"
#include "harness/wire/launch_json.h"
#include "harness/wire/program.h"
#include "harness/wire/protocol.h"
#include "harness/wire/stream.h"
#include "results/exitcode.h"

struct launcher {
  int in, out;
  struct tc_strbuf inbox;
  struct tc_arena *arena;
  struct tb_program program;
  struct tb_file_store store;
  bool owns_work, leaving;
};

static cJSON *new_reply(void) {
  cJSON *reply = cJSON_CreateObject();
  cJSON_AddBoolToObject(reply, "ok", true);
  return reply;
}

static cJSON *failure(enum tb_outcome outcome, const char *text) {
  cJSON *reply = cJSON_CreateObject();
  cJSON_AddBoolToObject(reply, "ok", false);
  cJSON *error = cJSON_AddObjectToObject(reply, "error");
  cJSON_AddStringToObject(error, "kind", outcome == TB_OUTCOME_UNSUPPORTED ? "unsupported" : "error");
  cJSON_AddStringToObject(error, "text", text);
  return reply;
}

/* --- requests --- */

static tc_status answer_open(struct launcher *l, const cJSON *request, cJSON *reply, struct tc_error *err) {
  (void)request;
  char hash[TC_SHA256_HEX];
  const char *work;
  const tc_status status = tb_file_store_begin(&l->store, &work, err);
  if (status) return status;
  l->owns_work = true;
  const char *cache = tb_format(l->arena, "%s/cache", l->store.work);
  const tc_status made = cache ? tb_folder_make(cache, err) : tc_fail_memory(err, "launch");
  if (made) return made;
  cJSON_AddStringToObject(reply, "work", work);
  if (tb_file_hash(l->program.path, hash)) cJSON_AddStringToObject(reply, "program", hash);
  return TC_OK;
}

static tc_status answer_host(struct launcher *l, const cJSON *request, cJSON *reply, struct tc_error *err) {
  (void)request;
  struct tb_topology *topology;
  struct tb_host host;
  const tc_status status = tb_topology_open(NULL, &topology, err);
  if (status) return status;
  const bool good = tb_host_read(l->arena, topology, &host);
  tb_topology_close(topology);
  if (!good) return tc_fail_memory(err, "launch");
  cJSON_AddItemToObject(reply, "host", tb_host_json(&host));
  return TC_OK;
}

/* The next frame is taken into `inbox` whole. False: something else came. */
static bool next_frame(struct launcher *l, struct tb_frame *frame) {
  char piece[TB_FRAME_BYTES_MAX];
  enum tb_frame_found found;
  while ((found = tb_frame_look(&l->inbox, frame)) != TB_FRAME_WHOLE) {
    if (found == TB_FRAME_BROKEN || (found == TB_FRAME_NONE && l->inbox.len)) return false;
    const ssize_t got = read(l->in, piece, sizeof piece);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    tc_strbuf_bytes(&l->inbox, piece, (size_t)got);
    if (l->inbox.failed) return false;
  }
  return frame->kind == TB_FRAME_FILE;
}

/* What comes is taken to its end also where it cannot be kept: the reply stands behind it. */
static tc_status take_file(struct launcher *l, const char *hash, bool runs, struct tc_error *err) {
  struct tb_file_coming coming = {.fd = -1};
  struct tb_frame frame;
  tc_status status = tb_file_coming_begin(&l->store, hash, &coming, err);
  while (next_frame(l, &frame)) {
    if (!status) status = tb_file_coming_add(&coming, frame.data, frame.bytes, err);
    tb_frame_drop(&l->inbox);
  }
  if (coming.fd < 0) return status;
  if (!status) return tb_file_coming_end(&l->store, &coming, runs, err);
  close(coming.fd);
  unlink(coming.temp);
  return status;
}

static tc_status answer_file(struct launcher *l, const cJSON *request, cJSON *reply, struct tc_error *err) {
  const char *hash = tb_json_text(request, "sha256", ""), *path;
  if (!l->store.work || strlen(hash) != TC_SHA256_HEX - 1 || strchr(hash, '/'))
    return tc_fail(err, TC_ARG, "launch", "a file without a work folder or a hash");
  if (!tb_file_store_has(&l->store, hash)) {
    cJSON *wanted = new_reply();
    cJSON_AddBoolToObject(wanted, "wanted", true);
    const bool said = tb_message_write(l->out, wanted);
    cJSON_Delete(wanted);
    const tc_status status = said ? take_file(l, hash, tb_json_bool(request, "runs", false), err)
                                  : tc_fail(err, TC_IO, "launch", "the harness is gone");
    cJSON *sent = tb_message_read(l->in, &l->inbox); /* {"op": "sent"} */
    if (!sent) l->leaving = true;
    cJSON_Delete(sent);
    if (status) return status;
  }
  const tc_status status = tb_file_store_link(&l->store, hash, tb_json_text(request, "folder", ""),
                                              tb_json_text(request, "name", ""), &path, err);
  if (!status) cJSON_AddStringToObject(reply, "path", path);
  return status;
}

/* A folder of the launch, in the work folder and made where it is not. */
static tc_status make_folder(const char *path, struct tc_error *err) {
  return path ? tb_folder_make(path, err) : TC_OK;
}

static tc_status start(struct launcher *l, const cJSON *request, struct tb_told_launch *told,
                       struct tb_link *link, struct tc_error *err) {
  const struct tb_transport *local = tb_transport_local();
  struct tb_topology *topology = NULL;
  tc_status status = tb_launch_parse(l->arena, request, told, err);
  if (!status && !l->owns_work)
    status = tb_file_store_join(&l->store, tb_json_text(request, "work", ""), err);
  if (!status && chdir(l->store.work))
    status = tc_fail(err, TC_IO, "launch", "%s: %s", l->store.work, strerror(errno));
  if (!status) status = make_folder(told->launch.callgrind, err);
  if (!status && told->place.binds) (void)tb_topology_open(NULL, &topology, NULL);
  told->launch.own = l->program.path;
  told->launch.topology = topology;
  if (told->launch.script) told->launch.program = tb_program_python();
  if (told->place.binds && !topology) told->place.binds = false;
  if (!status) status = local->kind->start(local, &told->launch, NULL, link, err);
  tb_topology_close(topology);
  return status;
}

/* Its reply is the worker's hello; one of its own says why there is no worker. */
static void answer_start(struct launcher *l, const cJSON *request) {
  struct tb_told_launch told = {.launch = {.own = NULL}};
  struct tb_link link = tb_link_none();
  struct tc_error err = {0};
  l->leaving = true;
  if (!start(l, request, &told, &link, &err)) {
    tb_launcher_relay(&link, &l->inbox, l->in, l->out);
    return;
  }
  char why[TB_WHY_BYTES];
  const enum tb_outcome outcome = tb_launch_why_not(&told.launch, &err, why);
  cJSON *reply = failure(outcome, why);
  tb_message_write(l->out, reply);
  cJSON_Delete(reply);
}

static const struct {
  const char *name;
  tc_status (*answer)(struct launcher *, const cJSON *request, cJSON *reply, struct tc_error *err);
} requests[] = {{"open", answer_open}, {"host", answer_host}, {"file", answer_file}};
enum { N_REQUESTS = sizeof requests / sizeof *requests };

static void answer(struct launcher *l, const cJSON *request) {
  const char *op = tb_json_text(request, "op", "");
  if (!strcmp(op, "start")) return answer_start(l, request);
  l->leaving = !strcmp(op, "quit");
  struct tc_error err = {0};
  cJSON *reply = new_reply();
  tc_status status = l->leaving ? TC_OK : TC_ARG;
  tc_fail(&err, status, "launch", "unknown request '%s'", op);
  for (int i = 0; i < N_REQUESTS; i++)
    if (!strcmp(op, requests[i].name)) status = requests[i].answer(l, request, reply, &err);
  if (status) {
    cJSON_Delete(reply);
    reply = failure(TB_OUTCOME_ERROR, err.message);
  }
  if (!tb_message_write(l->out, reply)) l->leaving = true;
  cJSON_Delete(reply);
}

/* --- the process --- */

/* The stream's ends, away from the numbers that programs write to. False: descriptors are out. */
static bool take_stream(struct launcher *l) {
  l->in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, TB_FD_EXCHANGE + 1);
  l->out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, TB_FD_EXCHANGE + 1);
  const int none = open("/dev/null", O_RDONLY | O_CLOEXEC);
  return l->in >= 0 && l->out >= 0 && none >= 0 && dup2(none, STDIN_FILENO) >= 0 &&
         dup2(STDERR_FILENO, STDOUT_FILENO) >= 0;
}

static bool say_hello(const struct launcher *l) {
  cJSON *message = new_reply(), *hello = cJSON_AddObjectToObject(message, "hello");
  cJSON_AddNumberToObject(hello, "protocol", TB_PROTOCOL);
  cJSON_AddBoolToObject(hello, "launcher", true);
  cJSON_AddStringToObject(hello, "version", PACKAGE_VERSION);
  const bool said = tb_message_write(l->out, message);
  cJSON_Delete(message);
  return said;
}

int tb_verb_launch(int argc, char *const *argv) {
  struct launcher l = {.arena = tc_arena_new(tc_alloc_system())};
  struct tc_error err = {0};
  (void)argv;
  if (argc || isatty(STDIN_FILENO) || isatty(STDOUT_FILENO)) {
    fputs("tbench launch: started by tbench itself (transport=command:…), never by hand\n", stderr);
    return TB_EXIT_USAGE;
  }
  setpgid(0, 0);
  prctl(PR_SET_NAME, "tbench-launch");
  signal(SIGPIPE, SIG_IGN);
  signal(SIGHUP, SIG_IGN); /* the end of the stream is the end */
  tc_strbuf_init(&l.inbox, tc_alloc_system());
  if (!l.arena || !take_stream(&l) || tb_file_store_open(l.arena, &l.store, &err)) {
    fprintf(stderr, "tbench launch: %s\n", *err.message ? err.message : "out of memory or descriptors");
    return TB_EXIT_FAILED;
  }
  tb_program_open(&l.program);
  cJSON *request;
  for (l.leaving = !say_hello(&l); !l.leaving && (request = tb_message_read(l.in, &l.inbox));
       cJSON_Delete(request))
    answer(&l, request);
  if (l.owns_work) tb_file_store_end(&l.store);
  tb_program_close(&l.program);
  tc_strbuf_free(&l.inbox);
  tc_arena_free(l.arena);
  return TB_EXIT_PASS;
}
