/* The spool. Invariants:
 * 1. A file NAME.entry is whole: it is written and synced under another name first.
 * 2. An entry leaves the folder in two ways alone: the endpoint has acknowledged it (done), or it lies in
 *    refused/ (refuse).
 * 3. Only who holds an entry sends it, removes it or moves it; who gets a lock looks whether the name still
 *    leads to what it has locked.
 * To add a step: ask what a reader sees, and what the disk holds, if all ends right before it. */
#include "harness/push/spool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/args.h"

enum {
  ENTRY_LIMIT = 1 << 30,
  FIRST_READ = 1 << 16,
  HASH_SHOWN = 32,
  STALE_S = 3600,
  PATH_BYTES = 128,
  LEVELS_MOST = 4096 /* as many as a path may have bytes */
};
static const char suffix[] = ".entry", temp_suffix[] = ".part", reason_suffix[] = ".reason",
                  refused[] = "refused";

static tc_status failed(const struct tb_spool *spool, struct tc_error *err) {
  return tc_fail(err, TC_IO, "push", "the spool %s: %s", spool->folder, strerror(errno));
}

static bool ends_with(const char *text, const char *end) {
  const size_t n = strlen(text), m = strlen(end);
  return n >= m && !strcmp(text + n - m, end);
}

/* --- files --- */

static bool write_whole(const struct tb_disk *disk, int fd, const char *bytes, size_t count) {
  while (count) {
    const ssize_t written = disk->write(disk->self, fd, bytes, count);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes += written;
    count -= (size_t)written;
  }
  return true;
}

/* A new file, synced; nothing is left of one that failed. */
static bool write_new(const struct tb_disk *disk, const char *name, const char *bytes, size_t count) {
  const int fd = disk->open(disk->self, name, TB_DISK_NEW);
  if (fd < 0) return false;
  bool good = write_whole(disk, fd, bytes, count) && !disk->sync(disk->self, fd);
  int why = errno;
  if (disk->close(disk->self, fd) && good) good = false, why = errno;
  if (!good) disk->remove(disk->self, name);
  errno = why;
  return good;
}

