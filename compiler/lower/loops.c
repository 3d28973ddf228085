/* The table of loops: making loops, interning index tuples, and text. */
#include "lower/loops.h"

#include <string.h>

#include "base/strbuf.h"
#include "lower/walk.h"

struct tc_loops *tc_loops_new(struct tc_graph *g) {
  struct tc_loops *loops = TC_NEW(tc_arena_alloc(g->arena), struct tc_loops);
  if (!loops) return NULL;
  loops->arena = g->arena;
  loops->tab = g->tab;
  loops->graph = g;
  loops->exprs = tc_expr_table_new(g->arena);
  loops->outputs = TC_NEW_ARRAY(tc_arena_alloc(g->arena), struct tc_view, g->outputs.len + 1);
  return loops->exprs && loops->outputs ? loops : NULL;
}

tc_sym tc_loops_var(struct tc_loops *loops, tc_sym size) {
  return tc_sym_is(size, 1) ? tc_sym_const(0) : tc_sym_index(loops->tab, size);
}

tc_sym tc_loops_numel(struct tc_symtab *tab, int n, const tc_sym *sizes) {
  tc_sym product = tc_sym_const(1);
  for (int i = 0; i < n; i++) product = tc_sym_mul(tab, product, sizes[i]);
  return product;
}

struct tc_loop *tc_loops_add(struct tc_loops *loops, enum tc_loop_kind kind, tc_dtype dtype, int ndim,
                             const tc_sym *sizes, const struct tc_node *node) {
  struct tc_loop *loop = TC_NEW(tc_arena_alloc(loops->arena), struct tc_loop);
  if (!loop) return NULL;
  loop->kind = kind;
  loop->id = (int)loops->items.len;
  loop->dtype = dtype;
  loop->node = node;
  loop->row_dim = loop->col_dim = -1;
  for (int i = 0; i < ndim; i++) {
    if (tc_sym_is(sizes[i], 1)) continue;
    loop->sizes[loop->ndim] = sizes[i];
    loop->vars[loop->ndim] = tc_sym_index(loops->tab, sizes[i]);
    if (!tc_sym_valid(loop->vars[loop->ndim++])) return NULL;
  }
  return tc_vec_push(tc_arena_alloc(loops->arena), &loops->items, loop) ? loop : NULL;
}

static uint64_t index_hash(const struct tc_index *index) {
  uint64_t h = tc_hash_u64(tc_hash_u64((uint64_t)index->n, index->free.bits), index->linear.bits);
  for (int i = 0; i < index->n; i++) h = tc_hash_u64(h, index->at[i].bits);
  return h;
}

static bool index_equal(const struct tc_index *a, const struct tc_index *b) {
  return a->n == b->n && tc_sym_same(a->free, b->free) && tc_sym_same(a->linear, b->linear) &&
         !memcmp(a->at, b->at, sizeof *a->at * (size_t)a->n);
}

int tc_loops_index(struct tc_loops *loops, const struct tc_index *index) {
  const struct tc_alloc *alloc = tc_arena_alloc(loops->arena);
  for (int i = 0; i < index->n; i++)
    if (!tc_sym_valid(index->at[i])) return -1;
  const uint64_t hash = index_hash(index);
  size_t at = tc_hash_index_first(&loops->by_index, hash);
  for (int i; (i = tc_hash_index_next(&loops->by_index, hash, &at)) >= 0;)
    if (index_equal(&loops->indices.data[i], index)) return i;
  const int fresh = (int)loops->indices.len;
  return tc_vec_push(alloc, &loops->indices, *index) &&
                 tc_hash_index_add(alloc, &loops->by_index, hash, fresh)
             ? fresh
             : -1;
}

