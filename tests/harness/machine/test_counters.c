/* Counters count what stands between begin and end: neither their own setting up and reading, nor what comes
 * before or after. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/machine/counters.h"

/* SPARE: faults of others, which are this program's own pages, and with a sanitizer one of its shadow for
 * each eight. */
enum { PAGES = 400, SPARE = 40 + PAGES / 8 };

/* Touches fresh pages, one fault each. */
static void touch(int pages) {
  if (!pages) return;
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = page * (size_t)pages;
  char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_ptr_not_equal(memory, MAP_FAILED);
  madvise(memory, bytes, MADV_NOHUGEPAGE);
  for (int i = 0; i < pages; i++) memory[page * (size_t)i] = 1;
  munmap(memory, bytes);
}

static const struct tb_count *find(const struct tb_count *counts, const char *name) {
  for (int i = 0; i < tb_counter_count(); i++)
    if (!strcmp(counts[i].name, name)) return &counts[i];
  fail_msg("there is no counter '%s'", name);
  return NULL;
}

/* Page faults between begin and end. */
static double faults(int before, int between, int after) {
  struct tb_count *counts = calloc((size_t)tb_counter_count(), sizeof *counts);
  struct tb_counting *counting = tb_counting_open();
  assert_non_null(counts);
  assert_non_null(counting);
  touch(before);
  tb_counting_begin(counting);
  touch(between);
  tb_counting_end(counting);
  touch(after);
  tb_counting_close(counting, counts);
  const struct tb_count *count = find(counts, "page_faults");
  assert_true(count->known);
  const double value = count->value;
  free(counts);
  return value;
}

static void test_only_what_stands_between(void **state) {
  (void)state;
  const double counted = faults(PAGES, PAGES, PAGES);
  assert_true(counted >= PAGES && counted < PAGES + SPARE);
  assert_true(faults(PAGES, 0, PAGES) < SPARE);
}

static void test_a_second_pair_counts_anew(void **state) {
  (void)state;
  struct tb_count *counts = calloc((size_t)tb_counter_count(), sizeof *counts);
  struct tb_counting *counting = tb_counting_open();
  tb_counting_begin(counting);
  touch(PAGES);
  tb_counting_end(counting);
  tb_counting_begin(counting);
  tb_counting_end(counting);
  tb_counting_close(counting, counts);
  assert_true(find(counts, "page_faults")->value < SPARE);
  free(counts);
}

/* What is not known has its reason; what is known is never negative, though the cost of reading is taken
 * off. */
static void test_known_or_with_a_reason(void **state) {
  (void)state;
  struct tb_count *counts = calloc((size_t)tb_counter_count(), sizeof *counts);
  struct tb_counting *counting = tb_counting_open();
  tb_counting_begin(counting);
  tb_counting_end(counting);
  tb_counting_close(counting, counts);
  for (int i = 0; i < tb_counter_count(); i++) {
    assert_string_equal(counts[i].name, tb_counter_name(i));
    if (counts[i].known)
      assert_true(counts[i].value >= 0);
    else
      assert_true(*counts[i].why);
  }
  free(counts);
  tb_counting_close(tb_counting_open(), NULL);
  tb_counting_close(NULL, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_only_what_stands_between),
      cmocka_unit_test(test_a_second_pair_counts_anew),
      cmocka_unit_test(test_known_or_with_a_reason),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
