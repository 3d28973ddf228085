/* Members of tensors: what is answered from shapes alone, what needs values (a break), and the tensor
 * functions that are methods. A shape that is looked at is guarded.
 *
 * To add a member: a row in `methods`, or a property in read_property. */
#include <string.h>

#include "capture/trace/externals.h"
#include "capture/trace/frames.h"
#include "capture/trace/shapes.h"
#include "capture/trace/tables.h"
#include "capture/trace/tensors.h"
#include "capture/trace/trace.h"

static tc_status sizes_of(struct tc_trace *t, struct tc_traced_tensor *x, int *ndim, const tc_sym **sizes) {
  const struct tc_traced_shape *shape;
  if (!x->external) {
    *ndim = x->node->meta.ndim;
    *sizes = x->node->meta.sizes;
    return TC_OK;
  }
  const tc_status status = tc_shape_of(t, x, &shape);
  if (status) return status;
  *ndim = x->external->ndim;
  *sizes = shape->sizes;
  return TC_OK;
}

/* Guards the shape of an external tensor, without making it an input. */
static tc_status look_at(struct tc_trace *t, struct tc_traced_tensor *x) {
  const tc_sym *sizes;
  int ndim;
  return sizes_of(t, x, &ndim, &sizes);
}

static tc_status new_list(struct tc_trace *t, int count, const tc_sym *values, struct tc_tracked *out) {
  tc_status status = tc_new_table(t, count, 0, out);
  for (int i = 0; i < count && !status; i++) {
    struct tc_tracked value;
    status = tc_int_of_sym(t, values[i], &value);
    if (!status) status = tc_table_set_index(t, out->table, i + 1, &value);
  }
  return status;
}

static tc_status self_of(struct tc_trace *t, size_t at, int n_args, struct tc_traced_tensor **out) {
  if (n_args < 1 || t->slots[at + 1].kind != TC_IS_TENSOR)
    return tc_trace_raises(t, "a method of tensors on another value");
  *out = t->slots[at + 1].tensor;
  return look_at(t, *out);
}

static tc_status give(struct tc_trace *t, size_t at, struct tc_tracked value, int *n_results) {
  t->slots[at] = value;
  *n_results = 1;
  return TC_OK;
}

/* values[d] for the dimension at argument 2, or all as a table. */
static tc_status give_by_dim(struct tc_trace *t, size_t at, int n_args, int ndim, const tc_sym *values,
                             int *n_results) {
  struct tc_tracked dim = n_args > 1 ? t->slots[at + 2] : tc_nil(), list;
  tc_status status = tc_use(t, &dim);
  if (status) return status;
  if (dim.kind == TC_IS_NIL) {
    status = new_list(t, ndim, values, &list);
    return status ? status : give(t, at, list, n_results);
  }
  const bool good = dim.kind == TC_IS_INT && dim.integer != 0 && dim.integer >= -ndim && dim.integer <= ndim;
  if (!good) return tc_trace_raises(t, "a dimension that the tensor does not have");
  status = tc_int_of_sym(t, values[dim.integer > 0 ? dim.integer - 1 : ndim + dim.integer], &list);
  return status ? status : give(t, at, list, n_results);
}

static tc_status method_size(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  struct tc_traced_tensor *x = NULL;
  const tc_sym *sizes;
  int ndim;
  tc_status status = self_of(t, at, n_args, &x);
  if (!status) status = sizes_of(t, x, &ndim, &sizes);
  return status ? status : give_by_dim(t, at, n_args, ndim, sizes, n_results);
}

static tc_status method_stride(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  struct tc_traced_tensor *x = NULL;
  const tc_sym *sizes;
  tc_sym strides[TC_MAX_DIMS];
  int ndim;
  tc_status status = self_of(t, at, n_args, &x);
  if (!status) status = sizes_of(t, x, &ndim, &sizes);
  if (!status) status = tc_strides_of(t, x, strides);
  if (status) return status;
  return give_by_dim(t, at, n_args, ndim, strides, n_results);
}

static tc_status method_dim(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  struct tc_traced_tensor *x = NULL;
  const tc_status status = self_of(t, at, n_args, &x);
  if (status) return status;
  return give(t, at, tc_int(x->external ? x->external->ndim : x->node->meta.ndim), n_results);
}

static tc_status method_numel(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  struct tc_traced_tensor *x = NULL;
  const tc_sym *sizes;
  tc_sym count = tc_sym_const(1);
  struct tc_tracked value;
  int ndim;
  tc_status status = self_of(t, at, n_args, &x);
  if (!status) status = sizes_of(t, x, &ndim, &sizes);
  if (status) return status;
  for (int d = 0; d < ndim; d++) count = tc_sym_mul(t->builder.builder.tab, count, sizes[d]);
  if (!tc_sym_valid(count)) return tc_trace_raises(t, "a tensor that is too large");
  status = tc_int_of_sym(t, count, &value);
  return status ? status : give(t, at, value, n_results);
}

static tc_status method_is_contiguous(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  struct tc_traced_tensor *x = NULL;
  bool contiguous;
  tc_status status = self_of(t, at, n_args, &x);
  if (!status) status = tc_is_laid_out(t, x, &contiguous);
  return status ? status : give(t, at, tc_bool(contiguous), n_results);
}

