/* Checks documents by the rules of a schema. A document is walked once, down its tree; conditions (if, allOf)
 * look at an object again. */
#include "dashboard/ingest/schema.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "dashboard/ingest/rule.h"
#include "results/rfc3339.h"

struct check {
  const struct tb_tape *json;
  bool closed;
  uint32_t path[TB_TAPE_DEPTH + 1]; /* nodes from the root down to the one that is looked at */
  int depth;
  char *why; /* NULL: nobody asks */
};

static bool check(struct check *c, const struct tb_rule *rule, uint32_t node);

/* --- complaints --- */

/* Number of an item within its array. */
static unsigned position_of(const struct tb_tape *json, uint32_t parent, uint32_t node) {
  unsigned n = 0;
  for (uint32_t i = tb_tape_first(parent); i < node; i = json->nodes[i].next) n++;
  return n;
}

static size_t write_path(const struct check *c, char *out, size_t size) {
  enum { NAME = 60 };
  size_t at = (size_t)snprintf(out, size, "$");
  for (int i = 1; i < c->depth && at < size; i++) {
    const struct tb_tape_node *n = &c->json->nodes[c->path[i]];
    if (c->json->nodes[c->path[i - 1]].kind == TB_TAPE_ARRAY)
      at += (size_t)snprintf(out + at, size - at, "[%u]", position_of(c->json, c->path[i - 1], c->path[i]));
    else
      at += (size_t)snprintf(out + at, size - at, ".%.*s", n->name_length < NAME ? (int)n->name_length : NAME,
                             c->json->text + n->name);
  }
  return at < size ? at : size - 1;
}

static bool reject(struct check *c, const char *format, ...) __attribute__((format(printf, 2, 3), cold));
static bool reject(struct check *c, const char *format, ...) {
  if (!c->why) return false;
  size_t at = write_path(c, c->why, TB_SCHEMA_WHY);
  at += (size_t)snprintf(c->why + at, TB_SCHEMA_WHY - at, ": ");
  if (at >= TB_SCHEMA_WHY) return false;
  va_list args;
  va_start(args, format);
  vsnprintf(c->why + at, TB_SCHEMA_WHY - at, format, args);
  va_end(args);
  return false;
}

static const char *const type_names[] = {"null", "boolean", "number", "integer", "string", "array", "object"};

static bool reject_type(struct check *c, int types, uint8_t kind) {
  static const char *const kinds[] = {"null", "boolean", "boolean", "number", "string", "array", "object"};
  char expected[TB_TAPE_WHY] = "";
  size_t at = 0;
  for (int i = 0; i < (int)(sizeof type_names / sizeof *type_names); i++)
    if (types >> i & 1)
      at += (size_t)snprintf(expected + at, sizeof expected - at, "%s%s", at ? " or " : "", type_names[i]);
  return reject(c, "expected %s, found %s", expected, kinds[kind]);
}

/* --- values --- */

static int type_of(const struct tb_tape *json, uint32_t node) {
  static const int types[] = {TB_TYPE_NULL,   TB_TYPE_BOOLEAN, TB_TYPE_BOOLEAN, TB_TYPE_NUMBER,
                              TB_TYPE_STRING, TB_TYPE_ARRAY,   TB_TYPE_OBJECT};
  const struct tb_tape_node *n = &json->nodes[node];
  if (n->kind != TB_TAPE_NUMBER) return types[n->kind];
  const double value = n->plain ? 0 : tb_tape_number(json, node);
  return TB_TYPE_NUMBER | (n->plain || floor(value) == value ? TB_TYPE_INTEGER : 0);
}

static bool same_value(const struct tb_tape *json, uint32_t node, const struct tb_rule_value *value) {
  const struct tb_tape_node *n = &json->nodes[node];
  if (n->kind != value->kind) return false;
  if (n->kind == TB_TAPE_NUMBER) return tb_tape_number(json, node) == value->number;
  if (n->kind != TB_TAPE_STRING) return true;
  if (n->plain) return n->length == value->length && !memcmp(json->text + n->text, value->text, n->length);
  char text[TB_TAPE_WHY];
  return tb_tape_copy(json, node, text, sizeof text) && !strcmp(text, value->text);
}

static bool reject_value(struct check *c, const struct tb_rule *rule) __attribute__((cold));
static bool reject_value(struct check *c, const struct tb_rule *rule) {
  char allowed[TB_TAPE_WHY * 2] = "";
  size_t at = 0;
  if (!c->why) return false;
  for (int i = 0; i < rule->n_values && at < sizeof allowed; i++) {
    const struct tb_rule_value *value = &rule->values[i];
    static const char *const words[] = {"null", "false", "true"};
    if (value->kind == TB_TAPE_STRING)
      at += (size_t)snprintf(allowed + at, sizeof allowed - at, "%s\"%s\"", i ? ", " : "", value->text);
    else if (value->kind == TB_TAPE_NUMBER)
      at += (size_t)snprintf(allowed + at, sizeof allowed - at, "%s%g", i ? ", " : "", value->number);
    else
      at += (size_t)snprintf(allowed + at, sizeof allowed - at, "%s%s", i ? ", " : "", words[value->kind]);
  }
  return reject(c, "expected %s%s", rule->n_values > 1 ? "one of " : "", allowed);
}

static bool check_values(struct check *c, const struct tb_rule *rule, uint32_t node) {
  for (int i = 0; i < rule->n_values; i++)
    if (same_value(c->json, node, &rule->values[i])) return true;
  return reject_value(c, rule);
}

