/* Transcendental functions over vectors, written once: a template of straight-line text.
 *
 * The eager kernels include it with compiler intrinsics as primitives; the LLVM emitter includes it with
 * primitives that build IR. So eager and compiled code compute the same values, operation by operation. It
 * has no include guard: define the macros below, include, undefine, and include again for the other element
 * width. There are no branches and no loops: special cases are selected by masks. One thing is left to the
 * includer: an angle that is too large for the vectors' reduction (p_far_turns), which hardly ever comes and
 * takes a call.
 *
 * The includer defines
 *   POLY_F64        0: 32-bit floats, 1: 64-bit floats
 *   POLY_NAME(x)    decorates a function's name
 *   POLY_CTX        type of the first argument of every primitive and function (an IR builder, or an int
 *   nobody reads)
 *   POLY_V          vector of floats;  POLY_I: vector of integers of the same lanes and width;  POLY_M: mask
 *   of lanes
 *   POLY_FN         (optional) how a function is declared; default: static inline
 *   POLY_SCALE, POLY_FROM_INT, POLY_FIX_LOG  (optional) defined: p_scale, p_from_int, p_fix_log exist;
 *   without them the
 *                   same values are computed in more steps
 * and these primitives (rounding to nearest even, denormals kept, no contraction and no reassociation):
 *   V p_const(c, double)   a float constant in every lane     I p_iconst(c, int64_t)  an integer constant
 *   V p_add(c,a,b)  p_sub  p_mul  p_div  p_sqrt(c,a)  p_abs(c,a)  p_neg(c,a)  p_floor(c,a)
 *   V p_fma(c,a,b,x)       a·b + x with one rounding
 *   V p_min(c,a,b)         a < b ? a : b  (so b where either is NaN);   p_max: a > b ? a : b
 *   M p_lt(c,a,b)  p_le  p_eq   false where either is NaN
 *   V p_select(c,m,a,b)    m ? a : b
 *   M p_mand(c,m,n)  p_mor  p_mnot(c,m)
 *   I p_bits(c,v)          the bits of a float;  V p_from_bits(c,i)
 *   I p_iadd(c,i,j)  p_isub  p_iand  p_ixor   modulo 2^width
 *   I p_ishl(c,i,int count)  p_ishr (zeros come in)
 *   M p_iodd(c,i)          is the lowest bit set?
 *   V p_scale(c,a,n)       a · 2^n for an integral float n, rounded once, to 0 and infinity as it must
 *   (AVX-512: vscalef)
 *   V p_from_int(c,i)      a signed integer as a float
 *   p_far_turns(c,far,x,turns,&r,&odd)  where a lane of `far` is set, r and odd are replaced: tc_far_turns of
 *   codegen/slow_path.h
 *   V p_fix_log(c,x,r)     r; but NaN where x is NaN or negative, -inf where x is 0, inf where x is inf
 *   (AVX-512: vfixupimm)
 *
 * Accuracy: bounds on the error in units in the last place of the result's type, as measured against a wider
 * type (f32: every 29th bit pattern, f64: random arguments); tests/compiler/ops/test_polynomials.c checks
 * them on every run, on fewer arguments.
 *
 *            f32      f64     domain of the bound
 *   exp      1.1      1.1     all
 *   log      1.0      1.0     all
 *   log1p    1.3      1.4     all
 *   sin cos  2.4      2.7     all
 *   tan      4.0      4.2     all
 *   tanh     2.5      2.8     all
 *   sigmoid  2.6      2.6     all
 *   erf      2.2      4.3     all
 *   rsqrt    1.5      1.5     all (a square root, then a division)
 *   pow      0.51     1.3     all (f32: pow_of_f32 in 64-bit lanes)
 *
 * sin, cos and tan give NaN for NaN and infinite arguments only. Signs of zero are kept; exp and sigmoid
 * reach 0 through the denormals.
 *
 * Methods: Cody and Waite's reduction in two or three parts with FMA (the quotient by adding 1.5·2^p, whose
 * low bits then hold the integer), Payne and Hanek's for angles beyond TC_SLOW_PATH_F32 and TC_SLOW_PATH_F64;
 * minimax polynomials by Remez exchange, the low coefficients rounded first and the others fitted again;
 * evaluated in Estrin's order, since these chains wait on latency. */

