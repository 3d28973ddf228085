/* Functions of the module that are no tensor functions: tensors from Lua data, seeds, the default dtype.
 *
 * Invariants:
 *  1. tb.tensor checks the whole of a nested table before it allocates: all tables of one depth have one
 *     length.
 *  2. The tensor being filled lies in its Lua object from the start, so that a raise leaks nothing. */
#include <string.h>

#include "device/eager.h"
#include "lua/module.h"
#include "tensor/host.h"

struct literal {
  lua_State *L;
  int ndim;
  int64_t sizes[TC_MAX_DIMS];
  enum tc_category category;
};

static const char *const NAME = "tensor";

/* The sizes along the first items of the value at the stack top: {{1, 2}, {3, 4}} is [2, 2]. */
static void measure(struct literal *s) {
  lua_State *L = s->L;
  const int top = lua_gettop(L);
  lua_pushvalue(L, -1);
  while (lua_type(L, -1) == LUA_TTABLE) {
    if (s->ndim == TC_MAX_DIMS)
      tc_lua_raise_text(L, NAME, "tables are nested more than %d deep", TC_MAX_DIMS);
    luaL_checkstack(L, LUA_MINSTACK, NAME);
    const int64_t size = (int64_t)lua_rawlen(L, -1);
    s->sizes[s->ndim++] = size;
    if (size == 0) break;
    lua_rawgeti(L, -1, 1);
  }
  lua_settop(L, top);
}

static void note_category(struct literal *s, enum tc_category category) {
  if (category > s->category) s->category = category;
}

/* Checks the value at the stack top, and what lies below it. */
static void check(struct literal *s, int dim) {
  lua_State *L = s->L;
  const int type = lua_type(L, -1);
  if (dim < s->ndim) {
    const long long size = s->sizes[dim];
    if (type != LUA_TTABLE) {
      tc_lua_raise_text(L, NAME, "a %s where dimension %d has tables of %lld items", luaL_typename(L, -1),
                        dim + 1, size);
    }
    if ((long long)lua_rawlen(L, -1) != size) {
      tc_lua_raise_text(L, NAME, "tables of %lld and of %lld items in dimension %d", size,
                        (long long)lua_rawlen(L, -1), dim + 1);
    }
    for (int64_t i = 1; i <= size; i++) {
      lua_rawgeti(L, -1, i);
      check(s, dim + 1);
      lua_pop(L, 1);
    }
    return;
  }
  if (type == LUA_TNUMBER)
    note_category(s, lua_isinteger(L, -1) ? TC_CATEGORY_INT : TC_CATEGORY_FLOAT);
  else if (type != LUA_TBOOLEAN)
    tc_lua_raise_text(L, NAME, "an element that is a %s; elements are numbers or booleans",
                      luaL_typename(L, -1));
}

static void store(lua_State *L, const struct tc_host_view *view, int64_t index) {
  const bool is_boolean = lua_isboolean(L, -1);
  if (view->tensor.dtype == TC_I64) {
    int fits = 1;
    const lua_Integer value = is_boolean ? lua_toboolean(L, -1) : lua_tointegerx(L, -1, &fits);
    if (!fits) tc_lua_raise_text(L, NAME, "%f does not fit into dtype i64", lua_tonumber(L, -1));
    tc_host_set_i64(view, index, value);
  } else {
    tc_host_set_f64(view, index, is_boolean ? lua_toboolean(L, -1) : lua_tonumber(L, -1));
  }
}

/* Stores the value at the stack top, and what lies below it; *index is the next element. */
static void fill(lua_State *L, const struct tc_host_view *view, int dim, int64_t *index) {
  if (dim == view->tensor.ndim) {
    store(L, view, (*index)++);
    return;
  }
  for (int64_t i = 1; i <= view->tensor.sizes[dim]; i++) {
    lua_rawgeti(L, -1, i);
    fill(L, view, dim + 1, index);
    lua_pop(L, 1);
  }
}

