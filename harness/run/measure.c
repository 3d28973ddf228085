/* Alternating blocks. Invariants:
 * 1. Between two reads of the clock in a worker nothing of the harness runs: a block is one request.
 * 2. Live participants have made the same number of calls at the end of every round.
 * 3. No sample is dropped for its value. */
#include "harness/run/measure.h"

#include <math.h>

#include "harness/base/clock.h"
#include "harness/machine/calibration.h"
#include "results/stats/stats.h"

enum {
  SIZING_ROUNDS = 3,
  PARTICIPANTS_MAX = 64,
  PARTICIPANTS_OF_OWN = 3 /* baseline, A/A control, calibration kernel */,
  CALLS_LIMIT = 1000000
};

/* A block of the fastest participant lasts at least this, unless the slowest one's would be too long. */
static const double block_min_ns = 5e6, block_max_ns = 20e6;
/* Nor less than so many pauses, where there are any: waiting is no measuring. */
static const double pauses_in_block = 20;
/* Before a block's timed calls: as many untimed ones as fill this, so that caches and threads are the
 * worker's own again. None where a single call takes longer: it pays for that itself. */
static const double warm_ns = 1e6;
static const double target_confidence = 0.95; /* of the half-width that the stop rule is asked with */

struct block {
  double call_ns, preempted;
};

static tc_status run_block(struct tb_measure *m, struct tb_participant *participant, long long warm,
                           long long calls, struct block *out, struct tc_error *err) {
  cJSON *reply, *request = tb_process_request(TB_REQUEST_block);
  cJSON_AddNumberToObject(request, "calls", (double)calls);
  cJSON_AddNumberToObject(request, "warm", (double)warm);
  const tc_status status = tb_process_ask(participant->process, request, m->timeout_s, &reply, err);
  if (status) return status;
  *out = (struct block){tb_json_number(reply, "ns", NAN) / (double)calls,
                        tb_json_number(reply, "preempted", NAN)};
  cJSON_Delete(reply);
  if (!m->pause_ns || warm) return TC_OK; /* the next block's untimed calls give them that time */
  const int64_t before = tb_now_ns();
  tb_sleep_ns(m->pause_ns);
  m->paused_ns += tb_now_ns() - before;
  return TC_OK;
}

/* One block of one participant. A failure takes the participant out; only one that ends the whole measurement
 * is returned. */
static tc_status take_turn(struct tb_measure *m, struct tb_participant *participants, int i, long long warm,
                           long long calls, bool keep, double *call_ns, struct tc_error *err) {
  struct tb_participant *participant = &participants[i];
  struct block block;
  if (!participant->live) return TC_OK;
  const bool fixed = participant->kind == TB_PARTICIPANT_CALIBRATION;
  const tc_status status = run_block(m, participant, fixed ? TB_CALIBRATION_WARM : warm,
                                     fixed ? TB_CALIBRATION_CALLS : calls, &block, err);
  if (status == TC_INTERRUPTED) return status;
  if (status) {
    participant->live = false;
    return i == 0 ? status : TC_OK;
  }
  *call_ns = block.call_ns;
  if (!keep) return TC_OK;
  participant->preempted += block.preempted;
  return tc_vec_push(m->alloc, &participant->samples, block.call_ns) ? TC_OK : tc_fail_memory(err, "measure");
}

/* Calls and warm calls of a block from the times of a call of the fastest and the slowest participant. */
static void size_block(struct tb_measure *m, double fastest, double slowest, double calls_max) {
  const double warm_wanted = slowest < warm_ns ? ceil(warm_ns / slowest) : 0,
               pause = warm_wanted > 0 ? 0 : (double)m->pause_ns;
  double calls = ceil(fmax(block_min_ns, pauses_in_block * pause) / fastest);
  const double fitting = floor(block_max_ns / slowest);
  if (calls > fitting) calls = fitting;
  if (calls < 1) calls = 1;
  if (calls > CALLS_LIMIT) calls = CALLS_LIMIT;
  double warm = warm_wanted < calls ? warm_wanted : calls;
  if (calls + warm > calls_max) { /* args = function(i): lists are made ahead, only so many */
    warm = floor(calls_max / 4) < warm ? floor(calls_max / 4) : warm;
    calls = calls_max - warm;
  }
  m->calls = (long long)calls;
  m->warm = (long long)warm;
}

