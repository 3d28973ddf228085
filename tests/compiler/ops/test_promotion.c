/* Type promotion: a table of PyTorch's results. Operands are tensors with dimensions (d), 0-dimensional
 * tensors (z), or numbers; the default dtype is f32 unless a row says otherwise. */
#include "tests/compiler/ops/recorder.h"

enum class { D, Z, INT, NUM, BOOL };
struct operand {
  enum class class;
  tc_dtype dtype;
};
#define d(T) {D, TC_##T}
#define z(T) {Z, TC_##T}
#define i_   {INT, TC_I64}
#define f_   {NUM, TC_F32}
#define b_   {BOOL, TC_BOOL}

struct row {
  const char *function;
  struct operand x, y;
  tc_dtype result;
};

static const struct row rows[] = {
    /* one class: the larger dtype */
    {"add", d(F32), d(F32), TC_F32},
    {"add", d(F32), d(F64), TC_F64},
    {"add", d(BF16), d(F32), TC_F32},
    {"add", d(I64), d(F32), TC_F32},
    {"add", d(I64), d(BF16), TC_BF16},
    {"add", d(BOOL), d(I64), TC_I64},
    {"add", d(BOOL), d(BF16), TC_BF16},
    {"add", d(BOOL), d(BOOL), TC_BOOL},
    {"mul", d(BOOL), d(BOOL), TC_BOOL},
    {"maximum", d(BOOL), d(BOOL), TC_BOOL},
    {"add", z(F64), z(F32), TC_F64},
    /* a 0-dimensional tensor changes the category only */
    {"add", d(F32), z(F64), TC_F32},
    {"add", d(BF16), z(F64), TC_BF16},
    {"add", d(I64), z(F64), TC_F64},
    {"add", d(I64), z(BF16), TC_BF16},
    {"add", d(BOOL), z(I64), TC_I64},
    {"add", z(F64), d(I64), TC_F64},
    {"add", d(F32), z(I64), TC_F32},
    {"add", z(BOOL), d(I64), TC_I64},
    /* a number is weaker still */
    {"add", d(BF16), f_, TC_BF16},
    {"add", d(F64), f_, TC_F64},
    {"add", d(F32), i_, TC_F32},
    {"add", d(I64), i_, TC_I64},
    {"add", d(I64), f_, TC_F32},
    {"add", d(BOOL), i_, TC_I64},
    {"add", d(BOOL), f_, TC_F32},
    {"add", d(BOOL), b_, TC_BOOL},
    {"add", d(I64), b_, TC_I64},
    {"add", z(BF16), f_, TC_BF16},
    {"add", z(I64), f_, TC_F32},
    {"add", z(BOOL), i_, TC_I64},
    {"add", f_, d(BF16), TC_BF16},
    {"sub", i_, d(F64), TC_F64},
    /* true division is of real numbers */
    {"div", d(I64), d(I64), TC_F32},
    {"div", d(I64), i_, TC_F32},
    {"div", d(BOOL), d(BOOL), TC_F32},
    {"div", d(BF16), i_, TC_BF16},
    {"div", d(I64), d(F64), TC_F64},
    {"floor_divide", d(I64), i_, TC_I64},
    {"floor_divide", d(I64), f_, TC_F32},
    {"remainder", d(I64), d(I64), TC_I64},
    {"remainder", d(BF16), i_, TC_BF16},
    {"pow", d(I64), i_, TC_I64},
    {"pow", d(I64), f_, TC_F32},
    {"pow", f_, d(I64), TC_F32},
    {"pow", d(BF16), d(F32), TC_F32},
    /* comparisons and logic give bool */
    {"lt", d(I64), f_, TC_BOOL},
    {"eq", d(BF16), d(F64), TC_BOOL},
    {"logical_and", d(F32), d(I64), TC_BOOL},
};

