/* The pipeline: from a captured graph to a compiled object.
 *
 * 1. Each stage of passes.def is one line of compile_inductor; `stage` alone times, verifies what the row
 *    says of its borders (switch `verify`), and stops at the first failure.
 * 2. The graph's arena ends with the compile; a graph that runs operation by operation keeps it.
 * To add a stage: a row in passes.def, a function here, a line in compile_inductor. To add a spec: spec_NAME
 * below. */
#include "pipeline.h"
#include "base/clock.h"

#include <string.h>

#include "cache/key.h"
#include "decomp/decomp.h"
#include "pipeline_text.h"
#include "runtime/artifact.h"
#include "sched/sched.h"
#include "tcompile.h"
#include "tune/tune.h"

struct compile {
  struct tc_context *ctx;
  struct tc_graph *graph;
  int first_fact; /* of the graph's symbols: what is recorded from here on belongs to the compiled object */
  struct tc_loops *loops;
  struct tc_launch_list *list;
  struct tc_blobs blobs;
  struct tc_cache_key key;
  char artifact[TC_SHA256_HEX];
  struct tc_compiled *result; /* set by whichever stage finishes the compile */
  struct tc_compile_report *report;
  struct tc_error *err;
  TC_VEC(struct tc_stage_record) records; /* in the graph's arena */
  double start_ns;                        /* of the first record */
};

static tc_status run_decompose(struct compile *c);
static tc_status run_key(struct compile *c);
static tc_status run_tune(struct compile *c);
static tc_status run_lower(struct compile *c);
static tc_status run_schedule(struct compile *c);
static tc_status run_codegen(struct compile *c);
static tc_status run_load(struct compile *c);

/* --- specs: what holds at the borders of stages --- */

typedef tc_status spec(const struct compile *c);
static tc_status spec_NONE(const struct compile *c) { return (void)c, TC_OK; }
static tc_status spec_CAPTURED(const struct compile *c) {
  return tc_graph_verify(c->graph, TC_SPEC_CAPTURED, c->err);
}
static tc_status spec_DECOMPOSED(const struct compile *c) {
  return tc_graph_verify(c->graph, TC_SPEC_DECOMPOSED, c->err);
}
static tc_status spec_LOWERED(const struct compile *c) { return tc_loops_verify(c->loops, c->err); }
static tc_status spec_SCHEDULED(const struct compile *c) {
  tc_status status = TC_OK;
  for (int i = 0; !status && i < c->list->n_codes; i++)
    status = tc_kernel_verify(c->list->codes[i].kernel, c->err);
  return status;
}
static tc_status spec_CODE(const struct compile *c) {
  for (int i = 0; i < c->list->n_codes; i++)
    if (!c->list->codes[i].generator || !c->blobs.count)
      return tc_fail(c->err, TC_VERIFY, "pipeline", "%s has no code", c->list->codes[i].symbol);
  return TC_OK;
}

static const struct {
  const char *name;
  spec *in, *out;
} pass_rows[] = {
#define TC_PASS(name, in, out, help) {#name, spec_##in, spec_##out},
#include "passes.def"
#undef TC_PASS
};
const char *tc_pass_name(enum tc_pass pass) { return pass_rows[pass].name; }

/* A record of the stage that just ended, for whoever asks when each ran. Off (opt.lazy_timing): for nobody,
 * too. */
static void record_stage(struct compile *c, struct tc_arena *arena, const struct tc_stage_record *record) {
  if (!c->report->texts && c->ctx->config.opt_lazy_timing) return;
  if (!c->records.len) c->start_ns = record->began_ns;
  struct tc_stage_record kept = *record;
  kept.began_ns -= c->start_ns;
  kept.took_ns = tc_now_ns() - record->began_ns;
  kept.bytes = tc_arena_used(arena) - record->bytes;
  kept.stage = tc_arena_text(arena, record->stage);
  if (kept.stage) (void)tc_vec_push(tc_arena_alloc(arena), &c->records, kept); /* they are for people */
}

static tc_status stage(struct compile *c, enum tc_pass pass, tc_status (*run)(struct compile *)) {
  if (c->result) return TC_OK; /* a cache had it */
  const bool verify = c->ctx->config.verify;
  tc_status status = verify ? pass_rows[pass].in(c) : TC_OK;
  if (status) return status;
  struct tc_arena *const arena = c->graph->arena;
  const struct tc_stage_record record = {
      .stage = pass_rows[pass].name, .began_ns = tc_now_ns(), .bytes = tc_arena_used(arena)};
  tc_stage_enter(c->ctx, pass_rows[pass].name);
  status = run(c);
  tc_stage_leave(c->ctx);
  c->report->stage_ns[pass] += tc_now_ns() - record.began_ns;
  record_stage(c, arena, &record);
  return !status && verify ? pass_rows[pass].out(c) : status;
}

