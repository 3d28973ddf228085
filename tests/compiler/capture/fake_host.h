/* A host of capture for tests: tensors that have a layout but no elements, and tensor functions that can be
 * captured but not called. `capture_text` captures a call and gives everything about it as text. */
#ifndef TESTS_CAPTURE_FAKE_HOST_H
#define TESTS_CAPTURE_FAKE_HOST_H

#include "capture/capture.h"

/* A state with the standard library, and the globals
 *   tensor(sizes…) f32 contiguous; tensor{sizes…, dtype=, strides={…}}
 *   tb.NAME for each tensor function, tb.unknown (a C function that capture does not know)
 *   set_default_dtype(name). */
lua_State *fake_open(void);
const struct tc_host *fake_host(void);

struct fake_call {
  struct tc_context ctx;
  struct tc_capture capture;
  struct tc_error err;
  tc_status status;
};
/* Stack top: function, then n_args arguments; they stay. */
void fake_capture(lua_State *L, int n_args, struct fake_call *call);
void fake_release(lua_State *L, struct fake_call *call);
/* Number of the guard that fails for the function and arguments at the stack top; 0: all hold. */
int fake_check(lua_State *L, int n_args, const struct fake_call *call);
/* Captures what `chunk` returns, which does not break; runs `change`, which sees the globals and may return
 * other arguments for the next call; and wants the check to fail with this guard, or "all hold". */
void fake_check_guard(const char *chunk, const char *change, const char *failing);
/* Captures the call at the stack top, which does not break, with allocations that fail one after another:
 * nothing of the state changes, and no memory is left behind. */
void fake_fail_allocations(lua_State *L, int n_args);
/* Runs `chunk`, which returns a function and its arguments; leaves them on the stack and gives the number of
 * arguments. */
int fake_load(lua_State *L, const char *chunk);
/* The results and writes as text (tc_replay_text): "output 0, {'x' = output 1, 2 = true}, x; t.y = output
 * 2". */
void fake_recipes(const struct fake_call *call, struct tc_strbuf *out);

/* All guards as text; the caller frees it. */
char *fake_guards_text(const struct tc_guards *guards);

#endif
