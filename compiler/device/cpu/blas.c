/* The matrix library: OpenBLAS in its OpenMP build, opened at the first product, so that programs without one
 * do not pay.
 *
 * 1. OpenBLAS 0.3.21 takes newer AVX-512 processors for Haswell, at half their speed: OPENBLAS_CORETYPE is
 *    set before it is opened, unless the user has set it.
 * 2. It must share OpenMP's threads with the kernels here; a pthread build would run against them and is
 *    refused.
 * 3. Inside a parallel region OpenBLAS works on the calling thread alone; small products of a batch are
 *    spread that way.
 * 4. It tries for ever to allocate its buffers, so it is opened only where there is room for them.
 * 5. It may bring a second OpenMP runtime, which binds the thread that opens it. So the first one takes note
 *    of the CPUs before, and the second one does not see how threads are to be bound: its own are never
 * used. */
#include "device/cpu/blas.h"
#include "base/clock.h"

#include <dlfcn.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "device/cpu/cpu.h"

#ifndef TC_OPENBLAS_PATH
#define TC_OPENBLAS_PATH "libopenblas.so.0"
#endif

enum {
  ROW_MAJOR = 101,
  NO_TRANS = 111,
  TRANS = 112,
  OPENMP_BUILD = 2,
  BUFFER_MIB = 129 /* of OpenBLAS 0.3.21, with its head; others take less */
};

/* dlsym gives an object pointer; POSIX has it hold a function. */
static bool find(void *library, const char *name, void *function, size_t bytes) {
  void *address = dlsym(library, name);
  memcpy(function, &address, bytes);
  return address != NULL;
}

static tc_status check_build(struct tc_cpu *cpu, void *library, struct tc_error *err) {
  struct tc_cpu_blas *blas = &cpu->blas;
  int (*parallel)(void);
  const char *(*config)(void), *(*core)(void);
  if (!find(library, "cblas_sgemm", &blas->sgemm, sizeof blas->sgemm) ||
      !find(library, "cblas_dgemm", &blas->dgemm, sizeof blas->dgemm) ||
      !find(library, "cblas_sgemv", &blas->sgemv, sizeof blas->sgemv) ||
      !find(library, "cblas_dgemv", &blas->dgemv, sizeof blas->dgemv) ||
      !find(library, "openblas_get_parallel", &parallel, sizeof parallel) ||
      !find(library, "openblas_get_config", &config, sizeof config) ||
      !find(library, "openblas_get_corename", &core, sizeof core) ||
      !find(library, "openblas_set_num_threads", &blas->set_threads, sizeof blas->set_threads))
    return tc_fail(err, TC_UNSUPPORTED, "cpu", "%s is not OpenBLAS; install libopenblas-openmp-dev",
                   TC_OPENBLAS_PATH);
  if (parallel() != OPENMP_BUILD) {
    return tc_fail(err, TC_UNSUPPORTED, "cpu",
                   "%s is not the OpenMP build of OpenBLAS, whose threads the kernels share; install "
                   "libopenblas-openmp-dev",
                   TC_OPENBLAS_PATH);
  }
  char version[32] = "";
  if (sscanf(config(), "OpenBLAS %31s", version) != 1) snprintf(version, sizeof version, "unknown");
  snprintf(blas->name, sizeof blas->name, "OpenBLAS %s %s, OpenMP", version, core());
  return TC_OK;
}

/* A buffer a thread, and one for the call. Not reserved: what is asked is whether a limit stands against
 * it. */
static tc_status check_room(struct tc_error *err) {
  const size_t mib = (size_t)(omp_get_max_threads() + 1) * BUFFER_MIB, bytes = mib << 20;
  void *room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED)
    return tc_fail(err, TC_NOMEM, "cpu", "no memory for the buffers of the matrix library, %zu MiB", mib);
  munmap(room, bytes);
  return TC_OK;
}

static void *open_unbound(void) {
  static const char *const names[] = {"OMP_PROC_BIND", "OMP_PLACES"};
  enum { N_NAMES = sizeof names / sizeof *names };
  char *values[N_NAMES];
  (void)omp_get_num_places();
  for (int i = 0; i < N_NAMES; i++) {
    const char *value = getenv(names[i]);
    values[i] = value ? strdup(value) : NULL;
    if (values[i]) unsetenv(names[i]);
  }
  void *library = dlopen(TC_OPENBLAS_PATH, RTLD_NOW | RTLD_LOCAL);
  for (int i = 0; i < N_NAMES; i++) {
    if (values[i]) setenv(names[i], values[i], 1);
    free(values[i]);
  }
  return library;
}

