/* Fusion: which anchors share a kernel.
 *
 * 1. Every anchor starts as a cluster of its own. Clusters merge along reads (largest saving first), then
 *    side by side where they read the same memory or are small and independent.
 * 2. Legal: one iteration space (align.c), no path from one to the other through a third cluster, and
 *    within the limits of config.def. A library call never merges.
 * 3. The result is deterministic, and does not depend on the number of threads.
 * 4. Any merge may be left out: fuel.fuse counts them, and fuel.kernels takes finished kernels apart
 * again. */
#include "sched/schedule.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

enum {
  SIDE_BY_SIDE_BYTES = 1 << 20, /* independent kernels below this size are merged for the launch they save */
  SIDE_BY_SIDE_BUFFERS = 12,
  SIBLING_TRIES = 128
}; /* clusters of its space that one is tried with */

struct candidate {
  int producer, consumer;
  int64_t bytes;
};
struct tc_units {
  int *data;
  size_t len, cap;
};

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

/* --- limits --- */

/* Buffers of the merged kernel: what it reads from outside and what it stores; -1 when reads pass the
 * limit. */
static int count_buffers(struct tc_sched *s, const struct tc_cluster *a, const struct tc_cluster *b,
                         int *shared) {
  const struct tc_cluster *both[2] = {a, b};
  int loops[TC_MAX_KERNEL_BUFFERS], first_reader[TC_MAX_KERNEL_BUFFERS], n = 0;
  *shared = 0;
  if (a->members.len + b->members.len > TC_MAX_KERNEL_BUFFERS) return -1;
  for (int c = 0; c < 2; c++)
    for (size_t m = 0; m < both[c]->members.len; m++) {
      const struct tc_info *info = &s->info[both[c]->members.data[m]];
      for (size_t r = 0; r < info->reads.len; r++) {
        const int loop = info->reads.data[r].loop;
        const struct tc_cluster *from = tc_cluster_of(s, loop);
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

static bool within_limits(struct tc_sched *s, const struct tc_cluster *a, const struct tc_cluster *b,
                          int *buffers, int *shared) {
  if (a->ops + b->ops > s->config->fuse_max_ops) return false;
  *buffers = count_buffers(s, a, b, shared);
  return *buffers >= 0 && *buffers <= TC_MAX_KERNEL_BUFFERS - TC_SPARE_BUFFERS;
}

/* --- merging --- */

static bool merge(struct tc_sched *s, struct tc_cluster *a, struct tc_cluster *b,
                  const struct tc_alignment *how) {
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
  big->planted |= small->planted;
  small->gone = true;
  for (size_t i = 1; i < big->members.len; i++) { /* insertion sort by rank */
    const int id = big->members.data[i];
    size_t j = i;
    for (; j > 0 && s->info[big->members.data[j - 1]].rank > s->info[id].rank; j--)
      big->members.data[j] = big->members.data[j - 1];
    big->members.data[j] = id;
  }
  return true;
}

/* Is there a path between them? For siblings it is remembered, so that the search for the next one ends
 * there. */
static bool apart(struct tc_sched *s, struct tc_cluster *a, struct tc_cluster *b, bool siblings,
                  tc_status *status) {
  bool answer = false;
  if (!tc_order_apart(s, a, b, &answer)) *status = tc_sched_failed(s);
  if (siblings && !answer && a->place < b->place) b->depends_mark = s->depends_on;
  return answer;
}

static const struct tc_loop *newest_of(const struct tc_sched *s, const struct tc_cluster *c) {
  return tc_loop_at(s, c->members.data[c->members.len - 1]);
}

/* Has it a concatenation? Two side by side have borders in different places, and would be split at all of
 * them. */
static bool joins(const struct tc_sched *s, const struct tc_cluster *c) {
  for (size_t m = 0; m < c->members.len; m++) {
    const struct tc_node *node = tc_loop_at(s, c->members.data[m])->node;
    if (node && node->op == TC_OP_cat) return true;
  }
  return false;
}

static tc_status try_merge(struct tc_sched *s, struct tc_cluster *a, struct tc_cluster *b, bool siblings,
                           int64_t bytes) {
  int buffers, shared;
  struct tc_alignment how;
  tc_status status = TC_OK;
  if (a == b || a->gemm || b->gemm || !within_limits(s, a, b, &buffers, &shared)) return TC_OK;
  if (siblings && !shared && (bytes > SIDE_BY_SIDE_BYTES || buffers > SIDE_BY_SIDE_BUFFERS)) return TC_OK;
  if (siblings && !shared && joins(s, a) && joins(s, b)) return TC_OK;
  if (siblings && !apart(s, a, b, true, &status)) return status; /* most fail here: they follow one another */
  if (!tc_cluster_align(s, a, b, &how) || (!siblings && !apart(s, a, b, false, &status))) return status;
  if (!tc_sched_may(s, TC_FUEL_fuse, newest_of(s, a), siblings ? "beside" : "into", newest_of(s, b)))
    return TC_OK;
  if (s->config->plant_fusion) {
    /* The fusion that was just allowed may be the one to be made wrong. */
    a->planted |= s->loops->fuel->spent[TC_FUEL_fuse] == s->config->plant_fusion;
  }
  tc_order_join(s, how.swap ? b : a, how.swap ? a : b);
  return merge(s, a, b, &how) ? TC_OK : tc_sched_failed(s);
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
      if (!tc_cluster_of(s, producer) || !tc_cluster_of(s, id)) continue;
      const struct candidate c = {producer, id, bytes_of(s, producer)};
      if (!tc_vec_push(s->alloc, &candidates, c)) return tc_sched_failed(s);
    }
  }
  if (candidates.len) qsort(candidates.data, candidates.len, sizeof *candidates.data, by_saving);
  for (size_t i = 0; i < candidates.len; i++) {
    const tc_status status =
        try_merge(s, tc_cluster_of(s, candidates.data[i].producer),
                  tc_cluster_of(s, candidates.data[i].consumer), false, candidates.data[i].bytes);
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

/* --- side by side: the same dimensions in the same order --- */

/* Clusters of one space, as a list by number; numbers of those that are gone are skipped and left out.
 * `first`: of the list so far, by the number of the cluster that stands for its space. */
struct spaces {
  int *next, *first;
  struct tc_hash_index index;
};

static uint64_t space_hash(const struct tc_cluster *c) {
  uint64_t h = (uint64_t)c->n_dims;
  for (int i = 0; i < c->n_dims; i++) h = tc_hash_u64(tc_hash_u64(h, c->sizes[i].bits), c->reduced[i]);
  return h;
}

/* The cluster that stands for the space of cluster i; -1: there was none before. */
static int space_of(const struct tc_sched *s, const struct spaces *spaces, uint64_t hash, size_t i) {
  size_t at = tc_hash_index_first(&spaces->index, hash);
  for (int found; (found = tc_hash_index_next(&spaces->index, hash, &at)) >= 0;)
    if (same_space(s->clusters.data[found], s->clusters.data[i])) return found;
  return -1;
}

/* Links each cluster to the next one of its space. */
static bool find_spaces(struct tc_sched *s, struct spaces *spaces) {
  const size_t n = s->clusters.len;
  spaces->next = TC_NEW_ARRAY(s->alloc, int, n + 1);
  spaces->first = TC_NEW_ARRAY(s->alloc, int, n + 1);
  if (!spaces->next || !spaces->first) return false;
  for (size_t i = n; i-- > 0;) {
    const struct tc_cluster *c = s->clusters.data[i];
    spaces->next[i] = -1;
    if (c->gone || c->gemm) continue;
    const uint64_t hash = space_hash(c);
    int space = space_of(s, spaces, hash, i);
    if (space >= 0)
      spaces->next[i] = spaces->first[space];
    else if (!tc_hash_index_add(s->alloc, &spaces->index, hash, space = (int)i))
      return false;
    spaces->first[space] = (int)i;
  }
  return true;
}

/* The next one of the space that is still there. */
static int next_in_space(const struct tc_sched *s, struct spaces *spaces, int i) {
  while (spaces->next[i] >= 0 && s->clusters.data[spaces->next[i]]->gone)
    spaces->next[i] = spaces->next[spaces->next[i]];
  return spaces->next[i];
}

/* Could any other cluster still join it? */
static bool has_room(const struct tc_sched *s, const struct tc_cluster *c) {
  return c->ops < s->config->fuse_max_ops && c->members.len + 1 <= TC_MAX_KERNEL_BUFFERS - TC_SPARE_BUFFERS;
}

/* The cluster with those that follow it in its space. */
static tc_status merge_siblings_of(struct tc_sched *s, struct spaces *spaces, int i) {
  struct tc_cluster *a = s->clusters.data[i];
  tc_status status = TC_OK;
  s->depends_on++;
  for (int j = next_in_space(s, spaces, i), tries = 0;
       j >= 0 && !status && !a->gone && tries < SIBLING_TRIES && has_room(s, a); tries++) {
    struct tc_cluster *b = s->clusters.data[j];
    status = same_space(a, b) ? try_merge(s, a, b, true, bytes_of(s, a->members.data[0])) : TC_OK;
    j = next_in_space(s, spaces, j);
  }
  return status;
}

static tc_status merge_siblings(struct tc_sched *s) {
  struct spaces spaces = {0};
  tc_status status = find_spaces(s, &spaces) ? TC_OK : tc_sched_failed(s);
  for (size_t i = 0; i < s->clusters.len && !status; i++)
    if (!s->clusters.data[i]->gone && !s->clusters.data[i]->gemm)
      status = merge_siblings_of(s, &spaces, (int)i);
  return status;
}

/* --- kernels beyond fuel.kernels --- */

/* Each member becomes a cluster of its own. They stand by rank, so what one reads comes before it. False when
 * memory is out. */
static bool take_apart(struct tc_sched *s, struct tc_cluster *c, struct tc_units *units) {
  c->gone = true;
  for (size_t m = 0; m < c->members.len; m++) {
    if (!seed(s, tc_loop_at(s, c->members.data[m])) ||
        !tc_vec_push(s->alloc, units, (int)s->clusters.len - 1))
      return false;
    s->clusters.data[s->clusters.len - 1]->plain = true;
  }
  return true;
}

/* Asks for each kernel, in launch order. False when memory is out. */
static bool limit_kernels(struct tc_sched *s) {
  struct tc_units units = {0};
  for (int i = 0; i < s->n_units; i++) {
    struct tc_cluster *c = s->clusters.data[s->units[i]];
    const bool whole =
        c->gemm || tc_sched_may(s, TC_FUEL_kernels, newest_of(s, c), "and what is in its kernel", NULL);
    if (whole ? !tc_vec_push(s->alloc, &units, s->units[i]) : !take_apart(s, c, &units)) return false;
  }
  s->units = units.data;
  s->n_units = (int)units.len;
  return true;
}

tc_status tc_sched_fuse(struct tc_sched *s) {
  for (int i = 0; i < s->n_order; i++) {
    const struct tc_loop *loop = tc_loop_at(s, s->order[i]);
    if (loop->kind != TC_LOOP_INPUT && s->info[loop->id].anchor && !seed(s, loop)) return tc_sched_failed(s);
  }
  tc_order_begin(s);
  if (s->config->fuse) {
    tc_status status = merge_along_reads(s);
    if (status == TC_OK) status = merge_siblings(s);
    if (status != TC_OK) return status;
  }
  if (!tc_order_units(s) || !limit_kernels(s)) return tc_sched_failed(s);
  /* What is read outside of its cluster, or is a result, has memory. */
  for (int i = 0; i < s->n_order; i++) {
    const int id = s->order[i];
    struct tc_info *info = &s->info[id];
    const enum tc_loop_kind kind = tc_loop_at(s, id)->kind;
    info->stored |= info->output || kind == TC_LOOP_INPUT || kind == TC_LOOP_GEMM;
    for (size_t r = 0; r < info->reads.len; r++)
      if (tc_cluster_of(s, info->reads.data[r].loop) != tc_cluster_of(s, id))
        s->info[info->reads.data[r].loop].stored = true;
  }
  return TC_OK;
}
