/* Operations that move elements: clone, reshape, cast, copy_, flip, pad, cat, tril, triu, embedding, gather,
 * index_select. */
#include "tests/campaign.h"
#include "tests/compiler/ops/eager.h"

static const tc_dtype dtypes[] = {TC_F32, TC_F64, TC_BF16, TC_I64, TC_BOOL};
enum { DTYPES = sizeof dtypes / sizeof *dtypes, ROUNDS = 40 };

#define EACH(e, dtype, ...)                                                                                  \
  ON_EACH_ISA(e, {                                                                                           \
    for (int round_ = 0, rounds_ = campaign(ROUNDS); round_ < rounds_; round_++)                             \
      for (int d_ = 0; d_ < DTYPES; d_++) {                                                                  \
        const tc_dtype dtype = dtypes[d_];                                                                   \
        __VA_ARGS__                                                                                          \
      }                                                                                                      \
  })

static struct tc_tensor some_tensor(struct eager *e, tc_dtype dtype, int *ndim, int64_t *sizes) {
  *ndim = eager_shape(sizes, 4, eager_below(5) ? 6 : 50);
  struct tc_tensor x = eager_layout(e, dtype, *ndim, sizes, true);
  eager_fill(&x, -100, 100);
  return x;
}

static void same(const char *what, const struct tc_tensor *out, int64_t i, double want) {
  const double got = tc_tensor_get_f64(out, i);
  if (got == want || (isnan(got) && isnan(want))) return;
  print_error("%s %s, element %lld: got %.17g, want %.17g\n", what, tc_dtype_name(out->dtype), (long long)i,
              got, want);
  fail();
}

static void index_of(const struct tc_tensor *t, int64_t flat, int64_t *at) {
  for (int d = t->ndim - 1; d >= 0; d--) {
    at[d] = flat % t->sizes[d];
    flat /= t->sizes[d];
  }
}
static int64_t flat_of(const struct tc_tensor *t, const int64_t *at) {
  int64_t flat = 0;
  for (int d = 0; d < t->ndim; d++) flat = flat * t->sizes[d] + at[d];
  return flat;
}

static void test_clone(void **state) {
  (void)state;
  EACH(e, dtype, {
    int ndim;
    int64_t sizes[TC_MAX_DIMS];
    struct tc_tensor x = some_tensor(&e, dtype, &ndim, sizes), out;
    const struct tc_tensor *in[] = {&x};
    eager_run(&e, TC_OP_clone, 1, in, NULL, &out);
    assert_true(tc_tensor_is_contiguous(&out));
    for (int64_t i = 0; i < tc_tensor_numel(&out); i++) same("clone", &out, i, tc_tensor_get_f64(&x, i));
    const tc_sym flat[] = {tc_sym_const(tc_tensor_numel(&x))};
    const struct tc_attrs attrs = {.ints = flat, .n_ints = 1};
    tc_tensor_release(&out);
    eager_run(&e, TC_OP_reshape, 1, in, &attrs, &out);
    for (int64_t i = 0; i < tc_tensor_numel(&out); i++) same("reshape", &out, i, tc_tensor_get_f64(&x, i));
    tc_tensor_release(&out);
    tc_tensor_release(&x);
  })
}

/* Transposed matrices larger than a tile. */
static void test_transposed(void **state) {
  (void)state;
  ON_EACH_ISA(e, {
    for (int d = 0; d < DTYPES; d++) {
      const int64_t sizes[] = {3, 130, 67};
      struct tc_tensor x = eager_new(&e, dtypes[d], 3, sizes), out;
      eager_fill(&x, -100, 100);
      x.sizes[1] = 67, x.sizes[2] = 130, x.strides[1] = 1, x.strides[2] = 67;
      const struct tc_tensor *in[] = {&x};
      eager_run(&e, TC_OP_clone, 1, in, NULL, &out);
      for (int64_t i = 0; i < tc_tensor_numel(&out); i++) same("clone", &out, i, tc_tensor_get_f64(&x, i));
      tc_tensor_release(&out);
      tc_tensor_release(&x);
    }
  })
}

