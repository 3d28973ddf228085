/* Backends in shared objects (plugin.h).
 *
 * 1. A plug-in lies in a userdata, which closes the shared object when nothing rests on it any more: what it
 *    compiled refers to it.
 * 2. The view of a graph is made of Lua's memory, so that nothing is lost where that is out.
 * 3. A plug-in is given memory of the host. On the CPU a run reads the inputs where they lie, and writes
 * fresh memory; elsewhere it has copies, and its outputs are moved to the device. */
#include "lua/compile/backends.h"

#include <dlfcn.h>

#include "plugin.h"
#include "tensor/host.h"

static const char plugin_name[] = "tbench.plugin", code_name[] = "tbench.plugin_code";

struct plugin {
  void *handle;
  const struct tc_plugin *interface;
};
/* What it compiled; its user value is the plug-in. Dtypes and sizes of outputs are those of the node in the
 * graph's view. */
struct output {
  tc_dtype dtype;
  int ndim;
  int64_t sizes[TC_MAX_DIMS];
};
struct code {
  struct tc_lua_module *module;
  const struct plugin *plugin;
  void *compiled;
  int n_inputs, n_outputs;
  struct output outputs[];
};

static int plugin_gc(lua_State *L) {
  struct plugin *p = lua_touserdata(L, 1);
  if (p->handle) dlclose(p->handle);
  p->handle = NULL;
  return 0;
}

static int code_gc(lua_State *L) {
  struct code *c = lua_touserdata(L, 1);
  if (c->compiled && c->plugin->handle) c->plugin->interface->release(c->compiled);
  c->compiled = NULL;
  return 0;
}

bool tc_backend_is_plugin(lua_State *L, int index) { return luaL_testudata(L, index, plugin_name) != NULL; }

void tc_backend_push_plugin(lua_State *L, const char *name, const char *path) {
  static const char me[] = "register_backend";
  struct plugin *p = lua_newuserdatauv(L, sizeof *p, 0);
  *p = (struct plugin){.handle = NULL};
  luaL_setmetatable(L, plugin_name);
  p->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!p->handle) tc_lua_raise_text(L, me, "backend '%s': %s", name, dlerror());
  const struct tc_plugin *found = dlsym(p->handle, TC_PLUGIN_SYMBOL);
  if (!found)
    tc_lua_raise_text(L, me, "backend '%s': %s has no symbol " TC_PLUGIN_SYMBOL " (plugin.h)", name, path);
  if (found->version != TC_PLUGIN_VERSION)
    tc_lua_raise_text(L, me, "backend '%s': %s is made for version %d of plugin.h, and this is version %d",
                      name, path, (int)found->version, TC_PLUGIN_VERSION);
  const char *missing = !found->compile   ? "compile"
                        : !found->run     ? "run"
                        : !found->release ? "release"
                                          : NULL;
  if (missing) tc_lua_raise_text(L, me, "backend '%s': %s has no function %s", name, path, missing);
  p->interface = found;
}

/* --- the view of a graph --- */

/* Memory that Lua collects: pushed. */
static void *scratch(lua_State *L, size_t bytes) {
  luaL_checkstack(L, 1, "a graph");
  return lua_newuserdatauv(L, bytes ? bytes : 1, 0);
}

static int *node_numbers(lua_State *L, size_t n, struct tc_node *const *nodes) {
  int *numbers = scratch(L, n * sizeof *numbers);
  for (size_t i = 0; i < n; i++) numbers[i] = nodes[i]->id;
  return numbers;
}

/* Constants; a graph of sizes that vary is refused. */
static int64_t *constants(lua_State *L, int n, const tc_sym *symbols) {
  int64_t *values = scratch(L, (size_t)n * sizeof *values);
  for (int i = 0; i < n; i++) {
    if (!tc_sym_is_const(symbols[i]))
      luaL_error(L,
                 "a plug-in takes constant sizes alone, and a tensor of this call is marked (mark_dynamic)");
    values[i] = tc_sym_value(symbols[i]);
  }
  return values;
}

/* Stack: what the node refers to is put into the table at `keep`. */
static void view_node(lua_State *L, int keep, const struct tc_node *node, struct tc_plugin_node *out) {
  *out = (struct tc_plugin_node){.op = tc_op_row(node->op)->name,
                                 .n_inputs = node->n_in,
                                 .n_integers = node->attrs.n_ints,
                                 .n_numbers = node->attrs.n_nums,
                                 .numbers = node->attrs.nums,
                                 .dtype = tc_dtype_name(node->meta.dtype),
                                 .n_dims = node->meta.ndim,
                                 .line = node->line};
  out->inputs = node_numbers(L, (size_t)node->n_in, node->in);
  lua_rawseti(L, keep, (lua_Integer)lua_rawlen(L, keep) + 1);
  out->integers = constants(L, node->attrs.n_ints, node->attrs.ints);
  lua_rawseti(L, keep, (lua_Integer)lua_rawlen(L, keep) + 1);
  out->sizes = constants(L, node->meta.ndim, node->meta.sizes);
  lua_rawseti(L, keep, (lua_Integer)lua_rawlen(L, keep) + 1);
}

