/* The on-disk level: get, put, the size bound, and the upkeep verbs.
 *
 * An entry's use is its file's modification time, renewed at a hit. Racing processes are harmless: a
 * rename replaces whole files by equal ones, and a file that vanished is a miss. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache/internal.h"

tc_status tc_cache_disk_get(struct tc_cache *cache, const struct tc_cache_key *key, unsigned char **bytes,
                            size_t *size, struct tc_error *err) {
  char path[CACHE_PATH + CACHE_NAME];
  struct entry_head head;
  if (!*cache->directory) return cache_no_directory(err);
  cache_entry_path(cache, key->digest, path);
  const tc_status status = cache_read_entry(cache->alloc, path, &head, bytes, size, err);
  if (status) return status;
  if (memcmp(head.key, key->digest, sizeof head.key)) {
    tc_free_bytes(cache->alloc, *bytes, *size ? *size : 1);
    *bytes = NULL;
    return tc_fail(err, TC_CORRUPT, "cache", "the entry belongs to another key");
  }
  utimensat(AT_FDCWD, path, NULL, 0);
  return TC_OK;
}

static int by_use(const void *a, const void *b) {
  const int64_t x = ((const struct entry_file *)a)->used_ns, y = ((const struct entry_file *)b)->used_ns;
  return (x > y) - (x < y);
}

static bool remove_entry(const struct tc_cache *cache, const char *name) {
  char path[CACHE_PATH + CACHE_NAME];
  snprintf(path, sizeof path, "%s/%s", cache->directory, name);
  return !unlink(path);
}

/* Least recently used entries go until the sum is within the bound. */
static void keep_bound(struct tc_cache *cache) {
  struct entry_list list = {0};
  int64_t total = 0;
  if (!cache_list(cache, &list, NULL)) {
    for (size_t i = 0; i < list.len; i++) total += list.data[i].bytes;
    if (total > cache->bound_bytes) qsort(list.data, list.len, sizeof *list.data, by_use);
    for (size_t i = 0; i < list.len && total > cache->bound_bytes; i++) {
      total -= list.data[i].bytes;
      remove_entry(cache, list.data[i].name);
    }
  }
  cache_list_free(cache, &list);
}

tc_status tc_cache_disk_put(struct tc_cache *cache, const struct tc_cache_key *key, const void *bytes,
                            size_t size, struct tc_error *err) {
  struct entry_head head;
  cache_fill_head(&head, key, bytes, size);
  const tc_status status = cache_write_entry(cache, &head, bytes, err);
  if (!status) keep_bound(cache);
  return status;
}

bool tc_cache_disk_defer(struct tc_cache *cache, const struct tc_cache_key *key, unsigned char *bytes,
                         size_t size) {
  return tc_vec_push(cache->alloc, &cache->pending, ((struct pending_entry){*key, bytes, size}));
}

tc_status tc_cache_flush(struct tc_cache *cache, struct tc_error *err) {
  tc_status status = TC_OK;
  for (size_t i = 0; i < cache->pending.len; i++) {
    struct pending_entry *entry = &cache->pending.data[i];
    const tc_status wrote =
        tc_cache_disk_put(cache, &entry->key, entry->bytes, entry->size, status ? NULL : err);
    if (!status) status = wrote;
    tc_free_bytes(cache->alloc, entry->bytes, entry->size);
  }
  cache->pending.len = 0;
  if (cache->shared) (void)tc_cache_flush(cache->shared, NULL); /* what was not kept is found out again */
  return status;
}

typedef tc_status (*entry_action)(struct tc_cache *cache, const struct entry_file *file, void *argument,
                                  struct tc_cache_stat *stat, struct tc_error *err);

static tc_status for_each(struct tc_cache *cache, entry_action action, void *argument,
                          struct tc_cache_stat *stat, struct tc_error *err) {
  struct entry_list list = {0};
  *stat = (struct tc_cache_stat){0};
  tc_status status = cache_list(cache, &list, err);
  for (size_t i = 0; i < list.len && !status; i++) status = action(cache, &list.data[i], argument, stat, err);
  cache_list_free(cache, &list);
  return status;
}

static void count(struct tc_cache_stat *stat, const struct entry_file *file, bool choice) {
  stat->entries++;
  stat->choices += choice;
  stat->bytes += file->bytes;
}

