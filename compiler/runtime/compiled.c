/* Compiled objects and their calls.
 *
 * 1. What does not change between calls (entry points, sizes of outputs) is computed once; with size
 *    variables, whenever a call's sizes differ from those of the call before.
 * 2. A call allocates only its outputs; the pool is made at the first call, kept, and made anew where sizes
 *    need a larger one. With record=on it allocates only those whose memory of the call before somebody still
 *    holds.
 * 3. A failed call gives back everything it allocated. */
#include "runtime/compiled.h"

#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "runtime/bound.h"
#include "runtime/graph_run.h"

/* A slowdown on purpose, to test verdicts: switches spin_ns and spin_instructions. */
struct tc_planted {
  int64_t ns, instructions;
};

struct tc_compiled {
  _Atomic int references;
  struct tc_context *ctx;
  struct tc_arena *arena;
  struct tc_graph *graph; /* run operation by operation; else NULL */
  struct tc_launch_list *list;
  struct tc_launch_list *bound; /* what runs: `list` itself, or its copy at `sizes` */
  int n_sizes;
  int64_t *sizes; /* that `bound` is filled with, if is_bound */
  bool is_bound;
  int n_facts;
  struct tc_sym_fact *facts;
  struct tc_loaded *loaded[TC_MAX_MODULES];
  int n_loaded;
  const struct tc_kernel_handle **codes;
  struct tc_tensor *templates; /* outputs without storage */
  int64_t *output_bytes;
  void **input_data, **output_data;
  struct tc_storage **storages; /* of results; between calls NULL, or (recorded) those of the call before */
  struct tc_storage *pool;
  int64_t pool_bytes, pool_held; /* that the bound list needs; that `pool` has */
  int64_t status_word;
  struct tc_planted planted;    /* slowdown of each run */
  bool records;                 /* switch record: runs are recorded, and results' memory is taken again */
  struct tc_recorded *recorded; /* of the bound list; NULL: not yet */
  bool watch;
  bool is_prelude; /* one of both is on: the one test that a run pays for them */
  uint64_t first_launch_ns;
  uint64_t code_bytes; /* of the objects that were loaded */
  char artifact[TC_SHA256_HEX];
};

/* --- what comes before a run --- */

static void set_prelude(struct tc_compiled *c) {
  c->is_prelude = c->watch || c->planted.ns || c->planted.instructions;
}

static void plant(struct tc_compiled *c) {
  c->planted = (struct tc_planted){c->ctx->config.spin_ns, c->ctx->config.spin_instructions};
  set_prelude(c);
}

/* Its count is the same in each run, which that of a wait for a clock is not. */
static void spend(int64_t instructions) {
  enum { OF_ONE_ROUND = 3 /* add, compare and branch */ };
  for (int64_t i = 0; i < instructions; i += OF_ONE_ROUND) __asm__ volatile("" : "+r"(i));
}

static void __attribute__((noinline, cold)) prelude(struct tc_compiled *c) {
  const int64_t started = tc_clock_ns();
  if (c->watch) c->first_launch_ns = (uint64_t)started;
  spend(c->planted.instructions);
  while (c->planted.ns && tc_clock_ns() - started < c->planted.ns) continue;
}

static const struct tc_kernel_handle *find_symbol(const struct tc_compiled *c, const char *symbol) {
  for (int i = 0; i < c->n_loaded; i++) {
    const struct tc_kernel_handle *entry =
        c->ctx->device->methods->symbol(c->ctx->device, c->loaded[i], symbol);
    if (entry) return entry;
  }
  return NULL;
}

static void fill_template(const struct tc_output *o, const int64_t *sizes, struct tc_tensor *t) {
  t->storage = NULL;
  t->dtype = o->dtype;
  t->ndim = o->ndim;
  t->offset = tc_sym_eval(o->offset, sizes);
  for (int d = 0; d < o->ndim; d++) {
    t->sizes[d] = tc_sym_eval(o->sizes[d], sizes);
    t->strides[d] = tc_sym_eval(o->strides[d], sizes);
  }
}

/* A size past 62 bits has no symbol. */
static bool sizes_valid(const struct tc_launch_list *list) {
  bool valid = tc_sym_valid(list->pool_bytes);
  for (int i = 0; i < list->n_allocated; i++) valid = valid && tc_sym_valid(list->allocated_bytes[i]);
  for (int i = 0; i < list->n_outputs; i++) {
    const struct tc_output *o = &list->outputs[i];
    valid = valid && tc_sym_valid(o->offset);
    for (int d = 0; d < o->ndim; d++)
      valid = valid && tc_sym_valid(o->sizes[d]) && tc_sym_valid(o->strides[d]);
  }
  for (int i = 0; i < list->n_launches; i++) {
    const struct tc_launch *l = &list->launches[i];
    valid = valid && (l->kind != TC_LAUNCH_KERNEL || (tc_sym_valid(l->items) && tc_sym_valid(l->work)));
  }
  return valid;
}

