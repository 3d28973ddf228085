/* Tensor functions over the recording builder: the binder, what is emitted, resulting shapes and dtypes,
 * and the errors that callers see. */
#include "tests/compiler/ops/recorder.h"

static int setup(void **state) {
  struct recorder *r = calloc(1, sizeof *r);
  if (!r) return -1;
  recorder_open(r);
  *state = r;
  return 0;
}

static int teardown(void **state) {
  recorder_close(*state);
  free(*state);
  return 0;
}

/* ---- the binder ---- */

static void binder_orders_arguments(void **state) {
  struct recorder *r = *state;
  struct tc_value *x = INPUT(r, TC_F32, 2, 3);
  assert_string_equal(CALL(r, "sum", A_VALUE(x)), "sum -> [] f32");
  assert_string_equal(CALL(r, "sum", A_VALUE(x), A_INT(1), A_BOOL(true)), "sum -> [1, 3] f32");
  assert_string_equal(
      record_named(r, "sum", ARGS(A_VALUE(x)), NAMED({"keepdim", A_BOOL(true)}, {"dim", A_INT(-1)})),
      "sum -> [2, 1] f32");
  assert_string_equal(record_named(r, "sum", ARGS(A_VALUE(x)), NAMED({"dim", A_LIST(A_INT(1), A_INT(-1))})),
                      "sum -> [] f32");
}

static void binder_explains_errors(void **state) {
  struct recorder *r = *state;
  struct tc_value *x = INPUT(r, TC_F32, 2, 3);
  assert_string_equal(CALL(r, "softmax", A_VALUE(x)),
                      "error ARG: softmax: argument 2 (dim) is missing; it takes (x, dim, dtype=nil)");
  assert_string_equal(CALL(r, "exp", A_VALUE(x), A_INT(1)),
                      "error ARG: exp: takes at most 1 arguments, got 2; it takes (x)");
  assert_string_equal(
      record_named(r, "sum", ARGS(A_VALUE(x)), NAMED({"dims", A_INT(1)})),
      "error ARG: sum: there is no argument 'dims'; it takes (x, dim=nil, keepdim=false, dtype=nil)");
  assert_string_equal(record_named(r, "sum", ARGS(A_VALUE(x), A_INT(1)), NAMED({"dim", A_INT(1)})),
                      "error ARG: sum: dim is given twice");
  assert_string_equal(CALL(r, "exp", A_TEXT("x")),
                      "error ARG: exp: argument 1 (x) must be a tensor, got a string");
  assert_string_equal(
      CALL(r, "sum", A_VALUE(x), A_NUM(1.5)),
      "error ARG: sum: argument 2 (dim) must be an integer or a list of integers, got a number");
  assert_string_equal(CALL(r, "sum", A_VALUE(x), A_INT(1), A_INT(1)),
                      "error ARG: sum: argument 3 (keepdim) must be true or false, got an integer");
}

static void rest_takes_numbers_or_a_list(void **state) {
  struct recorder *r = *state;
  struct tc_value *x = INPUT(r, TC_F32, 2, 3);
  assert_string_equal(CALL(r, "view", A_VALUE(x), A_INT(3), A_INT(2)), "view -> [3, 2] f32");
  assert_string_equal(CALL(r, "view", A_VALUE(x), A_LIST(A_INT(3), A_INT(-1))), "view -> [3, 2] f32");
  assert_string_equal(record_named(r, "zeros", ARGS(A_INT(4), A_NUM(2.0)), NAMED({"dtype", A_TEXT("int64")})),
                      "full -> [4, 2] i64");
  assert_string_equal(record_named(r, "zeros", NULL, 0, NULL, 0), "full -> [] f32");
}

static void every_function_has_a_sound_row(void **state) {
  (void)state;
  for (int i = 0; i < tc_function_count(); i++) {
    const struct tc_function *f = tc_function_at(i);
    assert_true(f->is_method || f->is_function || f->is_functional);
    assert_non_null(f->run);
    assert_true(f->help[0] && f->signature[0]);
    assert_ptr_equal(tc_function_find(f->name), f);
  }
  assert_null(tc_function_find("no_such_function"));
  assert_string_equal(tc_function_for_event("__mod")->name, "remainder");
  assert_string_equal(tc_function_for_event("__unm")->name, "neg");
  assert_null(tc_function_for_event("__index"));
}

/* ---- creation ---- */

