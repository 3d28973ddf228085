/* Calls of tensor functions: tracked values become arguments, results become nodes.
 *
 * Invariants:
 *  1. Arguments are read as the Lua module reads them: a last table with a key that is a string gives
 *     arguments by name, any other table is a list of its raw sequence.
 *  2. A function that gives back an argument as it is gives back that very value.
 *  3. What a function refuses is a break, so that the eager call raises its own error. */
#include <string.h>

#include "capture/trace/externals.h"
#include "capture/trace/frames.h"
#include "capture/trace/lazy.h"
#include "capture/trace/shapes.h"
#include "capture/trace/tables.h"
#include "capture/trace/tensors.h"
#include "capture/trace/trace.h"

enum { MAX_POSITIONAL = 64, LIST_DEPTH = 4 };

struct arguments {
  int n_positional, n_named;
  struct tc_arg positional[MAX_POSITIONAL];
  struct tc_named_arg named[TC_MAX_ARGS];
  bool is_scalar[2]; /* of the first two: a lazy number that is an input of the graph */
};

static tc_status read_value(struct tc_trace *t, struct tc_tracked value, int depth, struct tc_arg *out);

static tc_status read_list(struct tc_trace *t, struct tc_traced_table *table, int depth, struct tc_arg *out) {
  lua_Integer count;
  tc_status status = tc_table_length(t, table, &count);
  if (status) return status;
  if (depth >= LIST_DEPTH || count > TC_MAX_LIST)
    return tc_trace_raises(t, "a list that is too long or too deep");
  struct tc_arg *items = TC_NEW_ARRAY(tc_arena_alloc(t->arena), struct tc_arg, (size_t)count + 1);
  if (!items) return tc_trace_nomem(t);
  for (lua_Integer i = 0; i < count && !status; i++) {
    struct tc_tracked item;
    status = tc_table_get(t, table, tc_int(i + 1), &item);
    if (!status) status = read_value(t, item, depth + 1, &items[i]);
  }
  *out = (struct tc_arg){TC_ARG_LIST, .list = {items, (int)count}};
  return status;
}

static tc_status read_value(struct tc_trace *t, struct tc_tracked value, int depth, struct tc_arg *out) {
  struct tc_node *node;
  tc_sym size = TC_SYM_INVALID;
  tc_status status =
      tc_is_lazy(t, &value) && value.kind == TC_IS_INT ? tc_size_of_int(t, &value, &size) : tc_use(t, &value);
  if (status) return status;
  if (tc_sym_valid(size)) {
    *out = (struct tc_arg){TC_ARG_INT, .integer = size};
    return TC_OK;
  }
  switch (value.kind) {
    case TC_IS_NIL: *out = (struct tc_arg){TC_ARG_NIL, .boolean = false}; return TC_OK;
    case TC_IS_BOOL: *out = (struct tc_arg){TC_ARG_BOOL, .boolean = value.boolean}; return TC_OK;
    case TC_IS_NUM: *out = (struct tc_arg){TC_ARG_NUM, .number = value.number}; return TC_OK;
    case TC_IS_TEXT: *out = (struct tc_arg){TC_ARG_TEXT, .text = value.text->bytes}; return TC_OK;
    case TC_IS_INT: *out = tc_arg_integer(value.integer); return TC_OK;
    case TC_IS_TENSOR:
      if ((status = tc_tensor_node(t, value.tensor, &node))) return status;
      *out = (struct tc_arg){TC_ARG_VALUE, .value = tc_value_of(node)};
      return TC_OK;
    case TC_IS_TABLE: return read_list(t, value.table, depth, out);
    default:
      tc_use_type(t, &value);
      return tc_trace_raises(t, "a tensor function with an argument that it does not take");
  }
}

static tc_status read_names(struct tc_trace *t, struct arguments *args, struct tc_traced_table *table) {
  struct tc_tracked key = tc_nil(), value;
  for (;;) {
    const tc_status status = tc_table_next(t, table, key, &key, &value);
    if (status) return status;
    if (key.kind == TC_IS_NIL) return TC_OK;
    if (key.kind != TC_IS_TEXT || args->n_named == TC_MAX_ARGS)
      return tc_trace_raises(t, "a table that mixes named arguments with others");
    struct tc_named_arg *named = &args->named[args->n_named];
    named->name = key.text->bytes;
    const tc_status read = read_value(t, value, 0, &named->arg);
    if (read) return read;
    args->n_named++;
  }
}

