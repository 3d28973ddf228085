/* A call of a compiled object.
 *
 * 1. Guards of the entries are checked, most recently used first; a call whose guards pass enters no Lua code.
 * 2. No entry fits: capture, compile, run; within the limit of recompiles.
 * 3. Whatever cannot be compiled runs the plain function, and is noted (never silently). So does a call whose compiled code
 *    fails (an index out of range, no memory): what is captured has no effect before it ends, and the generator is set back,
 *    so the plain function does all again, and raises its own error at its own line.
 * 4. The plain function is called last, by lua_callk: it may yield.
 * Lua errors are raised only where no C resource is held. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cache/cache.h"
#include "lua/compiled_object.h"

enum { CALL_MAX_INPUTS = 8192 }; /* tensors that one call reads */

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* --- compiled code --- */

/* What compiled code did with a call: its number of results, pushed; or the plain function is to be run. */
enum { RUN_PLAIN = -1 };

/* Runs an entry (in a closure of the module). */
static int run_entry(lua_State *L, struct compiled_object *o, const struct compiled_entry *chosen, const struct tc_frame *frame,
                     const struct tc_tensor *const *inputs) {
  const struct compiled_entry copy = *chosen, *const e = &copy; /* the list may move meanwhile; what it holds is pinned */
  struct tc_tensor outputs[TC_MAX_RESULTS];
  struct tc_error err = {0};
  const int n_outputs = tc_compiled_outputs(e->compiled), first_output = lua_gettop(L) + 1;
  luaL_checkstack(L, n_outputs + e->n_results + LUA_MINSTACK, "results");
  o->running++; /* making objects may run finalizers, and those may reset or call this object */
  for (int i = 0; i < n_outputs; i++) tc_lua_new_object(L, lua_upvalueindex(TC_LUA_METATABLE)); /* before the run: making them may raise */
  const struct tc_rng rng = o->module->ctx.rng;
  if (tc_compiled_run(e->compiled, inputs, outputs, &err)) {
    o->running--;
    o->module->ctx.rng = rng;
    tc_lua_note_fallback(o, "the compiled code failed (%s); such a call runs eagerly", err.message);
    lua_settop(L, first_output - 1);
    return RUN_PLAIN;
  }
  for (int i = 0; i < n_outputs; i++) {
    struct tc_lua_object *object = lua_touserdata(L, first_output + i);
    object->tensor = outputs[i];
  }
  tc_lua_push_results(L, e, frame, first_output);
  o->running--;
  tc_lua_gc_pressure(L, o->module);
  return e->n_results;
}

/* --- the plain function --- */

/* `top`: of the stack before the function was pushed. */
static int plain_results(lua_State *L, int status, lua_KContext top) {
  (void)status;
  return lua_gettop(L) - (int)top;
}

static int run_plain(lua_State *L, const struct tc_frame *frame) {
  const int top = lua_gettop(L);
  luaL_checkstack(L, frame->n_args + LUA_MINSTACK, "arguments");
  lua_pushvalue(L, frame->function);
  for (int i = 0; i < frame->n_args; i++) lua_pushvalue(L, frame->first_arg + i);
  lua_callk(L, frame->n_args, LUA_MULTRET, top, plain_results);
  return plain_results(L, LUA_OK, top);
}

void tc_lua_note_fallback(struct compiled_object *o, const char *format, ...) {
  struct fallback_note note;
  va_list args;
  va_start(args, format);
  vsnprintf(note.text, sizeof note.text, format, args);
  va_end(args);
  for (size_t i = 0; i < o->fallbacks.len; i++)
    if (!strcmp(o->fallbacks.data[i].text, note.text)) return;
  (void)tc_vec_push(o->module->ctx.alloc, &o->fallbacks, note);
}

static void give_up(struct compiled_object *o) {
  o->eager = true;
  o->module->ctx.counters.eager_fallbacks++;
}

