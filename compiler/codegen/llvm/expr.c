/* Expressions become values: where each one lives, and one emitter an operator.
 *
 * 1. Scope and shape are found first, from the operands up (ll_analyse); emission only reads them.
 * 2. An emitter finds the builder at the end of the expression's scope and its operands in the shape of the
 *    result (LOAD and CHECK take theirs as they are).
 * To add an operator: a row in lower/expr.def, and emit_NAME here. */
#include "codegen/llvm/types.h"

/* --- analysis --- */

static int max_int(int a, int b) { return a > b ? a : b; }

static bool has_address(enum tc_expr_op op) {
  return op == TC_E_LOAD || op == TC_E_INDEX || op == TC_E_CHECK || op == TC_E_UNIFORM || op == TC_E_NORMAL;
}

void ll_analyse(struct ll_emit *e, const struct tc_expr *x) {
  struct ll_info *info = &e->info[x->id];
  if (info->analysed) return;
  int scope = LL_FUNCTION;
  for (int i = 0; i < TC_EXPR_ARGS; i++) {
    if (!x->args[i]) continue;
    ll_analyse(e, x->args[i]);
    const struct ll_info *arg = &e->info[x->args[i]->id];
    scope = max_int(scope, arg->scope);
    info->varying |= arg->varying;
    info->fresh |= arg->fresh;
  }
  if (has_address(x->op)) {
    scope = max_int(scope, ll_sym_scope(e, x->address));
    info->varying |= ll_sym_varies(e, x->address);
  }
  if (x->op == TC_E_LOAD && e->k->buffers[x->buffer].role != TC_ROLE_READ)
    scope = max_int(scope, LL_PHASE), info->fresh = true;
  if (x->op == TC_E_ACC) scope = LL_PHASE, info->varying = e->lanes > 1 && e->k->lanes == TC_LANES_OUTER;
  info->x = x;
  info->scope = (signed char)scope;
  info->analysed = true;
}

/* Rough costs in vector instructions. */
enum { WEIGHT_PLAIN = 1, WEIGHT_DIVISION = 4, WEIGHT_FUNCTION = 16, WEIGHT_RANDOM = 80 };

int ll_op_weight(const struct tc_expr *x) {
  switch (x->op) {
    case TC_E_CONST:
    case TC_E_ACC: return 0;
    case TC_E_EXP:
    case TC_E_LOG:
    case TC_E_LOG1P:
    case TC_E_SIN:
    case TC_E_COS:
    case TC_E_TAN:
    case TC_E_TANH:
    case TC_E_SIGMOID:
    case TC_E_ERF: return WEIGHT_FUNCTION;
    case TC_E_POW: return 4 * WEIGHT_FUNCTION;
    case TC_E_UNIFORM:
    case TC_E_NORMAL: return WEIGHT_RANDOM;
    case TC_E_DIV:
    case TC_E_SQRT:
    case TC_E_RSQRT:
    case TC_E_RECIPROCAL: return WEIGHT_DIVISION;
    case TC_E_FLOORDIV:
    case TC_E_REMAINDER: return x->dtype == TC_I64 ? 4 * WEIGHT_FUNCTION : 2 * WEIGHT_DIVISION;
    default: return WEIGHT_PLAIN;
  }
}

int ll_weight(struct ll_emit *e, const struct tc_expr *x, int phase, int scope) {
  struct ll_info *info = &e->info[x->id];
  if (info->scope < scope || info->counted == (unsigned)phase + 1) return 0;
  info->counted = (unsigned)phase + 1;
  int weight = ll_op_weight(x);
  for (int i = 0; i < TC_EXPR_ARGS; i++)
    if (x->args[i]) weight += ll_weight(e, x->args[i], phase, scope);
  return weight;
}

/* --- emitters --- */

#define EMIT(NAME)                                                                                           \
  static LLVMValueRef emit_##NAME(struct ll_emit *e, const struct tc_expr *x, const LLVMValueRef *a)
#define AT     e->m->builder
#define IGNORE (void)e, (void)x, (void)a

