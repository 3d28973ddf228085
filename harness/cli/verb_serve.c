/* `tbench serve`: starts tbench-serve. A program of its own, since its libraries would slow down the start of
 * every worker that is measured. */
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/sibling_program.h"
#include "harness/base/verb.h"
#include "harness/cli/verbs.h"

int tb_verb_serve(int argc, char *const *argv) {
  static const char program[] = "tbench-serve";
  char path[PATH_MAX];
  if (!tb_sibling_program_find(program, path, sizeof path))
    return tb_verb_failed(
        "serve",
        "there is no %s: tbench was built without libmicrohttpd, SQLite or libcrypto (Debian "
        "packages: libmicrohttpd-dev, libsqlite3-dev, libssl-dev)",
        program);
  char **words = calloc((size_t)argc + 2, sizeof *words);
  if (!words) return tb_verb_failed("serve", "out of memory");
  words[0] = (char *)(uintptr_t)program;
  memcpy(words + 1, argv, (size_t)argc * sizeof *words);
  execv(path, words);
  const int why = errno;
  free(words);
  return tb_verb_failed("serve", "%s cannot be started: %s", path, strerror(why));
}
