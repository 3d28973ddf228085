/* Eager kernels and launch lists of the shadow device: what they are given is copied, with addresses of the
 * host in place of the device's, and the CPU does it in its turn. Sizes are worked out now: symbols belong to
 * who called. */
#include "device/shadow/shadow.h"

/* --- eager kernels --- */

struct eager_work {
  struct tc_shadow_work work; /* first */
  struct tc_eager_call call;
  struct tc_attrs attrs;
  const struct tc_tensor *in[TC_MAX_INPUTS];
  struct tc_tensor *tensors; /* operands, then the result */
};

static tc_status do_eager(struct tc_shadow *shadow, struct tc_shadow_work *work, struct tc_error *err) {
  const struct eager_work *w = (struct eager_work *)work;
  shadow->cpu->threads = shadow->device.threads;
  return shadow->cpu->eager[w->call.op](shadow->cpu, &w->call, err);
}

/* The same tensor over the memory of the host. */
static struct tc_tensor behind(const struct tc_shadow *shadow, const struct tc_tensor *x,
                               struct tc_storage *storage) {
  struct tc_tensor t = *x;
  storage->data = tc_shadow_back(shadow, x->storage->data);
  storage->bytes = x->storage->bytes;
  storage->device = shadow->cpu;
  t.storage = storage;
  return t;
}

/* May the kernel find a value that it must refuse? */
static bool may_refuse(const struct tc_eager_call *call) {
  if (tc_op_row(call->op)->kind == TC_KIND_GATHER) return true;
  return (call->op == TC_OP_floor_divide || call->op == TC_OP_remainder) &&
         !tc_dtype_is_float(call->out->dtype);
}

tc_status tc_shadow_eager(struct tc_device *device, const struct tc_eager_call *call, struct tc_error *err) {
  struct tc_shadow *shadow = tc_shadow_of(device);
  struct eager_work *w = tc_shadow_work_new(shadow, sizeof *w, do_eager);
  bool failed = false;
  if (!w) return tc_shadow_order(shadow, NULL, NULL, true, err);
  const struct tc_alloc *alloc = tc_arena_alloc(w->work.arena);
  const int n = call->n_in;
  struct tc_storage *storages = TC_NEW_ARRAY(alloc, struct tc_storage, (size_t)n + 1);
  w->tensors = TC_NEW_ARRAY(alloc, struct tc_tensor, (size_t)n + 1);
  w->call = *call;
  w->call.in = w->in;
  if (!storages || !w->tensors) return tc_shadow_order(shadow, NULL, &w->work, true, err);
  for (int i = 0; i < n; i++) {
    w->tensors[i] = behind(shadow, call->in[i], &storages[i]);
    w->in[i] = &w->tensors[i];
  }
  w->tensors[n] = behind(shadow, call->out, &storages[n]);
  w->call.out = &w->tensors[n];
  if (call->attrs) {
    w->attrs = *call->attrs;
    w->attrs.ints =
        tc_shadow_keep(&w->work, w->attrs.ints, sizeof *w->attrs.ints * (size_t)w->attrs.n_ints, &failed);
    w->attrs.nums =
        tc_shadow_keep(&w->work, w->attrs.nums, sizeof *w->attrs.nums * (size_t)w->attrs.n_nums, &failed);
    w->call.attrs = &w->attrs;
  }
  const bool waits = may_refuse(call);
  const tc_status status = tc_shadow_order(shadow, NULL, &w->work, failed, err);
  return status || !waits ? status : tc_shadow_synchronize(device, err);
}

/* --- launch lists --- */

struct run_work {
  struct tc_shadow_work work; /* first */
  struct tc_run run;
  struct tc_launch_list list;
};

/* What copies a list. */
struct keeper {
  struct tc_shadow_work *work;
  const int64_t *sizes;
  bool failed;
};

static void *keep(struct keeper *k, const void *from, size_t bytes) {
  return tc_shadow_keep(k->work, from, bytes, &k->failed);
}
#define KEEP(k, from, count) keep((k), (from), sizeof *(from) * (size_t)(count))

static void settle_size(const struct keeper *k, tc_sym *s) {
  if (tc_sym_valid(*s) && !tc_sym_is_const(*s)) *s = tc_sym_const(tc_sym_eval(*s, k->sizes));
}

static void settle_sizes(const struct keeper *k, int n, tc_sym *s) {
  for (int i = 0; i < n; i++) settle_size(k, &s[i]);
}

static void settle_operand(const struct keeper *k, struct tc_gemm_operand *o, int n_batch) {
  settle_size(k, &o->offset);
  settle_size(k, &o->row_stride);
  settle_size(k, &o->col_stride);
  settle_sizes(k, n_batch, o->batch_strides);
}

static void settle_launch(struct keeper *k, const struct tc_launch_list *list, struct tc_launch *l) {
  l->depends = KEEP(k, l->depends, l->n_depends);
  if (l->kind == TC_LAUNCH_KERNEL) {
    l->slots = KEEP(k, l->slots, list->codes[l->code].n_buffers);
    settle_size(k, &l->items);
    settle_size(k, &l->work);
    return;
  }
  struct tc_gemm *g = &l->gemm;
  settle_size(k, &g->m);
  settle_size(k, &g->n);
  settle_size(k, &g->k);
  settle_sizes(k, g->n_batch, g->batch);
  settle_operand(k, &g->a, g->n_batch);
  settle_operand(k, &g->b, g->n_batch);
  settle_operand(k, &g->c, g->n_batch);
}

