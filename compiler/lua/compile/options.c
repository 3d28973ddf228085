/* The options of tb.compile and tb.explain: {backend=, mode=, fullgraph=, dynamic=, options={switch=value}}.
 * Whatever is wrong with them raises an error that names what was given and what is taken. */
#include <stdio.h>
#include <string.h>

#include "base/products.h"
#include "lua/compile/compiled_object.h"

static int raise_unsupported(lua_State *L, const char *what, const char *value, const char *instead) {
  luaL_where(L, 1);
  lua_pushfstring(L, "unsupported: %s '%s': %s", what, value, instead);
  lua_concat(L, 2);
  return tc_lua_raise_top(L, TC_UNSUPPORTED);
}

const char *tc_lua_given(lua_State *L, int index) {
  const int type = lua_type(L, index);
  const bool tells = type == LUA_TNUMBER || type == LUA_TBOOLEAN || type == LUA_TSTRING;
  if (!tells && luaL_getmetafield(L, index, "__name") == LUA_TSTRING) return lua_tostring(L, -1);
  if (!tells) return lua_pushstring(L, luaL_typename(L, index));
  const char *text = luaL_tolstring(L, index, NULL);
  return lua_pushfstring(L, type == LUA_TSTRING ? "%s '%s'" : "%s %s", lua_typename(L, type), text);
}

/* Pushes the option; false (and still pushed) when it is not given. */
static bool push_option(lua_State *L, int options, const char *name, int type, const char *wanted) {
  const int found = lua_getfield(L, options, name);
  if (found != LUA_TNIL && found != type)
    luaL_error(L, "compile: option %s must be %s, got %s", name, wanted, tc_lua_given(L, -1));
  return found != LUA_TNIL;
}

static void read_backend(lua_State *L, int options, int object, struct compiled_object *o) {
  if (push_option(L, options, "backend", LUA_TSTRING, "the name of a backend")) {
    const char *name = lua_tostring(L, -1);
    const int backend = tc_backend_find(name);
    if (backend >= 0) {
      if (!tc_backend_built((enum tc_backend)backend))
        raise_unsupported(L, "backend", name, tc_backend_help((enum tc_backend)backend));
      o->backend = (enum tc_backend)backend;
    } else {
      if (!tc_lua_push_backend(L, name))
        luaL_error(L, "compile: there is no backend '%s'; backends: %s", name, tc_lua_backend_names(L));
      lua_setiuservalue(L, object, OBJECT_BACKEND);
      o->backend = TC_BACKEND_eager; /* until the registered one has made something */
      snprintf(o->registered, sizeof o->registered, "%s", name);
    }
  }
  lua_pop(L, 1);
}

static const struct {
  const char *name, *matmul, *record;
} modes[] = {
#define TC_MODE(name, matmul, record) {name, matmul, record},
#include "lua/compile/modes.def"
#undef TC_MODE
};
static const char mode_names[] = ""
#define TC_MODE(name, matmul, record) ", " name
#include "lua/compile/modes.def"
#undef TC_MODE
    ;

/* Its number. */
static size_t read_mode(lua_State *L, int options) {
  size_t i = 0;
  if (push_option(L, options, "mode", LUA_TSTRING, "the name of a mode")) {
    const char *mode = lua_tostring(L, -1);
    while (i < sizeof modes / sizeof *modes && strcmp(mode, modes[i].name)) i++;
    if (i == sizeof modes / sizeof *modes)
      luaL_error(L, "compile: there is no mode '%s'; modes: %s", mode, mode_names + strlen(", "));
  }
  lua_pop(L, 1);
  return i;
}

static void apply_mode(struct tc_config *config, size_t mode) {
  if (!strcmp(config->matmul, TC_PRODUCT_AUTO)) config->matmul = modes[mode].matmul;
  if (!strcmp(config->record, "auto")) config->record = modes[mode].record;
}

static bool read_boolean(lua_State *L, int options, const char *name) {
  const bool value = push_option(L, options, name, LUA_TBOOLEAN, "true or false") && lua_toboolean(L, -1);
  lua_pop(L, 1);
  return value;
}

