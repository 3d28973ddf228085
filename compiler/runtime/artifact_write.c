/* Writing of artifacts; artifact_read.c is its mirror: keep the order of fields equal. */
#include <string.h>

#include "runtime/artifact.h"

/* LEB128, zigzag for signed values. */
static void put_u64(struct tc_strbuf *out, uint64_t value) {
  unsigned char bytes[10];
  size_t n = 0;
  do {
    bytes[n] = (unsigned char)(value & 127);
    value >>= 7;
    if (value) bytes[n] |= 128;
    n++;
  } while (value);
  tc_strbuf_bytes(out, bytes, n);
}

static void put_int(struct tc_strbuf *out, int64_t value) {
  put_u64(out, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

static void put_text(struct tc_strbuf *out, const char *text) {
  const size_t n = strlen(text);
  put_u64(out, n);
  tc_strbuf_bytes(out, text, n);
}

/* 0 invalid, 1 constant, 2 text. */
static void put_sym(struct tc_strbuf *out, tc_sym s) {
  put_u64(out, !tc_sym_valid(s) ? 0 : tc_sym_is_const(s) ? 1 : 2);
  if (!tc_sym_valid(s)) return;
  if (tc_sym_is_const(s)) {
    put_int(out, tc_sym_value(s));
    return;
  }
  struct tc_strbuf text;
  tc_strbuf_init(&text, out->alloc);
  tc_sym_print(&text, s);
  const char *printed = tc_strbuf_text(&text);
  if (printed)
    put_text(out, printed);
  else
    out->failed = true;
  tc_strbuf_free(&text);
}

static void put_syms(struct tc_strbuf *out, int n, const tc_sym *syms) {
  for (int i = 0; i < n; i++) put_sym(out, syms[i]);
}

static void put_operand(struct tc_strbuf *out, const struct tc_gemm_operand *o, int n_batch) {
  put_int(out, o->slot);
  put_sym(out, o->offset);
  put_sym(out, o->row_stride);
  put_sym(out, o->col_stride);
  put_syms(out, n_batch, o->batch_strides);
}

static void put_gemm(struct tc_strbuf *out, const struct tc_gemm *g) {
  put_u64(out, g->dtype);
  put_sym(out, g->m);
  put_sym(out, g->n);
  put_sym(out, g->k);
  put_u64(out, (uint64_t)g->n_batch);
  put_syms(out, g->n_batch, g->batch);
  put_operand(out, &g->a, g->n_batch);
  put_operand(out, &g->b, g->n_batch);
  put_operand(out, &g->c, g->n_batch);
}

static void put_launch(struct tc_strbuf *out, const struct tc_launch *l, const struct tc_launch_list *list) {
  put_u64(out, l->kind);
  put_text(out, l->label);
  put_text(out, l->fused);
  put_u64(out, l->bytes);
  put_u64(out, l->flops);
  put_u64(out, (uint64_t)l->n_ops);
  put_u64(out, (uint64_t)l->n_depends);
  for (int i = 0; i < l->n_depends; i++) put_u64(out, (uint64_t)l->depends[i]);
  put_sym(out, l->items);
  put_sym(out, l->work);
  if (l->kind == TC_LAUNCH_GEMM) {
    put_gemm(out, &l->gemm);
    return;
  }
  put_u64(out, (uint64_t)l->code);
  for (int i = 0; i < list->codes[l->code].n_buffers; i++) put_int(out, l->slots[i]);
}

static void put_code(struct tc_strbuf *out, const struct tc_code *c) {
  put_text(out, c->symbol);
  put_text(out, c->generator ? c->generator : "");
  put_u64(out, (uint64_t)c->n_buffers);
  for (int i = 0; i < c->n_buffers; i++) {
    put_u64(out, c->roles[i]);
    put_sym(out, c->scratch_bytes[i]);
  }
}

static void put_slot(struct tc_strbuf *out, const struct tc_slot *s) {
  put_u64(out, s->kind);
  put_u64(out, (uint64_t)s->index);
  put_u64(out, s->dtype);
  put_sym(out, s->elements);
  put_sym(out, s->offset);
}

static void put_tiles(struct tc_strbuf *out, const struct tc_tiles *t) {
  put_u64(out, (uint64_t)t->first);
  put_u64(out, (uint64_t)t->count);
  put_sym(out, t->batches);
  put_sym(out, t->rows);
  put_int(out, t->step);
  put_sym(out, t->bytes);
}

static void put_output(struct tc_strbuf *out, const struct tc_output *o) {
  put_u64(out, (uint64_t)o->slot);
  put_u64(out, o->dtype);
  put_u64(out, (uint64_t)o->ndim);
  put_sym(out, o->offset);
  put_syms(out, o->ndim, o->sizes);
  put_syms(out, o->ndim, o->strides);
}

static void put_facts(struct tc_strbuf *out, const struct tc_launch_list *list) {
  if (!list->n_sizes) return;
  put_u64(out, (uint64_t)list->n_facts);
  for (int i = 0; i < list->n_facts; i++) {
    const struct tc_sym_fact *fact = &list->facts[i];
    put_u64(out, (uint64_t)fact->less << 1 | fact->holds);
    put_sym(out, fact->a);
    put_sym(out, fact->b);
  }
}

void tc_artifact_write(struct tc_strbuf *out, const struct tc_launch_list *list,
                       const struct tc_blobs *blobs) {
  const int counts[] = {list->n_codes,     list->n_slots,     list->n_launches, list->n_outputs,
                        list->n_allocated, list->n_inputs,    list->n_tiles,    list->n_sizes,
                        list->draws,       list->n_graph_ops, blobs->count};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) put_u64(out, (uint64_t)counts[i]);
  for (int i = 0; i < list->n_sizes; i++) put_int(out, list->size_hints[i]);
  put_facts(out, list);
  put_u64(out, (uint64_t)list->n_products);
  tc_strbuf_bytes(out, list->products, (size_t)list->n_products);
  put_sym(out, list->pool_bytes);
  put_u64(out, list->pool_bytes_without_reuse);
  for (int i = 0; i < list->n_codes; i++) put_code(out, &list->codes[i]);
  for (int i = 0; i < list->n_slots; i++) put_slot(out, &list->slots[i]);
  for (int i = 0; i < list->n_launches; i++) put_launch(out, &list->launches[i], list);
  for (int i = 0; i < list->n_tiles; i++) put_tiles(out, &list->tiles[i]);
  for (int i = 0; i < list->n_outputs; i++) put_output(out, &list->outputs[i]);
  put_syms(out, list->n_allocated, list->allocated_bytes);
  for (int i = 0; i < blobs->count; i++) {
    put_u64(out, blobs->blob[i].size);
    tc_strbuf_bytes(out, blobs->blob[i].bytes, blobs->blob[i].size);
  }
}

void tc_artifact_name(const void *bytes, size_t size, char text[TC_SHA256_HEX]) {
  tc_sha256_of(bytes, size, text);
}
