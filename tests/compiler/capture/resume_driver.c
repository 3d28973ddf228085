/* The driver of resume functions.
 *
 * Where a running function stands: Lua tells its line, not its instruction. So the function that is watched
 * has been encoded again with the number of each instruction as its line. How many open values a call left:
 * the hook of its return knows. */
#include "tests/compiler/capture/resume_driver.h"

#include <lauxlib.h>
#include <string.h>

#include "capture/bytecode/flow.h"
#include "capture/bytecode/resume.h"

static const char type_name[] = "resume driver";
enum { ROOM = 16 }; /* stack slots that a function here needs beyond its arguments */

struct object {
  struct tc_arena *arena;
  struct tc_proto *proto;
  struct tc_resume *resume;
};

static struct object *object_at(lua_State *L, int index) { return luaL_checkudata(L, index, type_name); }

static int raise(lua_State *L, const struct tc_error *err) { return luaL_error(L, "%s", err->message); }

static int open_object(lua_State *L) {
  struct tc_error err;
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_settop(L, 1);
  struct object *o = lua_newuserdatauv(L, sizeof *o, 1);
  *o = (struct object){.arena = tc_arena_new(tc_alloc_system())};
  luaL_setmetatable(L, type_name);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 1);
  lua_pushvalue(L, 1);
  if (tc_bytecode_of_function(o->arena, L, &o->proto, &err) ||
      tc_resume_open(o->arena, o->proto, &o->resume, &err))
    return raise(L, &err);
  lua_pop(L, 1);
  return 1;
}

static int free_object(lua_State *L) {
  struct object *o = object_at(L, 1);
  tc_arena_free(o->arena);
  o->arena = NULL;
  return 0;
}

static int length(lua_State *L) {
  lua_pushinteger(L, object_at(L, 1)->proto->n_code);
  return 1;
}

static int opcode(lua_State *L) {
  lua_pushstring(L, tc_opcode_row(tc_code_op(object_at(L, 1)->proto->code[luaL_checkinteger(L, 2)]))->name);
  return 1;
}

static int registers(lua_State *L) {
  lua_pushinteger(L, tc_resume_registers(object_at(L, 1)->resume, (int)luaL_checkinteger(L, 2),
                                         (int)luaL_optinteger(L, 3, -1)));
  return 1;
}

static int is_live(lua_State *L) {
  lua_pushboolean(
      L, tc_live_has(&object_at(L, 1)->resume->live[luaL_checkinteger(L, 2)], (int)luaL_checkinteger(L, 3)));
  return 1;
}

static int may_cut(lua_State *L) {
  const char *why;
  lua_pushboolean(L, tc_resume_may_cut(object_at(L, 1)->resume, (int)luaL_checkinteger(L, 2), &why));
  lua_pushstring(L, why);
  return 2;
}

static void push_exits(lua_State *L, const struct tc_resume_unit *u) {
  lua_newtable(L);
  for (int i = 0; i < u->n_exits; i++) {
    lua_pushinteger(L, u->exits[i]);
    lua_rawseti(L, -2, i + 1);
  }
}

static int unit(lua_State *L) {
  struct tc_resume_unit u;
  struct tc_error err;
  if (tc_resume_unit_at(object_at(L, 1)->resume, (int)luaL_checkinteger(L, 2), (int)luaL_optinteger(L, 3, -1),
                        &u, &err))
    return raise(L, &err);
  lua_pushinteger(L, u.first);
  lua_pushinteger(L, u.last);
  push_exits(L, &u);
  lua_pushstring(L, u.why);
  return 4;
}

/* Loads a chunk and joins its upvalues with those of the object's function; leaves the function. */
static void load_chunk(lua_State *L, int object, const struct tc_strbuf *chunk) {
  if (luaL_loadbufferx(L, chunk->data, chunk->len, "=chunk", "b") != LUA_OK) lua_error(L);
  lua_getiuservalue(L, object, 1);
  for (int i = 1; i <= object_at(L, object)->proto->n_upvalues; i++) lua_upvaluejoin(L, -2, i, -1, i);
  lua_pop(L, 1);
}

/* Upvalues: next, and the exits' pcs. Arguments: the exit's number, registers, … */
static int take_exit(lua_State *L) {
  const int n_arguments = lua_gettop(L);
  luaL_checkstack(L, ROOM, NULL);
  lua_rawgeti(L, lua_upvalueindex(2), luaL_checkinteger(L, 1) + 1);
  if (!lua_isinteger(L, -1)) return luaL_error(L, "a step left by an exit that it does not have");
  lua_replace(L, 1);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, n_arguments, LUA_MULTRET);
  return lua_gettop(L);
}