#include "codegen/slow_path.h"

#ifndef POLY_FN
#define POLY_FN static inline
#define POLY_FN_IS_OURS
#endif

/* Shorthand, undefined at the end. */
#define K(value)         p_const(c, (value))
#define ADD(a, b)        p_add(c, (a), (b))
#define SUB(a, b)        p_sub(c, (a), (b))
#define MUL(a, b)        p_mul(c, (a), (b))
#define FMA(a, b, x)     p_fma(c, (a), (b), (x))
#define PICK(mask, a, b) p_select(c, (mask), (a), (b))
#define POLY_INFINITY    (__builtin_inf())
#define POLY_NAN         (__builtin_nan(""))

#if POLY_F64
#define POLY_MANTISSA      52
#define POLY_MAGIC         6755399441055744.0 /* 1.5·2^52: adding it leaves an integer in the low bits */
#define POLY_BIAS          1023
#define POLY_SIGN          INT64_MIN
#define POLY_EXPONENT      ((int64_t)0xFFF0000000000000)
#define POLY_SQRT_HALF     0x3FE6A09E667F3BCD /* lower end of the reduced argument of log: sqrt(1/2) */
#define POLY_TINY          2.2250738585072014e-308
#define POLY_TINY_SCALE    18014398509481984.0 /* 2^54 */
#define POLY_TINY_EXPONENT 54
#define LN2_HIGH           0.6931471805598903 /* 42 bits: its product with an exponent is exact */
#define LN2_LOW            5.497923018708371e-14
#define LOG2_E             1.4426950408889634
#define PI_1                                                                                                 \
  3.141592653589793 /* pi in parts, each rounded towards 0: their products with a zero keep the sign of x */
#define PI_2        1.224646799147353e-16
#define PI_3        2.1657133478438278e-32
#define ONE_OVER_PI 0.3183098861837907
#else
#define POLY_MANTISSA      23
#define POLY_MAGIC         12582912.0 /* 1.5·2^23 */
#define POLY_BIAS          127
#define POLY_SIGN          INT64_C(0x80000000)
#define POLY_EXPONENT      INT64_C(0xFF800000)
#define POLY_SQRT_HALF     0x3F400000 /* 0.75 */
#define POLY_TINY          1.1754943508222875e-38
#define POLY_TINY_SCALE    33554432.0 /* 2^25 */
#define POLY_TINY_EXPONENT 25
#define LN2_HIGH           0.6931471824645996
#define LN2_LOW            -1.9046542121259336e-09
#define LOG2_E             1.4426950216293335
#define PI_1               3.141592502593994
#define PI_2               1.5099578831723193e-07
#define PI_3               1.078060505991553e-14
#define ONE_OVER_PI        0.31830987334251404
#endif

/* a0 + a1·x + … in Estrin's order; x2 = x², x4 = x⁴. */
#define POLY2(x, a0, a1)                         FMA(x, K(a1), K(a0))
#define POLY3(x, x2, a0, a1, a2)                 FMA(x2, K(a2), POLY2(x, a0, a1))
#define POLY4(x, x2, a0, a1, a2, a3)             FMA(x2, POLY2(x, a2, a3), POLY2(x, a0, a1))
#define POLY5(x, x2, x4, a0, a1, a2, a3, a4)     FMA(x4, K(a4), POLY4(x, x2, a0, a1, a2, a3))
#define POLY6(x, x2, x4, a0, a1, a2, a3, a4, a5) FMA(x4, POLY2(x, a4, a5), POLY4(x, x2, a0, a1, a2, a3))
#define POLY7(x, x2, x4, a0, a1, a2, a3, a4, a5, a6)                                                         \
  FMA(x4, POLY3(x, x2, a4, a5, a6), POLY4(x, x2, a0, a1, a2, a3))
