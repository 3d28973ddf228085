/* Random numbers: Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3"), for each instruction set.
 *
 * Key: seed. Counter: element (two words), draw (two words). Words 0 and 1 of the result give one number:
 * uniform = (w0 >> 8)·2^-24; normal = sqrt(-2 log u1)·cos(2π u2), u1 = ((w0 >> 8) + 1)·2^-24, u2 = (w1 >> 8)·2^-24.
 * Compiled kernels (codegen/) compute the same. */
#include <string.h>

#include "device/cpu/kernel_parts.h"
#include "device/cpu/vector.h"

enum { ROUNDS = 10, WORD_BITS = 32, DROPPED_BITS = 8 };
static const uint32_t M0 = 0xD2511F53u, M1 = 0xCD9E8D57u, W0 = 0x9E3779B9u, W1 = 0xBB67AE85u;
static const float STEP = 1.0f / 16777216.0f; /* 2^-24 */
static const float TWO_PI = 6.283185307179586f;

struct words { uint32_t w[4][VF_LANES]; };

/* The results of VF_LANES consecutive elements; words 2 and 3 are not kept. */
static void philox(struct words *s, uint64_t element, uint64_t seed, uint64_t draw) {
  uint32_t key0 = (uint32_t)seed, key1 = (uint32_t)(seed >> WORD_BITS);
  for (int lane = 0; lane < VF_LANES; lane++) {
    const uint64_t at = element + (uint64_t)lane;
    s->w[0][lane] = (uint32_t)at;
    s->w[1][lane] = (uint32_t)(at >> WORD_BITS);
    s->w[2][lane] = (uint32_t)draw;
    s->w[3][lane] = (uint32_t)(draw >> WORD_BITS);
  }
  for (int round = 0; round < ROUNDS; round++, key0 += W0, key1 += W1) {
#pragma omp simd
    for (int lane = 0; lane < VF_LANES; lane++) {
      const uint64_t p0 = (uint64_t)M0 * s->w[0][lane], p1 = (uint64_t)M1 * s->w[2][lane];
      s->w[0][lane] = (uint32_t)(p1 >> WORD_BITS) ^ s->w[1][lane] ^ key0;
      s->w[1][lane] = (uint32_t)p1;
      s->w[2][lane] = (uint32_t)(p0 >> WORD_BITS) ^ s->w[3][lane] ^ key1;
      s->w[3][lane] = (uint32_t)p0;
    }
  }
}

static vf fraction(const uint32_t *words, uint32_t plus) {
  float numbers[VF_LANES];
#pragma omp simd
  for (int lane = 0; lane < VF_LANES; lane++) numbers[lane] = (float)(int32_t)((words[lane] >> DROPPED_BITS) + plus) * STEP;
  return vf_load(numbers);
}

static vf numbers_at(uint64_t element, uint64_t seed, uint64_t draw, bool normal) {
  struct words s;
  philox(&s, element, seed, draw);
  if (!normal) return fraction(s.w[0], 0);
  const vf radius = vf_sqrt(vf_mul(vf_set(-2.0f), vf_log(fraction(s.w[0], 1))));
  return vf_mul(radius, vf_cos(vf_mul(vf_set(TWO_PI), fraction(s.w[1], 0))));
}

void K_random(float *out, uint64_t first, int64_t n, uint64_t seed, uint64_t draw, bool normal) {
  int64_t i = 0;
  for (; i + VF_LANES <= n; i += VF_LANES) vf_store(out + i, numbers_at(first + (uint64_t)i, seed, draw, normal));
  if (i < n) vf_store_n(out + i, numbers_at(first + (uint64_t)i, seed, draw, normal), n - i);
}