/* Blocks of growing size that are not kept: their end is the dropped first block, in its full size. */
static tc_status find_block_size(struct tb_measure *m, struct tb_participant *participants, int n,
                                 struct tc_error *err) {
  m->calls = 1;
  m->warm = 0;
  for (int round = 0; round <= SIZING_ROUNDS; round++) {
    double fastest = INFINITY, slowest = 0, calls_max = CALLS_LIMIT;
    const long long calls = m->calls, warm = m->warm;
    for (int i = 0; i < n; i++) {
      double call_ns = NAN;
      const tc_status status = take_turn(m, participants, i, warm, calls, false, &call_ns, err);
      if (status) return status;
      if (!participants[i].live || participants[i].kind == TB_PARTICIPANT_CALIBRATION || !(call_ns > 0))
        continue;
      fastest = fmin(fastest, call_ns);
      slowest = fmax(slowest, call_ns);
      calls_max = fmin(calls_max, participants[i].calls_max);
    }
    m->calls_made += calls + warm;
    if (round == SIZING_ROUNDS || !(slowest > 0)) return TC_OK;
    size_block(m, fastest, slowest, calls_max);
    if (m->calls == calls && m->warm == warm) return TC_OK; /* as long as it was: this was the dropped one */
  }
  return TC_OK;
}

static tc_status run_round(struct tb_measure *m, struct tb_participant *participants, int n,
                           struct tc_error *err) {
  int order[PARTICIPANTS_MAX];
  for (int i = 0; i < n; i++) order[i] = i;
  tb_random_shuffle(&m->random, order, n);
  for (int turn = 0; turn < 2 * n; turn++) {
    const int participant = turn < n ? order[turn] : order[2 * n - 1 - turn];
    double call_ns;
    const tc_status status = take_turn(m, participants, participant, m->warm, m->calls, true, &call_ns, err);
    if (status) return status;
  }
  m->calls_made += 2 * (m->calls + m->warm);
  return TC_OK;
}

static double widest(const struct tb_participant *participants, int n) {
  double width = NAN;
  for (int i = 1; i < n; i++)
    if (participants[i].live && participants[i].kind == TB_PARTICIPANT_MEASURED)
      width = fmax(width, tb_log_ratio_half_width(&participants[0], &participants[i],
                                                  target_confidence)); /* fmax ignores a NaN */
  return width;
}

static bool any_live(const struct tb_participant *participants, int n) {
  for (int i = 1; i < n; i++)
    if (participants[i].live && participants[i].kind == TB_PARTICIPANT_MEASURED) return true;
  return false;
}

tc_status tb_measure_blocks(struct tb_measure *m, struct tb_participant *participants, int n,
                            struct tc_error *err) {
  if (n > PARTICIPANTS_MAX)
    return tc_fail(err, TC_LIMIT, "measure", "at most %d modes of one workload can be measured together",
                   PARTICIPANTS_MAX - PARTICIPANTS_OF_OWN);
  m->calls_made = 0;
  m->reason = TB_STOP_NOT_YET;
  tc_status status = find_block_size(m, participants, n, err);
  if (status) return status;
  m->stop.started_ns = tb_now_ns();
  m->stop.last_half_width = NAN;
  m->stop.flat = 0;
  for (int rounds = 0; m->reason == TB_STOP_NOT_YET && any_live(participants, n);) {
    if (m->interrupt && tb_interrupt_poll(m->interrupt)) {
      m->reason = TB_STOP_INTERRUPTED;
      break;
    }
    status = run_round(m, participants, n, err);
    if (status) return status;
    m->reason = tb_stop_ask(&m->stop, ++rounds, widest(participants, n), tb_now_ns());
  }
  return TC_OK;
}

/* --- estimators --- */

static size_t full_rounds(const struct tb_participant *a, const struct tb_participant *b) {
  return (a->samples.len < b->samples.len ? a->samples.len : b->samples.len) / 2;
}

static double round_log_ratio(const struct tb_participant *a, const struct tb_participant *b, size_t round) {
  const double *x = a->samples.data + 2 * round, *y = b->samples.data + 2 * round;
  return 0.5 * (log(x[0]) + log(x[1]) - log(y[0]) - log(y[1]));
}

double tb_log_ratio(const struct tb_participant *one, const struct tb_participant *other) {
  const size_t rounds = full_rounds(one, other);
  double sum = 0;
  for (size_t r = 0; r < rounds; r++) sum += round_log_ratio(one, other, r);
  return rounds ? sum / (double)rounds : NAN;
}

double tb_median_log_ratio(const struct tc_alloc *alloc, const struct tb_participant *one,
                           const struct tb_participant *other) {
  const size_t rounds = full_rounds(one, other);
  tb_doubles ratios = {.data = NULL};
  for (size_t r = 0; r < rounds; r++)
    if (!tc_vec_push(alloc, &ratios, round_log_ratio(one, other, r))) return NAN;
  return tb_median(ratios.data, ratios.len);
}

double tb_log_ratio_half_width(const struct tb_participant *one, const struct tb_participant *other,
                               double confidence) {
  const size_t rounds = full_rounds(one, other);
  if (rounds < 2) return NAN;
  const double mean = tb_log_ratio(one, other);
  double squares = 0;
  for (size_t r = 0; r < rounds; r++) squares += pow(round_log_ratio(one, other, r) - mean, 2);
  const double deviation = sqrt(squares / (double)(rounds - 1));
  return tb_t_quantile(0.5 + confidence / 2, (double)(rounds - 1)) * deviation / sqrt((double)rounds);
}
