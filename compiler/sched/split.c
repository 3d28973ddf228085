/* Long reductions with few results: two stages, so that there is work for many threads.
 *
 * 1. Decided by sizes alone (of symbols: their hints; any cut is right for all sizes), so that results do not
 *    depend on the number of threads.
 * 2. Stage one reduces chunks: whole outer dims, then a part of the next one (with a predicate where the
 *    chunks do not fit evenly). Stage two is the loop itself, over the chunks.
 * 3. It also makes sums more exact, and is not left out by fuel.
 * 4. Positions (argmax, argmin) stay in one stage. */
#include "sched/inline.h"

enum {
  FEW_ROWS = 8,
  LONG_TOTAL = 256 * 1024, /* split below this many rows, from this many elements on */
  SOME_ROWS = 32,
  VERY_LONG_TOTAL = 4096 * 1024,
  COLUMNS_OF_ROW = 64, /* over leading dims a kernel takes about so many results at once */
  CHUNKS_MAX = 256,
  CHUNK_ELEMENTS = 16 * 1024,
};

struct chunks {
  int n_whole;   /* outer inner dims that stage one keeps */
  int64_t parts; /* of the next one; 1: not cut */
  tc_sym part_size;
};

/* Are all reduced dims before the kept ones? Then results lie next to each other in the operand. */
static bool reduces_leading(const struct tc_loop *loop) {
  const struct tc_node *node = loop->node;
  if (loop->product) return false; /* the sum's factors lie each in their own way */
  int64_t last = -1;
  for (int i = 1; i < node->attrs.n_ints; i++)
    if (tc_attr_int(&node->attrs, i) > last) last = tc_attr_int(&node->attrs, i);
  return loop->ndim > 0 && last < node->in[0]->meta.ndim - 1;
}

static bool wants_split(const struct tc_sched *s, const struct tc_loop *loop) {
  if (loop->kind != TC_LOOP_REDUCTION || loop->reduction == TC_RED_ARGMAX || loop->reduction == TC_RED_ARGMIN)
    return false;
  const tc_sym kept = tc_loops_numel(s->tab, loop->ndim, loop->sizes),
               reduced = tc_loops_numel(s->tab, loop->n_inner, loop->inner_sizes);
  if (!tc_sym_valid(kept) || !tc_sym_valid(reduced)) return false;
  const double results = (double)tc_sym_hint(kept), total = results * (double)tc_sym_hint(reduced);
  const double rows = reduces_leading(loop) ? results / COLUMNS_OF_ROW : results;
  return results > 0 &&
         ((rows < FEW_ROWS && total >= LONG_TOTAL) || (rows < SOME_ROWS && total >= VERY_LONG_TOTAL));
}

/* The number of parts of a dim: the divisor of `size` nearest above `wanted` (below twice it), else
 * `wanted`. */
static int64_t parts_of(int64_t size, int64_t wanted) {
  for (int64_t parts = wanted; parts < 2 * wanted && parts <= size; parts++)
    if (size % parts == 0) return parts;
  return wanted < size ? wanted : size;
}

static int64_t inner_hint(const struct tc_loop *loop, int i) { return tc_sym_hint(loop->inner_sizes[i]); }

static struct chunks plan_chunks(const struct tc_sched *s, const struct tc_loop *loop) {
  struct chunks c = {.parts = 1};
  int64_t total = 1, chunks = 1;
  for (int i = 0; i < loop->n_inner; i++) total *= inner_hint(loop, i);
  const int64_t wanted = total / CHUNK_ELEMENTS < CHUNKS_MAX ? total / CHUNK_ELEMENTS : CHUNKS_MAX;
  while (c.n_whole + 1 < loop->n_inner && loop->ndim + c.n_whole + 1 < TC_MAX_DIMS &&
         chunks * inner_hint(loop, c.n_whole) <= wanted)
    chunks *= inner_hint(loop, c.n_whole++);
  const tc_sym cut = loop->inner_sizes[c.n_whole];
  const int64_t size = tc_sym_hint(cut), more = (wanted + chunks - 1) / chunks;
  if (more > 1) c.parts = parts_of(size, more);
  const int64_t part_size = (size + c.parts - 1) / c.parts;
  c.parts = (size + part_size - 1) / part_size;
  c.part_size = tc_sym_div(s->tab, tc_sym_add(s->tab, cut, tc_sym_const(c.parts - 1)), tc_sym_const(c.parts));
  return c;
}

/* The value that changes nothing. */
static const struct tc_expr *identity(struct tc_sched *s, const struct tc_loop *loop) {
  struct tc_expr_table *t = s->loops->exprs;
  const tc_dtype dtype = loop->value->dtype;
  const bool floats = tc_dtype_is_float(dtype);
  switch (loop->reduction) {
    case TC_RED_PROD:
    case TC_RED_ALL: return tc_expr_int(t, dtype, 1);
    case TC_RED_MAX:
      return floats ? tc_expr_num(t, dtype, -__builtin_inf()) : tc_expr_int(t, dtype, INT64_MIN);
    case TC_RED_MIN:
      return floats ? tc_expr_num(t, dtype, __builtin_inf()) : tc_expr_int(t, dtype, INT64_MAX);
    default: return tc_expr_int(t, dtype, 0);
  }
}

