/* Eager pointwise operations: operands of any strides, broadcast, through kernels over contiguous elements.
 *
 * 1. The result is contiguous, so work is cut in its flat index. Where every operand is contiguous too, a
 *    kernel takes a thread's whole part; else blocks of TC_CPU_BLOCK, whose strided operands are gathered
 *    into a few kilobytes of stack.
 * 2. A result that cannot stay in the last-level cache is written past it. */
#include <stdatomic.h>

#include "device/cpu/cpu.h"

enum { BLOCK_BYTES = TC_CPU_BLOCK * 8, MAX_IN = 3 };

struct pass {
  tc_cpu_block_fn kernel;
  struct tc_cpu_nest nest;
  int n_in, out_bytes, in_bytes[MAX_IN];
  const char *in[MAX_IN];
  char *out;
  bool stream, flat;
  atomic_bool *by_zero; /* of i64 division: set where a divisor is 0; else NULL */
};

/* A result that is divided by zero is not to be used, but the kernel may compute it. */
static void run_kernel(const struct pass *p, void *out, const void *const *in, int64_t n) {
  if (p->by_zero) {
    const int64_t *divisors = in[1];
    bool zero = false;
    for (int64_t i = 0; i < n; i++) zero |= divisors[i] == 0;
    if (zero) atomic_store_explicit(p->by_zero, true, memory_order_relaxed);
  }
  p->kernel(out, in, n, p->stream);
}

static void run_flat(const struct pass *p, int64_t first, int64_t last) {
  const void *in[MAX_IN];
  for (int i = 0; i < p->n_in; i++) in[i] = p->in[i] + first * p->in_bytes[i];
  run_kernel(p, p->out + first * p->out_bytes, in, last - first);
}

/* Does the block lie in one contiguous run of the operand? Then *at is where. */
static bool lies_in_run(const struct tc_cpu_nest *nest, int operand, int64_t first, int64_t n, int64_t *at) {
  const int inner = nest->ndim - 1;
  if (nest->strides[operand][inner] != 1 || first % nest->sizes[inner] + n > nest->sizes[inner]) return false;
  *at = tc_cpu_offset(nest, operand, first);
  return true;
}

static bool is_constant(const struct tc_cpu_nest *nest, int operand) {
  for (int d = 0; d < nest->ndim; d++)
    if (nest->strides[operand][d]) return false;
  return true;
}

static void run_blocks(const struct pass *p, int64_t first, int64_t last) {
  _Alignas(TC_CPU_CACHE_LINE) char gathered[MAX_IN][BLOCK_BYTES];
  bool constant[MAX_IN];
  for (int i = 0; i < p->n_in; i++) {
    constant[i] = is_constant(&p->nest, i);
    if (constant[i])
      tc_cpu_gather(gathered[i], p->in[i], &p->nest, i, first,
                    last - first < TC_CPU_BLOCK ? last - first : TC_CPU_BLOCK, p->in_bytes[i]);
  }
  for (int64_t at = first; at < last; at += TC_CPU_BLOCK) {
    const int64_t n = last - at < TC_CPU_BLOCK ? last - at : TC_CPU_BLOCK;
    const void *in[MAX_IN];
    for (int i = 0; i < p->n_in; i++) {
      int64_t offset;
      in[i] = gathered[i];
      if (constant[i]) continue;
      if (lies_in_run(&p->nest, i, at, n, &offset))
        in[i] = p->in[i] + offset * p->in_bytes[i];
      else
        tc_cpu_gather(gathered[i], p->in[i], &p->nest, i, at, n, p->in_bytes[i]);
    }
    run_kernel(p, p->out + at * p->out_bytes, in, n);
  }
}

static void run_part(void *state, int64_t first, int64_t last, int thread) {
  const struct pass *p = state;
  (void)thread;
  if (p->flat)
    run_flat(p, first, last);
  else
    run_blocks(p, first, last);
}

