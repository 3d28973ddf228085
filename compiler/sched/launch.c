/* The launch list: units in order become kernels or library calls; equal kernels share one code. */
#include "sched/draft.h"
#include "sched/kernel_equal.h"

/* --- codes: equal kernels share one --- */

static bool fill_code(struct tc_sched *s, const struct tc_kernel *k, struct tc_code *code) {
  *code = (struct tc_code){.kernel = k, .symbol = k->name, .n_buffers = k->n_buffers};
  code->roles = TC_NEW_ARRAY(s->alloc, enum tc_buffer_role, (size_t)k->n_buffers + 1);
  code->scratch_bytes = TC_NEW_ARRAY(s->alloc, tc_sym, (size_t)k->n_buffers + 1);
  if (!code->roles || !code->scratch_bytes) return false;
  for (int b = 0; b < k->n_buffers; b++) {
    code->roles[b] = k->buffers[b].role;
    if (k->buffers[b].role == TC_ROLE_SCRATCH)
      code->scratch_bytes[b] =
          tc_sym_mul(s->tab, k->buffers[b].elements, tc_sym_const(tc_dtype_bytes(k->buffers[b].dtype)));
  }
  return true;
}

/* The code of an equal kernel, or a new one; -1 when memory is out. */
static int code_of(struct tc_sched *s, struct tc_kernel *k, const struct tc_cluster *cluster,
                   const struct tc_alloc *scratch, struct tc_launch *out) {
  struct tc_launch_list *list = s->list;
  unsigned char *seen = TC_NEW_ARRAY(scratch, unsigned char, (size_t)k->n_exprs + 1);
  const char *stem = tc_cluster_name(s, cluster, out);
  if (!seen || !stem) return -1;
  const uint64_t hash = tc_kernel_hash(k);
  size_t at = tc_hash_index_first(&s->code_index, hash);
  for (int code; (code = tc_hash_index_next(&s->code_index, hash, &at)) >= 0;)
    if (tc_kernel_equal(list->codes[code].kernel, k, seen) &&
        tc_sched_may(s, TC_FUEL_share, NULL, "and what is in its kernel, by the code of an equal one", NULL))
      return code;
  k->plain = !tc_sched_may(
      s, TC_FUEL_code, NULL,
      "and what is in its kernel, by code with loops for what repeats and copies of bodies", NULL);
  k->name = tc_unique_name(s, stem);
  if (!k->name || !fill_code(s, k, &list->codes[list->n_codes])) return -1;
  return tc_hash_index_add(s->alloc, &s->code_index, hash, list->n_codes) ? list->n_codes++ : -1;
}

/* --- entries --- */

static int slot_of_buffer(struct tc_sched *s, const struct tc_draft_buffer *b) {
  switch (b->role) {
    case TC_ROLE_SCRATCH: return -1;
    case TC_ROLE_STATUS: return tc_slot_of_kind(s, TC_SLOT_STATUS);
    case TC_ROLE_RNG: return tc_slot_of_kind(s, TC_SLOT_RNG);
    default: return tc_slot_of_loop(s, b->loop);
  }
}

static tc_status launch_drafted(struct tc_sched *s, struct tc_cluster *cluster, struct tc_arena *scratch,
                                struct tc_launch *out) {
  struct tc_draft draft;
  struct tc_kernel *k = NULL;
  tc_status status = tc_draft_build(s, cluster, scratch, &draft);
  if (status == TC_OK) status = tc_draft_stage(&draft);
  if (status == TC_OK) status = tc_draft_domain(&draft);
  if (status == TC_OK) status = tc_draft_keep(&draft);
  if (status == TC_OK) status = tc_draft_jam(&draft);
  if (status == TC_OK) status = tc_draft_index_split(&draft);
  if (status == TC_OK) status = tc_draft_finish(&draft, &k);
  if (status == TC_OK && s->config->verify) status = tc_kernel_verify(k, s->err);
  if (status != TC_OK) return status;
  out->kind = TC_LAUNCH_KERNEL;
  out->code = code_of(s, k, cluster, tc_arena_alloc(scratch), out);
  out->slots = TC_NEW_ARRAY(s->alloc, int, (size_t)k->n_buffers + 1);
  if (out->code < 0 || !out->slots) return tc_sched_failed(s);
  for (int i = 0; i < k->n_buffers; i++) {
    out->slots[i] = slot_of_buffer(s, &draft.buffers.data[i]);
    if (out->slots[i] < 0 && k->buffers[i].role != TC_ROLE_SCRATCH) return tc_sched_failed(s);
  }
  out->items = tc_kernel_items(s->tab, k);
  tc_sym work = tc_sym_const(1);
  for (int i = 0; i < k->n_outer; i++) work = tc_sym_mul(s->tab, work, k->outer[i].extent);
  for (int i = 0; i < k->n_inner; i++) work = tc_sym_mul(s->tab, work, k->inner[i].extent);
  out->work = work;
  out->label = s->list->codes[out->code].symbol;
  out->bytes = k->bytes;
  out->flops = k->flops;
  return tc_sym_valid(out->items) && tc_sym_valid(out->work) ? TC_OK : tc_sched_failed(s);
}