/* Keeps every load as it is, at its new place. */
static const struct tc_expr *keep_load(struct tc_inliner *in, const struct tc_expr *load,
                                       const struct tc_index *at, const struct tc_expr *offset,
                                       const struct tc_expr *predicate) {
  return tc_loops_load(in->loops, in->loops->items.data[load->buffer], at, offset, predicate);
}

/* Stage one: dims are the chunks, then the loop's own. */
static struct tc_loop *partial_loop(struct tc_sched *s, const struct tc_loop *loop, const struct chunks *c) {
  tc_sym sizes[TC_MAX_DIMS];
  int n = 0;
  for (int i = 0; i < c->n_whole; i++) sizes[n++] = loop->inner_sizes[i];
  if (c->parts > 1) sizes[n++] = tc_sym_const(c->parts);
  for (int i = 0; i < loop->ndim; i++) sizes[n++] = loop->sizes[i];
  struct tc_loop *partial =
      tc_loops_add(s->loops, TC_LOOP_REDUCTION, loop->value->dtype, n, sizes, loop->node);
  if (!partial) return NULL;
  partial->reduction = loop->reduction;
  partial->product = loop->product;
  for (int i = c->n_whole; i < loop->n_inner; i++) {
    const bool cut = i == c->n_whole && c->parts > 1;
    const tc_sym size = cut ? c->part_size : loop->inner_sizes[i];
    partial->inner_sizes[partial->n_inner] = size;
    partial->inner_vars[partial->n_inner++] = tc_sym_index(s->tab, size);
  }
  return partial;
}

/* The loop's value at chunk variables: over partial's dims and inner dims. */
static const struct tc_expr *partial_value(struct tc_sched *s, const struct tc_loop *loop,
                                           const struct tc_loop *partial, const struct chunks *c) {
  struct tc_expr_table *t = s->loops->exprs;
  struct tc_inliner in = tc_inliner_of(s->loops, keep_load, NULL);
  const int n_chunk = c->n_whole + (c->parts > 1);
  struct tc_index at = {.n = loop->ndim + loop->n_inner};
  for (int i = 0; i < loop->ndim; i++) at.at[i] = partial->vars[n_chunk + i];
  for (int i = 0; i < c->n_whole; i++) at.at[loop->ndim + i] = partial->vars[i];
  for (int i = c->n_whole; i < loop->n_inner; i++)
    at.at[loop->ndim + i] = partial->inner_vars[i - c->n_whole];
  if (c->parts == 1) return tc_inline(&in, loop->value, loop->id, &at, NULL);
  tc_sym *cut = &at.at[loop->ndim + c->n_whole];
  *cut = tc_sym_add(s->tab, tc_sym_mul(s->tab, partial->vars[c->n_whole], c->part_size), *cut);
  const struct tc_expr *inside =
      tc_expr_2(t, TC_E_LT, tc_expr_index(t, *cut), tc_expr_index(t, loop->inner_sizes[c->n_whole]));
  if (inside && inside->op == TC_E_CONST) return tc_inline(&in, loop->value, loop->id, &at, NULL);
  const struct tc_expr *value = inside ? tc_inline(&in, loop->value, loop->id, &at, inside) : NULL;
  return tc_expr_3(t, TC_E_SELECT, inside, value, identity(s, loop));
}

static tc_status split(struct tc_sched *s, struct tc_loop *loop) {
  const struct chunks c = plan_chunks(s, loop);
  const int n_chunk = c.n_whole + (c.parts > 1);
  if (!n_chunk || loop->ndim + n_chunk > TC_MAX_DIMS) return TC_OK;
  struct tc_loop *partial = partial_loop(s, loop, &c);
  if (!partial) return tc_sched_failed(s);
  partial->value = partial_value(s, loop, partial, &c);
  if (!partial->value) return tc_sched_failed(s);
  struct tc_index at = {.n = n_chunk + loop->ndim};
  loop->n_inner = n_chunk;
  for (int i = 0; i < n_chunk; i++) {
    loop->inner_sizes[i] = partial->sizes[i];
    at.at[i] = loop->inner_vars[i] = tc_sym_index(s->tab, partial->sizes[i]);
  }
  for (int i = 0; i < loop->ndim; i++) at.at[n_chunk + i] = loop->vars[i];
  loop->value = tc_loops_load(s->loops, partial, &at, NULL, NULL);
  return loop->value ? TC_OK : tc_sched_failed(s);
}

tc_status tc_sched_split(struct tc_sched *s) {
  const int n = (int)s->loops->items.len;
  for (int i = 0; i < n; i++) {
    if (!wants_split(s, tc_loop_at(s, i))) continue;
    const tc_status status = split(s, tc_loop_at(s, i));
    if (status != TC_OK) return status;
  }
  return TC_OK;
}
