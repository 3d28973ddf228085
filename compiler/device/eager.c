/* The eager builder: every operation is inferred, allocated and run at once.
 *
 * Invariants:
 *  1. A value owns one storage reference unless it is `borrowed`; tc_eager_end drops the owned ones.
 *  2. Views share the storage of their operand. `reshape` copies where strides cannot express it.
 *  3. A MUTATE operation writes its first operand, bumps that storage's version once, and gives back a view
 *     of it.
 *  4. A random operation takes one draw of the context's generator, whatever becomes of it.
 *  5. No slot is cleared: a slot is meaningful below `count` alone (eager calls of one element are counted in
 *     nanoseconds).
 * A new operation needs nothing here: a VIEW adds its rule to tc_view_of, anything else a kernel to the
 * device's registry. */
#include "device/eager.h"

#include <string.h>

static struct tc_eager_value *slot_of(const struct tc_value *value) {
  return (struct tc_eager_value *)(uintptr_t)value;
}
static struct tc_value *value_of(struct tc_eager_value *slot) { return (struct tc_value *)slot; }

static struct tc_eager_value *slot_at(struct tc_eager *e, int number) {
  return number < TC_EAGER_INLINE ? &e->inline_values[number] : e->more.data[number - TC_EAGER_INLINE];
}

/* A slot that counts only after keep_slot; NULL when there are too many or memory is out. */
static struct tc_eager_value *next_slot(struct tc_eager *e) {
  if (e->count < TC_EAGER_INLINE) return &e->inline_values[e->count];
  if (e->count >= TC_MAX_CALL_VALUES) return NULL;
  if ((size_t)(e->count - TC_EAGER_INLINE) < e->more.len) return slot_at(e, e->count);
  struct tc_eager_value *slot = tc_new_bytes(e->ctx->alloc, sizeof *slot);
  if (!slot) return NULL;
  if (tc_vec_push(e->ctx->alloc, &e->more, slot)) return slot;
  TC_FREE(e->ctx->alloc, slot);
  return NULL;
}

static struct tc_value *keep_slot(struct tc_eager *e, struct tc_eager_value *slot, bool borrowed) {
  slot->borrowed = borrowed;
  e->count++;
  return value_of(slot);
}

static tc_status run_kernel(struct tc_context *ctx, struct tc_device *device, tc_op op, int n_in,
                            const struct tc_tensor *const *in, const struct tc_attrs *attrs,
                            struct tc_tensor *out, struct tc_error *err) {
  const tc_eager_fn kernel = device->eager[op];
  if (!kernel) {
    return tc_fail(err, TC_UNSUPPORTED, "device", "%s: the device %s has no kernel for it",
                   tc_op_row(op)->name, device->base.name);
  }
  struct tc_eager_call call = {.op = op, .n_in = n_in, .in = in, .attrs = attrs, .out = out};
  if (tc_op_row(op)->kind == TC_KIND_RANDOM) {
    call.seed = ctx->rng.seed;
    call.draw = ctx->rng.next++;
  }
  return kernel(device, &call, err);
}

static tc_status allocate(struct tc_device *device, const struct tc_meta *meta, struct tc_tensor *out,
                          struct tc_error *err) {
  int64_t sizes[TC_MAX_DIMS];
  for (int d = 0; d < meta->ndim; d++) sizes[d] = tc_sym_value(meta->sizes[d]);
  return tc_tensor_new(device, meta->dtype, meta->ndim, sizes, out, err);
}

static tc_status run_fresh(struct tc_context *ctx, struct tc_device *device, tc_op op, int n_in,
                           const struct tc_tensor *const *in, const struct tc_attrs *attrs,
                           const struct tc_meta *meta, struct tc_tensor *out, struct tc_error *err) {
  tc_status status = allocate(device, meta, out, err);
  if (status) return status;
  status = run_kernel(ctx, device, op, n_in, in, attrs, out, err);
  if (status) tc_tensor_release(out);
  return status;
}

