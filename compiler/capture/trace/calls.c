/* Calls: Lua functions are inlined, tensor functions become nodes, known library functions are answered;
 * anything else is a break. Returns and variable arguments.
 *
 * Invariants:
 *  1. Results lie where the called value lay, as in Lua.
 *  2. `limit` is above everything that is alive; what is called from inside of a handler is laid out from
 *     there.
 *  3. At least SLACK slots behind a frame's last register are allocated, so that no operand of an instruction
 *     (at most 255 + 255 + 4 above the base) reaches outside. */
#include <string.h>

#include "capture/trace/externals.h"
#include "capture/trace/frames.h"
#include "capture/trace/metamethods.h"
#include "capture/trace/tensors.h"
#include "capture/trace/trace.h"

enum { SLACK = 1024 };

tc_status tc_reserve(struct tc_trace *t, size_t slot, size_t count) {
  const size_t needed = slot + count + SLACK;
  if (needed <= t->n_slots) return TC_OK;
  if (needed > TC_MAX_TRACE_STACK)
    return tc_trace_break(t, TC_BREAK_INLINE_DEPTH, "more than %d registers", (int)TC_MAX_TRACE_STACK);
  const size_t grown = needed > 2 * t->n_slots ? needed : 2 * t->n_slots;
  struct tc_tracked *slots =
      t->ctx->alloc->resize(t->ctx->alloc->self, t->slots, t->n_slots * sizeof *slots, grown * sizeof *slots);
  if (!slots) return tc_trace_nomem(t);
  for (size_t i = t->n_slots; i < grown; i++) slots[i] = tc_nil();
  t->slots = slots;
  t->n_slots = grown;
  return TC_OK;
}

tc_status tc_turn(struct tc_trace *t) {
  if (++t->turns <= TC_MAX_LOOP_TURNS) return TC_OK;
  return tc_trace_break(t, TC_BREAK_LOOP_LENGTH, "more than %d turns of loops in one call",
                        (int)TC_MAX_LOOP_TURNS);
}

/* Sets up `a` to run the closure at slot `at`. */
static tc_status enter(struct tc_trace *t, struct tc_activation *a, struct tc_traced_closure *closure,
                       size_t at, int n_args) {
  tc_status status = tc_closure_prepare(t, closure);
  if (status) return status;
  const struct tc_proto *proto = closure->proto;
  if ((status = tc_reserve(t, at + 1, (size_t)n_args + (size_t)proto->max_stack))) return status;
  for (int i = n_args; i < proto->n_params; i++) t->slots[at + 1 + (size_t)i] = tc_nil();
  *a = (struct tc_activation){.caller = a->caller,
                              .closure = closure,
                              .proto = proto,
                              .function = at,
                              .base = at + 1,
                              .n_args = n_args};
  t->limit = a->base + (size_t)proto->max_stack;
  if (proto->is_vararg && t->limit < a->base + (size_t)n_args) t->limit = a->base + (size_t)n_args;
  return TC_OK;
}

tc_status tc_run_entry(struct tc_trace *t, struct tc_activation *a, struct tc_traced_closure *closure,
                       int n_args) {
  *a = (struct tc_activation){.caller = NULL};
  const tc_status status = enter(t, a, closure, 0, n_args);
  if (status) return status;
  a->is_entry = true;
  t->activation = a;
  t->depth = 1;
  return tc_execute(t, a);
}

static tc_status too_deep(struct tc_trace *t) {
  return tc_trace_break(t, TC_BREAK_INLINE_DEPTH, "more than %d calls inside of one another",
                        (int)TC_MAX_INLINE_DEPTH);
}

static tc_status inline_call(struct tc_trace *t, struct tc_traced_closure *closure, size_t at, int n_args,
                             int *n_results) {
  if (t->depth >= TC_MAX_INLINE_DEPTH) return too_deep(t);
  struct tc_activation a = {.caller = t->activation};
  const size_t limit = t->limit;
  tc_status status = enter(t, &a, closure, at, n_args);
  if (status) return status;
  t->activation = &a;
  t->depth++;
  status = tc_execute(t, &a);
  if (status && !t->raising) return status; /* the activation was told in the break; nothing runs any more */
  if (status) tc_close_cells(t, &a, 0);
  t->depth--;
  t->activation = a.caller;
  t->limit = limit;
  *n_results = a.n_results;
  return status;
}

/* A compiled object becomes what it compiles: the call is inlined under the outer one's options. *found: it
 * is one. */
