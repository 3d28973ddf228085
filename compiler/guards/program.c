/* The program of a check: made by a walk over the lists of layout.c, and anew when their order changes. It
 * allocates nothing, and needs no more C stack for a longer path. */
#include <math.h>

#include "guards/program.h"

static struct tc_guard_op *emit(struct tc_guards *g, enum tc_guard_read read, int at) {
  struct tc_guard_op *op = &g->ops[g->n_ops++];
  *op = (struct tc_guard_op){.read = (uint8_t)read, .test = TC_TEST_NOTHING, .at = at};
  return op;
}

static enum tc_guard_test test_of(const struct tc_fact *fact) {
  switch (fact->kind) {
    case TC_GUARD_TYPE:
    case TC_GUARD_ABSENT: return TC_TEST_TYPE;
    case TC_GUARD_EQUAL:
      if (fact->type == LUA_TSTRING) return TC_TEST_STRING;
      if (fact->type == LUA_TBOOLEAN) return TC_TEST_BOOLEAN;
      return fact->is_integer ? TC_TEST_INTEGER : TC_TEST_FLOAT;
    case TC_GUARD_IDENTITY: return TC_TEST_IDENTITY;
    case TC_GUARD_METATABLE: return TC_TEST_METATABLE;
    case TC_GUARD_LENGTH: return TC_TEST_LENGTH;
    case TC_GUARD_SEQUENCE: return TC_TEST_SEQUENCE;
    case TC_GUARD_KEYS: return TC_TEST_KEYS;
    case TC_GUARD_TENSOR: return fact->tensor->dims ? TC_TEST_SIZES : TC_TEST_TENSOR;
    case TC_GUARD_NUMBER: return TC_TEST_NUMBER;
    case TC_GUARD_DEFINED: return TC_TEST_DEFINED;
    case TC_GUARD_SIZE: return TC_TEST_SIZE;
    case TC_GUARD_SCALAR: return TC_TEST_SCALAR;
    case TC_GUARD_SAME: return TC_TEST_SAME;
    case TC_GUARD_DISTINCT: return TC_TEST_DISTINCT;
    case TC_GUARD_CODE: return TC_TEST_CODE;
    case TC_GUARD_ONE_VARIABLE: return TC_TEST_ONE_VARIABLE;
    case TC_GUARD_TWO_VARIABLES: return TC_TEST_TWO_VARIABLES;
    case TC_GUARD_SHAPE: return TC_TEST_SHAPE;
    case TC_GUARD_ARGS: return TC_TEST_ARGS;
    case TC_GUARD_DEFAULT_DTYPE: return TC_TEST_DEFAULT_DTYPE;
    case TC_GUARD_KIND_COUNT: break;
  }
  return TC_TEST_NOTHING;
}

/* Are these the bits of a float that an integer may convert to? */
static bool is_whole(int64_t bits) {
  lua_Number number;
  memcpy(&number, &bits, sizeof number);
  return number == floor(number); /* infinities too: it costs nothing */
}

static void set_test(struct tc_guard_op *op, const struct tc_guards *g, int item) {
  const struct tc_fact *fact = &g->facts.data[item];
  op->test = (uint8_t)test_of(fact);
  op->fact = item + 1;
  op->type = (int8_t)fact->type;
  if (op->test == TC_TEST_FLOAT) op->type = is_whole(fact->integer);
  if (op->test == TC_TEST_NUMBER) op->type = fact->is_integer;
  op->other = op->test == TC_TEST_TENSOR ? fact->tensor->input : fact->other;
  if (fact->kind == TC_GUARD_TENSOR)
    op->expected.tensor = op->test == TC_TEST_TENSOR ? fact->tensor->like : fact->tensor;
  else if (fact->kind != TC_GUARD_SHAPE && fact->pointer)
    op->expected.pointer = fact->pointer;
  else
    op->expected.integer = fact->integer;
}

/* The facts of a source, the first together with its reading, `op`. */
static void emit_facts(struct tc_guards *g, const struct tc_source *s, struct tc_guard_op *op) {
  const int at = op->at;
  for (int i = 0; i < s->n_facts; i++) {
    if (i) op = emit(g, TC_READ_NOTHING, at);
    set_test(op, g, g->own_facts[s->first_fact + i]);
  }
}

static int operand_place(const struct tc_source *s) { return s->kept ? s->kept : s->place; }

