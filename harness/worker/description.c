/* Checks a suite's description. Invariants:
 * 1. What passes here has every field that the harness reads, with the type it reads.
 * 2. A field that is not known is an error: a typing mistake must not be a setting silently lost.
 * To add a field: a row in `fields`, its check, and its line in tb_description_json. */
#include "harness/worker/description.h"

#include <ctype.h>
#include <lauxlib.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/value.h"
#include "harness/machine/counter_selection.h"
#include "harness/plan/spec.h"
#include "harness/plan/switch_set.h"
#include "harness/worker/luacall.h"
#include "harness/worker/luajson.h"

static const double timeout_max_s = 1e7;

enum field_kind { FIELD_TEXT, FIELD_NUMBER, FIELD_TABLE };
static const struct {
  const char *name;
  enum field_kind kind;
} fields[] = {
    {"name", FIELD_TEXT},     {"about", FIELD_TEXT},     {"axes", FIELD_TABLE},    {"workloads", FIELD_TABLE},
    {"modes", FIELD_TABLE},   {"modes_of", FIELD_TABLE}, {"devices", FIELD_TABLE}, {"timeout", FIELD_NUMBER},
    {"counters", FIELD_TEXT}, {"switches", FIELD_TABLE},
};
static const char *const kind_names[] = {"a string", "a number", "a table"};
static const int kind_types[] = {LUA_TSTRING, LUA_TNUMBER, LUA_TTABLE};

/* Axes that every case has, of which a suite's `axes` may give the default values. */
static const char *const shared_axes[] = {"dtype", "threads", "topology"};

static const char *const reserved[] = {
#define TB_OPTION(field, name, type, dflt, use, words, takes, help) name,
#include "harness/plan/options.def"
#undef TB_OPTION
#define TC_CONFIG(field, name, type, dflt, key, acts, takes, help) name,
#include "base/config.def"
#undef TC_CONFIG
};

static void check_field(lua_State *L, const char *path) {
  const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : NULL;
  for (size_t i = 0; key && i < sizeof fields / sizeof *fields; i++) {
    if (strcmp(fields[i].name, key)) continue;
    if (lua_type(L, -1) == kind_types[fields[i].kind]) return;
    luaL_error(L, "%s: %s: expected %s, got %s", path, key, kind_names[fields[i].kind], luaL_typename(L, -1));
  }
  const char *given = luaL_tolstring(L, -2, NULL), *all = fields[0].name;
  for (size_t i = 1; i < sizeof fields / sizeof *fields; i++)
    all = lua_pushfstring(L, "%s, %s", all, fields[i].name);
  luaL_error(L, "%s: unknown field '%s'; a suite has %s", path, given, all);
}

static bool is_word(const char *name) {
  if (!islower((unsigned char)*name)) return false;
  for (; *name; name++)
    if (!islower((unsigned char)*name) && !isdigit((unsigned char)*name) && *name != '_') return false;
  return true;
}

