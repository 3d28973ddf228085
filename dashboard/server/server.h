/* The server: one process, with threads for connections (libmicrohttpd, epoll), for reading, for analysis,
 * and one that writes.
 *
 * A request is answered by the thread that has its connection (DIRECT), or it is suspended, worked on
 * elsewhere, and resumed: so a slow query holds up nobody, and a document's answer waits for its commit.
 * Stopping (SIGTERM, SIGINT): nothing new is taken, whatever was taken is finished and answered. */
#ifndef TB_DASHBOARD_SERVER_H
#define TB_DASHBOARD_SERVER_H

#include <microhttpd.h>
#include <stdatomic.h>

#include "dashboard/ingest/dictionary.h"
#include "dashboard/ingest/intake.h"
#include "dashboard/server/assets.h"
#include "dashboard/server/auth.h"
#include "dashboard/server/limits.h"
#include "dashboard/server/settings.h"
#include "dashboard/store/writer.h"

enum {
  TB_HTTP_THREADS = 2,
  TB_INTAKES = 4,
  TB_READERS = 2,
  TB_COMPARED_MOST = 8 /* comparisons that wait */,
  TB_STATUSES = 600
};

struct tb_query;
struct tb_readers;
struct tb_analyst;

enum tb_way { TB_WAY_DIRECT, TB_WAY_READ, TB_WAY_COMPARE, TB_WAY_INGEST };

struct tb_route {
  const char *method, *path;
  enum tb_scope scope;
  enum tb_way way;
  void (*answer)(struct tb_query *request, struct tb_store *store); /* store: NULL unless READ or COMPARE */
  const char *help;
};

struct tb_server {
  const struct tb_settings *settings;
  struct MHD_Daemon *daemon;
  struct tb_store store; /* the writer's */
  struct tb_writer *writer;
  struct tb_readers *readers;
  struct tb_analyst *analyst;
  struct tb_schema *schema;
  struct tb_auth auth;
  struct tb_limits limits;
  struct tb_connection_counts connection_counts;
  struct tb_assets assets;
  int64_t started_ms;
  atomic_bool stopping;
  atomic_bool drained;       /* no request may be handed to other threads any more */
  atomic_int active;         /* requests that are not answered yet */
  atomic_int working;        /* of these, those that other threads have */
  atomic_llong body_bytes;   /* of requests, held in memory */
  atomic_llong answer_bytes; /* of large answers, until their clients have read them */
  atomic_ullong answered[TB_STATUSES], taken_bytes;
  pthread_mutex_t intake_mutex;
  struct tb_intake *intakes[TB_INTAKES]; /* idle ones; under the mutex */
  int n_intakes;
  struct tb_query *written[TB_HTTP_THREADS]; /* of the writer: of the group that it has just written, one for
                                                each thread, with its followers */
  struct tb_dictionaries dictionaries;
  atomic_bool removing; /* maintenance.c: what is too old is being removed */
  bool tokens_unread;   /* of the thread that does the maintenance: they could not be read the last time */
};

struct tb_answer {
  unsigned status;
  const char *type; /* of its content; static */
  struct tc_strbuf body;
  int retry_s;       /* 0: no Retry-After */
  const char *allow; /* of 405 */
  bool close;        /* the connection ends with it: the request's body was not read */
  bool cached;       /* it may be kept by a browser */
  char *problem;     /* of an error: what is wrong, for a page; free()d with the request */
};

enum tb_query_state { TB_QUERY_READING, TB_QUERY_WORKING, TB_QUERY_ANSWERED };