static tc_status open_library(struct tc_cpu *cpu, struct tc_error *err) {
  const double start = tc_now_ns();
  const tc_status room = check_room(err);
  if (room) return room;
  if (cpu->device.target.vector_bytes == 64) setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
  void *library = open_unbound();
  if (!library) {
    const char *why = dlerror();
    return tc_fail(err, TC_UNSUPPORTED, "cpu",
                   "the matrix library cannot be opened (%.200s); install libopenblas-openmp-dev",
                   why ? why : TC_OPENBLAS_PATH);
  }
  const tc_status status = check_build(cpu, library, err);
  if (status)
    dlclose(library);
  else
    cpu->blas.library = library;
  if (!status) cpu->blas.opening_ns = tc_now_ns() - start;
  return status;
}

tc_status tc_cpu_blas_open(struct tc_cpu *cpu, struct tc_error *err) {
  struct tc_cpu_blas *blas = &cpu->blas;
  if (!blas->library) {
    const tc_status status = open_library(cpu, err);
    if (status) return status;
  }
  if (blas->threads != cpu->device.threads) {
    blas->threads = cpu->device.threads;
    blas->set_threads(blas->threads);
  }
  return TC_OK;
}

void tc_cpu_blas_close(struct tc_cpu_blas *blas) {
  blas->library = NULL; /* it stays mapped: its threads are OpenMP's, and closing it under them is not safe */
}

const char *tc_cpu_library(struct tc_device *device, struct tc_error *err) {
  struct tc_cpu *cpu = tc_cpu_of(device);
  return tc_cpu_blas_open(cpu, err) ? NULL : cpu->blas.name;
}

double tc_cpu_library_opening_ns(struct tc_device *device) { return tc_cpu_of(device)->blas.opening_ns; }

bool tc_cpu_view_of(int64_t rows, int64_t cols, int64_t row, int64_t col, struct tc_cpu_view *out) {
  /* A stride along a dimension of one element says nothing. */
  if (cols == 1) col = 1;
  if (rows == 1 && col == 1) row = cols;
  if (cols == 1 && rows > 1 && row < 1) return false;
  if (col == 1 && row >= cols && row <= INT32_MAX) {
    *out = (struct tc_cpu_view){NULL, (int)(row > 0 ? row : 1), false};
    return true;
  }
  if (rows == 1) row = 1;
  if (row == 1 && col >= rows && col <= INT32_MAX) {
    *out = (struct tc_cpu_view){NULL, (int)col, true};
    return true;
  }
  return false;
}

/* y = op(M)·x for a matrix as the library sees it. */
static void vector_product(const struct tc_cpu_blas *blas, tc_dtype dtype, int rows, int cols, double alpha,
                           const struct tc_cpu_view *m, bool trans, const void *x, int incx, double beta,
                           void *y, int incy) {
  const int how = trans ? TRANS : NO_TRANS;
  if (dtype == TC_F64)
    blas->dgemv(ROW_MAJOR, how, rows, cols, alpha, m->data, m->ld, x, incx, beta, y, incy);
  else
    blas->sgemv(ROW_MAJOR, how, rows, cols, (float)alpha, m->data, m->ld, x, incx, (float)beta, y, incy);
}

void tc_cpu_gemm(const struct tc_cpu_blas *blas, tc_dtype dtype, int64_t m, int64_t n, int64_t k,
                 double alpha, struct tc_cpu_view a, struct tc_cpu_view b, double beta, void *c,
                 int64_t ldc) {
  const int mi = (int)m, ni = (int)n, ki = (int)k, ld = (int)ldc;
  if (m == 1) { /* c = bᵀ·a: the library's matrix routines are slow for one row */
    const int step = a.trans ? a.ld : 1;
    const bool flip = !b.trans;
    vector_product(blas, dtype, b.trans ? ni : ki, b.trans ? ki : ni, alpha, &b, flip, a.data, step, beta, c,
                   1);
    return;
  }
  if (n == 1) {
    const int step = b.trans ? 1 : b.ld;
    vector_product(blas, dtype, a.trans ? ki : mi, a.trans ? mi : ki, alpha, &a, a.trans, b.data, step, beta,
                   c, ld);
    return;
  }
  const int ta = a.trans ? TRANS : NO_TRANS, tb = b.trans ? TRANS : NO_TRANS;
  if (dtype == TC_F64)
    blas->dgemm(ROW_MAJOR, ta, tb, mi, ni, ki, alpha, a.data, a.ld, b.data, b.ld, beta, c, ld);
  else
    blas->sgemm(ROW_MAJOR, ta, tb, mi, ni, ki, (float)alpha, a.data, a.ld, b.data, b.ld, (float)beta, c, ld);
}
