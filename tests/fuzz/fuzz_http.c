/* What comes over a connection: requests of any form, through libmicrohttpd, the routes, the readers' and the
 * writer's threads, and back.
 *
 * The first byte says in how many pieces the rest comes, and whether it comes from another machine. Whatever
 * comes, each connection ends, nothing is held for it any more, no query fails, and nothing is stored without
 * a token. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dashboard/server/server.h"
#include "dashboard/store/digest.h"
#include "tests/dashboard/documents.h"
#include "tests/fuzz/requests.h"

enum {
  CACHE_KIB = 1024,
  MOST_BYTES = 1 << 15,
  MOST_DOCUMENTS = 200,
  MOST_ARGUMENTS = 100,
  SEEDS = 3,
  ANSWER = 1 << 16,
  PATH = 64,
  PIECES = 4 /* bits of the first byte */,
  FROM_AFAR = 4,
  WAIT_MS = 15000,
  END_MS = 1000,
  SHORT = 200 /* rounds that wait for nothing */
};

static void demand(bool holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "broken: %s\n", what);
  abort();
}

struct target {
  char folder[PATH], db[2 * PATH], answer[ANSWER + 1];
  size_t length;
  struct tb_settings settings;
  struct tb_server *server;
  struct tb_store reader;
};

static struct target the_one; /* libFuzzer gives no place of its own */

static void remove_files(void) {
  char command[2 * PATH];
  snprintf(command, sizeof command, "rm -rf '%s'", the_one.folder);
  if (system(command)) fputs("files are left\n", stderr);
}

/* --- a connection --- */

/* Requests, bytes, and the connection itself. */
static long long held(struct tb_server *server) {
  return MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS)->num_connections +
         llabs(atomic_load(&server->active)) + llabs(atomic_load(&server->working)) +
         llabs(atomic_load(&server->body_bytes)) + llabs(atomic_load(&server->answer_bytes));
}

/* Takes what there is of the answer, waiting so long for it; true once the connection has ended. Of a long
 * one the beginning is kept. */
static bool take_answer(struct target *t, int fd, int wait_ms) {
  char rest[ANSWER];
  struct pollfd ready = {.fd = fd, .events = POLLIN};
  while (poll(&ready, 1, wait_ms) > 0) {
    const bool room = t->length < ANSWER;
    const ssize_t n =
        room ? read(fd, t->answer + t->length, ANSWER - t->length) : read(fd, rest, sizeof rest);
    if (n <= 0) return true;
    if (room) t->length += (size_t)n;
  }
  return false;
}

static void send_all(struct target *t, int fd, const uint8_t *data, size_t size) {
  while (size) {
    const ssize_t n = send(fd, data, size, MSG_NOSIGNAL);
    if (n < 0 && errno != EAGAIN) return; /* it was closed before all was sent */
    if (n > 0) data += n, size -= (size_t)n;
    take_answer(t, fd, 0);
  }
}

/* libmicrohttpd 0.9.75 may not notice an end that comes together with the last bytes: it holds such a
 * connection like one that says nothing, until its timeout, or until the other side is gone. So the end comes
 * once all was read. True: the connection has ended before that. */
static bool is_read(struct target *t, int fd) {
  int unread = 0;
  for (int i = 0; i < WAIT_MS + SHORT; i++) {
    if (take_answer(t, fd, i < SHORT ? 0 : 1)) return true;
    if (ioctl(fd, SIOCOUTQ, &unread) || !unread) return false;
    sched_yield();
  }
  return false;
}

static void wait_for_rest(struct tb_server *server) {
  for (int i = 0; i < WAIT_MS + SHORT && held(server); i++) {
    if (i < SHORT)
      sched_yield();
    else
      poll(NULL, 0, 1);
  }
  demand(!held(server), "something is held for a connection that is gone");
}

static void converse(struct target *t, const uint8_t *data, size_t size, int pieces, bool from_afar) {
  struct sockaddr_in peer = {.sin_family = AF_INET,
                             .sin_port = 1,
                             .sin_addr.s_addr = htonl(from_afar ? 0xC0000201U : INADDR_LOOPBACK)};
  int ends[2];
  demand(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), "a pair of sockets");
  t->length = 0;
  demand(MHD_add_connection(t->server->daemon, ends[0], (const struct sockaddr *)&peer, sizeof peer) ==
             MHD_YES,
         "a connection is taken");
  for (int i = 0; i < pieces; i++) {
    const size_t from = size * (size_t)i / (size_t)pieces, to = size * (size_t)(i + 1) / (size_t)pieces;
    send_all(t, ends[1], data + from, to - from);
    if (i + 1 < pieces) sched_yield();
  }
  if (!is_read(t, ends[1])) {
    shutdown(ends[1], SHUT_WR);
    take_answer(t, ends[1], END_MS);
  }
  t->answer[t->length] = '\0';
  close(ends[1]);
  wait_for_rest(t->server);
}

static int status_of(const struct target *t) {
  return t->length > sizeof "HTTP/1.1 " && !strncmp(t->answer, "HTTP/1.", 7)
             ? atoi(t->answer + strlen("HTTP/1.1 "))
             : 0;
}

/* --- the server --- */

static void add_seeds(struct target *t) {
  static char text[DOCUMENT_HEAD + SEEDS * DOCUMENT_CASE], request[sizeof text + REQUEST_HEAD];
  for (int i = 0; i < SEEDS; i++) {
    const size_t length = document_write(text, i * 1000, i + 1);
    const int n = snprintf(request, sizeof request, REQUEST_POST "%s", length, text);
    converse(t, (const uint8_t *)request, (size_t)n, 1, false);
    demand(status_of(t) == MHD_HTTP_CREATED, t->answer);
  }
}

