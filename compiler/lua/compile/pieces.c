/* What goes on behind graph breaks.
 *
 * An entry that ends at a break gives a *step function* and the live registers. The step runs the breaking
 * instruction plain, and where control leaves it (an exit) asks for what comes next: the *piece* that begins
 * there, a compiled object of its own over a continuation of the same function (capture/bytecode/resume.h).
 * What the piece answers, a function and arguments, the step tail-calls:
 *
 *     compiled call ──► entry ──► step(registers) ──► exit ──► piece's entry ──► step … ──► give(results)
 *
 * 1. Steps and pieces are made once an instruction, when one is first needed, and belong to one function: the
 *    *resume*, a user value of every object over it. They share the function's upvalues, as it has them when
 *    they are entered. Where an object is over the code of many closures (callees.c), what is made once gives
 *    a step or piece for each call, with the upvalues of its closure.
 * 2. Nothing nests: each step leaves the stack before the next one runs, so that a loop with a break goes on
 *    for ever, and levels (error, traceback) are those of plain Lua.
 * 3. A piece tells its breaks and fallbacks to its root, which the resume keeps alive. */
#include <string.h>

#include "lua/compile/pieces.h"

static const char resume_name[] = "tbench.resume";

enum {
  STEP_PIECES = STEP_RESUME + 1,
  STEP_VALUES = STEP_PIECES + TC_MAX_RESUME_EXITS - 1
}; /* user values of a step's userdata */
/* Place of a step: the function; over the code of closures a table of what makes it, and of the functions
 * that it calls. */
enum { MAKES_STEP = 1, STEP_LEAVES, STEP_HOOK };

struct site {
  bool is_step;
  int pc, open;
};

struct lua_resume {
  struct tc_lua_module *module;
  struct tc_arena *arena;
  struct tc_resume *resume;
  TC_VEC(struct site) sites; /* of the table of places: site i at i + 1 */
};

struct lua_step {
  int n_exits, exits[TC_MAX_RESUME_EXITS];
};

static int resume_gc(lua_State *L) {
  struct lua_resume *r = lua_touserdata(L, 1);
  tc_vec_free(r->module->ctx.alloc, &r->sites);
  tc_arena_free(r->arena);
  r->arena = NULL;
  r->resume = NULL;
  return 0;
}

static tc_status open_resume(lua_State *L, struct lua_resume *r, struct tc_error *err) {
  struct tc_proto *proto;
  r->arena = tc_arena_new(r->module->ctx.alloc);
  if (!r->arena) return tc_fail_memory(err, "capture");
  tc_status status = tc_bytecode_of_function(r->arena, L, &proto, err); /* at the stack top */
  if (!status) status = tc_resume_open(r->arena, proto, &r->resume, err);
  return status;
}

const struct tc_resume *tc_lua_push_resume(lua_State *L, int object, struct tc_error *err) {
  struct compiled_object *o = lua_touserdata(L, object);
  luaL_checkstack(L, LUA_MINSTACK, "graph break");
  if (lua_getiuservalue(L, object, OBJECT_RESUME) == LUA_TUSERDATA && !o->forgets) {
    const struct lua_resume *known = lua_touserdata(L, -1);
    return known->resume;
  }
  lua_pop(L, 1);
  o->forgets = false;
  struct lua_resume *r = lua_newuserdatauv(L, sizeof *r, RESUME_VALUES);
  *r = (struct lua_resume){.module = o->module};
  luaL_setmetatable(L, resume_name);
  lua_newtable(L);
  lua_setiuservalue(L, -2, RESUME_PLACES);
  tc_lua_set_callees(L, object);
  lua_pushvalue(L, object);
  lua_setiuservalue(L, -2, RESUME_ROOT);
  lua_getiuservalue(L, object, OBJECT_FUNCTION);
  const tc_status status = open_resume(L, r, err);
  lua_setiuservalue(L, -2, RESUME_FUNCTION);
  if (status) return NULL;
  r->resume->hooks = true;
  r->resume->makes = o->by_code;
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, object, OBJECT_RESUME);
  return r->resume;
}

