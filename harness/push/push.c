/* The sender. Invariants:
 * 1. An entry is removed after an acknowledgement of the format's row, and moved to refused/ after a refusal;
 *    after anything else it stays.
 * 2. The token goes to the origin that it is meant for, and over http:// to this machine alone, past every
 *    proxy, unless the policy says otherwise.
 * 3. An endpoint that does not answer after all tries, denies access, or does not know the URL, is not asked
 *    again by this process: a thousand entries do not wait a thousand times, and a wrong token is shown once.
 * 4. Pauses grow from try to try and differ between processes; an endpoint that names a time gets it, or is
 *    left alone. */
#include "harness/push/push.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/args.h"
#include "harness/base/clock.h"

enum { COMPRESS_FROM = 1024 /* bytes; fewer would not get shorter */ };

/* One entry that is being sent. */
struct sending {
  struct tb_push *push;
  struct tc_arena *arena;
  const struct tb_push_format *format;
  struct tb_spool_hold hold;
  struct tb_spool_entry entry;
  struct tb_url url;
  struct tb_push_request request;
  struct tb_push_outcome *out;
};

static void say(struct tb_push_outcome *out, enum tb_push_fate fate, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void say(struct tb_push_outcome *out, enum tb_push_fate fate, const char *format, ...) {
  va_list args;
  va_start(args, format);
  out->fate = fate;
  vsnprintf(out->why, sizeof out->why, format, args);
  va_end(args);
}

/* --- endpoints that are not asked again --- */

static const char *closed_why(const struct tb_push *push, const char *origin) {
  for (size_t i = 0; i < push->closed.len; i++)
    if (!strcmp(push->closed.data[i].origin, origin)) return push->closed.data[i].why;
  return NULL;
}

static void close_endpoint(struct tb_push *push, const char *origin, const char *why) {
  struct tb_push_closed closed = {tc_arena_text(push->arena, origin), ""};
  snprintf(closed.why, sizeof closed.why, "%s", why);
  if (closed.origin)
    (void)!tc_vec_push(tc_arena_alloc(push->arena), &push->closed,
                       closed); /* without it, it is asked again: slower, not wrong */
}

/* --- one entry --- */

static bool compress(struct sending *s) {
  size_t bytes;
  if (!s->push->policy.compress || !s->format->gzip || s->entry.bytes < COMPRESS_FROM) return true;
  void *packed = tb_push_gzip(s->arena, s->entry.body, s->entry.bytes, &bytes);
  if (!packed) return false;
  s->request.body = packed;
  s->request.bytes = bytes;
  s->request.encoding = "gzip";
  return true;
}

static void decompress(struct sending *s) {
  s->request.body = s->entry.body;
  s->request.bytes = s->entry.bytes;
  s->request.encoding = NULL;
}

/* Makes the request; false: the outcome says why not. */
static bool prepare(struct sending *s) {
  struct tb_push *push = s->push;
  struct tc_error err = {0};
  s->format = tb_push_format_find(s->entry.format);
  if (!s->format)
    return say(s->out, TB_FATE_KEPT, "this version of tbench has no format '%.100s'", s->entry.format), false;
  if (tb_url_parse(s->arena, s->entry.url, &s->url, &err))
    return say(s->out, TB_FATE_KEPT, "%s", err.message), false;
  const char *why = closed_why(push, s->url.origin);
  if (why) return say(s->out, TB_FATE_KEPT, "%s", why), false;
  const bool ours = push->token && push->token_origin && !strcmp(push->token_origin, s->url.origin);
  if (ours && !s->url.secure && !s->url.loopback && !push->policy.plain)
    return say(s->out, TB_FATE_KEPT,
               "%.200s: the token would go unencrypted; use https://, or allow it with plain=yes",
               s->url.origin),
           false;
  s->request = (struct tb_push_request){.url = s->entry.url,
                                        .method = s->format->method,
                                        .content_type = s->format->content_type,
                                        .key = s->entry.key,
                                        .credential = s->format->credential,
                                        .token = ours ? push->token : NULL,
                                        .direct = s->url.loopback};
  decompress(s);
  return compress(s) || (say(s->out, TB_FATE_KEPT, "out of memory"), false);
}

/* The pause before the next try; less than 0: it is not worth waiting for. Never less than the endpoint asks
 * for, nor than half of the step; up to half of the step more, so that many processes do not come back at
 * once. */
static double pause_after(struct tb_push *push, int tries_made, double asked_s) {
  const double share = (double)(tb_random_next(&push->random) >> 11) / (double)((uint64_t)1 << 53),
               most = push->policy.wait_most_s;
  double step = push->policy.wait_s;
  for (int i = 1; i < tries_made && step < most; i++) step *= 2;
  if (step > most) step = most;
  if (asked_s > most) return -1;
  return (asked_s > step / 2 ? asked_s : step / 2) + share * step / 2;
}

static void keep(struct sending *s, const char *why) {
  say(s->out, TB_FATE_KEPT, "%.150s: %.340s", s->url.origin, why);
  close_endpoint(s->push, s->url.origin, s->out->why);
}

static void acknowledged(struct sending *s, enum tb_push_fate fate) {
  struct tc_error err = {0};
  say(s->out, fate, "%s", "");
  if (tb_spool_done(s->push->spool, &s->hold, &err))
    say(s->out, fate, "it was sent, but cannot be removed: %s", err.message);
}

static void refused(struct sending *s, const char *why) {
  struct tc_error err = {0};
  const char *reason = tb_format(s->arena, "%s\nurl: %s\nformat: %s\nsource: %s\n", why, s->entry.url,
                                 s->entry.format, s->entry.source);
  const tc_status status = tb_spool_refuse(s->push->spool, &s->hold, reason ? reason : why, &err);
  if (status)
    say(s->out, TB_FATE_KEPT, "refused (%.200s), and cannot be moved to refused/: %s", why, err.message);
  else
    say(s->out, TB_FATE_REFUSED, "%.150s: %.340s", s->url.origin, why);
}

/* Whether the entry is to be tried once more, now or after the pause that was made. */
static bool once_more(struct sending *s, const struct tb_push_answer *answer,
                      const struct tb_push_verdict *verdict, int tries_made) {
  struct tb_push *push = s->push;
  if (tries_made >= push->policy.tries) return keep(s, verdict->why), false;
  const double pause_s = pause_after(push, tries_made, answer->retry_after_s);
  char why[TB_PUSH_WHY];
  snprintf(why, sizeof why, "%.300s; it asks to wait %.0f s", verdict->why, answer->retry_after_s);
  if (pause_s < 0) return keep(s, why), false;
  if (push->world.wait(push->world.self, (int64_t)(pause_s * TB_NS_PER_S))) return true;
  push->interrupted = true;
  say(s->out, TB_FATE_KEPT, "interrupted");
  return false;
}

static void send_until_told(struct sending *s) {
  struct tb_push *push = s->push;
  for (int tries_made = 0;;) {
    struct tb_push_answer answer = {0};
    struct tb_push_verdict verdict;
    push->world.send(push->world.self, &s->request, &answer);
    tb_push_judge(s->format, &s->request, &answer, &verdict);
    switch (verdict.kind) {
      case TB_JUDGED_STORED: acknowledged(s, TB_FATE_SENT); return;
      case TB_JUDGED_KNOWN: acknowledged(s, TB_FATE_KNOWN); return;
      case TB_JUDGED_PLAIN: decompress(s); continue;
      case TB_JUDGED_REFUSED: refused(s, verdict.why); return;
      case TB_JUDGED_DENIED:
        refused(s, verdict.why);
        close_endpoint(push, s->url.origin, s->out->why);
        return;
      case TB_JUDGED_HOLD: keep(s, verdict.why); return;
      case TB_JUDGED_INTERRUPTED:
        push->interrupted = true;
        say(s->out, TB_FATE_KEPT, "interrupted");
        return;
      case TB_JUDGED_RETRY:
        if (!once_more(s, &answer, &verdict, ++tries_made)) return;
    }
  }
}

/* Takes the entry; where another process has it, waits for that one's end, within reason. */
static enum tb_spool_taken take(struct sending *s, const struct tb_spool_name *name, struct tc_error *err) {
  struct tb_push *push = s->push;
  enum { LOOK_NS = 100 * TB_NS_PER_MS };
  enum tb_spool_taken taken;
  for (double waited_s = 0;; waited_s += (double)LOOK_NS / TB_NS_PER_S) {
    taken = tb_spool_take(push->spool, s->arena, name, &s->hold, &s->entry, err);
    if (taken != TB_SPOOL_BUSY || waited_s >= push->policy.wait_most_s) return taken;
    if (!push->world.wait(push->world.self, LOOK_NS)) {
      push->interrupted = true;
      return taken;
    }
  }
}

static void deliver(struct sending *s, const struct tb_spool_name *name) {
  struct tc_error err = {0};
  switch (take(s, name, &err)) {
    case TB_SPOOL_GONE: say(s->out, TB_FATE_KNOWN, "another process has sent it"); return;
    case TB_SPOOL_REFUSED: {
      /* Another process sent it: it is told as if we had. */
      const char *origin = tb_url_parse(s->arena, s->entry.url, &s->url, NULL) ? s->entry.url : s->url.origin;
      snprintf(s->out->source, sizeof s->out->source, "%s", s->entry.source);
      say(s->out, TB_FATE_REFUSED, "%.150s: %.280s (the answer to another process)", origin, err.message);
      return;
    }
    case TB_SPOOL_BUSY: say(s->out, TB_FATE_KEPT, "another process is sending it"); return;
    case TB_SPOOL_FAILED: say(s->out, TB_FATE_KEPT, "%s", err.message); return;
    case TB_SPOOL_DAMAGED:
      s->entry = (struct tb_spool_entry){.url = "?", .format = "?", .source = name->text};
      s->url.origin = "damaged in the spool";
      refused(s, err.message);
      break;
    case TB_SPOOL_TAKEN:
      snprintf(s->out->source, sizeof s->out->source, "%s", s->entry.source);
      if (prepare(s)) send_until_told(s);
  }
  tb_spool_leave(s->push->spool, &s->hold);
}

void tb_push_deliver(struct tb_push *push, const struct tb_spool_name *name,
                     struct tb_push_outcome *outcome) {
  struct sending s = {.push = push, .arena = tc_arena_new(tc_arena_parent(push->arena)), .out = outcome};
  *outcome = (struct tb_push_outcome){.fate = TB_FATE_KEPT};
  if (!s.arena)
    say(outcome, TB_FATE_KEPT, "out of memory");
  else if (push->interrupted)
    say(outcome, TB_FATE_KEPT, "interrupted");
  else
    deliver(&s, name);
  if (s.arena) tc_arena_free(s.arena);
}
