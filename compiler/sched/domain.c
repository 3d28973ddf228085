/* The loops of a kernel: which dims, in which order, along which one vectors lie.
 *
 * 1. Dims that addresses divide are split, so that div and mod become affine where they can.
 * 2. Dims are ordered by stride, and neighbours that every address walks as one are collapsed.
 * 3. The vector dim is the one along which most bytes lie next to each other, and which fills vectors.
 * 4. Decisions rest on sizes and on the vector width alone, never on the number of threads. */
#include "sched/draft.h"

#include <stdlib.h>

enum {
  FEW_ITEMS = 64,           /* rows below this count are cut into blocks, if they are long */
  LONG_ROW = 2048,
  BLOCKS_WANTED = 256,
  BLOCK_MIN = 1024,
  BLOCK_MAX = 16384,
  BLOCK_REGISTERS = 4,      /* vectors that a generator keeps side by side */
  ENOUGH_ITEMS = 32,
  LANE_BYTES = 4,
};
static const double STORE_WEIGHT = 1.25, /* a strided store costs more than a strided load */
    EMPTY_LANES_PENALTY = 3;

/* --- the addresses of the draft --- */

static size_t address_place(const struct tc_draft *d, tc_sym from) {
  size_t at = tc_hash_u64(from.bits, 0) & (d->address_cap - 1);
  while (d->address_slots[at] && !tc_sym_same(d->addresses.data[d->address_slots[at] - 1].from, from)) at = (at + 1) & (d->address_cap - 1);
  return at;
}

static bool address_grow(struct tc_draft *d) {
  enum { FIRST = 32 };
  d->address_cap = d->address_cap ? d->address_cap * 2 : FIRST;
  d->address_slots = TC_NEW_ARRAY(d->scratch, int, d->address_cap);
  if (!d->address_slots) return false;
  for (size_t i = 0; i < d->addresses.len; i++) d->address_slots[address_place(d, d->addresses.data[i].from)] = (int)i + 1;
  return true;
}

static struct tc_draft_address *note_address(struct tc_draft *d, tc_sym from, int bytes, bool store) {
  if (d->addresses.len * 2 >= d->address_cap && !address_grow(d)) return NULL;
  const size_t at = address_place(d, from);
  if (!d->address_slots[at]) {
    const struct tc_draft_address fresh = {.from = from, .to = from};
    if (!tc_vec_push(d->scratch, &d->addresses, fresh)) return NULL;
    d->address_slots[at] = (int)d->addresses.len;
  }
  struct tc_draft_address *a = &d->addresses.data[d->address_slots[at] - 1];
  a->bytes += bytes;
  a->memory |= bytes > 0;
  a->store |= store;
  return a;
}

tc_sym tc_draft_address(const struct tc_draft *d, tc_sym built) {
  if (tc_sym_is_const(built) || !d->address_cap) return built;
  const int found = d->address_slots[address_place(d, built)];
  return found ? d->addresses.data[found - 1].to : built;
}

/* Symbols on which a data-dependent offset depends. */
static void offset_symbols(const struct tc_expr *e, struct tc_draft_address *a) {
  const bool counts = tc_sym_valid(e->address) && e->op != TC_E_CHECK && a->n_offsets < TC_MAX_DIMS;
  if (counts) a->offsets[a->n_offsets++] = e->address;
  for (int i = 0; i < TC_EXPR_ARGS; i++)
    if (e->args[i]) offset_symbols(e->args[i], a);
}

static bool collect(struct tc_draft *d, const struct tc_expr *e, bool *seen) {
  if (seen[e->id]) return true;
  seen[e->id] = true;
  for (int i = 0; i < TC_EXPR_ARGS; i++)
    if (e->args[i] && !collect(d, e->args[i], seen)) return false;
  if (!tc_sym_valid(e->address) || e->op == TC_E_CHECK) return true;
  const int bytes = e->op == TC_E_LOAD ? tc_dtype_bytes(d->buffers.data[e->buffer].dtype) : 0;
  struct tc_draft_address *a = note_address(d, e->address, bytes, false);
  if (a && e->op == TC_E_LOAD && e->args[0]) offset_symbols(e->args[0], a);
  return a;
}

static bool collect_all(struct tc_draft *d) {
  bool *seen = TC_NEW_ARRAY(d->scratch, bool, (size_t)tc_expr_count(d->s->loops->exprs) + 1);
  if (!seen) return false;
  for (size_t i = 0; i < d->items.len; i++) {
    const struct tc_draft_item *item = &d->items.data[i];
    if (!collect(d, item->value, seen)) return false;
    const int bytes = item->reduction ? 0 : tc_dtype_bytes(d->buffers.data[item->buffer].dtype);
    if (tc_sym_valid(item->address) && !note_address(d, item->address, bytes, !item->reduction)) return false;
  }
  return true;
}

