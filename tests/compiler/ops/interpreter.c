/* Every operation is written for clarity: an output element is found from its coordinates. */
#include "tests/compiler/ops/interpreter.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct numbers numbers_new(const struct tc_meta *meta) {
  struct numbers n = {.ndim = meta->ndim, .count = 1};
  for (int d = 0; d < meta->ndim; d++) {
    n.sizes[d] = tc_sym_value(meta->sizes[d]);
    n.count *= n.sizes[d];
  }
  n.data = calloc((size_t)n.count + 1, sizeof *n.data);
  assert_non_null(n.data);
  return n;
}

void numbers_free(struct numbers *n) {
  free(n->data);
  n->data = NULL;
}

static void coordinates(const struct numbers *n, int64_t number, int64_t *at) {
  for (int d = n->ndim - 1; d >= 0; d--) {
    at[d] = number % n->sizes[d];
    number /= n->sizes[d];
  }
}

static int64_t number_at(const struct numbers *n, const int64_t *at) {
  int64_t number = 0;
  for (int d = 0; d < n->ndim; d++) number = number * n->sizes[d] + at[d];
  return number;
}

/* The element of `n` that broadcasts to coordinates of rank `rank`. */
static double broadcast(const struct numbers *n, int rank, const int64_t *at) {
  int64_t own[TC_MAX_DIMS];
  for (int d = 0; d < n->ndim; d++) own[d] = n->sizes[d] == 1 ? 0 : at[rank - n->ndim + d];
  return n->data[number_at(n, own)];
}

static double rounded(double x, tc_dtype dtype) {
  switch (dtype) {
    case TC_BF16: return tc_bf16_to_f32(tc_f32_to_bf16((float)x));
    case TC_F32: return (float)x;
    case TC_I64: return trunc(x);
    case TC_BOOL: return x != 0;
    default: return x;
  }
}

static double unary(tc_op op, double x) {
  switch (op) {
    case TC_OP_clone: return x;
    case TC_OP_neg: return -x;
    case TC_OP_abs: return fabs(x);
    case TC_OP_floor: return floor(x);
    case TC_OP_ceil: return ceil(x);
    case TC_OP_reciprocal: return 1 / x;
    case TC_OP_sqrt: return sqrt(x);
    case TC_OP_rsqrt: return 1 / sqrt(x);
    case TC_OP_exp: return exp(x);
    case TC_OP_log: return log(x);
    case TC_OP_log1p: return log1p(x);
    case TC_OP_sin: return sin(x);
    case TC_OP_cos: return cos(x);
    case TC_OP_tan: return tan(x);
    case TC_OP_tanh: return tanh(x);
    case TC_OP_sigmoid: return 1 / (1 + exp(-x));
    case TC_OP_erf: return erf(x);
    case TC_OP_relu: return x < 0 ? 0 : x;
    case TC_OP_isnan: return isnan(x);
    case TC_OP_isinf: return isinf(x) != 0;
    case TC_OP_logical_not: return x == 0;
    default: fail_msg("the interpreter does not know %s", tc_op_row(op)->name); return 0;
  }
}

static double larger(double x, double y) { return isnan(x) || isnan(y) ? NAN : x > y ? x : y; }