/* Cheap element operations that one element of the operation is worth, in round figures. */
static int weight_of(tc_op op) {
  enum { CHEAP = 1, DIVISION = 2, POLYNOMIAL = 4 };
  switch (op) {
    case TC_OP_exp:
    case TC_OP_log:
    case TC_OP_log1p:
    case TC_OP_sin:
    case TC_OP_cos:
    case TC_OP_tan:
    case TC_OP_tanh:
    case TC_OP_sigmoid:
    case TC_OP_erf:
    case TC_OP_gelu:
    case TC_OP_gelu_tanh:
    case TC_OP_silu:
    case TC_OP_softplus:
    case TC_OP_pow: return POLYNOMIAL;
    case TC_OP_div:
    case TC_OP_floor_divide:
    case TC_OP_remainder:
    case TC_OP_sqrt:
    case TC_OP_rsqrt:
    case TC_OP_reciprocal: return DIVISION;
    default: return CHEAP;
  }
}

bool tc_cpu_streams(const struct tc_cpu *cpu, int64_t bytes, int64_t all_bytes) {
  enum { SMALLEST = 1 << 20 };
  return bytes >= SMALLEST && all_bytes > cpu->device.target.l3_bytes;
}

static bool same_shape_contiguous(const struct tc_tensor *x, const struct tc_tensor *out) {
  if (x->ndim != out->ndim) return false;
  for (int d = 0; d < out->ndim; d++)
    if (x->sizes[d] != out->sizes[d] || (x->strides[d] != out->strides[d] && out->sizes[d] != 1))
      return false;
  return true;
}

static bool all_flat(const struct tc_eager_call *call) {
  for (int i = 0; i < call->n_in; i++)
    if (!same_shape_contiguous(call->in[i], call->out)) return false;
  return true;
}

static tc_status refuse(const struct tc_eager_call *call, tc_dtype dtype, struct tc_error *err) {
  return tc_fail(err, TC_DTYPE, "cpu", "%s: does not take %s", tc_op_row(call->op)->name,
                 tc_dtype_name(dtype));
}

/* The pass is not cleared first, and its nest is filled only where operands are not flat: this is the path of
 * one-element tensors. */
tc_status tc_cpu_eager_pointwise(struct tc_device *device, const struct tc_eager_call *call,
                                 struct tc_error *err) {
  struct tc_cpu *cpu = tc_cpu_of(device);
  const tc_dtype dtype = call->in[call->n_in - 1]->dtype;
  atomic_bool by_zero = false;
  struct pass p;
  p.kernel = call->op == TC_OP_cast ? cpu->kernels->cast(dtype, call->out->dtype)
                                    : cpu->kernels->pointwise(call->op, dtype);
  if (!p.kernel || call->n_in > MAX_IN) return refuse(call, dtype, err);
  p.n_in = call->n_in;
  p.by_zero =
      dtype == TC_I64 && (call->op == TC_OP_floor_divide || call->op == TC_OP_remainder) ? &by_zero : NULL;
  p.out = tc_tensor_data(call->out);
  p.out_bytes = tc_dtype_bytes(call->out->dtype);
  p.flat = all_flat(call);
  if (p.flat) {
    p.nest.total = tc_tensor_numel(call->out);
  } else {
    tc_cpu_nest_broadcast(&p.nest, call->out->ndim, call->out->sizes, call->n_in, call->in);
    p.flat = true;
    for (int i = 0; i < call->n_in; i++) p.flat &= tc_cpu_is_flat(&p.nest, i);
  }
  if (p.nest.total == 0) return TC_OK;
  int64_t bytes = p.out_bytes;
  for (int i = 0; i < call->n_in; i++) {
    p.in[i] = tc_tensor_data(call->in[i]);
    p.in_bytes[i] = tc_dtype_bytes(call->in[i]->dtype);
    bytes += p.in_bytes[i];
  }
  p.stream = tc_cpu_streams(cpu, p.nest.total * p.out_bytes, p.nest.total * bytes) &&
             (uintptr_t)p.out % TC_CPU_CACHE_LINE == 0;
  const double work = (double)p.nest.total * weight_of(call->op);
  if (work <= TC_CPU_WORK_A_THREAD)
    run_part(&p, 0, p.nest.total, 0);
  else
    tc_cpu_parallel(cpu, p.nest.total, TC_CPU_BLOCK, work, run_part, &p);
  return by_zero ? tc_division_by_zero(call->op, err) : TC_OK;
}
