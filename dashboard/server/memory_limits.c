/* Memory that requests hold: bodies that come, and answers that go. Both are bounded, whatever clients do. */
#include <stdlib.h>
#include <string.h>

#include "dashboard/server/answer.h"

enum {
  BODIES_LIMIT = 48 << 20, /* bytes of all bodies together, at least (bodies_limit) */
  AT_ONCE = 64 << 10,      /* that are set aside for a body on the word of its headers */
  FIRST_BODY = 4096,
  ANSWERS_LIMIT = 128 << 20, /* bytes of all large answers together, at least */
  SMALL_ANSWER = 16 << 10,   /* up to here it is not counted: its connection takes as much */
};

static size_t largest_body(const struct tb_server *server) { return (size_t)server->settings->max_mib << 20; }

/* Of all bodies together: three of the largest fit. */
static long long bodies_limit(const struct tb_server *server) {
  const long long three = 3 * (long long)largest_body(server);
  return three > BODIES_LIMIT ? three : BODIES_LIMIT;
}

/* --- bodies --- */

static const char *header_of(const struct tb_query *request, const char *name) {
  return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

static bool too_large(struct tb_query *request) {
  tb_answer_error(request, MHD_HTTP_CONTENT_TOO_LARGE, "the body is larger than %lld MiB",
                  request->server->settings->max_mib);
  return false;
}

/* The bytes that the request will hold are counted before they come. */
static bool grow_body(struct tb_query *request, size_t cap) {
  struct tb_server *server = request->server;
  const long long more = (long long)(cap - request->body_cap);
  if (atomic_fetch_add(&server->body_bytes, more) + more > bodies_limit(server)) {
    atomic_fetch_sub(&server->body_bytes, more);
    return tb_answer_busy(request, "more documents come than fit into memory");
  }
  char *body = realloc(request->body, cap);
  if (!body) {
    atomic_fetch_sub(&server->body_bytes, more);
    return tb_answer_busy(request, "out of memory");
  }
  request->body = body;
  request->body_cap = cap;
  return true;
}

void tb_body_drop(struct tb_query *request) {
  atomic_fetch_sub(&request->server->body_bytes, (long long)request->body_cap);
  free(request->body);
  request->body = NULL;
  request->body_bytes = request->body_cap = 0;
}

/* Twice as much, but no more than the body will have. */
static size_t next_cap(const struct tb_query *request, size_t wanted) {
  const size_t most = request->announced ? request->announced : largest_body(request->server);
  size_t cap = request->body_cap ? request->body_cap * 2 : FIRST_BODY;
  if (cap > most) cap = most;
  return cap < wanted ? wanted : cap;
}

bool tb_body_take(struct tb_query *request, const char *data, size_t bytes) {
  const size_t wanted = request->body_bytes + bytes;
  if (wanted > largest_body(request->server)) return too_large(request);
  if (wanted > request->body_cap && !grow_body(request, next_cap(request, wanted))) return false;
  memcpy(request->body + request->body_bytes, data, bytes);
  request->body_bytes = wanted;
  return true;
}

/* What they announce is not set aside before it comes: whoever sends nothing would else hold it. */
bool tb_body_is_welcome(struct tb_query *request) {
  const char *length = header_of(request, MHD_HTTP_HEADER_CONTENT_LENGTH),
             *type = header_of(request, MHD_HTTP_HEADER_CONTENT_TYPE);
  static const char json[] = "application/json";
  const unsigned long long bytes = length ? strtoull(length, NULL, 10) : 0;
  if (header_of(request, "Origin"))
    return tb_answer_error(request, MHD_HTTP_FORBIDDEN, "pages may not write here"), false;
  if (!type || strncasecmp(type, json, strlen(json)))
    return tb_answer_error(request, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE,
                           "Content-Type: application/json is what is taken"),
           false;
  if (bytes > largest_body(request->server)) return too_large(request);
  request->announced = (size_t)bytes;
  return !bytes || grow_body(request, bytes < AT_ONCE ? (size_t)bytes : AT_ONCE);
}

/* --- answers --- */

/* Of large answers together. A stored document is one. */
static long long answers_limit(const struct tb_server *server) {
  const long long bodies = bodies_limit(server);
  return bodies > ANSWERS_LIMIT ? bodies : ANSWERS_LIMIT;
}

/* A buffer may be twice as large as what it holds. */
static void fit(struct tc_strbuf *text) {
  char *fitting = text->len && !text->failed
                      ? text->alloc->resize(text->alloc->self, text->data, text->cap, text->len + 1)
                      : NULL;
  if (!fitting) return;
  text->data = fitting;
  text->cap = text->len + 1;
}

/* An answer that is made takes memory until its client has read it. Where others have taken the room, a large
 * one is not given: clients that do not read would else take all there is. One alone always is. */
void tb_answer_reserve(struct tb_query *request) {
  struct tb_server *server = request->server;
  struct tc_strbuf *text = &request->answer.body;
  if (request->answer_bytes || text->cap <= SMALL_ANSWER) return;
  fit(text);
  if (text->cap <= SMALL_ANSWER) return;
  const long long bytes = (long long)text->cap, held = atomic_fetch_add(&server->answer_bytes, bytes);
  if (!held || held + bytes <= answers_limit(server)) {
    request->answer_bytes = bytes;
    return;
  }
  atomic_fetch_sub(&server->answer_bytes, bytes);
  tc_strbuf_free(text);
  tc_strbuf_init(text, tc_alloc_system());
  tb_answer_busy(request, "more answers wait to be read than fit into memory");
}
