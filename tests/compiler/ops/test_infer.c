/* Inference and views: shape and dtype rules with their errors, broadcasting against a plain reference,
 * and strides of views against the elements that they must show. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ops/op.h"

enum { MAX_ATTRS = 16 };

/* ---- one call as text ---- */

struct shape {
  tc_dtype dtype;
  int ndim;
  int64_t sizes[TC_MAX_DIMS];
};
struct attrs {
  int n_ints;
  int64_t ints[MAX_ATTRS];
  int n_nums;
  double nums[2];
};

static struct tc_meta meta_of(const struct shape *s) {
  struct tc_meta meta = {.dtype = s->dtype, .ndim = s->ndim};
  for (int d = 0; d < s->ndim; d++) meta.sizes[d] = tc_sym_const(s->sizes[d]);
  return meta;
}

/* "[2, 3] f32", or "error NAME: message". */
static const char *infer(tc_op op, int n, const struct shape *in, const struct attrs *attrs) {
  static char line[TC_ERROR_TEXT + 64];
  struct tc_meta metas[4], out;
  const struct tc_meta *pointers[4];
  tc_sym ints[MAX_ATTRS];
  for (int i = 0; i < n; i++) {
    metas[i] = meta_of(&in[i]);
    pointers[i] = &metas[i];
  }
  for (int i = 0; i < attrs->n_ints; i++) ints[i] = tc_sym_const(attrs->ints[i]);
  struct tc_error err = {0};
  const struct tc_attrs a = {ints, attrs->n_ints, attrs->nums, attrs->n_nums};
  const tc_status status = tc_op_infer(NULL, op, n, pointers, &a, &out, &err);
  assert_int_equal(tc_op_infer(NULL, op, n, pointers, &a, &out, NULL),
                   status); /* the record of the error is optional */
  if (status) {
    snprintf(line, sizeof line, "error %s: %s", tc_status_name(status), err.message);
    return line;
  }
  struct tc_strbuf text;
  tc_strbuf_init(&text, tc_alloc_system());
  tc_meta_print(&text, &out);
  snprintf(line, sizeof line, "%s", tc_strbuf_text(&text));
  tc_strbuf_free(&text);
  return line;
}

#define F32(...)                                                                                             \
  {                                                                                                          \
    TC_F32, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), { __VA_ARGS__ }                              \
  }
#define I64(...)                                                                                             \
  {                                                                                                          \
    TC_I64, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), { __VA_ARGS__ }                              \
  }
#define BOOL(...)                                                                                            \
  {                                                                                                          \
    TC_BOOL, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), { __VA_ARGS__ }                             \
  }
#define SCALAR(dtype) {dtype, 0, {0}}
#define INTS(...)     .n_ints = sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), .ints = {__VA_ARGS__}
#define NUMS(...)     .n_nums = sizeof((double[]){__VA_ARGS__}) / sizeof(double), .nums = {__VA_ARGS__}
#define SHAPES(...)                                                                                          \
  (const struct shape[]) { __VA_ARGS__ }
