/* How much of a random campaign a test runs. Threads: any. */
#ifndef TESTS_CAMPAIGN_H
#define TESTS_CAMPAIGN_H

#include <stdlib.h>

#include "base/sanitized.h"

/* Of `all` rounds, each its own seed, those to run: all of them; under a sanitizer, which looks at memory and
 * is shown most of it by few, the first eighth, but all where TEST_LONG is set (ci/soak). Results are those
 * of all rounds in the build without one, which ci/test runs as well. */
static inline int campaign(int all) {
  enum { SHARE = 8 };
  const char *whole = getenv("TEST_LONG");
  return TC_SANITIZED && !(whole && *whole) ? (all + SHARE - 1) / SHARE : all;
}

#endif
