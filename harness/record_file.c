/* A document on disk. Invariant: a reader of `path` sees the old content or all of the new, whenever the writer is killed. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/args.h"
#include "harness/record.h"
#include "harness/whole_file.h"

tc_status tb_record_write(const cJSON *document, const char *path, struct tc_error *err) {
  char *text = document ? cJSON_Print(document) : NULL;
  struct tb_whole_file file;
  if (!text) return tc_fail(err, TC_NOMEM, "result", "the result was not written: out of memory");
  bool good = tb_whole_begin(path, &file);
  if (good) good = tb_whole_end(&file, fputs(text, file.out) >= 0 && fputc('\n', file.out) != EOF);
  const tc_status status = good ? TC_OK : tc_fail(err, TC_IO, "result", "%s was not written: %s", path, strerror(errno));
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
