/* Makes a schema's text into rules. To add a keyword: a row in `keywords`, its function, and its check in
 * schema.c. */
#include <math.h>
#include <stdlib.h>

#include "dashboard/ingest/rule.h"

struct def {
  const char *name;
  size_t length;
  uint32_t node;
  struct tb_rule *rule;
};

struct loader {
  struct tc_arena *arena;
  struct tb_tape json;
  struct def *defs;
  int n_defs;
  struct tc_error *err;
};

static struct tb_rule *load_rule(struct loader *l, uint32_t node);
static bool fill_rule(struct loader *l, struct tb_rule *rule, uint32_t node);

static bool refuse(struct loader *l, uint32_t node, const char *what) {
  const struct tb_tape_node *n = &l->json.nodes[node];
  tc_fail(l->err, TC_PARSE, "schema", "%s: %.*s: %.*s", what, (int)n->name_length, l->json.text + n->name,
          (int)(n->length < 60 ? n->length : 60), l->json.text + n->text);
  return false;
}

static void *get(struct loader *l, size_t count, size_t size) {
  void *block = tc_new_zeroed(tc_arena_alloc(l->arena), count ? count : 1, size);
  if (!block) tc_fail_memory(l->err, "schema");
  return block;
}

static char *text_of(struct loader *l, uint32_t node, size_t *length) {
  const struct tb_tape_node *n = &l->json.nodes[node];
  char *text = get(l, n->length + 1, 1);
  if (!text) return NULL;
  if (!tb_tape_copy(&l->json, node, text, n->length + 1)) return refuse(l, node, "expected a text"), NULL;
  *length = strlen(text);
  return text;
}

static int count_children(const struct loader *l, uint32_t node) {
  int count = 0;
  for (uint32_t i = tb_tape_first(node); i < l->json.nodes[node].next; i = l->json.nodes[i].next) count++;
  return count;
}

static bool has_kind(struct loader *l, uint32_t node, enum tb_tape_kind kind) {
  return l->json.nodes[node].kind == kind || refuse(l, node, "a keyword's value of the wrong type");
}

/* --- keywords --- */

static bool add_type(struct loader *l, struct tb_rule *rule, uint32_t node) {
  static const struct {
    const char *name;
    int bits;
  } types[] = {{"null", TB_TYPE_NULL},       {"boolean", TB_TYPE_BOOLEAN}, {"number", TB_TYPE_NUMBER},
               {"integer", TB_TYPE_INTEGER}, {"string", TB_TYPE_STRING},   {"array", TB_TYPE_ARRAY},
               {"object", TB_TYPE_OBJECT}};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (tb_tape_is(&l->json, node, types[i].name)) return rule->types |= types[i].bits, true;
  return refuse(l, node, "an unknown type");
}

static bool load_type(struct loader *l, struct tb_rule *rule, uint32_t node) {
  if (l->json.nodes[node].kind != TB_TAPE_ARRAY) return add_type(l, rule, node);
  for (uint32_t i = tb_tape_first(node); i < l->json.nodes[node].next; i = l->json.nodes[i].next)
    if (!add_type(l, rule, i)) return false;
  return rule->types || refuse(l, node, "no types");
}

static bool load_value(struct loader *l, struct tb_rule_value *value, uint32_t node) {
  value->kind = l->json.nodes[node].kind;
  if (value->kind == TB_TAPE_STRING) return (value->text = text_of(l, node, &value->length)) != NULL;
  value->number = tb_tape_number(&l->json, node);
  return value->kind < TB_TAPE_STRING || refuse(l, node, "a value that is no null, boolean, number or text");
}

static bool new_values(struct loader *l, struct tb_rule *rule, uint32_t node, int count) {
  if (rule->values) return refuse(l, node, "const and enum in one schema");
  rule->n_values = count;
  return (rule->values = get(l, (size_t)count, sizeof *rule->values)) != NULL;
}

static bool load_const(struct loader *l, struct tb_rule *rule, uint32_t node) {
  rule->constant = true;
  return new_values(l, rule, node, 1) && load_value(l, rule->values, node);
}

