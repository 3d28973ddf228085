/* POST /api/v1/results: the body becomes a submission, which the writer stores; the answer waits for its
 * commit. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dashboard/server/answer.h"

enum { WAITING_MOST = 16384, VALUES_MOST = 1 << 20 };

/* --- intakes, made when they are needed --- */

void tb_intakes_open(struct tb_server *server) { pthread_mutex_init(&server->intake_mutex, NULL); }

void tb_intakes_close(struct tb_server *server) {
  for (int i = 0; i < server->n_intakes; i++) tb_intake_free(server->intakes[i]);
  pthread_mutex_destroy(&server->intake_mutex);
}

static struct tb_intake *borrow(struct tb_server *server) {
  struct tb_intake *intake = NULL;
  const struct tb_dictionary *newest = tb_dictionary_newest(&server->dictionaries);
  pthread_mutex_lock(&server->intake_mutex);
  if (server->n_intakes) intake = server->intakes[--server->n_intakes];
  pthread_mutex_unlock(&server->intake_mutex);
  if (intake && tb_intake_dictionary(intake) == newest->id) return intake;
  tb_intake_free(intake);
  const struct tb_intake_limits limits = {(size_t)server->settings->max_mib << 20, VALUES_MOST,
                                          (size_t)server->settings->max_cases};
  return tb_intake_new(server->schema, limits, newest->bytes, newest->length, newest->id);
}

static void give_back(struct tb_server *server, struct tb_intake *intake) {
  pthread_mutex_lock(&server->intake_mutex);
  const bool room = server->n_intakes < TB_INTAKES;
  if (room) server->intakes[server->n_intakes++] = intake;
  pthread_mutex_unlock(&server->intake_mutex);
  if (!room) tb_intake_free(intake);
}

/* --- the answer --- */

/* On the writer's thread, which does no more than it must: the answer is made by the thread that sends it. Of
 * a group one request is resumed for each thread, and that one resumes the others: so a thread is woken once
 * for all of them. */
static void written(struct tb_write *self) {
  struct tb_query *request = self->owner, **leaders = request->server->written;
  for (int i = 0; i < TB_HTTP_THREADS; i++) {
    if (!leaders[i]) {
      leaders[i] = request;
      return;
    }
    if (pthread_equal(leaders[i]->thread, request->thread)) {
      request->next = leaders[i]->followers;
      leaders[i]->followers = request;
      return;
    }
  }
  tb_query_resume(request);
}

void tb_ingest_group_written(void *self) {
  struct tb_server *server = self;
  for (int i = 0; i < TB_HTTP_THREADS && server->written[i]; i++) {
    struct tb_query *leader = server->written[i];
    server->written[i] = NULL;
    tb_query_resume(leader); /* it may be gone from here on */
  }
}

static void answer_written(struct tb_query *request) {
  const struct tb_submission *s = request->held;
  struct tb_answer *answer = &request->answer;
  if (s->write.written == TB_WRITTEN_FAILED) {
    answer->retry_s = 5;
    tb_answer_error(request, MHD_HTTP_SERVICE_UNAVAILABLE,
                    "the database could not be written; nothing was stored");
    return;
  }
  static const char stored[] = "{\"status\":\"stored\",\"key\":\"",
                    there[] = "{\"status\":\"already there\",\"key\":\"";
  const bool is_new = s->write.written == TB_WRITTEN_STORED;
  char hex[TC_SHA256_HEX];
  tc_sha256_hex(s->key, hex);
  answer->status = is_new ? MHD_HTTP_CREATED : MHD_HTTP_OK;
  answer->type = "application/json";
  tc_strbuf_bytes(&answer->body, is_new ? stored : there, (is_new ? sizeof stored : sizeof there) - 1);
  tc_strbuf_bytes(&answer->body, hex, sizeof hex - 1);
  tc_strbuf_bytes(&answer->body, "\"}\n", 3);
}

static bool encoding_of(struct tb_query *request, bool *gzip) {
  const char *encoding =
      MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_ENCODING);
  *gzip = encoding && !strcasecmp(encoding, "gzip");
  if (!encoding || *gzip || !strcasecmp(encoding, "identity")) return true;
  tb_answer_error(request, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE,
                  "Content-Encoding: gzip and identity are what is taken");
  return false;
}

static void offer_sample(struct tb_server *server, const struct tb_intake *intake,
                         const struct tb_submission *s) {
  const char *text = tb_intake_text(intake);
  struct tb_write *sample =
      text ? tb_dictionary_offer(&server->dictionaries, text, s->bytes, s->packed_bytes) : NULL;
  if (sample) tb_writer_put(server->writer, sample);
}

/* It would be removed at once, and the sender, who was told that it is stored, would keep none. */
static bool is_too_old(const struct tb_server *server, const struct tb_submission *s, char *why) {
  if (s->started >= tb_retention_edge(server->settings)) return false;
  snprintf(why, TB_SCHEMA_WHY, "$.started: longer ago than this server keeps results (retain=%lld, in days)",
           server->settings->retain);
  return true;
}

static enum tb_taken ingest(struct tb_query *request, bool gzip, struct tb_submission **out, char *why) {
  struct tb_server *server = request->server;
  struct tb_intake *intake = borrow(server);
  snprintf(why, TB_SCHEMA_WHY, "out of memory");
  if (!intake) return TB_TAKEN_NO_MEMORY;
  const char *key = MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, "Idempotency-Key");
  enum tb_taken taken =
      tb_intake_take(intake, request->body ? request->body : "", request->body_bytes, gzip, key, out, why);
  if (taken == TB_TAKEN_OK && is_too_old(server, *out, why)) {
    free(*out);
    taken = TB_TAKEN_BAD;
  }
  if (taken == TB_TAKEN_OK) offer_sample(server, intake, *out);
  give_back(server, intake);
  return taken;
}

static void refuse(struct tb_query *request, enum tb_taken taken, const char *why) {
  static const unsigned statuses[] = {[TB_TAKEN_BAD] = MHD_HTTP_BAD_REQUEST,
                                      [TB_TAKEN_TOO_LARGE] = MHD_HTTP_CONTENT_TOO_LARGE,
                                      [TB_TAKEN_NO_MEMORY] = MHD_HTTP_SERVICE_UNAVAILABLE};
  if (taken == TB_TAKEN_NO_MEMORY) request->answer.retry_s = 1;
  tb_answer_error(request, statuses[taken], "%s", why);
}

void tb_ingest_result(struct tb_query *request, struct tb_store *store) {
  struct tb_server *server = request->server;
  struct tb_submission *submission = NULL;
  char why[TB_SCHEMA_WHY];
  bool gzip;
  (void)store;
  if (!encoding_of(request, &gzip)) return;
  if (tb_writer_waiting(server->writer) > WAITING_MOST) {
    request->answer.retry_s = 1;
    tb_answer_error(request, MHD_HTTP_SERVICE_UNAVAILABLE, "too many documents are waiting to be stored");
    return;
  }
  const enum tb_taken taken = ingest(request, gzip, &submission, why);
  atomic_fetch_add_explicit(&server->taken_bytes, request->body_bytes, memory_order_relaxed);
  if (taken != TB_TAKEN_OK) {
    refuse(request, taken, why);
    return;
  }
  submission->write.owner = request;
  submission->write.done = written;
  request->held = submission;
  request->finish = answer_written;
  request->thread = pthread_self();
  request->suspended = true;
  MHD_suspend_connection(request->connection);
  tb_writer_put(server->writer, &submission->write); /* from here on the writer may answer at any time */
}
