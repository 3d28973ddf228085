/* Symbolic integers: every size, stride, offset and loop index of the compiler is a tc_sym.
 *
 * A tc_sym is one word. Constants of 62 bits are immediate (no table, no allocation), so the same
 * shape rules serve eager dispatch, at the speed of integers, and compiled graphs. Anything else is
 * a pointer to a hash-consed, simplified node of a tc_symtab: equal expressions are equal words.
 *
 * Ownership: nodes belong to the table's allocator (an arena) and die with it. Threads: one a table.
 * Errors: a failed allocation, an overflow, or a division by constant zero gives TC_SYM_INVALID,
 * which every operation passes on; check once at the end. Integer meaning is mathematical (floor)
 * on int64_t.
 *
 * Two kinds of variables: *sizes* (values known when a compiled object is called; numbered 0…; each
 * is ≥ 2, since 0 and 1 are specialised, and ≤ 2^40) and *indices* (loop variables, 0 ≤ i < extent). */
#ifndef TC_SYM_SYM_H
#define TC_SYM_SYM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/strbuf.h"

typedef struct {
  uintptr_t bits;
} tc_sym;

struct tc_symtab;

enum tc_sym_kind {
  TC_SYM_CONST,
  TC_SYM_SIZE,
  TC_SYM_INDEX,
  TC_SYM_ADD,
  TC_SYM_MUL,
  TC_SYM_DIV,
  TC_SYM_MOD,
  TC_SYM_MIN,
  TC_SYM_MAX
};

#define TC_SYM_INVALID ((tc_sym){0})

static inline bool tc_sym_valid(tc_sym s) { return s.bits != 0; }
static inline bool tc_sym_same(tc_sym a, tc_sym b) { return a.bits == b.bits; }
static inline bool tc_sym_is_const(tc_sym s) { return s.bits & 1; }
/* Value of a constant. */
static inline int64_t tc_sym_value(tc_sym s) { return (int64_t)s.bits >> 2; }
static inline bool tc_sym_is(tc_sym s, int64_t value) {
  return tc_sym_is_const(s) && tc_sym_value(s) == value;
}
/* INVALID outside of 62 bits. */
static inline tc_sym tc_sym_const(int64_t value) {
  if (value > (INT64_MAX >> 2) || value < (INT64_MIN >> 2)) return TC_SYM_INVALID;
  return (tc_sym){(uintptr_t)value << 2 | 1};
}

/* What a size variable can be. */
#define TC_SYM_SIZE_MIN 2
#define TC_SYM_SIZE_MAX ((int64_t)1 << 40)

struct tc_symtab *tc_symtab_new(const struct tc_alloc *alloc);
void tc_symtab_free(struct tc_symtab *tab);
/* Of a new table: whether it keeps what it simplified (it does, unless told otherwise). */
void tc_symtab_remember(struct tc_symtab *tab, bool remembers);

/* A size variable with the number `id`, and the value it had when captured (for decisions; they are
 * recorded as facts). The same id gives the same symbol, with the first hint. */
tc_sym tc_sym_size(struct tc_symtab *tab, int id, int64_t hint);
/* The table's size variables are numbered below this; the hint of one (TC_SYM_SIZE_MIN where there is none
 * with that number). */
int tc_symtab_sizes(const struct tc_symtab *tab);
int64_t tc_symtab_hint(const struct tc_symtab *tab, int id);
/* A fresh loop index, 0 ≤ i < extent. */
tc_sym tc_sym_index(struct tc_symtab *tab, tc_sym extent);

/* `tab` may be NULL when both operands are constants. */
tc_sym tc_sym_add(struct tc_symtab *tab, tc_sym a, tc_sym b);
tc_sym tc_sym_sub(struct tc_symtab *tab, tc_sym a, tc_sym b);
tc_sym tc_sym_mul(struct tc_symtab *tab, tc_sym a, tc_sym b);
tc_sym tc_sym_div(struct tc_symtab *tab, tc_sym a, tc_sym b); /* floor */
tc_sym tc_sym_mod(struct tc_symtab *tab, tc_sym a, tc_sym b); /* sign of b */
tc_sym tc_sym_min(struct tc_symtab *tab, tc_sym a, tc_sym b);
tc_sym tc_sym_max(struct tc_symtab *tab, tc_sym a, tc_sym b);

/* Looks inside a node. For ADD and MUL the operands are in canonical order (a constant last). */
enum tc_sym_kind tc_sym_kind(tc_sym s);
tc_sym tc_sym_left(tc_sym s);
tc_sym tc_sym_right(tc_sym s);
int tc_sym_id(tc_sym s);        /* of a SIZE or INDEX */
tc_sym tc_sym_extent(tc_sym s); /* of an INDEX */

/* Replaces index variables: from[i] becomes to[i]. */
tc_sym tc_sym_substitute(struct tc_symtab *tab, tc_sym s, int count, const tc_sym *from, const tc_sym *to);
/* The same expression in another table; INVALID where it has indices. */
tc_sym tc_sym_copy(struct tc_symtab *tab, tc_sym s);
/* Does `s` contain the variable? */
bool tc_sym_uses(tc_sym s, tc_sym variable);
/* If s = coefficient · variable + rest, with both free of the variable. */
bool tc_sym_affine(struct tc_symtab *tab, tc_sym s, tc_sym variable, tc_sym *coefficient, tc_sym *rest);
/* Bounds that hold for all values of the variables; false if none is known. INT64_MIN and INT64_MAX mean
 * without end. */
bool tc_sym_bounds(tc_sym s, int64_t *low, int64_t *high);
/* Is a < b (a ≤ b) whatever the sizes are? false: not known. Both are free of indices. */
bool tc_sym_always_lt(tc_sym a, tc_sym b);
bool tc_sym_always_le(tc_sym a, tc_sym b);

/* Value with the sizes given (sizes[id]); indices must not occur. The arithmetic is known not to overflow. */
int64_t tc_sym_eval(tc_sym s, const int64_t *sizes);
/* The same, where nothing is known; false when it overflows, divides by 0, or passes 62 bits. */
bool tc_sym_eval_checked(tc_sym s, const int64_t *sizes, int64_t *value);

/* A decision on symbols. What holds for all sizes, or follows from a fact, is answered as it is; anything
 * else by the hints, and recorded as a fact, so that it becomes a shape guard. `tab` may be NULL for
 * constants. */
bool tc_sym_decide_eq(struct tc_symtab *tab, tc_sym a, tc_sym b);
bool tc_sym_decide_lt(struct tc_symtab *tab, tc_sym a, tc_sym b);
struct tc_sym_fact {
  bool less;
  bool holds;
  tc_sym a, b;
}; /* (a < b or a == b) is `holds` */
/* Is the fact true of these sizes? */
bool tc_sym_fact_true(const struct tc_sym_fact *fact, const int64_t *sizes);
/* The facts so far are no longer known: what is decided from here on stands by itself (an artifact, which
 * other captures use). */
void tc_symtab_mark_facts(struct tc_symtab *tab);
int tc_sym_fact_count(const struct tc_symtab *tab);
struct tc_sym_fact tc_sym_fact_at(const struct tc_symtab *tab, int index);
int64_t tc_sym_hint(tc_sym s); /* value by hints */

/* Text: "s0*4 + 1", indices as "i3". Prints back through tc_sym_parse (indices by a table that maps
 * their number: indices[number]). */
void tc_sym_print(struct tc_strbuf *out, tc_sym s);
tc_sym tc_sym_parse(struct tc_symtab *tab, const char **text, int index_count, const tc_sym *indices,
                    struct tc_error *err);

#endif
