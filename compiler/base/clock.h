/* The one clock: CLOCK_MONOTONIC in nanoseconds, the same in all processes of a machine. */
#ifndef TC_BASE_CLOCK_H
#define TC_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

enum { TC_NS_PER_S = 1000000000, TC_NS_PER_MS = 1000000 };

static inline int64_t tc_clock_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * TC_NS_PER_S + t.tv_nsec;
}
/* The same for figures: exact to a nanosecond until the machine has run for a hundred days. */
static inline double tc_now_ns(void) { return (double)tc_clock_ns(); }

static inline void tc_sleep_ns(int64_t ns) {
  const struct timespec t = {ns / TC_NS_PER_S, ns % TC_NS_PER_S};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

#endif
