/* Requests: which route, who may, how much; then the body; then the answer. */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "dashboard/api/compare.h"
#include "dashboard/pages/html.h"
#include "dashboard/server/answer.h"

enum { BODY_SECONDS = 120, CONNECTION_BYTES = 16384, BAD_TOKEN_COST = 20, HOST_BYTES = 512 };

static const struct tb_route routes[] = {
#define TB_ROUTE(METHOD, path, scope, way, function, help)                                                   \
  {#METHOD, path, TB_SCOPE_##scope, TB_WAY_##way, function, help},
#include "dashboard/server/routes.def"
#undef TB_ROUTE
};

/* --- answering --- */

static void header(struct MHD_Response *response, const char *name, const char *value) {
  if (MHD_add_response_header(response, name, value) == MHD_NO)
    return; /* memory is out: the answer goes without it */
}

/* What every answer says to browsers; pages run nothing but our own files. */
static void add_headers(struct MHD_Response *response, const struct tb_answer *answer) {
  char retry[16];
  header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer->type);
  header(response, "X-Content-Type-Options", "nosniff");
  header(response, MHD_HTTP_HEADER_CACHE_CONTROL, answer->cached ? "public, max-age=3600" : "no-store");
  if (strcmp(answer->type, "application/json") || answer->status == MHD_HTTP_OK) {
    header(response, "Content-Security-Policy",
           "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src "
           "'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'");
    header(response, "X-Frame-Options", "DENY");
    header(response, "Referrer-Policy", "no-referrer");
    header(response, "Cross-Origin-Resource-Policy", "same-origin");
  }
  if (answer->allow) header(response, MHD_HTTP_HEADER_ALLOW, answer->allow);
  if (answer->status == MHD_HTTP_UNAUTHORIZED)
    header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE,
           "Basic realm=\"tbench: the password is a token\", charset=\"UTF-8\"");
  if (answer->close) header(response, MHD_HTTP_HEADER_CONNECTION, "close");
  if (answer->retry_s) {
    snprintf(retry, sizeof retry, "%d", answer->retry_s);
    header(response, MHD_HTTP_HEADER_RETRY_AFTER, retry);
  }
}

