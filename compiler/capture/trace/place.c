/* Where the captured function itself stands, and its end before an instruction.
 *
 * Invariants:
 *  1. Instructions are counted in the captured function's own frame alone: what it calls belongs to the
 *     calling instruction. What a continuation has beside the code of its function does not count.
 *  2. Tracing is deterministic: a second capture of the same call counts as the first did, so that it can end
 *     where that broke.
 *  3. A frame is not cut before the instruction that sets up its variable arguments. */
#include "capture/trace/place.h"
#include "capture/trace/frames.h"
#include "capture/trace/library_seam.h"
#include "capture/trace/trace.h"

/* How many values the instruction takes as open results; -1: it takes none. */
static int open_values(const struct tc_activation *a, uint32_t code) {
  const size_t first = a->base + (size_t)tc_code_a(code);
  if (tc_code_b(code)) return -1;
  switch (tc_code_op(code)) {
    case TC_LUA_CALL:
    case TC_LUA_TAILCALL:
    case TC_LUA_SETLIST: return (int)(a->top - first - 1);
    case TC_LUA_RETURN: return (int)(a->top - first);
    default: return -1;
  }
}

static bool is_protected_call(const struct tc_tracked *v) {
  return v->kind == TC_IS_NATIVE && tc_library_is_protected(v->native->library);
}

/* Register of the Lua function that a call runs: what is called, or what a protected call calls in its turn.
 * -1: the instruction is no such call. */
static int called_register(const struct tc_trace *t, const struct tc_activation *a, uint32_t code) {
  const int first = tc_code_a(code);
  if (!tc_code_is_call(code)) return -1;
  const struct tc_tracked *callee = &t->slots[a->base + (size_t)first];
  const int n_args = tc_code_b(code) ? tc_code_b(code) - 1 : open_values(a, code),
            past = is_protected_call(callee);
  if (past > n_args) return -1;
  const bool is_callable =
      callee[past].kind == TC_IS_TABLE || callee[past].kind == TC_IS_OPAQUE; /* perhaps, by a __call */
  return callee[past].kind == TC_IS_CLOSURE || (is_callable && tc_is_external(&callee[past])) ? first + past
                                                                                              : -1;
}

tc_status tc_trace_step(struct tc_trace *t, struct tc_activation *a) {
  const struct tc_capture_options *options = t->options;
  const uint32_t code = a->proto->code[a->pc - 1];
  const int pc = options->continued ? tc_resume_original(options->continued, a->pc - 1) : a->pc - 1;
  if (pc < 0 || tc_code_op(code) == TC_LUA_VARARGPREP) return TC_OK;
  t->place = (struct tc_place){t->place.at + 1, pc, open_values(a, code)};
  t->callee = called_register(t, a, code);
  t->callee_is_new = t->callee >= 0 && !tc_is_external(tc_register(t, a, t->callee));
  if (options->resume && tc_resume_may_cut(options->resume, pc, &(const char *){NULL})) t->cut = t->place;
  if (!t->ctx->config.opt_cow_snapshots && tc_code_is_call(code) && tc_snapshot_take(t)) return TC_NOMEM;
  if (options->stop && options->stop->at == t->place.at) t->stopped = true;
  if (options->break_at == t->place.at && !t->stopped)
    return tc_trace_break(t, TC_BREAK_FORCED, "break_at or break_every");
  return TC_OK;
}

int tc_trace_callee(const struct tc_trace *t) {
  return t->activation && !t->activation->is_entry ? t->callee : -1;
}
