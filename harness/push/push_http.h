/* The network of push.h: HTTP by libcurl, which is opened when a verb first needs it, for linking it would
 * cost each worker's start. */
#ifndef TB_PUSH_HTTP_H
#define TB_PUSH_HTTP_H

#include "harness/base/interrupt.h"
#include "harness/push/push.h"

struct tb_push_http_options {
  const char *cacert; /* file of the certificates to trust; "": those of the system */
  double connect_s;   /* until a connection is there, with TLS */
  double stall_s;     /* without a byte in either direction */
  double total_s;     /* of one request */
};

struct tb_push_http;
/* TC_UNSUPPORTED: there is no libcurl here, or it knows no TLS; TC_NOMEM. Signals of `interrupt` end a
 * request and a pause. */
tc_status tb_push_http_open(const struct tb_push_http_options *options, struct tb_interrupt *interrupt,
                            struct tb_push_http **http, struct tc_error *err);
struct tb_push_world tb_push_http_world(struct tb_push_http *http);
void tb_push_http_close(struct tb_push_http *http);

/* "libcurl/7.88.1 OpenSSL/3.0" of the library here, in the arena; NULL with an error: there is none. */
const char *tb_push_http_version(struct tc_arena *arena, struct tc_error *err);

#endif
