/* URLs of endpoints, strictly: what this takes, libcurl understands in the same way. */
#ifndef TB_PUSH_URL_H
#define TB_PUSH_URL_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"

struct tb_url {
  const char
      *origin; /* "https://host:port", in lower case, the port always written: what a token is meant for */
  const char *start; /* scheme and authority as given */
  const char *path;  /* "" or "/…", without '/' at its end */
  const char *query; /* without '?'; "" where there is none */
  bool secure;       /* https */
  bool loopback;     /* the host is this machine, by its address or as localhost */
};

/* In the arena. TC_ARG says what is wrong: another scheme, a user or password, a fragment, blanks, a host
 * that is none. */
tc_status tb_url_parse(struct tc_arena *arena, const char *text, struct tb_url *url, struct tc_error *err);

#endif
