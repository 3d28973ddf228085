/* A bursty load on one CPU, to measure beside: bench_load CPU [SEED].
 *
 * Bursts of work and pauses in turn, both of random length (exponential, means 0.2 s and 0.3 s), until it is
 * ended. Every other burst streams through 64 MiB, which disturbs caches and memory that cores share; the
 * others compute. The seed gives the lengths. */
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "harness/base/clock.h"
#include "results/stats/random.h"

enum { STREAM_BYTES = 1 << 26, PIECE = 1 << 20, STEPS = 100000 };
static const double burst_s = 0.2, pause_s = 0.3;

static double exponential(struct tb_random *random, double mean) {
  static const double two_to_53 = 9007199254740992.0;
  return -mean * log(((double)(tb_random_next(random) >> 11) + 1) / two_to_53);
}

static double compute(double x) {
  for (int i = 0; i < STEPS; i++) x = x * 0.999 + 0.5;
  return x;
}

/* Works until `end`; what it computed, so that it has to. */
static double burst(char *memory, bool streaming, int64_t end) {
  double x = 1;
  size_t at = 0;
  while (tb_now_ns() < end) {
    if (!streaming)
      x = compute(x);
    else
      memset(memory + at, (int)at, PIECE);
    at = (at + PIECE) % STREAM_BYTES;
  }
  return x + memory[at];
}

int main(int argc, char **argv) {
  cpu_set_t set;
  char *memory = malloc(STREAM_BYTES);
  struct tb_random random = {argc > 2 ? strtoull(argv[2], NULL, 10) : 1};
  volatile double sink = 0;
  if (argc < 2 || !memory) return fprintf(stderr, "usage: bench_load CPU [SEED]\n"), EXIT_FAILURE;
  CPU_ZERO(&set);
  CPU_SET((size_t)strtoull(argv[1], NULL, 10), &set);
  if (sched_setaffinity(0, sizeof set, &set)) return perror("bench_load"), EXIT_FAILURE;
  prctl(PR_SET_PDEATHSIG, SIGTERM); /* it does not outlive who started it */
  memset(memory, 1, STREAM_BYTES);
  for (bool streaming = false;; streaming = !streaming) {
    sink =
        sink + burst(memory, streaming, tb_now_ns() + (int64_t)(exponential(&random, burst_s) * TB_NS_PER_S));
    const double pause = exponential(&random, pause_s);
    const struct timespec wait = {(time_t)pause, (long)((pause - floor(pause)) * TB_NS_PER_S)};
    nanosleep(&wait, NULL);
  }
}