/* --- functions --- */

/* The function at the stack top gets the first upvalues of that at an index. */
static void join_to(lua_State *L, int function, int n_upvalues) {
  for (int i = 1; i <= n_upvalues; i++) lua_upvaluejoin(L, -1, i, function, i);
}

/* The function at the stack top gets the upvalues of the resume's: those that it has now, for
 * debug.upvaluejoin may have changed them. */
static void join_upvalues(lua_State *L, int resume) {
  const struct lua_resume *r = lua_touserdata(L, resume);
  lua_getiuservalue(L, resume, RESUME_FUNCTION);
  lua_insert(L, -2);
  join_to(L, lua_gettop(L) - 1, r->resume->proto->n_upvalues);
  lua_remove(L, -2);
}

tc_status tc_lua_load_chunk(lua_State *L, struct tc_strbuf *chunk, const char *name, struct tc_error *err) {
  const char *bytes = tc_strbuf_text(chunk);
  const int loaded = bytes ? luaL_loadbufferx(L, bytes, chunk->len, name, "b") : LUA_ERRMEM;
  if (loaded == LUA_ERRMEM) return tc_fail_memory(err, "capture");
  if (loaded != LUA_OK)
    return tc_fail(err, TC_CORRUPT, "capture", "Lua refuses a rewritten function: %s", lua_tostring(L, -1));
  return TC_OK;
}

/* Loads a chunk whose upvalues are those of the resume's function, and pushes it; or what makes such
 * functions. */
static tc_status load(lua_State *L, int resume, struct tc_strbuf *chunk, struct tc_error *err) {
  const struct lua_resume *r = lua_touserdata(L, resume);
  const tc_status status = tc_lua_load_chunk(L, chunk, r->resume->proto->source, err);
  if (!status && !r->resume->makes) join_upvalues(L, resume);
  return status;
}

static int find_site(const struct lua_resume *r, const struct site *site) {
  for (size_t i = 0; i < r->sites.len; i++) {
    const struct site *known = &r->sites.data[i];
    if (known->is_step == site->is_step && known->pc == site->pc && known->open == site->open)
      return (int)i + 1;
  }
  return 0;
}

/* Keeps the value at the stack top (popped) as that of a new site. */
static tc_status keep_site(lua_State *L, int resume, const struct site *site, int *place,
                           struct tc_error *err) {
  struct lua_resume *r = lua_touserdata(L, resume);
  lua_getiuservalue(L, resume, RESUME_PLACES);
  lua_insert(L, -2);
  lua_rawseti(L, -2, (lua_Integer)r->sites.len + 1);
  lua_pop(L, 1);
  if (!tc_vec_push(r->module->ctx.alloc, &r->sites, *site)) return tc_fail_memory(err, "capture");
  *place = (int)r->sites.len;
  return TC_OK;
}

int tc_lua_give(lua_State *L) { return lua_gettop(L); }

/* The piece that begins at pc, pushed. */
static tc_status push_piece(lua_State *L, int resume, int pc, struct tc_error *err) {
  struct lua_resume *r = lua_touserdata(L, resume);
  const struct site site = {.pc = pc};
  int place = find_site(r, &site);
  if (!place) {
    struct tc_strbuf chunk;
    tc_strbuf_init(&chunk, r->module->ctx.alloc);
    tc_status status = tc_resume_continuation(r->resume, pc, &chunk, err);
    if (!status) status = load(L, resume, &chunk, err);
    tc_strbuf_free(&chunk);
    if (status) return status;
    const int function = lua_gettop(L);
    lua_getiuservalue(L, resume, RESUME_ROOT);
    lua_pushvalue(L, function);
    if (r->resume->makes) lua_call(L, 0, 1); /* one that never runs */
    struct compiled_object *piece = tc_lua_compiled_like(L, function + 2, function + 1);
    piece->by_code = r->resume->makes;
    lua_pushvalue(L, function);
    lua_setiuservalue(L, -2, OBJECT_FACTORY);
    piece->continued = r->resume;
    piece->first_line = tc_proto_line(r->resume->proto, pc);
    lua_pushvalue(L, resume);
    lua_setiuservalue(L, -2, OBJECT_RESUME);
    if ((status = keep_site(L, resume, &site, &place, err))) return status;
    lua_settop(L, function - 1);
  }
  lua_getiuservalue(L, resume, RESUME_PLACES);
  lua_rawgeti(L, -1, place);
  lua_remove(L, -2);
  return TC_OK;
}

