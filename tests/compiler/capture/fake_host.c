/* The host of the capture tests; see fake_host.h. */
#include "tests/compiler/capture/fake_host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <lauxlib.h>
#include <lualib.h>
#include <string.h>

static const char tensor_class[] = "fake tensor";
static tc_dtype default_dtype_now = TC_F32;

struct fake_tensor {
  struct tc_tensor tensor;
  struct tc_storage storage;
};

static const struct tc_tensor *tensor_at(lua_State *L, int index) {
  struct fake_tensor *fake = luaL_testudata(L, index, tensor_class);
  return fake ? &fake->tensor : NULL;
}

static int refuse_call(lua_State *L) { return luaL_error(L, "fake tensor functions do not run"); }
static int unknown_called(lua_State *L) { return (void)L, 0; }

static const struct tc_function *function_at(lua_State *L, int index) {
  if (lua_tocfunction(L, index) != refuse_call || !lua_getupvalue(L, index, 1)) return NULL;
  const struct tc_function *function = lua_touserdata(L, -1);
  lua_pop(L, 1);
  return function;
}

static tc_dtype default_dtype(lua_State *L) { return (void)L, default_dtype_now; }
static void push_tensor(lua_State *L, struct tc_tensor tensor) { (void)tensor, lua_pushnil(L); }

const struct tc_host *fake_host(void) {
  static const struct tc_host host = {.tensor_at = tensor_at,
                                      .function_at = function_at,
                                      .default_dtype = default_dtype,
                                      .push_tensor = push_tensor};
  return &host;
}

static int read_list(lua_State *L, int index, int64_t *out) {
  const int count = (int)lua_rawlen(L, index);
  for (int i = 0; i < count; i++) {
    lua_rawgeti(L, index, i + 1);
    out[i] = lua_tointeger(L, -1);
    lua_pop(L, 1);
  }
  return count;
}

static int new_tensor(lua_State *L) {
  struct fake_tensor *fake = lua_newuserdatauv(L, sizeof *fake, 0);
  memset(fake, 0, sizeof *fake);
  fake->tensor.storage = &fake->storage;
  fake->tensor.dtype = TC_F32;
  if (lua_istable(L, 1)) {
    fake->tensor.ndim = read_list(L, 1, fake->tensor.sizes);
    if (lua_getfield(L, 1, "dtype") == LUA_TSTRING) tc_dtype_parse(lua_tostring(L, -1), &fake->tensor.dtype);
    lua_pop(L, 1);
  } else {
    for (int i = 1; i < lua_gettop(L); i++) fake->tensor.sizes[fake->tensor.ndim++] = lua_tointeger(L, i);
  }
  tc_contiguous_strides(fake->tensor.ndim, fake->tensor.sizes, fake->tensor.strides);
  if (lua_istable(L, 1) && lua_getfield(L, 1, "strides") == LUA_TTABLE)
    read_list(L, lua_gettop(L), fake->tensor.strides);
  lua_settop(L, lua_istable(L, 1) ? 2 : lua_gettop(L));
  luaL_setmetatable(L, tensor_class);
  return 1;
}

static int set_default_dtype(lua_State *L) {
  tc_dtype_parse(luaL_checkstring(L, 1), &default_dtype_now);
  return 0;
}

lua_State *fake_open(void) {
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  luaL_newmetatable(L, tensor_class);
  lua_pop(L, 1);
  lua_register(L, "tensor", new_tensor);
  lua_register(L, "set_default_dtype", set_default_dtype);
  lua_newtable(L);
  for (int i = 0; i < tc_function_count(); i++) {
    const struct tc_function *function = tc_function_at(i);
    lua_pushlightuserdata(L, (void *)(uintptr_t)function);
    lua_pushcclosure(L, refuse_call, 1);
    lua_setfield(L, -2, function->name);
  }
  lua_pushcfunction(L, unknown_called);
  lua_setfield(L, -2, "unknown");
  lua_setglobal(L, "tb");
  default_dtype_now = TC_F32;
  return L;
}

static struct tc_frame frame_at_top(lua_State *L, int n_args) {
  const int top = lua_gettop(L);
  return (struct tc_frame){.L = L, .function = top - n_args, .first_arg = top - n_args + 1, .n_args = n_args};
}