static tc_status unwrap_compiled(struct tc_trace *t, size_t at, int *n_args, bool *found) {
  lua_State *L = t->L;
  const struct tc_tracked callee = t->slots[at];
  struct tc_tracked self;
  *found = false;
  if (!t->host->compiled_at || !tc_push(t, &callee)) return TC_OK;
  *found = t->host->compiled_at(L, lua_gettop(L));
  lua_remove(L, *found ? -3 : -1);
  if (!*found) return TC_OK;
  tc_pin(t, &callee); /* and with it, for good, what it compiles */
  const int source = callee.origin->source;
  const bool has_self = !lua_isnil(L, -1);
  tc_status status = TC_OK;
  if (has_self)
    status = tc_import_pinned(t, source, &self);
  else
    lua_pop(L, 1);
  if (!status) status = tc_import_pinned(t, source, &t->slots[at]);
  if (status || !has_self) return status;
  if ((status = tc_reserve(t, at, (size_t)*n_args + 2))) return status;
  memmove(&t->slots[at + 2], &t->slots[at + 1], sizeof *t->slots * (size_t)*n_args);
  t->slots[at + 1] = self;
  ++*n_args;
  return TC_OK;
}

/* Runs the handler of a library function, which may call traced code again. */
static tc_status call_library(struct tc_trace *t, tc_library_fn library, size_t at, int n_args,
                              int *n_results) {
  if (t->depth >= TC_MAX_INLINE_DEPTH) return too_deep(t);
  struct tc_activation *a = t->activation; /* NULL: the captured function is this one */
  t->depth++;
  if (a) a->n_natives++;
  const tc_status status = library(t, at, n_args, n_results);
  if (status) return status; /* whoever catches an error sets both back */
  t->depth--;
  if (a) a->n_natives--;
  return TC_OK;
}

static tc_status call_native(struct tc_trace *t, struct tc_traced_native *native, size_t at, int n_args,
                             int *n_results) {
  const struct tc_tracked callee = tc_tracked_native(native);
  const size_t limit = t->limit;
  tc_pin(t, &callee);
  if (t->limit < at + 1 + (size_t)n_args) t->limit = at + 1 + (size_t)n_args;
  tc_status status = tc_reserve(t, t->limit, 0);
  if (status) return status;
  if (native->function) {
    status = tc_call_function(t, native->function, at, n_args, n_results);
  } else if (native->library) {
    status = call_library(t, native->library, at, n_args, n_results);
  } else {
    char name[128];
    tc_describe(t, &callee, name, sizeof name);
    status = tc_trace_break(t, TC_BREAK_C_FUNCTION, "call of %s", name);
  }
  t->limit = limit;
  return status;
}

/* Puts the metamethod __call in front of the called value. */
static tc_status shift_call(struct tc_trace *t, size_t at, int n_args) {
  struct tc_tracked handler, callee = t->slots[at];
  char name[128];
  tc_use_type(t, &callee);
  tc_status status = TC_OK;
  handler = tc_nil();
  if (callee.kind == TC_IS_TABLE || callee.kind == TC_IS_OPAQUE)
    status = tc_metamethod(t, &callee, TC_EVENT_CALL, &handler);
  if (status) return status;
  if (handler.kind == TC_IS_NIL) {
    tc_describe(t, &callee, name, sizeof name);
    return tc_trace_raises(t, "call of %s", name);
  }
  if ((status = tc_reserve(t, at, (size_t)n_args + 2))) return status;
  memmove(&t->slots[at + 1], &t->slots[at], sizeof *t->slots * ((size_t)n_args + 1));
  t->slots[at] = handler;
  return TC_OK;
}

static tc_status call_chain(struct tc_trace *t, size_t at, int n_args, int *n_results, int *n_compiled) {
  for (int i = 0; i < TC_MAX_META_CHAIN; i++) {
    const struct tc_tracked callee = t->slots[at];
    bool was_compiled = false;
    tc_status status = TC_OK;
    if (callee.kind == TC_IS_CLOSURE) return inline_call(t, callee.closure, at, n_args, n_results);
    if (callee.kind == TC_IS_OPAQUE ||
        (callee.kind == TC_IS_NATIVE && !callee.native->name && !callee.native->function))
      status = unwrap_compiled(t, at, &n_args, &was_compiled);
    if (status) return status;
    if (was_compiled) {
      ++*n_compiled;
      if (t->activation)
        t->activation->n_natives++; /* it stands between caller and callee, a function of C */
      continue;
    }
    if (callee.kind == TC_IS_NATIVE) return call_native(t, callee.native, at, n_args, n_results);
    if ((status = shift_call(t, at, n_args++))) return status;
  }
  return tc_trace_raises(t, "'__call' chain too long");
}

tc_status tc_call(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  int n_compiled = 0;
  const tc_status status = call_chain(t, at, n_args, n_results, &n_compiled);
  if (!status && t->activation) t->activation->n_natives -= n_compiled;
  return status;
}

