/* Looking inside of symbols: their parts, what they are made of, and their values at sizes. Only tc_sym_hint
 * takes the sizes of the captured call. */
#include "sym/internal.h"

enum tc_sym_kind tc_sym_kind(tc_sym s) { return tc_sym_is_const(s) ? TC_SYM_CONST : sym_node(s)->kind; }
tc_sym tc_sym_left(tc_sym s) { return sym_node(s)->left; }
tc_sym tc_sym_right(tc_sym s) { return sym_node(s)->right; }
int tc_sym_id(tc_sym s) { return sym_node(s)->id; }
tc_sym tc_sym_extent(tc_sym s) { return sym_node(s)->left; }

static bool is_leaf(tc_sym s) {
  return tc_sym_is_const(s) || sym_node(s)->kind == TC_SYM_SIZE || sym_node(s)->kind == TC_SYM_INDEX;
}

static tc_sym apply(struct tc_symtab *tab, enum tc_sym_kind kind, tc_sym a, tc_sym b) {
  switch (kind) {
    case TC_SYM_ADD: return tc_sym_add(tab, a, b);
    case TC_SYM_MUL: return tc_sym_mul(tab, a, b);
    case TC_SYM_DIV: return tc_sym_div(tab, a, b);
    case TC_SYM_MOD: return tc_sym_mod(tab, a, b);
    case TC_SYM_MIN: return tc_sym_min(tab, a, b);
    case TC_SYM_MAX: return tc_sym_max(tab, a, b);
    default: return TC_SYM_INVALID;
  }
}

tc_sym tc_sym_substitute(struct tc_symtab *tab, tc_sym s, int count, const tc_sym *from, const tc_sym *to) {
  if (!s.bits || tc_sym_is_const(s)) return s;
  for (int i = 0; i < count; i++)
    if (tc_sym_same(s, from[i])) return to[i];
  if (is_leaf(s)) return s;
  const struct symnode *n = sym_node(s);
  const tc_sym left = tc_sym_substitute(tab, n->left, count, from, to),
               right = tc_sym_substitute(tab, n->right, count, from, to);
  return tc_sym_same(left, n->left) && tc_sym_same(right, n->right) ? s : apply(tab, n->kind, left, right);
}

bool tc_sym_uses(tc_sym s, tc_sym variable) {
  if (tc_sym_same(s, variable)) return true;
  return s.bits && !is_leaf(s) &&
         (tc_sym_uses(sym_node(s)->left, variable) || tc_sym_uses(sym_node(s)->right, variable));
}

bool tc_sym_affine(struct tc_symtab *tab, tc_sym s, tc_sym variable, tc_sym *coefficient, tc_sym *rest) {
  *coefficient = *rest = tc_sym_const(0);
  if (!s.bits) return false;
  if (!tc_sym_uses(s, variable)) return *rest = s, true;
  struct poly p;
  poly_of(s, &p);
  if (p.bad) return false;
  for (int i = 0; i < p.n; i++) {
    struct term t = p.terms[i];
    int at = -1;
    for (int f = 0; f < t.n; f++) {
      if (tc_sym_same(t.factors[f], variable) && at < 0)
        at = f;
      else if (tc_sym_uses(t.factors[f], variable))
        return false;
    }
    if (at >= 0) {
      for (int f = at; f + 1 < t.n; f++) t.factors[f] = t.factors[f + 1];
      t.n--;
    }
    tc_sym *into = at >= 0 ? coefficient : rest;
    *into = tc_sym_add(tab, *into, sym_term_build(tab, &t));
  }
  return coefficient->bits && rest->bits;
}

int64_t tc_sym_eval(tc_sym s, const int64_t *sizes) {
  if (tc_sym_is_const(s)) return tc_sym_value(s);
  const struct symnode *n = sym_node(s);
  if (n->kind == TC_SYM_SIZE) return sizes[n->id];
  const int64_t a = tc_sym_eval(n->left, sizes), b = tc_sym_eval(n->right, sizes);
  switch (n->kind) {
    case TC_SYM_ADD: return a + b;
    case TC_SYM_MUL: return a * b;
    case TC_SYM_DIV: return floor_div(a, b);
    case TC_SYM_MOD: return a - b * floor_div(a, b);
    case TC_SYM_MIN: return a < b ? a : b;
    case TC_SYM_MAX: return a > b ? a : b;
    default: return 0;
  }
}

static bool apply_checked(enum tc_sym_kind kind, int64_t a, int64_t b, int64_t *value) {
  switch (kind) {
    case TC_SYM_ADD: return !__builtin_add_overflow(a, b, value);
    case TC_SYM_MUL: return !__builtin_mul_overflow(a, b, value);
    case TC_SYM_DIV: return b && (*value = floor_div(a, b), true);
    case TC_SYM_MOD: return b && (*value = a - b * floor_div(a, b), true);
    case TC_SYM_MIN: return *value = a < b ? a : b, true;
    case TC_SYM_MAX: return *value = a > b ? a : b, true;
    default: return false;
  }
}

bool tc_sym_eval_checked(tc_sym s, const int64_t *sizes, int64_t *value) {
  if (!s.bits) return false;
  if (tc_sym_is_const(s)) return *value = tc_sym_value(s), true;
  const struct symnode *n = sym_node(s);
  if (n->kind == TC_SYM_SIZE) return *value = sizes[n->id], true;
  int64_t a, b;
  if (n->kind == TC_SYM_INDEX || !tc_sym_eval_checked(n->left, sizes, &a) ||
      !tc_sym_eval_checked(n->right, sizes, &b))
    return false;
  return apply_checked(n->kind, a, b, value) && tc_sym_const(*value).bits;
}

int64_t tc_sym_hint(tc_sym s) {
  if (tc_sym_is_const(s)) return tc_sym_value(s);
  const struct symnode *n = sym_node(s);
  if (n->kind == TC_SYM_SIZE) return n->hint;
  if (n->kind == TC_SYM_INDEX) return 0;
  const tc_sym a = tc_sym_const(tc_sym_hint(n->left)), b = tc_sym_const(tc_sym_hint(n->right));
  const tc_sym value = apply(NULL, n->kind, a, b);
  return value.bits ? tc_sym_value(value) : 0;
}
