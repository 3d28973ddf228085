/* Building a guard program, used by capture alone.
 *
 * Sources and facts are kept once: asking again for an equal one gives the old one. A field source has a table as its parent,
 * an upvalue source a function: the first is made sure by a TYPE fact that tc_guards_field adds, the second by the caller,
 * who pins functions (tc_guards_identity) before he looks into them.
 *
 * Errors: memory that is out makes a source TC_NO_SOURCE and sets a flag that tc_guards_seal reports; callers need not look in
 * between. Lua's own allocations may raise: call inside of lua_pcall. Stack indices are those of the state given. */
#ifndef TC_GUARDS_BUILD_H
#define TC_GUARDS_BUILD_H

#include "guards/guards.h"

enum tc_guard_kind {
#define TC_GUARD(NAME, text) TC_GUARD_##NAME,
#include "guards/guards.def"
#undef TC_GUARD
  TC_GUARD_KIND_COUNT
};

enum { TC_NO_SOURCE = -1 };

/* *out is freed with tc_guards_free, also after a failure elsewhere. `host` outlives the guards. */
tc_status tc_guards_new(const struct tc_alloc *alloc, const struct tc_host *host, lua_State *L, struct tc_guards **out, struct tc_error *err);

/* --- sources --- */
int tc_guards_function(struct tc_guards *g);                       /* the called function itself */
int tc_guards_arg(struct tc_guards *g, int number, const char *name); /* from 0; nil beyond the arguments of a call */
int tc_guards_upvalue(struct tc_guards *g, int parent, int number, const char *name); /* from 1 */
/* Field of `parent`, whose key lies at `index`: nil and NaN excepted, any value (objects are compared by identity). */
int tc_guards_field(struct tc_guards *g, lua_State *L, int parent, int index);
/* The object at `index` itself, which facts about `origin` pin. */
int tc_guards_object(struct tc_guards *g, lua_State *L, int index, int origin);

/* --- facts --- */
void tc_guards_type(struct tc_guards *g, int source, int type);                   /* LUA_T… */
void tc_guards_equal(struct tc_guards *g, lua_State *L, int source, int index);     /* nil, boolean, number (bits), string */
void tc_guards_identity(struct tc_guards *g, lua_State *L, int source, int index); /* the object at `index` */
void tc_guards_metatable(struct tc_guards *g, lua_State *L, int source, int index); /* index 0: it has none */
void tc_guards_length(struct tc_guards *g, int source, int64_t length);           /* raw */
/* The keys, in the order of next: a sequence of `count` at `index`. */
void tc_guards_keys(struct tc_guards *g, lua_State *L, int source, int index, int count);
void tc_guards_same(struct tc_guards *g, int source, int other);
void tc_guards_distinct(struct tc_guards *g, int source, int other);
void tc_guards_tensor(struct tc_guards *g, int source, const struct tc_tensor *tensor);
void tc_guards_args(struct tc_guards *g, int count);
void tc_guards_default_dtype(struct tc_guards *g, tc_dtype dtype);
/* Makes the tensor at `source` (with a TENSOR fact) the next graph input. */
void tc_guards_input(struct tc_guards *g, int source);

/* Ends the building: reserves the stack that a check needs. */
tc_status tc_guards_seal(struct tc_guards *g, struct tc_error *err);

/* "model.layers[1].weight", appended. */
void tc_guards_source_text(const struct tc_guards *g, int source, struct tc_strbuf *out);

#endif
