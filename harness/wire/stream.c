/* Frames in a stream. Who writes to a pipe ignores SIGPIPE, as a worker and a launcher do. */
#include "harness/wire/stream.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BYTE_BITS = 8 };

static size_t length_of(const unsigned char *head) {
  size_t length = 0;
  for (int i = 1; i < TB_FRAME_HEAD; i++) length |= (size_t)head[i] << (BYTE_BITS * (i - 1));
  return length;
}

enum tb_frame_found tb_frame_look(const struct tc_strbuf *buffer, struct tb_frame *frame) {
  const unsigned char *head = (const unsigned char *)buffer->data;
  if (!buffer->len || head[0] < TB_FRAME_VALUES || head[0] > TB_FRAME_FILE) return TB_FRAME_NONE;
  if (buffer->len < TB_FRAME_HEAD) return TB_FRAME_PARTIAL;
  *frame = (struct tb_frame){(enum tb_frame_kind)head[0], buffer->data + TB_FRAME_HEAD, length_of(head)};
  if (frame->bytes > TB_FRAME_BYTES_MAX) return TB_FRAME_BROKEN;
  return buffer->len - TB_FRAME_HEAD < frame->bytes ? TB_FRAME_PARTIAL : TB_FRAME_WHOLE;
}

void tb_frame_drop(struct tc_strbuf *buffer) {
  const size_t whole = TB_FRAME_HEAD + length_of((const unsigned char *)buffer->data);
  memmove(buffer->data, buffer->data + whole, buffer->len - whole);
  buffer->len -= whole;
}

bool tb_write_all(int fd, const void *data, size_t bytes) {
  for (const char *at = data; bytes;) {
    ssize_t sent = send(fd, at, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == ENOTSOCK) sent = write(fd, at, bytes);
    if (sent < 0 && errno == EAGAIN) {
      struct pollfd room = {fd, POLLOUT, 0};
      poll(&room, 1, -1);
    } else if (sent < 0 && errno != EINTR) {
      return false;
    }
    if (sent > 0) at += sent, bytes -= (size_t)sent;
  }
  return true;
}

bool tb_frame_write(int fd, enum tb_frame_kind kind, const void *data, size_t bytes) {
  bool good = true;
  for (const char *at = data; bytes && good;) {
    const size_t part = bytes < TB_FRAME_BYTES_MAX ? bytes : TB_FRAME_BYTES_MAX;
    unsigned char head[TB_FRAME_HEAD] = {(unsigned char)kind};
    for (int i = 1; i < TB_FRAME_HEAD; i++) head[i] = (unsigned char)(part >> (BYTE_BITS * (i - 1)));
    good = tb_write_all(fd, head, sizeof head) && tb_write_all(fd, at, part);
    at += part;
    bytes -= part;
  }
  return good;
}