/* Reads a dtype from a field of the option table at argument 2; false without one. */
static bool option_dtype(lua_State *L, const char *field, tc_dtype *dtype) {
  if (lua_isnil(L, 2)) return false;
  if (!lua_istable(L, 2))
    tc_lua_raise_text(L, NAME, "argument 2 must be a table of options, got %s", luaL_typename(L, 2));
  const int type = lua_getfield(L, 2, field);
  const char *text = type == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
  if (type != LUA_TNIL && !text)
    tc_lua_raise_text(L, NAME, "%s must be a text, got %s", field, luaL_typename(L, -1));
  if (text && !tc_dtype_parse(text, dtype))
    tc_lua_raise_text(L, NAME, "'%s' is no dtype; there are f32, f64, bf16, i64 and bool", text);
  lua_pop(L, 1);
  return text != NULL;
}

static tc_dtype literal_dtype(const struct literal *s, tc_dtype default_dtype) {
  const bool empty = s->ndim > 0 && s->sizes[s->ndim - 1] == 0;
  if (empty || s->category == TC_CATEGORY_FLOAT) return default_dtype;
  return s->category == TC_CATEGORY_INT ? TC_I64 : TC_BOOL;
}

/* Moves the CPU's tensor of an object to the device on which tensors are created. */
static void move_to_default(lua_State *L, struct tc_lua_module *m, struct tc_lua_object *object) {
  struct tc_error err = {.message = ""};
  struct tc_tensor moved;
  if (m->ctx.device == m->ctx.cpu) return;
  if (tc_tensor_to(&object->tensor, m->ctx.device, &moved, &err)) tc_lua_raise(L, NAME, &err);
  tc_tensor_release(&object->tensor);
  object->tensor = moved;
}

/* Pushes the value at the stack top as a tensor. It is filled on the CPU, whose views hold nothing that a
 * raise could leak. */
static struct tc_lua_object *push_literal(lua_State *L, struct tc_lua_module *m, const struct literal *s,
                                          tc_dtype dtype) {
  struct tc_error err = {.message = ""};
  struct tc_lua_object *object = tc_lua_new_object(L, lua_upvalueindex(TC_LUA_METATABLE));
  if (tc_tensor_new(m->ctx.cpu, dtype, s->ndim, s->sizes, &object->tensor, &err)) {
    object->tensor.storage = NULL;
    tc_lua_raise(L, NAME, &err);
  }
  struct tc_host_view view;
  int64_t index = 0;
  lua_pushvalue(L, -2);
  (void)tc_host_write(&object->tensor, &view, &err); /* the CPU's: never fails */
  fill(L, &view, 0, &index);
  lua_pop(L, 1);
  move_to_default(L, m, object);
  return object;
}

/* Pushes the tensor in another dtype. */
static void push_cast(lua_State *L, struct tc_lua_module *m, const struct tc_tensor *x, tc_dtype dtype) {
  struct tc_error err = {.message = ""};
  const tc_sym ints[] = {tc_sym_const(dtype)};
  const struct tc_attrs attrs = {.ints = ints, .n_ints = 1};
  struct tc_lua_object *object = tc_lua_new_object(L, lua_upvalueindex(TC_LUA_METATABLE));
  if (tc_eager_run(&m->ctx, TC_OP_cast, 1, &x, &attrs, &object->tensor, &err)) {
    object->tensor.storage = NULL;
    tc_lua_raise(L, NAME, &err);
  }
}

