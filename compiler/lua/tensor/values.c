/* Methods that read a tensor: sizes, elements, storage. They are no tensor functions: their results are Lua
 * values. */
#include "lua/module.h"
#include "tensor/host.h"

static const char *method_name(lua_State *L) { return tc_lua_closure_data(L); }
static const struct tc_tensor *self_of(lua_State *L) { return tc_lua_check_tensor(L, 1, method_name(L)); }

static void push_list(lua_State *L, int count, const int64_t *values) {
  lua_createtable(L, count, 0);
  for (int i = 0; i < count; i++) {
    lua_pushinteger(L, values[i]);
    lua_rawseti(L, -2, i + 1);
  }
}

/* Pushes values[d] for the dimension at argument 2 (1 … ndim, or negative), or all as a table. */
static int push_by_dim(lua_State *L, const struct tc_tensor *x, const int64_t *values) {
  if (lua_isnoneornil(L, 2)) {
    push_list(L, x->ndim, values);
    return 1;
  }
  int is_integer;
  const lua_Integer dim = lua_tointegerx(L, 2, &is_integer);
  if (!is_integer)
    return tc_lua_raise_text(L, method_name(L), "the dimension must be an integer, got %s",
                             luaL_typename(L, 2));
  if (dim == 0)
    return tc_lua_raise_text(L, method_name(L),
                             "dimension 0: dimensions count from 1 (negative ones from the end)");
  if (dim > x->ndim || dim < -x->ndim) {
    return tc_lua_raise_text(L, method_name(L), "dimension %lld is outside of a tensor of %d dimension%s",
                             (long long)dim, x->ndim, x->ndim == 1 ? "" : "s");
  }
  lua_pushinteger(L, values[dim > 0 ? dim - 1 : x->ndim + dim]);
  return 1;
}

static int method_size(lua_State *L) {
  const struct tc_tensor *x = self_of(L);
  return push_by_dim(L, x, x->sizes);
}
static int method_stride(lua_State *L) {
  const struct tc_tensor *x = self_of(L);
  return push_by_dim(L, x, x->strides);
}
static int method_dim(lua_State *L) {
  lua_pushinteger(L, self_of(L)->ndim);
  return 1;
}
static int method_numel(lua_State *L) {
  lua_pushinteger(L, tc_tensor_numel(self_of(L)));
  return 1;
}
static int method_is_contiguous(lua_State *L) {
  lua_pushboolean(L, tc_tensor_is_contiguous(self_of(L)));
  return 1;
}
static int method_data_ptr(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)(uintptr_t)tc_tensor_data(self_of(L)));
  return 1;
}
static int method_version(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)self_of(L)->storage->version);
  return 1;
}

/* Pushes an element of a tensor on the CPU. */
static void push_element(lua_State *L, const struct tc_tensor *x, int64_t index) {
  switch (tc_dtype_category(x->dtype)) {
    case TC_CATEGORY_BOOL: lua_pushboolean(L, tc_tensor_get_i64(x, index) != 0); return;
    case TC_CATEGORY_INT: lua_pushinteger(L, tc_tensor_get_i64(x, index)); return;
    case TC_CATEGORY_FLOAT: lua_pushnumber(L, tc_tensor_get_f64(x, index)); return;
  }
}

static int method_item(lua_State *L) {
  const struct tc_tensor *x = self_of(L);
  const int64_t count = tc_tensor_numel(x);
  if (count != 1)
    return tc_lua_raise_text(L, "item", "the tensor has %lld elements; item takes one of one element",
                             (long long)count);
  push_element(L, tc_lua_on_host(L, x, "item"), 0);
  return 1;
}

/* Pushes the part of `x` below dimension `dim` whose first element is *index, and moves *index behind it. */
static void push_nested(lua_State *L, const struct tc_tensor *x, int dim, int64_t *index) {
  if (dim == x->ndim) {
    push_element(L, x, (*index)++);
    return;
  }
  luaL_checkstack(L, LUA_MINSTACK, "tolist");
  lua_createtable(L, x->sizes[dim] < INT32_MAX ? (int)x->sizes[dim] : 0, 0);
  for (int64_t i = 0; i < x->sizes[dim]; i++) {
    push_nested(L, x, dim + 1, index);
    lua_rawseti(L, -2, i + 1);
  }
}

static int method_tolist(lua_State *L) {
  const struct tc_tensor *x = tc_lua_on_host(L, self_of(L), "tolist");
  int64_t index = 0;
  push_nested(L, x, 0, &index);
  return 1;
}

static const struct {
  const char *name;
  lua_CFunction function;
} methods[] = {
    {"size", method_size},
    {"stride", method_stride},
    {"dim", method_dim},
    {"numel", method_numel},
    {"item", method_item},
    {"tolist", method_tolist},
    {"is_contiguous", method_is_contiguous},
    {"data_ptr", method_data_ptr},
    {"version", method_version},
};

void tc_lua_open_values(lua_State *L) {
  for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
    tc_lua_closure(L, methods[i].function, methods[i].name);
    lua_setfield(L, -2, methods[i].name);
  }
}
