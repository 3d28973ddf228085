/* What tc_guards_seal does: which sources a check reads, which of them are roots or kept, and where each of
 * them lies; the lists of children and of facts; room for the program. The invariants stand in program.h. */
#include "base/hash.h"
#include "guards/program.h"

/* Does the check of it start without another source's check: roots, and what lies in pinned objects and in
 * the function. */
static bool is_top(const struct tc_guards *g, const struct tc_source *s) {
  if (!tc_guards_is_inner(s))
    return s->kind == TC_SOURCE_FUNCTION || s->kind == TC_SOURCE_ARG || s->kind == TC_SOURCE_OBJECT;
  const enum tc_source_kind parent = g->sources.data[s->parent].kind;
  return parent == TC_SOURCE_FUNCTION || parent == TC_SOURCE_OBJECT;
}
static bool is_root(const struct tc_guards *g, const struct tc_source *s) {
  if (s->kind == TC_SOURCE_FUNCTION || s->kind == TC_SOURCE_ARG) return true;
  return s->kind == TC_SOURCE_UPVALUE && g->sources.data[s->parent].kind == TC_SOURCE_FUNCTION;
}

static void keep_operand(struct tc_source *s) {
  s->needed = true;
  if (!tc_guards_is_anchored(s)) s->kept = 1; /* its place comes later */
}

/* Which sources a check reads, from the facts down to the roots: parents and operands come before what rests
 * on them. */
static void mark_needed(struct tc_guards *g) {
  struct tc_source *sources = g->sources.data;
  for (size_t i = 0; i < g->facts.len; i++) {
    const struct tc_fact *fact = &g->facts.data[i];
    if (fact->source < 0) continue;
    sources[fact->source].needed = true;
    if (!tc_guards_is_pair(fact->kind)) continue;
    keep_operand(&sources[fact->source]);
    keep_operand(&sources[fact->other]);
  }
  for (size_t i = g->sources.len; i-- > 0;) {
    struct tc_source *s = &sources[i];
    if (!s->needed) continue;
    if (tc_guards_is_inner(s)) sources[s->parent].needed = true;
    if (s->kind != TC_SOURCE_EXPR) continue;
    s->kept = 1;
    keep_operand(&sources[s->parent]);
    if (s->integer >= 0) keep_operand(&sources[s->integer]);
  }
}

static void count_lists(struct tc_guards *g) {
  for (size_t i = 0; i < g->sources.len; i++) {
    struct tc_source *s = &g->sources.data[i];
    if (!s->needed) continue;
    if (is_top(g, s))
      g->n_top++;
    else if (tc_guards_is_inner(s))
      g->sources.data[s->parent].n_children++;
    if (s->kind == TC_SOURCE_EXPR) g->n_late++;
  }
  for (size_t i = 0; i < g->facts.len; i++) {
    const struct tc_fact *fact = &g->facts.data[i];
    if (tc_guards_is_pair(fact->kind))
      g->n_late++;
    else if (fact->source >= 0)
      g->sources.data[fact->source].n_facts++;
  }
}

static void fill_lists(struct tc_guards *g) {
  int children = g->n_top, facts = 0, top = 0, late = 0;
  for (size_t i = 0; i < g->sources.len; i++) {
    struct tc_source *s = &g->sources.data[i];
    s->first_child = children;
    s->first_fact = facts;
    children += s->n_children;
    facts += s->n_facts;
    s->n_children = s->n_facts = 0; /* counted again below */
  }
  for (size_t i = 0; i < g->sources.len; i++) {
    struct tc_source *s = &g->sources.data[i],
                     *parent = tc_guards_is_inner(s) ? &g->sources.data[s->parent] : NULL;
    if (!s->needed) continue;
    if (is_top(g, s))
      s->position = top++;
    else if (parent)
      s->position = parent->first_child + parent->n_children++;
    else {
      if (s->kind == TC_SOURCE_EXPR) g->late[late++] = (int)i;
      continue;
    }
    g->children[s->position] = (int)i;
  }
  for (size_t i = 0; i < g->facts.len; i++) {
    const struct tc_fact *fact = &g->facts.data[i];
    if (tc_guards_is_pair(fact->kind))
      g->late[late++] = ~(int)i;
    else if (fact->source >= 0)
      g->own_facts[g->sources.data[fact->source].first_fact + g->sources.data[fact->source].n_facts++] =
          (int)i;
  }
}

/* Does one of its facts push values to be tested? */
static bool pushes(const struct tc_source *s) {
  return s->facts &
         (1u << TC_GUARD_SEQUENCE | 1u << TC_GUARD_KEYS | 1u << TC_GUARD_METATABLE | 1u << TC_GUARD_CODE);
}

/* Gives roots and kept values their places. An argument stays where it is, unless something else rests on
 * it. */
static void place_values(struct tc_guards *g) {
  for (size_t i = 0; i < g->sources.len; i++) {
    struct tc_source *s = &g->sources.data[i];
    if (tc_guards_is_anchored(s)) s->place = s->number;
    if (!s->needed || !is_root(g, s)) continue;
    s->moved = s->kind == TC_SOURCE_UPVALUE || s->n_children || s->kept || pushes(s);
    if (!s->moved) continue;
    g->roots[g->n_roots++] = (int)i;
    s->place = g->n_anchors + g->n_roots;
    s->kept = 0;
  }
  for (size_t i = 0; i < g->sources.len; i++)
    if (g->sources.data[i].needed && g->sources.data[i].kept)
      g->sources.data[i].kept = g->n_anchors + g->n_roots + ++g->n_kept;
}

