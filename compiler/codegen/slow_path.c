/* Payne and Hanek's reduction: x = m·2^e with an integer m, so of the product with 2/π only 192 bits count:
 * those above are whole turns, those below too small to change a result.
 *
 * 1. The nearest multiple of π/2 to a double lies more than 2^-62 away (in units of π/2), and the bits that
 *    are dropped weigh less than 2^-136: what is left of the fraction is exact to more than 53 bits.
 * 2. The remainder of floats is exact by its definition (C17 F.10.7.1), so the C library's serves. */
#include "codegen/slow_path.h"

#include <math.h>
#include <string.h>

typedef unsigned __int128 wide;
typedef struct {
  uint64_t high, middle, low;
} fraction; /* 192 bits */

enum {
  WORD = 64,
  PADDING = WORD,
  MANTISSA = 52,
  EXPONENT_BIAS = 1023 + MANTISSA,
  EXPONENT_MASK = 0x7ff,
  BELOW_DOUBLE = WORD - 53
};

/* 2/π after the point, behind a word of zeros: the bit of weight 2^-i is number PADDING + i - 1. */
static const uint64_t two_over_pi[] = {0,
                                       0xa2f9836e4e441529,
                                       0xfc2757d1f534ddc0,
                                       0xdb6295993c439041,
                                       0xfe5163abdebbc561,
                                       0xb7246e3a424dd2e0,
                                       0x06492eea09d1921c,
                                       0xfe1deb1cb129a73e,
                                       0xe88235f52ebb4484,
                                       0xe99c7026b45f7e41,
                                       0x3991d639835339f4,
                                       0x9c845f8bbdf9283b,
                                       0x1ff897ffde05980f,
                                       0xef2f118b5a0a6d1f,
                                       0x6d367ecf27cb09b7,
                                       0x4f463f669e5fea2d,
                                       0x7527bac7ebe5f17b,
                                       0x3d0739f78a5292ea,
                                       0x6bfb5fb11f8d5d08,
                                       0x56033046fc7b6bab,
                                       0xf0cfbc209af4361d};

/* 64 bits of the table from bit `at` on. */
static uint64_t bits_at(int at) {
  const int word = at / WORD, shift = at % WORD;
  return shift ? two_over_pi[word] << shift | two_over_pi[word + 1] >> (WORD - shift) : two_over_pi[word];
}

/* m·2^e·2/π modulo 4; the unit is 2^-190. */
static fraction quarter_turns(uint64_t m, int e) {
  const int start = PADDING + e - 2; /* the bit that m moves to weight 2 */
  const wide low = (wide)m * bits_at(start + 2 * WORD),
             middle = (wide)m * bits_at(start + WORD) + (uint64_t)(low >> WORD);
  return (fraction){m * bits_at(start) + (uint64_t)(middle >> WORD), (uint64_t)middle, (uint64_t)low};
}

static fraction doubled(fraction f) {
  return (fraction){f.high << 1 | f.middle >> (WORD - 1), f.middle << 1 | f.low >> (WORD - 1), f.low << 1};
}

static fraction negated(fraction f) {
  f = (fraction){~f.high, ~f.middle, ~f.low};
  if (++f.low == 0 && ++f.middle == 0) ++f.high;
  return f;
}

/* f·2^-192·step as a double, rounded a little more than once: `step` is π or π/2 in two parts. */
static double scaled(fraction f, double step, double step_low) {
  int exponent = -WORD;
  for (int i = 0; i < 2 && !f.high; i++, exponent -= WORD) f = (fraction){f.middle, f.low, 0};
  if (!f.high) return 0;
  for (; !(f.high >> (WORD - 1)); exponent--) f = doubled(f);
  const uint64_t rest = f.high << (WORD - BELOW_DOUBLE) | f.middle >> BELOW_DOUBLE;
  const double high = (double)(f.high >> BELOW_DOUBLE << BELOW_DOUBLE),
               low = ldexp((double)rest, BELOW_DOUBLE - WORD);
  const double product = high * step;
  return ldexp(product + (fma(high, step, -product) + (high * step_low + low * step)), exponent);
}

/* For a finite |x| of at least 2^-9 (below, the window of bits would begin before the table); the bounds lie
 * far above. */
static double reduce(double x, int32_t turns, uint64_t *odd) {
  static const double pi = 3.141592653589793, pi_low = 1.2246467991473532e-16;
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  const uint64_t one = UINT64_C(1) << MANTISSA;
  fraction f =
      quarter_turns((bits & (one - 1)) | one, (int)(bits >> MANTISSA & EXPONENT_MASK) - EXPONENT_BIAS);
  if (turns == TC_TURNS_COS) f.high += UINT64_C(1) << (WORD - 2); /* a quarter turn on */
  if (turns == TC_TURNS_TAN) f = doubled(f);
  /* Now the highest bit is the parity of k when cut off, and the others count parts of a step. */
  const uint64_t cut = f.high >> (WORD - 1);
  f = doubled(f);
  const uint64_t up = f.high >> (WORD - 1);
  if (up) f = negated(f);
  const double half = turns == TC_TURNS_TAN ? 0.5 : 1, r = scaled(f, pi * half, pi_low * half);
  *odd = cut ^ up ^ (turns == TC_TURNS_COS && x < 0); /* -x has 1 - k there, -k elsewhere */
  return !up == !(x < 0) ? r : -r;
}

#define FAR(width, T, word, bound)                                                                           \
  void tc_far_turns_##width(const T *x, T *r, T *odd, int32_t lanes, int32_t turns) {                        \
    for (int32_t i = 0; i < lanes; i++) {                                                                    \
      uint64_t parity = 0;                                                                                   \
      if (!((double)x[i] > (bound) || (double)x[i] < -(bound))) continue;                                    \
      r[i] = isfinite(x[i]) ? (T)reduce((double)x[i], turns, &parity) : (T)NAN;                              \
      const word low = (word)parity;                                                                         \
      memcpy(&odd[i], &low, sizeof low);                                                                     \
    }                                                                                                        \
  }
FAR(f32, float, uint32_t, TC_SLOW_PATH_F32)
FAR(f64, double, uint64_t, TC_SLOW_PATH_F64)

void tc_far_rest_f32(const float *x, const float *y, float *rest, int32_t lanes, int32_t unused) {
  (void)unused;
  for (int32_t i = 0; i < lanes; i++) rest[i] = fmodf(x[i], y[i]);
}

void tc_far_rest_f64(const double *x, const double *y, double *rest, int32_t lanes, int32_t unused) {
  (void)unused;
  for (int32_t i = 0; i < lanes; i++) rest[i] = fmod(x[i], y[i]);
}
