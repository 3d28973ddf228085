/* The monotonic clock, in nanoseconds: for what the compiler tells of its own times. */
#ifndef TC_BASE_CLOCK_H
#define TC_BASE_CLOCK_H

#include <time.h>

static inline double tc_now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

#endif
