/* Running launch lists: what run.c (lists, kernels, products) and tiles.c share. */
#ifndef TC_DEVICE_CPU_LAUNCHES_H
#define TC_DEVICE_CPU_LAUNCHES_H

#include "device/cpu/cpu.h"

/* The tile that a thread is at: its memory for TILE slots, and its first row, counted over all batches, of
 * `total`. */
struct tc_cpu_tile {
  char *memory;
  int64_t row, total;
};

static inline int64_t tc_cpu_value(tc_sym s, const int64_t *sizes) {
  return tc_sym_is_const(s) ? tc_sym_value(s) : tc_sym_eval(s, sizes);
}

/* An entry at the sizes of a run. items, grain, scratch: of a kernel. */
struct tc_cpu_step {
  int64_t items, grain;
  int threads;
  size_t scratch;                      /* bytes that a thread needs */
  void *const *buffers;                /* recorded, of a kernel without scratch; else NULL */
  const struct tc_cpu_matmul *product; /* recorded, of a product outside of tiles; else NULL */
};
/* Works it out. */
struct tc_cpu_step tc_cpu_step_of(const struct tc_cpu *cpu, const struct tc_run *run, int entry);
/* What was recorded of an entry; and, before a run, what changed since: addresses, and the device's
 * threads. */
const struct tc_cpu_step *tc_cpu_recorded_step(const struct tc_recorded *recorded, int entry);
void tc_cpu_refresh(const struct tc_cpu *cpu, const struct tc_run *run);

/* Where element 0 of a slot lies; `tile` may be NULL outside of tiles. */
void *tc_cpu_slot(const struct tc_run *run, int index, const struct tc_cpu_tile *tile);
/* Bytes of a thread's scratch that a kernel wants. */
size_t tc_cpu_scratch_of(const struct tc_run *run, const struct tc_launch *launch);
/* Makes cpu->scratch hold that much for each thread. */
tc_status tc_cpu_ensure_scratch(struct tc_cpu *cpu, size_t bytes, struct tc_error *err);
/* Items [first, last) of a kernel, on the calling thread. */
void tc_cpu_run_part(const struct tc_run *run, const struct tc_launch *launch, const struct tc_cpu_tile *tile,
                     char *scratch, int64_t first, int64_t last);
/* A product's sizes, strides and addresses at this run. */
void tc_cpu_bind_gemm(const struct tc_run *run, const struct tc_gemm *gemm, const struct tc_cpu_tile *tile,
                      struct tc_cpu_matmul *call);
/* What an entry takes on one thread, roughly; and the threads that so much work is worth. */
double tc_cpu_guess_ns(const struct tc_run *run, const struct tc_launch *launch);
int tc_cpu_threads_worth(const struct tc_cpu *cpu, double ns);
/* Adds each entry's time, of the threads together divided by their number, to ns[entry] where ns is given. */
tc_status tc_cpu_run_tiles(struct tc_cpu *cpu, const struct tc_run *run, const struct tc_tiles *tiles,
                           double *ns, struct tc_error *err);

#endif
