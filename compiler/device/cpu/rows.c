/* Kernels over rows, f32 and f64: sums, products, extrema, softmax, norms. Compiled for each instruction
 * set. */
#include <string.h>

#include "device/cpu/kernel_parts.h"
#include "device/cpu/vector_math.h"

enum { UNROLL = 4, BLOCK = 4096, PROD_LANES = 8 };

#define T         float
#define V         vf
#define M         mf
#define LANES     VF_LANES
#define V_(name)  vf_##name
#define OUT(name) name##_f32
#include "device/cpu/row_ops.h"
#undef T
#undef V
#undef M
#undef LANES
#undef V_
#undef OUT

#define T         double
#define V         vd
#define M         md
#define LANES     VD_LANES
#define V_(name)  vd_##name
#define OUT(name) name##_f64
#include "device/cpu/row_ops.h"
#undef T
#undef V
#undef M
#undef LANES
#undef V_
#undef OUT
