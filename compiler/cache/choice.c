/* Choices that a search made, by key: in memory, and as entries of the disk cache that hold a name. */
#include <stdio.h>
#include <string.h>

#include "cache/internal.h"

static struct choice_entry *find(struct tc_cache *cache, const struct tc_cache_key *key) {
  for (size_t i = 0; i < cache->choices.len; i++)
    if (!memcmp(cache->choices.data[i].digest, key->digest, sizeof key->digest))
      return &cache->choices.data[i];
  return NULL;
}

static void remember(struct tc_cache *cache, const struct tc_cache_key *key, const char *name) {
  struct choice_entry entry, *known = find(cache, key);
  if (known) {
    snprintf(known->name, sizeof known->name, "%s", name);
    return;
  }
  memcpy(entry.digest, key->digest, sizeof entry.digest);
  snprintf(entry.name, sizeof entry.name, "%s", name);
  (void)tc_vec_push(cache->alloc, &cache->choices, entry); /* where memory is out it is found out again */
}

bool tc_cache_choice_get(struct tc_cache *cache, const struct tc_cache_key *key, bool disk,
                         char name[TC_CACHE_CHOICE]) {
  const struct choice_entry *known = find(cache, key);
  unsigned char *bytes = NULL;
  size_t size = 0;
  struct tc_error unused;
  if (known) return memcpy(name, known->name, TC_CACHE_CHOICE);
  if (!disk || tc_cache_disk_get(cache, key, &bytes, &size, &unused)) return false;
  const bool good = size > 0 && size < TC_CACHE_CHOICE;
  if (good) {
    memcpy(name, bytes, size);
    name[size] = '\0';
    remember(cache, key, name);
  }
  tc_free_bytes(cache->alloc, bytes, size ? size : 1);
  return good;
}

void tc_cache_choice_put(struct tc_cache *cache, const struct tc_cache_key *key, const char *name,
                         bool disk) {
  const size_t size = strlen(name);
  remember(cache, key, name);
  unsigned char *bytes = disk ? cache->alloc->resize(cache->alloc->self, NULL, 0, size) : NULL;
  if (!bytes) return;
  memcpy(bytes, name, size);
  if (!tc_cache_disk_defer(cache, key, bytes, size)) tc_free_bytes(cache->alloc, bytes, size);
}

void tc_cache_share_choices(struct tc_cache *cache) {
  if (!cache->shared) cache->shared = tc_cache_open(cache->alloc, "", cache->bound_bytes >> 20);
}

bool tc_cache_shared_choice_get(struct tc_cache *cache, const struct tc_cache_key *key,
                                char name[TC_CACHE_CHOICE]) {
  return cache->shared && tc_cache_choice_get(cache->shared, key, true, name);
}

void tc_cache_shared_choice_put(struct tc_cache *cache, const struct tc_cache_key *key, const char *name) {
  if (cache->shared) tc_cache_choice_put(cache->shared, key, name, true);
}