/* Whether `text` is one of the choices "a,b,c"; every text is one of "". */
static bool is_choice(const char *text, const char *choices) {
  if (!*choices) return true;
  const size_t length = strlen(text);
  for (const char *at = choices; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
    if (strcspn(at, ",") == length && !strncmp(at, text, length)) return true;
  return false;
}

static const char *choices_of(const char *axis) {
  for (int i = 0; i < TB_AXIS_COUNT; i++)
    if (!strcmp(tb_axis_row(i)->name, axis)) return tb_axis_row(i)->choices;
  return "";
}

static void check_axis_name(lua_State *L, const char *path) {
  if (lua_type(L, -2) != LUA_TSTRING)
    luaL_error(L,
               "%s: axes: expected names with lists of values, as axes = { batch = {1, 8} }; got the key %s",
               path, luaL_tolstring(L, -2, NULL));
  const char *name = lua_tostring(L, -2);
  if (!is_word(name)) luaL_error(L, "%s: axes.%s: the name of an axis is made of a-z, 0-9 and _", path, name);
  for (size_t i = 0; i < sizeof shared_axes / sizeof *shared_axes; i++)
    if (!strcmp(name, shared_axes[i])) return;
  for (int i = 0; i < TB_AXIS_COUNT; i++)
    if (!strcmp(name, tb_axis_row(i)->name))
      luaL_error(L,
                 "%s: axes.%s: not an axis of a suite; modes = {…} and devices = {…} stand beside axes, the "
                 "rest on the command line",
                 path, name);
  for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
    if (!strcmp(name, reserved[i]))
      luaL_error(L, "%s: axes.%s: the name is taken by an option or a switch of tbench", path, name);
}

/* The list on the stack's top: not empty, scalars of one kind. */
static void check_values(lua_State *L, const char *path, const char *where, const char *choices) {
  if (!lua_istable(L, -1) || !lua_rawlen(L, -1))
    luaL_error(L, "%s: %s: expected a list of values, as {1, 8}; got %s", path, where,
               lua_istable(L, -1) ? "an empty table" : luaL_typename(L, -1));
  const lua_Integer count = (lua_Integer)lua_rawlen(L, -1);
  const int kind = lua_rawgeti(L, -1, 1);
  lua_pop(L, 1);
  for (lua_Integer i = 1; i <= count; i++) {
    const int type = lua_rawgeti(L, -1, i);
    if (type != LUA_TNUMBER && type != LUA_TSTRING && type != LUA_TBOOLEAN)
      luaL_error(L, "%s: %s[%d]: expected a number, a string or a boolean, got %s", path, where, (int)i,
                 luaL_typename(L, -1));
    if (type != kind)
      luaL_error(L, "%s: %s[%d]: values of one axis have one type; the first is a %s", path, where, (int)i,
                 lua_typename(L, kind));
    if (type == LUA_TSTRING && !tb_value_is_word(lua_tostring(L, -1)))
      luaL_error(L, "%s: %s[%d]: a string value may not be empty or hold , ; / = or what cannot be printed",
                 path, where, (int)i);
    if (type == LUA_TNUMBER && !isfinite(lua_tonumber(L, -1)))
      luaL_error(L, "%s: %s[%d]: expected a finite number", path, where, (int)i);
    if (*choices && (type != LUA_TSTRING || !is_choice(lua_tostring(L, -1), choices)))
      luaL_error(L, "%s: %s[%d]: '%s' is not one of %s", path, where, (int)i, luaL_tolstring(L, -1, NULL),
                 choices);
    lua_pop(L, 1);
  }
}

static void check_batch(lua_State *L, const char *path) {
  const lua_Integer count = (lua_Integer)lua_rawlen(L, -1);
  for (lua_Integer i = 1; i <= count; i++, lua_pop(L, 1)) {
    int whole = 0;
    lua_rawgeti(L, -1, i);
    if (lua_tointegerx(L, -1, &whole) < 1 || !whole)
      luaL_error(L, "%s: axes.batch[%d]: expected a whole number of 1 or more, got %s", path, (int)i,
                 luaL_tolstring(L, -1, NULL));
  }
}

static void check_axes(lua_State *L, int suite, const char *path) {
  if (lua_getfield(L, suite, "axes") != LUA_TNIL)
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
      check_axis_name(L, path);
      const char *name = lua_tostring(L, -2), *where = lua_pushfstring(L, "axes.%s", name);
      lua_insert(L, -2);
      check_values(L, path, where, choices_of(name));
      if (!strcmp(name, "batch")) check_batch(L, path);
      lua_remove(L, -2);
    }
  lua_pop(L, 1);
}

static void check_list(lua_State *L, int suite, const char *path, const char *field, const char *axis) {
  if (lua_getfield(L, suite, field) != LUA_TNIL) check_values(L, path, field, choices_of(axis));
  lua_pop(L, 1);
}

