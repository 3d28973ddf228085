/* What a server was told on its command line. */
#ifndef TB_DASHBOARD_SETTINGS_H
#define TB_DASHBOARD_SETTINGS_H

#include <stdbool.h>
#include <sys/socket.h>

#include "harness/base/verb.h"

struct tb_settings {
  const char *db, *listen, *host, *backup, *token;
  bool open;       /* writing needs no token */
  bool rate_given; /* peers of this machine are limited too */
#define TB_SETTING(field, name, lowest, highest) long long field;
#include "dashboard/server/settings.def"
#undef TB_SETTING
  struct sockaddr_storage address;
  socklen_t address_bytes;
  bool loopback; /* only this machine can reach it */
};

/* Texts point into the verb's arguments. False: a line went to standard error. */
bool tb_settings_read(const struct tb_verb *verb, struct tb_settings *out);

/* Whether an address is one of this machine alone. */
bool tb_address_is_loopback(const struct sockaddr *address);

#endif
