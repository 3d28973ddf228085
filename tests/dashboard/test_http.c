/* Steps of a request that a client cannot bring about at will, and what requests hold. libmicrohttpd's part
 * is played by the test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>

#include "dashboard/server/server.h"

/* Of the client: headers that it sends (`hosts`: how many of Host), and where it is (0.0.0.0: that is not
 * known). */
static struct {
  const char *type, *length, *encoding, *host;
  int hosts;
  struct sockaddr_in peer;
} client = {.hosts = 1};

/* A daemon that is being stopped says yes and takes no answer. */
enum MHD_Result MHD_queue_response(struct MHD_Connection *connection, unsigned int status,
                                   struct MHD_Response *response) {
  (void)connection, (void)status, (void)response;
  return MHD_YES;
}

const char *MHD_lookup_connection_value(struct MHD_Connection *connection, enum MHD_ValueKind kind,
                                        const char *key) {
  (void)connection, (void)kind;
  return !strcmp(key, MHD_HTTP_HEADER_CONTENT_TYPE)        ? client.type
         : !strcmp(key, MHD_HTTP_HEADER_CONTENT_LENGTH)    ? client.length
         : !strcmp(key, MHD_HTTP_HEADER_TRANSFER_ENCODING) ? client.encoding
         : !strcmp(key, MHD_HTTP_HEADER_HOST)              ? client.host
                                                           : NULL;
}

int MHD_get_connection_values(struct MHD_Connection *connection, enum MHD_ValueKind kind,
                              MHD_KeyValueIterator iterator, void *self) {
  (void)connection;
  iterator(self, kind, "Accept", "*/*");
  for (int i = 0; i < client.hosts; i++) iterator(self, kind, i % 2 ? "host" : "Host", "localhost");
  return 1 + client.hosts;
}

const union MHD_ConnectionInfo *MHD_get_connection_info(struct MHD_Connection *connection,
                                                        enum MHD_ConnectionInfoType type, ...) {
  static union MHD_ConnectionInfo info;
  (void)connection, (void)type;
  info.client_addr = (struct sockaddr *)&client.peer;
  return client.peer.sin_addr.s_addr ? &info : NULL;
}

void MHD_resume_connection(struct MHD_Connection *connection) { (void)connection; }

/* A request that is refused while the server stops may have a body all the same. */
static void test_refused_at_the_end(void **state) {
  struct tb_server *server = calloc(1, sizeof *server);
  const struct tb_settings settings = {.loopback = true};
  static const char body[] = "{}";
  void *request = NULL;
  size_t bytes = 0;
  (void)state;
  assert_non_null(server);
  server->settings = &settings;
  atomic_store(&server->stopping, true);
  assert_int_equal(
      tb_http_handle(server, NULL, "/api/v1/results", "POST", "HTTP/1.1", NULL, &bytes, &request), MHD_YES);
  bytes = sizeof body - 1;
  assert_int_equal(
      tb_http_handle(server, NULL, "/api/v1/results", "POST", "HTTP/1.1", body, &bytes, &request), MHD_YES);
  assert_int_equal(bytes, 0); /* read, and dropped */
  assert_int_equal(
      tb_http_handle(server, NULL, "/api/v1/results", "POST", "HTTP/1.1", NULL, &bytes, &request), MHD_YES);
  assert_int_equal(atomic_load(&server->answered[MHD_HTTP_SERVICE_UNAVAILABLE]), 2);
  assert_int_equal(atomic_load(&server->body_bytes), 0);
  tb_http_completed(server, NULL, &request, MHD_REQUEST_TERMINATED_DAEMON_SHUTDOWN);
  assert_null(request);
  assert_int_equal(atomic_load(&server->active), 0);
  free(server);
}

/* --- what requests hold --- */

enum { MIB = 1 << 20, BODIES_LIMIT = 48 * MIB, ANSWERS_LIMIT = 128 * MIB };

static struct tb_server *new_server(const struct tb_settings *settings) {
  struct tb_server *server = calloc(1, sizeof *server);
  assert_non_null(server);
  server->settings = settings;
  return server;
}

/* A document whose headers are here. NULL as `length`: they do not say how long it is. */
static struct tb_query *begin_document(struct tb_server *server, const char *length) {
  size_t bytes = 0;
  void *request = NULL;
  client.type = "application/json";
  client.length = length;
  assert_int_equal(
      tb_http_handle(server, NULL, "/api/v1/results", "POST", "HTTP/1.1", NULL, &bytes, &request), MHD_YES);
  return request;
}

