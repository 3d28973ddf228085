/* A call of a compiled object.
 *
 * 1. The guards of a single entry are checked; among several, a hash of what tells them apart chooses which
 *    (guards.h). A call whose guards pass enters no Lua code, but for what a registered backend made.
 * 2. No entry fits: capture, compile, run; within the limit of recompiles.
 * 3. An entry that ends at a graph break gives a function that goes on (pieces.c).
 * 4. Whatever cannot be compiled runs the plain function, and is noted (never silently). So does a call whose
 *    compiled code fails (an index out of range, no memory): what is captured has no effect before it ends,
 *    and the generator is set back, so the plain function does all again, and raises its own error at its own
 *    line.
 * 5. Whatever goes on is called last, by lua_callk: it may yield.
 * Lua errors are raised only where no C resource is held. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "cache/cache.h"
#include "lua/compile/compiled_object.h"
#include "tensor/host.h"

/* --- compiled code --- */

/* Pushes the results of a finished entry, or the function that goes on and its arguments. */
static enum tc_lua_outcome push_outcome(lua_State *L, int object, const struct compiled_entry *e,
                                        const struct tc_frame *frame, int step, int first_output,
                                        int *count) {
  tc_lua_push_results(L, e, frame, first_output);
  *count = e->replay->n_results;
  if (!e->step) return TC_LUA_FINISHED;
  lua_pushvalue(L, step);
  lua_insert(L, -1 - e->replay->n_results);
  if (e->callee < 0) return TC_LUA_GOES_ON;
  lua_pushvalue(L, -e->replay->n_results + e->callee);
  tc_lua_wrap(L, object, e->callee_is_new);
  lua_replace(L, -e->replay->n_results + e->callee - 1);
  return TC_LUA_GOES_ON;
}

void tc_lua_add_scalars(const struct compiled_entry *e, struct call_values *values) {
  int tensor = tc_guards_inputs(e->guards), input = tensor + e->n_scalars;
  for (int i = e->n_scalars; i-- > 0;) { /* from the last place down: places ascend */
    const struct scalar_input *scalar = &e->scalars[i];
    (void)tc_host_put(&scalar->tensor, &values->scalars[i].number, sizeof values->scalars[i].number, NULL);
    while (--input > scalar->input) values->inputs[input] = values->inputs[--tensor];
    values->inputs[input] = &scalar->tensor;
  }
}

/* By what a registered backend made. Its failure is an error of the call. */
static void run_registered(lua_State *L, struct compiled_object *o, int object,
                           const struct compiled_entry *e, const struct call_values *values,
                           int first_output) {
  struct tc_lua_object *outputs[TC_MAX_RESULTS];
  const int n_outputs = tc_compiled_outputs(e->compiled);
  for (int i = 0; i < n_outputs; i++) outputs[i] = lua_touserdata(L, first_output + i);
  if (tc_lua_backend_run(L, object, e, values, outputs)) return;
  o->running--;
  tc_lua_raise_text(L, "compile", "backend '%s' failed in a call: %s", o->registered, lua_tostring(L, -1));
}

/* Runs the graph of an entry: its outputs are pushed, from `first_output` on. False: it failed, which is
 * noted. */
static bool run_graph(const struct tc_lua_call *call, const struct compiled_entry *e, int first_output) {
  struct compiled_object *o = call->o;
  struct call_values *values = call->values;
  lua_State *L = call->frame->L;
  struct tc_tensor outputs[TC_MAX_RESULTS];
  struct tc_error err = {0};
  const int n_outputs = tc_compiled_outputs(e->compiled);
  for (int i = 0; i < n_outputs; i++)
    tc_lua_new_object(L, lua_upvalueindex(TC_LUA_METATABLE)); /* before the run: making them may raise */
  const struct tc_rng rng = o->module->ctx.rng;
  if (e->n_scalars) tc_lua_add_scalars(e, values);
  if (e->made) {
    run_registered(L, o, call->object, e, values, first_output);
    return true;
  }
  if (tc_compiled_run(e->compiled, values->inputs, values->sizes, outputs, &err)) {
    o->module->ctx.rng = rng;
    tc_lua_note_fallback(o, "the compiled code failed (%s); such a call runs eagerly", err.message);
    return false;
  }
  for (int i = 0; i < n_outputs; i++) {
    struct tc_lua_object *made = lua_touserdata(L, first_output + i);
    made->tensor = outputs[i];
  }
  return true;
}