static void add_token(struct tb_store *store) {
  unsigned char digest[TC_SHA256_BYTES];
  sqlite3_stmt *add = tb_store_get(store, TB_SQL_ADD_TOKEN);
  demand(tb_digest(REQUEST_TOKEN, strlen(REQUEST_TOKEN), digest), "a digest");
  sqlite3_bind_blob(add, 1, digest, sizeof digest, SQLITE_STATIC);
  sqlite3_bind_int(add, 2, TB_SCOPE_WRITE);
  sqlite3_bind_int64(add, 3, tb_now_ms());
  demand(tb_store_run(store, add), store->error);
}

static void open_store(struct target *t) {
  struct tb_server *server = t->server;
  struct tc_error err;
  snprintf(t->folder, sizeof t->folder, "/tmp/tbench-fuzz.XXXXXX");
  demand(mkdtemp(t->folder) != NULL, "a folder");
  atexit(remove_files);
  snprintf(t->db, sizeof t->db, "%s/results.db", t->folder);
  demand(tb_store_open(&server->store, t->db, TB_STORE_WRITE, CACHE_KIB, &err) == TC_OK, err.message);
  demand(sqlite3_exec(server->store.db, "PRAGMA synchronous=OFF", NULL, NULL, NULL) == SQLITE_OK,
         "a disk that is not waited for");
  demand((server->schema = tb_schema_of_results(&err)) != NULL, err.message);
  demand(tb_dictionaries_open(&server->dictionaries, server->schema, &server->store), server->store.error);
  add_token(&server->store);
  demand(tb_auth_load(&server->auth, &server->store), server->store.error);
  demand(tb_store_open(&t->reader, t->db, TB_STORE_READ, CACHE_KIB, &err) == TC_OK, err.message);
}

static struct target *the_target(void) {
  static const struct MHD_OptionItem options[] = {{MHD_OPTION_CONNECTION_LIMIT, 64, NULL},
                                                  {MHD_OPTION_END, 0, NULL}};
  struct target *t = &the_one;
  struct tc_error err;
  if (t->server) return t;
  demand((t->server = calloc(1, sizeof *t->server)) != NULL, "memory");
  t->settings = (struct tb_settings){.db = t->db,
                                     .listen = "127.0.0.1:8080",
                                     .loopback = true,
                                     .max_mib = 1,
                                     .max_cases = 64,
                                     .rate = 100000,
                                     .timeout = 1,
                                     .connections = 64};
  t->server->settings = &t->settings;
  t->server->started_ms = tb_now_ms();
  tb_auth_open(&t->server->auth);
  tb_limits_open(&t->server->limits, (double)t->settings.rate);
  tb_connections_open(&t->server->connection_counts, 16);
  tb_intakes_open(t->server);
  tb_assets_open(&t->server->assets);
  open_store(t);
  demand((t->server->writer = tb_writer_start(&t->server->store)) != NULL, "a writer");
  tb_writer_on_end(t->server->writer, tb_ingest_group_written, t->server);
  demand((t->server->readers = tb_readers_start(t->server, &err)) != NULL, err.message);
  demand((t->server->daemon = tb_http_start(
              t->server, MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_NO_LISTEN_SOCKET, options)) != NULL,
         "libmicrohttpd");
  add_seeds(t);
  return t;
}

/* --- emptying it, so that it does not grow --- */

static enum tb_written empty(struct tb_write *self, struct tb_store *store) {
  static const char all[] = "DELETE FROM documents; DELETE FROM points; DELETE FROM series; DELETE FROM "
                            "changes; DELETE FROM commits; DELETE FROM machines;"
                            "UPDATE meta SET value = 0 WHERE name IN ('documents', 'points')";
  (void)self;
  tb_name_cache_forget(store);
  return sqlite3_exec(store->db, all, NULL, NULL, NULL) == SQLITE_OK ? TB_WRITTEN_STORED : TB_WRITTEN_FAILED;
}

static void is_done(struct tb_write *self) { atomic_store((atomic_bool *)self->owner, true); }

static void start_again(struct target *t) {
  atomic_bool done = false;
  struct tb_write item = {.apply = empty, .done = is_done, .owner = &done};
  tb_writer_put(t->server->writer, &item);
  while (!atomic_load(&done)) poll(NULL, 0, 1);
  demand(item.written == TB_WRITTEN_STORED, "it is emptied");
  add_seeds(t);
}

/* With so many arguments that their list does not fit into a connection's memory libmicrohttpd 0.9.75 gives
 * no answer, and ends the connection at its timeout. That is known, and would take up most of the time
 * here. */
static bool has_too_many(const uint8_t *data, size_t size) {
  int count = 0;
  for (size_t i = 0; i < size; i++) count += data[i] == '&';
  return count > MOST_ARGUMENTS;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct target *t = the_target();
  if (size < 1 || size > MOST_BYTES || has_too_many(data, size)) return -1;
  const int64_t before = tb_store_meta(&t->reader, "documents");
  converse(t, data + 1, size - 1, 1 + data[0] % PIECES, data[0] & FROM_AFAR);
  const int64_t after = tb_store_meta(&t->reader, "documents");
  demand(status_of(t) != MHD_HTTP_INTERNAL_SERVER_ERROR, t->answer);
  demand(after == before || memmem(data, size, REQUEST_TOKEN, strlen(REQUEST_TOKEN)),
         "something was stored without a token");
  if (after > MOST_DOCUMENTS) start_again(t);
  return 0;
}
