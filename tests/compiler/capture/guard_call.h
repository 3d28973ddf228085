/* A call and guards about it, for tests of guard programs: built by hand, not by capture. Whatever goes wrong
 * here fails the test. */
#ifndef TESTS_CAPTURE_GUARD_CALL_H
#define TESTS_CAPTURE_GUARD_CALL_H

#include "guards/build.h"
#include "tests/compiler/capture/fake_host.h"

enum { GUARD_MOST_INPUTS = 64, GUARD_MOST_SIZES = 8 };

/* A state whose stack holds a function and its arguments, and guards about that call. */
struct guard_call {
  lua_State *L;
  struct tc_guards *g;
  struct tc_frame frame;
  const struct tc_tensor *inputs[GUARD_MOST_INPUTS];
  int64_t sizes[GUARD_MOST_SIZES];
  union tc_guard_scalar scalars[GUARD_MOST_SIZES];
};

/* `chunk` gives the function and its arguments. */
void guard_open(struct guard_call *c, const char *chunk);
void guard_close(struct guard_call *c);
void guard_seal(struct guard_call *c);
/* tc_guards_match; the stack stays as it was. */
int guard_check(struct guard_call *c);
void guard_run(struct guard_call *c, const char *text);
/* An argument gets the value of an expression. */
void guard_set_arg(struct guard_call *c, int number, const char *expression);
/* The check fails, and the guard that fails has this text, with its present value; "": it holds. */
void guard_assert_fails(struct guard_call *c, const char *expected);
void guard_assert_text(struct guard_call *c, int source, const char *expected);

/* A field by name. */
int guard_field(struct guard_call *c, int parent, const char *name);
void guard_push(struct guard_call *c, const char *expression);
int guard_constant(struct guard_call *c, const char *expression);
void guard_equal(struct guard_call *c, int source, const char *expression);
const struct tc_tensor *guard_tensor(struct guard_call *c, int index);
/* Facts about the value at the top of the stack and all below it, as capture would add them; pops it. */
void guard_all(struct guard_call *c, int source);

#endif
