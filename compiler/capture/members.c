/* Members of tensors: what is answered from shapes alone, what needs values (a break), and the tensor functions that are
 * methods. A shape that is looked at is guarded.
 *
 * To add a member: a row in `methods`, or a property in read_property. */
#include <string.h>

#include "capture/trace.h"

/* Guards the shape of an outside tensor, without making it an input. */
static void look_at(struct tc_trace *t, const struct tc_traced_tensor *x) {
  if (x->outside) tc_guards_tensor(t->guards, x->origin.source, x->outside);
}

static void sizes_of(const struct tc_traced_tensor *x, int *ndim, int64_t sizes[TC_MAX_DIMS]) {
  *ndim = x->outside ? x->outside->ndim : x->node->meta.ndim;
  for (int d = 0; d < *ndim; d++) sizes[d] = x->outside ? x->outside->sizes[d] : tc_sym_value(x->node->meta.sizes[d]);
}

static tc_status new_list(struct tc_trace *t, int count, const int64_t *values, struct tc_tracked *out) {
  tc_status status = tc_new_table(t, count, 0, out);
  for (int i = 0; i < count && !status; i++) {
    const struct tc_tracked value = tc_int(values[i]);
    status = tc_table_set_index(t, out->table, i + 1, &value);
  }
  return status;
}

static tc_status self_of(struct tc_trace *t, size_t at, int n_args, struct tc_traced_tensor **out) {
  if (n_args < 1 || t->slots[at + 1].kind != TC_IS_TENSOR) return tc_trace_raises(t, "a method of tensors on another value");
  *out = t->slots[at + 1].tensor;
  look_at(t, *out);
  return TC_OK;
}

static tc_status give(struct tc_trace *t, size_t at, struct tc_tracked value, int *n_results) {
  t->slots[at] = value;
  *n_results = 1;
  return TC_OK;
}

/* values[d] for the dimension at argument 2, or all as a table. */
static tc_status give_by_dim(struct tc_trace *t, size_t at, int n_args, int ndim, const int64_t *values, int *n_results) {
  struct tc_tracked dim = n_args > 1 ? t->slots[at + 2] : tc_nil(), list;
  tc_status status = tc_use(t, &dim);
  if (status) return status;
  if (dim.kind == TC_IS_NIL) {
    status = new_list(t, ndim, values, &list);
    return status ? status : give(t, at, list, n_results);
  }
  const bool good = dim.kind == TC_IS_INT && dim.integer != 0 && dim.integer >= -ndim && dim.integer <= ndim;
  if (!good) return tc_trace_raises(t, "a dimension that the tensor does not have");
  return give(t, at, tc_int(values[dim.integer > 0 ? dim.integer - 1 : ndim + dim.integer]), n_results);
}

static tc_status method_size(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  struct tc_traced_tensor *x = NULL;
  int64_t sizes[TC_MAX_DIMS];
  int ndim;
  const tc_status status = self_of(t, at, n_args, &x);
  if (status) return status;
  sizes_of(x, &ndim, sizes);
  return give_by_dim(t, at, n_args, ndim, sizes, n_results);
}

static tc_status method_stride(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  struct tc_traced_tensor *x = NULL;
  int64_t sizes[TC_MAX_DIMS], strides[TC_MAX_DIMS];
  int ndim;
  tc_status status = self_of(t, at, n_args, &x);
  if (!status) status = tc_strides_of(t, x, strides);
  if (status) return status;
  sizes_of(x, &ndim, sizes);
  return give_by_dim(t, at, n_args, ndim, strides, n_results);
}

static tc_status method_dim(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  struct tc_traced_tensor *x = NULL;
  int64_t sizes[TC_MAX_DIMS];
  int ndim;
  const tc_status status = self_of(t, at, n_args, &x);
  if (status) return status;
  sizes_of(x, &ndim, sizes);
  return give(t, at, tc_int(ndim), n_results);
}

static tc_status method_numel(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  struct tc_traced_tensor *x = NULL;
  int64_t sizes[TC_MAX_DIMS], count = 1;
  int ndim;
  const tc_status status = self_of(t, at, n_args, &x);
  if (status) return status;
  sizes_of(x, &ndim, sizes);
  for (int d = 0; d < ndim; d++) count *= sizes[d];
  return give(t, at, tc_int(count), n_results);
}

static tc_status method_is_contiguous(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  struct tc_traced_tensor *x = NULL;
  struct tc_tensor tensor = {.storage = NULL};
  tc_status status = self_of(t, at, n_args, &x);
  if (!status) status = tc_strides_of(t, x, tensor.strides);
  if (status) return status;
  sizes_of(x, &tensor.ndim, tensor.sizes);
  return give(t, at, tc_bool(tc_tensor_is_contiguous(&tensor)), n_results);
}