static bool check_bounds(struct check *c, const struct tb_rule *rule, uint32_t node) {
  const double value = tb_tape_number(c->json, node);
  if (isnan(value) || isinf(value)) return reject(c, "expected a number that a double holds");
  if (value < rule->minimum) return reject(c, "expected at least %g, found %g", rule->minimum, value);
  if (value <= rule->above) return reject(c, "expected more than %g, found %g", rule->above, value);
  if (value >= rule->below) return reject(c, "expected less than %g, found %g", rule->below, value);
  return true;
}

static bool is_date_time(const char *text, size_t length) {
  struct tb_time time;
  return tb_time_read(text, length, &time);
}

/* --- arrays and objects --- */

/* Numbers of which it is known without their value that they are allowed; others may be too. */
static inline bool number_is_light(const struct tb_rule *rule, const struct tb_tape *json,
                                   const struct tb_tape_node *n) {
  enum { SAFE_DIGITS = 300 /* without an exponent, so many are within what a double holds */ };
  return !n->power && n->length < SAFE_DIGITS && (n->plain || !rule->whole) &&
         !(rule->not_negative && json->text[n->text] == '-');
}

/* Most values need no more than a look at their kind. */
static inline bool check_child(struct check *c, const struct tb_rule *rule, uint32_t node) {
  const struct tb_tape_node *n = &c->json->nodes[node];
  if (rule->alias) rule = rule->same;
  if (rule->light >> n->kind & 1 && (n->kind != TB_TAPE_NUMBER || number_is_light(rule, c->json, n)))
    return true;
  c->path[c->depth++] = node;
  const bool good = check(c, rule, node);
  c->depth--;
  return good;
}

static bool check_array(struct check *c, const struct tb_rule *rule, uint32_t node) {
  const struct tb_tape_node *nodes = c->json->nodes;
  double count = 0;
  for (uint32_t i = tb_tape_first(node); i < nodes[node].next; i = nodes[i].next, count++)
    if (rule->items && !check_child(c, rule->items, i)) return false;
  return !(count < rule->min_items) ||
         reject(c, "expected at least %g items, found %g", rule->min_items, count);
}

static bool is_member(const struct tb_rule *rule, int member, const char *name, size_t length) {
  return rule->members[member].length == length &&
         tb_tape_same_name(rule->members[member].name, name, length);
}

/* `likely`: the one behind the last one, since most documents are written in the order of the schema. */
static int member_at(const struct tb_rule *rule, int likely, const char *name, size_t length) {
  if (likely < rule->n_members && is_member(rule, likely, name, length)) return likely;
  if (!rule->n_members) return -1;
  const int slot = rule->slots[tb_rule_slot(rule->seed, rule->slot_mask, name, length)];
  return slot && is_member(rule, slot - 1, name, length) ? slot - 1 : -1;
}

static bool check_object(struct check *c, const struct tb_rule *rule, uint32_t node) {
  const struct tb_tape_node *nodes = c->json->nodes;
  uint64_t seen = 0;
  int likely = 0;
  for (uint32_t i = tb_tape_first(node); i < nodes[node].next; i = nodes[i].next) {
    const char *name = c->json->text + nodes[i].name;
    const int member = member_at(rule, likely, name, nodes[i].name_length);
    if (member < 0) {
      if (rule->additional && !check_child(c, rule->additional, i)) return false;
      if (c->closed && rule->described)
        return reject(c, "has '%.*s', which is not in the schema", (int)nodes[i].name_length, name);
      continue;
    }
    if (seen >> member & 1) return reject(c, "has '%s' twice", rule->members[member].name);
    seen |= (uint64_t)1 << member;
    likely = member + 1;
    if (rule->members[member].rule && !check_child(c, rule->members[member].rule, i)) return false;
  }
  const uint64_t missing = rule->required & ~seen;
  return !missing || reject(c, "lacks '%s'", rule->members[__builtin_ctzll(missing)].name);
}

static bool check_conditions(struct check *c, const struct tb_rule *rule, uint32_t node) {
  for (int i = 0; i < rule->n_all; i++)
    if (!check(c, rule->all[i], node)) return false;
  if (!rule->condition) return true;
  char *why = c->why;
  c->why = NULL;
  const bool holds = check(c, rule->condition, node);
  c->why = why;
  const struct tb_rule *branch = holds ? rule->then : rule->otherwise;
  return !branch || check(c, branch, node);
}

/* What is asked of a value by its kind. */
static bool check_kind(struct check *c, const struct tb_rule *rule, uint32_t node) {
  const struct tb_tape_node *n = &c->json->nodes[node];
  switch (n->kind) {
    case TB_TAPE_NUMBER: return check_bounds(c, rule, node);
    case TB_TAPE_STRING:
      return !rule->date_time || is_date_time(c->json->text + n->text, n->length) ||
             reject(c, "expected a time as 2026-11-20T14:02:11Z");
    case TB_TAPE_OBJECT:
      return (!rule->n_members && !rule->additional && !c->closed) || check_object(c, rule, node);
    case TB_TAPE_ARRAY: return check_array(c, rule, node);
    default: return true;
  }
}

static bool check(struct check *c, const struct tb_rule *rule, uint32_t node) {
  if (rule->never) return reject(c, "is not allowed here");
  if (rule->types && !(rule->types & type_of(c->json, node)))
    return reject_type(c, rule->types, c->json->nodes[node].kind);
  if (rule->same && !check(c, rule->same, node)) return false;
  if (rule->n_values && !check_values(c, rule, node)) return false;
  if (!check_kind(c, rule, node)) return false;
  return (!rule->n_all && !rule->condition) || check_conditions(c, rule, node);
}

bool tb_schema_check(const struct tb_schema *schema, const struct tb_tape *json, bool closed, char *why) {
  struct check c = {.json = json, .closed = closed, .depth = 1, .why = why};
  return check(&c, schema->root, 0);
}