static int refused(lua_State *L, struct tc_strbuf *chunk, const struct tc_error *err) {
  tc_strbuf_free(chunk);
  lua_pushnil(L);
  lua_pushstring(L, err->message);
  return 2;
}

static int step(lua_State *L) {
  struct tc_strbuf chunk;
  struct tc_resume_unit u;
  struct tc_error err;
  struct object *o = object_at(L, 1);
  const int pc = (int)luaL_checkinteger(L, 2), open = (int)luaL_checkinteger(L, 3);
  lua_settop(L, 4);
  tc_strbuf_init(&chunk, tc_alloc_system());
  if (tc_resume_unit_at(o->resume, pc, open, &u, &err) || tc_resume_step(o->resume, pc, open, &chunk, &err))
    return refused(L, &chunk, &err);
  load_chunk(L, 1, &chunk);
  tc_strbuf_free(&chunk);
  lua_pushvalue(L, 4);
  push_exits(L, &u);
  lua_pushcclosure(L, take_exit, 2);
  if (!lua_setupvalue(L, 5, o->proto->n_upvalues + 1))
    return luaL_error(L, "a step has no upvalue of its own");
  return 1;
}

static int continuation(lua_State *L) {
  struct tc_strbuf chunk;
  struct tc_error err;
  tc_strbuf_init(&chunk, tc_alloc_system());
  if (tc_resume_continuation(object_at(L, 1)->resume, (int)luaL_checkinteger(L, 2), &chunk, &err))
    return refused(L, &chunk, &err);
  load_chunk(L, 1, &chunk);
  tc_strbuf_free(&chunk);
  return 1;
}

static int push_encoded(lua_State *L, const struct tc_proto *proto) {
  struct tc_strbuf chunk;
  struct tc_error err;
  tc_strbuf_init(&chunk, tc_alloc_system());
  if (tc_bytecode_encode(proto, &chunk, &err)) return raise(L, &err);
  load_chunk(L, 1, &chunk);
  tc_strbuf_free(&chunk);
  return 1;
}

static int copy(lua_State *L) { return push_encoded(L, object_at(L, 1)->proto); }

/* The function with the numbers of its instructions, from 1, as their lines. */
static void push_numbered(lua_State *L) {
  struct object *o = object_at(L, 1);
  struct tc_proto numbered = *o->proto;
  numbered.line_defined = 0;
  numbered.lines = tc_arena_bytes(o->arena, sizeof *numbered.lines * (size_t)numbered.n_code);
  for (int pc = 0; pc < numbered.n_code; pc++) numbered.lines[pc] = pc + 1;
  push_encoded(L, &numbered);
}

/* One watched run. */
struct watch {
  const struct object *object;
  const void *function, *frame; /* the function's identity, and its first activation */
  bool poisons;
  lua_Integer left; /* instructions until it stops */
  int returned;     /* values that the last function to end gave */
  bool stopped;
};

static const char watch_key;

static int open_values(const struct watch *w, lua_State *L, lua_Debug *ar, int pc) {
  const uint32_t *code = w->object->proto->code;
  if (!tc_code_takes_open(code[pc])) return -1;
  int values = w->returned;
  if (tc_code_op(code[pc - 1]) == TC_LUA_VARARG)
    for (values = 0; lua_getlocal(L, ar, -1 - values); values++) lua_pop(L, 1);
  const int first = tc_code_a(code[pc]) + (tc_code_op(code[pc]) != TC_LUA_RETURN);
  return tc_code_a(code[pc - 1]) + values - first;
}

/* Keeps pc, open, registers and variable arguments in a table of the registry, and ends the run. */
static void stop_here(struct watch *w, lua_State *L, lua_Debug *ar, int pc) {
  const int open = open_values(w, L, ar, pc), count = tc_resume_registers(w->object->resume, pc, open);
  int n = 0;
  lua_rawgetp(L, LUA_REGISTRYINDEX, w);
  lua_pushinteger(L, pc);
  lua_rawseti(L, -2, ++n);
  lua_pushinteger(L, open);
  lua_rawseti(L, -2, ++n);
  for (int i = 0; i < count; i++) {
    if (open < 0 && !tc_live_has(&w->object->resume->live[pc], i))
      lua_pushnil(L);
    else if (!lua_getlocal(L, ar, i + 1))
      luaL_error(L, "register %d cannot be read", i);
    lua_rawseti(L, -2, ++n);
  }
  for (int i = 1; w->object->proto->is_vararg && lua_getlocal(L, ar, -i); i++) lua_rawseti(L, -2, ++n);
  lua_pushinteger(L, n);
  lua_setfield(L, -2, "n");
  w->stopped = true;
  lua_pushliteral(L, "stopped");
  lua_error(L);
}

