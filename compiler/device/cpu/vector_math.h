/* Functions over the vectors of vector.h: the shared text of codegen/polynomials.h and codegen/quotients.h,
 * as vf_exp (f32), vd_exp (f64), … */
#ifndef TC_DEVICE_CPU_VECTOR_MATH_H
#define TC_DEVICE_CPU_VECTOR_MATH_H

#include "codegen/slow_path.h"
#include "device/cpu/vector.h"

/* Lanes that the vector code does not serve go through memory, out of line. Operands are passed as values,
 * and the memory of the results is a copy, so that the straight way has them in registers. */
#define V_FAR(v, V, M, T, LANES, width)                                                                      \
  static                                                                                                     \
      __attribute__((noinline, cold, unused)) void v##_far_turns_lanes(V x, V r, V odd, int turns, T *out) { \
    T angles[LANES];                                                                                         \
    v##_store(angles, x), v##_store(out, r), v##_store(out + LANES, odd);                                    \
    tc_far_turns_##width(angles, out, out + LANES, LANES, turns);                                            \
  }                                                                                                          \
  static inline void v##_far_turns(M far, V x, int turns, V *r, V *odd) {                                    \
    if (__builtin_expect(v##_any(far), 0)) {                                                                 \
      T out[2 * LANES];                                                                                      \
      v##_far_turns_lanes(x, *r, *odd, turns, out);                                                          \
      *r = v##_load(out), *odd = v##_load(out + LANES);                                                      \
    }                                                                                                        \
  }                                                                                                          \
  static __attribute__((noinline, cold, unused)) V v##_far_rest_lanes(V x, V y) {                            \
    T numerators[LANES], denominators[LANES], rests[LANES];                                                  \
    v##_store(numerators, x), v##_store(denominators, y);                                                    \
    tc_far_rest_##width(numerators, denominators, rests, LANES, 0);                                          \
    return v##_load(rests);                                                                                  \
  }                                                                                                          \
  static inline V v##_far_rest(M far, V x, V y, V rest) {                                                    \
    return __builtin_expect(v##_any(far), 0) ? v##_far_rest_lanes(x, y) : rest;                              \
  }
V_FAR(vf, vf, mf, float, VF_LANES, f32)
V_FAR(vd, vd, md, double, VD_LANES, f64)
#undef V_FAR

#define p_const(c, x)                         ((void)(c), V_PRIM(set)(x))
#define p_iconst(c, x)                        ((void)(c), V_PRIM(iset)(x))
#define p_add(c, a, b)                        ((void)(c), V_PRIM(add)(a, b))
#define p_sub(c, a, b)                        ((void)(c), V_PRIM(sub)(a, b))
#define p_mul(c, a, b)                        ((void)(c), V_PRIM(mul)(a, b))
#define p_div(c, a, b)                        ((void)(c), V_PRIM(div)(a, b))
#define p_sqrt(c, a)                          ((void)(c), V_PRIM(sqrt)(a))
#define p_abs(c, a)                           ((void)(c), V_PRIM(abs)(a))
#define p_neg(c, a)                           ((void)(c), V_PRIM(neg)(a))
#define p_floor(c, a)                         ((void)(c), V_PRIM(floor)(a))
#define p_fma(c, a, b, x)                     ((void)(c), V_PRIM(fma)(a, b, x))
#define p_min(c, a, b)                        ((void)(c), V_PRIM(min)(a, b))
#define p_max(c, a, b)                        ((void)(c), V_PRIM(max)(a, b))
#define p_lt(c, a, b)                         ((void)(c), V_PRIM(lt)(a, b))
#define p_le(c, a, b)                         ((void)(c), V_PRIM(le)(a, b))
#define p_eq(c, a, b)                         ((void)(c), V_PRIM(eq)(a, b))
#define p_select(c, m, a, b)                  ((void)(c), V_PRIM(select)(m, a, b))
#define p_mand(c, a, b)                       ((void)(c), V_PRIM(mand)(a, b))
#define p_mor(c, a, b)                        ((void)(c), V_PRIM(mor)(a, b))
#define p_mnot(c, a)                          ((void)(c), V_PRIM(mnot)(a))
#define p_bits(c, a)                          ((void)(c), V_PRIM(bits)(a))
#define p_from_bits(c, a)                     ((void)(c), V_PRIM(from_bits)(a))
#define p_iadd(c, a, b)                       ((void)(c), V_PRIM(iadd)(a, b))
#define p_isub(c, a, b)                       ((void)(c), V_PRIM(isub)(a, b))
#define p_iand(c, a, b)                       ((void)(c), V_PRIM(iand)(a, b))
#define p_ixor(c, a, b)                       ((void)(c), V_PRIM(ixor)(a, b))
#define p_ishl(c, a, n)                       ((void)(c), V_PRIM(ishl)(a, n))
#define p_ishr(c, a, n)                       ((void)(c), V_PRIM(ishr)(a, n))
#define p_iodd(c, a)                          ((void)(c), V_PRIM(iodd)(a))
#define p_scale(c, a, n)                      ((void)(c), V_PRIM(scale)(a, n))
#define p_from_int(c, a)                      ((void)(c), V_PRIM(from_int)(a))
#define p_fix_log(c, x, r)                    ((void)(c), V_PRIM(fix_log)(x, r))
#define p_far_turns(c, far, x, turns, r, odd) ((void)(c), V_PRIM(far_turns)(far, x, turns, r, odd))
#define p_far_rest(c, far, x, y, r)           ((void)(c), V_PRIM(far_rest)(far, x, y, r))

