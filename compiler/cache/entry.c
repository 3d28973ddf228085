/* One entry of the on-disk cache: a file with a checked head.
 *
 * 1. A file under its final name is whole: it was written under a temporary name, fsynced, renamed.
 * 2. What is read is believed only after length, key and checksum agree; no byte of the file is outside of
 *    all three. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "cache/internal.h"

enum { KIND = 6 /* its byte of the magic */ };
static const char magic[8] = {'T', 'B', 'E', 'N', 'C', 'H', 0, CACHE_FORMAT};
static const char suffix[] = ".tbc";
enum { STALE_SECONDS = 3600 }; /* no writer takes so long */

void cache_entry_path(const struct tc_cache *cache, const unsigned char digest[TC_SHA256_BYTES],
                      char path[CACHE_PATH + CACHE_NAME]) {
  char hex[TC_SHA256_HEX];
  tc_sha256_hex(digest, hex);
  snprintf(path, CACHE_PATH + CACHE_NAME, "%s/%s%s", cache->directory, hex, suffix);
}

bool cache_is_entry_name(const char *name) {
  return tc_text_hex(name) == TC_SHA256_HEX - 1 && !strcmp(name + TC_SHA256_HEX - 1, suffix);
}

bool cache_is_head(const struct entry_head *head) {
  return !memcmp(head->magic, magic, KIND) && (unsigned char)head->magic[KIND] < TC_CACHE_KINDS &&
         head->magic[KIND + 1] == magic[KIND + 1];
}

enum tc_cache_kind cache_kind_of(const struct entry_head *head) {
  return (enum tc_cache_kind)head->magic[KIND];
}

static void checksum(const struct entry_head *head, const void *payload, size_t size,
                     unsigned char digest[TC_SHA256_BYTES]) {
  struct tc_sha256 sha;
  tc_sha256_init(&sha);
  tc_sha256_add(&sha, head, offsetof(struct entry_head, checksum));
  tc_sha256_add(&sha, payload, size);
  tc_sha256_end(&sha, digest);
}

void cache_fill_head(struct entry_head *head, const struct tc_cache_key *key, const void *payload,
                     size_t size) {
  memset(head, 0, sizeof *head);
  memcpy(head->magic, magic, sizeof magic);
  head->magic[KIND] = (char)key->kind;
  head->payload_bytes = size;
  memcpy(head->part, key->part, sizeof key->part);
  memcpy(head->key, key->digest, sizeof key->digest);
  checksum(head, payload, size, head->checksum);
}