static void creation_reads_options(void **state) {
  struct recorder *r = *state;
  assert_string_equal(CALL(r, "full", A_LIST(A_INT(2)), A_INT(7)), "full -> [2] i64");
  assert_string_equal(CALL(r, "full", A_INT(2), A_NUM(7)), "full -> [2] f32");
  assert_string_equal(CALL(r, "full", A_EMPTY, A_BOOL(true)), "full -> [] bool");
  assert_string_equal(CALL(r, "arange", A_INT(5)), "arange -> [5] i64");
  assert_string_equal(CALL(r, "arange", A_INT(5), A_INT(1), A_INT(-2)), "arange -> [2] i64");
  assert_string_equal(CALL(r, "arange", A_INT(0), A_NUM(1), A_NUM(0.3)), "arange -> [4] f32");
  assert_string_equal(CALL(r, "arange", A_INT(5), A_INT(1)),
                      "error ARG: arange: stop lies on the wrong side of start for the sign of the step");
  assert_string_equal(CALL(r, "arange", A_INT(1), A_INT(5), A_INT(0)),
                      "error ARG: arange: the step must not be 0");
  assert_string_equal(CALL(r, "zeros", A_INT(-1)), "error SHAPE: full: size 1 of the result would be -1");
  assert_string_equal(record_named(r, "rand", ARGS(A_INT(2)), NAMED({"dtype", A_TEXT("bf16")})),
                      "rand cast -> [2] bf16");
  assert_string_equal(record_named(r, "randn", ARGS(A_INT(2)), NAMED({"dtype", A_TEXT("f64")})),
                      "randn -> [2] f64");
  assert_string_equal(record_named(r, "rand", ARGS(A_INT(2)), NAMED({"dtype", A_TEXT("i64")})),
                      "error DTYPE: rand: i64: random numbers need a floating-point dtype");
  assert_string_equal(record_named(r, "rand", ARGS(A_INT(2)), NAMED({"dtype", A_TEXT("f99")})),
                      "error ARG: rand: 'f99' is no dtype; there are f32, f64, bf16, i64 and bool");
  assert_string_equal(record_named(r, "ones", ARGS(A_INT(2)), NAMED({"device", A_TEXT("cuda")})),
                      "error UNSUPPORTED: ones: there is no device 'cuda'; tensors are created on cpu");
}

/* Integers that no symbol holds are made of halves; ranges beyond the exact floats of a shifted one. */
static void integers_of_64_bits(void **state) {
  struct recorder *r = *state;
  struct tc_value *n = INPUT(r, TC_I64, 3);
  const struct tc_arg most = tc_arg_integer(INT64_MAX), least = tc_arg_integer(INT64_MIN),
                      holds = tc_arg_integer(INT64_MAX >> 2);
  assert_int_equal(most.kind, TC_ARG_WIDE);
  assert_int_equal(holds.kind, TC_ARG_INT);
  assert_string_equal(CALL(r, "full", A_LIST(A_INT(2)), most), "full full full mul add -> [2] i64");
  assert_string_equal(CALL(r, "full", A_LIST(A_INT(2)), holds), "full -> [2] i64");
  assert_string_equal(CALL(r, "add", A_VALUE(n), least), "full full full mul add add -> [3] i64");
  assert_string_equal(CALL(r, "add", A_VALUE(INPUT(r, TC_F32, 3)), most), "full add -> [3] f32");
  assert_string_equal(CALL(r, "arange", most), "error LIMIT: arange: the range is too long");
  assert_string_equal(CALL(r, "arange", tc_arg_integer(INT64_MAX - 2), most),
                      "arange full mul full full full mul add add -> [2] i64");
  assert_string_equal(CALL(r, "sum", A_VALUE(n), most),
                      "error ARG: sum: argument 2 (dim) must be an integer or a list of integers, got an "
                      "integer of more than 62 bits");
  assert_string_equal(CALL(r, "slice", A_VALUE(n), A_INT(1), A_INT(2), most), "slice -> [2] i64");
}

static void creation_takes_a_case_table(void **state) {
  struct recorder *r = *state;
  assert_string_equal(record_named(r, "randn", ARGS(A_INT(4), A_INT(8)),
                                   NAMED({"batch", A_INT(4)}, {"dtype", A_TEXT("bf16")},
                                         {"device", A_TEXT("cpu")}, {"reference_dtype", A_TEXT("f64")})),
                      "randn cast cast -> [4, 8] f64");
  assert_string_equal(record_named(r, "randn", ARGS(A_INT(4)),
                                   NAMED({"dtype", A_TEXT("f32")}, {"reference_dtype", A_TEXT("f64")})),
                      "randn cast -> [4] f64");
  assert_string_equal(record_named(r, "arange", ARGS(A_INT(4)), NAMED({"reference_dtype", A_TEXT("f64")})),
                      "arange -> [4] i64");
  struct tc_value *x = INPUT(r, TC_F64, 2, 3);
  assert_string_equal(CALL(r, "zeros_like", A_VALUE(x)), "full -> [2, 3] f64");
  assert_string_equal(CALL(r, "randn_like", A_VALUE(x)), "randn -> [2, 3] f64");
  assert_string_equal(CALL(r, "full_like", A_VALUE(x), A_NUM(2)), "full -> [2, 3] f64");
}

