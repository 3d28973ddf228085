/* Progress on standard error. It never fails a run: what cannot be written is not shown. */
#include "harness/base/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "harness/base/clock.h"

enum { LINE_BYTES = 256, WIDTH_DEFAULT = 80, MINUTE = 60 };
static const int64_t terminal_every_ns = 100 * (int64_t)TB_NS_PER_MS,
                     plain_every_ns = 5 * (int64_t)TB_NS_PER_S;

void tb_progress_begin(struct tb_progress *p, int total) {
  *p = (struct tb_progress){.terminal = isatty(STDERR_FILENO), .total = total, .started_ns = tb_now_ns()};
}

static int terminal_width(void) {
  struct winsize size;
  return !ioctl(STDERR_FILENO, TIOCGWINSZ, &size) && size.ws_col ? size.ws_col : WIDTH_DEFAULT;
}

static void clear_line(const struct tb_progress *p) {
  if (p->terminal && p->shown) fputs("\r\033[K", stderr);
}

void tb_progress_show(struct tb_progress *p, const char *label, const char *step) {
  const int64_t now = tb_now_ns();
  if (p->shown && now - p->last_ns < (p->terminal ? terminal_every_ns : plain_every_ns)) return;
  const int seconds = (int)((now - p->started_ns) / TB_NS_PER_S);
  char line[LINE_BYTES];
  snprintf(line, sizeof line, "[%d/%d] %02d:%02d %s · %s …", p->done + 1, p->total, seconds / MINUTE,
           seconds % MINUTE, label, step);
  if (p->terminal)
    fprintf(stderr, "\r\033[K%.*s", terminal_width() + 4 /* bytes of the two signs beyond ASCII */ - 1, line);
  else
    fprintf(stderr, "%s\n", line);
  fflush(stderr);
  p->last_ns = now;
  p->shown = true;
}

void tb_progress_say(struct tb_progress *p, const char *format, ...) {
  clear_line(p);
  va_list args;
  va_start(args, format);
  vfprintf(stderr, format, args);
  va_end(args);
  fputc('\n', stderr);
  p->shown = p->shown && !p->terminal; /* a rewritten line must come again, plain ones keep their pace */
}

void tb_progress_end(struct tb_progress *p) {
  clear_line(p);
  p->shown = false;
}