/* How a value is read from the one above it. */
static enum tc_guard_read read_of(const struct tc_source *s) {
  switch (s->kind) {
    case TC_SOURCE_UPVALUE: return TC_READ_UPVALUE;
    case TC_SOURCE_DIM: return TC_READ_DIM;
    case TC_SOURCE_LENGTH: return TC_READ_LENGTH;
    default: return s->number ? TC_READ_KEY : TC_READ_INTEGER;
  }
}

static struct tc_guard_op *emit_read(struct tc_guards *g, struct tc_source *s, int *walk) {
  struct tc_guard_op *op;
  if (s->moved || s->kind == TC_SOURCE_OBJECT) return emit(g, TC_READ_PLACE, s->place);
  if (s->kind == TC_SOURCE_FUNCTION) return emit(g, TC_READ_FUNCTION, 0);
  if (s->kind == TC_SOURCE_ARG) {
    op = emit(g, TC_READ_ARG, 0);
    op->key = s->number;
    return op;
  }
  s->place = ++*walk;
  op = emit(g, read_of(s), s->place);
  op->parent = g->sources.data[s->parent].place;
  op->key = op->read == TC_READ_INTEGER ? (int)s->integer : s->number;
  return op;
}

static void emit_source(struct tc_guards *g, struct tc_source *s, int *walk) {
  struct tc_guard_op *op = emit_read(g, s, walk);
  const bool reads = op->read == TC_READ_KEY || op->read == TC_READ_INTEGER || op->read == TC_READ_UPVALUE ||
                     op->read == TC_READ_DIM || op->read == TC_READ_LENGTH;
  if (!s->n_facts && !reads) g->n_ops--;
  emit_facts(g, s, op);
  s->ready = true;
  if (!s->kept) return;
  if (s->n_facts) op = emit(g, TC_READ_NOTHING, s->place);
  op->test = TC_TEST_KEEP;
  op->other = s->kept;
}

/* A source and all below it. The way back up is in the sources themselves: g->path holds the next child of
 * each level. */
static void emit_tree(struct tc_guards *g, int item, int walk) {
  const int base = walk;
  int level = 0, *next = g->path;
  emit_source(g, &g->sources.data[item], &walk);
  next[0] = 0;
  while (level >= 0) {
    struct tc_source *s = &g->sources.data[item];
    if (next[level] < s->n_children) {
      item = g->children[s->first_child + next[level]++];
      emit_source(g, &g->sources.data[item], &walk);
      next[++level] = 0;
      continue;
    }
    if (s->n_children && level) {
      walk = s->place;
      emit(g, TC_READ_POP, walk);
    }
    item = s->parent;
    level--;
  }
  if (walk > base) emit(g, TC_READ_POP, base);
}

static bool is_ready(const struct tc_source *s) { return s->ready || tc_guards_is_anchored(s); }

/* Expressions and facts on pairs whose operands are there. */
static void emit_late(struct tc_guards *g) {
  for (int i = 0; i < g->n_late; i++) {
    if (g->late_done[i]) continue;
    const int item = g->late[i];
    const struct tc_fact *pair = item < 0 ? &g->facts.data[~item] : NULL;
    struct tc_source *s = &g->sources.data[pair ? pair->source : item];
    const struct tc_source *a = pair ? s : &g->sources.data[s->parent];
    const int right = pair ? pair->other : (int)s->integer;
    const struct tc_source *b = right >= 0 ? &g->sources.data[right] : a;
    if (!is_ready(a) || !is_ready(b)) continue;
    g->late_done[i] = true;
    if (pair) {
      struct tc_guard_op *op = emit(g, TC_READ_PLACE, operand_place(a));
      set_test(op, g, ~item);
      op->other = operand_place(b);
      continue;
    }
    struct tc_guard_op *op = emit(g, TC_READ_EXPR, s->kept);
    op->key = s->number;
    op->parent = operand_place(a);
    op->other = operand_place(b);
    if (s->n_facts) emit_facts(g, s, emit(g, TC_READ_NOTHING, s->kept));
    s->ready = true;
  }
}

static void emit_sourceless(struct tc_guards *g, enum tc_guard_kind kind) {
  for (size_t i = 0; i < g->facts.len; i++) {
    const struct tc_fact *fact = &g->facts.data[i];
    if (fact->kind != kind) continue;
    struct tc_guard_op *op = emit(g, TC_READ_NOTHING, 0);
    set_test(op, g, (int)i);
    if (kind == TC_GUARD_TENSOR)
      op->test = fact->tensor->dims && fact->tensor->dims->late_strides ? TC_TEST_STRIDES : TC_TEST_NOTHING;
    if (op->test == TC_TEST_NOTHING) g->n_ops--;
  }
}