const struct tc_expr *tc_loops_load(struct tc_loops *loops, const struct tc_loop *loop,
                                    const struct tc_index *index, const struct tc_expr *offset,
                                    const struct tc_expr *predicate) {
  const int id = tc_loops_index(loops, index);
  if (id < 0) return NULL;
  const struct tc_expr load = {.op = TC_E_LOAD,
                               .dtype = tc_compute_dtype(loop->dtype),
                               .buffer = loop->id,
                               .address = tc_sym_const(id),
                               .args = {offset, predicate}};
  return tc_expr_make(loops->exprs, &load);
}

/* --- text --- */

static void print_dims(struct tc_strbuf *out, int n, const tc_sym *vars, const tc_sym *sizes) {
  for (int i = 0; i < n; i++) {
    tc_strbuf_puts(out, i ? ", " : "");
    tc_sym_print(out, vars[i]);
    tc_strbuf_puts(out, " < ");
    tc_sym_print(out, sizes[i]);
  }
}

static void print_view(struct tc_strbuf *out, const struct tc_loops *loops, const struct tc_view *view) {
  const struct tc_index *index = &loops->indices.data[view->index];
  tc_strbuf_printf(out, "b%d[", view->loop);
  for (int i = 0; i < index->n; i++) {
    tc_strbuf_puts(out, i ? ", " : "");
    tc_sym_print(out, index->at[i]);
  }
  tc_strbuf_puts(out, "]");
}

static void print_loop(struct tc_strbuf *out, const struct tc_loops *loops, struct tc_walk *walk,
                       const struct tc_loop *loop) {
  static const char *const kinds[] = {"input", "pointwise", "reduction", "gemm"};
  tc_strbuf_printf(out, "  b%d = %s %s(", loop->id, kinds[loop->kind], tc_dtype_name(loop->dtype));
  print_dims(out, loop->ndim, loop->vars, loop->sizes);
  tc_strbuf_puts(out, ")");
  if (loop->kind == TC_LOOP_REDUCTION) tc_strbuf_printf(out, " %s", tc_reduction_name(loop->reduction));
  if (loop->n_inner) {
    tc_strbuf_puts(out, " over (");
    print_dims(out, loop->n_inner, loop->inner_vars, loop->inner_sizes);
    tc_strbuf_puts(out, ")");
  }
  if (loop->value) {
    tc_strbuf_puts(out, ": ");
    tc_expr_print(out, loop->value);
    tc_strbuf_puts(out, "\n");
    if (!tc_walk_begin(walk, TC_WALK_POST, tc_expr_count(loops->exprs)) || !tc_walk_from(walk, loop->value))
      out->failed = true;
    for (const struct tc_expr *e; (e = tc_walk_next(walk));) {
      if (e->op != TC_E_LOAD) continue;
      tc_strbuf_printf(out, "    at %lld: ", (long long)tc_sym_value(e->address));
      print_view(out, loops, &(struct tc_view){.loop = e->buffer, .index = (int)tc_sym_value(e->address)});
      tc_strbuf_puts(out, "\n");
    }
    if (walk->failed) out->failed = true;
    return;
  }
  if (loop->kind == TC_LOOP_GEMM) {
    tc_strbuf_puts(out, ": ");
    print_view(out, loops, &loop->a);
    tc_strbuf_puts(out, " x ");
    print_view(out, loops, &loop->b);
  }
  tc_strbuf_puts(out, "\n");
}

void tc_loops_print(struct tc_strbuf *out, const struct tc_loops *loops) {
  struct tc_walk walk = {.alloc = tc_arena_alloc(loops->arena)};
  tc_strbuf_puts(out, "loops {\n");
  for (size_t i = 0; i < loops->items.len; i++) print_loop(out, loops, &walk, loops->items.data[i]);
  for (size_t i = 0; i < loops->graph->outputs.len; i++) {
    tc_strbuf_puts(out, "  return (");
    print_dims(out, loops->outputs[i].ndim, loops->outputs[i].vars, loops->outputs[i].sizes);
    tc_strbuf_puts(out, "): ");
    print_view(out, loops, &loops->outputs[i]);
    tc_strbuf_puts(out, "\n");
  }
  tc_strbuf_puts(out, "}\n");
}
