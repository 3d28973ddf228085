/* Capture: symbolic execution of a Lua function's bytecode (the technique of TorchDynamo).
 *
 * In: a Lua function and the arguments of one call. Out: a graph of tensor operations, guards on whatever the
 * trace used, and a replay (the results, and the writes that the code makes to what is outside); or the graph
 * break that stopped it. Capture has no effect that Lua code could see: nothing is executed, nothing written.
 * It reads bytecode by lua_dump. */
#ifndef TC_CAPTURE_CAPTURE_H
#define TC_CAPTURE_CAPTURE_H

#include "base/vec.h"
#include "capture/bytecode/resume.h"
#include "guards/guards.h"
#include "ir/graph.h"

enum tc_break_reason {
#define TC_BREAK(NAME, reason, hint) TC_BREAK_##NAME,
#include "capture/breaks.def"
#undef TC_BREAK
  TC_BREAK_COUNT
};
const char *tc_break_name(enum tc_break_reason reason);
const char *tc_break_text(enum tc_break_reason reason);
const char *tc_break_hint(enum tc_break_reason reason);

struct tc_break {
  enum tc_break_reason reason;
  char detail[256]; /* what exactly: "call of print", "tensor method item" */
  char source[64];  /* chunk name as Lua shortens it */
  int line;
  char stack[512]; /* the inlined Lua calls, innermost first: "file:line in function 'f'; …" */
  bool in_allowed; /* inside of a function of tb.allow_in_graph, where nothing may break */
};

/* How to make a value again after the graph ran. */
enum tc_recipe_kind {
  TC_RECIPE_NIL,
  TC_RECIPE_BOOL,
  TC_RECIPE_INT,
  TC_RECIPE_NUM,
  TC_RECIPE_TEXT,
  TC_RECIPE_OUTPUT,
  TC_RECIPE_SOURCE,
  TC_RECIPE_OBJECT
};
struct tc_recipe {
  enum tc_recipe_kind kind;
  union {
    bool boolean;
    int64_t integer;
    double number;
    struct {
      const char *bytes;
      size_t length;
    } text;
    int output; /* of the graph */
    int source; /* of the guards: tc_guards_push_source */
    int object; /* of the replay, from 0 */
  };
};

/* A variable that a new closure shares: its upvalue `upvalue` is upvalue `number` of the function at
 * `source`, or (source -1) of the closure `object`, which comes before it in the replay. Upvalues count from
 * 1. */
struct tc_join {
  int upvalue, source, object, number;
};

/* TABLE, CLOSURE: new in each call. EXTERNAL: it exists, and is written. */
enum tc_object_kind { TC_OBJECT_TABLE, TC_OBJECT_CLOSURE, TC_OBJECT_EXTERNAL };
struct tc_object {
  enum tc_object_kind kind;
  int array_hint, hash_hint; /* TABLE: sizes at its construction */
  int source;  /* EXTERNAL: where it is found. CLOSURE: a function that gives a new closure, with variables of
                  its own */
  int n_joins; /* CLOSURE */
  struct tc_join *joins;
};

enum tc_write_kind { TC_WRITE_METATABLE, TC_WRITE_FIELD, TC_WRITE_UPVALUE };
struct tc_write {
  enum tc_write_kind kind;
  int object;           /* of the replay */
  int upvalue;          /* UPVALUE: from 1 */
  const char *name;     /* UPVALUE: NULL when unknown */
  struct tc_recipe key; /* FIELD */
  struct tc_recipe value;
};

/* What a compiled call does after its graph ran, in this order (all values that sources give are those before
 * the call):
 *  1. makes the objects, and carries out the writes `own`, which are to new objects: so that next and #
 *     answer as for those that the traced code would have made;
 *  2. makes the results, and the keys and values of `effects`;
 *  3. carries out `effects`, the writes to what is outside. From here on only memory for a table that grows
 *     can fail. */
struct tc_replay {
  struct tc_recipe *results;
  int n_results;
  TC_VEC(struct tc_object) objects;
  TC_VEC(struct tc_write) own;
  TC_VEC(struct tc_write) effects;
};
/* For people, appended: "output 0, {'x' = output 1}" with what is written to outside behind it, "; t.x =
 * output 0; n (upvalue) = 3". */
void tc_replay_text(const struct tc_replay *replay, const struct tc_guards *guards, struct tc_strbuf *out);

/* Where a captured function stands: before the at-th instruction of its own frame, counted from 1 as they
 * run. `open`: values that the instruction takes as open results (CALL and SETLIST: behind register A,
 * RETURN: from A on); -1: none. */
struct tc_place {
  int64_t at;
  int pc, open;
};

/* Where a capture is to end early: its results are then the registers 0 … n_registers - 1 (dead ones nil),
 * and the variable arguments. */
struct tc_stop {
  int64_t at;
  int n_registers;
  struct tc_live live;
};

struct tc_capture_options {
  const struct tc_resume
      *continued; /* the captured function is a continuation of this one: its own instructions do not count */
  int64_t break_at; /* forces a break before this instruction of the function's own frame; 0: none */
  const struct tc_stop *stop;            /* NULL: to the end, or to a break */
  const struct tc_guard_change *changed; /* these are not fixed where that can be avoided */
  int n_changed;
  bool all_dynamic;               /* nor is any number among the arguments, or any size of theirs */
  const struct tc_resume *resume; /* of the function without the prologue: tells `cut` below; may be NULL */
  bool by_code; /* calls may be of other closures of the function's code: the caller makes sure of the code */
};

/* A number that is an input of the graph: which one, and i64 or f64. */
struct tc_scalar_input {
  int input;
  tc_dtype dtype;
};

struct tc_capture {
  struct tc_arena *arena; /* graph and temporaries: freed by tc_capture_free unless taken (set to NULL) */
  struct tc_graph *graph;
  struct tc_guards *guards; /* the caller takes it by setting this to NULL */
  struct tc_arena *recipes; /* the replay lives here; likewise */
  struct tc_replay *replay;
  TC_VEC(struct tc_scalar_input) scalars; /* in the order of the guards' scalars; with `recipes` */
  int n_ops;                              /* tensor operations captured, before decomposition */
  bool broke;
  struct tc_break break_; /* when `broke` */
  int callee; /* the break is inside of a call that the instruction at `place` makes: register of the called
               * Lua function, or of the one that a protected call there calls; -1: it is not */
  bool callee_is_new;    /* that function is made by the captured code */
  struct tc_place place; /* of the break in the captured function itself (pc without the skipped part); at 0:
                            it never ran */
  struct tc_place
      cut; /* the last one before it where the frame may be cut (options->resume); at 0: there is none */
};

/* Captures the call that `frame` describes. TC_OK with out->broke when a graph break stopped it; another
 * status is a failure of the compiler itself. `options` may be NULL. */
tc_status tc_capture_call(struct tc_context *ctx, const struct tc_host *host, const struct tc_frame *frame,
                          const struct tc_capture_options *options, struct tc_capture *out,
                          struct tc_error *err);
/* Makes what the captures of a state share (the first one would, otherwise). May raise a Lua error for
 * memory. */
void tc_capture_prepare(lua_State *L);
/* Is the value at an index Lua's own pcall or xpcall? */
bool tc_capture_is_protected_call(lua_State *L, int index);
void tc_capture_free(struct tc_capture *capture, lua_State *L);

#endif
