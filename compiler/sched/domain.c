/* The loops of a kernel: which dims are outer and which inner, and how many lanes an item takes.
 *
 * 1. dims.c orders the dims and chooses the one along which vectors lie; here they become loops.
 * 2. Decisions rest on sizes and on the vector width alone, never on the number of threads. */
#include "sched/draft.h"

enum {
  FEW_ITEMS = 64, /* rows below this count are cut into blocks, if they are long */
  LONG_ROW = 2048,
  BLOCKS_WANTED = 256,
  BLOCK_MIN = 1024,
  BLOCK_MAX = 16384,
  BLOCK_REGISTERS = 4, /* vectors that a generator keeps side by side */
  ENOUGH_ITEMS = 32,
  LANE_BYTES = 4,
};

static void put(struct tc_kernel_dim *dims, int *n, const struct tc_draft_dim *dim) {
  dims[(*n)++] = (struct tc_kernel_dim){dim->var, dim->size};
}

static int64_t round_up(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

/* Without reduced dims: rows along the vector dim, or blocks of it where rows are few or would be short. */
static void flat_loops(struct tc_draft *d, int vector, int lanes) {
  int64_t rows = 1;
  for (int i = 0; i < d->n_dims; i++)
    if (i != vector) rows *= tc_sym_hint(d->dims[i].size);
  const int64_t row = tc_sym_hint(d->dims[vector].size);
  bool tiny_inside = false;
  for (int i = 0; i < d->n_dims; i++)
    tiny_inside |= i != vector && tc_draft_stride_key(d, i) < tc_draft_stride_key(d, vector);
  d->split_inner = d->n_dims == 1;
  d->lanes = !d->split_inner && (tiny_inside || (rows < FEW_ITEMS && row >= LONG_ROW)) ? TC_LANES_OUTER
                                                                                       : TC_LANES_INNER;
  const bool outer_lanes = d->lanes == TC_LANES_OUTER;
  for (int i = 0; i < d->n_dims; i++) {
    if (i == vector) continue;
    const bool tiny =
        tiny_inside && outer_lanes && tc_draft_stride_key(d, i) < tc_draft_stride_key(d, vector);
    put(tiny ? d->inner : d->outer, tiny ? &d->n_inner : &d->n_outer, &d->dims[i]);
  }
  put(outer_lanes ? d->outer : d->inner, outer_lanes ? &d->n_outer : &d->n_inner, &d->dims[vector]);
  if (!outer_lanes) return;
  const int64_t wanted = round_up(rows * row / BLOCKS_WANTED + 1, lanes);
  const int64_t least = round_up(BLOCK_MIN, lanes);
  d->block = wanted < least ? least : wanted > BLOCK_MAX ? BLOCK_MAX : wanted;
  if (d->n_inner) d->block = lanes;
}

/* Several vectors side by side read whole lines and pages, where enough items are left. */
static int64_t lanes_block(const struct tc_draft *d, int vector, int lanes) {
  int64_t rows = 1, size = tc_sym_hint(d->dims[vector].size), block = lanes;
  for (int i = 0; i < d->n_dims; i++)
    if (i != vector && !d->dims[i].reduced) rows *= tc_sym_hint(d->dims[i].size);
  while (block < BLOCK_REGISTERS * lanes && block * 2 <= size && rows * (size / (block * 2)) >= ENOUGH_ITEMS)
    block *= 2;
  return block;
}

/* A product's tile says how many vectors; no more than there are, and one of them if there is nothing. */
static int64_t product_block(const struct tc_draft *d, int vector, int lanes) {
  const int64_t wanted = tc_product_row(d->product)->columns * (int64_t)lanes,
                size = tc_sym_hint(d->dims[vector].size);
  const int64_t most = size > 0 ? round_up(size, lanes) : lanes;
  return wanted < most ? wanted : most;
}

static void row_loops(struct tc_draft *d, int vector, int lanes) {
  d->lanes = d->dims[vector].reduced ? TC_LANES_INNER : TC_LANES_OUTER;
  for (int i = 0; i < d->n_dims; i++)
    put(d->dims[i].reduced ? d->inner : d->outer, d->dims[i].reduced ? &d->n_inner : &d->n_outer,
        &d->dims[i]);
  if (d->lanes == TC_LANES_OUTER)
    d->block = d->product ? product_block(d, vector, lanes) : lanes_block(d, vector, lanes);
}

/* --- short rows for stages --- */

enum { STAGE_ROW_MIN = 256, STAGE_ROW_MAX = 1024 }; /* elements: some such rows fit the first cache */

/* The longest row in bounds that divides the length and fills vectors; 0: none. */
static int64_t stage_row(int64_t length, int lanes) {
  for (int64_t row = STAGE_ROW_MAX; row >= STAGE_ROW_MIN; row -= lanes)
    if (length % row == 0) return row;
  return 0;
}

/* The one inner loop becomes rows (outer) of a block (inner), unless it is short already. */
static bool cut_row(struct tc_draft *d, int lanes) {
  if (d->lanes != TC_LANES_INNER || d->n_inner != 1 || d->n_outer == TC_MAX_KERNEL_DIMS ||
      !tc_sym_is_const(d->inner[0].extent))
    return false;
  const int64_t length = tc_sym_value(d->inner[0].extent), row = stage_row(length, lanes);
  if (!d->split_inner && length <= STAGE_ROW_MAX) return true;
  if (!row) return false;
  struct tc_symtab *tab = d->s->tab;
  const struct tc_kernel_dim blocks = {tc_sym_index(tab, tc_sym_const(length / row)),
                                       tc_sym_const(length / row)};
  const struct tc_kernel_dim block = {tc_sym_index(tab, tc_sym_const(row)), tc_sym_const(row)};
  const tc_sym position = tc_sym_add(tab, tc_sym_mul(tab, blocks.var, tc_sym_const(row)), block.var);
  if (!tc_sym_valid(position)) return false;
  tc_draft_substitute(d, 1, &d->inner[0].var, &position);
  d->outer[d->n_outer++] = blocks;
  d->inner[0] = block;
  d->split_inner = false;
  return true;
}

/* --- variables that kernels share --- */

tc_sym tc_draft_var(struct tc_sched *s, int position, tc_sym extent) {
  for (size_t i = 0; i < s->vars.len; i++)
    if (s->vars.data[i].position == position && tc_sym_same(s->vars.data[i].extent, extent))
      return s->vars.data[i].var;
  const struct tc_shared_var fresh = {position, extent, tc_sym_index(s->tab, extent)};
  return tc_vec_push(s->alloc, &s->vars, fresh) ? fresh.var : TC_SYM_INVALID;
}

static bool share_vars(struct tc_draft *d) {
  tc_sym from[TC_DRAFT_DIMS], to[TC_DRAFT_DIMS];
  int n = 0;
  for (int i = 0; i < d->n_outer + d->n_inner; i++) {
    struct tc_kernel_dim *dim = i < d->n_outer ? &d->outer[i] : &d->inner[i - d->n_outer];
    from[n] = dim->var;
    to[n] = dim->var = tc_draft_var(d->s, i < d->n_outer ? i : TC_DRAFT_DIMS + i - d->n_outer, dim->extent);
    if (!tc_sym_valid(to[n++])) return false;
  }
  tc_draft_substitute(d, n, from, to);
  return true;
}

tc_status tc_draft_domain(struct tc_draft *d) {
  const struct tc_cluster *c = d->cluster;
  bool reduces = false;
  for (int i = 0; i < c->n_dims; i++) {
    d->dims[d->n_dims++] = (struct tc_draft_dim){c->vars[i], c->sizes[i], c->reduced[i]};
    reduces |= c->reduced[i];
  }
  if (!tc_draft_addresses(d)) return tc_sched_failed(d->s);
  d->block = 1;
  if (!d->n_dims) { /* one value: a row of one element */
    const tc_sym one = tc_sym_const(1);
    d->dims[d->n_dims++] = (struct tc_draft_dim){tc_sym_index(d->s->tab, one), one, false};
  }
  const int lanes = d->s->target->vector_bytes / LANE_BYTES;
  int vector;
  if (!tc_draft_order_dims(d, lanes, &vector)) return tc_sched_failed(d->s);
  if (reduces)
    row_loops(d, vector, lanes);
  else
    flat_loops(d, vector, lanes);
  if (d->stage_of) tc_draft_take_stages(d, cut_row(d, lanes));
  if (d->n_outer > TC_MAX_KERNEL_DIMS || d->n_inner > TC_MAX_KERNEL_DIMS)
    return tc_fail(d->s->err, TC_LIMIT, "schedule",
                   "a kernel needs more than %d loops: reshape fewer dimensions at once", TC_MAX_KERNEL_DIMS);
  return share_vars(d) ? TC_OK : tc_sched_failed(d->s);
}
