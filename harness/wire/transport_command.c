/* Workers behind a command. Invariants:
 * 1. What goes there names files by what tb_transport_file gave; what comes back has this host's names again.
 * 2. The command leads its own process group. The end of the stream is how the launcher knows that a worker
 * is to be ended; the command is killed where it does not end by itself then. */
#include "harness/wire/transport_command.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "harness/base/args.h"
#include "harness/base/clock.h"
#include "harness/base/file_hash.h"
#include "harness/wire/launch_json.h"
#include "harness/wire/sent_files.h"
#include "harness/wire/stream.h"

enum { END_GRACE_MS = 5000, FOLDER_DIGITS = 16, PIECE_BYTES = TB_FRAME_BYTES_MAX, RUNS = 0111 };
static const double patience_s = 60;      /* for an answer of the launcher */
static const char kept_there[] = "cache"; /* of the work folder */
static const char python_suffix[] = ".py";

struct tb_transport_command {
  struct tb_transport workers, launcher; /* of a worker; of the launcher alone */
  struct tc_arena *arena;
  const char *command, *own;
  const char *program;   /* what runs there, by its name there; NULL: the launcher's own */
  const char *work;      /* name of the run's folder */
  const char *kept_here; /* folder whose files are over there alone; NULL: none */
  struct tb_process session;
  struct tb_interrupt *interrupt;
  struct tc_config config; /* defaults */
  struct tb_sent_files files;
};

/* Each struct tb_transport knows the whole that it is in. */
static struct tb_transport_command *whole_of(const struct tb_transport *transport) { return transport->self; }

/* --- the command --- */

static tc_status spawn(const struct tb_transport *transport, const sigset_t *mask, struct tb_link *link,
                       struct tc_error *err) {
  const struct tb_transport_command *c = whole_of(transport);
  const char *line = tb_format(c->arena, "%s \"$@\"", c->command);
  char *words[] = {"sh", "-c", (char *)line, "sh", "tbench", "launch", NULL};
  int stream[2], text[2];
  *link = tb_link_none();
  link->transport = transport;
  if (!line) return tc_fail_memory(err, "transport");
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, stream))
    return tc_fail(err, TC_IO, "transport", "%s", strerror(errno));
  if (pipe2(text, O_CLOEXEC)) {
    close(stream[0]);
    close(stream[1]);
    return tc_fail(err, TC_IO, "transport", "%s", strerror(errno));
  }
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, stream[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, stream[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, text[1], STDERR_FILENO);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | (mask ? POSIX_SPAWN_SETSIGMASK : 0));
  posix_spawnattr_setpgroup(&attributes, 0);
  if (mask) posix_spawnattr_setsigmask(&attributes, mask);
  link->started_ns = tb_now_ns();
  const int failure = posix_spawn(&link->pid, "/bin/sh", &actions, &attributes, words, environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(stream[1]);
  close(text[1]);
  link->control = stream[0];
  link->text = text[0];
  fcntl(link->text, F_SETFL, O_NONBLOCK);
  if (!failure) return TC_OK;
  link->pid = 0;
  tb_link_close(link);
  return tc_fail(err, TC_IO, "transport", "/bin/sh: %s", strerror(failure));
}

static bool has_left(const struct tb_link *link) {
  siginfo_t info = {0};
  return !waitid(P_PID, (id_t)link->pid, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid == link->pid;
}

static struct tb_end bury(struct tb_link *link) {
  int status = 0;
  shutdown(link->control, SHUT_RDWR);
  for (int64_t end = tb_now_ns() + (int64_t)END_GRACE_MS * TB_NS_PER_MS;
       !has_left(link) && tb_now_ns() < end;)
    tb_sleep_ns(TB_NS_PER_MS);
  kill(-link->pid, SIGKILL);
  while (waitpid(link->pid, &status, 0) < 0 && errno == EINTR) {}
  link->pid = 0;
  return (struct tb_end){TB_END_LOST, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)};
}

static void kill_link(struct tb_link *link) {
  if (link->pid) bury(link);
}