static void substitute_all(struct tc_draft *d, int n, const tc_sym *from, const tc_sym *to) {
  for (size_t i = 0; i < d->addresses.len; i++)
    d->addresses.data[i].to = tc_sym_substitute(d->s->tab, d->addresses.data[i].to, n, from, to);
}

/* --- splitting --- */

/* A divisor c of (…a·v…) with c = a·q: v is walked in periods of q. */
static bool split_for(struct tc_draft *d, tc_sym dividend, int64_t divisor) {
  for (int i = 0; i < d->n_dims; i++) {
    tc_sym coefficient, rest;
    const struct tc_draft_dim dim = d->dims[i];
    if (!tc_sym_is_const(dim.size) || !tc_sym_affine(d->s->tab, dividend, dim.var, &coefficient, &rest)) continue;
    if (!tc_sym_is_const(coefficient) || tc_sym_value(coefficient) <= 0 || divisor % tc_sym_value(coefficient)) continue;
    const int64_t period = divisor / tc_sym_value(coefficient), size = tc_sym_value(dim.size);
    if (period < 2 || period >= size || size % period || d->n_dims == TC_DRAFT_DIMS) continue;
    const tc_sym low = tc_sym_index(d->s->tab, tc_sym_const(period)), high = tc_sym_index(d->s->tab, tc_sym_const(size / period));
    const tc_sym both = tc_sym_add(d->s->tab, tc_sym_mul(d->s->tab, high, tc_sym_const(period)), low);
    for (int k = d->n_dims; k > i + 1; k--) d->dims[k] = d->dims[k - 1];
    d->n_dims++;
    d->dims[i] = (struct tc_draft_dim){high, tc_sym_const(size / period), dim.reduced};
    d->dims[i + 1] = (struct tc_draft_dim){low, tc_sym_const(period), dim.reduced};
    substitute_all(d, 1, &dim.var, &both);
    return true;
  }
  return false;
}

static bool split_in(struct tc_draft *d, tc_sym s) {
  if (tc_sym_is_const(s) || tc_sym_kind(s) == TC_SYM_INDEX || tc_sym_kind(s) == TC_SYM_SIZE) return false;
  const enum tc_sym_kind kind = tc_sym_kind(s);
  const bool divides = (kind == TC_SYM_DIV || kind == TC_SYM_MOD) && tc_sym_is_const(tc_sym_right(s)) && tc_sym_value(tc_sym_right(s)) > 1;
  if (divides && split_for(d, tc_sym_left(s), tc_sym_value(tc_sym_right(s)))) return true;
  return split_in(d, tc_sym_left(s)) || split_in(d, tc_sym_right(s));
}

static void split_dims(struct tc_draft *d) {
  for (size_t i = 0; i < d->addresses.len;) i = split_in(d, d->addresses.data[i].to) ? 0 : i + 1;
}

/* --- order and collapsing --- */

static double weight_of(const struct tc_draft *d, const struct tc_draft_address *a) {
  double points = a->bytes * (a->store ? STORE_WEIGHT : 1);
  for (int i = 0; i < d->n_dims; i++)
    if (tc_sym_uses(a->to, d->dims[i].var)) points *= (double)tc_sym_hint(d->dims[i].size);
  return points;
}

/* The mean stride along a dim, weighted by bytes. */
static double stride_key(const struct tc_draft *d, int dim) {
  double key = 0;
  for (size_t i = 0; i < d->addresses.len; i++) {
    const struct tc_draft_address *a = &d->addresses.data[i];
    tc_sym coefficient, rest;
    if (!a->memory || !tc_sym_affine(d->s->tab, a->to, d->dims[dim].var, &coefficient, &rest)) continue;
    key += weight_of(d, a) * (double)llabs(tc_sym_hint(coefficient));
  }
  return key;
}

/* Kept dims before reduced ones; within each, wide strides outside. Stable. */
static void order_dims(struct tc_draft *d) {
  double key[TC_DRAFT_DIMS];
  for (int i = 0; i < d->n_dims; i++) key[i] = stride_key(d, i);
  for (int i = 1; i < d->n_dims; i++) {
    const struct tc_draft_dim dim = d->dims[i];
    const double k = key[i];
    int j = i;
    for (; j > 0 && (d->dims[j - 1].reduced > dim.reduced || (d->dims[j - 1].reduced == dim.reduced && key[j - 1] < k)); j--) {
      d->dims[j] = d->dims[j - 1];
      key[j] = key[j - 1];
    }
    d->dims[j] = dim;
    key[j] = k;
  }
}

