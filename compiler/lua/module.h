/* Inside of the Lua module: what its files share. tcompile.h is the public part.
 *
 * A tensor is a full userdata that holds a struct tc_lua_object; its storage reference is dropped by __gc,
 * which also clears the tag, so that a finalized object is no tensor any more. C functions of the module are
 * closures made by tc_lua_closure: upvalue 1 the function's own data, 2 the module, 3 the metatable of
 * tensors.
 *
 * Errors: functions here raise Lua errors (this is the Lua shim), unless they say otherwise; a raise leaks
 * nothing, since whatever is alive across a call that may raise belongs to a Lua object. Threads: that of the
 * Lua state. */
#ifndef TC_LUA_MODULE_H
#define TC_LUA_MODULE_H

#include <lauxlib.h>
#include <lua.h>

#include "base/reserve.h"
#include "guards/host.h"
#include "tcompile.h"

enum tc_lua_stance {
#define TC_STANCE(name, help) TC_LUA_STANCE_##name,
#include "lua/stances.def"
#undef TC_STANCE
  TC_LUA_STANCE_COUNT
};

struct tc_lua_module {
  struct tc_context ctx;     /* ctx.device is NULL before opening and after closing */
  struct tc_reserve reserve; /* ctx.alloc's */
  struct tc_host host;
  enum tc_lua_stance stance;
  int n_disabled;             /* calls of functions of tb.disable that are on the way, in all coroutines */
  tc_dtype default_dtype;     /* of creation functions and of float results of integers */
  int64_t gc_next;            /* live bytes that trigger the next collection */
  int gc_objects;             /* operations since the last collection */
  int64_t gc_full_live;       /* live bytes after the last full collection */
  uint64_t gc_young, gc_full; /* collections run for tensor memory */
};

struct tc_lua_object {
  const void *tag; /* &tc_lua_object_tag while the object is a tensor */
  struct tc_tensor tensor;
  uint32_t dynamic_dims; /* bit set of the dimensions that tb.mark_dynamic marked: of this object, not of what
                            is computed from it */
};
extern const char tc_lua_object_tag;

/* --- module.c --- */
/* The module of a state; NULL when tbench is not open, or closed with the state. */
struct tc_lua_module *tc_lua_find_module(lua_State *L);
/* As tc_lua_find_module; raises without one. */
struct tc_lua_module *tc_lua_module(lua_State *L);
/* Pushes a C closure with the three upvalues. `data` may be NULL. */
void tc_lua_closure(lua_State *L, lua_CFunction function, const void *data);
/* In a C closure of the module: its module (raises when it is closed) and its data. */
struct tc_lua_module *tc_lua_closure_module(lua_State *L);
static inline const void *tc_lua_closure_data(lua_State *L) { return lua_touserdata(L, lua_upvalueindex(1)); }
enum {
  TC_LUA_METATABLE = 3,
  TC_LUA_EXTRA = 4
}; /* upvalues: the metatable; the value of tc_lua_closure_over */
/* As tc_lua_closure, with the value at the stack top (popped) as upvalue 4. */
void tc_lua_closure_over(lua_State *L, lua_CFunction function, const void *data);
#define TC_LUA_NN_CHUNK "=tbench/nn.lua" /* chunk name of the module's own Lua code */
#define TC_LUA_SUITE    "tbench.suite"   /* registry name of the metatable that tb.suite sets */

/* --- tensor.c --- */
/* Pushes a tensor object without storage; whoever makes it fills ->tensor. `metatable` is a pseudo-index or
 * an absolute index. */
struct tc_lua_object *tc_lua_new_object(lua_State *L, int metatable);
/* Pushes the metatable of tensors. */
void tc_lua_push_metatable(lua_State *L);
/* The tensor itself where the host uses its memory, else a copy of it on the CPU, which is pushed. Reading it
 * element by element neither waits nor fails. */
const struct tc_tensor *tc_lua_on_host(lua_State *L, const struct tc_tensor *x, const char *name);
/* The tensor at an argument; raises "NAME: argument 1 is no tensor" otherwise. */
const struct tc_tensor *tc_lua_check_tensor(lua_State *L, int index, const char *name);
/* Adds methods and metamethods to the empty metatable at the stack top; keeps it there. */
void tc_lua_fill_metatable(lua_State *L);

