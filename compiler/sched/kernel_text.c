/* Text of a kernel, its structural hash, and equality. */
#include "sched/kernel_equal.h"

#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/strbuf.h"

static const char *const role_names[] = {
    [TC_ROLE_READ] = "read",       [TC_ROLE_WRITE] = "write",   [TC_ROLE_READ_WRITE] = "read_write",
    [TC_ROLE_SCRATCH] = "scratch", [TC_ROLE_STATUS] = "status", [TC_ROLE_RNG] = "rng"};

static void print_dims(struct tc_strbuf *out, const char *name, const struct tc_kernel_dim *dims, int n) {
  tc_strbuf_printf(out, " %s(", name);
  for (int i = 0; i < n; i++) {
    tc_strbuf_puts(out, i ? ", " : "");
    tc_sym_print(out, dims[i].var);
    tc_strbuf_puts(out, " < ");
    tc_sym_print(out, dims[i].extent);
  }
  tc_strbuf_puts(out, ")");
}

/* Values of more than one use get a line of their own; used[] counts, named[] marks them. */
struct namer {
  unsigned char *used;
  bool *named, *printed;
};

static void count_uses(struct namer *n, const struct tc_expr *e) {
  if (n->used[e->id] < 2 && ++n->used[e->id] == 2) n->named[e->id] = e->args[0] != NULL;
  if (n->used[e->id] > 1) return;
  for (int i = 0; i < TC_EXPR_ARGS; i++)
    if (e->args[i]) count_uses(n, e->args[i]);
}

static void print_named(struct tc_strbuf *out, struct namer *n, const struct tc_expr *e) {
  if (n->printed[e->id]) return;
  n->printed[e->id] = true;
  for (int i = 0; i < TC_EXPR_ARGS; i++)
    if (e->args[i]) print_named(out, n, e->args[i]);
  if (!n->named[e->id]) return;
  tc_strbuf_printf(out, "    v%d = ", e->id);
  tc_expr_print_named(out, e, n->named);
  tc_strbuf_puts(out, "\n");
}

static void print_value(struct tc_strbuf *out, const struct namer *n, const struct tc_expr *e) {
  if (n->named[e->id])
    tc_strbuf_printf(out, "v%d", e->id);
  else
    tc_expr_print_named(out, e, n->named);
}

/* " for i1 from 0 to 16", " for i1 from i4 to i5 (i4, i5, i6): (0, 16, 3) (16, 20, 0)" */
static void print_part(struct tc_strbuf *out, const struct tc_phase *phase) {
  if (!tc_sym_valid(phase->var)) return;
  const char *const words[] = {" for ", " from ", " to "};
  const tc_sym syms[] = {phase->var, phase->from, phase->to};
  for (int i = 0; i < 3; i++) {
    tc_strbuf_puts(out, words[i]);
    tc_sym_print(out, syms[i]);
  }
  for (int c = 0; c < phase->n_columns; c++) {
    tc_strbuf_puts(out, c ? ", " : " (");
    tc_sym_print(out, phase->columns[c]);
  }
  tc_strbuf_puts(out, phase->n_columns ? "):" : "");
  for (int t = 0; t < phase->n_turns; t++) {
    for (int c = 0; c < phase->n_columns; c++)
      tc_strbuf_printf(out, "%s%lld", c ? ", " : " (", (long long)phase->table[t * phase->n_columns + c]);
    tc_strbuf_puts(out, ")");
  }
}

