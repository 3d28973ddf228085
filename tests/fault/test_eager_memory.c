/* Memory runs out inside eager kernels: each says so, gives back what it took, and works again afterwards. */
#include <stdlib.h>

#include "tests/compiler/ops/eager.h"

struct meter {
  struct tc_alloc alloc;
  long left;
};

static void *meter_resize(void *self, void *block, size_t old_bytes, size_t new_bytes) {
  struct meter *m = self;
  (void)old_bytes;
  if (new_bytes == 0) {
    free(block);
    return NULL;
  }
  return m->left-- > 0 ? realloc(block, new_bytes) : NULL;
}

enum { PLENTY = 1000000, MOST = 12 };

struct trial {
  tc_op op;
  int n_in;
  struct tc_tensor in[3];
  tc_sym ints[3];
  int n_ints;
  double nums[2];
};

/* Fails the n-th allocation for every n, until the operation gets through. */
static void exhaust(struct eager *e, struct meter *m, const struct trial *t) {
  const struct tc_tensor *in[3] = {&t->in[0], &t->in[1], &t->in[2]};
  const struct tc_attrs attrs = {.ints = t->ints, .n_ints = t->n_ints, .nums = t->nums, .n_nums = 1};
  const int64_t live = e->ctx.device->bytes_live;
  for (int n = 0; n < MOST; n++) {
    struct tc_tensor out;
    e->ctx.device->methods->trim(e->ctx.device); /* nothing is left to be used again */
    m->left = n;
    const tc_status status = tc_eager_run(&e->ctx, t->op, t->n_in, in, &attrs, &out, &e->err);
    m->left = PLENTY;
    if (status == TC_OK) {
      tc_tensor_release(&out);
      return;
    }
    assert_int_equal(status, TC_NOMEM);
    assert_int_equal(e->ctx.device->bytes_live, live);
  }
  fail_msg("%s takes more than %d allocations", tc_op_row(t->op)->name, MOST);
}

static void test_temporaries(void **state) {
  struct meter m = {{meter_resize, NULL}, PLENTY};
  struct eager e = {0};
  const int64_t square[] = {8, 8};
  (void)state;
  m.alloc.self = &m;
  e.ctx.alloc = &m.alloc;
  assert_int_equal(tc_device_cpu_open(&m.alloc, "auto", 1, &e.ctx.device, &e.err), TC_OK);
  assert_non_null(e.ctx.device->methods->library(e.ctx.device, &e.err));
  static const tc_dtype dtypes[] = {TC_F32, TC_BF16};
  for (int d = 0; d < 2; d++) {
    struct tc_tensor x = eager_new(&e, dtypes[d], 2, square), index = eager_new(&e, TC_I64, 2, square);
    eager_fill(&x, -1, 1);
    eager_fill(&index, 0, 8);
    struct tc_tensor gaps = x, turned = x, line = index;
    gaps.sizes[1] = 4, gaps.sizes[0] = 4, gaps.strides[1] = 2,
    gaps.strides[0] = 16; /* strides that no library takes */
    turned.strides[0] = 1, turned.strides[1] = 8;
    line.ndim = 1;
    const tc_sym zero = tc_sym_const(0), one = tc_sym_const(1);
    const struct trial trials[] = {
        {TC_OP_matmul, 2, {gaps, gaps, x}, {zero, zero, zero}, 0, {0, 0}},
        {TC_OP_linear, 2, {gaps, gaps, x}, {zero, zero, zero}, 0, {0, 0}},
        {TC_OP_sdpa, 3, {gaps, gaps, gaps}, {zero, zero, zero}, 1, {1, 0}},
        {TC_OP_sum, 1, {turned, x, x}, {zero, one, zero}, 2, {0, 0}},
        {TC_OP_var, 1, {turned, x, x}, {zero, one, zero}, 2, {1, 0}},
        {TC_OP_sum, 1, {x, x, x}, {zero, zero, zero}, 2, {0, 0}},
        {TC_OP_softmax, 1, {x, x, x}, {zero, zero, zero}, 1, {0, 0}},
        {TC_OP_logsumexp, 1, {turned, x, x}, {zero, one, zero}, 2, {0, 0}},
        {TC_OP_layer_norm, 1, {turned, x, x}, {one, zero, zero}, 3, {1e-5, 0}},
        {TC_OP_index_select, 2, {turned, line, x}, {zero, zero, zero}, 1, {0, 0}},
        {TC_OP_gather, 2, {turned, index, x}, {zero, zero, zero}, 1, {0, 0}},
        {TC_OP_embedding, 2, {turned, index, x}, {zero, zero, zero}, 0, {0, 0}},
    };
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) exhaust(&e, &m, &trials[i]);
    tc_tensor_release(&x);
    tc_tensor_release(&index);
  }
  eager_close(&e);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_temporaries)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
