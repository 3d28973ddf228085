/* What capture and guards know of this module's objects. None of these raises or runs Lua code, but for the
 * push of a tensor when memory is out, and the loading of what loads late. */
#include "lua/compile/compiled_object.h"

static const struct tc_function *function_at(lua_State *L, int index) {
  if (lua_tocfunction(L, index) != tc_lua_dispatch) return NULL;
  const char *name = lua_getupvalue(L, index, 1);
  if (!name) return NULL;
  const struct tc_function *function = lua_touserdata(L, -1);
  lua_pop(L, 1);
  return function;
}

static const char *name_at(lua_State *L, int index) {
  const char *name = tc_lua_create_name(lua_tocfunction(L, index));
  return name ? name : tc_lua_stance_function(lua_tocfunction(L, index));
}

static bool compiled_at(lua_State *L, int index) {
  if (!tc_lua_compiled_at(L, index)) return false;
  tc_lua_compiled_parts(L, index);
  return true;
}

static uint32_t marked_dims(lua_State *L, int index) {
  return tc_lua_tensor(L, index) ? ((const struct tc_lua_object *)lua_touserdata(L, index))->dynamic_dims : 0;
}

static tc_dtype default_dtype(lua_State *L) {
  const struct tc_lua_module *m = tc_lua_find_module(L);
  return m ? m->default_dtype : TC_F32;
}

_Static_assert(offsetof(struct tc_lua_object, tag) == offsetof(struct tc_host_object, tag) &&
                   offsetof(struct tc_lua_object, tensor) == offsetof(struct tc_host_object, tensor),
               "tensor objects begin as the guards read them");

void tc_lua_fill_host(struct tc_host *host) {
  host->tensor_at = tc_lua_tensor;
  host->object_bytes = sizeof(struct tc_lua_object);
  host->object_tag = &tc_lua_object_tag;
  host->function_at = function_at;
  host->name_at = name_at;
  host->compiled_at = compiled_at;
  host->marked_dims = marked_dims;
  host->default_dtype = default_dtype;
  host->push_tensor = tc_lua_push_tensor;
  host->load_late = tc_lua_load_late;
}
