/* The tracer: symbolic execution of Lua frames. Internal to capture/.
 *
 * Functions return TC_OK; TC_BREAK when a graph break ended the trace (t->out->break_ says why), or when the
 * traced code raised an error that it catches itself (t->raising); or the compiler's own failure. Registers
 * of all frames lie in one stack that moves when it grows: hold slots (size_t), not pointers, across calls
 * that may run traced code. Whoever decides anything by a scalar calls tc_use on it first; whoever only moves
 * it does not.
 *
 * All runs inside of one lua_pcall, so Lua may raise (out of memory) anywhere: everything that must be freed
 * hangs on the trace or on its capture. */
#ifndef TC_CAPTURE_TRACE_H
#define TC_CAPTURE_TRACE_H

#include "capture/capture.h"
#include "capture/trace/value.h"

enum tc_event {
#define TC_EVENT(NAME, field) TC_EVENT_##NAME,
#include "capture/trace/events.def"
#undef TC_EVENT
  TC_EVENT_COUNT
};
const char *tc_event_field(enum tc_event event); /* "__add" */

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

struct tc_identity {
  const void *pointer;
  int type;
};

/* Source of the function that makes closures of the proto. */
struct tc_factory {
  const struct tc_proto *proto;
  int source;
};
/* A size variable: its value in the captured call, and where it is found (dim -1: the number at the
 * source). */
struct tc_traced_size {
  int64_t value;
  int source, dim;
};
struct tc_lazy_scalar {
  int source;
  struct tc_node *node;
};

struct tc_trace {
  struct tc_context *ctx;
  const struct tc_host *host;
  lua_State *L;
  struct tc_frame frame; /* the call, as it lies on the stack of the protected call */
  const struct tc_capture_options *options;
  struct tc_capture *out;
  struct tc_error *err;
  struct tc_place place,
      cut;    /* in the captured function itself: where it stands, and the last place where it may be cut */
  int callee; /* there: register of the Lua function that the instruction is to call; -1: none */
  bool callee_is_new;           /* … which the captured code made */
  bool stopped;                 /* at options->stop */
  struct tc_snapshot *snapshot; /* before the last call of its own frame (snapshot.c); NULL: none */
  struct tc_arena *arena;       /* out's */
  struct tc_guards *guards;     /* out's */
  struct tc_graph_builder builder;
  struct tc_builder_methods methods;              /* of `builder`: layout.c */
  const struct tc_builder_methods *graph_methods; /* below them */

  struct tc_tracked *slots; /* the register stack */
  size_t n_slots, limit;    /* allocated; first free slot above what runs */
  struct tc_activation *activation;
  int depth, turns;
  int allowed;                   /* calls of functions of tb.allow_in_graph that are on the way */
  int n_protections, in_handler; /* protected calls and message handlers that run */
  bool raising; /* an error is on its way to the protected call that catches it (library_protect.c) */
  struct tc_tracked raised; /* its value */

  int objects, n_objects; /* stack index of a Lua table of the external objects, and their number */
  struct tc_slots by_pointer;
  TC_VEC(struct tc_tracked) records; /* of external objects, by pointer */
  TC_VEC(struct tc_identity) identities;
  struct tc_slots by_text;
  TC_VEC(struct tc_text *) texts;
  struct tc_slots by_pair;                  /* pairs of sources that are guarded to differ */
  struct tc_tracked events[TC_EVENT_COUNT]; /* their fields as text */
  TC_VEC(struct tc_traced_table *) written; /* tables from outside, in the order of their first writes */
  TC_VEC(struct tc_cell *) cells;           /* variables from outside */
  TC_VEC(struct tc_tracked) made;           /* values of the replay's objects */
  TC_VEC(struct tc_factory) factories;
  struct tc_slots by_variable; /* the same by lua_upvalueid: several functions may share one */
  int n_graph_inputs;
  TC_VEC(struct tc_traced_size) sizes;        /* variables */
  TC_VEC(tc_sym) lazy_sizes;                  /* by source: the symbol that it is; invalid: none */
  TC_VEC(struct tc_lazy_scalar) lazy_scalars; /* sources that are inputs of the graph */
  struct tc_traced_table *string_metatable;
  bool default_dtype_guarded;
};