#define POLY8(x, x2, x4, a0, a1, a2, a3, a4, a5, a6, a7)                                                     \
  FMA(x4, POLY4(x, x2, a4, a5, a6, a7), POLY4(x, x2, a0, a1, a2, a3))

/* a · 2^n; `biased` holds n in its low bits, as left by adding POLY_MAGIC. In two steps, so that the result
 * may be denormal. */
POLY_FN POLY_V POLY_NAME(ldexp)(POLY_CTX c, POLY_V a, POLY_V n) {
#ifdef POLY_SCALE
  return p_scale(c, a, n);
#else
  const POLY_V half_biased = FMA(n, K(0.5), K(POLY_MAGIC));
  const POLY_V half = SUB(half_biased, K(POLY_MAGIC));
  const POLY_V rest_biased = ADD(SUB(n, half), K(POLY_MAGIC));
  const POLY_I bias = p_iconst(c, POLY_BIAS);
  const POLY_V first = p_from_bits(c, p_ishl(c, p_iadd(c, p_bits(c, half_biased), bias), POLY_MANTISSA));
  const POLY_V second = p_from_bits(c, p_ishl(c, p_iadd(c, p_bits(c, rest_biased), bias), POLY_MANTISSA));
  return MUL(MUL(a, first), second);
#endif
}

/* e^r - 1 for |r| <= ln2/2. */
POLY_FN POLY_V POLY_NAME(expm1_reduced)(POLY_CTX c, POLY_V r) {
  const POLY_V r2 = MUL(r, r), r4 = MUL(r2, r2);
#if POLY_F64
  const POLY_V low =
      POLY8(r, r2, r4, 0.5000000000000012, 0.16666666666666385, 0.04166666666651915, 0.008333333333507657,
            0.0013888888946919844, 0.0001984126948617186, 2.4801489352386363e-05, 2.7557597176842097e-06);
  const POLY_V q = FMA(MUL(r4, r4), POLY2(r, 2.763168730555804e-07, 2.499899590024881e-08), low);
#else
  const POLY_V q = POLY5(r, r2, r4, 0.4999999403953552, 0.16666509211063385, 0.041668009012937546,
                         0.008370008319616318, 0.0013847793452441692);
#endif
  return FMA(r2, q, r);
}

/* x = n·ln2 + r; *biased keeps n in its low bits. */
POLY_FN POLY_V POLY_NAME(exp_reduce)(POLY_CTX c, POLY_V x, POLY_V *n, POLY_V *biased) {
  *biased = FMA(x, K(LOG2_E), K(POLY_MAGIC));
  *n = SUB(*biased, K(POLY_MAGIC));
  const POLY_V r = FMA(*n, K(-LN2_HIGH), x);
  return FMA(*n, K(-LN2_LOW), r);
}

/* e^x for x <= 0 or NaN: needs no bound above. */
POLY_FN POLY_V POLY_NAME(exp_below)(POLY_CTX c, POLY_V x) {
  POLY_V n, biased;
#if POLY_F64
  const POLY_V low = K(-746.0);
#else
  const POLY_V low = K(-104.0);
#endif
  const POLY_V r = POLY_NAME(exp_reduce)(c, p_max(c, low, x), &n, &biased);
  return POLY_NAME(ldexp)(c, ADD(POLY_NAME(expm1_reduced)(c, r), K(1.0)), n);
}

POLY_FN POLY_V POLY_NAME(exp)(POLY_CTX c, POLY_V x) {
#if POLY_F64
  const POLY_V high = K(710.0);
#else
  const POLY_V high = K(89.0);
#endif
  return POLY_NAME(exp_below)(c, p_min(c, high, x));
}

/* The bits of 2^e as an offset of the exponent field, for positive normal x = m·2^e with m in the reduced
 * interval of log. */
