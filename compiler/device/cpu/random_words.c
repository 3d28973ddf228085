/* Random numbers: Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3"), for each
 * instruction set.
 *
 * Key: seed. Counter: element (two words), draw (two words). Words 0 and 1 of the result give one number:
 * uniform = (w0 >> 8)·2^-24; normal = sqrt(-2 log u1)·cos(2π u2), u1 = ((w0 >> 8) + 1)·2^-24, u2 = (w1 >>
 * 8)·2^-24. Compiled kernels (codegen/) compute the same. */
#include "device/cpu/kernel_parts.h"
#include "device/cpu/vector_math.h"

enum { ROUNDS = 10, WORD_BITS = 32, DROPPED_BITS = 8 };
static const uint32_t M0 = 0xD2511F53u, M1 = 0xCD9E8D57u, W0 = 0x9E3779B9u, W1 = 0xBB67AE85u;
static const float STEP = 1.0f / 16777216.0f; /* 2^-24 */
static const float TWO_PI = 6.283185307179586f;

struct words {
  vi w0, w1;
}; /* words 2 and 3 of the result are not used */

/* The results of VF_LANES consecutive elements, which do not cross a multiple of 2^32 (see K_random). */
static inline struct words philox(uint64_t element, uint64_t seed, uint64_t draw) {
  uint32_t key0 = (uint32_t)seed, key1 = (uint32_t)(seed >> WORD_BITS);
  vi w0 = vi_count((uint32_t)element), w1 = vf_iset((int64_t)(element >> WORD_BITS));
  vi w2 = vf_iset((int64_t)(uint32_t)draw), w3 = vf_iset((int64_t)(draw >> WORD_BITS));
  for (int round = 0; round < ROUNDS; round++, key0 += W0, key1 += W1) {
    vi low0, low1;
    const vi high0 = vi_mul_high_low(w0, M0, &low0), high1 = vi_mul_high_low(w2, M1, &low1);
    w0 = vf_ixor(vf_ixor(high1, w1), vf_iset((int64_t)key0));
    w2 = vf_ixor(vf_ixor(high0, w3), vf_iset((int64_t)key1));
    w1 = low1;
    w3 = low0;
  }
  return (struct words){w0, w1};
}

static inline vf fraction(vi words, int64_t plus) {
  return vf_mul(vi_to_f32(vf_iadd(vf_ishr(words, DROPPED_BITS), vf_iset(plus))), vf_set(STEP));
}

static vf numbers_at(uint64_t element, uint64_t seed, uint64_t draw, bool normal) {
  const struct words s = philox(element, seed, draw);
  if (!normal) return fraction(s.w0, 0);
  const vf radius = vf_sqrt(vf_mul(vf_set(-2.0f), vf_log(fraction(s.w0, 1))));
  return vf_mul(radius, vf_cos_near(vf_mul(vf_set(TWO_PI), fraction(s.w1, 0))));
}

/* Vectors start at multiples of VF_LANES when `first` does, as every caller has it; so a carry into the high
 * word never falls inside one. */
void K_random(float *out, uint64_t first, int64_t n, uint64_t seed, uint64_t draw, bool normal) {
  int64_t i = 0;
  for (; i + VF_LANES <= n; i += VF_LANES)
    vf_store(out + i, numbers_at(first + (uint64_t)i, seed, draw, normal));
  if (i < n) vf_store_n(out + i, numbers_at(first + (uint64_t)i, seed, draw, normal), n - i);
}
