/* Splits a command line into names and values. Invariants:
 * 1. Every word of argv ends up in exactly one of `named` and `words`, or in an error.
 * 2. Only names that `alone` lets stand alone may stand without a value. */
#include "harness/base/args.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NEAR_MIN = 2, NEAR_SHARE = 3, NEAR_MAX_WORD = 64 };

const char *tb_format(struct tc_arena *arena, const char *format, ...) {
  va_list args;
  va_start(args, format);
  const int count = vsnprintf(NULL, 0, format, args);
  va_end(args);
  char *text = count < 0 ? NULL : tc_arena_bytes(arena, (size_t)count + 1);
  if (!text) return NULL;
  va_start(args, format);
  vsnprintf(text, (size_t)count + 1, format, args);
  va_end(args);
  return text;
}

const char **tb_split(struct tc_arena *arena, const char *text, int *count) {
  *count = 0;
  int commas = 0;
  for (const char *c = text; *c; c++) commas += *c == ',';
  const char **parts = tc_arena_bytes(arena, sizeof *parts * ((size_t)commas + 1));
  char *copy = tc_arena_text(arena, text);
  if (!parts || !copy) return NULL;
  if (!*text) return parts;
  for (char *at = copy;;) {
    char *comma = strchr(at, ',');
    if (comma) *comma = '\0';
    parts[(*count)++] = at;
    if (!comma) return parts;
    at = comma + 1;
  }
}

static char plain(char c) { return c == '-' ? '_' : c; }

bool tb_name_equal(const char *a, const char *b) {
  while (*a && plain(*a) == plain(*b)) a++, b++;
  return !*a && !*b;
}

bool tb_flag_parse(const char *text, bool *value) {
  static const char *const yes[] = {"yes", "on", "true", "1"}, *const no[] = {"no", "off", "false", "0"};
  for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) {
    if (!strcmp(text, yes[i])) return *value = true, true;
    if (!strcmp(text, no[i])) return *value = false, true;
  }
  return false;
}

bool tb_whole_parse(const char *text, long long *value) {
  char *end;
  errno = 0;
  *value = strtoll(text, &end, 10);
  return isdigit((unsigned char)*text) && !*end && !errno;
}

const char *tb_args_value(const struct tb_args *args, const char *name) {
  for (size_t i = 0; i < args->named.len; i++)
    if (tb_name_equal(args->named.data[i].name, name)) return args->named.data[i].value;
  return NULL;
}

static tc_status add(struct tc_arena *arena, struct tb_args *out, const char *name, const char *value,
                     struct tc_error *err) {
  if (!*name) return tc_fail(err, TC_ARG, "command line", "'=%s' has no name; write name=value", value);
  if (tb_args_value(out, name))
    return tc_fail(err, TC_ARG, "command line",
                   "%s is given twice, as %s and as %s; write it once (for several values: %s=A,B)", name,
                   tb_args_value(out, name), value, name);
  const struct tb_arg arg = {name, value};
  return tc_vec_push(tc_arena_alloc(arena), &out->named, arg) ? TC_OK : tc_fail_memory(err, "command line");
}

/* "--name", "--name=value" or "name=value" at argv[*at]; *at moves over a value that stands apart. */
static tc_status take_word(struct tc_arena *arena, int argc, char *const *argv, int *at,
                           tb_stands_alone *alone, const void *names, struct tb_args *out,
                           struct tc_error *err) {
  const char *word = argv[*at];
  const bool dashed = !strncmp(word, "--", 2) && word[2];
  const char *body = dashed ? word + 2 : word, *equals = strchr(body, '=');
  if (equals) {
    const char *name = tb_format(arena, "%.*s", (int)(equals - body), body);
    return name ? add(arena, out, name, equals + 1, err) : tc_fail_memory(err, "command line");
  }
  if (!dashed)
    return tc_vec_push(tc_arena_alloc(arena), &out->words, word) ? TC_OK
                                                                 : tc_fail_memory(err, "command line");
  const char *next = *at + 1 < argc ? argv[*at + 1] : NULL;
  if (alone(names, body, next)) return add(arena, out, body, "yes", err);
  if (!next) return tc_fail(err, TC_ARG, "command line", "--%s needs a value; write %s=VALUE", body, body);
  ++*at;
  return add(arena, out, body, next, err);
}

tc_status tb_args_parse(struct tc_arena *arena, int argc, char *const *argv, tb_stands_alone *alone,
                        const void *names, struct tb_args *out, struct tc_error *err) {
  *out = (struct tb_args){0};
  for (int at = 0; at < argc; at++) {
    const tc_status status = take_word(arena, argc, argv, &at, alone, names, out, err);
    if (status) return status;
  }
  return TC_OK;
}

/* Levenshtein distance with a swap of neighbours as one step; `NEAR_MAX_WORD` bounds the row. */
static int distance(const char *a, const char *b) {
  const int n = (int)strlen(a), m = (int)strlen(b);
  if (n >= NEAR_MAX_WORD || m >= NEAR_MAX_WORD) return NEAR_MAX_WORD;
  int rows[3][NEAR_MAX_WORD + 1];
  for (int j = 0; j <= m; j++) rows[0][j] = j;
  for (int i = 1; i <= n; i++) {
    int *row = rows[i % 3], *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];
    row[0] = i;
    for (int j = 1; j <= m; j++) {
      const int change = above[j - 1] + (plain(a[i - 1]) != plain(b[j - 1]));
      int best = above[j] + 1 < row[j - 1] + 1 ? above[j] + 1 : row[j - 1] + 1;
      if (change < best) best = change;
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && two_above[j - 2] + 1 < best)
        best = two_above[j - 2] + 1;
      row[j] = best;
    }
  }
  return rows[n % 3][m];
}

struct tb_nearest tb_nearest_to(const char *word) {
  const int share = (int)strlen(word) / NEAR_SHARE;
  return (struct tb_nearest){word, NULL, (share > NEAR_MIN ? share : NEAR_MIN) + 1};
}

void tb_nearest_offer(struct tb_nearest *nearest, const char *candidate) {
  const int d = distance(nearest->word, candidate);
  if (d >= nearest->distance || d >= (int)strlen(candidate)) return;
  nearest->distance = d;
  nearest->best = candidate;
}

const char *tb_nearest_hint(struct tc_arena *arena, const struct tb_nearest *nearest) {
  const char *hint = nearest->best ? tb_format(arena, "; did you mean '%s'?", nearest->best) : "";
  return hint ? hint : "";
}
