/* What holds of a symbol for all values of its variables: intervals, and comparisons.
 *
 * 1. An answer of "yes" is a proof; "no" only means that none was found. Atoms count as independent of one
 *    another.
 * 2. a ≤ b is shown of the polynomial b - a. Each atom is its lowest value plus something that is not
 *    negative: where no coefficient is negative then, the polynomial is not. Else quotients, remainders,
 *    minima and maxima that stand alone in a term are replaced by what they are not above (or not below). */
#include "sym/internal.h"

#include <string.h>

/* --- intervals; their ends saturate --- */

static int64_t add_ends(int64_t a, int64_t b, int64_t endless) {
  int64_t sum;
  if (a == endless || b == endless) return endless;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a < 0 ? INT64_MIN : INT64_MAX;
}

static bool is_endless(int64_t end) { return end == INT64_MIN || end == INT64_MAX; }

static int64_t multiply_ends(int64_t a, int64_t b) {
  int64_t product;
  if (!a || !b) return 0;
  if (!is_endless(a) && !is_endless(b) && !__builtin_mul_overflow(a, b, &product)) return product;
  return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}

static void multiply_ranges(int64_t al, int64_t ah, int64_t bl, int64_t bh, int64_t *low, int64_t *high) {
  const int64_t v[] = {multiply_ends(al, bl), multiply_ends(al, bh), multiply_ends(ah, bl),
                       multiply_ends(ah, bh)};
  *low = *high = v[0];
  for (int i = 1; i < 4; i++) {
    if (v[i] < *low) *low = v[i];
    if (v[i] > *high) *high = v[i];
  }
}

static int64_t floor_end(int64_t a, int64_t b) { return is_endless(a) ? a : a / b - (a % b && a < 0); }

/* The divisor lies in [bl, bh], above 0: what is farthest from 0 comes of the smallest, what is nearest of
 * the largest. */
static void divide_ranges(int64_t al, int64_t ah, int64_t bl, int64_t bh, int64_t *low, int64_t *high) {
  *low = al < 0 ? floor_end(al, bl) : bh == INT64_MAX ? 0 : floor_end(al, bh);
  *high = ah >= 0 ? floor_end(ah, bl) : bh == INT64_MAX ? -1 : floor_end(ah, bh);
}

bool tc_sym_bounds(tc_sym s, int64_t *low, int64_t *high) {
  if (!s.bits) return false;
  if (tc_sym_is_const(s)) return *low = *high = tc_sym_value(s), true;
  const struct symnode *n = sym_node(s);
  int64_t al, ah, bl, bh;
  if (n->kind == TC_SYM_SIZE) return *low = TC_SYM_SIZE_MIN, *high = TC_SYM_SIZE_MAX, true;
  if (n->kind == TC_SYM_INDEX) {
    if (!tc_sym_bounds(n->left, &al, &ah) || ah < 1) return false;
    return *low = 0, *high = ah == INT64_MAX ? ah : ah - 1, true;
  }
  const bool known = tc_sym_bounds(n->left, &al, &ah);
  if (!tc_sym_bounds(n->right, &bl, &bh) || (!known && n->kind != TC_SYM_MOD)) return false;
  switch (n->kind) {
    case TC_SYM_ADD: return *low = add_ends(al, bl, INT64_MIN), *high = add_ends(ah, bh, INT64_MAX), true;
    case TC_SYM_MUL: return multiply_ranges(al, ah, bl, bh, low, high), true;
    case TC_SYM_MIN: return *low = al < bl ? al : bl, *high = ah < bh ? ah : bh, true;
    case TC_SYM_MAX: return *low = al > bl ? al : bl, *high = ah > bh ? ah : bh, true;
    case TC_SYM_DIV: return bl >= 1 && (divide_ranges(al, ah, bl, bh, low, high), true);
    case TC_SYM_MOD: return bl >= 1 && (*low = 0, *high = bh == INT64_MAX ? bh : bh - 1, true);
    default: return false;
  }
}

/* --- comparisons --- */

/* Adds t with its factors from `at` on written as lowest value plus rest. */
static void add_shifted(struct poly *p, struct term *t, int at) {
  if (at == t->n) {
    poly_add_term(p, t);
    return;
  }
  int64_t low, high;
  if (!tc_sym_bounds(t->factors[at], &low, &high) || low == INT64_MIN) {
    p->bad = true;
    return;
  }
  struct term fixed = *t; /* the factor at its lowest value */
  fixed.n--;
  memmove(&fixed.factors[at], &fixed.factors[at + 1], sizeof *fixed.factors * (size_t)(fixed.n - at));
  if (__builtin_mul_overflow(fixed.coefficient, low, &fixed.coefficient)) p->bad = true;
  if (low && !p->bad) add_shifted(p, &fixed, at);
  if (!p->bad) add_shifted(p, t, at + 1);
}

static bool grows_from_zero(const struct poly *p) {
  struct poly shifted; /* its terms come one by one: clearing room for all would take longer than the rest */
  shifted.n = 0;
  shifted.bad = false;
  for (int i = 0; i < p->n && !shifted.bad; i++) {
    struct term t = p->terms[i];
    add_shifted(&shifted, &t, 0);
  }
  for (int i = 0; i < shifted.n && !shifted.bad; i++)
    if (shifted.terms[i].coefficient < 0) return false;
  return !shifted.bad;
}

