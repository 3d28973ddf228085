/* Lua values to JSON and back. Both may raise a Lua error when memory is out: call them under lua_pcall. */
#ifndef TB_LUAJSON_H
#define TB_LUAJSON_H

#include <cjson/cJSON.h>
#include <lua.h>

/* A sequence becomes an array, another table an object (integer keys as text); numbers that JSON cannot say
 * (NaN, infinities) and values that are no data (functions, userdata) become null. Tables nested deeper than
 * a bound become null. The caller owns the result; NULL when memory is out. */
cJSON *tb_json_from_lua(lua_State *L, int index);
/* null becomes nil. */
void tb_lua_push_json(lua_State *L, const cJSON *json);

#endif
