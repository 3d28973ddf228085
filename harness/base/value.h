/* A value of an axis: a number, a text or a boolean, with the text that stands for it in ids. */
#ifndef TB_VALUE_H
#define TB_VALUE_H

#include <stdbool.h>

#include <cjson/cJSON.h>

#include "base/arena.h"

enum tb_value_kind { TB_VALUE_NUMBER, TB_VALUE_TEXT, TB_VALUE_BOOL };

struct tb_value {
  enum tb_value_kind kind;
  const char *text; /* "8", "0.5", "relu", "true" */
  double number;    /* of NUMBER; 0 or 1 of BOOL */
};

const char *tb_value_kind_name(enum tb_value_kind kind); /* "numbers": as in an error line */
/* Whether a text can be a value: it stands in ids, on one line, between , ; / and =. */
bool tb_value_is_word(const char *text);
/* From text as a value of that kind; false when it is none, or memory is out. */
bool tb_value_parse(struct tc_arena *arena, enum tb_value_kind kind, const char *text, struct tb_value *out);
/* From a JSON number, string or boolean. */
bool tb_value_from_json(struct tc_arena *arena, const cJSON *json, struct tb_value *out);
cJSON *tb_value_to_json(const struct tb_value *value); /* NULL when memory is out */
/* Shortest text that reads back as the same number. */
const char *tb_number_text(struct tc_arena *arena, double number);

#endif