void fake_capture(lua_State *L, int n_args, struct fake_call *call) {
  const struct tc_frame frame = frame_at_top(L, n_args);
  memset(call, 0, sizeof *call);
  call->ctx.alloc = tc_alloc_system();
  call->status = tc_capture_call(&call->ctx, fake_host(), &frame, NULL, &call->capture, &call->err);
}

void fake_release(lua_State *L, struct fake_call *call) { tc_capture_free(&call->capture, L); }

int fake_check(lua_State *L, int n_args, const struct fake_call *call) {
  enum { MOST_INPUTS = 64 };
  const struct tc_tensor *inputs[MOST_INPUTS];
  const struct tc_frame frame = frame_at_top(L, n_args);
  return tc_guards_match(call->capture.guards, &frame, &(struct tc_guard_values){.inputs = inputs});
}

char *fake_guards_text(const struct tc_guards *guards) {
  struct tc_strbuf text;
  tc_strbuf_init(&text, tc_alloc_system());
  tc_guards_explain(guards, NULL, 0, &text);
  char *copy = strdup(tc_strbuf_text(&text));
  tc_strbuf_free(&text);
  assert_non_null(copy);
  return copy;
}

int fake_load(lua_State *L, const char *chunk) {
  lua_settop(L, 0);
  if (luaL_loadbuffer(L, chunk, strlen(chunk), "=test") || lua_pcall(L, 0, LUA_MULTRET, 0)) {
    fprintf(stderr, "%s\n", lua_tostring(L, -1));
    return -1;
  }
  return lua_gettop(L) - 1;
}

void fake_check_guard(const char *chunk, const char *change, const char *failing) {
  lua_State *L = fake_open();
  struct fake_call call;
  struct tc_strbuf text;
  const int n_args = fake_load(L, chunk);
  assert_true(n_args >= 0);
  fake_capture(L, n_args, &call);
  if (call.status) fail_msg("%s: %s", chunk, call.err.message);
  if (call.capture.broke) fail_msg("%s: break %s", chunk, call.capture.break_.detail);
  assert_int_equal(fake_check(L, n_args, &call), 0);
  assert_int_equal(luaL_loadstring(L, change), LUA_OK);
  assert_int_equal(lua_pcall(L, 0, LUA_MULTRET, 0), LUA_OK);
  const int changed = lua_gettop(L) - n_args - 1; /* new arguments, when it returned some */
  if (changed > 0) lua_pushvalue(L, 1);
  for (int i = 1; changed > 0 && i <= changed; i++) lua_pushvalue(L, n_args + 1 + i);
  const int guard = fake_check(L, changed > 0 ? changed : n_args, &call);
  tc_strbuf_init(&text, tc_alloc_system());
  if (guard) tc_guards_explain(call.capture.guards, NULL, guard, &text);
  assert_string_equal(guard ? tc_strbuf_text(&text) : "all hold", failing);
  tc_strbuf_free(&text);
  fake_release(L, &call);
  lua_close(L);
}

void fake_recipes(const struct fake_call *call, struct tc_strbuf *out) {
  tc_replay_text(call->capture.replay, call->capture.guards, out);
}

/* --- failing allocations --- */

struct failing {
  struct tc_alloc alloc;
  long left, live;
};

static void *failing_resize(void *self, void *block, size_t old_bytes, size_t new_bytes) {
  struct failing *f = self;
  if (new_bytes && (!block || new_bytes > old_bytes) && f->left-- <= 0) return NULL;
  f->live += (long)new_bytes - (long)(block ? old_bytes : 0);
  return tc_alloc_system()->resize(tc_alloc_system()->self, block, old_bytes, new_bytes);
}

void fake_fail_allocations(lua_State *L, int n_args) {
  enum { MOST = 2000 };
  const int top = lua_gettop(L);
  bool done = false;
  for (long n = 0; !done; n++) {
    struct failing failing = {{failing_resize, NULL}, n, 0};
    failing.alloc.self = &failing;
    struct fake_call call = {.ctx = {.alloc = &failing.alloc}};
    const struct tc_frame frame = frame_at_top(L, n_args);
    call.status = tc_capture_call(&call.ctx, fake_host(), &frame, NULL, &call.capture, &call.err);
    assert_int_equal(lua_gettop(L), top);
    assert_false(call.capture.broke);
    done = call.status == TC_OK;
    if (!done) assert_int_equal(call.status, TC_NOMEM);
    fake_release(L, &call);
    assert_int_equal(failing.live, 0);
    assert_true(n < MOST);
  }
}
