#include "base/config.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/products.h"

enum { NOKEY, KEY, RUN, ASIDE };
enum { COMPILE, OPENING };

static const char unlimited[] = "unlimited";

#define ANY              {.most = INT64_MAX}
#define RANGE(low, high) {.least = low, .most = high}
#define UNITS            {.words = unlimited, .most = INT64_MAX}
#define ONE_OF(all)      {.words = all, .most = INT64_MAX}
#define LIST_OF(all)     {.words = all, .list = true, .most = INT64_MAX}
static const struct tc_config_row rows[] = {
#define TC_CONFIG(field, name, type, dflt, key, acts, takes, help)                                           \
  {name, help, #dflt, TC_CONFIG_##type, key == KEY, key == RUN, key == ASIDE, acts == OPENING, takes},
#include "base/config.def"
#undef TC_CONFIG
};
#undef ANY
#undef RANGE
#undef UNITS
#undef ONE_OF
#undef LIST_OF

static const size_t offsets[] = {
#define TC_CONFIG(field, name, type, dflt, key, acts, takes, help) offsetof(struct tc_config, field),
#include "base/config.def"
#undef TC_CONFIG
};

int tc_config_count(void) { return (int)(sizeof rows / sizeof *rows); }

const struct tc_config_row *tc_config_row(int index) { return &rows[index]; }

int tc_config_find(const char *name) {
  for (int i = 0; i < tc_config_count(); i++)
    if (!strcmp(rows[i].name, name)) return i;
  return -1;
}

void tc_config_default(struct tc_config *config) {
  *config = (struct tc_config){
#define TC_CONFIG(field, name, type, dflt, key, acts, takes, help) .field = dflt,
#include "base/config.def"
#undef TC_CONFIG
  };
}

static void *slot(struct tc_config *config, int index) { return (char *)config + offsets[index]; }
static const void *const_slot(const struct tc_config *config, int index) {
  return (const char *)config + offsets[index];
}

static bool parse_bool(const char *text, bool *value) {
  static const char *const yes[] = {"on", "yes", "true", "1"}, *const no[] = {"off", "no", "false", "0"};
  for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) {
    if (!strcmp(text, yes[i])) return *value = true, true;
    if (!strcmp(text, no[i])) return *value = false, true;
  }
  return false;
}

static bool parse_int(const char *text, int64_t *value) {
  char *end;
  errno = 0;
  *value = strtoll(text, &end, 10);
  return !errno && end != text && !*end;
}

static bool is_word_of(const char *words, const char *word, size_t length) {
  for (const char *at = words; *at;) {
    const size_t n = strcspn(at, ",");
    if (n == length && !strncmp(at, word, n)) return true;
    at += n + strspn(at + n, ", ");
  }
  return false;
}

static bool fits_words(const struct tc_config_takes *takes, const char *text) {
  if (!takes->words) return true;
  if (!takes->list) return is_word_of(takes->words, text, strlen(text));
  for (const char *at = text; *at;) {
    const size_t n = strcspn(at, ",");
    if (!is_word_of(takes->words, at, n)) return false;
    at += n + (at[n] == ',');
  }
  return true;
}

static tc_status bad_number(const struct tc_config_row *row, const char *text, struct tc_error *err) {
  if (row->takes.words)
    return tc_fail(err, TC_ARG, "config", "%s=%s: use a whole number of 0 or more, or %s", row->name, text,
                   row->takes.words);
  if (row->takes.most == INT64_MAX)
    return tc_fail(err, TC_ARG, "config", "%s=%s: use a whole number of %lld or more", row->name, text,
                   (long long)row->takes.least);
  return tc_fail(err, TC_ARG, "config", "%s=%s: use a whole number from %lld to %lld", row->name, text,
                 (long long)row->takes.least, (long long)row->takes.most);
}

