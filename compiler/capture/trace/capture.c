/* The entry of capture: sets up a trace, runs it inside of one lua_pcall, and cleans up.
 *
 * Invariants: the Lua stack is left as it was; whatever happens, memory hangs on `out` (tc_capture_free) or
 * is freed here; the collector stands still while the trace reads objects, so that no finalizer runs in
 * between. */
#include "capture/capture.h"

#include <string.h>

#include "capture/trace/externals.h"
#include "capture/trace/frames.h"
#include "capture/trace/place.h"
#include "capture/trace/results.h"
#include "capture/trace/shapes.h"
#include "capture/trace/trace.h"

enum { BODY_TRACE = 1, BODY_FUNCTION, BODY_FIRST_ARG, SPARE_STACK = 8 };

/* The function to slot 0, its arguments behind it. */
static tc_status import_frame(struct tc_trace *t) {
  lua_State *L = t->L;
  struct tc_tracked value;
  const struct tc_proto *proto = NULL; /* of a C function: none */
  lua_pushvalue(L, t->frame.function);
  tc_status status = tc_import(t, tc_guards_function(t->guards), &value);
  if (status) return status;
  if (t->options->by_code)
    tc_guards_function_by_code(t->guards);
  else
    value.origin->pinned = true; /* an entry belongs to its function */
  if (value.kind == TC_IS_CLOSURE) {
    if ((status = tc_closure_prepare(t, value.closure))) return status;
    proto = value.closure->proto;
  }
  if ((status = tc_reserve(t, 0, (size_t)t->frame.n_args + 1))) return status;
  t->slots[0] = value;
  for (int i = 0; i < t->frame.n_args && !status; i++) {
    const int source =
        tc_guards_arg(t->guards, i, proto && i < proto->n_params ? tc_proto_local(proto, i + 1, 0) : NULL);
    lua_pushvalue(L, t->frame.first_arg + i);
    status = tc_import(t, source, &t->slots[i + 1]);
  }
  return status;
}

/* Parameters that the call leaves out are nil: a fact about the call like any other. */
static tc_status import_missing(struct tc_trace *t, const struct tc_proto *proto) {
  const tc_status status = tc_reserve(t, 0, (size_t)proto->n_params + 1);
  if (status) return status;
  for (int i = t->frame.n_args; i < proto->n_params; i++) {
    t->slots[i + 1] = tc_nil();
    t->slots[i + 1].source = tc_guards_arg(t->guards, i, tc_proto_local(proto, i + 1, 0));
  }
  return TC_OK;
}

static tc_status run_closure(struct tc_trace *t, struct tc_activation *activation,
                             struct tc_traced_closure *entry, int *n_results) {
  tc_status status = import_missing(t, entry->proto);
  if (status) return status;
  const int n_params = entry->proto->n_params; /* the missing ones are there */
  status = tc_run_entry(t, activation, entry, t->frame.n_args > n_params ? t->frame.n_args : n_params);
  *n_results = activation->n_results;
  return status;
}

/* The live registers of the stopped frame, and its variable arguments, to slots above it: its closures still
 * look at its own. */
static tc_status lay_out_stop(struct tc_trace *t, const struct tc_activation *a, size_t *out, int *count) {
  const struct tc_stop *stop = t->options->stop;
  tc_snapshot_restore(t);
  const size_t at = t->limit > a->top ? t->limit : a->top; /* open values may lie above the frame */
  *out = at;
  *count = stop->n_registers + a->n_varargs;
  const tc_status status = tc_reserve(t, at, (size_t)*count);
  if (status) return status;
  for (int i = 0; i < stop->n_registers; i++)
    t->slots[at + (size_t)i] = tc_live_has(&stop->live, i) ? *tc_register(t, a, i) : tc_nil();
  for (int i = 0; i < a->n_varargs; i++)
    t->slots[at + (size_t)(stop->n_registers + i)] = t->slots[a->varargs + (size_t)i];
  return TC_OK;
}