/* Modes of single workloads, by their names. */
static void check_modes_of(lua_State *L, int suite, const char *path) {
  if (lua_getfield(L, suite, "modes_of") == LUA_TNIL) return lua_pop(L, 1);
  lua_getfield(L, suite, "workloads");
  const int workloads = lua_gettop(L);
  for (lua_pushnil(L); lua_next(L, workloads - 1); lua_pop(L, 1)) {
    const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : NULL;
    if (!name || lua_getfield(L, workloads, name) == LUA_TNIL)
      luaL_error(
          L, "%s: modes_of: there is no workload %s; expected modes_of = { WORKLOAD = { \"max-autotune\" } }",
          path, luaL_tolstring(L, name ? -3 : -2, NULL));
    lua_pop(L, 1);
    lua_pushfstring(L, "modes_of.%s", name);
    lua_insert(L, -2);
    check_values(L, path, lua_tostring(L, -2), choices_of("mode"));
    lua_remove(L, -2);
  }
  lua_pop(L, 2);
}

static void check_workloads(lua_State *L, int suite, const char *path) {
  if (lua_getfield(L, suite, "workloads") == LUA_TNIL)
    luaL_error(L, "%s: workloads: missing; expected workloads = { NAME = function(case) … end }", path);
  int count = 0;
  for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1), count++) {
    if (lua_type(L, -2) != LUA_TSTRING)
      luaL_error(L, "%s: workloads: expected names with functions, got the key %s", path,
                 luaL_tolstring(L, -2, NULL));
    if (!is_word(lua_tostring(L, -2)))
      luaL_error(L, "%s: workloads.%s: a name is made of a-z, 0-9 and _", path, lua_tostring(L, -2));
    if (!lua_isfunction(L, -1))
      luaL_error(L, "%s: workloads.%s: expected a function, got %s", path, lua_tostring(L, -2),
                 luaL_typename(L, -1));
  }
  if (!count) luaL_error(L, "%s: workloads: empty; expected at least one NAME = function(case) … end", path);
  lua_pop(L, 1);
}

static void check_counters(lua_State *L, int suite, const char *path) {
  struct tb_counter_selection counter_selection;
  struct tc_error err = {0};
  if (lua_getfield(L, suite, "counters") != LUA_TNIL) {
    struct tc_arena *arena = tc_arena_new(tc_alloc_system());
    const tc_status status =
        arena ? tb_counter_selection_parse(arena, lua_tostring(L, -1), &counter_selection, &err) : TC_NOMEM;
    tc_arena_free(arena);
    if (status) luaL_error(L, "%s: %s", path, arena ? err.message : "out of memory");
  }
  lua_pop(L, 1);
}

/* Of a suite's `switches`, number i at the stack top. */
static void check_switch_set(lua_State *L, const char *path, int i) {
  struct tc_config scratch;
  struct tc_error err = {0};
  if (lua_type(L, -1) != LUA_TSTRING)
    luaL_error(L, "%s: switches[%d]: expected a text as \"tile=off isa=avx2\", got %s", path, i,
               luaL_typename(L, -1));
  struct tc_arena *arena = tc_arena_new(tc_alloc_system());
  tc_config_default(&scratch);
  const tc_status status = arena ? tb_switch_set_apply(arena, lua_tostring(L, -1), &scratch, &err) : TC_NOMEM;
  tc_arena_free(arena);
  if (status) luaL_error(L, "%s: switches[%d]: %s", path, i, arena ? err.message : "out of memory");
}

static void check_switches(lua_State *L, int suite, const char *path) {
  if (lua_getfield(L, suite, "switches") != LUA_TNIL) {
    lua_Integer count = (lua_Integer)lua_rawlen(L, -1), keys = 0;
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) keys++;
    if (!count || keys != count)
      luaL_error(L, "%s: switches: expected a list with a text for each set of switches", path);
    for (lua_Integer i = 1; i <= count; i++, lua_pop(L, 1)) {
      lua_rawgeti(L, -1, i);
      check_switch_set(L, path, (int)i);
    }
  }
  lua_pop(L, 1);
}