static void send_bytes(struct tb_server *server, struct tb_query *query, size_t count) {
  static const char zeroes[MIB];
  void *request = query;
  while (count) {
    size_t bytes = count < MIB ? count : MIB;
    count -= bytes;
    assert_int_equal(
        tb_http_handle(server, NULL, "/api/v1/results", "POST", "HTTP/1.1", zeroes, &bytes, &request),
        MHD_YES);
    assert_int_equal(bytes, 0);
  }
}

static void end(struct tb_server *server, struct tb_query *query) {
  void *request = query;
  tb_http_completed(server, NULL, &request, MHD_REQUEST_TERMINATED_CLIENT_ABORT);
}

/* The largest body that is allowed fits, also when its length is not known before; one byte more is too much
 * for good, and is not held. */
static void test_largest_body(void **state) {
  static const long long sizes[] = {1, 16, 64};
  (void)state;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    const struct tb_settings settings = {.loopback = true, .open = true, .max_mib = sizes[i]};
    struct tb_server *server = new_server(&settings);
    struct tb_query *query = begin_document(server, NULL);
    send_bytes(server, query, (size_t)sizes[i] * MIB);
    assert_int_equal(query->answer.status, 0);
    assert_int_equal(query->body_bytes, sizes[i] * MIB);
    assert_int_equal(atomic_load(&server->body_bytes), sizes[i] * MIB);
    send_bytes(server, query, 1);
    assert_int_equal(query->answer.status, MHD_HTTP_CONTENT_TOO_LARGE);
    assert_int_equal(atomic_load(&server->body_bytes), 0);
    end(server, query);
    assert_int_equal(atomic_load(&server->body_bytes), 0);
    free(server);
  }
}

/* What headers announce is not held before it comes: whoever sends nothing keeps nobody out. What comes is
 * bounded, and of one that is refused nothing is kept. */
static void test_announced_bodies(void **state) {
  enum { MANY = 20, FIT = BODIES_LIMIT / (16 * MIB) };
  const struct tb_settings settings = {.loopback = true, .open = true, .max_mib = 16};
  struct tb_server *server = new_server(&settings);
  struct tb_query *queries[MANY];
  (void)state;
  for (int i = 0; i < MANY; i++) {
    queries[i] = begin_document(server, "16777216");
    assert_int_equal(queries[i]->answer.status, 0);
  }
  assert_true(atomic_load(&server->body_bytes) <= 2 * MIB);
  for (int i = FIT; i < MANY; i++) end(server, queries[i]);
  for (int i = 0; i < FIT; i++) {
    send_bytes(server, queries[i], 16 * MIB);
    assert_int_equal(queries[i]->answer.status, 0);
  }
  assert_int_equal(atomic_load(&server->body_bytes), BODIES_LIMIT);
  struct tb_query *late = begin_document(server, "16777216");
  assert_int_equal(late->answer.status, MHD_HTTP_SERVICE_UNAVAILABLE);
  assert_int_equal(late->answer.retry_s, 1);
  end(server, late);
  end(server, queries[0]);
  late = begin_document(server, NULL);
  struct tb_query *later = begin_document(server, "16777216");
  send_bytes(server, late, 10 * MIB); /* to grow it would take 16 */
  assert_int_equal(late->answer.status, MHD_HTTP_SERVICE_UNAVAILABLE);
  assert_int_equal(late->body_cap, 0);
  send_bytes(server, later, 16 * MIB);
  assert_int_equal(later->answer.status, 0);
  end(server, late);
  end(server, later);
  for (int i = 1; i < FIT; i++) end(server, queries[i]);
  assert_int_equal(atomic_load(&server->body_bytes), 0);
  free(server);
}

/* An answer of so many bytes is made. */
static struct tb_query *answer(struct tb_server *server, size_t bytes) {
  static const char text[64 << 10];
  struct tb_query *query = calloc(1, sizeof *query);
  assert_non_null(query);
  query->server = server;
  query->answer.status = MHD_HTTP_OK;
  query->answer.type = "text/plain";
  tc_strbuf_init(&query->answer.body, tc_alloc_system());
  for (size_t left = bytes; left;) {
    const size_t piece = left < sizeof text ? left : sizeof text;
    tc_strbuf_bytes(&query->answer.body, text, piece);
    left -= piece;
  }
  atomic_fetch_add(&server->active, 1);
  atomic_fetch_add(&server->working, 1);
  tb_query_resume(query);
  return query;
}

/* Answers are held until their clients have read them. Large ones are bounded together; small ones come
 * through whatever others do. */
