/* Functions of floats: the shared text of codegen/polynomials.h and codegen/quotients.h, with primitives that
 * build IR.
 *
 * The text is included for f32 and for f64; scalars and vectors of any length go through the same code. */
#include "codegen/llvm/types.h"
#include "codegen/slow_path.h"

/* The first argument of the shared functions: the types of one shape. */
struct shape {
  struct ll_emit *e;
  LLVMTypeRef real, integer;
};

#define BUILD c->e->m->builder

static inline __attribute__((unused)) LLVMValueRef p_const(struct shape *c, double value) {
  return ll_table_real(c->e, c->real, value);
}
static inline __attribute__((unused)) LLVMValueRef p_iconst(struct shape *c, int64_t value) {
  return ll_table_int(c->e, c->integer, value);
}
static inline __attribute__((unused)) LLVMValueRef p_add(struct shape *c, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildFAdd(BUILD, a, b, "");
}
static inline __attribute__((unused)) LLVMValueRef p_sub(struct shape *c, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildFSub(BUILD, a, b, "");
}
static inline __attribute__((unused)) LLVMValueRef p_mul(struct shape *c, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildFMul(BUILD, a, b, "");
}
static inline __attribute__((unused)) LLVMValueRef p_div(struct shape *c, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildFDiv(BUILD, a, b, "");
}
static inline __attribute__((unused)) LLVMValueRef p_neg(struct shape *c, LLVMValueRef a) {
  return LLVMBuildFNeg(BUILD, a, "");
}
static inline __attribute__((unused)) LLVMValueRef p_sqrt(struct shape *c, LLVMValueRef a) {
  return ll_intrinsic1(c->e, LL_SQRT, a);
}
static inline __attribute__((unused)) LLVMValueRef p_abs(struct shape *c, LLVMValueRef a) {
  return ll_intrinsic1(c->e, LL_FABS, a);
}
static inline __attribute__((unused)) LLVMValueRef p_floor(struct shape *c, LLVMValueRef a) {
  return ll_intrinsic1(c->e, LL_FLOOR, a);
}
static inline __attribute__((unused)) LLVMValueRef p_fma(struct shape *c, LLVMValueRef a, LLVMValueRef b,
                                                         LLVMValueRef x) {
  return ll_fma(c->e, a, b, x);
}
static inline __attribute__((unused)) LLVMValueRef p_lt(struct shape *c, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildFCmp(BUILD, LLVMRealOLT, a, b, "");
}
static inline __attribute__((unused)) LLVMValueRef p_le(struct shape *c, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildFCmp(BUILD, LLVMRealOLE, a, b, "");
}
static inline __attribute__((unused)) LLVMValueRef p_eq(struct shape *c, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildFCmp(BUILD, LLVMRealOEQ, a, b, "");
}
static inline __attribute__((unused)) LLVMValueRef p_select(struct shape *c, LLVMValueRef mask,
                                                            LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildSelect(BUILD, mask, a, b, "");
}
/* These two are one machine instruction each. */
static inline __attribute__((unused)) LLVMValueRef p_min(struct shape *c, LLVMValueRef a, LLVMValueRef b) {
  return p_select(c, p_lt(c, a, b), a, b);
}
static inline __attribute__((unused)) LLVMValueRef p_max(struct shape *c, LLVMValueRef a, LLVMValueRef b) {
  return p_select(c, LLVMBuildFCmp(BUILD, LLVMRealOGT, a, b, ""), a, b);
}
static inline __attribute__((unused)) LLVMValueRef p_mand(struct shape *c, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildAnd(BUILD, a, b, "");
}
static inline __attribute__((unused)) LLVMValueRef p_mor(struct shape *c, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildOr(BUILD, a, b, "");
}
static inline __attribute__((unused)) LLVMValueRef p_mnot(struct shape *c, LLVMValueRef a) {
  return LLVMBuildNot(BUILD, a, "");
}
static inline __attribute__((unused)) LLVMValueRef p_bits(struct shape *c, LLVMValueRef a) {
  return LLVMBuildBitCast(BUILD, a, c->integer, "");
}
static inline __attribute__((unused)) LLVMValueRef p_from_bits(struct shape *c, LLVMValueRef a) {
  return LLVMBuildBitCast(BUILD, a, c->real, "");
}
static inline __attribute__((unused)) LLVMValueRef p_iadd(struct shape *c, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildAdd(BUILD, a, b, "");
}
static inline __attribute__((unused)) LLVMValueRef p_isub(struct shape *c, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildSub(BUILD, a, b, "");
}
static inline __attribute__((unused)) LLVMValueRef p_iand(struct shape *c, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildAnd(BUILD, a, b, "");
}
static inline __attribute__((unused)) LLVMValueRef p_ixor(struct shape *c, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildXor(BUILD, a, b, "");
}
static inline __attribute__((unused)) LLVMValueRef p_ishl(struct shape *c, LLVMValueRef a, int count) {
  return LLVMBuildShl(BUILD, a, ll_const_int(c->integer, count), "");
}
static inline __attribute__((unused)) LLVMValueRef p_ishr(struct shape *c, LLVMValueRef a, int count) {
  return LLVMBuildLShr(BUILD, a, ll_const_int(c->integer, count), "");
}
static inline __attribute__((unused)) LLVMValueRef p_iodd(struct shape *c, LLVMValueRef a) {
  return LLVMBuildTrunc(BUILD, a, ll_like(c->e->m->i1, c->integer), "");
}

