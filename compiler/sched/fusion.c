/* Fusion: which anchors share a kernel.
 *
 * 1. Every anchor starts as a cluster of its own. Clusters merge along reads (largest saving first), then
 *    side by side where they read the same memory or are small and independent.
 * 2. Legal: one iteration space (align.c), no path from one to the other through a third cluster, and
 *    within the limits of config.def. A library call never merges.
 * 3. The result is deterministic, and does not depend on the number of threads. */
#include "sched/schedule.h"

#include <stdlib.h>
#include <string.h>

enum { SIDE_BY_SIDE_BYTES = 1 << 20,        /* independent kernels below this size are merged for the launch they save */
       SIDE_BY_SIDE_BUFFERS = 12 };

struct candidate { int producer, consumer; int64_t bytes; };

static struct tc_cluster *cluster_of(const struct tc_sched *s, int loop) {
  return s->info[loop].cluster < 0 ? NULL : s->clusters.data[s->info[loop].cluster];
}

static int64_t bytes_of(const struct tc_sched *s, int loop) {
  return tc_sym_hint(tc_loop_elements(s, loop)) * tc_dtype_bytes(tc_loop_at(s, loop)->dtype);
}

static bool seed(struct tc_sched *s, const struct tc_loop *loop) {
  struct tc_cluster *c = TC_NEW(s->alloc, struct tc_cluster);
  if (!c || !tc_vec_push(s->alloc, &c->members, loop->id)) return false;
  struct tc_info *info = &s->info[loop->id];
  info->cluster = (int)s->clusters.len;
  c->ops = info->ops;
  if (loop->kind == TC_LOOP_GEMM) c->gemm = loop;
  tc_sym vars[TC_MAX_DIMS];
  const int n = loop->kind == TC_LOOP_GEMM ? loop->ndim : tc_loop_vars(loop, vars);
  c->n_dims = n;
  for (int i = 0; i < n; i++) {
    c->reduced[i] = i >= loop->ndim;
    c->sizes[i] = c->reduced[i] ? loop->inner_sizes[i - loop->ndim] : loop->sizes[i];
    c->vars[i] = info->bind[i] = tc_sym_index(s->tab, c->sizes[i]);
    if (!tc_sym_valid(c->vars[i])) return false;
  }
  return tc_vec_push(s->alloc, &s->clusters, c);
}

/* --- legality --- */

/* Does `from` need a result of `target`, directly (when allowed) or through others? */
static bool depends_on(struct tc_sched *s, struct tc_cluster *from, const struct tc_cluster *target, bool direct) {
  from->mark = s->mark;
  for (size_t m = 0; m < from->members.len; m++) {
    const struct tc_info *info = &s->info[from->members.data[m]];
    for (size_t r = 0; r < info->reads.len; r++) {
      struct tc_cluster *read = cluster_of(s, info->reads.data[r].loop);
      if (!read || read == from || read->mark == s->mark) continue;
      if (read == target) {
        if (direct) return true;
        continue;
      }
      if (depends_on(s, read, target, true)) return true;
    }
  }
  return false;
}

static bool makes_cycle(struct tc_sched *s, struct tc_cluster *a, struct tc_cluster *b) {
  s->mark++;
  if (depends_on(s, a, b, false)) return true;
  s->mark++;
  return depends_on(s, b, a, false);
}

