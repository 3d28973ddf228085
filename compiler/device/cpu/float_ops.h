/* Pointwise operations on one vector, for the width that the includer names: V (type), M (mask), V_(x)
 * (decoration). No include guard: pointwise_float.c includes it for f32 and for f64. They repeat, step by
 * step, what decomp/ and the code generators do, so that eager and compiled results agree. */

static inline V V_(op_neg)(V x) { return V_(neg)(x); }
static inline V V_(op_abs)(V x) { return V_(abs)(x); }
static inline V V_(op_sign)(V x) {
  const V zero = V_(set)(0), one = V_(set)(1);
  return V_(select)(V_(lt)(zero, x), one, V_(select)(V_(lt)(x, zero), V_(set)(-1), zero));
}
static inline V V_(op_floor)(V x) { return V_(floor)(x); }
static inline V V_(op_ceil)(V x) { return V_(ceil)(x); }
static inline V V_(op_reciprocal)(V x) { return V_(div)(V_(set)(1), x); }
static inline V V_(op_sqrt)(V x) { return V_(sqrt)(x); }
static inline V V_(op_rsqrt)(V x) { return V_(rsqrt)(x); }
static inline V V_(op_exp)(V x) { return V_(exp)(x); }
static inline V V_(op_log)(V x) { return V_(log)(x); }
static inline V V_(op_log1p)(V x) { return V_(log1p)(x); }
static inline V V_(op_sin)(V x) { return V_(sin)(x); }
static inline V V_(op_cos)(V x) { return V_(cos)(x); }
static inline V V_(op_tan)(V x) { return V_(tan)(x); }
static inline V V_(op_tanh)(V x) { return V_(tanh)(x); }
static inline V V_(op_sigmoid)(V x) { return V_(sigmoid)(x); }
static inline V V_(op_erf)(V x) { return V_(erf)(x); }
static inline V V_(op_relu)(V x) { return V_(max)(V_(set)(0), x); } /* NaN and -0 stay */
static inline V V_(op_gelu)(V x) {
  const V gate = V_(add)(V_(erf)(V_(mul)(x, V_(set)(0.70710678118654752440))), V_(set)(1));
  return V_(mul)(V_(mul)(x, V_(set)(0.5)), gate);
}
static inline V V_(op_gelu_tanh)(V x) {
  const V cube = V_(mul)(V_(mul)(x, x), x);
  const V inner = V_(mul)(V_(add)(x, V_(mul)(cube, V_(set)(0.044715))), V_(set)(0.79788456080286535588));
  return V_(mul)(V_(mul)(x, V_(set)(0.5)), V_(add)(V_(tanh)(inner), V_(set)(1)));
}
static inline V V_(op_silu)(V x) { return V_(mul)(x, V_(sigmoid)(x)); }
static inline V V_(op_softplus)(V x) {
  const V soft = V_(add)(V_(op_relu)(x), V_(log1p)(V_(exp)(V_(neg)(V_(abs)(x)))));
  return V_(select)(V_(lt)(V_(set)(20), x), x, soft);
}

static inline V V_(op_add)(V a, V b) { return V_(add)(a, b); }
static inline V V_(op_sub)(V a, V b) { return V_(sub)(a, b); }
static inline V V_(op_mul)(V a, V b) { return V_(mul)(a, b); }
static inline V V_(op_div)(V a, V b) { return V_(div)(a, b); }
static inline V V_(op_floor_divide)(V a, V b) { return V_(floor_divide)(a, b); }
static inline V V_(op_remainder)(V a, V b) { return V_(remainder)(a, b); }
static inline V V_(op_pow)(V a, V b) { return V_(pow)(a, b); }
/* NaN of either passes on. */
static inline V V_(op_maximum)(V a, V b) { return V_(select)(V_(eq)(a, a), V_(max)(a, b), a); }
static inline V V_(op_minimum)(V a, V b) { return V_(select)(V_(eq)(a, a), V_(min)(a, b), a); }

static inline M V_(op_isnan)(V x) { return V_(mnot)(V_(eq)(x, x)); }
static inline M V_(op_isinf)(V x) { return V_(eq)(V_(abs)(x), V_(set)(__builtin_inf())); }
static inline M V_(op_logical_not)(V x) { return V_(eq)(x, V_(set)(0)); }
static inline M V_(op_eq)(V a, V b) { return V_(eq)(a, b); }
static inline M V_(op_ne)(V a, V b) { return V_(mnot)(V_(eq)(a, b)); }
static inline M V_(op_lt)(V a, V b) { return V_(lt)(a, b); }
static inline M V_(op_le)(V a, V b) { return V_(le)(a, b); }
static inline M V_(op_gt)(V a, V b) { return V_(lt)(b, a); }
static inline M V_(op_ge)(V a, V b) { return V_(le)(b, a); }
static inline M V_(truth)(V x) { return V_(mnot)(V_(eq)(x, V_(set)(0))); } /* NaN is true */
static inline M V_(op_logical_and)(V a, V b) { return V_(mand)(V_(truth)(a), V_(truth)(b)); }
static inline M V_(op_logical_or)(V a, V b) { return V_(mor)(V_(truth)(a), V_(truth)(b)); }
static inline M V_(op_logical_xor)(V a, V b) { return V_(mxor)(V_(truth)(a), V_(truth)(b)); }