/* What follows from sizes, once they are known. */
static void fill_sizes(struct tc_compiled *c) {
  c->pool_bytes = tc_sym_eval(c->bound->pool_bytes, NULL);
  for (int i = 0; i < c->bound->n_outputs; i++) fill_template(&c->bound->outputs[i], NULL, &c->templates[i]);
  for (int i = 0; i < c->bound->n_allocated; i++)
    c->output_bytes[i] = tc_sym_eval(c->bound->allocated_bytes[i], NULL);
}

static tc_status prepare_sizes(struct tc_compiled *c, struct tc_error *err) {
  c->n_sizes = c->list->n_sizes;
  c->n_facts = c->list->n_facts;
  c->facts = c->list->facts;
  c->bound = c->list;
  if (!c->n_sizes) {
    fill_sizes(c);
    return TC_OK;
  }
  c->sizes = TC_NEW_ARRAY(tc_arena_alloc(c->arena), int64_t, (size_t)c->n_sizes);
  c->bound = tc_bound_new(c->arena, c->list);
  return c->sizes && c->bound ? TC_OK
                              : tc_fail(err, TC_NOMEM, "runtime", "out of memory for the compiled object");
}

static tc_status prepare(struct tc_compiled *c, struct tc_error *err) {
  const struct tc_launch_list *list = c->list;
  const struct tc_alloc *a = tc_arena_alloc(c->arena);
  if (!sizes_valid(list))
    return tc_fail(err, TC_LIMIT, "runtime", "a tensor of the graph is larger than 2^61 bytes");
  c->codes = TC_NEW_ARRAY(a, const struct tc_kernel_handle *, (size_t)list->n_codes);
  c->templates = TC_NEW_ARRAY(a, struct tc_tensor, (size_t)list->n_outputs);
  c->output_bytes = TC_NEW_ARRAY(a, int64_t, (size_t)list->n_allocated);
  c->input_data = TC_NEW_ARRAY(a, void *, (size_t)list->n_inputs);
  c->output_data = TC_NEW_ARRAY(a, void *, (size_t)list->n_allocated);
  c->storages = TC_NEW_ARRAY(a, struct tc_storage *, (size_t)list->n_allocated);
  if (!c->codes || !c->templates || !c->output_bytes || !c->input_data || !c->output_data || !c->storages)
    return tc_fail(err, TC_NOMEM, "runtime", "out of memory for the compiled object");
  for (int i = 0; i < list->n_codes; i++) {
    c->codes[i] = find_symbol(c, list->codes[i].symbol);
    if (!c->codes[i])
      return tc_fail(err, TC_CORRUPT, "runtime", "the code has no kernel %s", list->codes[i].symbol);
  }
  return prepare_sizes(c, err);
}

static void forget(struct tc_compiled *c) {
  c->ctx->device->methods->forget(c->ctx->device, c->recorded);
  c->recorded = NULL;
}

/* Makes `bound` the list at these sizes. */
static tc_status bind(struct tc_compiled *c, const int64_t *sizes, struct tc_error *err) {
  if (!sizes)
    return tc_fail(err, TC_ARG, "runtime", "the call gives no sizes, and the graph has %d", c->n_sizes);
  const size_t bytes = sizeof *sizes * (size_t)c->n_sizes;
  if (c->is_bound && !memcmp(c->sizes, sizes, bytes)) return TC_OK;
  forget(c);
  const tc_status status = tc_bound_fill(c->bound, c->list, sizes, err);
  c->is_bound = !status;
  if (status) return status;
  memcpy(c->sizes, sizes, bytes);
  fill_sizes(c);
  return TC_OK;
}

static void unload_all(struct tc_compiled *c) {
  for (int i = 0; i < c->n_loaded; i++) c->ctx->device->methods->unload(c->ctx->device, c->loaded[i]);
  c->n_loaded = 0;
}

