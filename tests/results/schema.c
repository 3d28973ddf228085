/* Documents as texts, through the validator of the dashboard. */
#include "tests/results/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dashboard/ingest/schema.h"

static bool check_text(const struct tb_schema *schema, const char *text, bool closed, char *why) {
  struct tb_tape json = {.most_nodes = UINT32_MAX};
  bool limit;
  const bool good =
      tb_tape_parse(&json, text, strlen(text), &limit, why) && tb_schema_check(schema, &json, closed, why);
  tb_tape_free(&json);
  return good;
}

static bool check(const cJSON *schema, const cJSON *value, bool closed, char *out, size_t size) {
  struct tc_error err = {.message = "out of memory"};
  char why[TB_SCHEMA_WHY] = "";
  char *rules_text = cJSON_PrintUnformatted(schema), *text = cJSON_PrintUnformatted(value);
  struct tb_schema *rules = rules_text && text ? tb_schema_load(rules_text, strlen(rules_text), &err) : NULL;
  const bool good = rules && check_text(rules, text, closed, why);
  if (!good) snprintf(out, size, "%s", rules ? why : err.message);
  tb_schema_free(rules);
  cJSON_free(rules_text);
  cJSON_free(text);
  return good;
}

bool schema_valid(const cJSON *schema, const cJSON *value, char *why, size_t size) {
  return check(schema, value, false, why, size);
}

bool schema_describes(const cJSON *schema, const cJSON *value, char *why, size_t size) {
  return check(schema, value, true, why, size);
}

cJSON *schema_load(const char *path) {
  FILE *file = fopen(path, "re");
  char *text = NULL;
  size_t size = 0;
  const bool good = file && getdelim(&text, &size, '\0', file) > 0;
  cJSON *json = good ? cJSON_Parse(text) : NULL;
  if (file) fclose(file);
  free(text);
  return json;
}