/* Functions of two operands that take a number as they take a tensor without dimensions. */
static bool takes_scalars(const struct tc_function *f) {
  static const char *const names[] = {"add", "sub", "mul", "div", "maximum", "minimum"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strcmp(f->name, names[i])) return true;
  return false;
}

/* The other operand makes the dtype: as it does for a number, where it has dimensions and is no smaller than
 * f32; integers beside an integer number too. */
static tc_status decides_dtype(struct tc_trace *t, const struct tc_tracked *v, bool is_integer,
                               bool *decides) {
  struct tc_node *node;
  *decides = false;
  if (v->kind != TC_IS_TENSOR) return TC_OK;
  const tc_status status = tc_tensor_node(t, v->tensor, &node);
  if (status) return status;
  const tc_dtype dtype = node->meta.dtype;
  *decides = node->meta.ndim && (dtype == TC_F32 || dtype == TC_F64 || (is_integer && dtype == TC_I64));
  return status;
}

tc_status tc_scalar_node(struct tc_trace *t, const struct tc_tracked *v, struct tc_node **out) {
  for (size_t i = 0; i < t->lazy_scalars.len; i++) {
    if (t->lazy_scalars.data[i].source != v->source) continue;
    *out = t->lazy_scalars.data[i].node;
    return TC_OK;
  }
  *out = NULL;
  if (t->out->scalars.len >= TC_MAX_SCALARS) return TC_OK;
  const struct tc_meta meta = {.dtype = v->kind == TC_IS_INT ? TC_I64 : TC_F64};
  struct tc_lazy_scalar scalar = {v->source, tc_graph_input(t->out->graph, &meta, NULL)};
  const struct tc_alloc *alloc = tc_arena_alloc(t->out->recipes);
  const struct tc_scalar_input input = {t->n_graph_inputs, meta.dtype};
  const bool kept = scalar.node && tc_vec_push(tc_arena_alloc(t->arena), &t->lazy_scalars, scalar) &&
                    tc_vec_push(alloc, &t->out->scalars, input);
  if (!kept) return tc_trace_nomem(t);
  t->n_graph_inputs++;
  tc_guards_number(t->guards, v->source, v->kind == TC_IS_INT);
  tc_guards_scalar(t->guards, v->source, (int)t->out->scalars.len - 1);
  *out = scalar.node;
  return TC_OK;
}

/* A lazy number that is no size. */
static bool is_lazy_value(const struct tc_trace *t, const struct tc_tracked *v) {
  tc_sym size;
  return tc_is_lazy(t, v) && !tc_sym_of_int(t, v, &size);
}

/* Lazy numbers among two operands stay so, when the other operand is a tensor that makes the dtype. */
static tc_status read_scalars(struct tc_trace *t, const struct tc_function *f, struct arguments *args,
                              size_t first) {
  for (int i = 0; i < 2 && args->n_positional == 2; i++) {
    const struct tc_tracked *v = &t->slots[first + (size_t)i];
    struct tc_node *node = NULL;
    bool decides;
    if (!is_lazy_value(t, v) || !takes_scalars(f)) continue;
    tc_status status = decides_dtype(t, &t->slots[first + 1 - (size_t)i], v->kind == TC_IS_INT, &decides);
    if (!status && decides) status = tc_scalar_node(t, v, &node);
    if (status) return status;
    decides = decides && node;
    if (decides) args->positional[i] = (struct tc_arg){TC_ARG_VALUE, .value = tc_value_of(node)};
    args->is_scalar[i] = decides;
  }
  return TC_OK;
}

