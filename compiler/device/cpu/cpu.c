/* The CPU as a device: opening, storages, and its table of eager kernels.
 *
 * Opening costs microseconds: the matrix library is opened by the first product, threads start with the first
 * parallel loop. */
#include "device/cpu/cpu.h"

#include <string.h>

#include "device/cpu/features.h"

static void storage_release(struct tc_storage *storage) {
  tc_cpu_heap_give(&tc_cpu_of(storage->device)->heap, storage, true);
}

static struct tc_storage *cpu_alloc(struct tc_device *device, size_t bytes) {
  struct tc_storage *storage = tc_cpu_heap_take(&tc_cpu_of(device)->heap, bytes, true);
  if (!storage) return NULL;
  atomic_init(&storage->references, 1);
  storage->version = 0;
  storage->id = tc_storage_next_id();
  storage->device = device;
  storage->release = storage_release;
  return storage;
}

static void cpu_trim(struct tc_device *device) { tc_cpu_heap_trim(&tc_cpu_of(device)->heap); }

static tc_status cpu_synchronize(struct tc_device *device, struct tc_error *err) {
  (void)device, (void)err;
  return TC_OK; /* every call has finished when it returns */
}

static void cpu_close(struct tc_device *device) {
  struct tc_cpu *cpu = tc_cpu_of(device);
  tc_cpu_temp_free(cpu, cpu->scratch);
  tc_cpu_heap_trim(&cpu->heap);
  tc_cpu_blas_close(&cpu->blas);
  TC_FREE(cpu->alloc, cpu);
}

static const struct tc_device_methods methods = {
    .alloc = cpu_alloc,
    .trim = cpu_trim,
    .load = tc_cpu_load,
    .symbol = tc_cpu_symbol,
    .unload = tc_cpu_unload,
    .run = tc_cpu_run,
    .record = tc_cpu_record,
    .forget = tc_cpu_forget,
    .time = tc_cpu_time,
    .queue_new = tc_cpu_queue_new,
    .queue_free = tc_cpu_queue_free,
    .event_new = tc_cpu_event_new,
    .event_free = tc_cpu_event_free,
    .event_record = tc_cpu_event_record,
    .event_wait = tc_cpu_event_wait,
    .event_synchronize = tc_cpu_event_synchronize,
    .event_elapsed = tc_cpu_event_elapsed,
    .copy = tc_cpu_copy_rows,
    .fill = tc_cpu_fill,
    .library = tc_cpu_library,
    .library_opening_ns = tc_cpu_library_opening_ns,
    .synchronize = cpu_synchronize,
    .close = cpu_close,
};

#define tc_cpu_eager_NONE NULL
static const tc_eager_fn kernels[TC_OP_COUNT] = {
#define TC_OP(name, arity, shape, dtype, eager, vjp, decomp, lower, KIND)                                    \
  [TC_OP_##name] = tc_cpu_eager_##eager,
#include "ops/ops.def"
#undef TC_OP
};

tc_status tc_device_cpu_open(const struct tc_alloc *alloc, const char *isa, int threads,
                             struct tc_device **out, struct tc_error *err) {
  struct tc_target target;
  const tc_status status = tc_cpu_target(isa, threads, &target, err);
  if (status) return status;
  struct tc_cpu *cpu = TC_NEW(alloc, struct tc_cpu);
  if (!cpu) return tc_fail(err, TC_NOMEM, "cpu", "no memory for the device");
  cpu->alloc = alloc;
  cpu->device.base.name = "cpu";
  cpu->device.methods = &methods;
  cpu->device.target = target;
  cpu->device.threads = target.threads;
  cpu->kernels = target.vector_bytes == 64 ? &tc_cpu_kernels_avx512 : &tc_cpu_kernels_avx2;
  memcpy(cpu->device.eager, kernels, sizeof kernels);
  tc_cpu_heap_init(&cpu->heap, alloc, &cpu->device.bytes_live, &cpu->device.bytes_peak);
  *out = &cpu->device;
  return TC_OK;
}

tc_status tc_cpu_nomem(const struct tc_eager_call *call, struct tc_error *err) {
  return tc_fail(err, TC_NOMEM, "cpu", "%s: no memory for a temporary", tc_op_row(call->op)->name);
}
