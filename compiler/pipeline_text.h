/* What the stages of a compile tell: the logs `graph`, `kernels` and `cache`, and the texts of a debug
 * folder. Nothing is made that nobody asked for. For people: where memory is out, a text is left out. */
#ifndef TC_PIPELINE_TEXT_H
#define TC_PIPELINE_TEXT_H

#include "lower/lower.h"
#include "pipeline.h"

struct tc_cache_key;

void tc_text_captured(const struct tc_context *ctx, const struct tc_graph *graph);
void tc_text_decomposed(const struct tc_context *ctx, struct tc_compile_texts *texts,
                        const struct tc_graph *graph);
void tc_text_lowered(const struct tc_context *ctx, struct tc_compile_texts *texts,
                     const struct tc_graph *graph, const struct tc_loops *loops);
/* Does anybody read the code? */
bool tc_text_wants_code(const struct tc_context *ctx, const struct tc_compile_texts *texts);
void tc_text_kernels(const struct tc_context *ctx, struct tc_compile_texts *texts,
                     const struct tc_graph *graph, const struct tc_launch_list *list,
                     struct tc_code_text *code);
/* How many optional transformations were made, and which one was the last where they are limited. */
void tc_text_fuel(const struct tc_context *ctx, const struct tc_graph *graph, const struct tc_fuel *fuel);
/* A cache was asked: what it said, and what it had. `compiled` NULL: a miss. */
void tc_text_asked(const struct tc_context *ctx, const struct tc_graph *graph, const struct tc_cache_key *key,
                   const struct tc_compiled *compiled, enum tc_cache_answer answer);

/* When a stage ran, from the begin of the compile on, and what memory it took of the graph's arena. */
struct tc_stage_record {
  const char *stage;
  double began_ns, took_ns;
  size_t bytes;
};
void tc_text_times(struct tc_compile_texts *texts, size_t count, const struct tc_stage_record *records);

/* --- pipeline_report.c --- */
/* Figures of what runs: kernels, bytes, operations. An object that runs operation by operation has none; then
 * *r stays. */
void tc_report_figures(const struct tc_compiled *compiled, int threads, struct tc_compile_report *r);

#endif
