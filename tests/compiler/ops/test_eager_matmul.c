/* matmul, linear and attention: shapes, layouts, broadcast batches and empty operands, against double. */
#include "tests/compiler/ops/eager.h"

static const tc_dtype dtypes[] = {TC_F32, TC_F64, TC_BF16};
enum { DTYPES = sizeof dtypes / sizeof *dtypes, ROUNDS = 60 };

static void expect(const char *what, const struct tc_tensor *out, int64_t i, double want, double scale) {
  const double got = tc_tensor_get_f64(out, i);
  if (eager_close_to(out->dtype, got, want, out->dtype == TC_BF16 ? 0.6 : 1,
                     scale * eager_epsilon(out->dtype == TC_BF16 ? TC_F32 : out->dtype)))
    return;
  print_error("%s %s, element %lld: got %.17g, want %.17g\n", what, tc_dtype_name(out->dtype), (long long)i,
              got, want);
  fail();
}

static void check_matmul(struct eager *e, tc_dtype dtype, int64_t largest) {
  int64_t batch[TC_MAX_DIMS], a_sizes[TC_MAX_DIMS], b_sizes[TC_MAX_DIMS];
  const int n_batch = (int)eager_below(4);
  const int64_t m = eager_below(10) ? 1 + eager_below(largest) : 0,
                k = eager_below(10) ? 1 + eager_below(largest) : 0,
                n = eager_below(10) ? 1 + eager_below(largest) : 0;
  for (int d = 0; d < n_batch; d++) batch[d] = 1 + eager_below(3);
  const int a_batch = eager_below(3) ? n_batch : (int)eager_below(n_batch + 1),
            b_batch = a_batch < n_batch ? n_batch : (int)eager_below(n_batch + 1);
  for (int d = 0; d < a_batch; d++) a_sizes[d] = eager_below(5) ? batch[n_batch - a_batch + d] : 1;
  for (int d = 0; d < b_batch; d++) b_sizes[d] = eager_below(5) ? batch[n_batch - b_batch + d] : 1;
  a_sizes[a_batch] = m, a_sizes[a_batch + 1] = k, b_sizes[b_batch] = k, b_sizes[b_batch + 1] = n;
  struct tc_tensor a = eager_layout(e, dtype, a_batch + 2, a_sizes, true),
                   b = eager_layout(e, dtype, b_batch + 2, b_sizes, true), out;
  eager_fill(&a, -1, 1);
  eager_fill(&b, -1, 1);
  const struct tc_tensor *in[] = {&a, &b};
  eager_run(e, TC_OP_matmul, 2, in, NULL, &out);
  for (int64_t i = 0; i < tc_tensor_numel(&out); i++) {
    struct tc_tensor ab = out, aa = a, bb = b; /* batch dimensions alone */
    ab.ndim -= 2, aa.ndim -= 2, bb.ndim -= 2;
    const int64_t at = i / (m * n), row = i / n % m, col = i % n;
    const int64_t in_a = eager_broadcast_index(&ab, &aa, at) * m * k + row * k,
                  in_b = eager_broadcast_index(&ab, &bb, at) * k * n + col;
    double want = 0;
    for (int64_t j = 0; j < k; j++)
      want += tc_tensor_get_f64(&a, in_a + j) * tc_tensor_get_f64(&b, in_b + j * n);
    expect("matmul", &out, i, want, (double)k * (1 + fabs(want)) / 2);
  }
  tc_tensor_release(&a);
  tc_tensor_release(&b);
  tc_tensor_release(&out);
}

static void test_matmul(void **state) {
  (void)state;
  ON_EACH_ISA(e, {
    for (int round = 0; round < ROUNDS; round++)
      for (int d = 0; d < DTYPES; d++) check_matmul(&e, dtypes[d], round % 8 == 7 ? 70 : 7);
  })
}

/* Rows, columns, and products that several threads share. */
static void test_matmul_large(void **state) {
  static const int64_t shapes[][3] = {
      {1, 300, 200}, {300, 1, 200}, {200, 300, 1}, {129, 65, 300}, {1, 1, 1000}};
  (void)state;
  ON_EACH_ISA(e, {
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
      for (int d = 0; d < DTYPES; d++) {
        const int64_t m = shapes[s][0], n = shapes[s][1], k = shapes[s][2];
        const int64_t a_sizes[] = {m, k}, b_sizes[] = {k, n};
        struct tc_tensor a = eager_tensor(&e, dtypes[d], 2, a_sizes, -1, 1),
                         b = eager_tensor(&e, dtypes[d], 2, b_sizes, -1, 1), out;
        const struct tc_tensor *in[] = {&a, &b};
        eager_run(&e, TC_OP_matmul, 2, in, NULL, &out);
        for (int64_t i = 0; i < m * n; i += 1 + m * n / 997) {
          double want = 0;
          for (int64_t j = 0; j < k; j++)
            want += tc_tensor_get_f64(&a, i / n * k + j) * tc_tensor_get_f64(&b, j * n + i % n);
          expect("matmul", &out, i, want, (double)k * (1 + fabs(want)) / 2);
        }
        tc_tensor_release(&a);
        tc_tensor_release(&b);
        tc_tensor_release(&out);
      }
    }
  })
}

