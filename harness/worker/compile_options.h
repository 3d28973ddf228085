/* A workload's `options` for tb.compile: checked, and joined with the backend and mode of the case.
 *
 * Called under lua_pcall; raise Lua errors that name suite, workload, option and the options there are.
 * `table` is the index of what the workload returned. */
#ifndef TB_COMPILE_OPTIONS_H
#define TB_COMPILE_OPTIONS_H

#include <lua.h>

/* Checks the names; for every role, so that a mistake is told before anything is timed. */
void tb_compile_options_check(lua_State *L, int table, const char *suite, const char *workload);
/* Replaces the function at the stack top by tb.FUNCTION(function, options); `function` is "compile" or
 * "explain". */
void tb_compile_options_apply(lua_State *L, int table, const char *suite, const char *workload,
                              const char *function, const char *backend, const char *mode);

#endif
