/* Making of entries: capture, cut at a graph break, compile.
 *
 * 1. A capture that breaks is thrown away, and made again with a stop before the instruction that broke: such
 *    an entry ends with the live registers, which the step function for that instruction takes on (pieces.c).
 * 2. Where the frame may not be cut there (a to-be-closed variable, a captured local that changes), it is cut
 *    at the last place before; where there is none, the plain function runs, and that is noted.
 * 3. Nothing of C is held where Lua may raise. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "cache/cache.h"
#include "lua/compile/compiled_object.h"

/* --- what is told --- */

void tc_lua_note_fallback(struct compiled_object *o, const char *format, ...) {
  struct fallback_note note;
  va_list args;
  va_start(args, format);
  vsnprintf(note.text, sizeof note.text, format, args);
  va_end(args);
  o = o->root;
  for (size_t i = 0; i < o->fallbacks.len; i++)
    if (!strcmp(o->fallbacks.data[i].text, note.text)) return;
  (void)tc_vec_push(o->module->ctx.alloc, &o->fallbacks, note);
}

void tc_lua_give_up(struct compiled_object *o) {
  o->eager = true;
  o->module->ctx.counters.eager_fallbacks++;
}

/* A call that could not be compiled. An object that has entries, or whose code raised an error there, stays
 * compiled for other calls, as long as failures are few. */
static void note_failure(struct compiled_object *o, bool of_this_call) {
  const bool lasting = !of_this_call && !o->entries.len;
  if (lasting || ++o->failures >= o->config.recompile_limit)
    tc_lua_give_up(o);
  else
    o->module->ctx.counters.eager_fallbacks++;
}

/* --- compiling --- */

static int raise_break(lua_State *L, const struct tc_break *b) {
  return luaL_error(L, "%s:%d: graph break%s: %s (%s)\n  hint: %s\n  in: %s", b->source, b->line,
                    b->in_allowed ? " inside of a function of allow_in_graph" : "", tc_break_text(b->reason),
                    b->detail, tc_break_hint(b->reason), b->stack);
}

/* Told once, on the root. */
static void note_break(struct compiled_object *o, const struct tc_break *b) {
  struct tc_context *ctx = &o->module->ctx;
  if (tc_lua_break_number(o, b)) return;
  o = o->root;
  ctx->counters.graph_breaks++;
  ctx->counters.breaks[b->reason]++;
  (void)tc_vec_push(ctx->alloc, &o->breaks, *b);
  tc_log_line(&ctx->log, TC_LOG_BREAKS, "%s:%d: %s (%s); hint: %s", b->source, b->line,
              tc_break_text(b->reason), b->detail, tc_break_hint(b->reason));
}

static void log_guards(struct compiled_object *o, const struct tc_guards *guards) {
  struct tc_context *ctx = &o->module->ctx;
  if (!tc_log_on(&ctx->log, TC_LOG_GUARDS)) return;
  struct tc_strbuf text;
  tc_strbuf_init(&text, ctx->alloc);
  tc_guards_explain(guards, NULL, 0, &text);
  if (tc_strbuf_text(&text)) tc_log_text(&ctx->log, TC_LOG_GUARDS, "guards of the new entry", text.data);
  tc_strbuf_free(&text);
}

/* --- capture, and where it ends --- */

static tc_status capture_call(struct compiled_object *o, const struct tc_frame *frame,
                              const struct tc_capture_options *options, struct tc_capture *capture,
                              struct tc_error *err) {
  struct tc_context *ctx = &o->module->ctx;
  const struct tc_config saved = ctx->config;
  const double start = tc_now_ns();
  ctx->config = o->config;
  tc_stage_enter(ctx, tc_pass_name(TC_PASS_capture));
  const tc_status status = tc_capture_call(ctx, &o->module->host, frame, options, capture, err);
  tc_stage_leave(ctx);
  ctx->config = saved;
  o->report.stage_ns[TC_PASS_capture] += tc_now_ns() - start;
  return status;
}

void tc_lua_capture_first(lua_State *L, struct compiled_object *o, const struct tc_frame *frame) {
  const struct tc_capture_options options = {.continued = o->continued, .by_code = o->by_code};
  struct tc_capture capture = {0};
  struct tc_error err = {0};
  tc_status status = capture_call(o, frame, &options, &capture, &err);
  if (!status && capture.broke)
    status = tc_guards_seal(capture.guards, &err); /* what was seen before the break */
  if (!status) {
    tc_guards_free(o->first, L);
    o->first = capture.guards;
    capture.guards = NULL;
  }
  tc_capture_free(&capture, L);
}