static bool read_all(int fd, void *into, size_t size) {
  for (size_t done = 0; done < size;) {
    const ssize_t n = read(fd, (char *)into + done, size - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += (size_t)n;
  }
  return true;
}

static bool write_all(int fd, const void *from, size_t size) {
  for (size_t done = 0; done < size;) {
    const ssize_t n = write(fd, (const char *)from + done, size - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += (size_t)n;
  }
  return true;
}

static tc_status read_payload(int fd, const struct tc_alloc *alloc, struct entry_head *head,
                              unsigned char **payload, struct tc_error *err) {
  struct stat info;
  if (fstat(fd, &info) || !read_all(fd, head, sizeof *head))
    return tc_fail(err, TC_CORRUPT, "cache", "the entry has no head");
  if (!cache_is_head(head)) return tc_fail(err, TC_CORRUPT, "cache", "the entry's head is of another format");
  if ((uint64_t)info.st_size - sizeof *head != head->payload_bytes)
    return tc_fail(err, TC_CORRUPT, "cache", "the entry's length is wrong");
  const size_t size = (size_t)head->payload_bytes;
  unsigned char *bytes = tc_new_bytes(alloc, size ? size : 1);
  if (!bytes) return tc_fail(err, TC_NOMEM, "cache", "out of memory for a cache entry");
  unsigned char digest[TC_SHA256_BYTES];
  const bool whole = read_all(fd, bytes, size);
  if (whole) checksum(head, bytes, size, digest);
  if (!whole || memcmp(digest, head->checksum, sizeof digest)) {
    tc_free_bytes(alloc, bytes, size ? size : 1);
    return tc_fail(err, TC_CORRUPT, "cache", "the entry's checksum is wrong");
  }
  *payload = bytes;
  return TC_OK;
}

/* Something else may lie there under this name, as a pipe: that is not waited for. */
static int open_entry(const char *path) { return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); }

bool cache_read_head(const char *path, struct entry_head *head) {
  const int fd = open_entry(path);
  const bool good = fd >= 0 && read_all(fd, head, sizeof *head) && cache_is_head(head);
  if (fd >= 0) close(fd);
  return good;
}

tc_status cache_read_entry(const struct tc_alloc *alloc, const char *path, struct entry_head *head,
                           unsigned char **payload, size_t *size, struct tc_error *err) {
  const int fd = open_entry(path);
  if (fd < 0) {
    const int why = errno;
    struct stat info; /* what is there but cannot be opened is no miss like others */
    return tc_fail(err, lstat(path, &info) ? TC_IO : TC_CORRUPT, "cache", "%s: %s", path, strerror(why));
  }
  const tc_status status = read_payload(fd, alloc, head, payload, err);
  close(fd);
  if (!status) *size = (size_t)head->payload_bytes;
  return status;
}

/* mkdir -p, for the owner alone. */
static bool make_directory(const char *path) {
  char part[CACHE_PATH];
  snprintf(part, sizeof part, "%s", path);
  for (char *c = part + 1; *c; c++) {
    if (*c != '/') continue;
    *c = '\0';
    if (mkdir(part, 0700) && errno != EEXIST) return false;
    *c = '/';
  }
  return !mkdir(part, 0700) || errno == EEXIST;
}

tc_status cache_no_directory(struct tc_error *err) {
  return tc_fail(err, TC_IO, "cache",
                 "there is no home folder for the disk cache; cache_dir=DIR or XDG_CACHE_HOME names one, "
                 "cache=off works without");
}

static tc_status io_error(struct tc_error *err, const char *path) {
  return tc_fail(err, TC_IO, "cache", "%s: %s; cache=off works without, cache_dir=DIR uses another folder",
                 path, strerror(errno));
}

tc_status cache_write_entry(struct tc_cache *cache, const struct entry_head *head, const void *payload,
                            struct tc_error *err) {
  char path[CACHE_PATH + CACHE_NAME], temporary[CACHE_PATH + CACHE_NAME + 64];
  if (!*cache->directory) return cache_no_directory(err);
  cache_entry_path(cache, head->key, path);
  snprintf(temporary, sizeof temporary, "%s.%ld.%llu.tmp", path, (long)getpid(),
           (unsigned long long)cache->temporaries++);
  int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0 && errno == ENOENT && make_directory(cache->directory))
    fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return io_error(err, cache->directory);
  bool good =
      write_all(fd, head, sizeof *head) && write_all(fd, payload, (size_t)head->payload_bytes) && !fsync(fd);
  const int saved = errno;
  good = !close(fd) && good;
  if (good && !rename(temporary, path)) return TC_OK;
  if (!good) errno = saved;
  const tc_status status = io_error(err, temporary);
  unlink(temporary);
  return status;
}

/* A file that a writer left behind when it was killed: an entry's name, then process, number and suffix. */
static bool is_stale(const char *name, const struct stat *info) {
  static const char end[] = ".tmp";
  const size_t entry = TC_SHA256_HEX - 1 + strlen(suffix);
  const bool temporary = tc_text_stem(name, end) > entry && tc_text_hex(name) == TC_SHA256_HEX - 1 &&
                         !strncmp(name + TC_SHA256_HEX - 1, suffix, strlen(suffix));
  return temporary && S_ISREG(info->st_mode) && time(NULL) - info->st_mtim.tv_sec > STALE_SECONDS;
}

static bool add_file(struct tc_cache *cache, int directory, const char *name, struct entry_list *out) {
  struct stat info;
  if (!fstatat(directory, name, &info, AT_SYMLINK_NOFOLLOW) && is_stale(name, &info))
    (void)unlinkat(directory, name, 0);
  if (!cache_is_entry_name(name) || fstatat(directory, name, &info, AT_SYMLINK_NOFOLLOW) ||
      !S_ISREG(info.st_mode))
    return true;
  struct entry_file file = {.bytes = info.st_size,
                            .used_ns = (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec};
  memcpy(file.name, name, strlen(name) + 1);
  return tc_vec_push(cache->alloc, out, file);
}

tc_status cache_list(struct tc_cache *cache, struct entry_list *out, struct tc_error *err) {
  if (!*cache->directory) return cache_no_directory(err);
  DIR *directory = opendir(cache->directory);
  if (!directory) return errno == ENOENT ? TC_OK : io_error(err, cache->directory);
  tc_status status = TC_OK;
  for (struct dirent *d; !status && (d = readdir(directory));)
    if (!add_file(cache, dirfd(directory), d->d_name, out))
      status = tc_fail(err, TC_NOMEM, "cache", "out of memory for the list of entries");
  closedir(directory);
  return status;
}

void cache_list_free(struct tc_cache *cache, struct entry_list *list) { tc_vec_free(cache->alloc, list); }
