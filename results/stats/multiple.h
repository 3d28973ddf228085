/* Corrections of p values for many tests at once. `p` and `adjusted` have `count` items, in the caller's
 * order, and may be the same array. A test is rejected at level alpha if its adjusted p is at most alpha.
 * `family` >= count: how many tests were made in all; those not in `p` count as not rejected. NaN counts as
 * 1. False when memory is out (nothing is written then). */
#ifndef TB_MULTIPLE_H
#define TB_MULTIPLE_H

#include <stdbool.h>
#include <stddef.h>

/* Holm (1979): the chance of one false rejection or more is at most alpha, whatever the tests have in
 * common. */
bool tb_holm(const double *p, size_t count, size_t family, double *adjusted);

#endif
