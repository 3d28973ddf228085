/* Reading of artifacts; the mirror of artifact_write.c.
 *
 * 1. Damage is sticky (`bad`): after it every getter gives 0, and the result is TC_CORRUPT.
 * 2. A count is believed only if that many items could still follow (each takes a byte at least). */
#include <string.h>

#include "base/products.h"
#include "runtime/artifact.h"

struct reader {
  const unsigned char *at, *end;
  struct tc_arena *arena;
  struct tc_symtab *tab;
  bool bad, no_memory;
  bool constant; /* the list has no size variables: neither have its symbols */
};

static uint64_t get_u64(struct reader *r) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && r->at < r->end; shift += 7) {
    const unsigned char byte = *r->at++;
    value |= (uint64_t)(byte & 127) << shift;
    if (!(byte & 128)) return value;
  }
  r->bad = true;
  return 0;
}

static int64_t get_int(struct reader *r) {
  const uint64_t value = get_u64(r);
  return (int64_t)(value >> 1 ^ -(value & 1));
}

static int get_count(struct reader *r) {
  const uint64_t value = get_u64(r);
  if (value > (uint64_t)(r->end - r->at)) r->bad = true;
  return r->bad ? 0 : (int)value;
}

/* A number below `limit`. */
static int get_below(struct reader *r, int limit) {
  const uint64_t value = get_u64(r);
  if (limit <= 0 || value >= (uint64_t)limit) r->bad = true;
  return r->bad ? 0 : (int)value;
}

static void *array(struct reader *r, int count, size_t size) {
  void *block = tc_new_zeroed(tc_arena_alloc(r->arena), (size_t)count, size);
  if (!block) r->bad = r->no_memory = true;
  return block;
}
#define ARRAY(r, type, count) ((type *)array((r), (count), sizeof(type)))

static const char *get_text(struct reader *r) {
  const int n = get_count(r);
  char *text = ARRAY(r, char, n + 1);
  if (r->bad) return "";
  memcpy(text, r->at, (size_t)n);
  r->at += n;
  return text;
}

static tc_sym get_sym(struct reader *r) {
  const uint64_t form = get_u64(r);
  if (form == 1) return tc_sym_const(get_int(r));
  if (r->constant && form) r->bad = true;
  if (form == 0 || r->bad) return TC_SYM_INVALID;
  const char *text = get_text(r);
  const tc_sym s = tc_sym_parse(r->tab, &text, 0, NULL, NULL);
  if (!tc_sym_valid(s) || *text) r->bad = true;
  return s;
}

static tc_sym need_sym(struct reader *r) {
  const tc_sym s = get_sym(r);
  if (!tc_sym_valid(s)) r->bad = true;
  return r->bad ? tc_sym_const(0) : s;
}

static void get_syms(struct reader *r, int n, tc_sym *syms) {
  for (int i = 0; i < n; i++) syms[i] = need_sym(r);
}

static void get_operand(struct reader *r, struct tc_gemm_operand *o, int n_batch, int n_slots) {
  const int64_t slot = get_int(r);
  if (slot < 0 || slot >= n_slots) r->bad = true;
  o->slot = r->bad ? 0 : (int)slot;
  o->offset = need_sym(r);
  o->row_stride = need_sym(r);
  o->col_stride = need_sym(r);
  get_syms(r, n_batch, o->batch_strides);
}

static void get_gemm(struct reader *r, struct tc_gemm *g, int n_slots) {
  g->dtype = (tc_dtype)get_below(r, TC_DTYPE_COUNT);
  g->m = need_sym(r);
  g->n = need_sym(r);
  g->k = need_sym(r);
  g->n_batch = get_below(r, TC_GEMM_BATCH + 1);
  get_syms(r, g->n_batch, g->batch);
  get_operand(r, &g->a, g->n_batch, n_slots);
  get_operand(r, &g->b, g->n_batch, n_slots);
  get_operand(r, &g->c, g->n_batch, n_slots);
}

static void get_kernel_launch(struct reader *r, struct tc_launch *l, const struct tc_launch_list *list) {
  l->code = get_below(r, list->n_codes);
  if (r->bad) return;
  const struct tc_code *code = &list->codes[l->code];
  l->slots = ARRAY(r, int, code->n_buffers);
  for (int i = 0; i < code->n_buffers && !r->bad; i++) {
    const int64_t slot = get_int(r);
    const bool scratch = code->roles[i] == TC_ROLE_SCRATCH;
    if (scratch ? slot != -1 : slot < 0 || slot >= list->n_slots)
      r->bad = true;
    else
      l->slots[i] = (int)slot;
  }
}

