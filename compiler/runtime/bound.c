#include "runtime/bound.h"

#include <string.h>

#include "runtime/artifact.h"

/* The symbols of a list are walked in pairs: the list's own, and its place in the copy. */
struct binder {
  const int64_t *sizes;
  bool overflows;
};

static tc_sym at_sizes(struct binder *b, tc_sym s) {
  int64_t value;
  if (!tc_sym_valid(s) || tc_sym_is_const(s)) return s;
  if (tc_sym_eval_checked(s, b->sizes, &value)) return tc_sym_const(value);
  b->overflows = true;
  return tc_sym_const(0);
}

static void bind_all(struct binder *b, int n, const tc_sym *from, tc_sym *to) {
  for (int i = 0; i < n; i++) to[i] = at_sizes(b, from[i]);
}

static void bind_operand(struct binder *b, int n_batch, const struct tc_gemm_operand *from,
                         struct tc_gemm_operand *to) {
  to->offset = at_sizes(b, from->offset);
  to->row_stride = at_sizes(b, from->row_stride);
  to->col_stride = at_sizes(b, from->col_stride);
  bind_all(b, n_batch, from->batch_strides, to->batch_strides);
}

static void bind_gemm(struct binder *b, const struct tc_gemm *from, struct tc_gemm *to) {
  to->m = at_sizes(b, from->m);
  to->n = at_sizes(b, from->n);
  to->k = at_sizes(b, from->k);
  bind_all(b, from->n_batch, from->batch, to->batch);
  bind_operand(b, from->n_batch, &from->a, &to->a);
  bind_operand(b, from->n_batch, &from->b, &to->b);
  bind_operand(b, from->n_batch, &from->c, &to->c);
}

/* Bytes and operations were counted by hints: they grow as the work does. */
static uint64_t scaled(uint64_t by_hint, double scale) {
  const double value = (double)by_hint * scale;
  return value < 0x1p63 ? (uint64_t)value : (uint64_t)INT64_MAX;
}

static void bind_launch(struct binder *b, const struct tc_launch *from, struct tc_launch *to) {
  to->items = at_sizes(b, from->items);
  to->work = at_sizes(b, from->work);
  if (from->kind == TC_LAUNCH_GEMM) bind_gemm(b, &from->gemm, &to->gemm);
  const int64_t hint = tc_sym_hint(from->work);
  const double scale = hint > 0 ? (double)tc_sym_value(to->work) / (double)hint : 1;
  to->bytes = scaled(from->bytes, scale);
  to->flops = scaled(from->flops, scale);
}

static void bind_output(struct binder *b, const struct tc_output *from, struct tc_output *to) {
  to->offset = at_sizes(b, from->offset);
  bind_all(b, from->ndim, from->sizes, to->sizes);
  bind_all(b, from->ndim, from->strides, to->strides);
}

static void bind_list(struct binder *b, const struct tc_launch_list *from, struct tc_launch_list *to) {
  to->pool_bytes = at_sizes(b, from->pool_bytes);
  bind_all(b, from->n_allocated, from->allocated_bytes, to->allocated_bytes);
  for (int i = 0; i < from->n_codes; i++)
    bind_all(b, from->codes[i].n_buffers, from->codes[i].scratch_bytes, to->codes[i].scratch_bytes);
  for (int i = 0; i < from->n_slots; i++) {
    to->slots[i].elements = at_sizes(b, from->slots[i].elements);
    to->slots[i].offset = at_sizes(b, from->slots[i].offset);
  }
  for (int i = 0; i < from->n_launches; i++) bind_launch(b, &from->launches[i], &to->launches[i]);
  for (int i = 0; i < from->n_tiles; i++) {
    to->tiles[i].batches = at_sizes(b, from->tiles[i].batches);
    to->tiles[i].rows = at_sizes(b, from->tiles[i].rows);
    to->tiles[i].bytes = at_sizes(b, from->tiles[i].bytes);
  }
  for (int i = 0; i < from->n_outputs; i++) bind_output(b, &from->outputs[i], &to->outputs[i]);
}

/* --- the copy --- */

static void *copy(const struct tc_alloc *a, const void *from, int count, size_t size) {
  void *to = tc_new_zeroed(a, (size_t)count + 1, size);
  if (to && count) memcpy(to, from, (size_t)count * size);
  return to;
}
#define COPY(a, list, field, count) ((list)->field = copy((a), (list)->field, (count), sizeof *(list)->field))

struct tc_launch_list *tc_bound_new(struct tc_arena *arena, const struct tc_launch_list *list) {
  const struct tc_alloc *a = tc_arena_alloc(arena);
  struct tc_launch_list *to = TC_NEW(a, struct tc_launch_list);
  if (!to) return NULL;
  *to = *list;
  to->n_sizes = to->n_facts = 0;
  if (!COPY(a, to, codes, list->n_codes) || !COPY(a, to, slots, list->n_slots) ||
      !COPY(a, to, launches, list->n_launches) || !COPY(a, to, tiles, list->n_tiles) ||
      !COPY(a, to, outputs, list->n_outputs) || !COPY(a, to, allocated_bytes, list->n_allocated))
    return NULL;
  for (int i = 0; i < list->n_codes; i++)
    if (!COPY(a, &to->codes[i], scratch_bytes, list->codes[i].n_buffers)) return NULL;
  return to;
}

bool tc_facts_hold(const struct tc_sym_fact *facts, int count, const int64_t *sizes) {
  for (int i = 0; i < count; i++)
    if (!tc_sym_fact_true(&facts[i], sizes)) return false;
  return true;
}

tc_status tc_bound_fill(struct tc_launch_list *bound, const struct tc_launch_list *list, const int64_t *sizes,
                        struct tc_error *err) {
  struct binder b = {.sizes = sizes};
  for (int i = 0; i < list->n_sizes; i++)
    if (sizes[i] < TC_SYM_SIZE_MIN || sizes[i] > TC_SYM_SIZE_MAX)
      return tc_fail(err, TC_LIMIT, "runtime",
                     "a dimension of size %lld: compiled code for changing sizes takes %d to 2^40",
                     (long long)sizes[i], TC_SYM_SIZE_MIN);
  if (!tc_facts_hold(list->facts, list->n_facts, sizes))
    return tc_fail(
        err, TC_SHAPE, "runtime",
        "the sizes of the call are not such as the code was compiled for: its guards are incomplete");
  bind_list(&b, list, bound);
  if (b.overflows || !tc_artifact_fits(bound))
    return tc_fail(err, TC_LIMIT, "runtime",
                   "a tensor of the graph is larger than 2^61 bytes at these sizes");
  return TC_OK;
}
