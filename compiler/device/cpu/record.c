/* Recorded runs: each entry at its sizes, each buffer's address, each product's operands.
 *
 * 1. Grains depend on sizes alone, so they hold as long as the sizes do; threads, as long as the device has
 *    as many.
 * 2. An address is its memory (an input, a result, the pool, the words of status and draws) and an offset.
 *    Before a run the memories are compared with those of the run before; only where one moved are the
 *    addresses in it made anew.
 * 3. What runs in tiles, and kernels with scratch, is looked up as ever: their addresses are a thread's. */
#include <string.h>

#include "device/cpu/launches.h"

/* An address within something that moves. */
struct address {
  void **at;
  int memory;
  int64_t offset;
};

struct tc_recorded {
  const struct tc_alloc *alloc;
  int n_steps, n_addresses, n_memories, n_inputs;
  int threads; /* of the device */
  struct tc_cpu_step *steps;
  size_t n_buffers, n_filled;
  void **buffers;                 /* of all steps, one behind the other */
  struct tc_cpu_matmul *products; /* by entry */
  struct address *addresses;
  uint64_t rng[2]; /* the run's, which may lie elsewhere each time */
  void **memories; /* inputs, results, pool, status, draws: where they lay at the run before */
};

enum { MEMORIES_OF_OWN = 3 }; /* pool, status, draws */

static int memory_of(const struct tc_recorded *r, const struct tc_slot *slot) {
  switch (slot->kind) {
    case TC_SLOT_INPUT: return slot->index;
    case TC_SLOT_OUTPUT: return r->n_inputs + slot->index;
    case TC_SLOT_POOL: return r->n_memories - MEMORIES_OF_OWN;
    case TC_SLOT_STATUS: return r->n_memories - MEMORIES_OF_OWN + 1;
    default: return r->n_memories - 1;
  }
}

static void *place_of(struct tc_recorded *r, const struct tc_run *run, int memory) {
  if (memory < r->n_inputs) return run->inputs[memory];
  if (memory < r->n_memories - MEMORIES_OF_OWN) return run->outputs[memory - r->n_inputs];
  const int own = memory - (r->n_memories - MEMORIES_OF_OWN);
  return own == 0 ? run->pool : own == 1 ? (void *)run->status : r->rng;
}

/* The address that *at has in this run, `offset` bytes into the slot. */
static void note(struct tc_recorded *r, const struct tc_run *run, int slot_index, int64_t offset, void **at) {
  const struct tc_slot *slot = &run->list->slots[slot_index];
  if (slot->kind == TC_SLOT_POOL) offset += tc_cpu_value(slot->offset, run->sizes);
  r->addresses[r->n_addresses++] = (struct address){at, memory_of(r, slot), offset};
}

static void record_kernel(struct tc_recorded *r, const struct tc_run *run, const struct tc_launch *launch,
                          struct tc_cpu_step *step) {
  const struct tc_code *code = &run->list->codes[launch->code];
  if (step->scratch) return;
  step->buffers = r->buffers + r->n_filled;
  for (int i = 0; i < code->n_buffers; i++) note(r, run, launch->slots[i], 0, &r->buffers[r->n_filled++]);
}

static void record_operand(struct tc_recorded *r, const struct tc_run *run, const struct tc_gemm *gemm,
                           const struct tc_gemm_operand *x, struct tc_cpu_matrix *matrix) {
  note(r, run, x->slot, tc_cpu_value(x->offset, run->sizes) * tc_dtype_bytes(gemm->dtype), &matrix->data);
}

static void record_product(struct tc_recorded *r, const struct tc_run *run, const struct tc_gemm *gemm,
                           struct tc_cpu_matmul *product, struct tc_cpu_step *step) {
  tc_cpu_bind_gemm(run, gemm, NULL, product);
  record_operand(r, run, gemm, &gemm->a, &product->a);
  record_operand(r, run, gemm, &gemm->b, &product->b);
  record_operand(r, run, gemm, &gemm->c, &product->c);
  step->product = product;
}

