/* Folders of a run: the private cache, and the place of the result. */
#include "harness/base/folder.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/args.h"

enum { OPEN_FOLDERS = 16, FOLDER_MODE = 0777 };

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *where) {
  (void)info;
  (void)kind;
  (void)where;
  (void)remove(path); /* what stays is told by the folder that cannot be removed, to nobody's harm */
  return 0;
}

void tb_folder_remove(const char *path) {
  if (path) nftw(path, remove_entry, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
}

const char *tb_folder_private(struct tc_arena *arena, const char *parent, struct tc_error *err) {
  const char *pattern = tb_format(arena, "%s/tbench-run.XXXXXX", parent);
  char *path = pattern ? tc_arena_text(arena, pattern) : NULL;
  if (!path) return tc_fail_memory(err, "harness"), NULL;
  if (!mkdtemp(path))
    return tc_fail(err, TC_IO, "harness", "a folder for the cache of this run cannot be made in %s: %s",
                   parent, strerror(errno)),
           NULL;
  return path;
}

tc_status tb_folder_make(const char *path, struct tc_error *err) {
  if (!mkdir(path, FOLDER_MODE) || errno == EEXIST) return TC_OK;
  return tc_fail(err, TC_IO, "result", "the folder %s of the result cannot be made: %s", path,
                 strerror(errno));
}

/* The folder that a file is in; NULL when memory is out. */
static const char *folder_of(struct tc_arena *arena, const char *file) {
  const char *slash = strrchr(file, '/');
  return slash ? tb_format(arena, "%.*s", (int)(slash - file) + (slash == file), file) : ".";
}

tc_status tb_folder_there(struct tc_arena *arena, const char *file, struct tc_error *err) {
  struct stat info;
  const char *folder = folder_of(arena, file);
  if (!folder) return tc_fail_memory(err, "result");
  if (!*file || file[strlen(file) - 1] == '/' || (!stat(file, &info) && !S_ISREG(info.st_mode)))
    return tc_fail(err, TC_IO, "result", "out=%s: name a file, not a folder or a device", file);
  if (stat(folder, &info))
    return tc_fail(err, TC_IO, "result", "out=%s: the folder %s: %s", file, folder, strerror(errno));
  return S_ISDIR(info.st_mode) ? TC_OK
                               : tc_fail(err, TC_IO, "result", "out=%s: %s is not a folder", file, folder);
}

tc_status tb_folder_writable(struct tc_arena *arena, const char *file, struct tc_error *err) {
  const tc_status status = tb_folder_there(arena, file, err);
  if (status) return status;
  const char *folder = folder_of(arena, file),
             *pattern = folder ? tb_format(arena, "%s/.tbench.XXXXXX", folder) : NULL;
  char *trial = pattern ? tc_arena_text(arena, pattern) : NULL;
  if (!trial) return tc_fail_memory(err, "result");
  const int fd = mkstemp(trial);
  if (fd < 0) return tc_fail(err, TC_IO, "result", "%s cannot be written: %s", file, strerror(errno));
  close(fd);
  unlink(trial);
  return TC_OK;
}
