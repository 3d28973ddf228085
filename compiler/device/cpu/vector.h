/* Vectors of the instruction set that this file is compiled for (isa.h), as thin names over intrinsics.
 * vector_math.h has functions over them.
 *
 * vf, vd: floats; vi, vl: integers of 32 and 64 bits; mf, md: masks of their lanes. VF_LANES, VD_LANES. */
#ifndef TC_DEVICE_CPU_VECTOR_H
#define TC_DEVICE_CPU_VECTOR_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

#if defined __AVX512F__

typedef __m512 vf;
typedef __m512d vd;
typedef __m512i vi;
typedef __m512i vl;
typedef __mmask16 mf;
typedef __mmask8 md;
enum { VF_LANES = 16, VD_LANES = 8, V_BYTES = 64 };

#define V_DEFINE(v, m, i, name, suffix, scalar, bits, cast_to, cast_from)                                    \
  static inline v name##_set(scalar x) { return _mm512_set1_##suffix(x); }                                   \
  static inline v name##_add(v a, v b) { return _mm512_add_##suffix(a, b); }                                 \
  static inline v name##_sub(v a, v b) { return _mm512_sub_##suffix(a, b); }                                 \
  static inline v name##_mul(v a, v b) { return _mm512_mul_##suffix(a, b); }                                 \
  static inline v name##_div(v a, v b) { return _mm512_div_##suffix(a, b); }                                 \
  static inline v name##_sqrt(v a) { return _mm512_sqrt_##suffix(a); }                                       \
  static inline v name##_fma(v a, v b, v x) { return _mm512_fmadd_##suffix(a, b, x); }                       \
  static inline v name##_min(v a, v b) { return _mm512_min_##suffix(a, b); }                                 \
  static inline v name##_max(v a, v b) { return _mm512_max_##suffix(a, b); }                                 \
  static inline v name##_floor(v a) {                                                                        \
    return _mm512_roundscale_##suffix(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);                         \
  }                                                                                                          \
  static inline v name##_ceil(v a) {                                                                         \
    return _mm512_roundscale_##suffix(a, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);                         \
  }                                                                                                          \
  static inline v name##_trunc(v a) {                                                                        \
    return _mm512_roundscale_##suffix(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);                            \
  }                                                                                                          \
  static inline v name##_scale(v a, v n) { return _mm512_scalef_##suffix(a, n); }                            \
  static inline m name##_lt(v a, v b) { return _mm512_cmp_##suffix##_mask(a, b, _CMP_LT_OQ); }               \
  static inline m name##_le(v a, v b) { return _mm512_cmp_##suffix##_mask(a, b, _CMP_LE_OQ); }               \
  static inline m name##_eq(v a, v b) { return _mm512_cmp_##suffix##_mask(a, b, _CMP_EQ_OQ); }               \
  static inline v name##_select(m k, v a, v b) { return _mm512_mask_blend_##suffix(k, b, a); }               \
  static inline m name##_mand(m a, m b) { return (m)(a & b); }                                               \
  static inline m name##_mor(m a, m b) { return (m)(a | b); }                                                \
  static inline m name##_mxor(m a, m b) { return (m)(a ^ b); }                                               \
  static inline m name##_mnot(m a) { return (m)~a; }                                                         \
  static inline i name##_bits(v a) { return cast_to(a); }                                                    \
  static inline v name##_from_bits(i a) { return cast_from(a); }                                             \
  static inline i name##_iset(int64_t x) { return _mm512_set1_epi##bits((int##bits##_t)x); }                 \
  static inline i name##_iadd(i a, i b) { return _mm512_add_epi##bits(a, b); }                               \
  static inline i name##_isub(i a, i b) { return _mm512_sub_epi##bits(a, b); }                               \
  static inline i name##_iand(i a, i b) { return _mm512_and_si512(a, b); }                                   \
  static inline i name##_ixor(i a, i b) { return _mm512_xor_si512(a, b); }                                   \
  static inline m name##_iodd(i a) { return _mm512_test_epi##bits##_mask(a, _mm512_set1_epi##bits(1)); }     \
  static inline v name##_load(const scalar *p) { return _mm512_loadu_##suffix(p); }                          \
  static inline void name##_store(scalar *p, v a) { _mm512_storeu_##suffix(p, a); }                          \
  static inline void name##_stream(scalar *p, v a) { _mm512_stream_##suffix(p, a); }
