/* What capture and guards need to know of the Lua module's own objects. The module (lua/) fills one
 * and hands it in, so that no stage depends on the module. Stack indices are absolute. None of these
 * runs Lua code, and none raises a Lua error, but for push_tensor when memory is out, and load_late. */
#ifndef TC_GUARDS_HOST_H
#define TC_GUARDS_HOST_H

#include <lua.h>

#include "ops/function.h"

/* How the full userdata of a tensor begins. */
struct tc_host_object {
  const void *tag;
  struct tc_tensor tensor;
};

struct tc_host {
  const struct tc_tensor *(*tensor_at)(lua_State *L, int index); /* borrowed; NULL: not a tensor */
  /* Where all tensors are userdata of one length, which begin with a tc_host_object that has this tag, and no
   * other userdata of that length does: what tensor_at looks at, so that a check need not call it.
   * object_bytes = 0: tensor_at alone knows. */
  size_t object_bytes;
  const void *object_tag;
  const struct tc_function *(*function_at)(lua_State *L,
                                           int index); /* the tensor function behind a C closure; NULL */
  /* Of creation functions and of float results of integers; may be changed between calls. */
  tc_dtype (*default_dtype)(lua_State *L);
  /* The name of a function of the module that is no tensor function ("is_tensor"), for capture's library.def;
   * NULL: it is none. The hook itself may be NULL, and so may the next. */
  const char *(*name_at)(lua_State *L, int index);
  /* Of a compiled object: pushes the function that it compiles, and its first argument or nil, and gives
   * true. */
  bool (*compiled_at)(lua_State *L, int index);
  /* Dimensions of the tensor that tb.mark_dynamic marked, as a bit set; may be NULL. */
  uint32_t (*marked_dims)(lua_State *L, int index);
  /* Pushes a tensor object; takes over the reference. */
  void (*push_tensor)(lua_State *L, struct tc_tensor tensor);
  /* Is it a table of the module's whose last fields come when one is missing? Then they are there afterwards,
   * and it is as if they had always been. May be NULL. */
  bool (*load_late)(lua_State *L, int index);
};

#endif
