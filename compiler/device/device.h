/* The contract of devices: memory, eager kernels, loaded code, and the running of launch lists.
 *
 * Threads: alloc and storages from any thread; the rest one at a time a device. A device outlives
 * every storage, code and pool it gave out. */
#ifndef TC_DEVICE_DEVICE_H
#define TC_DEVICE_DEVICE_H

#include "base/alloc.h"
#include "codegen/codegen.h"
#include "ops/op.h"
#include "sched/launch.h"
#include "tensor/tensor.h"

struct tc_loaded;   /* a loaded blob */
struct tc_recorded; /* what a run launched, with its addresses */

/* One bound run of a launch list. */
struct tc_run {
  const struct tc_launch_list *list;
  void *const *inputs;          /* data pointer of each graph input */
  void *const *outputs;         /* of each fresh output allocation */
  void *pool;                   /* list->pool_bytes, 64-byte aligned; may be NULL when 0 */
  const int64_t *sizes;         /* n_sizes values */
  tc_cpu_kernel const *codes;   /* entry point of each list->codes (device-specific handle elsewhere) */
  int64_t *status;              /* set by kernels; see TC_ROLE_STATUS */
  uint64_t rng[2];              /* seed, first draw */
  struct tc_recorded *recorded; /* of a run of the same list at the same sizes; NULL: none */
};

struct tc_device_methods {
  const char *name; /* "cpu" */
  /* A storage of one reference; data uninitialised. Freed memory is kept for reuse. */
  struct tc_storage *(*alloc)(struct tc_device *device, size_t bytes);
  void (*trim)(struct tc_device *device); /* gives kept memory back to the system */
  tc_status (*load)(struct tc_device *device, const struct tc_blob *blob, struct tc_loaded **out,
                    struct tc_error *err);
  tc_cpu_kernel (*symbol)(struct tc_loaded *loaded, const char *name); /* NULL: not there */
  void (*unload)(struct tc_device *device, struct tc_loaded *loaded);
  tc_status (*run)(struct tc_device *device, const struct tc_run *run, struct tc_error *err);
  /* Records what a run of the list launches, for later runs that name it: they look up again only addresses
   * that changed. The list, the sizes, and the codes must outlive it. TC_NOMEM only. */
  tc_status (*record)(struct tc_device *device, const struct tc_run *run, struct tc_recorded **out,
                      struct tc_error *err);
  void (*forget)(struct tc_device *device, struct tc_recorded *recorded); /* NULL is fine */
  /* Each entry's time in one run, in nanoseconds: ns[n_launches]. */
  tc_status (*time)(struct tc_device *device, const struct tc_run *run, double *ns, struct tc_error *err);
  /* Name, version and kernels of the library that computes matrix products, which is opened for it; "" where
   * it cannot be. The text is the device's, and the same for all its life. */
  const char *(*library)(struct tc_device *device);
  tc_status (*synchronize)(struct tc_device *device, struct tc_error *err);
  void (*close)(struct tc_device *device);
};

struct tc_device {
  const struct tc_device_methods *methods;
  struct tc_target target;
  tc_eager_fn eager[TC_OP_COUNT]; /* the registry: filled by the device; NULL where it has none */
  int threads;                    /* that run() and eager kernels use */
  /* Bytes of storages alive, and the most there ever were. */
  _Atomic int64_t bytes_live, bytes_peak;
};

/* Allocates uninitialised contiguous memory on the device (poisoned in a hostile build). TC_LIMIT
 * when the byte count overflows, TC_NOMEM when memory is out. */
tc_status tc_tensor_new(struct tc_device *device, tc_dtype dtype, int ndim, const int64_t *sizes,
                        struct tc_tensor *out, struct tc_error *err);
/* Opens the CPU. `isa`: auto, avx2 or avx512 (config switch); `threads` 0: one for each CPU this process may
 * run on. TC_UNSUPPORTED on a machine without AVX2 and FMA, with what it lacks. */
tc_status tc_device_cpu_open(const struct tc_alloc *alloc, const char *isa, int threads,
                             struct tc_device **out, struct tc_error *err);
/* Name and version of the matrix library as found at run time ("OpenBLAS 0.3.21 SkylakeX, OpenMP"); loads it.
 * NULL when it cannot be used: TC_NOMEM where there is no room for its buffers, else TC_UNSUPPORTED. The text
 * is the device's. */
const char *tc_device_cpu_blas(struct tc_device *device, struct tc_error *err);
/* Nanoseconds that opening it took, in whichever call came first; 0 while it is not open. */
double tc_device_cpu_blas_opening_ns(struct tc_device *device);

#endif
