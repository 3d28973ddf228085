/* backend=peer:NAME: another framework, measured in the same rounds as ours.
 *
 * Its adapter, NAME_adapter.py in a folder peers/ of the suite path (or the file of peer:./FILE.py), is run
 * by python3 (TBENCH_PYTHON names another) with the words NAME=VALUE of a worker: threads, cpus, cache_dir,
 * memory_mb. It speaks the protocol of a worker (protocol.h) and sends its results as one does (exchange.h):
 * to the harness it is the worker of a compiled function.
 * - In place of the hello it may answer {"ok": false, "error": {"kind": "unsupported", …}}: a package is
 *   absent. The hello's "framework" says what was measured, as "torch 2.9.0".
 * - `prepare` has two fields more: suite_name, and inputs, a file of the values that the workload of the
 *   suite was made with (inputs.h). So a peer computes from the same numbers, and is held against the same
 *   f64 reference.
 * Python finds adapter.py in peers/ of the suite path, wherever the file lies.
 * - What it cannot tell it leaves out: evidence of `first`, stats, preempted. That is null in the result,
 *   with the reason.
 * suites/peers/adapter.py is the common part of the adapters that are there. */
#ifndef TB_PEER_H
#define TB_PEER_H

#include "harness/plan/plan.h"

struct tb_peer {
  const char *label; /* "peer:NAME", as cases carry it */
  const char *file;  /* of the adapter */
};

/* Whether backend= names a peer. */
bool tb_peer_named(const char *backend);
/* TC_ARG: there is no such adapter, or its file's name could be no part of a case's. In the arena. */
tc_status tb_peer_find(struct tc_arena *arena, const char *backend, struct tb_peer *out,
                       struct tc_error *err);
/* Sets backend and adapter of a case. As tb_peer_find; a backend of tbench is taken as it is. */
tc_status tb_peer_set_backend(struct tc_arena *arena, const char *backend, struct tb_case *kase,
                              struct tc_error *err);
/* How a case's adapter is run: program, script and library of a launch. TC_NOMEM. */
tc_status tb_peer_launch(struct tc_arena *arena, const struct tb_case *kase, struct tb_launch *launch,
                         struct tc_error *err);

#endif