static void test_answers(void **state) {
  const struct tb_settings settings = {.loopback = true, .max_mib = 16};
  struct tb_server *server = new_server(&settings);
  (void)state;
  struct tb_query *alone = answer(server, 5 * MIB);
  assert_int_equal(alone->answer.status, MHD_HTTP_OK);
  const long long held = atomic_load(&server->answer_bytes);
  assert_in_range(held, 5 * MIB, 5 * MIB + 1);                       /* not twice as much */
  atomic_fetch_add(&server->answer_bytes, ANSWERS_LIMIT - 10 * MIB); /* of others */
  struct tb_query *large = answer(server, 6 * MIB), *fitting = answer(server, 4 * MIB),
                  *small = answer(server, 8000);
  assert_int_equal(large->answer.status, MHD_HTTP_SERVICE_UNAVAILABLE);
  assert_int_equal(large->answer.retry_s, 1);
  assert_true(large->answer.body.cap < 1000);
  assert_int_equal(fitting->answer.status, MHD_HTTP_OK);
  assert_int_equal(small->answer.status, MHD_HTTP_OK);
  end(server, large);
  end(server, fitting);
  end(server, small);
  assert_int_equal(atomic_load(&server->answer_bytes), held + ANSWERS_LIMIT - 10 * MIB);
  atomic_fetch_sub(&server->answer_bytes, ANSWERS_LIMIT - 10 * MIB);
  end(server, alone);
  assert_int_equal(atomic_load(&server->answer_bytes), 0);
  assert_int_equal(atomic_load(&server->active), 0);
  assert_int_equal(atomic_load(&server->working), 0);
  free(server);
}

/* --- connections --- */

static enum MHD_Result connect_from(struct tb_server *server, const char *address, void **context) {
  client.peer = (struct sockaddr_in){.sin_family = AF_INET};
  assert_int_equal(inet_pton(AF_INET, address, &client.peer.sin_addr), 1);
  const enum MHD_Result accepted =
      tb_http_accept(server, (const struct sockaddr *)&client.peer, sizeof client.peer);
  if (accepted == MHD_YES) tb_http_connection(server, NULL, context, MHD_CONNECTION_NOTIFY_STARTED);
  return accepted;
}

/* A peer has its share of the connections and no more, until one of them is closed. Those of this machine are
 * not limited unless that was asked for. */
static void test_connections(void **state) {
  struct tb_settings settings = {.max_mib = 16};
  struct tb_server *server = new_server(&settings);
  void *contexts[8] = {NULL};
  (void)state;
  tb_connections_open(&server->connection_counts, 2);
  assert_int_equal(connect_from(server, "192.0.2.1", &contexts[0]), MHD_YES);
  assert_int_equal(connect_from(server, "192.0.2.1", &contexts[1]), MHD_YES);
  assert_int_equal(connect_from(server, "192.0.2.1", &contexts[2]), MHD_NO);
  assert_int_equal(connect_from(server, "192.0.2.2", &contexts[2]), MHD_YES);
  for (int i = 3; i < 7; i++) assert_int_equal(connect_from(server, "127.0.0.1", &contexts[i]), MHD_YES);
  assert_int_equal(connect_from(server, "192.0.2.1", &contexts[7]), MHD_NO);
  tb_http_connection(server, NULL, &contexts[1], MHD_CONNECTION_NOTIFY_CLOSED);
  assert_int_equal(connect_from(server, "192.0.2.1", &contexts[1]), MHD_YES);
  settings.rate_given = true;
  assert_int_equal(connect_from(server, "127.0.0.1", &contexts[3]), MHD_YES);
  assert_int_equal(connect_from(server, "127.0.0.1", &contexts[4]), MHD_YES);
  assert_int_equal(connect_from(server, "127.0.0.1", &contexts[5]), MHD_NO);
  client.peer = (struct sockaddr_in){0};
  tb_connections_close(&server->connection_counts);
  free(server);
}

/* --- what is asked --- */

/* The status of the answer to a request whose headers are here; 0: it is taken, and the rest of it may
 * come. */
static unsigned status_of(struct tb_server *server, const char *path, const char *version) {
  size_t bytes = 0;
  void *request = NULL;
  assert_int_equal(tb_http_handle(server, NULL, path, "GET", version, NULL, &bytes, &request), MHD_YES);
  const unsigned status = ((struct tb_query *)request)->answer.status;
  end(server, request);
  return status;
}