/* Pushes the function of the piece at an index, as the step that is leaving has it go on. */
static void push_going_on(lua_State *L, int piece, int step) {
  const struct compiled_object *o = lua_touserdata(L, piece);
  const int top = lua_gettop(L);
  lua_Debug caller;
  lua_getiuservalue(L, step, STEP_RESUME);
  const struct lua_resume *r = lua_touserdata(L, -1);
  if (!o->by_code) {
    lua_getiuservalue(L, piece, OBJECT_FUNCTION);
    join_upvalues(L, top + 1);
  } else if (lua_getstack(L, 1, &caller) && lua_getinfo(L, "f", &caller)) {
    lua_getiuservalue(L, piece, OBJECT_FACTORY);
    lua_call(L, 0, 1);
    join_to(L, top + 2, r->resume->proto->n_upvalues);
  }
  lua_replace(L, top + 1);
  lua_settop(L, top + 1);
}

/* An exit of a step: (exit number, arguments of the piece) → a function and its arguments. */
static int leave(lua_State *L) {
  const int step = lua_upvalueindex(TC_LUA_EXTRA);
  const struct lua_step *s = lua_touserdata(L, step);
  const int number = (int)lua_tointeger(L, 1);
  struct tc_error err = {.message = ""};
  if (lua_getiuservalue(L, step, STEP_PIECES + number) != LUA_TUSERDATA) {
    lua_pop(L, 1);
    lua_getiuservalue(L, step, STEP_RESUME);
    if (push_piece(L, lua_gettop(L), s->exits[number], &err)) return tc_lua_raise(L, "compile", &err);
    lua_remove(L, -2);
    lua_pushvalue(L, -1);
    lua_setiuservalue(L, step, STEP_PIECES + number);
  }
  lua_replace(L, 1);
  const int n_args = lua_gettop(L) - 1;
  push_going_on(L, 1, step);
  const struct tc_frame frame = {.L = L, .function = n_args + 2, .first_arg = 2, .n_args = n_args};
  int count;
  if (tc_lua_advance(L, 1, &frame, &count) == TC_LUA_FINISHED) {
    lua_pushcfunction(L, tc_lua_give);
    lua_insert(L, -1 - count);
  }
  return count + 1;
}

/* The step at the stack top, which has `n_upvalues` of its function, gets those below it: where it leaves,
 * and its hook. */
static void set_own_upvalues(lua_State *L, int n_upvalues) {
  const int top = lua_gettop(L);
  for (int i = 0; i < 2; i++) {
    lua_pushvalue(L, top - 2 + i);
    if (!lua_setupvalue(L, top, n_upvalues + 1 + i)) lua_settop(L, top);
  }
}

/* What makes the step, at the stack top, and the two functions below it become a table. */
static void keep_together(lua_State *L) {
  const int top = lua_gettop(L);
  lua_createtable(L, STEP_HOOK, 0);
  for (int i = 0; i < STEP_HOOK; i++) {
    static const int places[] = {STEP_LEAVES, STEP_HOOK, MAKES_STEP};
    lua_pushvalue(L, top - 2 + i);
    lua_rawseti(L, top + 1, places[i]);
  }
}

