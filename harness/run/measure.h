/* Alternating blocks among live workers: who runs when, how long a block is, and when it is enough.
 *
 * Participant 0 is the baseline. A round is a seeded order of all participants, then its reverse (for two:
 * ABBA or BAAB), so that a drift that is linear in time cancels. All participants but the calibration
 * kernel's make the same number of calls, so that a function with state stays comparable. A worker whose turn
 * it is not sleeps.
 *
 * Two participants measure the measurement: the A/A control, a further fresh process of the program, role and
 * cache of one of the measured ones, whose log ratio to it is an A/A figure; and the calibration kernel
 * (calibration.h), a fixed piece of work. When it is enough does not depend on them. */
#ifndef TB_MEASURE_H
#define TB_MEASURE_H

#include "harness/run/result.h"
#include "harness/run/stop.h"
#include "harness/wire/process.h"
#include "results/stats/random.h"

enum tb_participant_kind {
  TB_PARTICIPANT_MEASURED /* and the baseline */,
  TB_PARTICIPANT_AA_CONTROL,
  TB_PARTICIPANT_CALIBRATION
};

struct tb_participant {
  struct tb_process *process;
  enum tb_participant_kind kind;
  double calls_max;   /* that one block of this worker may have */
  bool live;          /* false: left out (it failed, or never started) */
  tb_doubles samples; /* a call's nanoseconds, one a block; two a round */
  double preempted;   /* times that a thread of this worker lost its CPU during the blocks that were kept */
};

struct tb_measure {
  const struct tc_alloc *alloc; /* of the samples */
  struct tb_interrupt *interrupt;
  double timeout_s;
  int64_t pause_ns; /* pause after a block without untimed calls, for idle threads to stop spinning; 0: none
                        spin */
  struct tb_random random;
  struct tb_stop stop; /* budget_ns, target, rounds: set by the caller */
  /* out */
  long long calls, warm; /* of a block */
  long long calls_made;  /* by each live participant, all together */
  int64_t paused_ns;     /* of pauses */
  enum tb_stop_reason reason;
};

/* What pause_ns is for workers of so many threads: those that are idle have stopped to spin by then
 * (GOMP_SPINCOUNT in process_start.c). */
static inline int64_t tb_pause_ns(int threads) { return threads > 1 ? 600000 : 0; }

/* Finds the size of a block, drops the first one of each participant, measures. A participant that fails is
 * left out (its process says why); a failed baseline ends it. TC_INTERRUPTED only after a second Ctrl-C;
 * after the first, `reason` says so. */
tc_status tb_measure_blocks(struct tb_measure *m, struct tb_participant *participants, int n_participants,
                            struct tc_error *err);

/* Mean over the rounds of log(one / other), from the samples of both; NaN without a full round. */
double tb_log_ratio(const struct tb_participant *one, const struct tb_participant *other);
/* Half-width of the t interval of that mean over rounds; NaN below two. */
double tb_log_ratio_half_width(const struct tb_participant *one, const struct tb_participant *other,
                               double confidence);
/* Median over the rounds of log(one / other), in memory of `alloc`; NaN without a full round, or without
 * memory. A burst of load spoils some rounds of two processes, and the mean with them; a change of one of
 * them is in every round. */
double tb_median_log_ratio(const struct tc_alloc *alloc, const struct tb_participant *one,
                           const struct tb_participant *other);

#endif
