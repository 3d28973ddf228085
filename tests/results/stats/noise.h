/* Seeded noise for tests of statistics: uniform, normal and exponential numbers, and processes as a shared
 * machine shows them. */
#ifndef TESTS_NOISE_H
#define TESTS_NOISE_H

#include <math.h>

#include "results/stats/random.h"

/* In (0, 1). */
static inline double noise_uniform(struct tb_random *r) {
  return ((double)(tb_random_next(r) >> 11) + 0.5) / 9007199254740992.0;
}
static inline double noise_normal(struct tb_random *r) {
  return sqrt(-2 * log(noise_uniform(r))) * cos(2 * M_PI * noise_uniform(r));
}
static inline double noise_exponential(struct tb_random *r) { return -log(noise_uniform(r)); }

/* What one process' log time deviates by. `spread`: of a pair of processes, as a share. QUIET: a normal
 * offset, as where pages fall. PLACED: beside it, one process in five lies badly as a whole, by twice the
 * spread. BURSTY: beside that, one in twenty meets something that slows it by several times the spread (a
 * long tail). */
enum noise_kind { NOISE_QUIET, NOISE_PLACED, NOISE_BURSTY, NOISE_KINDS };

static inline double noise_process(struct tb_random *r, enum noise_kind kind, double spread) {
  double offset = spread / sqrt(2) * noise_normal(r);
  if (kind >= NOISE_PLACED && noise_uniform(r) < 0.2) offset += 2 * spread;
  if (kind >= NOISE_BURSTY && noise_uniform(r) < 0.05) offset += 5 * spread * exp(noise_normal(r));
  return offset;
}

/* A load on the machine that comes and goes: what it costs each process at the moment, the same for all that
 * take turns. */
struct noise_load {
  double level;
};
static inline double noise_load_next(struct tb_random *r, struct noise_load *load, double spread) {
  if (noise_uniform(r) < 0.1) load->level = noise_uniform(r) < 0.5 ? 0 : 3 * spread * noise_exponential(r);
  return load->level;
}

#endif
