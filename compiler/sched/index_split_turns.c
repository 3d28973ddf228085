/* Parts that differ in constants alone become turns of one phase, over a table of those constants: a
 * concatenation of many slices of one tensor is then as much code as one of two.
 *
 * 1. Neighbours are joined whose values are equal but for the constants of their addresses; their bounds are
 *    constants.
 * 2. What differs by one constant in all turns is one column. A column counts from the least of its
 *    constants, so that it is an index like any other (0 or more). */
#include "sched/index_split.h"

#include <string.h>

struct joiner {
  struct tc_index_splitter *c;
  int n;    /* expressions when joining began */
  int *met; /* by expression of the first part: number of the comparison that met it */
  const struct tc_expr *
      *counterpart; /* by expression of the first part: what stands for it in the part that is compared */
  const struct tc_expr **moved; /* by expression: itself with the columns; NULL: not yet */
  int comparisons;
  int *ids, n_ids; /* of the first part's expressions */
  int *column_of;  /* by expression of the first part that has an address: its column; 0: it does not move */
  int64_t *least;  /* by column */
};

/* How far b's address is from a's. */
static bool distance(const struct joiner *j, const struct tc_expr *a, const struct tc_expr *b, int64_t *out) {
  *out = 0;
  if (tc_sym_same(a->address, b->address)) return true;
  if (!tc_sym_valid(a->address) || !tc_sym_valid(b->address) || a->op == TC_E_CHECK) return false;
  const tc_sym apart = tc_sym_sub(j->c->d->s->tab, b->address, a->address);
  if (!tc_sym_valid(apart) || !tc_sym_is_const(apart)) return false;
  return *out = tc_sym_value(apart), true;
}

/* Is b what a is, but for constants of addresses? Operands too that both share are met: in another place they
 * may stand for others. */
static bool alike(struct joiner *j, const struct tc_expr *a, const struct tc_expr *b) {
  int64_t unused;
  if (!a || !b) return a == b;
  if (j->met[a->id] == j->comparisons) return j->counterpart[a->id] == b;
  j->met[a->id] = j->comparisons;
  j->counterpart[a->id] = b;
  if (a->op != b->op || a->dtype != b->dtype || a->buffer != b->buffer || a->acc != b->acc ||
      memcmp(&a->number, &b->number, sizeof a->number) || a->integer != b->integer ||
      !distance(j, a, b, &unused))
    return false;
  for (int i = 0; i < TC_EXPR_ARGS; i++)
    if (!alike(j, a->args[i], b->args[i])) return false;
  return true;
}

static bool parts_alike(struct joiner *j, int a, int b) {
  j->comparisons++;
  for (size_t i = 0; i < j->c->d->items.len; i++)
    if (!alike(j, j->c->values[a][i], j->c->values[b][i])) return false;
  return true;
}

/* How many parts from `first` on are one phase. */
static int count_turns(struct joiner *j, int first) {
  const struct tc_index_splitter *c = j->c;
  int turns = 1;
  while (first + turns < tc_index_split_parts(c) && tc_sym_is_const(tc_index_split_from(c, first)) &&
         tc_sym_is_const(tc_index_split_to(c, first + turns)) && parts_alike(j, first, first + turns))
    turns++;
  return turns;
}

/* --- columns --- */

/* The column that has these constants, or a new one; 0: they are all 0, and -1: there are too many
 * columns. */
static int column_with(struct tc_index_split *split, const int64_t *constants) {
  bool moves = false;
  for (int t = 0; t < split->n_turns; t++) moves |= constants[t] != 0;
  if (!moves) return 0;
  for (int column = 2; column < split->n_columns; column++) {
    int t = 0;
    while (t < split->n_turns && split->table[t * TC_MAX_COLUMNS + column] == constants[t]) t++;
    if (t == split->n_turns) return column;
  }
  if (split->n_columns == TC_MAX_COLUMNS) return -1;
  for (int t = 0; t < split->n_turns; t++) split->table[t * TC_MAX_COLUMNS + split->n_columns] = constants[t];
  return split->n_columns++;
}

/* constants[]: by expression of the first part, then by turn. False: too many columns. */
static bool find_columns(struct joiner *j, struct tc_index_split *split, int first,
                         const int64_t *constants) {
  split->n_columns = 2;
  for (int t = 0; t < split->n_turns; t++) {
    split->table[t * TC_MAX_COLUMNS] = tc_sym_value(tc_index_split_from(j->c, first + t));
    split->table[t * TC_MAX_COLUMNS + 1] = tc_sym_value(tc_index_split_to(j->c, first + t));
  }
  for (int i = 0; i < j->n_ids; i++) {
    j->column_of[j->ids[i]] = column_with(split, constants + i * split->n_turns);
    if (j->column_of[j->ids[i]] < 0) return false;
  }
  return true;
}

/* Constants as find_columns takes them; NULL when memory is out. */
static int64_t *find_constants(struct joiner *j, const struct tc_index_split *split, int first) {
  parts_alike(j, first, first);
  j->n_ids = 0;
  for (int id = 0; id < j->n; id++)
    if (j->met[id] == j->comparisons) j->ids[j->n_ids++] = id;
  int64_t *constants = TC_NEW_ARRAY(j->c->alloc, int64_t, (size_t)j->n_ids *(size_t)split->n_turns + 1);
  for (int t = 0; constants && t < split->n_turns; t++) {
    parts_alike(j, first, first + t); /* they are: it fills the counterparts */
    for (int i = 0; i < j->n_ids; i++)
      distance(j, tc_expr_at(j->c->d->table, j->ids[i]), j->counterpart[j->ids[i]],
               &constants[i * split->n_turns + t]);
  }
  return constants;
}