static void casts(void **state) {
  struct recorder *r = *state;
  struct tc_value *x = INPUT(r, TC_F32, 2);
  assert_string_equal(CALL(r, "float", A_VALUE(x)), "-> [2] f32");
  assert_string_equal(CALL(r, "double", A_VALUE(x)), "cast -> [2] f64");
  assert_string_equal(CALL(r, "bool", A_VALUE(x)), "cast -> [2] bool");
  assert_string_equal(CALL(r, "to", A_VALUE(x), A_TEXT("bfloat16")), "cast -> [2] bf16");
  assert_string_equal(CALL(r, "to", A_VALUE(x), A_TEXT("cpu")), "-> [2] f32");
  assert_string_equal(CALL(r, "to", A_VALUE(x), A_TEXT("tpu")),
                      "error UNSUPPORTED: to: there is no device 'tpu'; tensors are created on cpu");
}

/* ---- pointwise ---- */

static void pointwise_functions(void **state) {
  struct recorder *r = *state;
  struct tc_value *x = INPUT(r, TC_F32, 2, 3), *n = INPUT(r, TC_I64, 3), *m = INPUT(r, TC_BOOL, 2, 1),
                  *h = INPUT(r, TC_BF16, 3);
  assert_string_equal(CALL(r, "add", A_VALUE(x), A_VALUE(x)), "add -> [2, 3] f32");
  assert_string_equal(CALL(r, "sub", A_NUM(1), A_VALUE(x)), "full sub -> [2, 3] f32");
  assert_string_equal(record_named(r, "add", ARGS(A_VALUE(x), A_VALUE(h)), NAMED({"alpha", A_NUM(0.5)})),
                      "cast full mul add -> [2, 3] f32");
  assert_string_equal(CALL(r, "add", A_VALUE(m), A_VALUE(m)), "logical_or -> [2, 1] bool");
  assert_string_equal(CALL(r, "sub", A_VALUE(m), A_VALUE(x)),
                      "error DTYPE: sub: bool: subtraction is not defined for bools; use logical_xor, or "
                      "logical_not to invert a mask");
  assert_string_equal(CALL(r, "exp", A_VALUE(n)), "cast exp -> [3] f32");
  assert_string_equal(CALL(r, "floor", A_VALUE(n)), "clone -> [3] i64");
  assert_string_equal(CALL(r, "sign", A_VALUE(n)), "sign -> [3] i64");
  assert_string_equal(CALL(r, "isnan", A_VALUE(n)), "ne -> [3] bool");
  assert_string_equal(CALL(r, "logical_not", A_VALUE(x)), "cast logical_not -> [2, 3] bool");
  assert_string_equal(CALL(r, "neg", A_VALUE(m)),
                      "error DTYPE: neg: bool: takes numbers; for a mask use logical_not, or cast");
  assert_string_equal(CALL(r, "gelu", A_VALUE(n)),
                      "error DTYPE: gelu: i64: takes a floating-point dtype; cast to f32, f64 or bf16");
  assert_string_equal(CALL(r, "gelu", A_VALUE(x), A_TEXT("tanh")), "gelu_tanh -> [2, 3] f32");
  assert_string_equal(CALL(r, "gelu", A_VALUE(x), A_TEXT("fast")),
                      "error ARG: gelu: approximate is 'none' or 'tanh', not 'fast'");
  assert_string_equal(CALL(r, "softplus", A_VALUE(x)), "softplus -> [2, 3] f32");
  assert_string_equal(CALL(r, "clamp", A_VALUE(x), A_NUM(0)), "full maximum -> [2, 3] f32");
  assert_string_equal(CALL(r, "clamp", A_VALUE(x), A_NIL, A_INT(1)), "full minimum -> [2, 3] f32");
  assert_string_equal(CALL(r, "clamp", A_VALUE(n), A_NUM(0.5), A_INT(1)),
                      "cast full maximum full minimum -> [3] f32");
  assert_string_equal(CALL(r, "clamp", A_VALUE(x)),
                      "error ARG: clamp: at least one of min and max must be given");
  assert_string_equal(CALL(r, "where", A_VALUE(m), A_VALUE(x), A_NUM(0)), "full where -> [2, 3] f32");
  assert_string_equal(CALL(r, "where", A_VALUE(x), A_VALUE(x), A_NUM(0)),
                      "error DTYPE: where: f32: the condition must be bool; compare, or cast with :bool()");
  assert_string_equal(CALL(r, "masked_fill", A_VALUE(h), A_VALUE(m), A_NUM(-1)), "full where -> [2, 3] bf16");
  assert_string_equal(
      CALL(r, "add", A_INT(1), A_INT(2)),
      "error ARG: add: argument 1 (x) must be a tensor (or the other operand must be one), got an integer");
  assert_string_equal(CALL(r, "add", A_VALUE(x), A_VALUE(INPUT(r, TC_F32, 4))),
                      "error SHAPE: add: [2, 3] and [4]: the sizes can not be broadcast together: aligned at "
                      "the last dimension, each pair must be "
                      "equal or contain a 1");
}

