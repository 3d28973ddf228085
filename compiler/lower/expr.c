/* Expressions: the hash-consed table, the short constructors, and printing.
 *
 * 1. Equal expressions are one node; an operand's id is smaller than its user's.
 * 2. Every node went through tc_expr_fold (lower/expr_fold.c) first, so no foldable node is interned (but
 *    where fuel.rewrite is spent).
 * 3. A failed allocation gives NULL, which every constructor passes on. */
#include "lower/expr_internal.h"

#include <string.h>

#include "base/hash.h"
#include "base/hash_index.h"
#include "base/strbuf.h"
#include "base/vec.h"

struct tc_expr_table {
  struct tc_arena *arena;
  struct tc_hash_index index;         /* over by_id */
  const struct tc_patterns *patterns; /* NULL: rewrites are code */
  struct tc_fuel *fuel;               /* NULL: unlimited */
  TC_VEC(const struct tc_expr *) by_id;
};

enum expr_class { CLASS_SAME, CLASS_BOOL, CLASS_SELF };

static const struct {
  const char *name;
  int arity;
  enum expr_class result;
} expr_rows[TC_E_COUNT] = {
#define TC_EXPR(NAME, operands, result) [TC_E_##NAME] = {#NAME, operands, CLASS_##result},
#include "lower/expr.def"
#undef TC_EXPR
};

const char *tc_expr_op_name(enum tc_expr_op op) {
  return (unsigned)op < TC_E_COUNT ? expr_rows[op].name : "?";
}
int tc_expr_arity(enum tc_expr_op op) { return (unsigned)op < TC_E_COUNT ? expr_rows[op].arity : 0; }

struct tc_expr_table *tc_expr_table_new(struct tc_arena *arena) {
  struct tc_expr_table *table = TC_NEW(tc_arena_alloc(arena), struct tc_expr_table);
  if (table) table->arena = arena;
  return table;
}

bool tc_expr_table_parse(struct tc_expr_table *table) {
  return (table->patterns = tc_patterns_parse(table->arena)) != NULL;
}
void tc_expr_table_share(struct tc_expr_table *table, const struct tc_expr_table *other) {
  table->patterns = other->patterns;
  table->fuel = other->fuel;
}
void tc_expr_table_limit(struct tc_expr_table *table, struct tc_fuel *fuel) { table->fuel = fuel; }

int tc_expr_count(const struct tc_expr_table *table) { return (int)table->by_id.len; }
const struct tc_expr *tc_expr_at(const struct tc_expr_table *table, int id) { return table->by_id.data[id]; }

