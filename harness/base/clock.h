/* The one clock: CLOCK_MONOTONIC in nanoseconds, the same in all processes of a machine. */
#ifndef TB_CLOCK_H
#define TB_CLOCK_H

#include <stdint.h>
#include <time.h>

enum { TB_NS_PER_S = 1000000000, TB_NS_PER_MS = 1000000 };

static inline int64_t tb_now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * TB_NS_PER_S + t.tv_nsec;
}

static inline void tb_sleep_ns(int64_t ns) {
  const struct timespec t = {ns / TB_NS_PER_S, ns % TB_NS_PER_S};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

#endif
