/* Blocks that take turns, with workers that are scripts: the order of turns, the block that is dropped,
 * controls that fail. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/compare/paired.h"
#include "harness/machine/calibration.h"
#include "harness/run/measure.h"

enum { PARTICIPANTS = 4, ROUNDS = 6, TURNS_MAX = 400 };

struct turn {
  int participant;
  long long calls, warm;
};

/* A worker that answers blocks with a time of its own, and writes each turn to the log. It leaves after
 * `most` blocks. */
static void serve_blocks(int participant, int control, int log, double call_ns, int most) {
  struct tc_strbuf inbox;
  tc_strbuf_init(&inbox, tc_alloc_system());
  for (int block = 0; block < most; block++) {
    cJSON *request = tb_message_read(control, &inbox);
    if (!request) break;
    const struct turn turn = {participant, (long long)tb_json_number(request, "calls", 0),
                              (long long)tb_json_number(request, "warm", 0)};
    cJSON_Delete(request);
    if (!turn.calls) break; /* it is told to leave */
    if (write(log, &turn, sizeof turn) != sizeof turn) break;
    cJSON *reply = cJSON_CreateObject();
    cJSON_AddBoolToObject(reply, "ok", true);
    cJSON_AddNumberToObject(reply, "ns", call_ns * (double)turn.calls * (1 + 0.001 * (block % 3)));
    cJSON_AddNumberToObject(reply, "preempted", 1);
    tb_message_write(control, reply);
    cJSON_Delete(reply);
  }
  _exit(0);
}

struct fixture {
  struct tc_arena *arena;
  struct tb_process process[PARTICIPANTS];
  struct tb_participant participants[PARTICIPANTS];
  int log[2];
  struct turn turns[TURNS_MAX];
  int n_turns;
};

static void start(struct fixture *f, int participant, enum tb_participant_kind kind, double call_ns,
                  int most) {
  int ends[2];
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const pid_t pid = fork();
  if (!pid) {
    setpgid(0, 0);
    close(ends[0]);
    serve_blocks(participant, ends[1], f->log[1], call_ns, most);
  }
  setpgid(pid, pid);
  close(ends[1]);
  tb_process_clear(&f->process[participant]);
  f->process[participant].link = (struct tb_link){
      .transport = tb_transport_local(), .pid = pid, .control = ends[0], .exchange = -1, .text = -1};
  tb_output_stream_begin(&f->process[participant].output_stream, NULL, "");
  f->participants[participant] = (struct tb_participant){
      .process = &f->process[participant], .kind = kind, .calls_max = 1e15, .live = true};
}

static struct fixture *open_fixture(void) {
  struct fixture *f = calloc(1, sizeof *f);
  assert_non_null(f);
  f->arena = tc_arena_new(tc_alloc_system());
  assert_int_equal(pipe(f->log), 0);
  return f;
}

static void stop_workers(struct fixture *f) {
  for (int i = 0; i < PARTICIPANTS; i++) tb_process_stop(&f->process[i]);
}

static void close_fixture(struct fixture *f) {
  close(f->log[0]);
  tc_arena_free(f->arena);
  free(f);
}

/* Runs baseline, one case of `call_ns`, its A/A control and the calibration kernel to the end, and reads what
 * they logged. */
static struct fixture *run_all(double call_ns, int aa_most, struct tb_measure *m) {
  struct fixture *f = open_fixture();
  start(f, 0, TB_PARTICIPANT_MEASURED, 2 * call_ns, TURNS_MAX);
  start(f, 1, TB_PARTICIPANT_MEASURED, call_ns, TURNS_MAX);
  start(f, 2, TB_PARTICIPANT_AA_CONTROL, call_ns, aa_most);
  start(f, 3, TB_PARTICIPANT_CALIBRATION, 1e6, TURNS_MAX);
  struct tc_error err = {0};
  m->alloc = tc_arena_alloc(f->arena);
  m->timeout_s = 300;
  m->stop = (struct tb_stop){.target = 0, .min_rounds = ROUNDS, .max_rounds = ROUNDS, .budget_ns = INT64_MAX};
  assert_int_equal(tb_measure_blocks(m, f->participants, PARTICIPANTS, &err), TC_OK);
  stop_workers(f);
  close(f->log[1]);
  while (f->n_turns < TURNS_MAX &&
         read(f->log[0], &f->turns[f->n_turns], sizeof *f->turns) == sizeof *f->turns)
    f->n_turns++;
  return f;
}

static struct fixture *whole(uint64_t seed, int aa_most, struct tb_measure *m) {
  *m = (struct tb_measure){.random = {seed}};
  return run_all(20000, aa_most, m);
}

static struct fixture *whole_of(double call_ns, struct tb_measure *m) {
  return run_all(call_ns, TURNS_MAX, m);
}

static const struct turn *kept_turns(const struct fixture *f, int participants) {
  return f->turns + f->n_turns - ROUNDS * 2 * participants;
}

/* Each round is an order and its reverse; orders come from the seed and differ between rounds. */
static void test_rounds_are_mirrored(void **state) {
  (void)state;
  struct tb_measure m;
  struct fixture *f = whole(1, TURNS_MAX, &m), *same = whole(1, TURNS_MAX, &m),
                 *other = whole(2, TURNS_MAX, &m);
  const struct turn *t = kept_turns(f, PARTICIPANTS), *u = kept_turns(same, PARTICIPANTS),
                    *v = kept_turns(other, PARTICIPANTS);
  bool all_equal = true, seeds_equal = true;
  for (int round = 0; round < ROUNDS;
       round++, t += 2 * PARTICIPANTS, u += 2 * PARTICIPANTS, v += 2 * PARTICIPANTS) {
    unsigned seen = 0;
    for (int i = 0; i < PARTICIPANTS; i++) {
      seen |= 1u << t[i].participant;
      assert_int_equal(t[i].participant, t[2 * PARTICIPANTS - 1 - i].participant);
      assert_int_equal(t[i].participant, u[i].participant);
      seeds_equal &= t[i].participant == v[i].participant;
      all_equal &= t[i].participant == kept_turns(f, PARTICIPANTS)[i].participant;
    }
    assert_int_equal(seen, (1u << PARTICIPANTS) - 1);
  }
  assert_false(all_equal);
  assert_false(seeds_equal);
  close_fixture(f), close_fixture(same), close_fixture(other);
}

