/* What a run of a kernel moves and does, by hints; and which stores bypass the caches. */
#include "sched/draft.h"

struct meter {
  struct tc_sched *s;
  struct tc_kernel *k;
  double *touched;    /* by buffer: elements, summed over different addresses */
  bool *counted;      /* by expression: this phase */
  bool *addressed;    /* by expression: its address was counted */
  uint64_t operations;
};

static double points_of(const struct tc_kernel_dim *dims, int n, tc_sym address) {
  double points = 1;
  for (int i = 0; i < n; i++)
    if (!tc_sym_valid(address) || tc_sym_uses(address, dims[i].var)) points *= (double)tc_sym_hint(dims[i].extent);
  return points;
}

static double touched_by(const struct meter *m, tc_sym address) {
  return points_of(m->k->outer, m->k->n_outer, address) * points_of(m->k->inner, m->k->n_inner, address);
}

static bool is_memory(const struct tc_kernel_buffer *b) {
  return b->role == TC_ROLE_READ || b->role == TC_ROLE_WRITE || b->role == TC_ROLE_READ_WRITE;
}

static void count(struct meter *m, const struct tc_expr *e) {
  if (m->counted[e->id]) return;
  m->counted[e->id] = true;
  if (e->op == TC_E_LOAD && !m->addressed[e->id]) {
    m->addressed[e->id] = true;
    /* A place that data decide may be anywhere. */
    m->touched[e->buffer] += touched_by(m, e->args[0] ? TC_SYM_INVALID : e->address);
    m->k->n_ops++;
  } else if (e->op != TC_E_LOAD && tc_expr_cost(e->op)) {
    m->operations += (uint64_t)tc_expr_cost(e->op);
    if (!m->addressed[e->id]) m->k->n_ops++;
    m->addressed[e->id] = true;
  }
  for (int i = 0; i < TC_EXPR_ARGS; i++)
    if (e->args[i]) count(m, e->args[i]);
}

static void count_phase(struct meter *m, const struct tc_phase *phase) {
  m->operations = 0;
  for (int i = 0; i < m->k->n_exprs; i++) m->counted[i] = false;
  for (int i = 0; i < phase->n_reductions; i++) {
    count(m, phase->reductions[i].value);
    m->operations++;
    m->k->n_ops++;
  }
  for (int i = 0; i < phase->n_stores; i++) {
    count(m, phase->stores[i].value);
    m->touched[phase->stores[i].buffer] += touched_by(m, phase->stores[i].address);
    m->k->n_ops++;
  }
  double points = points_of(m->k->outer, m->k->n_outer, TC_SYM_INVALID);
  if (phase->over_inner) points *= points_of(m->k->inner, m->k->n_inner, TC_SYM_INVALID);
  m->k->flops += (uint64_t)((double)m->operations * points);
}

static void mark_streams(struct tc_sched *s, struct tc_kernel *k) {
  if (!s->config->stream_stores || (int64_t)k->bytes <= s->target->l3_bytes) return;
  for (int i = 0; i < k->n_buffers; i++) {
    const int64_t bytes = tc_sym_hint(k->buffers[i].elements) * tc_dtype_bytes(k->buffers[i].dtype);
    k->buffers[i].stream = k->buffers[i].role == TC_ROLE_WRITE && bytes > s->target->l2_bytes;
  }
}

tc_status tc_kernel_measure(struct tc_sched *s, struct tc_kernel *k) {
  struct meter m = {.s = s, .k = k};
  m.touched = TC_NEW_ARRAY(s->alloc, double, (size_t)k->n_buffers + 1);
  m.counted = TC_NEW_ARRAY(s->alloc, bool, (size_t)k->n_exprs + 1);
  m.addressed = TC_NEW_ARRAY(s->alloc, bool, (size_t)k->n_exprs + 1);
  if (!m.touched || !m.counted || !m.addressed) return tc_sched_nomem(s);
  for (int i = 0; i < k->n_phases; i++) count_phase(&m, &k->phases[i]);
  for (int i = 0; i < k->n_buffers; i++) {
    if (!is_memory(&k->buffers[i])) continue;
    const double span = (double)tc_sym_hint(k->buffers[i].elements);
    const double elements = m.touched[i] < span ? m.touched[i] : span;
    k->bytes += (uint64_t)elements * (uint64_t)tc_dtype_bytes(k->buffers[i].dtype);
  }
  mark_streams(s, k);
  return TC_OK;
}