tc_status tc_config_set(struct tc_config *config, const char *name, const char *text, struct tc_error *err) {
  const int index = tc_config_find(name);
  if (index < 0)
    return tc_fail(err, TC_ARG, "config", "there is no switch '%s'; `tbench help switches` lists them", name);
  switch (rows[index].type) {
    case TC_CONFIG_BOOL:
      if (!parse_bool(text, slot(config, index)))
        return tc_fail(err, TC_ARG, "config", "%s=%s: use on or off", name, text);
      break;
    case TC_CONFIG_INT: {
      int64_t value;
      if (rows[index].takes.words && !strcmp(text, rows[index].takes.words)) {
        *(int64_t *)slot(config, index) = TC_CONFIG_UNLIMITED;
        break;
      }
      if (!parse_int(text, &value) || value < rows[index].takes.least || value > rows[index].takes.most)
        return bad_number(&rows[index], text, err);
      *(int64_t *)slot(config, index) = value;
      break;
    }
    case TC_CONFIG_TEXT: {
      const struct tc_config_takes *takes = &rows[index].takes;
      if (!fits_words(takes, text))
        return tc_fail(err, TC_ARG, "config", "%s=%s: use %s%s", name, text,
                       takes->list ? "any of " : "one of ", takes->words);
      *(const char **)slot(config, index) = text;
      break;
    }
  }
  return TC_OK;
}

tc_status tc_config_from_environment(struct tc_config *config, struct tc_error *err) {
  for (int i = 0; i < tc_config_count(); i++) {
    char variable[64] = "TB_";
    size_t n = strlen(variable);
    for (const char *c = rows[i].name; *c && n + 1 < sizeof variable; c++)
      variable[n++] = *c == '.' ? '_' : (char)toupper((unsigned char)*c);
    variable[n] = '\0';
    const char *text = getenv(variable);
    if (!text) continue;
    const tc_status status = tc_config_set(config, rows[i].name, text, err);
    if (status) return tc_error_at(err, "environment variable %s", variable), status;
  }
  return TC_OK;
}

void tc_config_get(const struct tc_config *config, int index, struct tc_strbuf *out) {
  const void *at = const_slot(config, index);
  switch (rows[index].type) {
    case TC_CONFIG_BOOL: tc_strbuf_puts(out, *(const bool *)at ? "on" : "off"); break;
    case TC_CONFIG_INT:
      if (rows[index].takes.words && *(const int64_t *)at == TC_CONFIG_UNLIMITED)
        tc_strbuf_puts(out, rows[index].takes.words);
      else
        tc_strbuf_printf(out, "%lld", (long long)*(const int64_t *)at);
      break;
    case TC_CONFIG_TEXT: tc_strbuf_puts(out, *(const char *const *)at); break;
  }
}

static bool same(const struct tc_config *a, const struct tc_config *b, int index) {
  const void *x = const_slot(a, index), *y = const_slot(b, index);
  switch (rows[index].type) {
    case TC_CONFIG_BOOL: return *(const bool *)x == *(const bool *)y;
    case TC_CONFIG_INT: return *(const int64_t *)x == *(const int64_t *)y;
    case TC_CONFIG_TEXT: return !strcmp(*(const char *const *)x, *(const char *const *)y);
  }
  return false;
}

bool tc_config_is_default(const struct tc_config *config, int index) {
  struct tc_config standard;
  tc_config_default(&standard);
  return same(config, &standard, index);
}

static uint64_t hash_row(uint64_t hash, const struct tc_config *config, int index) {
  const void *at = const_slot(config, index);
  hash = tc_hash_u64(hash, (uint64_t)index);
  switch (rows[index].type) {
    case TC_CONFIG_BOOL: return tc_hash_u64(hash, *(const bool *)at);
    case TC_CONFIG_INT: return tc_hash_u64(hash, (uint64_t)*(const int64_t *)at);
    case TC_CONFIG_TEXT:
      return tc_hash_bytes(hash, *(const char *const *)at, strlen(*(const char *const *)at));
  }
  return hash;
}

uint64_t tc_config_key(const struct tc_config *config) {
  uint64_t hash = 0;
  for (int i = 0; i < tc_config_count(); i++)
    if (rows[i].in_key) hash = hash_row(hash, config, i);
  return hash;
}

uint64_t tc_config_run_key(const struct tc_config *config) {
  uint64_t hash = 0;
  for (int i = 0; i < tc_config_count(); i++)
    if (rows[i].in_run) hash = hash_row(hash, config, i);
  return hash;
}
