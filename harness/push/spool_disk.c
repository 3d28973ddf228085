/* The spool's folder on a real file system. Invariant: nothing here decides anything; each function is one
 * system call, or the few that stand for one where a file system lacks it. */
#include "harness/push/spool_disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "harness/base/args.h"

enum { FILE_MODE = 0600, FOLDER_MODE = 0700, OTHERS_WRITE = S_IWGRP | S_IWOTH, PATH_BYTES = 4096 };

/* `self` of the disk is the folder's path. */
static bool whole_path(void *self, const char *name, char path[PATH_BYTES]) {
  const int length = snprintf(path, PATH_BYTES, "%s%s%s", (const char *)self, *name ? "/" : "", name);
  if (length < PATH_BYTES) return true;
  errno = ENAMETOOLONG;
  return false;
}

static int open_file(void *self, const char *name, enum tb_disk_how how) {
  char path[PATH_BYTES];
  if (!whole_path(self, name, path)) return -1;
  /* Some file systems lock for writing only what is open for writing. */
  return open(path,
              how == TB_DISK_NEW ? O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC : O_RDWR | O_CLOEXEC | O_NOFOLLOW,
              FILE_MODE);
}

static ssize_t read_file(void *self, int fd, void *bytes, size_t count) {
  (void)self;
  return read(fd, bytes, count);
}

static ssize_t write_file(void *self, int fd, const void *bytes, size_t count) {
  (void)self;
  return write(fd, bytes, count);
}

static int sync_file(void *self, int fd) {
  (void)self;
  return fsync(fd);
}

static int close_file(void *self, int fd) {
  (void)self;
  return close(fd);
}

static int lock_file(void *self, int fd) {
  (void)self;
  return flock(fd, LOCK_EX | LOCK_NB);
}

