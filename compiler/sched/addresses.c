/* The addresses of a kernel in the making: each symbol once, as it was built and as the kernel will have it.
 *
 * Choosing the loops replaces variables in all of them; nothing else of the draft is rewritten until the
 * kernel is finished. */
#include "sched/draft.h"

/* Position of the address that was built so; -1: there is none. */
static int find_address(const struct tc_draft *d, uint64_t hash, tc_sym from) {
  size_t at = tc_hash_index_first(&d->address_index, hash);
  for (int i; (i = tc_hash_index_next(&d->address_index, hash, &at)) >= 0;)
    if (tc_sym_same(d->addresses.data[i].from, from)) return i;
  return -1;
}

static struct tc_draft_address *note_address(struct tc_draft *d, tc_sym from, int bytes, bool store) {
  const uint64_t hash = tc_hash_u64(from.bits, 0);
  int i = find_address(d, hash, from);
  if (i < 0) {
    const struct tc_draft_address fresh = {.from = from, .to = from};
    i = (int)d->addresses.len;
    if (!tc_vec_push(d->scratch, &d->addresses, fresh) ||
        !tc_hash_index_add(d->scratch, &d->address_index, hash, i))
      return NULL;
  }
  struct tc_draft_address *a = &d->addresses.data[i];
  a->bytes += bytes;
  a->memory |= bytes > 0;
  a->store |= store;
  return a;
}

tc_sym tc_draft_address(const struct tc_draft *d, tc_sym built) {
  if (tc_sym_is_const(built)) return built;
  const int found = find_address(d, tc_hash_u64(built.bits, 0), built);
  return found < 0 ? built : d->addresses.data[found].to;
}

/* Symbols on which a data-dependent offset depends; `walk` is not the one that is under way. */
static bool note_offsets(struct tc_draft *d, struct tc_walk *walk, const struct tc_expr *offset,
                         struct tc_draft_address *a) {
  if (!tc_walk_begin(walk, TC_WALK_PRE, tc_expr_count(d->table)) || !tc_walk_from(walk, offset)) return false;
  for (const struct tc_expr *e; (e = tc_walk_next(walk));) {
    bool known = !tc_sym_valid(e->address) || e->op == TC_E_CHECK;
    for (int i = 0; i < a->n_offsets && !known; i++) known = tc_sym_same(a->offsets[i], e->address);
    if (known) continue;
    if (a->n_offsets == TC_MAX_DIMS)
      a->any_offset = true;
    else
      a->offsets[a->n_offsets++] = e->address;
  }
  return !walk->failed;
}

/* Of a value: those that the walk has not met with earlier ones. */
static bool collect_value(struct tc_draft *d, struct tc_walk *offsets, const struct tc_expr *value) {
  if (!tc_walk_from(&d->walk, value)) return false;
  for (const struct tc_expr *e; (e = tc_walk_next(&d->walk));) {
    if (!tc_sym_valid(e->address) || e->op == TC_E_CHECK) continue;
    const int bytes = e->op == TC_E_LOAD ? tc_dtype_bytes(d->buffers.data[e->buffer].dtype) : 0;
    struct tc_draft_address *a = note_address(d, e->address, bytes, false);
    if (!a || (e->op == TC_E_LOAD && e->args[0] && !note_offsets(d, offsets, e->args[0], a))) return false;
  }
  return !d->walk.failed;
}

bool tc_draft_addresses(struct tc_draft *d) {
  struct tc_walk offsets = {.alloc = d->scratch};
  if (!tc_walk_begin(&d->walk, TC_WALK_POST, tc_expr_count(d->table))) return false;
  for (size_t i = 0; i < d->items.len; i++) {
    const struct tc_draft_item *item = &d->items.data[i];
    if (!collect_value(d, &offsets, item->value)) return false;
    const int bytes = item->reduction ? 0 : tc_dtype_bytes(d->buffers.data[item->buffer].dtype);
    if (tc_sym_valid(item->address) && !note_address(d, item->address, bytes, !item->reduction)) return false;
  }
  return true;
}

void tc_draft_substitute(struct tc_draft *d, int n, const tc_sym *from, const tc_sym *to) {
  for (size_t i = 0; i < d->addresses.len; i++)
    d->addresses.data[i].to = tc_sym_substitute(d->s->tab, d->addresses.data[i].to, n, from, to);
}