static double remainder_of(double x, double y) {
  const double rest = fmod(x, y);
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

static double floored_quotient(double x, double y) {
  const double quotient = (x - remainder_of(x, y)) / y;
  return y == 0 ? x / y : quotient == 0 ? copysign(0, x / y) : round(quotient);
}

static double binary(tc_op op, double x, double y) {
  switch (op) {
    case TC_OP_add: return x + y;
    case TC_OP_sub: return x - y;
    case TC_OP_mul: return x * y;
    case TC_OP_div: return x / y;
    case TC_OP_pow: return pow(x, y);
    case TC_OP_floor_divide: return floored_quotient(x, y);
    case TC_OP_remainder: return remainder_of(x, y);
    case TC_OP_maximum: return larger(x, y);
    case TC_OP_minimum: return -larger(-x, -y);
    case TC_OP_eq: return x == y;
    case TC_OP_ne: return x != y;
    case TC_OP_lt: return x < y;
    case TC_OP_le: return x <= y;
    case TC_OP_gt: return x > y;
    case TC_OP_ge: return x >= y;
    case TC_OP_logical_and: return x != 0 && y != 0;
    case TC_OP_logical_or: return x != 0 || y != 0;
    case TC_OP_logical_xor: return (x != 0) != (y != 0);
    default: fail_msg("the interpreter does not know %s", tc_op_row(op)->name); return 0;
  }
}

static void pointwise(const struct tc_node *node, const struct numbers *const *in, struct numbers *out) {
  for (int64_t i = 0; i < out->count; i++) {
    int64_t at[TC_MAX_DIMS];
    double x[3] = {0};
    coordinates(out, i, at);
    for (int k = 0; k < node->n_in; k++) x[k] = broadcast(in[k], out->ndim, at);
    if (node->op == TC_OP_cast)
      out->data[i] = rounded(x[0], node->meta.dtype);
    else if (node->op == TC_OP_where)
      out->data[i] = x[0] != 0 ? x[1] : x[2];
    else
      out->data[i] = node->n_in == 1 ? unary(node->op, x[0]) : binary(node->op, x[0], x[1]);
  }
}

static double combine(tc_op op, double total, double x) {
  switch (op) {
    case TC_OP_sum: return total + x;
    case TC_OP_prod: return total * x;
    case TC_OP_amax: return larger(total, x);
    case TC_OP_amin: return -larger(-total, -x);
    case TC_OP_any: return total != 0 || x != 0;
    case TC_OP_all: return total != 0 && x != 0;
    default: fail_msg("the interpreter does not know %s", tc_op_row(op)->name); return 0;
  }
}

static double identity(tc_op op) {
  if (op == TC_OP_amax) return -INFINITY;
  if (op == TC_OP_amin) return INFINITY;
  return op == TC_OP_prod || op == TC_OP_all;
}

static void reduce(const struct tc_node *node, const struct numbers *x, struct numbers *out) {
  unsigned reduced = 0;
  const bool keepdim = tc_attr_int(&node->attrs, 0);
  for (int i = 1; i < node->attrs.n_ints; i++) reduced |= 1u << tc_attr_int(&node->attrs, i);
  for (int64_t i = 0; i < out->count; i++) out->data[i] = identity(node->op);
  for (int64_t i = 0; i < x->count; i++) {
    int64_t at[TC_MAX_DIMS], to[TC_MAX_DIMS];
    int rank = 0;
    coordinates(x, i, at);
    for (int d = 0; d < x->ndim; d++) {
      if (!(reduced >> d & 1))
        to[rank++] = at[d];
      else if (keepdim)
        to[rank++] = 0;
    }
    double *total = &out->data[number_at(out, to)];
    *total = combine(node->op, *total, x->data[i]);
  }
}

static void matmul(const struct numbers *a, const struct numbers *b, struct numbers *out) {
  const int64_t inner = a->sizes[a->ndim - 1];
  for (int64_t i = 0; i < out->count; i++) {
    int64_t at[TC_MAX_DIMS], left[TC_MAX_DIMS], right[TC_MAX_DIMS];
    coordinates(out, i, at);
    memcpy(left, at, sizeof at);
    memcpy(right, at, sizeof at);
    for (int64_t k = 0; k < inner; k++) {
      left[out->ndim - 1] = right[out->ndim - 2] = k;
      out->data[i] += broadcast(a, out->ndim, left) * broadcast(b, out->ndim, right);
    }
  }
}

static void permute(const struct tc_node *node, const struct numbers *x, struct numbers *out) {
  for (int64_t i = 0; i < out->count; i++) {
    int64_t at[TC_MAX_DIMS], from[TC_MAX_DIMS];
    coordinates(out, i, at);
    for (int d = 0; d < out->ndim; d++) from[tc_attr_int(&node->attrs, d)] = at[d];
    out->data[i] = x->data[number_at(x, from)];
  }
}

static void create(const struct tc_node *node, struct numbers *out) {
  const struct tc_attrs *a = &node->attrs;
  const double value = tc_dtype_is_float(node->meta.dtype) ? a->nums[0]
                       : node->op == TC_OP_full            ? (double)tc_attr_int(a, 1)
                                                           : 0;
  for (int64_t i = 0; i < out->count; i++)
    out->data[i] = node->op == TC_OP_full ? value : a->nums[0] + (double)i * a->nums[1];
}

static struct numbers evaluate(const struct tc_node *node, const struct numbers *values,
                               const struct numbers *inputs) {
  struct numbers out = numbers_new(&node->meta);
  const struct numbers *in[TC_MAX_INPUTS];
  for (int i = 0; i < node->n_in; i++) in[i] = &values[node->in[i]->id];
  switch (node->op) {
    case TC_OP_input:
      memcpy(out.data, inputs[tc_attr_int(&node->attrs, 0)].data, (size_t)out.count * sizeof *out.data);
      break;
    case TC_OP_full:
    case TC_OP_arange: create(node, &out); break;
    case TC_OP_matmul: matmul(in[0], in[1], &out); break;
    case TC_OP_permute: permute(node, in[0], &out); break;
    case TC_OP_view:
    case TC_OP_reshape:
    case TC_OP_squeeze:
    case TC_OP_unsqueeze: memcpy(out.data, in[0]->data, (size_t)out.count * sizeof *out.data); break;
    default:
      if (tc_op_row(node->op)->kind == TC_KIND_REDUCTION)
        reduce(node, in[0], &out);
      else
        pointwise(node, in, &out);
  }
  return out;
}

struct numbers interpret(const struct tc_graph *g, const struct numbers *inputs) {
  struct numbers *values = calloc(g->nodes.len, sizeof *values);
  assert_non_null(values);
  for (size_t i = 0; i < g->nodes.len; i++) values[i] = evaluate(g->nodes.data[i], values, inputs);
  const size_t result = (size_t)g->outputs.data[0]->id;
  const struct numbers out = values[result];
  for (size_t i = 0; i < g->nodes.len; i++)
    if (i != result) numbers_free(&values[i]);
  free(values);
  return out;
}
