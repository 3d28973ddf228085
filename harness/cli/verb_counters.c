/* `tbench counters`: which counters this machine has, with what they count over a short loop, and why others
 * are missing. */
#include <stdio.h>

#include "harness/base/verb.h"
#include "harness/cli/verbs.h"
#include "harness/machine/counter_selection.h"
#include "harness/machine/counters.h"

enum { LOOP = 10000000 };

int tb_verb_counters(int argc, char *const *argv) {
  struct tb_verb verb;
  if (!tb_verb_begin(&verb, "counters", argc, argv, 0)) return TB_EXIT_USAGE;
  const int n = tb_counter_count();
  struct tb_count *counts = TC_NEW_ARRAY(tc_arena_alloc(verb.arena), struct tb_count, (size_t)n);
  struct tb_counting *counting = counts ? tb_counting_open() : NULL;
  int code = TB_EXIT_PASS, known = 0;
  if (!counting) {
    code = tb_verb_failed("counters", "out of memory");
  } else {
    tb_counting_begin(counting);
    volatile double sum = 0;
    for (int i = 0; i < LOOP; i++) sum += i;
    tb_counting_end(counting);
    tb_counting_close(counting, counts);
    printf("over a loop of %d additions:\n", LOOP);
    for (int i = 0; i < n; i++) {
      known += counts[i].known;
      if (counts[i].known)
        printf("  %-18s %15.0f  %s\n", tb_counter_name(i), counts[i].value, tb_counter_help(i));
      else
        printf("  %-18s %15s  %s: %s\n", tb_counter_name(i), "null", tb_counter_help(i), counts[i].why);
    }
    printf("%d of %d available\n", known, n);
    puts("sets, as counters=papi:NAME of tbench run:");
    for (int i = 0; i < tb_counter_set_count(); i++)
      printf("  %-18s %s: %s\n", tb_counter_set_name(i), tb_counter_set_help(i), tb_counter_set_members(i));
  }
  tb_verb_end(&verb);
  return code;
}
