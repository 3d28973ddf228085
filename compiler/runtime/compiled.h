/* A compiled graph: what a call runs.
 *
 * Either loaded kernels and a launch list (inductor), or a graph run operation by operation on the
 * device's eager kernels (backends eager and aot_eager, and the fallback).
 * Ownership: counted; the in-memory cache and the callers hold references. Threads: one call at a time
 * an object (its pool is its own). */
#ifndef TC_RUNTIME_COMPILED_H
#define TC_RUNTIME_COMPILED_H

#include "base/context.h"
#include "base/hash.h"
#include "codegen/emit.h"
#include "device/device.h"
#include "ir/graph.h"
#include "sched/launch.h"

struct tc_compiled;

/* Loads the blobs (borrowed) and takes over `arena`, in which `list` lies; on failure the arena stays the
 * caller's. */
tc_status tc_compiled_new(struct tc_context *ctx, struct tc_arena *arena, struct tc_launch_list *list,
                          const struct tc_blobs *blobs, const char artifact[TC_SHA256_HEX],
                          struct tc_compiled **out, struct tc_error *err);
/* Runs `g` operation by operation; takes over its arena. `first_fact`: how many facts its symbols had when
 * the compile began. */
tc_status tc_compiled_from_graph(struct tc_context *ctx, struct tc_graph *g, int first_fact,
                                 struct tc_compiled **out, struct tc_error *err);
struct tc_compiled *tc_compiled_retain(struct tc_compiled *c);
void tc_compiled_release(struct tc_compiled *c); /* NULL is fine */

int tc_compiled_inputs(const struct tc_compiled *c);
int tc_compiled_outputs(const struct tc_compiled *c);
/* How many size variables its graph had: so many values a call gives. */
int tc_compiled_sizes(const struct tc_compiled *c);
/* What compiling took for granted of them: guards of every call, beside the facts that capture recorded (some
 * of which may be here again: an artifact stands by itself). Borrowed; their symbols are the object's own.
 * Gives the count. */
int tc_compiled_facts(const struct tc_compiled *c, const struct tc_sym_fact **facts);
/* Runs. inputs[] are borrowed; outputs[] are the caller's afterwards (nothing after a failure). sizes[]: the
 * values of the size variables; NULL where there are none. A call with the sizes of the call before costs
 * what one without size variables does. */
tc_status tc_compiled_run(struct tc_compiled *c, const struct tc_tensor *const *inputs, const int64_t *sizes,
                          struct tc_tensor *outputs, struct tc_error *err);

/* NULL for a graph that is run operation by operation. */
const struct tc_launch_list *tc_compiled_list(const struct tc_compiled *c);
/* sha256 in hex over launch list and code; "" without code. */
const char *tc_compiled_artifact(const struct tc_compiled *c);
/* Of its generated code, wherever it came from: the objects with their constants and symbols. */
uint64_t tc_compiled_code_bytes(const struct tc_compiled *c);
/* When the newest run's first launch started (CLOCK_MONOTONIC, ns); set only while `watch` is on. */
void tc_compiled_watch(struct tc_compiled *c, bool watch);
uint64_t tc_compiled_first_launch_ns(const struct tc_compiled *c);

#endif