static void print_phase(struct tc_strbuf *out, const struct tc_phase *phase, struct namer *n) {
  tc_strbuf_puts(out, phase->over_inner ? "  over inner" : "  once");
  print_part(out, phase);
  tc_strbuf_puts(out, ":\n");
  for (int i = 0; i < phase->n_reductions; i++) count_uses(n, phase->reductions[i].value);
  for (int i = 0; i < phase->n_stores; i++) count_uses(n, phase->stores[i].value);
  for (int i = 0; i < phase->n_reductions; i++) print_named(out, n, phase->reductions[i].value);
  for (int i = 0; i < phase->n_stores; i++) print_named(out, n, phase->stores[i].value);
  for (int i = 0; i < phase->n_reductions; i++) {
    tc_strbuf_printf(out, "    acc%d = %s ", phase->reductions[i].acc,
                     tc_reduction_name(phase->reductions[i].op));
    print_value(out, n, phase->reductions[i].value);
    if (tc_sym_valid(phase->reductions[i].index)) {
      tc_strbuf_puts(out, " at ");
      tc_sym_print(out, phase->reductions[i].index);
    }
    tc_strbuf_puts(out, "\n");
  }
  for (int i = 0; i < phase->n_stores; i++) {
    tc_strbuf_printf(out, "    b%d[", phase->stores[i].buffer);
    tc_sym_print(out, phase->stores[i].address);
    tc_strbuf_puts(out, "] = ");
    print_value(out, n, phase->stores[i].value);
    tc_strbuf_puts(out, "\n");
  }
}

/* Each phase names its own values. */
static void print_phases(struct tc_strbuf *out, const struct tc_kernel *k) {
  const struct tc_alloc *alloc = tc_alloc_system();
  const size_t n = (size_t)k->n_exprs + 1;
  for (int i = 0; i < k->n_phases; i++) {
    struct namer names = {TC_NEW_ARRAY(alloc, unsigned char, n), TC_NEW_ARRAY(alloc, bool, n),
                          TC_NEW_ARRAY(alloc, bool, n)};
    if (names.used && names.named && names.printed)
      print_phase(out, &k->phases[i], &names);
    else
      out->failed = true;
    TC_FREE_ARRAY(alloc, names.used, n);
    TC_FREE_ARRAY(alloc, names.named, n);
    TC_FREE_ARRAY(alloc, names.printed, n);
  }
}

void tc_kernel_print(struct tc_strbuf *out, const struct tc_kernel *k) {
  tc_strbuf_printf(out, "kernel %s", k->name ? k->name : "?");
  print_dims(out, "outer", k->outer, k->n_outer);
  print_dims(out, "inner", k->inner, k->n_inner);
  tc_strbuf_printf(out, " lanes %s", k->lanes == TC_LANES_INNER ? "inner" : "outer");
  if (k->split_inner) tc_strbuf_puts(out, " split");
  if (k->block != 1) tc_strbuf_printf(out, " block %lld", (long long)k->block);
  if (k->product) tc_strbuf_puts(out, " product");
  if (k->plain) tc_strbuf_puts(out, " plain");
  tc_strbuf_puts(out, " {\n");
  for (int i = 0; i < k->n_buffers; i++) {
    const struct tc_kernel_buffer *b = &k->buffers[i];
    tc_strbuf_printf(out, "  b%d: %s %s[", i, role_names[b->role], tc_dtype_name(b->dtype));
    tc_sym_print(out, b->elements);
    tc_strbuf_printf(out, "]%s\n", b->stream ? " stream" : "");
  }
  print_phases(out, k);
  tc_strbuf_puts(out, "}\n");
}

/* --- hash --- */

/* Variables count by their place among the kernel's dims. */
static uint64_t hash_sym(const struct tc_kernel *k, tc_sym s) {
  if (!tc_sym_valid(s) || tc_sym_is_const(s)) return tc_hash_u64(s.bits, TC_SYM_CONST);
  const enum tc_sym_kind kind = tc_sym_kind(s);
  if (kind == TC_SYM_SIZE) return tc_hash_u64((uint64_t)tc_sym_id(s), kind);
  if (kind == TC_SYM_INDEX) {
    int place = 0;
    while (place < k->n_outer && !tc_sym_same(k->outer[place].var, s)) place++;
    for (; place >= k->n_outer && place < k->n_outer + k->n_inner; place++)
      if (tc_sym_same(k->inner[place - k->n_outer].var, s)) break;
    return tc_hash_u64((uint64_t)place, kind);
  }
  return tc_hash_u64(tc_hash_u64(hash_sym(k, tc_sym_left(s)), kind), hash_sym(k, tc_sym_right(s)));
}

