/* What reporters write of a document, as a text. */
#ifndef TB_TESTS_REPORTED_H
#define TB_TESTS_REPORTED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reporters/reporter.h"

/* Of a result or of a comparison, as a row of reporters.def has them. */
typedef bool report_writer(const cJSON *document, const struct tb_report_options *options, FILE *out);

/* What it returned; *text, which the caller frees, is what it wrote. */
static inline bool report_document(report_writer *write, const cJSON *document,
                                   const struct tb_report_options *options, char **text) {
  size_t size;
  FILE *stream = open_memstream(text, &size);
  assert_non_null(stream);
  const bool good = write(document, options, stream);
  assert_int_equal(fclose(stream), 0);
  return good;
}

/* The text that it writes of this one, which it must take; NULL: no options. */
static inline char *report_text(report_writer *write, const char *json,
                                const struct tb_report_options *options) {
  static const struct tb_report_options none = {0};
  cJSON *document = cJSON_Parse(json);
  char *text = NULL;
  assert_non_null(document);
  assert_true(report_document(write, document, options ? options : &none, &text));
  cJSON_Delete(document);
  return text;
}

/* The same of a result in a format. */
static inline char *report(const char *format, const char *json, const struct tb_report_options *options) {
  return report_text(tb_reporter_find(format)->write, json, options);
}

#endif
