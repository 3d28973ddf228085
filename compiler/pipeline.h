/* The whole flow from a captured graph to a compiled object; pipeline.c has it on one screen. */
#ifndef TC_PIPELINE_H
#define TC_PIPELINE_H

#include "base/context.h"
#include "base/fuel.h"
#include "ir/graph.h"
#include "runtime/compiled.h"

enum tc_pass {
#define TC_PASS(name, in, out, help) TC_PASS_##name,
#include "passes.def"
#undef TC_PASS
  TC_PASS_COUNT
};
const char *tc_pass_name(enum tc_pass pass);

enum tc_backend {
#define TC_BACKEND(name, built, help) TC_BACKEND_##name,
#include "backends.def"
#undef TC_BACKEND
  TC_BACKEND_COUNT
};
const char *tc_backend_name(enum tc_backend backend);
const char *tc_backend_help(enum tc_backend backend);
bool tc_backend_built(enum tc_backend backend);
int tc_backend_find(const char *name); /* tc_backend, or -1 */

enum tc_cache_answer { TC_CACHE_NONE, TC_CACHE_MISS, TC_CACHE_DISK, TC_CACHE_MEMORY };
const char *tc_cache_answer_name(enum tc_cache_answer answer); /* "none", "miss", "disk", "memory" */

/* What a compile made, for people. The buffers are the caller's. */
struct tc_compile_texts {
  struct tc_strbuf before_fusion, after_fusion; /* the decomposed graph and its loops; launches and kernels */
  struct tc_strbuf times; /* a JSON object a stage that ran, in order, joined by commas */
  struct tc_code_text code;
};

/* What one compile did: filled for explain, the harness and the tests. Sizes in bytes. */
struct tc_compile_report {
  double stage_ns[TC_PASS_COUNT];
  enum tc_cache_answer answer;
  int graph_ops, kernels, library_calls;
  uint64_t bytes_moved, flops, peak_bytes, peak_bytes_without_reuse, code_bytes;
  struct tc_fuel_report
      *fuel; /* likewise: what its optional transformations were; filled by the backend inductor */
  struct tc_compile_texts *texts; /* set by who asks for them, before the compile; NULL: nobody does */
};

/* Compiles a captured graph for the context's device. Takes over the graph's arena in every case.
 * report->stage_ns of other stages are left as they are. */
tc_status tc_compile_graph(struct tc_context *ctx, enum tc_backend backend, struct tc_graph *graph,
                           struct tc_compiled **out, struct tc_compile_report *report, struct tc_error *err);

#endif