tc_status tc_lua_step(lua_State *L, int resume, int pc, int open, int *place, struct tc_error *err) {
  struct lua_resume *r = lua_touserdata(L, resume);
  const struct site site = {.is_step = true, .pc = pc, .open = open};
  struct tc_resume_unit unit;
  if ((*place = find_site(r, &site))) return TC_OK;
  tc_status status = tc_resume_unit_at(r->resume, pc, open, &unit, err);
  if (status) return status;
  const int top = lua_gettop(L);
  struct lua_step *step = lua_newuserdatauv(L, sizeof *step, STEP_VALUES);
  step->n_exits = unit.n_exits;
  memcpy(step->exits, unit.exits, sizeof step->exits);
  lua_pushvalue(L, resume);
  lua_setiuservalue(L, -2, STEP_RESUME);
  lua_pushvalue(L, -1);
  tc_lua_closure_over(L, leave, NULL);
  lua_insert(L, -2);
  tc_lua_closure_over(L, tc_lua_compile_argument, NULL);
  struct tc_strbuf chunk;
  tc_strbuf_init(&chunk, r->module->ctx.alloc);
  status = tc_resume_step(r->resume, pc, open, &chunk, err);
  if (!status) status = load(L, resume, &chunk, err);
  tc_strbuf_free(&chunk);
  if (!status) {
    if (!r->resume->makes)
      set_own_upvalues(L, r->resume->proto->n_upvalues);
    else
      keep_together(L);
    status = keep_site(L, resume, &site, place, err);
  }
  lua_settop(L, top);
  return status;
}

void tc_lua_push_step(lua_State *L, int object, int place, int function) {
  const int top = lua_gettop(L);
  lua_getiuservalue(L, object, OBJECT_RESUME);
  const struct lua_resume *r = lua_touserdata(L, -1);
  lua_getiuservalue(L, -1, RESUME_PLACES);
  lua_rawgeti(L, -1, place);
  if (!r->resume->makes) {
    join_upvalues(L, top + 1);
  } else {
    lua_rawgeti(L, top + 3, STEP_LEAVES);
    lua_rawgeti(L, top + 3, STEP_HOOK);
    lua_rawgeti(L, top + 3, MAKES_STEP);
    lua_call(L, 0, 1);
    join_to(L, function, r->resume->proto->n_upvalues);
    set_own_upvalues(L, r->resume->proto->n_upvalues);
  }
  lua_replace(L, top + 1);
  lua_settop(L, top + 1);
}

/* --- all of them --- */

/* The objects among the places of the object at an index. */
static void list_places(lua_State *L, int object, tc_lua_visit visit, void *context) {
  const struct compiled_object *o = lua_touserdata(L, object);
  const int top = lua_gettop(L);
  visit(L, object, context);
  lua_settop(L, top);
  if (lua_getiuservalue(L, object, OBJECT_RESUME) == LUA_TUSERDATA && !o->forgets) {
    const struct lua_resume *r = lua_touserdata(L, -1);
    lua_getiuservalue(L, -1, RESUME_PLACES);
    for (size_t i = 0; i < r->sites.len; i++) {
      if (r->sites.data[i].is_step) continue;
      lua_rawgeti(L, top + 2, (lua_Integer)i + 1);
      visit(L, top + 3, context);
      lua_settop(L, top + 2);
    }
  }
  lua_settop(L, top);
}

struct visitor {
  tc_lua_visit visit;
  void *context;
};

static void visit_places(lua_State *L, int object, void *context) {
  const struct visitor *visitor = context;
  list_places(L, object, visitor->visit, visitor->context);
}

void tc_lua_each_piece(lua_State *L, int object, tc_lua_visit visit, void *context) {
  const struct compiled_object *o = lua_touserdata(L, object);
  const int top = lua_gettop(L);
  luaL_checkstack(L, LUA_MINSTACK, "pieces");
  list_places(L, object, visit, context);
  if (lua_getiuservalue(L, object, OBJECT_RESUME) == LUA_TUSERDATA && !o->forgets && o->root == o)
    tc_lua_each_callee(L, lua_gettop(L), visit_places, &(struct visitor){visit, context});
  lua_settop(L, top);
}

void tc_lua_open_pieces(lua_State *L) {
  luaL_newmetatable(L, resume_name);
  lua_pushcfunction(L, resume_gc);
  lua_setfield(L, -2, "__gc");
  lua_pop(L, 1);
  tc_lua_open_callees(L);
}
