/* Artifact logs (TB_LOGS=graph,guards,…), to stderr. A channel that is off costs one test. */
#ifndef TC_BASE_LOG_H
#define TC_BASE_LOG_H

#include <stdbool.h>

#include "base/error.h"

enum tc_log_channel {
#define TC_LOG(NAME, before, name) TC_LOG_##NAME,
#include "base/log.def"
#undef TC_LOG
  TC_LOG_COUNT
};
extern const char tc_log_names[]; /* "graph, guards, …" */

struct tc_log {
  unsigned channels; /* bit set of tc_log_channel */
};

/* Parses "graph,cache"; an unknown name is TC_ARG and lists the known ones. */
tc_status tc_log_parse(struct tc_log *log, const char *channels, struct tc_error *err);
static inline bool tc_log_on(const struct tc_log *log, enum tc_log_channel channel) {
  return log->channels >> channel & 1;
}
void tc_log_line(const struct tc_log *log, enum tc_log_channel channel, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A block of text of several lines, under a heading. */
void tc_log_text(const struct tc_log *log, enum tc_log_channel channel, const char *heading,
                 const char *text);

#endif