static double cast_of(tc_dtype to, double x) {
  switch (to) {
    case TC_BOOL: return x != 0;
    case TC_I64: return trunc(x);
    case TC_BF16: return (double)tc_bf16_to_f32(tc_f32_to_bf16((float)x));
    case TC_F32: return (double)(float)x;
    default: return x;
  }
}

static void test_cast(void **state) {
  (void)state;
  EACH(e, dtype, {
    for (int to = 0; to < DTYPES; to++) {
      int ndim;
      int64_t sizes[TC_MAX_DIMS];
      struct tc_tensor x = some_tensor(&e, dtype, &ndim, sizes), out, target;
      const tc_sym ints[] = {tc_sym_const(dtypes[to])};
      const struct tc_attrs attrs = {.ints = ints, .n_ints = 1};
      const struct tc_tensor *in[] = {&x};
      if (tc_dtype_is_float(dtype) && tc_tensor_numel(&x) && dtypes[to] != TC_I64)
        tc_tensor_set_f64(&x, 0, NAN);
      eager_run(&e, TC_OP_cast, 1, in, &attrs, &out);
      for (int64_t i = 0; i < tc_tensor_numel(&out); i++)
        same("cast", &out, i, cast_of(dtypes[to], tc_tensor_get_f64(&x, i)));
      tc_tensor_release(&out);
      target = eager_layout(&e, dtypes[to], ndim, sizes, false);
      const struct tc_tensor *both[] = {&target, &x};
      eager_run(&e, TC_OP_copy_, 2, both, NULL, &out);
      for (int64_t i = 0; i < tc_tensor_numel(&target); i++)
        same("copy_", &target, i, cast_of(dtypes[to], tc_tensor_get_f64(&x, i)));
      tc_tensor_release(&out);
      tc_tensor_release(&target);
      tc_tensor_release(&x);
    }
  })
}

static void test_flip(void **state) {
  (void)state;
  EACH(e, dtype, {
    int ndim, n = 0;
    int64_t sizes[TC_MAX_DIMS], at[TC_MAX_DIMS];
    bool flipped[TC_MAX_DIMS] = {false};
    tc_sym ints[TC_MAX_DIMS];
    struct tc_tensor x = some_tensor(&e, dtype, &ndim, sizes), out;
    for (int d = 0; d < ndim; d++)
      if (eager_below(2)) flipped[d] = true, ints[n++] = tc_sym_const(d);
    const struct tc_attrs attrs = {.ints = ints, .n_ints = n};
    const struct tc_tensor *in[] = {&x};
    eager_run(&e, TC_OP_flip, 1, in, &attrs, &out);
    for (int64_t i = 0; i < tc_tensor_numel(&out); i++) {
      index_of(&out, i, at);
      for (int d = 0; d < ndim; d++)
        if (flipped[d]) at[d] = sizes[d] - 1 - at[d];
      same("flip", &out, i, tc_tensor_get_f64(&x, flat_of(&x, at)));
    }
    tc_tensor_release(&out);
    tc_tensor_release(&x);
  })
}

static void test_pad(void **state) {
  (void)state;
  EACH(e, dtype, {
    int ndim;
    int64_t sizes[TC_MAX_DIMS], at[TC_MAX_DIMS], before[TC_MAX_DIMS];
    tc_sym ints[2 * TC_MAX_DIMS];
    const double value = 1;
    struct tc_tensor x = some_tensor(&e, dtype, &ndim, sizes), out;
    for (int d = 0; d < ndim; d++) {
      before[d] = eager_below(3);
      ints[2 * d] = tc_sym_const(before[d]);
      ints[2 * d + 1] = tc_sym_const(eager_below(3));
    }
    const struct tc_attrs attrs = {.ints = ints, .n_ints = 2 * ndim, .nums = &value, .n_nums = 1};
    const struct tc_tensor *in[] = {&x};
    eager_run(&e, TC_OP_pad, 1, in, &attrs, &out);
    for (int64_t i = 0; i < tc_tensor_numel(&out); i++) {
      bool inside = true;
      index_of(&out, i, at);
      for (int d = 0; d < ndim; d++) {
        at[d] -= before[d];
        inside &= at[d] >= 0 && at[d] < sizes[d];
      }
      same("pad", &out, i, inside ? tc_tensor_get_f64(&x, flat_of(&x, at)) : value);
    }
    tc_tensor_release(&out);
    tc_tensor_release(&x);
  })
}