static tc_status method_value(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  (void)n_args, (void)n_results;
  return tc_trace_break(t, TC_BREAK_TENSOR_VALUE, "tensor method %s", t->slots[at].native->name);
}

static tc_status method_in_place(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  (void)n_args, (void)n_results;
  return tc_trace_break(t, TC_BREAK_IN_PLACE, "tensor method %s", t->slots[at].native->name);
}

static const struct {
  const char *name;
  tc_library_fn run;
} methods[] = {
    {"size", method_size},
    {"stride", method_stride},
    {"dim", method_dim},
    {"numel", method_numel},
    {"is_contiguous", method_is_contiguous},
    {"item", method_value},
    {"tolist", method_value},
    {"data_ptr", method_value},
    {"version", method_value},
    {"add_", method_in_place},
    {"sub_", method_in_place},
    {"mul_", method_in_place},
    {"div_", method_in_place},
    {"copy_", method_in_place},
    {"fill_", method_in_place},
    {"zero_", method_in_place},
};

/* The name of the device, asked of any tensor that exists: guards hold all to be on the device they are
 * on. */
static tc_status read_device(struct tc_trace *t, const struct tc_traced_tensor *x, struct tc_tracked *out) {
  bool is_scalar = false;
  int object = x->origin.object;
  for (size_t i = 0; i < t->records.len && !object; i++)
    if (t->records.data[i].kind == TC_IS_TENSOR) object = t->records.data[i].origin->object;
  if (!object)
    return tc_trace_break(t, TC_BREAK_METAMETHOD, "the device of a tensor that the function makes");
  lua_rawgeti(t->L, t->objects, object);
  lua_getfield(t->L, -1, "device");
  lua_remove(t->L, -2);
  const tc_status status = tc_pop_scalar(t, &is_scalar, out);
  return status || is_scalar ? status : tc_trace_break(t, TC_BREAK_METAMETHOD, "the device of a tensor");
}

static tc_status read_property(struct tc_trace *t, struct tc_traced_tensor *x, const char *name, bool *found,
                               struct tc_tracked *out) {
  *found = true;
  const tc_sym *sizes;
  int ndim;
  const tc_status status = sizes_of(t, x, &ndim, &sizes);
  if (status) return status;
  if (!strcmp(name, "shape")) return new_list(t, ndim, sizes, out);
  if (!strcmp(name, "dtype")) {
    const char *dtype = tc_dtype_name(x->external ? x->external->dtype : x->node->meta.dtype);
    return tc_text_of(t, dtype, strlen(dtype), out);
  }
  if (!strcmp(name, "device")) return read_device(t, x, out);
  *found = false;
  return TC_OK;
}

/* The method of that name; *found: there is one. */
static tc_status find_method(struct tc_trace *t, const char *name, bool *found, struct tc_tracked *out) {
  *found = true;
  for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
    if (!strcmp(methods[i].name, name)) return tc_new_native(t, NULL, methods[i].run, methods[i].name, out);
  const struct tc_function *function = tc_function_find(name);
  if (function && function->is_method) return tc_new_native(t, function, NULL, function->name, out);
  *found = false;
  return TC_OK;
}

/* A text keeps the method that it names: programs ask for the same few again and again. */
static tc_status member(struct tc_trace *t, struct tc_traced_tensor *x, struct tc_text *name,
                        struct tc_tracked *out) {
  bool found;
  if (name->method) {
    *out = tc_tracked_native(name->method);
    return TC_OK;
  }
  tc_status status = find_method(t, name->bytes, &found, out);
  if (!status && found) name->method = out->native;
  if (status || found) return status;
  status = read_property(t, x, name->bytes, &found, out);
  return status || found ? status
                         : tc_trace_break(t, TC_BREAK_METAMETHOD, "member %s of a tensor", name->bytes);
}

tc_status tc_tensor_index(struct tc_trace *t, struct tc_traced_tensor *tensor, struct tc_tracked *key,
                          struct tc_tracked *out) {
  const struct tc_tracked self = tc_tracked_tensor(tensor);
  tc_status status = look_at(t, tensor);
  if (!status && key->kind != TC_IS_INT)
    status = tc_use(t, key); /* select leaves an index open that changes between calls */
  if (status) return status;
  if (key->kind == TC_IS_TEXT) return member(t, tensor, key->text, out);
  if (key->kind != TC_IS_INT) return tc_trace_raises(t, "an index of a tensor that is no integer");
  const struct tc_function *select = tc_function_find("select");
  struct tc_tracked callee;
  if ((status = tc_new_native(t, select, NULL, select->name, &callee))) return status;
  return tc_call_values(t, &callee, 3, (struct tc_tracked[]){self, tc_int(1), *key}, 1, out);
}

tc_status tc_tensor_length(struct tc_trace *t, struct tc_traced_tensor *tensor, struct tc_tracked *out) {
  const tc_sym *sizes;
  int ndim;
  const tc_status status = sizes_of(t, tensor, &ndim, &sizes);
  if (status) return status;
  if (!ndim) return tc_trace_raises(t, "length of a tensor without dimensions");
  return tc_int_of_sym(t, sizes[0], out);
}
