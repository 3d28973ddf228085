/* The searches of tbench bisect, against every answer that could be the right one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "harness/compare/bisect_search.h"

struct planted {
  long long bad_from, asked, unsure_at;
};

static enum tb_bad is_bad(void *self, long long n) {
  struct planted *p = self;
  p->asked++;
  if (n == p->unsure_at) return TB_BAD_UNSURE;
  return n >= p->bad_from ? TB_BAD_YES : TB_BAD_NO;
}

static void test_least(void **state) {
  (void)state;
  enum { MOST = 70, LOG_MOST = 7 };
  for (long long end = 1; end <= MOST; end++)
    for (long long from = 1; from <= end; from++) {
      struct planted p = {from, 0, -1};
      long long n = 0;
      assert_int_equal(tb_search_least(&p, is_bad, 0, end, &n), TB_BAD_YES);
      assert_int_equal(n, from);
      assert_true(p.asked <= LOG_MOST);
    }
}

static void test_least_ends_at_what_cannot_be_told(void **state) {
  (void)state;
  enum { END = 16, MIDDLE = 8 };
  struct planted p = {5, 0, MIDDLE};
  long long n = 0;
  assert_int_equal(tb_search_least(&p, is_bad, 0, END, &n), TB_BAD_UNSURE);
  assert_int_equal(n, MIDDLE);
}

enum { ELEMENTS = 9 };
struct guilty {
  bool needed[ELEMENTS];
  int asked, stop_at;
};

/* Bad with all that is needed. */
static enum tb_bad holds_all(void *self, const bool *in) {
  struct guilty *g = self;
  if (++g->asked == g->stop_at) return TB_BAD_STOP;
  for (int i = 0; i < ELEMENTS; i++)
    if (g->needed[i] && !in[i]) return TB_BAD_NO;
  return TB_BAD_YES;
}

static void test_subset_is_what_is_needed(void **state) {
  (void)state;
  for (unsigned set = 1; set < 1u << ELEMENTS; set++) {
    struct guilty g = {.asked = 0};
    bool in[ELEMENTS];
    for (int i = 0; i < ELEMENTS; i++) g.needed[i] = set >> i & 1, in[i] = true;
    assert_int_equal(tb_search_subset(&g, holds_all, in, ELEMENTS), TB_BAD_YES);
    assert_memory_equal(in, g.needed, sizeof in);
  }
}

/* Either of two suffices: one of them is left. */
static enum tb_bad holds_either(void *self, const bool *in) {
  return (void)self, in[2] || in[7] ? TB_BAD_YES : TB_BAD_NO;
}

static void test_subset_is_minimal(void **state) {
  (void)state;
  bool in[ELEMENTS];
  memset(in, true, sizeof in);
  assert_int_equal(tb_search_subset(NULL, holds_either, in, ELEMENTS), TB_BAD_YES);
  int left = 0;
  for (int i = 0; i < ELEMENTS; i++) left += in[i];
  assert_int_equal(left, 1);
  assert_true(in[2] || in[7]);
}

/* A second cause is searched for in what the first one left. */
static void test_subset_stays_in_what_it_began_with(void **state) {
  (void)state;
  bool in[ELEMENTS];
  for (int i = 0; i < ELEMENTS; i++) in[i] = i != 2 && i != 4;
  assert_int_equal(tb_search_subset(NULL, holds_either, in, ELEMENTS), TB_BAD_YES);
  for (int i = 0; i < ELEMENTS; i++) assert_int_equal(in[i], i == 7);
}

static enum tb_bad never_told(void *self, const bool *in) { return (void)self, (void)in, TB_BAD_UNSURE; }

static void test_subset_says_what_was_not_told(void **state) {
  (void)state;
  struct guilty g = {.needed = {true, false, true}, .stop_at = 3};
  bool in[ELEMENTS];
  memset(in, true, sizeof in);
  assert_int_equal(tb_search_subset(&g, holds_all, in, ELEMENTS), TB_BAD_STOP);
  memset(in, true, sizeof in);
  assert_int_equal(tb_search_subset(NULL, never_told, in, ELEMENTS), TB_BAD_UNSURE);
  for (int i = 0; i < ELEMENTS; i++) assert_true(in[i]); /* nothing is concluded from it */
  in[0] = true;
  assert_int_equal(tb_search_subset(NULL, never_told, in, 1), TB_BAD_YES); /* one alone is not asked for */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_least),
      cmocka_unit_test(test_least_ends_at_what_cannot_be_told),
      cmocka_unit_test(test_subset_is_what_is_needed),
      cmocka_unit_test(test_subset_is_minimal),
      cmocka_unit_test(test_subset_stays_in_what_it_began_with),
      cmocka_unit_test(test_subset_says_what_was_not_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
