/* The tensor object of Lua: its metatable, indexing, and the public calls.
 *
 * Invariants:
 *  1. An object is a tensor while its tag says so; __gc drops the storage and clears the tag, so that a
 *     finalizer of the program that meets a finalized tensor gets an error.
 *  2. An object whose storage is NULL is being made and is not visible to Lua code.
 *  3. Methods are found in one table: those of functions.def by their own names, the rest from values.c and
 *     inplace.c. */
#include <string.h>

#include "device/eager.h"
#include "lua/module.h"
#include "tensor/host.h"

const char tc_lua_object_tag = 't';
static const char metatable_key = 'm';

const struct tc_tensor *tc_lua_tensor(lua_State *L, int index) {
  const struct tc_lua_object *object = lua_touserdata(L, index);
  if (!object || lua_rawlen(L, index) != sizeof *object || object->tag != &tc_lua_object_tag) return NULL;
  return &object->tensor;
}

const struct tc_tensor *tc_lua_check_tensor(lua_State *L, int index, const char *name) {
  const struct tc_tensor *tensor = tc_lua_tensor(L, index);
  if (!tensor)
    tc_lua_raise_text(L, name, "argument %d is no tensor (got %s)", index, luaL_typename(L, index));
  return tensor;
}

const struct tc_tensor *tc_lua_on_host(lua_State *L, const struct tc_tensor *x, const char *name) {
  struct tc_error err = {.message = ""};
  if (tc_host_owns(x->storage)) return x;
  luaL_checkstack(L, LUA_MINSTACK, name);
  tc_lua_push_metatable(L);
  struct tc_lua_object *object = tc_lua_new_object(L, lua_gettop(L));
  lua_replace(L, -2);
  if (tc_tensor_to(x, tc_lua_module(L)->ctx.cpu, &object->tensor, &err)) {
    object->tensor.storage = NULL;
    tc_lua_raise(L, name, &err);
  }
  return &object->tensor;
}

struct tc_lua_object *tc_lua_new_object(lua_State *L, int metatable) {
  struct tc_lua_object *object = lua_newuserdatauv(L, sizeof *object, 0);
  object->tag = &tc_lua_object_tag;
  object->tensor.storage = NULL;
  object->dynamic_dims = 0;
  lua_pushvalue(L, metatable);
  lua_setmetatable(L, -2);
  return object;
}

void tc_lua_push_metatable(lua_State *L) { lua_rawgetp(L, LUA_REGISTRYINDEX, &metatable_key); }

/* Stack: light userdata of the tensor. */
static int push_protected(lua_State *L) {
  struct tc_tensor *tensor = lua_touserdata(L, 1);
  tc_lua_push_metatable(L);
  tc_lua_new_object(L, lua_gettop(L))->tensor = *tensor;
  tensor->storage = NULL;
  return 1;
}

void tc_lua_push_tensor(lua_State *L, struct tc_tensor tensor) {
  if (!lua_checkstack(L, LUA_MINSTACK)) {
    tc_tensor_release(&tensor);
    luaL_error(L, "no room on the Lua stack for a tensor");
  }
  lua_pushcfunction(L, push_protected);
  lua_pushlightuserdata(L, &tensor);
  if (lua_pcall(L, 1, 1, 0) == LUA_OK) return;
  tc_tensor_release(&tensor);
  lua_error(L);
}

static int tensor_gc(lua_State *L) {
  struct tc_lua_object *object = lua_touserdata(L, 1);
  if (object->tag != &tc_lua_object_tag) return 0;
  object->tag = NULL;
  tc_tensor_release(&object->tensor);
  return 0;
}

/* x[i]: one of the first dimension, without that dimension. */
static tc_status select_first(struct tc_lua_module *m, const struct tc_tensor *x, int64_t index,
                              struct tc_tensor *out, struct tc_error *err) {
  const int64_t size = x->ndim ? x->sizes[0] : 0;
  if (x->ndim == 0)
    return tc_fail(err, TC_INDEX, "lua",
                   "a tensor without dimensions has no elements to index; use x:item()");
  if (index == 0)
    return tc_fail(err, TC_INDEX, "lua", "index 0: indices count from 1 (negative ones from the end)");
  if (index > size || index < -size) {
    return tc_fail(err, TC_INDEX, "lua", "index %lld is outside of dimension 1 of size %lld",
                   (long long)index, (long long)size);
  }
  const int64_t start = index > 0 ? index - 1 : size + index;
  const tc_sym slice_ints[] = {tc_sym_const(0), tc_sym_const(start), tc_sym_const(1),
                               tc_sym_const(1)}; /* dim, start, length, step */
  const tc_sym squeeze_ints[] = {tc_sym_const(0)};
  const struct tc_attrs slice = {.ints = slice_ints, .n_ints = 4},
                        squeeze = {.ints = squeeze_ints, .n_ints = 1};
  struct tc_tensor row;
  tc_status status = tc_eager_run(&m->ctx, TC_OP_slice, 1, &x, &slice, &row, err);
  if (status) return status;
  const struct tc_tensor *rows = &row;
  status = tc_eager_run(&m->ctx, TC_OP_squeeze, 1, &rows, &squeeze, out, err);
  tc_tensor_release(&row);
  return status;
}

