/* The CPU device, inside device/cpu/.
 *
 * Invariants:
 *  1. Results do not depend on the number of threads: work is cut by sizes alone, and each output element is
 *     computed by one thread, in an order that sizes decide.
 *  2. Eager kernels and launch lists run one at a time a device; allocation is free to run beside them.
 *  3. Threads are OpenMP's, shared with the matrix library. */
#ifndef TC_DEVICE_CPU_CPU_H
#define TC_DEVICE_CPU_CPU_H

#include "device/cpu/blas.h"
#include "device/cpu/heap.h"
#include "device/cpu/kernels.h"
#include "device/device.h"

enum {
  TC_CPU_CACHE_LINE = 64,
  TC_CPU_BLOCK =
      512, /* elements that a kernel takes at once where operands are gathered: a few fit the L1 cache */
  TC_CPU_WORK_A_THREAD = 1 << 15, /* cheap element operations that pay for waking one more thread */
};

/* The entry point of a kernel (codegen.h): what a tc_kernel_handle is here. */
typedef void (*tc_cpu_kernel)(void *const *buffers, const int64_t *sizes, int64_t first, int64_t last);
static inline tc_cpu_kernel tc_cpu_kernel_of(const struct tc_kernel_handle *handle) {
  return (tc_cpu_kernel)(uintptr_t)handle;
}

struct tc_cpu {
  struct tc_device device; /* first: a tc_cpu is a tc_device */
  const struct tc_alloc *alloc;
  const struct tc_cpu_kernels *kernels;
  struct tc_cpu_heap heap;
  struct tc_cpu_blas blas;
  void *scratch; /* of launch lists: scratch_bytes for each of scratch_threads */
  size_t scratch_bytes;
  int scratch_threads;
};

static inline struct tc_cpu *tc_cpu_of(struct tc_device *device) { return (struct tc_cpu *)(void *)device; }

/* --- threads --- */

/* Processes items [first, last); `thread` is below device.threads. */
typedef void (*tc_cpu_chunk_fn)(void *state, int64_t first, int64_t last, int thread);
/* Cuts [0, items) into contiguous chunks whose boundaries are multiples of `grain`, one a thread; few threads
 * for little `work` (cheap element operations; see TC_CPU_WORK_A_THREAD). */
void tc_cpu_parallel(struct tc_cpu *cpu, int64_t items, int64_t grain, double work, tc_cpu_chunk_fn fn,
                     void *state);
/* The part of thread `index` of `count`. */
void tc_cpu_part(int64_t items, int64_t grain, int index, int count, int64_t *first, int64_t *last);

/* A temporary of the caller's; NULL when memory is out. Cheap: comes from the device's free lists, not
 * counted as a storage. */
void *tc_cpu_temp(struct tc_cpu *cpu, size_t bytes);
void tc_cpu_temp_free(struct tc_cpu *cpu, void *block);
tc_status tc_cpu_nomem(const struct tc_eager_call *call, struct tc_error *err);

/* --- strided operands --- */

/* A nest of loops over several operands: outer first, neighbours merged where all strides allow, sizes above
 * 1. */
enum { TC_CPU_OPERANDS = 4 };
struct tc_cpu_nest {
  int ndim, n_operands;
  int64_t total;                                                     /* product of the sizes */
  int64_t sizes[TC_MAX_DIMS], strides[TC_CPU_OPERANDS][TC_MAX_DIMS]; /* strides in elements */
};
/* Operands are broadcast to `sizes`. */
void tc_cpu_nest_broadcast(struct tc_cpu_nest *nest, int ndim, const int64_t *sizes, int n,
                           const struct tc_tensor *const *operands);
/* From strides given as they are; merges. */
void tc_cpu_nest_merge(struct tc_cpu_nest *nest);
static inline bool tc_cpu_is_flat(const struct tc_cpu_nest *nest, int operand) {
  return nest->ndim == 0 || (nest->ndim == 1 && nest->strides[operand][0] == 1);
}
/* Element offset of flat index `index` in an operand. */
int64_t tc_cpu_offset(const struct tc_cpu_nest *nest, int operand, int64_t index);
/* Elements [first, first + n) in row-major order of the nest, to and from contiguous memory. */
void tc_cpu_gather(void *to, const void *from, const struct tc_cpu_nest *nest, int operand, int64_t first,
                   int64_t n, int bytes);
void tc_cpu_scatter(void *to, const void *from, const struct tc_cpu_nest *nest, int operand, int64_t first,
                    int64_t n, int bytes);
