/* Functions of the Lua module that are no tensor functions: what they are asked is a fact that a guard holds,
 * and a tensor of data becomes a constant of the graph.
 *
 * Invariants:
 *  1. tb.tensor itself makes the constant, once, from data that guards fix; so it refuses, converts and
 *     rounds as in plain Lua.
 *  2. Each call makes a fresh tensor: `full` for a single element; else the constant is an input that the
 *     guards keep alive, and what the traced code sees is a clone of it. */
#include "capture/library/library.h"
#include "capture/trace/externals.h"
#include "capture/trace/frames.h"
#include "capture/trace/lazy.h"
#include "capture/trace/metamethods.h"
#include "capture/trace/shapes.h"
#include "capture/trace/tables.h"
#include "capture/trace/tensors.h"
#include "tensor/host.h"

/* What is_tensor and others ask of a value never depends on more than its type. */
tc_status tc_library_is_tensor(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  const struct tc_tracked value = tc_argument(t, at, n_args, 0);
  const struct tc_traced_shape *shape;
  tc_status status = TC_OK;
  if (value.kind == TC_IS_TENSOR && value.tensor->external)
    status = tc_shape_of(t, value.tensor, &shape);
  else if (value.kind == TC_IS_OPAQUE)
    tc_pin(t, &value);
  else
    tc_use_type(t, &value);
  return status ? status : tc_give(t, at, tc_bool(value.kind == TC_IS_TENSOR), n_results);
}

tc_status tc_library_default_dtype(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  (void)n_args;
  struct tc_tracked name;
  const char *text = tc_dtype_name(t->builder.builder.default_dtype);
  tc_guard_default_dtype(t);
  const tc_status status = tc_text_of(t, text, strlen(text), &name);
  return status ? status : tc_give(t, at, name, n_results);
}

tc_status tc_library_is_compiling(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  (void)n_args;
  return tc_give(t, at, tc_bool(true), n_results);
}

tc_status tc_library_disabled(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  (void)at, (void)n_args, (void)n_results;
  return tc_trace_break(t, TC_BREAK_DISABLED, "call of a function that tb.disable made");
}

/* What tb.allow_in_graph made: its upvalue is called, and a break inside is marked. */
tc_status tc_library_allowed(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  const struct tc_tracked wrapper = t->slots[at];
  tc_push(t, &wrapper);
  lua_getupvalue(t->L, -1, 1);
  lua_remove(t->L, -2);
  tc_status status = tc_import_pinned(t, wrapper.origin->source, &t->slots[at]);
  if (status) return status;
  t->allowed++;
  status = tc_call(t, at, n_args, n_results);
  if (!status) t->allowed--;
  return status;
}

/* --- tb.tensor --- */

static tc_status push_data(struct tc_trace *t, struct tc_tracked value, int depth);

/* A list, as the function reads it: by its raw length and elements. */
static tc_status push_list(struct tc_trace *t, struct tc_traced_table *list, int depth) {
  lua_Integer count;
  if (depth > TC_MAX_DIMS) return tc_trace_raises(t, "tensor: tables are nested too deeply");
  tc_status status = tc_table_length(t, list, &count);
  if (status) return status;
  if (!lua_checkstack(t->L, LUA_MINSTACK)) return tc_trace_nomem(t);
  lua_createtable(t->L, count < INT_MAX ? (int)count : 0, 0);
  for (lua_Integer i = 1; i <= count && !status; i++) {
    struct tc_tracked item;
    status = tc_table_get(t, list, tc_int(i), &item);
    if (!status) status = push_data(t, item, depth + 1);
    if (!status) lua_rawseti(t->L, -2, i);
  }
  return status;
}

static tc_status push_data(struct tc_trace *t, struct tc_tracked value, int depth) {
  if (value.kind == TC_IS_TABLE) return push_list(t, value.table, depth);
  if (tc_is_scalar(&value)) {
    const tc_status status = tc_use(t, &value);
    tc_push(t, &value);
    return status;
  }
  char name[128];
  tc_use_type(t, &value);
  tc_describe(t, &value, name, sizeof name);
  return tc_trace_raises(t, "tensor: %s is no number, boolean or table", name);
}

/* The options that the function reads, in a new table; anything that is no table as it is. */
static tc_status push_options(struct tc_trace *t, struct tc_tracked options) {
  static const char *const names[] = {"dtype", "reference_dtype"};
  if (options.kind != TC_IS_TABLE) return push_data(t, options, 0);
  lua_createtable(t->L, 0, 2);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    struct tc_tracked key, value;
    tc_status status = tc_text_of(t, names[i], strlen(names[i]), &key);
    if (!status) status = tc_index(t, &options, key, &value);
    if (!status) status = push_data(t, value, 0);
    if (status) return status;
    lua_setfield(t->L, -2, names[i]);
  }
  return TC_OK;
}

