/* The results of a compiled call, rebuilt by its entry's recipes. */
#include "lua/compiled_object.h"

static void push_recipe(lua_State *L, const struct compiled_entry *e, const struct tc_frame *frame, const struct tc_recipe *r, int first_output);

static void push_table(lua_State *L, const struct compiled_entry *e, const struct tc_frame *frame, const struct tc_recipe *r, int first_output) {
  bool removes = false;
  lua_createtable(L, r->table.array_hint, r->table.hash_hint);
  for (int i = 0; i < r->table.count; i++) {
    const bool removed = r->table.values[i].kind == TC_RECIPE_NIL;
    push_recipe(L, e, frame, &r->table.keys[i], first_output);
    if (removed) lua_pushboolean(L, true); /* holds the key's place; taken out below, when all keys stand */
    else push_recipe(L, e, frame, &r->table.values[i], first_output);
    lua_rawset(L, -3);
    removes |= removed;
  }
  for (int i = 0; i < r->table.count && removes; i++) {
    if (r->table.values[i].kind != TC_RECIPE_NIL) continue;
    push_recipe(L, e, frame, &r->table.keys[i], first_output);
    lua_pushnil(L);
    lua_rawset(L, -3);
  }
  if (r->table.metatable_source < 0) return;
  tc_guards_push_source(e->guards, frame, r->table.metatable_source);
  lua_setmetatable(L, -2);
}

static void push_recipe(lua_State *L, const struct compiled_entry *e, const struct tc_frame *frame, const struct tc_recipe *r, int first_output) {
  luaL_checkstack(L, LUA_MINSTACK, "results");
  switch (r->kind) {
    case TC_RECIPE_NIL: lua_pushnil(L); break;
    case TC_RECIPE_BOOL: lua_pushboolean(L, r->boolean); break;
    case TC_RECIPE_INT: lua_pushinteger(L, r->integer); break;
    case TC_RECIPE_NUM: lua_pushnumber(L, r->number); break;
    case TC_RECIPE_TEXT: lua_pushlstring(L, r->text.bytes, r->text.length); break;
    case TC_RECIPE_OUTPUT: lua_pushvalue(L, first_output + r->output); break;
    case TC_RECIPE_SOURCE: tc_guards_push_source(e->guards, frame, r->source); break;
    case TC_RECIPE_TABLE: push_table(L, e, frame, r, first_output); break;
  }
}

void tc_lua_push_results(lua_State *L, const struct compiled_entry *e, const struct tc_frame *frame, int first_output) {
  if (e->n_results == 1 && e->results[0].kind == TC_RECIPE_OUTPUT) {
    lua_pushvalue(L, first_output + e->results[0].output);
    return;
  }
  for (int i = 0; i < e->n_results; i++) push_recipe(L, e, frame, &e->results[i], first_output);
}
