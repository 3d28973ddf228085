/* What suites print, passed on to standard error: each line after the suite's name.
 *
 * Each worker loads the suite anew and calls its function many times, so a line that was shown is not shown
 * again, and after TB_VOICE_LINES different ones no more are; what was left out is counted and told by
 * tb_voice_end. Threads: one. */
#ifndef TB_VOICE_H
#define TB_VOICE_H

#include <stddef.h>
#include <stdint.h>

#include "harness/base/progress.h"

enum { TB_VOICE_LINES = 200, TB_SPEECH_BYTES = 1024, TB_SPEAKER_BYTES = 64 };

/* One a run, shared by its workers. */
struct tb_voice {
  struct tb_progress *progress; /* lines go above it; NULL: there is none */
  uint64_t shown[TB_VOICE_LINES];
  int n_shown;
  long long left_out;
};

/* One a worker: who speaks, and the line that is not complete yet. */
struct tb_speech {
  struct tb_voice *voice; /* NULL: nothing is shown */
  char speaker[TB_SPEAKER_BYTES];
  char line[TB_SPEECH_BYTES]; /* a longer line is shown in pieces */
  size_t length;
};

/* `suite`: its file or name; the speaker is the file's name without folder and suffix. */
void tb_speech_begin(struct tb_speech *speech, struct tb_voice *voice, const char *suite);
void tb_speech_take(struct tb_speech *speech, const char *text, size_t bytes);
/* Shows what was printed without an end of line. */
void tb_speech_end(struct tb_speech *speech);
/* Tells how many lines were left out, if any were. */
void tb_voice_end(const struct tb_voice *voice);

#endif
