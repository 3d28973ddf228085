/* Operations: the table of ops.def, and inference by its rules.
 *
 * Invariants: 1. On the good path inference allocates nothing and prints nothing (an eager call of a
 * tiny tensor costs a few hundred nanoseconds in all). 2. The operand count and the dtype rule are
 * checked before the shape rule, so a shape rule may read every operand that the arity promises.
 * A new operation is a row of ops.def; a new rule is a name in rules.h and its function. */
#include "ops/op.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/rules.h"

enum { VARIADIC = TC_VARIADIC };

static const struct tc_op_row op_rows[] = {
#define TC_OP(name, arity, shape, dtype, eager, vjp, decomp, lower, KIND) {#name, arity, TC_KIND_##KIND},
#include "ops/ops.def"
#undef TC_OP
};

static const struct {
  tc_infer_rule shape, dtype;
} op_rules[] = {
#define TC_OP(name, arity, shape, dtype, eager, vjp, decomp, lower, KIND)                                    \
  {tc_shape_##shape, tc_dtype_##dtype},
#include "ops/ops.def"
#undef TC_OP
};

const struct tc_op_row *tc_op_row(tc_op op) { return &op_rows[op]; }

int tc_op_find(const char *name) {
  for (int op = 0; op < TC_OP_COUNT; op++)
    if (!strcmp(op_rows[op].name, name)) return op;
  return -1;
}

static tc_status check_operands(const struct tc_infer *c) {
  const int arity = op_rows[c->op].arity;
  if (arity == TC_VARIADIC) {
    if (c->n_in < 1)
      return tc_fail(c->err, TC_ARG, "ops", "%s: takes at least one operand", op_rows[c->op].name);
    if (c->n_in > TC_MAX_INPUTS)
      return tc_fail(c->err, TC_LIMIT, "ops", "%s: %d operands, at most %d can be taken at once",
                     op_rows[c->op].name, c->n_in, TC_MAX_INPUTS);
  } else if (c->n_in != arity) {
    return tc_fail(c->err, TC_ARG, "ops", "%s: takes %d operands, got %d", op_rows[c->op].name, arity,
                   c->n_in);
  }
  return TC_OK;
}

/* Operands whose device is not said fit to any. */
static tc_status take_device(const struct tc_infer *c) {
  const struct tc_device *device = NULL;
  for (int i = 0; i < c->n_in; i++) {
    const struct tc_device *own = c->in[i]->device;
    if (own == device || !own) continue;
    if (device)
      return tc_fail(c->err, TC_ARG, "ops", "%s: operands on two devices, %s and %s; move one with x:to",
                     op_rows[c->op].name, tc_device_base_of(device)->name, tc_device_base_of(own)->name);
    device = own;
  }
  c->out->device = device;
  return TC_OK;
}

tc_status tc_op_infer(struct tc_symtab *tab, tc_op op, int n_in, const struct tc_meta *const *in,
                      const struct tc_attrs *attrs, struct tc_meta *out, struct tc_error *err) {
  static const struct tc_attrs none = {0};
  const struct tc_infer c = {tab, op, n_in, in, attrs ? attrs : &none, out, err};
  if (op_rows[op].arity != n_in) {
    const tc_status status = check_operands(&c);
    if (status) return status;
  }
  tc_status status = take_device(&c);
  if (!status) status = op_rules[op].dtype(&c);
  return status ? status : op_rules[op].shape(&c);
}

tc_sym tc_meta_numel(struct tc_symtab *tab, const struct tc_meta *meta) {
  tc_sym count = tc_sym_const(1);
  for (int d = 0; d < meta->ndim; d++) count = tc_sym_mul(tab, count, meta->sizes[d]);
  return count;
}

void tc_meta_of_tensor(const struct tc_tensor *tensor, struct tc_meta *meta) {
  meta->dtype = tensor->dtype;
  meta->device = tensor->storage->device;
  meta->ndim = tensor->ndim;
  for (int d = 0; d < tensor->ndim; d++) meta->sizes[d] = tc_sym_const(tensor->sizes[d]);
}

static void print_sizes(struct tc_strbuf *out, int count, const tc_sym *sizes) {
  tc_strbuf_puts(out, "[");
  for (int d = 0; d < count; d++) {
    if (d) tc_strbuf_puts(out, ", ");
    tc_sym_print(out, sizes[d]);
  }
  tc_strbuf_puts(out, "]");
}

void tc_meta_print(struct tc_strbuf *out, const struct tc_meta *meta) {
  print_sizes(out, meta->ndim, meta->sizes);
  tc_strbuf_printf(out, " %s", tc_dtype_name(meta->dtype));
}

/* "op: first and second: " over the operands; a long list (cat) is cut. */
static void print_operands(struct tc_strbuf *out, const struct tc_infer *c, bool dtypes) {
  enum { SHOWN = 4 };
  tc_strbuf_printf(out, "%s: ", op_rows[c->op].name);
  for (int i = 0; i < c->n_in && i < SHOWN; i++) {
    if (i) tc_strbuf_puts(out, i + 1 == c->n_in ? " and " : ", ");
    if (dtypes)
      tc_strbuf_puts(out, tc_dtype_name(c->in[i]->dtype));
    else
      print_sizes(out, c->in[i]->ndim, c->in[i]->sizes);
  }
  if (c->n_in > SHOWN) tc_strbuf_puts(out, ", …");
  if (c->n_in) tc_strbuf_puts(out, ": ");
}

static tc_status fail_with_operands(const struct tc_infer *c, tc_status status, bool dtypes,
                                    const char *format, va_list args) {
  if (!c->err) return status;
  char message[TC_ERROR_TEXT];
  vsnprintf(message, sizeof message, format, args);
  struct tc_strbuf prefix;
  tc_strbuf_init(&prefix, tc_alloc_system());
  print_operands(&prefix, c, dtypes);
  const char *text = tc_strbuf_text(&prefix);
  tc_fail(c->err, status, "ops", "%s%s", text ? text : "", message);
  tc_strbuf_free(&prefix);
  return status;
}

tc_status tc_infer_fail(const struct tc_infer *c, tc_status status, const char *format, ...) {
  va_list args;
  va_start(args, format);
  fail_with_operands(c, status, false, format, args);
  va_end(args);
  return status;
}

tc_status tc_infer_fail_dtype(const struct tc_infer *c, const char *format, ...) {
  va_list args;
  va_start(args, format);
  fail_with_operands(c, TC_DTYPE, true, format, args);
  va_end(args);
  return TC_DTYPE;
}

tc_status tc_division_by_zero(tc_op op, struct tc_error *err) {
  return tc_fail(err, TC_ARG, "ops", "%s: an integer is divided by zero", tc_op_row(op)->name);
}
