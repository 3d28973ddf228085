/* Starting and stopping. */
#include "dashboard/server/server.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include "harness/base/interrupt.h"

enum {
  WRITER_CACHE_KIB = 24576,
  MAINTENANCE_CACHE_KIB = 512,
  OWN_FILES = 64,
  MS_PER_S = 1000,
  STOP_MS = 10000,
  STOP_STEP_MS = 20,
  BACKLOG = 1024,
  PATH = 4096,
  PEER_SHARE = 4 /* a peer has one of so many connections at most */
};

/* --- one server a database --- */

/* The descriptor keeps the lock; -1 with an error. */
static int lock_database(const char *db, struct tc_error *err) {
  char path[PATH];
  if ((size_t)snprintf(path, sizeof path, "%s.serve", db) >= sizeof path)
    return tc_fail(err, TC_ARG, "serve", "db=: the name is too long"), -1;
  const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (fd < 0) return tc_fail(err, TC_IO, "serve", "%s cannot be made: %s", path, strerror(errno)), -1;
  if (!flock(fd, LOCK_EX | LOCK_NB)) return fd;
  tc_fail(err, TC_IO, "serve", "another tbench serve has %s", db);
  close(fd);
  return -1;
}

/* --- tokens --- */

static tc_status take_tokens(struct tb_server *server, struct tc_error *err) {
  char token[TB_TOKEN_TEXT];
  if (!tb_auth_load(&server->auth, &server->store))
    return tc_fail(err, TC_IO, "serve", "%s", server->store.error);
  if (server->auth.tokens.writing || server->settings->open) return TC_OK;
  if (tb_store_meta(&server->store, "first_token")) {
    if (server->settings->loopback) {
      fprintf(stderr,
              "tbench serve: nobody can write, since there is no token for writing any more; make one: "
              "tbench serve db=%s token=new\n",
              server->settings->db);
      return TC_OK;
    }
    return tc_fail(err, TC_ARG, "serve",
                   "there is no token for writing any more, and listen=%s is beyond this machine; make one: "
                   "tbench serve token=new",
                   server->settings->listen);
  }
  if (!tb_token_new(&server->store, TB_SCOPE_WRITE, token) ||
      !tb_store_set_meta(&server->store, "first_token", 1, false) ||
      !tb_auth_load(&server->auth, &server->store))
    return tc_fail(err, TC_IO, "serve", "%s", server->store.error);
  printf("token for writing, shown this once: %s\n", token);
  return TC_OK;
}

/* --- connections --- */

/* How many there may be: what was asked for, or what the system gives; then a line says so. */
static unsigned connection_limit(const struct tb_settings *settings) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit)) return (unsigned)settings->connections;
  const rlim_t wanted = (rlim_t)settings->connections + OWN_FILES;
  if (limit.rlim_cur < wanted) {
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    if (setrlimit(RLIMIT_NOFILE, &limit)) limit.rlim_cur = before;
  }
  if (limit.rlim_cur >= wanted) return (unsigned)settings->connections;
  const unsigned most = limit.rlim_cur > OWN_FILES * 2 ? (unsigned)limit.rlim_cur - OWN_FILES : OWN_FILES;
  fprintf(stderr,
          "tbench serve: %u connections at once at most, not %lld: the system allows %llu open files (ulimit "
          "-n)\n",
          most, settings->connections, (unsigned long long)limit.rlim_cur);
  return most;
}

static int listen_socket(const struct tb_settings *settings, struct tc_error *err) {
  const int one = 1, fd = socket(settings->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd >= 0) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (fd >= 0 && !bind(fd, (const struct sockaddr *)&settings->address, settings->address_bytes) &&
      !listen(fd, BACKLOG))
    return fd;
  tc_fail(err, TC_IO, "serve", "listen=%s: %s", settings->listen, strerror(errno));
  if (fd >= 0) close(fd);
  return -1;
}

/* The port that was given where 0 was asked for. */
static void tell_address(int fd) {
  struct sockaddr_storage address;
  socklen_t bytes = sizeof address;
  char host[INET6_ADDRSTRLEN + 2] = "?", port[16] = "?";
  if (!getsockname(fd, (struct sockaddr *)&address, &bytes))
    getnameinfo((struct sockaddr *)&address, bytes, host, sizeof host, port, sizeof port,
                NI_NUMERICHOST | NI_NUMERICSERV);
  printf(strchr(host, ':') ? "serving at http://[%s]:%s/\n" : "serving at http://%s:%s/\n", host, port);
  fflush(stdout);
}

static struct MHD_Daemon *start_daemon(struct tb_server *server, int fd) {
  const unsigned most = connection_limit(server->settings);
  const struct MHD_OptionItem options[] = {{MHD_OPTION_LISTEN_SOCKET, fd, NULL},
                                           {MHD_OPTION_CONNECTION_LIMIT, most, NULL},
                                           {MHD_OPTION_THREAD_POOL_SIZE, TB_HTTP_THREADS, NULL},
                                           {MHD_OPTION_END, 0, NULL}};
  server->connection_counts.most = (int)(most / PEER_SHARE);
  return tb_http_start(server, MHD_USE_EPOLL_INTERNAL_THREAD, options);
}

