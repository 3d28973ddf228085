/* Kernels over one contiguous row, for the width that the includer names: T (scalar), V, M (vector, mask),
 * LANES, V_(x), OUT(x) (decorated export). No include guard: rows.c includes it for f32 and for f64.
 *
 * Order of sums: BLOCK elements in UNROLL vectors of accumulators, joined pairwise, then by halves; blocks
 * are added one after the other in double. It depends on the length and the vector width alone. */

static inline double V_(sum4)(V a, V b, V c, V d) {
  return (double)V_(hsum)(V_(add)(V_(add)(a, b), V_(add)(c, d)));
}

double OUT(K_sum)(const T *x, int64_t n) {
  double total = 0;
  for (int64_t start = 0; start < n; start += BLOCK) {
    const int64_t end = n - start < BLOCK ? n : start + BLOCK;
    V a0 = V_(set)(0), a1 = a0, a2 = a0, a3 = a0;
    int64_t i = start;
    for (; i + UNROLL * LANES <= end; i += UNROLL * LANES) {
      a0 = V_(add)(a0, V_(load)(x + i)), a1 = V_(add)(a1, V_(load)(x + i + LANES));
      a2 = V_(add)(a2, V_(load)(x + i + 2 * LANES)), a3 = V_(add)(a3, V_(load)(x + i + 3 * LANES));
    }
    for (; i + LANES <= end; i += LANES) a0 = V_(add)(a0, V_(load)(x + i));
    total += V_(sum4)(a0, a1, a2, a3);
    for (; i < end; i++) total += (double)x[i];
  }
  return total;
}

/* The squares of the distances from the centre, as T holds it, and (unless NULL) the distances themselves:
 * what the centre lacks. */
static inline __attribute__((always_inline)) double V_(squares_row)(const T *x, int64_t n, double centre,
                                                                    double *distances) {
  const V c = V_(set)((T)centre);
  double total = 0, off = 0;
  for (int64_t start = 0; start < n; start += BLOCK) {
    const int64_t end = n - start < BLOCK ? n : start + BLOCK;
    V a0 = V_(set)(0), a1 = a0, a2 = a0, a3 = a0, b0 = a0, b1 = a0, b2 = a0, b3 = a0;
    int64_t i = start;
    for (; i + UNROLL * LANES <= end; i += UNROLL * LANES) {
      const V d0 = V_(sub)(V_(load)(x + i), c), d1 = V_(sub)(V_(load)(x + i + LANES), c);
      const V d2 = V_(sub)(V_(load)(x + i + 2 * LANES), c), d3 = V_(sub)(V_(load)(x + i + 3 * LANES), c);
      a0 = V_(add)(a0, V_(mul)(d0, d0)), a1 = V_(add)(a1, V_(mul)(d1, d1));
      a2 = V_(add)(a2, V_(mul)(d2, d2)), a3 = V_(add)(a3, V_(mul)(d3, d3));
      if (distances) b0 = V_(add)(b0, d0), b1 = V_(add)(b1, d1), b2 = V_(add)(b2, d2), b3 = V_(add)(b3, d3);
    }
    for (; i + LANES <= end; i += LANES) {
      const V d0 = V_(sub)(V_(load)(x + i), c);
      a0 = V_(add)(a0, V_(mul)(d0, d0));
      if (distances) b0 = V_(add)(b0, d0);
    }
    total += V_(sum4)(a0, a1, a2, a3);
    off += V_(sum4)(b0, b1, b2, b3);
    for (; i < end; i++) {
      const T d = x[i] - (T)centre;
      total += (double)(d * d), off += (double)d;
    }
  }
  if (distances) *distances = off;
  return total;
}

double OUT(K_sum_squares)(const T *x, int64_t n, double centre, double *distances) {
  return V_(squares_row)(x, n, centre, distances);
}

double OUT(K_prod)(const T *x, int64_t n) {
  double lanes[PROD_LANES], total = 1;
  for (int j = 0; j < PROD_LANES; j++) lanes[j] = 1;
  int64_t i = 0;
  for (; i + PROD_LANES <= n; i += PROD_LANES)
    for (int j = 0; j < PROD_LANES; j++) lanes[j] *= (double)x[i + j];
  for (int j = 0; j < PROD_LANES; j++) total *= lanes[j];
  for (; i < n; i++) total *= (double)x[i];
  return total;
}

T OUT(K_extreme)(const T *x, int64_t n, int sign) {
  const V flip = V_(set)(sign < 0 ? (T)-1 : (T)1);
  V best = V_(set)((T)-__builtin_inf());
  M ordered = V_(eq)(best, best);
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    const V x0 = V_(mul)(V_(load)(x + i), flip);
    ordered = V_(mand)(ordered, V_(eq)(x0, x0));
    best = V_(max)(x0, best);
  }
  T lanes[LANES], result = (T)-__builtin_inf();
  bool nan = V_(any)(V_(mnot)(ordered));
  V_(store)(lanes, best);
  for (int j = 0; j < LANES; j++) result = lanes[j] > result ? lanes[j] : result;
  for (; i < n; i++) {
    const T value = sign < 0 ? -x[i] : x[i];
    nan |= value != value;
    result = value > result ? value : result;
  }
  return nan ? (T)__builtin_nan("") : sign < 0 ? -result : result;
}

