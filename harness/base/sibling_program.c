/* Finding the programs that belong to this one. */
#include "harness/base/sibling_program.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifndef TB_PKGLIBEXECDIR
#define TB_PKGLIBEXECDIR "/usr/local/libexec/tbench"
#endif

static bool is_there(const char *folder, const char *within, const char *name, char *path, size_t size) {
  const int n = snprintf(path, size, "%s%s/%s", folder, within, name);
  return n > 0 && (size_t)n < size && !access(path, X_OK);
}

bool tb_sibling_program_find(const char *name, char *path, size_t size) {
  char folder[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
  folder[length > 0 ? length : 0] = '\0';
  char *slash = strrchr(folder, '/');
  if (slash) *slash = '\0';
  return (slash && (is_there(folder, "", name, path, size) ||
                    is_there(folder, "/../libexec/tbench", name, path, size))) ||
         is_there(TB_PKGLIBEXECDIR, "", name, path, size);
}
