/* Guards: a program over sources that decides whether a captured graph may be used for a call.
 *
 * A source is a value read from outside: an argument, an upvalue, a global, a field path. Each distinct
 * source is read once, with raw accesses alone: a check never enters the Lua VM, raises nothing, and
 * leaves the stack as it was. The program keeps the objects that it compares by identity alive.
 *
 * Ownership: tc_guards is the caller's; it survives the compile. Threads: that of its Lua state. */
#ifndef TC_GUARDS_GUARDS_H
#define TC_GUARDS_GUARDS_H

#include "base/context.h"
#include "guards/host.h"

struct tc_guards;

/* Where the checked call stands on the Lua stack (absolute indices). */
struct tc_frame { lua_State *L; int function; int first_arg, n_args; };

/* Number of guards (facts), and of graph inputs. */
int tc_guards_count(const struct tc_guards *g);
int tc_guards_inputs(const struct tc_guards *g);
/* 0: all hold, and inputs[] (borrowed from Lua objects that the frame keeps alive) are filled. Otherwise the number, from 1,
 * of the guard that failed. */
int tc_guards_check(struct tc_guards *g, const struct tc_frame *frame, const struct tc_tensor **inputs);
/* Pushes the present value of a source (for results that are outside objects). */
void tc_guards_push_source(const struct tc_guards *g, const struct tc_frame *frame, int source);
/* One guard as text, or (guard = 0) all, one a line. With a frame, the present value stands beside it. */
void tc_guards_explain(const struct tc_guards *g, const struct tc_frame *frame, int guard, struct tc_strbuf *out);
/* Hash of all facts without addresses. */
uint64_t tc_guards_hash(const struct tc_guards *g);
void tc_guards_free(struct tc_guards *g, lua_State *L); /* L: to drop the anchors; NULL when the state is closing */

#endif