static void read_dynamic(lua_State *L, int options, struct compiled_object *o) {
  const bool given = lua_getfield(L, options, "dynamic") != LUA_TNIL;
  lua_pop(L, 1);
  if (given) o->dynamic = read_boolean(L, options, "dynamic") ? TC_LUA_DYNAMIC_ALWAYS : TC_LUA_DYNAMIC_NEVER;
}

static bool acts_at_opening(const char *name) {
  const int index = tc_config_find(name);
  return index >= 0 && tc_config_row(index)->at_opening;
}

/* The name of the switch and its value lie at the stack top; `texts` is the index of a table that keeps texts
 * alive. */
static void read_switch(lua_State *L, struct compiled_object *o, int texts) {
  struct tc_error err = {0};
  if (lua_type(L, -2) != LUA_TSTRING)
    luaL_error(L, "compile: options.options holds switches by name, not by %s", tc_lua_given(L, -2));
  const char *name = lua_tostring(L, -2);
  const int type = lua_type(L, -1);
  if (type != LUA_TBOOLEAN && type != LUA_TNUMBER && type != LUA_TSTRING)
    luaL_error(L, "compile: switch %s must be a text, a number or a boolean, got %s", name,
               tc_lua_given(L, -1));
  if (acts_at_opening(name))
    luaL_error(L,
               "compile: switch %s is read when tbench opens, not for one function; set it on the command "
               "line or as TB_… in the environment",
               name);
  if (type == LUA_TBOOLEAN)
    lua_pushstring(L, lua_toboolean(L, -1) ? "on" : "off");
  else
    luaL_tolstring(L, -1, NULL);
  lua_pushvalue(L, -1);
  lua_setfield(L, texts, name);
  if (tc_config_set(&o->config, name, lua_tostring(L, -1), &err)) luaL_error(L, "compile: %s", err.message);
  lua_pop(L, 1);
}

/* options.options = {switch = value}. Leaves the table of texts at the stack top. */
static void read_switches(lua_State *L, int options, struct compiled_object *o) {
  lua_newtable(L);
  const int texts = lua_gettop(L);
  if (push_option(L, options, "options", LUA_TTABLE,
                  "a table of switches by name (`tbench help switches` lists them)"))
    for (lua_pushnil(L); lua_next(L, texts + 1); lua_pop(L, 1)) read_switch(L, o, texts);
  lua_pop(L, 1);
}

static void check_option_names(lua_State *L, int options) {
  static const char *const names[] = {"backend", "mode", "fullgraph", "dynamic", "options"};
  for (lua_pushnil(L); lua_next(L, options); lua_pop(L, 1)) {
    bool known = false;
    for (size_t i = 0; i < sizeof names / sizeof *names && lua_type(L, -2) == LUA_TSTRING; i++)
      known |= !strcmp(names[i], lua_tostring(L, -2));
    if (!known)
      luaL_error(L, "compile: there is no option '%s'; options: backend, mode, fullgraph, dynamic, options",
                 luaL_tolstring(L, -2, NULL));
  }
}

void tc_lua_read_options(lua_State *L, int options, int object, struct compiled_object *o) {
  if (lua_type(L, options) != LUA_TTABLE)
    luaL_error(
        L,
        "compile: argument 2 must be a table of options (backend, mode, fullgraph, dynamic, options), got %s",
        tc_lua_given(L, options));
  check_option_names(L, options);
  read_backend(L, options, object, o);
  const size_t mode = read_mode(L, options);
  if (mode && (o->backend != TC_BACKEND_inductor || *o->registered))
    luaL_error(L, "compile: mode '%s': modes are those of backend=inductor; backend=%s has none",
               modes[mode].name, tc_lua_backend_name(o));
  read_dynamic(L, options, o);
  if (*o->registered) tc_lua_backend_dynamic(L, object, o);
  o->fullgraph = read_boolean(L, options, "fullgraph");
  read_switches(L, options, o);
  lua_setiuservalue(L, object, OBJECT_TEXTS);
  apply_mode(&o->config, mode);
}

void tc_lua_no_options(struct compiled_object *o) { apply_mode(&o->config, 0); }
