/* Errors of Lua as texts. Invariants:
 * 1. A message is one line and never empty.
 * 2. Whatever a suite raises, or its __tostring does, ends here as a text.
 * 3. A kind is told by who raised (the module's own record, Lua's status), never by what a text speaks of. */
#include "harness/worker/lua_error.h"

#include <lauxlib.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tcompile.h"

enum { FIELDS_SHOWN = 8 };

/* --- values that are no messages --- */

static int call_tostring(lua_State *L) {
  luaL_tolstring(L, 1, NULL);
  return 1;
}

/* Leaves the text of the value's own __tostring; false where it has none, or a broken one. */
static bool push_own_text(lua_State *L, int index) {
  if (luaL_getmetafield(L, index, "__tostring") == LUA_TNIL) return false;
  lua_pop(L, 1);
  lua_pushcfunction(L, call_tostring);
  lua_pushvalue(L, index);
  if (!lua_pcall(L, 1, 1, 0)) return true;
  lua_pop(L, 1);
  return false;
}

static void add_scalar(lua_State *L, luaL_Buffer *out, int index) {
  const int type = lua_type(L, index);
  if (type == LUA_TTABLE) {
    luaL_addstring(out, "{…}");
  } else if (type == LUA_TSTRING) {
    luaL_addchar(out, '"');
    lua_pushvalue(L, index);
    luaL_addvalue(out);
    luaL_addchar(out, '"');
  } else if (type == LUA_TNUMBER || type == LUA_TBOOLEAN) {
    luaL_tolstring(L, index, NULL);
    luaL_addvalue(out);
  } else {
    luaL_addstring(out, luaL_typename(L, index));
  }
}

/* { code = 3, [1] = "x" }: one level, so that no cycle matters. */
static void push_table_text(lua_State *L, int table) {
  luaL_Buffer out;
  int count = 0;
  lua_pushnil(L); /* key and value stand below the buffer, which takes the stack's top for itself */
  lua_pushnil(L);
  const int value = lua_gettop(L), key = value - 1;
  luaL_buffinit(L, &out);
  luaL_addchar(&out, '{');
  for (;;) {
    lua_pushvalue(L, key);
    if (!lua_next(L, table)) break;
    lua_replace(L, value);
    lua_replace(L, key);
    luaL_addstring(&out, count ? ", " : " ");
    if (count++ == FIELDS_SHOWN) {
      luaL_addstring(&out, "…");
      break;
    }
    const bool named = lua_type(L, key) == LUA_TSTRING;
    if (named) {
      lua_pushvalue(L, key);
      luaL_addvalue(&out);
    } else {
      luaL_addchar(&out, '[');
      add_scalar(L, &out, key);
      luaL_addchar(&out, ']');
    }
    luaL_addstring(&out, " = ");
    add_scalar(L, &out, value);
  }
  luaL_addstring(&out, count ? " }" : "}");
  luaL_pushresult(&out);
}

/* Leaves a text for what was raised. */
static void push_message(lua_State *L, int index) {
  switch (lua_type(L, index)) {
    case LUA_TSTRING:
    case LUA_TNUMBER: luaL_tolstring(L, index, NULL); return;
    case LUA_TNIL: lua_pushliteral(L, "nil was raised: error() without a message"); return;
    case LUA_TBOOLEAN:
      lua_pushfstring(L, "%s was raised: error() without a message",
                      lua_toboolean(L, index) ? "true" : "false");
      return;
    default:
      if (push_own_text(L, index)) return;
      if (!lua_istable(L, index)) {
        lua_pushfstring(L, "a %s was raised, which has no text", luaL_typename(L, index));
        return;
      }
      push_table_text(L, index);
      lua_pushfstring(L, "a table was raised: %s", lua_tostring(L, -1));
  }
}

/* --- where it came from --- */

static bool ends_with(const char *text, size_t length, const char *end) {
  const size_t n = strlen(end);
  return length >= n && !memcmp(text + length - n, end, n);
}

/* Lua raises this very text without a position, also where its status is no LUA_ERRMEM: in its buffers,
 * through coroutines. */
static bool is_memory_text(lua_State *L, int index) {
  return lua_type(L, index) == LUA_TSTRING && !strcmp(lua_tostring(L, index), "not enough memory");
}

/* Key of the registry: the status of what the handler saw. */
static const char seen_status;

int tb_lua_error_handler(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)(is_memory_text(L, 1) ? TC_NOMEM : tc_lua_raised(L, 1)));
  lua_rawsetp(L, LUA_REGISTRYINDEX, &seen_status);
  push_message(L, 1);
  const char *text = lua_tostring(L, -1);
  const size_t length = strlen(text);
  if (!length || ends_with(text, length, ": "))
    text = lua_pushfstring(L, "%s(an error without a message)", text);
  luaL_traceback(L, L, text, 1);
  return 1;
}

/* --- as JSON --- */

/* The status of what was raised last, once; without a handler's note, that of the text at the stack top. */
static tc_status take_status(lua_State *L) {
  const bool noted = lua_rawgetp(L, LUA_REGISTRYINDEX, &seen_status) == LUA_TNUMBER;
  const tc_status status = noted ? (tc_status)lua_tointeger(L, -1) : tc_lua_raised(L, -2);
  lua_pop(L, 1);
  lua_pushnil(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &seen_status);
  return status;
}

/* Kind of an error, and its text without the mark of the kind. */
static const char *kind_of(int status, tc_status raised, const char **text) {
  static const char unsupported[] = "unsupported: ";
  if (status == LUA_ERRMEM || raised == TC_NOMEM) return "oom";
  const char *mark = raised == TC_UNSUPPORTED ? strstr(*text, unsupported)
                                              : NULL; /* others are parts that are missing here: failures */
  return mark ? *text = mark + strlen(unsupported), "unsupported" : "error";
}

static const char cut[] = "…";
static const char no_frames[] =
    "\nstack traceback:\n\t[C]: in ?"; /* of an error outside of any Lua function */

cJSON *tb_lua_error_json(lua_State *L, int status, const char *known) {
  const char *all = lua_tostring(L, -1), *trace = all ? strstr(all, "\nstack traceback:") : NULL;
  const char *text = all ? all : "an error was raised while another one was handled";
  char line[TC_ERROR_TEXT];
  const size_t length = trace ? (size_t)(trace - text) : strlen(text);
  if (snprintf(line, sizeof line, "%.*s", (int)length, text) >= (int)sizeof line)
    memcpy(line + sizeof line - sizeof cut, cut, sizeof cut);
  for (char *newline = line; (newline = strchr(newline, '\n'));) *newline = ' ';
  const char *shown = line;
  const tc_status raised = take_status(L);
  const char *kind = known && status == LUA_ERRRUN ? known : kind_of(status, raised, &shown);
  cJSON *error = cJSON_CreateObject();
  cJSON_AddStringToObject(error, "kind", kind);
  cJSON_AddStringToObject(error, "text", shown);
  if (trace && strcmp(trace, no_frames)) cJSON_AddStringToObject(error, "trace", trace + 1);
  return error;
}
