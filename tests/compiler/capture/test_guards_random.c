/* Random guards about random models, and random changes of them: a check must say what a plain walk over all
 * facts says, which reads each value anew from its root. So it finds whatever is wrong with places, copies,
 * and changes of order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <lauxlib.h>
#include <string.h>

#include "tests/compiler/capture/guard_call.h"

enum { N_MODELS = 300, N_CHANGES = 40, MOST_FACTS = 2048, MOST_SOURCES = 512 };

static const char PROGRAM[] =
    "local seed = ...\n"
    "math.randomseed(seed)\n"
    "local r, tables, keys = math.random, {}, {'a', 'b', 'c', 1, 2, 3, 4.5, true}\n"
    "local function scalar()\n"
    "  local k = r(6)\n"
    "  if k == 1 then return r(3) elseif k == 2 then return r(3) / 2 elseif k == 3 then return r(2) == 1 "
    "elseif k == 4 then return ('s'):rep(r(3) * 20) end\n"
    "  if k == 5 then return print end\n"
    "  return nil\n"
    "end\n"
    "local function value(depth)\n"
    "  if depth > 0 and r(3) == 1 then\n"
    "    if #tables > 0 and r(4) == 1 then return tables[r(#tables)] end\n"
    "    local t = {}\n"
    "    for _, key in ipairs(keys) do if r(2) == 1 then t[key] = value(depth - 1) end end\n"
    "    tables[#tables + 1] = t\n"
    "    return t\n"
    "  end\n"
    "  return scalar()\n"
    "end\n"
    "local function whole() tables[#tables + 1] = {} for _, key in ipairs(keys) do tables[#tables][key] = "
    "value(4) end return tables[#tables] end\n"
    "local first, second, third = whole(), whole(), value(2)\n"
    "local undo\n"
    "function change()\n"
    "  if undo and r(2) == 1 then local u = undo undo = nil u[1][u[2]] = u[3] return end\n"
    "  local t, key = tables[r(#tables)], keys[r(#keys)]\n"
    "  undo = undo or {t, key, t[key]}\n"
    "  t[key] = value(1)\n"
    "end\n"
    "return function(x, y, n) return first, second end, second, third, r(5)\n";

/* What the test itself knows of each fact. */
enum known_kind { KNOWN_TYPE, KNOWN_VALUE, KNOWN_SAME, KNOWN_DISTINCT };
struct known {
  enum known_kind kind;
  int source, other, type, reference;
};

static struct known known[MOST_FACTS];
static int n_known, sources[MOST_SOURCES], values[MOST_SOURCES] /* references */, n_sources;
static uint64_t random_state;

static int below(int n) {
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return (int)((random_state >> 33) % (uint64_t)n);
}

static void know(struct known fact) {
  assert_true(n_known < MOST_FACTS);
  known[n_known++] = fact;
}

static bool same_value(lua_State *L, int a, int b) {
  return lua_rawequal(L, a, b) && lua_isinteger(L, a) == lua_isinteger(L, b);
}

/* The value at the top equals the source's; pops it. */
static void know_value(struct guard_call *c, int source) {
  lua_State *L = c->L;
  const int at = lua_gettop(L), type = lua_type(L, at);
  for (int i = 0; i < n_known; i++)
    if (known[i].kind == KNOWN_VALUE && known[i].source == source) return lua_settop(L, at - 1);
  if (type == LUA_TFUNCTION)
    tc_guards_identity(c->g, L, source, at);
  else
    tc_guards_equal(c->g, L, source, at);
  know((struct known){.kind = KNOWN_VALUE, .source = source, .reference = luaL_ref(L, LUA_REGISTRYINDEX)});
}

/* Facts about some of the values at the top and below it; pops it. */
static void guard_some(struct guard_call *c, int source, int depth) {
  lua_State *L = c->L;
  const int at = lua_gettop(L);
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  if (n_sources < MOST_SOURCES) {
    lua_pushvalue(L, at);
    values[n_sources] = luaL_ref(L, LUA_REGISTRYINDEX);
    sources[n_sources++] = source;
  }
  if (!lua_istable(L, at) || depth == 0) {
    if (below(3) && !lua_istable(L, at)) know_value(c, source);
    lua_settop(L, at - 1);
    return;
  }
  static const char *const keys[] = {"a", "b", "c", NULL, NULL, NULL, NULL, NULL};
  for (int k = 0; k < 8; k++) {
    if (!below(3)) continue;
    if (keys[k])
      lua_pushstring(L, keys[k]);
    else if (k < 6)
      lua_pushinteger(L, k - 2);
    else if (k == 6)
      lua_pushnumber(L, 4.5);
    else
      lua_pushboolean(L, true);
    const int inner = tc_guards_field(c->g, L, source, at + 1);
    know((struct known){.kind = KNOWN_TYPE, .source = source, .type = LUA_TTABLE});
    lua_rawget(L, at);
    guard_some(c, inner, depth - 1);
  }
  lua_settop(L, at - 1);
}

