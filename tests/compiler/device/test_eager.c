/* The eager builder on a device of this test: what it allocates, shares, writes and gives back, also when
 * something fails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/eager.h"
#include "tensor/host.h"

enum { NEVER = -1 };

struct fixture {
  struct tc_device device;
  struct tc_context ctx;
  int live;          /* storages */
  int fail_alloc_in; /* allocations until one fails; NEVER */
  bool fail_kernels;
  uint64_t seed, draw; /* of the newest random call */
};

static struct fixture *fixture_of(struct tc_device *device) { return (struct fixture *)device; }

static void release(struct tc_storage *storage) {
  fixture_of(storage->device)->live--;
  free(storage->data);
  free(storage);
}

static struct tc_storage *allocate(struct tc_device *device, size_t bytes) {
  struct fixture *f = fixture_of(device);
  if (f->fail_alloc_in == 0) return NULL;
  if (f->fail_alloc_in > 0) f->fail_alloc_in--;
  struct tc_storage *storage = calloc(1, sizeof *storage);
  storage->references = 1;
  storage->id = tc_storage_next_id();
  storage->bytes = bytes;
  storage->data = malloc(bytes ? bytes : 1);
  storage->device = device;
  storage->release = release;
  f->live++;
  return storage;
}

static double compute(const struct tc_eager_call *call, int64_t i) {
  switch (call->op) {
    case TC_OP_full: return call->attrs->nums[0];
    case TC_OP_add: return tc_tensor_get_f64(call->in[0], i) + tc_tensor_get_f64(call->in[1], i);
    case TC_OP_copy_: return tc_tensor_get_f64(call->in[1], i);
    default: return tc_tensor_get_f64(call->in[0], i);
  }
}

/* From the first element to the last: a copy to a later place of one storage goes wrong unless its operand
 * was copied before. */
static tc_status kernel(struct tc_device *device, const struct tc_eager_call *call, struct tc_error *err) {
  struct fixture *f = fixture_of(device);
  if (f->fail_kernels) return tc_fail(err, TC_DEVICE, "device", "this kernel fails");
  f->seed = call->seed;
  f->draw = call->draw;
  if (call->op == TC_OP_rand) return TC_OK;
  for (int64_t i = 0; i < tc_tensor_numel(call->out); i++) tc_tensor_set_f64(call->out, i, compute(call, i));
  return TC_OK;
}

static const struct tc_device_methods methods = {.alloc = allocate};

static int set_up(void **state) {
  struct fixture *f = calloc(1, sizeof *f);
  f->device.base.name = "test";
  f->device.methods = &methods;
  f->fail_alloc_in = NEVER;
  for (int op = 0; op < TC_OP_COUNT; op++) f->device.eager[op] = kernel;
  f->device.eager[TC_OP_gather] = NULL;
  f->ctx.alloc = tc_alloc_system();
  f->ctx.device = &f->device;
  *state = f;
  return 0;
}

static int tear_down(void **state) {
  struct fixture *f = *state;
  const int live = f->live;
  free(f);
  return live; /* a storage that nobody gave back fails the test */
}

/* A contiguous f32 tensor that counts from 0. */
static struct tc_tensor counting(struct fixture *f, int ndim, const int64_t *sizes) {
  struct tc_tensor x;
  assert_int_equal(tc_tensor_new(&f->device, TC_F32, ndim, sizes, &x, NULL), TC_OK);
  for (int64_t i = 0; i < tc_tensor_numel(&x); i++) tc_tensor_set_f64(&x, i, (double)i);
  return x;
}

static const struct tc_attrs none = {0};

static void test_new_tensors_are_contiguous(void **state) {
  struct fixture *f = *state;
  struct tc_tensor x = counting(f, 3, (int64_t[]){2, 3, 4});
  assert_int_equal(x.storage->bytes, 2 * 3 * 4 * sizeof(float));
  assert_int_equal(x.strides[0], 12);
  assert_int_equal(x.strides[2], 1);
  assert_true(tc_tensor_is_contiguous(&x));
  tc_tensor_release(&x);
}

