/* Guards: a program over sources that decides whether a captured graph may be used for a call.
 *
 * A source is a value read from outside: an argument, an upvalue, a global, a field path, or an expression
 * over numbers among them. Each distinct source is read once, with raw accesses alone: a check never enters
 * the Lua VM, raises nothing, and leaves the stack as it was. The program keeps the objects that it compares
 * by identity alive.
 *
 * Ownership: tc_guards is the caller's; it survives the compile. Threads: that of its Lua state. */
#ifndef TC_GUARDS_GUARDS_H
#define TC_GUARDS_GUARDS_H

#include "base/context.h"
#include "guards/host.h"
#include "sym/sym.h"

struct tc_guards;

/* Where the checked call stands on the Lua stack (absolute indices). */
struct tc_frame {
  lua_State *L;
  int function;
  int first_arg, n_args;
};

/* A number that is an input of the graph: which member holds it is what the guards made sure of. */
union tc_guard_scalar {
  int64_t integer;
  double number;
};

/* What a check reads for the graph. The arrays are the caller's, each as long as its tc_guards_… below says;
 * sizes and scalars may be NULL when they are not wanted. Tensors are borrowed from Lua objects that the
 * frame keeps alive. */
struct tc_guard_values {
  const struct tc_tensor **inputs;
  int64_t *sizes; /* by the id of the size variable */
  union tc_guard_scalar *scalars;
};

enum { TC_MAX_GUARD_SIZES = 1 << 12 }; /* size variables of a program */

/* --- the last of building --- */
/* A decision on sizes that must come out the same way; `a` and `b` may be of any table of symbols. Looked at
 * when all sizes are known. An expression that overflows or divides by zero fails. */
void tc_guards_shape_fact(struct tc_guards *g, const struct tc_sym_fact *fact);
/* Ends the building: makes the program, and reserves what a check needs. Facts may be added afterwards, and
 * sealed again. */
tc_status tc_guards_seal(struct tc_guards *g, struct tc_error *err);

/* --- checks --- */

/* What changed between calls: the value of a number, sizes of a tensor (dims: bit set of dimensions), or
 * which closure of a function it is (is_code). path: tc_guards_path. */
struct tc_guard_change {
  uint64_t path;
  bool is_number, is_code;
  uint32_t dims;
};
/* What in this call differs from the one that the guards were made for, and would not, if it were not fixed;
 * at most `limit`. */
int tc_guards_changes(const struct tc_guards *g, const struct tc_frame *frame, struct tc_guard_change *out,
                      int limit);

/* A size that the program asked to be left open (host->marked_dims) and that the guards fix to one value, as
 * text, appended: "dimension 1 of x is specialised to 8". False: there is none. */
bool tc_guards_fixed_mark(const struct tc_guards *g, const struct tc_frame *frame, struct tc_strbuf *out);

/* Number of guards (facts), and of graph inputs. */
int tc_guards_count(const struct tc_guards *g);
int tc_guards_inputs(const struct tc_guards *g);

/* 0: all hold, and the values are filled. Otherwise the number, from 1, of a guard that fails (whichever is
 * met first: guards that failed before are looked at early), or count + 1 when the Lua stack has no room. */
int tc_guards_match(struct tc_guards *g, const struct tc_frame *frame, const struct tc_guard_values *values);
/* Pushes the present value of a source (for results that are external objects); nil where a path leads
 * nowhere, and for an expression that has no value. */
void tc_guards_push_source(const struct tc_guards *g, const struct tc_frame *frame, int source);
/* One guard as text, or (guard = 0) all, one a line. With a frame, the present value stands beside it. */
void tc_guards_explain(const struct tc_guards *g, const struct tc_frame *frame, int guard,
                       struct tc_strbuf *out);
/* For people, appended: where a tensor input of the graph comes from; and what is left open, so that a change
 * of it asks for no other entry: sizes and numbers, joined by commas (nothing when all is fixed). */
void tc_guards_input_text(const struct tc_guards *g, int input, struct tc_strbuf *out);
void tc_guards_open_text(const struct tc_guards *g, struct tc_strbuf *out);
void tc_guards_free(struct tc_guards *g,
                    lua_State *L); /* L: to drop the anchors; NULL when the state is closing */

/* --- several programs of one function --- */

/* Chooses among programs by the value of a source that tells them apart, instead of trying each. It borrows
 * the programs: free it before one of them, and make another when the set changes. One state's thread, like
 * the programs. */
struct tc_guard_dispatch;

/* programs[] (copied) in the order in which they are tried where nothing tells them apart. */
tc_status tc_guards_dispatch_build(const struct tc_alloc *alloc, int count, struct tc_guards *const *programs,
                                   struct tc_guard_dispatch **out, struct tc_error *err);
/* The position of a program that holds, with its values filled; -1: none does. *tried (or NULL): how many
 * programs were checked. */
int tc_guards_dispatch_find(struct tc_guard_dispatch *d, const struct tc_frame *frame,
                            const struct tc_guard_values *values, int *tried);
/* The sources that it looks at, joined by commas, appended; nothing when it tries the programs in order. */
void tc_guards_dispatch_text(const struct tc_guard_dispatch *d, struct tc_strbuf *out);
void tc_guards_dispatch_free(struct tc_guard_dispatch *d); /* NULL is fine */

#endif