/* Buffers of the merged kernel: what it reads from outside and what it stores; -1 when reads pass the limit. */
static int count_buffers(struct tc_sched *s, const struct tc_cluster *a, const struct tc_cluster *b, int *shared) {
  const struct tc_cluster *both[2] = {a, b};
  int loops[TC_MAX_KERNEL_BUFFERS], first_reader[TC_MAX_KERNEL_BUFFERS], n = 0;
  *shared = 0;
  for (int c = 0; c < 2; c++)
    for (size_t m = 0; m < both[c]->members.len; m++) {
      const struct tc_info *info = &s->info[both[c]->members.data[m]];
      for (size_t r = 0; r < info->reads.len; r++) {
        const int loop = info->reads.data[r].loop;
        const struct tc_cluster *from = cluster_of(s, loop);
        if (from == a || from == b) continue;
        int at = 0;
        while (at < n && loops[at] != loop) at++;
        if (at < n) {
          *shared += first_reader[at] != c;
          continue;
        }
        if (n == TC_MAX_KERNEL_BUFFERS) return -1;
        loops[n] = loop;
        first_reader[n++] = c;
      }
    }
  return n > tc_sched_max_reads(s) ? -1 : n + (int)(a->members.len + b->members.len);
}

static bool within_limits(struct tc_sched *s, const struct tc_cluster *a, const struct tc_cluster *b, int *buffers, int *shared) {
  if (a->ops + b->ops > s->config->fuse_max_ops) return false;
  *buffers = count_buffers(s, a, b, shared);
  return *buffers >= 0 && *buffers <= TC_MAX_KERNEL_BUFFERS - TC_SPARE_BUFFERS;
}

/* --- merging --- */

static bool merge(struct tc_sched *s, struct tc_cluster *a, struct tc_cluster *b, const struct tc_alignment *how) {
  struct tc_cluster *big = how->swap ? b : a, *small = how->swap ? a : b;
  const int into = s->info[big->members.data[0]].cluster;
  memcpy(big->reduced, how->reduced, sizeof big->reduced);
  for (size_t m = 0; m < small->members.len; m++) {
    const int id = small->members.data[m];
    struct tc_info *info = &s->info[id];
    tc_sym vars[TC_MAX_DIMS];
    const int n = tc_loop_vars(tc_loop_at(s, id), vars);
    for (int i = 0; i < n; i++)
      for (int d = 0; d < small->n_dims; d++)
        if (tc_sym_same(info->bind[i], small->vars[d])) {
          info->bind[i] = big->vars[how->into[d]];
          break;
        }
    info->cluster = into;
    if (!tc_vec_push(s->alloc, &big->members, id)) return false;
  }
  big->ops += small->ops;
  small->gone = true;
  for (size_t i = 1; i < big->members.len; i++) { /* insertion sort by rank */
    const int id = big->members.data[i];
    size_t j = i;
    for (; j > 0 && s->info[big->members.data[j - 1]].rank > s->info[id].rank; j--) big->members.data[j] = big->members.data[j - 1];
    big->members.data[j] = id;
  }
  return true;
}

static tc_status try_merge(struct tc_sched *s, struct tc_cluster *a, struct tc_cluster *b, bool siblings, int64_t bytes) {
  int buffers, shared;
  struct tc_alignment how;
  if (a == b || a->gemm || b->gemm || !within_limits(s, a, b, &buffers, &shared)) return TC_OK;
  if (siblings && !shared && (bytes > SIDE_BY_SIDE_BYTES || buffers > SIDE_BY_SIDE_BUFFERS)) return TC_OK;
  if (!tc_cluster_align(s, a, b, &how) || makes_cycle(s, a, b)) return TC_OK;
  return merge(s, a, b, &how) ? TC_OK : tc_sched_nomem(s);
}

static int by_saving(const void *x, const void *y) {
  const struct candidate *a = x, *b = y;
  if (a->bytes != b->bytes) return a->bytes < b->bytes ? 1 : -1;
  return a->consumer != b->consumer ? a->consumer - b->consumer : a->producer - b->producer;
}