/* A call that could not be compiled. An object that has entries, or whose code raised an error there, stays compiled for
 * other calls, as long as failures are few. */
static void note_failure(struct compiled_object *o, bool of_this_call) {
  const bool lasting = !of_this_call && !o->entries.len;
  if (lasting || ++o->failures >= o->config.recompile_limit) give_up(o);
  else o->module->ctx.counters.eager_fallbacks++;
}

/* --- compiling --- */

static int raise_break(lua_State *L, const struct tc_break *b) {
  return luaL_error(L, "%s:%d: graph break: %s (%s)\n  hint: %s\n  in: %s", b->source, b->line, tc_break_text(b->reason), b->detail,
                    tc_break_hint(b->reason), b->stack);
}

static void note_break(struct compiled_object *o, const struct tc_break *b) {
  struct tc_context *ctx = &o->module->ctx;
  ctx->counters.graph_breaks++;
  (void)tc_vec_push(ctx->alloc, &o->breaks, *b);
  tc_lua_note_fallback(o, "%s:%d: graph break: %s (%s); the function runs eagerly", b->source, b->line, tc_break_text(b->reason), b->detail);
  tc_log_line(&ctx->log, TC_LOG_BREAKS, "%s:%d: %s (%s); hint: %s", b->source, b->line, tc_break_text(b->reason), b->detail, tc_break_hint(b->reason));
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

/* Captures and compiles the call. TC_BREAK: a graph break, in *broke. */
static tc_status compile_call(struct compiled_object *o, const struct tc_frame *frame, struct compiled_entry *entry, struct tc_break *broke,
                              struct tc_error *err) {
  struct tc_context *ctx = &o->module->ctx;
  struct tc_capture capture = {0};
  const double start = now_ns();
  memset(&o->report, 0, sizeof o->report);
  tc_status status = tc_capture_call(ctx, &o->module->host, frame, &capture, err);
  o->report.stage_ns[TC_PASS_capture] = now_ns() - start;
  if (status) {
    tc_capture_free(&capture, frame->L);
    return status;
  }
  if (capture.broke) {
    *broke = capture.break_;
    tc_capture_free(&capture, frame->L);
    return TC_BREAK;
  }
  log_guards(o, capture.guards);
  o->captured_ops = capture.n_ops;
  capture.arena = NULL; /* the pipeline takes it */
  status = tc_compile_graph(ctx, o->backend, capture.graph, &entry->compiled, &o->report, err);
  if (!status) {
    entry->guards = capture.guards;
    entry->recipes = capture.recipes;
    entry->results = capture.results;
    entry->n_results = capture.n_results;
    capture.guards = NULL;
    capture.recipes = NULL;
  }
  tc_capture_free(&capture, frame->L);
  return status;
}

static void log_recompile(struct compiled_object *o, const struct tc_frame *frame, const struct tc_tensor **inputs) {
  struct tc_context *ctx = &o->module->ctx;
  if (!tc_log_on(&ctx->log, TC_LOG_RECOMPILES)) return;
  struct compiled_entry *newest = &o->entries.data[0];
  struct tc_strbuf text;
  tc_strbuf_init(&text, ctx->alloc);
  tc_guards_explain(newest->guards, frame, tc_guards_check(newest->guards, frame, inputs), &text);
  if (tc_strbuf_text(&text)) tc_log_line(&ctx->log, TC_LOG_RECOMPILES, "recompile %d: %s", o->recompiles, text.data);
  tc_strbuf_free(&text);
}

/* Newest first. */
static bool add_entry(struct compiled_object *o, const struct compiled_entry *entry) {
  if (!tc_vec_push(o->module->ctx.alloc, &o->entries, *entry)) return false;
  memmove(o->entries.data + 1, o->entries.data, sizeof *entry * (o->entries.len - 1));
  o->entries.data[0] = *entry;
  return true;
}

static void flush_cache(struct compiled_object *o) {
  struct tc_context *ctx = &o->module->ctx;
  struct tc_error err = {0};
  if (!ctx->cache || !tc_cache_flush(ctx->cache, &err)) return;
  tc_lua_note_fallback(o, "not stored in the disk cache: %s", err.message);
  tc_log_line(&ctx->log, TC_LOG_CACHE, "not stored: %s", err.message);
}

/* Compiles under the object's own switches. */
static tc_status compile_with_config(struct compiled_object *o, const struct tc_frame *frame, struct compiled_entry *entry, struct tc_break *broke,
                                     struct tc_error *err) {
  struct tc_context *ctx = &o->module->ctx;
  const struct tc_config saved = ctx->config;
  ctx->config = o->config;
  const tc_status status = compile_call(o, frame, entry, broke, err);
  ctx->config = saved;
  return status;
}

/* Captures, compiles and keeps an entry; NULL when the plain function is to be run instead, which is noted. */
static struct compiled_entry *new_entry(lua_State *L, struct compiled_object *o, const struct tc_frame *frame) {
  struct compiled_entry entry = {0};
  struct tc_break broke;
  struct tc_error err = {0};
  const tc_status status = compile_with_config(o, frame, &entry, &broke, &err);
  if (status == TC_BREAK) {
    if (o->fullgraph) raise_break(L, &broke);
    note_break(o, &broke);
    note_failure(o, broke.reason == TC_BREAK_RUNTIME_ERROR);
    return NULL;
  }
  if (status) {
    if (o->fullgraph) tc_lua_raise(L, "compile", &err);
    tc_lua_note_fallback(o, "%s: %s; the function runs eagerly", err.stage ? err.stage : "compile", err.message);
    note_failure(o, false);
    return NULL;
  }
  const int n_inputs = tc_guards_inputs(entry.guards), n_outputs = tc_compiled_outputs(entry.compiled);
  const bool fits = n_inputs <= CALL_MAX_INPUTS && n_outputs <= TC_MAX_RESULTS;
  if (fits && add_entry(o, &entry)) return &o->entries.data[0];
  if (fits) tc_lua_note_fallback(o, "out of memory for a compiled entry; the function runs eagerly");
  else
    tc_lua_note_fallback(o, "the function reads %d tensors and returns %d; at most %d and %d are compiled; it runs eagerly", n_inputs, n_outputs,
                         CALL_MAX_INPUTS, TC_MAX_RESULTS);
  tc_lua_compiled_free_entry(L, &entry);
  give_up(o);
  return NULL;
}

static bool limit_reached(struct compiled_object *o) {
  if ((int64_t)o->entries.len < o->config.recompile_limit) return false;
  tc_lua_note_fallback(o, "compiled %d time%s, the limit (recompile_limit); the function runs eagerly", (int)o->entries.len, o->entries.len == 1 ? "" : "s");
  fprintf(stderr, "tbench: a compiled function reached recompile_limit=%lld; it runs eagerly from now on (TB_LOGS=recompiles shows why)\n",
          (long long)o->config.recompile_limit);
  give_up(o);
  return true;
}

/* The guards of a new entry must hold for the call that it was made for, and fill `inputs`. */
static bool fits_its_call(struct compiled_object *o, const struct compiled_entry *entry, const struct tc_frame *frame, const struct tc_tensor **inputs) {
  const int failed = tc_guards_check(entry->guards, frame, inputs);
  if (!failed) return true;
  struct tc_strbuf text;
  tc_strbuf_init(&text, o->module->ctx.alloc);
  tc_guards_explain(entry->guards, frame, failed, &text);
  tc_lua_note_fallback(o, "guard %d fails on the call that it was made for: %s", failed, tc_strbuf_text(&text) ? text.data : "?");
  tc_strbuf_free(&text);
  give_up(o);
  return false;
}

static int compile_and_run(lua_State *L, struct compiled_object *o, const struct tc_frame *frame, double entered_ns, const struct tc_tensor **inputs) {
  if (o->entries.len) {
    o->recompiles++;
    o->module->ctx.counters.recompiles++;
    log_recompile(o, frame, inputs);
  }
  if (limit_reached(o)) return RUN_PLAIN;
  const struct compiled_entry *newest = new_entry(L, o, frame);
  if (!newest || !fits_its_call(o, newest, frame, inputs)) return RUN_PLAIN;
  struct tc_compiled *const compiled = newest->compiled;
  tc_compiled_watch(compiled, true);
  const int n = run_entry(L, o, newest, frame, inputs);
  if (!o->entries.len || o->entries.data[0].compiled != compiled) return n; /* a finalizer reset the object meanwhile */
  tc_compiled_watch(compiled, false);
  if (n != RUN_PLAIN) o->entry_to_kernel_ns = (double)tc_compiled_first_launch_ns(compiled) - entered_ns;
  flush_cache(o);
  return n;
}

static void move_to_front(struct compiled_object *o, size_t index) {
  const struct compiled_entry entry = o->entries.data[index];
  memmove(o->entries.data + 1, o->entries.data, sizeof entry * index);
  o->entries.data[0] = entry;
}

/* Apart from the plain function's call, which may nest: the room for inputs is on the C stack. */
static __attribute__((noinline)) int run_compiled(lua_State *L, struct compiled_object *o, const struct tc_frame *frame) {
  const struct tc_tensor *inputs[CALL_MAX_INPUTS];
  const double entered = o->entries.len ? 0 : now_ns();
  for (size_t i = 0; i < o->entries.len; i++) {
    if (tc_guards_check(o->entries.data[i].guards, frame, inputs)) {
      o->module->ctx.counters.guard_failures++;
      continue;
    }
    if (i) move_to_front(o, i);
    return run_entry(L, o, &o->entries.data[0], frame, inputs);
  }
  return compile_and_run(L, o, frame, entered > 0 ? entered : now_ns(), inputs);
}

/* The __call of the value at `self` is pushed, as a call of that value would find it now: another one than before makes the
 * entries void. False when that is no function, and what is to be called is the value itself. */
static bool push_method(lua_State *L, struct compiled_object *o, int object, int self) {
  const int type = luaL_getmetafield(L, self, "__call");
  if (type == LUA_TNIL) lua_pushnil(L);
  if (type != LUA_TFUNCTION) return false;
  lua_getiuservalue(L, object, OBJECT_FUNCTION);
  const bool is_new = !lua_rawequal(L, -1, -2);
  lua_pop(L, 1);
  if (!is_new) return true;
  tc_lua_compiled_reset(L, o);
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, object, OBJECT_FUNCTION);
  return true;
}

