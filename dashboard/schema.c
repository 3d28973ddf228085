/* Checks documents by the rules of a schema. A document is walked once, down its tree; conditions (if, allOf) look at an object again. */
#include "dashboard/schema.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "dashboard/rule.h"

struct check {
  const struct tb_tape *json;
  bool closed;
  uint32_t path[TB_TAPE_DEPTH + 1]; /* nodes from the root down to the one that is looked at */
  int depth;
  char *why;   /* NULL: nobody asks */
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
    if (c->json->nodes[c->path[i - 1]].kind == TB_TAPE_ARRAY) at += (size_t)snprintf(out + at, size - at, "[%u]", position_of(c->json, c->path[i - 1], c->path[i]));
    else at += (size_t)snprintf(out + at, size - at, ".%.*s", n->name_length < NAME ? (int)n->name_length : NAME, c->json->text + n->name);
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
    if (types >> i & 1) at += (size_t)snprintf(expected + at, sizeof expected - at, "%s%s", at ? " or " : "", type_names[i]);
  return reject(c, "expected %s, found %s", expected, kinds[kind]);
}

/* --- values --- */

static int type_of(const struct tb_tape *json, uint32_t node) {
  static const int types[] = {TB_TYPE_NULL, TB_TYPE_BOOLEAN, TB_TYPE_BOOLEAN, TB_TYPE_NUMBER, TB_TYPE_STRING, TB_TYPE_ARRAY, TB_TYPE_OBJECT};
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

static bool check_values(struct check *c, const struct tb_rule *rule, uint32_t node) {
  char allowed[TB_TAPE_WHY * 2] = "";
  size_t at = 0;
  for (int i = 0; i < rule->n_values; i++)
    if (same_value(c->json, node, &rule->values[i])) return true;
  if (!c->why) return false;
  for (int i = 0; i < rule->n_values && at < sizeof allowed; i++) {
    const struct tb_rule_value *value = &rule->values[i];
    static const char *const words[] = {"null", "false", "true"};
    if (value->kind == TB_TAPE_STRING) at += (size_t)snprintf(allowed + at, sizeof allowed - at, "%s\"%s\"", i ? ", " : "", value->text);
    else if (value->kind == TB_TAPE_NUMBER) at += (size_t)snprintf(allowed + at, sizeof allowed - at, "%s%g", i ? ", " : "", value->number);
    else at += (size_t)snprintf(allowed + at, sizeof allowed - at, "%s%s", i ? ", " : "", words[value->kind]);
  }
  return reject(c, "expected %s%s", rule->n_values > 1 ? "one of " : "", allowed);
}

static bool check_bounds(struct check *c, const struct tb_rule *rule, uint32_t node) {
  const double value = tb_tape_number(c->json, node);
  if (isnan(value) || isinf(value)) return reject(c, "expected a number that a double holds");
  if (value < rule->minimum) return reject(c, "expected at least %g, found %g", rule->minimum, value);
  if (value <= rule->above) return reject(c, "expected more than %g, found %g", rule->above, value);
  if (value >= rule->below) return reject(c, "expected less than %g, found %g", rule->below, value);
  return true;
}

/* --- date-time: 2026-11-20T14:02:11Z, with a fraction and an offset where there are such --- */

static bool digits(const char **at, const char *end, int count, int lowest, int highest) {
  int value = 0;
  for (int i = 0; i < count; i++, (*at)++) {
    if (*at == end || **at < '0' || **at > '9') return false;
    value = value * 10 + (**at - '0');
  }
  return value >= lowest && value <= highest;
}

static bool one_of(const char **at, const char *end, const char *letters) { return *at < end && **at && strchr(letters, **at) && (*at)++; }

static bool is_date_time(const char *at, const char *end) {
  bool good = digits(&at, end, 4, 0, 9999) && one_of(&at, end, "-") && digits(&at, end, 2, 1, 12) && one_of(&at, end, "-") && digits(&at, end, 2, 1, 31) &&
              one_of(&at, end, "Tt") && digits(&at, end, 2, 0, 23) && one_of(&at, end, ":") && digits(&at, end, 2, 0, 59) && one_of(&at, end, ":") &&
              digits(&at, end, 2, 0, 60);
  if (!good) return false;
  if (one_of(&at, end, ".")) {
    if (!digits(&at, end, 1, 0, 9)) return false;
    while (at < end && *at >= '0' && *at <= '9') at++;
  }
  if (one_of(&at, end, "Zz")) return at == end;
  return one_of(&at, end, "+-") && digits(&at, end, 2, 0, 23) && one_of(&at, end, ":") && digits(&at, end, 2, 0, 59) && at == end;
}

/* --- arrays and objects --- */

static bool check_child(struct check *c, const struct tb_rule *rule, uint32_t node) {
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
  return !(count < rule->min_items) || reject(c, "expected at least %g items, found %g", rule->min_items, count);
}

static int member_at(const struct tb_rule *rule, const char *name, size_t length) {
  if (!rule->n_members) return -1;
  const int slot = rule->slots[tb_rule_slot(rule->seed, rule->slot_mask, name, length)];
  if (!slot || rule->members[slot - 1].length != length || memcmp(rule->members[slot - 1].name, name, length)) return -1;
  return slot - 1;
}

static bool check_object(struct check *c, const struct tb_rule *rule, uint32_t node) {
  const struct tb_tape_node *nodes = c->json->nodes;
  uint64_t seen = 0;
  for (uint32_t i = tb_tape_first(node); i < nodes[node].next; i = nodes[i].next) {
    const char *name = c->json->text + nodes[i].name;
    const int member = member_at(rule, name, nodes[i].name_length);
    if (member >= 0 && seen >> member & 1) return reject(c, "has '%s' twice", rule->members[member].name);
    if (member >= 0) seen |= (uint64_t)1 << member;
    const struct tb_rule *inner = member >= 0 && rule->members[member].rule ? rule->members[member].rule : member < 0 ? rule->additional : NULL;
    if (inner && !check_child(c, inner, i)) return false;
    if (member < 0 && c->closed && rule->described) return reject(c, "has '%.*s', which the schema does not name", (int)nodes[i].name_length, name);
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

static bool check(struct check *c, const struct tb_rule *rule, uint32_t node) {
  const struct tb_tape_node *n = &c->json->nodes[node];
  if (rule->never) return reject(c, "is not allowed here");
  if (rule->types && !(rule->types & type_of(c->json, node))) return reject_type(c, rule->types, n->kind);
  if (rule->same && !check(c, rule->same, node)) return false;
  if (rule->n_values && !check_values(c, rule, node)) return false;
  if (n->kind == TB_TAPE_NUMBER && !check_bounds(c, rule, node)) return false;
  if (n->kind == TB_TAPE_STRING && rule->date_time && !is_date_time(c->json->text + n->text, c->json->text + n->text + n->length))
    return reject(c, "expected a time as 2026-11-20T14:02:11Z");
  if (n->kind == TB_TAPE_OBJECT && (rule->n_members || rule->additional || c->closed) && !check_object(c, rule, node)) return false;
  if (n->kind == TB_TAPE_ARRAY && !check_array(c, rule, node)) return false;
  return (!rule->n_all && !rule->condition) || check_conditions(c, rule, node);
}

bool tb_schema_check(const struct tb_schema *schema, const struct tb_tape *json, bool closed, char *why) {
  struct check c = {.json = json, .closed = closed, .depth = 1, .why = why};
  return check(&c, schema->root, 0);
}
