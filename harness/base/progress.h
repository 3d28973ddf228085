/* What the user sees on standard error while a run goes on: on a terminal one line that is rewritten,
 * elsewhere a plain line every few seconds. */
#ifndef TB_PROGRESS_H
#define TB_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct tb_progress {
  bool terminal, shown;
  int done, total; /* sessions: one of each group and replicate */
  int64_t started_ns, last_ns;
};

void tb_progress_begin(struct tb_progress *progress, int total);
/* "[3/12] mlp b64 default … 00:12": what is being done now. */
void tb_progress_show(struct tb_progress *progress, const char *label, const char *step);
/* A line that stays, above the progress. */
void tb_progress_say(struct tb_progress *progress, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void tb_progress_end(struct tb_progress *progress);

#endif