/* --- files --- */

static tc_status send_pieces(struct tb_transport_command *c, const char *path, struct tc_error *err) {
  char piece[PIECE_BYTES];
  const int in = open(path, O_RDONLY | O_CLOEXEC);
  if (in < 0) return tc_fail(err, TC_IO, "transport", "%s: %s", path, strerror(errno));
  tc_status status = TC_OK;
  for (ssize_t got; !status && (got = read(in, piece, sizeof piece));) {
    if (got < 0)
      status = tc_fail(err, TC_IO, "transport", "%s: %s", path, strerror(errno));
    else if (c->interrupt && tb_interrupt_poll(c->interrupt))
      status = tc_fail(err, TC_INTERRUPTED, "transport", "interrupted");
    else if (!tb_frame_write(c->session.link.control, TB_FRAME_FILE, piece, (size_t)got))
      status = tc_fail(err, TC_IO, "transport", "%s was not sent: the connection is lost", path);
  }
  close(in);
  return status;
}

/* Sends a file under files/FOLDER (NULL: by its content) unless it is there; *name: as it is called there. */
static tc_status send_file(struct tb_transport_command *c, const char *path, const char *folder,
                           const char **name, struct tc_error *err) {
  char hash[TC_SHA256_HEX], own_folder[FOLDER_DIGITS + 1];
  struct stat info;
  const char *slash = strrchr(path, '/');
  cJSON *reply = NULL, *request = cJSON_CreateObject();
  if (stat(path, &info) || !tb_file_hash(path, hash)) {
    cJSON_Delete(request);
    return tc_fail(err, TC_IO, "transport", "%s: %s", path, strerror(errno));
  }
  memcpy(own_folder, hash, FOLDER_DIGITS);
  own_folder[FOLDER_DIGITS] = '\0';
  cJSON_AddStringToObject(request, "op", "file");
  cJSON_AddStringToObject(request, "sha256", hash);
  cJSON_AddStringToObject(request, "folder", folder ? folder : own_folder);
  cJSON_AddStringToObject(request, "name", slash ? slash + 1 : path);
  cJSON_AddBoolToObject(request, "runs", info.st_mode & RUNS);
  tc_status status = tb_process_ask(&c->session, request, patience_s, &reply, err);
  if (!status && tb_json_bool(reply, "wanted", false)) {
    cJSON_Delete(reply);
    reply = NULL;
    status = send_pieces(c, path, err);
    cJSON *sent = cJSON_CreateObject();
    cJSON_AddStringToObject(sent, "op", "sent");
    if (status)
      cJSON_Delete(sent);
    else
      status = tb_process_ask(&c->session, sent, patience_s, &reply, err);
  }
  if (!status) status = tb_sent_files_add(&c->files, path, tb_json_text(reply, "path", ""), err);
  cJSON_Delete(reply);
  if (!status) *name = tb_sent_files_find(&c->files, path);
  return status;
}

static tc_status file(const struct tb_transport *transport, struct tc_arena *arena, const char *path,
                      const char **name, struct tc_error *err) {
  struct tb_transport_command *c = whole_of(transport);
  const size_t kept = c->kept_here ? strlen(c->kept_here) : 0;
  if (kept && !strncmp(path, c->kept_here, kept) && (!path[kept] || path[kept] == '/')) {
    *name = tb_format(arena, "%s%s", kept_there, path + kept);
    return *name ? TC_OK : tc_fail_memory(err, "transport");
  }
  *name = tb_sent_files_find(&c->files, path);
  return *name ? TC_OK : send_file(c, path, NULL, name, err);
}