/* Where the next capture is to end, and how the function goes on from there. */
struct cut {
  struct tc_stop stop;
  int step, callee;
  bool callee_is_new;
};

/* The last place before the break where the frame may be cut: from a capture that looks. */
static tc_status find_earlier(struct compiled_object *o, const struct tc_frame *frame,
                              struct tc_capture_options options, const struct tc_resume *resume,
                              struct tc_place *place, struct tc_error *err) {
  struct tc_capture capture = {0};
  options.resume = resume;
  const tc_status status = capture_call(o, frame, &options, &capture, err);
  *place = capture.cut;
  tc_capture_free(&capture, frame->L);
  return status;
}

/* What runs eagerly behind a break since the frame cannot be left there. */
static void note_region(struct compiled_object *o, const struct tc_break *b, const struct tc_resume *resume,
                        const struct tc_resume_unit *unit) {
  if (unit->n_exits)
    tc_lua_note_fallback(o, "%s:%d: behind the graph break there the function runs eagerly up to line %d: %s",
                         b->source, b->line, tc_proto_line(resume->proto, unit->exits[unit->n_exits - 1]),
                         unit->why);
  else
    tc_lua_note_fallback(o, "%s:%d: behind the graph break there the function runs eagerly: %s", b->source,
                         b->line, unit->why);
}

/* Chooses the cut for a capture that broke at `place`; *why tells when there is none. */
static tc_status choose_cut(const struct tc_lua_call *call, const struct tc_capture_options *options,
                            const struct tc_capture *broken, struct cut *cut, const char **why,
                            struct tc_error *err) {
  struct compiled_object *o = call->o;
  lua_State *L = call->frame->L;
  struct tc_place place = broken->place;
  struct tc_resume_unit unit;
  tc_status status = TC_OK;
  *why = NULL;
  if (!place.at) *why = "it breaks before its first instruction";
  if (*why) return TC_OK;
  const struct tc_resume *resume = tc_lua_push_resume(L, call->object, err);
  if (!resume) return err->status;
  const int at = lua_gettop(L);
  if (!tc_resume_may_cut(resume, place.pc, why)) {
    if ((status = find_earlier(o, call->frame, *options, resume, &place, err)) || !place.at) return status;
  }
  if ((status = tc_resume_unit_at(resume, place.pc, place.open, &unit, err))) return status;
  *why = unit.why;
  if (*why && ((place.at <= 1 && !unit.n_exits && !unit.has_hooks) || place.open >= 0)) return TC_OK;
  if (*why) note_region(o, &broken->break_, resume, &unit);
  *why = NULL;
  cut->stop = (struct tc_stop){.at = place.at,
                               .n_registers = tc_resume_registers(resume, place.pc, place.open),
                               .live = resume->live[place.pc]};
  cut->callee = place.at == broken->place.at ? broken->callee : -1;
  cut->callee_is_new = broken->callee_is_new;
  return tc_lua_step(L, at, place.pc, place.open, &cut->step, err);
}

/* Captures the call to its end or to a cut. TC_BREAK: it cannot be cut where it breaks; the reason is
 * noted. */