static LLVMValueRef part(struct shape *c, LLVMValueRef vector, unsigned first, unsigned count) {
  LLVMValueRef order[LL_MAX_LANES];
  for (unsigned i = 0; i < count; i++) order[i] = LLVMConstInt(c->e->m->i32, first + i, false);
  return LLVMBuildShuffleVector(BUILD, vector, LLVMGetPoison(LLVMTypeOf(vector)),
                                LLVMConstVector(order, count), "");
}

/* AVX-512 has an instruction for a·2^n; longer vectors are halved until it fits. */
static LLVMValueRef scale_instruction(struct shape *c, LLVMValueRef a, LLVMValueRef n, unsigned lanes,
                                      unsigned fitting) {
  enum { CURRENT_ROUNDING = 4 };
  const struct tc_module *m = c->e->m;
  if (lanes > fitting) {
    LLVMValueRef low =
        scale_instruction(c, part(c, a, 0, lanes / 2), part(c, n, 0, lanes / 2), lanes / 2, fitting);
    LLVMValueRef high = scale_instruction(c, part(c, a, lanes / 2, lanes / 2),
                                          part(c, n, lanes / 2, lanes / 2), lanes / 2, fitting);
    LLVMValueRef order[LL_MAX_LANES];
    const unsigned count = LLVMGetVectorSize(LLVMTypeOf(low)) * 2;
    for (unsigned i = 0; i < count; i++) order[i] = LLVMConstInt(c->e->m->i32, i, false);
    return LLVMBuildShuffleVector(BUILD, low, high, LLVMConstVector(order, count), "");
  }
  const bool wide = LLVMGetElementType(c->real) == m->f64;
  LLVMValueRef all = LLVMConstAllOnes(wide ? m->i8 : m->i16),
               rounding = LLVMConstInt(m->i32, CURRENT_ROUNDING, false);
  LLVMValueRef args[] = {a, n, LLVMConstNull(LLVMTypeOf(a)), all, rounding};
  return ll_call(c->e, wide ? LL_SCALE_F64 : LL_SCALE_F32, NULL, NULL, args, 5);
}

/* a·2^n for a near 1 and integral n, in two exact-factor steps, so that only the last can round: what the
 * instruction gives. */