static bool offset_uses(const struct tc_draft *d, const struct tc_draft_address *a, tc_sym var) {
  for (int i = 0; i < a->n_offsets; i++)
    if (tc_sym_uses(tc_draft_address(d, a->offsets[i]), var)) return true;
  return false;
}

/* Do all addresses walk dims i and i+1 as one? */
static bool walk_as_one(struct tc_draft *d, int i) {
  const struct tc_draft_dim *out = &d->dims[i], *in = &d->dims[i + 1];
  if (out->reduced != in->reduced) return false;
  for (size_t k = 0; k < d->addresses.len; k++) {
    tc_sym out_step, in_step, rest;
    if (!tc_sym_affine(d->s->tab, d->addresses.data[k].to, out->var, &out_step, &rest)) return false;
    if (!tc_sym_affine(d->s->tab, d->addresses.data[k].to, in->var, &in_step, &rest)) return false;
    if (!tc_sym_same(out_step, tc_sym_mul(d->s->tab, in_step, in->size))) return false;
  }
  return true;
}

static bool collapse_dims(struct tc_draft *d) {
  for (int i = d->n_dims - 2; i >= 0; i--) {
    if (!walk_as_one(d, i)) continue;
    const tc_sym size = tc_sym_mul(d->s->tab, d->dims[i].size, d->dims[i + 1].size), whole = tc_sym_index(d->s->tab, size);
    const tc_sym from[2] = {d->dims[i].var, d->dims[i + 1].var}, to[2] = {tc_sym_const(0), whole};
    if (!tc_sym_valid(whole)) return false;
    substitute_all(d, 2, from, to);
    d->dims[i] = (struct tc_draft_dim){whole, size, d->dims[i].reduced};
    for (int k = i + 1; k + 1 < d->n_dims; k++) d->dims[k] = d->dims[k + 1];
    d->n_dims--;
  }
  return true;
}

/* --- the vector dim --- */

static double score(struct tc_draft *d, int dim, int lanes) {
  double score = 0, total = 0;
  for (size_t i = 0; i < d->addresses.len; i++) {
    const struct tc_draft_address *a = &d->addresses.data[i];
    if (!a->memory) continue;
    tc_sym step, rest;
    const double w = weight_of(d, a);
    total += w;
    if (!tc_sym_affine(d->s->tab, a->to, d->dims[dim].var, &step, &rest) || offset_uses(d, a, d->dims[dim].var)) score -= 2 * w;
    else if (tc_sym_is(step, 1)) score += w;
    else if (!tc_sym_is(step, 0)) score -= w;
  }
  const int64_t size = tc_sym_hint(d->dims[dim].size), vectors = (size + lanes - 1) / lanes;
  const double filled = size > 0 ? (double)size / (double)(vectors * lanes) : 1;
  return score - EMPTY_LANES_PENALTY * total * (1 - filled);
}

static int vector_dim(struct tc_draft *d, int lanes) {
  int best = d->n_dims - 1;
  double best_score = score(d, best, lanes);
  for (int i = d->n_dims - 2; i >= 0; i--) {
    const double here = score(d, i, lanes);
    if (here > best_score) best = i, best_score = here;
  }
  return best;
}

/* Moves a dim to the end of its kind (kept or reduced). */
static int move_last(struct tc_draft *d, int dim) {
  for (; dim + 1 < d->n_dims && d->dims[dim + 1].reduced == d->dims[dim].reduced; dim++) {
    const struct tc_draft_dim swap = d->dims[dim];
    d->dims[dim] = d->dims[dim + 1];
    d->dims[dim + 1] = swap;
  }
  return dim;
}

/* --- outer and inner --- */

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
  for (int i = 0; i < d->n_dims; i++) tiny_inside |= i != vector && stride_key(d, i) < stride_key(d, vector);
  d->split_inner = d->n_dims == 1;
  d->lanes = !d->split_inner && (tiny_inside || (rows < FEW_ITEMS && row >= LONG_ROW)) ? TC_LANES_OUTER : TC_LANES_INNER;
  const bool outer_lanes = d->lanes == TC_LANES_OUTER;
  for (int i = 0; i < d->n_dims; i++) {
    if (i == vector) continue;
    const bool tiny = tiny_inside && outer_lanes && stride_key(d, i) < stride_key(d, vector);
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
  while (block < BLOCK_REGISTERS * lanes && block * 2 <= size && rows * (size / (block * 2)) >= ENOUGH_ITEMS) block *= 2;
  return block;
}