POLY_FN POLY_I POLY_NAME(exponent_offset)(POLY_CTX c, POLY_V x) {
  return p_iand(c, p_isub(c, p_bits(c, x), p_iconst(c, POLY_SQRT_HALF)), p_iconst(c, POLY_EXPONENT));
}

/* e · EXPONENT_UNIT as a float, from e's offset, which is e·2^p. Without a conversion: added to 1.0's
 * exponent it becomes a small non-negative integer, which 1.5·2^p takes up. */
#ifdef POLY_FROM_INT
#define EXPONENT_UNIT ((double)(INT64_C(1) << POLY_MANTISSA))
#else
#define EXPONENT_UNIT 1.0
#endif
POLY_FN POLY_V POLY_NAME(exponent_float)(POLY_CTX c, POLY_I offset) {
#ifdef POLY_FROM_INT
  return p_from_int(c, offset);
#else
  const POLY_I one = p_ishl(c, p_iconst(c, POLY_BIAS), POLY_MANTISSA);
  const POLY_I biased = p_ishr(c, p_iadd(c, offset, one), POLY_MANTISSA);
  return SUB(p_from_bits(c, p_iadd(c, biased, p_bits(c, K(POLY_MAGIC)))), K(POLY_MAGIC + POLY_BIAS));
#endif
}

/* Splits positive x into m - 1, with m in the reduced interval of log, and e·EXPONENT_UNIT. */
POLY_FN POLY_V POLY_NAME(log_split)(POLY_CTX c, POLY_V x, POLY_V *e) {
  const POLY_M tiny = p_lt(c, x, K(POLY_TINY));
  const POLY_V normal = PICK(tiny, MUL(x, K(POLY_TINY_SCALE)), x);
  const POLY_I offset = POLY_NAME(exponent_offset)(c, normal);
  const POLY_V whole = POLY_NAME(exponent_float)(c, offset);
  *e = PICK(tiny, SUB(whole, K(POLY_TINY_EXPONENT * EXPONENT_UNIT)), whole);
  return SUB(p_from_bits(c, p_isub(c, p_bits(c, normal), offset)), K(1.0));
}

/* log(1 + f) + e·ln2, with 1 + f in the reduced interval and e in EXPONENT_UNITs. */
POLY_FN POLY_V POLY_NAME(log_reduced)(POLY_CTX c, POLY_V f, POLY_V e) {
#if POLY_F64
  const POLY_V s = p_div(c, f, ADD(f, K(2.0)));
  const POLY_V z = MUL(s, s), z2 = MUL(z, z), z4 = MUL(z2, z2);
  const POLY_V half = MUL(MUL(f, f), K(0.5));
  const POLY_V series =
      MUL(z, POLY7(z, z2, z4, 0.6666666666666735, 0.39999999999411096, 0.28571428743262023,
                   0.2222219847604077, 0.1818356973721844, 0.153139033111462, 0.14797507065607862));
  const POLY_V small = SUB(half, FMA(s, ADD(half, series), MUL(e, K(LN2_LOW / EXPONENT_UNIT))));
  return FMA(e, K(LN2_HIGH / EXPONENT_UNIT), SUB(f, small));
#else
  const POLY_V f2 = MUL(f, f), f4 = MUL(f2, f2);
  const POLY_V p =
      POLY8(f, f2, f4, 0.3333345055580139, -0.25000104308128357, 0.1999083161354065, -0.16647052764892578,
            0.14478208124637604, -0.13163001835346222, 0.10467477887868881, -0.04510538652539253);
  const POLY_V y = FMA(f2, FMA(f, p, K(-0.5)), f);
  return FMA(e, K(LN2_HIGH / EXPONENT_UNIT), y);
#endif
}

/* The result where the argument is ordinary; else inf for inf, -inf for 0, NaN for NaN and negative
 * arguments. */
POLY_FN POLY_V POLY_NAME(log_special)(POLY_CTX c, POLY_V x, POLY_V result) {
#ifdef POLY_FIX_LOG
  return p_fix_log(c, x, result);
#else
  const POLY_V zero = K(0.0);
  const POLY_V upper = PICK(p_lt(c, x, K(POLY_INFINITY)), result, x);
  return PICK(p_lt(c, zero, x), upper, PICK(p_eq(c, x, zero), K(-POLY_INFINITY), K(POLY_NAN)));
#endif
}

