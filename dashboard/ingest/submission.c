/* Rows out of a checked document. */
#include "dashboard/ingest/submission.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results/outcome.h"
#include "results/stats/history_value.h"

/* Memory behind the struct and its rows: texts. They are never longer than in the document. */
struct maker {
  const struct tb_tape *tape;
  struct tb_submission *made;
  char *room, *end, *why;
  int *machine_of, n_environments; /* the submission's machine of each environment */
  double *ratios;                  /* room for those of a case */
  size_t ratios_cap;
};

static bool refuse(struct maker *m, const char *what) {
  snprintf(m->why, TB_TAPE_WHY, "%s", what);
  return false;
}

/* A text of the document; NULL where it is too long for a name. */
static const char *keep_text(struct maker *m, uint32_t node) {
  char *text = m->room;
  const size_t space =
      (size_t)(m->end - m->room) < TB_SUBMISSION_NAME ? (size_t)(m->end - m->room) : TB_SUBMISSION_NAME;
  if (!tb_tape_copy(m->tape, node, text, space)) return NULL;
  m->room += strlen(text) + 1;
  return text;
}

/* "host · CPU", as histories tell machines apart: many environments (those of several topologies) may be of
 * one. */
static bool keep_machine(struct maker *m, uint32_t environment) {
  struct tb_submission *s = m->made;
  const uint32_t host = tb_tape_member(m->tape, environment, "host"),
                 cpu = tb_tape_at(m->tape, environment, "cpu.model");
  char host_text[TB_SUBMISSION_NAME / 2] = "?", cpu_text[TB_SUBMISSION_NAME / 2 - 8] = "?";
  if ((m->tape->nodes[host].kind == TB_TAPE_STRING &&
       !tb_tape_copy(m->tape, host, host_text, sizeof host_text)) ||
      (m->tape->nodes[cpu].kind == TB_TAPE_STRING && !tb_tape_copy(m->tape, cpu, cpu_text, sizeof cpu_text)))
    return refuse(m, "$.environments: a host or cpu.model that is too long");
  const size_t space = (size_t)(m->end - m->room);
  const int n = snprintf(m->room, space, "%s · %s", host_text, cpu_text);
  if (n < 0 || (size_t)n >= space) return refuse(m, "$.environments: names that are too long");
  int known = 0;
  while (known < s->n_machines && strcmp(s->machines[known], m->room)) known++;
  m->machine_of[m->n_environments++] = known;
  if (known < s->n_machines) return true;
  if (known == TB_SUBMISSION_MACHINES) return refuse(m, "$.environments: more than 64 machines");
  s->machines[s->n_machines++] = m->room;
  m->room += n + 1;
  return true;
}

static bool add_ratio(struct maker *m, size_t at, double value) {
  if (at == m->ratios_cap) {
    const size_t cap = at ? 2 * at : 64;
    double *more = realloc(m->ratios, cap * sizeof *more);
    if (!more) return refuse(m, "");
    m->ratios = more;
    m->ratios_cap = cap;
  }
  m->ratios[at] = value;
  return true;
}

/* The figure by which the gate judges too. */
static bool keep_value(struct maker *m, uint32_t one_case, struct tb_row *row) {
  const struct tb_tape *tape = m->tape;
  const uint32_t member = tb_tape_member(tape, one_case, "probe");
  const uint32_t ratios =
      member && tape->nodes[member].kind == TB_TAPE_OBJECT ? tb_tape_at(tape, member, "log_ratios") : 0;
  const bool calibrated = ratios && tb_tape_first(ratios) < tape->nodes[ratios].next;
  size_t n = 0;
  for (uint32_t i = tb_tape_first(ratios); calibrated && i < tape->nodes[ratios].next;
       i = tape->nodes[i].next) {
    const double value = tb_tape_number(tape, i);
    if (!isnan(value) && !add_ratio(m, n++, value)) return false;
  }
  const double version = calibrated ? tb_tape_number(tape, tb_tape_member(tape, member, "version")) : 0;
  row->calibration = version < INT32_MAX ? (int64_t)version : INT32_MAX;
  row->value = tb_history_value_of(calibrated, m->ratios, n,
                                   tb_tape_number(tape, tb_tape_at(tape, one_case, "steady.median_ns")));
  return true;
}

static int outcome_of(const struct tb_tape *tape, uint32_t node) {
  for (int i = 0; i < TB_OUTCOME_COUNT; i++)
    if (tb_tape_is(tape, node, tb_outcome_text((enum tb_outcome)i))) return i;
  return TB_OUTCOME_ERROR;
}

/* Figures that stand in one object follow each other: it is looked for once. */
struct part {
  const char *name;
  size_t length;
  uint32_t node;
};

static uint32_t figure_at(const struct tb_tape *tape, uint32_t one_case, const char *path,
                          struct part *last) {
  if (!last->name || strncmp(path, last->name, last->length)) {
    const size_t length = strcspn(path, ".");
    if (!path[length]) return tb_tape_named(tape, one_case, path, length);
    *last = (struct part){path, length + 1, tb_tape_named(tape, one_case, path, length)};
  }
  return last->node ? tb_tape_at(tape, last->node, path + last->length) : 0;
}

/* The speed of what was not right is none: no figure of it comes into the tables, and so none into pages,
 * charts and statistics. */
static void leave_out(struct tb_row *row) {
  row->value = NAN;
  for (int i = 0; i < TB_FIGURE_COUNT; i++) row->figures[i] = NAN;
}

