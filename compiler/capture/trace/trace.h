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
  struct tc_hash_index by_pointer;
  TC_VEC(struct tc_tracked) records; /* of external objects, by pointer */
  TC_VEC(struct tc_identity) identities;
  struct tc_hash_index by_text;
  TC_VEC(struct tc_text *) texts;
  struct tc_hash_index by_pair;             /* pairs of sources that are guarded to differ */
  struct tc_tracked events[TC_EVENT_COUNT]; /* their fields as text */
  TC_VEC(struct tc_traced_table *) written; /* tables from outside, in the order of their first writes */
  TC_VEC(struct tc_cell *) cells;           /* variables from outside */
  TC_VEC(struct tc_tracked) made;           /* values of the replay's objects */
  TC_VEC(struct tc_factory) factories;
  struct tc_hash_index by_variable; /* the same by lua_upvalueid: several functions may share one */
  int n_graph_inputs;
  TC_VEC(struct tc_traced_size) sizes;        /* variables */
  TC_VEC(tc_sym) lazy_sizes;                  /* by source: the symbol that it is; invalid: none */
  TC_VEC(struct tc_lazy_scalar) lazy_scalars; /* sources that are inputs of the graph */
  struct tc_traced_table *string_metatable;
  bool default_dtype_guarded;
};

/* --- breaks.c: how a trace ends early --- */
tc_status tc_trace_break(struct tc_trace *t, enum tc_break_reason reason, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The code raises an error here: as a break, so that the eager run raises the true one. */
tc_status tc_trace_raises(struct tc_trace *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
tc_status tc_trace_nomem(struct tc_trace *t);
/* A value for messages: its path when it comes from outside ("model.forward"), else its type. */
void tc_describe(struct tc_trace *t, const struct tc_tracked *v, char *out, size_t bytes);

#endif