/* The text of the answer goes over to libmicrohttpd. */
static enum MHD_Result send_answer(struct tb_query *request) {
  struct tb_answer *answer = &request->answer;
  static const char nothing[] = "{\"error\":\"out of memory\"}\n";
  tb_answer_reserve(request);
  const bool whole = tc_strbuf_text(&answer->body) != NULL;
  if (!whole)
    answer->cached = false, answer->status = MHD_HTTP_SERVICE_UNAVAILABLE, answer->retry_s = 1,
    answer->type = "application/json";
  struct MHD_Response *response = MHD_create_response_from_buffer(
      whole ? answer->body.len : sizeof nothing - 1, whole ? answer->body.data : (void *)(uintptr_t)nothing,
      whole ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
  if (!response) return MHD_NO;
  if (whole) tc_strbuf_init(&answer->body, tc_alloc_system());
  add_headers(response, answer);
  if (answer->status < TB_STATUSES)
    atomic_fetch_add_explicit(&request->server->answered[answer->status], 1, memory_order_relaxed);
  const enum MHD_Result queued = MHD_queue_response(request->connection, answer->status, response);
  MHD_destroy_response(response);
  return queued;
}

void tb_query_resume(struct tb_query *request) {
  struct tb_server *server = request->server;
  if (!request->finish) tb_answer_reserve(request);
  request->state = TB_QUERY_ANSWERED;
  MHD_resume_connection(request->connection); /* the request may be gone from here on */
  atomic_fetch_sub(&server->working, 1);
}

static void resume_followers(struct tb_query *request) {
  while (request->followers) {
    struct tb_query *follower = request->followers;
    request->followers = follower->next;
    tb_query_resume(follower);
  }
}

/* --- what a request may do --- */

static const char *header_of(const struct tb_query *request, const char *name) {
  return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

static enum tb_scope scope_of(struct tb_query *request) {
  static const char bearer[] = "Bearer ";
  const char *authorization = header_of(request, MHD_HTTP_HEADER_AUTHORIZATION);
  if (!authorization) return TB_SCOPE_NONE;
  if (!strncasecmp(authorization, bearer, strlen(bearer)))
    return tb_auth_scope(&request->server->auth, authorization + strlen(bearer));
  char *password = NULL, *user = MHD_basic_auth_get_username_password(request->connection, &password);
  const enum tb_scope scope = tb_auth_scope(&request->server->auth, password);
  MHD_free(user);
  MHD_free(password);
  return scope == TB_SCOPE_WRITE ? TB_SCOPE_READ
                                 : scope; /* a browser sends it by itself: nothing may be written by that */
}

static const struct sockaddr *peer_of(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  return info ? info->client_addr : NULL;
}

/* Those of this machine are limited only where a rate was asked for. */
static bool is_limited(const struct tb_server *server, const struct sockaddr *peer) {
  return peer && (server->settings->rate_given || !tb_address_is_loopback(peer));
}

/* Whoever watches the server asks for its health however much others at that address ask for: a 429 would
 * tell that it is down. */
static bool within_rate(struct tb_query *request) {
  const struct sockaddr *peer = peer_of(request->connection);
  if (request->route->answer == tb_health) return true;
  return !is_limited(request->server, peer) ||
         tb_limits_take(&request->server->limits, peer, tc_now_ns() / TC_NS_PER_S, 1,
                        &request->answer.retry_s);
}

/* What has an encoded zero in it stays as it came: decoded, it would end there, and be taken for something
 * shorter. */
size_t tb_http_unescape(void *self, struct MHD_Connection *connection, char *text) {
  (void)self, (void)connection;
  return strstr(text, "%00") ? strlen(text) : MHD_http_unescape(text);
}

enum MHD_Result tb_http_accept(void *self, const struct sockaddr *peer, socklen_t bytes) {
  struct tb_server *server = self;
  (void)bytes;
  return !is_limited(server, peer) || tb_connections_may_add(&server->connection_counts, peer) ? MHD_YES
                                                                                               : MHD_NO;
}

/* `context` is there while the connection is counted. */
void tb_http_connection(void *self, struct MHD_Connection *connection, void **context,
                        enum MHD_ConnectionNotificationCode what) {
  struct tb_server *server = self;
  const struct sockaddr *peer = peer_of(connection);
  if (!is_limited(server, peer)) return;
  if (what == MHD_CONNECTION_NOTIFY_STARTED) {
    *context = tb_connections_add(&server->connection_counts, peer) ? server : NULL;
  } else if (*context) {
    *context = NULL;
    tb_connections_remove(&server->connection_counts, peer);
  }
}

static bool allowed(struct tb_query *request) {
  struct tb_server *server = request->server;
  const enum tb_scope needed = request->route->scope;
  if (needed == TB_SCOPE_NONE || (needed == TB_SCOPE_WRITE && server->settings->open)) return true;
  const enum tb_scope scope = scope_of(request);
  if (tb_auth_allows(&server->auth, scope, needed)) return true;
  if (header_of(request, MHD_HTTP_HEADER_AUTHORIZATION)) {
    /* Guessing is slowed down, whatever is left of what the peer may do. */
    const struct sockaddr *peer = peer_of(request->connection);
    if (is_limited(request->server, peer))
      tb_limits_charge(&request->server->limits, peer, tc_now_ns() / TC_NS_PER_S, BAD_TOKEN_COST);
  }
  tb_answer_error(
      request, MHD_HTTP_UNAUTHORIZED,
      needed == TB_SCOPE_WRITE
          ? "writing needs a token: Authorization: Bearer TOKEN (`tbench serve token=new` makes one)"
          : "reading needs a token: Authorization: Bearer TOKEN, or as the password of Basic");
  return false;
}

static enum MHD_Result count_host(void *count, enum MHD_ValueKind kind, const char *name, const char *value) {
  (void)kind, (void)value;
  if (!strcasecmp(name, MHD_HTTP_HEADER_HOST)) ++*(int *)count;
  return MHD_YES;
}

/* RFC 9112, 3.2: one, and never two, of which a proxy may believe the other one. HTTP/1.0 may come
 * without. */
static bool has_one_host(const struct tb_query *request, const char *version) {
  int count = 0;
  MHD_get_connection_values(request->connection, MHD_HEADER_KIND, count_host, &count);
  return count == 1 || (!count && strcmp(version, MHD_HTTP_VERSION_1_1));
}

/* RFC 9112, 3.2.2: http://HOST/PATH in the place of /PATH, and then that host counts, whatever the header
 * says. It is written into `room` (HOST_BYTES), and *host set to it. Returns the path; NULL: a host that is
 * too long. */
static const char *split_target(const char *url, char *room, const char **host) {
  static const char *const schemes[] = {"http://", "https://"};
  for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
    const size_t scheme = strlen(schemes[i]);
    if (strncasecmp(url, schemes[i], scheme)) continue;
    const size_t length = strcspn(url + scheme, "/");
    if (length >= HOST_BYTES) return NULL;
    snprintf(room, HOST_BYTES, "%.*s", (int)length, url + scheme);
    *host = room;
    return url[scheme + length] ? url + scheme + length : "/";
  }
  return url;
}

/* A page of someone else, whose name leads to this machine, must not read or write here through a browser. */
static bool host_is_ours(const struct tb_query *request, const char *host) {
  static const char *const local[] = {"localhost", "127.0.0.1", "[::1]"};
  const struct tb_settings *settings = request->server->settings;
  if (!host || (!settings->host && !settings->loopback)) return true;
  const char *bracket = *host == '[' ? strchr(host, ']') : host;
  const size_t length = bracket ? (size_t)(bracket - host) + strcspn(bracket, ":") : strlen(host);
  for (size_t i = 0; i < sizeof local / sizeof *local; i++)
    if (strlen(local[i]) == length && !strncasecmp(host, local[i], length)) return true;
  const char *own = settings->listen;
  if (length < strlen(own) && !strncasecmp(host, own, length) && own[length] == ':') return true;
  for (const char *at = settings->host; at && *at; at += strcspn(at, ","), at += *at == ',')
    if (strcspn(at, ",") == length && !strncasecmp(host, at, length)) return true;
  return false;
}

/* --- routes --- */

static bool path_fits(const struct tb_route *route, const char *url) {
  const size_t length = strlen(route->path);
  if (length > 1 && route->path[length - 1] == '/') return !strncmp(route->path, url, length) && url[length];
  return !strcmp(route->path, url);
}

static bool find_route(struct tb_query *request, const char *url, const char *method) {
  for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
    const struct tb_route *route = &routes[i];
    if (!path_fits(route, url)) continue;
    if (!strcmp(route->method, method) ||
        (!strcmp(method, MHD_HTTP_METHOD_HEAD) && !strcmp(route->method, MHD_HTTP_METHOD_GET))) {
      request->route = route;
      if (route->path[strlen(route->path) - 1] == '/') request->rest = strdup(url + strlen(route->path));
      return true;
    }
    request->answer.allow = route->method;
  }
  if (request->answer.allow)
    tb_answer_error(request, MHD_HTTP_METHOD_NOT_ALLOWED, "%s takes %s", url, request->answer.allow);
  else
    tb_answer_error(request, MHD_HTTP_NOT_FOUND, "there is nothing at this path");
  return false;
}