/* Leaves before what has children, and of them first the arguments that stay where they are. */
static void sort_top(struct tc_guards *g) {
  int at = 0, *sorted = g->path; /* which is long enough, and free now */
  for (int class = 0; class < 3; class ++) {
    for (int i = 0; i < g->n_top; i++) {
      const struct tc_source *s = &g->sources.data[g->children[i]];
      if ((s->n_children ? 2 : s->place ? 1 : 0) == class) sorted[at++] = g->children[i];
    }
  }
  for (int i = 0; i < g->n_top; i++) g->sources.data[g->children[i] = sorted[i]].position = i;
}

/* The most values that a walk has above roots and kept values: the children of every table on a path. */
static int walk_stack(struct tc_guards *g, int *below) {
  int deepest = 0;
  for (size_t i = g->sources.len; i-- > 0;) {
    const struct tc_source *s = &g->sources.data[i];
    if (!s->needed || s->kind == TC_SOURCE_EXPR || s->kind == TC_SOURCE_CONSTANT) continue;
    const int own = below[i] + 1; /* its children's, if any, and itself */
    if (is_top(g, s)) {
      deepest = own > deepest ? own : deepest;
      continue;
    }
    const int with_siblings = own + g->sources.data[s->parent].n_children;
    if (with_siblings > below[s->parent]) below[s->parent] = with_siblings;
  }
  return deepest;
}

static bool demands_same(const struct tc_fact_tensor *a, const struct tc_fact_tensor *b) {
  const size_t bytes = sizeof *a->sizes * (size_t)a->ndim;
  return a->dtype == b->dtype && a->ndim == b->ndim && a->device == b->device &&
         !memcmp(a->sizes, b->sizes, bytes) && !memcmp(a->strides, b->strides, bytes);
}

/* Finds the first among tensors of fixed sizes that demand the same: of many parameters, few shapes. */
static bool find_alike(struct tc_guards *g) {
  struct tc_hash_index index = {0};
  for (size_t i = 0; i < g->facts.len; i++) {
    struct tc_fact_tensor *tensor = g->facts.data[i].kind == TC_GUARD_TENSOR ? g->facts.data[i].tensor : NULL;
    if (!tensor || tensor->dims) continue;
    const size_t bytes = sizeof *tensor->sizes * (size_t)tensor->ndim;
    const uint64_t hash =
        tc_hash_bytes(tc_hash_bytes((uint64_t)tensor->dtype, tensor->sizes, bytes), tensor->strides, bytes);
    size_t at = tc_hash_index_first(&index, hash);
    tensor->like = tensor;
    for (int k; tensor->like == tensor && (k = tc_hash_index_next(&index, hash, &at)) >= 0;)
      if (demands_same(tensor, g->facts.data[k].tensor)) tensor->like = g->facts.data[k].tensor;
    if (tensor->like == tensor && !tc_hash_index_add(tc_arena_alloc(g->arena), &index, hash, (int)i))
      return false;
  }
  return true;
}

static bool lay_out(struct tc_guards *g) {
  const struct tc_alloc *alloc = tc_arena_alloc(g->arena);
  const size_t n = g->sources.len + 1, n_facts = g->facts.len + 1;
  /* What an earlier sealing made. */
  g->n_top = g->n_roots = g->n_kept = g->n_late = 0;
  for (size_t i = 0; i < g->sources.len; i++) {
    struct tc_source *s = &g->sources.data[i];
    s->needed = s->moved = s->ready = false;
    s->place = s->kept = s->position = s->first_child = s->n_children = s->first_fact = s->n_facts = 0;
  }
  mark_needed(g);
  count_lists(g);
  g->most_ops = (int)(3 * n + 2 * n_facts +
                      3); /* reading, keeping and popping; facts, tensors' twice; the move; the end */
  g->ops = tc_arena_bytes(g->arena,
                          sizeof *g->ops * (size_t)g->most_ops); /* not cleared: most of it stays untouched */
  g->children = TC_NEW_ARRAY(alloc, int, n);
  g->own_facts = TC_NEW_ARRAY(alloc, int, n_facts);
  g->roots = TC_NEW_ARRAY(alloc, int, n);
  g->late = TC_NEW_ARRAY(alloc, int, n + n_facts);
  g->late_done = TC_NEW_ARRAY(alloc, bool, n + n_facts);
  g->path = TC_NEW_ARRAY(alloc, int, n);
  g->sizes = TC_NEW_ARRAY(alloc, int64_t, (size_t)g->n_sizes + 1);
  int *below = TC_NEW_ARRAY(alloc, int, n);
  if (!g->ops || !g->children || !g->own_facts || !g->roots || !g->late || !g->late_done || !g->path ||
      !g->sizes || !below)
    return false;
  if (!find_alike(g)) return false;
  fill_lists(g);
  place_values(g);
  sort_top(g);
  const int stack = g->n_roots + g->n_kept + walk_stack(g, below) + TC_GUARDS_SPARE_STACK + TC_MAX_EXPR_NODES;
  return lua_checkstack(g->thread, stack);
}

tc_status tc_guards_seal(struct tc_guards *g, struct tc_error *err) {
  if (g->failed || !lay_out(g)) return tc_fail(err, TC_NOMEM, "guards", "out of memory for the guards");
  tc_guards_emit(g);
  return TC_OK;
}
