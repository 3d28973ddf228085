/* The made-up world: its network, and the endpoint. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "tests/fault/push_world.h"

enum { ASKED_S = 7, ASKED_LONG_S = 100000 };

struct world_document *world_document(struct world *w, const char *key) {
  for (int i = 0; i < w->n_documents; i++)
    if (!strcmp(w->documents[i].key, key)) return &w->documents[i];
  if (w->n_documents == WORLD_DOCUMENTS) abort(); /* keys change from request to request */
  snprintf(w->documents[w->n_documents].key, TC_SHA256_HEX, "%s", key);
  return &w->documents[w->n_documents++];
}

/* The body as it was before compression. */
static size_t unpack(const struct tb_push_request *r, char out[WORLD_BYTES]) {
  enum { GZIP_WINDOW = 15 + 16 };
  z_stream z = {.next_in = (z_const Bytef *)r->body,
                .avail_in = (uInt)r->bytes,
                .next_out = (Bytef *)out,
                .avail_out = WORLD_BYTES};
  if (!r->encoding) return memcpy(out, r->body, r->bytes), r->bytes;
  if (inflateInit2(&z, GZIP_WINDOW) != Z_OK || inflate(&z, Z_FINISH) != Z_STREAM_END) abort();
  inflateEnd(&z);
  return WORLD_BYTES - z.avail_out;
}

static void check_request(struct world *w, const struct tb_push_request *r) {
  char body[WORLD_BYTES];
  char hex[TC_SHA256_HEX];
  tc_sha256_of(body, unpack(r, body), hex);
  if (strcmp(hex, r->key)) w->broken_rule = "the key is not that of the body";
  if (w->clock_s < w->not_before_s) w->broken_rule = "it came before the pause was over";
}

static void say(struct tb_push_answer *a, int status, const char *type, const char *text) {
  a->reach = TB_PUSH_ANSWERED;
  a->status = status;
  snprintf(a->type, sizeof a->type, "%s", type);
  snprintf(a->text, sizeof a->text, "%s", text);
}

static void unreached(struct tb_push_answer *a, const char *why) {
  a->reach = TB_PUSH_UNREACHED;
  snprintf(a->text, sizeof a->text, "%s", why);
}

/* As tbench serve does. */
static void store(struct world_document *d, struct tb_push_answer *a) {
  char text[128];
  snprintf(text, sizeof text, "{\"status\":\"%s\",\"key\":\"%s\"}\n", d->stored ? "already there" : "stored",
           d->key);
  say(a, d->stored ? 200 : 201, "application/json", text);
  if (!d->stored) d->stored = 1;
}

static void answer(struct world *w, enum world_answer how, struct world_document *d,
                   struct tb_push_answer *a) {
  switch (how) {
    case WORLD_GOOD: store(d, a); break;
    case WORLD_DOWN: unreached(a, "Connection refused"); break;
    case WORLD_SLOW:
      w->clock_s += 30;
      unreached(a, "Timeout was reached");
      break;
    case WORLD_CUT_BODY: unreached(a, "Connection reset by peer"); break;
    case WORLD_CUT_ANSWER:
      store(d, a);
      unreached(a, "Empty reply from server");
      break;
    case WORLD_BROKEN: say(a, 500, "text/plain", "oops"); break;
    case WORLD_BROKEN_STORED:
      store(d, a);
      say(a, 500, "text/plain", "oops");
      break;
    case WORLD_BUSY:
      say(a, 429, "application/json", "{\"error\":\"too many\"}");
      a->retry_after_s = ASKED_S;
      break;
    case WORLD_BUSY_LONG:
      say(a, 429, "application/json", "{\"error\":\"too many\"}");
      a->retry_after_s = ASKED_LONG_S;
      break;
    case WORLD_AWAY: say(a, 503, "text/html", "<html>maintenance</html>"); break;
    case WORLD_UNTRUSTED: a->reach = TB_PUSH_UNTRUSTED; break;
    case WORLD_PAGE: say(a, 200, "text/html", "<html>log in</html>"); break;
    case WORLD_REDIRECT:
      say(a, 302, "", "");
      snprintf(a->location, sizeof a->location, "http://elsewhere/");
      break;
    case WORLD_DENIED: say(a, 401, "application/json", "{\"error\":\"no such token\"}"); break;
    case WORLD_TOO_LARGE: say(a, 413, "text/plain", "too large"); break;
    case WORLD_OTHER_KEY:
      say(a, 201, "application/json",
          "{\"status\":\"stored\",\"key\":"
          "\"bb03cc10f3bc3f4bc1a1bb3a2cf1bd6d0b3f7bd9a2ac9a1d1b8d2e7e9a7c6b51\"}\n");
      break;
    case WORLD_STRANGER: say(a, 200, "text/plain", "Welcome to the hotel"); break;
    case WORLD_SILENT_201: say(a, 201, "application/json", ""); break;
    case WORLD_CUT_KEY:
      store(d, a);
      a->text[30] = '\0';
      a->cut = true;
      break;
    case WORLD_ANSWERS: break;
  }
  if (a->reach == TB_PUSH_ANSWERED && a->retry_after_s > 0) w->not_before_s = w->clock_s + a->retry_after_s;
}

static void do_send(void *self, const struct tb_push_request *request, struct tb_push_answer *a) {
  struct world *w = self;
  enum world_fate fate = world_call(w);
  if (fate == WORLD_DIES_BEFORE) w->dead = true;
  if (fate == WORLD_DIES_BEFORE || fate == WORLD_FAILS) {
    unreached(a, "the process ends here, or its network fails");
    return;
  }
  check_request(w, request);
  struct world_document *d = world_document(w, request->key);
  const enum world_answer how =
      w->n_answers ? w->answers[tb_random_next(&w->random) % (uint64_t)w->n_answers] : WORLD_GOOD;
  d->requests++;
  if (w->refuses && !strcmp(w->refuses, request->key))
    answer(w, WORLD_TOO_LARGE, d, a);
  else
    answer(w, how, d, a);
  if (fate == WORLD_DIES_AFTER) {
    w->dead = true;
    unreached(a, "the process ends here");
  }
  d->told += a->reach == TB_PUSH_ANSWERED && a->status < 300 && strstr(a->text, d->key);
}

static bool do_wait(void *self, int64_t ns) {
  struct world *w = self;
  enum world_fate fate = world_call(w);
  if (fate == WORLD_DIES_BEFORE) w->dead = true;
  if (w->dead) return false;
  w->clock_s += (double)ns / 1e9;
  if (fate == WORLD_DIES_AFTER) w->dead = true;
  return fate == WORLD_WORKS || fate == WORLD_FAILS;
}

struct tb_push_world world_network(struct world *w) { return (struct tb_push_world){w, do_send, do_wait}; }