static uint64_t number_bits(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static uint64_t expr_hash(const struct tc_expr *e) {
  uint64_t h = tc_hash_u64((uint64_t)e->op << 8 | (uint64_t)e->dtype,
                           (uint64_t)(uint32_t)e->buffer << 32 | (uint32_t)e->acc);
  for (int i = 0; i < TC_EXPR_ARGS; i++) h = tc_hash_u64(h, e->args[i] ? (uint64_t)e->args[i]->id + 1 : 0);
  h = tc_hash_u64(h, e->address.bits);
  return tc_hash_u64(h, number_bits(e->number) ^ (uint64_t)e->integer);
}

static bool expr_equal(const struct tc_expr *a, const struct tc_expr *b) {
  return a->op == b->op && a->dtype == b->dtype && a->args[0] == b->args[0] && a->args[1] == b->args[1] &&
         a->args[2] == b->args[2] && a->buffer == b->buffer && a->acc == b->acc &&
         tc_sym_same(a->address, b->address) && a->integer == b->integer &&
         number_bits(a->number) == number_bits(b->number);
}

const struct tc_expr *tc_expr_intern(struct tc_expr_table *table, const struct tc_expr *proto) {
  const struct tc_alloc *alloc = tc_arena_alloc(table->arena);
  const uint64_t hash = expr_hash(proto);
  size_t at = tc_hash_index_first(&table->index, hash);
  for (int i; (i = tc_hash_index_next(&table->index, hash, &at)) >= 0;)
    if (expr_equal(table->by_id.data[i], proto)) return table->by_id.data[i];
  struct tc_expr *fresh = tc_arena_bytes(table->arena, sizeof *fresh);
  if (!fresh) return NULL;
  *fresh = *proto;
  fresh->id = (int)table->by_id.len;
  return tc_vec_push(alloc, &table->by_id, fresh) && tc_hash_index_add(alloc, &table->index, hash, fresh->id)
             ? fresh
             : NULL;
}

/* A symbol that an operator needs must be valid, and its operands must be there (LOAD's may be NULL). */
static bool well_formed(const struct tc_expr *e) {
  const bool needs_address = e->op == TC_E_LOAD || e->op == TC_E_INDEX || e->op == TC_E_CHECK ||
                             e->op == TC_E_UNIFORM || e->op == TC_E_NORMAL;
  if (needs_address && !tc_sym_valid(e->address)) return false;
  if (e->op == TC_E_LOAD) return true;
  for (int i = 0; i < tc_expr_arity(e->op); i++)
    if (!e->args[i]) return false;
  return true;
}

const struct tc_expr *tc_expr_make(struct tc_expr_table *table, const struct tc_expr *proto) {
  if (!well_formed(proto)) return NULL;
  struct tc_expr clean = *proto;
  clean.id = 0;
  const struct tc_expr *folded = tc_expr_fold(table, table->patterns, table->fuel, &clean);
  return folded ? folded : tc_expr_intern(table, &clean);
}

const struct tc_expr *tc_expr_num(struct tc_expr_table *table, tc_dtype dtype, double value) {
  struct tc_expr e = {.op = TC_E_CONST, .dtype = tc_compute_dtype(dtype)};
  if (e.dtype == TC_F64)
    e.number = value;
  else if (e.dtype == TC_F32)
    e.number = (double)(float)value;
  else
    e.integer = e.dtype == TC_BOOL ? value != 0 : (int64_t)value;
  return tc_expr_intern(table, &e);
}

const struct tc_expr *tc_expr_int(struct tc_expr_table *table, tc_dtype dtype, int64_t value) {
  if (tc_dtype_is_float(dtype)) return tc_expr_num(table, dtype, (double)value);
  const struct tc_expr e = {
      .op = TC_E_CONST, .dtype = dtype, .integer = dtype == TC_BOOL ? value != 0 : value};
  return tc_expr_intern(table, &e);
}

const struct tc_expr *tc_expr_index(struct tc_expr_table *table, tc_sym value) {
  const struct tc_expr e = {.op = TC_E_INDEX, .dtype = TC_I64, .address = value};
  return tc_expr_make(table, &e);
}

static const struct tc_expr *make_op(struct tc_expr_table *table, enum tc_expr_op op, const struct tc_expr *a,
                                     const struct tc_expr *b, const struct tc_expr *c) {
  const struct tc_expr *last = c ? c : b ? b : a;
  if (!last) return NULL;
  const struct tc_expr e = {
      .op = op, .dtype = expr_rows[op].result == CLASS_BOOL ? TC_BOOL : last->dtype, .args = {a, b, c}};
  return tc_expr_make(table, &e);
}

const struct tc_expr *tc_expr_1(struct tc_expr_table *table, enum tc_expr_op op, const struct tc_expr *a) {
  return make_op(table, op, a, NULL, NULL);
}
const struct tc_expr *tc_expr_2(struct tc_expr_table *table, enum tc_expr_op op, const struct tc_expr *a,
                                const struct tc_expr *b) {
  return a && b ? make_op(table, op, a, b, NULL) : NULL;
}
const struct tc_expr *tc_expr_3(struct tc_expr_table *table, enum tc_expr_op op, const struct tc_expr *a,
                                const struct tc_expr *b, const struct tc_expr *c) {
  return a && b && c ? make_op(table, op, a, b, c) : NULL;
}

const struct tc_expr *tc_expr_cast(struct tc_expr_table *table, const struct tc_expr *a, tc_dtype dtype) {
  if (!a) return NULL;
  const struct tc_expr e = {.op = TC_E_CAST, .dtype = tc_compute_dtype(dtype), .args = {a}};
  return tc_expr_make(table, &e);
}

/* --- text --- */

static void print_lower(struct tc_strbuf *out, const char *text) {
  for (; *text; text++) tc_strbuf_printf(out, "%c", *text >= 'A' && *text <= 'Z' ? *text - 'A' + 'a' : *text);
}

static void print_operand(struct tc_strbuf *out, const struct tc_expr *e, const bool *named) {
  if (named && named[e->id])
    tc_strbuf_printf(out, "v%d", e->id);
  else
    tc_expr_print_named(out, e, named);
}

static void print_load(struct tc_strbuf *out, const struct tc_expr *e, const bool *named) {
  tc_strbuf_printf(out, "load b%d[", e->buffer);
  tc_sym_print(out, e->address);
  if (e->args[0]) {
    tc_strbuf_puts(out, " + ");
    print_operand(out, e->args[0], named);
  }
  tc_strbuf_puts(out, "]");
  if (e->args[1]) {
    tc_strbuf_puts(out, " if ");
    print_operand(out, e->args[1], named);
  }
}

void tc_expr_print_named(struct tc_strbuf *out, const struct tc_expr *e, const bool *named) {
  switch (e->op) {
    case TC_E_CONST:
      if (tc_dtype_is_float(e->dtype))
        tc_strbuf_printf(out, "%.9g", e->number);
      else
        tc_strbuf_printf(out, "%lld", (long long)e->integer);
      return;
    case TC_E_INDEX:
      tc_strbuf_puts(out, "index(");
      tc_sym_print(out, e->address);
      tc_strbuf_puts(out, ")");
      return;
    case TC_E_LOAD: print_load(out, e, named); return;
    case TC_E_ACC: tc_strbuf_printf(out, "acc%d", e->acc); return;
    case TC_E_CHECK:
      tc_strbuf_puts(out, "check(");
      print_operand(out, e->args[0], named);
      tc_strbuf_puts(out, ", ");
      tc_sym_print(out, e->address);
      tc_strbuf_puts(out, ")");
      return;
    case TC_E_UNIFORM:
    case TC_E_NORMAL:
      print_lower(out, tc_expr_op_name(e->op));
      tc_strbuf_printf(out, "(%d, ", e->acc);
      tc_sym_print(out, e->address);
      tc_strbuf_puts(out, ")");
      return;
    default: break;
  }
  print_lower(out, tc_expr_op_name(e->op));
  if (e->op == TC_E_CAST) tc_strbuf_printf(out, "_%s", tc_dtype_name(e->dtype));
  const char *before = "(";
  for (int i = 0; i < TC_EXPR_ARGS; i++) {
    if (!e->args[i]) continue;
    tc_strbuf_puts(out, before);
    print_operand(out, e->args[i], named);
    before = ", ";
  }
  tc_strbuf_puts(out, ")");
}

void tc_expr_print(struct tc_strbuf *out, const struct tc_expr *e) { tc_expr_print_named(out, e, NULL); }

const char *tc_reduction_name(enum tc_reduction r) {
  static const char *const names[] = {
      [TC_RED_SUM] = "sum", [TC_RED_PROD] = "prod", [TC_RED_MAX] = "max",       [TC_RED_MIN] = "min",
      [TC_RED_ANY] = "any", [TC_RED_ALL] = "all",   [TC_RED_ARGMAX] = "argmax", [TC_RED_ARGMIN] = "argmin"};
  return names[r];
}