static void test_hosts(void **state) {
  const struct tb_settings settings = {.max_mib = 16};
  struct tb_server *server = new_server(&settings);
  (void)state;
  for (int hosts = 0; hosts < 4; hosts++) {
    client.hosts = hosts;
    assert_int_equal(status_of(server, "/health", "HTTP/1.1"), hosts == 1 ? 0 : MHD_HTTP_BAD_REQUEST);
    assert_int_equal(status_of(server, "/health", "HTTP/1.0"), hosts <= 1 ? 0 : MHD_HTTP_BAD_REQUEST);
  }
  client.hosts = 1;
  free(server);
}

/* A body whose length two headers tell could hide a second request from a proxy: it is refused, and the
 * connection ends. */
static void test_two_lengths(void **state) {
  const struct tb_settings settings = {.loopback = true, .open = true, .max_mib = 16};
  struct tb_server *server = new_server(&settings);
  (void)state;
  client.encoding = "chunked";
  struct tb_query *query = begin_document(server, "6");
  assert_int_equal(query->answer.status, MHD_HTTP_BAD_REQUEST);
  assert_true(query->answer.close);
  end(server, query);
  query = begin_document(server, NULL);
  assert_int_equal(query->answer.status, 0);
  end(server, query);
  client.encoding = NULL;
  free(server);
}

/* http://HOST/PATH is /PATH of that host, whatever the header says. */
static void test_whole_targets(void **state) {
  const struct tb_settings settings = {.loopback = true, .max_mib = 16, .listen = "127.0.0.1:1"};
  struct tb_server *server = new_server(&settings);
  static char far[600] = "http://";
  (void)state;
  memset(far + strlen(far), 'a', sizeof far - strlen(far) - 1);
  client.host = "elsewhere";
  client.length = NULL;
  assert_int_equal(status_of(server, "/health", "HTTP/1.1"), MHD_HTTP_MISDIRECTED_REQUEST);
  assert_int_equal(status_of(server, "http://127.0.0.1:1/health", "HTTP/1.1"), 0);
  assert_int_equal(status_of(server, "HTTP://localhost/health", "HTTP/1.1"), 0);
  assert_int_equal(status_of(server, "http://localhost/nothing", "HTTP/1.1"), MHD_HTTP_NOT_FOUND);
  assert_int_equal(status_of(server, far, "HTTP/1.1"), MHD_HTTP_BAD_REQUEST);
  client.host = "localhost";
  assert_int_equal(status_of(server, "http://elsewhere/health", "HTTP/1.1"), MHD_HTTP_MISDIRECTED_REQUEST);
  client.host = NULL;
  free(server);
}

static void test_unescape(void **state) {
  static const struct {
    const char *given, *taken;
  } texts[] = {{"/case", "/case"},     {"a%20b%2F", "a b/"}, {"/%00", "/%00"},
               {"%41%00b", "%41%00b"}, {"%2500", "%00"},     {"", ""}};
  (void)state;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    char text[32];
    snprintf(text, sizeof text, "%s", texts[i].given);
    assert_int_equal(tb_http_unescape(NULL, NULL, text), strlen(texts[i].taken));
    assert_string_equal(text, texts[i].taken);
  }
}

/* A peer that may ask for nothing more still learns of the server's health, and that takes nothing of what it
 * may do. */
static void test_health_is_not_limited(void **state) {
  const struct tb_settings settings = {.rate = 1, .rate_given = true};
  struct tb_server *server = new_server(&settings);
  (void)state;
  tb_limits_open(&server->limits, 0.001);
  client.peer = (struct sockaddr_in){.sin_family = AF_INET};
  assert_int_equal(inet_pton(AF_INET, "192.0.2.1", &client.peer.sin_addr), 1);
  for (int i = 0; i < 10; i++) assert_int_equal(status_of(server, "/health", "HTTP/1.1"), 0);
  assert_int_equal(status_of(server, "/static/style.css", "HTTP/1.1"), 0);
  assert_int_equal(status_of(server, "/static/style.css", "HTTP/1.1"), MHD_HTTP_TOO_MANY_REQUESTS);
  assert_int_equal(status_of(server, "/health", "HTTP/1.1"), 0);
  client.peer = (struct sockaddr_in){0};
  tb_limits_close(&server->limits);
  free(server);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_refused_at_the_end), cmocka_unit_test(test_largest_body),
      cmocka_unit_test(test_announced_bodies),   cmocka_unit_test(test_answers),
      cmocka_unit_test(test_connections),        cmocka_unit_test(test_hosts),
      cmocka_unit_test(test_two_lengths),        cmocka_unit_test(test_whole_targets),
      cmocka_unit_test(test_unescape),           cmocka_unit_test(test_health_is_not_limited),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
