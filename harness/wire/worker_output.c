/* Lines that suites print. Invariant: every line is either shown or counted. */
#include "harness/wire/worker_output.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/text.h"
#include "harness/base/text.h"

static const char suffix[] = ".lua";

void tb_output_stream_begin(struct tb_output_stream *output_stream, struct tb_worker_output *worker_output,
                            const char *suite) {
  const char *slash = strrchr(suite, '/'), *name = slash ? slash + 1 : suite;
  const size_t stem = tc_text_stem(name, suffix), length = stem ? stem : strlen(name);
  *output_stream = (struct tb_output_stream){.worker_output = worker_output};
  snprintf(output_stream->label, sizeof output_stream->label, "%.*s", (int)length, name);
}

/* Whether a line is to be shown: it is new, and there is room to remember it. */
static bool is_new(struct tb_worker_output *worker_output, const char *label, const char *line) {
  const uint64_t hash = tc_hash_bytes(tc_hash_bytes(0, label, strlen(label)), line, strlen(line));
  for (int i = 0; i < worker_output->n_shown; i++)
    if (worker_output->shown[i] == hash) return false;
  if (worker_output->n_shown == TB_OUTPUT_LINES) return false;
  worker_output->shown[worker_output->n_shown++] = hash;
  return true;
}

static void show_line(struct tb_output_stream *s) {
  struct tb_progress none = {0};
  s->line[s->length] = '\0';
  s->length = 0;
  tb_text_clean(s->line, TB_TEXT_TABS);
  if (is_new(s->worker_output, s->label, s->line))
    tb_progress_say(s->worker_output->progress ? s->worker_output->progress : &none, "%s: %s", s->label,
                    s->line);
  else
    s->worker_output->left_out++;
}

void tb_output_stream_add(struct tb_output_stream *s, const char *text, size_t bytes) {
  for (size_t i = 0; s->worker_output && i < bytes; i++) {
    if (text[i] != '\n') s->line[s->length++] = text[i] ? text[i] : ' ';
    if (text[i] == '\n' || s->length + 1 == sizeof s->line) show_line(s);
  }
}

void tb_output_stream_end(struct tb_output_stream *s) {
  if (s->worker_output && s->length) show_line(s);
}

void tb_worker_output_end(const struct tb_worker_output *worker_output) {
  if (!worker_output->left_out) return;
  fprintf(stderr, "%lld more line%s printed by suites: repeated, or after the first %d\n",
          worker_output->left_out, tb_plural((double)worker_output->left_out), TB_OUTPUT_LINES);
}
