/* Differences of the system's counters. Clock ticks are 10 ms: over a run of seconds that is a part in
 * hundreds. */
#include "harness/machine/disturbance.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

struct moment {
  bool known;
  double busy, steal, all, own;
};

static double seconds_of(int who) {
  static const double us_per_s = 1e6;
  struct rusage u;
  if (getrusage(who, &u)) return 0;
  return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
         (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / us_per_s;
}

static struct moment look(void) {
  enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, FIELDS };
  double t[FIELDS] = {0};
  struct moment m = {.known = false};
  FILE *in = fopen("/proc/stat", "re");
  const double tick = (double)sysconf(_SC_CLK_TCK);
  m.known = in &&
            fscanf(in, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6],
                   &t[7]) == FIELDS &&
            tick > 0;
  if (in) fclose(in);
  for (int i = 0; i < FIELDS; i++) m.all += t[i] / tick;
  m.busy = (t[USER] + t[NICE] + t[SYSTEM] + t[IRQ] + t[SOFTIRQ]) / tick;
  m.steal = t[STEAL] / tick;
  m.own = seconds_of(RUSAGE_SELF) + seconds_of(RUSAGE_CHILDREN);
  return m;
}

static double load_now(void) {
  double load;
  return getloadavg(&load, 1) == 1 ? load : NAN;
}

void tb_disturbance_unknown(struct tb_disturbance *d) {
  *d =
      (struct tb_disturbance){.steal_share = NAN, .others_share = NAN, .load_before = NAN, .load_after = NAN};
}

void tb_disturbance_begin(struct tb_disturbance *d) {
  const struct moment m = look();
  *d = (struct tb_disturbance){.known = m.known,
                               .steal_share = NAN,
                               .others_share = NAN,
                               .load_before = load_now(),
                               .load_after = NAN,
                               .busy = m.busy,
                               .steal = m.steal,
                               .all = m.all,
                               .own = m.own};
}

void tb_disturbance_end(struct tb_disturbance *d) {
  const struct moment m = look();
  const double all = m.all - d->all;
  d->load_after = load_now();
  d->known = d->known && m.known && all > 0;
  if (!d->known) return;
  d->steal_share = fmax((m.steal - d->steal) / all, 0);
  d->others_share = fmax((m.busy - d->busy - (m.own - d->own)) / all, 0);
}