/* --- the steps of a request --- */

static struct tb_query *begin(struct tb_server *server, struct MHD_Connection *connection) {
  struct tb_query *request = calloc(1, sizeof *request);
  if (!request) return NULL;
  request->server = server;
  request->connection = connection;
  request->deadline_s = tc_now_ns() / TC_NS_PER_S + BODY_SECONDS;
  tc_strbuf_init(&request->answer.body, tc_alloc_system());
  atomic_fetch_add(&server->active, 1);
  return request;
}

static bool welcome(struct tb_query *request, const char *url, const char *method, const char *version) {
  char room[HOST_BYTES];
  request->answer.close = true;
  if (!has_one_host(request, version))
    return tb_answer_error(request, MHD_HTTP_BAD_REQUEST, "a request has one Host header"), false;
  /* RFC 9112, 6.1: the end of the body is told by two headers, of which a proxy may believe the other one. */
  if (header_of(request, MHD_HTTP_HEADER_TRANSFER_ENCODING) &&
      header_of(request, MHD_HTTP_HEADER_CONTENT_LENGTH))
    return tb_answer_error(request, MHD_HTTP_BAD_REQUEST,
                           "a body has one length: Content-Length or Transfer-Encoding, not both"),
           false;
  const char *host = header_of(request, MHD_HTTP_HEADER_HOST), *path = split_target(url, room, &host);
  if (!path) return tb_answer_error(request, MHD_HTTP_BAD_REQUEST, "a host that is too long"), false;
  if (!host_is_ours(request, host))
    return tb_answer_error(request, MHD_HTTP_MISDIRECTED_REQUEST,
                           "this server does not have that name (host= of tbench serve)"),
           false;
  if (atomic_load(&request->server->stopping)) return tb_answer_busy(request, "the server is stopping");
  if (!find_route(request, path, method)) return false;
  if (!within_rate(request))
    return tb_answer_error(request, MHD_HTTP_TOO_MANY_REQUESTS, "more than %lld requests a second",
                           request->server->settings->rate),
           false;
  if (!allowed(request)) return false;
  if (request->route->way == TB_WAY_INGEST && !tb_body_is_welcome(request)) return false;
  request->answer.close = false;
  return true;
}