static tc_status run_view(struct tc_context *ctx, tc_op op, const struct tc_tensor *const *in,
                          const struct tc_attrs *attrs, const struct tc_meta *meta, struct tc_tensor *out,
                          struct tc_error *err) {
  if (op != TC_OP_reshape) return tc_view_of(op, in[0], attrs, meta, out, err);
  const tc_status status = tc_view_of(op, in[0], attrs, meta, out, NULL);
  return status == TC_SHAPE ? run_fresh(ctx, in[0]->storage->device, op, 1, in, attrs, meta, out, err)
                            : status;
}

static bool same_view(const struct tc_tensor *a, const struct tc_tensor *b) {
  if (a->storage != b->storage || a->dtype != b->dtype || a->ndim != b->ndim || a->offset != b->offset)
    return false;
  for (int d = 0; d < a->ndim; d++)
    if (a->sizes[d] != b->sizes[d] || a->strides[d] != b->strides[d]) return false;
  return true;
}

/* An operand that shares the written storage through another view is copied first, so that what is read is
 * what was there before. */
static tc_status run_mutate(struct tc_context *ctx, tc_op op, int n_in, const struct tc_tensor *const *in,
                            const struct tc_attrs *attrs, struct tc_tensor *out, struct tc_error *err) {
  const struct tc_tensor *target = in[0], *operands[TC_MAX_INPUTS];
  struct tc_tensor copies[TC_MAX_INPUTS];
  int n_copies = 0;
  tc_status status = TC_OK;
  for (int d = 0; d < target->ndim; d++) {
    if (target->sizes[d] > 1 && target->strides[d] == 0) {
      return tc_fail(
          err, TC_ARG, "device",
          "%s: the tensor is expanded, so several of its elements are one in memory; clone it before writing",
          tc_op_row(op)->name);
    }
  }
  operands[0] = target;
  for (int i = 1; i < n_in; i++) {
    operands[i] = in[i];
    if (in[i]->storage != target->storage || same_view(in[i], target)) continue;
    const struct tc_attrs none = {0};
    if ((status = tc_eager_run(ctx, TC_OP_clone, 1, &in[i], &none, &copies[n_copies], err))) goto done;
    operands[i] = &copies[n_copies++];
  }
  *out = tc_tensor_share(target);
  status = run_kernel(ctx, target->storage->device, op, n_in, operands, attrs, out, err);
  if (status)
    tc_tensor_release(out);
  else
    out->storage->version++;
done:
  while (n_copies > 0) tc_tensor_release(&copies[--n_copies]);
  return status;
}

/* `device`: where an operation without operands makes its result. */
static tc_status run_on(struct tc_context *ctx, struct tc_device *device, tc_op op, int n_in,
                        const struct tc_tensor *const *in, const struct tc_attrs *attrs,
                        struct tc_tensor *out, struct tc_error *err) {
  struct tc_meta metas[TC_MAX_INPUTS], meta;
  const struct tc_meta *in_metas[TC_MAX_INPUTS];
  const enum tc_op_kind kind = tc_op_row(op)->kind;
  if (n_in > TC_MAX_INPUTS) {
    return tc_fail(err, TC_LIMIT, "device", "%s: %d operands; at most %d are supported", tc_op_row(op)->name,
                   n_in, TC_MAX_INPUTS);
  }
  for (int i = 0; i < n_in; i++) {
    tc_meta_of_tensor(in[i], &metas[i]);
    in_metas[i] = &metas[i];
  }
  const tc_status status = tc_op_infer(NULL, op, n_in, in_metas, attrs, &meta, err);
  if (status) return status;
  if (kind == TC_KIND_VIEW) return run_view(ctx, op, in, attrs, &meta, out, err);
  if (kind == TC_KIND_MUTATE) return run_mutate(ctx, op, n_in, in, attrs, out, err);
  return run_fresh(ctx, n_in ? in[0]->storage->device : device, op, n_in, in, attrs, &meta, out, err);
}

tc_status tc_eager_run(struct tc_context *ctx, tc_op op, int n_in, const struct tc_tensor *const *in,
                       const struct tc_attrs *attrs, struct tc_tensor *out, struct tc_error *err) {
  return run_on(ctx, ctx->device, op, n_in, in, attrs, out, err);
}