static void get_launch(struct reader *r, struct tc_launch *l, int index, const struct tc_launch_list *list) {
  l->kind = (enum tc_launch_kind)get_below(r, TC_LAUNCH_GEMM + 1);
  l->label = get_text(r);
  l->fused = get_text(r);
  l->bytes = get_u64(r);
  l->flops = get_u64(r);
  l->n_ops = (int)get_u64(r);
  l->n_depends = get_count(r);
  l->depends = ARRAY(r, int, l->n_depends);
  for (int i = 0; i < l->n_depends && !r->bad; i++) l->depends[i] = get_below(r, index);
  l->items = need_sym(r);
  l->work = need_sym(r);
  if (r->bad) return;
  if (l->kind == TC_LAUNCH_GEMM)
    get_gemm(r, &l->gemm, list->n_slots);
  else
    get_kernel_launch(r, l, list);
}

static void get_code(struct reader *r, struct tc_code *c) {
  c->symbol = get_text(r);
  c->generator = get_text(r);
  c->n_buffers = get_below(r, TC_MAX_KERNEL_BUFFERS + 1);
  c->roles = ARRAY(r, enum tc_buffer_role, c->n_buffers);
  c->scratch_bytes = ARRAY(r, tc_sym, c->n_buffers);
  for (int i = 0; i < c->n_buffers && !r->bad; i++) {
    c->roles[i] = (enum tc_buffer_role)get_below(r, TC_ROLE_RNG + 1);
    c->scratch_bytes[i] = get_sym(r);
    if (c->roles[i] == TC_ROLE_SCRATCH && !tc_sym_valid(c->scratch_bytes[i])) r->bad = true;
  }
}

static void get_slot(struct reader *r, struct tc_slot *s, const struct tc_launch_list *list) {
  s->kind = (enum tc_slot_kind)get_below(r, TC_SLOT_RNG + 1);
  const int limit = s->kind == TC_SLOT_INPUT    ? list->n_inputs
                    : s->kind == TC_SLOT_OUTPUT ? list->n_allocated
                                                : list->n_slots + 1;
  s->index = get_below(r, limit);
  s->dtype = (tc_dtype)get_below(r, TC_DTYPE_COUNT);
  s->elements = get_sym(r);
  s->offset = get_sym(r);
  if ((s->kind == TC_SLOT_POOL || s->kind == TC_SLOT_TILE) && !tc_sym_valid(s->offset)) r->bad = true;
  if (s->kind == TC_SLOT_TILE && !tc_sym_valid(s->elements)) r->bad = true;
}

static tc_sym need_positive(struct reader *r) {
  const tc_sym s = need_sym(r);
  if (tc_sym_is_const(s) && tc_sym_value(s) <= 0) r->bad = true;
  return r->bad ? tc_sym_const(1) : s;
}

static void get_tiles(struct reader *r, struct tc_tiles *t, int after, const struct tc_launch_list *list) {
  t->first = get_below(r, list->n_launches);
  t->count = get_below(r, TC_MAX_TILED + 1);
  t->batches = need_positive(r);
  t->rows = need_positive(r);
  t->step = get_int(r);
  t->bytes = need_sym(r);
  if (t->first < after || t->count < 1 || t->count > list->n_launches - t->first || t->step < 1)
    r->bad = true;
}

/* The memory of a tile exists only while its entries run. */
static void check_tile_slots(struct reader *r, const struct tc_launch_list *list) {
  for (int u = 0; u < list->n_launches && !r->bad; u++)
    for (int i = 0; i < tc_launch_slot_count(list, &list->launches[u]); i++) {
      const int slot = tc_launch_slot(&list->launches[u], i);
      if (slot >= 0 && list->slots[slot].kind == TC_SLOT_TILE && tc_tiles_of(list, u) < 0) r->bad = true;
    }
}

static void get_output(struct reader *r, struct tc_output *o, const struct tc_launch_list *list) {
  o->slot = get_below(r, list->n_slots);
  o->dtype = (tc_dtype)get_below(r, TC_DTYPE_COUNT);
  o->ndim = get_below(r, TC_MAX_DIMS + 1);
  o->offset = need_sym(r);
  get_syms(r, o->ndim, o->sizes);
  get_syms(r, o->ndim, o->strides);
  const enum tc_slot_kind kind = r->bad ? TC_SLOT_INPUT : list->slots[o->slot].kind;
  if (kind != TC_SLOT_INPUT && kind != TC_SLOT_OUTPUT) r->bad = true;
}

static void get_blob(struct reader *r, const struct tc_alloc *alloc, struct tc_blobs *blobs) {
  const int size = get_count(r);
  if (r->bad) return;
  struct tc_blob *blob = &blobs->blob[blobs->count];
  *blob = (struct tc_blob){tc_new_bytes(alloc, size ? (size_t)size : 1), (size_t)size, alloc};
  if (!blob->bytes) {
    r->bad = r->no_memory = true;
    return;
  }
  memcpy(blob->bytes, r->at, (size_t)size);
  r->at += size;
  blobs->count++;
}