static void powers_and_divisions(void **state) {
  struct recorder *r = *state;
  struct tc_value *x = INPUT(r, TC_F32, 3), *n = INPUT(r, TC_I64, 3);
  assert_string_equal(CALL(r, "pow", A_VALUE(x), A_INT(2)), "mul -> [3] f32");
  assert_string_equal(CALL(r, "pow", A_VALUE(x), A_NUM(0.5)), "sqrt -> [3] f32");
  assert_string_equal(CALL(r, "pow", A_VALUE(n), A_NUM(0.5)), "cast sqrt -> [3] f32");
  assert_string_equal(CALL(r, "pow", A_VALUE(n), A_INT(5)), "full pow -> [3] i64");
  assert_string_equal(CALL(r, "pow", A_INT(2), A_VALUE(n)), "full pow -> [3] i64");
  assert_string_equal(CALL(r, "pow", A_VALUE(n), A_INT(-1)),
                      "error ARG: pow: integers to negative integer powers are not allowed");
  assert_string_equal(CALL(r, "div", A_VALUE(n), A_INT(2)), "cast full div -> [3] f32");
  assert_string_equal(CALL(r, "floor_divide", A_VALUE(n), A_INT(2)), "full floor_divide -> [3] i64");
  assert_string_equal(CALL(r, "div", A_VALUE(x), A_INT(2), A_TEXT("floor")), "full floor_divide -> [3] f32");
  assert_string_equal(CALL(r, "div", A_VALUE(n), A_INT(2), A_TEXT("trunc")),
                      "full full floor_divide mul ne lt logical_and cast add -> [3] i64");
  assert_string_equal(CALL(r, "div", A_VALUE(n), A_INT(2), A_TEXT("up")),
                      "error ARG: div: rounding_mode is 'floor', 'trunc' or nil, not 'up'");
}

/* ---- reductions ---- */

static void reductions(void **state) {
  struct recorder *r = *state;
  struct tc_value *x = INPUT(r, TC_F32, 2, 3), *n = INPUT(r, TC_I64, 2, 3), *m = INPUT(r, TC_BOOL, 2, 3),
                  *z = INPUT0(r, TC_F32), *e = INPUT(r, TC_F32, 2, 0);
  assert_string_equal(CALL(r, "sum", A_VALUE(m)), "cast sum -> [] i64");
  assert_string_equal(record_named(r, "sum", ARGS(A_VALUE(n)), NAMED({"dtype", A_TEXT("f64")})),
                      "cast sum -> [] f64");
  assert_string_equal(CALL(r, "sum", A_VALUE(e), A_INT(2)), "sum -> [2] f32");
  assert_string_equal(CALL(r, "sum", A_VALUE(z), A_INT(-1)), "sum -> [] f32");
  assert_string_equal(CALL(r, "mean", A_VALUE(n)),
                      "error DTYPE: mean: i64: takes a floating-point dtype; cast first, or name a dtype");
  assert_string_equal(record_named(r, "mean", ARGS(A_VALUE(n)), NAMED({"dtype", A_TEXT("f32")})),
                      "cast mean -> [] f32");
  assert_string_equal(CALL(r, "var", A_VALUE(x), A_INT(2)), "var -> [2] f32");
  assert_string_equal(CALL(r, "std", A_VALUE(x), A_INT(2)), "var sqrt -> [2] f32");
  assert_string_equal(CALL(r, "amax", A_VALUE(m), A_INT(1)), "any -> [3] bool");
  assert_string_equal(CALL(r, "amax", A_VALUE(e), A_INT(2)),
                      "error SHAPE: amax: [2, 0]: dimension 2 has size 0, and there is no element to choose");
  assert_string_equal(CALL(r, "max", A_VALUE(x)), "amax -> [] f32");
  assert_string_equal(CALL(r, "max", A_VALUE(x), A_VALUE(n)), "cast maximum -> [2, 3] f32");
  assert_string_equal(CALL(r, "min", A_VALUE(x), A_INT(2)), "amin argmin full add -> [2] f32; [2] i64");
  assert_string_equal(CALL(r, "argmax", A_VALUE(x)), "reshape argmax full add -> [] i64");
  assert_string_equal(CALL(r, "argmax", A_VALUE(x), A_INT(-1), A_BOOL(true)),
                      "argmax full add -> [2, 1] i64");
  assert_string_equal(CALL(r, "any", A_VALUE(x), A_INT(1)), "cast any -> [3] bool");
  assert_string_equal(CALL(r, "softmax", A_VALUE(x), A_INT(-1)), "softmax -> [2, 3] f32");
  assert_string_equal(CALL(r, "logsumexp", A_VALUE(x), A_LIST(A_INT(1), A_INT(2)), A_BOOL(true)),
                      "logsumexp -> [1, 1] f32");
  assert_string_equal(
      CALL(r, "sum", A_VALUE(x), A_INT(0)),
      "error ARG: sum: dimension 0: dimensions count from 1 (or from the end: -1 is the last)");
  assert_string_equal(CALL(r, "sum", A_VALUE(x), A_INT(3)),
                      "error SHAPE: sum: dimension 3 is out of range for 2 dimensions (1 to 2, or -1 to -2)");
  assert_string_equal(CALL(r, "sum", A_VALUE(x), A_LIST(A_INT(2), A_INT(-1))),
                      "error ARG: sum: dimension 2 is named twice");
}

