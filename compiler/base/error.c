#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

static const struct {
  const char *name, *text;
} status_rows[] = {
#define TC_STATUS(name, text) {#name, text},
#include "base/status.def"
#undef TC_STATUS
};

const char *tc_status_text(tc_status status) {
  return (unsigned)status < TC_STATUS_COUNT ? status_rows[status].text : "unknown status";
}

const char *tc_status_name(tc_status status) {
  return (unsigned)status < TC_STATUS_COUNT ? status_rows[status].name : "UNKNOWN";
}

tc_status tc_fail(struct tc_error *err, tc_status status, const char *stage, const char *format, ...) {
  if (!err) return status;
  err->status = status;
  err->stage = stage;
  err->where[0] = '\0';
  va_list args;
  va_start(args, format);
  vsnprintf(err->message, sizeof err->message, format, args);
  va_end(args);
  return status;
}

tc_status tc_fail_memory(struct tc_error *err, const char *stage) {
  return tc_fail(err, TC_NOMEM, stage, "out of memory");
}

void tc_error_at(struct tc_error *err, const char *format, ...) {
  if (!err || err->where[0]) return;
  va_list args;
  va_start(args, format);
  vsnprintf(err->where, sizeof err->where, format, args);
  va_end(args);
}