/* The size variables come first, so that every symbol has its hint. */
static void get_sizes(struct reader *r, struct tc_launch_list *list) {
  list->size_hints = ARRAY(r, int64_t, list->n_sizes);
  for (int i = 0; i < list->n_sizes && !r->bad; i++) {
    list->size_hints[i] = get_int(r);
    if (list->size_hints[i] < TC_SYM_SIZE_MIN || list->size_hints[i] > TC_SYM_SIZE_MAX)
      r->bad = true;
    else if (!tc_sym_valid(tc_sym_size(r->tab, i, list->size_hints[i])))
      r->bad = r->no_memory = true;
  }
}

static void get_facts(struct reader *r, struct tc_launch_list *list) {
  enum { FORMS = 4 };
  if (!list->n_sizes) return;
  list->n_facts = get_count(r);
  list->facts = ARRAY(r, struct tc_sym_fact, list->n_facts);
  for (int i = 0; i < list->n_facts && !r->bad; i++) {
    const int form = get_below(r, FORMS);
    const tc_sym a = need_sym(r), b = need_sym(r);
    list->facts[i] = (struct tc_sym_fact){.less = form >> 1, .holds = form & 1, .a = a, .b = b};
  }
}

/* A byte each. */
static void get_products(struct reader *r, struct tc_launch_list *list) {
  list->n_products = get_count(r);
  list->products = ARRAY(r, unsigned char, list->n_products);
  for (int i = 0; i < list->n_products && !r->bad; i++) {
    list->products[i] = *r->at++;
    if (list->products[i] >= TC_PRODUCTS) r->bad = true;
  }
}

static void get_list(struct reader *r, const struct tc_alloc *alloc, struct tc_launch_list *list,
                     struct tc_blobs *blobs) {
  int *const counts[] = {&list->n_codes,     &list->n_slots,  &list->n_launches, &list->n_outputs,
                         &list->n_allocated, &list->n_inputs, &list->n_tiles};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) *counts[i] = get_count(r);
  list->n_sizes = get_count(r);
  r->constant = list->n_sizes == 0;
  list->draws = (int)get_u64(r);
  list->n_graph_ops = (int)get_u64(r);
  const int n_blobs = get_below(r, TC_MAX_MODULES + 1);
  get_sizes(r, list);
  get_facts(r, list);
  get_products(r, list);
  list->pool_bytes = need_sym(r);
  list->pool_bytes_without_reuse = get_u64(r);
  list->codes = ARRAY(r, struct tc_code, list->n_codes);
  list->slots = ARRAY(r, struct tc_slot, list->n_slots);
  list->launches = ARRAY(r, struct tc_launch, list->n_launches);
  list->tiles = ARRAY(r, struct tc_tiles, list->n_tiles);
  list->outputs = ARRAY(r, struct tc_output, list->n_outputs);
  list->allocated_bytes = ARRAY(r, tc_sym, list->n_allocated);
  for (int i = 0; i < list->n_codes && !r->bad; i++) get_code(r, &list->codes[i]);
  for (int i = 0; i < list->n_slots && !r->bad; i++) get_slot(r, &list->slots[i], list);
  for (int i = 0; i < list->n_launches && !r->bad; i++) get_launch(r, &list->launches[i], i, list);
  for (int i = 0, after = 0; i < list->n_tiles && !r->bad; i++) {
    get_tiles(r, &list->tiles[i], after, list);
    after = list->tiles[i].first + list->tiles[i].count;
  }
  check_tile_slots(r, list);
  for (int i = 0; i < list->n_outputs && !r->bad; i++) get_output(r, &list->outputs[i], list);
  if (!r->bad) get_syms(r, list->n_allocated, list->allocated_bytes);
  for (int i = 0; i < n_blobs && !r->bad; i++) get_blob(r, alloc, blobs);
  if (tc_symtab_sizes(r->tab) > list->n_sizes) r->bad = true; /* a symbol of a size that no call gives */
  if (r->at != r->end || (!r->bad && r->constant && !tc_artifact_fits(list))) r->bad = true;
}

tc_status tc_artifact_read(struct tc_arena *arena, const struct tc_alloc *alloc, const unsigned char *bytes,
                           size_t size, struct tc_launch_list **list, struct tc_blobs *blobs,
                           struct tc_error *err) {
  struct reader r = {bytes, bytes + size, arena, tc_symtab_new(tc_arena_alloc(arena)), false, false, false};
  *list = TC_NEW(tc_arena_alloc(arena), struct tc_launch_list);
  blobs->count = 0;
  if (!r.tab || !*list) return tc_fail(err, TC_NOMEM, "runtime", "out of memory for an artifact");
  get_list(&r, alloc, *list, blobs);
  if (!r.bad) return TC_OK;
  tc_blobs_free(blobs);
  return r.no_memory
             ? tc_fail(err, TC_NOMEM, "runtime", "out of memory for an artifact")
             : tc_fail(err, TC_CORRUPT, "runtime", "the artifact is damaged at byte %td", r.at - bytes);
}