/* The code of an operation by what it reads and tests. */
static enum tc_guard_code code_of(const struct tc_guard_op *op) {
  static const uint8_t of_key[] = {
      [TC_TEST_TYPE] = TC_CODE_KEY_TYPE,       [TC_TEST_BOOLEAN] = TC_CODE_KEY_BOOLEAN,
      [TC_TEST_INTEGER] = TC_CODE_KEY_INTEGER, [TC_TEST_FLOAT] = TC_CODE_KEY_FLOAT,
      [TC_TEST_STRING] = TC_CODE_KEY_STRING,   [TC_TEST_IDENTITY] = TC_CODE_KEY_IDENTITY,
      [TC_TEST_TENSOR] = TC_CODE_KEY_TENSOR,
  };
  if (op->read == TC_READ_KEY) return op->test < sizeof of_key ? of_key[op->test] : TC_CODE_OTHER;
  if (op->read == TC_READ_INTEGER && op->test == TC_TEST_TYPE) return TC_CODE_INTEGER_TYPE;
  if (op->read == TC_READ_NOTHING && op->test == TC_TEST_METATABLE && op->at) return TC_CODE_METATABLE;
  return op->read == TC_READ_POP ? TC_CODE_POP : TC_CODE_OTHER;
}

void tc_guards_emit(struct tc_guards *g) {
  const int walk = g->n_anchors + g->n_roots + g->n_kept;
  bool has_moved = false, inside = false;
  g->n_ops = 0;
  for (size_t i = 0; i < g->sources.len; i++) g->sources.data[i].ready = false;
  memset(g->late_done, 0, sizeof *g->late_done * (size_t)g->n_late);
  emit_sourceless(g, TC_GUARD_ARGS);
  for (int i = 0; i <= g->n_top; i++) {
    struct tc_source *s = i < g->n_top ? &g->sources.data[g->children[i]] : NULL;
    if (!has_moved && (!s || s->place || tc_guards_is_inner(s)) && (s || g->n_late)) {
      emit(g, TC_READ_MOVE, 0);
      has_moved = true;
    }
    if (!inside && (!s || s->n_children)) {
      emit_late(g);
      inside = true;
    }
    if (s) emit_tree(g, g->children[i], walk);
  }
  emit_late(g);
  emit_sourceless(g, TC_GUARD_DEFAULT_DTYPE);
  emit_sourceless(g, TC_GUARD_TENSOR);
  emit_sourceless(g, TC_GUARD_SHAPE);
  for (int i = 0; i < g->n_ops; i++) g->ops[i].code = (uint8_t)code_of(&g->ops[i]);
  emit(g, TC_READ_NOTHING, 0)->code = TC_CODE_END;
}

/* --- the order --- */

/* What is in front: leaves before what has children, those that failed more often first, arguments that stay
 * on their stack before others. */
static bool goes_before(const struct tc_source *a, const struct tc_source *b, bool top) {
  if (top && (a->n_children > 0) != (b->n_children > 0)) return a->n_children == 0;
  if (a->fails != b->fails) return a->fails > b->fails;
  return top && a->place == 0 && b->place != 0;
}

/* Brings the source forward among its siblings; did it move? */
static bool bring_forward(struct tc_guards *g, struct tc_source *s, int first, bool top) {
  const int item = g->children[s->position], before = s->position;
  while (s->position > first) {
    struct tc_source *other = &g->sources.data[g->children[s->position - 1]];
    if (!goes_before(s, other, top)) break;
    g->children[s->position] = g->children[s->position - 1];
    other->position = s->position--;
  }
  g->children[s->position] = item;
  return s->position != before;
}

void tc_guards_note_failure(struct tc_guards *g, int item) {
  struct tc_fact *fact = &g->facts.data[item];
  if (fact->source < 0 || tc_guards_is_pair(fact->kind) || fact->fails == UINT32_MAX) return;
  fact->fails++;
  struct tc_source *s = &g->sources.data[fact->source];
  int *own = g->own_facts + s->first_fact, at = 0;
  while (own[at] != item) at++;
  const int before = at;
  for (; at && g->facts.data[own[at - 1]].fails < g->facts.data[item].fails; at--) own[at] = own[at - 1];
  own[at] = item;

  bool moved = at != before;
  while (s->kind != TC_SOURCE_EXPR && s->kind != TC_SOURCE_CONSTANT) {
    const bool top = s->position < g->n_top;
    s->fails++;
    moved |= bring_forward(g, s, top ? 0 : g->sources.data[s->parent].first_child, top);
    if (top) break;
    s = &g->sources.data[s->parent];
  }
  if (moved) tc_guards_emit(g);
}