/* Facts on pairs and expressions of values that are read already, as they are now. */
static void guard_pairs(struct guard_call *c) {
  lua_State *L = c->L;
  const int top = lua_gettop(L);
  for (int i = 0; i < 12; i++, lua_settop(L, top)) {
    const int first = below(n_sources), second = below(n_sources), a = sources[first], b = sources[second];
    lua_rawgeti(L, LUA_REGISTRYINDEX, values[first]);
    lua_rawgeti(L, LUA_REGISTRYINDEX, values[second]);
    if (a != b && below(3) == 0) {
      const bool same = lua_rawequal(L, top + 1, top + 2);
      (same ? tc_guards_same : tc_guards_distinct)(c->g, a, b);
      know((struct known){.kind = same ? KNOWN_SAME : KNOWN_DISTINCT, .source = a, .other = b});
    } else if (lua_type(L, top + 1) == LUA_TNUMBER && lua_type(L, top + 2) == LUA_TNUMBER) {
      const int product = tc_guards_expr(c->g, LUA_OPMUL, tc_guards_expr(c->g, LUA_OPADD, a, b), a);
      lua_pushvalue(L, top + 1);
      lua_pushvalue(L, top + 2);
      lua_arith(L, LUA_OPADD);
      lua_pushvalue(L, top + 1);
      lua_arith(L, LUA_OPMUL);
      lua_pushboolean(L, lua_compare(L, top + 3, top + 2, LUA_OPLE));
      know_value(c, tc_guards_expr(c->g, TC_GUARD_OP_LE, product, b));
    }
  }
}

static bool holds(struct guard_call *c, const struct known *fact) {
  lua_State *L = c->L;
  const int top = lua_gettop(L);
  bool good = false;
  tc_guards_push_source(c->g, &c->frame, fact->source);
  if (fact->kind == KNOWN_TYPE)
    good = lua_type(L, -1) == fact->type;
  else if (fact->kind == KNOWN_VALUE)
    good = lua_rawgeti(L, LUA_REGISTRYINDEX, fact->reference) != LUA_TNONE && same_value(L, -1, -2);
  else {
    tc_guards_push_source(c->g, &c->frame, fact->other);
    good = lua_rawequal(L, -1, -2) == (fact->kind == KNOWN_SAME);
  }
  lua_settop(L, top);
  return good;
}

static bool all_hold(struct guard_call *c) {
  for (int i = 0; i < n_known; i++)
    if (!holds(c, &known[i])) return false;
  return true;
}

static void try_model(int seed, int *n_held, int *n_failed) {
  struct guard_call c;
  char chunk[sizeof PROGRAM + 64];
  snprintf(chunk, sizeof chunk, "return (function(...) %s end)(%d)", PROGRAM, seed);
  n_known = n_sources = 0;
  random_state = (uint64_t)seed * 2654435761u;
  guard_open(&c, chunk);
  for (int i = 0; i < 3; i++) {
    lua_pushvalue(c.L, 2 + i);
    guard_some(&c, tc_guards_arg(c.g, i, "x"), 3);
  }
  for (int i = 1; i <= 2; i++) {
    lua_getupvalue(c.L, 1, i);
    guard_some(&c, tc_guards_upvalue(c.g, tc_guards_function(c.g), i, "u"), 4);
  }
  guard_pairs(&c);
  guard_seal(&c);
  assert_int_equal(guard_check(&c), 0);
  for (int i = 0; i < N_CHANGES; i++) {
    guard_run(&c, "change()");
    const bool expected = all_hold(&c), found = guard_check(&c) == 0;
    if (expected != found) fail_msg("seed %d, change %d: the check says %s", seed, i, found ? "yes" : "no");
    ++*(expected ? n_held : n_failed);
  }
  guard_close(&c);
}

static void test_random_models(void **state) {
  (void)state;
  int n_held = 0, n_failed = 0;
  for (int seed = 1; seed <= N_MODELS; seed++) try_model(seed, &n_held, &n_failed);
  assert_true(n_held > N_MODELS && n_failed > N_MODELS); /* both happen often */
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_models)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