/* ---- products and layers ---- */

static void products(void **state) {
  struct recorder *r = *state;
  struct tc_value *v = INPUT(r, TC_F32, 3), *a = INPUT(r, TC_F32, 2, 3), *b = INPUT(r, TC_F32, 3, 4),
                  *t = INPUT(r, TC_F32, 5, 2, 3), *u = INPUT(r, TC_F32, 5, 3, 4);
  assert_string_equal(CALL(r, "matmul", A_VALUE(a), A_VALUE(b)), "matmul -> [2, 4] f32");
  assert_string_equal(CALL(r, "matmul", A_VALUE(v), A_VALUE(v)),
                      "unsqueeze unsqueeze matmul squeeze squeeze -> [] f32");
  assert_string_equal(CALL(r, "matmul", A_VALUE(a), A_VALUE(v)), "unsqueeze matmul squeeze -> [2] f32");
  assert_string_equal(CALL(r, "matmul", A_VALUE(v), A_VALUE(b)), "unsqueeze matmul squeeze -> [4] f32");
  assert_string_equal(CALL(r, "matmul", A_VALUE(v), A_VALUE(u)), "unsqueeze matmul squeeze -> [5, 4] f32");
  assert_string_equal(CALL(r, "matmul", A_VALUE(t), A_VALUE(b)), "reshape matmul reshape -> [5, 2, 4] f32");
  assert_string_equal(CALL(r, "matmul", A_VALUE(t), A_VALUE(v)),
                      "unsqueeze reshape matmul reshape squeeze -> [5, 2] f32");
  assert_string_equal(CALL(r, "bmm", A_VALUE(t), A_VALUE(u)), "matmul -> [5, 2, 4] f32");
  assert_string_equal(CALL(r, "matmul", A_VALUE(a), A_VALUE(a)),
                      "error SHAPE: matmul: [2, 3] and [2, 3]: the inner sizes 3 and 2 differ");
  assert_string_equal(CALL(r, "mm", A_VALUE(t), A_VALUE(b)),
                      "error SHAPE: mm: [5, 2, 3] f32 and [3, 4] f32: both operands must have 2 dimensions");
  assert_string_equal(
      CALL(r, "matmul", A_VALUE(a), A_VALUE(INPUT(r, TC_F64, 3, 3))),
      "error DTYPE: matmul: f32 and f64: the dtypes of operands 1 and 2 differ; cast one of them");
  assert_string_equal(
      CALL(r, "linear", A_VALUE(t), A_VALUE(INPUT(r, TC_F32, 7, 3)), A_VALUE(INPUT(r, TC_F32, 7))),
      "linear -> [5, 2, 7] f32");
  assert_string_equal(
      CALL(r, "linear", A_VALUE(t), A_VALUE(b)),
      "error SHAPE: linear: [5, 2, 3] and [3, 4]: the features of input and weight, 3 and 4 differ");
}

static void layers(void **state) {
  struct recorder *r = *state;
  struct tc_value *x = INPUT(r, TC_F32, 2, 4, 6), *w = INPUT(r, TC_F32, 6), *q = INPUT(r, TC_F32, 2, 4, 5, 8),
                  *m = INPUT(r, TC_BOOL, 5, 5);
  assert_string_equal(CALL(r, "layer_norm", A_VALUE(x), A_INT(6), A_VALUE(w), A_VALUE(w)),
                      "layer_norm -> [2, 4, 6] f32");
  assert_string_equal(CALL(r, "layer_norm", A_VALUE(x), A_LIST(A_INT(4), A_INT(6))),
                      "layer_norm -> [2, 4, 6] f32");
  assert_string_equal(CALL(r, "layer_norm", A_VALUE(x), A_INT(4)),
                      "error SHAPE: layer_norm: normalized_shape is not the last sizes of [2, 4, 6] f32");
  assert_string_equal(CALL(r, "rms_norm", A_VALUE(x), A_INT(6), A_VALUE(w)), "rms_norm -> [2, 4, 6] f32");
  assert_string_equal(CALL(r, "scaled_dot_product_attention", A_VALUE(q), A_VALUE(q), A_VALUE(q)),
                      "sdpa -> [2, 4, 5, 8] f32");
  assert_string_equal(CALL(r, "scaled_dot_product_attention", A_VALUE(q), A_VALUE(q), A_VALUE(q), A_VALUE(m)),
                      "full full where sdpa -> [2, 4, 5, 8] f32");
  assert_string_equal(
      CALL(r, "scaled_dot_product_attention", A_VALUE(q), A_VALUE(q), A_VALUE(q), A_VALUE(m), A_INT(0),
           A_BOOL(true)),
      "error ARG: scaled_dot_product_attention: attn_mask and is_causal can not both be given");
  assert_string_equal(CALL(r, "dropout", A_VALUE(x), A_NUM(0.25), A_BOOL(false)), "-> [2, 4, 6] f32");
  assert_string_equal(CALL(r, "dropout", A_VALUE(x), A_NUM(0.25)),
                      "rand full ge cast mul full mul -> [2, 4, 6] f32");
  assert_string_equal(CALL(r, "dropout", A_VALUE(x), A_NUM(1.25)),
                      "error ARG: dropout: the probability must lie between 0 and 1, got 1.25");
  assert_string_equal(CALL(r, "embedding", A_VALUE(INPUT(r, TC_I64, 2, 3)), A_VALUE(INPUT(r, TC_F32, 10, 4))),
                      "full sub embedding -> [2, 3, 4] f32");
  assert_string_equal(CALL(r, "embedding", A_VALUE(x), A_VALUE(INPUT(r, TC_F32, 10, 4))),
                      "error DTYPE: embedding: the index must be i64, not f32; cast with :long()");
}

