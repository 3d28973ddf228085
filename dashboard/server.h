/* The server: one process, with threads for connections (libmicrohttpd, epoll), for reading, for analysis, and one that writes.
 *
 * A request is answered by the thread that has its connection (DIRECT), or it is suspended, worked on elsewhere, and resumed: so a slow query
 * holds up nobody, and a document's answer waits for its commit.
 * Stopping (SIGTERM, SIGINT): nothing new is taken, whatever was taken is finished and answered. */
#ifndef TB_DASHBOARD_SERVER_H
#define TB_DASHBOARD_SERVER_H

#include <microhttpd.h>
#include <stdatomic.h>

#include "dashboard/assets.h"
#include "dashboard/auth.h"
#include "dashboard/intake.h"
#include "dashboard/limits.h"
#include "dashboard/settings.h"
#include "dashboard/writer.h"

enum { TB_INTAKES = 4, TB_READERS = 2, TB_STATUSES = 600 };

struct tb_query;
struct tb_readers;
struct tb_analyst;

enum tb_way { TB_WAY_DIRECT, TB_WAY_READ, TB_WAY_TAKE };

struct tb_route {
  const char *method, *path;
  enum tb_scope scope;
  enum tb_way way;
  void (*answer)(struct tb_query *request, struct tb_store *store); /* store: NULL unless READ */
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
  struct tb_assets assets;
  int64_t started_ms;
  atomic_bool stopping;
  atomic_bool drained;      /* no request may be handed to other threads any more */
  atomic_int active;        /* requests that are not answered yet */
  atomic_int working;       /* of these, those that other threads have */
  atomic_llong body_bytes;  /* of requests, held in memory */
  atomic_ullong answered[TB_STATUSES], taken_bytes;
  pthread_mutex_t intake_mutex;
  struct tb_intake *intakes[TB_INTAKES]; /* idle ones; under the mutex */
  int n_intakes;
  char dictionary[TB_STORE_DICTIONARY];
  size_t dictionary_bytes;
  int64_t dictionary_id;
};

struct tb_answer {
  unsigned status;
  const char *type;       /* of its content; static */
  struct tc_strbuf body;
  int retry_s;            /* 0: no Retry-After */
  const char *allow;      /* of 405 */
  bool close;             /* the connection ends with it: the request's body was not read */
  bool cached;            /* it may be kept by a browser */
};

enum tb_query_state { TB_QUERY_READING, TB_QUERY_WORKING, TB_QUERY_ANSWERED };

struct tb_query {
  struct tb_server *server;
  struct MHD_Connection *connection;
  const struct tb_route *route;
  enum tb_query_state state;
  bool suspended;             /* by the route's function: someone else answers */
  char *rest;                 /* of the path, behind a route that ends in / */
  char *body;
  size_t body_bytes, body_cap;
  double deadline_s;          /* by then the body is here */
  struct tb_answer answer;
  struct tb_query *next;    /* in the readers' list */
};

/* --- server.c --- */
tc_status tb_server_run(const struct tb_settings *settings, struct tc_error *err);

/* --- http.c --- */
enum MHD_Result tb_http_handle(void *self, struct MHD_Connection *connection, const char *url, const char *method, const char *version, const char *data, size_t *bytes,
                               void **state);
void tb_http_completed(void *self, struct MHD_Connection *connection, void **state, enum MHD_RequestTerminationCode code);
/* The answer is ready: the connection goes on. From any thread. */
void tb_query_resume(struct tb_query *request);

/* --- take.c --- */
void tb_take_result(struct tb_query *request, struct tb_store *store);
void tb_intakes_open(struct tb_server *server);
void tb_intakes_close(struct tb_server *server);

/* --- readers.c --- */
struct tb_readers *tb_readers_start(struct tb_server *server, struct tc_error *err);
/* False: too many wait. */
bool tb_readers_put(struct tb_readers *readers, struct tb_query *request);
void tb_readers_stop(struct tb_readers *readers);

/* --- upkeep.c: what is done now and then --- */
void tb_upkeep(struct tb_server *server, struct tb_store *reader);

/* --- analyst.c --- */
struct tb_analyst *tb_analyst_start(struct tb_server *server, struct tc_error *err);
void tb_analyst_stop(struct tb_analyst *analyst);

/* --- the routes' functions --- */
#define TB_ROUTE(METHOD, path, scope, way, function, help) void function(struct tb_query *request, struct tb_store *store);
#include "dashboard/routes.def"
#undef TB_ROUTE

#endif