#define V_SHIFT_LEFT32(a, n)  _mm512_slli_epi32(a, n)
#define V_SHIFT_RIGHT32(a, n) _mm512_srli_epi32(a, n)
#define V_SHIFT_LEFT64(a, n)  _mm512_slli_epi64(a, n)
#define V_SHIFT_RIGHT64(a, n) _mm512_srli_epi64(a, n)
V_DEFINE(vf, mf, vi, vf, ps, float, 32, _mm512_castps_si512, _mm512_castsi512_ps)
V_DEFINE(vd, md, vl, vd, pd, double, 64, _mm512_castpd_si512, _mm512_castsi512_pd)
#define V_HAS_AVX512

static inline vf vf_from_int(vi a) { return _mm512_cvtepi32_ps(a); }
static inline vd vd_from_int(vl a) { return _mm512_cvtepi64_pd(a); }
/* Answers of vfixupimm by class of x, four bits each from the lowest: NaN (quiet, signalling), 0, 1, -inf,
 * inf, negative, positive. 0: the result stays; 2: x's NaN; 3: NaN; 4: -inf; 5: inf. */
enum { FIX_LOG = 0x03530422 };
static inline vf vf_fix_log(vf x, vf result) {
  return _mm512_fixupimm_ps(result, x, _mm512_set1_epi32(FIX_LOG), 0);
}
static inline vd vd_fix_log(vd x, vd result) {
  return _mm512_fixupimm_pd(result, x, _mm512_set1_epi64(FIX_LOG), 0);
}

static inline vd vf_low_f64(vf a) { return _mm512_cvtps_pd(_mm512_castps512_ps256(a)); }
static inline vd vf_high_f64(vf a) { return _mm512_cvtps_pd(_mm512_extractf32x8_ps(a, 1)); }
static inline vf vf_from_f64(vd low, vd high) {
  return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(low)), _mm512_cvtpd_ps(high), 1);
}
/* 16 bf16 ↔ f32, round to nearest even, NaN made quiet. */
static inline vf vf_load_bf16(const uint16_t *p) {
  return _mm512_castsi512_ps(
      _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p)), 16));
}
static inline void vf_store_bf16(uint16_t *p, vf a) {
  const __m512i bits = _mm512_castps_si512(a);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
  rounded = _mm512_mask_or_epi32(rounded, _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q), bits,
                                 _mm512_set1_epi32(0x400000));
  _mm256_storeu_si256((__m256i *)p, _mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded, 16)));
}
/* High and low halves of the products of unsigned 32-bit lanes with b. */
static inline vi vi_mul_high_low(vi a, uint32_t b, vi *low) {
  const __m512i factor = _mm512_set1_epi32((int)b);
  const __m512i even = _mm512_mul_epu32(a, factor), odd = _mm512_mul_epu32(_mm512_srli_epi64(a, 32), factor);
  *low = _mm512_mask_blend_epi32(0xAAAA, even, _mm512_slli_epi64(odd, 32));
  return _mm512_mask_blend_epi32(0xAAAA, _mm512_srli_epi64(even, 32), odd);
}
static inline vi vi_count(uint32_t first) {
  return _mm512_add_epi32(_mm512_set1_epi32((int)first),
                          _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
}
static inline vf vi_to_f32(vi a) { return _mm512_cvtepi32_ps(a); }
/* Lanes of a mask as bytes of 0 or 1, and back (any non-zero byte is true). */
static inline void mf_store_bytes(uint8_t *p, mf m) {
  _mm_storeu_si128((__m128i *)p, _mm_maskz_set1_epi8(m, 1));
}
static inline mf mf_load_bytes(const uint8_t *p) {
  const __m128i x = _mm_loadu_si128((const __m128i *)p);
  return _mm_test_epi8_mask(x, x);
}
static inline void md_store_bytes(uint8_t *p, md m) {
  _mm_storel_epi64((__m128i *)p, _mm_maskz_set1_epi8(m, 1));
}
static inline md md_load_bytes(const uint8_t *p) {
  const __m128i x = _mm_loadl_epi64((const __m128i *)p);
  return (md)_mm_test_epi8_mask(x, x);
}
/* The first n lanes (others are 0, or left alone in memory); n below the lane count. */
static inline vf vf_load_n(const float *p, int64_t n) {
  return _mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), p);
}
static inline void vf_store_n(float *p, vf a, int64_t n) {
  _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), a);
}
static inline vd vd_load_n(const double *p, int64_t n) {
  return _mm512_maskz_loadu_pd((__mmask8)((1u << n) - 1), p);
}
static inline void vd_store_n(double *p, vd a, int64_t n) {
  _mm512_mask_storeu_pd(p, (__mmask8)((1u << n) - 1), a);
}
static inline bool vf_any(mf m) { return m != 0; }
static inline bool vd_any(md m) { return m != 0; }
/* All lanes joined by halves. */
static inline float vf_hsum(vf a) { return _mm512_reduce_add_ps(a); }
static inline double vd_hsum(vd a) { return _mm512_reduce_add_pd(a); }