/* Python's files of a folder, under one name. */
static tc_status send_folder(struct tb_transport_command *c, const char *path, const char **name,
                             struct tc_error *err) {
  char hash[TC_SHA256_HEX];
  *name = tb_sent_files_find(&c->files, path);
  if (*name) return TC_OK;
  tc_sha256_of(path, strlen(path), hash);
  hash[FOLDER_DIGITS] = '\0';
  DIR *folder = opendir(path);
  if (!folder) return tc_fail(err, TC_IO, "transport", "%s: %s", path, strerror(errno));
  tc_status status = TC_OK;
  for (struct dirent *entry; !status && (entry = readdir(folder));) {
    const char *file, *there;
    if (!tc_text_stem(entry->d_name, python_suffix)) continue;
    file = tb_format(c->arena, "%s/%s", path, entry->d_name);
    status = file ? send_file(c, file, hash, &there, err) : tc_fail_memory(err, "transport");
  }
  closedir(folder);
  const char *text = tb_format(c->arena, "files/%s", hash);
  if (!status)
    status = text ? tb_sent_files_add(&c->files, path, text, err) : tc_fail_memory(err, "transport");
  *name = tb_sent_files_find(&c->files, path);
  return status;
}

/* An adapter comes with the modules beside it. */
static tc_status send_script(struct tb_transport_command *c, const char *path, const char **name,
                             struct tc_error *err) {
  const char *slash = strrchr(path, '/'), *there,
             *folder = slash ? tb_format(c->arena, "%.*s", (int)(slash - path), path) : ".";
  if (!folder) return tc_fail_memory(err, "transport");
  const tc_status status = send_folder(c, folder, &there, err);
  if (status) return status;
  *name = tb_format(c->arena, "%s/%s", there, slash ? slash + 1 : path);
  return *name ? TC_OK : tc_fail_memory(err, "transport");
}

static void restore(const struct tb_transport *transport, cJSON *reply) {
  tb_sent_files_restore(&whole_of(transport)->files, reply);
}

/* --- starting --- */

static tc_status send_plugins(struct tb_transport_command *c, const struct tb_plugins *plugins,
                              struct tb_plugins *out, struct tc_error *err) {
  *out = (struct tb_plugins){.count = 0};
  for (int i = 0; plugins && i < plugins->count; i++) {
    struct tb_plugin *one = &out->items[out->count++];
    one->name = plugins->items[i].name;
    const tc_status status = file(&c->workers, c->arena, plugins->items[i].path, &one->path, err);
    if (status) return status;
  }
  return TC_OK;
}

/* The launch with the names of over there. */
static tc_status bring(struct tb_transport_command *c, const struct tb_launch *launch, struct tb_launch *out,
                       struct tb_plugins *plugins, struct tc_error *err) {
  *out = *launch;
  out->plugins = plugins;
  out->program = c->program;
  tc_status status = send_plugins(c, launch->plugins, plugins, err);
  if (!status && launch->script) {
    out->program = NULL; /* the Python of over there */
    status = send_script(c, launch->script, &out->script, err);
    if (!status && launch->library) status = send_folder(c, launch->library, &out->library, err);
  } else if (!status && launch->program) {
    status = file(&c->workers, c->arena, launch->program, &out->program, err);
  }
  if (!status && launch->callgrind)
    status = file(&c->workers, c->arena, launch->callgrind, &out->callgrind, err);
  out->cache_dir = kept_there;
  if (!status && launch->cache_dir)
    status = file(&c->workers, c->arena, launch->cache_dir, &out->cache_dir, err);
  return status;
}

static tc_status start(const struct tb_transport *transport, const struct tb_launch *launch,
                       const sigset_t *mask, struct tb_link *link, struct tc_error *err) {
  struct tb_transport_command *c = whole_of(transport);
  struct tb_launch there;
  struct tb_plugins plugins;
  *link = tb_link_none();
  link->transport = transport;
  tc_status status = bring(c, launch, &there, &plugins, err);
  if (status) return status;
  cJSON *request = cJSON_CreateObject();
  cJSON_AddStringToObject(request, "op", "start");
  cJSON_AddStringToObject(request, "work", c->work);
  status =
      tb_launch_add(request, &there) ? spawn(transport, mask, link, err) : tc_fail_memory(err, "transport");
  if (!status) (void)tb_message_write(link->control, request); /* who is gone is told by the missing hello */
  cJSON_Delete(request);
  return status;
}