tc_status tc_compiled_new(struct tc_context *ctx, struct tc_arena *arena, struct tc_launch_list *list,
                          const struct tc_blobs *blobs, const char artifact[TC_SHA256_HEX],
                          struct tc_compiled **out, struct tc_error *err) {
  struct tc_compiled *c = TC_NEW(ctx->alloc, struct tc_compiled);
  if (!c) return tc_fail(err, TC_NOMEM, "runtime", "out of memory for the compiled object");
  c->references = 1;
  c->ctx = ctx;
  c->records = !strcmp(ctx->config.record, "on");
  plant(c);
  c->arena = arena;
  c->list = list;
  strcpy(c->artifact, artifact);
  tc_status status = TC_OK;
  for (int i = 0; i < blobs->count && !status; i++) {
    status = ctx->device->methods->load(ctx->device, &blobs->blob[i], &c->loaded[i], err);
    if (!status) c->n_loaded++;
    c->code_bytes += blobs->blob[i].size;
  }
  if (!status) status = prepare(c, err);
  if (status) {
    unload_all(c);
    TC_FREE(ctx->alloc, c);
    return status;
  }
  *out = c;
  return TC_OK;
}

tc_status tc_compiled_from_graph(struct tc_context *ctx, struct tc_graph *g, int first_fact,
                                 struct tc_compiled **out, struct tc_error *err) {
  const int n_facts = tc_sym_fact_count(g->tab) - first_fact;
  struct tc_sym_fact *facts = TC_NEW_ARRAY(tc_arena_alloc(g->arena), struct tc_sym_fact, (size_t)n_facts + 1);
  struct tc_compiled *c = facts ? TC_NEW(ctx->alloc, struct tc_compiled) : NULL;
  if (!c) return tc_fail(err, TC_NOMEM, "runtime", "out of memory for the compiled object");
  for (int i = 0; i < n_facts; i++) facts[i] = tc_sym_fact_at(g->tab, first_fact + i);
  c->n_facts = n_facts;
  c->facts = facts;
  c->references = 1;
  c->ctx = ctx;
  plant(c);
  c->arena = g->arena;
  c->graph = g;
  c->n_sizes = tc_symtab_sizes(g->tab);
  *out = c;
  return TC_OK;
}

struct tc_compiled *tc_compiled_retain(struct tc_compiled *c) {
  atomic_fetch_add_explicit(&c->references, 1, memory_order_relaxed);
  return c;
}

/* Of the first `count` results. */
static void release_results(struct tc_compiled *c, int count) {
  for (int i = 0; i < count; i++) {
    if (c->storages[i]) tc_storage_release(c->storages[i]);
    c->storages[i] = NULL;
  }
}

/* The last but one holder may be a cache, which would keep the results of what nobody calls. */
void tc_compiled_release(struct tc_compiled *c) {
  const int held = c ? atomic_fetch_sub_explicit(&c->references, 1, memory_order_acq_rel) : 0;
  if (held > 1 && c->list) release_results(c, c->list->n_allocated);
  if (held != 1) return;
  if (c->pool) tc_storage_release(c->pool);
  if (c->list) release_results(c, c->list->n_allocated);
  if (c->recorded) forget(c);
  unload_all(c);
  tc_arena_free(c->arena);
  TC_FREE(c->ctx->alloc, c);
}

/* A pool that is too small goes; the device keeps its memory for others. */
static tc_status grow_pool(struct tc_compiled *c, struct tc_error *err) {
  struct tc_device *device = c->ctx->device;
  if (c->pool) tc_storage_release(c->pool);
  c->pool = device->methods->alloc(device, (size_t)c->pool_bytes);
  c->pool_held = c->pool ? c->pool_bytes : 0;
  return c->pool ? TC_OK
                 : tc_fail(err, TC_NOMEM, "runtime", "out of memory: %lld bytes for intermediates",
                           (long long)c->pool_bytes);
}

/* Memory of the call before serves again once nobody else holds it, and unless it is much too large. */
static bool take_again(struct tc_storage *s, int64_t bytes) {
  enum { SLACK = 2, SMALL = 4096 };
  if (!s || s->bytes < (size_t)bytes || s->bytes > SLACK * (size_t)bytes + SMALL) return false;
  if (atomic_load_explicit(&s->references, memory_order_acquire) != 1) return false;
  s->version++;
  return true;
}

static tc_status allocate(struct tc_compiled *c, struct tc_error *err) {
  const struct tc_launch_list *list = c->bound;
  struct tc_device *device = c->ctx->device;
  const tc_status status = c->pool_bytes > c->pool_held ? grow_pool(c, err) : TC_OK;
  if (status) return status;
  for (int i = 0; i < list->n_allocated; i++) {
    if (!take_again(c->storages[i], c->output_bytes[i])) {
      if (c->storages[i]) tc_storage_release(c->storages[i]);
      c->storages[i] = device->methods->alloc(device, (size_t)c->output_bytes[i]);
    }
    if (!c->storages[i]) {
      const int64_t bytes = c->output_bytes[i];
      release_results(c, list->n_allocated);
      return tc_fail(err, TC_NOMEM, "runtime", "out of memory for a result of %lld bytes", (long long)bytes);
    }
    c->output_data[i] = c->storages[i]->data;
  }
  return TC_OK;
}