/* --- the life of a server --- */

static void serve_until_told(struct tb_server *server, struct tb_interrupt *interrupt,
                             struct tb_store *reader) {
  while (!tb_interrupt_poll(interrupt)) {
    struct pollfd wait = {.fd = interrupt->fd, .events = POLLIN};
    tb_maintenance(server, reader);
    poll(&wait, 1, MS_PER_S);
  }
}

/* Nothing new; what was taken is answered. */
static void finish(struct tb_server *server) {
  atomic_store(&server->stopping, true);
  const MHD_socket fd = MHD_quiesce_daemon(server->daemon);
  for (int waited = 0; atomic_load(&server->active) && waited < STOP_MS; waited += STOP_STEP_MS)
    poll(NULL, 0, STOP_STEP_MS);
  atomic_store(&server->drained, true); /* bodies that are still on their way are refused */
  while (atomic_load(&server->working)) poll(NULL, 0, STOP_STEP_MS);
  MHD_stop_daemon(server->daemon);
  if (fd != MHD_INVALID_SOCKET) close(fd);
}

static tc_status run_daemon(struct tb_server *server, struct tb_interrupt *interrupt, struct tb_store *reader,
                            struct tc_error *err) {
  const int fd = listen_socket(server->settings, err);
  if (fd < 0) return err->status;
  if (!(server->daemon = start_daemon(server, fd))) {
    close(fd);
    return tc_fail(err, TC_IO, "serve", "libmicrohttpd does not start: %s", strerror(errno));
  }
  tell_address(fd);
  serve_until_told(server, interrupt, reader);
  finish(server);
  return TC_OK;
}

/* Threads, in the order in which they need each other. */
static tc_status run_threads(struct tb_server *server, struct tb_interrupt *interrupt, struct tc_error *err) {
  struct tb_store reader;
  tc_status status = tb_store_open(&reader, server->settings->db, TB_STORE_READ, MAINTENANCE_CACHE_KIB, err);
  if (status != TC_OK) return status;
  if (!(server->writer = tb_writer_start(&server->store)))
    status = tc_fail(err, TC_NOMEM, "serve", "threads cannot be started");
  if (status == TC_OK) tb_writer_on_end(server->writer, tb_ingest_group_written, server);
  if (status == TC_OK && !(server->readers = tb_readers_start(server, err))) status = err->status;
  if (status == TC_OK && !(server->analyst = tb_analyst_start(server, err))) status = err->status;
  if (status == TC_OK) status = run_daemon(server, interrupt, &reader, err);
  tb_analyst_stop(server->analyst);
  tb_readers_stop(server->readers);
  if (server->writer) tb_writer_stop(server->writer);
  tb_store_close(&reader);
  return status;
}

static tc_status run_store(struct tb_server *server, struct tc_error *err) {
  struct tb_interrupt interrupt;
  tc_status status =
      tb_store_open(&server->store, server->settings->db, TB_STORE_WRITE, WRITER_CACHE_KIB, err);
  if (status != TC_OK) return status;
  if (!tb_dictionaries_open(&server->dictionaries, server->schema, &server->store))
    status = tc_fail(err, TC_IO, "serve", "%s", server->store.error);
  if (status == TC_OK) status = take_tokens(server, err);
  if (status == TC_OK)
    status = tb_interrupt_open(&interrupt, err); /* before there are threads: they inherit the mask */
  if (status == TC_OK) {
    status = run_threads(server, &interrupt, err);
    tb_interrupt_close(&interrupt);
  }
  tb_dictionaries_close(&server->dictionaries);
  tb_store_close(&server->store);
  return status;
}

tc_status tb_server_run(const struct tb_settings *settings, struct tc_error *err) {
  const int lock = lock_database(settings->db, err);
  if (lock < 0) return err->status;
  sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  struct tb_server *server = calloc(1, sizeof *server);
  tc_status status = server ? TC_OK : tc_fail_memory(err, "serve");
  if (server) {
    server->settings = settings;
    server->started_ms = tb_now_ms();
    tb_auth_open(&server->auth);
    tb_limits_open(&server->limits, (double)settings->rate);
    tb_connections_open(&server->connection_counts, 0); /* as many as the daemon is given (start_daemon) */
    tb_intakes_open(server);
    tb_assets_open(&server->assets);
    server->schema = tb_schema_of_results(err);
    status = server->schema ? run_store(server, err) : err->status;
    tb_schema_free(server->schema);
    tb_intakes_close(server);
    tb_assets_close(&server->assets);
    tb_connections_close(&server->connection_counts);
    tb_limits_close(&server->limits);
    tb_auth_close(&server->auth);
  }
  free(server);
  close(lock);
  return status;
}