static enum tc_lua_outcome go_plain(lua_State *L, const struct tc_frame *frame, int *count) {
  luaL_checkstack(L, frame->n_args + LUA_MINSTACK, "arguments");
  lua_pushvalue(L, frame->function);
  for (int i = 0; i < frame->n_args; i++) lua_pushvalue(L, frame->first_arg + i);
  *count = frame->n_args;
  return TC_LUA_GOES_ON;
}

/* Runs an entry (in a closure of the module). *ran: its code did not fail. */
static enum tc_lua_outcome run_entry(const struct tc_lua_call *call, const struct compiled_entry *chosen,
                                     int *count, bool *ran) {
  struct compiled_object *o = call->o;
  lua_State *L = call->frame->L;
  const struct compiled_entry copy = *chosen,
                              *const e = &copy; /* the list may move meanwhile; what it holds is pinned */
  const int top = lua_gettop(L);
  luaL_checkstack(L, (e->compiled ? tc_compiled_outputs(e->compiled) : 0) + LUA_MINSTACK, "results");
  if (e->step) tc_lua_push_step(L, call->object, e->step, call->frame->function);
  o->running++; /* making objects may run finalizers, and those may reset or call this object */
  const int first_output = lua_gettop(L) + 1;
  *ran = !e->compiled || run_graph(call, e, first_output);
  if (!*ran) {
    o->running--;
    lua_settop(L, top);
    return go_plain(L, call->frame, count);
  }
  const enum tc_lua_outcome outcome =
      push_outcome(L, call->object, e, call->frame, top + 1, first_output, count);
  o->running--;
  tc_lua_gc_pressure(L, o->module);
  return outcome;
}

/* --- compiling --- */

enum { MOST_CHANGES = 64 }; /* that are learnt from one call */

static void note_recompile(struct compiled_object *o, const struct tc_frame *frame,
                           struct call_values *values) {
  struct compiled_entry *newest = &o->entries.data[0];
  struct tc_strbuf text;
  tc_strbuf_init(&text, o->module->ctx.alloc);
  tc_guards_explain(newest->guards, frame, tc_lua_match(newest, frame, values), &text);
  if (tc_strbuf_text(&text)) tc_lua_note_recompile(o, text.data);
  tc_strbuf_free(&text);
}

static void flush_cache(struct compiled_object *o) {
  struct tc_context *ctx = &o->module->ctx;
  struct tc_error err = {0};
  tc_stage_enter(ctx, "store");
  const bool stored = !ctx->cache || !tc_cache_flush(ctx->cache, &err);
  tc_stage_leave(ctx);
  if (stored) return;
  tc_lua_note_fallback(o, "not stored in the disk cache: %s", err.message);
  tc_log_line(&ctx->log, TC_LOG_CACHE, "not stored: %s", err.message);
}

/* Are both about one thing, whatever of it changed? */
static bool same_thing(const struct tc_guard_change *a, const struct tc_guard_change *b) {
  return a->path == b->path && a->is_number == b->is_number && a->is_code == b->is_code;
}

/* What differs from the call that the guards were made for is not fixed again (dynamic=true leaves open from
 * the start what arguments show; lengths and variables are learnt like anything else). Under dynamic=false,
 * only that a closure is made anew. */
static void learn_changes(struct compiled_object *o, const struct tc_guards *before,
                          const struct tc_frame *frame) {
  struct tc_guard_change changes[MOST_CHANGES];
  const int count = tc_guards_changes(before, frame, changes, MOST_CHANGES);
  for (int i = 0; i < count; i++) {
    size_t k = 0;
    if (o->dynamic == TC_LUA_DYNAMIC_NEVER && !changes[i].is_code) continue;
    while (k < o->changed.len && !same_thing(&o->changed.data[k], &changes[i])) k++;
    if (k < o->changed.len)
      o->changed.data[k].dims |= changes[i].dims;
    else if (!tc_vec_push(o->module->ctx.alloc, &o->changed, changes[i]))
      return; /* without memory it is fixed again */
  }
}