/* Each output holds a reference to its storage; the call's own references go, if runs are not recorded. */
static void hand_out(struct tc_compiled *c, const struct tc_tensor *const *inputs,
                     struct tc_tensor *outputs) {
  const struct tc_launch_list *list = c->list;
  for (int i = 0; i < list->n_outputs; i++) {
    const struct tc_slot *slot = &list->slots[list->outputs[i].slot];
    outputs[i] = c->templates[i];
    if (slot->kind == TC_SLOT_INPUT) {
      outputs[i].storage = inputs[slot->index]->storage;
      outputs[i].offset += inputs[slot->index]->offset;
    } else {
      outputs[i].storage = c->storages[slot->index];
    }
    tc_storage_retain(outputs[i].storage);
  }
  if (!c->records) release_results(c, list->n_allocated);
}

/* What the kernels found wrong; the first flag is told, whatever the order in which they ran. */
static tc_status flagged(struct tc_compiled *c, struct tc_error *err) {
  char flags[sizeof c->status_word];
  memcpy(flags, &c->status_word, sizeof flags);
  c->status_word = 0;
  if (flags[TC_FLAG_INDEX])
    return tc_fail(
        err, TC_INDEX, "runtime",
        "an index of embedding, gather or index_select is out of range (found in the compiled kernel)");
  return tc_division_by_zero(flags[TC_FLAG_FLOOR_DIVIDE] ? TC_OP_floor_divide : TC_OP_remainder, err);
}

static tc_status call(struct tc_compiled *c, const struct tc_tensor *const *inputs, const int64_t *sizes,
                      struct tc_tensor *outputs, struct tc_error *err) {
  const struct tc_launch_list *list = c->bound;
  struct tc_device *device = c->ctx->device;
  tc_status status = c->n_sizes ? bind(c, sizes, err) : TC_OK;
  if (!status) status = allocate(c, err);
  if (status) return status;
  for (int i = 0; i < list->n_inputs; i++) c->input_data[i] = tc_tensor_data(inputs[i]);
  struct tc_rng *rng = &c->ctx->rng;
  struct tc_run run = {.list = list,
                       .inputs = c->input_data,
                       .outputs = c->output_data,
                       .pool = c->pool ? c->pool->data : NULL,
                       .sizes = sizes,
                       .codes = c->codes,
                       .status = &c->status_word,
                       .rng = {rng->seed, rng->next}};
  if (c->records && !c->recorded)
    (void)device->methods->record(device, &run, &c->recorded, err); /* without memory for it: as it is */
  run.recorded = c->recorded;
  rng->next += (uint64_t)list->draws;
  if (c->is_prelude) prelude(c);
  status = device->methods->run(device, &run, err);
  if (!status && c->status_word) status = flagged(c, err);
  if (status) {
    release_results(c, list->n_allocated);
    return status;
  }
  hand_out(c, inputs, outputs);
  return TC_OK;
}

tc_status tc_compiled_run(struct tc_compiled *c, const struct tc_tensor *const *inputs, const int64_t *sizes,
                          struct tc_tensor *outputs, struct tc_error *err) {
  if (!c->graph) return call(c, inputs, sizes, outputs, err);
  if (c->is_prelude) prelude(c);
  return tc_graph_run(c->ctx, c->graph, inputs, c->n_sizes ? sizes : NULL, outputs, err);
}

int tc_compiled_sizes(const struct tc_compiled *c) { return c->n_sizes; }

int tc_compiled_facts(const struct tc_compiled *c, const struct tc_sym_fact **facts) {
  *facts = c->facts;
  return c->n_facts;
}

int tc_compiled_inputs(const struct tc_compiled *c) {
  return c->graph ? (int)c->graph->inputs.len : c->list->n_inputs;
}
int tc_compiled_outputs(const struct tc_compiled *c) {
  return c->graph ? (int)c->graph->outputs.len : c->list->n_outputs;
}
const struct tc_launch_list *tc_compiled_list(const struct tc_compiled *c) { return c->list; }
const char *tc_compiled_artifact(const struct tc_compiled *c) { return c->artifact; }
uint64_t tc_compiled_code_bytes(const struct tc_compiled *c) { return c->code_bytes; }
void tc_compiled_watch(struct tc_compiled *c, bool watch) {
  c->watch = watch;
  set_prelude(c);
}
uint64_t tc_compiled_first_launch_ns(const struct tc_compiled *c) { return c->first_launch_ns; }
