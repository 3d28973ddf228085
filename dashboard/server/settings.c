/* The command line of `tbench serve`. */
#include "dashboard/server/settings.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  const char *name;
  long long lowest, highest;
  size_t offset;
} numbers[] = {
#define TB_SETTING(field, name, lowest, highest) {name, lowest, highest, offsetof(struct tb_settings, field)},
#include "dashboard/server/settings.def"
#undef TB_SETTING
};

static bool read_number(const struct tb_verb *verb, size_t row, struct tb_settings *out) {
  long long *field = (long long *)(void *)((char *)out + numbers[row].offset);
  const char *given = tb_args_value(&verb->args, numbers[row].name),
             *text = given ? given : tb_verb_option_find(verb->name, numbers[row].name)->default_text;
  if (tb_whole_parse(text, field) && *field >= numbers[row].lowest && *field <= numbers[row].highest)
    return true;
  tb_verb_usage(verb->name, "%s=%s: use a whole number from %lld to %lld", numbers[row].name, text,
                numbers[row].lowest, numbers[row].highest);
  return false;
}

bool tb_address_is_loopback(const struct sockaddr *address) {
  enum { LOOPBACK_NET = 127, NET_SHIFT = 24 };
  if (address->sa_family == AF_INET)
    return ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr) >> NET_SHIFT ==
           LOOPBACK_NET;
  if (address->sa_family != AF_INET6) return false;
  const struct in6_addr *six = &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(six) || (IN6_IS_ADDR_V4MAPPED(six) && six->s6_addr[12] == LOOPBACK_NET);
}

/* ADDRESS:PORT, [ADDRESS]:PORT; numbers, no names: what a name means may change. */
static bool read_listen(const struct tb_verb *verb, struct tb_settings *out) {
  enum { LONGEST = 64, LAST_PORT = 65535 };
  char host[LONGEST];
  const char *text = out->listen, *colon = strrchr(text, ':');
  const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
                                 .ai_socktype = SOCK_STREAM};
  struct addrinfo *found = NULL;
  long long port;
  size_t length = colon ? (size_t)(colon - text) : 0;
  if (length > 1 && text[0] == '[' && text[length - 1] == ']') text++, length -= 2;
  if (!length || length >= sizeof host || !colon[1])
    return tb_verb_usage(verb->name, "listen=%s: use ADDRESS:PORT, as 127.0.0.1:8080 or [::1]:8080",
                         out->listen),
           false;
  if (!tb_whole_parse(colon + 1, &port) ||
      port > LAST_PORT) /* getaddrinfo goes on from 0 behind the last one */
    return tb_verb_usage(verb->name, "listen=%s: the port is a whole number from 0 to %d", out->listen,
                         LAST_PORT),
           false;
  memcpy(host, text, length);
  host[length] = '\0';
  if (getaddrinfo(host, colon + 1, &hints, &found) || !found)
    return tb_verb_usage(verb->name,
                         "listen=%s: the address is no number, or the port is none; use ADDRESS:PORT, as "
                         "127.0.0.1:8080",
                         out->listen),
           false;
  memcpy(&out->address, found->ai_addr, found->ai_addrlen);
  out->address_bytes = found->ai_addrlen;
  freeaddrinfo(found);
  out->loopback = tb_address_is_loopback((struct sockaddr *)&out->address);
  return true;
}

/* An empty one is none; where the default is empty too, it is NULL. */
static const char *text_of(const struct tb_verb *verb, const char *name) {
  const char *text = tb_args_value(&verb->args, name);
  if (!text || !*text) text = tb_verb_option_find(verb->name, name)->default_text;
  return *text ? text : NULL;
}

bool tb_settings_read(const struct tb_verb *verb, struct tb_settings *out) {
  *out = (struct tb_settings){.db = text_of(verb, "db"),
                              .listen = text_of(verb, "listen"),
                              .host = text_of(verb, "host"),
                              .backup = text_of(verb, "backup"),
                              .token = text_of(verb, "token"),
                              .rate_given = tb_args_value(&verb->args, "rate") != NULL};
  if (!tb_verb_flag(verb, "open", &out->open)) return false;
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    if (!read_number(verb, i, out)) return false;
  if (!read_listen(verb, out)) return false;
  if (out->open && !out->loopback)
    return tb_verb_usage(verb->name,
                         "open=yes is for this machine alone: beyond it (listen=%s) writing needs a token",
                         out->listen),
           false;
  return true;
}
