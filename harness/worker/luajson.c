/* Data between Lua and JSON. No tensor passes here: those go through exchange.c. */
#include "harness/worker/luajson.h"

#include <lauxlib.h>
#include <math.h>
#include <stdio.h>

enum { DEPTH_MAX = 24 };

static cJSON *convert(lua_State *L, int index, int depth);

static cJSON *convert_sequence(lua_State *L, int index, lua_Unsigned count, int depth) {
  cJSON *array = cJSON_CreateArray();
  for (lua_Unsigned i = 1; array && i <= count; i++) {
    lua_rawgeti(L, index, (lua_Integer)i);
    cJSON_AddItemToArray(array, convert(L, -1, depth + 1));
    lua_pop(L, 1);
  }
  return array;
}

static cJSON *convert_fields(lua_State *L, int index, int depth) {
  cJSON *object = cJSON_CreateObject();
  for (lua_pushnil(L); object && lua_next(L, index); lua_pop(L, 1)) {
    char number[32];
    const char *key = NULL;
    if (lua_type(L, -2) == LUA_TSTRING) {
      key = lua_tostring(L, -2);
    } else if (lua_isinteger(L, -2)) {
      snprintf(number, sizeof number, "%lld", (long long)lua_tointeger(L, -2));
      key = number;
    }
    if (key) cJSON_AddItemToObject(object, key, convert(L, lua_gettop(L), depth + 1));
  }
  return object;
}

static cJSON *convert_table(lua_State *L, int index, int depth) {
  if (depth >= DEPTH_MAX) return cJSON_CreateNull();
  luaL_checkstack(L, 4, "nested tables");
  const lua_Unsigned count = lua_rawlen(L, index);
  return count ? convert_sequence(L, index, count, depth) : convert_fields(L, index, depth);
}

static cJSON *convert(lua_State *L, int index, int depth) {
  index = lua_absindex(L, index);
  switch (lua_type(L, index)) {
    case LUA_TBOOLEAN: return cJSON_CreateBool(lua_toboolean(L, index));
    case LUA_TSTRING: return cJSON_CreateString(lua_tostring(L, index));
    case LUA_TTABLE: return convert_table(L, index, depth);
    case LUA_TNUMBER: {
      const double number = lua_tonumber(L, index);
      return isfinite(number) ? cJSON_CreateNumber(number) : cJSON_CreateNull();
    }
    default: return cJSON_CreateNull();
  }
}

cJSON *tb_json_from_lua(lua_State *L, int index) { return convert(L, index, 0); }

static void push_number(lua_State *L, double number) {
  const lua_Integer whole = (lua_Integer)number;
  if (fabs(number) < 9e15 && (double)whole == number)
    lua_pushinteger(L, whole);
  else
    lua_pushnumber(L, number);
}

void tb_lua_push_json(lua_State *L, const cJSON *json) {
  luaL_checkstack(L, 4, "nested JSON");
  if (cJSON_IsBool(json)) {
    lua_pushboolean(L, cJSON_IsTrue(json));
  } else if (cJSON_IsNumber(json)) {
    push_number(L, json->valuedouble);
  } else if (cJSON_IsString(json)) {
    lua_pushstring(L, json->valuestring);
  } else if (cJSON_IsArray(json) || cJSON_IsObject(json)) {
    lua_newtable(L);
    lua_Integer i = 0;
    for (const cJSON *item = json->child; item; item = item->next) {
      tb_lua_push_json(L, item);
      if (item->string)
        lua_setfield(L, -2, item->string);
      else
        lua_rawseti(L, -2, ++i);
    }
  } else {
    lua_pushnil(L);
  }
}
