/* The dashboard's reader of JSON and its validator: what they take, what they refuse, and what they say of
 * it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dashboard/ingest/schema.h"
#include "tests/dashboard/documents.h"

static bool parse(struct tb_tape *tape, const char *text, char *why) {
  bool limit;
  return tb_tape_parse(tape, text, strlen(text), &limit, why);
}

static void test_texts_that_are_json(void **state) {
  static const char *const good[] = {"null",
                                     " true ",
                                     "[]",
                                     "{}",
                                     "[1,2,[3,{\"a\":-0.5e+3}]]",
                                     "\"\\u00e9\\ud83d\\ude00\\n\"",
                                     "\"\xc3\xa9\xf0\x9f\x98\x80\"",
                                     "0",
                                     "-1",
                                     "{\"a\":{},\"b\":[]}",
                                     "{\"gr\\u00f6\\u00dfe \\ud83d\\ude00 \\\"\\\\\\n\":1}"};
  struct tb_tape tape = {.most_nodes = 100};
  char why[TB_TAPE_WHY];
  (void)state;
  for (size_t i = 0; i < sizeof good / sizeof *good; i++)
    if (!parse(&tape, good[i], why)) fail_msg("%s: %s", good[i], why);
  tb_tape_free(&tape);
}

static void test_texts_that_are_none(void **state) {
  static const char *const bad[] = {"",
                                    "{",
                                    "[1,]",
                                    "{\"a\":1,}",
                                    "{a:1}",
                                    "[1 2]",
                                    "01",
                                    "1.",
                                    ".5",
                                    "+1",
                                    "1e",
                                    "tru",
                                    "\"a",
                                    "\"\n\"",
                                    "\"\\x\"",
                                    "\"\\u12\"",
                                    "\"\\u0000\"",
                                    "\"\\ud83d\"",
                                    "\"\\ude00\"",
                                    "\"\xc3\"",
                                    "\"\xc0\x80\"",
                                    "\"\xed\xa0\x80\"",
                                    "\"\xf4\x90\x80\x80\"",
                                    "[] []",
                                    "{\"\\u0061\":1}",
                                    "{\"\\u00f6 \\u007a\":1}",
                                    "NaN",
                                    "{\"a\" 1}",
                                    "]",
                                    "[}"};
  struct tb_tape tape = {.most_nodes = 100};
  char why[TB_TAPE_WHY];
  (void)state;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    if (parse(&tape, bad[i], why)) fail_msg("taken: %s", bad[i]);
  tb_tape_free(&tape);
}

/* Depth and the number of values are bounded, and a bound is told from text that is no JSON. */
static void test_bounds(void **state) {
  struct tb_tape tape = {.most_nodes = 10};
  char text[TB_TAPE_DEPTH * 2 + 8], why[TB_TAPE_WHY];
  bool limit;
  (void)state;
  for (int depth = TB_TAPE_DEPTH; depth <= TB_TAPE_DEPTH + 1; depth++) {
    tape.most_nodes = 1000;
    memset(text, '[', (size_t)depth);
    memset(text + depth, ']', (size_t)depth);
    assert_int_equal(tb_tape_parse(&tape, text, (size_t)depth * 2, &limit, why), depth == TB_TAPE_DEPTH);
    assert_int_equal(limit, depth > TB_TAPE_DEPTH);
  }
  tape.most_nodes = 4;
  assert_true(tb_tape_parse(&tape, "[1,2,3]", 7, &limit, why));
  assert_false(tb_tape_parse(&tape, "[1,2,3,4]", 9, &limit, why));
  assert_true(limit);
  assert_false(tb_tape_parse(&tape, "[1,2,", 5, &limit, why));
  assert_false(limit);
  tb_tape_free(&tape);
}

/* Numbers are those that strtod reads, whichever way they are read. */
static void test_numbers(void **state) {
  static const char *const numbers[] = {
      "0",      "-0.5",   "123456789012345", "1234567890123456789", "0.1", "3.141592653589793", "1e300",
      "1e-300", "2.5E+3", "0.000001",        "99999.99999"};
  struct tb_tape tape = {.most_nodes = 10};
  char why[TB_TAPE_WHY], text[64];
  (void)state;
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    assert_true(parse(&tape, numbers[i], why));
    assert_true(tb_tape_number(&tape, 0) == strtod(numbers[i], NULL));
  }
  assert_true(parse(&tape, "{\"a\":{\"b\":\"x\\u00e9\\\"\\ud83d\\ude00\"}}", why));
  assert_true(tb_tape_copy(&tape, tb_tape_at(&tape, 0, "a.b"), text, sizeof text));
  assert_string_equal(text, "x\xc3\xa9\"\xf0\x9f\x98\x80");
  assert_false(tb_tape_copy(&tape, tb_tape_at(&tape, 0, "a.b"), text, 4));
  assert_int_equal(tb_tape_at(&tape, 0, "a.c"), 0);
  assert_true(isnan(tb_tape_number(&tape, tb_tape_at(&tape, 0, "a.b"))));
  tb_tape_free(&tape);
}

