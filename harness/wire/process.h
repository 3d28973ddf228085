/* A worker process as the harness sees it: started, asked, timed, and ended.
 *
 * A worker that crashes, hangs or runs out of memory is a recorded outcome: `outcome` and `why` say what
 * became of it, and every later question fails at once. Ownership: tb_process_stop frees all; it is fine on a
 * process that never started. Threads: one. */
#ifndef TB_PROCESS_H
#define TB_PROCESS_H

#include <sys/types.h>

#include <cjson/cJSON.h>

#include "base/config.h"
#include "harness/base/interrupt.h"
#include "harness/machine/topology.h"
#include "harness/wire/ledger.h"
#include "harness/wire/plugins.h"
#include "harness/wire/protocol.h"
#include "harness/wire/worker_output.h"
#include "results/outcome.h"

enum { TB_TAIL_BYTES = 2048, TB_WHY_BYTES = 1024, TB_FRAMEWORK_TEXT = 120 };

struct tb_launch {
  const char *own;     /* path of this program (program.h) */
  const char *program; /* another one: path, or a name on PATH; NULL: this program */
  const char *library; /* folder that Python finds modules in, beside the script's own; NULL: none */
  const char
      *script; /* adapter of a peer (peer.h), which the program runs; NULL: it runs a worker of tbench */
  const struct tb_place *place;   /* NULL: not bound, default threads */
  struct tb_topology *topology;   /* binds memory; NULL where place is */
  const struct tc_config *config; /* switches that are not at their default reach the worker */
  const char *callgrind; /* folder: the worker counts instructions (callgrind.h) and is not timed; NULL: it
                            does not */
  const char *cache_dir; /* instead of the config's; NULL: the config's */
  long long memory_mb;   /* 0: no limit */
  struct tb_worker_output *worker_output; /* shows what it prints; NULL: nothing does */
  const struct tb_plugins *plugins;       /* backends that it registers first; NULL: none */
  const char *suite;        /* whose code it runs, for what is shown of its output; NULL: none */
  struct tb_ledger *ledger; /* where its times go; NULL: nowhere */
};

struct tb_process {
  pid_t pid; /* 0: not running */
  int control, exchange, text;
  long long memory_kills;             /* the system's count when it started */
  int artifact_abi;                   /* as its hello says; -1: unknown */
  char generators[TB_GENERATOR_TEXT]; /* fingerprint of its code generators; "": it does not say */
  char framework[TB_FRAMEWORK_TEXT];  /* that a peer drives, as its hello says; "": it is no peer, or does not
                                         say */
  double start_ns;                    /* from before the fork until the worker was ready */
  bool bound;                         /* to launch->place */
  bool echo; /* what it prints goes on to standard error as it is: logs= was asked for */
  struct tb_output_stream output_stream;
  enum tb_outcome outcome;
  char why[TB_WHY_BYTES];   /* one line, where the outcome is not ok */
  char *trace;              /* Lua's traceback, or NULL */
  char tail[TB_TAIL_BYTES]; /* end of what it printed */
  size_t tail_bytes;
  struct tc_strbuf inbox;
  struct tb_interrupt *interrupt;
  struct tb_ledger *ledger;
  enum tb_request asked; /* the request that is being answered, since `asked_ns`; TB_REQUEST_COUNT: none */
  int64_t asked_ns;
};

/* A process that never started. */
void tb_process_clear(struct tb_process *process);
/* Processes that the system has killed for memory so far; -1: it does not say. */
long long tb_memory_kills(void);
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
