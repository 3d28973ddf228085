/* Functions that go on in the middle of another one.
 *
 * For a function P and an instruction pc of it there are two:
 *  - the *continuation*: P's code behind a prologue that jumps to pc. Its parameters are P's registers 0 …
 *    k-1 (k: tc_resume_registers; dead registers are not read), and behind them, in a function with variable
 *    arguments, those of P.
 *  - the *step*: the same, but it runs only the instruction at pc with what belongs to it (tc_resume_unit),
 *    as plain bytecode. Where control leaves the unit (an exit), it calls the C function in its last upvalue
 *    with (exit number from 0, registers 0 … k'-1 live there, dead ones nil, then the variable arguments),
 *    and tail-calls what that returns: a function and its arguments. A step without exits runs P to its end.
 * Errors that either raises have P's own text, variable names and line.
 *
 * Where the frame may not be left behind the instruction (a to-be-closed variable is in scope; a captured
 * local is written later), the step is a *region*: the code from pc on, up to the places where it may be left
 * again. They lie behind all of the region.
 *
 * Open values: an instruction that takes as many values as there are (B is 0: CALL, TAILCALL, RETURN,
 * SETLIST) can be stepped alone when the one that makes them ran already. `open` tells how many operands it
 * then has, counted from the first one that it may have: arguments of a call, items of a list (both from
 * R[A+1] on), results of a return (from R[A] on). Without: -1.
 *
 * A generic `for` whose closing value (the fourth) is neither nil nor false owes a call at its end, so such a
 * frame cannot be left. The step of its TFORPREP looks: with such a value it runs P to its end. Whoever
 * executes TFORPREP otherwise must not leave the frame inside of such a loop.
 *
 * Hooked calls: pcall(function() … end) in a region makes a function that nothing else can see before it
 * runs. Where it is asked for (tc_resume.hooks), the step hands it to the C function in one more upvalue,
 * with (the called value, its first argument, which is that function), and what that returns becomes the
 * argument.
 *
 * Upvalues are P's, in P's order; the step has one more, or two with hooks. Both are made as chunks for
 * lua_load; the loader joins the upvalues (lua_load overwrites the first one, so that every one is to be
 * joined). With tc_resume.makes, the chunk is a function without upvalues that gives a new closure of either
 * at each call (closure_factories.c), for closures that share the code alone.
 *
 * Threads: pure. Errors: TC_CORRUPT (pc is none at which a function can go on, or code that no compiler
 * makes), TC_LIMIT (tc_resume_may_cut says no, or too many open values). */
#ifndef TC_CAPTURE_RESUME_H
#define TC_CAPTURE_RESUME_H

#include "base/strbuf.h"
#include "capture/bytecode/liveness.h"
#include "capture/bytecode/sharing.h"

enum { TC_MAX_RESUME_EXITS = 4 };

/* What happens around an instruction when it runs plain. */
struct tc_resume_unit {
  int first, last; /* the instructions that run, in order of the code: pc, and those that belong to it */
  int n_exits;     /* 0: a return, a tail call, or no exit may be made (why) */
  int exits[TC_MAX_RESUME_EXITS]; /* pc where control goes on, each once */
  const char *why; /* what forbids to leave the frame behind the instruction, for people; else NULL */
  bool has_hooks;  /* the region, or what runs to the end, has hooked calls */
  bool is_region;  /* so what follows runs plain too, up to the exits, where the frame may be left again (0 of
                      them: to the end) */
};

struct tc_resume { /* of one function; lives in the arena */
  struct tc_arena *arena;
  const struct tc_proto *proto;
  struct tc_live *live; /* [n_code] */
  struct tc_sharing sharing;
  bool hooks, makes; /* set by the owner */
};

tc_status tc_resume_open(struct tc_arena *arena, const struct tc_proto *proto, struct tc_resume **out,
                         struct tc_error *err);
/* pc is the first instruction that is not executed yet; it is no consumer of open results whose producer ran
 * already, unless `open` ≥ 0. VARARGPREP belongs to the instruction behind it, TFORLOOP to its TFORCALL (Lua
 * runs it without looking). */
tc_status tc_resume_unit_at(const struct tc_resume *r, int pc, int open, struct tc_resume_unit *out,
                            struct tc_error *err);
/* How many registers continuation and step for pc take as parameters; with `open` ≥ 0, those with the open
 * values too. */
int tc_resume_registers(const struct tc_resume *r, int pc, int open);
/* May the frame be cut before pc? Not while a to-be-closed variable is in scope, or a captured local that is
 * written again, or when the function has too many registers; *why tells, for people. */
bool tc_resume_may_cut(const struct tc_resume *r, int pc, const char **why);
/* The instruction of the function that stands at pc in a continuation of it; -1: one that the continuation
 * adds. */
int tc_resume_original(const struct tc_resume *r, int pc);
/* Chunks for lua_load (mode "b"), appended. */
tc_status tc_resume_continuation(const struct tc_resume *r, int pc, struct tc_strbuf *chunk,
                                 struct tc_error *err);
tc_status tc_resume_step(const struct tc_resume *r, int pc, int open, struct tc_strbuf *chunk,
                         struct tc_error *err);
/* A chunk that gives a new closure of the function, with variables of its own, at each call. TC_LIMIT: more
 * than TC_FACTORY_UPVALUES. */
enum { TC_FACTORY_UPVALUES = TC_REGISTERS - 8 };
tc_status tc_bytecode_factory(struct tc_arena *arena, const struct tc_proto *proto, struct tc_strbuf *chunk,
                              struct tc_error *err);
/* Does the CLOSURE at pc make the first argument of a call, which alone can see it? */
bool tc_resume_makes_argument(const struct tc_proto *proto, int pc);
/* The function itself as a chunk: what tc_bytecode_decode reads (also for nested functions, whose upvalues
 * the loader sets). */
tc_status tc_bytecode_encode(const struct tc_proto *proto, struct tc_strbuf *chunk, struct tc_error *err);

#endif