/* ---- choosing and joining ---- */

static void slices(void **state) {
  struct recorder *r = *state;
  struct tc_value *x = INPUT(r, TC_F32, 4, 6);
  assert_string_equal(CALL(r, "select", A_VALUE(x), A_INT(1), A_INT(-1)), "slice squeeze -> [6] f32");
  assert_int_equal(tc_attr_int(&r->graph->nodes.data[r->graph->nodes.len - 2]->attrs, 1), 3);
  assert_string_equal(CALL(r, "select", A_VALUE(x), A_INT(1), A_INT(5)),
                      "error INDEX: select: index 5 is out of range for dimension 1 of size 4");
  assert_string_equal(CALL(r, "select", A_VALUE(x), A_INT(1), A_INT(0)),
                      "error INDEX: select: index 0: indices count from 1 (or from the end: -1 is the last)");
  assert_string_equal(CALL(r, "narrow", A_VALUE(x), A_INT(2), A_INT(3), A_INT(4)), "slice -> [4, 4] f32");
  assert_string_equal(CALL(r, "narrow", A_VALUE(x), A_INT(2), A_INT(7), A_INT(0)), "slice -> [4, 0] f32");
  assert_string_equal(CALL(r, "narrow", A_VALUE(x), A_INT(2), A_INT(3), A_INT(5)),
                      "error INDEX: narrow: 5 elements from 3 on do not lie in dimension 2 of size 6");
  assert_string_equal(CALL(r, "slice", A_VALUE(x), A_INT(2), A_INT(2), A_INT(4)), "slice -> [4, 3] f32");
  assert_string_equal(CALL(r, "slice", A_VALUE(x), A_INT(2), A_INT(-2)), "slice -> [4, 2] f32");
  assert_string_equal(CALL(r, "slice", A_VALUE(x), A_INT(2), A_INT(1), A_INT(100), A_INT(4)),
                      "slice -> [4, 2] f32");
  assert_string_equal(CALL(r, "slice", A_VALUE(x), A_INT(2), A_INT(4), A_INT(2)), "slice -> [4, 0] f32");
  assert_string_equal(CALL(r, "slice", A_VALUE(x), A_INT(2), A_INT(0), A_INT(2)),
                      "error INDEX: slice: start 0: indices count from 1 (or from the end: -1 is the last)");
}

static void pieces(void **state) {
  struct recorder *r = *state;
  struct tc_value *x = INPUT(r, TC_F32, 4, 6);
  assert_string_equal(CALL(r, "split", A_VALUE(x), A_INT(4), A_INT(2)),
                      "slice slice -> [4, 4] f32; [4, 2] f32");
  assert_string_equal(CALL(r, "split", A_VALUE(x), A_LIST(A_INT(1), A_INT(3))),
                      "slice slice -> [1, 6] f32; [3, 6] f32");
  assert_string_equal(CALL(r, "split", A_VALUE(x), A_LIST(A_INT(1), A_INT(2))),
                      "error SHAPE: split: the 2 sizes sum to 3, and dimension 1 has size 4");
  assert_string_equal(CALL(r, "chunk", A_VALUE(x), A_INT(4), A_INT(2)),
                      "slice slice slice -> [4, 2] f32; [4, 2] f32; [4, 2] f32");
  assert_string_equal(CALL(r, "unbind", A_VALUE(INPUT(r, TC_F32, 2, 3))),
                      "slice squeeze slice squeeze -> [3] f32; [3] f32");
  assert_string_equal(CALL(r, "split", A_VALUE(INPUT(r, TC_F32, 0, 3)), A_INT(2)), "slice -> [0, 3] f32");
  assert_string_equal(CALL(r, "unbind", A_VALUE(INPUT(r, TC_F32, 1000))),
                      "error LIMIT: unbind: more than 256 results");
}