static bool load_enum(struct loader *l, struct tb_rule *rule, uint32_t node) {
  int n = 0;
  if (!has_kind(l, node, TB_TAPE_ARRAY) || !new_values(l, rule, node, count_children(l, node))) return false;
  for (uint32_t i = tb_tape_first(node); i < l->json.nodes[node].next; i = l->json.nodes[i].next)
    if (!load_value(l, &rule->values[n++], i)) return false;
  return n > 0 || refuse(l, node, "no values");
}

/* Number of the member of that name, which is added where it is not there; -1 with an error. */
static int member_of(struct loader *l, struct tb_rule *rule, uint32_t node, const char *name, size_t length) {
  if (!rule->members && !(rule->members = get(l, TB_RULE_MEMBERS, sizeof *rule->members))) return -1;
  for (int i = 0; i < rule->n_members; i++)
    if (rule->members[i].length == length && !memcmp(rule->members[i].name, name, length)) return i;
  if (rule->n_members == TB_RULE_MEMBERS)
    return refuse(l, node, "an object with more than 64 named members"), -1;
  char *copy = get(l, length + 1, 1);
  if (!copy) return -1;
  memcpy(copy, name, length);
  rule->members[rule->n_members] = (struct tb_rule_member){.name = copy, .length = (uint16_t)length};
  return rule->n_members++;
}

static bool load_properties(struct loader *l, struct tb_rule *rule, uint32_t node) {
  if (!has_kind(l, node, TB_TAPE_OBJECT)) return false;
  for (uint32_t i = tb_tape_first(node); i < l->json.nodes[node].next; i = l->json.nodes[i].next) {
    const int member =
        member_of(l, rule, i, l->json.text + l->json.nodes[i].name, l->json.nodes[i].name_length);
    if (member < 0 || !(rule->members[member].rule = load_rule(l, i))) return false;
  }
  return true;
}

static bool load_required(struct loader *l, struct tb_rule *rule, uint32_t node) {
  if (!has_kind(l, node, TB_TAPE_ARRAY)) return false;
  for (uint32_t i = tb_tape_first(node); i < l->json.nodes[node].next; i = l->json.nodes[i].next) {
    size_t length;
    const char *name = text_of(l, i, &length);
    const int member = name ? member_of(l, rule, i, name, length) : -1;
    if (member < 0) return false;
    rule->required |= (uint64_t)1 << member;
  }
  return true;
}

static bool load_ref(struct loader *l, struct tb_rule *rule, uint32_t node) {
  static const char prefix[] = "#/$defs/";
  size_t length;
  const char *name = text_of(l, node, &length);
  if (!name) return false;
  for (int i = 0; i < l->n_defs; i++)
    if (length == strlen(prefix) + l->defs[i].length && !memcmp(name, prefix, strlen(prefix)) &&
        !memcmp(name + strlen(prefix), l->defs[i].name, l->defs[i].length))
      return rule->same = l->defs[i].rule, true;
  return refuse(l, node, "it refers to what is not there");
}

static bool load_all(struct loader *l, struct tb_rule *rule, uint32_t node) {
  if (!has_kind(l, node, TB_TAPE_ARRAY) ||
      !(rule->all = get(l, (size_t)count_children(l, node), sizeof *rule->all)))
    return false;
  for (uint32_t i = tb_tape_first(node); i < l->json.nodes[node].next; i = l->json.nodes[i].next)
    if (!(rule->all[rule->n_all++] = load_rule(l, i))) return false;
  return true;
}

#define LOAD_RULE(field)                                                                                     \
  static bool load_##field(struct loader *l, struct tb_rule *rule, uint32_t node) {                          \
    return (rule->field = load_rule(l, node)) != NULL;                                                       \
  }
LOAD_RULE(additional)
LOAD_RULE(items)
LOAD_RULE(condition)
LOAD_RULE(then)
LOAD_RULE(otherwise)

#define LOAD_NUMBER(field)                                                                                   \
  static bool load_##field(struct loader *l, struct tb_rule *rule, uint32_t node) {                          \
    rule->field = tb_tape_number(&l->json, node);                                                            \
    return has_kind(l, node, TB_TAPE_NUMBER);                                                                \
  }
LOAD_NUMBER(min_items)
LOAD_NUMBER(minimum)
LOAD_NUMBER(above)
LOAD_NUMBER(below)

static bool load_format(struct loader *l, struct tb_rule *rule, uint32_t node) {
  rule->date_time = tb_tape_is(&l->json, node, "date-time");
  return rule->date_time || refuse(l, node, "a format that is not checked");
}

