/* Where a loop's elements lie in its memory, decided before fusion.
 *
 * 1. Inputs have their strides; everything else is row-major and dense.
 * 2. A library call's result that is only ever read through one permutation is laid out in the
 *    permuted order (its column stride stays 1), so that what follows needs no copy.
 * 3. A library call's operand that the library cannot take with strides, and a result of the graph that is no
 *    strided view or only a part of a value, get a loop that copies (into which producers may be inlined). */
#include "sched/schedule.h"

int tc_loop_vars(const struct tc_loop *loop, tc_sym vars[TC_MAX_DIMS]) {
  for (int i = 0; i < loop->ndim; i++) vars[i] = loop->vars[i];
  for (int i = 0; i < loop->n_inner; i++) vars[loop->ndim + i] = loop->inner_vars[i];
  return loop->ndim + loop->n_inner;
}

tc_sym tc_loop_elements(const struct tc_sched *s, int id) {
  const struct tc_loop *loop = tc_loop_at(s, id);
  const tc_sym numel = tc_loops_numel(s->tab, loop->ndim, loop->sizes);
  if (loop->kind != TC_LOOP_INPUT || tc_sym_is(numel, 0)) return numel;
  tc_sym last = tc_sym_const(0); /* the farthest element */
  for (int i = 0; i < loop->ndim; i++)
    last =
        tc_sym_add(s->tab, last,
                   tc_sym_mul(s->tab, tc_sym_sub(s->tab, loop->sizes[i], tc_sym_const(1)), loop->strides[i]));
  return tc_sym_add(s->tab, last, tc_sym_const(1));
}

tc_sym tc_loop_address(const struct tc_sched *s, int id, const struct tc_index *index) {
  if (tc_sym_valid(index->linear)) return index->linear;
  tc_sym address = tc_sym_const(0);
  for (int i = 0; i < index->n; i++)
    address = tc_sym_add(s->tab, address, tc_sym_mul(s->tab, index->at[i], s->info[id].strides[i]));
  return address;
}

static void row_major(const struct tc_sched *s, const struct tc_loop *loop, const int *order) {
  tc_sym stride = tc_sym_const(1);
  for (int i = loop->ndim - 1; i >= 0; i--) {
    const int dim = order ? order[i] : i;
    s->info[loop->id].strides[dim] = stride;
    stride = tc_sym_mul(s->tab, stride, loop->sizes[dim]);
  }
}

void tc_row_major(const struct tc_sched *s, const struct tc_loop *loop) { row_major(s, loop, NULL); }

/* --- results of products --- */

/* How the users of a node read it. */
struct use {
  const struct tc_node *permutation;
  bool otherwise;
};

static bool same_permutation(const struct tc_node *a, const struct tc_node *b) {
  for (int d = 0; d < b->attrs.n_ints; d++)
    if (tc_attr_int(&a->attrs, d) != tc_attr_int(&b->attrs, d)) return false;
  return true;
}

static struct use *uses_of_nodes(const struct tc_sched *s) {
  const struct tc_graph *g = s->g;
  struct use *uses = TC_NEW_ARRAY(s->alloc, struct use, g->nodes.len + 1);
  for (size_t i = 0; uses && i < g->nodes.len; i++) {
    const struct tc_node *user = g->nodes.data[i];
    for (int k = 0; k < user->n_in; k++) {
      struct use *use = &uses[user->in[k]->id];
      use->otherwise |=
          user->op != TC_OP_permute || (use->permutation && !same_permutation(use->permutation, user));
      use->permutation = user;
    }
  }
  for (size_t i = 0; uses && i < g->outputs.len; i++) uses[g->outputs.data[i]->id].otherwise = true;
  return uses;
}

static void gemm_layout(struct tc_sched *s, const struct tc_loop *loop, const struct use *use) {
  const struct tc_node *permute = use->otherwise ? NULL : use->permutation;
  const int rank = loop->node->meta.ndim;
  if (!permute || tc_attr_int(&permute->attrs, rank - 1) != rank - 1 ||
      !tc_sched_may(s, TC_FUEL_layout, loop, "permuted", NULL)) {
    tc_row_major(s, loop);
    return;
  }
  int dim_of[TC_MAX_DIMS], order[TC_MAX_DIMS], n = 0;
  for (int d = 0, at = 0; d < rank; d++) dim_of[d] = tc_sym_is(loop->node->meta.sizes[d], 1) ? -1 : at++;
  for (int d = 0; d < rank; d++) {
    const int dim = dim_of[tc_attr_int(&permute->attrs, d)];
    if (dim >= 0) order[n++] = dim;
  }
  row_major(s, loop, order);
}

static bool grow_info(struct tc_sched *s, int n) {
  if (n <= s->cap_loops) return true;
  const int cap = s->cap_loops * 2 > n ? s->cap_loops * 2 : n;
  struct tc_info *grown = TC_NEW_ARRAY(s->alloc, struct tc_info, (size_t)cap + 1);
  if (!grown) return false;
  for (int i = 0; i < s->n_loops; i++) grown[i] = s->info[i];
  s->info = grown;
  s->cap_loops = cap;
  return true;
}

/* Takes note of loops that were added since; false when memory is out. */
static bool note_loops(struct tc_sched *s) {
  if (!grow_info(s, (int)s->loops->items.len)) return false;
  for (; s->n_loops < (int)s->loops->items.len; s->n_loops++) {
    const struct tc_loop *loop = tc_loop_at(s, s->n_loops);
    s->info[loop->id].slot = -1;
    s->info[loop->id].cluster = -1;
    if (loop->kind == TC_LOOP_INPUT)
      for (int i = 0; i < loop->ndim; i++) s->info[loop->id].strides[i] = loop->strides[i];
    else
      tc_row_major(s, loop);
  }
  return true;
}

