/* The calibration kernel: the same work in every build, whatever is around it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/machine/calibration.h"

static double checksum(int64_t warm, int64_t calls) {
  struct tb_calibration *calibration = tb_calibration_open();
  assert_non_null(calibration);
  assert_true(tb_calibration_block(calibration, warm, calls) > 0);
  const double sum = tb_calibration_checksum(calibration);
  tb_calibration_close(calibration);
  return sum;
}

/* Version 1. Another value means other work: raise the version. */
static void test_work_is_fixed(void **state) {
  (void)state;
  assert_int_equal(TB_CALIBRATION_VERSION, 1);
  assert_float_equal(checksum(0, 1), 14.943732500076294, 0);
  assert_float_equal(checksum(3, 17), 293.56859064102173, 0); /* once around its memory, and on */
  assert_float_equal(checksum(10, 10), 293.56859064102173, 0);
}

static void test_closes_nothing(void **state) {
  (void)state;
  tb_calibration_close(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_work_is_fixed),
                                     cmocka_unit_test(test_closes_nothing)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
