/* JSON Schema, as far as results/schema.json goes. To add a keyword: a row in `keywords` and its function. */
#include "tests/unit/schema.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct validator { const cJSON *root; char *why; size_t size; bool closed; /* fields that are not named are wrong */ };
enum { PATH = 256 };

static bool check(struct validator *v, const cJSON *schema, const cJSON *value, const char *path);

static bool reject(struct validator *v, const char *path, const char *format, ...) __attribute__((format(printf, 3, 4)));
static bool reject(struct validator *v, const char *path, const char *format, ...) {
  if (!v->why) return false;
  const int n = snprintf(v->why, v->size, "%s: ", *path ? path : "document");
  va_list args;
  va_start(args, format);
  if (n > 0 && (size_t)n < v->size) vsnprintf(v->why + n, v->size - (size_t)n, format, args);
  va_end(args);
  return false;
}

static bool has_type(const cJSON *value, const char *type) {
  if (!strcmp(type, "object")) return cJSON_IsObject(value);
  if (!strcmp(type, "array")) return cJSON_IsArray(value);
  if (!strcmp(type, "string")) return cJSON_IsString(value);
  if (!strcmp(type, "number")) return cJSON_IsNumber(value);
  if (!strcmp(type, "integer")) return cJSON_IsNumber(value) && floor(value->valuedouble) == value->valuedouble;
  if (!strcmp(type, "boolean")) return cJSON_IsBool(value);
  return !strcmp(type, "null") && cJSON_IsNull(value);
}

static bool check_type(struct validator *v, const cJSON *schema, const cJSON *keyword, const cJSON *value, const char *path) {
  (void)schema;
  if (cJSON_IsString(keyword)) return has_type(value, keyword->valuestring) || reject(v, path, "expected %s", keyword->valuestring);
  const cJSON *type;
  cJSON_ArrayForEach(type, keyword) if (has_type(value, type->valuestring)) return true;
  return reject(v, path, "has none of its types");
}

static bool check_const(struct validator *v, const cJSON *schema, const cJSON *keyword, const cJSON *value, const char *path) {
  (void)schema;
  return cJSON_Compare(keyword, value, true) || reject(v, path, "is not the constant");
}

static bool check_enum(struct validator *v, const cJSON *schema, const cJSON *keyword, const cJSON *value, const char *path) {
  (void)schema;
  const cJSON *choice;
  cJSON_ArrayForEach(choice, keyword) if (cJSON_Compare(choice, value, true)) return true;
  return reject(v, path, "is none of the values allowed");
}

/* A schema with a type is the whole description of an object; one without is a condition on some of its fields. */
static bool check_named(struct validator *v, const cJSON *schema, const cJSON *properties, const cJSON *value, const char *path) {
  const cJSON *item;
  if (!v->closed || !cJSON_IsObject(value) || !cJSON_HasObjectItem(schema, "type") || cJSON_HasObjectItem(schema, "additionalProperties")) return true;
  cJSON_ArrayForEach(item, value)
    if (!cJSON_GetObjectItemCaseSensitive(properties, item->string)) return reject(v, path, "has '%s', which the schema does not name", item->string);
  return true;
}

static bool check_properties(struct validator *v, const cJSON *schema, const cJSON *keyword, const cJSON *value, const char *path) {
  const cJSON *property;
  if (!check_named(v, schema, keyword, value, path)) return false;
  cJSON_ArrayForEach(property, keyword) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(value, property->string);
    char inner[PATH];
    snprintf(inner, sizeof inner, "%s.%s", path, property->string);
    if (item && !check(v, property, item, inner)) return false;
  }
  return true;
}

static bool check_required(struct validator *v, const cJSON *schema, const cJSON *keyword, const cJSON *value, const char *path) {
  (void)schema;
  const cJSON *name;
  if (!cJSON_IsObject(value)) return true;
  cJSON_ArrayForEach(name, keyword) if (!cJSON_HasObjectItem(value, name->valuestring)) return reject(v, path, "lacks '%s'", name->valuestring);
  return true;
}

static bool check_additional(struct validator *v, const cJSON *schema, const cJSON *keyword, const cJSON *value, const char *path) {
  const cJSON *properties = cJSON_GetObjectItemCaseSensitive(schema, "properties"), *item;
  if (!cJSON_IsObject(value)) return true;
  cJSON_ArrayForEach(item, value) {
    char inner[PATH];
    snprintf(inner, sizeof inner, "%s.%s", path, item->string);
    if (!cJSON_GetObjectItemCaseSensitive(properties, item->string) && !check(v, keyword, item, inner)) return false;
  }
  return true;
}

