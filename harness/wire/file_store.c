/* Files by their content. Invariants:
 * 1. A file comes to its name whole and checked, by a rename.
 * 2. Nobody writes to a file that is there: it is read-only, and its links are as well. */
#include "harness/wire/file_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "harness/base/args.h"
#include "harness/base/folder.h"

enum { OWNER_FOLDER = 0700, READ_ONLY = 0400, READ_AND_RUN = 0500, KEPT_S = 30 * 24 * 3600 };

static tc_status fail_io(struct tc_error *err, const char *path) {
  return tc_fail(err, TC_IO, "store", "%s: %s", path, strerror(errno));
}

/* Makes a folder and those above it. */
static tc_status make_folders(char *path, struct tc_error *err) {
  for (char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
    *at = '\0';
    const bool failed = mkdir(path, OWNER_FOLDER) && errno != EEXIST;
    *at = '/';
    if (failed) return fail_io(err, path);
  }
  return mkdir(path, OWNER_FOLDER) && errno != EEXIST ? fail_io(err, path) : TC_OK;
}

static tc_status make_inside(const struct tb_file_store *store, const char *name, struct tc_error *err) {
  const char *text = tb_format(store->arena, "%s/%s", store->root, name);
  char *path = text ? tc_arena_text(store->arena, text) : NULL;
  return path ? make_folders(path, err) : tc_fail_memory(err, "store");
}

tc_status tb_file_store_open(struct tc_arena *arena, struct tb_file_store *store, struct tc_error *err) {
  const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  *store = (struct tb_file_store){.arena = arena};
  if (cache && *cache == '/')
    store->root = tb_format(arena, "%s/tbench", cache);
  else if (home && *home == '/')
    store->root = tb_format(arena, "%s/.cache/tbench", home);
  else
    return tc_fail(err, TC_IO, "store", "neither HOME nor XDG_CACHE_HOME names a folder for files");
  if (!store->root) return tc_fail_memory(err, "store");
  const tc_status status = make_inside(store, "blobs", err);
  return status ? status : make_inside(store, "runs", err);
}

static const char *blob_path(const struct tb_file_store *store, const char *hash) {
  return tb_format(store->arena, "%s/blobs/%s", store->root, hash);
}

static void remove_unused(const struct tb_file_store *store) {
  const char *folder = tb_format(store->arena, "%s/blobs", store->root);
  DIR *all = folder ? opendir(folder) : NULL;
  const time_t now = time(NULL);
  struct stat info;
  for (struct dirent *entry; all && (entry = readdir(all));)
    if (!fstatat(dirfd(all), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) && S_ISREG(info.st_mode) &&
        now - info.st_mtime > KEPT_S)
      unlinkat(dirfd(all), entry->d_name, 0);
  if (all) closedir(all);
}

tc_status tb_file_store_begin(struct tb_file_store *store, const char **name, struct tc_error *err) {
  remove_unused(store);
  const char *runs = tb_format(store->arena, "%s/runs", store->root);
  if (!runs) return tc_fail_memory(err, "store");
  store->work = tb_folder_private(store->arena, runs, err);
  if (!store->work) return err->status;
  *name = strrchr(store->work, '/') + 1;
  return TC_OK;
}

tc_status tb_file_store_join(struct tb_file_store *store, const char *name, struct tc_error *err) {
  if (!*name || strchr(name, '/') || *name == '.')
    return tc_fail(err, TC_ARG, "store", "'%s' is no run", name);
  store->work = tb_format(store->arena, "%s/runs/%s", store->root, name);
  if (!store->work) return tc_fail_memory(err, "store");
  return access(store->work, W_OK | X_OK) ? fail_io(err, store->work) : TC_OK;
}

void tb_file_store_end(struct tb_file_store *store) {
  if (store->work) tb_folder_remove(store->work);
  store->work = NULL;
}

/* --- coming --- */

bool tb_file_store_has(const struct tb_file_store *store, const char *hash) {
  const char *path = blob_path(store, hash);
  return path && !access(path, R_OK);
}

tc_status tb_file_coming_begin(const struct tb_file_store *store, const char *hash,
                               struct tb_file_coming *coming, struct tc_error *err) {
  const char *pattern = tb_format(store->arena, "%s/blobs/.coming-XXXXXX", store->root);
  char *temp = pattern ? tc_arena_text(store->arena, pattern) : NULL;
  if (!temp) return tc_fail_memory(err, "store");
  *coming = (struct tb_file_coming){.fd = mkostemp(temp, O_CLOEXEC), .temp = temp};
  snprintf(coming->expected, sizeof coming->expected, "%s", hash);
  tc_sha256_init(&coming->sha);
  return coming->fd < 0 ? fail_io(err, temp) : TC_OK;
}

tc_status tb_file_coming_add(struct tb_file_coming *coming, const void *data, size_t bytes,
                             struct tc_error *err) {
  tc_sha256_add(&coming->sha, data, bytes);
  for (const char *at = data; bytes;) {
    const ssize_t got = write(coming->fd, at, bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_io(err, coming->temp);
    at += got;
    bytes -= (size_t)got;
  }
  return TC_OK;
}

tc_status tb_file_coming_end(const struct tb_file_store *store, struct tb_file_coming *coming, bool runs,
                             struct tc_error *err) {
  unsigned char digest[TC_SHA256_BYTES];
  char hash[TC_SHA256_HEX];
  tc_sha256_end(&coming->sha, digest);
  tc_sha256_hex(digest, hash);
  const char *path = blob_path(store, coming->expected);
  tc_status status = path ? TC_OK : tc_fail_memory(err, "store");
  if (!status && strcmp(hash, coming->expected))
    status = tc_fail(err, TC_IO, "store", "a file did not arrive as it was sent");
  if (!status && fchmod(coming->fd, runs ? READ_AND_RUN : READ_ONLY)) status = fail_io(err, path);
  if (close(coming->fd) && !status) status = fail_io(err, path);
  if (!status && rename(coming->temp, path)) status = fail_io(err, path);
  if (status) unlink(coming->temp);
  coming->fd = -1;
  return status;
}

tc_status tb_file_store_link(const struct tb_file_store *store, const char *hash, const char *folder,
                             const char *name, const char **path, struct tc_error *err) {
  if (!*name || strchr(name, '/') || !*folder || strchr(folder, '/') || *folder == '.')
    return tc_fail(err, TC_ARG, "store", "'%s/%s' is no file of a run", folder, name);
  const char *blob = blob_path(store, hash), *full,
             *text = tb_format(store->arena, "%s/files/%s", store->work, folder);
  char *parent = text ? tc_arena_text(store->arena, text) : NULL;
  *path = tb_format(store->arena, "files/%s/%s", folder, name);
  full = *path ? tb_format(store->arena, "%s/%s", store->work, *path) : NULL;
  if (!blob || !parent || !full) return tc_fail_memory(err, "store");
  const tc_status status = make_folders(parent, err);
  if (status) return status;
  utimensat(AT_FDCWD, blob, NULL, 0); /* it is used: kept for another month */
  return link(blob, full) && errno != EEXIST ? fail_io(err, full) : TC_OK;
}
