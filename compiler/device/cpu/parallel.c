/* Cutting work into the parts of threads: contiguous, decided by sizes alone. */
#include <omp.h>

#include "device/cpu/cpu.h"

void tc_cpu_part(int64_t items, int64_t grain, int index, int count, int64_t *first, int64_t *last) {
  const int64_t grains = items / grain + (items % grain != 0);
  const int64_t each = grains / count, more = grains % count;
  const int64_t start = each * index + (index < more ? index : more);
  const int64_t end = start + each + (index < more);
  *first = start * grain < items ? start * grain : items;
  *last = end * grain < items ? end * grain : items;
}

static int threads_for(const struct tc_cpu *cpu, int64_t items, int64_t grain, double work) {
  const double wanted = work / TC_CPU_WORK_A_THREAD;
  const int64_t grains = items / grain + (items % grain != 0);
  int threads = cpu->device.threads;
  if (wanted < threads) threads = (int)wanted;
  if (grains < threads) threads = (int)grains;
  return threads > 1 ? threads : 1;
}

void tc_cpu_parallel(struct tc_cpu *cpu, int64_t items, int64_t grain, double work, tc_cpu_chunk_fn fn,
                     void *state) {
  const int threads = threads_for(cpu, items, grain, work);
  if (threads == 1) {
    if (items > 0) fn(state, 0, items, 0);
    return;
  }
#pragma omp parallel num_threads(threads)
  {
    int64_t first, last;
    tc_cpu_part(items, grain, omp_get_thread_num(), omp_get_num_threads(), &first, &last);
    if (first < last) fn(state, first, last, omp_get_thread_num());
  }
}