#define EXPECT(text, op, n, shapes, ...)                                                                     \
  assert_string_equal(infer(TC_OP_##op, n, shapes, &(struct attrs){__VA_ARGS__}), text)

static void table_is_whole(void **state) {
  (void)state;
  for (int op = 0; op < TC_OP_COUNT; op++) assert_int_equal(tc_op_find(tc_op_row((tc_op)op)->name), op);
  assert_int_equal(tc_op_find("no_such_op"), -1);
  assert_int_equal(tc_op_row(TC_OP_where)->arity, 3);
  assert_int_equal(tc_op_row(TC_OP_cat)->arity, TC_VARIADIC);
  assert_int_equal(tc_op_row(TC_OP_matmul)->kind, TC_KIND_MATMUL);
}

static void creation(void **state) {
  (void)state;
  EXPECT("[2, 3] i64", full, 0, NULL, INTS(TC_I64, 7, 2, 3), NUMS(0));
  EXPECT("[] f32", full, 0, NULL, INTS(TC_F32, 0), NUMS(2.5));
  EXPECT("[4] f32", arange, 0, NULL, INTS(TC_F32, 4), NUMS(0, 1));
  EXPECT("[0, 5] f64", randn, 0, NULL, INTS(TC_F64, 0, 5));
  EXPECT("error DTYPE: rand: i64: takes a floating-point dtype", rand, 0, NULL, INTS(TC_I64, 2));
  EXPECT("error ARG: rand: 77 is no dtype", rand, 0, NULL, INTS(77, 2));
  EXPECT("error SHAPE: full: size 2 of the result would be -4", full, 0, NULL, INTS(TC_F32, 0, 3, -4),
         NUMS(0));
  EXPECT("error LIMIT: full: the result would have too many elements", full, 0, NULL,
         INTS(TC_F32, 0, 1ll << 40, 1ll << 40), NUMS(0));
  EXPECT("error LIMIT: full: 9 dimensions, at most 8 are supported", full, 0, NULL,
         INTS(TC_F32, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1), NUMS(0));
  EXPECT("error ARG: input: an input is given its dtype and shape; it has no rule", input, 0, NULL, INTS(0));
}

static void dtypes(void **state) {
  (void)state;
  EXPECT("[2] bool", lt, 2, SHAPES(F32(2), F32(2)), 0);
  EXPECT("[2] bool", isnan, 1, SHAPES(F32(2)), 0);
  EXPECT("[2] bf16", cast, 1, SHAPES(F32(2)), INTS(TC_BF16));
  EXPECT("error DTYPE: add: f32 and i64: the dtypes of operands 1 and 2 differ; cast one of them", add, 2,
         SHAPES(F32(2), I64(2)), 0);
  EXPECT("error DTYPE: add: bool and bool: takes numbers, not bool; cast to i64 or use a logical operation",
         add, 2, SHAPES(BOOL(2), BOOL(2)), 0);
  EXPECT("error DTYPE: exp: i64: takes a floating-point dtype; cast to f32, f64 or bf16", exp, 1,
         SHAPES(I64(2)), 0);
  EXPECT("error DTYPE: where: f32, f32 and f32: the condition must be bool", where, 3,
         SHAPES(F32(2), F32(2), F32(2)), 0);
  EXPECT("[2] f32", where, 3, SHAPES(BOOL(2), F32(2), SCALAR(TC_F32)), 0);
  EXPECT("error DTYPE: embedding: f32 and f32: the index must be i64", embedding, 2,
         SHAPES(F32(9, 4), F32(2)), 0);
  EXPECT("error ARG: add: takes 2 operands, got 1", add, 1, SHAPES(F32(2)), 0);
}

static void broadcasting(void **state) {
  (void)state;
  EXPECT("[2, 3] f32", add, 2, SHAPES(F32(2, 3), F32(3)), 0);
  EXPECT("[5, 2, 3] f32", add, 2, SHAPES(F32(2, 1), F32(5, 1, 3)), 0);
  EXPECT("[0, 3] f32", add, 2, SHAPES(F32(0, 3), F32(1, 3)), 0);
  EXPECT("[2] f32", add, 2, SHAPES(SCALAR(TC_F32), F32(2)), 0);
  EXPECT("[2, 3] f32", copy_, 2, SHAPES(F32(2, 3), F32(3)), 0);
  EXPECT("error SHAPE: copy_: [3] and [2, 3]: the source has more dimensions than the target", copy_, 2,
         SHAPES(F32(3), F32(2, 3)), 0);
  EXPECT("error SHAPE: add: [2, 3] and [0, 3]: the sizes can not be broadcast together: aligned at the last "
         "dimension, each pair must be equal or "
         "contain a 1",
         add, 2, SHAPES(F32(2, 3), F32(0, 3)), 0);
}

static void reducing(void **state) {
  (void)state;
  EXPECT("[3] f32", sum, 1, SHAPES(F32(2, 3)), INTS(0, 0));
  EXPECT("[2, 1] i64", sum, 1, SHAPES(BOOL(2, 3)), INTS(1, 1));
  EXPECT("[] f32", sum, 1, SHAPES(SCALAR(TC_F32)), INTS(0));
  EXPECT("[2] i64", argmax, 1, SHAPES(F32(2, 3)), INTS(0, 1));
  EXPECT("[2] f32", sum, 1, SHAPES(F32(2, 0)), INTS(0, 1));
  EXPECT("[0] f32", amax, 1, SHAPES(F32(0, 3)), INTS(0, 1));
  EXPECT("error SHAPE: argmin: [2, 0]: dimension 2 has size 0, and there is no element to choose", argmin, 1,
         SHAPES(F32(2, 0)), INTS(0, 1));
  EXPECT("error SHAPE: sum: [2, 3]: dimension 3 does not exist; there are 2", sum, 1, SHAPES(F32(2, 3)),
         INTS(0, 2));
  EXPECT("error ARG: sum: [2, 3]: dimension 1 is named twice", sum, 1, SHAPES(F32(2, 3)), INTS(0, 0, 0));
  EXPECT("error ARG: sum: [2, 3]: the dimensions are missing", sum, 1, SHAPES(F32(2, 3)), INTS(0));
  EXPECT("[2, 4] f32", layer_norm, 2, SHAPES(F32(2, 4), F32(4)), INTS(1, 1, 0), NUMS(1e-5));
  EXPECT("error SHAPE: layer_norm: [2, 4] and [2]: operand 2 must have the shape of the last 1 dimensions of "
         "the first",
         layer_norm, 2, SHAPES(F32(2, 4), F32(2)), INTS(1, 1, 0), NUMS(1e-5));
}

static void multiplying(void **state) {
  (void)state;
  EXPECT("[2, 4] f32", matmul, 2, SHAPES(F32(2, 3), F32(3, 4)), 0);
  EXPECT("[7, 5, 2, 4] f32", matmul, 2, SHAPES(F32(5, 2, 3), F32(7, 1, 3, 4)), 0);
  EXPECT("[2, 4] f32", matmul, 2, SHAPES(F32(2, 0), F32(0, 4)), 0);
  EXPECT("error SHAPE: matmul: [2, 3] and [4, 5]: the inner sizes 3 and 4 differ", matmul, 2,
         SHAPES(F32(2, 3), F32(4, 5)), 0);
  EXPECT("error SHAPE: matmul: [5, 2, 3] and [4, 3, 2]: the batch dimensions (all but the last two) can not "
         "be broadcast together",
         matmul, 2, SHAPES(F32(5, 2, 3), F32(4, 3, 2)), 0);
  EXPECT("[8, 7] f32", linear, 3, SHAPES(F32(8, 3), F32(7, 3), F32(7)), 0);
  EXPECT("[7] f32", linear, 2, SHAPES(F32(3), F32(7, 3)), 0);
  EXPECT("error SHAPE: linear: [8, 3], [7, 3] and [3]: the bias must have 1 dimension with the size of the "
         "weight's first",
         linear, 3, SHAPES(F32(8, 3), F32(7, 3), F32(3)), 0);
  EXPECT("[2, 5, 9] f32", sdpa, 4, SHAPES(F32(2, 5, 8), F32(2, 6, 8), F32(2, 6, 9), F32(5, 6)), INTS(0),
         NUMS(1));
  EXPECT("error SHAPE: sdpa: [2, 5, 8], [2, 6, 8], [2, 6, 9] and [6, 5]: the mask does not broadcast to the "
         "scores [batch…, queries, keys]",
         sdpa, 4, SHAPES(F32(2, 5, 8), F32(2, 6, 8), F32(2, 6, 9), F32(6, 5)), INTS(0), NUMS(1));
}

static void moving(void **state) {
  (void)state;
  EXPECT("[6] f32", view, 1, SHAPES(F32(2, 3)), INTS(6));
  EXPECT("[] f32", reshape, 1, SHAPES(F32(1, 1)), 0);
  EXPECT("error SHAPE: view: [2, 3]: 6 elements can not be seen as 7", view, 1, SHAPES(F32(2, 3)), INTS(7));
  EXPECT("[4, 2, 3] f32", expand, 1, SHAPES(F32(2, 1)), INTS(4, 2, 3));
  EXPECT("[3, 2] f32", permute, 1, SHAPES(F32(2, 3)), INTS(1, 0));
  EXPECT("error ARG: permute: [2, 3]: dimension 2 is named twice", permute, 1, SHAPES(F32(2, 3)), INTS(1, 1));
  EXPECT("[2, 2] f32", slice, 1, SHAPES(F32(2, 5)), INTS(1, 1, 2, 3));
  EXPECT("[2, 0] f32", slice, 1, SHAPES(F32(2, 5)), INTS(1, 5, 0, 1));
  EXPECT("error INDEX: slice: [2, 5]: the slice ends behind dimension 2", slice, 1, SHAPES(F32(2, 5)),
         INTS(1, 2, 2, 3));
  EXPECT("error ARG: slice: [2, 5]: the step must be at least 1", slice, 1, SHAPES(F32(2, 5)),
         INTS(1, 2, 2, 0));
  EXPECT("[3] f32", squeeze, 1, SHAPES(F32(1, 3, 1)), INTS(0, 2));
  EXPECT("error SHAPE: squeeze: [1, 3]: dimension 2 has another size than 1", squeeze, 1, SHAPES(F32(1, 3)),
         INTS(1));
  EXPECT("[3, 1] f32", unsqueeze, 1, SHAPES(F32(3)), INTS(1));
  EXPECT("[3, 6] f32", pad, 1, SHAPES(F32(2, 3)), INTS(0, 1, 1, 2), NUMS(0));
  EXPECT("[2, 5] f32", cat, 2, SHAPES(F32(2, 3), F32(2, 2)), INTS(1));
  EXPECT("error SHAPE: flip: [2]: dimension 2 does not exist; there are 1", flip, 1, SHAPES(F32(2)), INTS(1));
  EXPECT("[5, 4] f32", embedding, 2, SHAPES(F32(9, 4), I64(5)), 0);
  EXPECT("[2, 5] f32", gather, 2, SHAPES(F32(3, 4), I64(2, 5)), INTS(1));
  EXPECT("error SHAPE: gather: [3, 4] and [4, 4]: the index is larger than the tensor in dimension 1", gather,
         2, SHAPES(F32(3, 4), I64(4, 4)), INTS(1));
  EXPECT("[3, 7] f32", index_select, 2, SHAPES(F32(3, 4), I64(7)), INTS(1));
  EXPECT("error SHAPE: tril: [3]: takes at least 2 dimensions", tril, 1, SHAPES(F32(3)), INTS(0));
}

/* Attributes come from graph text: whatever they are, a rule answers. */
static uint64_t random_state = 0x2545F4914F6CDD1Du;
static int64_t below(int64_t n) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (int64_t)(random_state % (uint64_t)n);
}

static void any_attributes_are_survived(void **state) {
  (void)state;
  enum { ROUNDS = 200000 };
  for (int round = 0; round < ROUNDS; round++) {
    struct shape in[4];
    struct attrs attrs = {.n_ints = (int)below(MAX_ATTRS), .n_nums = (int)below(3)};
    const tc_op op = (tc_op)below(TC_OP_COUNT);
    const int arity = tc_op_row(op)->arity, n = arity == TC_VARIADIC ? (int)below(5) : arity;
    for (int i = 0; i < n; i++) {
      in[i] = (struct shape){.dtype = below(4) ? TC_F32 : (tc_dtype)below(TC_DTYPE_COUNT),
                             .ndim = (int)below(TC_MAX_DIMS + 1)};
      for (int d = 0; d < in[i].ndim; d++) in[i].sizes[d] = below(3);
    }
    for (int i = 0; i < attrs.n_ints; i++)
      attrs.ints[i] = below(8) ? below(6) - 1 : below(1ll << 62) - (1ll << 61);
    const char *text = infer(op, n, in, &attrs);
    assert_true(text[0] == '[' || !strncmp(text, "error", 5));
  }
}

/* ---- views ---- */

enum { STORED = 4096 };

static void keep(struct tc_storage *storage) { (void)storage; }

static struct tc_tensor tensor_over(struct tc_storage *storage, int ndim, const int64_t *sizes) {
  struct tc_tensor t = {.storage = storage, .dtype = TC_F32, .ndim = ndim};
  memcpy(t.sizes, sizes, (size_t)ndim * sizeof *sizes);
  tc_contiguous_strides(ndim, sizes, t.strides);
  return t;
}

/* Offset of the element with the row-major number. */
static int64_t offset_of(const struct tc_tensor *t, int64_t number) {
  int64_t offset = t->offset;
  for (int d = t->ndim - 1; d >= 0; d--) {
    offset += number % t->sizes[d] * t->strides[d];
    number /= t->sizes[d];
  }
  return offset;
}

static tc_status apply(tc_op op, const struct tc_tensor *x, int n, const int64_t *values,
                       struct tc_tensor *out) {
  tc_sym ints[MAX_ATTRS];
  struct tc_meta in, meta;
  struct tc_error err;
  const struct tc_meta *const pointers[] = {&in};
  for (int i = 0; i < n; i++) ints[i] = tc_sym_const(values[i]);
  const struct tc_attrs attrs = {ints, n, NULL, 0};
  tc_meta_of_tensor(x, &in);
  assert_int_equal(tc_op_infer(NULL, op, 1, pointers, &attrs, &meta, &err), TC_OK);
  return tc_view_of(op, x, &attrs, &meta, out, &err);
}

/* A tensor with gaps, permuted and expanded dimensions. */
static void random_strided(struct tc_storage *storage, struct tc_tensor *t) {
  int64_t sizes[4];
  const int ndim = (int)below(5);
  for (int d = 0; d < ndim; d++) sizes[d] = 1 + below(4);
  *t = tensor_over(storage, ndim, sizes);
  if (ndim && below(2)) {
    const int64_t dim = below(ndim), step = 1 + below(2), length = 1 + (t->sizes[dim] - 1) / step;
    assert_int_equal(apply(TC_OP_slice, t, 4, (int64_t[]){dim, 0, length, step}, t), TC_OK);
  }
  if (ndim > 1 && below(2)) {
    int64_t dims[4] = {0, 1, 2, 3};
    const int a = (int)below(ndim), b = (int)below(ndim);
    const int64_t swap = dims[a];
    dims[a] = dims[b];
    dims[b] = swap;
    assert_int_equal(apply(TC_OP_permute, t, ndim, dims, t), TC_OK);
  }
  if (below(4) == 0) {
    int64_t wide[5] = {3};
    memcpy(wide + 1, t->sizes, (size_t)ndim * sizeof *wide);
    assert_int_equal(apply(TC_OP_expand, t, ndim + 1, wide, t), TC_OK);
  }
}

/* Another shape of as many elements. */
static int random_shape(int64_t elements, int64_t *sizes) {
  int ndim = 0;
  while (ndim < 4) {
    int64_t part = 1 + below(elements);
    while (elements % part) part--;
    sizes[ndim++] = part;
    elements /= part;
    if (below(4) == 0) break;
  }
  sizes[ndim++] = elements;
  return ndim;
}

/* Is there any choice of strides that shows the elements of x in order? */
static bool view_exists(const struct tc_tensor *x, int ndim, const int64_t *sizes) {
  struct tc_tensor guess = tensor_over(x->storage, ndim, sizes);
  const int64_t count = tc_tensor_numel(x);
  guess.offset = x->offset;
  for (int d = 0; d < ndim; d++) /* a step along d moves by the stride of d in row-major numbers */
    if (sizes[d] > 1) guess.strides[d] = offset_of(x, guess.strides[d]) - x->offset;
  for (int64_t i = 0; i < count; i++)
    if (offset_of(&guess, i) != offset_of(x, i)) return false;
  return true;
}

static void views_show_the_same_elements(void **state) {
  (void)state;
  enum { ROUNDS = 20000 };
  int refused = 0, shared = 0;
  struct tc_storage storage = {.references = 1, .bytes = STORED, .release = keep};
  for (int round = 0; round < ROUNDS; round++) {
    struct tc_tensor x, view;
    int64_t sizes[TC_MAX_DIMS];
    random_strided(&storage, &x);
    const int ndim = random_shape(tc_tensor_numel(&x), sizes);
    const tc_status status = apply(TC_OP_view, &x, ndim, sizes, &view);
    assert_int_equal(status == TC_OK, view_exists(&x, ndim, sizes));
    if (status) {
      assert_int_equal(status, TC_SHAPE);
      refused++;
      continue;
    }
    shared++;
    assert_ptr_equal(view.storage, &storage);
    for (int64_t i = 0; i < tc_tensor_numel(&x); i++) assert_int_equal(offset_of(&view, i), offset_of(&x, i));
  }
  assert_true(refused > 100 && shared > 100);
}

static void views_of_other_kinds(void **state) {
  (void)state;
  struct tc_storage storage = {.references = 1, .bytes = STORED, .release = keep};
  struct tc_tensor x = tensor_over(&storage, 3, (int64_t[]){2, 1, 5}), out;
  x.offset = 7;
  assert_int_equal(apply(TC_OP_slice, &x, 4, (int64_t[]){2, 1, 2, 3}, &out), TC_OK);
  assert_int_equal(offset_of(&out, 0), 8);
  assert_int_equal(offset_of(&out, 1), 11);
  assert_int_equal(offset_of(&out, 2), 13);
  assert_int_equal(storage.references, 2);
  assert_int_equal(apply(TC_OP_expand, &x, 4, (int64_t[]){3, 2, 4, 5}, &out), TC_OK);
  assert_int_equal(out.strides[0], 0);
  assert_int_equal(out.strides[1], 5);
  assert_int_equal(out.strides[2], 0);
  assert_int_equal(apply(TC_OP_squeeze, &x, 1, (int64_t[]){1}, &out), TC_OK);
  assert_int_equal(out.ndim, 2);
  assert_int_equal(offset_of(&out, 9), 16);
  assert_int_equal(apply(TC_OP_unsqueeze, &x, 1, (int64_t[]){3}, &out), TC_OK);
  assert_int_equal(offset_of(&out, 9), 16);
  struct tc_tensor empty = tensor_over(&storage, 2, (int64_t[]){0, 3});
  assert_int_equal(apply(TC_OP_view, &empty, 3, (int64_t[]){5, 0, 2}, &out), TC_OK);
  assert_int_equal(tc_tensor_numel(&out), 0);
}

static void refused_view_names_strides(void **state) {
  (void)state;
  struct tc_storage storage = {.references = 1, .bytes = STORED, .release = keep};
  struct tc_tensor x = tensor_over(&storage, 2, (int64_t[]){2, 3}), out;
  assert_int_equal(apply(TC_OP_permute, &x, 2, (int64_t[]){1, 0}, &x), TC_OK);
  struct tc_meta meta = {.dtype = TC_F32, .ndim = 1, .sizes = {tc_sym_const(6)}};
  struct tc_error err;
  assert_int_equal(tc_view_of(TC_OP_view, &x, &(struct tc_attrs){0}, &meta, &out, &err), TC_SHAPE);
  assert_string_equal(
      err.message,
      "view: [3, 2] f32 with strides [1, 3] can not be seen without a copy as [6] f32; use reshape");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(table_is_whole),
      cmocka_unit_test(creation),
      cmocka_unit_test(dtypes),
      cmocka_unit_test(broadcasting),
      cmocka_unit_test(reducing),
      cmocka_unit_test(multiplying),
      cmocka_unit_test(moving),
      cmocka_unit_test(any_attributes_are_survived),
      cmocka_unit_test(views_show_the_same_elements),
      cmocka_unit_test(views_of_other_kinds),
      cmocka_unit_test(refused_view_names_strides),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