/* Along reads: the producer's value need not pass through memory. */
static tc_status merge_along_reads(struct tc_sched *s) {
  TC_VEC(struct candidate) candidates = {0};
  for (int i = 0; i < s->n_order; i++) {
    const int id = s->order[i];
    for (size_t r = 0; r < s->info[id].reads.len; r++) {
      const int producer = s->info[id].reads.data[r].loop;
      if (!cluster_of(s, producer) || !cluster_of(s, id)) continue;
      const struct candidate c = {producer, id, bytes_of(s, producer)};
      if (!tc_vec_push(s->alloc, &candidates, c)) return tc_sched_nomem(s);
    }
  }
  if (candidates.len) qsort(candidates.data, candidates.len, sizeof *candidates.data, by_saving);
  for (size_t i = 0; i < candidates.len; i++) {
    const tc_status status =
        try_merge(s, cluster_of(s, candidates.data[i].producer), cluster_of(s, candidates.data[i].consumer), false, candidates.data[i].bytes);
    if (status != TC_OK) return status;
  }
  return TC_OK;
}

static bool same_space(const struct tc_cluster *a, const struct tc_cluster *b) {
  if (a->n_dims != b->n_dims) return false;
  for (int i = 0; i < a->n_dims; i++)
    if (!tc_sym_same(a->sizes[i], b->sizes[i]) || a->reduced[i] != b->reduced[i]) return false;
  return true;
}

/* Side by side: the same dimensions in the same order. */
static tc_status merge_siblings(struct tc_sched *s) {
  for (size_t i = 0; i < s->clusters.len; i++) {
    struct tc_cluster *a = s->clusters.data[i];
    for (size_t j = i + 1; !a->gone && !a->gemm && j < s->clusters.len; j++) {
      struct tc_cluster *b = s->clusters.data[j];
      if (b->gone || b->gemm || !same_space(a, b)) continue;
      const tc_status status = try_merge(s, a, b, true, bytes_of(s, a->members.data[0]));
      if (status != TC_OK) return status;
    }
  }
  return TC_OK;
}

/* --- launch order: what is read first, else the order of the program --- */

static bool order_unit(struct tc_sched *s, struct tc_cluster *c, int index) {
  if (c->mark == s->mark) return true;
  c->mark = s->mark;
  for (size_t m = 0; m < c->members.len; m++) {
    const struct tc_info *info = &s->info[c->members.data[m]];
    for (size_t r = 0; r < info->reads.len; r++) {
      const int read = s->info[info->reads.data[r].loop].cluster;
      if (read >= 0 && !order_unit(s, s->clusters.data[read], read)) return false;
    }
  }
  c->unit = s->n_units;
  s->units[s->n_units++] = index;
  return true;
}

static tc_status order_units(struct tc_sched *s) {
  s->units = TC_NEW_ARRAY(s->alloc, int, s->clusters.len + 1);
  if (!s->units) return tc_sched_nomem(s);
  s->mark++;
  for (int i = 0; i < s->n_order; i++) {
    const int index = s->info[s->order[i]].cluster;
    if (index >= 0) order_unit(s, s->clusters.data[index], index);
  }
  return TC_OK;
}

/* What is read outside of its cluster, or is a result, has memory. */
static void mark_stored(struct tc_sched *s) {
  for (int i = 0; i < s->n_order; i++) {
    const int id = s->order[i];
    struct tc_info *info = &s->info[id];
    const enum tc_loop_kind kind = tc_loop_at(s, id)->kind;
    info->stored |= info->output || kind == TC_LOOP_INPUT || kind == TC_LOOP_GEMM;
    for (size_t r = 0; r < info->reads.len; r++)
      if (cluster_of(s, info->reads.data[r].loop) != cluster_of(s, id)) s->info[info->reads.data[r].loop].stored = true;
  }
}

tc_status tc_sched_fuse(struct tc_sched *s) {
  for (int i = 0; i < s->n_order; i++) {
    const struct tc_loop *loop = tc_loop_at(s, s->order[i]);
    if (loop->kind != TC_LOOP_INPUT && s->info[loop->id].anchor && !seed(s, loop)) return tc_sched_nomem(s);
  }
  if (s->config->fuse) {
    tc_status status = merge_along_reads(s);
    if (status == TC_OK) status = merge_siblings(s);
    if (status != TC_OK) return status;
  }
  mark_stored(s);
  return order_units(s);
}