static void row_loops(struct tc_draft *d, int vector, int lanes) {
  d->lanes = d->dims[vector].reduced ? TC_LANES_INNER : TC_LANES_OUTER;
  for (int i = 0; i < d->n_dims; i++)
    put(d->dims[i].reduced ? d->inner : d->outer, d->dims[i].reduced ? &d->n_inner : &d->n_outer, &d->dims[i]);
  if (d->lanes == TC_LANES_OUTER) d->block = lanes_block(d, vector, lanes);
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
  if (d->lanes != TC_LANES_INNER || d->n_inner != 1 || d->n_outer == TC_MAX_KERNEL_DIMS || !tc_sym_is_const(d->inner[0].extent)) return false;
  const int64_t length = tc_sym_value(d->inner[0].extent), row = stage_row(length, lanes);
  if (!d->split_inner && length <= STAGE_ROW_MAX) return true;
  if (!row) return false;
  struct tc_symtab *tab = d->s->tab;
  const struct tc_kernel_dim blocks = {tc_sym_index(tab, tc_sym_const(length / row)), tc_sym_const(length / row)};
  const struct tc_kernel_dim block = {tc_sym_index(tab, tc_sym_const(row)), tc_sym_const(row)};
  const tc_sym position = tc_sym_add(tab, tc_sym_mul(tab, blocks.var, tc_sym_const(row)), block.var);
  if (!tc_sym_valid(position)) return false;
  substitute_all(d, 1, &d->inner[0].var, &position);
  d->outer[d->n_outer++] = blocks;
  d->inner[0] = block;
  d->split_inner = false;
  return true;
}

/* --- variables that kernels share --- */

static tc_sym shared_var(struct tc_sched *s, int position, tc_sym extent) {
  for (size_t i = 0; i < s->vars.len; i++)
    if (s->vars.data[i].position == position && tc_sym_same(s->vars.data[i].extent, extent)) return s->vars.data[i].var;
  const struct tc_shared_var fresh = {position, extent, tc_sym_index(s->tab, extent)};
  return tc_vec_push(s->alloc, &s->vars, fresh) ? fresh.var : TC_SYM_INVALID;
}

static bool share_vars(struct tc_draft *d) {
  tc_sym from[TC_DRAFT_DIMS], to[TC_DRAFT_DIMS];
  int n = 0;
  for (int i = 0; i < d->n_outer + d->n_inner; i++) {
    struct tc_kernel_dim *dim = i < d->n_outer ? &d->outer[i] : &d->inner[i - d->n_outer];
    from[n] = dim->var;
    to[n] = dim->var = shared_var(d->s, i < d->n_outer ? i : TC_DRAFT_DIMS + i - d->n_outer, dim->extent);
    if (!tc_sym_valid(to[n++])) return false;
  }
  substitute_all(d, n, from, to);
  return true;
}

tc_status tc_draft_domain(struct tc_draft *d) {
  const struct tc_cluster *c = d->cluster;
  bool reduces = false;
  for (int i = 0; i < c->n_dims; i++) {
    d->dims[d->n_dims++] = (struct tc_draft_dim){c->vars[i], c->sizes[i], c->reduced[i]};
    reduces |= c->reduced[i];
  }
  if (!collect_all(d)) return tc_sched_nomem(d->s);
  d->block = 1;
  if (!d->n_dims) { /* one value: a row of one element */
    const tc_sym one = tc_sym_const(1);
    d->dims[d->n_dims++] = (struct tc_draft_dim){tc_sym_index(d->s->tab, one), one, false};
  }
  split_dims(d);
  order_dims(d);
  if (!collapse_dims(d)) return tc_sched_nomem(d->s);
  const int lanes = d->s->target->vector_bytes / LANE_BYTES;
  (void)move_last(d, vector_dim(d, lanes));
  if (!collapse_dims(d)) return tc_sched_nomem(d->s);
  const int vector = move_last(d, vector_dim(d, lanes));
  if (reduces) row_loops(d, vector, lanes);
  else flat_loops(d, vector, lanes);
  if (d->stage_of) tc_draft_take_stages(d, cut_row(d, lanes));
  if (d->n_outer > TC_MAX_KERNEL_DIMS || d->n_inner > TC_MAX_KERNEL_DIMS)
    return tc_fail(d->s->err, TC_LIMIT, "schedule", "a kernel needs more than %d loops: reshape fewer dimensions at once", TC_MAX_KERNEL_DIMS);
  return share_vars(d) ? TC_OK : tc_sched_nomem(d->s);
}
