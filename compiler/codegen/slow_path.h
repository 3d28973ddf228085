/* The slow path: arguments that the vector code of polynomials.h and quotients.h does not serve, since they
 * are far from 0 or their quotient is. It gives the exact answer, lane by lane.
 *
 * Eager kernels call these where a lane needs it; generated code calls them by these names, which the loader
 * knows (a blob in the disk cache holds the name, never an address). Arrays have `lanes` elements; any
 * alignment. */
#ifndef TC_CODEGEN_SLOW_PATH_H
#define TC_CODEGEN_SLOW_PATH_H

#include <stdint.h>

/* Beyond these |x| the reduction of sin, cos and tan in vectors loses accuracy. */
#define TC_SLOW_PATH_F32 0x1p18
#define TC_SLOW_PATH_F64 0x1p40

/* How an angle is split, with k an integer: x = k·π + r, x = (k - 1/2)·π + r, x = k·π/2 + r; |r| is at most
 * half a step. */
enum tc_turns { TC_TURNS_SIN, TC_TURNS_COS, TC_TURNS_TAN };

/* Where |x| is beyond the bound: r, rounded once, and the lowest bit of `odd` as that of k. Infinities give
 * NaN. Other lanes stay. */
void tc_far_turns_f32(const float *x, float *r, float *odd, int32_t lanes, int32_t turns);
void tc_far_turns_f64(const double *x, double *r, double *odd, int32_t lanes, int32_t turns);

/* rest = the remainder of x / y in [0, y), for x and y that are not negative; NaN for a NaN, an infinite x or
 * a y of 0. */
void tc_far_rest_f32(const float *x, const float *y, float *rest, int32_t lanes, int32_t unused);
void tc_far_rest_f64(const double *x, const double *y, double *rest, int32_t lanes, int32_t unused);

#endif
