/* What a run of a kernel moves and does, by hints; and which stores bypass the caches. */
#include "sched/draft.h"

struct meter {
  struct tc_sched *s;
  struct tc_kernel *k;
  double *touched; /* by buffer: elements, summed over different addresses */
  bool *addressed; /* by expression: counted as an operation, and its address, in an earlier phase */
  double share;    /* of the dims that the phase runs over */
  uint64_t operations;
};

static double points_of(const struct tc_kernel_dim *dims, int n, tc_sym address) {
  double points = 1;
  for (int i = 0; i < n; i++)
    if (!tc_sym_valid(address) || tc_sym_uses(address, dims[i].var))
      points *= (double)tc_sym_hint(dims[i].extent);
  return points;
}

static double touched_by(const struct meter *m, tc_sym address) {
  return m->share * points_of(m->k->outer, m->k->n_outer, address) *
         points_of(m->k->inner, m->k->n_inner, address);
}

static double share_of(const struct tc_phase *phase) {
  if (!tc_sym_valid(phase->var)) return 1;
  const int64_t extent = tc_sym_hint(tc_sym_extent(phase->var)), reach = tc_phase_reach(phase);
  return extent > 0 ? (double)reach / (double)extent : 1;
}

static bool is_memory(const struct tc_kernel_buffer *b) {
  return b->role == TC_ROLE_READ || b->role == TC_ROLE_WRITE || b->role == TC_ROLE_READ_WRITE;
}

static bool count_phase(struct meter *m, const struct tc_phase *phase) {
  struct tc_walk *walk = &m->s->walk;
  if (!tc_walk_begin(walk, TC_WALK_PRE, m->k->n_exprs)) return false;
  m->share = share_of(phase);
  for (int i = 0; i < phase->n_reductions; i++)
    if (!tc_walk_from(walk, phase->reductions[i].value)) return false;
  for (int i = 0; i < phase->n_stores; i++) {
    if (!tc_walk_from(walk, phase->stores[i].value)) return false;
    m->touched[phase->stores[i].buffer] += touched_by(m, phase->stores[i].address);
  }
  m->operations = (uint64_t)phase->n_reductions;
  m->k->n_ops += phase->n_reductions + phase->n_stores;
  for (const struct tc_expr *e; (e = tc_walk_next(walk));) {
    if (e->op == TC_E_LOAD) {
      /* A place that data decide may be anywhere. */
      if (!m->addressed[e->id] || m->share < 1)
        m->touched[e->buffer] += touched_by(m, e->args[0] ? TC_SYM_INVALID : e->address);
      m->k->n_ops += !m->addressed[e->id];
    } else {
      m->operations += (uint64_t)tc_expr_cost(e->op);
      if (tc_expr_cost(e->op) && !m->addressed[e->id]) m->k->n_ops++;
    }
    m->addressed[e->id] = true;
  }
  double points = m->share * points_of(m->k->outer, m->k->n_outer, TC_SYM_INVALID);
  if (phase->over_inner) points *= points_of(m->k->inner, m->k->n_inner, TC_SYM_INVALID);
  m->k->flops += (uint64_t)((double)m->operations * points);
  return !walk->failed;
}

static void mark_streams(struct tc_sched *s, struct tc_kernel *k) {
  if (!s->config->stream_stores || (int64_t)k->bytes <= s->target->l3_bytes) return;
  for (int i = 0; i < k->n_buffers; i++) {
    const int64_t bytes = tc_sym_hint(k->buffers[i].elements) * tc_dtype_bytes(k->buffers[i].dtype);
    k->buffers[i].stream = k->buffers[i].role == TC_ROLE_WRITE && bytes > s->target->l2_bytes &&
                           tc_sched_may(s, TC_FUEL_stream, NULL,
                                        "and what is in its kernel, whose result bypasses the caches", NULL);
  }
}

tc_status tc_kernel_measure(struct tc_sched *s, struct tc_kernel *k) {
  struct meter m = {.s = s, .k = k};
  m.touched = TC_NEW_ARRAY(s->alloc, double, (size_t)k->n_buffers + 1);
  m.addressed = TC_NEW_ARRAY(s->alloc, bool, (size_t)k->n_exprs + 1);
  if (!m.touched || !m.addressed) return tc_sched_failed(s);
  for (int i = 0; i < k->n_phases; i++)
    if (!count_phase(&m, &k->phases[i])) return tc_sched_failed(s);
  for (int i = 0; i < k->n_buffers; i++) {
    if (!is_memory(&k->buffers[i])) continue;
    const double span = (double)tc_sym_hint(k->buffers[i].elements);
    const double elements = m.touched[i] < span ? m.touched[i] : span;
    k->bytes += (uint64_t)elements * (uint64_t)tc_dtype_bytes(k->buffers[i].dtype);
  }
  mark_streams(s, k);
  return TC_OK;
}
