/* Registered backends: what backends.c, backends_graph.c and backends_plugin.c share. */
#ifndef TC_LUA_BACKENDS_H
#define TC_LUA_BACKENDS_H

#include "lua/compile/compiled_object.h"

/* What a call of a registered backend gets, and a call of what it made: the entry and the values that its
 * guards read. */
struct tc_backend_call {
  struct tc_lua_module *module;
  const struct tc_graph *graph;
  const struct compiled_entry *entry;
  const struct call_values *values;
};

/* --- backends_graph.c --- */
/* Pushes the table that describes the graph, with its function `forward`. Raises. */
void tc_backend_push_graph(lua_State *L, const struct tc_backend_call *call);
void tc_backend_open_graph(lua_State *L);

/* --- backends_plugin.c --- */
/* Pushes the plug-in of a shared object; raises. */
void tc_backend_push_plugin(lua_State *L, const char *name, const char *path);
bool tc_backend_is_plugin(lua_State *L, int index);
/* Lets the plug-in at an index compile the graph, and pushes a function from tensors to tensors; raises. */
void tc_backend_plugin_compile(lua_State *L, int plugin, const struct tc_backend_call *call);
void tc_backend_open_plugin(lua_State *L);

#endif
