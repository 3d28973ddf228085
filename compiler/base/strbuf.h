/* Text that grows. Failure is sticky: after a failed allocation every call does nothing, and
 * tc_strbuf_text returns NULL, so that a printer checks once at its end. One thread at a time. */
#ifndef TC_BASE_STRBUF_H
#define TC_BASE_STRBUF_H

#include <stdarg.h>
#include <stdbool.h>

#include "base/alloc.h"

struct tc_strbuf {
  const struct tc_alloc *alloc;
  char *data;
  size_t len, cap;
  bool failed;
};

void tc_strbuf_init(struct tc_strbuf *buf, const struct tc_alloc *alloc);
void tc_strbuf_free(struct tc_strbuf *buf);
void tc_strbuf_bytes(struct tc_strbuf *buf, const void *bytes, size_t count);
void tc_strbuf_puts(struct tc_strbuf *buf, const char *text);
void tc_strbuf_printf(struct tc_strbuf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Zero-terminated, owned by the buffer; NULL after a failure. */
const char *tc_strbuf_text(struct tc_strbuf *buf);

#endif