static bool real(tc_dtype dtype) { return tc_dtype_is_float(dtype); }
static LLVMValueRef not_for(struct ll_emit *e, const struct tc_expr *x) {
  return ll_fail(e, TC_UNSUPPORTED, ll_type(e, x->dtype, e->info[x->id].varying), "%s of %s",
                 tc_expr_op_name(x->op), tc_dtype_name(x->dtype));
}

EMIT(CONST) {
  IGNORE;
  LLVMTypeRef type = ll_type(e, x->dtype, false);
  return real(x->dtype) ? LLVMConstReal(type, x->number)
                        : LLVMConstInt(type, (unsigned long long)x->integer, true);
}
EMIT(INDEX) {
  IGNORE;
  return e->info[x->id].varying ? ll_index_lanes(e, x->address) : ll_index(e, x->address);
}
EMIT(LOAD) { return ll_load(e, x, a); }
EMIT(ACC) {
  IGNORE;
  return e->acc[x->acc] ? e->acc[x->acc]
                        : ll_fail(e, TC_CODEGEN, ll_type(e, x->dtype, false),
                                  "reduction %d is used before it is done", x->acc);
}
EMIT(CHECK) { return ll_check(e, x, a[0]); }
EMIT(DIVISOR) {
  ll_raise(e, x, LLVMBuildICmp(AT, LLVMIntEQ, a[0], LLVMConstNull(LLVMTypeOf(a[0])), ""),
           (enum tc_flag)x->acc);
  return a[0];
}
static LLVMValueRef random_number(struct ll_emit *e, const struct tc_expr *x) {
  LLVMValueRef element = e->info[x->id].varying ? ll_index_lanes(e, x->address) : ll_index(e, x->address);
  ll_base(e, e->rng_buffer);
  ll_buffer_word(e, e->rng_buffer, 0), ll_buffer_word(e, e->rng_buffer, 1);
  ll_at(e, e->info[x->id].scope);
  return ll_random(e, x, element);
}
EMIT(UNIFORM) { return IGNORE, random_number(e, x); }
EMIT(NORMAL) { return IGNORE, random_number(e, x); }
EMIT(CAST) { return ll_convert(e, a[0], tc_compute_dtype(x->args[0]->dtype), x->dtype); }

EMIT(ROUND) { return x->dtype == TC_F32 ? ll_convert(e, a[0], TC_F32, TC_BF16) : not_for(e, x); }
EMIT(NEG) {
  return x->dtype == TC_BOOL ? a[0]
         : real(x->dtype)    ? LLVMBuildFNeg(AT, a[0], "")
                             : LLVMBuildNeg(AT, a[0], "");
}
EMIT(ABS) {
  if (x->dtype == TC_BOOL) return a[0];
  if (real(x->dtype)) return ll_intrinsic1(e, LL_FABS, a[0]);
  LLVMValueRef negative = LLVMBuildICmp(AT, LLVMIntSLT, a[0], LLVMConstNull(LLVMTypeOf(a[0])), "");
  return LLVMBuildSelect(AT, negative, LLVMBuildNeg(AT, a[0], ""), a[0], "");
}
EMIT(SIGN) { /* NaN and zeros give 0 */
  if (x->dtype == TC_BOOL) return a[0];
  LLVMTypeRef type = LLVMTypeOf(a[0]);
  LLVMValueRef zero = LLVMConstNull(type);
  const bool is_real = real(x->dtype);
  LLVMValueRef one = is_real ? ll_const_real(type, 1) : ll_const_int(type, 1),
               minus = is_real ? ll_const_real(type, -1) : ll_const_int(type, -1);
  LLVMValueRef above = is_real ? LLVMBuildFCmp(AT, LLVMRealOGT, a[0], zero, "")
                               : LLVMBuildICmp(AT, LLVMIntSGT, a[0], zero, "");
  LLVMValueRef below = is_real ? LLVMBuildFCmp(AT, LLVMRealOLT, a[0], zero, "")
                               : LLVMBuildICmp(AT, LLVMIntSLT, a[0], zero, "");
  return LLVMBuildSelect(AT, above, one, LLVMBuildSelect(AT, below, minus, zero, ""), "");
}
EMIT(FLOOR) { return real(x->dtype) ? ll_intrinsic1(e, LL_FLOOR, a[0]) : a[0]; }
EMIT(CEIL) { return real(x->dtype) ? ll_intrinsic1(e, LL_CEIL, a[0]) : a[0]; }
EMIT(RECIPROCAL) {
  return real(x->dtype) ? LLVMBuildFDiv(AT, ll_const_real(LLVMTypeOf(a[0]), 1), a[0], "") : not_for(e, x);
}
EMIT(SQRT) { return real(x->dtype) ? ll_intrinsic1(e, LL_SQRT, a[0]) : not_for(e, x); }

