/* libtcompile: a Lua 5.4 function in, running kernels out. The one public header.
 *
 * A program embeds the compiler by opening the Lua module in a Lua state; everything else is reached
 * from Lua (see `tbench help lua`) or through the calls below. One context a Lua state; a state and its
 * context are used by one thread at a time. */
#ifndef TCOMPILE_H
#define TCOMPILE_H

#include <lua.h>

#include "base/config.h"
#include "base/context.h"
#include "base/error.h"
#include "device/device.h"
#include "tensor/tensor.h"

/* lua_CFunction: makes the module table `tbench` (require "tbench"). Reads TB_* of the environment. All that
 * tbench.so shows. */
__attribute__((visibility("default"))) int luaopen_tbench(lua_State *L);

/* Before luaopen_tbench: the configuration that the module is to use instead of defaults plus environment,
 * and the number of threads (0: all that the process may run on). */
void tc_lua_configure(lua_State *L, const struct tc_config *config, int threads);

/* The context of a state with the module open; NULL without. */
struct tc_context *tc_lua_context(lua_State *L);

/* The status of the error whose text is at a stack index, when the module itself raised that text; TC_LUA for
 * all else, whatever it says. The answer holds until the module raises again. */
tc_status tc_lua_raised(lua_State *L, int index);

/* The tensor at a stack index; NULL if it is none. Borrowed: valid while the Lua object lives. */
const struct tc_tensor *tc_lua_tensor(lua_State *L, int index);
/* Pushes a tensor; takes over its reference. */
void tc_lua_push_tensor(lua_State *L, struct tc_tensor tensor);

/* Fingerprint of what makes kernels and code: programs with the same one make the same artifact of a
 * graph. */
uint64_t tc_generators(const struct tc_context *ctx);

/* Version of blob, launch list and runtime contract: equal numbers can load each other's artifacts. */
enum { TC_ARTIFACT_ABI = 4 };

#endif
