/* The Lua object behind what tb.compile returns: entries (guards, code, result recipe), newest use first, and
 * what the harness and explain report of it. Shared by compile.c, options.c, call.c, results.c, explain.c and host.c.
 *
 * tb.compile(function) returns a function over the object, so that it may stand wherever Lua wants a function; of a callable
 * table it returns the object itself, a userdata with __call. */
#ifndef TC_LUA_COMPILED_OBJECT_H
#define TC_LUA_COMPILED_OBJECT_H

#include "base/vec.h"
#include "capture/capture.h"
#include "lua/module.h"
#include "pipeline.h"

enum { OBJECT_FUNCTION = 1, OBJECT_SELF, OBJECT_TEXTS, OBJECT_VALUES = OBJECT_TEXTS }; /* user values */

struct compiled_entry {
  struct tc_guards *guards;
  struct tc_compiled *compiled;
  struct tc_arena *recipes;
  struct tc_recipe *results;
  int n_results;
};

struct fallback_note { char text[256]; };

struct compiled_object {
  const void *tag;
  struct tc_lua_module *module;
  enum tc_backend backend;
  bool fullgraph, has_self;
  bool eager;                 /* runs the plain function from now on: a break, a limit, or a failed compile */
  struct tc_config config;
  TC_VEC(struct compiled_entry) entries;
  TC_VEC(struct compiled_entry) retired; /* dropped while a call was running; freed by the next reset without one */
  int running;                /* calls on the way, nested ones too */
  int failures;               /* calls that could not be compiled */
  TC_VEC(struct tc_break) breaks;
  TC_VEC(struct fallback_note) fallbacks;
  int recompiles, captured_ops;
  struct tc_compile_report report; /* of the newest compile */
  double entry_to_kernel_ns;       /* of the newest compile: from entering the call until its first kernel may start; 0: none */
};

/* The object at an index, or of the function there that stands for one; NULL if it is none. */
struct compiled_object *tc_lua_compiled_at(lua_State *L, int index);
/* Pushes the function that the compiled object at an index compiles, and its first argument (nil without one). */
void tc_lua_compiled_parts(lua_State *L, int index);
/* __call of the object: a closure of the module (tc_lua_closure). */
int tc_lua_compiled_call(lua_State *L);
/* The same as a function, over the object (tc_lua_closure_over). */
int tc_lua_compiled_function(lua_State *L);
/* Drops entries and what was learnt; caches stay. */
void tc_lua_compiled_reset(lua_State *L, struct compiled_object *o);
void tc_lua_compiled_free_entry(lua_State *L, struct compiled_entry *entry);
void tc_lua_note_fallback(struct compiled_object *o, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Makes the object for (function, options): options at `options_index`, or 0 for none. Pushes it. */
struct compiled_object *tc_lua_compiled_new(lua_State *L, int function_index, int options_index);

/* --- options.c --- */
/* Reads the options at an index into the object at `object`; raises for what it does not take. */
void tc_lua_read_options(lua_State *L, int options, int object, struct compiled_object *o);
/* Pushes what a value is, for messages: "number 5", "string 'x'", "tensor", "table". */
const char *tc_lua_given(lua_State *L, int index);

/* --- results.c --- */
/* Pushes the results of a run whose outputs lie from `first_output` on. */
void tc_lua_push_results(lua_State *L, const struct compiled_entry *e, const struct tc_frame *frame, int first_output);

/* explain.c: functions of the module table at the stack top. */
void tc_lua_open_explain(lua_State *L);

#endif
