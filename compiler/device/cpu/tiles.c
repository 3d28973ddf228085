/* Entries of a launch list that run tile by tile: each thread takes a share of the tiles, and does all
 * entries of one before the next.
 *
 * 1. Tiles are cut by sizes alone, so results do not depend on the threads.
 * 2. Nothing fails and nothing is allocated once the threads run: operands are checked, and memory is made,
 *    before.
 * 3. Inside a parallel region the library works on the calling thread alone; where one thread takes all
 *    tiles, it may use the others. */
#include <omp.h>
#include <string.h>

#include "base/clock.h"
#include "device/cpu/launches.h"

/* An entry's part in any tile. */
struct part {
  const struct tc_launch *launch;
  int64_t items_a_row;     /* KERNEL */
  struct tc_cpu_view a, b; /* GEMM: how the library takes the operands */
};

struct tiling {
  struct tc_cpu *cpu;
  const struct tc_run *run;
  int n_parts;
  struct part parts[TC_MAX_TILED];
  int64_t batches, rows, step, blocks; /* blocks: tiles of one batch */
  size_t tile_bytes;                   /* of a thread's scratch; the kernels' own scratch follows */
  double *ns;                          /* by part; NULL: not wanted */
};

static void run_product(const struct tiling *t, const struct part *p, const struct tc_cpu_tile *tile,
                        int64_t batch, int64_t row, int64_t rows) {
  struct tc_cpu_matmul call;
  struct tc_cpu_view a = p->a, b = p->b;
  tc_cpu_bind_gemm(t->run, &p->launch->gemm, tile, &call);
  const int bytes = tc_dtype_bytes(call.dtype);
  a.data =
      (const char *)call.a.data + (tc_cpu_batch_offset(&call, &call.a, batch) + row * call.a.row) * bytes;
  b.data = (const char *)call.b.data + tc_cpu_batch_offset(&call, &call.b, batch) * bytes;
  char *c = (char *)call.c.data + (tc_cpu_batch_offset(&call, &call.c, batch) + row * call.c.row) * bytes;
  tc_cpu_gemm(&t->cpu->blas, call.dtype, rows, call.n, call.k, 1.0, a, b, 0, c, call.c.row);
}

static void run_tile(const struct tiling *t, int64_t number, char *memory, double *ns) {
  const int64_t batch = number / t->blocks, row = number % t->blocks * t->step;
  const int64_t rows = t->rows - row < t->step ? t->rows - row : t->step;
  const struct tc_cpu_tile tile = {memory, batch * t->rows + row, t->batches * t->rows};
  for (int i = 0; i < t->n_parts; i++) {
    const struct part *p = &t->parts[i];
    const double start = t->ns ? tc_now_ns() : 0;
    if (p->launch->kind == TC_LAUNCH_GEMM)
      run_product(t, p, &tile, batch, row, rows);
    else
      tc_cpu_run_part(t->run, p->launch, &tile, memory + t->tile_bytes, tile.row * p->items_a_row,
                      (tile.row + rows) * p->items_a_row);
    if (t->ns) ns[i] += tc_now_ns() - start;
  }
}

static void run_all(const struct tiling *t, int threads) {
#pragma omp parallel num_threads(threads)
  {
    double ns[TC_MAX_TILED] = {0};
    const int team = omp_get_num_threads(), thread = omp_get_thread_num();
    char *memory = (char *)t->cpu->scratch + (size_t)thread * t->cpu->scratch_bytes;
    int64_t first, last;
    tc_cpu_part(t->batches * t->blocks, 1, thread, team, &first, &last);
    for (int64_t i = first; i < last; i++) run_tile(t, i, memory, ns);
    for (int i = 0; i < t->n_parts && t->ns; i++) {
#pragma omp atomic
      t->ns[i] += ns[i] / team;
    }
  }
}

/* --- before the threads run --- */

static tc_status take_product(struct tiling *t, struct part *p, struct tc_error *err) {
  const struct tc_cpu_tile start = {t->cpu->scratch, 0, t->batches * t->rows};
  struct tc_cpu_matmul call;
  tc_cpu_bind_gemm(t->run, &p->launch->gemm, &start, &call);
  if (call.m <= INT32_MAX && call.n <= INT32_MAX && call.k <= INT32_MAX && call.c.row <= INT32_MAX &&
      tc_cpu_view_of(call.m, call.k, call.a.row, call.a.col, &p->a) &&
      tc_cpu_view_of(call.k, call.n, call.b.row, call.b.col, &p->b))
    return TC_OK;
  return tc_fail(
      err, TC_LIMIT, "cpu",
      "matmul: a dimension or stride has more than %d elements, which the matrix library cannot count",
      INT32_MAX);
}

static void take_kernel(const struct tiling *t, struct part *p, size_t *scratch) {
  const size_t bytes = tc_cpu_scratch_of(t->run, p->launch);
  p->items_a_row = tc_cpu_value(p->launch->items, t->run->sizes) / (t->batches * t->rows);
  if (bytes > *scratch) *scratch = bytes;
}

static tc_status take_parts(struct tiling *t, const struct tc_tiles *tiles, double *guess_ns,
                            struct tc_error *err) {
  size_t scratch = 0;
  t->n_parts = tiles->count;
  for (int i = 0; i < t->n_parts; i++) {
    struct part *p = &t->parts[i];
    p->launch = &t->run->list->launches[tiles->first + i];
    *guess_ns += tc_cpu_guess_ns(t->run, p->launch);
    if (p->launch->kind == TC_LAUNCH_KERNEL) take_kernel(t, p, &scratch);
  }
  tc_status status = tc_cpu_ensure_scratch(t->cpu, t->tile_bytes + scratch, err);
  if (!status) status = tc_cpu_blas_open(t->cpu, err);
  for (int i = 0; i < t->n_parts && !status; i++)
    if (t->parts[i].launch->kind == TC_LAUNCH_GEMM) status = take_product(t, &t->parts[i], err);
  return status;
}

tc_status tc_cpu_run_tiles(struct tc_cpu *cpu, const struct tc_run *run, const struct tc_tiles *tiles,
                           double *ns, struct tc_error *err) {
  struct tiling t = {.cpu = cpu, .run = run, .step = tiles->step, .ns = ns ? ns + tiles->first : NULL};
  double guess_ns = 0;
  t.batches = tc_cpu_value(tiles->batches, run->sizes);
  t.rows = tc_cpu_value(tiles->rows, run->sizes);
  t.blocks = (t.rows + t.step - 1) / t.step;
  t.tile_bytes = (size_t)tc_cpu_value(tiles->bytes, run->sizes);
  const tc_status status = take_parts(&t, tiles, &guess_ns, err);
  if (status) return status;
  if (t.ns) memset(t.ns, 0, (size_t)t.n_parts * sizeof *t.ns);
  int threads = cpu->device.threads == 1 ? 1 : tc_cpu_threads_worth(cpu, guess_ns);
  if (t.batches * t.blocks < threads) threads = (int)(t.batches * t.blocks);
  run_all(&t, threads);
  return TC_OK;
}
