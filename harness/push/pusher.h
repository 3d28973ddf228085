/* What `tbench push` and `tbench run push=URL` share: token, network, spool and sender put together, and what
 * is told of them. */
#ifndef TB_PUSHER_H
#define TB_PUSHER_H

#include <stdio.h>

#include "harness/push/push.h"
#include "harness/push/push_http.h"
#include "harness/push/push_token.h"
#include "results/exitcode.h"

struct tb_pusher_options {
  const char *verb;        /* for messages */
  const char *to, *format; /* to "": entries of the spool alone */
  const char *spool, *token_file, *branch;
  struct tb_push_policy policy;
  struct tb_push_http_options http;
};
/* What holds where nothing is said. */
struct tb_pusher_options tb_pusher_defaults(const char *verb);

/* Why a document did not get into the spool. */
enum tb_left {
  TB_LEFT_BROKEN /* its file cannot be read, or is no result */,
  TB_LEFT_UNFIT /* for the format */,
  TB_LEFT_ASIDE /* the spool did not take it */,
  TB_LEFTS
};

/* A URL that takes one document of a call, and the file of that one. */
struct tb_pusher_claim {
  const char *url, *file;
};

struct tb_pusher {
  struct tb_pusher_options options;
  struct tc_arena *arena;
  const struct tb_push_format *format;
  struct tb_url url;
  const char *target; /* where new documents go */
  char token[TB_TOKEN_BYTES];
  struct tb_push_http *http;
  struct tb_disk disk;
  struct tb_spool spool;
  struct tb_push push;
  TC_VEC(struct tb_pusher_claim) claims; /* of a format that replaces */
  int count[TB_FATES], left[TB_LEFTS];
  char left_why[TB_PUSH_WHY]; /* the spool's first reason; "" where it took all */
  int told_again;             /* lines left out since they would say the same */
  char told[TB_PUSH_WHY];
};

/* Reads token, format and URL, opens spool and network; all is told before anything is done. TC_ARG,
 * TC_UNSUPPORTED: usage; TC_IO, TC_NOMEM. Ended by close also after a failure. `arena` must live longer. */
tc_status tb_pusher_open(struct tb_pusher *p, const struct tb_pusher_options *options, struct tc_arena *arena,
                         struct tb_interrupt *interrupt, struct tc_error *err);
void tb_pusher_close(struct tb_pusher *p);

/* Puts a result file into the spool: its entries are appended to `names`. Where the spool takes no more,
 * those of `names` are delivered first, and are no longer in it. What does not get there is told on standard
 * error and counted, and keeps no other file from going. */
void tb_pusher_add(struct tb_pusher *p, const char *file, tb_spool_names *names);
/* How many documents did not get there. */
int tb_pusher_left(const struct tb_pusher *p);
/* Names of the entries that lie in the spool, `refused`: also of those that were refused, which are put back;
 * where options.to is given, those for its host alone: the others lie as they lay. A token goes to one host:
 * TC_ARG where there are several and none is named, and nothing is put back. */
tc_status tb_pusher_spooled(struct tb_pusher *p, bool refused, tb_spool_names *names, struct tc_error *err);
/* Sends them, and tells on standard error what was not. */
void tb_pusher_deliver(struct tb_pusher *p, const tb_spool_names *names);
/* One line on what came of all. */
void tb_pusher_summarise(const struct tb_pusher *p, FILE *out);
/* What push exits with: everything is at the endpoint, or it is not, or a file is broken or unfit, or the
 * user ended it. */
enum tb_exit tb_pusher_exit(const struct tb_pusher *p);

#endif
