/* What a compiled call hands out and writes after its graph ran: its entry's replay.
 *
 * On the stack, from `first_output` on: the graph's outputs, the replay's objects, the results, then keys and
 * values of the effects. All of them are made before the first write, so that sources show what was before
 * the call, and an error (memory) in making them leaves nothing written. The writes themselves run no Lua
 * code, nor a step of the collector (lua_rawset, lua_setupvalue and lua_setmetatable make none), so that no
 * finalizer sees half of them. What can still fail is memory for a table that has to grow: then those before
 * it are made, as in plain Lua, where such an error ends the function in its middle. */
#include "lua/compile/compiled_object.h"

struct replaying {
  lua_State *L;
  const struct compiled_entry *entry;
  const struct tc_frame *frame;
  int first_output, first_object; /* stack indices */
};

static void push_recipe(const struct replaying *r, const struct tc_recipe *recipe) {
  lua_State *L = r->L;
  switch (recipe->kind) {
    case TC_RECIPE_NIL: lua_pushnil(L); break;
    case TC_RECIPE_BOOL: lua_pushboolean(L, recipe->boolean); break;
    case TC_RECIPE_INT: lua_pushinteger(L, recipe->integer); break;
    case TC_RECIPE_NUM: lua_pushnumber(L, recipe->number); break;
    case TC_RECIPE_TEXT: lua_pushlstring(L, recipe->text.bytes, recipe->text.length); break;
    case TC_RECIPE_OUTPUT: lua_pushvalue(L, r->first_output + recipe->output); break;
    case TC_RECIPE_SOURCE: tc_guards_push_source(r->entry->guards, r->frame, recipe->source); break;
    case TC_RECIPE_OBJECT: lua_pushvalue(L, r->first_object + recipe->object); break;
  }
}

static void push_closure(const struct replaying *r, const struct tc_object *object) {
  lua_State *L = r->L;
  tc_guards_push_source(r->entry->guards, r->frame, object->source);
  lua_call(L, 0, 1);
  const int closure = lua_gettop(L);
  for (int i = 0; i < object->n_joins; i++) {
    const struct tc_join *join = &object->joins[i];
    if (join->source >= 0)
      tc_guards_push_source(r->entry->guards, r->frame, join->source);
    else
      lua_pushvalue(L, r->first_object + join->object);
    lua_upvaluejoin(L, closure, join->upvalue, -1, join->number);
    lua_pop(L, 1);
  }
}

static void push_objects(const struct replaying *r) {
  const struct tc_replay *replay = r->entry->replay;
  for (size_t i = 0; i < replay->objects.len; i++) {
    const struct tc_object *object = &replay->objects.data[i];
    switch (object->kind) {
      case TC_OBJECT_TABLE: lua_createtable(r->L, object->array_hint, object->hash_hint); break;
      case TC_OBJECT_CLOSURE: push_closure(r, object); break;
      case TC_OBJECT_EXTERNAL: tc_guards_push_source(r->entry->guards, r->frame, object->source); break;
    }
  }
}

/* Carries out a write whose key (of a field) and value lie at the stack top; they are popped. */
static void carry_out(const struct replaying *r, const struct tc_write *write) {
  const int object = r->first_object + write->object;
  switch (write->kind) {
    case TC_WRITE_METATABLE: lua_setmetatable(r->L, object); break;
    case TC_WRITE_FIELD: lua_rawset(r->L, object); break;
    case TC_WRITE_UPVALUE:
      if (!lua_setupvalue(r->L, object, write->upvalue)) lua_pop(r->L, 1);
      break;
  }
}

static int push_write(const struct replaying *r, const struct tc_write *write) {
  const bool has_key = write->kind == TC_WRITE_FIELD;
  if (has_key) push_recipe(r, &write->key);
  push_recipe(r, &write->value);
  return has_key ? 2 : 1;
}

/* The effects, first to last, from their keys and values at `at` on. */
static void apply(const struct replaying *r, int at) {
  lua_State *L = r->L;
  const struct tc_replay *replay = r->entry->replay;
  for (size_t i = 0; i < replay->effects.len; i++) {
    const struct tc_write *write = &replay->effects.data[i];
    lua_pushvalue(L, at++);
    if (write->kind == TC_WRITE_FIELD) lua_pushvalue(L, at++);
    carry_out(r, write);
  }
}

static void replay_all(const struct replaying *r) {
  lua_State *L = r->L;
  const struct tc_replay *replay = r->entry->replay;
  luaL_checkstack(L, (int)(replay->objects.len + 2 * replay->effects.len) + replay->n_results + LUA_MINSTACK,
                  "results");
  push_objects(r);
  for (size_t i = 0; i < replay->own.len; i++) {
    push_write(r, &replay->own.data[i]);
    carry_out(r, &replay->own.data[i]);
  }
  for (int i = 0; i < replay->n_results; i++) push_recipe(r, &replay->results[i]);
  const int top = lua_gettop(L);
  for (size_t i = 0; i < replay->effects.len; i++) push_write(r, &replay->effects.data[i]);
  if (replay->effects.len) apply(r, top + 1);
  lua_settop(L, top);
}

void tc_lua_push_results(lua_State *L, const struct compiled_entry *e, const struct tc_frame *frame,
                         int first_output) {
  const struct tc_replay *replay = e->replay;
  if (replay->n_results == 1 && replay->results[0].kind == TC_RECIPE_OUTPUT && !replay->effects.len) {
    lua_pushvalue(L, first_output + replay->results[0].output);
    return;
  }
  const struct replaying r = {
      .L = L, .entry = e, .frame = frame, .first_output = first_output, .first_object = lua_gettop(L) + 1};
  replay_all(&r);
}