static void test_cat(void **state) {
  (void)state;
  EACH(e, dtype, {
    enum { PARTS = 3 };
    int64_t sizes[TC_MAX_DIMS], at[TC_MAX_DIMS];
    const int ndim = 1 + eager_shape(sizes, 3, 20), dim = (int)eager_below(ndim);
    sizes[ndim - 1] = 1 + eager_below(20);
    struct tc_tensor parts[PARTS], out;
    const struct tc_tensor *in[PARTS];
    for (int p = 0; p < PARTS; p++) {
      sizes[dim] = eager_below(20);
      parts[p] = eager_layout(&e, dtype, ndim, sizes, true);
      eager_fill(&parts[p], -100, 100);
      in[p] = &parts[p];
    }
    const tc_sym ints[] = {tc_sym_const(dim)};
    const struct tc_attrs attrs = {.ints = ints, .n_ints = 1};
    eager_run(&e, TC_OP_cat, PARTS, in, &attrs, &out);
    for (int64_t i = 0; i < tc_tensor_numel(&out); i++) {
      int p = 0;
      index_of(&out, i, at);
      while (at[dim] >= parts[p].sizes[dim]) at[dim] -= parts[p++].sizes[dim];
      same("cat", &out, i, tc_tensor_get_f64(&parts[p], flat_of(&parts[p], at)));
    }
    for (int p = 0; p < PARTS; p++) tc_tensor_release(&parts[p]);
    tc_tensor_release(&out);
  })
}

static void test_triangles(void **state) {
  (void)state;
  EACH(e, dtype, {
    int64_t sizes[TC_MAX_DIMS], at[TC_MAX_DIMS];
    const int ndim = 2 + eager_shape(sizes, 2, 3);
    sizes[ndim - 2] = 1 + eager_below(9), sizes[ndim - 1] = 1 + eager_below(9);
    const int64_t diagonal = eager_below(21) - 10;
    const bool lower = eager_below(2);
    struct tc_tensor x = eager_tensor(&e, dtype, ndim, sizes, 1, 100), out;
    const tc_sym ints[] = {tc_sym_const(diagonal)};
    const struct tc_attrs attrs = {.ints = ints, .n_ints = 1};
    const struct tc_tensor *in[] = {&x};
    eager_run(&e, lower ? TC_OP_tril : TC_OP_triu, 1, in, &attrs, &out);
    for (int64_t i = 0; i < tc_tensor_numel(&out); i++) {
      index_of(&out, i, at);
      const int64_t right = at[ndim - 1] - at[ndim - 2];
      same("tri", &out, i, (lower ? right <= diagonal : right >= diagonal) ? tc_tensor_get_f64(&x, i) : 0);
    }
    tc_tensor_release(&out);
    tc_tensor_release(&x);
  })
}

static struct tc_tensor some_index(struct eager *e, int ndim, const int64_t *sizes, int64_t bound) {
  struct tc_tensor index = eager_layout(e, TC_I64, ndim, sizes, false);
  for (int64_t i = 0; i < tc_tensor_numel(&index); i++)
    tc_tensor_set_f64(&index, i, (double)eager_below(bound));
  return index;
}

static void test_embedding(void **state) {
  (void)state;
  EACH(e, dtype, {
    const int64_t w_sizes[] = {1 + eager_below(9), 1 + eager_below(9)};
    int64_t sizes[TC_MAX_DIMS];
    const int ndim = eager_shape(sizes, 3, 5);
    struct tc_tensor w = eager_tensor(&e, dtype, 2, w_sizes, -100, 100),
                     index = some_index(&e, ndim, sizes, w_sizes[0]), out;
    const struct tc_tensor *in[] = {&w, &index};
    eager_run(&e, TC_OP_embedding, 2, in, NULL, &out);
    for (int64_t i = 0; i < tc_tensor_numel(&out); i++)
      same("embedding", &out, i,
           tc_tensor_get_f64(&w, tc_tensor_get_i64(&index, i / w_sizes[1]) * w_sizes[1] + i % w_sizes[1]));
    tc_tensor_release(&w);
    tc_tensor_release(&index);
    tc_tensor_release(&out);
  })
}

