/* Library calls: a matmul's operands as strided matrices, with as few batch dimensions as can be.
 *
 * 1. An operand is taken where one of its two strides is 1 and the other does not make lines overlap.
 * 2. Batch dimensions along which B does not move, and along which the rows of A and C go on, become rows;
 *    neighbours that all three walk as one are collapsed. */
#include "sched/schedule.h"

#include "base/strbuf.h"

void tc_gemm_dims(const struct tc_loop *gemm, struct tc_operand_dims *a, struct tc_operand_dims *b,
                  struct tc_operand_dims *c) {
  const tc_sym zero = tc_sym_const(0), one = tc_sym_const(1), k = gemm->inner_vars[0],
               sum = gemm->inner_sizes[0];
  const tc_sym row = gemm->row_dim < 0 ? zero : gemm->vars[gemm->row_dim],
               rows = gemm->row_dim < 0 ? one : gemm->sizes[gemm->row_dim];
  const tc_sym col = gemm->col_dim < 0 ? zero : gemm->vars[gemm->col_dim],
               cols = gemm->col_dim < 0 ? one : gemm->sizes[gemm->col_dim];
  *a = (struct tc_operand_dims){.row = row, .col = k, .rows = rows, .cols = sum};
  *b = (struct tc_operand_dims){.row = k, .col = col, .rows = sum, .cols = cols};
  *c = (struct tc_operand_dims){.row = row, .col = col, .rows = rows, .cols = cols};
  for (int i = 0; i < gemm->ndim; i++)
    if (i != gemm->row_dim && i != gemm->col_dim)
      a->batch[a->n_batch++] = b->batch[b->n_batch++] = c->batch[c->n_batch++] = gemm->vars[i];
}

/* Stride along `var`, which leaves the address; a variable of size 1 is the constant 0 and has stride 0. */
static bool take_stride(const struct tc_sched *s, tc_sym *address, tc_sym var, tc_sym *stride) {
  *stride = tc_sym_const(0);
  if (tc_sym_is_const(var)) return true;
  tc_sym rest;
  if (!tc_sym_affine(s->tab, *address, var, stride, &rest) || tc_sym_hint(*stride) < 0) return false;
  *address = rest;
  return true;
}

static bool at_least(const struct tc_sched *s, tc_sym a, tc_sym b) { return !tc_sym_decide_lt(s->tab, a, b); }

bool tc_gemm_operand(const struct tc_sched *s, const struct tc_view *view, const struct tc_operand_dims *dims,
                     struct tc_gemm_operand *out, tc_sym *batch_strides) {
  tc_sym address = tc_loop_address(s, view->loop, &s->loops->indices.data[view->index]);
  if (!tc_sym_valid(address)) return false;
  if (!take_stride(s, &address, dims->row, &out->row_stride) ||
      !take_stride(s, &address, dims->col, &out->col_stride))
    return false;
  for (int i = 0; i < dims->n_batch; i++)
    if (!take_stride(s, &address, dims->batch[i], &batch_strides[i])) return false;
  out->offset = address;
  /* Strides of a matrix of one row or one column are free: chosen so that the rule below holds. */
  const tc_sym one = tc_sym_const(1);
  if (tc_sym_is(dims->cols, 1)) out->col_stride = tc_sym_is(out->row_stride, 1) ? dims->rows : one;
  if (tc_sym_is(dims->rows, 1)) out->row_stride = tc_sym_is(out->col_stride, 1) ? dims->cols : one;
  const bool rows_dense =
      tc_sym_is(out->col_stride, 1) && (tc_sym_is(dims->rows, 1) || at_least(s, out->row_stride, dims->cols));
  const bool cols_dense =
      tc_sym_is(out->row_stride, 1) && (tc_sym_is(dims->cols, 1) || at_least(s, out->col_stride, dims->rows));
  return rows_dense || cols_dense;
}

/* --- batch dimensions --- */

struct batch {
  int n;
  tc_sym sizes[TC_MAX_DIMS], a[TC_MAX_DIMS], b[TC_MAX_DIMS], c[TC_MAX_DIMS];
};

static bool walks(const struct tc_sched *s, tc_sym outer_stride, tc_sym inner_stride, tc_sym inner_size) {
  return tc_sym_same(outer_stride, tc_sym_mul(s->tab, inner_stride, inner_size));
}

static void fold_rows(const struct tc_sched *s, struct tc_gemm *g, struct batch *batch) {
  while (batch->n) {
    const int last = batch->n - 1;
    const bool one_row = tc_sym_is(g->m, 1);
    const bool rows_go_on =
        walks(s, batch->a[last], g->a.row_stride, g->m) && walks(s, batch->c[last], g->c.row_stride, g->m);
    const bool a_dense =
        tc_sym_is(g->a.col_stride, 1); /* a transposed A has no single row stride across the batch */
    if (!tc_sym_is(batch->b[last], 0) || !a_dense || !(one_row || rows_go_on)) return;
    if (one_row && !at_least(s, batch->a[last], g->k)) return;
    if (one_row) g->a.row_stride = batch->a[last], g->c.row_stride = batch->c[last];
    g->m = tc_sym_mul(s->tab, g->m, batch->sizes[last]);
    batch->n--;
  }
}

