/* Tensors that are made of lazy numbers: each is an input of the graph, and they are stacked. */
#include "capture/trace/lazy.h"
#include "capture/trace/tables.h"
#include "capture/trace/tensors.h"
#include "capture/trace/trace.h"

enum { MOST_ITEMS = 32 };

struct items {
  int count;
  bool is_list;
  struct tc_tracked values[MOST_ITEMS];
};

/* Reads a number, or a short list of numbers; no item, for other data. */
static tc_status read_items(struct tc_trace *t, struct tc_tracked data, struct items *out) {
  lua_Integer count = 1;
  out->count = 0;
  out->is_list = data.kind == TC_IS_TABLE;
  out->values[0] = data;
  tc_status status = out->is_list ? tc_table_length(t, data.table, &count) : TC_OK;
  if (status || count < 1 || count > MOST_ITEMS) return status;
  for (int i = 0; i < count; i++) {
    if (out->is_list && (status = tc_table_get(t, data.table, tc_int(i + 1), &out->values[i]))) return status;
    if (!tc_is_number(&out->values[i])) return TC_OK;
  }
  out->count = (int)count;
  return TC_OK;
}

tc_status tc_lazy_data(struct tc_trace *t, struct tc_tracked data, bool *lazy, bool *integers) {
  struct items items;
  const tc_status status = read_items(t, data, &items);
  *lazy = false;
  *integers = true;
  for (int i = 0; i < items.count && !status; i++) {
    *lazy |= tc_is_lazy(t, &items.values[i]);
    *integers &= items.values[i].kind == TC_IS_INT;
  }
  return status;
}

/* A constant, without dimensions. */
static tc_status make_constant(struct tc_trace *t, struct tc_tracked *v, struct tc_value **out) {
  const bool is_integer = v->kind == TC_IS_INT;
  const double number = is_integer ? 0 : v->number;
  const tc_sym ints[] = {tc_sym_const(is_integer ? TC_I64 : TC_F64),
                         tc_sym_const(is_integer ? v->integer : 0)};
  const tc_status status = tc_use(t, v);
  if (status) return status;
  if (!tc_sym_valid(ints[1]))
    return tc_trace_break(t, TC_BREAK_UNSUPPORTED_VALUE, "a tensor of an integer beyond 62 bits");
  const struct tc_attrs attrs = {.ints = ints, .n_ints = 2, .nums = &number, .n_nums = 1};
  return tc_emit(&t->builder.builder, TC_OP_full, 0, NULL, &attrs, out, t->err);
}

/* The number as a tensor of the dtype, without dimensions. */
static tc_status make_item(struct tc_trace *t, struct tc_tracked *v, tc_dtype dtype, struct tc_value **out) {
  struct tc_node *node = NULL;
  tc_status status = tc_is_lazy(t, v) ? tc_scalar_node(t, v, &node) : TC_OK;
  if (!status && node)
    *out = tc_value_of(node);
  else if (!status)
    status = make_constant(t, v, out);
  if (status || dtype == (v->kind == TC_IS_INT ? TC_I64 : TC_F64)) return status;
  const tc_sym to = tc_sym_const(dtype);
  struct tc_value *const in[] = {*out};
  return tc_emit(&t->builder.builder, TC_OP_cast, 1, in, &(struct tc_attrs){.ints = &to, .n_ints = 1}, out,
                 t->err);
}

tc_status tc_lazy_tensor(struct tc_trace *t, struct tc_tracked data, tc_dtype dtype, struct tc_value **out) {
  struct tc_arg values[MOST_ITEMS], bound[TC_MAX_ARGS];
  struct items items;
  struct tc_results results = {.count = 0};
  tc_status status = read_items(t, data, &items);
  for (int i = 0; i < items.count && !status; i++) {
    values[i].kind = TC_ARG_VALUE;
    status = make_item(t, &items.values[i], dtype, &values[i].value);
  }
  if (status) return status;
  const struct tc_function *function = tc_function_find(items.is_list ? "stack" : "clone");
  const struct tc_arg list = {TC_ARG_LIST, .list = {values, items.count}};
  status = tc_function_bind(function, items.is_list ? &list : values, 1, NULL, 0, bound, t->err);
  if (!status) status = function->run(&t->builder.builder, bound, TC_MAX_ARGS, &results, t->err);
  if (!status) *out = results.values[0];
  return status;
}
