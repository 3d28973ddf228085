/* Rows out of a checked document. */
#include "dashboard/submission.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/outcome.h"
#include "harness/stats.h"

/* Memory behind the struct and its rows: texts. They are never longer than in the document. */
struct maker { const struct tb_tape *tape; struct tb_submission *made; char *room, *end; char *why; };

static bool refuse(struct maker *m, const char *what) {
  snprintf(m->why, TB_TAPE_WHY, "%s", what);
  return false;
}

/* A text of the document; NULL where it is too long for a name. */
static const char *keep_text(struct maker *m, uint32_t node) {
  char *text = m->room;
  const size_t space = (size_t)(m->end - m->room) < TB_SUBMISSION_NAME ? (size_t)(m->end - m->room) : TB_SUBMISSION_NAME;
  if (!tb_tape_copy(m->tape, node, text, space)) return NULL;
  m->room += strlen(text) + 1;
  return text;
}

/* "host · CPU", as histories tell machines apart. */
static bool keep_machine(struct maker *m, uint32_t environment) {
  struct tb_submission *s = m->made;
  if (s->n_machines == TB_SUBMISSION_MACHINES) return refuse(m, "$.environments: more than 64");
  const uint32_t host = tb_tape_member(m->tape, environment, "host"), cpu = tb_tape_at(m->tape, environment, "cpu.model");
  char host_text[TB_SUBMISSION_NAME / 2] = "?", cpu_text[TB_SUBMISSION_NAME / 2 - 8] = "?";
  if ((m->tape->nodes[host].kind == TB_TAPE_STRING && !tb_tape_copy(m->tape, host, host_text, sizeof host_text)) ||
      (m->tape->nodes[cpu].kind == TB_TAPE_STRING && !tb_tape_copy(m->tape, cpu, cpu_text, sizeof cpu_text)))
    return refuse(m, "$.environments: a host or cpu.model that is too long");
  const size_t space = (size_t)(m->end - m->room);
  const int n = snprintf(m->room, space, "%s · %s", host_text, cpu_text);
  if (n < 0 || (size_t)n >= space) return refuse(m, "$.environments: names that are too long");
  s->machines[s->n_machines++] = m->room;
  m->room += n + 1;
  return true;
}

/* As tb_history_value has it. */
static double probed_value(const struct tb_tape *tape, uint32_t one_case, int64_t *probe) {
  enum { MOST = 256 };
  double values[MOST];
  size_t n = 0;
  const uint32_t member = tb_tape_member(tape, one_case, "probe"), ratios = tb_tape_at(tape, member, "log_ratios");
  *probe = 0;
  if (!member || tape->nodes[member].kind != TB_TAPE_OBJECT || !ratios) return tb_tape_number(tape, tb_tape_at(tape, one_case, "steady.median_ns"));
  for (uint32_t i = tb_tape_first(ratios); i < tape->nodes[ratios].next && n < MOST; i = tape->nodes[i].next) values[n++] = tb_tape_number(tape, i);
  const double version = tb_tape_number(tape, tb_tape_member(tape, member, "version"));
  *probe = version < INT32_MAX ? (int64_t)version : INT32_MAX;
  return n ? exp(tb_median(values, n)) : NAN;
}

static int outcome_of(const struct tb_tape *tape, uint32_t node) {
  for (int i = 0; i < TB_OUTCOME_COUNT; i++)
    if (tb_tape_is(tape, node, tb_outcome_text((enum tb_outcome)i))) return i;
  return TB_OUTCOME_ERROR;
}

static bool keep_case(struct maker *m, uint32_t one_case) {
  const struct tb_tape *tape = m->tape;
  struct tb_row *row = &m->made->rows[m->made->n_rows++];
  const double environment = tb_tape_number(tape, tb_tape_member(tape, one_case, "env"));
  if (!(environment < m->made->n_machines)) return refuse(m, "$.cases: env is the number of an environment that is not there");
  if (!(row->name = keep_text(m, tb_tape_member(tape, one_case, "id"))) || !*row->name) return refuse(m, "$.cases: an id that is empty, or longer than 1023 bytes");
  row->machine = (int)environment;
  row->outcome = outcome_of(tape, tb_tape_member(tape, one_case, "outcome"));
  row->value = probed_value(tape, one_case, &row->probe);
  if (!(row->value > 0) || isinf(row->value)) row->value = NAN;
  for (int i = 0; i < TB_FIGURE_COUNT; i++) {
    const uint32_t node = tb_tape_at(tape, one_case, tb_figure_path((enum tb_figure)i));
    row->figures[i] = node ? tb_tape_number(tape, node) : NAN;
  }
  return true;
}

static bool fill(struct maker *m) {
  const struct tb_tape *tape = m->tape;
  char started[64];
  if (!tb_tape_copy(tape, tb_tape_member(tape, 0, "started"), started, sizeof started) || !tb_time_parse(started, &m->made->started))
    return refuse(m, "$.started: no time that can be kept");
  if (!(m->made->commit = keep_text(m, tb_tape_at(tape, 0, "tbench.commit")))) return refuse(m, "$.tbench.commit: longer than 1023 bytes");
  const uint32_t environments = tb_tape_member(tape, 0, "environments"), cases = tb_tape_member(tape, 0, "cases");
  for (uint32_t i = tb_tape_first(environments); i < tape->nodes[environments].next; i = tape->nodes[i].next)
    if (!keep_machine(m, i)) return false;
  if (!m->made->n_machines) return refuse(m, "$.environments: expected at least 1 item, found 0");
  for (uint32_t i = tb_tape_first(cases); i < tape->nodes[cases].next; i = tape->nodes[i].next)
    if (!keep_case(m, i)) return false;
  return true;
}

struct tb_submission *tb_submission_new(const struct tb_tape *tape, const void *packed, size_t packed_bytes, char *why) {
  enum { SPARE = TB_SUBMISSION_NAME * 2 }; /* for what keep_machine writes around its names */
  const uint32_t cases = tb_tape_member(tape, 0, "cases");
  size_t n_rows = 0;
  size_t texts = SPARE + tape->nodes[tb_tape_member(tape, 0, "environments")].length;
  for (uint32_t i = tb_tape_first(cases); i < tape->nodes[cases].next; i = tape->nodes[i].next, n_rows++) texts += tape->nodes[tb_tape_member(tape, i, "id")].length + 1;
  texts += tape->nodes[tb_tape_at(tape, 0, "tbench.commit")].length;
  struct tb_submission *s = malloc(sizeof *s + n_rows * sizeof *s->rows + texts + packed_bytes);
  *why = '\0';
  if (!s) return NULL;
  *s = (struct tb_submission){.rows = (struct tb_row *)(s + 1), .packed_bytes = packed_bytes, .write.apply = tb_submission_apply};
  struct maker m = {.tape = tape, .made = s, .room = (char *)(s->rows + n_rows), .why = why};
  m.end = m.room + texts;
  s->packed = memcpy(m.end, packed, packed_bytes);
  if (fill(&m)) return s;
  free(s);
  return NULL;
}
