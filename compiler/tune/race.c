/* Graphs that compute the same, timed in turn.
 *
 * 1. What disturbs a machine only adds: a contender's time is the least of its rounds, and is believed once
 *    the two least agree. Rounds of all contenders alternate, and go on until they do, or to MOST_ROUNDS.
 * 2. One that is far behind after some rounds does not run again.
 * 3. How often each runs in a round follows from its work alone; where instructions are counted, so does the
 *    number of rounds. */
#include <math.h>

#include "base/clock.h"
#include "device/device.h"
#include "runtime/compiled.h"
#include "tune/internal.h"

enum {
  ROUNDS = 5,
  MOST_ROUNDS = 20,
  ROUNDS_TO_JUDGE = 3,
  MOST_CALLS = 64 /* in a round */,
  FILL = 0x3f /* each byte of an operand: a float between 0 and 1 */
};
static const double ROUND_NS = 20000, CALL_NS = 200, WORK_A_NS = 16, FAR_BEHIND = 2, AGREE = 1.05;

struct race {
  struct tc_context *ctx;
  int n_inputs, n_outputs;
  struct tc_tensor *inputs, *outputs;
  const struct tc_tensor **pointers;
};

static bool fill(struct race *r, const struct tc_node *input, struct tc_tensor *out) {
  struct tc_device *device = r->ctx->device;
  const size_t bytes = (size_t)tune_span(input);
  *out = (struct tc_tensor){.dtype = input->meta.dtype, .ndim = input->meta.ndim};
  for (int d = 0; d < out->ndim; d++) {
    out->sizes[d] = tc_sym_hint(input->meta.sizes[d]);
    out->strides[d] = tc_sym_hint(input->strides[d]);
  }
  out->storage = device->methods->alloc(device, bytes);
  if (!out->storage) return false;
  const int byte = tc_dtype_is_float(out->dtype) ? FILL : 0; /* an index is 0 */
  return !tc_storage_fill(out->storage, byte, NULL);
}

/* Once, from the first graph: all have the same inputs. */
static bool make_tensors(struct race *r, const struct tc_graph *g) {
  const struct tc_alloc *a = r->ctx->alloc;
  if (r->inputs) return true;
  r->n_inputs = (int)g->inputs.len;
  r->n_outputs = (int)g->outputs.len;
  r->inputs = TC_NEW_ARRAY(a, struct tc_tensor, (size_t)r->n_inputs + 1);
  r->outputs = TC_NEW_ARRAY(a, struct tc_tensor, (size_t)r->n_outputs + 1);
  r->pointers = TC_NEW_ARRAY(a, const struct tc_tensor *, (size_t)r->n_inputs + 1);
  if (!r->inputs || !r->outputs || !r->pointers) return false;
  for (int i = 0; i < r->n_inputs; i++) {
    r->pointers[i] = &r->inputs[i];
    if (!fill(r, g->inputs.data[i], &r->inputs[i])) return false;
  }
  return true;
}

static void free_tensors(struct race *r) {
  const struct tc_alloc *a = r->ctx->alloc;
  for (int i = 0; r->inputs && i < r->n_inputs; i++) tc_tensor_release(&r->inputs[i]);
  TC_FREE_ARRAY(a, r->inputs, (size_t)r->n_inputs + 1);
  TC_FREE_ARRAY(a, r->outputs, (size_t)r->n_outputs + 1);
  TC_FREE_ARRAY(a, r->pointers, (size_t)r->n_inputs + 1);
}

static tc_status run(struct race *r, struct tc_compiled *c, struct tc_error *err) {
  const tc_status status = tc_compiled_run(c, r->pointers, NULL, r->outputs, err);
  for (int i = 0; !status && i < r->n_outputs; i++) tc_tensor_release(&r->outputs[i]);
  return status;
}

/* One that cannot be compiled, or fails in its first call (which also makes its pool), does not run; false
 * where memory is out. */
static bool enter(struct race *r, const struct tc_tuner *tuner, struct tune_contender *c) {
  struct tc_error why;
  if (!c->graph) return false;
  if (!make_tensors(r, c->graph)) {
    tc_arena_free(c->graph->arena);
    c->graph = NULL;
    return false;
  }
  tc_status status = tuner->compile(tuner->self, c->graph, &c->config, &c->compiled, &why);
  c->graph = NULL;
  if (!status) status = run(r, c->compiled, &why);
  c->runs = !status;
  return status != TC_NOMEM;
}

static void time_round(struct race *r, struct tune_contender *c, int calls) {
  struct tc_error unused;
  tc_status status = TC_OK;
  const double start = tc_now_ns();
  for (int i = 0; i < calls && !status; i++) status = run(r, c->compiled, &unused);
  if (!status) status = r->ctx->device->methods->synchronize(r->ctx->device, &unused);
  const double ns = status ? INFINITY : (tc_now_ns() - start) / calls;
  if (ns < c->ns)
    c->second_ns = c->ns, c->ns = ns;
  else if (ns < c->second_ns)
    c->second_ns = ns;
}

static bool agrees(const struct tune_contender *c) { return c->second_ns <= AGREE * c->ns; }

static void drop_slow(struct tune_contender *all, int n) {
  double best = INFINITY;
  for (int i = 0; i < n; i++)
    if (all[i].ns < best) best = all[i].ns;
  for (int i = 0; i < n; i++) all[i].runs &= all[i].ns < FAR_BEHIND * best;
}

/* Do the two least times of all that still run agree? */
static bool settled(const struct tune_contender *all, int n) {
  for (int i = 0; i < n; i++)
    if (all[i].runs && !agrees(&all[i])) return false;
  return true;
}

static void hold(struct race *r, struct tune_contender *all, int n, int calls) {
  const bool counted = r->ctx->watch;
  for (int round = 1; round <= (counted ? ROUNDS : MOST_ROUNDS); round++) {
    for (int i = 0; i < n; i++)
      if (all[i].runs) time_round(r, &all[i], calls);
    if (!counted && round >= ROUNDS_TO_JUDGE) drop_slow(all, n);
    if (!counted && round >= ROUNDS && settled(all, n)) return;
  }
}

bool tune_race(struct tc_context *ctx, const struct tc_tuner *tuner, struct tune_contender *all, int n,
               double work, bool *believed) {
  struct race r = {.ctx = ctx};
  bool good = true;
  for (int i = 0; i < n; i++) all[i].ns = all[i].second_ns = INFINITY;
  for (int i = 0; i < n && good; i++) good = enter(&r, tuner, &all[i]);
  const double calls = ROUND_NS / (CALL_NS + work / WORK_A_NS);
  if (good) hold(&r, all, n, calls < 1 ? 1 : calls > MOST_CALLS ? MOST_CALLS : (int)calls);
  *believed = good && settled(all, n);
  for (int i = 0; i < n; i++) {
    if (all[i].graph) tc_arena_free(all[i].graph->arena);
    tc_compiled_release(all[i].compiled);
  }
  free_tensors(&r);
  return good;
}