static void view_graph(lua_State *L, const struct tc_graph *graph, struct tc_plugin_graph *out) {
  lua_newtable(L);
  const int keep = lua_gettop(L);
  struct tc_plugin_node *nodes = scratch(L, graph->nodes.len * sizeof *nodes);
  for (size_t i = 0; i < graph->nodes.len; i++) view_node(L, keep, graph->nodes.data[i], &nodes[i]);
  *out = (struct tc_plugin_graph){.n_nodes = (int)graph->nodes.len,
                                  .nodes = nodes,
                                  .n_inputs = (int)graph->inputs.len,
                                  .n_outputs = (int)graph->outputs.len};
  out->inputs = node_numbers(L, graph->inputs.len, graph->inputs.data);
  out->outputs = node_numbers(L, graph->outputs.len, graph->outputs.data);
}

/* --- runs --- */

static void describe_output(const struct tc_meta *meta, struct output *out) {
  *out = (struct output){.dtype = meta->dtype, .ndim = meta->ndim};
  for (int d = 0; d < meta->ndim; d++) out->sizes[d] = tc_sym_value(meta->sizes[d]);
}

/* Memory that a plug-in reads or writes, of a tensor on the CPU. */
static struct tc_plugin_tensor memory_of(const struct tc_tensor *x) {
  struct tc_host_view view;
  (void)tc_host_write(x, &view, NULL); /* the CPU's: a pointer */
  return (struct tc_plugin_tensor){view.data, x->strides};
}

/* Outputs from stack index `first` on. */
static void move_outputs(lua_State *L, const struct code *c, int first) {
  struct tc_error err = {.message = ""};
  struct tc_tensor moved;
  for (int i = 0; i < c->n_outputs && c->module->ctx.device != c->module->ctx.cpu; i++) {
    struct tc_lua_object *object = lua_touserdata(L, first + i);
    if (tc_tensor_to(&object->tensor, c->module->ctx.device, &moved, &err)) luaL_error(L, "%s", err.message);
    tc_tensor_release(&object->tensor);
    object->tensor = moved;
  }
}

/* Pushes outputs with fresh memory. */
static void make_outputs(lua_State *L, const struct code *c, struct tc_plugin_tensor *outputs) {
  struct tc_error err = {.message = ""};
  for (int i = 0; i < c->n_outputs; i++) {
    const struct output *o = &c->outputs[i];
    struct tc_lua_object *object = tc_lua_new_object(L, lua_upvalueindex(TC_LUA_METATABLE));
    if (tc_tensor_new(c->module->ctx.cpu, o->dtype, o->ndim, o->sizes, &object->tensor, &err)) {
      object->tensor.storage = NULL;
      luaL_error(L, "%s", err.message);
    }
    outputs[i] = memory_of(&object->tensor);
  }
}

/* (tensors) → tensors */
static int run_code(lua_State *L) {
  const struct code *c = lua_touserdata(L, lua_upvalueindex(TC_LUA_EXTRA));
  char error[256] = "";
  const int n_inputs = lua_gettop(L);
  struct tc_plugin_tensor *inputs = scratch(L, (size_t)c->n_inputs * sizeof *inputs),
                          *outputs = scratch(L, (size_t)c->n_outputs * sizeof *outputs);
  luaL_checkstack(L, c->n_inputs + c->n_outputs + LUA_MINSTACK, "outputs of a plug-in");
  if (n_inputs != c->n_inputs) return luaL_error(L, "it takes %d tensors, got %d", c->n_inputs, n_inputs);
  for (int i = 0; i < n_inputs; i++) {
    const struct tc_tensor *tensor = tc_lua_check_tensor(L, i + 1, c->plugin->interface->name);
    inputs[i] = memory_of(tc_lua_on_host(L, tensor, c->plugin->interface->name));
  }
  const int first_output = lua_gettop(L) + 1;
  make_outputs(L, c, outputs);
  if (c->plugin->interface->run(c->compiled, inputs, outputs, error, sizeof error)) {
    error[sizeof error - 1] = '\0';
    return luaL_error(L, "%s", *error ? error : "no reason given");
  }
  move_outputs(L, c, first_output);
  return c->n_outputs;
}

void tc_backend_plugin_compile(lua_State *L, int plugin, const struct tc_backend_call *call) {
  const struct tc_graph *graph = call->graph;
  const struct plugin *p = lua_touserdata(L, plugin);
  const size_t n_outputs = graph->outputs.len;
  struct tc_plugin_graph view;
  char error[256] = "";
  view_graph(L, graph, &view);
  struct code *c = lua_newuserdatauv(L, sizeof *c + n_outputs * sizeof c->outputs[0], 1);
  *c = (struct code){
      .module = call->module, .plugin = p, .n_inputs = view.n_inputs, .n_outputs = view.n_outputs};
  for (size_t i = 0; i < n_outputs; i++) describe_output(&graph->outputs.data[i]->meta, &c->outputs[i]);
  luaL_setmetatable(L, code_name);
  lua_pushvalue(L, plugin);
  lua_setiuservalue(L, -2, 1);
  c->compiled = p->interface->compile(&view, error, sizeof error);
  error[sizeof error - 1] = '\0';
  if (!c->compiled) luaL_error(L, "%s", *error ? error : "no reason given");
  tc_lua_closure_over(L, run_code, NULL);
}

void tc_backend_open_plugin(lua_State *L) {
  luaL_newmetatable(L, plugin_name);
  lua_pushcfunction(L, plugin_gc);
  lua_setfield(L, -2, "__gc");
  luaL_newmetatable(L, code_name);
  lua_pushcfunction(L, code_gc);
  lua_setfield(L, -2, "__gc");
  lua_pop(L, 2);
}
