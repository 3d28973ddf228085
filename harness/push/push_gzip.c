/* gzip of a request's body, by zlib. */
#include <limits.h>
#include <zlib.h>

#include "harness/push/push.h"

enum { GZIP_WINDOW = 15 + 16 /* 16: with gzip's head */, MEMORY_LEVEL = 8 };

void *tb_push_gzip(struct tc_arena *arena, const void *bytes, size_t count, size_t *compressed) {
  z_stream z = {0};
  if (count > UINT_MAX / 2 || deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL,
                                           Z_DEFAULT_STRATEGY) != Z_OK)
    return NULL;
  const size_t room = deflateBound(&z, count);
  void *out = tc_arena_bytes(arena, room);
  z.next_in = (z_const Bytef *)bytes;
  z.avail_in = (uInt)count;
  z.next_out = out;
  z.avail_out = (uInt)room;
  const bool good = out && deflate(&z, Z_FINISH) == Z_STREAM_END;
  *compressed = room - z.avail_out;
  deflateEnd(&z);
  return good ? out : NULL;
}
