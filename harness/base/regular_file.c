/* Opened first, and then looked at: what lies at a path may change in between. */
#include "harness/base/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What somebody named instead. */
static const char *not_regular(mode_t mode) {
  if (S_ISDIR(mode)) return "it is a folder, and must be a regular file";
  if (S_ISFIFO(mode)) return "it is a pipe, and must be a regular file";
  if (S_ISSOCK(mode)) return "it is a socket, and must be a regular file";
  return "it is a device, and must be a regular file";
}

FILE *tb_regular_open(const char *path, const char **why) {
  struct stat info;
  FILE *in = NULL;
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0 || fstat(fd, &info))
    *why = strerror(errno);
  else if (!S_ISREG(info.st_mode))
    *why = not_regular(info.st_mode), errno = EINVAL;
  else if (!(in = fdopen(fd, "rb")))
    *why = strerror(errno);
  const int failure = errno;
  if (fd >= 0 && !in) close(fd);
  errno = failure;
  return in;
}