/* --- breaks.c --- */
tc_status tc_trace_break(struct tc_trace *t, enum tc_break_reason reason, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The code raises an error here: as a break, so that the eager run raises the true one. */
tc_status tc_trace_raises(struct tc_trace *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
tc_status tc_trace_nomem(struct tc_trace *t);
/* A value for messages: its path when it comes from outside ("model.forward"), else its type. */
void tc_describe(struct tc_trace *t, const struct tc_tracked *v, char *out, size_t bytes);

/* --- values.c --- */
tc_status tc_text_of(struct tc_trace *t, const char *bytes, size_t length, struct tc_tracked *out);
/* Pushes a scalar, or the object of an external record. False for fresh records: nothing is pushed. */
bool tc_push(struct tc_trace *t, const struct tc_tracked *v);
/* The scalar at the stack top, popped; false (and left there) when it is none. */
tc_status tc_pop_scalar(struct tc_trace *t, bool *is_scalar, struct tc_tracked *out);
/* Guards what is asked of the value: its all, its type, or its truth. */
tc_status tc_use(struct tc_trace *t, struct tc_tracked *v);
void tc_use_type(struct tc_trace *t, const struct tc_tracked *v);
tc_status tc_truth(struct tc_trace *t, struct tc_tracked *v, bool *truth);
/* Raw equality; guards both. */
tc_status tc_raw_equal(struct tc_trace *t, struct tc_tracked *a, struct tc_tracked *b, bool *equal);

/* A guard that the two, which are not the same, stay so; one a pair. Both are from outside. */
tc_status tc_guard_distinct(struct tc_trace *t, const struct tc_origin *a, const struct tc_origin *b);

/* --- externals.c --- */
/* Takes the value at the top of the Lua stack (popped), which was read from `source`. */
tc_status tc_import(struct tc_trace *t, int source, struct tc_tracked *out);
/* The object at the stack top (popped), which facts hold to be this one; `origin` says where it was found. */
tc_status tc_import_pinned(struct tc_trace *t, int origin, struct tc_tracked *out);
/* Guards that the record's object is this very one. Fresh records need nothing. */
void tc_pin(struct tc_trace *t, const struct tc_tracked *v);
tc_status tc_cell_get(struct tc_trace *t, struct tc_cell *cell, struct tc_tracked *out);
tc_status tc_cell_set(struct tc_trace *t, struct tc_cell *cell, const struct tc_tracked *value);
/* A guard that the variables of two cells from outside stay two. */
void tc_guard_other_variable(struct tc_trace *t, const struct tc_cell *a, const struct tc_cell *b);
/* Decodes the function when that was not done, and pins it, or guards its code. */
tc_status tc_closure_prepare(struct tc_trace *t, struct tc_traced_closure *closure);
/* The graph's node for a tensor; one from outside becomes an input. */
tc_status tc_tensor_node(struct tc_trace *t, struct tc_traced_tensor *tensor, struct tc_node **out);
tc_status tc_new_tensor(struct tc_trace *t, struct tc_node *node, struct tc_tracked *out);
/* A native of the tracer's own; one record a (function, library) pair. */
tc_status tc_new_native(struct tc_trace *t, const struct tc_function *function, tc_library_fn library,
                        const char *name, struct tc_tracked *out);

/* --- table_keys.c --- */
/* A key that is about to be looked up: fixed by guards; floats with an integer value become that integer.
 * Where it is written to a table from outside (is_write), a lazy number may stay one. Guards tell it from
 * lazy keys of the table, or to be one of them. */
tc_status tc_table_prepare_key(struct tc_trace *t, struct tc_traced_table *table, bool is_write,
                               struct tc_tracked *key);
/* The table's lazy keys are fixed: for whoever asks for a length or an order. */
tc_status tc_table_fix_keys(struct tc_trace *t, struct tc_traced_table *table);
/* Could a later call have the key, of another table, among what is known of this one? */
bool tc_table_may_have(const struct tc_traced_table *table, const struct tc_tracked *key);

/* --- tables.c, table_order.c: raw accesses --- */
tc_status tc_new_table(struct tc_trace *t, int array_hint, int hash_hint, struct tc_tracked *out);
tc_status tc_table_get(struct tc_trace *t, struct tc_traced_table *table, struct tc_tracked key,
                       struct tc_tracked *out);
/* External tables are written after the graph ran (effects.c); until then the record alone shows it. */
tc_status tc_table_set(struct tc_trace *t, struct tc_traced_table *table, struct tc_tracked key,
                       const struct tc_tracked *value);
tc_status tc_table_set_index(struct tc_trace *t, struct tc_traced_table *table, lua_Integer key,
                             const struct tc_tracked *value);
tc_status tc_table_length(struct tc_trace *t, struct tc_traced_table *table, lua_Integer *length);
/* The same, which nothing depends on yet: of a table from outside it is a scalar with a source. */
tc_status tc_table_open_length(struct tc_trace *t, struct tc_traced_table *table, struct tc_tracked *out);
/* The key after `key` (nil: the first) in the order of next, and its value; nil at the end. */
tc_status tc_table_next(struct tc_trace *t, struct tc_traced_table *table, struct tc_tracked key,
                        struct tc_tracked *next, struct tc_tracked *value);
/* Has it a key that is a string? */
tc_status tc_table_has_names(struct tc_trace *t, struct tc_traced_table *table, bool *has);
/* The constructor's list ends at `last`, with open results. */
tc_status tc_table_open_list(struct tc_trace *t, struct tc_traced_table *table, lua_Integer last);
/* Fixes a key by guards; floats with an integer value become that integer. */
tc_status tc_table_key(struct tc_trace *t, struct tc_tracked *key);
/* The entry of such a key, NULL when nothing is known of it. */
struct tc_table_entry *tc_table_find(const struct tc_traced_table *table, const struct tc_tracked *key);
/* Keeps the border after a key came in, or went. */
void tc_table_follow_border(struct tc_traced_table *table, const struct tc_tracked *key, bool present);
/* NULL: none. It may have neither __gc nor __mode. */
tc_status tc_table_set_metatable(struct tc_trace *t, struct tc_traced_table *table,
                                 struct tc_traced_table *metatable);
/* *out NULL: none. */
tc_status tc_table_metatable(struct tc_trace *t, struct tc_traced_table *table, struct tc_traced_table **out);

/* --- index.c: accesses with metamethods --- */
/* nil when there is none. */
tc_status tc_metamethod(struct tc_trace *t, const struct tc_tracked *v, enum tc_event event,
                        struct tc_tracked *out);
/* Guarded: debug.setmetatable may change it. *out NULL: strings have none. */
tc_status tc_string_metatable(struct tc_trace *t, struct tc_traced_table **out);
tc_status tc_index(struct tc_trace *t, const struct tc_tracked *object, struct tc_tracked key,
                   struct tc_tracked *out);
tc_status tc_set_index(struct tc_trace *t, const struct tc_tracked *object, struct tc_tracked key,
                       const struct tc_tracked *value);
tc_status tc_length(struct tc_trace *t, const struct tc_tracked *v, struct tc_tracked *out);

/* --- lazy.c --- */
bool tc_is_lazy(const struct tc_trace *t, const struct tc_tracked *v);
/* Of a scalar that was just read from its source: is it one that changes? */
void tc_lazy_import(struct tc_trace *t, const struct tc_tracked *v);
/* `result` was computed from numbers by a LUA_OP… or a function (unary ones look at `a` alone): it stays an
 * expression where an operand is lazy; else both are fixed. */
tc_status tc_lazy_arith(struct tc_trace *t, int op, struct tc_tracked *a, struct tc_tracked *b,
                        struct tc_tracked *result);
/* The outcome of a comparison (TC_GUARD_OP_…) is guarded, or both operands are fixed. */
tc_status tc_lazy_compare(struct tc_trace *t, int op, struct tc_tracked *a, struct tc_tracked *b,
                          bool outcome);

/* --- shapes.c --- */
/* Sizes and strides of a tensor from outside, guarded. */
tc_status tc_shape_of(struct tc_trace *t, struct tc_traced_tensor *x, const struct tc_traced_shape **out);
/* A size as a number of Lua; the symbol of such a number (false: it is none). */
tc_status tc_int_of_sym(struct tc_trace *t, tc_sym s, struct tc_tracked *out);
bool tc_sym_of_int(const struct tc_trace *t, const struct tc_tracked *v, tc_sym *out);
/* An integer as a size: a lazy one becomes a size variable. INVALID: it does not (and is fixed now). */
tc_status tc_size_of_int(struct tc_trace *t, struct tc_tracked *v, tc_sym *out);
/* What a lazy number is as a symbol: kept; or found, for the result of an operator on two that have one. */
tc_status tc_lazy_remember(struct tc_trace *t, int source, tc_sym s);
tc_status tc_lazy_symbol(struct tc_trace *t, int op, const struct tc_tracked *a, const struct tc_tracked *b,
                         const struct tc_tracked *result);
/* Decisions on sizes become guards. */
void tc_shapes_seal(struct tc_trace *t);

/* --- arithmetic.c --- */
/* Numbers as Lua computes them; *done is false when an operand does not fit the operator. */
tc_status tc_arith(struct tc_trace *t, enum tc_event event, const struct tc_tracked *a,
                   const struct tc_tracked *b, struct tc_tracked *out, bool *done);
tc_status tc_arith_meta(struct tc_trace *t, enum tc_event event, struct tc_tracked *a, struct tc_tracked *b,
                        struct tc_tracked *out);
tc_status tc_equal(struct tc_trace *t, struct tc_tracked *a, struct tc_tracked *b, bool *equal);
tc_status tc_less(struct tc_trace *t, enum tc_event event, struct tc_tracked *a, struct tc_tracked *b,
                  bool *less); /* LT or LE */
tc_status tc_concat(struct tc_trace *t, struct tc_tracked *a, struct tc_tracked *b, struct tc_tracked *out);

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
void tc_close_cells(struct tc_trace *t, struct tc_activation *a, size_t from);

/* --- place.c --- */
/* Before each instruction of the captured function's own frame: counts it; stops the frame, or breaks, where
 * the options say. */
tc_status tc_trace_step(struct tc_trace *t, struct tc_activation *a);
/* Inside of a call that the captured function makes: register of the Lua function that is called; -1. */
int tc_trace_callee(const struct tc_trace *t);

/* --- snapshot.c --- */
/* Copies the state of side effects at the place where the captured function stands. */
tc_status tc_snapshot_take(struct tc_trace *t);
/* Puts back the state at this place, if it was copied here. */
void tc_snapshot_restore(struct tc_trace *t);
void tc_snapshot_free(struct tc_trace *t);

/* --- execute.c --- */
tc_status tc_execute(struct tc_trace *t, struct tc_activation *a);
#define TC_OPCODE(NAME, format, operands, handler)                                                           \
  tc_status tc_do_##handler(struct tc_trace *t, struct tc_activation *a, uint32_t code);
#include "capture/bytecode/opcodes.def"
#undef TC_OPCODE
tc_status tc_constant(struct tc_trace *t, const struct tc_activation *a, int number, struct tc_tracked *out);
static inline struct tc_tracked *tc_register(struct tc_trace *t, const struct tc_activation *a, int number) {
  return &t->slots[a->base + (size_t)number];
}

/* Writes register A of an instruction. */
static inline void tc_set_register(struct tc_trace *t, const struct tc_activation *a, uint32_t code,
                                   struct tc_tracked value) {
  *tc_register(t, a, tc_code_a(code)) = value;
}

/* --- tensors.c, members.c --- */
/* Nodes that are added from now on stand at the line of the running instruction. */
void tc_mark_line(struct tc_trace *t);
/* One more operation of the graph; breaks where they pass the limit. */
tc_status tc_count_operation(struct tc_trace *t);
void tc_guard_default_dtype(struct tc_trace *t);
/* A lazy number as an input of the graph, without dimensions: once each. NULL: there are too many. */
tc_status tc_scalar_node(struct tc_trace *t, const struct tc_tracked *v, struct tc_node **out);
/* --- lazy_tensor.c --- */
/* Is it a number, or a short list of numbers, of which one is lazy? *integers: all of them are integers. */
tc_status tc_lazy_data(struct tc_trace *t, struct tc_tracked data, bool *lazy, bool *integers);
/* tb.tensor of such data. */
tc_status tc_lazy_tensor(struct tc_trace *t, struct tc_tracked data, tc_dtype dtype, struct tc_value **out);
tc_status tc_call_function(struct tc_trace *t, const struct tc_function *function, size_t at, int n_args,
                           int *n_results);
tc_status tc_tensor_index(struct tc_trace *t, struct tc_traced_tensor *tensor, struct tc_tracked *key,
                          struct tc_tracked *out);
tc_status tc_tensor_length(struct tc_trace *t, struct tc_traced_tensor *tensor, struct tc_tracked *out);

/* --- layout.c --- */
/* Makes the builder over out's graph. */
void tc_trace_open_builder(struct tc_trace *t);
/* Strides that the eager value has. */
tc_status tc_strides_of(struct tc_trace *t, struct tc_traced_tensor *x, tc_sym strides[TC_MAX_DIMS]);
tc_status tc_is_laid_out(struct tc_trace *t, struct tc_traced_tensor *x, bool *contiguous);

/* --- library.c --- */
/* The known function behind the C function at an index of the Lua stack, by identity; NULL. */
tc_library_fn tc_library_find(struct tc_trace *t, int index, const char **name);

/* Whether it is pcall or xpcall. */
bool tc_library_is_protected(tc_library_fn library);
/* Pushes the known function of Lua's library, as a fresh state has it. */
bool tc_library_push(struct tc_trace *t, const char *table, const char *name);

/* --- library_string.c --- */
/* The source of a function that makes an iterator of gmatch, as far as this one is. */
int tc_iterator_factory(struct tc_trace *t, const struct tc_traced_native *native);

/* --- results.c --- */
/* Makes the replay: `count` results from slot `at` on, new objects, and writes. Registers that cells share
 * count as closed. */
tc_status tc_make_results(struct tc_trace *t, size_t at, int count);
/* How to make the value again. A new object gets its number; its parts are added at the end of
 * tc_make_results. */
tc_status tc_make_recipe(struct tc_trace *t, struct tc_tracked value, struct tc_recipe *out);
/* The number in the replay of an object from outside that is written; *number is the record's own. */
tc_status tc_make_target(struct tc_trace *t, const struct tc_tracked *value, int *number);
/* Adds the writes that make the table what it is, or (external) that the traced code made. */
tc_status tc_make_metatable(struct tc_trace *t, const struct tc_traced_table *table, bool is_effect);
tc_status tc_make_fields(struct tc_trace *t, const struct tc_traced_table *table, bool is_effect);
tc_status tc_add_write(struct tc_trace *t, const struct tc_write *write, bool is_effect);

/* --- effects.c --- */
/* The writes to what is outside, and guards against other aliases. */
tc_status tc_make_effects(struct tc_trace *t);

/* --- closure_factories.c --- */
/* A function, as a source, that makes a new closure of the proto, with variables of its own, at each call. */
tc_status tc_closure_factory(struct tc_trace *t, const struct tc_proto *proto, int *source);

#endif
