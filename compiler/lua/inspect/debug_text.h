/* A captured graph as Lua: what the parts that write it share. Both append to `out`. */
#ifndef TC_LUA_DEBUG_TEXT_H
#define TC_LUA_DEBUG_TEXT_H

#include "lua/compile/compiled_object.h"

struct tc_lua_writer {
  struct tc_strbuf *out;
  const struct tc_graph *graph;
  bool in_table; /* values are fields of `v`, not locals */
};

/* What holds the node's value. */
void tc_lua_debug_name(const struct tc_lua_writer *w, const struct tc_node *node);
/* An expression that gives the node's value, over the names of its operands, size variables, and min and
 * max. */
void tc_lua_debug_value(const struct tc_lua_writer *w, const struct tc_node *node);

#endif