static int index_integer(lua_State *L, const struct tc_tensor *x) {
  struct tc_lua_module *m = tc_lua_closure_module(L);
  struct tc_error err = {.message = ""};
  const int64_t index = lua_tointeger(L, 2);
  struct tc_lua_object *object = tc_lua_new_object(L, lua_upvalueindex(TC_LUA_METATABLE));
  if (select_first(m, x, index, &object->tensor, &err)) {
    object->tensor.storage = NULL;
    return tc_lua_raise(L, "x[i]", &err);
  }
  return 1;
}

static int index_property(lua_State *L, const struct tc_tensor *x) {
  const char *key = lua_tostring(L, 2);
  if (!strcmp(key, "shape")) {
    lua_createtable(L, x->ndim, 0);
    for (int d = 0; d < x->ndim; d++) {
      lua_pushinteger(L, x->sizes[d]);
      lua_rawseti(L, -2, d + 1);
    }
  } else if (!strcmp(key, "dtype")) {
    lua_pushstring(L, tc_dtype_name(x->dtype));
  } else if (!strcmp(key, "device")) {
    lua_pushstring(L, x->storage->device->base.name);
  } else {
    return tc_lua_raise_text(L, "tensor", "there is no method or property \"%s\"", key);
  }
  return 1;
}

static int tensor_index(lua_State *L) {
  const struct tc_tensor *x = tc_lua_check_tensor(L, 1, "index");
  switch (lua_type(L, 2)) {
    case LUA_TSTRING:
      lua_pushvalue(L, 2);
      if (lua_rawget(L, lua_upvalueindex(TC_LUA_EXTRA)) != LUA_TNIL) return 1;
      return index_property(L, x);
    case LUA_TNUMBER:
      if (lua_isinteger(L, 2)) return index_integer(L, x);
      return tc_lua_raise_text(L, "x[i]", "the index %f is no integer", lua_tonumber(L, 2));
    default:
      return tc_lua_raise_text(L, "x[i]", "a %s is no index; use narrow, index_select or gather",
                               luaL_typename(L, 2));
  }
}

static int tensor_newindex(lua_State *L) {
  return tc_lua_raise_text(L, "x[i] = v",
                           "elements are not set by assignment; use x[i]:copy_(v) or x[i]:fill_(v)");
}

static int tensor_len(lua_State *L) {
  const struct tc_tensor *x = tc_lua_check_tensor(L, 1, "#");
  if (x->ndim == 0) return tc_lua_raise_text(L, "#", "a tensor without dimensions has no length");
  lua_pushinteger(L, x->sizes[0]);
  return 1;
}

/* Operators that are tensor functions (tc_function_for_event). `==` stays identity and ordering raises: Lua's
 * comparisons give one boolean, tensors compare by methods (eq, lt, …). */
static const char *const operators[] = {"__add",  "__sub", "__mul", "__div",
                                        "__idiv", "__mod", "__pow", "__unm"};

static int tensor_order(lua_State *L) {
  return tc_lua_raise_text(
      L, "comparison",
      "Lua's < and <= give one boolean; compare tensors by x:lt(y), x:le(y), x:gt(y), x:ge(y)");
}

static void push_methods(lua_State *L) {
  lua_createtable(L, 0, tc_function_count());
  for (int i = 0; i < tc_function_count(); i++) {
    const struct tc_function *function = tc_function_at(i);
    if (!function->is_method) continue;
    tc_lua_push_function(L, function);
    lua_setfield(L, -2, function->name);
  }
  tc_lua_open_values(L);
  tc_lua_open_inplace(L);
}

static void set_closure(lua_State *L, const char *event, lua_CFunction function) {
  tc_lua_closure(L, function, NULL);
  lua_setfield(L, -2, event);
}

void tc_lua_fill_metatable(lua_State *L) {
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &metatable_key);
  lua_pushliteral(L, "tensor");
  lua_setfield(L, -2, "__name");
  lua_pushliteral(L, "tensor");
  lua_setfield(L, -2, "__metatable"); /* what tensors do is fixed: captured graphs rest on it */
  for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
    const bool is_unary = !strcmp(operators[i], "__unm");
    tc_lua_closure(L, is_unary ? tc_lua_dispatch_unary : tc_lua_dispatch,
                   tc_function_for_event(operators[i]));
    lua_setfield(L, -2, operators[i]);
  }
  set_closure(L, "__lt", tensor_order);
  set_closure(L, "__le", tensor_order);
  set_closure(L, "__len", tensor_len);
  set_closure(L, "__newindex", tensor_newindex);
  set_closure(L, "__tostring", tc_lua_tostring);
  lua_pushcfunction(L, tensor_gc);
  lua_setfield(L, -2, "__gc");
  push_methods(L);
  tc_lua_closure_over(L, tensor_index, NULL);
  lua_setfield(L, -2, "__index");
}
