/* Between a worker and its harness. Invariants:
 * 1. A frame never stands inside of a line: lines are passed on whole.
 * 2. What a worker printed or sent before a reply goes before it. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "harness/wire/launcher.h"
#include "harness/wire/protocol.h"
#include "harness/wire/stream.h"

enum { PIECE_BYTES = 1 << 15, PIECES_MAX = 32 /* of output at a time: a worker may print for ever */ };

struct relay {
  struct tb_link *link;
  int in, out;
  struct tc_strbuf lines; /* of the worker, of which the last one is not whole yet */
  bool greeted, failed;   /* its hello was passed on; the harness is gone */
};

/* What a pipe of the worker holds, as frames. It is closed where it has ended. */
static void pass_frames(struct relay *r, int *fd, enum tb_frame_kind kind, int pieces) {
  char piece[PIECE_BYTES];
  ssize_t got = 0;
  while (*fd >= 0 && pieces-- && !r->failed && (got = read(*fd, piece, sizeof piece)) > 0)
    r->failed = !tb_frame_write(r->out, kind, piece, (size_t)got);
  if (*fd < 0 || pieces < 0 || r->failed || (got < 0 && (errno == EAGAIN || errno == EINTR))) return;
  close(*fd);
  *fd = -1;
}

static void pass_pipes(struct relay *r) {
  pass_frames(r, &r->link->exchange, TB_FRAME_VALUES, -1);
  pass_frames(r, &r->link->text, TB_FRAME_OUTPUT, PIECES_MAX);
}

/* A worker's hello with what only this host knows. */
static void pass_hello(struct relay *r, const char *line, size_t bytes) {
  cJSON *message = cJSON_ParseWithLength(line, bytes),
        *hello = cJSON_GetObjectItemCaseSensitive(message, "hello");
  r->greeted = true;
  if (!hello) {
    r->failed = !tb_write_all(r->out, line, bytes);
  } else {
    cJSON_AddNumberToObject(hello, "start_ns",
                            tb_json_number(hello, "ready_ns", 0) - (double)r->link->started_ns);
    cJSON_AddBoolToObject(hello, "bound", r->link->bound);
    r->failed = !tb_message_write(r->out, message);
  }
  cJSON_Delete(message);
}

/* A line of a worker that would be taken for a frame is no JSON either way. */
static void pass_line(struct relay *r, const char *line, size_t bytes) {
  if (*line >= TB_FRAME_VALUES && *line <= TB_FRAME_FILE) r->failed = !tb_write_all(r->out, "?", 1);
  if (r->greeted)
    r->failed = r->failed || !tb_write_all(r->out, line, bytes);
  else
    pass_hello(r, line, bytes);
}

/* False: the worker has closed its control socket. */
static bool pass_lines(struct relay *r) {
  char piece[PIECE_BYTES];
  const ssize_t got = read(r->link->control, piece, sizeof piece);
  if (got < 0 && errno == EINTR) return true;
  if (got <= 0) return false;
  tc_strbuf_bytes(&r->lines, piece, (size_t)got);
  pass_pipes(r);
  char *end;
  size_t taken = 0;
  while (!r->failed && (end = memchr(r->lines.data + taken, '\n', r->lines.len - taken))) {
    const size_t bytes = (size_t)(end - (r->lines.data + taken)) + 1;
    pass_line(r, r->lines.data + taken, bytes);
    taken += bytes;
  }
  memmove(r->lines.data, r->lines.data + taken, r->lines.len - taken);
  r->lines.len -= taken;
  r->failed |= r->lines.failed;
  return true;
}

static void pass_end(struct relay *r) {
  const struct tb_end end = r->link->transport->kind->bury(r->link);
  pass_pipes(r);
  cJSON *json = tb_end_json(&end);
  char *text = json ? cJSON_PrintUnformatted(json) : NULL;
  if (text) tb_frame_write(r->out, TB_FRAME_END, text, strlen(text));
  cJSON_free(text);
  cJSON_Delete(json);
}

/* False: the harness is gone. */
static bool pass_requests(struct relay *r) {
  char piece[PIECE_BYTES];
  const ssize_t got = read(r->in, piece, sizeof piece);
  if (got > 0)
    (void)tb_write_all(r->link->control, piece, (size_t)got); /* a worker that is gone is seen below */
  return got > 0 || (got < 0 && errno == EINTR);
}

void tb_launcher_relay(struct tb_link *link, struct tc_strbuf *inbox, int in, int out) {
  struct relay r = {.link = link, .in = in, .out = out};
  tc_strbuf_init(&r.lines, tc_alloc_system());
  (void)tb_write_all(link->control, inbox->data, inbox->len);
  for (bool on = true; on && !r.failed;) {
    struct pollfd fds[] = {
        {in, POLLIN, 0}, {link->control, POLLIN, 0}, {link->exchange, POLLIN, 0}, {link->text, POLLIN, 0}};
    if (poll(fds, sizeof fds / sizeof *fds, -1) < 0) continue;
    if (fds[0].revents) on = pass_requests(&r);
    if (on && (fds[2].revents || fds[3].revents)) pass_pipes(&r);
    if (on && fds[1].revents && !pass_lines(&r)) {
      pass_end(&r);
      on = false;
    }
  }
  if (link->pid) link->transport->kind->kill(link);
  tb_link_close(link);
  tc_strbuf_free(&r.lines);
}