/* p += factor · s */
static void add_multiple(struct poly *p, tc_sym s, int64_t factor) {
  struct poly q;
  poly_of(s, &q);
  p->bad |= q.bad;
  for (int i = 0; i < q.n && !p->bad; i++) {
    if (__builtin_mul_overflow(q.terms[i].coefficient, factor, &q.terms[i].coefficient))
      p->bad = true;
    else
      poly_add_term(p, &q.terms[i]);
  }
}

static void copy_without(struct poly *to, const struct poly *from, int left_out, int64_t factor) {
  to->bad = from->bad;
  to->n = 0;
  for (int i = 0; i < from->n; i++) {
    if (i == left_out) continue;
    to->terms[to->n] = from->terms[i];
    if (__builtin_mul_overflow(from->terms[i].coefficient, factor, &to->terms[to->n++].coefficient))
      to->bad = true;
  }
}

enum { PROOF_DEPTH = 4 };

struct proof {
  int n_facts;
  const struct tc_sym_fact *facts;
};

static bool not_negative(const struct proof *proof, const struct poly *p, int depth);

/* The polynomial, `factor` times, with `coefficient` times s (and `more`) in place of term i. */
static bool replaced(const struct proof *proof, const struct poly *p, int i, int64_t factor, tc_sym s,
                     int64_t coefficient, int64_t more, int depth) {
  struct poly q;
  const struct term constant = {.coefficient = more};
  copy_without(&q, p, i, factor);
  add_multiple(&q, s, coefficient);
  if (!q.bad) poly_add_term(&q, &constant);
  return !q.bad && not_negative(proof, &q, depth + 1);
}

/* Term i is an atom alone with its coefficient: what it is never below stands in its place. */
static bool without_atom(const struct proof *proof, const struct poly *p, int i, int depth) {
  const int64_t k = p->terms[i].coefficient;
  const struct symnode *atom = sym_node(p->terms[i].factors[0]);
  const int64_t c = tc_sym_is_const(atom->right) ? tc_sym_value(atom->right) : 0;
  int64_t most;
  switch (atom->kind) {
    case TC_SYM_DIV: /* x - (c - 1) ≤ c·(x / c) ≤ x; and a whole number is not negative when c times it is
                        above -c */
      if (c < 1 || __builtin_mul_overflow(k > 0 ? k - 1 : -1, 1 - c, &most)) return false;
      return replaced(proof, p, i, c, atom->left, k, most, depth);
    case TC_SYM_MOD:
      return c > 0 && k < 0 && !__builtin_mul_overflow(k, c - 1, &most) &&
             replaced(proof, p, i, 1, tc_sym_const(0), 0, most, depth);
    case TC_SYM_MIN:
    case TC_SYM_MAX: {
      const bool left = replaced(proof, p, i, 1, atom->left, k, 0, depth),
                 one_will_do = (atom->kind == TC_SYM_MAX) == (k > 0);
      return left == one_will_do ? left : replaced(proof, p, i, 1, atom->right, k, 0, depth);
    }
    default: return false;
  }
}

/* Is there a fact, of the form large ≥ small + least, by which the polynomial exceeds something that is not
 * negative? */
static bool by_a_fact(const struct proof *proof, const struct poly *p) {
  for (int i = 0; i < proof->n_facts; i++) {
    const struct tc_sym_fact *f = &proof->facts[i];
    if (!f->less) continue;
    struct poly q;
    const struct term least = {.coefficient = f->holds};
    copy_without(&q, p, -1, 1);
    add_multiple(&q, f->holds ? f->b : f->a, -1);
    add_multiple(&q, f->holds ? f->a : f->b, 1);
    if (!q.bad) poly_add_term(&q, &least);
    if (!q.bad && grows_from_zero(&q)) return true;
  }
  return false;
}

static bool not_negative(const struct proof *proof, const struct poly *p, int depth) {
  if (p->bad) return false;
  if (grows_from_zero(p) || by_a_fact(proof, p)) return true;
  for (int i = 0; i < p->n && depth < PROOF_DEPTH; i++)
    if (p->terms[i].n == 1 && without_atom(proof, p, i, depth)) return true;
  return false;
}

bool sym_differ_by(tc_sym a, tc_sym b, int64_t least, int n_facts, const struct tc_sym_fact *facts) {
  if (!a.bits || !b.bits) return false;
  if (tc_sym_is_const(a) && tc_sym_is_const(b)) return tc_sym_value(b) - tc_sym_value(a) >= least;
  const struct proof proof = {n_facts, facts};
  const struct term constant = {.coefficient = -least};
  struct poly p;
  poly_of(b, &p);
  add_multiple(&p, a, -1);
  if (!p.bad) poly_add_term(&p, &constant);
  return not_negative(&proof, &p, 0);
}

bool tc_sym_always_lt(tc_sym a, tc_sym b) { return sym_differ_by(a, b, 1, 0, NULL); }
bool tc_sym_always_le(tc_sym a, tc_sym b) { return sym_differ_by(a, b, 0, 0, NULL); }
