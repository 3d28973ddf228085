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
#include "harness/base/text.h"
#include "harness/base/value.h"
#include "harness/wire/worker_output.h"
#include "reporters/text_out.h"

static void test_clean(void **state) {
  (void)state;
  static const struct {
    const char *given;
    enum tb_text_kept kept;
    const char *expected;
  } rows[] = {
      {"plain", TB_TEXT_LINE, "plain"},
      {"", TB_TEXT_LINE, ""},
      {"µ € 😀", TB_TEXT_LINE, "µ € 😀"},
      {"a\tb\nc\033[1m\177", TB_TEXT_LINE, "a b c [1m "},
      {"a\tb\nc", TB_TEXT_TABS, "a\tb c"},
      {"a\tb\nc\r", TB_TEXT_LINES, "a\tb\nc "},
      {"\xff\xfe", TB_TEXT_LINE, "??"},
      {"\xc3", TB_TEXT_LINE, "?"},
      {"\xe2\x82", TB_TEXT_LINE, "??"},
      {"\xc0\xaf", TB_TEXT_LINE, "??"},           /* too long for what it says */
      {"\xed\xa0\x80", TB_TEXT_LINE, "???"},      /* half of a surrogate pair */
      {"\xf4\x90\x80\x80", TB_TEXT_LINE, "????"}, /* beyond the last character */
      {"\xc2\x9b", TB_TEXT_LINE, "  "},           /* a control character of two bytes */
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

/* The first byte that is none, counted from 0; a zero within a file is none either. */
static void test_broken(void **state) {
  (void)state;
#define ROW(text, at) {text, sizeof text - 1, at}
  static const struct {
    const char *text;
    size_t length, at;
  } rows[] = {ROW("", 0),
              ROW("plain\n", 6),
              ROW("µ€😀", 9),
              ROW("a\xff"
                  "b\xff",
                  1),
              ROW("µ\xe9t", 2),
              ROW("a\xe2\x82", 1),
              ROW("\xed\xa0\x80", 0),
              ROW("ab\0c", 2),
              ROW("ab\0", 2)};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    assert_int_equal(tb_text_broken_at(rows[i].text, rows[i].length), rows[i].at);
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
  struct tb_worker_output worker_output = {0};
  struct tb_output_stream output_stream;
  tb_output_stream_begin(&output_stream, &worker_output, "./folder/loud.lua");
  tb_output_stream_add(&output_stream, "one\ntw", 6);
  tb_output_stream_add(&output_stream, "o\n\0\n", 4);
  tb_output_stream_add(&output_stream, "end", 3);
  tb_output_stream_end(&output_stream);
  tb_output_stream_begin(&output_stream, &worker_output, "quiet");
  tb_output_stream_add(&output_stream, "one\none\n", 8);
  tb_output_stream_end(&output_stream);
  tb_worker_output_end(&worker_output);
}

static void speak_too_much(void) {
  struct tb_worker_output worker_output = {0};
  struct tb_output_stream output_stream;
  char line[32];
  tb_output_stream_begin(&output_stream, &worker_output, "s");
  for (int i = 0; i < TB_OUTPUT_LINES + 7; i++) {
    snprintf(line, sizeof line, "%d\n", i);
    tb_output_stream_add(&output_stream, line, strlen(line));
  }
  for (int i = 0; i < 2 * TB_OUTPUT_LINE_BYTES; i++) tb_output_stream_add(&output_stream, "x", 1);
  tb_output_stream_end(&output_stream);
  tb_worker_output_end(&worker_output);
}

static void speak_to_nobody(void) {
  struct tb_output_stream output_stream;
  tb_output_stream_begin(&output_stream, NULL, "s");
  tb_output_stream_add(&output_stream, "one\n", 4);
  tb_output_stream_end(&output_stream);
}

static void test_worker_output(void **state) {
  (void)state;
  char *text = hear(speak_in_pieces);
  assert_string_equal(text, "loud: one\nloud: two\nloud:  \nloud: end\nquiet: one\n1 more line printed by "
                            "suites: repeated, or after the first 200\n");
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
  static const struct {
    const char *text, *suffix;
    size_t stem;
  } rows[] = {{"a.json", ".json", 1}, {".json", ".json", 0},   {"", ".json", 0},
              {"a.jso", ".json", 0},  {"a.json.", ".json", 0}, {"x.json.json", ".json", 6},
              {"json", ".json", 0},   {"abc", "", 3}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    assert_int_equal(tc_text_stem(rows[i].text, rows[i].suffix), rows[i].stem);
  assert_int_equal(tc_text_hex("09afAF"), 4);
  assert_int_equal(tc_text_hex("g"), 0);
}

/* Each character there is, as it is written; and not where a byte of it is missing, is another one, or may
 * not be read. */
static void test_characters(void **state) {
  (void)state;
  int wrong = 0;
  for (uint32_t code = 1; code <= 0x110000; code++) {
    char text[TC_CHARACTER_BYTES + 1] = "";
    uint32_t back = 0;
    const size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char leads[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = 0; i < length; i++) text[length - 1 - i] = (char)(0x80 | (code >> 6 * i & 0x3F));
    text[0] = (char)(length == 1 ? code : leads[length] | code >> 6 * (length - 1));
    const bool good = code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
    wrong +=
        tc_text_character(text, TC_CHARACTER_BYTES, &back) != (good ? length : 0) || (good && back != code);
    wrong += tc_text_character(text, length - 1, &back) != 0;
    text[length - 1] = length == 1 ? (char)0x80 : '\0';
    wrong += tc_text_character(text, TC_CHARACTER_BYTES, &back) != 0;
  }
  assert_int_equal(wrong, 0);
}

/* A number in an id and one in a report are the same text. */
static void test_numbers(void **state) {
  (void)state;
  static const struct {
    double number;
    const char *text;
  } rows[] = {{8, "8"},
              {-8, "-8"},
              {0.5, "0.5"},
              {0.1, "0.1"},
              {1.0 / 3, "0.3333333333333333"},
              {999999999999999, "999999999999999"},
              {1e15, "1e+15"},
              {1e300, "1e+300"},
              {9007199254740994, "9007199254740994"},
              {5e-324, "4.94065645841247e-324"}};
  struct tc_arena *arena = tc_arena_new(tc_alloc_system());
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[TB_NUMBER_TEXT];
    tb_shortest_text(rows[i].number, text);
    assert_string_equal(text, rows[i].text);
    assert_string_equal(tb_number_text(arena, rows[i].number), rows[i].text);
  }
  tc_arena_free(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_clean),   cmocka_unit_test(test_broken),
                                     cmocka_unit_test(test_stems),   cmocka_unit_test(test_characters),
                                     cmocka_unit_test(test_numbers), cmocka_unit_test(test_worker_output)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