static void poison(const struct watch *w, lua_State *L, lua_Debug *ar, int pc) {
  const struct tc_live *live = &w->object->resume->live[pc];
  for (int i = 0; i < w->object->proto->max_stack; i++) {
    const char *name = lua_getlocal(L, ar, i + 1);
    if (!name) break;
    lua_pop(L, 1);
    if (tc_live_has(live, i) || !strcmp(name, "(for state)"))
      continue; /* one of these may be a closing value: Lua has its address */
    lua_pushliteral(L, "poison");
    lua_setlocal(L, ar, i + 1);
  }
}

static void on_event(lua_State *L, lua_Debug *ar) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &watch_key);
  struct watch *w = lua_touserdata(L, -1);
  lua_pop(L, 1);
  if (!w) return; /* a coroutine of a run that is over: it has the hook still */
  if (ar->event == LUA_HOOKRET) {
    lua_getinfo(L, "r", ar);
    w->returned = ar->ntransfer;
    return;
  }
  if (ar->event != LUA_HOOKCOUNT) return;
  lua_getinfo(L, "fl", ar);
  const void *function = lua_topointer(L, -1);
  lua_pop(L, 1);
  if (function != w->function || (w->frame && w->frame != ar->i_ci)) return;
  w->frame = ar->i_ci;
  if (w->poisons)
    poison(w, L, ar, ar->currentline - 1);
  else if (w->left-- == 0)
    stop_here(w, L, ar, ar->currentline - 1);
}

/* Stack: object, arguments of the function from `first` on. Runs it; leaves the results of lua_pcall above,
 * and its status. */
static int run_watched(lua_State *L, struct watch *w, int first) {
  const int n_arguments = lua_gettop(L) - first + 1;
  luaL_checkstack(L, ROOM, NULL);
  push_numbered(L);
  w->function = lua_topointer(L, -1);
  lua_insert(L, first);
  lua_newtable(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, w);
  lua_pushlightuserdata(L, w);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &watch_key);
  lua_sethook(L, on_event, LUA_MASKCOUNT | LUA_MASKRET, 1);
  const int status = lua_pcall(L, n_arguments, LUA_MULTRET, 0);
  lua_sethook(L, NULL, 0, 0);
  luaL_checkstack(L, ROOM, NULL);
  lua_pushnil(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &watch_key);
  return status;
}

static int stop(lua_State *L) {
  struct watch w = {.object = object_at(L, 1), .left = luaL_checkinteger(L, 2)};
  run_watched(L, &w, 3);
  lua_settop(L, 0);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &w);
  lua_pushnil(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &w);
  if (!w.stopped) {
    lua_pushboolean(L, 0);
    return 1;
  }
  lua_getfield(L, 1, "n");
  const int n = (int)lua_tointeger(L, -1);
  lua_pop(L, 1);
  luaL_checkstack(L, n, NULL);
  for (int i = 1; i <= n; i++) lua_rawgeti(L, 1, i);
  return n;
}

static int poisoned(lua_State *L) {
  struct watch w = {.object = object_at(L, 1), .poisons = true};
  const int status = run_watched(L, &w, 2);
  lua_pushnil(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &w);
  lua_pushboolean(L, status == LUA_OK);
  lua_replace(L, 1);
  return lua_gettop(L);
}

int tests_open_resume_driver(lua_State *L) {
  static const luaL_Reg methods[] = {
      {"length", length},   {"opcode", opcode}, {"registers", registers}, {"is_live", is_live},
      {"may_cut", may_cut}, {"unit", unit},     {"step", step},           {"continuation", continuation},
      {"copy", copy},       {"stop", stop},     {"poisoned", poisoned},   {"__gc", free_object},
      {NULL, NULL}};
  luaL_newmetatable(L, type_name);
  luaL_setfuncs(L, methods, 0);
  lua_pushvalue(L, -1);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
  lua_newtable(L);
  lua_pushcfunction(L, open_object);
  lua_setfield(L, -2, "open");
  return 1;
}
