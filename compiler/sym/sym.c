/* Symbolic integers: the node table, arithmetic, and questions about symbols.
 *
 * 1. Equal canonical expressions are one node: every constructor simplifies, then interns.
 * 2. Simplification is memoised on (operator, operands), unless opt.simplify_cache is off: then each
 *    operation works out its polynomials again, and gets the same node.
 * 3. Nothing here evaluates with hints except tc_sym_decide_* and tc_sym_hint. */
#include "sym/internal.h"

#include "base/hash.h"

struct memo {
  enum tc_sym_kind op;
  tc_sym a, b, result;
};

struct tc_symtab {
  const struct tc_alloc *alloc;
  uint32_t serial;
  int n_indices;
  size_t node_cap, node_len;
  struct symnode **nodes; /* open addressing */
  size_t memo_cap, memo_len;
  struct memo *memo;
  bool forgets;         /* no memo */
  TC_VEC(tc_sym) sizes; /* by id; INVALID: none */
  TC_VEC(struct tc_sym_fact) facts;
  size_t first_known; /* facts from here on count as known */
};

enum { SYM_TABLE_FIRST = 64 };

struct tc_symtab *tc_symtab_new(const struct tc_alloc *alloc) {
  struct tc_symtab *tab = TC_NEW(alloc, struct tc_symtab);
  if (tab) tab->alloc = alloc;
  return tab;
}

void tc_symtab_remember(struct tc_symtab *tab, bool remembers) { tab->forgets = !remembers; }

void tc_symtab_free(struct tc_symtab *tab) {
  if (!tab) return;
  for (size_t i = 0; i < tab->node_cap; i++)
    if (tab->nodes[i]) TC_FREE(tab->alloc, tab->nodes[i]);
  TC_FREE_ARRAY(tab->alloc, tab->nodes, tab->node_cap);
  TC_FREE_ARRAY(tab->alloc, tab->memo, tab->memo_cap);
  tc_vec_free(tab->alloc, &tab->sizes);
  tc_vec_free(tab->alloc, &tab->facts);
  TC_FREE(tab->alloc, tab);
}

/* --- interning --- */

static uint64_t node_hash(enum tc_sym_kind kind, int id, tc_sym left, tc_sym right) {
  return tc_hash_mix(tc_hash_mix(((uint64_t)kind << 32) | (uint32_t)id, left.bits), right.bits);
}

static size_t node_place(const struct tc_symtab *tab, enum tc_sym_kind kind, int id, tc_sym left,
                         tc_sym right) {
  size_t at = node_hash(kind, id, left, right) & (tab->node_cap - 1);
  for (;; at = (at + 1) & (tab->node_cap - 1)) {
    const struct symnode *n = tab->nodes[at];
    if (!n || (n->kind == kind && n->id == id && n->left.bits == left.bits && n->right.bits == right.bits))
      return at;
  }
}

static bool grow_nodes(struct tc_symtab *tab) {
  const size_t old_cap = tab->node_cap;
  struct symnode **old = tab->nodes;
  tab->node_cap = old_cap ? old_cap * 2 : SYM_TABLE_FIRST;
  tab->nodes = TC_NEW_ARRAY(tab->alloc, struct symnode *, tab->node_cap);
  if (!tab->nodes) return tab->nodes = old, tab->node_cap = old_cap, false;
  for (size_t i = 0; i < old_cap; i++)
    if (old[i]) tab->nodes[node_place(tab, old[i]->kind, old[i]->id, old[i]->left, old[i]->right)] = old[i];
  TC_FREE_ARRAY(tab->alloc, old, old_cap);
  return true;
}

tc_sym sym_intern(struct tc_symtab *tab, enum tc_sym_kind kind, int id, tc_sym left, tc_sym right,
                  int64_t hint) {
  if (tab->node_len * 2 >= tab->node_cap && !grow_nodes(tab)) return TC_SYM_INVALID;
  const size_t at = node_place(tab, kind, id, left, right);
  if (!tab->nodes[at]) {
    struct symnode *node = TC_NEW(tab->alloc, struct symnode);
    if (!node) return TC_SYM_INVALID;
    *node = (struct symnode){kind, tab->serial++, id, left, right, hint};
    tab->nodes[at] = node;
    tab->node_len++;
  }
  return (tc_sym){(uintptr_t)tab->nodes[at]};
}

