/* Reading a result document (results/schema.json), and what may be told of it. Nothing here trusts a field to
 * be there. Ownership: documents and texts are borrowed. Threads: pure. */
#ifndef TB_RESULTS_DOCUMENT_H
#define TB_RESULTS_DOCUMENT_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

/* Documents that a reporter was given: one, or those of an array. */
int tb_doc_count(const cJSON *documents);
const cJSON *tb_doc_nth(const cJSON *documents, int index);
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

/* --- what may be told of cases and results; every format, picture and comparison asks here --- */
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
