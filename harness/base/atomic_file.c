/* Written beside, then renamed. */
#include "harness/base/atomic_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { FILE_MODE = 0666, STALE_S = 3600 };
static const char suffix[] = ".tbench-part"; /* nobody else's */

/* The path up to its name; "" means here. */
static size_t folder_length(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? (size_t)(slash + 1 - path) : 0;
}

/* -1: it cannot be opened. */
static int open_folder(const char *path) {
  char *folder = strndup(path, folder_length(path));
  const int fd = folder ? open(*folder ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  free(folder);
  return fd;
}

/* ".NAME.PID.tbench-part" */
static bool is_temp(const char *name) {
  const size_t length = strlen(name), end = sizeof suffix - 1;
  if (*name != '.' || length <= end || strcmp(name + length - end, suffix)) return false;
  size_t at = length - end;
  while (at && name[at - 1] >= '0' && name[at - 1] <= '9') at--;
  return at < length - end && at > 1 && name[at - 1] == '.';
}

/* What cannot be read or removed stays: that is no fault of what is to be written. */
static void remove_stale(const char *path) {
  const int fd = open_folder(path);
  DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
  struct stat info;
  if (!dir && fd >= 0) close(fd);
  if (!dir) return;
  for (const struct dirent *entry; (entry = readdir(dir));) {
    if (!is_temp(entry->d_name) || fstatat(fd, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) ||
        !S_ISREG(info.st_mode))
      continue;
    if (time(NULL) - info.st_mtime >= STALE_S) (void)unlinkat(fd, entry->d_name, 0);
  }
  closedir(dir);
}

/* Where the file system has none, there are none to keep. */
static void keep_permissions(const char *path, int fd) {
  enum { PERMISSIONS = 0777 };
  struct stat info;
  if (!lstat(path, &info) && S_ISREG(info.st_mode)) (void)!fchmod(fd, info.st_mode & PERMISSIONS);
}

bool tb_atomic_file_begin(const char *path, struct tb_atomic_file *out) {
  const int length = (int)folder_length(path);
  *out = (struct tb_atomic_file){.path = strdup(path)};
  if (!out->path ||
      asprintf(&out->temp, "%.*s.%s.%ld%s", length, path, path + length, (long)getpid(), suffix) < 0) {
    free(out->path);
    errno = ENOMEM;
    return false;
  }
  remove_stale(path);
  unlink(out->temp); /* of a process that had this number, and was killed */
  const int fd = open(out->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, FILE_MODE);
  if (fd >= 0) keep_permissions(path, fd);
  if (fd >= 0 && (out->out = fdopen(fd, "w"))) return true;
  if (fd >= 0) {
    close(fd);
    unlink(out->temp);
  }
  free(out->temp);
  free(out->path);
  return false;
}

/* So that the name is on disk too. A folder may be entered and not read, and some file systems do not know
 * how: then nothing can be done. */
static bool sync_folder(const char *path) {
  const int fd = open_folder(path);
  if (fd < 0) return errno == EACCES;
  const bool good = !fsync(fd) || errno == EINVAL || errno == EROFS;
  close(fd);
  return good;
}

bool tb_atomic_file_end(struct tb_atomic_file *file, bool good) {
  bool renamed = false;
  good = good && !ferror(file->out) && !fflush(file->out) && !fsync(fileno(file->out));
  int why = errno;
  if (fclose(file->out) && good) good = false, why = errno;
  if (good) {
    renamed = !rename(file->temp, file->path);
    good = renamed && sync_folder(file->path);
    why = errno;
  }
  if (!renamed) unlink(file->temp);
  free(file->temp);
  free(file->path);
  errno = why;
  return good;
}
