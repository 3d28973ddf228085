/* Calls of the module's own functions from C. */
#ifndef TB_LUACALL_H
#define TB_LUACALL_H

#include <lua.h>

/* Pushes tb.FUNCTION; a Lua error where the suite has removed it. Globals of the suite play no part. */
void tb_lua_push_function(lua_State *L, const char *function);
/* Replaces the `arguments` values at the stack top by the `results` values of tb.FUNCTION on them. */
void tb_lua_call_function(lua_State *L, const char *function, int arguments, int results);

#endif