/* Calls the function on data; the tensor object is left at the stack top. */
static tc_status push_constant(struct tc_trace *t, size_t at, int n_args) {
  const struct tc_tracked callee = t->slots[at];
  tc_push(t, &callee);
  tc_status status = push_data(t, tc_argument(t, at, n_args, 0), 0);
  if (!status) status = push_options(t, tc_argument(t, at, n_args, 1));
  if (status) return status;
  if (lua_pcall(t->L, 2, 1, 0) == LUA_OK) return TC_OK;
  return tc_trace_raises(t, "%s", lua_type(t->L, -1) == LUA_TSTRING ? lua_tostring(t->L, -1) : "tensor");
}

/* `full` of the one element; *out stays NULL where that is an integer that no symbol holds. */
static tc_status make_full(struct tc_trace *t, const struct tc_tensor *x, struct tc_value **out) {
  const bool is_float = tc_dtype_is_float(x->dtype);
  const double number = is_float ? tc_tensor_get_f64(x, 0) : 0;
  tc_sym ints[2 + TC_MAX_DIMS] = {tc_sym_const(x->dtype),
                                  tc_sym_const(is_float ? 0 : tc_tensor_get_i64(x, 0))};
  for (int d = 0; d < x->ndim; d++) ints[2 + d] = tc_sym_const(1);
  if (!tc_sym_valid(ints[1])) return TC_OK;
  const struct tc_attrs attrs = {.ints = ints, .n_ints = 2 + x->ndim, .nums = &number, .n_nums = 1};
  return tc_emit(&t->builder.builder, TC_OP_full, 0, NULL, &attrs, out, t->err);
}

/* A clone of the constant at the stack top, which becomes an input. */
static tc_status make_clone(struct tc_trace *t, int source, struct tc_value **out) {
  struct tc_tracked constant;
  struct tc_node *node;
  lua_pushvalue(t->L, -1);
  tc_status status = tc_import_pinned(t, source, &constant);
  if (!status) status = tc_tensor_node(t, constant.tensor, &node);
  if (status) return status;
  struct tc_value *const in[] = {tc_value_of(node)};
  return tc_emit(&t->builder.builder, TC_OP_clone, 1, in, NULL, out, t->err);
}

/* The dtype that the options ask for; without any, what the function chooses. *known is false for options of
 * another kind. */
static tc_status option_dtype(struct tc_trace *t, struct tc_tracked options, bool integers, tc_dtype *out,
                              bool *known) {
  struct tc_tracked key, value;
  *out = integers ? TC_I64 : t->builder.builder.default_dtype;
  *known = options.kind == TC_IS_NIL;
  if (options.kind != TC_IS_TABLE) return TC_OK;
  tc_status status = tc_text_of(t, "reference_dtype", strlen("reference_dtype"), &key);
  if (!status) status = tc_index(t, &options, key, &value);
  if (status || value.kind != TC_IS_NIL) return status;
  status = tc_text_of(t, "dtype", strlen("dtype"), &key);
  if (!status) status = tc_index(t, &options, key, &value);
  if (!status) status = tc_use(t, &value);
  if (!status)
    *known = value.kind == TC_IS_NIL || (value.kind == TC_IS_TEXT && tc_dtype_parse(value.text->bytes, out));
  return status;
}

/* A tensor of numbers that change between calls; *out stays NULL where it is to be a constant. */
static tc_status make_lazy(struct tc_trace *t, size_t at, int n_args, struct tc_value **out) {
  const struct tc_tracked data = tc_argument(t, at, n_args, 0);
  bool lazy, integers, known;
  tc_dtype dtype;
  tc_status status = tc_lazy_data(t, data, &lazy, &integers);
  if (status || !lazy) return status;
  status = option_dtype(t, tc_argument(t, at, n_args, 1), integers, &dtype, &known);
  return status || !known ? status : tc_lazy_tensor(t, data, dtype, out);
}

static tc_status give_tensor(struct tc_trace *t, size_t at, struct tc_value *value, int *n_results) {
  struct tc_tracked made;
  tc_status status = tc_new_tensor(t, tc_node_of(value), &made);
  if (!status) status = tc_count_operation(t);
  return status ? status : tc_give(t, at, made, n_results);
}

tc_status tc_library_tensor(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  lua_State *L = t->L;
  const int top = lua_gettop(L), source = t->slots[at].origin->source;
  struct tc_value *value = NULL;
  tc_guard_default_dtype(t);
  tc_mark_line(t);
  tc_status status = make_lazy(t, at, n_args, &value);
  if (!status && value) return give_tensor(t, at, value, n_results);
  if (!status) status = push_constant(t, at, n_args);
  if (status) return status;
  const struct tc_tensor *x = t->host->tensor_at(L, lua_gettop(L));
  if (!x) return tc_trace_break(t, TC_BREAK_C_FUNCTION, "tensor gives no tensor");
  if (tc_tensor_numel(x) == 1) status = make_full(t, x, &value);
  if (!status && !value) status = make_clone(t, source, &value);
  lua_settop(L, top);
  return status ? status : give_tensor(t, at, value, n_results);
}
