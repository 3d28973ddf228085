/* Runs gnuplot. Invariant: a picture that is there after it is a whole one of this script. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "reporters/gnuplot/gnuplot.h"

enum { NOT_FOUND = 127, NOT_STARTED = 126, SAID = 256 };

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* In the child: gnuplot in the script's folder, its messages into `out`. */
static void become_gnuplot(const char *script, int out) {
  char folder[TB_PLOT_PATH], file[TB_PLOT_PATH + 2];
  snprintf(folder, sizeof folder, "%s", script);
  snprintf(file, sizeof file, "./%s", base_name(script)); /* whatever it begins with, it is no option */
  char *slash = strrchr(folder, '/');
  if (slash) *slash = '\0';
  dup2(out, STDERR_FILENO);
  dup2(out, STDOUT_FILENO);
  if (slash && chdir(slash == folder ? "/" : folder)) _exit(NOT_STARTED);
  execlp("gnuplot", "gnuplot", file, (char *)NULL);
  _exit(errno == ENOENT ? NOT_FOUND : NOT_STARTED);
}

/* The last line that it says, on one line; warnings about a picture that came out are nobody's business. */
static void listen_to(int in, char said[SAID]) {
  char chunk[SAID];
  size_t length = 0;
  for (ssize_t got; (got = read(in, chunk, sizeof chunk)) > 0 || (got < 0 && errno == EINTR);) {
    for (ssize_t i = 0; i < got; i++) {
      if (length && said[length - 1] == '\n') length = 0;
      if (length + 1 < SAID) said[length++] = chunk[i];
    }
  }
  while (length && said[length - 1] == '\n') length--;
  said[length] = '\0';
}

/* Exit status; -1: it could not be started or was killed. */
static int run_gnuplot(const char *script, char said[SAID]) {
  int ends[2], status;
  said[0] = '\0';
  if (pipe2(ends, O_CLOEXEC)) return -1;
  const pid_t child = fork();
  if (child == 0) become_gnuplot(script, ends[1]);
  close(ends[1]);
  if (child > 0) listen_to(ends[0], said);
  close(ends[0]);
  if (child < 0) return -1;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Whether the last bytes of a file hold the mark that its format ends with: gnuplot tells nobody of a full
 * disk. */
static bool ends_with(const char *path, const char *mark) {
  enum { TAIL = 16 };
  char tail[TAIL];
  FILE *in = fopen(path, "re");
  if (!in) return false;
  const bool good = !fseek(in, -(long)TAIL, SEEK_END) && fread(tail, 1, TAIL, in) == TAIL &&
                    memmem(tail, TAIL, mark, strlen(mark));
  fclose(in);
  return good;
}

static bool pictures_whole(const struct tb_plot *plot) {
  static const char *const ends[TB_PLOT_FORMATS] = {
      [TB_PLOT_SVG] = "</svg>", [TB_PLOT_PNG] = "IEND", [TB_PLOT_PDF] = "%%EOF"};
  for (int f = 0; f < TB_PLOT_FORMATS; f++)
    if (*plot->picture[f] && !ends_with(plot->picture[f], ends[f])) return false;
  return true;
}

static void remove_pictures(const struct tb_plot *plot) {
  for (int f = 0; f < TB_PLOT_FORMATS; f++)
    if (*plot->picture[f]) unlink(plot->picture[f]);
}

bool tb_gnuplot_draw(struct tb_plot *plot) {
  char said[SAID], why[SAID + 64];
  remove_pictures(plot); /* an old picture must not pass for the new one */
  const int status = run_gnuplot(plot->script, said);
  if (!status && pictures_whole(plot)) return true;
  remove_pictures(plot);
  if (status == NOT_FOUND)
    snprintf(why, sizeof why, "gnuplot is not installed (Debian package: gnuplot-nox)");
  else if (status)
    snprintf(why, sizeof why, "gnuplot failed (exit status %d)%s%s", status, *said ? ": " : "", said);
  else
    snprintf(why, sizeof why, "gnuplot could not write the pictures (a full disk?)");
  snprintf(plot->message, sizeof plot->message, "%s; data and script are in %.*s and %.*s", why,
           TB_PLOT_PATH - 1, plot->data, TB_PLOT_PATH - 1, plot->script);
  return false;
}