static tc_status compile_inductor(struct compile *c) {
  tc_status status = stage(c, TC_PASS_decompose, run_decompose);
  if (!status) status = stage(c, TC_PASS_key, run_key);
  if (!status) status = stage(c, TC_PASS_tune, run_tune);
  if (!status) status = stage(c, TC_PASS_lower, run_lower);
  if (!status) status = stage(c, TC_PASS_schedule, run_schedule);
  if (!status) status = stage(c, TC_PASS_codegen, run_codegen);
  if (!status) status = stage(c, TC_PASS_load, run_load);
  return status;
}

/* --- stages --- */

static tc_status run_decompose(struct compile *c) {
  const tc_status status = tc_decompose(c->graph, &c->ctx->config, &c->graph, c->err);
  if (!status) tc_text_decomposed(c->ctx, c->report->texts, c->graph);
  return status;
}

/* May the artifact serve the sizes that the graph was captured with? Another first batch may have decided
 * otherwise. */
static bool facts_fit(const struct compile *c, const struct tc_compiled *known) {
  const struct tc_sym_fact *facts;
  const int n_facts = tc_compiled_facts(known, &facts), n_sizes = tc_symtab_sizes(c->graph->tab);
  if (!n_facts) return true;
  int64_t *hints = TC_NEW_ARRAY(tc_arena_alloc(c->graph->arena), int64_t, (size_t)n_sizes + 1);
  for (int i = 0; hints && i < n_sizes; i++) hints[i] = tc_symtab_hint(c->graph->tab, i);
  bool fit = hints != NULL;
  for (int i = 0; i < n_facts && fit; i++) fit = tc_sym_fact_true(&facts[i], hints);
  return fit;
}

/* What a search finds is for a number of threads; what is made without one runs on any. */
static tc_status make_key(struct compile *c, struct tc_error *err) {
  struct tc_context *ctx = c->ctx;
  const tc_status status = tc_cache_key_of(c->graph, &ctx->config, &ctx->device->target, ctx->codegens,
                                           TC_ARTIFACT_ABI, &c->key, err);
  if (!status && !strcmp(ctx->config.matmul, TC_PRODUCT_SEARCH))
    tc_cache_key_for_threads(&c->key, ctx->device->threads);
  return status;
}

/* For one question to a cache: the key that run_key made. Off (opt.key_cache): the graph is hashed anew
 * (where memory is out for it, the old one serves: it is the same). */
static const struct tc_cache_key *key_of(struct compile *c) {
  struct tc_error unused;
  if (!c->ctx->config.opt_key_cache) (void)make_key(c, &unused);
  return &c->key;
}

/* An entry that is there but bad is a counted miss. */
static bool load_from_disk(struct compile *c) {
  struct tc_context *ctx = c->ctx;
  unsigned char *bytes = NULL;
  size_t size = 0;
  struct tc_error why = {0};
  tc_status status = tc_cache_disk_get(ctx->cache, key_of(c), &bytes, &size, &why);
  if (status == TC_IO) return false;
  struct tc_arena *arena = status ? NULL : tc_arena_new(ctx->alloc);
  if (!status && !arena) status = TC_NOMEM;
  if (!status) status = tc_artifact_read(arena, ctx->alloc, bytes, size, &c->list, &c->blobs, &why);
  if (!status) {
    tc_artifact_name(bytes, size, c->artifact);
    status = tc_compiled_new(ctx, arena, c->list, &c->blobs, c->artifact, &c->result, &why);
    tc_blobs_free(&c->blobs);
  }
  tc_free_bytes(ctx->alloc, bytes, size);
  if (!status && facts_fit(c, c->result)) return true;
  if (!status) { /* good, but for other sizes */
    tc_compiled_release(c->result);
    c->result = NULL;
    c->list = NULL;
    return false;
  }
  ctx->counters.disk_bad_entries++;
  tc_log_line(&ctx->log, TC_LOG_CACHE, "bad entry: %s", why.message);
  tc_arena_free(arena);
  c->list = NULL;
  return false;
}

static tc_status run_key(struct compile *c) {
  struct tc_context *ctx = c->ctx;
  c->report->answer = TC_CACHE_MISS;
  if (!ctx->cache) return TC_OK;
  const tc_status status = make_key(c, c->err);
  if (status) return status;
  struct tc_compiled *known = tc_cache_memory_get(ctx->cache, &c->key);
  if (known && facts_fit(c, known)) {
    c->result = tc_compiled_retain(known);
    c->report->answer = TC_CACHE_MEMORY;
    ctx->counters.memory_hits++;
  } else if (ctx->config.cache && load_from_disk(c)) {
    (void)tc_cache_memory_put(ctx->cache, key_of(c), c->result);
    c->report->answer = TC_CACHE_DISK;
    ctx->counters.disk_hits++;
  } else {
    ctx->counters.cache_misses++;
  }
  tc_text_asked(ctx, c->graph, &c->key, c->result, c->report->answer);
  return TC_OK;
}