static void check_description(lua_State *L, int suite, const char *path) {
  if (!lua_istable(L, suite))
    luaL_error(L, "%s: expected the file to return tb.suite { … }, got %s", path, luaL_typename(L, suite));
  for (lua_pushnil(L); lua_next(L, suite); lua_pop(L, 1)) check_field(L, path);
  if (lua_getfield(L, suite, "name") == LUA_TNIL) luaL_error(L, "%s: name: missing; expected a string", path);
  if (!is_word(lua_tostring(L, -1)))
    luaL_error(L, "%s: name: '%s': a name is made of a-z, 0-9 and _", path, lua_tostring(L, -1));
  lua_pop(L, 1);
  if (lua_getfield(L, suite, "timeout") != LUA_TNIL &&
      !(lua_tonumber(L, -1) > 0 && lua_tonumber(L, -1) <= timeout_max_s))
    luaL_error(L, "%s: timeout: expected seconds above 0, at most %d", path, (int)timeout_max_s);
  lua_pop(L, 1);
  check_counters(L, suite, path);
  check_axes(L, suite, path);
  check_list(L, suite, path, "modes", "mode");
  check_list(L, suite, path, "devices", "device");
  check_switches(L, suite, path);
  check_workloads(L, suite, path);
  check_modes_of(L, suite, path);
}

void tb_description_load(lua_State *L, const char *path) {
  const int base = lua_gettop(L);
  if (luaL_loadfilex(L, path, "t")) {
    if (!strstr(lua_tostring(L, -1), path)) lua_pushfstring(L, "%s: %s", path, lua_tostring(L, -1));
    lua_error(L);
  }
  lua_call(L, 0, 1);
  check_description(L, base + 1, path);
}

static int by_text(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names of a table's string keys, sorted, as a JSON array. */
static cJSON *sorted_keys(lua_State *L, int table) {
  int count = 0, filled = 0;
  for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) count++;
  const char **names = lua_newuserdatauv(L, sizeof *names * (size_t)(count + 1), 0);
  for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) names[filled++] = lua_tostring(L, -2);
  qsort(names, (size_t)count, sizeof *names, by_text);
  cJSON *list = cJSON_CreateArray();
  for (int i = 0; i < count; i++) cJSON_AddItemToArray(list, cJSON_CreateString(names[i]));
  lua_pop(L, 1);
  return list;
}

static cJSON *axes_json(lua_State *L, int table) {
  cJSON *axes = cJSON_CreateArray(), *names = sorted_keys(L, table);
  for (const cJSON *name = names ? names->child : NULL; name; name = name->next) {
    cJSON *axis = cJSON_CreateObject();
    cJSON_AddStringToObject(axis, "name", name->valuestring);
    lua_getfield(L, table, name->valuestring);
    cJSON_AddItemToObject(axis, "values", tb_json_from_lua(L, -1));
    lua_pop(L, 1);
    cJSON_AddItemToArray(axes, axis);
  }
  cJSON_Delete(names);
  return axes;
}

cJSON *tb_description_json(lua_State *L, int index, const char *path) {
  cJSON *json = cJSON_CreateObject();
  index = lua_absindex(L, index);
  cJSON_AddStringToObject(json, "path", path);
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    const char *name = fields[i].name;
    if (lua_getfield(L, index, name) != LUA_TNIL) {
      const bool lists = !strcmp(name, "axes") || !strcmp(name, "modes_of");
      cJSON *value = lists                        ? axes_json(L, lua_gettop(L))
                     : !strcmp(name, "workloads") ? sorted_keys(L, lua_gettop(L))
                                                  : tb_json_from_lua(L, -1);
      cJSON_AddItemToObject(json, name, value);
    }
    lua_pop(L, 1);
  }
  tb_lua_call_function(L, "list_backends", 0, 1);
  cJSON_AddItemToObject(json, "backends", tb_json_from_lua(L, -1));
  lua_pop(L, 1);
  return json;
}
