/* pow of polynomials.h, which includes this for 64-bit lanes, and has the contract: like it, without a guard.
 */

/* The signs and exceptions of pow (C17 F.10.4.4), around `size` = |x|^y computed for ordinary operands. */
POLY_FN POLY_V POLY_NAME(pow_special)(POLY_CTX c, POLY_V x, POLY_V y, POLY_V size) {
  const POLY_V zero = K(0.0), one = K(1.0), infinity = K(POLY_INFINITY), nan = K(POLY_NAN);
  const POLY_V ax = p_abs(c, x), ay = p_abs(c, y);
  const POLY_V half = MUL(y, K(0.5));
  const POLY_M integral = p_eq(c, p_floor(c, y), y); /* infinities too: even */
  const POLY_M odd =
      p_mand(c, p_mand(c, integral, p_lt(c, ay, infinity)), p_mnot(c, p_eq(c, p_floor(c, half), half)));
  const POLY_M grows = p_lt(c, one, ax), positive = p_lt(c, zero, y);
  /* |x| of 0 or infinity, or |y| infinite: 0, 1 or infinity, as |x| > 1 and y > 0 agree. */
  const POLY_M agree = p_mor(c, p_mand(c, grows, positive), p_mnot(c, p_mor(c, grows, positive)));
  const POLY_V extreme = PICK(p_eq(c, ax, one), one, PICK(agree, infinity, zero));
  const POLY_M ordinary =
      p_mand(c, p_mand(c, p_lt(c, zero, ax), p_lt(c, ax, infinity)), p_lt(c, ay, infinity));
  POLY_V result = PICK(ordinary, size, extreme);
  result = PICK(p_mand(c, p_mand(c, ordinary, p_lt(c, x, zero)), p_mnot(c, integral)), nan, result);
  const POLY_I sign = p_iand(c, p_bits(c, x), p_iconst(c, POLY_SIGN));
  result = PICK(odd, p_from_bits(c, p_ixor(c, p_bits(c, result), sign)), result);
  const POLY_M ordered = p_mand(c, p_eq(c, x, x), p_eq(c, y, y));
  result = PICK(ordered, result, nan);
  return PICK(p_mor(c, p_eq(c, y, zero), p_eq(c, x, one)), one, result);
}

/* x^y by e^(y·log x), the logarithm in two doubles: log m = 2s + s·z·(2/3 + z·Q(z)), s = f/(2+f), z = s². */
POLY_FN POLY_V POLY_NAME(pow)(POLY_CTX c, POLY_V x, POLY_V y) {
  POLY_V e;
  const POLY_V f = POLY_NAME(log_split)(c, p_abs(c, x), &e);
  const POLY_V d = ADD(f, K(2.0)), d_low = SUB(f, SUB(d, K(2.0)));
  const POLY_V s = p_div(c, f, d);
  const POLY_V s_low = p_div(c, FMA(p_neg(c, s), d_low, FMA(p_neg(c, s), d, f)), d);
  const POLY_V z = MUL(s, s), z_low = FMA(ADD(s, s), s_low, FMA(s, s, p_neg(c, z)));
  const POLY_V z2 = MUL(z, z), z4 = MUL(z2, z2);
  const POLY_V q = POLY7(z, z2, z4, 0.4000000000000227, 0.2857142857009193, 0.22222222521347915,
                         0.18181784237532564, 0.1538676351087592, 0.13256669280277114, 0.1319774639802208);
  /* w = 2/3 + z·q in two parts, p = z·w, then log m = 2s + s·p. */
  const POLY_V w = FMA(z, q, K(0.6666666666666666));
  const POLY_V w_low = ADD(FMA(z, q, SUB(K(0.6666666666666666), w)), K(3.700743415417188e-17));
  const POLY_V p = MUL(z, w), p_low = FMA(z, w_low, FMA(z_low, w, FMA(z, w, p_neg(c, p))));
  const POLY_V t = MUL(s, p), t_low = FMA(s, p_low, FMA(s_low, p, FMA(s, p, p_neg(c, t))));
  const POLY_V two_s = ADD(s, s);
  /* e·ln2 is exact in its high part; every sum keeps what it drops. */
  const POLY_V base = MUL(e, K(LN2_HIGH / EXPONENT_UNIT));
  const POLY_V sum1 = ADD(base, two_s),
               drop1 = ADD(SUB(base, SUB(sum1, SUB(sum1, base))), SUB(two_s, SUB(sum1, base)));
  const POLY_V sum2 = ADD(sum1, t),
               drop2 = ADD(SUB(sum1, SUB(sum2, SUB(sum2, sum1))), SUB(t, SUB(sum2, sum1)));
  const POLY_V rest = ADD(ADD(drop1, drop2), FMA(e, K(LN2_LOW / EXPONENT_UNIT), FMA(K(2.0), s_low, t_low)));
  const POLY_V high = ADD(sum2, rest), low = SUB(rest, SUB(high, sum2));
  /* y·log x in two parts, then e^ that. The bounds keep the reduction finite: beyond them it is 0 or
   * infinity. */
  const POLY_V product = MUL(y, high);
  const POLY_V bounded = p_max(c, K(-746.0), p_min(c, K(710.0), product));
  const POLY_V product_low = FMA(y, low, FMA(y, high, p_neg(c, product)));
  POLY_V n, biased;
  const POLY_V r = POLY_NAME(exp_reduce)(c, bounded, &n, &biased);
  const POLY_V fine = PICK(p_eq(c, bounded, product), product_low, K(0.0));
  const POLY_V raised = ADD(POLY_NAME(expm1_reduced)(c, ADD(r, fine)), K(1.0));
  return POLY_NAME(pow_special)(c, x, y, POLY_NAME(ldexp)(c, raised, n));
}

/* x^y for operands widened from f32, to be rounded to f32: one double carries the logarithm. */
POLY_FN POLY_V POLY_NAME(pow_of_f32)(POLY_CTX c, POLY_V x, POLY_V y) {
  POLY_V e;
  const POLY_V f = POLY_NAME(log_split)(c, p_abs(c, x), &e);
  const POLY_V logarithm = POLY_NAME(log_reduced)(c, f, e);
  const POLY_V bounded = p_max(c, K(-746.0), p_min(c, K(710.0), MUL(y, logarithm)));
  return POLY_NAME(pow_special)(c, x, y, POLY_NAME(exp_below)(c, bounded));
}