/* The connection waits for a reader's answer. */
static void read_elsewhere(struct tb_query *request) {
  static const char api[] = "/api/";
  const bool compares = request->route->way == TB_WAY_COMPARE && tb_compare_is_asked(request);
  request->suspended = true;
  MHD_suspend_connection(request->connection);
  if (tb_readers_put(request->server->readers, request, compares)) return;
  tb_answer_busy(request, compares ? "too many comparisons are waiting: try again in some seconds"
                                   : "too many queries are waiting");
  if (compares && strncmp(request->route->path, api, strlen(api))) tb_web_error(request);
  tb_query_resume(request);
}

/* The request is whole. Once it is suspended, another thread may answer it at any time: nothing of its answer
 * is looked at here. */
static enum MHD_Result work(struct tb_query *request) {
  struct tb_server *server = request->server;
  request->state = TB_QUERY_WORKING;
  atomic_fetch_add(&server->working, 1);
  if (atomic_load(&server->drained)) {
    tb_answer_busy(request, "the server is stopping");
  } else if (request->route->way == TB_WAY_READ || request->route->way == TB_WAY_COMPARE) {
    read_elsewhere(request);
    return MHD_YES;
  } else {
    request->route->answer(request, NULL);
  }
  if (request->suspended) return MHD_YES;
  atomic_fetch_sub(&server->working, 1);
  return send_answer(request);
}

enum MHD_Result tb_http_handle(void *self, struct MHD_Connection *connection, const char *url,
                               const char *method, const char *version, const char *data, size_t *bytes,
                               void **state) {
  struct tb_query *request = *state;
  if (!request) {
    if (!(request = *state = begin(self, connection))) return MHD_NO;
    return welcome(request, url, method, version) ? MHD_YES : send_answer(request);
  }
  if (request->state == TB_QUERY_ANSWERED) {
    resume_followers(request);
    if (request->finish) request->finish(request);
    free(request->held); /* not for as long as a slow client takes to read */
    request->held = NULL;
    return send_answer(request);
  }
  if (*bytes) {
    if (tc_now_ns() / TC_NS_PER_S > request->deadline_s) return MHD_NO;
    /* A body that nobody wants is read and dropped. One that was refused has no route, and comes all the same
     * where libmicrohttpd took no answer, since it is being stopped. */
    const bool wanted = !request->answer.status && request->route->way == TB_WAY_INGEST;
    if (wanted && !tb_body_take(request, data, *bytes)) {
      request->answer.close = true;
      tb_body_drop(request);
    }
    *bytes = 0;
    return MHD_YES;
  }
  return request->answer.status ? send_answer(request) : work(request);
}

void tb_http_completed(void *self, struct MHD_Connection *connection, void **state,
                       enum MHD_RequestTerminationCode code) {
  struct tb_server *server = self;
  struct tb_query *request = *state;
  (void)connection, (void)code;
  if (!request) return;
  *state = NULL;
  resume_followers(request); /* it may have ended before it was handled again */
  tb_body_drop(request);
  atomic_fetch_sub(&server->answer_bytes, request->answer_bytes);
  tc_strbuf_free(&request->answer.body);
  free(request->rest);
  free(request->held);
  free(request->answer.problem);
  free(request);
  atomic_fetch_sub(&server->active, 1);
}

/* --- the daemon --- */

/* What libmicrohttpd says of clients that go away is no news. */
static void say_nothing(void *self, const char *format, va_list args) {
  (void)self, (void)format, (void)args;
}

struct MHD_Daemon *tb_http_start(struct tb_server *server, unsigned flags,
                                 const struct MHD_OptionItem *options) {
  return MHD_start_daemon(flags | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG | MHD_USE_TURBO, 0,
                          tb_http_accept, server, tb_http_handle, server, MHD_OPTION_EXTERNAL_LOGGER,
                          say_nothing, NULL, MHD_OPTION_NOTIFY_COMPLETED, tb_http_completed, server,
                          MHD_OPTION_UNESCAPE_CALLBACK, tb_http_unescape, NULL, MHD_OPTION_NOTIFY_CONNECTION,
                          tb_http_connection, server, MHD_OPTION_CONNECTION_TIMEOUT,
                          (unsigned)server->settings->timeout, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                          (size_t)CONNECTION_BYTES, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
}