static bool load_nothing(struct loader *l, struct tb_rule *rule, uint32_t node) {
  (void)l, (void)rule, (void)node;
  return true;
}

static const struct {
  const char *name;
  bool (*load)(struct loader *l, struct tb_rule *rule, uint32_t node);
} keywords[] = {
    {"type", load_type},
    {"const", load_const},
    {"enum", load_enum},
    {"properties", load_properties},
    {"required", load_required},
    {"items", load_items},
    {"minItems", load_min_items},
    {"additionalProperties", load_additional},
    {"minimum", load_minimum},
    {"exclusiveMinimum", load_above},
    {"exclusiveMaximum", load_below},
    {"$ref", load_ref},
    {"allOf", load_all},
    {"if", load_condition},
    {"then", load_then},
    {"else", load_otherwise},
    {"format", load_format},
    {"$schema", load_nothing},
    {"$defs", load_nothing},
    {"title", load_nothing},
    {"description", load_nothing},
};

static bool load_keyword(struct loader *l, struct tb_rule *rule, uint32_t node) {
  const struct tb_tape_node *n = &l->json.nodes[node];
  for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
    if (strlen(keywords[i].name) == n->name_length &&
        !memcmp(keywords[i].name, l->json.text + n->name, n->name_length))
      return keywords[i].load(l, rule, node);
  return refuse(l, node, "the schema says what is not checked here");
}

/* --- rules --- */

/* A seed with which no two names share a slot. */
static bool hash_names(struct loader *l, struct tb_rule *rule) {
  enum { TRIES = 20000, ROOM = 4 };
  uint32_t size = 8;
  while (size < (uint32_t)rule->n_members * ROOM) size *= 2;
  if (!rule->n_members) return true;
  if (!(rule->slots = get(l, size, 1))) return false;
  rule->slot_mask = size - 1;
  rule->seed = 0x9E3779B97F4A7C15u;
  for (int try = 0; try < TRIES;
       try++, rule->seed = rule->seed * 6364136223846793005u + 1442695040888963407u) {
    int n = 0;
    memset(rule->slots, 0, size);
    for (; n < rule->n_members; n++) {
      uint8_t *slot = &rule->slots[tb_rule_slot(rule->seed | 1, rule->slot_mask, rule->members[n].name,
                                                rule->members[n].length)];
      if (*slot) break;
      *slot = (uint8_t)(n + 1);
    }
    if (n == rule->n_members) return rule->seed |= 1, true;
  }
  tc_fail(l->err, TC_LIMIT, "schema", "names that cannot be told apart fast");
  return false;
}

/* Of arrays and objects none: they are looked into. */
static uint8_t light_kinds(const struct tb_rule *rule) {
  const bool bounded = rule->minimum > 0 || !isnan(rule->above) || !isnan(rule->below);
  const int types = rule->types ? rule->types : ~0;
  int kinds = 0;
  if (rule->never || rule->same || rule->n_values || rule->n_all || rule->condition) return 0;
  if (types & TB_TYPE_NULL) kinds |= 1 << TB_TAPE_NULL;
  if (types & TB_TYPE_BOOLEAN) kinds |= 1 << TB_TAPE_FALSE | 1 << TB_TAPE_TRUE;
  if (types & (TB_TYPE_NUMBER | TB_TYPE_INTEGER) && !bounded) kinds |= 1 << TB_TAPE_NUMBER;
  if (types & TB_TYPE_STRING && !rule->date_time) kinds |= 1 << TB_TAPE_STRING;
  return (uint8_t)kinds;
}

static bool fill_rule(struct loader *l, struct tb_rule *rule, uint32_t node) {
  const struct tb_tape_node *n = &l->json.nodes[node];
  rule->min_items = rule->minimum = rule->above = rule->below = NAN;
  if (n->kind == TB_TAPE_TRUE || n->kind == TB_TAPE_FALSE)
    return rule->never = n->kind == TB_TAPE_FALSE, true;
  if (!has_kind(l, node, TB_TAPE_OBJECT)) return false;
  for (uint32_t i = tb_tape_first(node); i < l->json.nodes[node].next; i = l->json.nodes[i].next)
    if (!load_keyword(l, rule, i)) return false;
  rule->light = light_kinds(rule);
  rule->whole = rule->types && !(rule->types & TB_TYPE_NUMBER);
  rule->not_negative = !isnan(rule->minimum);
  rule->alias = rule->same && !rule->never && !rule->types && !rule->n_values && !rule->n_members &&
                !rule->additional && !rule->items && !rule->n_all && !rule->condition &&
                isnan(rule->min_items) && isnan(rule->minimum) && isnan(rule->above) && isnan(rule->below) &&
                !rule->date_time;
  rule->described = rule->types && !rule->additional && tb_tape_member(&l->json, node, "properties");
  return hash_names(l, rule);
}

