/* Hardware and software counters of this process through PAPI; what the system counts itself where PAPI
 * cannot.
 *
 * Counted over all threads that the process has at open, from begin to end, without what reading the counters
 * itself costs. What the machine does not have is told with its reason, never as 0. Threads: one at a
 * time. */
#ifndef TB_COUNTERS_H
#define TB_COUNTERS_H

#include <stdbool.h>

enum { TB_COUNTER_WHY = 120 };

struct tb_count {
  const char *name; /* static */
  bool known;
  double value;
  bool multiplexed; /* it took turns with others on the machine's counters: the value is scaled to the whole
                       time */
  char why[TB_COUNTER_WHY]; /* where not known */
};

struct tb_counting;

/* Names in the order of tb_counting_close's array. */
int tb_counter_count(void);
const char *tb_counter_name(int index);
const char *tb_counter_help(int index);

/* Sets all counters up, or those of `names` (with commas); NULL when memory is out. */
struct tb_counting *tb_counting_open(void);
struct tb_counting *tb_counting_open_named(const char *names);
/* Around what is counted; a second pair counts anew. */
void tb_counting_begin(struct tb_counting *counting);
void tb_counting_end(struct tb_counting *counting);
/* Fills counts[tb_counter_count()] (unless NULL) with what stood between begin and end, and frees. NULL is
 * fine (nothing is filled). */
void tb_counting_close(struct tb_counting *counting, struct tb_count *counts);

#endif
