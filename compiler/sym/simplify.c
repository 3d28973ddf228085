/* Simplification: the polynomial form, floor division and modulus.
 *
 * Division rules (c > 0 a constant; all with floor):
 *   (c·q + r) / c = q + r/c, and r/c = 0 where 0 ≤ r < c
 *   (g·q + r) / (g·m) = q / m where 0 ≤ r < g
 *   (x / c) / d = x / (c·d)
 * and the matching ones for the modulus; c·(x / c) + x % c = x in sums. A divisor with size variables is
 * divided as polynomials are: (b·q + r) / b = q where 0 ≤ r < b. */
#include "sym/internal.h"

#include <string.h>

/* --- polynomial form --- */

static bool same_monomial(const struct term *x, const struct term *y) {
  if (x->n != y->n) return false;
  for (int i = 0; i < x->n; i++) /* one or two, as a rule */
    if (x->factors[i].bits != y->factors[i].bits) return false;
  return true;
}

void poly_add_term(struct poly *p, const struct term *t) {
  if (!t->coefficient) return;
  for (int i = 0; i < p->n; i++) {
    if (!same_monomial(&p->terms[i], t)) continue;
    if (__builtin_add_overflow(p->terms[i].coefficient, t->coefficient, &p->terms[i].coefficient))
      p->bad = true;
    if (!p->terms[i].coefficient) p->terms[i] = p->terms[--p->n];
    return;
  }
  if (p->n == SYM_MAX_TERMS)
    p->bad = true;
  else
    p->terms[p->n++] = *t;
}

static void term_of(tc_sym s, struct term *t, bool *bad) {
  if (tc_sym_is_const(s)) {
    if (__builtin_mul_overflow(t->coefficient, tc_sym_value(s), &t->coefficient)) *bad = true;
  } else if (sym_node(s)->kind == TC_SYM_MUL) {
    term_of(sym_node(s)->left, t, bad);
    term_of(sym_node(s)->right, t, bad);
  } else if (t->n == SYM_MAX_FACTORS) {
    *bad = true;
  } else {
    t->factors[t->n++] = s;
  }
}

static void collect(tc_sym s, struct poly *out) {
  if (!tc_sym_is_const(s) && sym_node(s)->kind == TC_SYM_ADD) {
    collect(sym_node(s)->left, out);
    collect(sym_node(s)->right, out);
    return;
  }
  struct term t = {.coefficient = 1};
  term_of(s, &t, &out->bad);
  poly_add_term(out, &t);
}

void poly_of(tc_sym s, struct poly *out) {
  out->bad = !s.bits;
  out->n = 0;
  if (s.bits) collect(s, out);
}

tc_sym sym_term_build(struct tc_symtab *tab, const struct term *t) {
  if (!t->n) return tc_sym_const(t->coefficient);
  tc_sym s = t->factors[0];
  for (int i = 1; i < t->n && s.bits; i++) s = sym_intern(tab, TC_SYM_MUL, 0, s, t->factors[i], 0);
  const tc_sym coefficient = tc_sym_const(t->coefficient);
  if (!s.bits || !coefficient.bits) return TC_SYM_INVALID;
  return t->coefficient == 1 ? s : sym_intern(tab, TC_SYM_MUL, 0, s, coefficient, 0);
}

/* Serial numbers factor by factor; the constant last. */
static int term_order(const struct term *x, const struct term *y) {
  if (!x->n || !y->n) return (x->n == 0) - (y->n == 0);
  for (int i = 0; i < x->n && i < y->n; i++) {
    const uint32_t a = sym_node(x->factors[i])->serial, b = sym_node(y->factors[i])->serial;
    if (a != b) return a < b ? -1 : 1;
  }
  return x->n - y->n;
}

