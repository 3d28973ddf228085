/* Every operation is written for clarity: an element of the result is found from its index. */
#include "tests/compiler/ir/reference.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static struct ref_value ref_new(const struct tc_meta *meta) {
  struct ref_value v = {.dtype = meta->dtype, .ndim = meta->ndim, .numel = 1};
  for (int d = 0; d < meta->ndim; d++) v.numel *= v.sizes[d] = tc_sym_value(meta->sizes[d]);
  v.f = calloc((size_t)v.numel + 1, sizeof *v.f);
  v.i = calloc((size_t)v.numel + 1, sizeof *v.i);
  return v;
}
static void ref_free(struct ref_value *v) {
  free(v->f);
  free(v->i);
}
static bool ref_float(const struct ref_value *v) { return tc_dtype_is_float(v->dtype); }
double ref_real(const struct ref_value *v, int64_t at) { return ref_float(v) ? v->f[at] : (double)v->i[at]; }
static int64_t ref_whole(const struct ref_value *v, int64_t at) {
  return ref_float(v) ? (int64_t)v->f[at] : v->i[at];
}
static void ref_copy(struct ref_value *to, int64_t at, const struct ref_value *from, int64_t from_at) {
  if (ref_float(to))
    to->f[at] = ref_real(from, from_at);
  else if (to->dtype == TC_BOOL)
    to->i[at] = ref_float(from) ? from->f[from_at] != 0 : from->i[from_at] != 0;
  else
    to->i[at] = ref_whole(from, from_at);
}

void ref_unravel(const struct ref_value *v, int64_t flat, int64_t *at) {
  for (int d = v->ndim - 1; d >= 0; d--) at[d] = flat % v->sizes[d], flat /= v->sizes[d];
}
static int64_t ref_ravel(const struct ref_value *v, const int64_t *at) {
  int64_t flat = 0;
  for (int d = 0; d < v->ndim; d++) flat = flat * v->sizes[d] + at[d];
  return flat;
}
/* The operand's element for the result's index `at`, broadcast. */
static int64_t ref_broadcast(const struct ref_value *v, int result_ndim, const int64_t *at) {
  int64_t flat = 0;
  for (int d = 0; d < v->ndim; d++)
    flat = flat * v->sizes[d] + (v->sizes[d] == 1 ? 0 : at[d + result_ndim - v->ndim]);
  return flat;
}

static double unknown(tc_op op) {
  fail_msg("the reference does not know %s", tc_op_row(op)->name);
  return NAN;
}

static double ref_unary(tc_op op, double x) {
  switch (op) {
    case TC_OP_neg: return -x;
    case TC_OP_abs: return fabs(x);
    case TC_OP_sign: return isnan(x) ? x : (x > 0) - (x < 0);
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
    case TC_OP_relu: return isnan(x) ? x : x > 0 ? x : 0;
    case TC_OP_isnan: return isnan(x);
    case TC_OP_isinf: return isinf(x) != 0;
    case TC_OP_cast:
    case TC_OP_clone: return x;
    default: return unknown(op);
  }
}
static double ref_remainder(double x, double y) {
  const double rest = fmod(x, y);
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}
static double ref_floor_divide(double x, double y) {
  const double quotient = (x - ref_remainder(x, y)) / y;
  return y == 0 ? x / y : quotient == 0 ? copysign(0, x / y) : round(quotient);
}
static double ref_binary(tc_op op, double x, double y) {
  switch (op) {
    case TC_OP_add: return x + y;
    case TC_OP_sub: return x - y;
    case TC_OP_mul: return x * y;
    case TC_OP_div: return x / y;
    case TC_OP_floor_divide: return ref_floor_divide(x, y);
    case TC_OP_remainder: return ref_remainder(x, y);
    case TC_OP_pow: return pow(x, y);
    case TC_OP_maximum: return isnan(x) || isnan(y) ? NAN : x > y ? x : y;
    case TC_OP_minimum: return isnan(x) || isnan(y) ? NAN : x < y ? x : y;
    case TC_OP_eq: return x == y;
    case TC_OP_ne: return x != y;
    case TC_OP_lt: return x < y;
    case TC_OP_le: return x <= y;
    case TC_OP_gt: return x > y;
    case TC_OP_ge: return x >= y;
    case TC_OP_logical_and: return x != 0 && y != 0;
    case TC_OP_logical_or: return x != 0 || y != 0;
    case TC_OP_logical_xor: return (x != 0) != (y != 0);
    default: return unknown(op);
  }
}

