/* The Lua object behind what tb.compile returns: entries (guards, code, result recipe), newest use first, and
 * what the harness and explain report of it. Shared by compile.c, options.c, call.c, results.c, explain.c and
 * host.c.
 *
 * tb.compile(function) returns a function over the object, so that it may stand wherever Lua wants a
 * function; of a callable table it returns the object itself, a userdata with __call. */
#ifndef TC_LUA_COMPILED_OBJECT_H
#define TC_LUA_COMPILED_OBJECT_H

#include "base/vec.h"
#include "capture/capture.h"
#include "lua/module.h"
#include "pipeline.h"

/* User values: … of a registered backend, what was registered, and the table of what it made for the entries;
 * of a piece over the code of many closures, what makes its function for each. */
enum {
  OBJECT_FUNCTION = 1,
  OBJECT_SELF,
  OBJECT_TEXTS,
  OBJECT_RESUME,
  OBJECT_ROOT,
  OBJECT_BACKEND,
  OBJECT_MADE,
  OBJECT_FACTORY,
  OBJECT_VALUES = OBJECT_FACTORY
};

enum { TC_LUA_MAX_INPUTS = 8192 }; /* tensors that one call reads */

/* What a call's guards read for its graph. */
struct call_values {
  const struct tc_tensor *inputs[TC_LUA_MAX_INPUTS];
  int64_t sizes[TC_MAX_GUARD_SIZES];
  union tc_guard_scalar scalars[TC_MAX_SCALARS];
};

/* A call of a compiled function. `values` is room, which the guards fill. */
struct tc_lua_call {
  struct compiled_object *o;
  int object; /* on the stack of frame->L */
  const struct tc_frame *frame;
  struct call_values *values;
};

/* A number that is an input of the graph: its place there, and the tensor that holds it. */
struct scalar_input {
  int input;
  struct tc_tensor tensor;
};

struct compiled_entry {
  struct tc_guards *guards;
  struct tc_compiled *compiled;
  struct tc_arena *recipes;
  struct tc_replay *replay; /* in `recipes` */
  int n_scalars;
  struct scalar_input *scalars; /* in `recipes`; their storages are the entry's */
  int step;   /* the entry ends at a graph break: place of the step function that goes on, with the results as
                 arguments; 0: it does not */
  int callee; /* that argument (from 0) is a function to be called compiled; -1: none */
  bool callee_is_new; /* which is another closure in each call */
  int made;     /* what a registered backend made of the graph: its place in the object's table; 0: nothing */
  int place;    /* among the programs of the object's dispatch */
  int n_ops;    /* tensor operations that were captured */
  int broke_at; /* number, from 1, of the root's break that it ends at; 0: none */
  struct tc_capture_record *capture_record; /* in `recipes`; NULL unless the root `tells` */
  struct tc_fuel_report *fuel;              /* likewise */
};

struct fallback_note {
  char text[256];
};
struct recompile_note {
  char text[512];
}; /* the guard that failed, with both values */

/* What was captured, as text. */
struct tc_captured_op {
  const char *text, *source;
  int line;
}; /* line 0: unknown */
struct tc_capture_record {
  const char *graph;
  int n_ops;
  struct tc_captured_op *ops;
};

enum { TC_LUA_BACKEND_NAME = 64 };

