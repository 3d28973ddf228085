/* softmax, log_softmax, layer_norm and rms_norm, along any dimension of any layout, against double. */
#include "tests/compiler/ops/eager.h"

static const tc_dtype dtypes[] = {TC_F32, TC_F64, TC_BF16};
enum { DTYPES = sizeof dtypes / sizeof *dtypes, ROUNDS = 40, MAX_ROW = 6000 };

static void near_enough(const char *what, const struct tc_tensor *out, int64_t i, double want,
                        double floor_eps) {
  const double got = tc_tensor_get_f64(out, i),
               eps = eager_epsilon(out->dtype == TC_BF16 ? TC_F32 : out->dtype);
  if (eager_close_to(out->dtype, got, want, out->dtype == TC_BF16 ? 0.55 : 8, floor_eps * eps)) return;
  print_error("%s %s, element %lld: got %.17g, want %.17g\n", what, tc_dtype_name(out->dtype), (long long)i,
              got, want);
  fail();
}

static double row[MAX_ROW];

static void check_softmax(struct eager *e, tc_dtype dtype, int max_dims, int64_t max_size, bool special) {
  int64_t sizes[TC_MAX_DIMS], strides[TC_MAX_DIMS];
  const int ndim = eager_shape(sizes, max_dims, max_size), dim = ndim ? (int)eager_below(ndim) : 0;
  const bool log_of = eager_below(2);
  struct tc_tensor x = eager_tensor(e, dtype, ndim, sizes, -20, 20), out;
  if (special && tc_tensor_numel(&x))
    for (int i = 0; i < 3; i++)
      tc_tensor_set_f64(&x, eager_below(tc_tensor_numel(&x)),
                        (double[]){NAN, INFINITY, -INFINITY, 80}[eager_below(4)]);
  const tc_sym ints[] = {tc_sym_const(dim)};
  const struct tc_attrs attrs = {.ints = ints, .n_ints = 1};
  const struct tc_tensor *in[] = {&x};
  eager_run(e, log_of ? TC_OP_log_softmax : TC_OP_softmax, 1, in, &attrs, &out);
  tc_contiguous_strides(ndim, sizes, strides);
  const int64_t n = ndim ? sizes[dim] : 1, step = ndim ? strides[dim] : 1;
  for (int64_t i = 0; i < tc_tensor_numel(&out); i++) {
    const int64_t start = i - i / step % n * step;
    double largest = -INFINITY, total = 0;
    for (int64_t j = 0; j < n; j++) {
      row[j] = tc_tensor_get_f64(&x, start + j * step);
      largest = row[j] > largest || isnan(row[j]) ? row[j] : largest;
    }
    for (int64_t j = 0; j < n; j++) total += exp(row[j] - largest);
    const double at = tc_tensor_get_f64(&x, i);
    if (log_of)
      near_enough("log_softmax", &out, i, at - largest - log(total), 30);
    else
      near_enough("softmax", &out, i, exp(at - largest) / total,
                  40 * exp(at - largest) / total); /* the distance from the largest is rounded */
  }
  tc_tensor_release(&x);
  tc_tensor_release(&out);
}

static void test_softmax(void **state) {
  (void)state;
  ON_EACH_ISA(e, {
    for (int round = 0; round < ROUNDS; round++)
      for (int d = 0; d < DTYPES; d++) {
        check_softmax(&e, dtypes[d], 4, 6, round % 3 == 0);
        check_softmax(&e, dtypes[d], 2, 50, round % 3 == 0);
      }
    for (int d = 0; d < DTYPES; d++) check_softmax(&e, dtypes[d], 1, 5000, false);
  })
}

static void check_norm(struct eager *e, tc_dtype dtype, int64_t max_size) {
  int64_t sizes[TC_MAX_DIMS], length = 1;
  const int ndim = 1 + eager_shape(sizes, 2, 4), dims = 1 + (int)eager_below(ndim);
  sizes[ndim - 1] = 1 + eager_below(max_size);
  for (int d = ndim - dims; d < ndim; d++) length *= sizes[d];
  const bool has_weight = eager_below(2), has_bias = eager_below(2), is_layer = eager_below(2);
  struct tc_tensor x = eager_tensor(e, dtype, ndim, sizes, -3, 5), out;
  struct tc_tensor weight = eager_tensor(e, dtype, dims, sizes + ndim - dims, -2, 2),
                   bias = eager_tensor(e, dtype, dims, sizes + ndim - dims, -2, 2);
  const struct tc_tensor *in[] = {&x, has_weight ? &weight : &bias, &bias};
  const tc_sym ints[] = {tc_sym_const(dims), tc_sym_const(has_weight), tc_sym_const(has_bias)};
  const double eps = 1e-5;
  const struct tc_attrs attrs = {.ints = ints, .n_ints = 3, .nums = &eps, .n_nums = 1};
  eager_run(e, is_layer ? TC_OP_layer_norm : TC_OP_rms_norm, 1 + has_weight + has_bias, in, &attrs, &out);
  for (int64_t i = 0; i < tc_tensor_numel(&out); i++) {
    const int64_t start = i / length * length;
    double mean = 0, power = 0;
    for (int64_t j = 0; j < length && is_layer; j++)
      mean += tc_tensor_get_f64(&x, start + j) / (double)length;
    for (int64_t j = 0; j < length; j++)
      power += pow(tc_tensor_get_f64(&x, start + j) - mean, 2) / (double)length;
    double want = (tc_tensor_get_f64(&x, i) - mean) / sqrt(power + eps);
    if (has_weight) want *= tc_tensor_get_f64(&weight, i % length);
    if (has_bias) want += tc_tensor_get_f64(&bias, i % length);
    near_enough(is_layer ? "layer_norm" : "rms_norm", &out, i, want,
                length == 1 ? 4000
                            : 2000); /* one element less its mean: eps alone divides the rounding error */
  }
  tc_tensor_release(&x);
  tc_tensor_release(&weight);
  tc_tensor_release(&bias);
  tc_tensor_release(&out);
}

static void test_norm(void **state) {
  (void)state;
  ON_EACH_ISA(e, {
    for (int round = 0; round < ROUNDS; round++)
      for (int d = 0; d < DTYPES; d++) check_norm(&e, dtypes[d], round % 2 ? 9 : 100);
  })
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_softmax), cmocka_unit_test(test_norm)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
