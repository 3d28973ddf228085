/* Reading of the token. Invariant: its characters appear in no message. */
#include "harness/push/push_token.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char variable[] = "TBENCH_TOKEN";
enum { OTHERS = S_IRWXG | S_IRWXO };

static tc_status check_file(int fd, const char *file, struct tc_error *err) {
  struct stat info;
  if (fstat(fd, &info)) return tc_fail(err, TC_IO, "push", "token_file=%s: %s", file, strerror(errno));
  if (!S_ISREG(info.st_mode)) return tc_fail(err, TC_IO, "push", "token_file=%s is not a file", file);
  if (info.st_uid != geteuid() && info.st_uid != 0)
    return tc_fail(err, TC_IO, "push", "token_file=%s belongs to another user", file);
  if (info.st_mode & OTHERS)
    return tc_fail(err, TC_IO, "push", "token_file=%s: others may read it (chmod 600 %s)", file, file);
  return TC_OK;
}

/* Up to `room` bytes, less only where the file ends; -1 with errno. */
static ssize_t read_whole(int fd, char *bytes, size_t room) {
  size_t have = 0;
  while (have < room) {
    const ssize_t got = read(fd, bytes + have, room - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (!got) break;
    have += (size_t)got;
  }
  return (ssize_t)have;
}

/* The first line of what was read into all of `token`; a token that is cut off would be refused, and its
 * documents with it. */
static tc_status take_line(const char *file, char token[TB_TOKEN_BYTES], size_t bytes, struct tc_error *err) {
  size_t length = 0;
  while (length < bytes && token[length] != '\n' && token[length] != '\r') length++;
  if (length == TB_TOKEN_BYTES)
    return tc_fail(err, TC_ARG, "push", "token_file=%s: its first line is longer than %d bytes", file,
                   TB_TOKEN_BYTES - 1);
  if (!length) return tc_fail(err, TC_ARG, "push", "token_file=%s: its first line is empty", file);
  if (memchr(token, '\0', length))
    return tc_fail(err, TC_ARG, "push", "token_file=%s has a zero byte in its first line", file);
  explicit_bzero(token + length, TB_TOKEN_BYTES - length);
  return TC_OK;
}

static tc_status read_file(const char *file, char token[TB_TOKEN_BYTES], struct tc_error *err) {
  const int fd =
      open(file, O_RDONLY | O_CLOEXEC |
                     O_NONBLOCK); /* a pipe that nobody writes to is not waited for: it is no file */
  if (fd < 0) return tc_fail(err, TC_IO, "push", "token_file=%s: %s", file, strerror(errno));
  tc_status status = check_file(fd, file, err);
  const ssize_t got = status ? 0 : read_whole(fd, token, TB_TOKEN_BYTES);
  if (got < 0) status = tc_fail(err, TC_IO, "push", "token_file=%s: %s", file, strerror(errno));
  if (!status) status = take_line(file, token, (size_t)got, err);
  close(fd);
  return status;
}

/* What may stand in a header, and ends where it ends. */
static bool is_token(const char *text) {
  for (; *text; text++)
    if (*text <= ' ' || *text > '~') return false;
  return true;
}

tc_status tb_token_read(const char *file, char token[TB_TOKEN_BYTES], struct tc_error *err) {
  const char *given = getenv(variable);
  tc_status status = TC_OK;
  *token = '\0';
  if (*file)
    status = read_file(file, token, err);
  else if (given && strlen(given) >= TB_TOKEN_BYTES)
    status = tc_fail(err, TC_ARG, "push", "%s is longer than %d bytes", variable, TB_TOKEN_BYTES - 1);
  else if (given)
    strcpy(token, given);
  unsetenv(variable);
  if (!status && !is_token(token))
    status = tc_fail(err, TC_ARG, "push", "%s%s has a blank or a character that is not allowed in a header",
                     *file ? "token_file=" : "", *file ? file : variable);
  if (status) explicit_bzero(token, TB_TOKEN_BYTES);
  return status;
}