tc_status tc_call_values(struct tc_trace *t, const struct tc_tracked *callee, int n_args,
                         const struct tc_tracked *args, int want, struct tc_tracked *results) {
  const size_t at = t->limit;
  tc_status status = tc_reserve(t, at, (size_t)n_args + 2);
  if (status) return status;
  t->slots[at] = *callee;
  for (int i = 0; i < n_args; i++) t->slots[at + 1 + (size_t)i] = args[i];
  t->limit = at + 2 + (size_t)n_args; /* one more for a __call in front */
  int count = 0;
  status = tc_call(t, at, n_args, &count);
  t->limit = at;
  if (status) return status;
  for (int i = 0; i < want; i++) results[i] = i < count ? t->slots[at + (size_t)i] : tc_nil();
  return TC_OK;
}

static int count_args(const struct tc_activation *a, uint32_t code) {
  const size_t first = a->base + (size_t)tc_code_a(code) + 1;
  return tc_code_b(code) ? tc_code_b(code) - 1 : (int)(a->top - first);
}

tc_status tc_do_call(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  const size_t at = a->base + (size_t)tc_code_a(code);
  int count;
  const tc_status status = tc_call(t, at, count_args(a, code), &count);
  if (status) return status;
  if (!tc_code_c(code)) {
    a->top = at + (size_t)count;
    return tc_reserve(t, a->top, 0);
  }
  for (int i = count; i < tc_code_c(code) - 1; i++) t->slots[at + (size_t)i] = tc_nil();
  return TC_OK;
}

/* Leaves `count` values from slot `from` on as the results of the function. */
static void finish(struct tc_trace *t, struct tc_activation *a, size_t from, size_t count) {
  tc_close_cells(t, a, 0);
  memmove(&t->slots[a->function], &t->slots[from], sizeof *t->slots * count);
  a->n_results = (int)count;
  a->returned = true;
}

/* A tail call of a Lua function runs in the caller's activation. */
tc_status tc_do_tail_call(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  const size_t at = a->base + (size_t)tc_code_a(code);
  int n_args = count_args(a, code), count;
  tc_close_cells(t, a, 0);
  for (int i = 0; i < TC_MAX_META_CHAIN && (t->slots[at].kind == TC_IS_TABLE); i++) {
    const tc_status status = shift_call(t, at, n_args++);
    if (status) return status;
  }
  tc_status status;
  if (t->slots[at].kind != TC_IS_CLOSURE) {
    status = tc_call(t, at, n_args, &count);
    if (!status) finish(t, a, at, (size_t)count);
    return status;
  }
  memmove(&t->slots[a->function], &t->slots[at], sizeof *t->slots * ((size_t)n_args + 1));
  status = enter(t, a, t->slots[a->function].closure, a->function, n_args);
  return status ? status : tc_turn(t);
}

tc_status tc_do_return_many(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  const size_t from = a->base + (size_t)tc_code_a(code);
  finish(t, a, from, tc_code_b(code) ? (size_t)tc_code_b(code) - 1 : a->top - from);
  return TC_OK;
}

tc_status tc_do_return_none(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  (void)code;
  finish(t, a, a->base, 0);
  return TC_OK;
}

tc_status tc_do_return_one(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  finish(t, a, a->base + (size_t)tc_code_a(code), 1);
  return TC_OK;
}

/* The fixed parameters move above the arguments, whose rest stays below as the variable ones. */
tc_status tc_do_vararg_prepare(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  (void)code;
  const int n_params = a->proto->n_params, actual = a->n_args > n_params ? a->n_args : n_params;
  if (a->is_entry) tc_guards_args(t->guards, t->frame.n_args);
  a->varargs = a->function + 1 + (size_t)n_params;
  a->n_varargs = actual - n_params;
  a->base = a->function + 2 + (size_t)actual;
  const tc_status status = tc_reserve(t, a->base, (size_t)a->proto->max_stack);
  if (status) return status;
  for (int i = 0; i < n_params; i++) t->slots[a->base + (size_t)i] = t->slots[a->function + 1 + (size_t)i];
  t->limit = a->base + (size_t)a->proto->max_stack;
  return TC_OK;
}

tc_status tc_do_vararg(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  const size_t at = a->base + (size_t)tc_code_a(code);
  const int wanted = tc_code_c(code) ? tc_code_c(code) - 1 : a->n_varargs;
  const tc_status status = tc_reserve(t, at, (size_t)wanted);
  if (status) return status;
  for (int i = 0; i < wanted; i++)
    t->slots[at + (size_t)i] = i < a->n_varargs ? t->slots[a->varargs + (size_t)i] : tc_nil();
  if (!tc_code_c(code)) a->top = at + (size_t)wanted;
  return TC_OK;
}
