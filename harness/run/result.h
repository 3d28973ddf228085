/* A run's result in memory; record.h makes its document, which reporters read.
 *
 * Ownership: everything lies in one arena. Times are nanoseconds; NaN stands for "not measured" (JSON
 * null). */
#ifndef TB_RESULT_H
#define TB_RESULT_H

#include "harness/machine/disturbance.h"
#include "harness/machine/instructions.h"
#include "harness/machine/noise.h"
#include "harness/plan/plan.h"
#include "harness/run/stop.h"
#include "harness/wire/ledger.h"
#include "results/json_add.h"
#include "results/outcome.h"
#include "results/stats/break_even.h"

enum { TB_SCHEMA = 1 };

struct tb_replicate {
  double median_ns;
  tb_doubles samples_ns; /* a call's time, one a block */
  double preempted;      /* times that a thread of the worker lost its CPU in these blocks; NaN: not known */
};

struct tb_timing {
  double median_ns;              /* median of the replicates' medians */
  double mad_ns, p05_ns, p95_ns; /* of all samples, each replicate with the same weight; mad: median absolute
                                    deviation from median_ns */
  TC_VEC(struct tb_replicate) replicates;
};

/* One figure from several fresh processes. No samples: not measured. */
struct tb_duration {
  double median;
  tb_doubles samples;
};

struct tb_speedup {
  double ratio, lo, hi;    /* baseline / compiled, and its t interval */
  double confidence;       /* 0.95 */
  int replicates;          /* that the figure rests on */
  bool over_blocks;        /* one replicate: the interval is over its blocks */
  double noise_floor;      /* what the same estimator gives on the A/A pairs, as a ratio - 1: see summary.c */
  double p;                /* exact sign-flip test; NaN below 6 replicates and above 40: stats.h */
  const char *stop_reason; /* of the rounds of a replicate: "target", "stable", "budget", "interrupted"; NULL:
                              not measured */
  enum tb_replicates_end replicates_stop; /* why there are no more replicates */
  double interval_confidence; /* that the t interval was made with, so that it holds with `confidence` where
                                 it was stopped: see stop.h */
};

/* A compiled worker against its A/A control: what two equal things differ by in this run. */
struct tb_aa {
  const char *of;          /* id of the case whose A/A control it was; NULL: none */
  tb_doubles log_ratios;   /* one a replicate */
  double block_half_width; /* of the newest one, over its rounds */
};

/* The calibration kernel (calibration.h), measured in the same rounds. */
struct tb_calibrated {
  struct tb_timing timing;
  tb_doubles log_ratios; /* log(compiled / calibration kernel), one a replicate */
};

enum tb_state { TB_STATE_COLD, TB_STATE_DISK, TB_STATE_MEMORY, TB_STATE_COUNT };
const char *tb_state_name(enum tb_state state);

struct tb_evidence {
  bool known;
  double misses, disk_hits, memory_hits;
};

struct tb_stage {
  const char *name;
  struct tb_duration ns;
};

struct tb_compile {
  struct tb_duration state_ns[TB_STATE_COUNT]; /* entering the first call until its first kernel may start */
  struct tb_evidence evidence[TB_STATE_COUNT]; /* of the first replicate */
  const char *invalid[TB_STATE_COUNT];         /* why a state's figure was thrown away; NULL: it was not */
  struct tb_duration
      first_call_ns[TB_STATE_COUNT]; /* the whole of that call; of a cold process whatever its counters say */
  struct tb_duration library_ns;     /* the part of a cold process' first call that opened the matrix library;
                                        none: it needed none */
  struct tb_duration start_ns;
  double break_even_calls;
  struct tb_break_even break_even; /* its interval */
  TC_VEC(struct tb_stage) stages;  /* of the cold compiles, one sample a replicate */
};

struct tb_break {
  const char *reason, *detail, *file;
  int line;
};

/* A kernel or a call of the matrix library, in the order in which they run. */
struct tb_launched {
  const char *label, *kind, *generator, *fused /* names of the operations in it */;
  double ops, bytes, flops;
};

