/* What pieces.c and callees.c share: the resume of a function, what goes on behind its breaks. */
#ifndef TC_LUA_PIECES_H
#define TC_LUA_PIECES_H

#include "lua/compile/compiled_object.h"

/* User values of a resume. Those from WRAPPERS on are one for all that has the same root, so that recursion
 * ends. */
enum {
  RESUME_FUNCTION = 1,
  RESUME_PLACES,
  RESUME_ROOT,
  RESUME_WRAPPERS,
  RESUME_CODES,
  RESUME_VALUES = RESUME_CODES
};

enum { STEP_RESUME = 1 }; /* the first user value of a step's userdata */

/* Gives back its arguments: what is called last where a call is finished. */
int tc_lua_give(lua_State *L);
/* The chunk becomes a function at the stack top, with upvalues of its own. */
tc_status tc_lua_load_chunk(lua_State *L, struct tc_strbuf *chunk, const char *name, struct tc_error *err);

/* --- callees.c --- */
/* Sets the tables of callees of the resume at the stack top, which belongs to the object at an index. */
void tc_lua_set_callees(lua_State *L, int object);
/* Visits the callees of the resume at an index: each object lies at the stack top, and what a visit leaves is
 * taken off. */
void tc_lua_each_callee(lua_State *L, int resume, tc_lua_visit visit, void *context);
/* Calls of functions that a step itself makes (tc_resume_hook): (called function, its first argument, a new
 * function) → that argument, or a function that runs it compiled, where the called one is pcall or xpcall.
 * The step is upvalue TC_LUA_EXTRA. */
int tc_lua_compile_argument(lua_State *L);
void tc_lua_open_callees(lua_State *L);

#endif
