/* When a replicate has been measured enough, and when there are enough replicates. */
#ifndef TB_STOP_H
#define TB_STOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tb_stop {
  double target; /* half-width of the mean log ratio that suffices */
  int min_rounds, max_rounds;
  int64_t budget_ns; /* of measuring, from `started_ns` */
  int64_t started_ns;
  double last_half_width; /* at the last check point; NaN at first */
  int flat;               /* check points in a row where it hardly fell */
};

enum tb_stop_reason { TB_STOP_NOT_YET, TB_STOP_TARGET, TB_STOP_STABLE, TB_STOP_BUDGET, TB_STOP_INTERRUPTED };
const char *tb_stop_text(enum tb_stop_reason reason);

/* Asked after each round with the widest half-width over the cases (NaN: none yet). Decides at check points,
 * every few rounds: the target is reached, the noise no longer shrinks with more rounds than it should, or
 * time is over. */
enum tb_stop_reason tb_stop_ask(struct tb_stop *stop, int rounds, double half_width, int64_t now_ns);

/* How many replicates a group of cases takes.
 *
 * A count that was asked for is taken exactly. Else the interval is looked at after 5, 8, 12, 16 and 24
 * replicates, as far as `most` allows, and after `most`. To stop because an interval is narrow is to stop on
 * a spread that came out small by chance: a 95% t interval at such a stop covers less than 95%. So where
 * there is more than one look all intervals, also the one that is reported, are made at
 * tb_replication_confidence, which is set so that the interval at the stop covers at least 95% whatever the
 * spread is (tests/harness/run/test_stop.c simulates it). Nothing looks at the mean, so stopping prefers no
 * direction. */
struct tb_replication {
  int exact;         /* 0: until a rule holds */
  int most;          /* where exact is 0 */
  double target;     /* half-width of the mean log ratio that suffices; 0: none */
  int64_t budget_ns; /* of the whole run, from `started_ns`; 0: none. The first replicate is taken whatever it
                        says */
  int64_t started_ns;
};

enum tb_replicates_end {
  TB_REPLICATES_OPEN,
  TB_REPLICATES_COUNT,
  TB_REPLICATES_TARGET,
  TB_REPLICATES_STABLE,
  TB_REPLICATES_MOST,
  TB_REPLICATES_BUDGET,
  TB_REPLICATES_INTERRUPTED
};
/* As results/schema.json has it; NULL for OPEN. */
const char *tb_replicates_text(enum tb_replicates_end end);

/* Replicates that are taken at most, and at least where no budget ends them. */
int tb_replication_most(const struct tb_replication *r);
int tb_replication_least(const struct tb_replication *r);
/* Confidence of the t interval that is reported as one of `nominal` (0.95). */
double tb_replication_confidence(const struct tb_replication *r, double nominal);
/* Asked after each replicate of a group with the log ratios of one of its cases. TARGET: the interval is
 * narrow enough. STABLE: the spread no longer falls, and with it not even `most` replicates would come near
 * the target. */
enum tb_replicates_end tb_replication_ask(const struct tb_replication *r, const double *log_ratios, int count,
                                          double nominal, int64_t now_ns);

#endif
