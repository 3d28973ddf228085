/* Reporters: one result document, many readers.
 *
 * A reporter reads the JSON document of a result (results/schema.json) and knows nothing of the harness,
 * so a stored file and a fresh run look the same. One row each in reporters.def.
 * Ownership: documents and strings are borrowed. Threads: pure apart from the stream. */
#ifndef TB_REPORTERS_REPORTER_H
#define TB_REPORTERS_REPORTER_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdio.h>

#include "results/document.h"

enum { TB_REPORT_FAILURE = 256 };

struct tb_report_options {
  bool verbose;             /* all columns */
  bool colour;              /* the stream is a terminal and NO_COLOR is not set */
  const char *result_path;  /* where the document was written; NULL: nowhere */
  const char *const *paths; /* of an array of documents: the file of each; NULL: unknown */
  const char *plot_path;    /* picture made of it; NULL: none */
  char *failure; /* TB_REPORT_FAILURE bytes, for what a document lacks that the format must have; NULL: nobody
                    reads it */
};

/* What becomes of several documents: one after the other; together, as a JSON array of them; the format holds
 * one alone. */
enum tb_report_several { TB_REPORT_EACH, TB_REPORT_TOGETHER, TB_REPORT_ONE };

struct tb_reporter {
  const char *name, *help;
  enum tb_report_several several;
  /* Writes the whole report of a result (of TB_REPORT_TOGETHER also: of an array of them). False when the
   * stream failed, memory is out, or the document lacks something: then there is a text in options->failure,
   * and nothing was written. */
  bool (*write)(const cJSON *result, const struct tb_report_options *options, FILE *out);
  /* The same of what tbench ab, compare and gate found (harness/verdict/verdicts_json.c has the document).
   * NULL: the format has no place for it. */
  bool (*write_comparison)(const cJSON *document, const struct tb_report_options *options, FILE *out);
};

/* The rows' functions. */
#define TB_REPORTER(name, function, comparison, several, help)                                               \
  bool function(const cJSON *result, const struct tb_report_options *options, FILE *out);
#include "reporters/reporters.def"
#undef TB_REPORTER

int tb_reporter_count(void);
const struct tb_reporter *tb_reporter_at(int index);
const struct tb_reporter *tb_reporter_find(const char *name); /* NULL: no such reporter */

/* Those of comparisons. */
bool tb_report_comparison(const cJSON *document, const struct tb_report_options *options,
                          FILE *out); /* on the console */
bool tb_report_comparison_markdown(const cJSON *document, const struct tb_report_options *options, FILE *out);
bool tb_report_comparison_junit(const cJSON *document, const struct tb_report_options *options, FILE *out);
bool tb_report_comparison_html(const cJSON *document, const struct tb_report_options *options, FILE *out);

/* --- explanation.c --- */
/* One page of what tbench explain tells (harness/cli/explanation.h has the document): the source of each
 * case, with its breaks, graphs and guards beside the lines. It needs nothing else. False when the stream
 * failed. */
bool tb_explanation_html(const cJSON *document, FILE *out);

/* Says in options->failure what a document lacks; returns false. */
bool tb_report_lacks(const struct tb_report_options *options, const char *what);

#endif
