/* Functions that are called compiled behind graph breaks: those that the breaking instruction calls, and
 * arguments of protected calls.
 *
 * 1. A function that lasts gets a compiled object of its own, once for all pieces of a root, so that
 *    recursion ends.
 * 2. A closure that the captured code makes in the call, or of whose code there were several, shares one
 *    object with all closures of that code: its entries read the upvalues of the closure that is called, and
 *    its steps and pieces are made for each call (pieces.c). Functions have the same code if lua_dump gives
 *    the same bytes for both.
 * 3. A module, or another value with a __call, is like a function that lasts; its object passes it as the
 *    first argument.
 * 4. What calls a function compiled stands in its place for that call alone, where no other code sees it, and
 *    leaves no trace on the stack. */
#include <string.h>

#include "lua/compile/pieces.h"

static const char trampolines_key = 't';

/* Functions of the table of trampolines: (what enters) → a function that calls one function compiled, and → a
 * function that gives such a function for each closure. */
enum { TRAMPOLINE_OF_ONE = 1, TRAMPOLINE_OF_CODE };
enum { TRAMPOLINE_ENTER = 2 }; /* upvalue of what they give */
static const char trampolines[] =
    "local function go(f, ...) return f(...) end\n"
    "return { function(enter) return function(...) return go(enter(...)) end end,\n"
    "  function(enter) return function(closure) return function(...) return go(enter(closure, ...)) end end "
    "end }\n";

enum { FIRST_OF_CODE = 3 }; /* functions of one code that get objects of their own before they share one */
enum {
  WRAPPED_A_LIMIT = 8
}; /* functions that one object calls compiled, for each compile that it may make (recompile_limit) */

/* --- tables --- */

void tc_lua_set_callees(lua_State *L, int object) {
  const int resume = lua_gettop(L);
  if (lua_getiuservalue(L, object, OBJECT_ROOT) == LUA_TUSERDATA &&
      lua_getiuservalue(L, -1, OBJECT_RESUME) == LUA_TUSERDATA) {
    lua_getiuservalue(L, -1, RESUME_WRAPPERS);
    lua_setiuservalue(L, resume, RESUME_WRAPPERS);
    lua_getiuservalue(L, -1, RESUME_CODES);
    lua_setiuservalue(L, resume, RESUME_CODES);
  } else {
    tc_lua_push_weak_table(L); /* an ephemeron: the value holds its key */
    lua_setiuservalue(L, resume, RESUME_WRAPPERS);
    lua_newtable(L);
    lua_setiuservalue(L, resume, RESUME_CODES);
  }
  lua_settop(L, resume);
}

/* --- calls --- */

/* Enters the object at the stack top. */
static int enter_object(lua_State *L, const struct tc_frame *frame) {
  int count;
  if (tc_lua_advance(L, lua_gettop(L), frame, &count) == TC_LUA_FINISHED) {
    lua_pushcfunction(L, tc_lua_give);
    lua_insert(L, -1 - count);
  }
  return count + 1;
}

/* (arguments) → a function and its arguments; the object is upvalue TC_LUA_EXTRA. */
static int enter(lua_State *L) {
  const int n_args = lua_gettop(L);
  luaL_checkstack(L, LUA_MINSTACK, "arguments");
  lua_getiuservalue(L, lua_upvalueindex(TC_LUA_EXTRA), OBJECT_FUNCTION);
  lua_pushvalue(L, lua_upvalueindex(TC_LUA_EXTRA));
  return enter_object(L,
                      &(struct tc_frame){.L = L, .function = n_args + 1, .first_arg = 1, .n_args = n_args});
}

/* (arguments) of a value with a __call, which the object knows → the same. */
static int enter_callable(lua_State *L) {
  const int object = lua_upvalueindex(TC_LUA_EXTRA);
  luaL_checkstack(L, LUA_MINSTACK, "arguments");
  lua_getiuservalue(L, object, OBJECT_SELF);
  lua_insert(L, 1);
  const int n_args = lua_gettop(L);
  if (!tc_lua_push_method(L, object, 1)) {
    lua_settop(L, n_args);
    return n_args;
  }
  lua_pushvalue(L, object);
  return enter_object(L,
                      &(struct tc_frame){.L = L, .function = n_args + 1, .first_arg = 1, .n_args = n_args});
}

/* (closure, arguments) → the same. */
static int enter_closure(lua_State *L) {
  const int n_args = lua_gettop(L) - 1;
  luaL_checkstack(L, LUA_MINSTACK, "arguments");
  lua_pushvalue(L, lua_upvalueindex(TC_LUA_EXTRA));
  return enter_object(L, &(struct tc_frame){.L = L, .function = 1, .first_arg = 2, .n_args = n_args});
}