/* Said once: the object runs eagerly from here on, until it is reset. */
static bool limit_reached(struct compiled_object *o, const struct tc_frame *frame) {
  lua_Debug function;
  if ((int64_t)o->entries.len < o->config.recompile_limit) return false;
  lua_pushvalue(frame->L, frame->function);
  lua_getinfo(frame->L, ">S", &function);
  tc_lua_note_fallback(o, "%s:%d: compiled %d time%s, the limit (recompile_limit); the function runs eagerly",
                       function.short_src, function.linedefined, (int)o->entries.len,
                       o->entries.len == 1 ? "" : "s");
  fprintf(stderr,
          "tbench: the function at %s:%d reached recompile_limit=%lld; it runs eagerly until tb.reset "
          "(TB_LOGS=recompiles shows why)\n",
          function.short_src, function.linedefined, (long long)o->config.recompile_limit);
  tc_lua_give_up(o);
  return true;
}

/* The guards of a new entry must hold for the call that it was made for, and fill `inputs`. */
static bool fits_its_call(struct compiled_object *o, const struct compiled_entry *entry,
                          const struct tc_frame *frame, struct call_values *values) {
  const int failed = tc_lua_match(entry, frame, values);
  if (!failed) return true;
  struct tc_strbuf text;
  tc_strbuf_init(&text, o->module->ctx.alloc);
  tc_guards_explain(entry->guards, frame, failed, &text);
  tc_lua_note_fallback(o, "guard %d fails on the call that it was made for: %s", failed,
                       tc_strbuf_text(&text) ? text.data : "?");
  tc_strbuf_free(&text);
  tc_lua_give_up(o);
  return false;
}

static int refuse(lua_State *L, struct compiled_object *o, const struct tc_frame *frame,
                  struct call_values *values) {
  struct tc_strbuf text;
  if (!o->entries.len)
    return tc_lua_raise_text(
        L, "compile", "a call needs a compile, but the stance is fail_on_recompile: nothing is compiled yet");
  tc_strbuf_init(&text, o->module->ctx.alloc);
  const struct tc_guards *newest = o->entries.data[0].guards;
  tc_guards_explain(newest, frame, tc_lua_match(&o->entries.data[0], frame, values), &text);
  lua_pushstring(L, tc_strbuf_text(&text) ? text.data : "?");
  tc_strbuf_free(&text);
  return tc_lua_raise_text(L, "compile", "a call needs a recompile, but the stance is fail_on_recompile: %s",
                           lua_tostring(L, -1));
}

/* Under eager_then_compile the first call runs plain; the second is compiled, and what differs in it is left
 * open. What goes on behind a break belongs to a call that was made before. */
static bool runs_first(lua_State *L, struct compiled_object *o, const struct tc_frame *frame) {
  if (o->root != o || o->entries.len) return false;
  if (!o->was_called) {
    o->was_called = true;
    tc_lua_capture_first(L, o, frame);
    return true;
  }
  if (o->first) learn_changes(o, o->first, frame);
  tc_guards_free(o->first, L);
  o->first = NULL;
  return false;
}

/* By the stance. */
static bool may_compile(lua_State *L, struct compiled_object *o, const struct tc_frame *frame,
                        struct call_values *values) {
  switch (o->module->stance) {
    case TC_LUA_STANCE_fail_on_recompile: refuse(L, o, frame, values); return false;
    case TC_LUA_STANCE_eager_on_recompile: return false;
    case TC_LUA_STANCE_eager_then_compile: return !runs_first(L, o, frame);
    default: return true;
  }
}

static enum tc_lua_outcome compile_and_run(const struct tc_lua_call *call, double entered_ns, int *count) {
  struct compiled_object *o = call->o;
  const struct tc_frame *frame = call->frame;
  struct call_values *values = call->values;
  lua_State *L = frame->L;
  if (!may_compile(L, o, frame, values) || limit_reached(o, frame)) return go_plain(L, frame, count);
  if (o->entries.len) {
    o->recompiles++;
    o->module->ctx.counters.recompiles++;
    note_recompile(o, frame, values);
    learn_changes(o, o->entries.data[0].guards, frame);
  }
  const struct compiled_entry *newest = tc_lua_new_entry(call);
  if (!newest || !fits_its_call(o, newest, frame, values)) return go_plain(L, frame, count);
  struct tc_compiled *const compiled = newest->compiled;
  bool ran;
  if (compiled) tc_compiled_watch(compiled, true);
  tc_stage_enter(&o->module->ctx, "run");
  const enum tc_lua_outcome outcome = run_entry(call, newest, count, &ran);
  tc_stage_leave(&o->module->ctx);
  if (!compiled || !o->entries.len || o->entries.data[0].compiled != compiled)
    return outcome; /* a finalizer reset the object meanwhile */
  tc_compiled_watch(compiled, false);
  if (ran) o->entry_to_kernel_ns = (double)tc_compiled_first_launch_ns(compiled) - entered_ns;
  flush_cache(o);
  return outcome;
}