struct compiled_object {
  const void *tag;
  struct tc_lua_module *module;
  struct compiled_object *root; /* of a piece behind a graph break: what tb.compile made, which tells of all;
                                   else the object itself */
  const struct tc_resume *continued; /* a piece: of what; the object keeps it alive */
  enum tc_backend backend;
  char registered[TC_LUA_BACKEND_NAME]; /* name of a backend of tb.register_backend, which takes the graph;
                                           "": none */
  bool fullgraph, has_self;
  bool by_code; /* it is called for many closures of its function's code, which the frame of a call names; its
                   own function is never called */
  enum { TC_LUA_DYNAMIC_AUTO, TC_LUA_DYNAMIC_ALWAYS, TC_LUA_DYNAMIC_NEVER } dynamic;
  bool eager; /* runs the plain function from now on: a break, a limit, or a failed compile */
  struct tc_config config;
  TC_VEC(struct compiled_entry) entries;
  TC_VEC(struct compiled_entry)
  retired; /* dropped while a call was running; freed by the next reset without one */
  struct tc_guard_dispatch *dispatch; /* over the guards of all entries; NULL: not made since they changed */
  bool was_called;                    /* under the stance eager_then_compile */
  struct tc_guards
      *first;     /* of the call that ran plain under it: what differs in the next one is learnt; or NULL */
  bool tells;     /* a root: entries keep their stories, for tb.explain */
  int first_line; /* a piece: where it begins; else 0 */
  bool forgets;   /* what goes on behind its breaks is made anew */
  int running;    /* calls on the way, nested ones too */
  int failures;   /* calls that could not be compiled */
  int n_wrapped;  /* functions that were first called compiled behind a break of it; -1: they are too many */
  TC_VEC(struct tc_guard_change)
  changed; /* what changed between calls: not fixed by the entries that are made from then on */
  TC_VEC(struct tc_break) breaks;
  TC_VEC(struct fallback_note) fallbacks;
  TC_VEC(struct recompile_note) recompile_notes; /* on the root, of all its pieces */
  int recompiles, captured_ops;
  struct tc_compile_report report; /* of the newest compile */
  double entry_to_kernel_ns;       /* of the newest compile: from entering the call until its first kernel may
                                      start; 0: none */
};

/* --- objects --- */
/* The object at an index, or of the function there that stands for one; NULL if it is none. */
struct compiled_object *tc_lua_compiled_at(lua_State *L, int index);
/* Pushes the object itself, of the object or function at an index. */
void tc_lua_push_object(lua_State *L, int index);
/* Pushes the function that the compiled object at an index compiles, and its first argument (nil without
 * one). */
