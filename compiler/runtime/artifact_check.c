/* Does a launch list that was read, or bound to sizes, keep within its own memory? Sizes are constants
 * here. */
#include "runtime/artifact.h"

/* Sums and products that overflow are out of bounds. */
static bool add_product(int64_t *sum, int64_t a, int64_t b) {
  int64_t product;
  return a >= 0 && b >= 0 && !__builtin_mul_overflow(a, b, &product) &&
         !__builtin_add_overflow(*sum, product, sum);
}

static bool slot_fits(const struct tc_launch_list *list, const struct tc_slot *slot) {
  const int64_t bytes = tc_dtype_bytes(slot->dtype);
  int64_t end = 0;
  if (slot->kind == TC_SLOT_STATUS || slot->kind == TC_SLOT_RNG) return true;
  if (!tc_sym_valid(slot->elements) || !add_product(&end, tc_sym_value(slot->elements), bytes)) return false;
  if (slot->kind == TC_SLOT_OUTPUT) return end <= tc_sym_value(list->allocated_bytes[slot->index]);
  if (slot->kind != TC_SLOT_POOL) return true;
  return add_product(&end, tc_sym_value(slot->offset), 1) && end <= tc_sym_value(list->pool_bytes);
}

static bool tile_slot_fits(const struct tc_tiles *t, const struct tc_slot *slot) {
  int64_t total = 0, end = 0;
  if (!add_product(&total, tc_sym_value(t->batches), tc_sym_value(t->rows)) || !total) return false;
  const int64_t row_bytes = tc_sym_value(slot->elements) / total * tc_dtype_bytes(slot->dtype);
  return add_product(&end, row_bytes, t->step) && add_product(&end, tc_sym_value(slot->offset), 1) &&
         end <= tc_sym_value(t->bytes);
}

static bool operand_fits(const struct tc_launch_list *list, const struct tc_gemm *g,
                         const struct tc_gemm_operand *o, tc_sym rows, tc_sym cols) {
  int64_t last = tc_sym_value(o->offset);
  if (last < 0 || tc_sym_value(rows) < 0 || tc_sym_value(cols) < 0) return false;
  if (tc_sym_is(rows, 0) || tc_sym_is(cols, 0)) return true;
  if (!add_product(&last, tc_sym_value(rows) - 1, tc_sym_value(o->row_stride)) ||
      !add_product(&last, tc_sym_value(cols) - 1, tc_sym_value(o->col_stride)))
    return false;
  for (int i = 0; i < g->n_batch; i++) {
    if (tc_sym_is(g->batch[i], 0)) return true;
    if (!add_product(&last, tc_sym_value(g->batch[i]) - 1, tc_sym_value(o->batch_strides[i]))) return false;
  }
  return last < tc_sym_value(list->slots[o->slot].elements);
}

static bool launch_fits(const struct tc_launch_list *list, int entry) {
  const struct tc_launch *l = &list->launches[entry];
  const int tiles = tc_tiles_of(list, entry);
  for (int i = 0; i < tc_launch_slot_count(list, l); i++) {
    const int slot = tc_launch_slot(l, i);
    if (slot < 0 || list->slots[slot].kind != TC_SLOT_TILE) continue;
    if (tiles < 0 || !tile_slot_fits(&list->tiles[tiles], &list->slots[slot])) return false;
  }
  const struct tc_gemm *g = &l->gemm;
  if (l->kind == TC_LAUNCH_KERNEL) return tc_sym_value(l->items) >= 0;
  return operand_fits(list, g, &g->a, g->m, g->k) && operand_fits(list, g, &g->b, g->k, g->n) &&
         operand_fits(list, g, &g->c, g->m, g->n);
}

static bool output_fits(const struct tc_launch_list *list, const struct tc_output *o) {
  int64_t last = tc_sym_value(o->offset);
  if (last < 0) return false;
  for (int d = 0; d < o->ndim; d++) {
    if (tc_sym_is(o->sizes[d], 0)) return true;
    if (!add_product(&last, tc_sym_value(o->sizes[d]) - 1, tc_sym_value(o->strides[d]))) return false;
  }
  return last < tc_sym_value(list->slots[o->slot].elements);
}

bool tc_artifact_fits(const struct tc_launch_list *list) {
  for (int i = 0; i < list->n_tiles; i++)
    if (tc_sym_value(list->tiles[i].batches) < 1 || tc_sym_value(list->tiles[i].rows) < 1 ||
        tc_sym_value(list->tiles[i].bytes) < 0)
      return false;
  for (int i = 0; i < list->n_slots; i++)
    if (!slot_fits(list, &list->slots[i])) return false;
  for (int i = 0; i < list->n_launches; i++)
    if (!launch_fits(list, i)) return false;
  for (int i = 0; i < list->n_outputs; i++)
    if (!output_fits(list, &list->outputs[i])) return false;
  return true;
}
