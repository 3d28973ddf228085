/* The harness' names for the one clock. */
#ifndef TB_CLOCK_H
#define TB_CLOCK_H

#include "base/clock.h"

enum { TB_NS_PER_S = TC_NS_PER_S, TB_NS_PER_MS = TC_NS_PER_MS };

static inline int64_t tb_now_ns(void) { return tc_clock_ns(); }
static inline void tb_sleep_ns(int64_t ns) { tc_sleep_ns(ns); }

#endif