/* --- memo of simplifications --- */

static size_t memo_place(const struct tc_symtab *tab, enum tc_sym_kind op, tc_sym a, tc_sym b) {
  size_t at = node_hash(op, 0, a, b) & (tab->memo_cap - 1);
  for (;; at = (at + 1) & (tab->memo_cap - 1)) {
    const struct memo *m = &tab->memo[at];
    if (!m->result.bits || (m->op == op && m->a.bits == a.bits && m->b.bits == b.bits)) return at;
  }
}

tc_sym sym_memo_get(struct tc_symtab *tab, enum tc_sym_kind op, tc_sym a, tc_sym b) {
  return tab->memo_cap ? tab->memo[memo_place(tab, op, a, b)].result : TC_SYM_INVALID;
}

void sym_memo_put(struct tc_symtab *tab, enum tc_sym_kind op, tc_sym a, tc_sym b, tc_sym result) {
  if (!result.bits || tab->forgets) return;
  if (tab->memo_len * 2 >= tab->memo_cap) {
    const size_t old_cap = tab->memo_cap;
    struct memo *old = tab->memo;
    struct memo *grown = TC_NEW_ARRAY(tab->alloc, struct memo, old_cap ? old_cap * 2 : SYM_TABLE_FIRST);
    if (!grown) return; /* only a cache */
    tab->memo = grown;
    tab->memo_cap = old_cap ? old_cap * 2 : SYM_TABLE_FIRST;
    for (size_t i = 0; i < old_cap; i++)
      if (old[i].result.bits) tab->memo[memo_place(tab, old[i].op, old[i].a, old[i].b)] = old[i];
    TC_FREE_ARRAY(tab->alloc, old, old_cap);
  }
  const size_t at = memo_place(tab, op, a, b);
  if (!tab->memo[at].result.bits) tab->memo_len++;
  tab->memo[at] = (struct memo){op, a, b, result};
}

/* --- variables --- */

tc_sym tc_sym_size(struct tc_symtab *tab, int id, int64_t hint) {
  if (id < tc_symtab_sizes(tab) && tab->sizes.data[id].bits) return tab->sizes.data[id];
  while (tab->sizes.len <= (size_t)id)
    if (!tc_vec_push(tab->alloc, &tab->sizes, TC_SYM_INVALID)) return TC_SYM_INVALID;
  return tab->sizes.data[id] = sym_intern(tab, TC_SYM_SIZE, id, TC_SYM_INVALID, TC_SYM_INVALID, hint);
}

int tc_symtab_sizes(const struct tc_symtab *tab) { return (int)tab->sizes.len; }

int64_t tc_symtab_hint(const struct tc_symtab *tab, int id) {
  const tc_sym size = id < tc_symtab_sizes(tab) ? tab->sizes.data[id] : TC_SYM_INVALID;
  return size.bits ? sym_node(size)->hint : TC_SYM_SIZE_MIN;
}

tc_sym tc_sym_index(struct tc_symtab *tab, tc_sym extent) {
  if (!extent.bits) return TC_SYM_INVALID;
  return sym_intern(tab, TC_SYM_INDEX, tab->n_indices++, extent, TC_SYM_INVALID, 0);
}

/* --- arithmetic --- */

tc_sym tc_sym_add(struct tc_symtab *tab, tc_sym a, tc_sym b) {
  if (!a.bits || !b.bits) return TC_SYM_INVALID;
  if (both_const(a, b)) return tc_sym_const(tc_sym_value(a) + tc_sym_value(b));
  if (tc_sym_is(a, 0)) return b;
  if (tc_sym_is(b, 0)) return a;
  tc_sym known = sym_memo_get(tab, TC_SYM_ADD, a, b);
  if (known.bits) return known;
  struct poly p, q;
  poly_of(a, &p);
  poly_of(b, &q);
  p.bad |= q.bad;
  for (int i = 0; i < q.n; i++) poly_add_term(&p, &q.terms[i]);
  const tc_sym sum = poly_build(tab, &p);
  sym_memo_put(tab, TC_SYM_ADD, a, b, sum);
  return sum;
}

tc_sym tc_sym_sub(struct tc_symtab *tab, tc_sym a, tc_sym b) {
  return tc_sym_add(tab, a, tc_sym_mul(tab, b, tc_sym_const(-1)));
}

