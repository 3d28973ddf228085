/* The dims of a kernel in the making: split, ordered, collapsed, and the one along which vectors lie.
 *
 * 1. Dims that addresses divide are split, so that div and mod become affine where they can.
 * 2. Dims are ordered by stride, and neighbours that every address walks as one are collapsed.
 * 3. The vector dim is the one along which most bytes lie next to each other, and which fills vectors.
 * 4. Any split and any collapse may be left out: fuel.dims counts them. */
#include "sched/draft.h"

#include <stdlib.h>

static const double STORE_WEIGHT = 1.25, /* a strided store costs more than a strided load */
    EMPTY_LANES_PENALTY = 3;

/* --- splitting --- */

/* A divisor c of (…a·v…) with c = a·q: v is walked in periods of q. */
static bool split_for(struct tc_draft *d, tc_sym dividend, int64_t divisor) {
  for (int i = 0; i < d->n_dims; i++) {
    tc_sym coefficient, rest;
    const struct tc_draft_dim dim = d->dims[i];
    if (!tc_sym_is_const(dim.size) || !tc_sym_affine(d->s->tab, dividend, dim.var, &coefficient, &rest))
      continue;
    if (!tc_sym_is_const(coefficient) || tc_sym_value(coefficient) <= 0 ||
        divisor % tc_sym_value(coefficient))
      continue;
    const int64_t period = divisor / tc_sym_value(coefficient), size = tc_sym_value(dim.size);
    if (period < 2 || period >= size || size % period || d->n_dims == TC_DRAFT_DIMS) continue;
    if (!tc_sched_may(d->s, TC_FUEL_dims, NULL,
                      "and what is in its kernel, with a dimension that becomes two", NULL))
      return false;
    const tc_sym low = tc_sym_index(d->s->tab, tc_sym_const(period)),
                 high = tc_sym_index(d->s->tab, tc_sym_const(size / period));
    const tc_sym both = tc_sym_add(d->s->tab, tc_sym_mul(d->s->tab, high, tc_sym_const(period)), low);
    for (int k = d->n_dims; k > i + 1; k--) d->dims[k] = d->dims[k - 1];
    d->n_dims++;
    d->dims[i] = (struct tc_draft_dim){high, tc_sym_const(size / period), dim.reduced};
    d->dims[i + 1] = (struct tc_draft_dim){low, tc_sym_const(period), dim.reduced};
    tc_draft_substitute(d, 1, &dim.var, &both);
    return true;
  }
  return false;
}

static bool split_in(struct tc_draft *d, tc_sym s) {
  if (tc_sym_is_const(s) || tc_sym_kind(s) == TC_SYM_INDEX || tc_sym_kind(s) == TC_SYM_SIZE) return false;
  const enum tc_sym_kind kind = tc_sym_kind(s);
  const bool divides = (kind == TC_SYM_DIV || kind == TC_SYM_MOD) && tc_sym_is_const(tc_sym_right(s)) &&
                       tc_sym_value(tc_sym_right(s)) > 1;
  if (divides && split_for(d, tc_sym_left(s), tc_sym_value(tc_sym_right(s)))) return true;
  return split_in(d, tc_sym_left(s)) || split_in(d, tc_sym_right(s));
}

/* --- order and collapsing --- */

static double weight_of(const struct tc_draft *d, const struct tc_draft_address *a) {
  double points = a->bytes * (a->store ? STORE_WEIGHT : 1);
  for (int i = 0; i < d->n_dims; i++)
    if (tc_sym_uses(a->to, d->dims[i].var)) points *= (double)tc_sym_hint(d->dims[i].size);
  return points;
}

/* The mean stride along a dim, weighted by bytes. */
double tc_draft_stride_key(const struct tc_draft *d, int dim) {
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
  for (int i = 0; i < d->n_dims; i++) key[i] = tc_draft_stride_key(d, i);
  for (int i = 1; i < d->n_dims; i++) {
    const struct tc_draft_dim dim = d->dims[i];
    const double k = key[i];
    int j = i;
    for (; j > 0 && (d->dims[j - 1].reduced > dim.reduced ||
                     (d->dims[j - 1].reduced == dim.reduced && key[j - 1] < k));
         j--) {
      d->dims[j] = d->dims[j - 1];
      key[j] = key[j - 1];
    }
    d->dims[j] = dim;
    key[j] = k;
  }
}

static bool offset_uses(const struct tc_draft *d, const struct tc_draft_address *a, tc_sym var) {
  bool uses = a->any_offset;
  for (int i = 0; i < a->n_offsets && !uses; i++) uses = tc_sym_uses(tc_draft_address(d, a->offsets[i]), var);
  return uses;
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
    if (!walk_as_one(d, i) ||
        !tc_sched_may(d->s, TC_FUEL_dims, NULL,
                      "and what is in its kernel, with two dimensions that become one", NULL))
      continue;
    const tc_sym size = tc_sym_mul(d->s->tab, d->dims[i].size, d->dims[i + 1].size),
                 whole = tc_sym_index(d->s->tab, size);
    const tc_sym from[2] = {d->dims[i].var, d->dims[i + 1].var}, to[2] = {tc_sym_const(0), whole};
    if (!tc_sym_valid(whole)) return false;
    tc_draft_substitute(d, 2, from, to);
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
    if (!tc_sym_affine(d->s->tab, a->to, d->dims[dim].var, &step, &rest) ||
        offset_uses(d, a, d->dims[dim].var))
      score -= 2 * w;
    else if (tc_sym_is(step, 1))
      score += w;
    else if (!tc_sym_is(step, 0))
      score -= w;
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

bool tc_draft_order_dims(struct tc_draft *d, int lanes, int *vector) {
  for (size_t i = 0; i < d->addresses.len;) i = split_in(d, d->addresses.data[i].to) ? 0 : i + 1;
  order_dims(d);
  if (!collapse_dims(d)) return false;
  (void)move_last(d, vector_dim(d, lanes));
  if (!collapse_dims(d)) return false;
  *vector = move_last(d, vector_dim(d, lanes));
  return true;
}