/* A compile that a search tries: of nobody's interest beside it, and in no cache. */
static tc_status compile_trial(void *self, struct tc_graph *graph, const struct tc_config *config,
                               struct tc_compiled **out, struct tc_error *err) {
  struct compile *c = self;
  struct tc_context *ctx = tc_arena_bytes(c->graph->arena, sizeof *ctx); /* what is compiled refers to it */
  struct tc_compile_report report = {0};
  if (!ctx) {
    tc_arena_free(graph->arena);
    return tc_fail(err, TC_NOMEM, "tune", "out of memory for a trial");
  }
  *ctx = *c->ctx;
  ctx->cache = NULL;
  ctx->watch = NULL;
  ctx->log = (struct tc_log){0};
  ctx->config = *config;
  return tc_compile_graph(ctx, TC_BACKEND_inductor, graph, out, &report, err);
}

static tc_status run_tune(struct compile *c) {
  const struct tc_tuner tuner = {.self = c, .compile = compile_trial, .abi = TC_ARTIFACT_ABI};
  tc_tune(c->ctx, c->graph, &tuner);
  return TC_OK;
}

static tc_status run_lower(struct compile *c) {
  const tc_status status = tc_lower(c->graph, &c->ctx->config, &c->loops, c->err);
  if (!status) tc_text_lowered(c->ctx, c->report->texts, c->graph, c->loops);
  return status;
}

/* What was decided on the way belongs to the artifact. */
static tc_status take_facts(struct compile *c) {
  struct tc_launch_list *list = c->list;
  list->n_facts = tc_sym_fact_count(c->graph->tab) - c->first_fact;
  list->facts = TC_NEW_ARRAY(tc_arena_alloc(c->graph->arena), struct tc_sym_fact, (size_t)list->n_facts + 1);
  if (!list->facts) return tc_fail(c->err, TC_NOMEM, "pipeline", "out of memory for the facts on sizes");
  for (int i = 0; i < list->n_facts; i++) list->facts[i] = tc_sym_fact_at(c->graph->tab, c->first_fact + i);
  return TC_OK;
}

/* How products are computed, where not all are the library's: so that nobody has to choose again to tell of
 * it. */
static tc_status take_products(struct compile *c) {
  struct tc_launch_list *list = c->list;
  const struct tc_graph *g = c->graph;
  int n = 0, own = 0;
  for (size_t i = 0; i < g->nodes.len; i++) {
    n += g->nodes.data[i]->op == TC_OP_matmul;
    own += g->nodes.data[i]->product != TC_PRODUCT_library;
  }
  if (!own) return TC_OK;
  list->products = TC_NEW_ARRAY(tc_arena_alloc(g->arena), unsigned char, (size_t)n);
  if (!list->products)
    return tc_fail(c->err, TC_NOMEM, "pipeline", "out of memory for how products are computed");
  for (size_t i = 0; i < g->nodes.len; i++)
    if (g->nodes.data[i]->op == TC_OP_matmul)
      list->products[list->n_products++] = (unsigned char)g->nodes.data[i]->product;
  return TC_OK;
}

static tc_status run_schedule(struct compile *c) {
  const tc_status status =
      tc_schedule(c->graph, c->loops, &c->ctx->device->target, &c->ctx->config, &c->list, c->err);
  if (status) return status;
  tc_text_fuel(c->ctx, c->graph, c->list->fuel);
  if (c->report->fuel) tc_fuel_report(c->list->fuel, c->report->fuel);
  const tc_status took = take_products(c);
  return took ? took : take_facts(c);
}

static tc_status run_codegen(struct compile *c) {
  struct tc_context *ctx = c->ctx;
  const bool show = tc_text_wants_code(ctx, c->report->texts);
  struct tc_code_text code;
  tc_strbuf_init(&code.code, ctx->alloc);
  tc_strbuf_init(&code.assembly, ctx->alloc);
  const tc_status status = tc_emit_kernels(ctx->alloc, ctx->codegens, &ctx->device->target, &ctx->config,
                                           c->list, &c->blobs, show ? &code : NULL, c->err);
  ctx->counters.llvm_modules += (uint64_t)c->blobs.count;
  if (!status) tc_text_kernels(ctx, c->report->texts, c->graph, c->list, &code);
  tc_strbuf_free(&code.code);
  tc_strbuf_free(&code.assembly);
  return status;
}

