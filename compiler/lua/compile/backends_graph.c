/* The table that a registered backend gets for a graph:
 *
 *     nodes    list, each after what it takes: { op = "add", inputs = { 1, 2 }, dtype = "f32", shape = {
 *     "s0", 4 },
 *              attributes = { integers = { … }, numbers = { … } }, line = 12, source = "model.lua" }
 *     inputs   numbers of the nodes that are inputs, in the order in which a call gives tensors
 *     outputs  numbers of the nodes that are outputs (one may be there twice)
 *     sizes    sizes that vary: { name = "s0", hint = 8 }, in the order in which a call gives them, behind
 *     the tensors
 *     text     the whole as text
 *     forward  function that runs the graph operation by operation: takes tensors and sizes, returns the
 *     outputs
 *
 * An integer or a size that depends on sizes that vary is a text, a Lua expression over their names ("s0*4 +
 * 1") and min and max. */
#include "lua/compile/backends.h"

static const char forward_name[] = "tbench.forward";

/* --- forward --- */

struct forward {
  struct tc_lua_module *module;
  struct tc_compiled *compiled;
  const struct tc_graph *graph; /* which `compiled` runs, and keeps */
};

static int forward_gc(lua_State *L) {
  struct forward *f = lua_touserdata(L, 1);
  if (f->module->ctx.device) tc_compiled_release(f->compiled);
  f->compiled = NULL;
  return 0;
}

/* Makes and fills the outputs' objects. */
static int run_forward(lua_State *L, const struct forward *f, const struct tc_tensor *const *inputs,
                       const int64_t *sizes) {
  struct tc_tensor outputs[TC_MAX_RESULTS];
  struct tc_error err = {.message = ""};
  const int n = tc_compiled_outputs(f->compiled), first = lua_gettop(L) + 1;
  luaL_checkstack(L, n + LUA_MINSTACK, "outputs of a graph");
  for (int i = 0; i < n; i++) tc_lua_new_object(L, lua_upvalueindex(TC_LUA_METATABLE));
  if (tc_compiled_run(f->compiled, inputs, sizes, outputs, &err)) return tc_lua_raise(L, "forward", &err);
  for (int i = 0; i < n; i++) ((struct tc_lua_object *)lua_touserdata(L, first + i))->tensor = outputs[i];
  return n;
}

static void push_layout(lua_State *L, tc_dtype dtype, int ndim, const int64_t *sizes) {
  luaL_Buffer text;
  luaL_buffinit(L, &text);
  luaL_addstring(&text, tc_dtype_name(dtype));
  luaL_addchar(&text, '[');
  for (int d = 0; d < ndim; d++) {
    if (d) luaL_addstring(&text, ", ");
    lua_pushfstring(L, "%I", (LUAI_UACINT)sizes[d]);
    luaL_addvalue(&text);
  }
  luaL_addchar(&text, ']');
  luaL_pushresult(&text);
}

/* The tensor must be what the graph was captured for: operations were chosen by that. */
static void check_input(lua_State *L, const struct forward *f, int number, const struct tc_tensor *x,
                        const int64_t *sizes) {
  const struct tc_meta *meta = &f->graph->inputs.data[number]->meta;
  int64_t wanted[TC_MAX_DIMS];
  bool fits = x->dtype == meta->dtype && x->ndim == meta->ndim;
  for (int d = 0; d < meta->ndim; d++) {
    if (!tc_sym_eval_checked(meta->sizes[d], sizes, &wanted[d])) wanted[d] = -1;
    fits = fits && x->sizes[d] == wanted[d];
  }
  if (fits && x->storage->device == f->module->ctx.device) return;
  push_layout(L, meta->dtype, meta->ndim, wanted);
  push_layout(L, x->dtype, x->ndim, x->sizes);
  tc_lua_raise_text(L, "forward", "argument %d must be %s, as in the graph; got %s%s", number + 1,
                    lua_tostring(L, -2), lua_tostring(L, -1), fits ? " on another device" : "");
}

static int forward(lua_State *L) {
  const struct forward *f = lua_touserdata(L, lua_upvalueindex(TC_LUA_EXTRA));
  tc_lua_closure_module(L); /* raises when it is closed */
  const int n_inputs = tc_compiled_inputs(f->compiled), n_sizes = tc_compiled_sizes(f->compiled);
  const struct tc_tensor *inputs[TC_LUA_MAX_INPUTS];
  int64_t sizes[TC_MAX_GUARD_SIZES];
  if (lua_gettop(L) != n_inputs + n_sizes)
    return tc_lua_raise_text(L, "forward", "takes %d tensors and %d sizes, got %d arguments", n_inputs,
                             n_sizes, lua_gettop(L));
  for (int i = 0; i < n_inputs; i++) inputs[i] = tc_lua_check_tensor(L, i + 1, "forward");
  for (int i = 0; i < n_sizes; i++) {
    int is_integer;
    sizes[i] = lua_tointegerx(L, n_inputs + i + 1, &is_integer);
    if (!is_integer || sizes[i] < TC_SYM_SIZE_MIN)
      return tc_lua_raise_text(L, "forward", "argument %d must be a size of at least %d, got %s",
                               n_inputs + i + 1, TC_SYM_SIZE_MIN, tc_lua_given(L, n_inputs + i + 1));
  }
  for (int i = 0; i < n_inputs; i++) check_input(L, f, i, inputs[i], sizes);
  return run_forward(L, f, inputs, sizes);
}