/* The run was ended before it came to this case: nothing is known of it, and it did not fail. What is right
 * was measured. */
static bool was_not_reached(const struct tb_tape *tape, uint32_t one_case, int outcome) {
  return outcome != TB_OUTCOME_OK &&
         tape->nodes[tb_tape_member(tape, one_case, "interrupted")].kind == TB_TAPE_TRUE;
}

/* As of a file (harness/verdict/stored_check.h): what says two things is not believed. */
static bool agrees(const struct tb_tape *tape, uint32_t one_case) {
  const uint32_t correctness = tb_tape_member(tape, one_case, "correctness");
  return !correctness || tape->nodes[correctness].kind != TB_TAPE_OBJECT ||
         tape->nodes[tb_tape_member(tape, correctness, "ok")].kind != TB_TAPE_FALSE;
}

static bool keep_case(struct maker *m, uint32_t one_case, int64_t position) {
  const struct tb_tape *tape = m->tape;
  struct tb_row *row = &m->made->rows[m->made->n_rows];
  struct part last = {0};
  const double environment = tb_tape_number(tape, tb_tape_member(tape, one_case, "env"));
  if (!(environment < m->n_environments))
    return refuse(m, "$.cases: env is the number of a missing environment");
  if (!(row->name = keep_text(m, tb_tape_member(tape, one_case, "id"))) || !*row->name)
    return refuse(m, "$.cases: an id that is empty, or longer than 1023 bytes");
  row->machine = m->machine_of[(int)environment];
  row->outcome = outcome_of(tape, tb_tape_member(tape, one_case, "outcome"));
  row->position = position;
  if (was_not_reached(tape, one_case, row->outcome)) return true;
  if (row->outcome == TB_OUTCOME_OK && !agrees(tape, one_case))
    return refuse(m, "$.cases: the outcome of one is ok, but its results were wrong (correctness.ok)");
  m->made->n_rows++;
  if (!keep_value(m, one_case, row)) return false;
  if (row->outcome != TB_OUTCOME_OK) {
    leave_out(row);
    return true;
  }
  for (int i = 0; i < tb_field_count(); i++) {
    const struct tb_field *field = tb_field_at(i);
    if (!field->column.name) continue;
    const uint32_t node = figure_at(tape, one_case, field->path, &last);
    row->figures[field->column.place] = node ? tb_tape_number(tape, node) : NAN;
  }
  return true;
}

static bool fill(struct maker *m) {
  static const int64_t ahead_ms = 24LL * 3600 * 1000;
  const struct tb_tape *tape = m->tape;
  char started[64];
  if (!tb_tape_copy(tape, tb_tape_member(tape, 0, "started"), started, sizeof started) ||
      !tb_time_parse(started, &m->made->started))
    return refuse(m, "$.started: a time out of range");
  if (m->made->started > tb_now_ms() + ahead_ms)
    return refuse(
        m, "$.started: more than a day ahead of this server's clock"); /* it would be the newest for long */
  if (!(m->made->commit = keep_text(m, tb_tape_at(tape, 0, "tbench.commit"))))
    return refuse(m, "$.tbench.commit: longer than 1023 bytes");
  const uint32_t environments = tb_tape_member(tape, 0, "environments"),
                 cases = tb_tape_member(tape, 0, "cases");
  for (uint32_t i = tb_tape_first(environments); i < tape->nodes[environments].next; i = tape->nodes[i].next)
    if (!keep_machine(m, i)) return false;
  if (!m->made->n_machines) return refuse(m, "$.environments: expected at least 1 item, found 0");
  int64_t position = 0;
  for (uint32_t i = tb_tape_first(cases); i < tape->nodes[cases].next; i = tape->nodes[i].next)
    if (!keep_case(m, i, position++)) return false;
  return true;
}

struct tb_submission *tb_submission_new(const struct tb_tape *tape, const void *packed, size_t packed_bytes,
                                        char *why) {
  enum { SPARE = TB_SUBMISSION_NAME * 2 }; /* for what keep_machine writes around its names */
  const uint32_t cases = tb_tape_member(tape, 0, "cases"),
                 environments = tb_tape_member(tape, 0, "environments");
  size_t n_rows = 0, n_environments = 0;
  size_t texts = SPARE + tape->nodes[environments].length;
  for (uint32_t i = tb_tape_first(cases); i < tape->nodes[cases].next; i = tape->nodes[i].next, n_rows++)
    texts += tape->nodes[tb_tape_member(tape, i, "id")].length + 1;
  texts += tape->nodes[tb_tape_at(tape, 0, "tbench.commit")].length;
  for (uint32_t i = tb_tape_first(environments); i < tape->nodes[environments].next; i = tape->nodes[i].next)
    n_environments++;
  struct tb_submission *s = malloc(sizeof *s + n_rows * sizeof *s->rows + texts + packed_bytes);
  *why = '\0';
  struct maker m = {
      .tape = tape, .made = s, .why = why, .machine_of = malloc((n_environments + 1) * sizeof *m.machine_of)};
  if (!s || !m.machine_of) {
    free(s);
    free(m.machine_of);
    return NULL;
  }
  *s = (struct tb_submission){
      .rows = (struct tb_row *)(s + 1), .packed_bytes = packed_bytes, .write.apply = tb_submission_apply};
  m.room = (char *)(s->rows + n_rows);
  m.end = m.room + texts;
  s->packed = memcpy(m.end, packed, packed_bytes);
  const bool good = fill(&m);
  free(m.machine_of);
  free(m.ratios);
  if (good) return s;
  free(s);
  return NULL;
}