POLY_FN POLY_V POLY_NAME(log)(POLY_CTX c, POLY_V x) {
  POLY_V e;
  const POLY_V f = POLY_NAME(log_split)(c, x, &e);
  return POLY_NAME(log_special)(c, x, POLY_NAME(log_reduced)(c, f, e));
}

POLY_FN POLY_V POLY_NAME(log1p)(POLY_CTX c, POLY_V x) {
  const POLY_V one = K(1.0), u = ADD(x, one);
  const POLY_I offset = POLY_NAME(exponent_offset)(c, u);
  const POLY_V m = p_from_bits(c, p_isub(c, p_bits(c, u), offset));
  const POLY_V half_lost =
      MUL(SUB(x, SUB(u, one)), K(0.5)); /* what 1 + x dropped, halved, so that 2^(1-e) is never below 0 */
  const POLY_I two = p_ishl(c, p_iconst(c, POLY_BIAS + 1), POLY_MANTISSA);
  const POLY_V scale = p_from_bits(c, p_isub(c, two, offset));
  const POLY_V f = FMA(half_lost, scale, SUB(m, one));
  const POLY_V result =
      POLY_NAME(log_special)(c, u, POLY_NAME(log_reduced)(c, f, POLY_NAME(exponent_float)(c, offset)));
  return PICK(p_eq(c, x, K(0.0)), x, result); /* -0 stays -0 */
}

#include "codegen/polynomials_angles.h"

/* With E = e^-2|x|: (1 - E) / (1 + E), the numerator from e^r - 1 so that nothing cancels; where E is small,
 * 1 - 2E / (1 + E), which does not pass on E's error. */
POLY_FN POLY_V POLY_NAME(tanh)(POLY_CTX c, POLY_V x) {
  POLY_V n, biased;
  const POLY_V one = K(1.0), size = p_abs(c, x), low = K(POLY_F64 ? -40.0 : -20.0);
  const POLY_V r = POLY_NAME(exp_reduce)(c, p_max(c, low, MUL(size, K(-2.0))), &n, &biased);
  const POLY_V raised = POLY_NAME(expm1_reduced)(c, r);
  const POLY_I exponent = p_iadd(c, p_bits(c, biased), p_iconst(c, POLY_BIAS));
  const POLY_V scale = p_from_bits(c, p_ishl(c, exponent, POLY_MANTISSA));
  const POLY_V full = FMA(raised, scale, scale), less = FMA(raised, scale, SUB(scale, one));
  const POLY_M far = p_lt(c, K(0.55), size);
  const POLY_V q = p_div(c, PICK(far, ADD(full, full), p_abs(c, less)), ADD(full, one));
  const POLY_I sign = p_iand(c, p_bits(c, x), p_iconst(c, POLY_SIGN));
  return p_from_bits(c, p_ixor(c, p_bits(c, PICK(far, SUB(one, q), q)), sign));
}

/* 1 / (1 + e^-|x|), or e^-|x| / (1 + e^-|x|) where x is negative. */
POLY_FN POLY_V POLY_NAME(sigmoid)(POLY_CTX c, POLY_V x) {
  const POLY_V one = K(1.0), e = POLY_NAME(exp_below)(c, p_neg(c, p_abs(c, x)));
  return p_div(c, PICK(p_lt(c, x, K(0.0)), e, one), ADD(e, one));
}