static void push_forward(lua_State *L, const struct tc_backend_call *call) {
  struct forward *f = lua_newuserdatauv(L, sizeof *f, 0);
  *f = (struct forward){.module = call->module, .graph = call->graph};
  luaL_setmetatable(L, forward_name);
  f->compiled = tc_compiled_retain(call->entry->compiled);
  tc_lua_closure_over(L, forward, NULL);
}

/* --- the table --- */

/* A symbol as an integer, or as text. */
static void push_symbol(lua_State *L, const struct tc_alloc *alloc, tc_sym s) {
  if (tc_sym_is_const(s)) {
    lua_pushinteger(L, tc_sym_value(s));
    return;
  }
  char room[512]; /* a copy: pushing may raise */
  struct tc_strbuf text;
  tc_strbuf_init(&text, alloc);
  tc_sym_print(&text, s);
  const bool fits = tc_strbuf_text(&text) && text.len < sizeof room;
  if (fits) memcpy(room, text.data, text.len + 1);
  tc_strbuf_free(&text);
  if (!fits) luaL_error(L, "an expression of sizes is too long");
  lua_pushstring(L, room);
}

static void set_symbols(lua_State *L, const struct tc_alloc *alloc, const char *name, int n,
                        const tc_sym *symbols) {
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    push_symbol(L, alloc, symbols[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, name);
}

static void set_attributes(lua_State *L, const struct tc_alloc *alloc, const struct tc_attrs *attrs) {
  lua_createtable(L, 0, 2);
  set_symbols(L, alloc, "integers", attrs->n_ints, attrs->ints);
  lua_createtable(L, attrs->n_nums, 0);
  for (int i = 0; i < attrs->n_nums; i++) {
    lua_pushnumber(L, attrs->nums[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "numbers");
  lua_setfield(L, -2, "attributes");
}

static void set_nodes(lua_State *L, const char *name, int n, struct tc_node *const *nodes) {
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    lua_pushinteger(L, nodes[i]->id + 1);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, name);
}

static void push_node(lua_State *L, const struct tc_alloc *alloc, const struct tc_node *node) {
  lua_newtable(L);
  lua_pushstring(L, tc_op_row(node->op)->name);
  lua_setfield(L, -2, "op");
  lua_pushstring(L, tc_dtype_name(node->meta.dtype));
  lua_setfield(L, -2, "dtype");
  set_symbols(L, alloc, "shape", node->meta.ndim, node->meta.sizes);
  set_nodes(L, "inputs", node->n_in, node->in);
  set_attributes(L, alloc, &node->attrs);
  if (node->line)
    lua_pushinteger(L, node->line);
  else
    lua_pushnil(L);
  lua_setfield(L, -2, "line");
  lua_pushstring(L, node->source);
  lua_setfield(L, -2, "source");
}

static void set_sizes(lua_State *L, const struct tc_symtab *tab) {
  const int n = tc_symtab_sizes(tab);
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    lua_createtable(L, 0, 2);
    lua_pushfstring(L, "s%d", i);
    lua_setfield(L, -2, "name");
    lua_pushinteger(L, tc_symtab_hint(tab, i));
    lua_setfield(L, -2, "hint");
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "sizes");
}

/* The text lies in the graph's arena. */
static void set_text(lua_State *L, const struct tc_graph *graph) {
  struct tc_strbuf text;
  tc_strbuf_init(&text, tc_arena_alloc(graph->arena));
  tc_graph_print(&text, graph);
  const char *printed = tc_strbuf_text(&text);
  lua_pushstring(L, printed ? printed : "(out of memory)");
  lua_setfield(L, -2, "text");
}

void tc_backend_push_graph(lua_State *L, const struct tc_backend_call *call) {
  const struct tc_graph *graph = call->graph;
  const struct tc_alloc *alloc = call->module->ctx.alloc;
  luaL_checkstack(L, LUA_MINSTACK, "a graph");
  lua_newtable(L);
  lua_createtable(L, (int)graph->nodes.len, 0);
  for (size_t i = 0; i < graph->nodes.len; i++) {
    push_node(L, alloc, graph->nodes.data[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "nodes");
  set_nodes(L, "inputs", (int)graph->inputs.len, graph->inputs.data);
  set_nodes(L, "outputs", (int)graph->outputs.len, graph->outputs.data);
  set_sizes(L, graph->tab);
  set_text(L, graph);
  push_forward(L, call);
  lua_setfield(L, -2, "forward");
}

void tc_backend_open_graph(lua_State *L) {
  luaL_newmetatable(L, forward_name);
  lua_pushcfunction(L, forward_gc);
  lua_setfield(L, -2, "__gc");
  lua_pop(L, 1);
}