static struct tc_arg argument(struct recorder *r, const struct operand *o) {
  switch (o->class) {
    case D: return (struct tc_arg)A_VALUE(INPUT(r, o->dtype, 3));
    case Z: return (struct tc_arg)A_VALUE(INPUT0(r, o->dtype));
    case INT: return (struct tc_arg)A_INT(3);
    case NUM: return (struct tc_arg)A_NUM(3.25);
    default: return (struct tc_arg)A_BOOL(true);
  }
}

static tc_dtype result_dtype(struct recorder *r, const char *text) {
  struct tc_meta meta;
  if (!strncmp(text, "error", 5)) fail_msg("%s", text);
  assert_int_equal(r->results.count, 1);
  tc_value_meta(&r->gb.builder, r->results.values[0], &meta);
  return meta.dtype;
}

static void two_operands(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct recorder r = {0};
    recorder_open(&r);
    const tc_dtype got =
        result_dtype(&r, record_named(&r, rows[i].function,
                                      ARGS(argument(&r, &rows[i].x), argument(&r, &rows[i].y)), NULL, 0));
    if (got != rows[i].result)
      fail_msg("row %zu (%s): %s instead of %s", i + 1, rows[i].function, tc_dtype_name(got),
               tc_dtype_name(rows[i].result));
    recorder_close(&r);
  }
}

/* The larger dtype of two symmetric operands does not depend on their order. */
static void order_does_not_matter(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (strcmp(rows[i].function, "add")) continue;
    struct recorder r = {0};
    recorder_open(&r);
    const tc_dtype got = result_dtype(
        &r, record_named(&r, "add", ARGS(argument(&r, &rows[i].y), argument(&r, &rows[i].x)), NULL, 0));
    assert_int_equal(got, rows[i].result);
    recorder_close(&r);
  }
}

static void one_operand(void **state) {
  (void)state;
  static const struct {
    const char *function;
    tc_dtype x, result;
  } unary[] = {
      {"exp", TC_I64, TC_F32},    {"exp", TC_BOOL, TC_F32},   {"exp", TC_BF16, TC_BF16},
      {"neg", TC_I64, TC_I64},    {"abs", TC_F64, TC_F64},    {"sum", TC_BOOL, TC_I64},
      {"sum", TC_BF16, TC_BF16},  {"prod", TC_I64, TC_I64},   {"amax", TC_I64, TC_I64},
      {"amax", TC_BOOL, TC_BOOL}, {"argmax", TC_F32, TC_I64}, {"any", TC_F32, TC_BOOL},
      {"isnan", TC_I64, TC_BOOL}, {"mean", TC_BF16, TC_BF16}, {"square", TC_BOOL, TC_I64},
  };
  for (size_t i = 0; i < sizeof unary / sizeof *unary; i++) {
    struct recorder r = {0};
    recorder_open(&r);
    const tc_dtype got = result_dtype(&r, CALL(&r, unary[i].function, A_VALUE(INPUT(&r, unary[i].x, 3))));
    if (got != unary[i].result)
      fail_msg("%s(%s): %s", unary[i].function, tc_dtype_name(unary[i].x), tc_dtype_name(got));
    recorder_close(&r);
  }
}

static void default_dtype_is_the_builders(void **state) {
  (void)state;
  struct recorder r = {0};
  recorder_open(&r);
  r.gb.builder.default_dtype = TC_F64;
  assert_string_equal(CALL(&r, "exp", A_VALUE(INPUT(&r, TC_I64, 3))), "cast exp -> [3] f64");
  assert_string_equal(CALL(&r, "add", A_VALUE(INPUT(&r, TC_I64, 3)), A_NUM(0.5)), "cast full add -> [3] f64");
  assert_string_equal(CALL(&r, "zeros", A_INT(2)), "full -> [2] f64");
  recorder_close(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(two_operands),
      cmocka_unit_test(order_does_not_matter),
      cmocka_unit_test(one_operand),
      cmocka_unit_test(default_dtype_is_the_builders),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