#else /* AVX2 and FMA */

typedef __m256 vf;
typedef __m256d vd;
typedef __m256i vi;
typedef __m256i vl;
typedef __m256 mf; /* all bits of a lane */
typedef __m256d md;
enum { VF_LANES = 8, VD_LANES = 4, V_BYTES = 32 };

#define V_DEFINE(v, m, i, name, suffix, scalar, bits, epi, cast_to, cast_from)                               \
  static inline v name##_set(scalar x) { return _mm256_set1_##suffix(x); }                                   \
  static inline v name##_add(v a, v b) { return _mm256_add_##suffix(a, b); }                                 \
  static inline v name##_sub(v a, v b) { return _mm256_sub_##suffix(a, b); }                                 \
  static inline v name##_mul(v a, v b) { return _mm256_mul_##suffix(a, b); }                                 \
  static inline v name##_div(v a, v b) { return _mm256_div_##suffix(a, b); }                                 \
  static inline v name##_sqrt(v a) { return _mm256_sqrt_##suffix(a); }                                       \
  static inline v name##_fma(v a, v b, v x) { return _mm256_fmadd_##suffix(a, b, x); }                       \
  static inline v name##_min(v a, v b) { return _mm256_min_##suffix(a, b); }                                 \
  static inline v name##_max(v a, v b) { return _mm256_max_##suffix(a, b); }                                 \
  static inline v name##_floor(v a) {                                                                        \
    return _mm256_round_##suffix(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);                              \
  }                                                                                                          \
  static inline v name##_ceil(v a) {                                                                         \
    return _mm256_round_##suffix(a, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC);                              \
  }                                                                                                          \
  static inline v name##_trunc(v a) {                                                                        \
    return _mm256_round_##suffix(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);                                 \
  }                                                                                                          \
  static inline m name##_lt(v a, v b) { return _mm256_cmp_##suffix(a, b, _CMP_LT_OQ); }                      \
  static inline m name##_le(v a, v b) { return _mm256_cmp_##suffix(a, b, _CMP_LE_OQ); }                      \
  static inline m name##_eq(v a, v b) { return _mm256_cmp_##suffix(a, b, _CMP_EQ_OQ); }                      \
  static inline v name##_select(m k, v a, v b) { return _mm256_blendv_##suffix(b, a, k); }                   \
  static inline m name##_mand(m a, m b) { return _mm256_and_##suffix(a, b); }                                \
  static inline m name##_mor(m a, m b) { return _mm256_or_##suffix(a, b); }                                  \
  static inline m name##_mxor(m a, m b) { return _mm256_xor_##suffix(a, b); }                                \
  static inline m name##_mnot(m a) { return _mm256_xor_##suffix(a, cast_from(_mm256_set1_epi32(-1))); }      \
  static inline i name##_bits(v a) { return cast_to(a); }                                                    \
  static inline v name##_from_bits(i a) { return cast_from(a); }                                             \
  static inline i name##_iset(int64_t x) { return _mm256_set1_##epi((int##bits##_t)x); }                     \
  static inline i name##_iadd(i a, i b) { return _mm256_add_epi##bits(a, b); }                               \
  static inline i name##_isub(i a, i b) { return _mm256_sub_epi##bits(a, b); }                               \
  static inline i name##_iand(i a, i b) { return _mm256_and_si256(a, b); }                                   \
  static inline i name##_ixor(i a, i b) { return _mm256_xor_si256(a, b); }                                   \
  static inline m name##_iodd(i a) {                                                                         \
    const i one = _mm256_set1_##epi(1);                                                                      \
    return cast_from(_mm256_cmpeq_epi##bits(_mm256_and_si256(a, one), one));                                 \
  }                                                                                                          \
  static inline v name##_load(const scalar *p) { return _mm256_loadu_##suffix(p); }                          \
  static inline void name##_store(scalar *p, v a) { _mm256_storeu_##suffix(p, a); }                          \
  static inline void name##_stream(scalar *p, v a) { _mm256_stream_##suffix(p, a); }
