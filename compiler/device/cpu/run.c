/* Runs launch lists.
 *
 * 1. Entries run in order. Consecutive kernels share one parallel region when one of them is worth it; a
 *    thread waits for the others only where an entry depends on one that ran since the last wait. Library
 *    calls stand between regions.
 * 2. A kernel's items are cut into contiguous parts at multiples of GRAIN, so that the vectors of an
 *    element-wise kernel stay aligned. Small kernels run on the calling thread alone.
 * 3. Scratch buffers are each thread's own; they are made before a region starts, so that nothing fails
 *    inside.
 * 4. Entries that share tiles are run by tiles.c. What is worked out of an entry here is kept for later runs
 *    by record.c.
 * 5. A list whose sizes are constants is evaluated without a look at the symbols' nodes. */
#include <omp.h>

#include "base/clock.h"
#include "device/cpu/launches.h"

enum {
  GRAIN = 1024,
  SCRATCH_ALIGN = 64,
  NS_A_THREAD = 2000,
  BYTES_A_NS = 24,
  FLOPS_A_NS = 16,
  ELEMENTS_A_NS = 2
};

static size_t align_up(int64_t bytes) {
  return ((size_t)bytes + SCRATCH_ALIGN - 1) & ~(size_t)(SCRATCH_ALIGN - 1);
}

/* Row 0 of a TILE slot lies before the tile's memory; the entry touches the tile's rows only. */
static char *tile_pointer(const struct tc_run *run, const struct tc_slot *slot,
                          const struct tc_cpu_tile *tile) {
  const int64_t row = tc_cpu_value(slot->elements, run->sizes) / tile->total * tc_dtype_bytes(slot->dtype);
  return (char *)((uintptr_t)tile->memory +
                  (uintptr_t)(tc_cpu_value(slot->offset, run->sizes) - tile->row * row));
}

void *tc_cpu_slot(const struct tc_run *run, int index, const struct tc_cpu_tile *tile) {
  const struct tc_slot *slot = &run->list->slots[index];
  switch (slot->kind) {
    case TC_SLOT_INPUT: return run->inputs[slot->index];
    case TC_SLOT_OUTPUT: return run->outputs[slot->index];
    case TC_SLOT_POOL: return (char *)run->pool + tc_cpu_value(slot->offset, run->sizes);
    case TC_SLOT_TILE: return tile_pointer(run, slot, tile);
    case TC_SLOT_STATUS: return run->status;
    default: return (void *)(uintptr_t)run->rng;
  }
}

/* --- kernels --- */

size_t tc_cpu_scratch_of(const struct tc_run *run, const struct tc_launch *launch) {
  const struct tc_code *code = &run->list->codes[launch->code];
  size_t bytes = 0;
  for (int i = 0; i < code->n_buffers; i++)
    if (launch->slots[i] < 0) bytes += align_up(tc_cpu_value(code->scratch_bytes[i], run->sizes));
  return bytes;
}

void tc_cpu_run_part(const struct tc_run *run, const struct tc_launch *launch, const struct tc_cpu_tile *tile,
                     char *scratch, int64_t first, int64_t last) {
  if (run->recorded && !tile) {
    const struct tc_cpu_step *step = tc_cpu_recorded_step(run->recorded, (int)(launch - run->list->launches));
    if (step->buffers)
      return tc_cpu_kernel_of(run->codes[launch->code])(step->buffers, run->sizes, first, last);
  }
  const struct tc_code *code = &run->list->codes[launch->code];
  void *buffers[TC_MAX_KERNEL_BUFFERS];
  for (int i = 0; i < code->n_buffers; i++) {
    if (launch->slots[i] >= 0) {
      buffers[i] = tc_cpu_slot(run, launch->slots[i], tile);
    } else {
      buffers[i] = scratch;
      scratch += align_up(tc_cpu_value(code->scratch_bytes[i], run->sizes));
    }
  }
  tc_cpu_kernel_of(run->codes[launch->code])(buffers, run->sizes, first, last);
}

double tc_cpu_guess_ns(const struct tc_run *run, const struct tc_launch *launch) {
  const double work = (double)tc_cpu_value(launch->work, run->sizes);
  double ns = work / ELEMENTS_A_NS;
  if (launch->bytes || launch->flops) {
    const double hint = tc_sym_is_const(launch->work) ? work : (double)tc_sym_hint(launch->work);
    const double scale = hint > 0 ? work / hint : 1;
    ns = scale * ((double)launch->bytes / BYTES_A_NS + (double)launch->flops / FLOPS_A_NS);
  }
  return ns;
}

