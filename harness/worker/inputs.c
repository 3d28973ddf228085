/* Inputs of a peer. Invariant: values that a function can reach through globals are not sent, as they are the
 * whole library's. */
#include "harness/worker/inputs.h"

#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <string.h>
#include <unistd.h>

static void send_arguments(lua_State *L, const struct tb_workload *w, struct tb_sender *sender) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, w->args);
  const int list = lua_gettop(L);
  for (lua_Integer i = 1; i <= (lua_Integer)lua_rawlen(L, list); i++) {
    const char *path = lua_pushfstring(L, "argument %d", (int)i);
    lua_rawgeti(L, list, i);
    tb_send_value(L, -1, path, sender);
    lua_pop(L, 2);
  }
  lua_pop(L, 1);
}

static void send_held(lua_State *L, const struct tb_workload *w, struct tb_sender *sender) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, w->fn);
  const int fn = lua_gettop(L);
  if (!lua_isfunction(L, fn)) tb_send_value(L, fn, "function", sender); /* a module, called by itself */
  const char *name;
  for (int i = 1; lua_isfunction(L, fn) && !lua_iscfunction(L, fn) && (name = lua_getupvalue(L, fn, i));
       i++) {
    const char *path = lua_pushfstring(L, "upvalue %s", name);
    lua_insert(L, -2);
    if (strcmp(name, "_ENV")) tb_send_value(L, -1, path, sender);
    lua_pop(L, 2);
  }
  lua_pop(L, 1);
}

const char *tb_inputs_write(lua_State *L, const struct tb_workload *w, const char *path) {
  enum { OWNER_ALONE = 0600 };
  if (w->generated) return "its arguments differ from call to call (args = function(i))";
  struct tb_sender sender = {.fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, OWNER_ALONE),
                             .own_elements = true};
  if (sender.fd < 0) luaL_error(L, "%s: %s", path, strerror(errno));
  send_arguments(L, w, &sender);
  sender.tensors_alone = true;
  send_held(L, w, &sender);
  tb_send_end(&sender);
  if (close(sender.fd) || sender.failed) luaL_error(L, "%s: the inputs of a peer cannot be written", path);
  return NULL;
}