/* Small integers are exact in doubles: the tests keep them so. */
static void ref_set(struct ref_value *v, int64_t at, double value) {
  if (ref_float(v))
    v->f[at] = value;
  else
    v->i[at] = v->dtype == TC_BOOL ? value != 0 : (int64_t)value;
}

static void ref_pointwise(const struct tc_node *node, struct ref_value **in, struct ref_value *out) {
  for (int64_t e = 0; e < out->numel; e++) {
    int64_t at[TC_MAX_DIMS];
    ref_unravel(out, e, at);
    const double x = ref_real(in[0], ref_broadcast(in[0], out->ndim, at));
    if (node->op == TC_OP_logical_not)
      ref_set(out, e, x == 0);
    else if (node->op == TC_OP_where)
      ref_set(out, e, ref_real(in[x != 0 ? 1 : 2], ref_broadcast(in[x != 0 ? 1 : 2], out->ndim, at)));
    else if (node->n_in == 1)
      ref_set(out, e, ref_unary(node->op, x));
    else
      ref_set(out, e, ref_binary(node->op, x, ref_real(in[1], ref_broadcast(in[1], out->ndim, at))));
  }
}

static bool ref_is_reduced(const struct tc_node *node, int dim) {
  for (int i = 1; i < node->attrs.n_ints; i++)
    if (tc_attr_int(&node->attrs, i) == dim) return true;
  return false;
}
static void ref_reduce(const struct tc_node *node, const struct ref_value *in, struct ref_value *out) {
  double *best = calloc((size_t)out->numel + 1, sizeof *best);
  bool *any = calloc((size_t)out->numel + 1, sizeof *any);
  for (int64_t e = 0; e < out->numel; e++) ref_set(out, e, node->op == TC_OP_prod || node->op == TC_OP_all);
  for (int64_t e = 0; e < in->numel; e++) {
    int64_t at[TC_MAX_DIMS], to = 0, position = 0;
    ref_unravel(in, e, at);
    for (int d = 0; d < in->ndim; d++) {
      if (ref_is_reduced(node, d))
        position = position * in->sizes[d] + at[d];
      else
        to = to * in->sizes[d] + at[d];
    }
    const double x = ref_real(in, e), old = ref_real(out, to);
    switch (node->op) {
      case TC_OP_sum: ref_set(out, to, old + x); break;
      case TC_OP_prod: ref_set(out, to, old * x); break;
      case TC_OP_any: ref_set(out, to, old != 0 || x != 0); break;
      case TC_OP_all: ref_set(out, to, old != 0 && x != 0); break;
      case TC_OP_amax: ref_set(out, to, any[to] ? ref_binary(TC_OP_maximum, old, x) : x); break;
      case TC_OP_amin: ref_set(out, to, any[to] ? ref_binary(TC_OP_minimum, old, x) : x); break;
      case TC_OP_argmax:
      case TC_OP_argmin: {
        const bool better = node->op == TC_OP_argmax ? x > best[to] : x < best[to];
        if (!any[to] || (!isnan(best[to]) && (better || isnan(x))))
          best[to] = x, ref_set(out, to, (double)position);
        break;
      }
      default: unknown(node->op);
    }
    any[to] = true;
  }
  free(best);
  free(any);
}

static void ref_matmul(const struct ref_value *a, const struct ref_value *b, struct ref_value *out) {
  const int rank = out->ndim;
  const int64_t k = a->sizes[a->ndim - 1];
  for (int64_t e = 0; e < out->numel; e++) {
    int64_t at[TC_MAX_DIMS], ia[TC_MAX_DIMS], ib[TC_MAX_DIMS];
    ref_unravel(out, e, at);
    for (int d = 0; d < a->ndim - 2; d++) ia[d] = a->sizes[d] == 1 ? 0 : at[d + rank - a->ndim];
    for (int d = 0; d < b->ndim - 2; d++) ib[d] = b->sizes[d] == 1 ? 0 : at[d + rank - b->ndim];
    ia[a->ndim - 2] = at[rank - 2];
    ib[b->ndim - 1] = at[rank - 1];
    double sum = 0;
    for (int64_t p = 0; p < k; p++) {
      ia[a->ndim - 1] = ib[b->ndim - 2] = p;
      sum += a->f[ref_ravel(a, ia)] * b->f[ref_ravel(b, ib)];
    }
    out->f[e] = sum;
  }
}