static void collapse(const struct tc_sched *s, struct batch *batch) {
  for (int i = batch->n - 2; i >= 0; i--) {
    const tc_sym size = batch->sizes[i + 1];
    if (!walks(s, batch->a[i], batch->a[i + 1], size) || !walks(s, batch->b[i], batch->b[i + 1], size) ||
        !walks(s, batch->c[i], batch->c[i + 1], size))
      continue;
    batch->sizes[i] = tc_sym_mul(s->tab, batch->sizes[i], size);
    batch->a[i] = batch->a[i + 1], batch->b[i] = batch->b[i + 1], batch->c[i] = batch->c[i + 1];
    for (int k = i + 1; k + 1 < batch->n; k++) {
      batch->sizes[k] = batch->sizes[k + 1];
      batch->a[k] = batch->a[k + 1], batch->b[k] = batch->b[k + 1], batch->c[k] = batch->c[k + 1];
    }
    batch->n--;
  }
}

static const char *label_of(struct tc_sched *s, const struct tc_node *node) {
  struct tc_strbuf text;
  tc_strbuf_init(&text, s->alloc);
  tc_strbuf_puts(&text, tc_op_row(node->op)->name);
  for (int i = 0; i < node->n_in; i++) {
    tc_strbuf_puts(&text, i ? "x[" : " [");
    for (int d = 0; d < node->in[i]->meta.ndim; d++) {
      tc_strbuf_puts(&text, d ? ", " : "");
      tc_sym_print(&text, node->in[i]->meta.sizes[d]);
    }
    tc_strbuf_puts(&text, "]");
  }
  return tc_strbuf_text(&text);
}

static double product_hint(const struct batch *batch, double value) {
  for (int i = 0; i < batch->n; i++) value *= (double)tc_sym_hint(batch->sizes[i]);
  return value;
}

tc_status tc_gemm_launch(struct tc_sched *s, const struct tc_loop *loop, struct tc_launch *out) {
  struct tc_operand_dims a, b, c;
  struct tc_gemm *g = &out->gemm;
  struct batch batch = {0};
  tc_gemm_dims(loop, &a, &b, &c);
  for (int i = 0; i < loop->ndim; i++)
    if (i != loop->row_dim && i != loop->col_dim) batch.sizes[batch.n++] = loop->sizes[i];
  struct tc_index own = {.n = loop->ndim};
  for (int i = 0; i < loop->ndim; i++) own.at[i] = loop->vars[i];
  const struct tc_view result = {.loop = loop->id, .index = tc_loops_index(s->loops, &own)};
  const bool taken = result.index >= 0 && tc_gemm_operand(s, &loop->a, &a, &g->a, batch.a) &&
                     tc_gemm_operand(s, &loop->b, &b, &g->b, batch.b) &&
                     tc_gemm_operand(s, &result, &c, &g->c, batch.c);
  if (!taken)
    return tc_fail(s->err, TC_UNSUPPORTED, "schedule",
                   "a matmul's operand has strides that the library does not take: add :contiguous()");
  /* One column: the rule for free strides may have made C's columns dense; C is row-major. */
  if (!tc_sym_is(g->c.col_stride, 1)) g->c.col_stride = tc_sym_const(1);
  out->kind = TC_LAUNCH_GEMM;
  g->dtype = loop->dtype;
  g->m = a.rows, g->n = b.cols, g->k = a.cols;
  const double flops = 2 * product_hint(&batch, (double)tc_sym_hint(g->m) * (double)tc_sym_hint(g->n) *
                                                    (double)tc_sym_hint(g->k));
  fold_rows(s, g, &batch);
  collapse(s, &batch);
  if (batch.n > TC_GEMM_BATCH)
    return tc_fail(s->err, TC_LIMIT, "schedule",
                   "matmul with %d batch dimensions that do not collapse; %d are the most: reshape it",
                   batch.n, TC_GEMM_BATCH);
  g->n_batch = batch.n;
  for (int i = 0; i < batch.n; i++) {
    g->batch[i] = batch.sizes[i];
    g->a.batch_strides[i] = batch.a[i], g->b.batch_strides[i] = batch.b[i],
    g->c.batch_strides[i] = batch.c[i];
  }
  g->a.slot = tc_slot_of_loop(s, loop->a.loop), g->b.slot = tc_slot_of_loop(s, loop->b.loop),
  g->c.slot = tc_slot_of_loop(s, loop->id);
  if (g->a.slot < 0 || g->b.slot < 0 || g->c.slot < 0) return tc_sched_failed(s);
  out->code = -1;
  out->items = tc_sym_const(1);
  out->work = tc_sym_mul(s->tab, tc_sym_mul(s->tab, g->m, g->n), g->k);
  out->flops = (uint64_t)flops;
  const int ids[] = {loop->a.loop, loop->b.loop, loop->id};
  for (int i = 0; i < 3; i++)
    out->bytes += (uint64_t)tc_sym_hint(tc_loop_elements(s, ids[i])) * (uint64_t)tc_dtype_bytes(loop->dtype);
  out->label = label_of(s, loop->node);
  out->n_ops = 1;
  out->fused = tc_op_row(loop->node->op)->name;
  return out->label ? TC_OK : tc_sched_failed(s);
}
