/* A document on disk. Invariant: a reader of `path` sees the old content or all of the new, whenever the
 * writer is killed. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "harness/base/args.h"
#include "harness/base/atomic_file.h"
#include "harness/run/record.h"

enum { FILE_MODE = 0666 };
static const char suffix[] = ".json";

tc_status tb_record_write(const cJSON *document, const char *path, struct tc_error *err) {
  char *text = document ? cJSON_Print(document) : NULL;
  struct tb_atomic_file file;
  if (!text) return tc_fail(err, TC_NOMEM, "result", "the result was not written: out of memory");
  bool good = tb_atomic_file_begin(path, &file);
  if (good) good = tb_atomic_file_end(&file, fputs(text, file.out) >= 0 && fputc('\n', file.out) != EOF);
  const tc_status status =
      good ? TC_OK : tc_fail(err, TC_IO, "result", "%s was not written: %s", path, strerror(errno));
  cJSON_free(text);
  return status;
}

bool tb_record_take(struct tc_arena *arena, const char **path) {
  const size_t stem = tc_text_stem(*path, suffix), length = stem ? stem : strlen(*path);
  const char *name = *path;
  for (int i = 2; name; i++) {
    const int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, FILE_MODE);
    if (fd < 0 && errno != EEXIST) return false;
    if (fd >= 0) return close(fd), *path = name, true;
    name = tb_format(arena, "%.*s-%d%s", (int)length, *path, i, *path + length);
  }
  return false;
}

/* In the place of `path`, beside what lies there; NULL: nowhere. */
static const char *save_elsewhere(struct tc_arena *arena, const cJSON *document, const char *path) {
  const char *slash = strrchr(path, '/'), *folder = getenv("TMPDIR");
  const char *place =
      tb_format(arena, "%s/%s", folder && *folder ? folder : "/tmp", slash ? slash + 1 : path);
  if (!place || !tb_record_take(arena, &place)) return NULL;
  if (!tb_record_write(document, place, NULL)) return place;
  unlink(place);
  return NULL;
}

tc_status tb_record_save(struct tc_arena *arena, const cJSON *document, const char *path,
                         const char **written, struct tc_error *err) {
  *written = path;
  const tc_status status = tb_record_write(document, path, err);
  if (status) *written = save_elsewhere(arena, document, path);
  return status;
}