/* Small |x|: x + x·P(x²). Beyond: 1 - Q(|x|)^8, since the eighth root of erfc is nearly a straight line. */
POLY_FN POLY_V POLY_NAME(erf)(POLY_CTX c, POLY_V x) {
  const POLY_V one = K(1.0), s = MUL(x, x), s2 = MUL(s, s), s4 = MUL(s2, s2), size = p_abs(c, x);
#if POLY_F64
  const POLY_V split = K(1.5), s8 = MUL(s4, s4);
  const POLY_V head_low =
      POLY8(s, s2, s4, 0.12837916709551245, -0.37612638903181517, 0.1128379167089168, -0.026866170638037475,
            0.005223977583918568, -0.0008548325561739446, 0.00012055299502012122, -1.4925127260295016e-05);
  const POLY_V head_high =
      POLY6(s, s2, s4, 1.6456383483049481e-06, -1.6321242889552673e-07, 1.45605223506986e-08,
            -1.1333632908014713e-09, 6.894101472409064e-11, -2.3856848936174344e-12);
  const POLY_V head = FMA(s8, head_high, head_low);
  const POLY_V v =
      FMA(p_min(c, K(6.0), size), K(0.4444444444444444), K(-1.6666666666666667)); /* [1.5, 6] to [-1, 1] */
  const POLY_V v2 = MUL(v, v), v4 = MUL(v2, v2), v8 = MUL(v4, v4);
  const POLY_V low =
      POLY8(v, v2, v4, 0.1355136585462996, -0.29539282767739466, 0.23873530237838844, -0.05339532208351479,
            -0.04249309394132094, 0.030084992463214662, -0.0014558365118825882, -0.005010811126508295);
  const POLY_V high = POLY8(v, v2, v4, 0.0015842090844153446, 0.00031392354805081233, -0.00026251886001431437,
                            6.074885318348561e-06, 1.3580381372155783e-05, -1.4778645380944741e-05,
                            -6.228907419616892e-06, -5.188761645495109e-07);
  const POLY_V root = FMA(v8, high, low);
#else
  const POLY_V split = K(1.25);
  const POLY_V head =
      POLY7(s, s2, s4, 0.12837913632392883, -0.37612470984458923, 0.11282142996788025, -0.026803718879818916,
            0.005108632147312164, -0.0007418617024086416, 6.186668906593695e-05);
  const POLY_V v = p_min(c, K(4.0), size), v2 = MUL(v, v), v4 = MUL(v2, v2);
  const POLY_V root =
      POLY7(v, v2, v4, 1.0014904737472534, -0.14739787578582764, -0.05801111087203026, -0.013989793136715889,
            0.014033031649887562, -0.0027149501256644726, 0.000172040265169926);
#endif
  const POLY_V root2 = MUL(root, root), root4 = MUL(root2, root2);
  const POLY_V tail = FMA(p_neg(c, root4), root4, one);
  const POLY_I sign = p_iand(c, p_bits(c, x), p_iconst(c, POLY_SIGN));
  return PICK(p_lt(c, size, split), FMA(x, head, x), p_from_bits(c, p_ixor(c, p_bits(c, tail), sign)));
}

POLY_FN POLY_V POLY_NAME(rsqrt)(POLY_CTX c, POLY_V x) { return p_div(c, K(1.0), p_sqrt(c, x)); }

#if POLY_F64
#include "codegen/polynomials_power.h"
#endif

#undef K
#undef ADD
#undef SUB
#undef MUL
#undef FMA
#undef PICK
#undef POLY2
#undef POLY3
#undef POLY4
#undef POLY5
#undef POLY6
#undef POLY7
#undef POLY8
#undef LN2_HIGH
#undef LN2_LOW
#undef LOG2_E
#undef EXPONENT_UNIT
#undef PI_1
#undef PI_2
#undef PI_3
#undef ONE_OVER_PI
#undef POLY_MANTISSA
#undef POLY_MAGIC
#undef POLY_BIAS
#undef POLY_SIGN
#undef POLY_EXPONENT
#undef POLY_SQRT_HALF
#undef POLY_TINY
#undef POLY_TINY_SCALE
#undef POLY_TINY_EXPONENT
#undef POLY_INFINITY
#undef POLY_NAN
#ifdef POLY_FN_IS_OURS
#undef POLY_FN
#undef POLY_FN_IS_OURS
#endif
