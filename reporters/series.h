/* What a result has to tell of a case, for formats that hold figures with names: the figures of
 * results/fields.def that have a METRIC, and the tags that tell one case from another.
 *
 * Figures are told of cases that are right alone (tb_case_right). What was not measured has no figure.
 * Ownership: all borrowed from the document; valid until the next step. Threads: pure. */
#ifndef TB_REPORTERS_SERIES_H
#define TB_REPORTERS_SERIES_H

#include "reporters/reporter.h"
#include "results/fields.h"

enum { TB_SERIES_NAME = 96 };
struct tb_series {
  char name[TB_SERIES_NAME]; /* "steady", "stage_capture": [a-zA-Z0-9_] */
  const char *help;
  enum tb_unit unit;
  bool higher_is_better;
  double value;         /* finite */
  double lo, hi;        /* NaN: it has no bounds */
  const cJSON *samples; /* of its repetitions; NULL: none */
  size_t row;           /* where the next one is looked for; 0 before the first */
  const cJSON *member;  /* the same, within a row that has a figure for each */
};

/* The next figure of a case, in the order of the table; false: there is none, or it may not be told. Begin
 * with { .row = 0 }. */
bool tb_series_next(const cJSON *one_case, struct tb_series *series);
/* Value of a repetition; NaN: no number. */
double tb_series_sample(const struct tb_series *series, int index);
int tb_series_samples(const struct tb_series *series);
/* "_seconds", "_ratio", "", "_bytes", …: the base units of Prometheus; a value is divided by `divisor`. */
const char *tb_unit_base(enum tb_unit unit, double *divisor);
/* "_ns", "_ratio", "", "_bytes", …: as the document has it. */
const char *tb_unit_own(enum tb_unit unit);

/* Name and base unit as Prometheus has them: "tbench_steady_seconds"; `part` is "", "_lower" or "_upper". */
void tb_metric_name(const struct tb_series *series, const char *part, char *out, size_t size);

/* Formats that hold a case once take it from the last document that has it: visits the last case of each id,
 * in the order of the documents. False: memory is out. */
typedef void tb_case_visit(const cJSON *result, const cJSON *one_case, void *context);
bool tb_each_last_case(const cJSON *documents, tb_case_visit *visit, void *context);
/* Formats of one machine cannot hold cases of two, and formats without one no case that is there for two: are
 * there such, of those that were meant to run? Then the names of the hosts. */
bool tb_two_hosts(const cJSON *documents, const char *hosts[2]);
bool tb_case_of_two_hosts(const cJSON *documents, const char *hosts[2]);
/* Says in options->failure that `what` ("its cases are") is of them, why this cannot be told, and which
 * formats can; returns false. */
bool tb_report_lacks_host(const struct tb_report_options *options, const char *what,
                          const char *const hosts[2], const char *why);
/* Text of its error; NULL: it has none. */
const char *tb_case_error(const cJSON *one_case);

/* Endpoints drop a series, or refuse a line, whose tags are too long (VictoriaMetrics: 4 KiB, InfluxDB: 64
 * KiB): longer texts are shortened. */
enum { TB_TAG_TEXT = 1024, TB_TAG_NAME = TB_SERIES_NAME + 8 /* prefix and name */ };
struct tb_tag {
  const char *prefix, *name; /* "param_", "switch_" or "" */
  const char *text;          /* not empty */
  char made[TB_TAG_TEXT + 1];
  size_t row;
  const cJSON *member;
};
/* The next tag of a case, in a fixed order, then its parameters and switches; "id" and "host" are the first
 * two. False: there is none. Two parameters whose names differ by odd characters alone give one tag, the
 * first: the id still tells them apart. */
bool tb_tag_next(const cJSON *result, const cJSON *one_case, struct tb_tag *tag);
/* The tag of a run: the host of its first environment; NULL: unknown. */
const char *tb_run_host(const cJSON *result, char made[TB_TAG_TEXT + 1]);

#endif
