/* Worker side of suites: loads a suite's file in a Lua state and checks what it returns.
 *
 * All of these are called under lua_pcall and raise a Lua error whose text names the file, the field and what
 * is expected there. */
#ifndef TB_DESCRIPTION_H
#define TB_DESCRIPTION_H

#include <cjson/cJSON.h>
#include <lua.h>

/* Runs the file and leaves its checked description on the stack. */
void tb_description_load(lua_State *L, const char *path);
/* The description at `index` as the JSON that `describe` answers with (see protocol.h). */
cJSON *tb_description_json(lua_State *L, int index, const char *path);

#endif