int tc_cpu_threads_worth(const struct tc_cpu *cpu, double ns) {
  const double wanted = ns / NS_A_THREAD;
  return wanted >= cpu->device.threads ? cpu->device.threads : wanted > 1 ? (int)wanted : 1;
}

/* Items are cut finely only where they are elements (work = items); rows go one by one. */
static int64_t grain_of(int64_t items, int64_t work) { return items > 0 && items == work ? GRAIN : 1; }

struct tc_cpu_step tc_cpu_step_of(const struct tc_cpu *cpu, const struct tc_run *run, int entry) {
  const struct tc_launch *launch = &run->list->launches[entry];
  struct tc_cpu_step step = {.threads = 1};
  if (launch->kind != TC_LAUNCH_KERNEL) return step;
  step.items = tc_cpu_value(launch->items, run->sizes);
  step.grain = grain_of(step.items, tc_cpu_value(launch->work, run->sizes));
  if (cpu->device.threads > 1) step.threads = tc_cpu_threads_worth(cpu, tc_cpu_guess_ns(run, launch));
  step.scratch = tc_cpu_scratch_of(run, launch);
  return step;
}

static struct tc_cpu_step step_of(const struct tc_cpu *cpu, const struct tc_run *run, int entry) {
  return run->recorded ? *tc_cpu_recorded_step(run->recorded, entry) : tc_cpu_step_of(cpu, run, entry);
}

static void run_share(const struct tc_cpu *cpu, const struct tc_run *run, int entry, int thread, int team) {
  const struct tc_cpu_step step = step_of(cpu, run, entry);
  const int threads = step.threads < team ? step.threads : team;
  if (thread >= threads) return;
  int64_t first, last;
  tc_cpu_part(step.items, step.grain, thread, threads, &first, &last);
  char *scratch = (char *)cpu->scratch + (size_t)thread * cpu->scratch_bytes;
  if (first < last) tc_cpu_run_part(run, &run->list->launches[entry], NULL, scratch, first, last);
}

tc_status tc_cpu_ensure_scratch(struct tc_cpu *cpu, size_t bytes, struct tc_error *err) {
  const int threads = cpu->device.threads;
  if (bytes <= cpu->scratch_bytes && threads <= cpu->scratch_threads) return TC_OK;
  tc_cpu_temp_free(cpu, cpu->scratch);
  cpu->scratch_bytes = 0;
  cpu->scratch_threads = 0;
  cpu->scratch = tc_cpu_temp(cpu, bytes * (size_t)threads);
  if (!cpu->scratch)
    return tc_fail(err, TC_NOMEM, "cpu", "no memory for %zu bytes of temporaries for each thread", bytes);
  cpu->scratch_bytes = bytes;
  cpu->scratch_threads = threads;
  return TC_OK;
}

static bool depends_since(const struct tc_launch *launch, int since) {
  for (int i = 0; i < launch->n_depends; i++)
    if (launch->depends[i] >= since) return true;
  return false;
}

/* Every thread decides the same, so all meet at the same barriers. */
static void run_region(const struct tc_cpu *cpu, const struct tc_run *run, int begin, int end, int team) {
#pragma omp parallel num_threads(team)
  {
    const int thread = omp_get_thread_num(), threads = omp_get_num_threads();
    int since = begin;
    for (int i = begin; i < end; i++) {
      const struct tc_launch *launch = &run->list->launches[i];
      if (depends_since(launch, since)) {
#pragma omp barrier
        since = i;
      }
      run_share(cpu, run, i, thread, threads);
    }
  }
}

/* Kernels [begin, end). */
static tc_status run_kernels(struct tc_cpu *cpu, const struct tc_run *run, int begin, int end,
                             struct tc_error *err) {
  int team = 1;
  size_t scratch = 0;
  for (int i = begin; i < end; i++) {
    const struct tc_cpu_step step = step_of(cpu, run, i);
    if (step.threads > team) team = step.threads;
    if (step.scratch > scratch) scratch = step.scratch;
  }
  if (scratch) {
    const tc_status status = tc_cpu_ensure_scratch(cpu, scratch, err);
    if (status) return status;
  }
  if (team > 1) {
    run_region(cpu, run, begin, end, team);
    return TC_OK;
  }
  for (int i = begin; i < end; i++) run_share(cpu, run, i, 0, 1);
  return TC_OK;
}

