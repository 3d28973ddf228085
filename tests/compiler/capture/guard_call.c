/* Calls and guards about them; see guard_call.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <lauxlib.h>
#include <string.h>

#include "tests/compiler/capture/guard_call.h"

void guard_open(struct guard_call *c, const char *chunk) {
  struct tc_error err;
  memset(c, 0, sizeof *c);
  c->L = fake_open();
  const int n_args = fake_load(c->L, chunk);
  assert_true(n_args >= 0);
  c->frame = (struct tc_frame){.L = c->L, .function = 1, .first_arg = 2, .n_args = n_args};
  assert_int_equal(tc_guards_new(tc_alloc_system(), fake_host(), c->L, &c->g, &err), TC_OK);
}

void guard_close(struct guard_call *c) {
  tc_guards_free(c->g, c->L);
  lua_close(c->L);
}

void guard_seal(struct guard_call *c) {
  struct tc_error err;
  assert_int_equal(tc_guards_seal(c->g, &err), TC_OK);
}

int guard_check(struct guard_call *c) {
  const struct tc_guard_values values = {c->inputs, c->sizes, c->scalars};
  const int top = lua_gettop(c->L);
  const int failed = tc_guards_match(c->g, &c->frame, &values);
  assert_int_equal(lua_gettop(c->L), top);
  return failed;
}

void guard_run(struct guard_call *c, const char *text) {
  if (luaL_dostring(c->L, text)) fail_msg("%s: %s", text, lua_tostring(c->L, -1));
  lua_settop(c->L, c->frame.n_args + 1);
}

void guard_set_arg(struct guard_call *c, int number, const char *expression) {
  lua_pushfstring(c->L, "return %s", expression);
  if (luaL_dostring(c->L, lua_tostring(c->L, -1))) fail_msg("%s: %s", expression, lua_tostring(c->L, -1));
  lua_replace(c->L, c->frame.first_arg + number);
  lua_settop(c->L, c->frame.n_args + 1);
}

void guard_assert_fails(struct guard_call *c, const char *expected) {
  struct tc_strbuf text;
  tc_strbuf_init(&text, tc_alloc_system());
  const int failed = guard_check(c);
  if (failed) tc_guards_explain(c->g, &c->frame, failed, &text);
  assert_string_equal(tc_strbuf_text(&text) ? text.data : "", expected);
  tc_strbuf_free(&text);
}

void guard_assert_text(struct guard_call *c, int source, const char *expected) {
  struct tc_strbuf text;
  tc_strbuf_init(&text, tc_alloc_system());
  tc_guards_source_text(c->g, source, &text);
  assert_string_equal(tc_strbuf_text(&text), expected);
  tc_strbuf_free(&text);
}

int guard_field(struct guard_call *c, int parent, const char *name) {
  lua_pushstring(c->L, name);
  const int source = tc_guards_field(c->g, c->L, parent, lua_gettop(c->L));
  lua_pop(c->L, 1);
  return source;
}
void guard_push(struct guard_call *c, const char *expression) {
  lua_pushfstring(c->L, "return %s", expression);
  if (luaL_dostring(c->L, lua_tostring(c->L, -1))) fail_msg("%s: %s", expression, lua_tostring(c->L, -1));
  lua_remove(c->L, -2);
}
int guard_constant(struct guard_call *c, const char *expression) {
  guard_push(c, expression);
  const int source = tc_guards_constant(c->g, c->L, lua_gettop(c->L));
  lua_pop(c->L, 1);
  return source;
}
void guard_equal(struct guard_call *c, int source, const char *expression) {
  guard_push(c, expression);
  tc_guards_equal(c->g, c->L, source, lua_gettop(c->L));
  lua_pop(c->L, 1);
}
const struct tc_tensor *guard_tensor(struct guard_call *c, int index) {
  const struct tc_tensor *tensor = fake_host()->tensor_at(c->L, index);
  assert_non_null(tensor);
  return tensor;
}

void guard_all(struct guard_call *c, int source) {
  lua_State *L = c->L;
  const int at = lua_gettop(L);
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  if (fake_host()->tensor_at(L, at)) {
    tc_guards_tensor(c->g, source, guard_tensor(c, at));
    tc_guards_input(c->g, source);
  } else if (lua_istable(L, at)) {
    int n_keys = 0;
    tc_guards_type(c->g, source, LUA_TTABLE);
    tc_guards_metatable(c->g, L, source, lua_getmetatable(L, at) ? at + 1 : 0);
    lua_settop(L, at);
    lua_newtable(L);
    for (lua_pushnil(L); lua_next(L, at);) {
      lua_pushvalue(L, -2);
      lua_rawseti(L, at + 1, ++n_keys);
      guard_all(c, tc_guards_field(c->g, L, source, lua_gettop(L) - 1));
    }
    tc_guards_keys(c->g, L, source, at + 1, n_keys);
    tc_guards_length(c->g, source, (int64_t)lua_rawlen(L, at));
    if (tc_guards_is_sequence(L, at)) tc_guards_sequence(c->g, source);
  } else if (lua_isfunction(L, at) || lua_isuserdata(L, at)) {
    tc_guards_identity(c->g, L, source, at);
  } else {
    tc_guards_equal(c->g, L, source, at);
  }
  lua_settop(L, at - 1);
}