static bool multiply_terms(const struct term *x, const struct term *y, struct term *out) {
  if (__builtin_mul_overflow(x->coefficient, y->coefficient, &out->coefficient) ||
      x->n + y->n > SYM_MAX_FACTORS)
    return false;
  out->n = 0;
  for (int i = 0, j = 0; i < x->n || j < y->n;) {
    const bool first =
        j >= y->n || (i < x->n && sym_node(x->factors[i])->serial <= sym_node(y->factors[j])->serial);
    out->factors[out->n++] = first ? x->factors[i++] : y->factors[j++];
  }
  return true;
}

tc_sym tc_sym_mul(struct tc_symtab *tab, tc_sym a, tc_sym b) {
  if (!a.bits || !b.bits) return TC_SYM_INVALID;
  if (both_const(a, b)) {
    int64_t product;
    return __builtin_mul_overflow(tc_sym_value(a), tc_sym_value(b), &product) ? TC_SYM_INVALID
                                                                              : tc_sym_const(product);
  }
  if (tc_sym_is(a, 0) || tc_sym_is(b, 1)) return a;
  if (tc_sym_is(b, 0) || tc_sym_is(a, 1)) return b;
  tc_sym known = sym_memo_get(tab, TC_SYM_MUL, a, b);
  if (known.bits) return known;
  struct poly p, q, product = {.n = 0};
  poly_of(a, &p);
  poly_of(b, &q);
  product.bad = p.bad || q.bad;
  for (int i = 0; i < p.n; i++)
    for (int j = 0; j < q.n; j++) {
      struct term t;
      if (multiply_terms(&p.terms[i], &q.terms[j], &t))
        poly_add_term(&product, &t);
      else
        product.bad = true;
    }
  const tc_sym result = poly_build(tab, &product);
  sym_memo_put(tab, TC_SYM_MUL, a, b, result);
  return result;
}

tc_sym tc_sym_div(struct tc_symtab *tab, tc_sym a, tc_sym b) {
  if (!a.bits || !b.bits || tc_sym_is(b, 0)) return TC_SYM_INVALID;
  if (both_const(a, b)) return tc_sym_const(floor_div(tc_sym_value(a), tc_sym_value(b)));
  if (tc_sym_is(b, 1) || tc_sym_is(a, 0)) return a;
  tc_sym known = sym_memo_get(tab, TC_SYM_DIV, a, b);
  if (known.bits) return known;
  const tc_sym result = sym_simplify_div(tab, a, b);
  sym_memo_put(tab, TC_SYM_DIV, a, b, result);
  return result;
}

tc_sym tc_sym_mod(struct tc_symtab *tab, tc_sym a, tc_sym b) {
  if (!a.bits || !b.bits || tc_sym_is(b, 0)) return TC_SYM_INVALID;
  if (both_const(a, b))
    return tc_sym_const(tc_sym_value(a) - tc_sym_value(b) * floor_div(tc_sym_value(a), tc_sym_value(b)));
  if (tc_sym_is(b, 1)) return tc_sym_const(0);
  if (tc_sym_is(a, 0)) return a;
  tc_sym known = sym_memo_get(tab, TC_SYM_MOD, a, b);
  if (known.bits) return known;
  const tc_sym result = sym_simplify_mod(tab, a, b);
  sym_memo_put(tab, TC_SYM_MOD, a, b, result);
  return result;
}

static tc_sym min_or_max(struct tc_symtab *tab, enum tc_sym_kind kind, tc_sym a, tc_sym b) {
  if (!a.bits || !b.bits) return TC_SYM_INVALID;
  if (both_const(a, b)) return (tc_sym_value(a) < tc_sym_value(b)) == (kind == TC_SYM_MIN) ? a : b;
  if (tc_sym_same(a, b)) return a;
  int64_t a_low, a_high, b_low, b_high;
  if (tc_sym_bounds(a, &a_low, &a_high) && tc_sym_bounds(b, &b_low, &b_high)) {
    if (a_high <= b_low) return kind == TC_SYM_MIN ? a : b;
    if (b_high <= a_low) return kind == TC_SYM_MIN ? b : a;
  }
  const bool swap = tc_sym_is_const(a) || (!tc_sym_is_const(b) && sym_node(b)->serial < sym_node(a)->serial);
  return sym_intern(tab, kind, 0, swap ? b : a, swap ? a : b, 0);
}

