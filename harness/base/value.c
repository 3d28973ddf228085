/* Values of axes, their texts and their JSON. */
#include "harness/base/value.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/args.h"
#include "harness/base/text.h"
#include "reporters/text_out.h"

const char *tb_value_kind_name(enum tb_value_kind kind) {
  switch (kind) {
    case TB_VALUE_NUMBER: return "numbers";
    case TB_VALUE_TEXT: return "strings";
    case TB_VALUE_BOOL: return "booleans";
  }
  return "values";
}

const char *tb_number_text(struct tc_arena *arena, double number) {
  char text[TB_NUMBER_TEXT];
  tb_shortest_text(number, text);
  return tc_arena_text(arena, text);
}

bool tb_value_is_word(const char *text) {
  if (!*text || strpbrk(text, ",;/=") || !tb_text_is_utf8(text)) return false;
  for (const char *c = text; *c; c++)
    if (iscntrl((unsigned char)*c)) return false;
  return true;
}

bool tb_value_parse(struct tc_arena *arena, enum tb_value_kind kind, const char *text, struct tb_value *out) {
  *out = (struct tb_value){kind, NULL, 0};
  if (!*text) return false;
  switch (kind) {
    case TB_VALUE_NUMBER: {
      char *end;
      errno = 0;
      out->number = strtod(text, &end);
      if (*end || errno || !isfinite(out->number)) return false;
      out->text = tb_number_text(arena, out->number);
      break;
    }
    case TB_VALUE_BOOL: {
      bool flag;
      if (!tb_flag_parse(text, &flag)) return false;
      out->number = flag;
      out->text = flag ? "true" : "false";
      break;
    }
    case TB_VALUE_TEXT: out->text = tc_arena_text(arena, text); break;
  }
  return out->text != NULL;
}

bool tb_value_from_json(struct tc_arena *arena, const cJSON *json, struct tb_value *out) {
  *out = (struct tb_value){TB_VALUE_TEXT, NULL, 0};
  if (cJSON_IsNumber(json)) {
    *out = (struct tb_value){TB_VALUE_NUMBER, tb_number_text(arena, json->valuedouble), json->valuedouble};
  } else if (cJSON_IsBool(json)) {
    const bool flag = cJSON_IsTrue(json);
    *out = (struct tb_value){TB_VALUE_BOOL, flag ? "true" : "false", flag};
  } else if (cJSON_IsString(json)) {
    out->text = tc_arena_text(arena, json->valuestring);
  }
  return out->text != NULL;
}

cJSON *tb_value_to_json(const struct tb_value *value) {
  switch (value->kind) {
    case TB_VALUE_NUMBER: return cJSON_CreateNumber(value->number);
    case TB_VALUE_BOOL: return cJSON_CreateBool(value->number != 0);
    case TB_VALUE_TEXT: return cJSON_CreateString(value->text);
  }
  return NULL;
}
