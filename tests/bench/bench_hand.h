/* The fused kernels of bench_codegen.c and bench_fusion.c written by hand with vector intrinsics: what
 * generated code is measured against. Compiled once for each instruction set; n is a multiple of 64.
 * `stream`: non-temporal stores (results 64-byte aligned). */
#ifndef TESTS_BENCH_HAND_H
#define TESTS_BENCH_HAND_H

#include <stdbool.h>
#include <stdint.h>

struct bench_hand {
  void (*triad)(float *y, const float *a, const float *b, int64_t n, bool stream); /* y = a + 1.7·b */
  void (*copy)(float *y, const float *a, int64_t n, bool stream);
  void (*gelu)(float *y, const float *x, float bias, const float *r, int64_t n,
               bool stream);                                       /* gelu(x·1.7 + bias) + r */
  void (*chain)(float *y, const float *x, int64_t n, bool stream); /* sin·cos·tan·exp·log */
  void (*softmax)(float *y, const float *x, int64_t rows, int64_t n);
  void (*norm)(float *y, const float *x, const float *w, const float *b, int64_t rows, int64_t n,
               bool stream);
  /* The suite `pointwise`: n is a multiple of 1024. log(exp(tan(cos(sin x)))) in one body, and in passes over
   * blocks. */
  void (*nested)(float *y, const float *x, int64_t n, bool stream);
  void (*staged)(float *y, const float *x, int64_t n, bool stream);
  void (*affine_gelu)(float *y, const float *x, const float *scale, const float *shift, const float *r,
                      int64_t n, bool stream); /* gelu(x·scale + shift) + r */
  void (*broadcast)(float *y, const float *x, const float *column, float row, int64_t n,
                    bool stream); /* relu(x·column + row)·0.5 - x */
  void (*exponential)(float *y, const float *x, int64_t n, bool stream);
  /* The suite `scorers`. y[rows]: -sum(p·log(p + 1e-9)) of p = softmax(row of n); n at most 1024. */
  void (*entropy)(float *y, const float *x, int64_t rows, int64_t n);
  /* y[(h - 2)·(w - 2)]: sqrt(gx² + gy² + 1e-12) of an image of h rows of w. */
  void (*sobel)(float *y, const float *x, int64_t h, int64_t w);
};
extern const struct bench_hand bench_hand_avx2, bench_hand_avx512;

#endif
