/* Register tiles of matrix products: an item takes several rows of results at once (unroll and jam: Callahan,
 * Carr and Kennedy, Improving Register Allocation for Subscripted Variables).
 *
 * 1. What copies of an outer loop's body load alike is loaded once, as their expressions are shared; each
 *    copy has accumulators of its own.
 * 2. The copies of an item that would lie behind the last row take the last row again: they compute and store
 *    the same values as the copy that it belongs to, all of which are computed before any is stored.
 * 3. Each result is summed in the same order as without copies.
 * 4. Decided by sizes (of symbols: their hints; any count is right for all sizes), never by the number of
 *    threads. */
#include "sched/draft.h"

enum { MOST_ACCUMULATORS = 32 };

/* Do copies along the dim have loads in common? */
static bool shares_loads(const struct tc_draft *d, tc_sym var) {
  for (size_t i = 0; i < d->addresses.len; i++) {
    const struct tc_draft_address *a = &d->addresses.data[i];
    if (a->memory && !a->store && !tc_sym_uses(a->to, var)) return true;
  }
  return false;
}

/* Rows of scratch are one thread's, not one copy's. */
static bool keeps_rows(const struct tc_draft *d) {
  for (size_t i = 0; i < d->buffers.len; i++)
    if (d->buffers.data[i].role == TC_ROLE_SCRATCH) return true;
  return false;
}

/* As many copies as wanted, or fewer where items of equal shares need no more. */
static int64_t fit(int64_t wanted, int64_t size) {
  if (wanted < 1 || size < 1) return 1;
  const int64_t items = (size + wanted - 1) / wanted;
  return (size + items - 1) / items;
}

static int64_t count_of(const struct tc_draft *d, int dim, int64_t wanted) {
  return dim < 0 ? 1 : fit(wanted, tc_sym_hint(d->outer[dim].extent));
}

static bool add(struct tc_draft *d, int dim, int64_t count) {
  struct tc_symtab *tab = d->s->tab;
  if (count < 2) return true;
  struct tc_kernel_dim *outer = &d->outer[dim];
  struct tc_jam *jam = &d->jams[d->n_jams++];
  const tc_sym copies = tc_sym_const(count);
  *jam = (struct tc_jam){.count = (int)count, .var = outer->var, .extent = outer->extent};
  outer->extent = tc_sym_div(tab, tc_sym_add(tab, outer->extent, tc_sym_const(count - 1)), copies);
  outer->var = jam->items = tc_draft_var(d->s, dim, outer->extent);
  d->copies *= (int)count;
  return tc_sym_valid(outer->var) && tc_sym_valid(outer->extent);
}

/* The nearest outer dim before `end` along which copies have loads in common; -1: none. */
static int dim_before(const struct tc_draft *d, int end) {
  for (int i = end - 1; i >= 0; i--)
    if (shares_loads(d, d->outer[i].var)) return i;
  return -1;
}

tc_status tc_draft_jam(struct tc_draft *d) {
  const bool outer = d->lanes == TC_LANES_OUTER;
  d->copies = 1;
  if (!d->product || keeps_rows(d) || d->stage_of) return TC_OK;
  const struct tc_product_row *tile = tc_product_row(d->product);
  int64_t rows = tile->rows;
  while (rows > 1 && rows * tile->columns * d->n_accs > MOST_ACCUMULATORS) rows /= 2;
  const int second = outer ? d->n_outer - 1 : dim_before(d, d->n_outer), first = dim_before(d, second);
  const int64_t of_first = count_of(d, first, rows),
                of_second = outer ? 1 : count_of(d, second, tile->columns);
  if (of_first * of_second < 2 ||
      !tc_sched_may(d->s, TC_FUEL_jam, NULL, "and what is in its kernel, with several rows at once", NULL))
    return TC_OK;
  return add(d, second, of_second) && add(d, first, of_first) ? TC_OK : tc_sched_failed(d->s);
}

/* The value of a jammed variable in copy `copy`. */
static tc_sym position(struct tc_symtab *tab, const struct tc_jam *jam, int copy) {
  const tc_sym at =
      tc_sym_add(tab, tc_sym_mul(tab, jam->items, tc_sym_const(jam->count)), tc_sym_const(copy));
  const bool whole = tc_sym_is_const(jam->extent) && tc_sym_value(jam->extent) % jam->count == 0;
  return whole ? at : tc_sym_min(tab, at, tc_sym_sub(tab, jam->extent, tc_sym_const(1)));
}

tc_sym tc_draft_copy_address(const struct tc_draft *d, tc_sym address, int copy) {
  tc_sym from[TC_JAMS], to[TC_JAMS];
  for (int i = 0; i < d->n_jams; i++) {
    from[i] = d->jams[i].var;
    to[i] = position(d->s->tab, &d->jams[i], copy % d->jams[i].count);
    copy /= d->jams[i].count;
  }
  return d->n_jams ? tc_sym_substitute(d->s->tab, address, d->n_jams, from, to) : address;
}
