#include "pipeline_text.h"

#include "cache/cache.h"

/* "captured", and behind it the place in the program that the graph begins with. */
static void put_heading(struct tc_strbuf *out, const char *what, const struct tc_graph *graph) {
  tc_strbuf_puts(out, what);
  for (size_t i = 0; i < graph->nodes.len; i++) {
    const struct tc_node *node = graph->nodes.data[i];
    if (!node->line || !node->source) continue;
    tc_strbuf_printf(out, ", from %s:%d", node->source, node->line);
    return;
  }
}

static void log_text(const struct tc_context *ctx, enum tc_log_channel channel, const char *what,
                     const struct tc_graph *graph, struct tc_strbuf *text) {
  struct tc_strbuf heading;
  if (!tc_log_on(&ctx->log, channel)) return;
  tc_strbuf_init(&heading, ctx->alloc);
  put_heading(&heading, what, graph);
  const char *first = tc_strbuf_text(&heading), *rest = tc_strbuf_text(text);
  tc_log_text(&ctx->log, channel, first ? first : what, rest ? rest : "(out of memory)\n");
  tc_strbuf_free(&heading);
}

static void append(struct tc_strbuf *out, const char *title, struct tc_strbuf *text) {
  const char *bytes = tc_strbuf_text(text);
  if (bytes && text->len) tc_strbuf_printf(out, "-- %s\n%s\n", title, bytes);
}

/* Is a text to be made, for the log or for a caller? Off (opt.lazy_dump): it is made at each stage, whether
 * or not anyone reads it. */
static bool wants_text(const struct tc_context *ctx, const struct tc_compile_texts *texts,
                       enum tc_log_channel channel) {
  return texts || tc_log_on(&ctx->log, channel) || !ctx->config.opt_lazy_dump;
}

void tc_text_captured(const struct tc_context *ctx, const struct tc_graph *graph) {
  struct tc_strbuf text;
  if (!wants_text(ctx, NULL, TC_LOG_GRAPH)) return;
  tc_strbuf_init(&text, ctx->alloc);
  tc_graph_print(&text, graph);
  log_text(ctx, TC_LOG_GRAPH, "captured", graph, &text);
  tc_strbuf_free(&text);
}

void tc_text_decomposed(const struct tc_context *ctx, struct tc_compile_texts *texts,
                        const struct tc_graph *graph) {
  struct tc_strbuf text;
  if (!wants_text(ctx, texts, TC_LOG_GRAPH)) return;
  tc_strbuf_init(&text, ctx->alloc);
  tc_graph_print(&text, graph);
  log_text(ctx, TC_LOG_GRAPH, "decomposed", graph, &text);
  if (texts) append(&texts->before_fusion, "the graph, decomposed into primitive operations", &text);
  tc_strbuf_free(&text);
}

void tc_text_lowered(const struct tc_context *ctx, struct tc_compile_texts *texts,
                     const struct tc_graph *graph, const struct tc_loops *loops) {
  struct tc_strbuf text;
  if (!wants_text(ctx, texts, TC_LOG_GRAPH)) return;
  tc_strbuf_init(&text, ctx->alloc);
  tc_loops_print(&text, loops);
  log_text(ctx, TC_LOG_GRAPH, "lowered", graph, &text);
  if (texts) append(&texts->before_fusion, "a loop for each of them", &text);
  tc_strbuf_free(&text);
}

bool tc_text_wants_code(const struct tc_context *ctx, const struct tc_compile_texts *texts) {
  return texts || tc_log_on(&ctx->log, TC_LOG_KERNELS);
}

void tc_text_kernels(const struct tc_context *ctx, struct tc_compile_texts *texts,
                     const struct tc_graph *graph, const struct tc_launch_list *list,
                     struct tc_code_text *code) {
  struct tc_strbuf text;
  if (!wants_text(ctx, texts, TC_LOG_KERNELS)) return;
  tc_strbuf_init(&text, ctx->alloc);
  tc_launch_print(&text, list);
  for (int i = 0; i < list->n_codes; i++) tc_kernel_print(&text, list->codes[i].kernel);
  log_text(ctx, TC_LOG_KERNELS, "launch list and kernels", graph, &text);
  log_text(ctx, TC_LOG_KERNELS, "code", graph, &code->code);
  if (texts)
    append(&texts->after_fusion, "what a call launches, and the kernels that operations were fused into",
           &text);
  if (texts && code->code.len) tc_strbuf_bytes(&texts->code.code, code->code.data, code->code.len);
  if (texts && code->assembly.len)
    tc_strbuf_bytes(&texts->code.assembly, code->assembly.data, code->assembly.len);
  tc_strbuf_free(&text);
}

void tc_text_fuel(const struct tc_context *ctx, const struct tc_graph *graph, const struct tc_fuel *fuel) {
  struct tc_fuel_report report;
  struct tc_strbuf text;
  if (!tc_log_on(&ctx->log, TC_LOG_KERNELS)) return;
  tc_fuel_report(fuel, &report);
  tc_strbuf_init(&text, ctx->alloc);
  tc_fuel_print(&text, &report);
  tc_strbuf_puts(&text, "\n");
  log_text(ctx, TC_LOG_KERNELS, "optional transformations", graph, &text);
  tc_strbuf_free(&text);
}

static void log_answer(const struct tc_context *ctx, const struct tc_graph *graph,
                       const struct tc_cache_key *key, enum tc_cache_answer answer) {
  struct tc_strbuf text;
  if (!tc_log_on(&ctx->log, TC_LOG_CACHE)) return;
  tc_strbuf_init(&text, ctx->alloc);
  if (answer == TC_CACHE_MISS) {
    tc_strbuf_puts(&text, "miss: ");
    tc_cache_explain_miss(ctx->cache, key, &text);
  } else {
    tc_strbuf_puts(&text, "hit: ");
  }
  put_heading(&text, answer == TC_CACHE_MISS ? "" : answer == TC_CACHE_DISK ? "on disk" : "in memory", graph);
  const char *line = tc_strbuf_text(&text);
  tc_log_line(&ctx->log, TC_LOG_CACHE, "%s", line ? line : "(out of memory)");
  tc_strbuf_free(&text);
}

void tc_text_asked(const struct tc_context *ctx, const struct tc_graph *graph, const struct tc_cache_key *key,
                   const struct tc_compiled *compiled, enum tc_cache_answer answer) {
  struct tc_strbuf text;
  log_answer(ctx, graph, key, answer);
  const struct tc_launch_list *list = compiled ? tc_compiled_list(compiled) : NULL;
  if (!list || !tc_log_on(&ctx->log, TC_LOG_KERNELS)) return;
  tc_strbuf_init(&text, ctx->alloc);
  tc_launch_print(&text, list);
  log_text(ctx, TC_LOG_KERNELS,
           answer == TC_CACHE_DISK ? "launch list; its kernels were on disk"
                                   : "launch list; its kernels are in memory",
           graph, &text);
  tc_strbuf_free(&text);
}

void tc_text_times(struct tc_compile_texts *texts, size_t count, const struct tc_stage_record *records) {
  for (size_t i = 0; texts && i < count; i++)
    tc_strbuf_printf(
        &texts->times, "%s{\"stage\": \"%s\", \"began_ns\": %.0f, \"took_ns\": %.0f, \"bytes\": %zu}",
        i ? ", " : "", records[i].stage, records[i].began_ns, records[i].took_ns, records[i].bytes);
}
