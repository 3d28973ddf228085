/* Element types. bf16 is the upper half of an f32, rounded to nearest even; arithmetic on it is done
 * in f32. A bool is one byte, 0 or 1. */
#ifndef TC_TENSOR_DTYPE_H
#define TC_TENSOR_DTYPE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef enum tc_dtype {
#define TC_DTYPE(NAME, text, bytes, category, acc, ctype) TC_##NAME,
#include "tensor/dtype.def"
#undef TC_DTYPE
  TC_DTYPE_COUNT
} tc_dtype;

enum tc_category { TC_CATEGORY_BOOL, TC_CATEGORY_INT, TC_CATEGORY_FLOAT };

int tc_dtype_bytes(tc_dtype dtype);
const char *tc_dtype_name(tc_dtype dtype);
enum tc_category tc_dtype_category(tc_dtype dtype);
/* The dtype that sums of `dtype` accumulate in. */
tc_dtype tc_dtype_accumulate(tc_dtype dtype);
static inline bool tc_dtype_is_float(tc_dtype dtype) { return dtype >= TC_BF16; }
bool tc_dtype_parse(const char *name, tc_dtype *dtype); /* also "float32", "bfloat16", "int64", … */
/* PyTorch's promotion of two tensors of one rank class. */
tc_dtype tc_dtype_promote(tc_dtype a, tc_dtype b);

static inline float tc_bf16_to_f32(uint16_t bits) {
  const uint32_t wide = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return value;
}
static inline uint16_t tc_f32_to_bf16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(bits >> 16 | 0x40); /* quiet NaN */
  return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

#endif
