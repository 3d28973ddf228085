/* Strided operands: loop nests with neighbours merged, and copies between a nest and contiguous memory.
 *
 * 1. Merging never changes the row-major order of a nest's elements.
 * 2. A nest of no dimensions is one element; of total 0, none. */
#include <string.h>

#include "device/cpu/cpu.h"

static bool mergeable(const struct tc_cpu_nest *nest, int outer, int inner) {
  for (int o = 0; o < nest->n_operands; o++)
    if (nest->strides[o][outer] != nest->strides[o][inner] * nest->sizes[inner]) return false;
  return true;
}

void tc_cpu_nest_merge(struct tc_cpu_nest *nest) {
  int kept = 0;
  nest->total = 1;
  for (int d = 0; d < nest->ndim; d++) {
    const int64_t size = nest->sizes[d];
    nest->total *= size;
    if (size == 1) continue;
    nest->sizes[kept] = size;
    for (int o = 0; o < nest->n_operands; o++) nest->strides[o][kept] = nest->strides[o][d];
    if (kept > 0 && mergeable(nest, kept - 1, kept)) {
      nest->sizes[kept - 1] *= size;
      for (int o = 0; o < nest->n_operands; o++) nest->strides[o][kept - 1] = nest->strides[o][kept];
    } else {
      kept++;
    }
  }
  nest->ndim = kept;
}

void tc_cpu_nest_broadcast(struct tc_cpu_nest *nest, int ndim, const int64_t *sizes, int n,
                           const struct tc_tensor *const *operands) {
  nest->ndim = ndim;
  nest->n_operands = n;
  for (int d = 0; d < ndim; d++) nest->sizes[d] = sizes[d];
  for (int o = 0; o < n; o++) {
    const struct tc_tensor *x = operands[o];
    const int shift = ndim - x->ndim;
    for (int d = 0; d < ndim; d++)
      nest->strides[o][d] = d < shift || x->sizes[d - shift] == 1 ? 0 : x->strides[d - shift];
  }
  tc_cpu_nest_merge(nest);
}

int64_t tc_cpu_offset(const struct tc_cpu_nest *nest, int operand, int64_t index) {
  int64_t offset = 0;
  for (int d = nest->ndim - 1; d > 0; d--) {
    offset += index % nest->sizes[d] * nest->strides[operand][d];
    index /= nest->sizes[d];
  }
  return nest->ndim ? offset + index * nest->strides[operand][0] : 0;
}

#define STRIDED(name, T, left, right)                                                                        \
  static void name(void *to, const void *from, int64_t stride, int64_t n) {                                  \
    T *t = to;                                                                                               \
    const T *f = from;                                                                                       \
    for (int64_t i = 0; i < n; i++) t[left] = f[right];                                                      \
  }
STRIDED(gather1, uint8_t, i, i *stride)
STRIDED(gather2, uint16_t, i, i *stride)
STRIDED(gather4, uint32_t, i, i *stride)
STRIDED(gather8, uint64_t, i, i *stride)
STRIDED(scatter1, uint8_t, i *stride, i)
STRIDED(scatter2, uint16_t, i *stride, i)
STRIDED(scatter4, uint32_t, i *stride, i)
STRIDED(scatter8, uint64_t, i *stride, i)

typedef void (*strided_fn)(void *to, const void *from, int64_t stride, int64_t n);
enum { SIZES = 9 };
static const strided_fn gathers[SIZES] = {[1] = gather1, [2] = gather2, [4] = gather4, [8] = gather8};
static const strided_fn scatters[SIZES] = {[1] = scatter1, [2] = scatter2, [4] = scatter4, [8] = scatter8};

/* Walks runs along the innermost dimension. */
struct walk {
  const struct tc_cpu_nest *nest;
  int operand;
  int64_t at[TC_MAX_DIMS], offset;
};

static void walk_start(struct walk *w, const struct tc_cpu_nest *nest, int operand, int64_t index) {
  w->nest = nest;
  w->operand = operand;
  w->offset = 0;
  for (int d = nest->ndim - 1; d >= 0; d--) {
    w->at[d] = index % nest->sizes[d];
    index /= nest->sizes[d];
    w->offset += w->at[d] * nest->strides[operand][d];
  }
}

/* Moves on by n, which does not pass the end of the innermost run. */
static void walk_on(struct walk *w, int64_t n) {
  const struct tc_cpu_nest *nest = w->nest;
  int d = nest->ndim - 1;
  w->at[d] += n;
  w->offset += n * nest->strides[w->operand][d];
  for (; d > 0 && w->at[d] == nest->sizes[d]; d--) {
    w->offset += nest->strides[w->operand][d - 1] - nest->sizes[d] * nest->strides[w->operand][d];
    w->at[d] = 0;
    w->at[d - 1]++;
  }
}

void tc_cpu_gather(void *to, const void *from, const struct tc_cpu_nest *nest, int operand, int64_t first,
                   int64_t n, int bytes) {
  if (nest->ndim == 0) {
    memcpy(to, from, (size_t)(n * bytes));
    return;
  }
  struct walk w;
  const int inner = nest->ndim - 1;
  const int64_t stride = nest->strides[operand][inner];
  walk_start(&w, nest, operand, first);
  for (int64_t done = 0, run; done < n; done += run) {
    run = nest->sizes[inner] - w.at[inner];
    if (run > n - done) run = n - done;
    char *t = (char *)to + done * bytes;
    const char *f = (const char *)from + w.offset * bytes;
    if (stride == 1)
      memcpy(t, f, (size_t)(run * bytes));
    else
      gathers[bytes](t, f, stride, run);
    walk_on(&w, run);
  }
}

void tc_cpu_scatter(void *to, const void *from, const struct tc_cpu_nest *nest, int operand, int64_t first,
                    int64_t n, int bytes) {
  if (nest->ndim == 0) {
    memcpy(to, from, (size_t)(n * bytes));
    return;
  }
  struct walk w;
  const int inner = nest->ndim - 1;
  const int64_t stride = nest->strides[operand][inner];
  walk_start(&w, nest, operand, first);
  for (int64_t done = 0, run; done < n; done += run) {
    run = nest->sizes[inner] - w.at[inner];
    if (run > n - done) run = n - done;
    char *t = (char *)to + w.offset * bytes;
    const char *f = (const char *)from + done * bytes;
    if (stride == 1)
      memcpy(t, f, (size_t)(run * bytes));
    else
      scatters[bytes](t, f, stride, run);
    walk_on(&w, run);
  }
}
