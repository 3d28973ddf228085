/* Hardware and software counters of this process through PAPI; what the system counts itself where PAPI cannot.
 *
 * Counted over all threads that the process has when counting starts. What the machine does not have is told with its
 * reason, never as 0. Threads: one at a time. */
#ifndef TB_COUNTERS_H
#define TB_COUNTERS_H

#include <stdbool.h>

enum { TB_COUNTER_WHY = 120 };

struct tb_count {
  const char *name; /* static */
  bool known;
  double value;
  char why[TB_COUNTER_WHY]; /* where not known */
};

struct tb_counting;

/* Names in the order of tb_counting_stop's array. */
int tb_counter_count(void);
const char *tb_counter_name(int index);
const char *tb_counter_help(int index);

/* Sets all counters up and starts them; NULL when memory is out. */
struct tb_counting *tb_counting_start(void);
/* Stops, fills counts[tb_counter_count()] and frees. NULL is fine (nothing is filled). */
void tb_counting_stop(struct tb_counting *counting, struct tb_count *counts);

#endif