static tc_status start_launcher(const struct tb_transport *transport, const struct tb_launch *launch,
                                const sigset_t *mask, struct tb_link *link, struct tc_error *err) {
  (void)launch;
  return spawn(transport, mask, link, err);
}

/* --- the session --- */

static tc_status host(const struct tb_transport *transport, struct tb_topology *topology,
                      struct tc_arena *arena, struct tb_host *out, struct tc_error *err) {
  (void)topology;
  struct tb_transport_command *c = whole_of(transport);
  cJSON *reply, *request = cJSON_CreateObject();
  cJSON_AddStringToObject(request, "op", "host");
  const tc_status status = tb_process_ask(&c->session, request, patience_s, &reply, err);
  if (status) return status;
  const bool good = tb_host_parse(arena, cJSON_GetObjectItemCaseSensitive(reply, "host"), out);
  cJSON_Delete(reply);
  return good ? TC_OK : tc_fail_memory(err, "transport");
}

/* The work folder, and this program where the one over there is another. */
static tc_status open_session(struct tb_transport_command *c, struct tc_error *err) {
  char hash[TC_SHA256_HEX];
  cJSON *reply, *request = cJSON_CreateObject();
  cJSON_AddStringToObject(request, "op", "open");
  tc_status status = tb_process_ask(&c->session, request, patience_s, &reply, err);
  if (status) return status;
  c->work = tc_arena_text(c->arena, tb_json_text(reply, "work", ""));
  if (!c->work) status = tc_fail_memory(err, "transport");
  if (!status && !tb_file_hash(c->own, hash))
    status = tc_fail(err, TC_IO, "transport", "%s: %s", c->own, strerror(errno));
  const bool same = !status && !strcmp(tb_json_text(reply, "program", ""), hash);
  cJSON_Delete(reply);
  return status || same ? status : file(&c->workers, c->arena, c->own, &c->program, err);
}

tc_status tb_transport_command_open(const char *command, const char *own, struct tb_interrupt *interrupt,
                                    struct tb_transport_command **out, struct tc_error *err) {
  static const struct tb_transport_kind workers = {.name = "command",
                                                   .launched = true,
                                                   .start = start,
                                                   .kill = kill_link,
                                                   .bury = bury,
                                                   .has_left = has_left,
                                                   .host = host,
                                                   .file = file,
                                                   .restore = restore},
                                        launcher = {.name = "command",
                                                    .start = start_launcher,
                                                    .kill = kill_link,
                                                    .bury = bury,
                                                    .has_left = has_left};
  struct tc_arena *arena = tc_arena_new(tc_alloc_system());
  struct tb_transport_command *c = arena ? tc_arena_bytes(arena, sizeof *c) : NULL;
  if (!c) return tc_arena_free(arena), tc_fail_memory(err, "transport");
  *c = (struct tb_transport_command){.workers = {&workers, c},
                                     .launcher = {&launcher, c},
                                     .arena = arena,
                                     .files = {.arena = arena},
                                     .command = command,
                                     .own = own,
                                     .interrupt = interrupt};
  tc_config_default(&c->config);
  const struct tb_launch launch = {.transport = &c->launcher, .config = &c->config};
  tc_status status = tb_process_start(&c->session, &launch, interrupt, patience_s, err);
  if (!status) status = open_session(c, err);
  if (!status) return *out = c, TC_OK;
  if (status != TC_INTERRUPTED && status != TC_NOMEM) {
    const char *why = tb_format(arena, "%s", c->session.outcome ? c->session.why : err->message);
    status = tc_fail(err, TC_ARG, "transport", "transport=command:%s: %s", command, why ? why : "");
  }
  tb_transport_command_close(c);
  return status;
}

void tb_transport_command_close(struct tb_transport_command *c) {
  if (!c) return;
  tb_process_stop(&c->session);
  tc_arena_free(c->arena);
}

const struct tb_transport *tb_transport_of_command(struct tb_transport_command *c) { return &c->workers; }

void tb_transport_command_keep(struct tb_transport_command *c, const char *folder) { c->kept_here = folder; }