/* The object gets a list of its own, read back, so that nothing else of the compile outlives it. */
static tc_status load_artifact(struct compile *c, const unsigned char *bytes, size_t size) {
  struct tc_context *ctx = c->ctx;
  struct tc_blobs copies = {0};
  struct tc_arena *arena = tc_arena_new(ctx->alloc);
  if (!arena) return tc_fail(c->err, TC_NOMEM, "pipeline", "out of memory for the launch list");
  tc_status status = tc_artifact_read(arena, ctx->alloc, bytes, size, &c->list, &copies, c->err);
  if (!status) status = tc_compiled_new(ctx, arena, c->list, &c->blobs, c->artifact, &c->result, c->err);
  tc_blobs_free(&copies);
  if (status) tc_arena_free(arena);
  return status;
}

static tc_status run_load(struct compile *c) {
  struct tc_context *ctx = c->ctx;
  struct tc_strbuf bytes;
  tc_strbuf_init(&bytes, ctx->alloc);
  tc_artifact_write(&bytes, c->list, &c->blobs);
  if (bytes.failed) {
    tc_strbuf_free(&bytes);
    return tc_fail(c->err, TC_NOMEM, "pipeline", "out of memory for the artifact");
  }
  tc_artifact_name(bytes.data, bytes.len, c->artifact);
  const tc_status status = load_artifact(c, (const unsigned char *)bytes.data, bytes.len);
  if (!status && ctx->cache) (void)tc_cache_memory_put(ctx->cache, key_of(c), c->result);
  unsigned char *exact = NULL;
  if (!status && ctx->cache && ctx->config.cache)
    exact = ctx->alloc->resize(ctx->alloc->self, bytes.data, bytes.cap, bytes.len);
  if (exact && tc_cache_disk_defer(ctx->cache, key_of(c), exact, bytes.len)) return status;
  if (exact)
    tc_free_bytes(ctx->alloc, exact, bytes.len);
  else
    tc_strbuf_free(&bytes);
  return status;
}

/* --- what came out --- */

/* The artifact knows how its products are computed; the graph is the one that it was made of. */
static void recall_products(const struct compile *c) {
  const struct tc_launch_list *list = tc_compiled_list(c->result);
  for (size_t i = 0, n = 0; i < c->graph->nodes.len && n < (size_t)list->n_products; i++)
    if (c->graph->nodes.data[i]->op == TC_OP_matmul)
      c->graph->nodes.data[i]->product = (enum tc_product)list->products[n++];
}

/* The texts of what a cache had: the stages that it saved run once more, for them alone. Nothing is searched
 * again: a search might end otherwise, and what is told would not be what runs. */
static void retell(const struct compile *c) {
  const struct tc_counters counters = c->ctx->counters;
  struct tc_compile_report report = {.texts = c->report->texts, .fuel = c->report->fuel};
  struct tc_error err = {0};
  struct compile again = *c;
  again.report = &report;
  again.err = &err;
  recall_products(c);
  if (!run_lower(&again) && !run_schedule(&again)) (void)run_codegen(&again);
  tc_blobs_free(&again.blobs);
  c->ctx->counters = counters;
}

tc_status tc_compile_graph(struct tc_context *ctx, enum tc_backend backend, struct tc_graph *graph,
                           struct tc_compiled **out, struct tc_compile_report *report, struct tc_error *err) {
  struct compile c = {
      .ctx = ctx, .graph = graph, .first_fact = tc_sym_fact_count(graph->tab), .report = report, .err = err};
  struct tc_arena *arena = graph->arena;
  tc_status status = TC_OK;
  tc_symtab_mark_facts(graph->tab);
  ctx->counters.compiles++;
  tc_text_captured(ctx, graph);
  if (backend == TC_BACKEND_inductor) {
    status = compile_inductor(&c);
    if (!status && (report->texts || report->fuel) && report->answer != TC_CACHE_MISS) retell(&c);
    tc_text_times(report->texts, c.records.len, c.records.data);
  } else {
    report->answer = TC_CACHE_NONE;
    if (backend == TC_BACKEND_aot_eager) status = stage(&c, TC_PASS_decompose, run_decompose);
    if (!status) report->graph_ops = (int)(c.graph->nodes.len - c.graph->inputs.len);
    if (!status) status = tc_compiled_from_graph(ctx, c.graph, c.first_fact, &c.result, err);
    if (!status) c.graph = NULL;
  }
  tc_blobs_free(&c.blobs);
  if (c.graph) tc_arena_free(arena);
  if (status) return status;
  tc_report_figures(c.result, ctx->device->threads, report);
  *out = c.result;
  return TC_OK;
}