static tc_status method_value(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  (void)n_args, (void)n_results;
  return tc_trace_break(t, TC_BREAK_TENSOR_VALUE, "tensor method %s", t->slots[at].native->name);
}

static tc_status method_in_place(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  (void)n_args, (void)n_results;
  return tc_trace_break(t, TC_BREAK_IN_PLACE, "tensor method %s", t->slots[at].native->name);
}

static const struct { const char *name; tc_library_fn run; } methods[] = {
    {"size", method_size}, {"stride", method_stride}, {"dim", method_dim}, {"numel", method_numel}, {"is_contiguous", method_is_contiguous},
    {"item", method_value}, {"tolist", method_value}, {"data_ptr", method_value}, {"version", method_value},
    {"add_", method_in_place}, {"sub_", method_in_place}, {"mul_", method_in_place}, {"div_", method_in_place},
    {"copy_", method_in_place}, {"fill_", method_in_place}, {"zero_", method_in_place},
};

/* The name of the device, asked of any tensor that exists: guards hold all to be on the device they are on. */
static tc_status read_device(struct tc_trace *t, const struct tc_traced_tensor *x, struct tc_tracked *out) {
  bool is_scalar = false;
  int object = x->origin.object;
  for (size_t i = 0; i < t->records.len && !object; i++)
    if (t->records.data[i].kind == TC_IS_TENSOR) object = t->records.data[i].origin->object;
  if (!object) return tc_trace_break(t, TC_BREAK_METAMETHOD, "the device of a tensor that the function makes");
  lua_rawgeti(t->L, t->objects, object);
  lua_getfield(t->L, -1, "device");
  lua_remove(t->L, -2);
  const tc_status status = tc_pop_scalar(t, &is_scalar, out);
  return status || is_scalar ? status : tc_trace_break(t, TC_BREAK_METAMETHOD, "the device of a tensor");
}

static tc_status read_property(struct tc_trace *t, struct tc_traced_tensor *x, const char *name, bool *found, struct tc_tracked *out) {
  *found = true;
  int64_t sizes[TC_MAX_DIMS];
  int ndim;
  if (!strcmp(name, "shape")) {
    look_at(t, x);
    sizes_of(x, &ndim, sizes);
    return new_list(t, ndim, sizes, out);
  }
  if (!strcmp(name, "dtype")) {
    look_at(t, x);
    const char *dtype = tc_dtype_name(x->outside ? x->outside->dtype : x->node->meta.dtype);
    return tc_text_of(t, dtype, strlen(dtype), out);
  }
  if (!strcmp(name, "device")) {
    look_at(t, x);
    return read_device(t, x, out);
  }
  *found = false;
  return TC_OK;
}

static tc_status member(struct tc_trace *t, struct tc_traced_tensor *x, const char *name, struct tc_tracked *out) {
  bool found;
  for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
    if (!strcmp(methods[i].name, name)) return tc_new_native(t, NULL, methods[i].run, methods[i].name, out);
  const struct tc_function *function = tc_function_find(name);
  if (function && function->is_method) return tc_new_native(t, function, NULL, function->name, out);
  const tc_status status = read_property(t, x, name, &found, out);
  return status || found ? status : tc_trace_break(t, TC_BREAK_METAMETHOD, "member %s of a tensor", name);
}

tc_status tc_tensor_index(struct tc_trace *t, struct tc_traced_tensor *tensor, struct tc_tracked *key, struct tc_tracked *out) {
  const struct tc_tracked self = tc_tracked_tensor(tensor);
  look_at(t, tensor);
  tc_status status = tc_use(t, key);
  if (status) return status;
  if (key->kind == TC_IS_TEXT) return member(t, tensor, key->text->bytes, out);
  if (key->kind != TC_IS_INT) return tc_trace_raises(t, "an index of a tensor that is no integer");
  const struct tc_function *select = tc_function_find("select");
  struct tc_tracked callee;
  if ((status = tc_new_native(t, select, NULL, select->name, &callee))) return status;
  return tc_call_values(t, &callee, 3, (struct tc_tracked[]){self, tc_int(1), *key}, 1, out);
}

tc_status tc_tensor_length(struct tc_trace *t, struct tc_traced_tensor *tensor, struct tc_tracked *out) {
  int64_t sizes[TC_MAX_DIMS];
  int ndim;
  look_at(t, tensor);
  sizes_of(tensor, &ndim, sizes);
  if (!ndim) return tc_trace_raises(t, "length of a tensor without dimensions");
  *out = tc_int(sizes[0]);
  return TC_OK;
}
