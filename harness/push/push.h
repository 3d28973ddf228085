/* Sending of documents. The core knows no network, no clock and no file system: it gets all three, so that a
 * test can run a thousand failures of them in a second.
 *
 * A document's way: into the spool (tb_spool_add), then tb_push_deliver: sent, again after a pause where that
 * may help, and removed from the spool once the endpoint has acknowledged it. Whatever happens in between, it
 * lies in the spool or the endpoint has it. Threads: one at a time. */
#ifndef TB_PUSH_H
#define TB_PUSH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"
#include "harness/push/push_format.h"
#include "harness/push/spool.h"
#include "results/stats/random.h"

enum { TB_PUSH_TEXT = 4096, TB_PUSH_TYPE = 128, TB_PUSH_URL = 1024, TB_PUSH_WHY = 512 };

/* --- the network --- */
struct tb_push_request {
  const char *url, *method, *content_type, *encoding /* "gzip"; NULL: as it is */, *key;
  const char *credential, *token; /* a header and its value; token NULL: none is sent */
  bool direct;                    /* to this machine: past every proxy, for what goes to one leaves it */
  const void *body;
  size_t bytes;
};

enum tb_push_reach {
  TB_PUSH_ANSWERED,    /* status and headers came */
  TB_PUSH_UNREACHED,   /* no answer: down, too slow, cut off. The endpoint may have stored it all the same */
  TB_PUSH_UNTRUSTED,   /* the endpoint's certificate is not to be trusted */
  TB_PUSH_IMPOSSIBLE,  /* no request could be made of it */
  TB_PUSH_INTERRUPTED, /* the user wants it to end */
};

struct tb_push_answer {
  enum tb_push_reach reach;
  int status;
  double retry_after_s; /* 0: the answer does not say */
  char type[TB_PUSH_TYPE], location[TB_PUSH_URL];
  char text[TB_PUSH_TEXT]; /* the body's begin; or, without an answer, why */
  bool cut;                /* it is not the whole body */
};

struct tb_push_world {
  void *self;
  void (*send)(void *self, const struct tb_push_request *request, struct tb_push_answer *answer);
  bool (*wait)(void *self, int64_t ns); /* false: interrupted */
};

/* --- reading answers: push_verdict.c --- */
enum tb_push_verdict_kind {
  TB_JUDGED_STORED,
  TB_JUDGED_KNOWN,   /* it was there already */
  TB_JUDGED_RETRY,   /* not now */
  TB_JUDGED_PLAIN,   /* not compressed */
  TB_JUDGED_REFUSED, /* never this document */
  TB_JUDGED_DENIED,  /* never with this token, or without one */
  TB_JUDGED_HOLD,    /* nothing will change before a person changes something: certificate, URL, proxy */
  TB_JUDGED_INTERRUPTED,
};
struct tb_push_verdict {
  enum tb_push_verdict_kind kind;
  char why[TB_PUSH_WHY]; /* one line; no token in it */
};
/* The request's token is blotted out of what the endpoint says. */
void tb_push_judge(const struct tb_push_format *format, const struct tb_push_request *request,
                   const struct tb_push_answer *answer, struct tb_push_verdict *verdict);

/* --- sending --- */
struct tb_push_policy {
  int tries; /* of one document, 1 or more */
  double wait_s,
      wait_most_s; /* pause after the first try, twice as long after each further one, up to the most */
  bool compress;
  bool plain; /* the token may go over http:// to another machine */
};

enum tb_push_fate {
  TB_FATE_SENT,
  TB_FATE_KNOWN,
  TB_FATE_KEPT /* it lies in the spool */,
  TB_FATE_REFUSED /* in its refused/ */,
  TB_FATES
};

/* An endpoint that is not asked again by this process, and why. */
struct tb_push_closed {
  const char *origin;
  char why[TB_PUSH_WHY];
};

struct tb_push {
  struct tb_spool *spool;
  struct tb_push_world world;
  struct tb_push_policy policy;
  struct tb_random random;  /* for the jitter */
  const char *token;        /* NULL: there is none */
  const char *token_origin; /* whom it is for; nobody else gets it */
  struct tc_arena *arena;   /* of `closed` */
  TC_VEC(struct tb_push_closed) closed;
  bool interrupted; /* nothing more is sent */
};

struct tb_push_outcome {
  enum tb_push_fate fate;
  char source[TB_PUSH_WHY]; /* the file it was made from; "" where the entry was not read */
  char why[TB_PUSH_WHY];    /* one line; "" where it was sent */
};

/* Sends one entry, if it is there still. Never fails: what goes wrong is the outcome's `why`. */
void tb_push_deliver(struct tb_push *push, const struct tb_spool_name *name, struct tb_push_outcome *outcome);

/* --- push_gzip.c --- */
/* Compressed, in the arena; NULL when memory is out. The same bytes give the same. */
void *tb_push_gzip(struct tc_arena *arena, const void *bytes, size_t count, size_t *compressed);

#endif
