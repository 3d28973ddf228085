/* Texts from outside made fit for a line and a document; what suites print. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/text.h"
#include "harness/text.h"
#include "harness/voice.h"

static void test_clean(void **state) {
  (void)state;
  static const struct { const char *given; enum tb_text_kept kept; const char *expected; } rows[] = {
      {"plain", TB_TEXT_LINE, "plain"}, {"", TB_TEXT_LINE, ""},
      {"µ € 😀", TB_TEXT_LINE, "µ € 😀"},
      {"a\tb\nc\033[1m\177", TB_TEXT_LINE, "a b c [1m "}, {"a\tb\nc", TB_TEXT_TABS, "a\tb c"}, {"a\tb\nc\r", TB_TEXT_LINES, "a\tb\nc "},
      {"\xff\xfe", TB_TEXT_LINE, "??"}, {"\xc3", TB_TEXT_LINE, "?"}, {"\xe2\x82", TB_TEXT_LINE, "??"},
      {"\xc0\xaf", TB_TEXT_LINE, "??"},              /* too long for what it says */
      {"\xed\xa0\x80", TB_TEXT_LINE, "???"},         /* half of a surrogate pair */
      {"\xf4\x90\x80\x80", TB_TEXT_LINE, "????"},    /* beyond the last character */
      {"\xc2\x9b", TB_TEXT_LINE, "  "},               /* a control character of two bytes */
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[64];
    snprintf(text, sizeof text, "%s", rows[i].given);
    tb_text_clean(text, rows[i].kept);
    assert_string_equal(text, rows[i].expected);
    assert_true(tb_text_is_utf8(text));
  }
  assert_true(tb_text_is_utf8("é\n"));
  assert_false(tb_text_is_utf8("a\xe9"));
  assert_string_equal(tb_plural(1), "");
  assert_string_equal(tb_plural(0), "s");
  assert_string_equal(tb_plural(2), "s");
}

/* What `speak` writes to standard error, in a text that the caller frees. */
static char *hear(void (*speak)(void)) {
  char path[] = "/tmp/tbench-voice.XXXXXX";
  const int file = mkstemp(path), before = dup(STDERR_FILENO);
  char *text = calloc(1, 1 << 16);
  assert_true(file >= 0 && before >= 0 && text);
  dup2(file, STDERR_FILENO);
  speak();
  fflush(stderr);
  dup2(before, STDERR_FILENO);
  close(before);
  assert_true(pread(file, text, (1 << 16) - 1, 0) >= 0);
  close(file);
  unlink(path);
  return text;
}

static void speak_in_pieces(void) {
  struct tb_voice voice = {0};
  struct tb_speech speech;
  tb_speech_begin(&speech, &voice, "./folder/loud.lua");
  tb_speech_take(&speech, "one\ntw", 6);
  tb_speech_take(&speech, "o\n\0\n", 4);
  tb_speech_take(&speech, "end", 3);
  tb_speech_end(&speech);
  tb_speech_begin(&speech, &voice, "quiet");
  tb_speech_take(&speech, "one\none\n", 8);
  tb_speech_end(&speech);
  tb_voice_end(&voice);
}

static void speak_too_much(void) {
  struct tb_voice voice = {0};
  struct tb_speech speech;
  char line[32];
  tb_speech_begin(&speech, &voice, "s");
  for (int i = 0; i < TB_VOICE_LINES + 7; i++) {
    snprintf(line, sizeof line, "%d\n", i);
    tb_speech_take(&speech, line, strlen(line));
  }
  for (int i = 0; i < 2 * TB_SPEECH_BYTES; i++) tb_speech_take(&speech, "x", 1);
  tb_speech_end(&speech);
  tb_voice_end(&voice);
}

static void speak_to_nobody(void) {
  struct tb_speech speech;
  tb_speech_begin(&speech, NULL, "s");
  tb_speech_take(&speech, "one\n", 4);
  tb_speech_end(&speech);
}

static void test_voice(void **state) {
  (void)state;
  char *text = hear(speak_in_pieces);
  assert_string_equal(text, "loud: one\nloud: two\nloud:  \nloud: end\nquiet: one\n1 more line printed by suites: shown before, or beyond the first 200\n");
  free(text);
  text = hear(speak_too_much);
  assert_non_null(strstr(text, "\ns: 199\n10 more lines printed by suites"));
  free(text);
  text = hear(speak_to_nobody);
  assert_string_equal(text, "");
  free(text);
}

static void test_stems(void **state) {
  (void)state;
  static const struct { const char *text, *suffix; size_t stem; } rows[] = {{"a.json", ".json", 1}, {".json", ".json", 0},      {"", ".json", 0},     {"a.jso", ".json", 0},
                                                                            {"a.json.", ".json", 0}, {"x.json.json", ".json", 6}, {"json", ".json", 0}, {"abc", "", 3}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) assert_int_equal(tc_text_stem(rows[i].text, rows[i].suffix), rows[i].stem);
  assert_int_equal(tc_text_hex("09afAF"), 4);
  assert_int_equal(tc_text_hex("g"), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_clean), cmocka_unit_test(test_stems), cmocka_unit_test(test_voice)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
