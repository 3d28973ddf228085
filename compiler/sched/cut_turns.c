/* Parts that differ in constants alone become turns of one phase, over a table of those constants: a
 * concatenation of many slices of one tensor is then as much code as one of two.
 *
 * 1. Neighbours are joined whose values are equal but for the constants of their addresses; their bounds are
 *    constants.
 * 2. What differs by one constant in all turns is one column. A column counts from the least of its
 *    constants, so that it is an index like any other (0 or more). */
#include "sched/cut.h"

#include <string.h>

struct joiner {
  struct tc_cutter *c;
  int n;    /* expressions when joining began */
  int *met; /* by expression of the first part: number of the comparison that met it */
  const struct tc_expr *
      *twin; /* by expression of the first part: what stands for it in the part that is compared */
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

static bool same_number(const struct tc_expr *a, const struct tc_expr *b) {
  return !memcmp(&a->number, &b->number, sizeof a->number) && a->integer == b->integer;
}

/* Is b what a is, but for constants of addresses? Operands too that both share are met: in another place they
 * may stand for others. */
static bool alike(struct joiner *j, const struct tc_expr *a, const struct tc_expr *b) {
  int64_t unused;
  if (!a || !b) return a == b;
  if (j->met[a->id] == j->comparisons) return j->twin[a->id] == b;
  j->met[a->id] = j->comparisons;
  j->twin[a->id] = b;
  if (a->op != b->op || a->dtype != b->dtype || a->buffer != b->buffer || a->acc != b->acc ||
      !same_number(a, b) || !distance(j, a, b, &unused))
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
  const struct tc_cutter *c = j->c;
  int turns = 1;
  while (first + turns < tc_cut_parts(c) && tc_sym_is_const(tc_cut_from(c, first)) &&
         tc_sym_is_const(tc_cut_to(c, first + turns)) && parts_alike(j, first, first + turns))
    turns++;
  return turns;
}

/* --- columns --- */

/* The column that has these constants, or a new one; 0: they are all 0, and -1: there are too many
 * columns. */
static int column_with(struct tc_cut *cut, const int64_t *constants) {
  bool moves = false;
  for (int t = 0; t < cut->n_turns; t++) moves |= constants[t] != 0;
  if (!moves) return 0;
  for (int column = 2; column < cut->n_columns; column++) {
    int t = 0;
    while (t < cut->n_turns && cut->table[t * TC_MAX_COLUMNS + column] == constants[t]) t++;
    if (t == cut->n_turns) return column;
  }
  if (cut->n_columns == TC_MAX_COLUMNS) return -1;
  for (int t = 0; t < cut->n_turns; t++) cut->table[t * TC_MAX_COLUMNS + cut->n_columns] = constants[t];
  return cut->n_columns++;
}

/* constants[]: by expression of the first part, then by turn. False: too many columns. */
static bool find_columns(struct joiner *j, struct tc_cut *cut, int first, const int64_t *constants) {
  cut->n_columns = 2;
  for (int t = 0; t < cut->n_turns; t++) {
    cut->table[t * TC_MAX_COLUMNS] = tc_sym_value(tc_cut_from(j->c, first + t));
    cut->table[t * TC_MAX_COLUMNS + 1] = tc_sym_value(tc_cut_to(j->c, first + t));
  }
  for (int i = 0; i < j->n_ids; i++) {
    j->column_of[j->ids[i]] = column_with(cut, constants + i * cut->n_turns);
    if (j->column_of[j->ids[i]] < 0) return false;
  }
  return true;
}

static void find_ids(struct joiner *j, int first) {
  parts_alike(j, first, first);
  j->n_ids = 0;
  for (int id = 0; id < j->n; id++)
    if (j->met[id] == j->comparisons) j->ids[j->n_ids++] = id;
}

/* Constants as find_columns takes them; NULL when memory is out. */
static int64_t *find_constants(struct joiner *j, const struct tc_cut *cut, int first) {
  find_ids(j, first);
  int64_t *constants = TC_NEW_ARRAY(j->c->alloc, int64_t, (size_t)j->n_ids *(size_t)cut->n_turns + 1);
  for (int t = 0; constants && t < cut->n_turns; t++) {
    parts_alike(j, first, first + t); /* they are: it fills the twins */
    for (int i = 0; i < j->n_ids; i++)
      distance(j, tc_expr_at(j->c->d->table, j->ids[i]), j->twin[j->ids[i]],
               &constants[i * cut->n_turns + t]);
  }
  return constants;
}

/* The table without what no column takes, each column from its least constant on, and the columns'
 * variables. */
static bool make_table(struct joiner *j, struct tc_cut *cut) {
  struct tc_draft *d = j->c->d;
  const int64_t *wide = cut->table;
  const int n = cut->n_columns;
  cut->table = TC_NEW_ARRAY(d->s->alloc, int64_t, (size_t)(n * cut->n_turns));
  cut->columns = TC_NEW_ARRAY(d->s->alloc, tc_sym, (size_t)n);
  if (!cut->table || !cut->columns) return false;
  for (int column = 0; column < n; column++) {
    int64_t least = wide[column], most = wide[column];
    for (int t = 1; t < cut->n_turns; t++) {
      const int64_t value = wide[t * TC_MAX_COLUMNS + column];
      if (value < least) least = value;
      if (value > most) most = value;
    }
    if (column < 2) least = 0;
    for (int t = 0; t < cut->n_turns; t++)
      cut->table[t * n + column] = wide[t * TC_MAX_COLUMNS + column] - least;
    j->least[column] = least;
    cut->columns[column] =
        tc_draft_var(d->s, 2 * TC_DRAFT_DIMS + d->n_columns++, tc_sym_const(most - least + 1));
    if (!tc_sym_valid(cut->columns[column])) return false;
  }
  cut->from = cut->columns[0], cut->to = cut->columns[1];
  return true;
}

/* --- values over the columns --- */

/* As deep as the kernel's values are. */
static const struct tc_expr *move(struct joiner *j, const struct tc_cut *cut, const struct tc_expr *e) {
  struct tc_symtab *tab = j->c->d->s->tab;
  if (j->moved[e->id]) return j->moved[e->id];
  struct tc_expr copy = *e;
  for (int i = 0; i < TC_EXPR_ARGS; i++)
    if (e->args[i] && !(copy.args[i] = move(j, cut, e->args[i]))) return NULL;
  const int column = j->column_of[e->id];
  if (column) {
    copy.address =
        tc_sym_add(tab, tc_sym_add(tab, e->address, tc_sym_const(j->least[column])), cut->columns[column]);
    if (!tc_sym_valid(copy.address)) return NULL;
  }
  return j->moved[e->id] = tc_expr_make(j->c->d->table, &copy);
}

static bool move_values(struct joiner *j, struct tc_cut *cut, int first) {
  const struct tc_draft *d = j->c->d;
  const struct tc_expr **values = TC_NEW_ARRAY(j->c->alloc, const struct tc_expr *, d->items.len + 1);
  if (!values) return false;
  for (int i = 0; i < j->n_ids; i++) j->moved[j->ids[i]] = NULL;
  for (size_t i = 0; i < d->items.len; i++)
    if (!(values[i] = move(j, cut, j->c->values[first][i]))) return false;
  cut->values = values;
  return true;
}

/* One phase for several parts. *made: it is; false when memory is out. */
static bool make_turns(struct joiner *j, struct tc_cut *cut, int first, int turns, bool *made) {
  *cut = (struct tc_cut){.n_turns = turns};
  *made = false;
  cut->table = TC_NEW_ARRAY(j->c->alloc, int64_t, (size_t)turns *TC_MAX_COLUMNS);
  const int64_t *constants = cut->table ? find_constants(j, cut, first) : NULL;
  if (!constants) return false;
  if (!find_columns(j, cut, first, constants)) return true;
  *made = true;
  return make_table(j, cut) && move_values(j, cut, first);
}

static void one_part(const struct tc_cutter *c, struct tc_cut *cut, int part) {
  *cut = (struct tc_cut){.from = tc_cut_from(c, part), .to = tc_cut_to(c, part), .values = c->values[part]};
}

bool tc_cut_join(struct tc_cutter *c) {
  struct tc_draft *d = c->d;
  struct joiner j = {.c = c, .n = tc_expr_count(d->table)};
  const size_t n = (size_t)j.n + 1;
  j.met = TC_NEW_ARRAY(c->alloc, int, n);
  j.twin = TC_NEW_ARRAY(c->alloc, const struct tc_expr *, n);
  j.moved = TC_NEW_ARRAY(c->alloc, const struct tc_expr *, n);
  j.column_of = TC_NEW_ARRAY(c->alloc, int, n);
  j.ids = TC_NEW_ARRAY(c->alloc, int, n);
  j.least = TC_NEW_ARRAY(c->alloc, int64_t, TC_MAX_COLUMNS);
  d->cuts = TC_NEW_ARRAY(d->s->alloc, struct tc_cut, (size_t)tc_cut_parts(c));
  if (!j.met || !j.twin || !j.moved || !j.column_of || !j.ids || !j.least || !d->cuts) return false;
  for (int part = 0, turns; part < tc_cut_parts(c); part += turns) {
    bool made = false;
    turns = count_turns(&j, part);
    if (turns > 1 && !make_turns(&j, &d->cuts[d->n_cuts], part, turns, &made)) return false;
    if (!made) turns = 1, one_part(c, &d->cuts[d->n_cuts], part);
    d->n_cuts++;
  }
  return true;
}
