/* Can two clusters share one iteration space?
 *
 * 1. Where one cluster reads the other, coordinates that must be equal pair dimensions: both are plain
 *    variables of one extent, or the clusters do not fit.
 * 2. What is left over is paired through loops that both read, then in order.
 * 3. One side may lack dimensions (a value a row): these are then the reduced dimensions of the whole.
 *    Every reduction of the result reduces exactly the same dimensions. */
#include "sched/schedule.h"

#include <string.h>

struct pairing {
  const struct tc_cluster *a, *b;
  int of_a[TC_MAX_DIMS], of_b[TC_MAX_DIMS];
};

static int dim_of(const struct tc_cluster *c, tc_sym var) {
  for (int i = 0; i < c->n_dims; i++)
    if (tc_sym_same(c->vars[i], var)) return i;
  return -1;
}

static bool pair(struct pairing *p, int a, int b) {
  if (a < 0 || b < 0 || !tc_sym_same(p->a->sizes[a], p->b->sizes[b])) return false;
  if (p->of_a[a] == b && p->of_b[b] == a) return true;
  if (p->of_a[a] >= 0 || p->of_b[b] >= 0) return false;
  p->of_a[a] = b;
  p->of_b[b] = a;
  return true;
}

/* The reader's variable in its cluster for coordinate `dim` of a read; INVALID when it is no plain
 * variable. */
tc_sym tc_read_at(const struct tc_sched *s, int reader, const struct tc_read *read, int dim) {
  const tc_sym at = s->loops->indices.data[read->index].at[dim];
  tc_sym vars[TC_MAX_DIMS];
  const int n = tc_loop_vars(tc_loop_at(s, reader), vars);
  for (int i = 0; i < n; i++)
    if (tc_sym_same(vars[i], at)) return s->info[reader].bind[i];
  return TC_SYM_INVALID;
}

/* All reads of `from` by members of `reader` pair dims; swapped: the reader is p->b. */
static bool pair_reads(const struct tc_sched *s, struct pairing *p, const struct tc_cluster *reader,
                       const struct tc_cluster *from) {
  for (size_t m = 0; m < reader->members.len; m++) {
    const int id = reader->members.data[m];
    const struct tc_info *info = &s->info[id];
    for (size_t r = 0; r < info->reads.len; r++) {
      const struct tc_read *read = &info->reads.data[r];
      if (s->info[read->loop].cluster < 0 || s->clusters.data[s->info[read->loop].cluster] != from) continue;
      if (read->indexed) return false;
      for (int d = 0; d < tc_loop_at(s, read->loop)->ndim; d++) {
        const int mine = dim_of(reader, tc_read_at(s, id, read, d)),
                  theirs = dim_of(from, s->info[read->loop].bind[d]);
        if (!(reader == p->a ? pair(p, mine, theirs) : pair(p, theirs, mine))) return false;
      }
    }
  }
  return true;
}

/* Loops that both read: coordinates that are plain variables of both pair what is still free. */
static void pair_shared(const struct tc_sched *s, struct pairing *p) {
  for (size_t i = 0; i < p->a->members.len; i++) {
    const int ma = p->a->members.data[i];
    for (size_t j = 0; j < p->b->members.len; j++) {
      const int mb = p->b->members.data[j];
      for (size_t x = 0; x < s->info[ma].reads.len; x++)
        for (size_t y = 0; y < s->info[mb].reads.len; y++) {
          const struct tc_read *ra = &s->info[ma].reads.data[x], *rb = &s->info[mb].reads.data[y];
          if (ra->loop != rb->loop) continue;
          for (int d = 0; d < tc_loop_at(s, ra->loop)->ndim; d++) {
            const int a = dim_of(p->a, tc_read_at(s, ma, ra, d)), b = dim_of(p->b, tc_read_at(s, mb, rb, d));
            if (a >= 0 && b >= 0 && p->of_a[a] < 0 && p->of_b[b] < 0) pair(p, a, b);
          }
        }
    }
  }
}

static int count_free(const int *of, int n) {
  int free = 0;
  for (int i = 0; i < n; i++) free += of[i] < 0;
  return free;
}

static bool pair_in_order(struct pairing *p) {
  int b = 0;
  for (int a = 0; a < p->a->n_dims; a++) {
    if (p->of_a[a] >= 0) continue;
    while (p->of_b[b] >= 0) b++;
    if (!pair(p, a, b)) return false;
  }
  return true;
}

static bool any_reduced(const struct tc_cluster *c) {
  for (int i = 0; i < c->n_dims; i++)
    if (c->reduced[i]) return true;
  return false;
}

/* `big` has every dimension; those that `small` lacks must be what is reduced. */
static bool reduced_dims(const struct tc_cluster *big, const struct tc_cluster *small, const int *of_big,
                         bool *reduced) {
  const bool lacks = small->n_dims < big->n_dims, big_reduces = any_reduced(big),
             small_reduces = any_reduced(small);
  for (int i = 0; i < big->n_dims; i++) {
    const bool here = big->reduced[i], there = of_big[i] < 0 || small->reduced[of_big[i]];
    if (big_reduces && (small_reduces || lacks) && here != there) return false;
    reduced[i] = big_reduces ? here : (small_reduces || lacks) && there;
  }
  return !(lacks && small_reduces);
}

/* Without reductions, values of a row are worth a row kernel only where the row is the trailing
 * dimensions. */
static bool is_trailing(const struct tc_cluster *c, const bool *reduced) {
  for (int i = 1; i < c->n_dims; i++)
    if (reduced[i - 1] && !reduced[i]) return false;
  return true;
}

bool tc_cluster_align(const struct tc_sched *s, const struct tc_cluster *a, const struct tc_cluster *b,
                      struct tc_alignment *out) {
  struct pairing p = {.a = a, .b = b};
  memset(p.of_a, -1, sizeof p.of_a);
  memset(p.of_b, -1, sizeof p.of_b);
  if (!pair_reads(s, &p, a, b) || !pair_reads(s, &p, b, a)) return false;
  if (count_free(p.of_a, a->n_dims) && count_free(p.of_b, b->n_dims)) {
    pair_shared(s, &p);
    const int free_a = count_free(p.of_a, a->n_dims), free_b = count_free(p.of_b, b->n_dims);
    if (free_a && free_b && (free_a != free_b || !pair_in_order(&p))) return false;
  }
  out->swap = a->n_dims < b->n_dims;
  const struct tc_cluster *big = out->swap ? b : a, *small = out->swap ? a : b;
  const int *of_big = out->swap ? p.of_b : p.of_a, *of_small = out->swap ? p.of_a : p.of_b;
  if (count_free(of_small, small->n_dims)) return false;
  memcpy(out->into, of_small, sizeof out->into);
  memset(out->reduced, 0, sizeof out->reduced);
  if (!reduced_dims(big, small, of_big, out->reduced)) return false;
  return any_reduced(a) || any_reduced(b) || is_trailing(big, out->reduced);
}
