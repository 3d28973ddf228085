/* An entry as bytes: lines `name: value`, an empty line, and the body as it will be sent. Invariants:
 * 1. What is read is what was written: the body's length and SHA-256 are checked.
 * 2. No token is ever here; an entry says where it goes and in which format, and the format knows the
 * rest. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/args.h"
#include "harness/push/spool.h"

static const char first_line[] = "tbench-spool 1\n";

/* No value may end its line. */
static const char *one_line(struct tc_arena *arena, const char *text) {
  char *copy = tc_arena_text(arena, text);
  for (char *c = copy; c && *c; c++)
    if (*c == '\n' || *c == '\r') *c = ' ';
  return copy;
}

const char *tb_spool_encode(struct tc_arena *arena, const struct tb_spool_entry *entry, size_t *bytes) {
  const char *source = one_line(arena, entry->source);
  const char *head = source
                         ? tb_format(arena, "%surl: %s\nformat: %s\nsource: %s\nkey: %s\nbytes: %zu\n\n",
                                     first_line, entry->url, entry->format, source, entry->key, entry->bytes)
                         : NULL;
  const size_t length = head ? strlen(head) : 0;
  char *data = head ? tc_arena_bytes(arena, length + entry->bytes + 1) : NULL;
  if (!data) return NULL;
  memcpy(data, head, length);
  if (entry->bytes) memcpy(data + length, entry->body, entry->bytes);
  data[length + entry->bytes] = '\0';
  *bytes = length + entry->bytes;
  return data;
}

/* Cuts `name: value` off the front; NULL: another line is there. */
static char *take_value(char **at, const char *name) {
  const size_t length = strlen(name);
  if (strncmp(*at, name, length) || strncmp(*at + length, ": ", 2)) return NULL;
  char *value = *at + length + 2, *end = strchr(value, '\n');
  if (!end) return NULL;
  *end = '\0';
  *at = end + 1;
  return value;
}

tc_status tb_spool_decode(char *data, size_t bytes, struct tb_spool_entry *entry, struct tc_error *err) {
  char *at = data, *key, *count, *end;
  if (strncmp(data, first_line, strlen(first_line)))
    return tc_fail(err, TC_CORRUPT, "push", "it is not a spool entry of this version");
  at += strlen(first_line);
  const bool good = (entry->url = take_value(&at, "url")) && (entry->format = take_value(&at, "format")) &&
                    (entry->source = take_value(&at, "source")) && (key = take_value(&at, "key")) &&
                    (count = take_value(&at, "bytes")) && *at == '\n' && strlen(key) == TC_SHA256_HEX - 1;
  if (!good) return tc_fail(err, TC_CORRUPT, "push", "its head is damaged");
  entry->body = at + 1;
  entry->bytes = bytes - (size_t)(entry->body - data);
  memcpy(entry->key, key, TC_SHA256_HEX);
  char hex[TC_SHA256_HEX];
  tc_sha256_of(entry->body, entry->bytes, hex);
  if (strtoull(count, &end, 10) != entry->bytes || *end || strcmp(hex, entry->key))
    return tc_fail(err, TC_CORRUPT, "push", "its body is damaged");
  return TC_OK;
}