/* What a draft holds is freed before the next is made. */
static tc_status launch_kernel(struct tc_sched *s, struct tc_cluster *cluster, struct tc_launch *out) {
  struct tc_arena *scratch = tc_arena_new(tc_arena_parent(s->loops->arena));
  if (!scratch) return tc_fail_memory(s->err, "schedule");
  s->scratch = scratch;
  s->making = cluster;
  const tc_status status = launch_drafted(s, cluster, scratch, out);
  s->making = NULL;
  s->scratch = NULL;
  tc_arena_free(scratch);
  return status;
}

static tc_status launch_output(struct tc_sched *s, const struct tc_view *view, struct tc_output *out) {
  tc_sym address = tc_loop_address(s, view->loop, &s->loops->indices.data[view->index]);
  *out = (struct tc_output){
      .slot = tc_slot_of_loop(s, view->loop), .dtype = tc_loop_at(s, view->loop)->dtype, .ndim = view->ndim};
  if (out->slot < 0) return tc_sched_failed(s);
  tc_sym dense = tc_sym_const(1); /* the stride of a dimension of size 1 is free */
  for (int d = view->ndim - 1; d >= 0; d--) {
    out->sizes[d] = view->sizes[d];
    out->strides[d] = dense;
    tc_sym rest;
    if (!tc_sym_is_const(view->vars[d])) {
      if (!tc_sym_affine(s->tab, address, view->vars[d], &out->strides[d], &rest))
        return tc_fail(s->err, TC_UNSUPPORTED, "schedule",
                       "a result is a view without strides over its memory: add :contiguous()");
      address = rest;
    }
    dense = tc_sym_mul(s->tab, dense, tc_sym_is(view->sizes[d], 0) ? tc_sym_const(1) : view->sizes[d]);
  }
  out->offset = address;
  return TC_OK;
}

static bool make_list(struct tc_sched *s) {
  struct tc_launch_list *list = s->list = TC_NEW(s->alloc, struct tc_launch_list);
  const size_t n = (size_t)s->n_units + 1;
  if (!list) return false;
  list->launches = TC_NEW_ARRAY(s->alloc, struct tc_launch, n);
  list->codes = TC_NEW_ARRAY(s->alloc, struct tc_code, n);
  s->plain = TC_NEW_ARRAY(s->alloc, bool, n);
  list->outputs = TC_NEW_ARRAY(s->alloc, struct tc_output, s->g->outputs.len + 1);
  list->allocated_bytes = TC_NEW_ARRAY(s->alloc, tc_sym, s->g->outputs.len + 1);
  list->n_inputs = (int)s->g->inputs.len;
  list->n_graph_ops = (int)(s->g->nodes.len - s->g->inputs.len);
  list->draws = s->g->draws;
  list->pool_bytes = tc_sym_const(0);
  return list->launches && list->codes && s->plain && list->outputs && list->allocated_bytes;
}

static tc_status note_sizes(struct tc_sched *s) {
  struct tc_launch_list *list = s->list;
  list->n_sizes = tc_sched_sizes(s);
  list->size_hints = TC_NEW_ARRAY(s->alloc, int64_t, (size_t)list->n_sizes + 1);
  for (int i = 0; list->size_hints && i < list->n_sizes; i++) list->size_hints[i] = tc_symtab_hint(s->tab, i);
  return list->size_hints ? TC_OK : tc_sched_failed(s);
}

tc_status tc_sched_launch(struct tc_sched *s) {
  if (!make_list(s)) return tc_sched_failed(s);
  tc_status status = TC_OK;
  for (int i = 0; i < s->n_units && status == TC_OK; i++) {
    struct tc_cluster *cluster = s->clusters.data[s->units[i]];
    s->plain[s->list->n_launches] = cluster->plain;
    struct tc_launch *out = &s->list->launches[s->list->n_launches++];
    status = cluster->gemm ? tc_gemm_launch(s, cluster->gemm, out) : launch_kernel(s, cluster, out);
  }
  for (size_t i = 0; i < s->g->outputs.len && status == TC_OK; i++) {
    status = launch_output(s, &s->loops->outputs[i], &s->list->outputs[i]);
    s->list->n_outputs++;
  }
  return status == TC_OK ? note_sizes(s) : status;
}
