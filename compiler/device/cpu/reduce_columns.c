/* Eager reductions down the columns: of neighbouring dimensions with kept ones behind them.
 *
 * A strip of columns over some rows is a unit of work. Units do not depend on the number of threads, and
 * neither do the results. */
#include <math.h>

#include "device/cpu/cpu.h"
#include "device/cpu/reduce.h"

enum { STRIP = 256, STRIP_ROWS = 1024, FLUSH_ROWS = 64 };

/* One strip of columns over STRIP_ROWS rows: sums in the dtype, flushed to f64; extrema as they are. */
static void strip_f32(const struct reduction *r, double *sums, const char *x, int64_t rows, int64_t cols,
                      bool starts) {
  float acc[STRIP], wide[STRIP];
  const bool extreme = r->op == TC_OP_amax || r->op == TC_OP_amin;
  const tc_cpu_block_fn widen = r->kernels->cast(r->dtype, TC_F32);
  const int bytes = tc_dtype_bytes(r->dtype);
  for (int64_t c = 0; c < cols; c++)
    acc[c] = extreme ? (starts ? (float)-INFINITY * (float)tc_reduce_sign(r->op) : (float)sums[c]) : 0;
  if (starts)
    for (int64_t c = 0; c < cols; c++) sums[c] = 0;
  for (int64_t row = 0; row < rows; row++) {
    const void *in[] = {x + row * r->inner * bytes};
    const float *values = in[0];
    if (r->dtype == TC_BF16) {
      widen(wide, in, cols, false);
      values = wide;
    }
    if (extreme) {
      r->kernels->extreme_rows_f32(acc, values, cols, tc_reduce_sign(r->op));
      continue;
    }
    r->kernels->add_rows_f32(acc, values, cols);
    if (row % FLUSH_ROWS != FLUSH_ROWS - 1 && row != rows - 1) continue;
    for (int64_t c = 0; c < cols; c++) sums[c] += (double)acc[c], acc[c] = 0;
  }
  if (extreme)
    for (int64_t c = 0; c < cols; c++) sums[c] = (double)acc[c];
}

static void strip_f64(const struct reduction *r, double *sums, const char *x, int64_t rows, int64_t cols,
                      bool starts) {
  const bool extreme = r->op == TC_OP_amax || r->op == TC_OP_amin;
  if (starts)
    for (int64_t c = 0; c < cols; c++) sums[c] = extreme ? (double)-INFINITY * tc_reduce_sign(r->op) : 0;
  for (int64_t row = 0; row < rows; row++) {
    const double *values = (const double *)(const void *)x + row * r->inner;
    if (extreme)
      r->kernels->extreme_rows_f64(sums, values, cols, tc_reduce_sign(r->op));
    else
      r->kernels->add_rows_f64(sums, values, cols);
  }
}

static int64_t strips_of(const struct reduction *r) { return (r->inner + STRIP - 1) / STRIP; }

/* Unit: (outer, block of rows, strip). Its sums lie at its own place, [outer, block, inner]. */
static void run_strips(void *state, int64_t first, int64_t last, int thread) {
  const struct reduction *r = state;
  (void)thread;
  for (int64_t unit = first; unit < last; unit++) {
    const int64_t strip = unit % strips_of(r), block = unit / strips_of(r) % r->blocks,
                  outer = unit / strips_of(r) / r->blocks;
    const int64_t col = strip * STRIP, row = block * STRIP_ROWS;
    const int64_t cols = r->inner - col < STRIP ? r->inner - col : STRIP,
                  rows = r->length - row < STRIP_ROWS ? r->length - row : STRIP_ROWS;
    const char *x = r->x + ((outer * r->length + row) * r->inner + col) * tc_dtype_bytes(r->dtype);
    double *sums = r->sums + (outer * r->blocks + block) * r->inner + col;
    if (r->dtype == TC_F64)
      strip_f64(r, sums, x, rows, cols, true);
    else
      strip_f32(r, sums, x, rows, cols, true);
  }
}

tc_status tc_reduce_columns(struct tc_cpu *cpu, struct reduction *r, const struct tc_eager_call *call,
                            struct tc_error *err) {
  const int64_t outer = r->n_out / r->inner;
  r->blocks = (r->length + STRIP_ROWS - 1) / STRIP_ROWS;
  r->sums = tc_cpu_temp(cpu, (size_t)(outer * r->blocks * r->inner) * sizeof *r->sums);
  if (!r->sums) return tc_cpu_nomem(call, err);
  tc_cpu_parallel(cpu, outer * r->blocks * strips_of(r), 1, (double)r->n_out * (double)r->length, run_strips,
                  r);
  for (int64_t o = 0; o < outer; o++) {
    for (int64_t c = 0; c < r->inner; c++) {
      struct acc total = {.number = r->sums[o * r->blocks * r->inner + c]};
      for (int64_t b = 1; b < r->blocks; b++) {
        const struct acc part = {.number = r->sums[(o * r->blocks + b) * r->inner + c]};
        tc_reduce_join(r, &total, &part);
      }
      tc_reduce_finish(r, o * r->inner + c, &total);
    }
  }
  tc_cpu_temp_free(cpu, r->sums);
  return TC_OK;
}