/* Copies x into contiguous memory, with threads; casts when the dtypes differ. */
void tc_cpu_copy(struct tc_cpu *cpu, void *to, tc_dtype to_dtype, const struct tc_tensor *x);
/* dest = x, broadcast to dest's shape and cast to its dtype. They share no memory unless they are one
 * view. */
void tc_cpu_assign(struct tc_cpu *cpu, const struct tc_tensor *dest, const struct tc_tensor *x);
/* Contiguous data of x in a dtype: x's own, or a temporary that *temp then holds (free it). NULL when memory
 * is out. */
const void *tc_cpu_contiguous(struct tc_cpu *cpu, const struct tc_tensor *x, tc_dtype dtype, void **temp);
/* The elements of x with its dimensions in the order `dims`, contiguous: x's own data, or a temporary that
 * *temp then holds. NULL when memory is out. */
const void *tc_cpu_rows(struct tc_cpu *cpu, const struct tc_tensor *x, const int *dims, void **temp);
/* Is an output of `bytes`, in a pass over `all_bytes`, better written past the caches? */
bool tc_cpu_streams(const struct tc_cpu *cpu, int64_t bytes, int64_t all_bytes);

/* --- eager kernels, named in ops.def --- */
#define TC_CPU_EAGER(name)                                                                                   \
  tc_status tc_cpu_eager_##name(struct tc_device *device, const struct tc_eager_call *call,                  \
                                struct tc_error *err);
TC_CPU_EAGER(full)
TC_CPU_EAGER(arange)
TC_CPU_EAGER(random)
TC_CPU_EAGER(pointwise)
TC_CPU_EAGER(reduce)
TC_CPU_EAGER(softmax)
TC_CPU_EAGER(logsumexp)
TC_CPU_EAGER(norm)
TC_CPU_EAGER(matmul)
TC_CPU_EAGER(linear)
TC_CPU_EAGER(sdpa)
TC_CPU_EAGER(reshape)
TC_CPU_EAGER(clone)
TC_CPU_EAGER(flip)
TC_CPU_EAGER(pad)
TC_CPU_EAGER(cat)
TC_CPU_EAGER(tri)
TC_CPU_EAGER(embedding)
TC_CPU_EAGER(gather)
TC_CPU_EAGER(index_select)
TC_CPU_EAGER(copy_)

/* --- queues, which run what they are given at once (queue.c) --- */
tc_status tc_cpu_queue_new(struct tc_device *device, struct tc_queue **out, struct tc_error *err);
void tc_cpu_queue_free(struct tc_device *device, struct tc_queue *queue);
tc_status tc_cpu_event_new(struct tc_device *device, struct tc_event **out, struct tc_error *err);
void tc_cpu_event_free(struct tc_device *device, struct tc_event *event);
tc_status tc_cpu_event_record(struct tc_device *device, struct tc_event *event, struct tc_queue *queue,
                              struct tc_error *err);
tc_status tc_cpu_event_wait(struct tc_device *device, struct tc_event *event, struct tc_queue *queue,
                            struct tc_error *err);
tc_status tc_cpu_event_synchronize(struct tc_device *device, struct tc_event *event, struct tc_error *err);
tc_status tc_cpu_event_elapsed(struct tc_device *device, struct tc_event *from, struct tc_event *to,
                               double *ns, struct tc_error *err);
tc_status tc_cpu_copy_rows(struct tc_device *device, struct tc_queue *queue, const struct tc_copy *copy,
                           struct tc_error *err);
tc_status tc_cpu_fill(struct tc_device *device, struct tc_queue *queue, void *to, int byte, size_t bytes,
                      struct tc_error *err);

const char *tc_cpu_library(struct tc_device *device, struct tc_error *err);
double tc_cpu_library_opening_ns(struct tc_device *device);

/* --- launch lists and code --- */
tc_status tc_cpu_load(struct tc_device *device, const struct tc_blob *blob, struct tc_loaded **out,
                      struct tc_error *err);
const struct tc_kernel_handle *tc_cpu_symbol(struct tc_device *device, struct tc_loaded *loaded,
                                             const char *name);
void tc_cpu_unload(struct tc_device *device, struct tc_loaded *loaded);
tc_status tc_cpu_run(struct tc_device *device, const struct tc_run *run, struct tc_error *err);
tc_status tc_cpu_record(struct tc_device *device, const struct tc_run *run, struct tc_recorded **out,
                        struct tc_error *err);
void tc_cpu_forget(struct tc_device *device, struct tc_recorded *recorded);
tc_status tc_cpu_time(struct tc_device *device, const struct tc_run *run, double *ns, struct tc_error *err);

#endif