void tc_lua_compiled_parts(lua_State *L, int index);
/* __call of the object: a closure of the module (tc_lua_closure). */
int tc_lua_compiled_call(lua_State *L);
/* The same as a function, over the object (tc_lua_closure_over). */
int tc_lua_compiled_function(lua_State *L);
/* Drops entries and what was learnt, of the object at an index; caches stay. */
void tc_lua_compiled_reset(lua_State *L, int object);
void tc_lua_compiled_free_entry(lua_State *L, struct compiled_entry *entry);
void tc_lua_note_fallback(struct compiled_object *o, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Makes the object for (function, options): options at `options_index`, or 0 for none. Pushes it. */
struct compiled_object *tc_lua_compiled_new(lua_State *L, int function_index, int options_index);

/* Pushes an empty table whose keys are weak. */
void tc_lua_push_weak_table(lua_State *L);
/* Pushes a new object for the function at an index, with the options and switches of the object at `like`,
 * and its root. */
struct compiled_object *tc_lua_compiled_like(lua_State *L, int function_index, int like);

/* --- call.c --- */
/* Puts the numbers that are inputs of the entry's graph among the tensors that its guards read. */
void tc_lua_add_scalars(const struct compiled_entry *e, struct call_values *values);
/* One step of a call of the object at `object`, whose arguments lie in a frame: either it is finished, and
 * *count results are pushed; or it goes on, and a function and its *count arguments are pushed. In a closure
 * of tc_lua_closure_over. */
enum tc_lua_outcome { TC_LUA_FINISHED, TC_LUA_GOES_ON };
enum tc_lua_outcome tc_lua_advance(lua_State *L, int object, const struct tc_frame *frame, int *count);

/* The __call of the value at `self` is pushed, as a call of that value would find it now: another one than
 * before makes the entries of the object at `object` void. False (nil or what it is instead is pushed): that
 * is no function, and what is to be called is the value itself. */
bool tc_lua_push_method(lua_State *L, int object, int self);

/* --- choose.c --- */
/* 0: the entry's guards hold, and the values are filled; else the number of one that does not. */
int tc_lua_match(const struct compiled_entry *e, const struct tc_frame *frame, struct call_values *values);
/* The entry whose guards hold, which is now the first; NULL: none do. */
const struct compiled_entry *tc_lua_find_entry(struct compiled_object *o, const struct tc_frame *frame,
                                               struct call_values *values);
/* tb.check_guards(compiled, …): would a call with these arguments find what it needs compiled? Nothing runs,
 * nothing is compiled. */
int tc_lua_check_guards(lua_State *L);

/* --- entry.c --- */
/* Captures, compiles and keeps an entry for a call, the newest; NULL when the plain function is to be run
 * instead, which is noted. */
struct compiled_entry *tc_lua_new_entry(const struct tc_lua_call *call);
void tc_lua_give_up(struct compiled_object *o);
/* Captures a call that is to run plain, for what the next one will differ in. */
void tc_lua_capture_first(lua_State *L, struct compiled_object *o, const struct tc_frame *frame);

/* --- backends.c: tb.register_backend, tb.list_backends --- */
/* Pushes what was registered under the name; false (and nothing pushed) when nothing was. */
bool tc_lua_push_backend(lua_State *L, const char *name);
/* Pushes "eager, aot_eager, …": the backends that can be asked for. */
const char *tc_lua_backend_names(lua_State *L);
/* The name of the object's backend. */
const char *tc_lua_backend_name(const struct compiled_object *o);
/* A plug-in takes constant sizes alone: so does the object; raises where its options ask for others. */
void tc_lua_backend_dynamic(lua_State *L, int object, struct compiled_object *o);
/* Lets the registered backend of the object at `object` compile the graph of an entry, which runs it
 * operation by operation so far, with the tensors of the captured call; what it makes is kept among the
 * object's. TC_LUA: the backend failed. */
tc_status tc_lua_backend_compile(lua_State *L, int object, const struct tc_graph *graph,
                                 const struct call_values *values, struct compiled_entry *e,
                                 struct tc_error *err);
/* Runs it. outputs[]: tensor objects without storage, which are filled. False: the backend failed, and an
 * error is at the stack top. */
bool tc_lua_backend_run(lua_State *L, int object, const struct compiled_entry *e,
                        const struct call_values *values, struct tc_lua_object *const *outputs);
void tc_lua_open_backends(lua_State *L); /* functions of the module table at the stack top */

/* --- pieces.c --- */
/* What goes on behind the graph breaks of the object at an index: pushes it, made when it is not there. NULL:
 * it cannot be (err). */
const struct tc_resume *tc_lua_push_resume(lua_State *L, int object, struct tc_error *err);
/* The place of the step function for an instruction, among the pieces of the resume at an index. */
tc_status tc_lua_step(lua_State *L, int resume, int pc, int open, int *place, struct tc_error *err);
/* Pushes the function at a place of the object at an index, for a call of the function at `function`. */
void tc_lua_push_step(lua_State *L, int object, int place, int function);
/* --- callees.c --- */
/* The function at the stack top becomes one that calls it compiled, with the options of the object at `like`;
 * on the stack it leaves no trace. is_new: it is another closure in each call. A function of C stays, and so
 * does, with a note, code that is new in each call. */
void tc_lua_wrap(lua_State *L, int like, bool is_new);

/* --- pieces.c, again --- */
/* Visits the object at an index, what goes on behind its breaks, and the functions that those call compiled;
 * each lies at `piece`. What a visit leaves on the stack is taken off. */
typedef void (*tc_lua_visit)(lua_State *L, int piece, void *context);
void tc_lua_each_piece(lua_State *L, int object, tc_lua_visit visit, void *context);
void tc_lua_open_pieces(lua_State *L);

/* --- stance.c --- */
/* The name by which capture knows a function of stance.c; NULL. */
const char *tc_lua_stance_function(lua_CFunction function);
/* Does a function of tb.disable run, in this coroutine? */
bool tc_lua_is_disabled(lua_State *L);
void tc_lua_open_stance(lua_State *L); /* functions of the module table at the stack top */

/* --- dynamic.c --- */
int tc_lua_mark_dynamic(lua_State *L);

/* --- options.c --- */
/* Reads the options at an index into the object at `object`; raises for what it does not take. */
void tc_lua_read_options(lua_State *L, int options, int object, struct compiled_object *o);
void tc_lua_no_options(struct compiled_object *o); /* in its place, where none are given */
/* Pushes what a value is, for messages: "number 5", "string 'x'", "tensor", "table". */
const char *tc_lua_given(lua_State *L, int index);

/* --- results.c --- */
/* Pushes the results of a run whose outputs lie from `first_output` on, and carries out its writes. The stack
 * top is where they are pushed; what lies between may be anything. */
void tc_lua_push_results(lua_State *L, const struct compiled_entry *e, const struct tc_frame *frame,
                         int first_output);

/* --- capture_record.c: what is kept of a compile for those who ask --- */
void tc_lua_keep_capture_record(const struct compiled_object *o, struct tc_capture *capture,
                                struct compiled_entry *entry);
/* Keeps why an object is compiled again, and logs it. */
void tc_lua_note_recompile(struct compiled_object *o, const char *why);
/* Number of the root's break, from 1; 0: it is not there. */
int tc_lua_break_number(const struct compiled_object *o, const struct tc_break *b);

/* --- stats.c --- */
struct tc_lua_totals {
  int graphs, entries, guards, recompiles, ops;
  bool eager;
  struct tc_compile_report report;
  char artifact[TC_SHA256_HEX]; /* of several pieces: a hash over theirs */
};
/* Sums over the object at an index and what goes on behind its breaks. */
struct tc_lua_totals tc_lua_sum_up(lua_State *L, int object);
/* Pushes the table of tb.stats. */
void tc_lua_push_stats(lua_State *L, int object);
/* Pushes the table that tells of one launch. */
void tc_lua_push_launch(lua_State *L, const struct tc_launch_list *list, const struct tc_launch *launch);
void tc_lua_open_stats(lua_State *L);

/* --- explain.c, explain_table.c --- */
/* Where a piece stands in the program. The texts live as long as its function. */
struct tc_lua_where {
  const char *kind, *chunk;
  char file[LUA_IDSIZE];
  int line, last_line;
};
struct tc_lua_where tc_lua_where_is(lua_State *L, int piece);
/* Pushes what the buffer holds, as a string, and frees it. */
void tc_lua_push_buffer(lua_State *L, struct tc_strbuf *text);
/* Sets `pieces` and `stages` of the table at the stack top: graphs, guards, effects, launches of the object
 * at an index and all behind it. */
void tc_lua_set_pieces(lua_State *L, int object);
/* Functions of the module table at the stack top. */
void tc_lua_open_explain(lua_State *L);

/* --- debug.c: the folder of the switch `debug` --- */
struct tc_lua_debug;
/* Before a graph is compiled for an entry: makes its folder and writes what is known of it; NULL: none is
 * asked for, or it cannot be written (noted). `values` is room. */
struct tc_lua_debug *tc_lua_debug_begin(struct compiled_object *o, const struct compiled_entry *entry,
                                        const struct tc_frame *frame, const struct tc_graph *graph,
                                        struct call_values *values);
struct tc_compile_texts *tc_lua_debug_texts(struct tc_lua_debug *debug); /* NULL of NULL */
/* After it: writes the rest. NULL is fine. */
void tc_lua_debug_end(struct tc_lua_debug *debug, struct compiled_object *o,
                      const struct compiled_entry *entry);
/* debug_program.c, debug_inputs.c: the graph as Lua, appended. `inputs`: tensors of the call, or NULL where
 * they are not known. */
void tc_lua_debug_function(struct tc_strbuf *out, const struct tc_graph *graph,
                           const struct compiled_entry *entry);
void tc_lua_debug_inputs(struct tc_strbuf *out, const struct tc_graph *graph,
                         const struct tc_tensor *const *inputs);

#endif
