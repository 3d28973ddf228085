/* Rewrites by identities: the rows of rewrites.def, matched.
 *
 * 1. By default the rows are code: a switch over operators, in which matching has constant arguments, so that
 *    the C compiler makes one decision tree of it.
 * 2. Off (opt.pattern_precompile): they are text, parsed at each compile, and tried one after another.
 * Both ways try the rows of an operator in one order, so they give one result. To add a rewrite: a row. */
#include <string.h>

#include "base/vec.h"
#include "lower/expr_internal.h"

enum where { WHERE_ANY, WHERE_INTEGER, WHERES };
enum piece { PIECE_NONE, PIECE_x, PIECE_y, PIECE_ZERO, PIECE_ONE, PIECE_NEG_x, PIECE_NOT_x, PIECES };
struct pattern {
  enum tc_expr_op op;
  enum where where;
  enum piece operands[TC_EXPR_ARGS], result;
};
struct tc_patterns {
  TC_VEC(struct pattern) rows;
};

struct bound {
  const struct tc_expr *x, *y;
};

#define ALWAYS_INLINE static inline __attribute__((always_inline))

ALWAYS_INLINE bool bind(const struct tc_expr **variable, const struct tc_expr *e) {
  if (!*variable) *variable = e;
  return *variable == e;
}

ALWAYS_INLINE bool fits(enum piece piece, const struct tc_expr *e, struct bound *bound) {
  switch (piece) {
    case PIECE_x: return bind(&bound->x, e);
    case PIECE_y: return bind(&bound->y, e);
    case PIECE_ZERO: return tc_expr_is_num(e, 0);
    case PIECE_ONE: return tc_expr_is_num(e, 1);
    case PIECE_NEG_x: return e->op == TC_E_NEG && bind(&bound->x, e->args[0]);
    case PIECE_NOT_x: return e->op == TC_E_NOT && bind(&bound->x, e->args[0]);
    default: return true;
  }
}

ALWAYS_INLINE const struct tc_expr *give(struct tc_expr_table *table, enum piece piece,
                                         const struct tc_expr *e, const struct bound *bound) {
  switch (piece) {
    case PIECE_x: return bound->x;
    case PIECE_y: return bound->y;
    case PIECE_ZERO: return tc_expr_int(table, e->dtype, 0);
    case PIECE_ONE: return tc_expr_int(table, e->dtype, 1);
    case PIECE_NOT_x: return tc_expr_1(table, TC_E_NOT, bound->x);
    default: return NULL;
  }
}

/* Does the row fit? Then *result is what e becomes (NULL: memory is out). */
ALWAYS_INLINE bool apply(struct tc_expr_table *table, const struct tc_expr *e, enum where where,
                         enum piece first, enum piece second, enum piece third, enum piece result,
                         const struct tc_expr **out) {
  struct bound bound = {NULL, NULL};
  if (where == WHERE_INTEGER && tc_dtype_is_float(e->dtype)) return false;
  if (!fits(first, e->args[0], &bound) || !fits(second, e->args[1], &bound) ||
      !fits(third, e->args[2], &bound))
    return false;
  *out = give(table, result, e, &bound);
  return true;
}

const struct tc_expr *tc_rewrite(struct tc_expr_table *table, const struct tc_expr *e) {
  const struct tc_expr *out = NULL;
  switch (e->op) {
#define TC_REWRITES(OP, ...)                                                                                 \
  case TC_E_##OP: __VA_ARGS__ return NULL;
#define TC_REWRITE(where, first, second, third, result)                                                      \
  if (apply(table, e, WHERE_##where, PIECE_##first, PIECE_##second, PIECE_##third, PIECE_##result, &out))    \
    return out;
#include "lower/rewrites.def"
#undef TC_REWRITE
#undef TC_REWRITES
    default: return NULL;
  }
}

/* --- as text --- */

static const char text[] =
#define TC_REWRITES(OP, ...) __VA_ARGS__ #OP "\n"
#define TC_REWRITE(where, first, second, third, result)                                                      \
  #where " " #first " " #second " " #third " " #result ", "
#include "lower/rewrites.def"
#undef TC_REWRITE
#undef TC_REWRITES
    ;

static const char *const where_words[WHERES] = {"ANY", "INTEGER"};
static const char *const piece_words[PIECES] = {"NONE", "x", "y", "ZERO", "ONE", "NEG_x", "NOT_x"};

/* The number of the next word, which ends at a blank, a comma or a line's end; *at goes on behind it. -1: it
 * is none of them. */
static int next_word(const char **at, const char *const *words, int count) {
  *at += strspn(*at, ", ");
  const size_t length = strcspn(*at, ", \n");
  for (int i = 0; i < count; i++)
    if (strlen(words[i]) == length && !strncmp(*at, words[i], length)) return *at += length, i;
  return -1;
}

static bool is_row(const char *at, struct pattern *out, const char **end) {
  const int where = next_word(&at, where_words, WHERES);
  if (where < 0) return false;
  out->where = (enum where)where;
  for (int i = 0; i < TC_EXPR_ARGS; i++) out->operands[i] = (enum piece)next_word(&at, piece_words, PIECES);
  out->result = (enum piece)next_word(&at, piece_words, PIECES);
  *end = at;
  return true;
}

/* The operator's name stands behind its rows. */
static enum tc_expr_op operator_of(const char **line) {
  *line += strspn(*line, ", ");
  const size_t length = strcspn(*line, "\n");
  int op = 0;
  while (op < TC_E_COUNT && (strlen(tc_expr_op_name((enum tc_expr_op)op)) != length ||
                             strncmp(*line, tc_expr_op_name((enum tc_expr_op)op), length)))
    op++;
  *line += length + 1;
  return (enum tc_expr_op)op;
}

const struct tc_patterns *tc_patterns_parse(struct tc_arena *arena) {
  struct tc_patterns *patterns = TC_NEW(tc_arena_alloc(arena), struct tc_patterns);
  for (const char *at = text; patterns && *at;) {
    const size_t first = patterns->rows.len;
    for (struct pattern row = {.op = TC_E_COUNT}; is_row(at, &row, &at);)
      if (!tc_vec_push(tc_arena_alloc(arena), &patterns->rows, row)) return NULL;
    const enum tc_expr_op op = operator_of(&at);
    for (size_t i = first; i < patterns->rows.len; i++) patterns->rows.data[i].op = op;
  }
  return patterns;
}

const struct tc_expr *tc_rewrite_by_patterns(struct tc_expr_table *table, const struct tc_patterns *patterns,
                                             const struct tc_expr *e) {
  const struct tc_expr *out = NULL;
  for (size_t i = 0; i < patterns->rows.len; i++) {
    const struct pattern *p = &patterns->rows.data[i];
    if (p->op == e->op &&
        apply(table, e, p->where, p->operands[0], p->operands[1], p->operands[2], p->result, &out))
      return out;
  }
  return NULL;
}