#define POLY_CTX int
#define POLY_FN  static inline __attribute__((always_inline, unused))
#ifdef V_HAS_AVX512
#define POLY_SCALE
#define POLY_FROM_INT
#define POLY_FIX_LOG
#endif

#define POLY_F64     0
#define POLY_V       vf
#define POLY_I       vi
#define POLY_M       mf
#define POLY_NAME(x) poly_f32_##x
#define V_PRIM(x)    vf_##x
#include "codegen/polynomials.h"
#include "codegen/quotients.h"
#undef POLY_F64
#undef POLY_V
#undef POLY_I
#undef POLY_M
#undef POLY_NAME
#undef V_PRIM

#define POLY_F64     1
#define POLY_V       vd
#define POLY_I       vl
#define POLY_M       md
#define POLY_NAME(x) poly_f64_##x
#define V_PRIM(x)    vd_##x
#include "codegen/polynomials.h"
#include "codegen/quotients.h"
#undef POLY_F64
#undef POLY_V
#undef POLY_I
#undef POLY_M
#undef POLY_NAME
#undef V_PRIM
#undef POLY_CTX
#undef POLY_FN
#undef POLY_SCALE
#undef POLY_FROM_INT
#undef POLY_FIX_LOG

#define V_FUNCTION(name)                                                                                     \
  static inline vf vf_##name(vf x) { return poly_f32_##name(0, x); }                                         \
  static inline vd vd_##name(vd x) { return poly_f64_##name(0, x); }
V_FUNCTION(exp)
V_FUNCTION(log)
V_FUNCTION(log1p)
V_FUNCTION(sin)
V_FUNCTION(cos)
V_FUNCTION(tan)
V_FUNCTION(tanh)
V_FUNCTION(sigmoid)
V_FUNCTION(erf)
V_FUNCTION(rsqrt)
#undef V_FUNCTION
static inline vf vf_cos_near(vf x) { return poly_f32_cos_near(0, x); }
#define V_QUOTIENT(name)                                                                                     \
  static inline vf vf_##name(vf x, vf y) { return poly_f32_##name(0, x, y); }                                \
  static inline vd vd_##name(vd x, vd y) { return poly_f64_##name(0, x, y); }
V_QUOTIENT(floor_divide)
V_QUOTIENT(remainder)
#undef V_QUOTIENT
static inline vd vd_pow(vd x, vd y) { return poly_f64_pow(0, x, y); }
static inline vf vf_pow(vf x, vf y) {
  return vf_from_f64(poly_f64_pow_of_f32(0, vf_low_f64(x), vf_low_f64(y)),
                     poly_f64_pow_of_f32(0, vf_high_f64(x), vf_high_f64(y)));
}

#endif