static uint64_t hash_expr(const struct tc_kernel *k, const struct tc_expr *e, uint64_t *memo) {
  if (!e) return 0;
  if (memo && memo[e->id]) return memo[e->id];
  uint64_t number, h = tc_hash_u64((uint64_t)e->op << 8 | (uint64_t)e->dtype,
                                   (uint64_t)(uint32_t)e->buffer << 32 | (uint32_t)e->acc);
  memcpy(&number, &e->number, sizeof number);
  h = tc_hash_u64(tc_hash_u64(h, number), (uint64_t)e->integer);
  h = tc_hash_u64(h, hash_sym(k, e->address));
  for (int i = 0; i < TC_EXPR_ARGS; i++) h = tc_hash_u64(h, hash_expr(k, e->args[i], memo));
  if (memo) memo[e->id] = h | 1;
  return h | 1;
}

static uint64_t hash_part(const struct tc_kernel *k, const struct tc_phase *p, uint64_t h) {
  if (!tc_sym_valid(p->var)) return h;
  h = tc_hash_u64(tc_hash_u64(h, hash_sym(k, p->var)), tc_hash_u64(hash_sym(k, p->from), hash_sym(k, p->to)));
  for (int i = 0; i < p->n_turns * p->n_columns; i++) h = tc_hash_u64(h, (uint64_t)p->table[i]);
  return h;
}

static uint64_t hash_phase(const struct tc_kernel *k, const struct tc_phase *p, uint64_t h, uint64_t *memo) {
  h = tc_hash_u64(h, (uint64_t)p->over_inner << 62 | (uint64_t)p->n_reductions << 32 | (uint64_t)p->n_stores);
  h = hash_part(k, p, h);
  for (int i = 0; i < p->n_reductions; i++) {
    const struct tc_kernel_reduction *r = &p->reductions[i];
    h = tc_hash_u64(tc_hash_u64(h, (uint64_t)r->op << 32 | (uint64_t)r->acc), hash_sym(k, r->index));
    h = tc_hash_u64(h, hash_expr(k, r->value, memo));
  }
  for (int i = 0; i < p->n_stores; i++) {
    h = tc_hash_u64(tc_hash_u64(h, (uint64_t)p->stores[i].buffer), hash_sym(k, p->stores[i].address));
    h = tc_hash_u64(h, hash_expr(k, p->stores[i].value, memo));
  }
  return h;
}

uint64_t tc_kernel_hash(const struct tc_kernel *k) {
  uint64_t h =
      tc_hash_u64((uint64_t)k->product << 2 | (uint64_t)k->lanes << 1 | k->split_inner, (uint64_t)k->block);
  h = tc_hash_u64(h, (uint64_t)k->n_outer << 32 | (uint64_t)k->n_inner);
  for (int i = 0; i < k->n_outer; i++) h = tc_hash_u64(h, hash_sym(k, k->outer[i].extent));
  for (int i = 0; i < k->n_inner; i++) h = tc_hash_u64(h, hash_sym(k, k->inner[i].extent));
  for (int i = 0; i < k->n_buffers; i++) {
    const struct tc_kernel_buffer *b = &k->buffers[i];
    h = tc_hash_u64(tc_hash_u64(h, (uint64_t)b->dtype << 16 | (uint64_t)b->role << 1 | b->stream),
                    hash_sym(k, b->elements));
  }
  uint64_t *memo =
      TC_NEW_ARRAY(tc_alloc_system(), uint64_t, (size_t)k->n_exprs + 1); /* without it: the same, slower */
  for (int i = 0; i < k->n_phases; i++) h = hash_phase(k, &k->phases[i], h, memo);
  TC_FREE_ARRAY(tc_alloc_system(), memo, (size_t)k->n_exprs + 1);
  return h;
}