void OUT(K_add_rows)(T *acc, const T *x, int64_t n) {
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES) V_(store)(acc + i, V_(add)(V_(load)(acc + i), V_(load)(x + i)));
  for (; i < n; i++) acc[i] += x[i];
}

void OUT(K_extreme_rows)(T *acc, const T *x, int64_t n, int sign) {
  for (int64_t i = 0; i < n; i += LANES) {
    const bool whole = i + LANES <= n;
    const V a = whole ? V_(load)(acc + i) : V_(load_n)(acc + i, n - i),
            b = whole ? V_(load)(x + i) : V_(load_n)(x + i, n - i);
    const V better = V_(select)(V_(eq)(a, a), sign < 0 ? V_(min)(a, b) : V_(max)(a, b), a);
    if (whole)
      V_(store)(acc + i, better);
    else
      V_(store_n)(acc + i, better, n - i);
  }
}

/* exp(x - shift), kept in `out` unless it is NULL; gives the sum. */
static double V_(exp_row)(T *out, const T *x, int64_t n, T shift) {
  const V s = V_(set)(shift);
  double total = 0;
  for (int64_t start = 0; start < n; start += BLOCK) {
    const int64_t end = n - start < BLOCK ? n : start + BLOCK;
    V a0 = V_(set)(0), a1 = a0;
    int64_t i = start;
    for (; i + 2 * LANES <= end; i += 2 * LANES) {
      const V e0 = V_(exp)(V_(sub)(V_(load)(x + i), s)), e1 = V_(exp)(V_(sub)(V_(load)(x + i + LANES), s));
      if (out) V_(store)(out + i, e0), V_(store)(out + i + LANES, e1);
      a0 = V_(add)(a0, e0), a1 = V_(add)(a1, e1);
    }
    total += V_(hsum)(V_(add)(a0, a1));
    for (; i < end; i += LANES) {
      const int64_t count = end - i < LANES ? end - i : LANES;
      T rest[LANES] = {0};
      memcpy(rest, x + i, (size_t)count * sizeof *x);
      V_(store)(rest, V_(exp)(V_(sub)(V_(load)(rest), s)));
      for (int64_t j = 0; j < count; j++) total += (double)rest[j];
      if (out) memcpy(out + i, rest, (size_t)count * sizeof *x);
    }
  }
  return total;
}

/* out = x · scale + offset */
static void V_(affine_row)(T *out, const T *x, int64_t n, T scale, T offset) {
  const V a = V_(set)(scale), b = V_(set)(offset);
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES) V_(store)(out + i, V_(fma)(V_(load)(x + i), a, b));
  if (i < n) V_(store_n)(out + i, V_(fma)(V_(load_n)(x + i, n - i), a, b), n - i);
}

void OUT(K_softmax)(T *out, const T *x, int64_t n, bool log) {
  const T largest = OUT(K_extreme)(x, n, 1);
  const double total = V_(exp_row)(log ? NULL : out, x, n, largest);
  if (!log) {
    V_(affine_row)(out, out, n, (T)(1 / total), (T)-0.0);
    return;
  }
  /* (x - largest) - log(total), the difference first: it is exact where it matters. */
  const V m = V_(set)(largest), l = V_(set)((T)__builtin_log(total));
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES) V_(store)(out + i, V_(sub)(V_(sub)(V_(load)(x + i), m), l));
  if (i < n) V_(store_n)(out + i, V_(sub)(V_(sub)(V_(load_n)(x + i, n - i), m), l), n - i);
}

double OUT(K_logsumexp)(const T *x, int64_t n) {
  const T largest = n ? OUT(K_extreme)(x, n, 1) : (T)-__builtin_inf();
  const T shift = __builtin_isinf(largest) ? 0 : largest;
  return (double)shift + __builtin_log(V_(exp_row)(NULL, x, n, shift));
}

/* The mean is summed in T, so it is off a little; the distances from it tell by how much (decomp/reduce.c
 * does the same). */
void OUT(K_norm)(T *out, const T *x, int64_t n, const struct tc_cpu_norm *norm) {
  const double first = norm->centre ? OUT(K_sum)(x, n) / (double)n : 0;
  double off = 0;
  const double squares =
      (norm->centre ? V_(squares_row)(x, n, first, &off) : V_(squares_row)(x, n, 0, NULL)) / (double)n;
  off /= (double)n;
  const double power = squares - off * off;
  const V m = V_(set)((T)((double)(T)first + off)),
          scale = V_(set)((T)(1 / __builtin_sqrt((power < 0 ? 0 : power) + norm->eps)));
  const T *weight = norm->weight, *bias = norm->bias;
  for (int64_t i = 0; i < n; i += LANES) {
    const bool whole = i + LANES <= n;
#define AT(p) (whole ? V_(load)((p) + i) : V_(load_n)((p) + i, n - i))
    V y = V_(mul)(V_(sub)(AT(x), m), scale);
    if (weight) y = V_(mul)(y, AT(weight));
    if (bias) y = V_(add)(y, AT(bias));
#undef AT
    if (whole)
      V_(store)(out + i, y);
    else
      V_(store_n)(out + i, y, n - i);
  }
}