static int is_at(void *self, int fd, const char *name) {
  char path[PATH_BYTES];
  struct stat opened, named;
  if (!whole_path(self, name, path) || fstat(fd, &opened)) return -1;
  if (lstat(path, &named)) return errno == ENOENT ? 0 : -1;
  return opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

static int rename_file(void *self, const char *from, const char *to) {
  char old[PATH_BYTES], new[PATH_BYTES];
  return whole_path(self, from, old) && whole_path(self, to, new) ? rename(old, new) : -1;
}

static int place_file(void *self, const char *from, const char *to) {
  char old[PATH_BYTES], new[PATH_BYTES];
  if (!whole_path(self, from, old) || !whole_path(self, to, new)) return -1;
  if (!renameat2(AT_FDCWD, old, AT_FDCWD, new, RENAME_NOREPLACE)) return 0;
  if (errno != EINVAL && errno != ENOSYS) return -1;
  return link(old, new) ? -1 : unlink(old);
}

static int remove_file(void *self, const char *name) {
  char path[PATH_BYTES];
  return whole_path(self, name, path) ? unlink(path) : -1;
}

/* The folder so many levels above, by the path's text. */
static bool path_above(void *self, int levels, char path[PATH_BYTES]) {
  if (!whole_path(self, "", path)) return false;
  for (;; levels--) {
    for (size_t length = strlen(path); length > 1 && path[length - 1] == '/'; length--)
      path[length - 1] = '\0';
    if (!levels) return true;
    char *slash = strrchr(path, '/');
    if (!slash)
      strcpy(path, ".");
    else
      slash[slash == path] = '\0';
  }
}

static int make_path(const char *path) {
  struct stat info;
  if (!mkdir(path, FOLDER_MODE)) return 0;
  if (errno != EEXIST || stat(path, &info)) return -1;
  errno = ENOTDIR;
  return S_ISDIR(info.st_mode) ? 0 : -1;
}

static int sync_path(const char *path) {
  const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return -1;
  const int failed = fsync(fd), why = errno;
  close(fd);
  errno = why;
  return failed;
}

static int make_folder(void *self, const char *folder) {
  char path[PATH_BYTES];
  return whole_path(self, folder, path) ? make_path(path) : -1;
}

static int sync_folder(void *self, const char *folder) {
  char path[PATH_BYTES];
  return whole_path(self, folder, path) ? sync_path(path) : -1;
}

static int make_above(void *self, int levels) {
  char path[PATH_BYTES];
  return path_above(self, levels, path) ? make_path(path) : -1;
}

static int sync_above(void *self, int levels) {
  char path[PATH_BYTES];
  return path_above(self, levels, path) ? sync_path(path) : -1;
}

static double seconds_of(struct timespec t) { return (double)t.tv_sec + (double)t.tv_nsec / 1e9; }

static int list_folder(void *self, const char *folder,
                       bool (*visit)(void *data, const struct tb_disk_file *file), void *data) {
  char path[PATH_BYTES];
  DIR *dir = whole_path(self, folder, path) ? opendir(path) : NULL;
  if (!dir) return -1;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  bool more = true;
  errno = 0;
  for (const struct dirent *entry; more && (entry = readdir(dir)); errno = 0) {
    struct stat info;
    if (fstatat(dirfd(dir), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) || !S_ISREG(info.st_mode)) continue;
    const struct tb_disk_file file = {entry->d_name, seconds_of(info.st_mtim),
                                      seconds_of(now) - seconds_of(info.st_mtim)};
    more = visit(data, &file);
  }
  const int why = more ? errno : 0;
  closedir(dir);
  errno = why;
  return why ? -1 : 0;
}

/* As the cache does: $XDG_STATE_HOME, else in the home that $HOME or the list of users says. */
static const char *default_folder(struct tc_arena *arena) {
  static const char inside[] = "tbench/spool";
  const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
  if (state && *state == '/') return tb_format(arena, "%s/%s", state, inside);
  const struct passwd *user = home && *home == '/' && home[1] ? NULL : getpwuid(getuid());
  if (user) home = user->pw_dir;
  return home && *home == '/' && home[1] ? tb_format(arena, "%s/.local/state/%s", home, inside) : NULL;
}

tc_status tb_spool_disk(struct tc_arena *arena, const char *folder, struct tb_disk *disk, const char **path,
                        struct tc_error *err) {
  char *chosen = *folder ? tc_arena_text(arena, folder) : (char *)default_folder(arena);
  if (!chosen && (*folder || tc_arena_failed(arena))) return tc_fail_memory(err, "push");
  if (!chosen)
    return tc_fail(err, TC_IO, "push",
                   "there is no home folder for the spool; spool=DIR or XDG_STATE_HOME names one");
  *disk = (struct tb_disk){.self = chosen,
                           .open = open_file,
                           .read = read_file,
                           .write = write_file,
                           .sync = sync_file,
                           .close = close_file,
                           .lock = lock_file,
                           .is_at = is_at,
                           .rename = rename_file,
                           .place = place_file,
                           .remove = remove_file,
                           .make_folder = make_folder,
                           .sync_folder = sync_folder,
                           .make_above = make_above,
                           .sync_above = sync_above,
                           .list = list_folder};
  *path = chosen;
  return TC_OK;
}

static tc_status check_folder(const char *path, struct tc_error *err) {
  struct stat info;
  if (stat(path, &info)) return tc_fail(err, TC_IO, "push", "the spool %s: %s", path, strerror(errno));
  if (info.st_uid != geteuid() && info.st_uid != 0)
    return tc_fail(err, TC_IO, "push", "the spool %s belongs to another user", path);
  if (info.st_mode & OTHERS_WRITE)
    return tc_fail(err, TC_IO, "push", "the spool %s: others may write there (chmod 700 %s)", path, path);
  return TC_OK;
}

tc_status tb_spool_disk_check(const char *path, struct tc_error *err) {
  char inside[PATH_BYTES];
  const tc_status status = check_folder(path, err);
  if (status) return status;
  return snprintf(inside, sizeof inside, "%s/refused", path) < PATH_BYTES
             ? check_folder(inside, err)
             : tc_fail(err, TC_IO, "push", "the spool %s: %s", path, strerror(ENAMETOOLONG));
}
