/* What suites print, passed on to standard error: each line after the suite's name.
 *
 * Each worker loads the suite anew and calls its function many times, so a line that was shown is not shown
 * again, and after TB_OUTPUT_LINES different ones no more are; what was left out is counted and told by
 * tb_worker_output_end. Threads: one. */
#ifndef TB_WORKER_OUTPUT_H
#define TB_WORKER_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

#include "harness/base/progress.h"

enum { TB_OUTPUT_LINES = 200, TB_OUTPUT_LINE_BYTES = 1024, TB_OUTPUT_LABEL_BYTES = 64 };

/* One a run, shared by its workers. */
struct tb_worker_output {
  struct tb_progress *progress; /* lines go above it; NULL: there is none */
  uint64_t shown[TB_OUTPUT_LINES];
  int n_shown;
  long long left_out;
};

/* One a worker: who speaks, and the line that is not complete yet. */
struct tb_output_stream {
  struct tb_worker_output *worker_output; /* NULL: nothing is shown */
  char label[TB_OUTPUT_LABEL_BYTES];
  char line[TB_OUTPUT_LINE_BYTES]; /* a longer line is shown in pieces */
  size_t length;
};

/* `suite`: its file or name; the speaker is the file's name without folder and suffix. */
void tb_output_stream_begin(struct tb_output_stream *output_stream, struct tb_worker_output *worker_output,
                            const char *suite);
void tb_output_stream_add(struct tb_output_stream *output_stream, const char *text, size_t bytes);
/* Shows what was printed without an end of line. */
void tb_output_stream_end(struct tb_output_stream *output_stream);
/* Tells how many lines were left out, if any were. */
void tb_worker_output_end(const struct tb_worker_output *worker_output);

#endif