/* --- library calls --- */

static void fill_matrix(struct tc_cpu_matrix *out, const struct tc_run *run, const struct tc_gemm *gemm,
                        const struct tc_gemm_operand *x, const struct tc_cpu_tile *tile) {
  const int bytes = tc_dtype_bytes(gemm->dtype);
  out->data = (char *)tc_cpu_slot(run, x->slot, tile) + tc_cpu_value(x->offset, run->sizes) * bytes;
  out->row = tc_cpu_value(x->row_stride, run->sizes);
  out->col = tc_cpu_value(x->col_stride, run->sizes);
  for (int i = 0; i < gemm->n_batch; i++) out->batch[i] = tc_cpu_value(x->batch_strides[i], run->sizes);
}

void tc_cpu_bind_gemm(const struct tc_run *run, const struct tc_gemm *gemm, const struct tc_cpu_tile *tile,
                      struct tc_cpu_matmul *call) {
  call->dtype = gemm->dtype;
  call->m = tc_cpu_value(gemm->m, run->sizes);
  call->n = tc_cpu_value(gemm->n, run->sizes);
  call->k = tc_cpu_value(gemm->k, run->sizes);
  call->n_batch = gemm->n_batch;
  call->beta = 0;
  for (int i = 0; i < gemm->n_batch; i++) call->batch[i] = tc_cpu_value(gemm->batch[i], run->sizes);
  fill_matrix(&call->a, run, gemm, &gemm->a, tile);
  fill_matrix(&call->b, run, gemm, &gemm->b, tile);
  fill_matrix(&call->c, run, gemm, &gemm->c, tile);
}

static tc_status run_gemm(struct tc_cpu *cpu, const struct tc_run *run, int entry, struct tc_error *err) {
  struct tc_cpu_matmul call;
  if (run->recorded) return tc_cpu_matmul(cpu, tc_cpu_recorded_step(run->recorded, entry)->product, err);
  tc_cpu_bind_gemm(run, &run->list->launches[entry].gemm, NULL, &call);
  return tc_cpu_matmul(cpu, &call, err);
}

/* --- lists --- */

static bool runs_alone(const struct tc_launch_list *list, int entry) {
  return list->launches[entry].kind == TC_LAUNCH_KERNEL && tc_tiles_of(list, entry) < 0;
}

/* One step of a run: a library call, tiles, or kernels in a row; *i moves past it. At most to `end`. */
static tc_status run_step(struct tc_cpu *cpu, const struct tc_run *run, int *i, int end, double *ns,
                          struct tc_error *err) {
  const struct tc_launch_list *list = run->list;
  const int begin = *i, tiles = tc_tiles_of(list, begin);
  if (tiles >= 0) {
    *i = list->tiles[tiles].first + list->tiles[tiles].count;
    return tc_cpu_run_tiles(cpu, run, &list->tiles[tiles], ns, err);
  }
  *i = begin + 1;
  if (list->launches[begin].kind == TC_LAUNCH_GEMM) return run_gemm(cpu, run, begin, err);
  while (*i < end && runs_alone(list, *i)) ++*i;
  return run_kernels(cpu, run, begin, *i, err);
}

tc_status tc_cpu_run(struct tc_device *device, const struct tc_run *run, struct tc_error *err) {
  tc_status status = TC_OK;
  if (run->recorded) tc_cpu_refresh(tc_cpu_of(device), run);
  for (int i = 0; i < run->list->n_launches && !status;)
    status = run_step(tc_cpu_of(device), run, &i, run->list->n_launches, NULL, err);
  return status;
}

tc_status tc_cpu_time(struct tc_device *device, const struct tc_run *run, double *ns, struct tc_error *err) {
  for (int i = 0; i < run->list->n_launches;) {
    const int begin = i;
    const double start = tc_now_ns();
    const tc_status status = run_step(tc_cpu_of(device), run, &i, begin + 1, ns, err);
    if (status) return status;
    if (i == begin + 1) ns[begin] = tc_now_ns() - start; /* tiles tell the time of each of their entries */
  }
  return TC_OK;
}