static void check_linear(struct eager *e, tc_dtype dtype) {
  int64_t sizes[TC_MAX_DIMS];
  const int ndim = 1 + eager_shape(sizes, 3, 5);
  const int64_t in_size = eager_below(12) ? 1 + eager_below(9) : 0, out_size = 1 + eager_below(9);
  const int64_t w_sizes[] = {out_size, in_size};
  const int n_in = eager_below(2) ? 3 : 2;
  sizes[ndim - 1] = in_size;
  struct tc_tensor x = eager_tensor(e, dtype, ndim, sizes, -1, 1),
                   w = eager_tensor(e, dtype, 2, w_sizes, -1, 1);
  struct tc_tensor bias = eager_tensor(e, dtype, 1, &out_size, -1, 1), out;
  const struct tc_tensor *in[] = {&x, &w, &bias};
  eager_run(e, TC_OP_linear, n_in, in, NULL, &out);
  for (int64_t i = 0; i < tc_tensor_numel(&out); i++) {
    const int64_t row = i / out_size, col = i % out_size;
    double want = n_in == 3 ? tc_tensor_get_f64(&bias, col) : 0;
    for (int64_t j = 0; j < in_size; j++)
      want += tc_tensor_get_f64(&x, row * in_size + j) * tc_tensor_get_f64(&w, col * in_size + j);
    expect("linear", &out, i, want,
           (double)(in_size + 1) *
               (dtype == TC_BF16 ? 0x1p15 : 1)); /* bf16: product and sum are rounded apart */
  }
  tc_tensor_release(&x);
  tc_tensor_release(&w);
  tc_tensor_release(&bias);
  tc_tensor_release(&out);
}

static void test_linear(void **state) {
  (void)state;
  ON_EACH_ISA(e, {
    for (int round = 0; round < ROUNDS; round++)
      for (int d = 0; d < DTYPES; d++) check_linear(&e, dtypes[d]);
  })
}

/* --- attention --- */

struct trial {
  int64_t batch, queries, keys, width, value_width;
  bool causal, masked;
};

static void check_attention(struct eager *e, tc_dtype dtype, const struct trial *t) {
  const int64_t q_sizes[] = {2, t->batch, t->queries, t->width},
                k_sizes[] = {eager_below(2) ? 2 : 1, t->batch, t->keys, t->width};
  const int64_t v_sizes[] = {t->batch, t->keys, t->value_width}, mask_sizes[] = {t->queries, t->keys};
  const double scale = 0.3;
  struct tc_tensor q = eager_tensor(e, dtype, 4, q_sizes, -2, 2),
                   k = eager_tensor(e, dtype, 4, k_sizes, -2, 2),
                   v = eager_tensor(e, dtype, 3, v_sizes, -2, 2);
  struct tc_tensor mask = eager_tensor(e, dtype, 2, mask_sizes, -1, 1), out;
  for (int64_t i = 0; i < t->queries * t->keys; i++)
    if (i % t->keys && eager_below(4) == 0) tc_tensor_set_f64(&mask, i, -INFINITY);
  const struct tc_tensor *in[] = {&q, &k, &v, &mask};
  const tc_sym ints[] = {tc_sym_const(t->causal)};
  const struct tc_attrs attrs = {.ints = ints, .n_ints = 1, .nums = &scale, .n_nums = 1};
  eager_run(e, TC_OP_sdpa, t->masked ? 4 : 3, in, &attrs, &out);
  for (int64_t row = 0; row < 2 * t->batch * t->queries; row++) {
    const int64_t batch = row / t->queries, query = row % t->queries;
    const int64_t k_batch = k_sizes[0] == 1 ? batch % t->batch : batch, v_batch = batch % t->batch;
    double scores[512], largest = -INFINITY, total = 0;
    assert_true(t->keys <= 512);
    for (int64_t j = 0; j < t->keys; j++) {
      scores[j] = 0;
      for (int64_t c = 0; c < t->width; c++)
        scores[j] += tc_tensor_get_f64(&q, row * t->width + c) *
                     tc_tensor_get_f64(&k, (k_batch * t->keys + j) * t->width + c);
      scores[j] *= scale;
      if (t->masked) scores[j] += tc_tensor_get_f64(&mask, query * t->keys + j);
      if (t->causal && j > query) scores[j] = -INFINITY;
      largest = fmax(largest, scores[j]);
    }
    for (int64_t j = 0; j < t->keys; j++) total += scores[j] = exp(scores[j] - largest);
    for (int64_t c = 0; c < t->value_width; c++) {
      double want = 0;
      for (int64_t j = 0; j < t->keys; j++)
        want += scores[j] / total * tc_tensor_get_f64(&v, (v_batch * t->keys + j) * t->value_width + c);
      expect("sdpa", &out, row * t->value_width + c, want, 40);
    }
  }
  tc_tensor_release(&q);
  tc_tensor_release(&k);
  tc_tensor_release(&v);
  tc_tensor_release(&mask);
  tc_tensor_release(&out);
}

static void test_attention(void **state) {
  static const struct trial trials[] = {
      {2, 5, 7, 4, 3, false, false}, {1, 70, 70, 8, 8, true, false}, {2, 130, 33, 16, 5, false, true},
      {1, 1, 1, 1, 1, false, false}, {2, 9, 4, 3, 2, true, false},   {3, 64, 65, 8, 8, true, true},
  };
  (void)state;
  ON_EACH_ISA(e, {
    for (size_t t = 0; t < sizeof trials / sizeof *trials; t++)
      for (int d = 0; d < DTYPES; d++) check_attention(&e, dtypes[d], &trials[t]);
  })
}

static void test_library_name(void **state) {
  (void)state;
  ON_EACH_ISA(e, { assert_non_null(strstr(e.ctx.device->methods->library(e.ctx.device, &e.err), "OpenMP")); })
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_matmul),    cmocka_unit_test(test_matmul_large), cmocka_unit_test(test_linear),
      cmocka_unit_test(test_attention), cmocka_unit_test(test_library_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
