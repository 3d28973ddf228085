/* The matrix library, opened when it is first needed. */
#ifndef TC_DEVICE_CPU_BLAS_H
#define TC_DEVICE_CPU_BLAS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/limits.h"
#include "tensor/dtype.h"

struct tc_cpu;

enum { TC_CPU_MATMUL_BATCH = TC_MAX_DIMS - 2, TC_CPU_BLAS_NAME = 160 };

struct tc_cpu_blas {
  void *library;     /* NULL: not opened yet */
  double opening_ns; /* that opening it took */
  void (*sgemm)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float *a,
                int lda, const float *b, int ldb, float beta, float *c, int ldc);
  void (*dgemm)(int order, int trans_a, int trans_b, int m, int n, int k, double alpha, const double *a,
                int lda, const double *b, int ldb, double beta, double *c, int ldc);
  void (*sgemv)(int order, int trans, int m, int n, float alpha, const float *a, int lda, const float *x,
                int incx, float beta, float *y, int incy);
  void (*dgemv)(int order, int trans, int m, int n, double alpha, const double *a, int lda, const double *x,
                int incx, double beta, double *y, int incy);
  void (*set_threads)(int count);
  int threads; /* that the library was told to use */
  char name[TC_CPU_BLAS_NAME];
  uint64_t packed; /* operands that were copied because the library can not take their strides */
};

/* C = A·B + beta·C, batched; sizes and strides in elements. bf16 is computed in f32. */
struct tc_cpu_matrix {
  void *data;
  int64_t row, col, batch[TC_CPU_MATMUL_BATCH];
};
struct tc_cpu_matmul {
  tc_dtype dtype;
  int64_t m, n, k;
  int n_batch;
  int64_t batch[TC_CPU_MATMUL_BATCH];
  struct tc_cpu_matrix a, b, c;
  double beta; /* 0 or 1 */
};

/* Opens the library if it is not open. TC_UNSUPPORTED: not there, or not its OpenMP build. */
tc_status tc_cpu_blas_open(struct tc_cpu *cpu, struct tc_error *err);
void tc_cpu_blas_close(struct tc_cpu_blas *blas);
tc_status tc_cpu_matmul(struct tc_cpu *cpu, const struct tc_cpu_matmul *call, struct tc_error *err);
/* Elements from the first matrix of the batch to number `index`, row-major over the batch dimensions. */
int64_t tc_cpu_batch_offset(const struct tc_cpu_matmul *call, const struct tc_cpu_matrix *x, int64_t index);
/* One product on the calling thread's share, operands as the library takes them (rows of A, B, C contiguous
 * unless trans_*). */
struct tc_cpu_view {
  const void *data;
  int ld;
  bool trans;
};
void tc_cpu_gemm(const struct tc_cpu_blas *blas, tc_dtype dtype, int64_t m, int64_t n, int64_t k,
                 double alpha, struct tc_cpu_view a, struct tc_cpu_view b, double beta, void *c, int64_t ldc);
/* Can the library take a matrix of rows × cols with these strides? Fills all but data. */
bool tc_cpu_view_of(int64_t rows, int64_t cols, int64_t row, int64_t col, struct tc_cpu_view *out);

#endif