static void test_sizes_that_cannot_be_are_refused(void **state) {
  struct fixture *f = *state;
  struct tc_tensor x;
  struct tc_error err;
  const int64_t huge[] = {INT64_MAX / 2, INT64_MAX / 2}, negative[] = {2, -1},
                empty[] = {INT64_MAX, INT64_MAX, 0}, many[TC_MAX_DIMS + 1] = {0};
  assert_int_equal(tc_tensor_new(&f->device, TC_F32, 2, huge, &x, &err), TC_LIMIT);
  assert_int_equal(tc_tensor_new(&f->device, TC_F32, 2, negative, &x, &err), TC_SHAPE);
  assert_int_equal(tc_tensor_new(&f->device, TC_F32, TC_MAX_DIMS + 1, many, &x, &err), TC_LIMIT);
  assert_int_equal(tc_tensor_new(&f->device, TC_F32, 3, empty, &x, &err), TC_OK);
  assert_int_equal(x.storage->bytes, 0);
  tc_tensor_release(&x);
  f->fail_alloc_in = 0;
  assert_int_equal(tc_tensor_new(&f->device, TC_F32, 0, NULL, &x, &err), TC_NOMEM);
}

static void test_an_operation_allocates_its_result(void **state) {
  struct fixture *f = *state;
  struct tc_tensor x = counting(f, 1, (int64_t[]){4}), y;
  const struct tc_tensor *in[] = {&x, &x};
  assert_int_equal(tc_eager_run(&f->ctx, TC_OP_add, 2, in, &none, &y, NULL), TC_OK);
  assert_int_equal(y.storage->references, 1);
  assert_true(tc_tensor_get_f64(&y, 3) == 6);
  tc_tensor_release(&x);
  tc_tensor_release(&y);
}

static void test_a_view_shares_and_a_reshape_copies_where_it_must(void **state) {
  struct fixture *f = *state;
  struct tc_tensor x = counting(f, 2, (int64_t[]){2, 3}), turned, flat, copied;
  const struct tc_tensor *in = &x, *in_turned = &turned;
  const tc_sym swap[] = {tc_sym_const(1), tc_sym_const(0)}, six[] = {tc_sym_const(6)};
  const struct tc_attrs permute = {.ints = swap, .n_ints = 2}, reshape = {.ints = six, .n_ints = 1};
  assert_int_equal(tc_eager_run(&f->ctx, TC_OP_permute, 1, &in, &permute, &turned, NULL), TC_OK);
  assert_ptr_equal(turned.storage, x.storage);
  assert_int_equal(tc_eager_run(&f->ctx, TC_OP_reshape, 1, &in, &reshape, &flat, NULL), TC_OK);
  assert_ptr_equal(flat.storage, x.storage);
  assert_int_equal(tc_eager_run(&f->ctx, TC_OP_reshape, 1, &in_turned, &reshape, &copied, NULL), TC_OK);
  assert_ptr_not_equal(copied.storage, x.storage);
  assert_true(tc_tensor_get_f64(&copied, 1) == 3);
  assert_int_equal(x.storage->references, 3);
  struct tc_error err;
  struct tc_tensor refused;
  assert_int_equal(tc_eager_run(&f->ctx, TC_OP_view, 1, &in_turned, &reshape, &refused, &err), TC_SHAPE);
  tc_tensor_release(&x);
  tc_tensor_release(&turned);
  tc_tensor_release(&flat);
  tc_tensor_release(&copied);
}

