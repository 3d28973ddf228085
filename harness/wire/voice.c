/* Lines that suites print. Invariant: every line is either shown or counted. */
#include "harness/wire/voice.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/text.h"
#include "harness/base/text.h"

static const char suffix[] = ".lua";

void tb_speech_begin(struct tb_speech *speech, struct tb_voice *voice, const char *suite) {
  const char *slash = strrchr(suite, '/'), *name = slash ? slash + 1 : suite;
  const size_t stem = tc_text_stem(name, suffix), length = stem ? stem : strlen(name);
  *speech = (struct tb_speech){.voice = voice};
  snprintf(speech->speaker, sizeof speech->speaker, "%.*s", (int)length, name);
}

/* Whether a line is to be shown: it is new, and there is room to remember it. */
static bool is_news(struct tb_voice *voice, const char *speaker, const char *line) {
  const uint64_t hash = tc_hash_bytes(tc_hash_bytes(0, speaker, strlen(speaker)), line, strlen(line));
  for (int i = 0; i < voice->n_shown; i++)
    if (voice->shown[i] == hash) return false;
  if (voice->n_shown == TB_VOICE_LINES) return false;
  voice->shown[voice->n_shown++] = hash;
  return true;
}

static void show_line(struct tb_speech *s) {
  struct tb_progress none = {0};
  s->line[s->length] = '\0';
  s->length = 0;
  tb_text_clean(s->line, TB_TEXT_TABS);
  if (is_news(s->voice, s->speaker, s->line))
    tb_progress_say(s->voice->progress ? s->voice->progress : &none, "%s: %s", s->speaker, s->line);
  else
    s->voice->left_out++;
}

void tb_speech_take(struct tb_speech *s, const char *text, size_t bytes) {
  for (size_t i = 0; s->voice && i < bytes; i++) {
    if (text[i] != '\n') s->line[s->length++] = text[i] ? text[i] : ' ';
    if (text[i] == '\n' || s->length + 1 == sizeof s->line) show_line(s);
  }
}

void tb_speech_end(struct tb_speech *s) {
  if (s->voice && s->length) show_line(s);
}

void tb_voice_end(const struct tb_voice *voice) {
  if (!voice->left_out) return;
  fprintf(stderr, "%lld more line%s printed by suites: shown before, or beyond the first %d\n",
          voice->left_out, tb_plural((double)voice->left_out), TB_VOICE_LINES);
}
