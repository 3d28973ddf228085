/* full, arange, and random numbers: known answers of Philox 4x32-10, moments, and equal values in every
 * dtype. */
#include "tests/compiler/ops/eager.h"

static const tc_dtype dtypes[] = {TC_F32, TC_F64, TC_BF16, TC_I64, TC_BOOL};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

static void test_full(void **state) {
  (void)state;
  ON_EACH_ISA(e, {
    for (int d = 0; d < DTYPES; d++) {
      for (int64_t n = 0; n < 3000; n += 1 + n / 2) {
        struct tc_tensor out;
        const tc_sym ints[] = {tc_sym_const(dtypes[d]), tc_sym_const(1), tc_sym_const(n)};
        const double value = 1.5;
        const struct tc_attrs attrs = {.ints = ints, .n_ints = 3, .nums = &value, .n_nums = 1};
        eager_run(&e, TC_OP_full, 0, NULL, &attrs, &out);
        for (int64_t i = 0; i < n; i++)
          assert_true(tc_tensor_get_f64(&out, i) == (tc_dtype_is_float(dtypes[d]) ? 1.5 : 1));
        tc_tensor_release(&out);
      }
    }
  })
}

static void test_arange(void **state) {
  (void)state;
  ON_EACH_ISA(e, {
    for (int d = 0; d < DTYPES - 1; d++) {
      struct tc_tensor out;
      const tc_sym ints[] = {tc_sym_const(dtypes[d]), tc_sym_const(20)};
      const double nums[] = {-3, 2};
      const struct tc_attrs attrs = {.ints = ints, .n_ints = 2, .nums = nums, .n_nums = 2};
      eager_run(&e, TC_OP_arange, 0, NULL, &attrs, &out);
      for (int64_t i = 0; i < 20; i++) assert_true(tc_tensor_get_f64(&out, i) == -3 + 2.0 * (double)i);
      tc_tensor_release(&out);
    }
  })
}

static struct tc_tensor draw(struct eager *e, tc_op op, tc_dtype dtype, int64_t n) {
  struct tc_tensor out;
  const tc_sym ints[] = {tc_sym_const(dtype), tc_sym_const(n)};
  const struct tc_attrs attrs = {.ints = ints, .n_ints = 2};
  eager_run(e, op, 0, NULL, &attrs, &out);
  return out;
}

/* The first two words of Philox 4x32-10, one element at a time. */
static void philox(uint64_t element, uint64_t key, uint64_t number, uint32_t *w0, uint32_t *w1) {
  uint32_t c[4] = {(uint32_t)element, (uint32_t)(element >> 32), (uint32_t)number, (uint32_t)(number >> 32)};
  uint32_t k[2] = {(uint32_t)key, (uint32_t)(key >> 32)};
  for (int round = 0; round < 10; round++) {
    const uint64_t a = UINT64_C(0xD2511F53) * c[0], b = UINT64_C(0xCD9E8D57) * c[2];
    const uint32_t next[4] = {(uint32_t)(b >> 32) ^ c[1] ^ k[0], (uint32_t)b,
                              (uint32_t)(a >> 32) ^ c[3] ^ k[1], (uint32_t)a};
    memcpy(c, next, sizeof c);
    k[0] += 0x9E3779B9u, k[1] += 0xBB67AE85u;
  }
  *w0 = c[0], *w1 = c[1];
}

/* Known answers of the published test vectors (kat_vectors of Random123: philox4x32 10). */
static void test_philox(void **state) {
  uint32_t w0, w1;
  (void)state;
  philox(0, 0, 0, &w0, &w1);
  assert_int_equal(w0, 0x6627e8d5);
  assert_int_equal(w1, 0xe169c58d);
  philox(UINT64_MAX, UINT64_MAX, UINT64_MAX, &w0, &w1);
  assert_int_equal(w0, 0x408f276d);
  assert_int_equal(w1, 0x41c83b0e);
}

static void test_values(void **state) {
  (void)state;
  ON_EACH_ISA(e, {
    for (uint64_t number = 0; number < 3; number++) {
      e.ctx.rng.seed = 0x123456789abcdefu * (number + 1);
      e.ctx.rng.next = number << 33;
      struct tc_tensor uniform = draw(&e, TC_OP_rand, TC_F32, 1000),
                       normal = draw(&e, TC_OP_randn, TC_F32, 1000);
      assert_true(e.ctx.rng.next == (number << 33) + 2);
      for (int64_t i = 0; i < 1000; i++) {
        uint32_t w0, w1;
        philox((uint64_t)i, e.ctx.rng.seed, number << 33, &w0, &w1);
        assert_true(tc_tensor_get_f64(&uniform, i) == (w0 >> 8) * 0x1p-24);
        philox((uint64_t)i, e.ctx.rng.seed, (number << 33) + 1, &w0, &w1);
        const double want =
            sqrt(-2 * log(((w0 >> 8) + 1) * 0x1p-24)) * cos(6.283185307179586 * ((w1 >> 8) * 0x1p-24));
        if (fabs(tc_tensor_get_f64(&normal, i) - want) > 4e-6)
          fail_msg("element %d: %g, want %g", (int)i, tc_tensor_get_f64(&normal, i), want);
      }
      tc_tensor_release(&uniform);
      tc_tensor_release(&normal);
    }
  })
}

static void test_dtypes(void **state) {
  (void)state;
  ON_EACH_ISA(e, {
    enum { N = 700 };
    for (int op = 0; op < 2; op++) {
      struct tc_tensor t[3];
      for (int d = 0; d < 3; d++) {
        e.ctx.rng.next = 5;
        t[d] = draw(&e, op ? TC_OP_randn : TC_OP_rand, dtypes[d], N);
      }
      for (int64_t i = 0; i < N; i++) {
        const double x = tc_tensor_get_f64(&t[0], i);
        assert_true(tc_tensor_get_f64(&t[1], i) == x);
        assert_true(tc_tensor_get_f64(&t[2], i) == (double)tc_bf16_to_f32(tc_f32_to_bf16((float)x)));
      }
      for (int d = 0; d < 3; d++) tc_tensor_release(&t[d]);
    }
  })
}

static void test_moments(void **state) {
  (void)state;
  ON_EACH_ISA(e, {
    enum { N = 200000 };
    struct tc_tensor uniform = draw(&e, TC_OP_rand, TC_F32, N), normal = draw(&e, TC_OP_randn, TC_F32, N);
    double u = 0, n = 0, n2 = 0;
    for (int64_t i = 0; i < N; i++) {
      const double x = tc_tensor_get_f64(&uniform, i), y = tc_tensor_get_f64(&normal, i);
      assert_true(x >= 0 && x < 1);
      u += x / N, n += y / N, n2 += y * y / N;
    }
    assert_true(fabs(u - 0.5) < 0.005);
    assert_true(fabs(n) < 0.015);
    assert_true(fabs(n2 - 1) < 0.025);
    tc_tensor_release(&uniform);
    tc_tensor_release(&normal);
  })
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_full),   cmocka_unit_test(test_arange), cmocka_unit_test(test_philox),
      cmocka_unit_test(test_values), cmocka_unit_test(test_dtypes), cmocka_unit_test(test_moments),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