static bool check_items(struct validator *v, const cJSON *schema, const cJSON *keyword, const cJSON *value, const char *path) {
  (void)schema;
  const cJSON *item;
  int i = 0;
  if (!cJSON_IsArray(value)) return true;
  cJSON_ArrayForEach(item, value) {
    char inner[PATH];
    snprintf(inner, sizeof inner, "%s[%d]", path, i++);
    if (!check(v, keyword, item, inner)) return false;
  }
  return true;
}

static bool check_min_items(struct validator *v, const cJSON *schema, const cJSON *keyword, const cJSON *value, const char *path) {
  (void)schema;
  return !cJSON_IsArray(value) || cJSON_GetArraySize(value) >= keyword->valuedouble || reject(v, path, "has too few items");
}

static bool check_minimum(struct validator *v, const cJSON *schema, const cJSON *keyword, const cJSON *value, const char *path) {
  (void)schema;
  return !cJSON_IsNumber(value) || value->valuedouble >= keyword->valuedouble || reject(v, path, "is %g, below %g", value->valuedouble, keyword->valuedouble);
}

static bool check_above(struct validator *v, const cJSON *schema, const cJSON *keyword, const cJSON *value, const char *path) {
  (void)schema;
  return !cJSON_IsNumber(value) || value->valuedouble > keyword->valuedouble || reject(v, path, "is %g, not above %g", value->valuedouble, keyword->valuedouble);
}

static bool check_below(struct validator *v, const cJSON *schema, const cJSON *keyword, const cJSON *value, const char *path) {
  (void)schema;
  return !cJSON_IsNumber(value) || value->valuedouble < keyword->valuedouble || reject(v, path, "is %g, not below %g", value->valuedouble, keyword->valuedouble);
}

static bool check_ref(struct validator *v, const cJSON *schema, const cJSON *keyword, const cJSON *value, const char *path) {
  static const char prefix[] = "#/$defs/";
  (void)schema;
  const cJSON *defs = cJSON_GetObjectItemCaseSensitive(v->root, "$defs"), *target = NULL;
  if (!strncmp(keyword->valuestring, prefix, strlen(prefix))) target = cJSON_GetObjectItemCaseSensitive(defs, keyword->valuestring + strlen(prefix));
  return target ? check(v, target, value, path) : reject(v, path, "the schema refers to '%s', which is not there", keyword->valuestring);
}

static bool check_all(struct validator *v, const cJSON *schema, const cJSON *keyword, const cJSON *value, const char *path) {
  (void)schema;
  const cJSON *one;
  cJSON_ArrayForEach(one, keyword) if (!check(v, one, value, path)) return false;
  return true;
}

static bool check_if(struct validator *v, const cJSON *schema, const cJSON *keyword, const cJSON *value, const char *path) {
  struct validator quiet = {v->root, NULL, 0, v->closed};
  const cJSON *branch = cJSON_GetObjectItemCaseSensitive(schema, check(&quiet, keyword, value, path) ? "then" : "else");
  return !branch || check(v, branch, value, path);
}

static bool check_nothing(struct validator *v, const cJSON *schema, const cJSON *keyword, const cJSON *value, const char *path) {
  (void)v, (void)schema, (void)keyword, (void)value, (void)path;
  return true;
}

typedef bool checker(struct validator *v, const cJSON *schema, const cJSON *keyword, const cJSON *value, const char *path);
static const struct { const char *name; checker *check; } keywords[] = {
    {"type", check_type},         {"const", check_const},       {"enum", check_enum},           {"properties", check_properties},
    {"required", check_required}, {"items", check_items},       {"minItems", check_min_items},  {"additionalProperties", check_additional},
    {"minimum", check_minimum},   {"exclusiveMinimum", check_above}, {"exclusiveMaximum", check_below}, {"$ref", check_ref},
    {"allOf", check_all},         {"if", check_if},             {"then", check_nothing},        {"else", check_nothing},
    {"$schema", check_nothing},   {"$defs", check_nothing},     {"title", check_nothing},       {"description", check_nothing},
    {"format", check_nothing},
};

static bool check(struct validator *v, const cJSON *schema, const cJSON *value, const char *path) {
  if (cJSON_IsBool(schema)) return cJSON_IsTrue(schema) || reject(v, path, "is not allowed here");
  const cJSON *keyword;
  cJSON_ArrayForEach(keyword, schema) {
    bool known = false;
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++) {
      if (strcmp(keywords[i].name, keyword->string)) continue;
      known = true;
      if (!keywords[i].check(v, schema, keyword, value, path)) return false;
    }
    if (!known) return reject(v, path, "the schema says '%s', which this validator does not know", keyword->string);
  }
  return true;
}

bool schema_valid(const cJSON *schema, const cJSON *value, char *why, size_t size) {
  struct validator v = {schema, why, size, false};
  return check(&v, schema, value, "");
}

bool schema_describes(const cJSON *schema, const cJSON *value, char *why, size_t size) {
  struct validator v = {schema, why, size, true};
  return check(&v, schema, value, "");
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
