/* The floored quotient of floats and its remainder over vectors, written once: see polynomials.h for how it
 * is included, and for the primitives. Values are those of PyTorch's floor_divide and remainder (each step of
 * theirs is here, in the same rounding), over the whole range of both operands: the remainder by truncation,
 * on which both rest, is exact.
 *
 * One more primitive:
 *   V p_far_rest(c,far,x,y,r)  the remainder of x / y (both not negative) where a lane of `far` is set, else
 *   r: tc_far_rest of the width */

#ifndef POLY_FN
#define POLY_FN static inline
#define POLY_FN_IS_OURS
#endif
#define K(value)              p_const(c, (value))
#define PICK(mask, a, b)      p_select(c, (mask), (a), (b))
#define SIGN_BIT              p_iconst(c, POLY_F64 ? INT64_MIN : INT64_C(0x80000000))
#define WITH_SIGN(size, sign) p_from_bits(c, p_ixor(c, p_bits(c, (size)), (sign)))

/* |x| less |y| as often as that fits, and |x| / |y| rounded.
 *
 * Rounded and cut, the quotient q is right or 1 too large while it has no more digits than the mantissa; then
 * |x| - q·|y| lies in [-|y|, |y|) and is a float, so one rounding at the end gives it exactly. A larger q
 * leaves more than |y|, or by luck not, and is exact then too. What does not come to lie in [0, |y|) is left
 * to tc_far_rest, also a finite x over an infinite y; other infinities, NaN and a y of 0 have given NaN by
 * then, as they must. */
POLY_FN POLY_V POLY_NAME(rest_of_sizes)(POLY_CTX c, POLY_V x, POLY_V y, POLY_V *quotient) {
  const POLY_V ax = p_abs(c, x), ay = p_abs(c, y), zero = K(0.0);
  *quotient = p_div(c, ax, ay);
  const POLY_V over = p_fma(c, p_neg(c, p_floor(c, *quotient)), ay, ax);
  const POLY_V rest = PICK(p_lt(c, over, zero), p_add(c, over, ay), over);
  const POLY_M near = p_mand(c, p_le(c, zero, rest), p_lt(c, rest, ay));
  const POLY_M ordinary = p_mand(c, p_lt(c, ax, K(__builtin_inf())), p_lt(c, zero, ay));
  return p_far_rest(c, p_mand(c, ordinary, p_mnot(c, near)), ax, ay, rest);
}

/* Have x and y opposite signs, and is the rest not 0? */
POLY_FN POLY_M POLY_NAME(goes_down)(POLY_CTX c, POLY_V rest, POLY_I sign) {
  return p_mand(c, p_lt(c, K(0.0), rest), p_lt(c, WITH_SIGN(K(1.0), sign), K(0.0)));
}

POLY_FN POLY_V POLY_NAME(remainder)(POLY_CTX c, POLY_V x, POLY_V y) {
  POLY_V quotient;
  const POLY_V rest = POLY_NAME(rest_of_sizes)(c, x, y, &quotient);
  const POLY_I of_x = p_iand(c, p_bits(c, x), SIGN_BIT), of_y = p_iand(c, p_bits(c, y), SIGN_BIT);
  const POLY_M down = POLY_NAME(goes_down)(c, rest, p_ixor(c, of_x, of_y));
  return PICK(down, WITH_SIGN(p_sub(c, p_abs(c, y), rest), of_y), WITH_SIGN(rest, of_x));
}

POLY_FN POLY_V POLY_NAME(floor_divide)(POLY_CTX c, POLY_V x, POLY_V y) {
  POLY_V quotient;
  const POLY_V one = K(1.0), zero = K(0.0), rest = POLY_NAME(rest_of_sizes)(c, x, y, &quotient);
  const POLY_I of_x = p_iand(c, p_bits(c, x), SIGN_BIT),
               sign = p_iand(c, p_ixor(c, p_bits(c, x), p_bits(c, y)), SIGN_BIT);
  const POLY_V whole = p_div(c, p_sub(c, x, WITH_SIGN(rest, of_x)), y);
  const POLY_V low = PICK(POLY_NAME(goes_down)(c, rest, sign), p_sub(c, whole, one), whole);
  const POLY_V floor = p_floor(c, low);
  const POLY_V near = PICK(p_lt(c, K(0.5), p_sub(c, low, floor)), p_add(c, floor, one), floor);
  const POLY_V result = PICK(p_eq(c, low, zero), WITH_SIGN(zero, sign), near);
  return PICK(p_eq(c, y, zero), WITH_SIGN(quotient, sign), result);
}

#undef K
#undef PICK
#undef SIGN_BIT
#undef WITH_SIGN
#ifdef POLY_FN_IS_OURS
#undef POLY_FN
#undef POLY_FN_IS_OURS
#endif
