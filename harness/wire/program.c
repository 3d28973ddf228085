/* The running program's file. */
#include "harness/wire/program.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/wire/protocol.h"

static const char own_link[] = "/proc/self/exe";

/* The link's text is asked for, as under an emulator the link itself leads to the emulator. The number is
 * above those that a worker's pipes get. */
void tb_program_open(struct tb_program *program) {
  char path[PATH_MAX];
  const ssize_t length = readlink(own_link, path, sizeof path - 1);
  *program = (struct tb_program){.fd = -1};
  snprintf(program->path, sizeof program->path, "%s", own_link);
  if (length <= 0) return;
  path[length] = '\0';
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  program->fd = fcntl(fd, F_DUPFD_CLOEXEC, TB_FD_EXCHANGE + 1);
  close(fd);
  if (program->fd >= 0) snprintf(program->path, sizeof program->path, "/proc/self/fd/%d", program->fd);
}

const char *tb_program_python(void) {
  const char *given = getenv("TBENCH_PYTHON");
  return given && *given ? given : "python3";
}

void tb_program_close(struct tb_program *program) {
  if (program->fd >= 0) close(program->fd);
  program->fd = -1;
}
