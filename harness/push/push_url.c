/* Parsing of URLs. Invariant: nothing passes that two parsers could read in two ways, for the token goes to
 * the host that is read here. */
#include "harness/push/push_url.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/args.h"

enum { HTTP_PORT = 80, HTTPS_PORT = 443, LAST_PORT = 65535 };

static tc_status wrong(struct tc_error *err, const char *text, const char *why) {
  return tc_fail(err, TC_ARG, "push", "the URL %s: %s", text, why);
}

static bool printable(const char *text) {
  for (; *text; text++)
    if (*text <= ' ' || *text > '~' || strchr("\"<>\\^`{|}", *text)) return false;
  return true;
}

/* Bytes of the host: letters, digits, '.' and '-', or an address in brackets; 0: there is none. */
static size_t host_length(const char *text) {
  if (*text == '[') {
    const size_t n = strspn(text + 1, "0123456789abcdefABCDEF:.");
    return n && text[n + 1] == ']' ? n + 2 : 0;
  }
  return strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_");
}

/* An address is one if the resolver says so: "127.1" is, and "127.0.0.1.5" is a name, whoever has it. */
static bool is_loopback(const char *host) {
  enum { NET = 127, NET_SHIFT = 24 };
  struct in_addr address;
  return !strcmp(host, "localhost") || !strcmp(host, "[::1]") ||
         (inet_aton(host, &address) && ntohl(address.s_addr) >> NET_SHIFT == NET);
}

/* The port behind the host; 0: it is none. *end is what follows. */
static long port_of(const char *text, long otherwise, const char **end) {
  *end = text;
  if (*text != ':') return otherwise;
  const size_t digits = strspn(text + 1, "0123456789");
  *end = text + 1 + digits;
  const long port = digits && digits <= 5 ? strtol(text + 1, NULL, 10) : 0;
  return port <= LAST_PORT ? port : 0;
}

tc_status tb_url_parse(struct tc_arena *arena, const char *text, struct tb_url *url, struct tc_error *err) {
  static const char http[] = "http://", https[] = "https://";
  *url = (struct tb_url){.secure = !strncasecmp(text, https, strlen(https))};
  if (!url->secure && strncasecmp(text, http, strlen(http)))
    return wrong(err, text, "it must begin with https:// or http://");
  const char *host = text + strlen(url->secure ? https : http), *end;
  const size_t authority = strcspn(host, "/?#");
  if (memchr(host, '@', authority))
    return wrong(err, "that was given",
                 "it must not have a user or password; the token comes from TBENCH_TOKEN or token_file=");
  if (!printable(text)) return wrong(err, text, "it has a blank or a character that must be written as %XX");
  if (strchr(text, '#')) return wrong(err, text, "it has a fragment (#)");
  const size_t length = host_length(host);
  const long port = port_of(host + length, url->secure ? HTTPS_PORT : HTTP_PORT, &end);
  if (!length || !port || end != host + authority) return wrong(err, text, "its host or port is not valid");
  char *name = (char *)tb_format(arena, "%.*s", (int)length, host); /* in the arena, and ours */
  for (char *c = name; c && *c; c++) *c = (char)tolower((unsigned char)*c);
  size_t path = strcspn(end, "?");
  const char *query = end[path] ? end + path + 1 : "";
  while (path && end[path - 1] == '/') path--;
  url->origin = name ? tb_format(arena, "%s%s:%ld", url->secure ? https : http, name, port) : NULL;
  url->start = tb_format(arena, "%.*s", (int)(end - text), text);
  url->path = tb_format(arena, "%.*s", (int)path, end);
  url->query = tb_format(arena, "%s", query);
  url->loopback = name && is_loopback(name);
  return url->origin && url->start && url->path && url->query ? TC_OK : tc_fail_memory(err, "push");
}
