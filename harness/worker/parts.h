/* Workloads that compile parts of themselves: `parts = function(compile) … return fn end` in the place of
 * `fn`. The function that it returns is called as it is; what it gets as compile(f) is compiled with the
 * workload's options and the case's backend and mode in a compiled role, and f itself in any other.
 *
 * All are called under lua_pcall and raise Lua errors. */
#ifndef TB_PARTS_H
#define TB_PARTS_H

#include <stdbool.h>

#include <lua.h>

/* Where the case stands: what tb_compile_options_apply takes. Strings must live through tb_parts_push. */
struct tb_parts_case {
  const char *suite, *workload, *backend, *mode;
};

/* Pushes the function. `table`: index of what the workload returned. `objects`: gets a registry reference to
 * the list of compiled objects, which tb_parts_push makes where `compiled` is set and leaves LUA_NOREF where
 * it is not. */
void tb_parts_push(lua_State *L, int table, const struct tb_parts_case *kase, bool compiled, int *objects);
/* Each forgets what it has learnt. */
void tb_parts_reset(lua_State *L, int objects);
/* Pushes tb.stats of all together: numbers are sums, lists follow one another, the artifact is a hash over
 * those that there are. */
void tb_parts_stats(lua_State *L, int objects);

#endif
