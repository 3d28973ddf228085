/* Fields of JSON documents that are written. */
#include "results/json_add.h"

#include <math.h>

static double to_tenths(double ns) { return round(ns * 10) / 10; }

void tb_add_number(cJSON *object, const char *name, double value) {
  if (isfinite(value))
    cJSON_AddNumberToObject(object, name, value);
  else
    cJSON_AddNullToObject(object, name);
}

void tb_add_ns(cJSON *object, const char *name, double ns) { tb_add_number(object, name, to_tenths(ns)); }

void tb_add_text(cJSON *object, const char *name, const char *text) {
  if (text)
    cJSON_AddStringToObject(object, name, text);
  else
    cJSON_AddNullToObject(object, name);
}

void tb_add_texts(cJSON *object, const char *name, const tb_texts *texts) {
  cJSON *array = cJSON_AddArrayToObject(object, name);
  for (size_t i = 0; i < texts->len; i++) cJSON_AddItemToArray(array, cJSON_CreateString(texts->data[i]));
}

void tb_add_numbers(cJSON *object, const char *name, const tb_doubles *numbers) {
  cJSON *array = cJSON_AddArrayToObject(object, name);
  for (size_t i = 0; i < numbers->len; i++) cJSON_AddItemToArray(array, cJSON_CreateNumber(numbers->data[i]));
}

void tb_add_ns_list(cJSON *object, const char *name, const tb_doubles *samples) {
  cJSON *array = cJSON_AddArrayToObject(object, name);
  for (size_t i = 0; i < samples->len; i++)
    cJSON_AddItemToArray(array, cJSON_CreateNumber(to_tenths(samples->data[i])));
}
