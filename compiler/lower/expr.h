/* Expressions of the loop IR: hash-consed, so equal expressions are equal pointers and a kernel
 * computes each once. MAX, MIN and RELU pass NaN on; comparisons with NaN are false (NE: true).
 *
 * Ownership: the table's arena. Threads: one a table; finished expressions are immutable and may be
 * read by any thread (compile threads do). */
#ifndef TC_LOWER_EXPR_H
#define TC_LOWER_EXPR_H

#include "base/arena.h"
#include "sym/sym.h"
#include "tensor/dtype.h"

enum tc_expr_op {
#define TC_EXPR(NAME, operands, result) TC_E_##NAME,
#include "lower/expr.def"
#undef TC_EXPR
  TC_E_COUNT
};

enum { TC_EXPR_ARGS = 3 };

/* What a kernel can find wrong: the number of a byte of its status word, which is then 1. */
enum tc_flag { TC_FLAG_INDEX, TC_FLAG_FLOOR_DIVIDE, TC_FLAG_REMAINDER };

struct tc_expr {
  enum tc_expr_op op;
  tc_dtype dtype; /* compute dtype of the result: BOOL, I64, F32 or F64 */
  int id;         /* dense within the table, in order of creation: operands have smaller ids */
  const struct tc_expr *args[TC_EXPR_ARGS]; /* unused: NULL. LOAD: offset or NULL, predicate or NULL */
  int buffer;      /* LOAD: index of a loop buffer, or (in a kernel) of a kernel buffer */
  int acc;         /* ACC, UNIFORM, NORMAL; DIVISOR: an enum tc_flag */
  tc_sym address;  /* LOAD, INDEX, CHECK, UNIFORM, NORMAL */
  double number;   /* CONST of a float dtype */
  int64_t integer; /* CONST of I64 or BOOL */
};

struct tc_expr_table;
struct tc_patterns;
struct tc_fuel;
struct tc_expr_table *tc_expr_table_new(struct tc_arena *arena);
/* Rewrites of a new table by patterns that are parsed now, into its arena (opt.pattern_precompile off), or by
 * those of another table, which must outlive it, on its fuel. False when memory is out. */
bool tc_expr_table_parse(struct tc_expr_table *table);
void tc_expr_table_share(struct tc_expr_table *table, const struct tc_expr_table *other);
/* How many rewrites the table, and those that share with it, may still make. NULL, as at first: unlimited. */
void tc_expr_table_limit(struct tc_expr_table *table, struct tc_fuel *fuel);
int tc_expr_count(const struct tc_expr_table *table); /* ids are 0 … count-1 */
const struct tc_expr *tc_expr_at(const struct tc_expr_table *table, int id);

/* Interns `proto` (its id is ignored). NULL when memory is out. Folds constants and the identities
 * that keep every bit (x·1, select of a constant condition, cast to the same dtype). */
const struct tc_expr *tc_expr_make(struct tc_expr_table *table, const struct tc_expr *proto);
const struct tc_expr *tc_expr_num(struct tc_expr_table *table, tc_dtype dtype, double value);
/* The same for an integer value of any dtype. */
const struct tc_expr *tc_expr_int(struct tc_expr_table *table, tc_dtype dtype, int64_t value);
/* An index symbol as an I64 value. */
const struct tc_expr *tc_expr_index(struct tc_expr_table *table, tc_sym value);
const struct tc_expr *tc_expr_1(struct tc_expr_table *table, enum tc_expr_op op, const struct tc_expr *a);
const struct tc_expr *tc_expr_2(struct tc_expr_table *table, enum tc_expr_op op, const struct tc_expr *a,
                                const struct tc_expr *b);
const struct tc_expr *tc_expr_3(struct tc_expr_table *table, enum tc_expr_op op, const struct tc_expr *a,
                                const struct tc_expr *b, const struct tc_expr *c);
const struct tc_expr *tc_expr_cast(struct tc_expr_table *table, const struct tc_expr *a, tc_dtype dtype);
const char *tc_expr_op_name(enum tc_expr_op op);
int tc_expr_arity(enum tc_expr_op op);
/* Does the operator raise a flag of the kernel's status? */
static inline bool tc_expr_raises(const struct tc_expr *e) {
  return e->op == TC_E_CHECK || e->op == TC_E_DIVISOR;
}
/* The dtype that a stored dtype is computed in (BF16 → F32, else itself). */
static inline tc_dtype tc_compute_dtype(tc_dtype stored) { return stored == TC_BF16 ? TC_F32 : stored; }
/* "add(load b0[i0*4 + i1], 2.5)", appended. */
void tc_expr_print(struct tc_strbuf *out, const struct tc_expr *e);
/* The same, where operands whose named[id] is set are written "v<id>". */
void tc_expr_print_named(struct tc_strbuf *out, const struct tc_expr *e, const bool *named);

enum tc_reduction {
  TC_RED_SUM,
  TC_RED_PROD,
  TC_RED_MAX,
  TC_RED_MIN,
  TC_RED_ANY,
  TC_RED_ALL,
  TC_RED_ARGMAX,
  TC_RED_ARGMIN
};
const char *tc_reduction_name(enum tc_reduction r);

#endif
