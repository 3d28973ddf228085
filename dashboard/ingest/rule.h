/* The tree of rules that a schema becomes; between schema_load.c and schema.c alone. */
#ifndef TB_DASHBOARD_RULE_H
#define TB_DASHBOARD_RULE_H

#include <string.h>

#include "base/arena.h"
#include "dashboard/ingest/schema.h"

enum { TB_RULE_MEMBERS = 64 /* that a schema may name in one object: bits of a word */ };

/* Types as bits. */
enum {
  TB_TYPE_NULL = 1,
  TB_TYPE_BOOLEAN = 2,
  TB_TYPE_NUMBER = 4,
  TB_TYPE_INTEGER = 8,
  TB_TYPE_STRING = 16,
  TB_TYPE_ARRAY = 32,
  TB_TYPE_OBJECT = 64
};

struct tb_rule;

struct tb_rule_member {
  const char *name;
  uint16_t length;
  const struct tb_rule *rule; /* NULL: it is only required */
};

/* A value that const or enum allows. */
struct tb_rule_value {
  uint8_t kind;
  const char *text;
  size_t length;
  double number;
};

struct tb_rule {
  bool never;     /* the schema `false` */
  int types;      /* 0: any */
  bool described; /* has "type" and no additionalProperties: it names all members there are, for closed checks
                   */
  struct tb_rule_value *values;
  int n_values;  /* 0: any */
  bool constant; /* of const, for the message */
  struct tb_rule_member *members;
  int n_members;
  uint64_t required; /* bits of members */
  uint8_t *slots;    /* perfect hash of names: number of the member + 1; 0: none */
  uint64_t seed;
  uint32_t slot_mask;
  const struct tb_rule *additional, *items, *same /* $ref */, *condition, *then, *otherwise;
  const struct tb_rule **all;
  int n_all;
  double min_items, minimum, above, below; /* NaN: none */
  uint8_t light; /* bits of the kinds (tb_tape_kind) that are allowed whatever their value is, but for what
                    the next two say of numbers */
  bool whole, not_negative;
  bool alias; /* nothing but `same` */
  bool date_time;
};

struct tb_schema {
  struct tc_arena *arena;
  const struct tb_rule *root;
  char *names;
  size_t names_length;
};

static inline uint32_t tb_rule_slot(uint64_t seed, uint32_t mask, const char *name, size_t length) {
  const struct tb_tape_ends ends = tb_tape_ends(name, length);
  return (uint32_t)(((ends.first ^ (ends.last << 29 | ends.last >> 35) ^ length) * seed) >> 40) & mask;
}

#endif
