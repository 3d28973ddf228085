/* One stream for all that a worker says, where it has no descriptors of ours: to and from a launcher
 * (launcher.h).
 *
 * It is a row of messages. A message that begins with a byte of enum tb_frame_kind is a frame: that byte, the
 * length of what follows as four bytes, the lowest first, and so many bytes. Any other message is a line of
 * JSON (protocol.h). Values and output keep their order; a reply comes after the values that it speaks of. */
#ifndef TB_STREAM_H
#define TB_STREAM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

enum tb_frame_kind {
  TB_FRAME_VALUES = 1, /* a piece of the values of exchange.h */
  TB_FRAME_OUTPUT,     /* what a worker printed */
  TB_FRAME_END,        /* a worker has ended: JSON, {"how": "left", "number": 3} */
  TB_FRAME_FILE,       /* a piece of a file, to the launcher */
};
enum { TB_FRAME_HEAD = 5, TB_FRAME_BYTES_MAX = 1 << 16 };

struct tb_frame {
  enum tb_frame_kind kind;
  const char *data; /* in the buffer, until tb_frame_drop */
  size_t bytes;
};

enum tb_frame_found {
  TB_FRAME_NONE,    /* no frame begins here: a line, or nothing yet */
  TB_FRAME_PARTIAL, /* one that is not whole yet */
  TB_FRAME_WHOLE,
  TB_FRAME_BROKEN /* one that is longer than any */
};
/* Looks at the head of `buffer`. */
enum tb_frame_found tb_frame_look(const struct tc_strbuf *buffer, struct tb_frame *frame);
/* Takes the whole frame at the head off. */
void tb_frame_drop(struct tc_strbuf *buffer);

/* Writes all of it, also to a descriptor that does not wait; false when the other side is gone. */
bool tb_write_all(int fd, const void *data, size_t bytes);
/* Writes as many frames as it takes; none for no bytes. */
bool tb_frame_write(int fd, enum tb_frame_kind kind, const void *data, size_t bytes);

#endif
