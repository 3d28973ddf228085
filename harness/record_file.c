/* A document on disk. Invariant: a reader of `path` sees the old content or all of the new, whenever the writer is killed. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/args.h"
#include "harness/record.h"

enum { FILE_MODE = 0666 };

static bool write_all(int fd, const char *text, size_t bytes) {
  while (bytes) {
    const ssize_t sent = write(fd, text, bytes);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    text += sent;
    bytes -= (size_t)sent;
  }
  return true;
}

tc_status tb_record_write(const cJSON *document, const char *path, struct tc_error *err) {
  char *text = document ? cJSON_Print(document) : NULL, *temporary = NULL;
  if (!text || asprintf(&temporary, "%s.%ld.part", path, (long)getpid()) < 0) {
    cJSON_free(text);
    return tc_fail(err, TC_NOMEM, "result", "the result was not written: out of memory");
  }
  tc_status status = TC_OK;
  const int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, FILE_MODE);
  bool good = fd >= 0 && write_all(fd, text, strlen(text)) && write_all(fd, "\n", 1) && !fsync(fd);
  if (!good) status = tc_fail(err, TC_IO, "result", "%s was not written: %s", path, strerror(errno));
  if (fd >= 0 && close(fd) && good) good = false, status = tc_fail(err, TC_IO, "result", "%s was not written: %s", path, strerror(errno));
  if (good && rename(temporary, path)) good = false, status = tc_fail(err, TC_IO, "result", "%s was not written: %s", path, strerror(errno));
  if (!good && fd >= 0) unlink(temporary);
  free(temporary);
  cJSON_free(text);
  return status;
}

tc_status tb_record_save(struct tc_arena *arena, const cJSON *document, const char *path, const char **written, struct tc_error *err) {
  *written = path;
  const tc_status status = tb_record_write(document, path, err);
  if (!status) return TC_OK;
  const char *slash = strrchr(path, '/'), *folder = getenv("TMPDIR");
  *written = tb_format(arena, "%s/%s", folder && *folder ? folder : "/tmp", slash ? slash + 1 : path);
  if (*written && tb_record_write(document, *written, NULL)) *written = NULL;
  return status;
}
