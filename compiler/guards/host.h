/* What capture and guards need to know of the Lua module's own objects. The module (lua/) fills one
 * and hands it in, so that no stage depends on the module. Stack indices are absolute. None of these
 * runs Lua code, and none raises a Lua error, but for push_tensor when memory is out. */
#ifndef TC_GUARDS_HOST_H
#define TC_GUARDS_HOST_H

#include <lua.h>

#include "ops/function.h"

struct tc_host {
  const struct tc_tensor *(*tensor_at)(lua_State *L, int index);     /* borrowed; NULL: not a tensor */
  const struct tc_function *(*function_at)(lua_State *L, int index); /* the tensor function behind a C closure; NULL */
  /* Of creation functions and of float results of integers; may be changed between calls. */
  tc_dtype (*default_dtype)(lua_State *L);
  /* The name of a function of the module that is no tensor function ("is_tensor"), for capture's library.def; NULL: it is none.
   * The hook itself may be NULL, and so may the next. */
  const char *(*name_at)(lua_State *L, int index);
  /* Of a compiled object: pushes the function that it compiles, and its first argument or nil, and gives true. */
  bool (*compiled_at)(lua_State *L, int index);
  /* Dimensions of the tensor that tb.mark_dynamic marked, as a bit set; may be NULL. */
  uint32_t (*marked_dims)(lua_State *L, int index);
  /* Pushes a tensor object; takes over the reference. */
  void (*push_tensor)(lua_State *L, struct tc_tensor tensor);
};

#endif