/* Views and copies of one operand: where element `at` of the result comes from; false: the fill value. */
static bool ref_source(const struct tc_node *node, const struct ref_value *in, const int64_t *at,
                       int64_t *from) {
  const struct tc_attrs *a = &node->attrs;
  const int shift = node->meta.ndim - in->ndim;
  for (int d = 0; d < in->ndim; d++) from[d] = at[d];
  switch (node->op) {
    case TC_OP_expand:
      for (int d = 0; d < in->ndim; d++) from[d] = in->sizes[d] == 1 ? 0 : at[d + shift];
      return true;
    case TC_OP_permute:
      for (int d = 0; d < in->ndim; d++) from[tc_attr_int(a, d)] = at[d];
      return true;
    case TC_OP_slice:
      from[tc_attr_int(a, 0)] = tc_attr_int(a, 1) + at[tc_attr_int(a, 0)] * tc_attr_int(a, 3);
      return true;
    case TC_OP_flip:
      for (int i = 0; i < a->n_ints; i++)
        from[tc_attr_int(a, i)] = in->sizes[tc_attr_int(a, i)] - 1 - at[tc_attr_int(a, i)];
      return true;
    case TC_OP_pad:
      for (int d = 0; d < in->ndim; d++) {
        from[d] = at[d] - tc_attr_int(a, 2 * d);
        if (from[d] < 0 || from[d] >= in->sizes[d]) return false;
      }
      return true;
    case TC_OP_tril: return at[in->ndim - 1] - at[in->ndim - 2] <= tc_attr_int(a, 0);
    case TC_OP_triu: return at[in->ndim - 1] - at[in->ndim - 2] >= tc_attr_int(a, 0);
    default: return true;
  }
}
static void ref_move(const struct tc_node *node, const struct ref_value *in, struct ref_value *out) {
  const bool reshapes = node->op == TC_OP_view || node->op == TC_OP_reshape || node->op == TC_OP_squeeze ||
                        node->op == TC_OP_unsqueeze;
  for (int64_t e = 0; e < out->numel; e++) {
    int64_t at[TC_MAX_DIMS], from[TC_MAX_DIMS];
    ref_unravel(out, e, at);
    if (reshapes)
      ref_copy(out, e, in, e);
    else if (ref_source(node, in, at, from))
      ref_copy(out, e, in, ref_ravel(in, from));
    else
      ref_set(out, e, node->op == TC_OP_pad ? node->attrs.nums[0] : 0);
  }
}

static void ref_cat(const struct tc_node *node, struct ref_value **in, struct ref_value *out) {
  const int dim = (int)tc_attr_int(&node->attrs, 0);
  for (int64_t e = 0; e < out->numel; e++) {
    int64_t at[TC_MAX_DIMS];
    ref_unravel(out, e, at);
    int piece = 0;
    for (; at[dim] >= in[piece]->sizes[dim]; piece++) at[dim] -= in[piece]->sizes[dim];
    ref_copy(out, e, in[piece], ref_ravel(in[piece], at));
  }
}

static void ref_gather(const struct tc_node *node, struct ref_value **in, struct ref_value *out,
                       struct ref_inputs *inputs) {
  const int dim = node->op == TC_OP_embedding ? 0 : (int)tc_attr_int(&node->attrs, 0);
  for (int64_t e = 0; e < out->numel; e++) {
    int64_t at[TC_MAX_DIMS], from[TC_MAX_DIMS] = {0}, index_at = 0;
    ref_unravel(out, e, at);
    if (node->op == TC_OP_gather)
      index_at = ref_ravel(in[1], at);
    else if (node->op == TC_OP_index_select)
      index_at = at[dim];
    else
      index_at = ref_ravel(in[1], at);
    for (int d = 0; d < in[0]->ndim; d++) from[d] = node->op == TC_OP_embedding ? at[out->ndim - 1] : at[d];
    int64_t index = in[1]->i[index_at];
    if (index < 0 || index >= in[0]->sizes[dim]) {
      inputs->bad_index = true;
      index = index < 0 ? 0 : in[0]->sizes[dim] - 1;
    }
    from[dim] = index;
    ref_copy(out, e, in[0], ref_ravel(in[0], from));
  }
}