/* The rest of a file, zero-terminated, in the arena; NULL with errno. */
static char *read_whole(const struct tb_disk *disk, struct tc_arena *arena, int fd, size_t *count) {
  size_t room = FIRST_READ, have = 0;
  char *data = tc_arena_bytes(arena, room + 1);
  for (;;) {
    if (!data) return errno = ENOMEM, NULL;
    const ssize_t got = disk->read(disk->self, fd, data + have, room - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return NULL;
    if (!got) break;
    have += (size_t)got;
    if (have < room) continue;
    if (room > ENTRY_LIMIT) return errno = EFBIG, NULL;
    char *larger = tc_arena_bytes(arena, 2 * room + 1);
    if (larger) memcpy(larger, data, have);
    data = larger;
    room *= 2;
  }
  data[have] = '\0';
  *count = have;
  return data;
}

/* A file as read_whole gives it. */
static char *read_file(const struct tb_disk *disk, struct tc_arena *arena, const char *name, size_t *count) {
  const int fd = disk->open(disk->self, name, TB_DISK_EXISTING);
  if (fd < 0) return NULL;
  char *data = read_whole(disk, arena, fd, count);
  const int why = errno;
  disk->close(disk->self, fd);
  errno = why;
  return data;
}

static void path_of_refused(char path[PATH_BYTES], const struct tb_spool_name *name, const char *end) {
  snprintf(path, PATH_BYTES, "%s/%s%s", refused, name->text, end);
}

/* --- the folder --- */

struct listing {
  tb_spool_names *names;
  struct tc_arena *arena;
  TC_VEC(double) written;
  bool full;
};

static bool add_name(void *data, const struct tb_disk_file *file) {
  struct listing *l = data;
  struct tb_spool_name name = {""};
  const size_t length = strlen(file->name);
  if (*file->name == '.' || !ends_with(file->name, suffix) || length - strlen(suffix) >= sizeof name.text)
    return true;
  memcpy(name.text, file->name, length - strlen(suffix));
  const struct tc_alloc *alloc = tc_arena_alloc(l->arena);
  l->full = !tc_vec_push(alloc, l->names, name) || !tc_vec_push(alloc, &l->written, file->written_s);
  return !l->full;
}

struct aged {
  double written_s;
  struct tb_spool_name name;
};

static int by_age(const void *a, const void *b) {
  const struct aged *x = a, *y = b;
  return x->written_s != y->written_s ? (x->written_s < y->written_s ? -1 : 1)
                                      : strcmp(x->name.text, y->name.text);
}

static tc_status list_folder(struct tb_spool *spool, struct tc_arena *arena, const char *folder,
                             tb_spool_names *names, struct tc_error *err) {
  struct listing l = {.names = names, .arena = arena};
  if (spool->disk->list(spool->disk->self, folder, add_name, &l)) return failed(spool, err);
  struct aged *all = l.full ? NULL : TC_NEW_ARRAY(tc_arena_alloc(arena), struct aged, names->len + 1);
  if (!all) return tc_fail_memory(err, "push");
  for (size_t i = 0; i < names->len; i++) all[i] = (struct aged){l.written.data[i], names->data[i]};
  qsort(all, names->len, sizeof *all, by_age);
  for (size_t i = 0; i < names->len; i++) names->data[i] = all[i].name;
  return TC_OK;
}

tc_status tb_spool_list(struct tb_spool *spool, struct tc_arena *arena, tb_spool_names *names,
                        struct tc_error *err) {
  return list_folder(spool, arena, "", names, err);
}

tc_status tb_spool_list_refused(struct tb_spool *spool, struct tc_arena *arena, tb_spool_names *names,
                                struct tc_error *err) {
  return list_folder(spool, arena, refused, names, err);
}

struct sweep {
  const struct tb_disk *disk;
  const char *folder;
};

static bool remove_stale(void *data, const struct tb_disk_file *file) {
  const struct sweep *sweep = data;
  char path[PATH_BYTES];
  if (*file->name != '.' || !ends_with(file->name, temp_suffix) || file->age_s < STALE_S) return true;
  if (snprintf(path, sizeof path, "%s%s%s", sweep->folder, *sweep->folder ? "/" : "", file->name) <
      (int)sizeof path)
    sweep->disk->remove(sweep->disk->self, path);
  return true;
}

/* A folder above the spool that may be entered and not read, or not be written to, has no name in it that we
 * have made. */
static bool is_of_others(void) { return errno == EACCES || errno == EROFS; }

/* So that the name of the folder one level below is on disk. */
static bool sync_above(const struct tb_disk *disk, int levels) {
  return !disk->sync_above(disk->self, levels) || is_of_others();
}

/* The spool, and the folders above it that are not there. Each folder's own name is on disk before anything
 * is made in it: so one that has something in it has its name, and only of the lowest one that is there it is
 * not known, since whoever made it may have been killed then. */
static bool make_spool(const struct tb_disk *disk) {
  int there = 1;
  for (; disk->sync_above(disk->self, there) && !is_of_others(); there++)
    if (errno != ENOENT || there == LEVELS_MOST) return false;
  if (!sync_above(disk, there + 1)) return false;
  for (int level = there - 1; level >= 0; level--)
    if (disk->make_above(disk->self, level) || !sync_above(disk, level + 1)) return false;
  return true;
}

static bool make_folders(const struct tb_disk *disk) {
  if (disk->make_folder(disk->self, refused) &&
      (errno != ENOENT || !make_spool(disk) || disk->make_folder(disk->self, refused)))
    return false;
  return !disk->sync_folder(disk->self, "") && sync_above(disk, 1); /* also where they were there */
}

tc_status tb_spool_open(struct tb_spool *spool, struct tc_error *err) {
  const struct tb_disk *disk = spool->disk;
  if (!make_folders(disk)) return failed(spool, err);
  const char *const folders[] = {"", refused};
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
    struct sweep sweep = {disk, folders[i]};
    if (disk->list(disk->self, folders[i], remove_stale, &sweep)) return failed(spool, err);
  }
  return TC_OK;
}

/* --- adding --- */