static struct tb_rule *load_rule(struct loader *l, uint32_t node) {
  struct tb_rule *rule = get(l, 1, sizeof *rule);
  return rule && fill_rule(l, rule, node) ? rule : NULL;
}

static bool load_defs(struct loader *l) {
  const uint32_t defs = tb_tape_member(&l->json, 0, "$defs");
  if (!defs) return true;
  if (!has_kind(l, defs, TB_TAPE_OBJECT) ||
      !(l->defs = get(l, (size_t)count_children(l, defs), sizeof *l->defs)))
    return false;
  for (uint32_t i = tb_tape_first(defs); i < l->json.nodes[defs].next; i = l->json.nodes[i].next) {
    const struct tb_tape_node *n = &l->json.nodes[i];
    l->defs[l->n_defs] =
        (struct def){l->json.text + n->name, n->name_length, i, get(l, 1, sizeof(struct tb_rule))};
    if (!l->defs[l->n_defs++].rule) return false;
  }
  for (int i = 0; i < l->n_defs; i++)
    if (!fill_rule(l, l->defs[i].rule, l->defs[i].node)) return false;
  return true;
}

/* --- names, for a dictionary of the compressor --- */

/* Members of "properties" and where they lead, in the order of the text. */
static bool keep_names(struct loader *l, struct tb_schema *schema) {
  const uint32_t end = l->json.nodes[0].next;
  if (!(schema->names = get(l, l->json.nodes[0].length + 1, 4))) return false;
  for (uint32_t i = 1; i < end; i++) {
    const struct tb_tape_node *n = &l->json.nodes[i];
    if (n->kind != TB_TAPE_OBJECT || n->name_length != strlen("properties") ||
        memcmp(l->json.text + n->name, "properties", n->name_length))
      continue;
    for (uint32_t j = tb_tape_first(i); j < n->next; j = l->json.nodes[j].next) {
      const struct tb_tape_node *member = &l->json.nodes[j];
      char *out = schema->names + schema->names_length;
      *out++ = ',', *out++ = '"';
      memcpy(out, l->json.text + member->name, member->name_length);
      out += member->name_length;
      *out++ = '"', *out++ = ':';
      schema->names_length = (size_t)(out - schema->names);
    }
  }
  return true;
}

struct tb_schema *tb_schema_load(const char *text, size_t length, struct tc_error *err) {
  enum { MOST_NODES = 100000 };
  struct loader l = {.json.most_nodes = MOST_NODES, .err = err};
  char why[TB_TAPE_WHY];
  bool limit, good = false;
  struct tb_schema *schema = calloc(1, sizeof *schema);
  l.arena = tc_arena_new(tc_alloc_system());
  if (!schema || !l.arena)
    tc_fail_memory(l.err, "schema");
  else if (!tb_tape_parse(&l.json, text, length, &limit, why))
    tc_fail(err, TC_PARSE, "schema", "%s", why);
  else
    good = load_defs(&l) && (schema->root = load_rule(&l, 0)) && keep_names(&l, schema);
  tb_tape_free(&l.json);
  if (!good) {
    tc_arena_free(l.arena);
    free(schema);
    return NULL;
  }
  schema->arena = l.arena;
  return schema;
}

void tb_schema_free(struct tb_schema *schema) {
  if (!schema) return;
  tc_arena_free(schema->arena);
  free(schema);
}

struct tb_schema *tb_schema_of_results(struct tc_error *err) {
  static const unsigned char text[] = {
#include "results/schema.json.inc"
  };
  return tb_schema_load((const char *)text, sizeof text, err);
}

size_t tb_schema_names(const struct tb_schema *schema, char *out, size_t size) {
  const size_t length = schema->names_length < size ? schema->names_length : size;
  memcpy(out, schema->names, length);
  return length;
}
