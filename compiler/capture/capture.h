/* Capture: symbolic execution of a Lua function's bytecode (the technique of TorchDynamo).
 *
 * In: a Lua function and the arguments of one call. Out: a graph of tensor operations, guards on
 * whatever the trace used, and a recipe for the results; or the graph break that stopped it. Capture has
 * no effect that Lua code could see: nothing is executed, nothing written. It reads bytecode by lua_dump. */
#ifndef TC_CAPTURE_CAPTURE_H
#define TC_CAPTURE_CAPTURE_H

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
  char detail[256];  /* what exactly: "call of print", "tensor method item" */
  char source[64];   /* chunk name as Lua shortens it */
  int line;
  char stack[512];   /* the inlined Lua calls, innermost first: "file:line in function 'f'; …" */
};

/* How to rebuild a result after the graph ran. A tree; children lie in the same arena. */
enum tc_recipe_kind { TC_RECIPE_NIL, TC_RECIPE_BOOL, TC_RECIPE_INT, TC_RECIPE_NUM, TC_RECIPE_TEXT, TC_RECIPE_OUTPUT, TC_RECIPE_SOURCE, TC_RECIPE_TABLE };
struct tc_recipe {
  enum tc_recipe_kind kind;
  union {
    bool boolean;
    int64_t integer;
    double number;
    struct { const char *bytes; size_t length; } text;
    int output;            /* of the graph */
    int source;            /* of the guards: tc_guards_push_source */
    /* Built as the traced code did, so that next and # answer alike: with its sizes at construction, keys in the order of
     * insertion; a NIL value is a key that was removed. */
    struct { int count, array_hint, hash_hint; struct tc_recipe *keys, *values; int metatable_source; /* -1: none */ } table;
  };
};

struct tc_capture {
  struct tc_arena *arena;      /* graph and temporaries: freed by tc_capture_free unless taken (set to NULL) */
  struct tc_graph *graph;
  struct tc_guards *guards;    /* the caller takes it by setting this to NULL */
  struct tc_arena *recipes;    /* results live here; likewise */
  struct tc_recipe *results;
  int n_results;
  int n_ops;                   /* tensor operations captured, before decomposition */
  bool broke;
  struct tc_break break_;      /* when `broke` */
};

/* Captures the call that `frame` describes. TC_OK with out->broke when a graph break stopped it; another status
 * is a failure of the compiler itself. */
tc_status tc_capture_call(struct tc_context *ctx, const struct tc_host *host, const struct tc_frame *frame, struct tc_capture *out,
                          struct tc_error *err);
/* Makes what the captures of a state share (the first one would, otherwise). May raise a Lua error for memory. */
void tc_capture_prepare(lua_State *L);
void tc_capture_free(struct tc_capture *capture, lua_State *L);

#endif