/* --- values.c, print.c, inplace.c: entries of the method table at the stack top --- */
void tc_lua_open_values(lua_State *L);
void tc_lua_open_inplace(lua_State *L);
int tc_lua_tostring(lua_State *L); /* __tostring */

/* --- arguments.c --- */
enum { TC_LUA_MAX_POSITIONAL = 64, TC_LUA_ITEMS = 64 };
/* The arguments of one call of a tensor function; texts and tensors are borrowed from the Lua stack. */
struct tc_lua_more_items;
struct tc_lua_arguments {
  int n_positional, n_named, n_items;
  struct tc_arg positional[TC_LUA_MAX_POSITIONAL];
  struct tc_named_arg named[TC_MAX_ARGS];
  struct tc_arg items[TC_LUA_ITEMS]; /* of lists; n_items are used */
  struct tc_lua_more_items *more;    /* those of lists that did not fit */
};
struct tc_eager;
/* Stack 1 … n becomes arguments for `f` over the eager builder; a last table with text keys gives arguments
 * by name. Never raises. To be freed afterwards, also after a failure. */
tc_status tc_lua_read_arguments(lua_State *L, int n, struct tc_eager *e, const struct tc_function *f,
                                struct tc_lua_arguments *out, struct tc_error *err);
void tc_lua_free_items(const struct tc_alloc *alloc, struct tc_lua_more_items *more);
static inline void tc_lua_free_arguments(const struct tc_alloc *alloc, struct tc_lua_arguments *arguments) {
  if (__builtin_expect(arguments->more != NULL, 0)) tc_lua_free_items(alloc, arguments->more);
}

/* --- dispatch.c --- */
/* lua_CFunction of every tensor function; its data is a tc_function. */
int tc_lua_dispatch(lua_State *L);
int tc_lua_dispatch_unary(lua_State *L); /* of a unary operator, to which Lua passes its operand twice */
/* Pushes the closure of a tensor function. */
void tc_lua_push_function(lua_State *L, const struct tc_function *function);
/* Runs `function` on stack 1 … n and gives its one result to *result (a counted reference). Never raises. */
tc_status tc_lua_run_one(lua_State *L, struct tc_lua_module *m, const struct tc_function *function, int n,
                         struct tc_tensor *result, struct tc_error *err);
/* Raises "source:line: name: message" with the line of the innermost Lua function outside of this module. */
int tc_lua_raise(lua_State *L, const char *name, const struct tc_error *err);
/* Raises the text at the stack top, as an error of this status (see tc_lua_raised). */
int tc_lua_raise_top(lua_State *L, tc_status status);
int tc_lua_raise_text(lua_State *L, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* --- create.c --- */
/* Adds its functions to the module table at the stack top. */
void tc_lua_open_create(lua_State *L);
/* The name of one of them; NULL for other functions. */
const char *tc_lua_create_name(lua_CFunction function);

/* --- gc.c --- */
/* Chooses the collector's mode. */
void tc_lua_gc_open(lua_State *L, struct tc_lua_module *m);
/* A young collection, and a full one where those leave too much. */
void tc_lua_gc_collect(lua_State *L, struct tc_lua_module *m);
enum { TC_LUA_GC_OBJECTS = 256 };
/* To be called before an operation allocates: collects when the device holds too many bytes more than after
 * the last collection, or after so many operations. */
static inline void tc_lua_gc_pressure(lua_State *L, struct tc_lua_module *m) {
  const bool pressed = atomic_load_explicit(&m->ctx.device->bytes_live, memory_order_relaxed) > m->gc_next;
  if (__builtin_expect(pressed || ++m->gc_objects > TC_LUA_GC_OBJECTS, 0)) tc_lua_gc_collect(L, m);
}

/* --- host.c --- */
void tc_lua_fill_host(struct tc_host *host);

/* --- compile.c: tb.compile, tb.explain, tb.stats, … of the module table at the stack top --- */
void tc_lua_open_compile(lua_State *L);

/* Loads what a module's table (at an absolute index) gets late; false: it is none, or whole. Runs the
 * module's Lua code. */
bool tc_lua_load_late(lua_State *L, int index);

#endif
