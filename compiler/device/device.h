/* The contract of devices: memory, queues, eager kernels, loaded code, and the running of launch lists.
 *
 * Work. A device does in its own time what it is told, in queues: each does its work in the order in which it
 * was given. NULL is the default queue, on which eager kernels run, results are made, and memory is freed.
 * Queues wait for each other only by events. A pointer into a storage is an address of the device: the host
 * reads and writes storages by tensor/host.h alone.
 *
 * Memory. alloc gives memory that work given later on the default queue may use. A storage that is released
 * is freed behind the work that the default queue then has; on another queue, an event must say so first.
 *
 * Failure. What can be told of sizes and dtypes fails when it is given. A kernel that may find a wrong value
 * (an index out of range, an integer divided by 0) has found it or not when the call that runs it returns: an
 * eager kernel waits for itself, and a run waits where the list has a status word (TC_SLOT_STATUS). So the
 * error is raised at the line of Lua where the CPU raises it. Other failures (memory for temporaries) may
 * come late, from whatever waits next: synchronize, event_synchronize, or a read by the host.
 *
 * Threads: alloc and storages from any thread; the rest one at a time a device. A device outlives every
 * storage, queue, event, code and record that it gave out. */
#ifndef TC_DEVICE_DEVICE_H
#define TC_DEVICE_DEVICE_H

#include "base/alloc.h"
#include "codegen/codegen.h"
#include "ops/op.h"
#include "sched/launch.h"
#include "tensor/tensor.h"

struct tc_queue;
struct tc_event;
struct tc_loaded;        /* a loaded blob */
struct tc_kernel_handle; /* a kernel of one, as its device knows it */
struct tc_recorded;      /* what a run launched, with its addresses */

/* One bound run of a launch list. `run` reads all of it before it returns, but for the memory that its
 * addresses lead to. */
struct tc_run {
  const struct tc_launch_list *list;
  void *const *inputs;                         /* address of each graph input */
  void *const *outputs;                        /* of each fresh output allocation */
  void *pool;                                  /* list->pool_bytes, 64-byte aligned; may be NULL when 0 */
  const int64_t *sizes;                        /* n_sizes values */
  const struct tc_kernel_handle *const *codes; /* of each list->codes */
  int64_t *status;              /* of the host; set by kernels (see TC_ROLE_STATUS) when run returns */
  uint64_t rng[2];              /* seed, first draw */
  struct tc_recorded *recorded; /* of a run of the same list at the same sizes; NULL: none */
  struct tc_queue *queue;
};

/* Rows of bytes, one after the other where the pitch (bytes from one row to the next) is row_bytes. TO_DEVICE
 * has read the host's memory when it returns. TO_HOST has written it once somebody waited for the queue. */
enum tc_copy_kind { TC_COPY_TO_DEVICE, TC_COPY_TO_HOST, TC_COPY_WITHIN };
struct tc_copy {
  enum tc_copy_kind kind;
  void *to;
  const void *from; /* the ranges share no byte */
  size_t rows, row_bytes, to_pitch, from_pitch;
};

struct tc_device_methods {
  /* A storage of one reference; data uninitialised. Freed memory is kept for reuse. */
  struct tc_storage *(*alloc)(struct tc_device *device, size_t bytes);
  void (*trim)(struct tc_device *device); /* gives kept memory back to the system */

  tc_status (*queue_new)(struct tc_device *device, struct tc_queue **out, struct tc_error *err);
  void (*queue_free)(struct tc_device *device, struct tc_queue *queue); /* waits for it */
  tc_status (*event_new)(struct tc_device *device, struct tc_event **out, struct tc_error *err);
  void (*event_free)(struct tc_device *device, struct tc_event *event); /* waits for it */
  /* The event happens when the queue has done what it was given so far. */
  tc_status (*event_record)(struct tc_device *device, struct tc_event *event, struct tc_queue *queue,
                            struct tc_error *err);
  /* What the queue is given from now on waits for the event, as it was last recorded. */
  tc_status (*event_wait)(struct tc_device *device, struct tc_event *event, struct tc_queue *queue,
                          struct tc_error *err);
  tc_status (*event_synchronize)(struct tc_device *device, struct tc_event *event, struct tc_error *err);
  /* Nanoseconds between two events; waits for both. */
  tc_status (*event_elapsed)(struct tc_device *device, struct tc_event *from, struct tc_event *to, double *ns,
                             struct tc_error *err);
  tc_status (*copy)(struct tc_device *device, struct tc_queue *queue, const struct tc_copy *copy,
                    struct tc_error *err);
  tc_status (*fill)(struct tc_device *device, struct tc_queue *queue, void *to, int byte, size_t bytes,
                    struct tc_error *err);
  tc_status (*synchronize)(struct tc_device *device, struct tc_error *err); /* waits for all queues */