struct tb_graph {
  bool known;
#define TB_FIELD(path, member, ...) member
#define GRAPH(name)                 double name; /* NaN: not counted */
#define NONE
#include "results/fields.def"
  const char *artifact; /* NULL: none */
  TC_VEC(struct tb_launched) launches;
  TC_VEC(struct tb_break) breaks;
  tb_texts fallbacks;
};

/* What one call has to do: as the suite says, else as the compiler counts what it made; NaN: neither. */
struct tb_amount {
  double value;
  bool stated; /* by the suite */
};

struct tb_counter {
  const char *name;
  double value;
  const char *why;  /* where value is NaN */
  bool multiplexed; /* it took turns with others on the machine's counters */
};

struct tb_correctness {
  bool checked, ok;
  double max_error, bound; /* of the comparison that came nearest to its bound, or went farthest beyond */
  int compared;            /* calls whose results were compared */
  const char *against;     /* "f64", or "baseline" where at least one comparison was with that alone */
  const char *detail;      /* what differed, or why there was no reference; NULL: nothing to say */
};

/* Of a case whose backend is a peer's (peer.h). */
struct tb_peer_facts {
  const char *adapter;   /* its file; NULL: no peer, or not started */
  const char *framework; /* as its hello says; NULL: it does not */
  const char *no_graph;  /* why nothing is known of its graphs; NULL: something is */
};

struct tb_case_result {
  const struct tb_case *kase;
  int env;
  bool bound; /* the workers were bound to the case's topology */
  enum tb_outcome outcome;
  bool interrupted; /* the user ended the run before this case was measured; its outcome is an error that says
                       so */
  const char *error, *trace; /* NULL: none */
  struct tb_timing baseline, steady;
  struct tb_speedup speedup;
  tb_doubles replicate_log_ratios; /* one a replicate: what speedup is made from */
  struct tb_aa aa;
  struct tb_calibrated calibration;
  double block_half_width; /* of the newest replicate's log ratio, over its rounds */
  struct tb_compile compile;
  struct tb_graph graph;
  TC_VEC(struct tb_counter) counters;
  double counted_calls; /* whose mean the counters are; NaN: nothing was counted */
  struct tb_instructions instructions;
  struct tb_amount bytes, flops;
  struct tb_correctness correctness;
  struct tb_peer_facts peer;
};

struct tb_cpu {
  const char *model;
  tb_texts features;
  const char *governor;
  int packages, numa, cores, pus;
};

struct tb_environment {
  const char *host, *os, *kernel, *llvm, *lua, *blas;
  struct tb_cpu cpu;
  const char *topology, *topology_xml;
  const char *bound_to, *cpus; /* the part of the machine that triad and peak are of: a case's topology */
  int threads;
  double triad_bytes_per_s, fma_flops_per_s;
  tb_texts warnings;
  TC_VEC(struct tb_noise) noise; /* all causes, as they were before the run */
};

struct tb_left_out {
  const char *id, *artifact;
};

struct tb_result {
  struct tc_arena *arena;
  const char *version, *commit, *commit_whole /* all digits of it, and "-dirty" as there; NULL: unknown */,
      *build;
  int artifact_abi;
  const char *started, *finished; /* RFC 3339, UTC; finished NULL: the run goes on, and cases may be missing
                                     from its document */
  tb_texts argv;
  double seed;
  bool interrupted;
  int planned;               /* cases of the plan; each of them is in `cases`, whatever became of it */
  const char *changed_since; /* the result that decided which cases are timed (selection.h); NULL: all are */
  TC_VEC(struct tb_left_out) left_out; /* cases that are not: neither planned nor measured */
  struct tb_disturbance disturbance;
  struct tb_ledger ledger;
  TC_VEC(struct tb_environment) environments;
  TC_VEC(struct tb_case_result) cases;
};

/* A fresh case: nothing measured. */
struct tb_case_result tb_case_result_new(const struct tb_case *kase);

/* Whether anything is known of a case: it was measured, or it failed. */
bool tb_case_known(const struct tb_case_result *r);

/* Exit code that the outcomes make; TB_EXIT_INTERRUPTED where interrupted. */
enum tb_exit tb_result_exit(const struct tb_result *result);

#endif
