/* A worker process as the harness sees it: started, asked, timed, and ended.
 *
 * A worker that crashes, hangs or runs out of memory is a recorded outcome: `outcome` and `why` say what
 * became of it, and every later question fails at once. Ownership: tb_process_stop frees all; it is fine on a
 * process that never started. Threads: one. */
#ifndef TB_PROCESS_H
#define TB_PROCESS_H

#include <cjson/cJSON.h>

#include "harness/base/interrupt.h"
#include "harness/wire/protocol.h"
#include "harness/wire/transport.h"
#include "results/outcome.h"

enum { TB_TAIL_BYTES = 2048, TB_FRAMEWORK_TEXT = 120, TB_BABBLE_BYTES = 80 };

struct tb_process {
  struct tb_link link;                /* pid 0: not running */
  int artifact_abi;                   /* as its hello says; -1: unknown */
  char generators[TB_GENERATOR_TEXT]; /* fingerprint of its code generators; "": it does not say */
  char framework[TB_FRAMEWORK_TEXT];  /* that a peer drives, as its hello says; "": it is no peer, or does not
                                         say */
  double start_ns;                    /* from before the fork until the worker was ready */
  bool echo; /* what it prints goes on to standard error as it is: logs= was asked for */
  struct tb_output_stream output_stream;
  enum tb_outcome outcome;
  char why[TB_WHY_BYTES];   /* one line, where the outcome is not ok */
  char *trace;              /* Lua's traceback, or NULL */
  char tail[TB_TAIL_BYTES]; /* end of what it printed */
  size_t tail_bytes;
  struct tc_strbuf inbox;
  struct tc_strbuf values; /* that came as frames (stream.h), from `values_taken` on */
  size_t values_taken;
  bool greeted, ended; /* what leads to it has said a hello; `end` was told */
  struct tb_end end;
  char babble[TB_BABBLE_BYTES]; /* a line that came in place of a hello */
  struct tb_interrupt *interrupt;
  struct tb_ledger *ledger;
  enum tb_request asked; /* the request that is being answered, since `asked_ns`; TB_REQUEST_COUNT: none */
  int64_t asked_ns;
};

/* A process that never started. */
void tb_process_clear(struct tb_process *process);
/* Starts a worker and waits for its hello. On failure the process is dead and `outcome` is set. */
tc_status tb_process_start(struct tb_process *process, const struct tb_launch *launch,
                           struct tb_interrupt *interrupt, double timeout_s, struct tc_error *err);
/* Sends a request (freed here, also on failure) and waits for the reply, which the caller frees with
 * cJSON_Delete. TC_INTERRUPTED after a second Ctrl-C. After the first one it waits no longer than a grace. */
tc_status tb_process_ask(struct tb_process *process, cJSON *request, double timeout_s, cJSON **reply,
                         struct tc_error *err);
/* The two halves of it, for requests whose values must be read in between. */
tc_status tb_process_send(struct tb_process *process, cJSON *request, struct tc_error *err);
tc_status tb_process_receive(struct tb_process *process, double timeout_s, cJSON **reply,
                             struct tc_error *err);
/* Exactly `bytes` from the exchange pipe. */
tc_status tb_process_read(struct tb_process *process, void *data, size_t bytes, double timeout_s,
                          struct tc_error *err);
/* {"op": name}, to which fields are added; NULL when memory is out (which the calls above take as a
 * failure). */
cJSON *tb_process_request(enum tb_request request);
/* Asks it to leave, then makes it; what it started in the background ends with it. */
void tb_process_stop(struct tb_process *process);
/* Records an outcome with its reason and gives the status of a failed process: for the parts of this
 * interface. */
tc_status tb_process_fail(struct tb_process *process, enum tb_outcome outcome, struct tc_error *err,
                          const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
