/* A small seeded generator (splitmix64) for orders of measurement; never for the numbers of a suite. */
#ifndef TB_RANDOM_H
#define TB_RANDOM_H

#include <stdint.h>

struct tb_random {
  uint64_t state;
};

static inline uint64_t tb_random_next(struct tb_random *r) {
  uint64_t z = r->state += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}
/* Fisher-Yates over indices. */
static inline void tb_random_shuffle(struct tb_random *r, int *items, int count) {
  for (int i = count - 1; i > 0; i--) {
    const int j = (int)(tb_random_next(r) % (uint64_t)(i + 1)), kept = items[i];
    items[i] = items[j];
    items[j] = kept;
  }
}

#endif