/* The object at the stack top becomes what a trampoline gives over it. */
static void give_trampoline(lua_State *L, int which, lua_CFunction function) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &trampolines_key);
  lua_rawgeti(L, -1, which);
  lua_replace(L, -2);
  lua_insert(L, -2);
  tc_lua_closure_over(L, function, NULL);
  lua_call(L, 1, 1);
}

/* --- objects --- */

/* Does the object at `like` go on calling new functions compiled? Code that is made in each call would be
 * compiled in each. */
static bool may_wrap(lua_State *L, int like, int function) {
  struct compiled_object *o = lua_touserdata(L, like);
  lua_Debug what;
  if (o->n_wrapped < 0) return false;
  if (o->n_wrapped / WRAPPED_A_LIMIT < o->config.recompile_limit) {
    o->n_wrapped++;
    return true;
  }
  o->n_wrapped = -1;
  lua_pushvalue(L, function);
  lua_getinfo(L, ">S", &what);
  tc_lua_note_fallback(o,
                       "%s:%d: behind a graph break another function is called in each call; it runs eagerly",
                       what.short_src, what.linedefined);
  return false;
}

/* Pushes a closure of the code of the function at an index, with variables of its own, which nobody calls: so
 * that nothing is kept alive. */
static tc_status push_blank(lua_State *L, int function, const struct tc_alloc *alloc) {
  struct tc_arena *arena = tc_arena_new(alloc);
  struct tc_error err = {.message = ""};
  struct tc_strbuf chunk;
  struct tc_proto *proto;
  if (!arena) return TC_NOMEM;
  tc_strbuf_init(&chunk, tc_arena_alloc(arena));
  lua_pushvalue(L, function);
  tc_status status = tc_bytecode_of_function(arena, L, &proto, &err);
  lua_pop(L, 1);
  if (!status) status = tc_bytecode_factory(arena, proto, &chunk, &err);
  if (!status) status = tc_lua_load_chunk(L, &chunk, "=maker", &err);
  tc_arena_free(arena);
  if (!status) lua_call(L, 0, 1);
  return status;
}

/* Pushes what gives functions that call closures of the function's code compiled. False: it cannot be
 * made. */
static bool push_code_wrapper(lua_State *L, int function, int like) {
  const struct compiled_object *o = lua_touserdata(L, like);
  if (push_blank(L, function, o->module->ctx.alloc)) return false;
  struct compiled_object *made = tc_lua_compiled_like(L, -1, like);
  made->by_code = true;
  give_trampoline(L, TRAMPOLINE_OF_CODE, enter_closure);
  return true;
}

struct code {
  char *bytes;
  size_t length;
};

static int count_bytes(lua_State *L, const void *bytes, size_t count, void *data) {
  struct code *code = data;
  (void)L;
  (void)bytes;
  code->length += count;
  return 0;
}

static int add_bytes(lua_State *L, const void *bytes, size_t count, void *data) {
  struct code *code = data;
  (void)L;
  memcpy(code->bytes + code->length, bytes, count);
  code->length += count;
  return 0;
}

/* Pushes the code of the function at an index. The room for it is Lua's, which may raise. */
static void push_code(lua_State *L, int function) {
  struct code code = {.bytes = NULL};
  lua_pushvalue(L, function);
  lua_dump(L, count_bytes, &code, 0);
  code.bytes = lua_newuserdatauv(L, code.length, 0);
  code.length = 0;
  lua_insert(L, -2);
  lua_dump(L, add_bytes, &code, 0);
  lua_pop(L, 1);
  lua_pushlstring(L, code.bytes, code.length);
  lua_remove(L, -2);
}

/* Pushes what calls the function compiled; false (and anything pushed): it is to run plain. */
static bool push_wrapper(lua_State *L, int resume, int like, int function, bool is_new) {
  lua_getiuservalue(L, resume, RESUME_CODES);
  const int codes = lua_gettop(L), code = codes + 1;
  push_code(L, function);
  lua_pushvalue(L, code);
  const int known = lua_rawget(L, codes);
  const lua_Integer seen = known == LUA_TNUMBER ? lua_tointeger(L, -1) : 0;
  if (known != LUA_TFUNCTION) {
    if (!may_wrap(L, like, function)) return false;
    if (!is_new && seen < FIRST_OF_CODE) {
      lua_pushvalue(L, code);
      lua_pushinteger(L, seen + 1);
      lua_rawset(L, codes);
      tc_lua_compiled_like(L, function, like);
      give_trampoline(L, TRAMPOLINE_OF_ONE, enter);
      return true;
    }
    if (!push_code_wrapper(L, function, like)) return false;
    lua_pushvalue(L, code);
    lua_pushvalue(L, -2);
    lua_rawset(L, codes);
  }
  lua_pushvalue(L, function);
  lua_call(L, 1, 1);
  return true;
}