#define MATH(NAME)                                                                                           \
  EMIT(NAME) { return real(x->dtype) ? ll_math1(e, TC_E_##NAME, a[0], x->dtype) : not_for(e, x); }
MATH(RSQRT)
MATH(EXP)
MATH(LOG)
MATH(LOG1P)
MATH(SIN)
MATH(COS)
MATH(TAN)
MATH(TANH)
MATH(SIGMOID)
MATH(ERF)

EMIT(RELU) { /* 0 where the operand is below it: NaN and -0 stay */
  if (x->dtype == TC_BOOL) return a[0];
  LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(a[0]));
  LLVMValueRef below = real(x->dtype) ? LLVMBuildFCmp(AT, LLVMRealOGT, zero, a[0], "")
                                      : LLVMBuildICmp(AT, LLVMIntSGT, zero, a[0], "");
  return LLVMBuildSelect(AT, below, zero, a[0], "");
}

static LLVMValueRef never(struct ll_emit *e, LLVMTypeRef like) {
  return LLVMConstNull(ll_like(e->m->i1, like));
}
EMIT(ISNAN) {
  return real(x->args[0]->dtype) ? LLVMBuildFCmp(AT, LLVMRealUNO, a[0], a[0], "")
                                 : never(e, LLVMTypeOf(a[0]));
}
EMIT(ISINF) {
  if (!real(x->args[0]->dtype)) return never(e, LLVMTypeOf(a[0]));
  LLVMValueRef infinity = ll_const_real(LLVMTypeOf(a[0]), __builtin_inf());
  return LLVMBuildFCmp(AT, LLVMRealOEQ, ll_intrinsic1(e, LL_FABS, a[0]), infinity, "");
}
EMIT(NOT) { return LLVMBuildNot(AT, ll_truth(e, a[0], x->args[0]->dtype), ""); }

#define ARITHMETIC(NAME, reals, integers, booleans)                                                          \
  EMIT(NAME) {                                                                                               \
    return real(x->dtype)        ? LLVMBuild##reals(AT, a[0], a[1], "")                                      \
           : x->dtype == TC_BOOL ? LLVMBuild##booleans(AT, a[0], a[1], "")                                   \
                                 : LLVMBuild##integers(AT, a[0], a[1], "");                                  \
  }
ARITHMETIC(ADD, FAdd, Add, Or)
ARITHMETIC(SUB, FSub, Sub, Xor)
ARITHMETIC(MUL, FMul, Mul, And)

EMIT(DIV) { /* by a constant that LLVM sees: it multiplies where that is exact */
  if (!real(x->dtype)) return not_for(e, x);
  const struct tc_expr *by = x->args[1];
  return LLVMBuildFDiv(AT, a[0], by->op == TC_E_CONST ? ll_const_real(LLVMTypeOf(a[1]), by->number) : a[1],
                       "");
}
EMIT(FLOORDIV) { return x->dtype == TC_BOOL ? not_for(e, x) : ll_floordiv(e, a[0], a[1], x->dtype); }
EMIT(REMAINDER) { return x->dtype == TC_BOOL ? not_for(e, x) : ll_remainder(e, a[0], a[1], x->dtype); }
EMIT(POW) {
  if (x->dtype == TC_I64) return ll_integer_power(e, a[0], a[1]);
  return x->dtype == TC_BOOL ? not_for(e, x) : ll_pow(e, a[0], a[1], x->dtype);
}
EMIT(MAX) { return ll_max(e, a[0], a[1], x->dtype); }
EMIT(MIN) { return ll_min(e, a[0], a[1], x->dtype); }

#define COMPARE(NAME, reals, integers, booleans)                                                             \
  EMIT(NAME) {                                                                                               \
    const tc_dtype dtype = x->args[0]->dtype;                                                                \
    if (real(dtype)) return LLVMBuildFCmp(AT, LLVMReal##reals, a[0], a[1], "");                              \
    return LLVMBuildICmp(AT, dtype == TC_BOOL ? LLVMInt##booleans : LLVMInt##integers, a[0], a[1], "");      \
  }
COMPARE(EQ, OEQ, EQ, EQ)
COMPARE(NE, UNE, NE, NE)
COMPARE(LT, OLT, SLT, ULT)
COMPARE(LE, OLE, SLE, ULE)
COMPARE(GT, OGT, SGT, UGT)
COMPARE(GE, OGE, SGE, UGE)

#define LOGIC(NAME, Build)                                                                                   \
  EMIT(NAME) {                                                                                               \
    return LLVMBuild##Build(AT, ll_truth(e, a[0], x->args[0]->dtype), ll_truth(e, a[1], x->args[1]->dtype),  \
                            "");                                                                             \
  }
LOGIC(AND, And)
LOGIC(OR, Or)
LOGIC(XOR, Xor)

EMIT(SELECT) { return LLVMBuildSelect(AT, ll_truth(e, a[0], x->args[0]->dtype), a[1], a[2], ""); }
EMIT(FMA) { return real(x->dtype) ? ll_fma(e, a[0], a[1], a[2]) : not_for(e, x); }

typedef LLVMValueRef emitter(struct ll_emit *, const struct tc_expr *, const LLVMValueRef *);
static emitter *const emitters[TC_E_COUNT] = {
#define TC_EXPR(NAME, operands, result) [TC_E_##NAME] = emit_##NAME,
#include "lower/expr.def"
#undef TC_EXPR
};

/* --- values --- */

/* Values of a phase's scope hold to the end of the item, unless they rest on memory that phases write. */
static unsigned stamp_of(const struct ll_emit *e, const struct ll_info *info) {
  return e->scopes[info->scope == LL_PHASE && !info->fresh ? LL_ITEM : info->scope].stamp;
}

LLVMValueRef ll_emit_operator(struct ll_emit *e, const struct tc_expr *x, const LLVMValueRef *args) {
  struct ll_info *info = &e->info[x->id];
  ll_at(e, info->scope);
  info->value = emitters[x->op](e, x, args);
  info->stamp = stamp_of(e, info);
  return info->value;
}

LLVMValueRef ll_value(struct ll_emit *e, const struct tc_expr *x) {
  struct ll_info *info = &e->info[x->id];
  if (info->value && info->stamp == stamp_of(e, info)) return info->value;
  if (info->roll && ll_roll(e, &e->rolls[info->roll - 1])) return info->value;
  const bool as_they_are = x->op == TC_E_LOAD || x->op == TC_E_CHECK;
  LLVMValueRef args[TC_EXPR_ARGS] = {0};
  for (int i = 0; i < TC_EXPR_ARGS; i++)
    if (x->args[i])
      args[i] = info->varying && !as_they_are ? ll_lanes_value(e, x->args[i]) : ll_value(e, x->args[i]);
  return ll_emit_operator(e, x, args);
}

LLVMValueRef ll_lanes_value(struct ll_emit *e, const struct tc_expr *x) {
  LLVMValueRef value = ll_value(e, x);
  struct ll_info *info = &e->info[x->id];
  if (info->varying || e->lanes == 1) return value;
  const unsigned stamp = stamp_of(e, info);
  if (!info->splat || info->splat_stamp != stamp) {
    ll_at(e, info->scope);
    info->splat = x->op == TC_E_CONST && real(x->dtype)
                      ? ll_table_real(e, ll_type(e, x->dtype, true), x->number)
                      : ll_splat(e, value);
    info->splat_stamp = stamp;
  }
  return info->splat;
}