struct tb_query {
  struct tb_server *server;
  struct MHD_Connection *connection;
  const struct tb_route *route;
  enum tb_query_state state;
  bool suspended; /* by the route's function: someone else answers */
  char *rest;     /* of the path, behind a route that ends in / */
  char *body;
  size_t body_bytes, body_cap;
  size_t announced;       /* bytes of the body by its headers; 0: they do not say */
  long long answer_bytes; /* counted in the server's */
  double deadline_s;      /* by then the body is here */
  struct tb_answer answer;
  void (*finish)(struct tb_query *request); /* makes the answer once the request was resumed, on its
                                               connection's thread; NULL: it is made */
  void *held;                               /* for `finish`; free()d with the request */
  struct tb_query *next;                    /* in the readers' list, or among followers */
  pthread_t thread;                         /* of its connection */
  struct tb_query *followers; /* of the same thread: they are resumed by it, once this one was */
};

/* --- server.c --- */
tc_status tb_server_run(const struct tb_settings *settings, struct tc_error *err);

/* --- http.c --- */
/* The daemon, with the functions below. `flags`: where it runs; `options`: those that depend on it,
 * MHD_OPTION_END last. NULL: errno says why. */
struct MHD_Daemon *tb_http_start(struct tb_server *server, unsigned flags,
                                 const struct MHD_OptionItem *options);
enum MHD_Result tb_http_handle(void *self, struct MHD_Connection *connection, const char *url,
                               const char *method, const char *version, const char *data, size_t *bytes,
                               void **state);
void tb_http_completed(void *self, struct MHD_Connection *connection, void **state,
                       enum MHD_RequestTerminationCode code);
/* Decodes % in a path, or in a name or value of a query, in place; returns its length. */
size_t tb_http_unescape(void *self, struct MHD_Connection *connection, char *text);
/* Whether a peer may connect, and what is counted for it as connections come and go. */
enum MHD_Result tb_http_accept(void *self, const struct sockaddr *peer, socklen_t bytes);
void tb_http_connection(void *self, struct MHD_Connection *connection, void **context,
                        enum MHD_ConnectionNotificationCode what);
/* The answer is ready: the connection goes on. From any thread. */
void tb_query_resume(struct tb_query *request);

/* --- memory_limits.c: where the answer is no, 503 or what else is wrong is answered --- */
/* What the headers say of a document's body. */
bool tb_body_is_welcome(struct tb_query *request);
/* More bytes of it. */
bool tb_body_take(struct tb_query *request, const char *data, size_t bytes);
void tb_body_drop(struct tb_query *request);
/* The answer is made, and counted from here on; it becomes 503 where there is no room for it. Once or more
 * often. */
void tb_answer_reserve(struct tb_query *request);

/* --- ingest.c --- */
void tb_ingest_result(struct tb_query *request, struct tb_store *store);
/* What the writer calls behind each group. */
void tb_ingest_group_written(void *server);
void tb_intakes_open(struct tb_server *server);
void tb_intakes_close(struct tb_server *server);

/* --- readers.c --- */
struct tb_readers *tb_readers_start(struct tb_server *server, struct tc_error *err);
/* Answers a request from that database, as of one moment. Where any part of it could not be read, the answer
 * says so, whatever was written until then. */
void tb_query_read(struct tb_query *request, struct tb_store *store);
/* `compares`: it waits, without a database, until those before it are done, and holds up nobody else. False:
 * too many wait. */
bool tb_readers_put(struct tb_readers *readers, struct tb_query *request, bool compares);
void tb_readers_stop(struct tb_readers *readers);

/* --- maintenance.c: what is done now and then --- */
void tb_maintenance(struct tb_server *server, struct tb_store *reader);
/* When the oldest results were started that are kept; 0: all are. */
int64_t tb_retention_edge(const struct tb_settings *settings);

/* --- analyst.c --- */
struct tb_analyst *tb_analyst_start(struct tb_server *server, struct tc_error *err);
void tb_analyst_stop(struct tb_analyst *analyst);

/* --- the routes' functions --- */
#define TB_ROUTE(METHOD, path, scope, way, function, help)                                                   \
  void function(struct tb_query *request, struct tb_store *store);
#include "dashboard/server/routes.def"
#undef TB_ROUTE

#endif
