/* JSON text read once into a list of nodes: what the server checks and takes its rows from.
 *
 * 1. Strict RFC 8259: UTF-8 without surrogates, no control characters in texts, one value, nothing behind it.
 * 2. The text is not changed or copied: a node points into it. Nodes stand in the order of the text, so the
 *    children of a node follow it, and `next` is the node behind them all.
 * 3. Bounded: TB_TAPE_DEPTH levels, `most_nodes` nodes, names of TB_TAPE_NAME bytes. Names have no escapes
 *    where a letter of ASCII could stand, and no text holds a zero (\u0000): readers in C would see another
 *    text.
 * Ownership: the text is borrowed; nodes belong to the struct and serve the next document too. Threads: one a
 * struct. */
#ifndef TB_DASHBOARD_TAPE_H
#define TB_DASHBOARD_TAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { TB_TAPE_DEPTH = 64, TB_TAPE_NAME = 4096, TB_TAPE_WHY = 160 };

enum tb_tape_kind {
  TB_TAPE_NULL,
  TB_TAPE_FALSE,
  TB_TAPE_TRUE,
  TB_TAPE_NUMBER,
  TB_TAPE_STRING,
  TB_TAPE_ARRAY,
  TB_TAPE_OBJECT
};

struct tb_tape_node {
  uint32_t text, length; /* bytes of the value; of a string, those between the quotes */
  uint32_t name;         /* of a member of an object */
  uint16_t name_length;
  uint8_t kind;
  bool plain : 1; /* a string without escapes, or a number that is written as a whole one */
  bool power : 1; /* a number that is written with an exponent */
  uint32_t next;
};

struct tb_tape {
  const char *text;
  struct tb_tape_node *nodes;
  size_t count, cap, most_nodes;
  bool no_memory; /* of the last text: it was given up for that, and might be taken another time */
};

/* The first and last eight bytes of a name, which may be the same ones; of a shorter one, all there are. In
 * loads of fixed sizes: names are looked at more often than anything else. */
struct tb_tape_ends {
  uint64_t first, last;
};
static inline struct tb_tape_ends tb_tape_ends(const char *name, size_t length) {
  struct tb_tape_ends ends = {0, 0};
  uint32_t low, high;
  if (length >= sizeof ends.first) {
    memcpy(&ends.first, name, sizeof ends.first);
    memcpy(&ends.last, name + length - sizeof ends.last, sizeof ends.last);
  } else if (length >= sizeof low) {
    memcpy(&low, name, sizeof low);
    memcpy(&high, name + length - sizeof high, sizeof high);
    ends.first = low, ends.last = high;
  } else if (length) {
    ends.first = (unsigned char)name[0] | (uint64_t)(unsigned char)name[length / 2] << 8 |
                 (uint64_t)(unsigned char)name[length - 1] << 16;
  }
  return ends;
}

/* Whether two names of the same length are the same one. */
static inline bool tb_tape_same_name(const char *a, const char *b, size_t length) {
  enum { ENDS = 16 /* bytes that the ends cover */ };
  const struct tb_tape_ends ends_a = tb_tape_ends(a, length), ends_b = tb_tape_ends(b, length);
  return ends_a.first == ends_b.first && ends_a.last == ends_b.last &&
         (length <= ENDS || !memcmp(a, b, length));
}

/* False: `why` (TB_TAPE_WHY bytes) says what is wrong and where; *limit tells a bound from text that is no
 * JSON, json->no_memory that neither is wrong. */
bool tb_tape_parse(struct tb_tape *json, const char *text, size_t length, bool *limit, char *why);
void tb_tape_free(struct tb_tape *json);

/* First child of an array or object; then .next of each, up to .next of the parent. */
static inline uint32_t tb_tape_first(uint32_t node) { return node + 1; }
/* Member of an object by name, 0 where there is none: 0 is the root, which is nobody's member and, in what
 * passed the schema, an object. */
uint32_t tb_tape_member(const struct tb_tape *json, uint32_t object, const char *name);
/* The same, of a name that goes on behind its length. */
uint32_t tb_tape_named(const struct tb_tape *json, uint32_t object, const char *name, size_t length);
/* Member at a path such as "speedup.ratio"; 0: not there. */
uint32_t tb_tape_at(const struct tb_tape *json, uint32_t object, const char *path);
/* NaN for what is no number. */
double tb_tape_number(const struct tb_tape *json, uint32_t node);
/* Whether a string is this text (escapes are not looked into). */
bool tb_tape_is(const struct tb_tape *json, uint32_t node, const char *text);
/* A string's text, without escapes, into `out` (zero-terminated). False: no string, or it does not fit. */
bool tb_tape_copy(const struct tb_tape *json, uint32_t node, char *out, size_t size);

#endif
