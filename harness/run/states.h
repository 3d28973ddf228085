/* The states of compile: cold (fresh process, empty cache), disk (fresh process, filled cache), memory (same
 * process, the object reset). Each is believed only where the compiler's own counters of the first call
 * agree. */
#ifndef TB_STATES_H
#define TB_STATES_H

#include "harness/run/result.h"
#include "harness/wire/process.h"

/* What a worker answered to `first`. */
struct tb_first {
  double call_ns;    /* the whole call */
  double entry_ns;   /* until the first kernel may start; NaN where nothing was compiled */
  double library_ns; /* of the call, after that: opening the matrix library at the first product; NaN: it was
                        not opened */
  struct tb_evidence evidence;
  cJSON *stats; /* tb.stats of the object; the caller deletes it; NULL: none */
};

/* Makes the first call; `reset`: the object forgets what it compiled before. */
tc_status tb_first_call(struct tb_process *process, bool reset, double timeout_s, struct tb_first *out,
                        struct tc_error *err);
/* Why the counters contradict a state, as text in the arena; NULL where they agree. */
const char *tb_state_contradiction(struct tc_arena *arena, enum tb_state state,
                                   const struct tb_evidence *evidence);
/* Adds a first call in a state to a case's figures: its times, or the reason why they are not believed; a
 * cold process' first call is one in either case. `cache`: the on-disk cache is in use. False when memory is
 * out. */
bool tb_state_add(struct tc_arena *arena, struct tb_compile *compile, enum tb_state state,
                  const struct tb_first *first, bool cache);

/* Adds one compile's stages, from tb.stats. False when memory is out. */
bool tb_stages_add(struct tc_arena *arena, const cJSON *stats, struct tb_compile *compile);
/* Facts of the graph, from tb.stats. False when memory is out. */
bool tb_graph_read(struct tc_arena *arena, const cJSON *stats, struct tb_graph *out);
/* Adds a sample and moves the median. False when memory is out. */
bool tb_duration_add(struct tc_arena *arena, struct tb_duration *duration, double value);

#endif