static void joining_and_indexing(void **state) {
  struct recorder *r = *state;
  struct tc_value *x = INPUT(r, TC_F32, 2, 3), *n = INPUT(r, TC_I64, 2, 3), *i = INPUT(r, TC_I64, 5),
                  *e = INPUT(r, TC_F32, 0);
  assert_string_equal(CALL(r, "cat", A_LIST(A_VALUE(x), A_VALUE(n)), A_INT(2)), "cast cat -> [2, 6] f32");
  assert_string_equal(CALL(r, "cat", A_LIST(A_VALUE(e), A_VALUE(x))), "cat -> [2, 3] f32");
  assert_string_equal(CALL(r, "stack", A_LIST(A_VALUE(x), A_VALUE(x)), A_INT(-1)),
                      "unsqueeze unsqueeze cat -> [2, 3, 2] f32");
  assert_string_equal(CALL(r, "cat", A_EMPTY), "error ARG: cat: the list of tensors is empty");
  assert_string_equal(CALL(r, "cat", A_LIST(A_VALUE(x), A_INT(1))),
                      "error ARG: cat: item 2 of the list must be a tensor, got an integer");
  assert_string_equal(CALL(r, "cat", A_LIST(A_VALUE(x), A_VALUE(INPUT(r, TC_F32, 2, 4)))),
                      "error SHAPE: cat: [2, 3] and [2, 4]: operand 2 differs from the first in dimension 2; "
                      "only dimension 1 may differ");
  assert_string_equal(CALL(r, "index_select", A_VALUE(x), A_INT(2), A_VALUE(i)),
                      "full sub index_select -> [2, 5] f32");
  assert_string_equal(CALL(r, "gather", A_VALUE(x), A_INT(1), A_VALUE(n)), "full sub gather -> [2, 3] f32");
  assert_string_equal(CALL(r, "gather", A_VALUE(INPUT0(r, TC_F32)), A_INT(1), A_VALUE(INPUT0(r, TC_I64))),
                      "full sub unsqueeze unsqueeze gather squeeze -> [] f32");
  assert_string_equal(
      CALL(r, "gather", A_VALUE(INPUT(r, TC_F32, 0, 3)), A_INT(1), A_VALUE(n)),
      "error INDEX: gather: [0, 3] and [2, 3]: dimension 1 is empty, so that no index lies in it");
}

/* More operands than an operation takes: a tree. */
static void joining_many(void **state) {
  enum { COUNT = 130 };
  struct recorder *r = *state;
  struct tc_arg items[COUNT];
  for (int i = 0; i < COUNT; i++) items[i] = (struct tc_arg)A_VALUE(INPUT(r, TC_F32, 2, 3));
  const struct tc_arg list = {TC_ARG_LIST, .list = {items, COUNT}};
  assert_string_equal(CALL(r, "cat", list), "cat cat cat cat -> [260, 3] f32");
  items[COUNT - 1] = (struct tc_arg)A_VALUE(INPUT(r, TC_F32, 2, 4));
  assert_string_equal(
      CALL(r, "cat", list),
      "error SHAPE: cat: item 130 of the list is [2, 4] f32, which does not fit the first, [2, 3] f32");
  assert_string_equal(CALL(r, "cat", list, A_INT(2)), "cat cat cat cat -> [2, 391] f32");
}

/* ---- shape ---- */