/* A function of its own, which calls nothing that runs Lua code: the room for inputs is on the C stack. */
static __attribute__((noinline)) enum tc_lua_outcome run_compiled(struct compiled_object *o, int object,
                                                                  const struct tc_frame *frame, int *count) {
  struct call_values values;
  const struct tc_lua_call call = {o, object, frame, &values};
  const double entered = o->entries.len ? 0 : tc_now_ns();
  const struct compiled_entry *known = tc_lua_find_entry(o, frame, &values);
  bool ran;
  if (known) return run_entry(&call, known, count, &ran);
  return compile_and_run(&call, entered > 0 ? entered : tc_now_ns(), count);
}

enum tc_lua_outcome tc_lua_advance(lua_State *L, int object, const struct tc_frame *frame, int *count) {
  struct compiled_object *o = lua_touserdata(L, object);
  if (o->eager || o->module->stance == TC_LUA_STANCE_force_eager) return go_plain(L, frame, count);
  return o->module->n_disabled && tc_lua_is_disabled(L) ? go_plain(L, frame, count)
                                                        : run_compiled(o, object, frame, count);
}

/* --- calls from outside --- */

static int called(lua_State *L, int status, lua_KContext below) {
  (void)status;
  return lua_gettop(L) - (int)below;
}

/* Calls the function below the `count` arguments at the stack top, last: it may yield. Nothing else stays on
 * the stack, where it would keep alive what plain code has let go. */
static int call_on(lua_State *L, int count) {
  const int function = lua_gettop(L) - count;
  for (int i = 0; i <= count && function > 1; i++) lua_copy(L, function + i, 1 + i);
  lua_settop(L, count + 1);
  lua_callk(L, count, LUA_MULTRET, 0, called);
  return called(L, LUA_OK, 0);
}

bool tc_lua_push_method(lua_State *L, int object, int self) {
  const int type = luaL_getmetafield(L, self, "__call");
  if (type == LUA_TNIL) lua_pushnil(L);
  if (type != LUA_TFUNCTION) return false;
  lua_getiuservalue(L, object, OBJECT_FUNCTION);
  const bool is_new = !lua_rawequal(L, -1, -2);
  lua_pop(L, 1);
  if (!is_new) return true;
  tc_lua_compiled_reset(L, object);
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, object, OBJECT_FUNCTION);
  return true;
}

static int call_value(lua_State *L, const struct tc_frame *frame) {
  int count;
  go_plain(L, frame, &count);
  return call_on(L, count);
}

/* The object's user values are read by way of `object`; its arguments lie from `first_arg` to the stack's
 * top. */
static int call(lua_State *L, int object, int first_arg) {
  struct compiled_object *o = lua_touserdata(L, object);
  if (!o->tag) return luaL_error(L, "a compiled function is called after its finalizer");
  if (o->has_self) {
    lua_getiuservalue(L, object, OBJECT_SELF);
    lua_insert(L, first_arg);
  }
  const int n_args = lua_gettop(L) - first_arg + 1;
  if (!o->has_self)
    lua_getiuservalue(L, object, OBJECT_FUNCTION);
  else if (!tc_lua_push_method(L, object, first_arg))
    return call_value(
        L,
        &(struct tc_frame){.L = L, .function = first_arg, .first_arg = first_arg + 1, .n_args = n_args - 1});
  const struct tc_frame frame = {
      .L = L, .function = first_arg + n_args, .first_arg = first_arg, .n_args = n_args};
  int count;
  return tc_lua_advance(L, object, &frame, &count) == TC_LUA_FINISHED ? count : call_on(L, count);
}

int tc_lua_compiled_call(lua_State *L) { return call(L, 1, 2); }
int tc_lua_compiled_function(lua_State *L) { return call(L, lua_upvalueindex(TC_LUA_EXTRA), 1); }