/* --- copies --- */

/* Replaces the view by a dense loop of its own over those of `vars` that it uses, and over all from `kept`
 * on. */
static tc_status copy_view(struct tc_sched *s, struct tc_view *view, int n_vars, int kept, const tc_sym *vars,
                           const tc_sym *sizes) {
  const struct tc_loop *source = tc_loop_at(s, view->loop);
  const struct tc_index from = s->loops->indices.data[view->index];
  struct tc_index to = {0};
  tc_sym kept_sizes[TC_MAX_DIMS];
  for (int v = 0; v < n_vars; v++) {
    bool used = v >= kept;
    for (int i = 0; i < from.n; i++) used |= tc_sym_uses(from.at[i], vars[v]);
    if (!used || tc_sym_is_const(vars[v])) continue;
    kept_sizes[to.n] = sizes[v];
    to.at[to.n++] = vars[v];
  }
  struct tc_loop *copy =
      tc_loops_add(s->loops, TC_LOOP_POINTWISE, source->dtype, to.n, kept_sizes, source->node);
  if (!copy) return tc_sched_failed(s);
  struct tc_index inside = from;
  for (int i = 0; i < from.n; i++)
    inside.at[i] = tc_sym_substitute(s->tab, from.at[i], to.n, to.at, copy->vars);
  copy->value = tc_loops_load(s->loops, source, &inside, NULL, NULL);
  view->loop = copy->id;
  view->index = tc_loops_index(s->loops, &to);
  return copy->value && view->index >= 0 && note_loops(s) ? TC_OK : tc_sched_failed(s);
}

static tc_status serve_operand(struct tc_sched *s, struct tc_view *view, const struct tc_operand_dims *dims,
                               const tc_sym *batch_sizes) {
  struct tc_gemm_operand unused;
  tc_sym strides[TC_MAX_DIMS], vars[TC_MAX_DIMS + 2], sizes[TC_MAX_DIMS + 2];
  if (tc_gemm_operand(s, view, dims, &unused, strides)) return TC_OK;
  int n = 0;
  for (; n < dims->n_batch; n++) vars[n] = dims->batch[n], sizes[n] = batch_sizes[n];
  vars[n] = dims->row, sizes[n++] = dims->rows;
  vars[n] = dims->col, sizes[n++] = dims->cols;
  return copy_view(s, view, n, dims->n_batch, vars, sizes);
}

static tc_status serve_gemm(struct tc_sched *s, struct tc_loop *gemm) {
  struct tc_operand_dims a, b, c;
  tc_sym batch_sizes[TC_MAX_DIMS];
  tc_gemm_dims(gemm, &a, &b, &c);
  for (int i = 0, n = 0; i < gemm->ndim; i++)
    if (i != gemm->row_dim && i != gemm->col_dim) batch_sizes[n++] = gemm->sizes[i];
  const tc_status status = serve_operand(s, &gemm->a, &a, batch_sizes);
  return status == TC_OK ? serve_operand(s, &gemm->b, &b, batch_sizes) : status;
}

/* Is the result a part of a pointwise value that no other result shares? Then only the part is computed. */
static bool is_part(const struct tc_sched *s, const struct tc_view *view) {
  const struct tc_loop *loop = tc_loop_at(s, view->loop);
  if (s->info[view->loop].n_results > 1) return false;
  const tc_sym part = tc_loops_numel(s->tab, view->ndim, view->sizes),
               whole = tc_loops_numel(s->tab, loop->ndim, loop->sizes);
  return loop->kind == TC_LOOP_POINTWISE && tc_sym_is_const(part) && tc_sym_is_const(whole) &&
         tc_sym_value(part) < tc_sym_value(whole);
}

/* Do the result's variables have strides in the memory? */
static bool has_strides(const struct tc_sched *s, const struct tc_view *view) {
  const tc_sym address = tc_loop_address(s, view->loop, &s->loops->indices.data[view->index]);
  for (int d = 0; d < view->ndim; d++) {
    tc_sym stride, rest;
    if (!tc_sym_is_const(view->vars[d]) && !tc_sym_affine(s->tab, address, view->vars[d], &stride, &rest))
      return false;
  }
  return true;
}

static tc_status serve_output(struct tc_sched *s, struct tc_view *view) {
  const int before = view->loop;
  if (!is_part(s, view) && has_strides(s, view)) return TC_OK;
  const tc_status status = copy_view(s, view, view->ndim, 0, view->vars, view->sizes);
  if (status) return status;
  s->info[before].n_results--;
  s->info[view->loop].n_results++;
  return TC_OK;
}

tc_status tc_sched_layout(struct tc_sched *s) {
  const struct use *uses = uses_of_nodes(s);
  if (!uses || !note_loops(s)) return tc_sched_failed(s);
  const int n = s->n_loops;
  for (int i = 0; i < n; i++)
    if (tc_loop_at(s, i)->kind == TC_LOOP_GEMM)
      gemm_layout(s, tc_loop_at(s, i), &uses[tc_loop_at(s, i)->node->id]);
  for (size_t i = 0; i < s->g->outputs.len; i++) s->info[s->loops->outputs[i].loop].n_results++;
  tc_status status = TC_OK;
  for (int i = 0; i < n && status == TC_OK; i++)
    if (tc_loop_at(s, i)->kind == TC_LOOP_GEMM) status = serve_gemm(s, tc_loop_at(s, i));
  for (size_t i = 0; i < s->g->outputs.len && status == TC_OK; i++)
    status = serve_output(s, &s->loops->outputs[i]);
  return status;
}