static tc_status capture_to_cut(const struct tc_lua_call *call, struct tc_capture *capture, struct cut *cut,
                                struct tc_break *broke, struct tc_error *err) {
  struct compiled_object *o = call->o;
  lua_State *L = call->frame->L;
  struct tc_capture_options options = {.continued = o->continued,
                                       .by_code = o->by_code,
                                       .changed = o->changed.data,
                                       .n_changed = (int)o->changed.len,
                                       .all_dynamic = o->dynamic == TC_LUA_DYNAMIC_ALWAYS,
                                       .break_at = o->config.break_every ? o->config.break_every
                                                   : o->root == o        ? o->config.break_at
                                                                         : 0};
  const int top = lua_gettop(L);
  const char *why;
  *cut = (struct cut){.callee = -1};
  tc_status status = capture_call(o, call->frame, &options, capture, err);
  if (status || !capture->broke) return status;
  *broke = capture->break_;
  const struct tc_capture seen = {.break_ = capture->break_,
                                  .place = capture->place,
                                  .callee = capture->callee,
                                  .callee_is_new = capture->callee_is_new};
  tc_capture_free(capture, L);
  if (o->fullgraph || broke->in_allowed) return TC_BREAK;
  note_break(o, broke);
  status = choose_cut(call, &options, &seen, cut, &why, err);
  lua_settop(L, top);
  if (status) return status;
  if (why) {
    tc_lua_note_fallback(o, "%s:%d: graph break: %s (%s); the function runs eagerly: %s", broke->source,
                         broke->line, tc_break_text(broke->reason), broke->detail, why);
    return TC_BREAK;
  }
  options.break_at = 0;
  options.stop = &cut->stop;
  status = capture_call(o, call->frame, &options, capture, err);
  if (status || !capture->broke) return status;
  *broke = capture->break_; /* a register that cannot be rebuilt */
  note_break(o, broke);
  tc_lua_note_fallback(o, "%s:%d: graph break: %s (%s); the function runs eagerly", broke->source,
                       broke->line, tc_break_text(broke->reason), broke->detail);
  return TC_BREAK;
}

/* Tensors for the numbers that are inputs of the graph. */
static tc_status make_scalars(struct tc_context *ctx, const struct tc_capture *capture,
                              struct compiled_entry *entry, struct tc_error *err) {
  const size_t count = capture->scalars.len;
  entry->scalars = TC_NEW_ARRAY(tc_arena_alloc(capture->recipes), struct scalar_input, count + 1);
  if (!entry->scalars) return tc_fail_memory(err, "compile");
  for (; (size_t)entry->n_scalars < count; entry->n_scalars++) {
    struct scalar_input *scalar = &entry->scalars[entry->n_scalars];
    const struct tc_scalar_input *input = &capture->scalars.data[entry->n_scalars];
    scalar->input = input->input;
    if (tc_tensor_new(ctx->device, input->dtype, 0, NULL, &scalar->tensor, err)) return err->status;
  }
  return TC_OK;
}

/* Whatever compiling took for granted of sizes. */
static tc_status guard_facts(const struct tc_compiled *compiled, struct tc_guards *guards,
                             struct tc_error *err) {
  const struct tc_sym_fact *facts;
  const int count = tc_compiled_facts(compiled, &facts);
  for (int i = 0; i < count; i++) tc_guards_shape_fact(guards, &facts[i]);
  return count ? tc_guards_seal(guards, err) : TC_OK;
}

/* The graph becomes what the entry runs. */
static tc_status compile_graph(const struct tc_lua_call *call, struct tc_graph *graph,
                               struct compiled_entry *entry, struct tc_error *err) {
  struct compiled_object *o = call->o;
  struct call_values *values = call->values;
  struct tc_context *ctx = &o->module->ctx;
  const struct tc_config saved = ctx->config;
  struct tc_lua_debug *debug = tc_lua_debug_begin(o, entry, call->frame, graph, values);
  o->report.texts = tc_lua_debug_texts(debug);
  o->report.fuel = entry->fuel;
  ctx->config = o->config;
  tc_status status = tc_compile_graph(ctx, o->backend, graph, &entry->compiled, &o->report, err);
  ctx->config = saved;
  o->report.texts = NULL;
  o->report.fuel = NULL;
  if (!status) status = guard_facts(entry->compiled, entry->guards, err);
  tc_lua_debug_end(debug, o, entry);
  if (status || !*o->registered) return status;
  if (tc_guards_inputs(entry->guards) + entry->n_scalars > TC_LUA_MAX_INPUTS)
    return TC_OK; /* told later, and so are guards that fail */
  if (tc_guards_match(entry->guards, call->frame,
                      &(struct tc_guard_values){values->inputs, values->sizes, values->scalars}))
    return TC_OK;
  tc_lua_add_scalars(entry, values);
  return tc_lua_backend_compile(call->frame->L, call->object, graph, values, entry, err);
}

/* Is there anything to compile? */
static bool has_work(const struct tc_graph *graph) {
  return graph->outputs.len || graph->nodes.len > graph->inputs.len;
}

