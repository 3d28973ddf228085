#include "base/strbuf.h"

#include <stdio.h>
#include <string.h>

enum { STRBUF_FIRST = 128 };

void tc_strbuf_init(struct tc_strbuf *buf, const struct tc_alloc *alloc) {
  *buf = (struct tc_strbuf){.alloc = alloc};
}

void tc_strbuf_free(struct tc_strbuf *buf) {
  tc_free_bytes(buf->alloc, buf->data, buf->cap);
  tc_strbuf_init(buf, buf->alloc);
}

static bool reserve(struct tc_strbuf *buf, size_t extra) {
  if (buf->failed) return false;
  const size_t need = buf->len + extra + 1;
  if (need <= buf->cap) return true;
  size_t cap = buf->cap ? buf->cap : STRBUF_FIRST;
  while (cap < need) cap *= 2;
  char *grown = buf->alloc->resize(buf->alloc->self, buf->data, buf->cap, cap);
  if (!grown) return buf->failed = true, false;
  buf->data = grown;
  buf->cap = cap;
  return true;
}

void tc_strbuf_bytes(struct tc_strbuf *buf, const void *bytes, size_t count) {
  if (!count || !reserve(buf, count)) return;
  memcpy(buf->data + buf->len, bytes, count);
  buf->len += count;
}

void tc_strbuf_puts(struct tc_strbuf *buf, const char *text) { tc_strbuf_bytes(buf, text, strlen(text)); }

void tc_strbuf_printf(struct tc_strbuf *buf, const char *format, ...) {
  va_list args;
  va_start(args, format);
  const int count = vsnprintf(NULL, 0, format, args);
  va_end(args);
  if (count < 0 || !reserve(buf, (size_t)count)) return;
  va_start(args, format);
  vsnprintf(buf->data + buf->len, (size_t)count + 1, format, args);
  va_end(args);
  buf->len += (size_t)count;
}

const char *tc_strbuf_text(struct tc_strbuf *buf) {
  if (!reserve(buf, 0)) return NULL;
  buf->data[buf->len] = '\0';
  return buf->data;
}
