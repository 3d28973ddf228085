/* Frames of Lua functions as they run: their registers, calls, and the handlers of instructions.
 *
 * Registers of all frames lie in one stack (tc_trace.slots) that moves when it grows: hold slots (size_t),
 * not pointers, across whatever may run traced code. Results of a call lie where the called value lay. */
#ifndef TC_CAPTURE_FRAMES_H
#define TC_CAPTURE_FRAMES_H

#include "capture/trace/trace.h"

/* A running (inlined) Lua function. */
struct tc_activation {
  struct tc_activation *caller;
  struct tc_traced_closure *closure;
  const struct tc_proto *proto;
  size_t function; /* slot of the called value; results go there */
  size_t base;     /* slot of register 0 */
  size_t top;      /* end of open results (CALL or VARARG with C = 0) */
  int pc;          /* next instruction */
  int n_args;
  size_t varargs; /* first slot */
  int n_varargs;
  struct tc_cell *open; /* cells of its registers */
  bool is_entry;        /* of the captured call itself */
  bool returned;
  int n_results;
  int n_natives; /* functions of C that run above it, the innermost called by it: levels of error count them
                  */
};

/* --- calls.c --- */
tc_status tc_reserve(struct tc_trace *t, size_t slot, size_t count);
/* Runs the captured call itself: function and arguments lie from slot 0 on, results are left there. *a must
 * live until the results are made, which may break too. */
tc_status tc_run_entry(struct tc_trace *t, struct tc_activation *a, struct tc_traced_closure *closure,
                       int n_args);
/* Calls the value at slot `at` with the arguments behind it; results are left from `at` on. */
tc_status tc_call(struct tc_trace *t, size_t at, int n_args, int *n_results);
/* Calls with values and gives the first `want` results (nil where there are fewer). */
tc_status tc_call_values(struct tc_trace *t, const struct tc_tracked *callee, int n_args,
                         const struct tc_tracked *args, int want, struct tc_tracked *results);
/* Counts a jump back. */
tc_status tc_turn(struct tc_trace *t);

/* --- execute.c --- */
tc_status tc_execute(struct tc_trace *t, struct tc_activation *a);
#define TC_OPCODE(NAME, format, operands, handler)                                                           \
  tc_status tc_do_##handler(struct tc_trace *t, struct tc_activation *a, uint32_t code);
#include "capture/bytecode/opcodes.def"
#undef TC_OPCODE
/* Open cells of registers at and above the slot `from` get values of their own. */
void tc_close_cells(struct tc_trace *t, struct tc_activation *a, size_t from);
tc_status tc_constant(struct tc_trace *t, const struct tc_activation *a, int number, struct tc_tracked *out);
static inline struct tc_tracked *tc_register(struct tc_trace *t, const struct tc_activation *a, int number) {
  return &t->slots[a->base + (size_t)number];
}

/* Writes register A of an instruction. */
static inline void tc_set_register(struct tc_trace *t, const struct tc_activation *a, uint32_t code,
                                   struct tc_tracked value) {
  *tc_register(t, a, tc_code_a(code)) = value;
}

#endif
