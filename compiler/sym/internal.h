/* Inside of sym/: nodes, and the polynomial form that simplification works on.
 *
 * Canonical form of a non-constant symbol: a sum of terms, each a constant coefficient times a product
 * of atoms. Atoms: SIZE, INDEX, and DIV, MOD, MIN, MAX nodes. Sums are left-leaning chains with terms in
 * order of their atoms' serial numbers and the constant last; a product likewise, its coefficient last. */
#ifndef TC_SYM_INTERNAL_H
#define TC_SYM_INTERNAL_H

#include "base/vec.h"
#include "sym/sym.h"

struct symnode {
  enum tc_sym_kind kind;
  uint32_t serial;    /* order of creation: the canonical order */
  int id;             /* SIZE, INDEX */
  tc_sym left, right; /* operands; INDEX: left is the extent */
  int64_t hint;       /* SIZE */
};

enum { SYM_MAX_FACTORS = 8, SYM_MAX_TERMS = 64 };

struct term {
  int64_t coefficient;
  int n;
  tc_sym factors[SYM_MAX_FACTORS];
}; /* n == 0: the constant */
struct poly {
  bool bad;
  int n;
  struct term terms[SYM_MAX_TERMS];
};

static inline const struct symnode *sym_node(tc_sym s) { return (const struct symnode *)s.bits; }

static inline bool both_const(tc_sym a, tc_sym b) { return a.bits & b.bits & 1; }
/* Rounded down. */
static inline int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b && (a < 0) != (b < 0)); }

tc_sym sym_intern(struct tc_symtab *tab, enum tc_sym_kind kind, int id, tc_sym left, tc_sym right,
                  int64_t hint);
tc_sym sym_memo_get(struct tc_symtab *tab, enum tc_sym_kind op, tc_sym a, tc_sym b);
void sym_memo_put(struct tc_symtab *tab, enum tc_sym_kind op, tc_sym a, tc_sym b, tc_sym result);

void poly_of(tc_sym s, struct poly *out);
void poly_add_term(struct poly *p, const struct term *t);
tc_sym poly_build(struct tc_symtab *tab, const struct poly *p);
tc_sym sym_term_build(struct tc_symtab *tab, const struct term *t);

/* Is b - a ≥ least whatever the sizes are, given the facts? */
bool sym_differ_by(tc_sym a, tc_sym b, int64_t least, int n_facts, const struct tc_sym_fact *facts);

tc_sym sym_simplify_div(struct tc_symtab *tab, tc_sym a, tc_sym b);
tc_sym sym_simplify_mod(struct tc_symtab *tab, tc_sym a, tc_sym b);

#endif