/* --- equality, of kernels of one symbol table that share variables --- */

static bool same_dims(const struct tc_kernel_dim *a, const struct tc_kernel_dim *b, int n) {
  for (int i = 0; i < n; i++)
    if (!tc_sym_same(a[i].var, b[i].var) || !tc_sym_same(a[i].extent, b[i].extent)) return false;
  return true;
}

/* Ids are dense in order of use: equal values have equal ids, so no memo is needed beyond them. */
static bool same_expr(const struct tc_expr *a, const struct tc_expr *b, unsigned char *seen) {
  if (!a || !b) return a == b;
  if (a->id != b->id) return false;
  if (seen[a->id]) return true;
  seen[a->id] = 1;
  uint64_t x, y;
  memcpy(&x, &a->number, sizeof x);
  memcpy(&y, &b->number, sizeof y);
  if (a->op != b->op || a->dtype != b->dtype || a->buffer != b->buffer || a->acc != b->acc || x != y ||
      a->integer != b->integer || !tc_sym_same(a->address, b->address))
    return false;
  return same_expr(a->args[0], b->args[0], seen) && same_expr(a->args[1], b->args[1], seen) &&
         same_expr(a->args[2], b->args[2], seen);
}

static bool same_part(const struct tc_phase *a, const struct tc_phase *b) {
  if (!tc_sym_same(a->var, b->var) || !tc_sym_same(a->from, b->from) || !tc_sym_same(a->to, b->to))
    return false;
  if (a->n_turns != b->n_turns || a->n_columns != b->n_columns) return false;
  for (int c = 0; c < a->n_columns; c++)
    if (!tc_sym_same(a->columns[c], b->columns[c])) return false;
  return !a->n_turns || !memcmp(a->table, b->table, sizeof *a->table * (size_t)(a->n_turns * a->n_columns));
}

static bool same_phase(const struct tc_phase *a, const struct tc_phase *b, unsigned char *seen) {
  if (!same_part(a, b)) return false;
  if (a->over_inner != b->over_inner || a->n_reductions != b->n_reductions || a->n_stores != b->n_stores)
    return false;
  for (int i = 0; i < a->n_reductions; i++) {
    const struct tc_kernel_reduction *x = &a->reductions[i], *y = &b->reductions[i];
    if (x->op != y->op || x->acc != y->acc || !tc_sym_same(x->index, y->index) ||
        !same_expr(x->value, y->value, seen))
      return false;
  }
  for (int i = 0; i < a->n_stores; i++) {
    const struct tc_kernel_store *x = &a->stores[i], *y = &b->stores[i];
    if (x->buffer != y->buffer || !tc_sym_same(x->address, y->address) ||
        !same_expr(x->value, y->value, seen))
      return false;
  }
  return true;
}

bool tc_kernel_equal(const struct tc_kernel *a, const struct tc_kernel *b, unsigned char *seen) {
  if (a->n_buffers != b->n_buffers || a->n_outer != b->n_outer || a->n_inner != b->n_inner ||
      a->n_phases != b->n_phases || a->lanes != b->lanes || a->split_inner != b->split_inner ||
      a->block != b->block || a->product != b->product || a->n_exprs != b->n_exprs)
    return false;
  if (!same_dims(a->outer, b->outer, a->n_outer) || !same_dims(a->inner, b->inner, a->n_inner)) return false;
  for (int i = 0; i < a->n_buffers; i++) {
    const struct tc_kernel_buffer *x = &a->buffers[i], *y = &b->buffers[i];
    if (x->dtype != y->dtype || x->role != y->role || x->stream != y->stream ||
        !tc_sym_same(x->elements, y->elements))
      return false;
  }
  memset(seen, 0, (size_t)a->n_exprs);
  for (int i = 0; i < a->n_phases; i++)
    if (!same_phase(&a->phases[i], &b->phases[i], seen)) return false;
  return true;
}