static void test_each_random_operation_takes_one_draw(void **state) {
  struct fixture *f = *state;
  struct tc_tensor x;
  const tc_sym ints[] = {tc_sym_const(TC_F32), tc_sym_const(5)};
  const struct tc_attrs attrs = {.ints = ints, .n_ints = 2};
  f->ctx.rng = (struct tc_rng){.seed = 7, .next = 3};
  for (uint64_t draw = 3; draw < 6; draw++) {
    assert_int_equal(tc_eager_run(&f->ctx, TC_OP_rand, 0, NULL, &attrs, &x, NULL), TC_OK);
    assert_int_equal(f->seed, 7);
    assert_int_equal(f->draw, draw);
    tc_tensor_release(&x);
  }
  assert_int_equal(f->ctx.rng.next, 6);
}

static struct tc_tensor narrowed(struct fixture *f, const struct tc_tensor *x, int64_t start,
                                 int64_t length) {
  struct tc_tensor part;
  const tc_sym ints[] = {tc_sym_const(0), tc_sym_const(start), tc_sym_const(length), tc_sym_const(1)};
  const struct tc_attrs attrs = {.ints = ints, .n_ints = 4};
  assert_int_equal(tc_eager_run(&f->ctx, TC_OP_slice, 1, &x, &attrs, &part, NULL), TC_OK);
  return part;
}

static void test_a_write_bumps_the_version_and_reads_what_was_there_before(void **state) {
  struct fixture *f = *state;
  struct tc_tensor x = counting(f, 1, (int64_t[]){6}), written;
  struct tc_tensor target = narrowed(f, &x, 1, 5), source = narrowed(f, &x, 0, 5);
  const struct tc_tensor *in[] = {&target, &source};
  assert_int_equal(tc_eager_run(&f->ctx, TC_OP_copy_, 2, in, &none, &written, NULL), TC_OK);
  assert_int_equal(x.storage->version, 1);
  assert_ptr_equal(written.storage, x.storage);
  for (int i = 1; i < 6; i++) assert_true(tc_tensor_get_f64(&x, i) == i - 1);
  f->fail_kernels = true;
  assert_int_not_equal(tc_eager_run(&f->ctx, TC_OP_copy_, 2, in, &none, &written, NULL), TC_OK);
  assert_int_equal(x.storage->version, 1);
  tc_tensor_release(&written);
  tc_tensor_release(&target);
  tc_tensor_release(&source);
  tc_tensor_release(&x);
}

static void test_an_expanded_tensor_is_not_written(void **state) {
  struct fixture *f = *state;
  struct tc_tensor one = counting(f, 1, (int64_t[]){1}), wide, written;
  const struct tc_tensor *in = &one;
  const tc_sym sizes[] = {tc_sym_const(4)};
  const struct tc_attrs expand = {.ints = sizes, .n_ints = 1};
  struct tc_error err;
  assert_int_equal(tc_eager_run(&f->ctx, TC_OP_expand, 1, &in, &expand, &wide, NULL), TC_OK);
  const struct tc_tensor *operands[] = {&wide, &one};
  assert_int_equal(tc_eager_run(&f->ctx, TC_OP_copy_, 2, operands, &none, &written, &err), TC_ARG);
  assert_non_null(strstr(err.message, "clone it before writing"));
  tc_tensor_release(&one);
  tc_tensor_release(&wide);
}

static void test_failures_give_memory_back(void **state) {
  struct fixture *f = *state;
  struct tc_tensor x = counting(f, 1, (int64_t[]){4}), y;
  const struct tc_tensor *in[] = {&x, &x};
  struct tc_error err;
  f->fail_kernels = true;
  assert_int_equal(tc_eager_run(&f->ctx, TC_OP_add, 2, in, &none, &y, &err), TC_DEVICE);
  f->fail_kernels = false;
  f->fail_alloc_in = 0;
  assert_int_equal(tc_eager_run(&f->ctx, TC_OP_add, 2, in, &none, &y, &err), TC_NOMEM);
  assert_int_equal(f->live, 1);
  tc_tensor_release(&x);
}

