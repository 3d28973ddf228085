/* Compiled artifacts by content: in memory, then on disk (see DESIGN section 9).
 *
 * A key is the SHA-256 of a canonical description, kept in parts so that a miss can say what differed.
 * On disk: one file an entry, written to a temporary name, fsynced, renamed; a header with magic, version,
 * length and checksum. A bad entry is a counted miss. Safe with many processes. Bound by size, least
 * recently used first. Threads: one at a time a cache object. */
#ifndef TC_CACHE_CACHE_H
#define TC_CACHE_CACHE_H

#include "base/context.h"
#include "base/hash.h"

enum tc_key_part {
  TC_KEY_GRAPH,
  TC_KEY_SHAPES,
  TC_KEY_CONFIG,
  TC_KEY_TARGET,
  TC_KEY_GENERATOR,
  TC_KEY_ABI,
  TC_KEY_PARTS
};
/* What an entry on disk holds: an artifact, or what a search chose. */
enum tc_cache_kind { TC_CACHE_ARTIFACTS, TC_CACHE_CHOICES, TC_CACHE_KINDS };
struct tc_cache_key {
  uint64_t part[TC_KEY_PARTS];           /* hash of each part: to explain a miss */
  unsigned char digest[TC_SHA256_BYTES]; /* the key itself */
  uint64_t
      run; /* how what is made of the artifact runs: beside the digest, it tells entries in memory apart */
  enum tc_cache_kind kind; /* of the entry on disk */
};

struct tc_cache;
struct tc_compiled;

/* `directory` "" means $XDG_CACHE_HOME/tbench or ~/.cache/tbench, with ~ from $HOME or the system's list of
 * users; where none of them is known there is no disk level, and each use of it is TC_IO. Nothing is created
 * or read before the first use. */
struct tc_cache *tc_cache_open(const struct tc_alloc *alloc, const char *directory, int64_t bound_mb);
void tc_cache_close(struct tc_cache *cache); /* releases the in-memory entries */
const char *tc_cache_directory(struct tc_cache *cache);

struct tc_compiled *tc_cache_memory_get(struct tc_cache *cache,
                                        const struct tc_cache_key *key); /* borrowed */
/* Keeps a reference. Takes the place of an entry with the same key. */
bool tc_cache_memory_put(struct tc_cache *cache, const struct tc_cache_key *key,
                         struct tc_compiled *compiled);
void tc_cache_memory_clear(struct tc_cache *cache);

/* Bytes of an entry (caller frees with alloc), TC_IO when there is none, TC_CORRUPT when it is bad or cannot
 * be read. */
tc_status tc_cache_disk_get(struct tc_cache *cache, const struct tc_cache_key *key, unsigned char **bytes,
                            size_t *size, struct tc_error *err);
tc_status tc_cache_disk_put(struct tc_cache *cache, const struct tc_cache_key *key, const void *bytes,
                            size_t size, struct tc_error *err);
/* The same, but later: takes over `bytes` (of the cache's allocator) until tc_cache_flush writes it, so that
 * the first kernel need not wait for the disk. tc_cache_close flushes what is left. */
bool tc_cache_disk_defer(struct tc_cache *cache, const struct tc_cache_key *key, unsigned char *bytes,
                         size_t size);
tc_status tc_cache_flush(struct tc_cache *cache, struct tc_error *err);
/* "target differs from the nearest entry (avx2)": which parts differ from the most similar entry in memory or
 * on disk. */
void tc_cache_explain_miss(struct tc_cache *cache, const struct tc_cache_key *key, struct tc_strbuf *out);

/* What a search chose (tune/), by a key of its own kind: in memory, and with `disk` on disk. get: false where
 * none is known. */
enum { TC_CACHE_CHOICE = 32 }; /* bytes of a name with its end */
bool tc_cache_choice_get(struct tc_cache *cache, const struct tc_cache_key *key, bool disk,
                         char name[TC_CACHE_CHOICE]);
void tc_cache_choice_put(struct tc_cache *cache, const struct tc_cache_key *key, const char *name, bool disk);

/* Those of the user's own cache, which processes with caches elsewhere agree by: nothing unless
 * tc_cache_share_choices was called. */
void tc_cache_share_choices(struct tc_cache *cache);
bool tc_cache_shared_choice_get(struct tc_cache *cache, const struct tc_cache_key *key,
                                char name[TC_CACHE_CHOICE]);
void tc_cache_shared_choice_put(struct tc_cache *cache, const struct tc_cache_key *key, const char *name);

struct tc_cache_stat {
  int64_t entries, bytes, bad, choices;
}; /* choices: of the entries, those that hold what a search chose */
tc_status tc_cache_stat(struct tc_cache *cache, struct tc_cache_stat *stat, struct tc_error *err);
/* Reads every entry and checks it; bad ones are counted and (with `remove`) removed. */
tc_status tc_cache_verify(struct tc_cache *cache, bool remove, struct tc_cache_stat *stat,
                          struct tc_error *err);
tc_status tc_cache_clear(struct tc_cache *cache, struct tc_cache_stat *removed, struct tc_error *err);
/* All entries as one file, and back. Import: TC_CORRUPT for a file that is no export, TC_ARG for one that
 * cannot be read, TC_IO for entries that cannot be written; damaged entries are counted and left out. */
tc_status tc_cache_export(struct tc_cache *cache, const char *path, struct tc_cache_stat *stat,
                          struct tc_error *err);
tc_status tc_cache_import(struct tc_cache *cache, const char *path, struct tc_cache_stat *stat,
                          struct tc_error *err);

#endif