/* tb.tensor(value, {dtype=, reference_dtype=}): rounded to the dtype, then widened to the reference's. */
static int create_tensor(lua_State *L) {
  struct tc_lua_module *m = tc_lua_closure_module(L);
  struct literal s = {.L = L, .category = TC_CATEGORY_BOOL};
  luaL_checkany(L, 1);
  if (tc_lua_tensor(L, 1))
    return tc_lua_raise_text(L, NAME, "the argument is a tensor already; use clone or to");
  lua_settop(L, 2);
  lua_pushvalue(L, 1);
  measure(&s);
  check(&s, 0);
  tc_dtype dtype = literal_dtype(&s, m->default_dtype), reference;
  option_dtype(L, "dtype", &dtype);
  const bool has_reference = option_dtype(L, "reference_dtype", &reference);
  tc_lua_gc_pressure(L, m);
  const struct tc_lua_object *object = push_literal(L, m, &s, dtype);
  if (has_reference && tc_dtype_is_float(dtype)) push_cast(L, m, &object->tensor, reference);
  return 1;
}

static int is_tensor(lua_State *L) {
  lua_pushboolean(L, tc_lua_tensor(L, 1) != NULL);
  return 1;
}

static int manual_seed(lua_State *L) {
  struct tc_lua_module *m = tc_lua_closure_module(L);
  int is_integer;
  const lua_Integer seed = lua_tointegerx(L, 1, &is_integer);
  if (!is_integer)
    return tc_lua_raise_text(L, "manual_seed", "the seed must be an integer, got %s", luaL_typename(L, 1));
  m->ctx.rng = (struct tc_rng){.seed = (uint64_t)seed, .next = 0};
  return 0;
}

static int get_default_dtype(lua_State *L) {
  lua_pushstring(L, tc_dtype_name(tc_lua_closure_module(L)->default_dtype));
  return 1;
}

static int set_default_dtype(lua_State *L) {
  struct tc_lua_module *m = tc_lua_closure_module(L);
  const char *text = lua_type(L, 1) == LUA_TSTRING ? lua_tostring(L, 1) : NULL;
  tc_dtype dtype;
  if (!text || !tc_dtype_parse(text, &dtype) || !tc_dtype_is_float(dtype)) {
    return tc_lua_raise_text(L, "set_default_dtype", "takes bf16, f32 or f64, got %s",
                             text ? text : luaL_typename(L, 1));
  }
  m->default_dtype = dtype;
  return 0;
}

static int get_num_threads(lua_State *L) {
  lua_pushinteger(L, tc_lua_closure_module(L)->ctx.device->threads);
  return 1;
}

static void set_count(lua_State *L, const char *name, int64_t value) {
  lua_pushinteger(L, value);
  lua_setfield(L, -2, name);
}

/* tb.memory_stats(): bytes of tensors, and the collections that their pressure started. */
static int memory_stats(lua_State *L) {
  const struct tc_lua_module *m = tc_lua_closure_module(L);
  lua_newtable(L);
  set_count(L, "bytes_live", m->ctx.device->bytes_live);
  set_count(L, "bytes_peak", m->ctx.device->bytes_peak);
  set_count(L, "young_collections", (int64_t)m->gc_young);
  set_count(L, "full_collections", (int64_t)m->gc_full);
  return 1;
}

static int suite(lua_State *L) {
  if (!lua_istable(L, 1))
    return tc_lua_raise_text(L, "suite", "takes the table that describes a suite, got %s",
                             luaL_typename(L, 1));
  lua_settop(L, 1);
  luaL_setmetatable(L, TC_LUA_SUITE);
  return 1;
}

static const struct {
  const char *name;
  lua_CFunction function;
} functions[] = {
    {"tensor", create_tensor},
    {"is_tensor", is_tensor},
    {"manual_seed", manual_seed},
    {"get_default_dtype", get_default_dtype},
    {"set_default_dtype", set_default_dtype},
    {"get_num_threads", get_num_threads},
    {"memory_stats", memory_stats},
    {"suite", suite},
};

const char *tc_lua_create_name(lua_CFunction function) {
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
    if (functions[i].function == function) return functions[i].name;
  return NULL;
}

void tc_lua_open_create(lua_State *L) {
  luaL_newmetatable(L, TC_LUA_SUITE);
  lua_pop(L, 1);
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    tc_lua_closure(L, functions[i].function, NULL);
    lua_setfield(L, -2, functions[i].name);
  }
}