static tc_status trace_call(struct tc_trace *t) {
  struct tc_activation activation = {.caller = NULL};
  int n_results = 0;
  size_t at = 0;
  tc_status status = import_frame(t);
  if (status) return status;
  if (t->slots[0].kind == TC_IS_CLOSURE)
    status = run_closure(t, &activation, t->slots[0].closure, &n_results);
  else {
    /* A C function: a tensor function, or one that a break tells of. */
    tc_guards_args(t->guards, t->frame.n_args);
    t->limit = (size_t)t->frame.n_args + 1;
    status = tc_call(t, 0, t->frame.n_args, &n_results);
  }
  if (status) {
    /* A break: where the captured function itself stood. */
    t->out->place = t->place;
    t->out->cut = t->cut;
  }
  if (!status && t->stopped) status = lay_out_stop(t, &activation, &at, &n_results);
  if (!status) status = tc_make_results(t, at, n_results);
  if (status) return status;
  tc_shapes_seal(t);
  return tc_guards_seal(t->guards, t->err);
}

static tc_status set_up(struct tc_trace *t) {
  struct tc_capture *out = t->out;
  tc_status status = tc_guards_new(t->ctx->alloc, t->host, t->L, &out->guards, t->err);
  if (status) return status;
  t->guards = out->guards;
  tc_guards_configure(t->guards, &t->ctx->config);
  out->arena = t->arena = tc_arena_new(t->ctx->alloc);
  out->recipes = tc_arena_new(t->ctx->alloc);
  if (!out->arena || !out->recipes || !(out->graph = tc_graph_new(out->arena))) return tc_trace_nomem(t);
  tc_symtab_remember(out->graph->tab, t->ctx->config.opt_simplify_cache);
  tc_trace_open_builder(t);
  lua_newtable(t->L);
  t->objects = lua_gettop(t->L);
  return TC_OK;
}

/* Stack: the trace, the function, its arguments. The status is left in t->err. */
static int protected_body(lua_State *L) {
  struct tc_trace *t = lua_touserdata(L, BODY_TRACE);
  t->frame = (struct tc_frame){.L = L,
                               .function = BODY_FUNCTION,
                               .first_arg = BODY_FIRST_ARG,
                               .n_args = lua_gettop(L) - BODY_FUNCTION};
  tc_status status = lua_checkstack(L, LUA_MINSTACK) ? set_up(t) : tc_trace_nomem(t);
  if (!status) status = trace_call(t);
  t->err->status = status;
  return 0;
}

static tc_status run_protected(struct tc_trace *t, const struct tc_frame *frame) {
  lua_State *L = t->L;
  if (!lua_checkstack(L, frame->n_args + SPARE_STACK)) return tc_trace_nomem(t);
  const bool collects = lua_gc(L, LUA_GCISRUNNING, 0);
  lua_gc(L, LUA_GCSTOP, 0);
  lua_pushcfunction(L, protected_body);
  lua_pushlightuserdata(L, t);
  lua_pushvalue(L, frame->function);
  for (int i = 0; i < frame->n_args; i++) lua_pushvalue(L, frame->first_arg + i);
  const int result = lua_pcall(L, frame->n_args + 2, 0, 0);
  if (collects) lua_gc(L, LUA_GCRESTART, 0);
  if (result == LUA_OK) return t->err->status;
  const tc_status status = result == LUA_ERRMEM
                               ? tc_trace_nomem(t)
                               : tc_fail(t->err, TC_LUA, "capture", "Lua raised an error: %s",
                                         lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "?");
  lua_pop(L, 1);
  return status;
}

tc_status tc_capture_call(struct tc_context *ctx, const struct tc_host *host, const struct tc_frame *frame,
                          const struct tc_capture_options *options, struct tc_capture *out,
                          struct tc_error *err) {
  static const struct tc_capture_options none;
  struct tc_error own = {.message = ""};
  struct tc_trace t = {.ctx = ctx,
                       .host = host,
                       .L = frame->L,
                       .options = options ? options : &none,
                       .out = out,
                       .err = err ? err : &own};
  *out = (struct tc_capture){.callee = -1};
  tc_status status = run_protected(&t, frame);
  tc_snapshot_free(&t);
  tc_free_bytes(ctx->alloc, t.slots, t.n_slots * sizeof *t.slots);
  if (status == TC_BREAK && out->broke) status = TC_OK;
  t.err->status = status;
  return status;
}

void tc_capture_free(struct tc_capture *capture, lua_State *L) {
  tc_guards_free(capture->guards, L);
  tc_arena_free(capture->arena);
  tc_arena_free(capture->recipes);
  memset(capture, 0, sizeof *capture);
}
