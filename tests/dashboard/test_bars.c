/* Charts of ratios: whatever the ratios are, bars and ticks lie on the axis, labels keep apart, and texts are
 * escaped. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dashboard/pages/bars.h"

enum { PLACES = 256 };

struct drawn {
  struct tc_strbuf text;
  double bars[PLACES], widths[PLACES], ticks[PLACES], labels[PLACES];
  int n_bars, n_ticks, n_labels, n_caps;
};

/* Numbers behind each `before` within [from, …). */
static int numbers(const char *from, const char *before, double *out) {
  int n = 0;
  for (const char *at = from; (at = strstr(at, before)) && n < PLACES;)
    out[n++] = strtod(at += strlen(before), NULL);
  return n;
}

static int count(const char *text, const char *what) {
  int n = 0;
  for (const char *at = text; (at = strstr(at, what)); at += strlen(what)) n++;
  return n;
}

static void draw(struct drawn *d, const struct tb_bar *bars, int n) {
  struct tb_bar_range range = tb_bar_range_none;
  *d = (struct drawn){0};
  tc_strbuf_init(&d->text, tc_alloc_system());
  for (int i = 0; i < n; i++) tb_bar_range_add(&range, &bars[i]);
  tb_web_bars(&d->text, "a <title>", "one over the other", bars, n, &range);
  const char *text = tc_strbuf_text(&d->text);
  assert_non_null(text);
  assert_null(strstr(text, "nan"));
  assert_null(strstr(text, "inf"));
  assert_null(strstr(text, "<title>"));
  char *row = strdup(text), *ticks = strdup(strstr(text, "<svg class=ticks>"));
  assert_true(row && ticks);
  d->n_labels = numbers(ticks, "<text x=\"", d->labels);
  d->n_bars = numbers(row, "<rect class=more x=\"", d->bars);
  d->n_caps = count(row, "y1=\"32%\"");
  d->n_ticks = numbers(row, "<line class=grid x1=\"", d->ticks);
  numbers(row, "\" width=\"", d->widths);
  for (int i = 0; i < d->n_bars; i++) assert_true(d->bars[i] >= 0 && d->bars[i] + d->widths[i] <= 100.011);
  for (int i = 0; i < d->n_ticks; i++) assert_true(d->ticks[i] >= 0 && d->ticks[i] <= 100);
  for (int i = 0; i < d->n_labels; i++)
    for (int k = 0; k < i; k++) assert_true(fabs(d->labels[i] - d->labels[k]) >= 20);
  free(row);
  free(ticks);
}

static void done(struct drawn *d) { tc_strbuf_free(&d->text); }

static struct tb_bar bar_of(double ratio, double lo, double hi) {
  return (struct tb_bar){"x & <y>", ratio, lo, hi, TB_BAR_MORE};
}

static void test_logarithmic(void **state) {
  const struct tb_bar bars[] = {bar_of(2, NAN, NAN), bar_of(4, NAN, NAN), bar_of(0.5, NAN, NAN)};
  struct drawn d;
  (void)state;
  draw(&d, bars, 3);
  assert_int_equal(d.n_bars, 3);
  assert_float_equal(d.widths[1], 2 * d.widths[0], 0.03);
  assert_float_equal(d.bars[2] + d.widths[2], d.bars[0], 0.03); /* both begin at 1 */
  assert_float_equal(d.widths[2], d.widths[0], 0.03);
  assert_non_null(strstr(d.text.data, "x &amp; &lt;y&gt;"));
  assert_non_null(strstr(d.text.data, ">1×<"));
  done(&d);
}

static void test_intervals(void **state) {
  const struct tb_bar bars[] = {bar_of(1.1, 1.05, 1.15), bar_of(1.2, 1e-6, 1e6)};
  struct drawn d;
  (void)state;
  draw(&d, bars, 2);
  assert_int_equal(d.n_caps, 2); /* the ends of the second one are beyond the axis */
  assert_true(d.widths[1] > 15); /* a wide interval leaves the ratios room */
  done(&d);
}

static void test_any_ratio(void **state) {
  static const double values[] = {1, 1 + 1e-9, 1e-300, 1e300, 0, -1, NAN, INFINITY, 0.999, 1.001, 3, 1e-3};
  enum { COUNT = sizeof values / sizeof *values };
  (void)state;
  for (int i = 0; i < COUNT; i++)
    for (int k = 0; k < COUNT; k++) {
      const struct tb_bar bars[] = {bar_of(values[i], values[k], values[(k + i) % COUNT]),
                                    bar_of(values[k], NAN, NAN)};
      struct drawn d;
      draw(&d, bars, 2);
      assert_int_equal(count(d.text.data, "bar-row"), 2);
      assert_true(d.n_ticks >= 1 && d.n_labels >= 1 && d.n_labels <= d.n_ticks);
      done(&d);
    }
}

static void test_nothing(void **state) {
  struct drawn d;
  (void)state;
  draw(&d, NULL, 0);
  assert_int_equal(d.n_bars, 0);
  assert_true(d.n_labels > 2); /* an axis around 1 */
  done(&d);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_logarithmic), cmocka_unit_test(test_intervals),
                                     cmocka_unit_test(test_any_ratio), cmocka_unit_test(test_nothing)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
