/* Methods that write their tensor: x:add_(y) computes as x:add(y), then copies the result into x.
 *
 * Invariants:
 *  1. What is written keeps its dtype and shape; a result of a higher category (a float into an i64 tensor)
 *     is refused.
 *  2. Each call bumps the version of the storage once.
 *  3. Each returns x itself. */
#include "device/eager.h"
#include "lua/module.h"
#include "tensor/host.h"

static tc_status copy_into(struct tc_lua_module *m, const struct tc_tensor *target,
                           const struct tc_tensor *source, struct tc_error *err) {
  const struct tc_tensor *operands[] = {target, source};
  const struct tc_attrs none = {0};
  struct tc_tensor written;
  const tc_status status = tc_eager_run(&m->ctx, TC_OP_copy_, 2, operands, &none, &written, err);
  if (!status) tc_tensor_release(&written);
  return status;
}

static tc_status write_result(struct tc_lua_module *m, const struct tc_tensor *x,
                              const struct tc_tensor *result, struct tc_error *err) {
  if (tc_dtype_category(result->dtype) > tc_dtype_category(x->dtype)) {
    return tc_fail(err, TC_DTYPE, "lua", "a result of dtype %s cannot be written into a tensor of dtype %s",
                   tc_dtype_name(result->dtype), tc_dtype_name(x->dtype));
  }
  return copy_into(m, x, result, err);
}

struct inplace {
  const char *name, *function;
};

static int method_inplace(lua_State *L) {
  const struct inplace *row = tc_lua_closure_data(L);
  struct tc_lua_module *m = tc_lua_closure_module(L);
  const struct tc_tensor *x = tc_lua_check_tensor(L, 1, row->name);
  struct tc_tensor result;
  struct tc_error err;
  tc_lua_gc_pressure(L, m);
  tc_status status = tc_lua_run_one(L, m, tc_function_find(row->function), lua_gettop(L), &result, &err);
  if (!status) {
    status = write_result(m, x, &result, &err);
    tc_tensor_release(&result);
  }
  if (status) return tc_lua_raise(L, row->name, &err);
  lua_settop(L, 1);
  return 1;
}

static int method_copy(lua_State *L) {
  struct tc_lua_module *m = tc_lua_closure_module(L);
  const struct tc_tensor *x = tc_lua_check_tensor(L, 1, "copy_"),
                         *source = tc_lua_check_tensor(L, 2, "copy_");
  struct tc_error err = {.message = ""};
  if (copy_into(m, x, source, &err)) return tc_lua_raise(L, "copy_", &err);
  lua_settop(L, 1);
  return 1;
}

/* A scalar tensor of the dtype of `x`, for the number or boolean at argument 2. */
static tc_status make_scalar(lua_State *L, const struct tc_tensor *x, struct tc_tensor *out,
                             struct tc_error *err) {
  const bool is_boolean = lua_isboolean(L, 2);
  const lua_Number number = is_boolean ? lua_toboolean(L, 2) : lua_tonumber(L, 2);
  lua_Integer integer = 0;
  if (!tc_dtype_is_float(x->dtype)) {
    int fits = 1;
    integer = is_boolean ? lua_toboolean(L, 2) : lua_tointegerx(L, 2, &fits);
    if (!fits)
      return tc_fail(err, TC_DTYPE, "lua", "%.14g does not fit into a tensor of dtype %s", number,
                     tc_dtype_name(x->dtype));
    if (x->dtype == TC_BOOL) integer = integer != 0;
  }
  struct tc_host_view view;
  tc_status status = tc_tensor_new(x->storage->device, x->dtype, 0, NULL, out, err);
  if (status) return status;
  if (!(status = tc_host_write(out, &view, err))) {
    if (tc_dtype_is_float(x->dtype))
      tc_host_set_f64(&view, 0, number);
    else
      tc_host_set_i64(&view, 0, integer);
    status = tc_host_end(&view, err);
  }
  if (status) tc_tensor_release(out);
  return status;
}

static int fill_with_argument(lua_State *L, const char *name) {
  struct tc_lua_module *m = tc_lua_closure_module(L);
  const struct tc_tensor *x = tc_lua_check_tensor(L, 1, name);
  struct tc_error err = {.message = ""};
  struct tc_tensor scalar;
  if (!lua_isboolean(L, 2) && lua_type(L, 2) != LUA_TNUMBER) {
    return tc_lua_raise_text(L, name, "the value must be a number or a boolean, got %s", luaL_typename(L, 2));
  }
  tc_status status = make_scalar(L, x, &scalar, &err);
  if (!status) {
    status = copy_into(m, x, &scalar, &err);
    tc_tensor_release(&scalar);
  }
  if (status) return tc_lua_raise(L, name, &err);
  lua_settop(L, 1);
  return 1;
}

static int method_fill(lua_State *L) { return fill_with_argument(L, "fill_"); }
static int method_zero(lua_State *L) {
  lua_settop(L, 1);
  lua_pushinteger(L, 0);
  return fill_with_argument(L, "zero_");
}

static const struct inplace arithmetic[] = {
    {"add_", "add"}, {"sub_", "sub"}, {"mul_", "mul"}, {"div_", "div"}};
static const struct {
  const char *name;
  lua_CFunction function;
} writes[] = {{"copy_", method_copy}, {"fill_", method_fill}, {"zero_", method_zero}};

void tc_lua_open_inplace(lua_State *L) {
  for (size_t i = 0; i < sizeof arithmetic / sizeof *arithmetic; i++) {
    tc_lua_closure(L, method_inplace, &arithmetic[i]);
    lua_setfield(L, -2, arithmetic[i].name);
  }
  for (size_t i = 0; i < sizeof writes / sizeof *writes; i++) {
    tc_lua_closure(L, writes[i].function, NULL);
    lua_setfield(L, -2, writes[i].name);
  }
}
