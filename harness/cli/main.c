/* tbench: a benchmark and regression harness for tensor programs. This file finds the verb; the rest is
 * elsewhere. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/args.h"
#include "harness/base/build.h"
#include "harness/cli/verbs.h"
#include "results/exitcode.h"
#include "tcompile.h"

static int print_version(void) {
  printf("tbench %s (%s, artifact ABI %d, LLVM %s, %s)\n", PACKAGE_VERSION, TB_COMMIT, TC_ARTIFACT_ABI,
         LLVM_VERSION_STRING, LUA_RELEASE);
  return TB_EXIT_PASS;
}

static int unknown_verb(const char *name) {
  struct tb_nearest nearest = tb_nearest_to(name);
  for (int i = 0; i < tb_verb_count(); i++)
    if (tb_verb_is_shown(tb_verb_row_at(i))) tb_nearest_offer(&nearest, tb_verb_row_at(i)->name);
  fprintf(stderr, "tbench: there is no verb '%s'", name);
  if (nearest.best) fprintf(stderr, "; did you mean '%s'?", nearest.best);
  fputs(" (`tbench --help` shows all)\n", stderr);
  return TB_EXIT_USAGE;
}

/* Who was started with a closed standard stream must not see a socket or a file take its number. Writing to
 * it still fails. */
static void fill_standard_streams(void) {
  int fd;
  do fd = open("/dev/null", O_RDONLY);
  while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd >= 0) close(fd);
}

/* Whatever a verb wrote counts only once it has arrived. */
static int finish(int code) {
  errno = 0;
  if (!fflush(stdout) && !ferror(stdout)) return code;
  fprintf(stderr, "tbench: standard output was not written: %s\n", strerror(errno ? errno : EIO));
  return (int)tb_exit_worse((enum tb_exit)code, TB_EXIT_FAILED);
}

static int run_verb(int argc, char **argv) {
  const char *name = argc > 1 ? argv[1] : "";
  if (!strcmp(name, "--version") || !strcmp(name, "-V")) return print_version();
  if (!strcmp(name, "--help") || !strcmp(name, "-h")) return tb_verb_help(argc - 2, argv + 2);
  if (!*name) {
    tb_verb_help(0, argv + argc);
    return TB_EXIT_USAGE;
  }
  const struct tb_verb_row *verb = tb_verb_row_find(name);
  if (!verb) return unknown_verb(name);
  if (argc > 2 && (!strcmp(argv[2], "--help") || !strcmp(argv[2], "-h"))) return tb_verb_help(1, argv + 1);
  return verb->run(argc - 2, argv + 2);
}

int main(int argc, char **argv) {
  fill_standard_streams();
  signal(SIGXFSZ, SIG_IGN); /* a write beyond a limit on file sizes fails like one to a full disk */
  return finish(run_verb(argc, argv));
}