static bool is_lua_function(lua_State *L, int index) {
  return lua_isfunction(L, index) && !lua_iscfunction(L, index);
}

/* The same of a value with a __call, which is a Lua function. */
static bool push_callable_wrapper(lua_State *L, int like, int callable) {
  luaL_getmetafield(L, callable, "__call");
  if (!may_wrap(L, like, lua_gettop(L))) return false;
  struct compiled_object *made = tc_lua_compiled_like(L, -1, like);
  made->has_self = true;
  lua_pushvalue(L, callable);
  lua_setiuservalue(L, -2, OBJECT_SELF);
  give_trampoline(L, TRAMPOLINE_OF_ONE, enter_callable);
  return true;
}

/* The value at the stack top, a Lua function or what has one as __call, becomes a function that calls it
 * compiled. */
static void wrap(lua_State *L, int resume, int like, bool is_new) {
  const int callee = lua_gettop(L);
  luaL_checkstack(L, LUA_MINSTACK, "graph break");
  lua_getiuservalue(L, resume, RESUME_WRAPPERS);
  const int wrappers = lua_gettop(L);
  lua_pushvalue(L, callee);
  if (lua_rawget(L, wrappers) == LUA_TNIL) {
    const bool made = lua_isfunction(L, callee) ? push_wrapper(L, resume, like, callee, is_new)
                                                : push_callable_wrapper(L, like, callee);
    if (!made) {
      lua_settop(L, callee);
      return;
    }
    if (!is_new) {
      lua_pushvalue(L, callee);
      lua_pushvalue(L, -2);
      lua_rawset(L, wrappers);
    }
  }
  lua_replace(L, callee);
  lua_settop(L, callee);
}

/* Is the value at the stack top called by running a Lua function? */
static bool calls_lua(lua_State *L) {
  if (lua_isfunction(L, -1) || luaL_getmetafield(L, -1, "__call") == LUA_TNIL) return is_lua_function(L, -1);
  const bool does = is_lua_function(L, -1);
  lua_pop(L, 1);
  return does;
}

void tc_lua_wrap(lua_State *L, int like, bool is_new) {
  const int callee = lua_gettop(L);
  luaL_checkstack(L, LUA_MINSTACK, "graph break");
  if (!calls_lua(L)) return;
  lua_getiuservalue(L, like, OBJECT_RESUME);
  lua_insert(L, callee);
  wrap(L, callee, like, is_new);
  lua_remove(L, callee);
}

int tc_lua_compile_argument(lua_State *L) {
  enum { CALLED = 1, ARGUMENT, RESUME, LIKE };
  const struct compiled_object *like;
  if (!tc_capture_is_protected_call(L, CALLED) || !is_lua_function(L, ARGUMENT)) return 1;
  lua_getiuservalue(L, lua_upvalueindex(TC_LUA_EXTRA), STEP_RESUME);
  lua_getiuservalue(L, RESUME, RESUME_ROOT);
  like = lua_touserdata(L, LIKE);
  if (like->eager || like->forgets) { /* given up, or reset meanwhile */
    lua_settop(L, ARGUMENT);
    return 1;
  }
  lua_pushvalue(L, ARGUMENT);
  wrap(L, RESUME, LIKE, true);
  return 1;
}

/* --- all of them --- */

/* Visits the object of what a trampoline gave, at the stack top. One that many closures share is met in the
 * table of codes alone. */
static void visit_wrapped(lua_State *L, bool shared, tc_lua_visit visit, void *context) {
  if (!lua_isfunction(L, -1) || !lua_getupvalue(L, -1, TRAMPOLINE_ENTER)) return;
  const lua_CFunction entered_by = lua_tocfunction(L, -1);
  const bool enters =
      shared ? entered_by == enter_closure : entered_by == enter || entered_by == enter_callable;
  if (enters && lua_getupvalue(L, -1, TC_LUA_EXTRA)) visit(L, lua_gettop(L), context);
}

void tc_lua_each_callee(lua_State *L, int resume, tc_lua_visit visit, void *context) {
  const int top = lua_gettop(L);
  for (int which = RESUME_WRAPPERS; which <= RESUME_CODES; which++) {
    lua_getiuservalue(L, resume, which);
    for (lua_pushnil(L); lua_next(L, top + 1); lua_settop(L, top + 2))
      visit_wrapped(L, which == RESUME_CODES, visit, context);
    lua_settop(L, top);
  }
}

void tc_lua_open_callees(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &trampolines_key) == LUA_TNIL) {
    if (luaL_loadbufferx(L, trampolines, sizeof trampolines - 1, "=tbench", "t") != LUA_OK) lua_error(L);
    lua_call(L, 0, 1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &trampolines_key);
  }
  lua_pop(L, 1);
}