/* The object's user values are read by way of `object`; its arguments lie from `first_arg` to the stack's top. */
static int call(lua_State *L, int object, int first_arg) {
  struct compiled_object *o = lua_touserdata(L, object);
  if (!o->tag) return luaL_error(L, "a compiled function is called after its finalizer");
  if (o->has_self) {
    lua_getiuservalue(L, object, OBJECT_SELF);
    lua_insert(L, first_arg);
  }
  const int n_args = lua_gettop(L) - first_arg + 1;
  if (!o->has_self) lua_getiuservalue(L, object, OBJECT_FUNCTION);
  else if (!push_method(L, o, object, first_arg))
    return run_plain(L, &(struct tc_frame){.L = L, .function = first_arg, .first_arg = first_arg + 1, .n_args = n_args - 1});
  const struct tc_frame frame = {.L = L, .function = first_arg + n_args, .first_arg = first_arg, .n_args = n_args};
  const int n = o->eager ? RUN_PLAIN : run_compiled(L, o, &frame);
  return n == RUN_PLAIN ? run_plain(L, &frame) : n;
}

int tc_lua_compiled_call(lua_State *L) { return call(L, 1, 2); }
int tc_lua_compiled_function(lua_State *L) { return call(L, lua_upvalueindex(TC_LUA_EXTRA), 1); }
