/* The cache object and its in-memory level. */
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cache/internal.h"
#include "runtime/compiled.h"

#ifdef TC_HOSTILE
enum { MEMORY_ENTRIES = 2 };
#else
enum { MEMORY_ENTRIES = 256 };
#endif

static const char *const part_names[TC_KEY_PARTS] = {"graph",  "shapes",    "configuration",
                                                     "target", "generator", "artifact ABI"};

static bool is_home(const char *path) { return path && path[0] == '/' && path[1]; }

static void default_directory(char path[CACHE_PATH]) {
  const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  char buffer[CACHE_PATH];
  struct passwd entry, *user = NULL;
  path[0] = '\0';
  if (xdg && *xdg == '/') {
    snprintf(path, CACHE_PATH, "%s/tbench", xdg);
    return;
  }
  if (!is_home(home))
    home = !getpwuid_r(getuid(), &entry, buffer, sizeof buffer, &user) && user ? user->pw_dir : NULL;
  if (is_home(home)) snprintf(path, CACHE_PATH, "%.*s/.cache/tbench", CACHE_PATH / 2, home);
}

struct tc_cache *tc_cache_open(const struct tc_alloc *alloc, const char *directory, int64_t bound_mb) {
  struct tc_cache *cache = TC_NEW(alloc, struct tc_cache);
  if (!cache) return NULL;
  cache->alloc = alloc;
  cache->bound_bytes = bound_mb < INT64_MAX >> 20 ? bound_mb << 20 : INT64_MAX;
  if (*directory)
    snprintf(cache->directory, sizeof cache->directory, "%s", directory);
  else
    default_directory(cache->directory);
  return cache;
}

void tc_cache_close(struct tc_cache *cache) {
  if (!cache) return;
  (void)tc_cache_flush(cache, NULL);
  tc_cache_close(cache->shared);
  tc_vec_free(cache->alloc, &cache->pending);
  tc_cache_memory_clear(cache);
  tc_vec_free(cache->alloc, &cache->memory);
  tc_vec_free(cache->alloc, &cache->choices);
  TC_FREE(cache->alloc, cache);
}

const char *tc_cache_directory(struct tc_cache *cache) { return cache->directory; }

static bool same_key(const struct tc_cache_key *a, const struct tc_cache_key *b) {
  return !memcmp(a->digest, b->digest, sizeof a->digest) && a->run == b->run;
}

/* Newest last; few entries, and the digest's first word decides nearly always. */
struct tc_compiled *tc_cache_memory_get(struct tc_cache *cache, const struct tc_cache_key *key) {
  for (size_t i = cache->memory.len; i-- > 0;)
    if (same_key(&cache->memory.data[i].key, key)) return cache->memory.data[i].compiled;
  return NULL;
}

/* An entry of the same key is replaced: what it holds did not serve. */
static bool replace(struct tc_cache *cache, const struct tc_cache_key *key, struct tc_compiled *compiled) {
  for (size_t i = 0; i < cache->memory.len; i++) {
    if (!same_key(&cache->memory.data[i].key, key)) continue;
    tc_compiled_release(cache->memory.data[i].compiled);
    cache->memory.data[i].compiled = tc_compiled_retain(compiled);
    return true;
  }
  return false;
}

bool tc_cache_memory_put(struct tc_cache *cache, const struct tc_cache_key *key,
                         struct tc_compiled *compiled) {
  if (replace(cache, key, compiled)) return true;
  if (cache->memory.len == MEMORY_ENTRIES) { /* the oldest goes */
    tc_compiled_release(cache->memory.data[0].compiled);
    memmove(cache->memory.data, cache->memory.data + 1, sizeof *cache->memory.data * --cache->memory.len);
  }
  if (!tc_vec_push(cache->alloc, &cache->memory, ((struct memory_entry){*key, compiled}))) return false;
  tc_compiled_retain(compiled);
  return true;
}

void tc_cache_memory_clear(struct tc_cache *cache) {
  for (size_t i = 0; i < cache->memory.len; i++) tc_compiled_release(cache->memory.data[i].compiled);
  cache->memory.len = 0;
  cache->choices.len = 0;
}

static int parts_that_differ(const uint64_t a[TC_KEY_PARTS], const uint64_t b[TC_KEY_PARTS]) {
  int n = 0;
  for (int i = 0; i < TC_KEY_PARTS; i++) n += a[i] != b[i];
  return n;
}

static void consider(const struct tc_cache_key *key, const uint64_t candidate[TC_KEY_PARTS], int *fewest,
                     uint64_t nearest[TC_KEY_PARTS]) {
  const int n = parts_that_differ(key->part, candidate);
  if (n >= *fewest) return;
  *fewest = n;
  memcpy(nearest, candidate, sizeof(uint64_t) * TC_KEY_PARTS);
}

static void consider_disk(struct tc_cache *cache, const struct tc_cache_key *key, int *fewest,
                          uint64_t nearest[TC_KEY_PARTS]) {
  struct entry_list list = {0};
  if (cache_list(cache, &list, NULL)) return;
  for (size_t i = 0; i < list.len; i++) {
    char path[CACHE_PATH + CACHE_NAME];
    snprintf(path, sizeof path, "%s/%s", cache->directory, list.data[i].name);
    struct entry_head head;
    if (cache_read_head(path, &head) && cache_kind_of(&head) == TC_CACHE_ARTIFACTS)
      consider(key, head.part, fewest, nearest);
  }
  cache_list_free(cache, &list);
}

void tc_cache_explain_miss(struct tc_cache *cache, const struct tc_cache_key *key, struct tc_strbuf *out) {
  int fewest = TC_KEY_PARTS + 1;
  uint64_t nearest[TC_KEY_PARTS];
  for (size_t i = 0; i < cache->memory.len; i++)
    consider(key, cache->memory.data[i].key.part, &fewest, nearest);
  consider_disk(cache, key, &fewest, nearest);
  if (fewest > TC_KEY_PARTS) {
    tc_strbuf_puts(out, "the cache is empty");
    return;
  }
  if (!fewest) { /* equal parts, and yet no hit */
    tc_strbuf_puts(out, "the nearest entry runs otherwise, or serves other sizes");
    return;
  }
  tc_strbuf_puts(out, "differs from the nearest entry in: ");
  const char *comma = "";
  for (int i = 0; i < TC_KEY_PARTS; i++) {
    if (key->part[i] == nearest[i]) continue;
    tc_strbuf_printf(out, "%s%s", comma, part_names[i]);
    comma = ", ";
  }
}
