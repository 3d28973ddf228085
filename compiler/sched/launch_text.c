/* Text of a launch list: slots, entries in order, results; then the kernels. */
#include "base/strbuf.h"
#include "sched/launch.h"

static const char *const slot_names[] = {"input", "output", "pool", "tile", "status", "rng"};

static void print_operand(struct tc_strbuf *out, const char *name, const struct tc_gemm *g,
                          const struct tc_gemm_operand *o) {
  tc_strbuf_printf(out, " %s=s%d+", name, o->slot);
  tc_sym_print(out, o->offset);
  tc_strbuf_puts(out, "(");
  for (int i = 0; i < g->n_batch; i++) {
    tc_sym_print(out, o->batch_strides[i]);
    tc_strbuf_puts(out, ", ");
  }
  tc_sym_print(out, o->row_stride);
  tc_strbuf_puts(out, ", ");
  tc_sym_print(out, o->col_stride);
  tc_strbuf_puts(out, ")");
}

static void print_gemm(struct tc_strbuf *out, const struct tc_gemm *g) {
  tc_strbuf_printf(out, " %s batch [", tc_dtype_name(g->dtype));
  for (int i = 0; i < g->n_batch; i++) {
    tc_strbuf_puts(out, i ? ", " : "");
    tc_sym_print(out, g->batch[i]);
  }
  tc_strbuf_puts(out, "] m ");
  tc_sym_print(out, g->m);
  tc_strbuf_puts(out, " n ");
  tc_sym_print(out, g->n);
  tc_strbuf_puts(out, " k ");
  tc_sym_print(out, g->k);
  print_operand(out, "a", g, &g->a);
  print_operand(out, "b", g, &g->b);
  print_operand(out, "c", g, &g->c);
}

static void print_launch(struct tc_strbuf *out, const struct tc_launch_list *list, int index) {
  const struct tc_launch *l = &list->launches[index];
  tc_strbuf_printf(out, "  %d: %s", index, l->label);
  if (l->kind == TC_LAUNCH_GEMM) {
    print_gemm(out, &l->gemm);
  } else {
    for (int i = 0; i < list->codes[l->code].n_buffers; i++) {
      tc_strbuf_puts(out, i ? ", " : " (");
      if (l->slots[i] < 0)
        tc_strbuf_puts(out, "scratch");
      else
        tc_strbuf_printf(out, "s%d", l->slots[i]);
    }
    tc_strbuf_puts(out, ") items ");
    tc_sym_print(out, l->items);
  }
  for (int i = 0; i < l->n_depends; i++) tc_strbuf_printf(out, "%s%d", i ? ", " : " after ", l->depends[i]);
  tc_strbuf_printf(out, "  -- %d ops, %llu bytes, %llu flops\n", l->n_ops, (unsigned long long)l->bytes,
                   (unsigned long long)l->flops);
}

static void print_output(struct tc_strbuf *out, const struct tc_output *o) {
  tc_strbuf_printf(out, "  return s%d+", o->slot);
  tc_sym_print(out, o->offset);
  tc_strbuf_printf(out, " %s[", tc_dtype_name(o->dtype));
  for (int d = 0; d < o->ndim; d++) {
    tc_strbuf_puts(out, d ? ", " : "");
    tc_sym_print(out, o->sizes[d]);
  }
  tc_strbuf_puts(out, "] strides [");
  for (int d = 0; d < o->ndim; d++) {
    tc_strbuf_puts(out, d ? ", " : "");
    tc_sym_print(out, o->strides[d]);
  }
  tc_strbuf_puts(out, "]\n");
}

void tc_launch_print(struct tc_strbuf *out, const struct tc_launch_list *list) {
  tc_strbuf_puts(out, "launches {\n");
  for (int i = 0; i < list->n_slots; i++) {
    const struct tc_slot *s = &list->slots[i];
    tc_strbuf_printf(out, "  s%d: %s", i, slot_names[s->kind]);
    if (s->kind == TC_SLOT_INPUT || s->kind == TC_SLOT_OUTPUT) tc_strbuf_printf(out, " %d", s->index);
    if (s->kind == TC_SLOT_POOL || s->kind == TC_SLOT_TILE) {
      tc_strbuf_puts(out, " +");
      tc_sym_print(out, s->offset);
    }
    tc_strbuf_printf(out, " %s[", tc_dtype_name(s->dtype));
    tc_sym_print(out, s->elements);
    tc_strbuf_puts(out, "]\n");
  }
  for (int i = 0; i < list->n_launches; i++) print_launch(out, list, i);
  for (int i = 0; i < list->n_tiles; i++) {
    const struct tc_tiles *t = &list->tiles[i];
    tc_strbuf_printf(out, "  tiles of %d to %d: ", t->first, t->first + t->count - 1);
    tc_sym_print(out, t->batches);
    tc_strbuf_puts(out, " batches of ");
    tc_sym_print(out, t->rows);
    tc_strbuf_printf(out, " rows by %lld, ", (long long)t->step);
    tc_sym_print(out, t->bytes);
    tc_strbuf_puts(out, " bytes a thread\n");
  }
  for (int i = 0; i < list->n_outputs; i++) print_output(out, &list->outputs[i]);
  tc_strbuf_puts(out, "  pool ");
  tc_sym_print(out, list->pool_bytes);
  tc_strbuf_printf(out, " bytes (%llu without reuse)\n}\n",
                   (unsigned long long)list->pool_bytes_without_reuse);
  for (int i = 0; i < list->n_codes; i++)
    if (list->codes[i].kernel) tc_kernel_print(out, list->codes[i].kernel);
}