tc_status tb_spool_add(struct tb_spool *spool, struct tc_arena *arena, struct tb_spool_entry *entry,
                       struct tb_spool_name *name, struct tc_error *err) {
  const struct tb_disk *disk = spool->disk;
  char temp[PATH_BYTES], final[PATH_BYTES];
  size_t bytes;
  char hex[TC_SHA256_HEX];
  tc_sha256_of(entry->body, entry->bytes, entry->key);
  const char *whole = tb_format(arena, "%s %s %s", entry->format, entry->url, entry->key);
  if (whole) tc_sha256_of(whole, strlen(whole), hex);
  if (whole) snprintf(name->text, sizeof name->text, "%.*s", HASH_SHOWN, hex);
  const char *data = whole ? tb_spool_encode(arena, entry, &bytes) : NULL;
  if (!data) return tc_fail_memory(err, "push");
  snprintf(temp, sizeof temp, ".%s.%ld%s", name->text, (long)getpid(), temp_suffix);
  snprintf(final, sizeof final, "%s%s", name->text, suffix);
  disk->remove(disk->self, temp); /* of a process that had this number, and was killed */
  if (!write_new(disk, temp, data, bytes)) return failed(spool, err);
  if (disk->place(disk->self, temp, final)) {
    const int why = errno;
    disk->remove(disk->self, temp);
    errno = why;
    if (why != EEXIST) return failed(spool, err);
  }
  /* Also where an equal one was there: whoever placed it may have been killed before this. */
  return disk->sync_folder(disk->self, "") ? failed(spool, err) : TC_OK;
}

tc_status tb_spool_restore(struct tb_spool *spool, const struct tb_spool_name *name, struct tc_error *err) {
  const struct tb_disk *disk = spool->disk;
  char from[PATH_BYTES], to[PATH_BYTES], reason[PATH_BYTES];
  path_of_refused(from, name, suffix);
  path_of_refused(reason, name, reason_suffix);
  snprintf(to, sizeof to, "%s%s", name->text, suffix);
  if (disk->place(disk->self, from, to)) {
    if (errno == ENOENT) return TC_OK; /* another process was faster */
    if (errno != EEXIST) return failed(spool, err);
    if (disk->remove(disk->self, from) && errno != ENOENT) return failed(spool, err); /* it was pushed anew */
  }
  disk->remove(disk->self, reason);
  return disk->sync_folder(disk->self, "") ? failed(spool, err) : TC_OK;
}

/* --- one entry --- */

tc_status tb_spool_look(struct tb_spool *spool, struct tc_arena *arena, const struct tb_spool_name *name,
                        bool of_refused, struct tb_spool_entry *entry, struct tc_error *err) {
  char path[PATH_BYTES];
  size_t bytes;
  if (of_refused)
    path_of_refused(path, name, suffix);
  else
    snprintf(path, sizeof path, "%s%s", name->text, suffix);
  char *data = read_file(spool->disk, arena, path, &bytes);
  return data ? tb_spool_decode(data, bytes, entry, err) : failed(spool, err);
}

static enum tb_spool_taken take_here(struct tb_spool *spool, struct tc_arena *arena,
                                     const struct tb_spool_name *name, struct tb_spool_hold *hold,
                                     struct tb_spool_entry *entry, struct tc_error *err) {
  const struct tb_disk *disk = spool->disk;
  char path[PATH_BYTES];
  snprintf(path, sizeof path, "%s%s", name->text, suffix);
  *hold = (struct tb_spool_hold){*name, disk->open(disk->self, path, TB_DISK_EXISTING)};
  if (hold->fd < 0) return errno == ENOENT ? TB_SPOOL_GONE : (failed(spool, err), TB_SPOOL_FAILED);
  enum tb_spool_taken taken = TB_SPOOL_FAILED;
  if (disk->lock(disk->self, hold->fd)) {
    if (errno == EWOULDBLOCK)
      taken = TB_SPOOL_BUSY;
    else
      failed(spool, err);
  } else {
    const int there = disk->is_at(disk->self, hold->fd, path);
    size_t bytes;
    char *data = there > 0 ? read_whole(disk, arena, hold->fd, &bytes) : NULL;
    if (!there)
      taken = TB_SPOOL_GONE;
    else if (!data)
      failed(spool, err);
    else
      taken = tb_spool_decode(data, bytes, entry, err) ? TB_SPOOL_DAMAGED : TB_SPOOL_TAKEN;
  }
  if (taken != TB_SPOOL_TAKEN && taken != TB_SPOOL_DAMAGED) tb_spool_leave(spool, hold);
  return taken;
}