/* What a schema says of a document; "" where it is valid. */
static const char *verdict(const char *rules, const char *document, bool closed) {
  static char why[TB_SCHEMA_WHY];
  struct tb_tape tape = {.most_nodes = 1000};
  struct tc_error err = {0};
  struct tb_schema *schema = tb_schema_load(rules, strlen(rules), &err);
  *why = '\0';
  if (!schema)
    snprintf(why, sizeof why, "%s", err.message);
  else if (parse(&tape, document, why))
    tb_schema_check(schema, &tape, closed, why);
  tb_tape_free(&tape);
  tb_schema_free(schema);
  return why;
}

static void test_rules(void **state) {
  static const struct {
    const char *rules, *document, *why;
  } cases[] = {
      {"{\"type\":\"object\"}", "{}", ""},
      {"{\"type\":[\"object\",\"null\"]}", "1", "$: expected null or object, found number"},
      {"{\"properties\":{\"a\":{\"type\":\"integer\"}}}", "{\"a\":1.0}", ""},
      {"{\"properties\":{\"a\":{\"type\":\"integer\"}}}", "{\"a\":1.5}",
       "$.a: expected integer, found number"},
      {"{\"properties\":{\"a\":{\"type\":\"integer\"}}}", "{\"a\":1,\"a\":2}", "$: has 'a' twice"},
      {"{\"required\":[\"a\"]}", "{\"b\":1}", "$: lacks 'a'"},
      {"{\"items\":{\"minimum\":2}}", "[2,3,1]", "$[2]: expected at least 2, found 1"},
      {"{\"items\":{\"exclusiveMinimum\":2}}", "[3,2]", "$[1]: expected more than 2, found 2"},
      {"{\"items\":{\"exclusiveMaximum\":2}}", "[1,2]", "$[1]: expected less than 2, found 2"},
      {"{\"minItems\":2}", "[1]", "$: expected at least 2 items, found 1"},
      {"{\"enum\":[\"a\",null,3]}", "\"b\"", "$: expected one of \"a\", null, 3"},
      {"{\"enum\":[\"a\",null,3]}", "\"\\u0061\"", ""},
      {"{\"const\":1}", "2", "$: expected 1"},
      {"{\"additionalProperties\":{\"type\":\"string\"}}", "{\"x\":[1]}",
       "$.x: expected string, found array"},
      {"{\"properties\":{\"a\":false}}", "{\"a\":1}", "$.a: is not allowed here"},
      {"{\"allOf\":[{\"required\":[\"a\"]},{\"required\":[\"b\"]}]}", "{\"a\":1}", "$: lacks 'b'"},
      {"{\"if\":{\"properties\":{\"a\":{\"const\":1}}},\"then\":{\"required\":[\"b\"]},\"else\":{"
       "\"required\":[\"c\"]}}",
       "{\"a\":1}", "$: lacks 'b'"},
      {"{\"if\":{\"properties\":{\"a\":{\"const\":1}}},\"then\":{\"required\":[\"b\"]},\"else\":{"
       "\"required\":[\"c\"]}}",
       "{\"a\":2}", "$: lacks 'c'"},
      {"{\"$defs\":{\"d\":{\"items\":{\"$ref\":\"#/$defs/d\"},\"type\":\"array\"}},\"$ref\":\"#/$defs/d\"}",
       "[[],[[1]]]", "$[1][0][0]: expected array, found number"},
      {"{\"format\":\"date-time\"}", "\"2026-11-20T14:02:11.5+01:00\"", ""},
      {"{\"format\":\"date-time\"}", "\"2026-13-20T14:02:11Z\"",
       "$: expected a time as 2026-11-20T14:02:11Z"},
      {"{\"format\":\"date-time\"}", "\"yesterday\"", "$: expected a time as 2026-11-20T14:02:11Z"},
      {"{\"items\":{\"type\":\"number\"}}", "[1e999]", "$[0]: expected a number that a double holds"},
      {"{\"items\":{\"type\":\"number\"}}", "[0,-1,2.5,1e300,-1.5e-9]", ""},
      {"{\"items\":{\"type\":\"integer\"}}", "[1,-1,1.0,1e3,0.5]", "$[4]: expected integer, found number"},
      {"{\"items\":{\"type\":\"integer\",\"minimum\":0}}", "[0,1,3.0,1e3,-1]",
       "$[4]: expected at least 0, found -1"},
      {"{\"items\":{\"type\":\"number\",\"minimum\":0}}", "[0,-0,0.5,-0.5]",
       "$[3]: expected at least 0, found -0.5"},
      {"{\"items\":{\"type\":[\"number\",\"null\"],\"exclusiveMinimum\":0}}", "[null,0.5,1,0]",
       "$[3]: expected more than 0, found 0"},
      {"{\"items\":{\"type\":\"number\",\"minimum\":-3}}", "[-1,-3,-4]",
       "$[2]: expected at least -3, found -4"},
      {"{\"items\":{\"minimum\":0}}", "[null,\"a\",true,-1]", "$[3]: expected at least 0, found -1"},
      {"{\"$defs\":{\"d\":{\"type\":[\"object\",\"null\"],\"required\":[\"a\"]}},\"items\":{\"$ref\":\"#/"
       "$defs/d\"}}",
       "[null,{\"a\":1},{}]", "$[2]: lacks 'a'"},
      {"{\"$defs\":{\"d\":{\"type\":\"object\"}},\"items\":{\"$ref\":\"#/$defs/d\",\"required\":[\"a\"]}}",
       "[{\"a\":1},{}]", "$[1]: lacks 'a'"},
      {"{\"items\":{\"type\":\"string\",\"enum\":[\"a\"]}}", "[\"a\",\"b\"]", "$[1]: expected \"a\""},
      {"{\"properties\":{\"ab\":{\"type\":\"null\"},\"ac\":{\"type\":\"null\"},\"abcdefgh\":{\"type\":"
       "\"null\"},\"abcdefghijklmnopqr\":{\"type\":\"null\"}}}",
       "{\"ac\":null,\"abcdefgi\":1,\"abcdefghiXklmnopqr\":1,\"abcdefghijklmnopqr\":1}",
       "$.abcdefghijklmnopqr: expected null, found number"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *why = verdict(cases[i].rules, cases[i].document, false);
    if (strcmp(why, cases[i].why))
      fail_msg("%s on %s: '%s', expected '%s'", cases[i].document, cases[i].rules, why, cases[i].why);
  }
}

/* What is not checked is refused, not passed over. */
static void test_schemas_that_are_refused(void **state) {
  static const char *const bad[] = {"{\"pattern\":\"x\"}",
                                    "{\"type\":\"float\"}",
                                    "{\"$ref\":\"#/$defs/none\"}",
                                    "{\"format\":\"email\"}",
                                    "{\"enum\":[[1]]}",
                                    "{\"properties\":1}",
                                    "[]",
                                    "{",
                                    "{\"properties\":{\"a\":{\"maxLength\":3}}}",
                                    "{\"$defs\":{\"d\":{\"oneOf\":[]}}}"};
  struct tc_error err;
  (void)state;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    if (tb_schema_load(bad[i], strlen(bad[i]), &err)) fail_msg("taken: %s", bad[i]);
}

static void test_closed(void **state) {
  static const char rules[] =
      "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"object\",\"properties\":{\"b\":true}}}}";
  (void)state;
  assert_string_equal(verdict(rules, "{\"a\":{\"b\":1,\"c\":2}}", false), "");
  assert_string_equal(verdict(rules, "{\"a\":{\"b\":1,\"c\":2}}", true),
                      "$.a: has 'c', which is not in the schema");
}

/* The schema of results, and a document of the template that benchmarks send. */
static void test_results(void **state) {
  static char text[DOCUMENT_HEAD + 2 * DOCUMENT_CASE];
  struct tb_tape tape = {.most_nodes = 10000};
  struct tc_error err = {0};
  char why[TB_SCHEMA_WHY] = "";
  struct tb_schema *schema = tb_schema_of_results(&err);
  (void)state;
  if (!schema) fail_msg("%s", err.message);
  document_write(text, 1, 2);
  if (!parse(&tape, text, why) || !tb_schema_check(schema, &tape, true, why)) fail_msg("%s", why);
  *strstr(text, "\"outcome\":\"ok\"") = '\'';
  assert_false(parse(&tape, text, why));
  document_write(text, 1, 2);
  memcpy(strstr(text, "\"error\":null"), "\"error\":\"a\" ", 12);
  assert_true(parse(&tape, text, why));
  assert_false(tb_schema_check(schema, &tape, false, why));
  assert_string_equal(why, "$.cases[0].error: expected null, found string");
  tb_tape_free(&tape);
  tb_schema_free(schema);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_texts_that_are_json),
      cmocka_unit_test(test_texts_that_are_none),
      cmocka_unit_test(test_bounds),
      cmocka_unit_test(test_numbers),
      cmocka_unit_test(test_rules),
      cmocka_unit_test(test_schemas_that_are_refused),
      cmocka_unit_test(test_closed),
      cmocka_unit_test(test_results),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
