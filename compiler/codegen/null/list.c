/* Runs a launch list by the interpreter: kernels in parts, matmuls by three loops in doubles. It has no
 * tiles: their slots get all their elements. */
#include <string.h>

#include "codegen/null/internal.h"
#include "codegen/null/interpret.h"

enum { POISON = 0xA5 };

struct list_run {
  const struct tc_alloc *alloc;
  const struct tc_interpreted_run *given;
  void **tiles; /* by slot */
};

static void *slot_memory(const struct list_run *r, int index) {
  const struct tc_interpreted_run *run = r->given;
  const struct tc_slot *slot = &run->list->slots[index];
  switch (slot->kind) {
    case TC_SLOT_INPUT: return run->inputs[slot->index];
    case TC_SLOT_OUTPUT: return run->outputs[slot->index];
    case TC_SLOT_POOL: return (char *)run->pool + tc_sym_eval(slot->offset, run->sizes);
    case TC_SLOT_TILE: return r->tiles[index];
    case TC_SLOT_STATUS: return run->status;
    default: return (void *)run->rng;
  }
}

static tc_status run_kernel(const struct list_run *r, const struct tc_launch *l, struct tc_error *err) {
  const struct tc_interpreted_run *run = r->given;
  const struct tc_kernel *k = run->list->codes[l->code].kernel;
  void *buffers[TC_MAX_KERNEL_BUFFERS] = {0};
  for (int i = 0; i < k->n_buffers; i++)
    if (l->slots[i] >= 0) buffers[i] = slot_memory(r, l->slots[i]);
  const int64_t items = tc_sym_eval(l->items, run->sizes);
  tc_status status = TC_OK;
  for (int part = 0; part < run->parts && status == TC_OK; part++)
    status = tc_interpret_kernel(r->alloc, k, buffers, run->sizes, items * part / run->parts,
                                 items * (part + 1) / run->parts, err);
  return status;
}

struct matrix {
  void *data;
  int64_t base, row, col, elements;
};

static struct matrix operand(const struct list_run *r, const struct tc_gemm_operand *o, const int64_t *batch,
                             int n_batch) {
  const struct tc_interpreted_run *run = r->given;
  const int64_t *sizes = run->sizes;
  struct matrix m = {.data = slot_memory(r, o->slot),
                     .base = tc_sym_eval(o->offset, sizes),
                     .row = tc_sym_eval(o->row_stride, sizes),
                     .col = tc_sym_eval(o->col_stride, sizes),
                     .elements = tc_sym_eval(run->list->slots[o->slot].elements, sizes)};
  for (int i = 0; i < n_batch; i++) m.base += batch[i] * tc_sym_eval(o->batch_strides[i], sizes);
  return m;
}

static bool fits(const struct matrix *m, int64_t rows, int64_t cols) {
  return !rows || !cols ||
         (m->base >= 0 && m->base + (rows - 1) * m->row + (cols - 1) * m->col < m->elements);
}

static tc_status multiply(const struct tc_gemm *g, const struct matrix *a, const struct matrix *b,
                          const struct matrix *c, int64_t m, int64_t n, int64_t k, struct tc_error *err) {
  if (!fits(a, m, k) || !fits(b, k, n) || !fits(c, m, n))
    return tc_fail(err, TC_VERIFY, "null", "a matmul's operand reaches outside of its slot");
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
      double sum = 0;
      for (int64_t p = 0; p < k; p++)
        sum += null_read(g->dtype, a->data, a->base + i * a->row + p * a->col).f *
               null_read(g->dtype, b->data, b->base + p * b->row + j * b->col).f;
      null_write(g->dtype, c->data, c->base + i * c->row + j * c->col, TC_F64, (struct null_value){.f = sum});
    }
  return TC_OK;
}

static tc_status run_gemm(const struct list_run *r, const struct tc_gemm *g, struct tc_error *err) {
  const struct tc_interpreted_run *run = r->given;
  const int64_t m = tc_sym_eval(g->m, run->sizes), n = tc_sym_eval(g->n, run->sizes),
                k = tc_sym_eval(g->k, run->sizes);
  int64_t extents[TC_GEMM_BATCH] = {0}, batch[TC_GEMM_BATCH] = {0}, count = 1;
  for (int i = 0; i < g->n_batch; i++) count *= extents[i] = tc_sym_eval(g->batch[i], run->sizes);
  tc_status status = TC_OK;
  for (int64_t at = 0; at < count && status == TC_OK; at++) {
    int64_t rest = at;
    for (int i = g->n_batch - 1; i >= 0; i--) batch[i] = rest % extents[i], rest /= extents[i];
    const struct matrix a = operand(r, &g->a, batch, g->n_batch), b = operand(r, &g->b, batch, g->n_batch),
                        c = operand(r, &g->c, batch, g->n_batch);
    status = multiply(g, &a, &b, &c, m, n, k, err);
  }
  return status;
}

static size_t tile_bytes(const struct tc_interpreted_run *run, const struct tc_slot *slot) {
  return (size_t)(tc_sym_eval(slot->elements, run->sizes) * tc_dtype_bytes(slot->dtype));
}

static tc_status make_tiles(struct list_run *r, struct tc_error *err) {
  const struct tc_launch_list *list = r->given->list;
  for (int i = 0; i < list->n_slots; i++) {
    if (list->slots[i].kind != TC_SLOT_TILE) continue;
    const size_t bytes = tile_bytes(r->given, &list->slots[i]);
    r->tiles[i] = tc_new_bytes(r->alloc, bytes);
    if (!r->tiles[i])
      return tc_fail(err, TC_NOMEM, "null", "out of memory: %zu bytes for a tile slot", bytes);
    memset(r->tiles[i], POISON, bytes);
  }
  return TC_OK;
}

tc_status tc_interpret_list(const struct tc_alloc *alloc, const struct tc_interpreted_run *run,
                            struct tc_error *err) {
  struct list_run r = {alloc, run, TC_NEW_ARRAY(alloc, void *, (size_t)run->list->n_slots + 1)};
  if (!r.tiles) return tc_fail(err, TC_NOMEM, "null", "out of memory for the interpreter");
  tc_status status = make_tiles(&r, err);
  for (int i = 0; i < run->list->n_launches && status == TC_OK; i++) {
    const struct tc_launch *l = &run->list->launches[i];
    status = l->kind == TC_LAUNCH_GEMM ? run_gemm(&r, &l->gemm, err) : run_kernel(&r, l, err);
  }
  for (int i = 0; i < run->list->n_slots; i++)
    if (r.tiles[i]) tc_free_bytes(alloc, r.tiles[i], tile_bytes(run, &run->list->slots[i]));
  TC_FREE_ARRAY(alloc, r.tiles, (size_t)run->list->n_slots + 1);
  return status;
}
