/* Inside of a session: what its parts share. See replicates.h for what a session is. */
#ifndef TB_SESSION_H
#define TB_SESSION_H

#include "harness/machine/counter_selection.h"
#include "harness/run/role.h"
#include "harness/run/run.h"

struct tb_member {
  const struct tb_case *kase;
  struct tb_case_result *result;
  struct tb_track *track;
  struct tb_process process;
  struct tb_prepared prepared;
  const char *cache_dir;
  bool started, live;
};

/* A process that measures the measurement. */
struct tb_control {
  struct tb_process process;
  struct tb_prepared prepared;
  bool started;
};

enum { TB_CHECKED_CALLS = 3 };

struct tb_session {
  struct tb_run *run;
  int replicate;
  struct tb_member *members;
  int n;
  struct tb_process baseline, reference;
  struct tb_control aa_control, calibration;
  struct tb_member *aa_of; /* the case whose program the A/A control runs */
  struct tb_prepared prepared;
  bool baseline_started, reference_started, has_reference;
  bool same_output;   /* the baseline's newest output is bit for bit its first one */
  bool steady_output; /* and so were all before */
  long long reference_calls;
  char first_digest[TB_DIGEST_BYTES];
  double timeout_s;
  struct tb_counter_selection counter_selection; /* counters= of the command line, else of the suite */
  struct tc_error *err;
};

/* Whether Ctrl-C came. */
static inline bool tb_session_interrupted(struct tb_session *s) {
  return tb_interrupt_poll(&s->run->interrupt) > 0;
}
/* Statuses that end the run; others are outcomes of cases. */
static inline bool tb_session_fatal(tc_status status) {
  return status == TC_INTERRUPTED || status == TC_NOMEM;
}

/* --- session.c --- */
/* One call more on a process. */
tc_status tb_session_call(struct tb_session *s, struct tb_process *process);

/* --- session_blocks.c: all give a status only for what ends the run --- */
/* Starts the A/A control and the calibration kernel; the cases' processes have made their checked calls. */
tc_status tb_session_start_controls(struct tb_session *s);
void tb_session_stop_controls(struct tb_session *s);
/* Measures the live cases in alternating blocks and keeps what they gave. *calls_made: by each of them. */
tc_status tb_session_blocks(struct tb_session *s, long long *calls_made);
/* Seconds that the blocks of one session take at most, but for calls that are longer. */
double tb_session_blocks_estimate(bool quick);

/* --- session_outcome.c --- */
/* Sets the outcome of a case, once, and tells it; the member is live no more. A time limit that Ctrl-C
 * shortened is no outcome. */
void tb_session_outcome(struct tb_session *s, struct tb_member *m, enum tb_outcome outcome, const char *who,
                        const char *why, const char *trace);
/* The outcome of a process becomes its member's; the baseline's that of all live members. */
void tb_session_fail_member(struct tb_session *s, struct tb_member *m, const struct tb_process *process);
void tb_session_fail_all(struct tb_session *s);
bool tb_session_any_live(const struct tb_session *s);
/* Stops the reference's process; comparisons are with the baseline from here on. */
void tb_session_drop_reference(struct tb_session *s);
/* Copy in the run's arena; a text that says so where memory is out. */
const char *tb_session_text(struct tb_session *s, const char *text);
tc_status tb_session_no_memory(struct tb_session *s);

/* --- session_check.c: all give a status only for what ends the run --- */
/* Takes note of the baseline's newest output: is it bit for bit that of its first call? After each call of
 * the baseline. */
tc_status tb_session_watch_baseline(struct tb_session *s);
/* Checks the newest output of `compiled` (m's own process, or its cold one) against the others' newest
 * outputs. */
tc_status tb_session_check(struct tb_session *s, struct tb_member *m, struct tb_process *compiled);
/* Makes calls on the reference until it has made `call` of them: needed only where the baseline's output
 * changes. */
tc_status tb_session_bring_reference(struct tb_session *s, long long call);

/* --- session_instructions.c --- */
/* Counts the instructions of a case in processes of their own; gives a status only for what ends the run. */
tc_status tb_session_instructions(struct tb_session *s, struct tb_member *m);

#endif