/* As far as its head says. */
static bool is_choice(const struct tc_cache *cache, const struct entry_file *file) {
  char path[CACHE_PATH + CACHE_NAME];
  struct entry_head head;
  snprintf(path, sizeof path, "%s/%s", cache->directory, file->name);
  return cache_read_head(path, &head) && cache_kind_of(&head) == TC_CACHE_CHOICES;
}

static tc_status count_entry(struct tc_cache *cache, const struct entry_file *file, void *argument,
                             struct tc_cache_stat *stat, struct tc_error *err) {
  (void)argument, (void)err;
  count(stat, file, is_choice(cache, file));
  return TC_OK;
}

tc_status tc_cache_stat(struct tc_cache *cache, struct tc_cache_stat *stat, struct tc_error *err) {
  return for_each(cache, count_entry, NULL, stat, err);
}

static tc_status clear_entry(struct tc_cache *cache, const struct entry_file *file, void *argument,
                             struct tc_cache_stat *stat, struct tc_error *err) {
  (void)argument;
  const bool choice = is_choice(cache, file);
  if (!remove_entry(cache, file->name) && errno != ENOENT)
    return tc_fail(err, TC_IO, "cache", "%s/%s: %s", cache->directory, file->name, strerror(errno));
  count(stat, file, choice);
  return TC_OK;
}

tc_status tc_cache_clear(struct tc_cache *cache, struct tc_cache_stat *removed, struct tc_error *err) {
  return for_each(cache, clear_entry, NULL, removed, err);
}

static tc_status read_named(struct tc_cache *cache, const char *name, struct entry_head *head,
                            unsigned char **payload, size_t *size) {
  char path[CACHE_PATH + CACHE_NAME], expected[CACHE_PATH + CACHE_NAME];
  snprintf(path, sizeof path, "%s/%s", cache->directory, name);
  const tc_status status = cache_read_entry(cache->alloc, path, head, payload, size, NULL);
  if (status) return status;
  cache_entry_path(cache, head->key, expected);
  if (!strcmp(path, expected)) return TC_OK;
  tc_free_bytes(cache->alloc, *payload, *size ? *size : 1);
  return TC_CORRUPT;
}

static tc_status verify_entry(struct tc_cache *cache, const struct entry_file *file, void *argument,
                              struct tc_cache_stat *stat, struct tc_error *err) {
  const bool *remove = argument;
  struct entry_head head;
  unsigned char *payload;
  size_t size;
  const tc_status status = read_named(cache, file->name, &head, &payload, &size);
  if (!status) tc_free_bytes(cache->alloc, payload, size ? size : 1);
  if (status == TC_NOMEM) return tc_fail(err, TC_NOMEM, "cache", "out of memory for a cache entry");
  if (status) stat->bad++;
  if (status && *remove) remove_entry(cache, file->name);
  count(stat, file, !status && cache_kind_of(&head) == TC_CACHE_CHOICES);
  return TC_OK;
}

tc_status tc_cache_verify(struct tc_cache *cache, bool remove, struct tc_cache_stat *stat,
                          struct tc_error *err) {
  return for_each(cache, verify_entry, &remove, stat, err);
}

/* An export is a sequence of whole entries: heads and payloads as in the files. */
static tc_status export_entry(struct tc_cache *cache, const struct entry_file *file, void *argument,
                              struct tc_cache_stat *stat, struct tc_error *err) {
  struct entry_head head;
  unsigned char *payload;
  size_t size;
  if (read_named(cache, file->name, &head, &payload, &size)) return stat->bad++, TC_OK;
  FILE *out = argument;
  const bool good = fwrite(&head, sizeof head, 1, out) == 1 && fwrite(payload, 1, size, out) == size;
  tc_free_bytes(cache->alloc, payload, size ? size : 1);
  if (!good) return tc_fail(err, TC_IO, "cache", "writing the export: %s", strerror(errno));
  count(stat, file, cache_kind_of(&head) == TC_CACHE_CHOICES);
  return TC_OK;
}