static void free_all(struct tc_recorded *r) {
  const struct tc_alloc *a = r->alloc;
  TC_FREE_ARRAY(a, r->steps, (size_t)r->n_steps + 1);
  TC_FREE_ARRAY(a, r->products, (size_t)r->n_steps + 1);
  TC_FREE_ARRAY(a, r->buffers, r->n_buffers + 1);
  TC_FREE_ARRAY(a, r->addresses, r->n_buffers + 1);
  TC_FREE_ARRAY(a, r->memories, (size_t)r->n_memories);
  TC_FREE(a, r);
}

/* Buffers of kernels, and operands of products. */
static size_t count_buffers(const struct tc_launch_list *list) {
  size_t n = 0;
  for (int i = 0; i < list->n_launches; i++) n += (size_t)tc_launch_slot_count(list, &list->launches[i]);
  return n;
}

tc_status tc_cpu_record(struct tc_device *device, const struct tc_run *run, struct tc_recorded **out,
                        struct tc_error *err) {
  const struct tc_cpu *cpu = tc_cpu_of(device);
  const struct tc_launch_list *list = run->list;
  const size_t n = (size_t)list->n_launches + 1;
  struct tc_recorded *r = TC_NEW(cpu->alloc, struct tc_recorded);
  if (!r) return tc_fail(err, TC_NOMEM, "cpu", "out of memory for a record of %d launches", list->n_launches);
  r->alloc = cpu->alloc;
  r->n_steps = list->n_launches;
  r->threads = cpu->device.threads;
  r->n_buffers = count_buffers(list);
  r->n_inputs = list->n_inputs;
  r->n_memories = list->n_inputs + list->n_allocated + MEMORIES_OF_OWN;
  r->steps = TC_NEW_ARRAY(r->alloc, struct tc_cpu_step, n);
  r->products = TC_NEW_ARRAY(r->alloc, struct tc_cpu_matmul, n);
  r->buffers = TC_NEW_ARRAY(r->alloc, void *, r->n_buffers + 1);
  r->addresses = TC_NEW_ARRAY(r->alloc, struct address, r->n_buffers + 1);
  r->memories = TC_NEW_ARRAY(r->alloc, void *, (size_t)r->n_memories);
  if (!r->steps || !r->products || !r->buffers || !r->addresses || !r->memories) {
    free_all(r);
    return tc_fail(err, TC_NOMEM, "cpu", "out of memory for a record of %d launches", list->n_launches);
  }
  for (int i = 0; i < list->n_launches; i++) {
    const struct tc_launch *launch = &list->launches[i];
    r->steps[i] = tc_cpu_step_of(cpu, run, i);
    if (tc_tiles_of(list, i) >= 0) continue;
    if (launch->kind == TC_LAUNCH_KERNEL)
      record_kernel(r, run, launch, &r->steps[i]);
    else
      record_product(r, run, &launch->gemm, &r->products[i], &r->steps[i]);
  }
  *out = r;
  return TC_OK;
}

void tc_cpu_forget(struct tc_device *device, struct tc_recorded *recorded) {
  (void)device;
  if (recorded) free_all(recorded);
}

const struct tc_cpu_step *tc_cpu_recorded_step(const struct tc_recorded *recorded, int entry) {
  return &recorded->steps[entry];
}

/* As many as each entry is worth, now that the device has others. */
static void deal_again(struct tc_recorded *r, const struct tc_cpu *cpu, const struct tc_run *run) {
  r->threads = cpu->device.threads;
  for (int i = 0; i < r->n_steps; i++) r->steps[i].threads = tc_cpu_step_of(cpu, run, i).threads;
}

void tc_cpu_refresh(const struct tc_cpu *cpu, const struct tc_run *run) {
  struct tc_recorded *r = run->recorded;
  bool moved = false;
  if (r->threads != cpu->device.threads) deal_again(r, cpu, run);
  memcpy(r->rng, run->rng, sizeof r->rng);
  for (int i = 0; i < r->n_memories; i++) {
    void *place = place_of(r, run, i);
    moved |= place != r->memories[i];
    r->memories[i] = place;
  }
  for (int i = 0; i < r->n_addresses && moved; i++)
    *r->addresses[i].at = (char *)r->memories[r->addresses[i].memory] + r->addresses[i].offset;
}
