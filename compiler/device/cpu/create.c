/* Eager creation: full, arange, rand, randn.
 *
 * Random numbers are drawn in f32 whatever the dtype, then widened or rounded, so that all dtypes hold the
 * same values. */
#include <string.h>

#include "device/cpu/cpu.h"

union element {
  uint8_t boolean;
  int64_t integer;
  uint16_t half;
  float single;
  double number;
};

static union element element_of(tc_dtype dtype, double number, int64_t integer) {
  union element e = {0};
  switch (dtype) {
    case TC_BOOL: e.boolean = integer != 0; break;
    case TC_I64: e.integer = integer; break;
    case TC_BF16: e.half = tc_f32_to_bf16((float)number); break;
    case TC_F32: e.single = (float)number; break;
    default: e.number = number; break;
  }
  return e;
}

struct fill {
  char *out;
  int bytes;
  bool stream;
  tc_cpu_block_fn move;
  union element element;
};

static void fill_part(void *state, int64_t first, int64_t last, int thread) {
  const struct fill *f = state;
  _Alignas(TC_CPU_CACHE_LINE) char block[TC_CPU_BLOCK * sizeof(union element)];
  (void)thread;
  const int64_t n = last - first < TC_CPU_BLOCK ? last - first : TC_CPU_BLOCK;
  for (int64_t i = 0; i < n; i++) memcpy(block + i * f->bytes, &f->element, (size_t)f->bytes);
  const void *in[] = {block};
  for (int64_t at = first; at < last; at += TC_CPU_BLOCK)
    f->move(f->out + at * f->bytes, in, last - at < TC_CPU_BLOCK ? last - at : TC_CPU_BLOCK, f->stream);
}

tc_status tc_cpu_eager_full(struct tc_device *device, const struct tc_eager_call *call,
                            struct tc_error *err) {
  struct tc_cpu *cpu = tc_cpu_of(device);
  const tc_dtype dtype = call->out->dtype;
  const int64_t total = tc_tensor_numel(call->out);
  const bool is_float = tc_dtype_is_float(dtype);
  struct fill f = {.out = tc_tensor_data(call->out),
                   .bytes = tc_dtype_bytes(dtype),
                   .move = cpu->kernels->cast(dtype, dtype)};
  (void)err;
  f.stream = tc_cpu_streams(cpu, total * f.bytes, total * f.bytes);
  f.element =
      element_of(dtype, is_float ? call->attrs->nums[0] : 0, is_float ? 0 : tc_attr_int(call->attrs, 1));
  tc_cpu_parallel(cpu, total, TC_CPU_BLOCK, (double)total, fill_part, &f);
  return TC_OK;
}

tc_status tc_cpu_eager_arange(struct tc_device *device, const struct tc_eager_call *call,
                              struct tc_error *err) {
  const double start = call->attrs->nums[0], step = call->attrs->nums[1];
  const int64_t n = tc_tensor_numel(call->out);
  char *out = tc_tensor_data(call->out);
  const int bytes = tc_dtype_bytes(call->out->dtype);
  (void)device, (void)err;
  for (int64_t i = 0; i < n; i++) {
    const union element e =
        element_of(call->out->dtype, start + (double)i * step,
                   (int64_t)((uint64_t)(int64_t)start + (uint64_t)i * (uint64_t)(int64_t)step));
    memcpy(out + i * bytes, &e, (size_t)bytes);
  }
  return TC_OK;
}

struct draw {
  const struct tc_cpu_kernels *kernels;
  char *out;
  int bytes;
  bool normal;
  uint64_t seed, draw;
  tc_cpu_block_fn convert;
};

static void draw_part(void *state, int64_t first, int64_t last, int thread) {
  const struct draw *d = state;
  float numbers[TC_CPU_BLOCK];
  const void *in[] = {numbers};
  (void)thread;
  for (int64_t at = first; at < last; at += TC_CPU_BLOCK) {
    const int64_t n = last - at < TC_CPU_BLOCK ? last - at : TC_CPU_BLOCK;
    d->kernels->random(numbers, (uint64_t)at, n, d->seed, d->draw, d->normal);
    d->convert(d->out + at * d->bytes, in, n, false);
  }
}

tc_status tc_cpu_eager_random(struct tc_device *device, const struct tc_eager_call *call,
                              struct tc_error *err) {
  enum { WEIGHT = 16 };
  struct tc_cpu *cpu = tc_cpu_of(device);
  const tc_dtype dtype = call->out->dtype;
  const int64_t total = tc_tensor_numel(call->out);
  if (!tc_dtype_is_float(dtype)) {
    return tc_fail(err, TC_DTYPE, "cpu", "%s: makes floats; %s is none", tc_op_row(call->op)->name,
                   tc_dtype_name(dtype));
  }
  struct draw d = {cpu->kernels,
                   tc_tensor_data(call->out),
                   tc_dtype_bytes(dtype),
                   call->op == TC_OP_randn,
                   call->seed,
                   call->draw,
                   cpu->kernels->cast(TC_F32, dtype)};
  tc_cpu_parallel(cpu, total, TC_CPU_BLOCK, (double)total * WEIGHT, draw_part, &d);
  return TC_OK;
}
