/* Where the captured function itself stands, and its end before an instruction.
 *
 * Invariants:
 *  1. Instructions are counted in the captured function's own frame alone: what it calls belongs to the calling instruction. What
 *     a continuation has beside the code of its function does not count.
 *  2. Tracing is deterministic: a second capture of the same call counts as the first did, so that it can end where that broke.
 *  3. A frame is not cut before the instruction that sets up its variable arguments. */
#include "capture/trace.h"

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

tc_status tc_trace_step(struct tc_trace *t, struct tc_activation *a) {
  const struct tc_capture_options *options = t->options;
  const uint32_t code = a->proto->code[a->pc - 1];
  const int pc = options->continued ? tc_resume_original(options->continued, a->pc - 1) : a->pc - 1;
  if (pc < 0 || tc_code_op(code) == TC_LUA_VARARGPREP) return TC_OK;
  t->place = (struct tc_place){t->place.at + 1, pc, open_values(a, code)};
  if (options->resume && tc_resume_may_cut(options->resume, pc, &(const char *){NULL})) t->cut = t->place;
  if (options->stop && options->stop->at == t->place.at) t->stopped = true;
  if (options->break_at == t->place.at && !t->stopped) return tc_trace_break(t, TC_BREAK_FORCED, "break_at or break_every");
  return TC_OK;
}

/* The function that the captured one was calling, from outside (one that it makes itself is another one in each call). */
bool tc_trace_in_callee(const struct tc_trace *t) {
  const struct tc_activation *a = t->activation;
  if (!a || a->is_entry) return false;
  while (a->caller && !a->caller->is_entry) a = a->caller;
  return a->closure->origin.object != 0;
}
