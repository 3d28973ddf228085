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

/* --- document.c: reading of documents --- */
/* Documents that a reporter was given: one, or those of an array. */
int tb_doc_count(const cJSON *documents);
const cJSON *tb_doc_nth(const cJSON *documents, int index);
/* Says in options->failure what a document lacks; returns false. */
bool tb_report_lacks(const struct tb_report_options *options, const char *what);
/* Item at a path such as "speedup.ratio"; NULL: not there. */
const cJSON *tb_doc_at(const cJSON *item, const char *path);
/* Number at a path; NaN when it is null, not there, or larger than a double holds. */
double tb_doc_number(const cJSON *item, const char *path);
/* Text at a path, or `otherwise`. */
const char *tb_doc_text(const cJSON *item, const char *path, const char *otherwise);
/* Commit of the program that made a result, whole or shortened; NULL: it is unknown, or of a changed tree,
 * and names no version. */
const char *tb_doc_commit(const cJSON *result);
/* The same, all 40 digits of it: the one form that other programs look up. NULL: also where the result has a
 * shortened one alone. */
const char *tb_doc_whole_commit(const cJSON *result);
/* Number of the environment that a case ran in; `one_case` NULL: of the first one, 0. -1: it names none, or
 * what can be no number of one. */
int tb_case_environment_number(const cJSON *one_case);
/* That environment; NULL: there is none of that number. */
const cJSON *tb_case_environment(const cJSON *result, const cJSON *one_case);
/* "mode" column of a case: its mode, or its backend where that is not inductor. */
const char *tb_case_column(const cJSON *one_case);
/* --- document.c: what may be told of cases and results; every format and picture asks here --- */
/* May the figures of a case be told? Of those alone that are right ("ok"): the speed of a wrong result is
 * none. */
bool tb_case_right(const cJSON *one_case);
/* A figure of a case: NaN also where it may not be told. */
double tb_case_figure(const cJSON *one_case, const char *path);
/* A case that neither ran nor was meant to: no format of figures tells of it. */
bool tb_case_absent(const cJSON *one_case);
/* Cases whose figures may not be told, by outcome. */
enum { TB_OMITTED_KINDS = 12, TB_OMITTED_WORD = 32 };
struct tb_omitted {
  int total, n_kinds;
  struct {
    char outcome[TB_OMITTED_WORD];
    int count;
  } kinds[TB_OMITTED_KINDS];
};
void tb_omitted_add(struct tb_omitted *omitted, const cJSON *one_case); /* one that is right does not count */
/* "1 wrong, 2 crashed" */
void tb_omitted_text(const struct tb_omitted *omitted, char *out, size_t size);
/* Did the run not end: was it killed, or does it go on? */
bool tb_result_open(const cJSON *result);
/* Planned cases that were not measured: Ctrl-C came before them, or the run did not end. */
int tb_result_missing(const cJSON *result);
/* "the run did not end: 7 of 9 planned cases were not measured". False, and "", where the result is whole. */
bool tb_result_incomplete(const cJSON *result, char *out, size_t size);
/* For formats that hold numbers: is the result whole? */
bool tb_result_complete(const cJSON *result);
/* 1: a case has as many replicates as its figures wanted, or as were asked for; 0: time (budget=) or the user
 * ended them first, or the run did not end; NaN: it does not say. */
double tb_case_complete(const cJSON *one_case);

/* Name of the group that a case belongs to: cases that differ in batch or mode alone. Writes at most `size`
 * bytes. */
void tb_case_group(const cJSON *one_case, char *out, size_t size);
/* 1.23, 12.3, 123: three digits; "–" for NaN. */
void tb_format3(double value, char *out, size_t size);

#endif
