/* The figures of a case, one row each (fields.def): what formats, the dashboard, comparisons, the schema and
 * the manual know of them. Texts are the table's. Threads: pure. */
#ifndef TB_RESULTS_FIELDS_H
#define TB_RESULTS_FIELDS_H

#include <stdbool.h>

enum tb_shape {
  TB_SHAPE_WHOLE,
  TB_SHAPE_NUMBER,
  TB_SHAPE_SIGNED,
  TB_SHAPE_TEXT,
  TB_SHAPE_LIST,
  TB_SHAPE_DURATION,
  TB_SHAPE_TIMING,
  TB_SHAPE_EACH,
  TB_SHAPE_EVENTS,
  TB_SHAPE_PART,
};

enum tb_unit {
  TB_UNIT_NS,
  TB_UNIT_RATIO,
  TB_UNIT_NUMBER,
  TB_UNIT_BYTES,
  TB_UNIT_BYTES_PER_S,
  TB_UNIT_FLOPS_PER_S,
  TB_UNIT_WORDS,
};

enum tb_exact_rule_kind {
  TB_EXACT_FEWER,        /* a number: less is better */
  TB_EXACT_LENGTH,       /* a list: fewer items are better */
  TB_EXACT_TEXT,         /* a text: other is changed */
  TB_EXACT_INSTRUCTIONS, /* a number: less is better, far less, or 0, is a collapse */
  TB_EXACT_STAGE,        /* a number: less is better, 0 is a collapse */
};

struct tb_field {
  const char *path;    /* of the value in a case object: "compile.cold_ns.median" */
  const char *samples; /* of its repetitions; NULL: it has none */
  const char *member;  /* EACH and EVENTS: where the value stands in a member; "": it is the value itself */
  enum tb_shape shape;
  enum tb_unit unit;
  bool higher_is_better;
  const char *help;
  struct {
    const char *name;    /* NULL: no metric */
    const char *lo, *hi; /* paths of its bounds; NULL: none */
  } metric;
  struct {
    int place;
    const char *name, *meaning; /* NULL: no column */
  } column;
  struct {
    const char *name; /* NULL: none */
    enum tb_exact_rule_kind kind;
    double tolerance; /* default, as a share of the baseline */
  } exact;
};

int tb_field_count(void);
const struct tb_field *tb_field_at(int index);

/* A figure for each member of the object at the path. */
static inline bool tb_field_is_many(const struct tb_field *field) {
  return field->shape == TB_SHAPE_EACH || field->shape == TB_SHAPE_EVENTS;
}

#endif