static void test_a_missing_kernel_is_named(void **state) {
  struct fixture *f = *state;
  struct tc_tensor x = counting(f, 1, (int64_t[]){4}), index, y;
  struct tc_error err;
  assert_int_equal(tc_tensor_new(&f->device, TC_I64, 1, (int64_t[]){1}, &index, NULL), TC_OK);
  const struct tc_tensor *in[] = {&x, &index};
  const tc_sym dim[] = {tc_sym_const(0)};
  const struct tc_attrs attrs = {.ints = dim, .n_ints = 1};
  assert_int_equal(tc_eager_run(&f->ctx, TC_OP_gather, 2, in, &attrs, &y, &err), TC_UNSUPPORTED);
  assert_string_equal(err.message, "gather: the device test has no kernel for it");
  tc_tensor_release(&x);
  tc_tensor_release(&index);
}

static void test_a_builder_owns_what_nobody_takes(void **state) {
  struct fixture *f = *state;
  struct tc_tensor x = counting(f, 1, (int64_t[]){4});
  struct tc_eager e;
  tc_eager_begin(&e, &f->ctx);
  struct tc_value *const in[] = {tc_eager_wrap(&e, &x), tc_eager_wrap(&e, &x)};
  struct tc_value *sum, *again;
  assert_int_equal(tc_emit(&e.builder, TC_OP_add, 2, in, NULL, &sum, NULL), TC_OK);
  struct tc_value *const next[] = {sum, in[0]};
  assert_int_equal(tc_emit(&e.builder, TC_OP_add, 2, next, NULL, &again, NULL), TC_OK);
  struct tc_tensor taken = tc_eager_take(again), borrowed = tc_eager_take(in[0]),
                   second = tc_eager_take(again);
  assert_int_equal(taken.storage->references, 2);
  assert_int_equal(x.storage->references, 2);
  tc_eager_end(&e);
  assert_int_equal(f->live, 2); /* x and what was taken; the first sum is gone */
  assert_true(tc_tensor_get_f64(&taken, 3) == 9);
  tc_tensor_release(&taken);
  tc_tensor_release(&second);
  tc_tensor_release(&borrowed);
  tc_tensor_release(&x);
}

static void test_a_builder_has_room_beyond_its_inline_values_and_a_bound(void **state) {
  struct fixture *f = *state;
  const struct tc_attrs full = {.ints = (tc_sym[]){tc_sym_const(TC_F32), tc_sym_const(0)},
                                .n_ints = 2,
                                .nums = (double[]){1},
                                .n_nums = 1};
  struct tc_eager e;
  struct tc_value *value;
  struct tc_error err;
  tc_status status = TC_OK;
  int count = 0;
  tc_eager_begin(&e, &f->ctx);
  while (!(status = tc_emit(&e.builder, TC_OP_full, 0, NULL, &full, &value, &err))) count++;
  assert_int_equal(status, TC_LIMIT);
  assert_true(count >= TC_MAX_RESULTS + TC_MAX_INPUTS);
  assert_null(tc_eager_wrap(&e, &(struct tc_tensor){.ndim = 0}));
  tc_eager_end(&e);
  assert_int_equal(f->live, 0);
  assert_int_equal(tc_emit(&e.builder, TC_OP_full, 0, NULL, &full, &value, NULL), TC_OK); /* usable again */
  tc_eager_end(&e);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_new_tensors_are_contiguous, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_sizes_that_cannot_be_are_refused, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_an_operation_allocates_its_result, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_a_view_shares_and_a_reshape_copies_where_it_must, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(test_each_random_operation_takes_one_draw, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_a_write_bumps_the_version_and_reads_what_was_there_before, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(test_an_expanded_tensor_is_not_written, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_failures_give_memory_back, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_a_missing_kernel_is_named, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_a_builder_owns_what_nobody_takes, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_a_builder_has_room_beyond_its_inline_values_and_a_bound, set_up,
                                      tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