/* What is kept is two samples a round; the block before, in its full size, is dropped. The calibration
 * kernel's work is its own. */
static void test_first_block_is_dropped(void **state) {
  (void)state;
  struct tb_measure m;
  struct fixture *f = whole(1, TURNS_MAX, &m);
  int turns[PARTICIPANTS] = {0};
  for (int i = 0; i < f->n_turns; i++) turns[f->turns[i].participant]++;
  for (int s = 0; s < PARTICIPANTS; s++) {
    assert_int_equal(f->participants[s].samples.len, 2 * ROUNDS);
    assert_true(turns[s] > 2 * ROUNDS);
    assert_true(f->participants[s].preempted == 2 * ROUNDS);
  }
  const struct turn *last = f->turns + f->n_turns - 1, *dropped = kept_turns(f, PARTICIPANTS) - PARTICIPANTS;
  for (int i = 0; i < PARTICIPANTS; i++) assert_int_equal(dropped[i].participant, i);
  for (int i = 0; i < PARTICIPANTS - 1; i++)
    assert_true(dropped[i].calls == m.calls && dropped[i].warm == m.warm);
  for (const struct turn *t = dropped; t <= last; t++) {
    assert_true(t->calls == (t->participant == 3 ? TB_CALIBRATION_CALLS : m.calls));
    assert_true(t->warm == (t->participant == 3 ? TB_CALIBRATION_WARM : m.warm));
  }
  assert_true(m.calls ==
              250); /* 5 ms of the fastest case: the calibration kernel's millisecond plays no part */
  assert_float_equal(tb_log_ratio(&f->participants[0], &f->participants[1]), log(2), 1e-9);
  assert_float_equal(tb_log_ratio(&f->participants[1], &f->participants[2]), 0, 1e-9);
  const struct tc_alloc *alloc = tc_arena_alloc(f->arena);
  assert_float_equal(tb_median_log_ratio(alloc, &f->participants[0], &f->participants[1]), log(2), 1e-9);
  for (int i = 0; i < 2; i++) f->participants[1].samples.data[i] *= 100; /* a burst, over one round */
  assert_true(tb_log_ratio(&f->participants[0], &f->participants[1]) < log(2) - 0.1);
  assert_float_equal(tb_median_log_ratio(alloc, &f->participants[0], &f->participants[1]), log(2), 1e-9);
  close_fixture(f);
}

/* Calls so long that no untimed ones come first: a pause follows each block, and blocks are long enough for
 * the pauses to be little. */
static void test_pauses(void **state) {
  (void)state;
  struct tb_measure m = {.pause_ns = 100000};
  struct fixture *f = whole_of(2e6, &m);
  assert_int_equal(m.warm, 0);
  assert_int_equal(m.calls, 3); /* 5 ms */
  assert_true(m.paused_ns >= 2 * ROUNDS * PARTICIPANTS * m.pause_ns);
  close_fixture(f);
  m = (struct tb_measure){.pause_ns = 400000};
  f = whole_of(2e6, &m);
  assert_int_equal(m.calls, 4); /* 20 pauses */
  close_fixture(f);
  m = (struct tb_measure){.pause_ns = 500000};
  f = whole_of(20000, &m);
  assert_true(m.warm > 0 && m.calls == 250);
  assert_int_equal(f->participants[1].samples.len, 2 * ROUNDS);
  close_fixture(f);
}

/* In a paired comparison too the idle threads of one worker have stopped to spin before the next one's
 * block. */
static void test_paired_pauses(void **state) {
  (void)state;
  static struct tb_run run = {.spec.options.timeout = 1};
  static struct tb_case one = {.threads = 1}, two = {.threads = 2};
  run.arena = tc_arena_new(tc_alloc_system());
  const struct {
    struct tb_paired paired;
    int threads;
  } rows[] = {{{.base = {&one, ""}, .head = {&one, ""}}, 1},
              {{.base = {&two, ""}, .head = {&two, ""}}, 2},
              {{.base = {&one, ""}, .head = {&two, ""}}, 2},
              {{.base = {&two, ""}, .head = {&one, ""}}, 2}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    assert_int_equal(tb_paired_measure(&run, &rows[i].paired, 0).pause_ns, tb_pause_ns(rows[i].threads));
  assert_true(tb_pause_ns(1) == 0 && tb_pause_ns(2) > 0);
  tc_arena_free(run.arena);
}

/* An A/A control that is lost ends nothing. */
static void test_lost_control(void **state) {
  (void)state;
  struct tb_measure m;
  struct fixture *f = whole(1, 5, &m);
  assert_false(f->participants[2].live);
  assert_true(f->participants[1].live && f->participants[3].live);
  assert_int_equal(f->participants[1].samples.len, 2 * ROUNDS);
  assert_int_equal(m.reason, TB_STOP_BUDGET);
  close_fixture(f);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rounds_are_mirrored),
                                     cmocka_unit_test(test_first_block_is_dropped),
                                     cmocka_unit_test(test_lost_control), cmocka_unit_test(test_pauses),
                                     cmocka_unit_test(test_paired_pauses)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
