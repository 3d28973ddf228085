/* Files in which copies are written. */
#include "dashboard/store/temp_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char middle[] = ".part-";
enum { RANDOM = 6 /* letters and digits that mkostemp makes up */ };

/* Of the description, not of the process: that SQLite closes the same file does not end it. */
static bool lock(int fd) {
  struct flock first = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
  return !fcntl(fd, F_OFD_SETLK, &first);
}

/* Between its making and the lock it looks like one that was left behind, and may be removed as such. */
static bool is_ours(int fd) {
  struct stat found;
  return lock(fd) && !fstat(fd, &found) && found.st_nlink;
}

int tb_temp_file_new(const char *path, char *temp, size_t size) {
  enum { TRIES = 100 };
  for (int i = 0; i < TRIES; i++) {
    if ((size_t)snprintf(temp, size, "%s%sXXXXXX", path, middle) >= size) return errno = ENAMETOOLONG, -1;
    const int fd = mkostemp(temp, O_CLOEXEC);
    if (fd < 0) return -1;
    errno = EAGAIN;
    if (is_ours(fd)) return fd;
    const int why = errno;
    unlink(temp);
    close(fd);
    errno = why;
    if (why != EAGAIN && why != EACCES) return -1;
  }
  return -1;
}

static bool is_temp_of(const char *name, const char *base) {
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  const size_t length = strlen(base), before = length + strlen(middle);
  return !strncmp(name, base, length) && !strncmp(name + length, middle, strlen(middle)) &&
         strspn(name + before, letters) == RANDOM && !name[before + RANDOM];
}

/* What lies beside it goes first, since by its name alone it is found. */
static void remove_one(const char *path) {
  static const char *const ends[] = {"-journal", "-wal", "-shm", ""};
  char name[PATH_MAX + TB_TEMP_FILE_SUFFIX];
  struct stat held, now;
  const int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  const bool left = fd >= 0 && !fstat(fd, &held) && S_ISREG(held.st_mode) && lock(fd) && !stat(path, &now) &&
                    held.st_dev == now.st_dev && held.st_ino == now.st_ino;
  for (size_t i = 0; left && i < sizeof ends / sizeof *ends; i++)
    if ((size_t)snprintf(name, sizeof name, "%s%s", path, ends[i]) < sizeof name) unlink(name);
  if (fd >= 0) close(fd);
}

void tb_temp_file_remove_left(const char *path) {
  char folder[PATH_MAX], name[PATH_MAX + TB_TEMP_FILE_SUFFIX];
  const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
  const struct dirent *entry;
  if ((size_t)snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 2,
                       slash ? path : "./") >= sizeof folder)
    return;
  DIR *files = opendir(folder);
  if (!files) return;
  while ((entry = readdir(files)))
    if (is_temp_of(entry->d_name, base) &&
        (size_t)snprintf(name, sizeof name, "%s%s", folder, entry->d_name) < sizeof name)
      remove_one(name);
  closedir(files);
}