/* Captures and compiles the call. TC_BREAK: it is to run plain, for the break in *broke. */
static tc_status compile_call(const struct tc_lua_call *call, struct compiled_entry *entry,
                              struct tc_break *broke, struct tc_error *err) {
  struct compiled_object *o = call->o;
  lua_State *L = call->frame->L;
  struct tc_context *ctx = &o->module->ctx;
  struct tc_capture capture = {0};
  struct cut cut;
  memset(&o->report, 0, sizeof o->report);
  tc_status status = capture_to_cut(call, &capture, &cut, broke, err);
  if (status) {
    tc_capture_free(&capture, L);
    return status;
  }
  log_guards(o, capture.guards);
  o->captured_ops = capture.n_ops;
  status = make_scalars(ctx, &capture, entry, err);
  entry->guards = capture.guards;
  entry->recipes = capture.recipes;
  entry->replay = capture.replay;
  entry->step = cut.step;
  entry->callee = cut.callee;
  entry->callee_is_new = cut.callee_is_new;
  entry->n_ops = capture.n_ops;
  entry->broke_at = cut.step ? tc_lua_break_number(o, broke) : 0;
  tc_lua_keep_capture_record(o, &capture, entry);
  if (!status && (!cut.step || has_work(capture.graph))) {
    capture.arena = NULL; /* the pipeline takes it */
    status = compile_graph(call, capture.graph, entry, err);
  }
  capture.guards = NULL;
  capture.recipes = NULL;
  tc_capture_free(&capture, L);
  return status;
}

/* What tb.mark_dynamic asked for must hold. */
static tc_status check_marks(const struct compiled_object *o, const struct compiled_entry *entry,
                             const struct tc_frame *frame, struct tc_error *err) {
  struct tc_strbuf text;
  tc_strbuf_init(&text, o->module->ctx.alloc);
  tc_status status = TC_OK;
  if (tc_guards_fixed_mark(entry->guards, frame, &text))
    status = tc_fail(err, TC_GUARD, "compile", "%s by the code, but mark_dynamic asks for it to be dynamic",
                     tc_strbuf_text(&text) ? text.data : "a size");
  tc_strbuf_free(&text);
  return status;
}

/* Newest first. */
static bool add_entry(struct compiled_object *o, const struct compiled_entry *entry) {
  tc_guards_dispatch_free(o->dispatch);
  o->dispatch = NULL;
  if (!tc_vec_push(o->module->ctx.alloc, &o->entries, *entry)) return false;
  memmove(o->entries.data + 1, o->entries.data, sizeof *entry * (o->entries.len - 1));
  o->entries.data[0] = *entry;
  return true;
}

struct compiled_entry *tc_lua_new_entry(const struct tc_lua_call *call) {
  struct compiled_object *o = call->o;
  lua_State *L = call->frame->L;
  struct compiled_entry entry = {0};
  struct tc_break broke;
  struct tc_error err = {0};
  tc_status status = compile_call(call, &entry, &broke, &err);
  if (!status) status = check_marks(o, &entry, call->frame, &err);
  if (status == TC_BREAK) {
    if (o->fullgraph || broke.in_allowed) raise_break(L, &broke);
    note_failure(o, broke.reason == TC_BREAK_RUNTIME_ERROR);
    return NULL;
  }
  if (status) {
    tc_lua_compiled_free_entry(L, &entry);
    if (o->fullgraph || *o->registered || status == TC_GUARD) tc_lua_raise(L, "compile", &err);
    tc_lua_note_fallback(o, "%s: %s; the function runs eagerly", err.stage ? err.stage : "compile",
                         err.message);
    note_failure(o, false);
    return NULL;
  }
  const int n_inputs = tc_guards_inputs(entry.guards) + entry.n_scalars,
            n_outputs = entry.compiled ? tc_compiled_outputs(entry.compiled) : 0;
  const bool fits = n_inputs <= TC_LUA_MAX_INPUTS && n_outputs <= TC_MAX_RESULTS;
  if (fits && add_entry(o, &entry)) return &o->entries.data[0];
  if (fits)
    tc_lua_note_fallback(o, "out of memory for a compiled entry; the function runs eagerly");
  else
    tc_lua_note_fallback(
        o, "the function reads %d tensors and returns %d; at most %d and %d are compiled; it runs eagerly",
        n_inputs, n_outputs, TC_LUA_MAX_INPUTS, TC_MAX_RESULTS);
  tc_lua_compiled_free_entry(L, &entry);
  tc_lua_give_up(o);
  return NULL;
}
