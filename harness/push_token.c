/* Reading of the token. Invariant: its characters appear in no message. */
#include "harness/push_token.h"

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
  if (!S_ISREG(info.st_mode)) return tc_fail(err, TC_IO, "push", "token_file=%s is no file", file);
  if (info.st_uid != geteuid() && info.st_uid != 0) return tc_fail(err, TC_IO, "push", "token_file=%s belongs to another user", file);
  if (info.st_mode & OTHERS) return tc_fail(err, TC_IO, "push", "token_file=%s: others may read it (chmod 600 %s)", file, file);
  return TC_OK;
}

static tc_status read_file(const char *file, char token[TB_TOKEN_BYTES], struct tc_error *err) {
  const int fd = open(file, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return tc_fail(err, TC_IO, "push", "token_file=%s: %s", file, strerror(errno));
  tc_status status = check_file(fd, file, err);
  const ssize_t got = status ? 0 : read(fd, token, TB_TOKEN_BYTES - 1);
  if (got < 0) status = tc_fail(err, TC_IO, "push", "token_file=%s: %s", file, strerror(errno));
  token[got > 0 ? got : 0] = '\0';
  token[strcspn(token, "\r\n")] = '\0';
  if (!status && !*token) status = tc_fail(err, TC_ARG, "push", "token_file=%s: its first line is empty", file);
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
  if (*file) status = read_file(file, token, err);
  else if (given && strlen(given) >= TB_TOKEN_BYTES) status = tc_fail(err, TC_ARG, "push", "%s is longer than %d bytes", variable, TB_TOKEN_BYTES - 1);
  else if (given) strcpy(token, given);
  unsetenv(variable);
  if (!status && !is_token(token)) status = tc_fail(err, TC_ARG, "push", "%s%s has a blank or a character that no header may have", *file ? "token_file=" : "", *file ? file : variable);
  if (status) explicit_bzero(token, TB_TOKEN_BYTES);
  return status;
}
