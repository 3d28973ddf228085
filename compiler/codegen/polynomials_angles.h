/* sin, cos and tan of polynomials.h, which includes this, and has the contract: like it, without a guard,
 * once for each element width. */

/* sin r for |r| a little over pi/2, negated where the lowest bit of `biased` is set. The series adds +0, so
 * that its product with a zero r has r's sign, and -0 stays -0. */
POLY_FN POLY_V POLY_NAME(sin_half_turn)(POLY_CTX c, POLY_V r, POLY_V biased) {
  const POLY_V s = MUL(r, r), s2 = MUL(s, s);
#if POLY_F64
  const POLY_V s4 = MUL(s2, s2);
  const POLY_V p = POLY8(s, s2, s4, -0.16666666666666666, 0.008333333333333174, -0.0001984126984120141,
                         2.7557319209775195e-06, -2.5052106746133326e-08, 1.6058933250043565e-10,
                         -7.64282140459428e-13, 2.7193643492025205e-15);
#else
  const POLY_V p =
      POLY4(s, s2, -0.16666658222675323, 0.008333024568855762, -0.0001980621018446982, 2.597770162537927e-06);
#endif
  const POLY_I flip = p_ishl(c, p_bits(c, biased), POLY_F64 ? 63 : 31);
  const POLY_V turned = p_from_bits(c, p_ixor(c, p_bits(c, r), flip));
  return FMA(turned, FMA(s, p, K(0.0)), turned);
}

/* x - n·pi·fraction. */
POLY_FN POLY_V POLY_NAME(turn_reduce)(POLY_CTX c, POLY_V x, POLY_V n, double fraction) {
  POLY_V r = FMA(n, K(-PI_1 * fraction), x);
  r = FMA(n, K(-PI_2 * fraction), r);
  return FMA(n, K(-PI_3 * fraction), r);
}

/* Lanes in which |x| is too large for turn_reduce: infinities too, but not NaN, which it passes on. */
POLY_FN POLY_M POLY_NAME(is_far)(POLY_CTX c, POLY_V x) {
  return p_lt(c, K(POLY_F64 ? TC_SLOW_PATH_F64 : TC_SLOW_PATH_F32), p_abs(c, x));
}

POLY_FN POLY_V POLY_NAME(sin)(POLY_CTX c, POLY_V x) {
  POLY_V biased = FMA(x, K(ONE_OVER_PI), K(POLY_MAGIC));
  POLY_V r = POLY_NAME(turn_reduce)(c, x, SUB(biased, K(POLY_MAGIC)), 1.0);
  p_far_turns(c, POLY_NAME(is_far)(c, x), x, TC_TURNS_SIN, &r, &biased);
  return POLY_NAME(sin_half_turn)(c, r, biased);
}

/* cos x = (-1)^k sin(x - (k - 1/2)·pi) */
POLY_FN POLY_V POLY_NAME(cos_reduce)(POLY_CTX c, POLY_V x, POLY_V *biased) {
  *biased = ADD(FMA(x, K(ONE_OVER_PI), K(0.5)), K(POLY_MAGIC));
  return POLY_NAME(turn_reduce)(c, x, SUB(SUB(*biased, K(POLY_MAGIC)), K(0.5)), 1.0);
}

/* For an x that is known not to be far. */
POLY_FN POLY_V POLY_NAME(cos_near)(POLY_CTX c, POLY_V x) {
  POLY_V biased;
  const POLY_V r = POLY_NAME(cos_reduce)(c, x, &biased);
  return POLY_NAME(sin_half_turn)(c, r, biased);
}

POLY_FN POLY_V POLY_NAME(cos)(POLY_CTX c, POLY_V x) {
  POLY_V biased, r = POLY_NAME(cos_reduce)(c, x, &biased);
  p_far_turns(c, POLY_NAME(is_far)(c, x), x, TC_TURNS_COS, &r, &biased);
  return POLY_NAME(sin_half_turn)(c, r, biased);
}

/* Quarter turns: tan r, or -1/tan r where the quotient is odd; numerator and denominator change places. */
POLY_FN POLY_V POLY_NAME(tan)(POLY_CTX c, POLY_V x) {
  POLY_V biased = FMA(x, K(2.0 * ONE_OVER_PI), K(POLY_MAGIC));
  POLY_V r = POLY_NAME(turn_reduce)(c, x, SUB(biased, K(POLY_MAGIC)), 0.5);
  p_far_turns(c, POLY_NAME(is_far)(c, x), x, TC_TURNS_TAN, &r, &biased);
  const POLY_V s = MUL(r, r);
#if POLY_F64
  const POLY_V s2 = MUL(s, s), s4 = MUL(s2, s2);
  const POLY_V sine = POLY6(s, s2, s4, -0.1666666666666662, 0.008333333333319651, -0.00019841269827578,
                            2.7557312913047805e-06, -2.505063551440449e-08, 1.5889660656974234e-10);
  const POLY_V cosine = POLY6(s, s2, s4, 0.04166666666666658, -0.0013888888888870913, 2.480158728741989e-05,
                              -2.755731374255896e-07, 2.087563878949677e-09, -1.1355204147234248e-11);
  const POLY_V top = MUL(r, FMA(s, sine, K(1.0)));
  const POLY_V bottom = FMA(s2, cosine, FMA(s, K(-0.5), K(1.0)));
#else
  const POLY_V top = MUL(r, FMA(s, K(-0.10016319900751114), K(1.0)));
  const POLY_V bottom =
      POLY4(s, MUL(s, s), 1.0, -0.43349653482437134, 0.011165457777678967, 0.00010965873661916703);
#endif
  const POLY_M odd = p_iodd(c, p_bits(c, biased));
  return p_div(c, PICK(odd, bottom, top), PICK(odd, p_neg(c, top), bottom));
}