/* Is it x / c? A quotient x = y / e gave y / (e·c). */
static bool is_quotient(const struct symnode *div, tc_sym x, tc_sym c) {
  if (tc_sym_same(div->left, x)) return tc_sym_same(div->right, c);
  if (tc_sym_is_const(x) || sym_node(x)->kind != TC_SYM_DIV || !tc_sym_same(div->left, sym_node(x)->left))
    return false;
  const tc_sym e = sym_node(x)->right;
  return tc_sym_is_const(e) && tc_sym_same(div->right, tc_sym_mul(NULL, e, c));
}

/* k·c·(x / c) + k·(x % c) = k·x, where both occur as terms of their own. */
static bool recombine(struct poly *p) {
  for (int i = 0; i < p->n; i++) {
    const struct term m = p->terms[i];
    if (m.n != 1 || sym_node(m.factors[0])->kind != TC_SYM_MOD) continue;
    const struct symnode *mod = sym_node(m.factors[0]);
    if (!tc_sym_is_const(mod->right)) continue;
    for (int j = 0; j < p->n; j++) {
      const struct term d = p->terms[j];
      if (d.n != 1 || sym_node(d.factors[0])->kind != TC_SYM_DIV ||
          d.coefficient != m.coefficient * tc_sym_value(mod->right))
        continue;
      const struct symnode *div = sym_node(d.factors[0]);
      if (!is_quotient(div, mod->left, mod->right)) continue;
      const int first = i < j ? i : j, second = i < j ? j : i;
      p->terms[second] = p->terms[--p->n];
      p->terms[first] = p->terms[--p->n];
      struct poly x;
      poly_of(mod->left, &x);
      p->bad |= x.bad;
      for (int t = 0; t < x.n; t++) {
        x.terms[t].coefficient *= m.coefficient;
        poly_add_term(p, &x.terms[t]);
      }
      return true;
    }
  }
  return false;
}

tc_sym poly_build(struct tc_symtab *tab, const struct poly *given) {
  if (given->bad) return TC_SYM_INVALID;
  struct poly p;
  p.bad = false;
  p.n = given->n;
  memcpy(p.terms, given->terms, sizeof *p.terms * (size_t)p.n);
  while (recombine(&p))
    if (p.bad) return TC_SYM_INVALID;
  for (int i = 1; i < p.n; i++) { /* insertion sort: few terms */
    const struct term t = p.terms[i];
    int j = i;
    for (; j > 0 && term_order(&t, &p.terms[j - 1]) < 0; j--) p.terms[j] = p.terms[j - 1];
    p.terms[j] = t;
  }
  if (!p.n) return tc_sym_const(0);
  tc_sym sum = sym_term_build(tab, &p.terms[0]);
  for (int i = 1; i < p.n && sum.bits; i++) {
    const tc_sym t = sym_term_build(tab, &p.terms[i]);
    sum = t.bits ? sym_intern(tab, TC_SYM_ADD, 0, sum, t, 0) : TC_SYM_INVALID;
  }
  return sum;
}

static bool within(tc_sym s, int64_t limit) {
  int64_t low, high;
  return tc_sym_bounds(s, &low, &high) && low >= 0 && high < limit;
}

/* --- division and modulus --- */

static int64_t gcd(int64_t a, int64_t b) {
  a = a < 0 ? -a : a;
  b = b < 0 ? -b : b;
  while (b) {
    const int64_t t = a % b;
    a = b;
    b = t;
  }
  return a;
}

/* a = g·quotient + rest, term by term. */
static bool split(struct tc_symtab *tab, const struct poly *a, int64_t g, tc_sym *quotient, tc_sym *rest) {
  struct poly q = {.n = 0}, r = {.n = 0};
  for (int i = 0; i < a->n; i++) {
    struct term t = a->terms[i];
    const bool divisible = t.coefficient % g == 0;
    if (!t.n && !divisible) { /* the constant gives its multiple to the quotient */
      const int64_t part = tc_sym_value(tc_sym_div(NULL, tc_sym_const(t.coefficient), tc_sym_const(g)));
      const struct term whole = {.coefficient = part}, left = {.coefficient = t.coefficient - part * g};
      poly_add_term(&q, &whole);
      poly_add_term(&r, &left);
      continue;
    }
    if (divisible) t.coefficient /= g;
    poly_add_term(divisible ? &q : &r, &t);
  }
  *quotient = poly_build(tab, &q);
  *rest = poly_build(tab, &r);
  return quotient->bits && rest->bits;
}