static void ref_random(const struct tc_node *node, struct ref_value *out, const struct ref_inputs *inputs) {
  for (int64_t e = 0; e < out->numel; e++) {
    const uint64_t draw = inputs->draw + (uint64_t)node->draw;
    uint32_t k0 = (uint32_t)inputs->seed, k1 = (uint32_t)(inputs->seed >> 32);
    uint32_t w[4] = {(uint32_t)e, (uint32_t)((uint64_t)e >> 32), (uint32_t)draw, (uint32_t)(draw >> 32)};
    for (int r = 0; r < 10; r++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
      const uint64_t p0 = (uint64_t)0xD2511F53u * w[0], p1 = (uint64_t)0xCD9E8D57u * w[2];
      const uint32_t next[4] = {(uint32_t)(p1 >> 32) ^ w[1] ^ k0, (uint32_t)p1,
                                (uint32_t)(p0 >> 32) ^ w[3] ^ k1, (uint32_t)p0};
      for (int i = 0; i < 4; i++) w[i] = next[i];
    }
    const double step = 1.0 / 16777216.0;
    out->f[e] = node->op == TC_OP_rand
                    ? (w[0] >> 8) * step
                    : sqrt(-2 * log(((w[0] >> 8) + 1) * step)) * cos(2 * M_PI * ((w[1] >> 8) * step));
  }
}

static void ref_input(const struct tc_node *node, struct ref_value *out, const struct ref_inputs *inputs) {
  const void *data = inputs->data[tc_attr_int(&node->attrs, 0)];
  for (int64_t e = 0; e < out->numel; e++) {
    int64_t at[TC_MAX_DIMS], element = 0;
    ref_unravel(out, e, at);
    for (int d = 0; d < out->ndim; d++) element += at[d] * tc_sym_value(node->strides[d]);
    switch (out->dtype) {
      case TC_BOOL: out->i[e] = ((const uint8_t *)data)[element]; break;
      case TC_I64: out->i[e] = ((const int64_t *)data)[element]; break;
      case TC_BF16: out->f[e] = (double)tc_bf16_to_f32(((const uint16_t *)data)[element]); break;
      case TC_F32: out->f[e] = (double)((const float *)data)[element]; break;
      default: out->f[e] = ((const double *)data)[element];
    }
  }
}

static void ref_create(const struct tc_node *node, struct ref_value *out) {
  for (int64_t e = 0; e < out->numel; e++) {
    if (node->op == TC_OP_arange)
      ref_set(out, e, node->attrs.nums[0] + (double)e * node->attrs.nums[1]);
    else if (ref_float(out))
      out->f[e] = node->attrs.nums[0];
    else
      ref_set(out, e, (double)tc_attr_int(&node->attrs, 1));
  }
}

struct ref_value *ref_evaluate(const struct tc_graph *g, struct ref_inputs *inputs) {
  struct ref_value *values = calloc(g->nodes.len + 1, sizeof *values);
  for (size_t n = 0; n < g->nodes.len; n++) {
    const struct tc_node *node = g->nodes.data[n];
    struct ref_value *in[TC_MAX_INPUTS], *out = &values[n];
    *out = ref_new(&node->meta);
    for (int i = 0; i < node->n_in; i++) in[i] = &values[node->in[i]->id];
    switch (tc_op_row(node->op)->kind) {
      case TC_KIND_INPUT: ref_input(node, out, inputs); break;
      case TC_KIND_CREATE: ref_create(node, out); break;
      case TC_KIND_RANDOM: ref_random(node, out, inputs); break;
      case TC_KIND_POINTWISE: ref_pointwise(node, in, out); break;
      case TC_KIND_REDUCTION: ref_reduce(node, in[0], out); break;
      case TC_KIND_MATMUL: ref_matmul(in[0], in[1], out); break;
      case TC_KIND_GATHER: ref_gather(node, in, out, inputs); break;
      default:
        if (node->op == TC_OP_cat)
          ref_cat(node, in, out);
        else
          ref_move(node, in[0], out);
    }
  }
  return values;
}
void ref_free_all(struct ref_value *values, size_t count) {
  for (size_t i = 0; i < count; i++) ref_free(&values[i]);
  free(values);
}