/* Where an entry is that another process has taken away: what was sent lies nowhere (tb_spool_done). */
static enum tb_spool_taken look_in_refused(struct tb_spool *spool, struct tc_arena *arena,
                                           const struct tb_spool_name *name, struct tb_spool_entry *entry,
                                           struct tc_error *err) {
  const struct tb_disk *disk = spool->disk;
  char path[PATH_BYTES];
  size_t bytes;
  path_of_refused(path, name, suffix);
  char *data = read_file(disk, arena, path, &bytes);
  if (!data) return errno == ENOENT ? TB_SPOOL_GONE : (failed(spool, err), TB_SPOOL_FAILED);
  if (tb_spool_decode(data, bytes, entry, NULL))
    *entry = (struct tb_spool_entry){.url = "?", .format = "?", .source = name->text};
  path_of_refused(path, name, reason_suffix);
  const char *reason = read_file(disk, arena, path, &bytes);
  if (!reason) reason = "its reason cannot be read";
  tc_fail(err, TC_ARG, "push", "%.*s", (int)strcspn(reason, "\n"), reason);
  return TB_SPOOL_REFUSED;
}

enum tb_spool_taken tb_spool_take(struct tb_spool *spool, struct tc_arena *arena,
                                  const struct tb_spool_name *name, struct tb_spool_hold *hold,
                                  struct tb_spool_entry *entry, struct tc_error *err) {
  enum { LOOKS = 2 }; /* it may have been put back between the two places */
  enum tb_spool_taken taken = TB_SPOOL_GONE;
  for (int i = 0; i < LOOKS && taken == TB_SPOOL_GONE; i++) {
    taken = take_here(spool, arena, name, hold, entry, err);
    if (taken == TB_SPOOL_GONE) taken = look_in_refused(spool, arena, name, entry, err);
  }
  return taken;
}

void tb_spool_leave(struct tb_spool *spool, struct tb_spool_hold *hold) {
  if (hold->fd >= 0) spool->disk->close(spool->disk->self, hold->fd);
  hold->fd = -1;
}

tc_status tb_spool_done(struct tb_spool *spool, const struct tb_spool_hold *hold, struct tc_error *err) {
  const struct tb_disk *disk = spool->disk;
  char path[PATH_BYTES];
  /* It was refused once, and pushed anew. Before the entry itself: who finds that one gone, and this one
   * there, takes it for refused. */
  path_of_refused(path, &hold->name, suffix);
  disk->remove(disk->self, path);
  path_of_refused(path, &hold->name, reason_suffix);
  disk->remove(disk->self, path);
  snprintf(path, sizeof path, "%s%s", hold->name.text, suffix);
  /* Not synced: an entry that comes back after a loss of power is sent again, and known by its key. */
  return disk->remove(disk->self, path) ? failed(spool, err) : TC_OK;
}

tc_status tb_spool_refuse(struct tb_spool *spool, const struct tb_spool_hold *hold, const char *reason,
                          struct tc_error *err) {
  const struct tb_disk *disk = spool->disk;
  char temp[PATH_BYTES], beside[PATH_BYTES], from[PATH_BYTES], to[PATH_BYTES];
  snprintf(temp, sizeof temp, "%s/.%s.%ld%s", refused, hold->name.text, (long)getpid(), temp_suffix);
  path_of_refused(beside, &hold->name, reason_suffix);
  snprintf(from, sizeof from, "%s%s", hold->name.text, suffix);
  path_of_refused(to, &hold->name, suffix);
  disk->remove(disk->self, temp);
  /* The reason first: an entry in refused/ has one. */
  const bool good = write_new(disk, temp, reason, strlen(reason)) &&
                    !disk->rename(disk->self, temp, beside) && !disk->rename(disk->self, from, to) &&
                    !disk->sync_folder(disk->self, refused) && !disk->sync_folder(disk->self, "");
  return good ? TC_OK : failed(spool, err);
}