static LLVMValueRef scale_in_steps(struct shape *c, LLVMValueRef a, LLVMValueRef n, bool wide) {
  LLVMValueRef magic =
      p_const(c, wide ? 6755399441055744.0 : 12582912.0); /* 1.5·2^52, 1.5·2^23: integers in the low bits */
  LLVMValueRef half_biased = p_fma(c, n, p_const(c, 0.5), magic);
  LLVMValueRef rest_biased = p_add(c, p_sub(c, n, p_sub(c, half_biased, magic)), magic);
  LLVMValueRef bias = p_iconst(c, wide ? 1023 : 127);
  LLVMValueRef first = p_from_bits(c, p_ishl(c, p_iadd(c, p_bits(c, half_biased), bias), wide ? 52 : 23));
  LLVMValueRef second = p_from_bits(c, p_ishl(c, p_iadd(c, p_bits(c, rest_biased), bias), wide ? 52 : 23));
  return p_mul(c, p_mul(c, a, first), second);
}

static LLVMValueRef p_scale(struct shape *c, LLVMValueRef a, LLVMValueRef n) {
  const struct tc_module *m = c->e->m;
  const bool vector = ll_is_vector(c->real);
  const bool wide = (vector ? LLVMGetElementType(c->real) : c->real) == m->f64;
  const unsigned lanes = vector ? LLVMGetVectorSize(c->real) : 1,
                 fitting = (unsigned)m->target->vector_bytes / (wide ? 8 : 4);
  if (m->avx512 && lanes >= fitting) return scale_instruction(c, a, n, lanes, fitting);
  return scale_in_steps(c, a, n, wide);
}

/* Does AVX-512 have an instruction for whole vectors of this shape? */
static bool one_vector(const struct shape *c, unsigned *lanes) {
  const struct tc_module *m = c->e->m;
  *lanes = ll_is_vector(c->real) ? LLVMGetVectorSize(c->real) : 1;
  return m->avx512 &&
         *lanes == (unsigned)m->target->vector_bytes / (LLVMGetElementType(c->real) == m->f64 ? 8 : 4);
}

/* As vf_fix_log of device/cpu/vector.h. */
static LLVMValueRef p_fix_log(struct shape *c, LLVMValueRef x, LLVMValueRef result) {
  enum { ANSWERS = 0x03530422, CURRENT_ROUNDING = 4 };
  const struct tc_module *m = c->e->m;
  unsigned lanes;
  if (!one_vector(c, &lanes)) {
    LLVMValueRef zero = p_const(c, 0.0);
    LLVMValueRef upper = p_select(c, p_lt(c, x, p_const(c, __builtin_inf())), result, x);
    LLVMValueRef lower =
        p_select(c, p_eq(c, x, zero), p_const(c, -__builtin_inf()), p_const(c, __builtin_nan("")));
    return p_select(c, p_lt(c, zero, x), upper, lower);
  }
  const bool wide = LLVMGetElementType(c->real) == m->f64;
  LLVMValueRef zero = LLVMConstInt(m->i32, 0, false), all = LLVMConstAllOnes(wide ? m->i8 : m->i16),
               rounding = LLVMConstInt(m->i32, CURRENT_ROUNDING, false);
  LLVMValueRef args[] = {result, x, p_iconst(c, ANSWERS), zero, all, rounding};
  return ll_call(c->e, wide ? LL_FIX_F64 : LL_FIX_F32, NULL, NULL, args, 6);
}

static inline __attribute__((unused)) LLVMValueRef p_from_int(struct shape *c, LLVMValueRef a) {
  return LLVMBuildSIToFP(BUILD, a, c->real, "");
}

static bool is_wide(const struct shape *c) {
  return (ll_is_vector(c->real) ? LLVMGetElementType(c->real) : c->real) == c->e->m->f64;
}

static void p_far_turns(struct shape *c, LLVMValueRef far, LLVMValueRef x, enum tc_turns turns,
                        LLVMValueRef *r, LLVMValueRef *odd) {
  LLVMValueRef values[] = {x, *r, *odd};
  ll_slow_call(c->e, is_wide(c) ? "tc_far_turns_f64" : "tc_far_turns_f32", far, values, turns);
  *r = values[1], *odd = values[2];
}

static LLVMValueRef p_far_rest(struct shape *c, LLVMValueRef far, LLVMValueRef x, LLVMValueRef y,
                               LLVMValueRef rest) {
  LLVMValueRef values[] = {x, y, rest};
  ll_slow_call(c->e, is_wide(c) ? "tc_far_rest_f64" : "tc_far_rest_f32", far, values, 0);
  return values[2];
}

