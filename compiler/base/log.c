#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const channel_names[TC_LOG_COUNT] = {
#define TC_LOG(NAME, before, name) name,
#include "base/log.def"
#undef TC_LOG
};

const char tc_log_names[] =
#define TC_LOG(NAME, before, name) before name
#include "base/log.def"
#undef TC_LOG
    ;

tc_status tc_log_parse(struct tc_log *log, const char *channels, struct tc_error *err) {
  log->channels = 0;
  for (const char *at = channels; *at;) {
    const size_t length = strcspn(at, ",");
    int found = -1;
    for (int i = 0; i < TC_LOG_COUNT; i++)
      if (strlen(channel_names[i]) == length && !strncmp(channel_names[i], at, length)) found = i;
    if (found < 0)
      return tc_fail(err, TC_ARG, "config", "logs: unknown channel '%.*s'; use %s", (int)length, at,
                     tc_log_names);
    log->channels |= 1u << found;
    at += length + (at[length] == ',');
  }
  return TC_OK;
}

void tc_log_line(const struct tc_log *log, enum tc_log_channel channel, const char *format, ...) {
  if (!tc_log_on(log, channel)) return;
  char line[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(line, sizeof line, format, args);
  va_end(args);
  fprintf(stderr, "[%s] %s\n", channel_names[channel], line);
}

void tc_log_text(const struct tc_log *log, enum tc_log_channel channel, const char *heading,
                 const char *text) {
  if (!tc_log_on(log, channel)) return;
  fprintf(stderr, "[%s] %s\n%s", channel_names[channel], heading, text);
}
