/* What Lua raised, as the `error` of a reply (see protocol.h). */
#ifndef TB_LUA_ERROR_H
#define TB_LUA_ERROR_H

#include <cjson/cJSON.h>
#include <lua.h>

/* Message handler for lua_pcall: any value becomes a text that says what was raised, with a traceback behind
 * it. */
int tb_lua_error_handler(lua_State *L);
/* {"kind", "text", "trace"} of the error at the stack top; `status` is lua_pcall's, `known` the kind where
 * the worker itself raised it, else NULL. NULL when memory is out. */
cJSON *tb_lua_error_json(lua_State *L, int status, const char *known);

#endif