#define POLY_SCALE
#define POLY_FIX_LOG
#define POLY_CTX struct shape *
#define POLY_V   LLVMValueRef
#define POLY_I   LLVMValueRef
#define POLY_M   LLVMValueRef
#define POLY_FN  static inline __attribute__((unused))

#define POLY_F64      0
#define POLY_FROM_INT /* AVX2 converts 32-bit integers only */
#define POLY_NAME(x)  f32_##x
#include "codegen/polynomials.h"
#include "codegen/quotients.h"
#undef POLY_FROM_INT
#undef POLY_F64
#undef POLY_NAME

#define POLY_F64     1
#define POLY_NAME(x) f64_##x
#include "codegen/polynomials.h"
#include "codegen/quotients.h"
#undef POLY_F64
#undef POLY_NAME

typedef LLVMValueRef unary(struct shape *, LLVMValueRef);
struct math_row {
  unary *f32, *f64;
};
#define ROW(NAME, name) [TC_E_##NAME] = {f32_##name, f64_##name}
static const struct math_row rows[TC_E_COUNT] = {
    ROW(EXP, exp), ROW(LOG, log),   ROW(LOG1P, log1p),     ROW(SIN, sin), ROW(COS, cos),
    ROW(TAN, tan), ROW(TANH, tanh), ROW(SIGMOID, sigmoid), ROW(ERF, erf), ROW(RSQRT, rsqrt),
};
#undef ROW

static struct shape shape_of(struct ll_emit *e, LLVMTypeRef like, tc_dtype dtype) {
  const struct tc_module *m = e->m;
  return (struct shape){e, ll_like(dtype == TC_F64 ? m->f64 : m->f32, like),
                        ll_like(dtype == TC_F64 ? m->i64 : m->i32, like)};
}

LLVMValueRef ll_math1(struct ll_emit *e, enum tc_expr_op op, LLVMValueRef a, tc_dtype dtype) {
  struct shape shape = shape_of(e, LLVMTypeOf(a), dtype);
  return dtype == TC_F64 ? rows[op].f64(&shape, a) : rows[op].f32(&shape, a);
}

LLVMValueRef ll_pow(struct ll_emit *e, LLVMValueRef a, LLVMValueRef b, tc_dtype dtype) {
  struct shape wide = shape_of(e, LLVMTypeOf(a), TC_F64);
  if (dtype == TC_F64) return f64_pow(&wide, a, b);
  LLVMTypeRef narrow = LLVMTypeOf(a);
  LLVMValueRef x = LLVMBuildFPExt(e->m->builder, a, wide.real, ""),
               y = LLVMBuildFPExt(e->m->builder, b, wide.real, "");
  return LLVMBuildFPTrunc(e->m->builder, f64_pow_of_f32(&wide, x, y), narrow, "");
}

LLVMValueRef ll_quotient(struct ll_emit *e, enum tc_expr_op op, LLVMValueRef a, LLVMValueRef b,
                         tc_dtype dtype) {
  struct shape shape = shape_of(e, LLVMTypeOf(a), dtype);
  if (op == TC_E_FLOORDIV)
    return dtype == TC_F64 ? f64_floor_divide(&shape, a, b) : f32_floor_divide(&shape, a, b);
  return dtype == TC_F64 ? f64_remainder(&shape, a, b) : f32_remainder(&shape, a, b);
}

static const double TWO_PI = 6.283185307179586;

LLVMValueRef ll_box_muller(struct ll_emit *e, LLVMValueRef u1, LLVMValueRef u2) {
  struct shape shape = shape_of(e, LLVMTypeOf(u1), TC_F32), *c = &shape;
  LLVMValueRef radius = p_sqrt(c, p_mul(c, p_const(c, -2.0), f32_log(c, u1)));
  return p_mul(c, radius, f32_cos_near(c, p_mul(c, p_const(c, TWO_PI), u2)));
}