tc_sym tc_sym_min(struct tc_symtab *tab, tc_sym a, tc_sym b) { return min_or_max(tab, TC_SYM_MIN, a, b); }
tc_sym tc_sym_max(struct tc_symtab *tab, tc_sym a, tc_sym b) { return min_or_max(tab, TC_SYM_MAX, a, b); }

/* --- decisions --- */

/* Both bound one symbol by constants, from the same side. */
static bool same_bound(const struct tc_sym_fact *f, const struct tc_sym_fact *g) {
  if (!f->less || !g->less || !f->holds || !g->holds) return false;
  return (tc_sym_same(f->a, g->a) && both_const(f->b, g->b)) ||
         (tc_sym_same(f->b, g->b) && both_const(f->a, g->a));
}

/* What follows from a fact is not recorded: so a bound that is new here is the narrower one, and says what
 * the old one says. A loop that asks of each row whether it is there leaves one fact. */
static bool record(struct tc_symtab *tab, bool less, bool holds, tc_sym a, tc_sym b) {
  const struct tc_sym_fact fact = {less, holds, a, b};
  if (!tab || (tc_sym_is_const(a) && tc_sym_is_const(b))) return holds;
  for (size_t i = tab->first_known; i < tab->facts.len; i++) {
    struct tc_sym_fact *f = &tab->facts.data[i];
    if (f->less == less && tc_sym_same(f->a, a) && tc_sym_same(f->b, b)) return holds;
    if (!same_bound(f, &fact)) continue;
    *f = fact;
    return holds;
  }
  (void)tc_vec_push(tab->alloc, &tab->facts, fact);
  return holds;
}

static bool follows(const struct tc_symtab *tab, tc_sym a, tc_sym b, int64_t least) {
  return sym_differ_by(a, b, least, tab ? (int)(tab->facts.len - tab->first_known) : 0,
                       tab ? tab->facts.data + tab->first_known : NULL);
}

bool tc_sym_decide_eq(struct tc_symtab *tab, tc_sym a, tc_sym b) {
  if (tc_sym_same(a, b)) return a.bits != 0;
  if (both_const(a, b) || !a.bits || !b.bits) return false;
  if (follows(tab, a, b, 1) || follows(tab, b, a, 1)) return false;
  const bool swap =
      tc_sym_is_const(a) ||
      (!tc_sym_is_const(b) && sym_node(b)->serial < sym_node(a)->serial); /* one form of one fact */
  return record(tab, false, tc_sym_hint(a) == tc_sym_hint(b), swap ? b : a, swap ? a : b);
}

bool tc_sym_decide_lt(struct tc_symtab *tab, tc_sym a, tc_sym b) {
  if (!a.bits || !b.bits) return false;
  if (both_const(a, b)) return tc_sym_value(a) < tc_sym_value(b);
  if (follows(tab, a, b, 1)) return true;
  if (follows(tab, b, a, 0)) return false;
  if (tc_sym_hint(a) < tc_sym_hint(b)) return record(tab, true, true, a, b);
  /* One form of one fact: beside a constant, not a < b is b - 1 < a, or b < a + 1. */
  const tc_sym one = tc_sym_const(1);
  if (tc_sym_is_const(b)) return !record(tab, true, true, tc_sym_sub(NULL, b, one), a);
  if (tc_sym_is_const(a)) return !record(tab, true, true, b, tc_sym_add(NULL, a, one));
  return record(tab, true, false, a, b);
}

bool tc_sym_fact_true(const struct tc_sym_fact *fact, const int64_t *sizes) {
  int64_t a, b;
  if (!tc_sym_eval_checked(fact->a, sizes, &a) || !tc_sym_eval_checked(fact->b, sizes, &b)) return false;
  return (fact->less ? a < b : a == b) == fact->holds;
}

void tc_symtab_mark_facts(struct tc_symtab *tab) { tab->first_known = tab->facts.len; }
int tc_sym_fact_count(const struct tc_symtab *tab) { return (int)tab->facts.len; }
struct tc_sym_fact tc_sym_fact_at(const struct tc_symtab *tab, int index) { return tab->facts.data[index]; }