static void shapes(void **state) {
  struct recorder *r = *state;
  struct tc_value *x = INPUT(r, TC_F32, 2, 3, 4), *o = INPUT(r, TC_F32, 1, 3, 1);
  assert_string_equal(CALL(r, "reshape", A_VALUE(x), A_INT(-1), A_INT(8)), "reshape -> [3, 8] f32");
  assert_string_equal(
      CALL(r, "reshape", A_VALUE(x), A_INT(-1), A_INT(7)),
      "error SHAPE: reshape: [-1, 7] of 24 elements: the sizes do not divide the number of elements");
  assert_string_equal(CALL(r, "view", A_VALUE(x), A_INT(-1), A_INT(-1)),
                      "error ARG: view: [-1, -1] of 24 elements: only one size can be -1");
  assert_string_equal(CALL(r, "view", A_VALUE(x), A_INT(5)),
                      "error SHAPE: view: [2, 3, 4]: 24 elements can not be seen as 5");
  assert_string_equal(CALL(r, "flatten", A_VALUE(x)), "reshape -> [24] f32");
  assert_string_equal(CALL(r, "flatten", A_VALUE(x), A_INT(2)), "reshape -> [2, 12] f32");
  assert_string_equal(CALL(r, "unflatten", A_VALUE(x), A_INT(-1), A_LIST(A_INT(2), A_INT(-1))),
                      "reshape -> [2, 3, 2, 2] f32");
  assert_string_equal(CALL(r, "permute", A_VALUE(x), A_INT(3), A_INT(1), A_INT(2)),
                      "permute -> [4, 2, 3] f32");
  assert_string_equal(CALL(r, "permute", A_VALUE(x), A_INT(3), A_INT(1)),
                      "error ARG: permute: 2 dimensions are named, the tensor has 3");
  assert_string_equal(CALL(r, "transpose", A_VALUE(x), A_INT(1), A_INT(-1)), "permute -> [4, 3, 2] f32");
  assert_string_equal(CALL(r, "t", A_VALUE(x)),
                      "error SHAPE: t: takes at most 2 dimensions, got 3; use transpose");
  assert_string_equal(CALL(r, "expand", A_VALUE(o), A_INT(5), A_INT(2), A_INT(-1), A_INT(4)),
                      "expand -> [5, 2, 3, 4] f32");
  assert_string_equal(CALL(r, "expand_as", A_VALUE(o), A_VALUE(x)), "expand -> [2, 3, 4] f32");
  assert_string_equal(
      CALL(r, "expand", A_VALUE(x), A_INT(4), A_INT(3), A_INT(4)),
      "error SHAPE: expand: [2, 3, 4]: dimension 1 has another size than 1 and can not be expanded");
  assert_string_equal(CALL(r, "squeeze", A_VALUE(o)), "squeeze -> [3] f32");
  assert_string_equal(CALL(r, "squeeze", A_VALUE(o), A_INT(2)), "-> [1, 3, 1] f32");
  assert_string_equal(CALL(r, "unsqueeze", A_VALUE(x), A_INT(-1)), "unsqueeze -> [2, 3, 4, 1] f32");
  assert_string_equal(CALL(r, "flip", A_VALUE(x), A_INT(1)), "flip -> [2, 3, 4] f32");
  assert_string_equal(CALL(r, "pad", A_VALUE(x), A_LIST(A_INT(1), A_INT(2))), "pad -> [2, 3, 7] f32");
  assert_string_equal(CALL(r, "pad", A_VALUE(x), A_LIST(A_INT(-1), A_INT(2))), "slice pad -> [2, 3, 5] f32");
  assert_string_equal(CALL(r, "tril", A_VALUE(x), A_INT(-1)), "tril -> [2, 3, 4] f32");
  assert_string_equal(CALL(r, "contiguous", A_VALUE(x)), "-> [2, 3, 4] f32"); /* an input in rows is itself */
  struct tc_value *turned = NULL;
  const tc_sym order[] = {tc_sym_const(2), tc_sym_const(0), tc_sym_const(1)};
  assert_int_equal(tc_emit(&r->gb.builder, TC_OP_permute, 1, &x,
                           &(struct tc_attrs){.ints = order, .n_ints = 3}, &turned, NULL),
                   TC_OK);
  assert_string_equal(CALL(r, "contiguous", A_VALUE(turned)), "clone -> [4, 2, 3] f32");
}

/* Symbolic sizes pass through and become facts where a decision hangs on them. */
static void symbolic_sizes(void **state) {
  struct recorder *r = *state;
  const tc_sym n = tc_sym_size(r->graph->tab, 0, 32), strides[] = {tc_sym_const(8), tc_sym_const(1)};
  const struct tc_meta meta = {.dtype = TC_F32, .ndim = 2, .sizes = {n, tc_sym_const(8)}};
  struct tc_value *x = tc_value_of(tc_graph_input(r->graph, &meta, strides));
  assert_string_equal(CALL(r, "reshape", A_VALUE(x), A_INT(-1)), "reshape -> [s0*8] f32");
  assert_string_equal(CALL(r, "matmul", A_VALUE(x), A_VALUE(INPUT(r, TC_F32, 8, 5))),
                      "matmul -> [s0, 5] f32");
  const int before = tc_sym_fact_count(r->graph->tab);
  assert_string_equal(CALL(r, "add", A_VALUE(x), A_VALUE(INPUT(r, TC_F32, 32, 8))), "add -> [32, 8] f32");
  assert_true(tc_sym_fact_count(r->graph->tab) > before);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(binder_orders_arguments),
      TEST(binder_explains_errors),
      TEST(rest_takes_numbers_or_a_list),
      TEST(every_function_has_a_sound_row),
      TEST(creation_reads_options),
      TEST(creation_takes_a_case_table),
      TEST(casts),
      TEST(pointwise_functions),
      TEST(powers_and_divisions),
      TEST(reductions),
      TEST(products),
      TEST(layers),
      TEST(slices),
      TEST(pieces),
      TEST(joining_and_indexing),
      TEST(joining_many),
      TEST(integers_of_64_bits),
      TEST(shapes),
      TEST(symbolic_sizes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