/* Looks for g with a = g·q + r, 0 ≤ r < g, g a proper divisor of c (greatest first among coefficients). */
static bool split_by_factor(struct tc_symtab *tab, const struct poly *a, int64_t c, int64_t *g, tc_sym *q,
                            tc_sym *r) {
  int64_t tried = c;
  for (;;) {
    int64_t best = 1;
    for (int i = 0; i < a->n; i++) {
      const int64_t d = gcd(a->terms[i].coefficient, c);
      if (d > best && d < tried) best = d;
    }
    if (best == 1) return false;
    if (split(tab, a, best, q, r) && within(*r, best)) return *g = best, true;
    tried = best;
  }
}

/* Does t hold all factors of `of`? Then *quotient is t over them. */
static bool divide_term(const struct term *t, const struct term *of, struct term *quotient) {
  *quotient = *t;
  for (int f = 0; f < of->n; f++) {
    int at = 0;
    while (at < quotient->n && !tc_sym_same(quotient->factors[at], of->factors[f])) at++;
    if (at == quotient->n) return false;
    quotient->n--;
    memmove(&quotient->factors[at], &quotient->factors[at + 1],
            sizeof *quotient->factors * (size_t)(quotient->n - at));
  }
  return t->coefficient % of->coefficient == 0 && (quotient->coefficient /= of->coefficient, true);
}

/* The term of most factors leads: what the others leave behind has fewer of it. */
static const struct term *leading_term(const struct poly *p) {
  const struct term *lead = &p->terms[0];
  for (int i = 1; i < p->n; i++)
    if (p->terms[i].n > lead->n) lead = &p->terms[i];
  return lead->n && lead->coefficient > 0 ? lead : NULL;
}

/* a -= b·quotient */
static void take_multiple(tc_sym b, struct tc_symtab *tab, const struct term *quotient, struct poly *a) {
  struct poly part;
  poly_of(tc_sym_mul(tab, b, sym_term_build(tab, quotient)), &part);
  a->bad |= part.bad;
  for (int i = 0; i < part.n && !a->bad; i++) {
    part.terms[i].coefficient = -part.terms[i].coefficient;
    poly_add_term(a, &part.terms[i]);
  }
}

/* a = b·quotient + rest, as far as the leading term of b divides terms. */
static bool split_by_symbol(struct tc_symtab *tab, const struct poly *a, tc_sym b, tc_sym *quotient,
                            tc_sym *rest) {
  struct poly divisor, q = {.n = 0}, left = {.n = a->n};
  memcpy(left.terms, a->terms, sizeof *a->terms * (size_t)a->n);
  poly_of(b, &divisor);
  const struct term *lead = divisor.bad ? NULL : leading_term(&divisor);
  if (!lead) return false;
  for (int i = 0, steps = 0; i < left.n && steps < SYM_MAX_TERMS && !left.bad;) {
    struct term part;
    if (!divide_term(&left.terms[i], lead, &part)) {
      i++;
      continue;
    }
    poly_add_term(&q, &part);
    take_multiple(b, tab, &part, &left);
    i = 0;
    steps++;
  }
  *quotient = poly_build(tab, &q);
  *rest = poly_build(tab, &left);
  return quotient->bits && rest->bits;
}

static bool find_index(tc_sym s, tc_sym *index) {
  if (tc_sym_is_const(s) || sym_node(s)->kind == TC_SYM_SIZE) return false;
  if (sym_node(s)->kind == TC_SYM_INDEX) return *index = s, true;
  return find_index(sym_node(s)->left, index) || find_index(sym_node(s)->right, index);
}