/* The table without what no column takes, each column from its least constant on, and the columns'
 * variables. */
static bool make_table(struct joiner *j, struct tc_index_split *split) {
  struct tc_draft *d = j->c->d;
  const int64_t *wide = split->table;
  const int n = split->n_columns;
  split->table = TC_NEW_ARRAY(d->s->alloc, int64_t, (size_t)(n * split->n_turns));
  split->columns = TC_NEW_ARRAY(d->s->alloc, tc_sym, (size_t)n);
  if (!split->table || !split->columns) return false;
  for (int column = 0; column < n; column++) {
    int64_t least = wide[column], most = wide[column];
    for (int t = 1; t < split->n_turns; t++) {
      const int64_t value = wide[t * TC_MAX_COLUMNS + column];
      if (value < least) least = value;
      if (value > most) most = value;
    }
    if (column < 2) least = 0;
    for (int t = 0; t < split->n_turns; t++)
      split->table[t * n + column] = wide[t * TC_MAX_COLUMNS + column] - least;
    j->least[column] = least;
    split->columns[column] =
        tc_draft_var(d->s, 2 * TC_DRAFT_DIMS + d->n_columns++, tc_sym_const(most - least + 1));
    if (!tc_sym_valid(split->columns[column])) return false;
  }
  split->from = split->columns[0], split->to = split->columns[1];
  return true;
}

/* --- values over the columns --- */

/* As deep as the kernel's values are. */
static const struct tc_expr *move(struct joiner *j, const struct tc_index_split *split,
                                  const struct tc_expr *e) {
  struct tc_symtab *tab = j->c->d->s->tab;
  if (j->moved[e->id]) return j->moved[e->id];
  struct tc_expr copy = *e;
  for (int i = 0; i < TC_EXPR_ARGS; i++)
    if (e->args[i] && !(copy.args[i] = move(j, split, e->args[i]))) return NULL;
  const int column = j->column_of[e->id];
  if (column) {
    copy.address =
        tc_sym_add(tab, tc_sym_add(tab, e->address, tc_sym_const(j->least[column])), split->columns[column]);
    if (!tc_sym_valid(copy.address)) return NULL;
  }
  return j->moved[e->id] = tc_expr_make(j->c->d->table, &copy);
}

static bool move_values(struct joiner *j, struct tc_index_split *split, int first) {
  const struct tc_draft *d = j->c->d;
  const struct tc_expr **values = TC_NEW_ARRAY(j->c->alloc, const struct tc_expr *, d->items.len + 1);
  if (!values) return false;
  for (int i = 0; i < j->n_ids; i++) j->moved[j->ids[i]] = NULL;
  for (size_t i = 0; i < d->items.len; i++)
    if (!(values[i] = move(j, split, j->c->values[first][i]))) return false;
  split->values = values;
  return true;
}

/* One phase for several parts. *made: it is; false when memory is out. */
static bool make_turns(struct joiner *j, struct tc_index_split *split, int first, int turns, bool *made) {
  *split = (struct tc_index_split){.n_turns = turns};
  *made = false;
  split->table = TC_NEW_ARRAY(j->c->alloc, int64_t, (size_t)turns *TC_MAX_COLUMNS);
  const int64_t *constants = split->table ? find_constants(j, split, first) : NULL;
  if (!constants) return false;
  if (!find_columns(j, split, first, constants)) return true;
  *made = true;
  return make_table(j, split) && move_values(j, split, first);
}

static void one_part(const struct tc_index_splitter *c, struct tc_index_split *split, int part) {
  *split = (struct tc_index_split){
      .from = tc_index_split_from(c, part), .to = tc_index_split_to(c, part), .values = c->values[part]};
}

bool tc_index_split_join(struct tc_index_splitter *c) {
  struct tc_draft *d = c->d;
  struct joiner j = {.c = c, .n = tc_expr_count(d->table)};
  const size_t n = (size_t)j.n + 1;
  j.met = TC_NEW_ARRAY(c->alloc, int, n);
  j.counterpart = TC_NEW_ARRAY(c->alloc, const struct tc_expr *, n);
  j.moved = TC_NEW_ARRAY(c->alloc, const struct tc_expr *, n);
  j.column_of = TC_NEW_ARRAY(c->alloc, int, n);
  j.ids = TC_NEW_ARRAY(c->alloc, int, n);
  j.least = TC_NEW_ARRAY(c->alloc, int64_t, TC_MAX_COLUMNS);
  d->splits = TC_NEW_ARRAY(d->s->alloc, struct tc_index_split, (size_t)tc_index_split_parts(c));
  if (!j.met || !j.counterpart || !j.moved || !j.column_of || !j.ids || !j.least || !d->splits) return false;
  for (int part = 0, turns; part < tc_index_split_parts(c); part += turns) {
    bool made = false;
    turns = count_turns(&j, part);
    if (turns > 1 && !make_turns(&j, &d->splits[d->n_splits], part, turns, &made)) return false;
    if (!made) turns = 1, one_part(c, &d->splits[d->n_splits], part);
    d->n_splits++;
  }
  return true;
}
