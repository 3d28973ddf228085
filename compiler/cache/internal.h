/* Inside of cache/: the object, and the form of an entry's file. */
#ifndef TC_CACHE_INTERNAL_H
#define TC_CACHE_INTERNAL_H

#include "base/vec.h"
#include "cache/cache.h"

enum { CACHE_PATH = 4096, CACHE_NAME = TC_SHA256_HEX + 8, CACHE_FORMAT = 2 };

struct memory_entry {
  struct tc_cache_key key;
  struct tc_compiled *compiled;
};

struct choice_entry {
  unsigned char digest[TC_SHA256_BYTES];
  char name[TC_CACHE_CHOICE];
};

struct pending_entry {
  struct tc_cache_key key;
  unsigned char *bytes;
  size_t size;
};

struct tc_cache {
  const struct tc_alloc *alloc;
  char directory[CACHE_PATH]; /* "": this user has no home, so nothing is on disk */
  int64_t bound_bytes;
  TC_VEC(struct memory_entry) memory;
  TC_VEC(struct choice_entry) choices;
  TC_VEC(struct pending_entry) pending;
  struct tc_cache *shared; /* the user's own, for choices; NULL: not asked for */
  uint64_t temporaries;    /* made so far: part of their names */
};

/* Head of an entry's file; numbers little-endian. The payload follows. */
struct entry_head {
  char magic[8]; /* "TBENCH", the kind (tc_cache_kind), the format number */
  uint64_t payload_bytes;
  uint64_t part[TC_KEY_PARTS];
  unsigned char key[TC_SHA256_BYTES];
  unsigned char checksum[TC_SHA256_BYTES]; /* of all before it and the payload */
};

/* The status of what needs a folder where there is none. */
tc_status cache_no_directory(struct tc_error *err);
void cache_entry_path(const struct tc_cache *cache, const unsigned char digest[TC_SHA256_BYTES],
                      char path[CACHE_PATH + CACHE_NAME]);
/* Reads and checks a whole file. */
tc_status cache_read_entry(const struct tc_alloc *alloc, const char *path, struct entry_head *head,
                           unsigned char **payload, size_t *size, struct tc_error *err);
/* Temporary file, fsync, rename. */
tc_status cache_write_entry(struct tc_cache *cache, const struct entry_head *head, const void *payload,
                            struct tc_error *err);
/* Whether the head is one of an entry of this format; its checksum is another matter. */
bool cache_is_head(const struct entry_head *head);
/* Of such a head. */
enum tc_cache_kind cache_kind_of(const struct entry_head *head);
/* The head alone, of a file that is there and has one; its payload is not looked at. */
bool cache_read_head(const char *path, struct entry_head *head);
void cache_fill_head(struct entry_head *head, const struct tc_cache_key *key, const void *payload,
                     size_t size);
bool cache_is_entry_name(const char *name);

/* One entry file of the directory. */
struct entry_file {
  char name[CACHE_NAME];
  int64_t bytes;
  int64_t used_ns;
};
struct entry_list {
  struct entry_file *data;
  size_t len, cap;
};
/* Entries of the directory. Temporary files that were left behind an hour ago or longer are removed on the
 * way. */
tc_status cache_list(struct tc_cache *cache, struct entry_list *out, struct tc_error *err);
void cache_list_free(struct tc_cache *cache, struct entry_list *list);

#endif
