/* Views as index maps: a view has no loop; whoever reads it looks through to what it views.
 *
 * 1. A map gives, for an index tuple of the view, the tuple of its operand. Tuples have full rank.
 * 2. Reshapes are matched group by group (runs of dimensions with equal products), so that only
 *    dimensions that are truly split or merged get div, mod or sums. */
#include "lower/rules.h"

/* Dimensions other than 1, in order. */
static int proper_dims(const struct tc_meta *meta, int dims[TC_MAX_DIMS]) {
  int n = 0;
  for (int i = 0; i < meta->ndim; i++)
    if (!tc_sym_is(meta->sizes[i], 1)) dims[n++] = i;
  return n;
}

/* Sizes are divisors here: of a symbol it is decided whether it is 0. */
static bool has_zero(struct tc_symtab *tab, const struct tc_meta *meta) {
  for (int i = 0; i < meta->ndim; i++)
    if (tc_sym_is_const(meta->sizes[i]) ? tc_sym_is(meta->sizes[i], 0)
                                        : tc_sym_decide_eq(tab, meta->sizes[i], tc_sym_const(0)))
      return true;
  return false;
}

/* Operand dims in[i0, i1) hold the same elements as view dims out[o0, o1). */
static void map_group(struct tc_symtab *tab, const struct tc_meta *in, const int *in_dims, int i0, int i1,
                      const struct tc_meta *out, const int *out_dims, int o0, int o1, const tc_sym *at,
                      tc_sym *operand_at) {
  tc_sym linear = tc_sym_const(0);
  for (int o = o0; o < o1; o++)
    linear = tc_sym_add(tab, tc_sym_mul(tab, linear, out->sizes[out_dims[o]]), at[out_dims[o]]);
  for (int i = i1 - 1; i >= i0; i--) {
    const tc_sym size = in->sizes[in_dims[i]];
    operand_at[in_dims[i]] = i == i0 ? linear : tc_sym_mod(tab, linear, size);
    linear = tc_sym_div(tab, linear, size);
  }
}

static void map_reshape(struct tc_symtab *tab, const struct tc_meta *in, const struct tc_meta *out,
                        const tc_sym *at, tc_sym *operand_at) {
  for (int i = 0; i < in->ndim; i++) operand_at[i] = tc_sym_const(0);
  if (has_zero(tab, in)) return;
  int in_dims[TC_MAX_DIMS], out_dims[TC_MAX_DIMS];
  const int n_in = proper_dims(in, in_dims), n_out = proper_dims(out, out_dims);
  for (int i = 0, o = 0; i < n_in && o < n_out;) {
    const int i0 = i, o0 = o;
    tc_sym in_product = in->sizes[in_dims[i++]], out_product = out->sizes[out_dims[o++]];
    while (!tc_sym_same(in_product, out_product) && (i < n_in || o < n_out)) {
      const bool grow_in = o == n_out || (i < n_in && tc_sym_hint(in_product) < tc_sym_hint(out_product));
      if (grow_in)
        in_product = tc_sym_mul(tab, in_product, in->sizes[in_dims[i++]]);
      else
        out_product = tc_sym_mul(tab, out_product, out->sizes[out_dims[o++]]);
    }
    map_group(tab, in, in_dims, i0, i, out, out_dims, o0, o, at, operand_at);
  }
}

static void map_expand(const struct tc_meta *in, const struct tc_meta *out, const tc_sym *at,
                       tc_sym *operand_at) {
  const int shift = out->ndim - in->ndim;
  for (int i = 0; i < in->ndim; i++)
    operand_at[i] = tc_sym_is(in->sizes[i], 1) ? tc_sym_const(0) : at[i + shift];
}

tc_status tc_view_step(struct tc_symtab *tab, const struct tc_node *view, const tc_sym *at,
                       tc_sym *operand_at) {
  const struct tc_meta *in = &view->in[0]->meta;
  const struct tc_attrs *attrs = &view->attrs;
  switch (view->op) {
    case TC_OP_view:
    case TC_OP_reshape:
    case TC_OP_squeeze:
    case TC_OP_unsqueeze: map_reshape(tab, in, &view->meta, at, operand_at); return TC_OK;
    case TC_OP_expand: map_expand(in, &view->meta, at, operand_at); return TC_OK;
    case TC_OP_permute:
      for (int i = 0; i < in->ndim; i++) operand_at[tc_attr_int(attrs, i)] = at[i];
      return TC_OK;
    case TC_OP_slice: {
      const int dim = (int)tc_attr_int(attrs, 0);
      for (int i = 0; i < in->ndim; i++) operand_at[i] = at[i];
      operand_at[dim] = tc_sym_add(tab, attrs->ints[1], tc_sym_mul(tab, at[dim], attrs->ints[3]));
      return TC_OK;
    }
    default: return TC_UNSUPPORTED;
  }
}

/* Views make nothing. */
tc_status lower_view(struct tc_lowering *l, const struct tc_node *node) { return (void)node, l->status; }
tc_status lower_expand(struct tc_lowering *l, const struct tc_node *node) { return (void)node, l->status; }
tc_status lower_permute(struct tc_lowering *l, const struct tc_node *node) { return (void)node, l->status; }
tc_status lower_slice(struct tc_lowering *l, const struct tc_node *node) { return (void)node, l->status; }