static tc_status write_export(struct tc_cache *cache, const char *path, struct tc_cache_stat *stat,
                              struct tc_error *err) {
  FILE *out = fopen(path, "wbe");
  if (!out) return tc_fail(err, TC_IO, "cache", "%s: %s", path, strerror(errno));
  tc_status status = for_each(cache, export_entry, out, stat, err);
  const bool flushed = !fflush(out) && !fsync(fileno(out));
  if (fclose(out) || !flushed)
    if (!status) status = tc_fail(err, TC_IO, "cache", "%s: %s", path, strerror(errno));
  return status;
}

tc_status tc_cache_export(struct tc_cache *cache, const char *path, struct tc_cache_stat *stat,
                          struct tc_error *err) {
  char temporary[CACHE_PATH];
  struct stat info;
  *stat = (struct tc_cache_stat){0};
  if (!lstat(path, &info) && !S_ISREG(info.st_mode))
    return tc_fail(err, TC_ARG, "cache", "%s is there, and is no plain file", path);
  if (snprintf(temporary, sizeof temporary, "%s.%ld.part", path, (long)getpid()) >= (int)sizeof temporary)
    return tc_fail(err, TC_ARG, "cache", "the path is too long");
  tc_status status = write_export(cache, temporary, stat, err);
  if (!status && rename(temporary, path))
    status = tc_fail(err, TC_IO, "cache", "%s: %s", path, strerror(errno));
  if (status) unlink(temporary);
  return status;
}

static tc_status import_one(struct tc_cache *cache, FILE *in, const struct entry_head *head, int64_t left,
                            struct tc_cache_stat *stat, struct tc_error *err) {
  const size_t size = (size_t)head->payload_bytes;
  if (head->payload_bytes > (uint64_t)left)
    return tc_fail(err, TC_CORRUPT, "cache", "the import ends in the middle of an entry");
  unsigned char *payload = tc_new_bytes(cache->alloc, size ? size : 1);
  if (!payload) return tc_fail(err, TC_NOMEM, "cache", "out of memory for a cache entry");
  tc_status status = TC_OK;
  struct entry_head checked;
  struct tc_cache_key key;
  memcpy(key.part, head->part, sizeof key.part);
  memcpy(key.digest, head->key, sizeof key.digest);
  key.kind = cache_kind_of(head);
  if (fread(payload, 1, size, in) != size)
    status = tc_fail(err, TC_CORRUPT, "cache", "the import ends in the middle of an entry");
  if (!status) {
    cache_fill_head(&checked, &key, payload, size);
    if (memcmp(&checked, head, sizeof checked))
      stat->bad++;
    else if (!(status = cache_write_entry(cache, head, payload, err)))
      count(stat, &(struct entry_file){.bytes = (int64_t)(sizeof *head + size)},
            key.kind == TC_CACHE_CHOICES);
  }
  tc_free_bytes(cache->alloc, payload, size ? size : 1);
  return status;
}

static tc_status read_import(struct tc_cache *cache, FILE *in, const struct stat *info,
                             struct tc_cache_stat *stat, struct tc_error *err) {
  struct entry_head head;
  size_t got;
  while ((got = fread(&head, 1, sizeof head, in)) == sizeof head) {
    if (!cache_is_head(&head))
      return tc_fail(err, TC_CORRUPT, "cache", "the file is no export of this version's cache");
    const tc_status status = import_one(cache, in, &head, info->st_size - ftello(in), stat, err);
    if (status) return status;
  }
  if (got && stat->entries)
    return tc_fail(err, TC_CORRUPT, "cache", "the import ends in the middle of an entry");
  if (got) return tc_fail(err, TC_CORRUPT, "cache", "the file is no export of this version's cache");
  return ferror(in) ? tc_fail(err, TC_ARG, "cache", "reading the import: %s", strerror(errno)) : TC_OK;
}

tc_status tc_cache_import(struct tc_cache *cache, const char *path, struct tc_cache_stat *stat,
                          struct tc_error *err) {
  FILE *in = fopen(path, "rbe");
  *stat = (struct tc_cache_stat){0};
  struct stat info;
  tc_status status = TC_OK;
  if (!in || fstat(fileno(in), &info))
    status = tc_fail(err, TC_ARG, "cache", "%s: %s", path, strerror(errno));
  else if (!S_ISREG(info.st_mode))
    status = tc_fail(err, TC_ARG, "cache", "%s is no plain file", path);
  else
    status = read_import(cache, in, &info, stat, err);
  if (in) fclose(in);
  if (!status) keep_bound(cache);
  return status;
}