  tc_status (*load)(struct tc_device *device, const struct tc_blob *blob, struct tc_loaded **out,
                    struct tc_error *err);
  /* NULL: not there */
  const struct tc_kernel_handle *(*symbol)(struct tc_device *device, struct tc_loaded *loaded,
                                           const char *name);
  void (*unload)(struct tc_device *device, struct tc_loaded *loaded); /* waits for what still runs of it */
  tc_status (*run)(struct tc_device *device, const struct tc_run *run, struct tc_error *err);
  /* Records what a run of the list launches, for later runs that name it: they look up again only addresses
   * that changed. The list, the sizes, and the codes must outlive it. TC_NOMEM only. */
  tc_status (*record)(struct tc_device *device, const struct tc_run *run, struct tc_recorded **out,
                      struct tc_error *err);
  void (*forget)(struct tc_device *device,
                 struct tc_recorded *recorded); /* waits for its runs; NULL is fine */
  /* Each entry's time in one run, in nanoseconds: ns[n_launches]. Waits for it. */
  tc_status (*time)(struct tc_device *device, const struct tc_run *run, double *ns, struct tc_error *err);

  /* Name, version and kernels of the library that computes matrix products, as found at run time ("OpenBLAS
   * 0.3.21 SkylakeX, OpenMP"), which is opened for it. NULL where it cannot be used: TC_NOMEM where there is
   * no room for its buffers, else TC_UNSUPPORTED. The text is the device's, and the same for all its life. */
  const char *(*library)(struct tc_device *device, struct tc_error *err);
  /* That opening it took, in whichever call came first; 0 while it is not open. */
  double (*library_opening_ns)(struct tc_device *device);
  void (*close)(struct tc_device *device); /* waits for all queues */
};

struct tc_device {
  struct tc_device_base base; /* first */
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
/* Sets every byte of it, on the default queue. */
tc_status tc_storage_fill(struct tc_storage *storage, int byte, struct tc_error *err);
/* A copy of a tensor on another device, with the same strides. *out is the caller's. */
tc_status tc_tensor_to(const struct tc_tensor *x, struct tc_device *device, struct tc_tensor *out,
                       struct tc_error *err);
/* base.read and base.write of a device whose memory is its own: copies, and waits for them. */
tc_status tc_device_read(struct tc_storage *storage, size_t first, size_t bytes, void *to,
                         struct tc_error *err);
tc_status tc_device_write(struct tc_storage *storage, size_t first, size_t bytes, const void *from,
                          struct tc_error *err);
/* Opens the CPU. `isa`: auto, avx2 or avx512 (config switch); `threads` 0: one for each CPU this process may
 * run on. TC_UNSUPPORTED on a machine without AVX2 and FMA, with what it lacks. */
tc_status tc_device_cpu_open(const struct tc_alloc *alloc, const char *isa, int threads,
                             struct tc_device **out, struct tc_error *err);
/* Opens a device for tests: the CPU's kernels behind addresses that the host cannot use, and queues that run
 * late (shadow/shadow.h). `cpu` is borrowed: its work is done by it. */
tc_status tc_device_shadow_open(const struct tc_alloc *alloc, struct tc_device *cpu, struct tc_device **out,
                                struct tc_error *err);
/* The device that tests have work on instead of `cpu`: the shadow where TC_TEST_DEVICE=shadow is in the
 * environment, else `cpu`. */
tc_status tc_device_of_tests(const struct tc_alloc *alloc, struct tc_device *cpu, struct tc_device **out,
                             struct tc_error *err);

#endif