static tc_status eager_emit(struct tc_builder *b, tc_op op, int n_in, struct tc_value *const *in,
                            const struct tc_attrs *attrs, struct tc_value **out, struct tc_error *err) {
  struct tc_eager *e = (struct tc_eager *)b;
  const struct tc_tensor *operands[TC_MAX_INPUTS];
  const struct tc_attrs none = {0};
  if (n_in > TC_MAX_INPUTS) {
    return tc_fail(err, TC_LIMIT, "device", "%s: %d operands; at most %d are supported", tc_op_row(op)->name,
                   n_in, TC_MAX_INPUTS);
  }
  for (int i = 0; i < n_in; i++) operands[i] = &slot_of(in[i])->tensor;
  struct tc_eager_value *slot = next_slot(e);
  if (!slot) {
    return tc_fail(err, TC_LIMIT, "device", "%s: one call makes more than %d values, or memory is out",
                   tc_op_row(op)->name, TC_MAX_CALL_VALUES);
  }
  const tc_status status =
      run_on(e->ctx, e->device, op, n_in, operands, attrs ? attrs : &none, &slot->tensor, err);
  if (status) return status;
  *out = keep_slot(e, slot, false);
  return TC_OK;
}

static void eager_meta(struct tc_builder *b, const struct tc_value *value, struct tc_meta *out) {
  (void)b;
  tc_meta_of_tensor(&slot_of(value)->tensor, out);
}

static bool eager_is_contiguous(struct tc_builder *b, const struct tc_value *value) {
  (void)b;
  return tc_tensor_is_contiguous(&slot_of(value)->tensor);
}

static tc_status eager_use_device(struct tc_builder *b, const char *name, struct tc_error *err) {
  struct tc_eager *e = (struct tc_eager *)b;
  struct tc_device *const known[] = {e->ctx->device, e->ctx->cpu};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (!known[i] || strcmp(known[i]->base.name, name)) continue;
    e->builder.device = e->device = known[i];
    return TC_OK;
  }
  return tc_fail(err, TC_UNSUPPORTED, "device", "there is no device '%s'", name);
}

static tc_status eager_move(struct tc_builder *b, struct tc_value *x, struct tc_value **out,
                            struct tc_error *err) {
  struct tc_eager *e = (struct tc_eager *)b;
  struct tc_eager_value *slot = next_slot(e);
  if (!slot) return tc_fail(err, TC_LIMIT, "device", "one call makes too many values, or memory is out");
  const tc_status status = tc_tensor_to(&slot_of(x)->tensor, e->device, &slot->tensor, err);
  if (status) return status;
  *out = keep_slot(e, slot, false);
  return TC_OK;
}

static const struct tc_builder_methods eager_methods = {
    eager_emit, eager_meta, eager_is_contiguous, eager_use_device, eager_move,
};

void tc_eager_begin(struct tc_eager *e, struct tc_context *ctx) {
  e->builder.methods = &eager_methods;
  e->builder.tab = NULL;
  e->builder.default_dtype = TC_F32;
  e->ctx = ctx;
  e->builder.device = e->device = ctx->device;
  e->count = 0;
  e->more.data = NULL;
  e->more.len = e->more.cap = 0;
}

struct tc_value *tc_eager_wrap(struct tc_eager *e, const struct tc_tensor *tensor) {
  struct tc_eager_value *slot = next_slot(e);
  if (!slot) return NULL;
  slot->tensor = *tensor;
  e->builder.device = e->device = tensor->storage->device;
  return keep_slot(e, slot, true);
}

struct tc_tensor tc_eager_take(const struct tc_value *value) {
  struct tc_eager_value *slot = slot_of(value);
  if (slot->borrowed) return tc_tensor_share(&slot->tensor);
  slot->borrowed = true; /* the reference moves to the caller; the value may be read while he keeps it */
  return slot->tensor;
}

void tc_eager_end(struct tc_eager *e) {
  for (int i = 0; i < e->count; i++)
    if (!slot_at(e, i)->borrowed) tc_tensor_release(&slot_at(e, i)->tensor);
  for (size_t i = 0; i < e->more.len; i++) TC_FREE(e->ctx->alloc, e->more.data[i]);
  if (e->more.cap) tc_vec_free(e->ctx->alloc, &e->more);
  e->count = 0;
}