/* What a run reads of a list. */
static void keep_list(struct keeper *k, const struct tc_launch_list *list, struct tc_launch_list *out) {
  *out = *list;
  out->launches = KEEP(k, list->launches, list->n_launches);
  out->codes = KEEP(k, list->codes, list->n_codes);
  out->slots = KEEP(k, list->slots, list->n_slots);
  out->tiles = KEEP(k, list->tiles, list->n_tiles);
  if (k->failed) return;
  for (int i = 0; i < list->n_launches; i++) settle_launch(k, list, &out->launches[i]);
  for (int i = 0; i < list->n_codes; i++) {
    struct tc_code *code = &out->codes[i];
    code->roles = KEEP(k, code->roles, code->n_buffers);
    code->scratch_bytes = KEEP(k, code->scratch_bytes, code->n_buffers);
    if (code->scratch_bytes) settle_sizes(k, code->n_buffers, code->scratch_bytes);
  }
  for (int i = 0; i < list->n_slots; i++) {
    settle_size(k, &out->slots[i].elements);
    settle_size(k, &out->slots[i].offset);
  }
  for (int i = 0; i < list->n_tiles; i++) {
    settle_size(k, &out->tiles[i].batches);
    settle_size(k, &out->tiles[i].rows);
    settle_size(k, &out->tiles[i].bytes);
  }
}

static void *const *keep_addresses(const struct tc_shadow *shadow, struct keeper *k, void *const *from,
                                   int n) {
  void **to = KEEP(k, from, n);
  for (int i = 0; to && i < n; i++) to[i] = tc_shadow_back(shadow, from[i]);
  return to;
}

/* A copy of a run with addresses of the host, as work. NULL: memory is out. */
static struct run_work *keep_run(struct tc_shadow *shadow, const struct tc_run *run,
                                 tc_status (*how)(struct tc_shadow *, struct tc_shadow_work *,
                                                  struct tc_error *)) {
  struct run_work *w = tc_shadow_work_new(shadow, sizeof *w, how);
  if (!w) return NULL;
  struct keeper k = {.work = &w->work, .sizes = run->sizes};
  w->run = *run;
  w->run.list = &w->list;
  w->run.queue = NULL;
  keep_list(&k, run->list, &w->list);
  w->run.inputs = keep_addresses(shadow, &k, run->inputs, run->list->n_inputs);
  w->run.outputs = keep_addresses(shadow, &k, run->outputs, run->list->n_allocated);
  w->run.pool = tc_shadow_back(shadow, run->pool);
  w->run.sizes = KEEP(&k, run->sizes, run->list->n_sizes);
  w->run.codes = KEEP(&k, run->codes, run->list->n_codes);
  if (!k.failed) return w;
  tc_arena_free(w->work.arena);
  return NULL;
}

static tc_status do_run(struct tc_shadow *shadow, struct tc_shadow_work *work, struct tc_error *err) {
  const struct run_work *w = (struct run_work *)work;
  shadow->cpu->threads = shadow->device.threads;
  return shadow->cpu->methods->run(shadow->cpu, &w->run, err);
}

static bool has_status(const struct tc_launch_list *list) {
  for (int i = 0; i < list->n_slots; i++)
    if (list->slots[i].kind == TC_SLOT_STATUS) return true;
  return false;
}

tc_status tc_shadow_run(struct tc_device *device, const struct tc_run *run, struct tc_error *err) {
  struct tc_shadow *shadow = tc_shadow_of(device);
  struct run_work *w = keep_run(shadow, run, do_run);
  const tc_status status = tc_shadow_order(shadow, run->queue, w ? &w->work : NULL, false, err);
  return status || !has_status(run->list) ? status : tc_shadow_synchronize(device, err);
}

/* The CPU's record: a run that names it reads it in its turn. */
tc_status tc_shadow_record(struct tc_device *device, const struct tc_run *run, struct tc_recorded **out,
                           struct tc_error *err) {
  struct tc_shadow *shadow = tc_shadow_of(device);
  struct run_work *w = keep_run(shadow, run, do_run);
  if (!w) return tc_shadow_order(shadow, NULL, NULL, true, err);
  const tc_status status = shadow->cpu->methods->record(shadow->cpu, &w->run, out, err);
  tc_arena_free(w->work.arena);
  return status;
}

tc_status tc_shadow_time(struct tc_device *device, const struct tc_run *run, double *ns,
                         struct tc_error *err) {
  struct tc_shadow *shadow = tc_shadow_of(device);
  tc_status status = tc_shadow_synchronize(device, err);
  if (status) return status;
  struct run_work *w = keep_run(shadow, run, do_run);
  if (!w) return tc_shadow_order(shadow, NULL, NULL, true, err);
  status = shadow->cpu->methods->time(shadow->cpu, &w->run, ns, err);
  tc_arena_free(w->work.arena);
  return status;
}