/* Is 0 ≤ s < limit? Indices take their largest values where s grows with them. */
static bool lies_below(struct tc_symtab *tab, tc_sym s, tc_sym limit) {
  int64_t low, high;
  if (!tc_sym_bounds(s, &low, &high) || low < 0) return false;
  for (tc_sym index; s.bits && find_index(s, &index);) {
    const tc_sym extent = sym_node(index)->left;
    tc_sym step, rest;
    if (tc_sym_same(s, index) && tc_sym_same(extent, limit)) return true;
    if (!tc_sym_affine(tab, s, index, &step, &rest) || !tc_sym_bounds(step, &low, &high)) return false;
    if (low < 0 && high > 0) return false;
    s = low < 0 ? rest
                : tc_sym_add(tab, rest, tc_sym_mul(tab, step, tc_sym_sub(tab, extent, tc_sym_const(1))));
  }
  return tc_sym_always_lt(s, limit);
}

tc_sym sym_simplify_div(struct tc_symtab *tab, tc_sym a, tc_sym b) {
  struct poly p;
  poly_of(a, &p);
  if (p.bad) return TC_SYM_INVALID;
  tc_sym q, r;
  if (!tc_sym_is_const(b)) {
    if (split_by_symbol(tab, &p, b, &q, &r) && (tc_sym_is(r, 0) || lies_below(tab, r, b))) return q;
    return sym_intern(tab, TC_SYM_DIV, 0, a, b, 0);
  }
  const int64_t c = tc_sym_value(b);
  if (c < 0) return sym_intern(tab, TC_SYM_DIV, 0, a, b, 0);
  if (!split(tab, &p, c, &q, &r)) return TC_SYM_INVALID;
  if (within(r, c)) return q;
  if (!tc_sym_is(q, 0)) return tc_sym_add(tab, q, tc_sym_div(tab, r, b));
  int64_t g;
  if (split_by_factor(tab, &p, c, &g, &q, &r)) return tc_sym_div(tab, q, tc_sym_const(c / g));
  const struct symnode *n = sym_node(a);
  if (n->kind == TC_SYM_DIV && tc_sym_is_const(n->right) && tc_sym_value(n->right) > 0)
    return tc_sym_div(tab, n->left, tc_sym_mul(tab, n->right, b));
  return sym_intern(tab, TC_SYM_DIV, 0, a, b, 0);
}

tc_sym sym_simplify_mod(struct tc_symtab *tab, tc_sym a, tc_sym b) {
  struct poly p;
  poly_of(a, &p);
  if (p.bad) return TC_SYM_INVALID;
  tc_sym q, r;
  if (!tc_sym_is_const(b)) {
    if (split_by_symbol(tab, &p, b, &q, &r) && (tc_sym_is(r, 0) || lies_below(tab, r, b))) return r;
    return sym_intern(tab, TC_SYM_MOD, 0, a, b, 0);
  }
  const int64_t c = tc_sym_value(b);
  if (c < 0) return sym_intern(tab, TC_SYM_MOD, 0, a, b, 0);
  if (!split(tab, &p, c, &q, &r)) return TC_SYM_INVALID;
  if (within(r, c)) return r;
  if (!tc_sym_is(q, 0)) return tc_sym_mod(tab, r, b);
  int64_t g;
  if (split_by_factor(tab, &p, c, &g, &q, &r))
    return tc_sym_add(tab, tc_sym_mul(tab, tc_sym_mod(tab, q, tc_sym_const(c / g)), tc_sym_const(g)), r);
  const struct symnode *n = sym_node(a);
  if (n->kind == TC_SYM_MOD && tc_sym_is_const(n->right) && tc_sym_value(n->right) % c == 0)
    return tc_sym_mod(tab, n->left, b);
  return sym_intern(tab, TC_SYM_MOD, 0, a, b, 0);
}