static tc_status read_arguments(struct tc_trace *t, const struct tc_function *f, struct arguments *args,
                                size_t first, int count) {
  args->n_positional = args->n_named = 0;
  args->is_scalar[0] = args->is_scalar[1] = false;
  const struct tc_tracked last = count ? t->slots[first + (size_t)count - 1] : tc_nil();
  bool has_names = false;
  tc_status status = TC_OK;
  if (last.kind == TC_IS_TABLE) status = tc_table_has_names(t, last.table, &has_names);
  if (!status && has_names) status = read_names(t, args, last.table);
  if (status) return status;
  const int n_positional = count - has_names;
  if (n_positional > MAX_POSITIONAL)
    return tc_trace_raises(t, "a tensor function with %d arguments", n_positional);
  args->n_positional = n_positional;
  status = read_scalars(t, f, args, first);
  for (int i = 0; i < n_positional && !status; i++)
    if (i >= 2 || !args->is_scalar[i])
      status = read_value(t, t->slots[first + (size_t)i], 0, &args->positional[i]);
  return status;
}

static tc_status track_result(struct tc_trace *t, const struct arguments *args, size_t first,
                              struct tc_value *value, struct tc_tracked *out) {
  for (int i = 0; i < args->n_positional; i++) {
    if (args->positional[i].kind != TC_ARG_VALUE || args->positional[i].value != value) continue;
    *out = t->slots[first + (size_t)i];
    return TC_OK;
  }
  return tc_new_tensor(t, tc_node_of(value), out);
}

static tc_status give_list(struct tc_trace *t, const struct arguments *args, const struct tc_results *results,
                           size_t at) {
  struct tc_tracked list, item;
  tc_status status = tc_new_table(t, results->count, 0, &list);
  for (int i = 0; i < results->count && !status; i++) {
    status = track_result(t, args, at + 1, results->values[i], &item);
    if (!status) status = tc_table_set_index(t, list.table, i + 1, &item);
  }
  if (!status) t->slots[at] = list;
  return status;
}

static tc_status give_each(struct tc_trace *t, const struct arguments *args, const struct tc_results *results,
                           size_t at) {
  struct tc_tracked values[TC_MAX_RESULTS];
  tc_status status = tc_reserve(t, at, (size_t)results->count);
  for (int i = 0; i < results->count && !status; i++)
    status = track_result(t, args, at + 1, results->values[i], &values[i]);
  for (int i = 0; i < results->count && !status; i++) t->slots[at + (size_t)i] = values[i];
  return status;
}

void tc_mark_line(struct tc_trace *t) {
  const struct tc_activation *a = t->activation; /* none: the captured function is itself a tensor function */
  t->builder.line = a ? tc_proto_line(a->proto, a->pc - 1) : 0;
  t->builder.source = a ? a->proto->chunk : NULL;
}

void tc_guard_default_dtype(struct tc_trace *t) {
  if (t->default_dtype_guarded || !t->host->default_dtype) return;
  tc_guards_default_dtype(t->guards, t->builder.builder.default_dtype);
  t->default_dtype_guarded = true;
}

tc_status tc_count_operation(struct tc_trace *t) {
  if (++t->out->n_ops <= TC_MAX_GRAPH_OPS) return TC_OK;
  return tc_trace_break(t, TC_BREAK_GRAPH_SIZE, "more than %d operations in one graph",
                        (int)TC_MAX_GRAPH_OPS);
}

tc_status tc_call_function(struct tc_trace *t, const struct tc_function *function, size_t at, int n_args,
                           int *n_results) {
  struct arguments args;
  struct tc_arg bound[TC_MAX_ARGS];
  struct tc_results results;
  struct tc_error err; /* not cleared, which would take longer than to bind the arguments */
  err.message[0] = '\0';
  tc_status status = read_arguments(t, function, &args, at + 1, n_args);
  if (status) return status;
  tc_mark_line(t);
  tc_guard_default_dtype(t);
  results.count = 0;
  status =
      tc_function_bind(function, args.positional, args.n_positional, args.named, args.n_named, bound, &err);
  if (!status) status = function->run(&t->builder.builder, bound, TC_MAX_ARGS, &results, &err);
  if (status == TC_NOMEM) return tc_trace_nomem(t);
  if (status) {
    /* Messages mostly begin with the function's name already. */
    const size_t length = strlen(function->name);
    if (!strncmp(err.message, function->name, length) && err.message[length] == ':')
      return tc_trace_raises(t, "%s", err.message);
    return tc_trace_raises(t, "%s: %s", function->name, err.message);
  }
  *n_results = function->as_list ? 1 : results.count;
  if ((status = tc_count_operation(t))) return status;
  return function->as_list ? give_list(t, &args, &results, at) : give_each(t, &args, &results, at);
}