static void test_gathers(void **state) {
  (void)state;
  EACH(e, dtype, {
    int64_t sizes[TC_MAX_DIMS], i_sizes[TC_MAX_DIMS], at[TC_MAX_DIMS];
    const int ndim = 1 + eager_shape(sizes, 3, 6), dim = (int)eager_below(ndim);
    sizes[ndim - 1] = 1 + eager_below(6);
    for (int d = 0; d < ndim; d++) {
      if (sizes[d] == 0) sizes[d] = 1;
      i_sizes[d] = d == dim ? eager_below(9) : 1 + eager_below(sizes[d]);
    }
    struct tc_tensor x = eager_tensor(&e, dtype, ndim, sizes, -100, 100),
                     index = some_index(&e, ndim, i_sizes, sizes[dim]), out;
    struct tc_tensor line = some_index(&e, 1, &i_sizes[dim], sizes[dim]);
    const tc_sym ints[] = {tc_sym_const(dim)};
    const struct tc_attrs attrs = {.ints = ints, .n_ints = 1};
    const struct tc_tensor *in[] = {&x, &index}, *in_line[] = {&x, &line};
    eager_run(&e, TC_OP_gather, 2, in, &attrs, &out);
    for (int64_t i = 0; i < tc_tensor_numel(&out); i++) {
      index_of(&out, i, at);
      at[dim] = tc_tensor_get_i64(&index, i);
      same("gather", &out, i, tc_tensor_get_f64(&x, flat_of(&x, at)));
    }
    tc_tensor_release(&out);
    eager_run(&e, TC_OP_index_select, 2, in_line, &attrs, &out);
    for (int64_t i = 0; i < tc_tensor_numel(&out); i++) {
      index_of(&out, i, at);
      at[dim] = tc_tensor_get_i64(&line, at[dim]);
      same("index_select", &out, i, tc_tensor_get_f64(&x, flat_of(&x, at)));
    }
    tc_tensor_release(&out);
    tc_tensor_release(&x);
    tc_tensor_release(&index);
    tc_tensor_release(&line);
  })
}

static void test_bad_index(void **state) {
  (void)state;
  ON_EACH_ISA(e, {
    static const double bad[] = {-1, 4};
    static const tc_op ops[] = {TC_OP_embedding, TC_OP_gather, TC_OP_index_select};
    const int64_t sizes[] = {4, 3}, one[] = {1, 1};
    const tc_sym ints[] = {tc_sym_const(0)};
    struct tc_tensor x = eager_tensor(&e, TC_F32, 2, sizes, -1, 1), index = eager_new(&e, TC_I64, 2, one),
                     out;
    for (int b = 0; b < 2; b++) {
      tc_tensor_set_f64(&index, 0, bad[b]);
      for (int o = 0; o < 3; o++) {
        struct tc_tensor i = index;
        if (ops[o] == TC_OP_index_select) i.ndim = 1;
        const struct tc_tensor *in[] = {&x, &i};
        const struct tc_attrs attrs = {.ints = ints, .n_ints = ops[o] == TC_OP_embedding ? 0 : 1};
        assert_int_equal(tc_eager_run(&e.ctx, ops[o], 2, in, &attrs, &out, &e.err), TC_INDEX);
      }
    }
    tc_tensor_release(&x);
    tc_tensor_release(&index);
  })
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_clone),     cmocka_unit_test(test_transposed), cmocka_unit_test(test_cast),
      cmocka_unit_test(test_flip),      cmocka_unit_test(test_pad),        cmocka_unit_test(test_cat),
      cmocka_unit_test(test_triangles), cmocka_unit_test(test_embedding),  cmocka_unit_test(test_gathers),
      cmocka_unit_test(test_bad_index),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
