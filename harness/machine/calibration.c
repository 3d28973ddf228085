/* The calibration kernel. Invariants:
 * 1. Call i does the same work in every process of every build: constants alone decide on it.
 * 2. All values stay near 1: no denormal, no infinity, so that no multiply-add is slower than another.
 * 3. Memory is touched once when it is opened; a call allocates nothing. */
#include "harness/machine/calibration.h"

#include <immintrin.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "harness/base/clock.h"

enum {
  LANES = 8,
  CHAINS = 12, /* accumulators: latency times issue width, and no more than registers hold */
  FMA_ROUNDS = 50000,
  CACHE_FLOATS = 16 << 10, /* each of three arrays: together less than any second-level cache */
  CACHE_PASSES = 120,
  SLICE_FLOATS = 512 << 10, /* of memory that one call goes through */
  SLICES = 16,              /* together more than a core's private caches; a call takes the next one */
  HUGE_PAGE = 2 << 20,
};
static const float factor = 0.999f, term = 0.001f; /* x → factor · x + term stays at 1 */

struct tb_calibration {
  float *cache, *memory;
  int64_t calls;
  double sum;
};

__attribute__((target("avx2,fma"))) static float first_lane(__m256 x) {
  return _mm_cvtss_f32(_mm256_castps256_ps128(x));
}

__attribute__((target("avx2,fma"))) static float multiply_add(void) {
  __m256 x[CHAINS];
  const __m256 a = _mm256_set1_ps(factor), b = _mm256_set1_ps(term);
  for (int c = 0; c < CHAINS; c++) x[c] = _mm256_set1_ps(1.0f + 0.01f * (float)c);
  for (int i = 0; i < FMA_ROUNDS; i++) {
#pragma GCC unroll 12
    for (int c = 0; c < CHAINS; c++) x[c] = _mm256_fmadd_ps(x[c], a, b);
  }
  __asm__ volatile(
      "" ::
          : "memory"); /* each call does its work: it is no constant that could be computed once */
  float sum = 0;
  for (int c = 0; c < CHAINS; c++) sum += first_lane(x[c]);
  return sum;
}

__attribute__((target("avx2,fma"))) static float cache_stream(float *arrays) {
  const __m256 a = _mm256_set1_ps(factor), b = _mm256_set1_ps(term);
  for (int pass = 0; pass < CACHE_PASSES; pass++) {
    const float *from = arrays + (size_t)(pass % 3) * CACHE_FLOATS;
    float *to = arrays + (size_t)((pass + 1) % 3) * CACHE_FLOATS;
    for (size_t i = 0; i < CACHE_FLOATS; i += LANES)
      _mm256_store_ps(to + i, _mm256_fmadd_ps(_mm256_load_ps(from + i), a, b));
  }
  return arrays[CACHE_FLOATS - 1];
}

__attribute__((target("avx2,fma"))) static float memory_stream(float *slice) {
  const __m256 a = _mm256_set1_ps(factor), b = _mm256_set1_ps(term);
  for (size_t i = 0; i < SLICE_FLOATS; i += LANES)
    _mm256_store_ps(slice + i, _mm256_fmadd_ps(_mm256_load_ps(slice + i), a, b));
  return slice[SLICE_FLOATS - 1];
}

static float *filled(size_t floats) {
  const size_t bytes = (floats * sizeof(float) + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
  float *data = aligned_alloc(HUGE_PAGE, bytes);
  if (data)
    (void)madvise(data, bytes,
                  MADV_HUGEPAGE); /* fewer page faults; without them it is only slower to begin */
  for (size_t i = 0; data && i < floats; i++) data[i] = 1.5f;
  return data;
}

struct tb_calibration *tb_calibration_open(void) {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return NULL;
  struct tb_calibration *calibration = calloc(1, sizeof *calibration);
  if (!calibration) return NULL;
  calibration->cache = filled((size_t)3 * CACHE_FLOATS);
  calibration->memory = filled((size_t)SLICES * SLICE_FLOATS);
  if (calibration->cache && calibration->memory) return calibration;
  tb_calibration_close(calibration);
  return NULL;
}

void tb_calibration_close(struct tb_calibration *calibration) {
  if (!calibration) return;
  free(calibration->cache);
  free(calibration->memory);
  free(calibration);
}

static void call(struct tb_calibration *calibration) {
  float *slice = calibration->memory + (size_t)(calibration->calls++ % SLICES) * SLICE_FLOATS;
  calibration->sum += multiply_add();
  calibration->sum += cache_stream(calibration->cache);
  calibration->sum += memory_stream(slice);
}

double tb_calibration_block(struct tb_calibration *calibration, int64_t warm, int64_t calls) {
  for (int64_t i = 0; i < warm; i++) call(calibration);
  const int64_t start = tb_now_ns();
  for (int64_t i = 0; i < calls; i++) call(calibration);
  return (double)(tb_now_ns() - start);
}

double tb_calibration_checksum(const struct tb_calibration *calibration) { return calibration->sum; }