#define V_SHIFT_LEFT32(a, n)  _mm256_slli_epi32(a, n)
#define V_SHIFT_RIGHT32(a, n) _mm256_srli_epi32(a, n)
#define V_SHIFT_LEFT64(a, n)  _mm256_slli_epi64(a, n)
#define V_SHIFT_RIGHT64(a, n) _mm256_srli_epi64(a, n)
V_DEFINE(vf, mf, vi, vf, ps, float, 32, epi32, _mm256_castps_si256, _mm256_castsi256_ps)
V_DEFINE(vd, md, vl, vd, pd, double, 64, epi64x, _mm256_castpd_si256, _mm256_castsi256_pd)

static inline vd vf_low_f64(vf a) { return _mm256_cvtps_pd(_mm256_castps256_ps128(a)); }
static inline vd vf_high_f64(vf a) { return _mm256_cvtps_pd(_mm256_extractf128_ps(a, 1)); }
static inline vf vf_from_f64(vd low, vd high) {
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps(low)), _mm256_cvtpd_ps(high), 1);
}
static inline vf vf_load_bf16(const uint16_t *p) {
  return _mm256_castsi256_ps(
      _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p)), 16));
}
static inline void vf_store_bf16(uint16_t *p, vf a) {
  const __m256i bits = _mm256_castps_si256(a);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i rounded = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
  const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
  const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(a, a, _CMP_UNORD_Q));
  const __m256i halves = _mm256_srli_epi32(_mm256_blendv_epi8(rounded, quiet, nan), 16);
  const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(halves, halves), 0xD8);
  _mm_storeu_si128((__m128i *)p, _mm256_castsi256_si128(packed));
}
static inline vi vi_mul_high_low(vi a, uint32_t b, vi *low) {
  const __m256i factor = _mm256_set1_epi32((int)b);
  const __m256i even = _mm256_mul_epu32(a, factor), odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), factor);
  *low = _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xAA);
  return _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA);
}
static inline vi vi_count(uint32_t first) {
  return _mm256_add_epi32(_mm256_set1_epi32((int)first), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
static inline vf vi_to_f32(vi a) { return _mm256_cvtepi32_ps(a); }
static inline void mf_store_bytes(uint8_t *p, mf m) {
  const __m256i words = _mm256_srli_epi32(_mm256_castps_si256(m), 31);
  const __m256i halves = _mm256_permute4x64_epi64(_mm256_packs_epi32(words, words), 0xD8);
  const __m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(halves), _mm256_castsi256_si128(halves));
  _mm_storel_epi64((__m128i *)p, bytes);
}
static inline mf mf_load_bytes(const uint8_t *p) {
  const __m256i words = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p));
  return _mm256_castsi256_ps(_mm256_cmpgt_epi32(words, _mm256_setzero_si256()));
}
static inline void md_store_bytes(uint8_t *p, md m) {
  const unsigned lanes = (unsigned)_mm256_movemask_pd(m);
  for (unsigned lane = 0; lane < VD_LANES; lane++) p[lane] = lanes >> lane & 1;
}
static inline md md_load_bytes(const uint8_t *p) {
  uint32_t four;
  __builtin_memcpy(&four, p, sizeof four);
  const __m256i words = _mm256_cvtepu8_epi64(_mm_cvtsi32_si128((int)four));
  return _mm256_castsi256_pd(_mm256_cmpgt_epi64(words, _mm256_setzero_si256()));
}
static inline vi vf_lanes_below(int64_t n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
static inline vl vd_lanes_below(int64_t n) {
  return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3));
}
static inline vf vf_load_n(const float *p, int64_t n) { return _mm256_maskload_ps(p, vf_lanes_below(n)); }
static inline void vf_store_n(float *p, vf a, int64_t n) { _mm256_maskstore_ps(p, vf_lanes_below(n), a); }
static inline vd vd_load_n(const double *p, int64_t n) { return _mm256_maskload_pd(p, vd_lanes_below(n)); }
static inline void vd_store_n(double *p, vd a, int64_t n) { _mm256_maskstore_pd(p, vd_lanes_below(n), a); }
static inline bool vf_any(mf m) { return _mm256_movemask_ps(m) != 0; }
static inline bool vd_any(md m) { return _mm256_movemask_pd(m) != 0; }
static inline double vd_hsum(vd a) {
  const __m128d half = _mm_add_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1));
  return _mm_cvtsd_f64(half) + _mm_cvtsd_f64(_mm_unpackhi_pd(half, half));
}
static inline float vf_hsum(vf a) {
  const __m128 half = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
  const __m128 quarter = _mm_add_ps(half, _mm_movehl_ps(half, half));
  return _mm_cvtss_f32(_mm_add_ss(quarter, _mm_shuffle_ps(quarter, quarter, 1)));
}

#endif

/* Makes non-temporal stores visible to other threads. */
static inline void v_fence(void) { _mm_sfence(); }

static inline vi vf_ishl(vi a, int n) { return V_SHIFT_LEFT32(a, n); }
static inline vi vf_ishr(vi a, int n) { return V_SHIFT_RIGHT32(a, n); }
static inline vl vd_ishl(vl a, int n) { return V_SHIFT_LEFT64(a, n); }
static inline vl vd_ishr(vl a, int n) { return V_SHIFT_RIGHT64(a, n); }
static inline vf vf_abs(vf a) { return vf_from_bits(vf_iand(vf_bits(a), vf_iset(INT64_C(0x7fffffff)))); }
static inline vd vd_abs(vd a) { return vd_from_bits(vd_iand(vd_bits(a), vd_iset(INT64_MAX))); }
static inline vf vf_neg(vf a) { return vf_from_bits(vf_ixor(vf_bits(a), vf_iset(INT64_C(0x80000000)))); }
static inline vd vd_neg(vd a) { return vd_from_bits(vd_ixor(vd_bits(a), vd_iset(INT64_MIN))); }

#endif
