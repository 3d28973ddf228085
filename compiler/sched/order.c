/* The order of clusters while they merge, and at the end the order of launches.
 *
 * 1. Clusters stand in a list in which what is read comes before its readers. So one can need another only if
 *    it stands behind it, and a search for a path between two meets nothing but what stands between them.
 * 2. Two clusters that merge take the place of the earlier one. What the later one needs, and stands between
 *    them, moves before it; by 1. and since no path leads from the earlier one to the later one, that keeps
 *    the order. (Places as labels with gaps: order maintenance after Dietz and Sleator; the search after
 *    Pearce and Kelly.)
 * 3. A search that meets too many clusters counts as a path: the two then do not merge. */
#include "sched/schedule.h"

#include <stdlib.h>

enum { SEARCH_MAX = 4096, MOVE_STEP = 1 << 12 };
static const uint64_t PLACE_GAP = 1ull << 32;

void tc_order_begin(struct tc_sched *s) {
  struct tc_cluster *before = NULL;
  for (size_t i = 0; i < s->clusters.len; i++) { /* made in the loops' order */
    struct tc_cluster *c = s->clusters.data[i];
    c->before = before;
    c->place = (i + 1) * PLACE_GAP;
    if (before)
      before->after = c;
    else
      s->earliest = c;
    before = c;
  }
}

/* --- paths --- */

struct search {
  const struct tc_cluster *earlier, *later;
  bool path;
};

/* Asks for what `c` reads; false when memory is out. */
static bool search_reads(struct tc_sched *s, struct search *search, const struct tc_cluster *c) {
  const size_t first = s->pending.len;
  for (size_t m = 0; m < c->members.len && !search->path; m++) {
    const struct tc_info *info = &s->info[c->members.data[m]];
    for (size_t r = 0; r < info->reads.len && !search->path; r++) {
      struct tc_cluster *read = tc_cluster_of(s, info->reads.data[r].loop);
      if (!read || read == c || read->mark == s->mark) continue;
      const bool target = read == search->earlier,
                 behind = read->depends_mark && read->depends_mark == s->depends_on;
      if (target ? c != search->later : behind) search->path = true;
      if (target || search->path || read->place < search->earlier->place) continue;
      read->mark = s->mark;
      if (!tc_vec_push(s->alloc, &s->pending, read) || !tc_vec_push(s->alloc, &s->between, read))
        return false;
    }
  }
  /* What stands nearest to the earlier one leads to it soonest, if anything does. */
  for (size_t i = first; i + 1 < s->pending.len; i++)
    if (s->pending.data[i]->place < s->pending.data[s->pending.len - 1]->place) {
      struct tc_cluster *swap = s->pending.data[i];
      s->pending.data[i] = s->pending.data[s->pending.len - 1];
      s->pending.data[s->pending.len - 1] = swap;
    }
  return true;
}

bool tc_order_apart(struct tc_sched *s, struct tc_cluster *a, struct tc_cluster *b, bool *apart) {
  struct search search = {.earlier = a->place < b->place ? a : b, .later = a->place < b->place ? b : a};
  s->pending.len = s->between.len = 0;
  s->mark++;
  if (!search_reads(s, &search, search.later)) return false;
  while (s->pending.len && !search.path) {
    if (!search_reads(s, &search, s->pending.data[--s->pending.len])) return false;
    search.path |= s->between.len > SEARCH_MAX;
  }
  *apart = !search.path;
  return true;
}

/* --- moving --- */

static void unlink_cluster(struct tc_sched *s, struct tc_cluster *c) {
  if (c->before)
    c->before->after = c->after;
  else
    s->earliest = c->after;
  if (c->after) c->after->before = c->before;
}

static void link_before(struct tc_sched *s, struct tc_cluster *c, struct tc_cluster *spot) {
  c->before = spot->before;
  c->after = spot;
  if (spot->before)
    spot->before->after = c;
  else
    s->earliest = c;
  spot->before = c;
}

static int by_place(const void *x, const void *y) {
  const struct tc_cluster *a = *(struct tc_cluster *const *)x, *b = *(struct tc_cluster *const *)y;
  return a->place < b->place ? -1 : a->place > b->place;
}

static void move_between(struct tc_sched *s, struct tc_cluster *earlier) {
  const size_t n = s->between.len;
  if (!n) return;
  qsort(s->between.data, n, sizeof *s->between.data, by_place);
  const uint64_t from = earlier->before ? earlier->before->place : 0, gap = (earlier->place - from) / (n + 1);
  const uint64_t step =
      gap < MOVE_STEP ? gap : MOVE_STEP; /* most of the gap stays free for those that come later */
  for (size_t i = 0; i < n; i++) {
    unlink_cluster(s, s->between.data[i]);
    link_before(s, s->between.data[i], earlier);
    s->between.data[i]->place = from + step * (i + 1);
  }
  if (!step) {
    /* no room between the two: all get new places */
    uint64_t place = 0;
    for (struct tc_cluster *c = s->earliest; c; c = c->after) c->place = place += PLACE_GAP;
  }
}

void tc_order_join(struct tc_sched *s, struct tc_cluster *kept, struct tc_cluster *gone) {
  struct tc_cluster *earlier = kept->place < gone->place ? kept : gone;
  move_between(s, earlier);
  if (earlier == gone) {
    unlink_cluster(s, kept);
    link_before(s, kept, gone);
    kept->place = gone->place;
  }
  unlink_cluster(s, gone);
}

/* --- launch order: what is read first, else the order of the program --- */

struct visit {
  int cluster;
  size_t member, read;
};
struct visits {
  struct visit *data;
  size_t len, cap;
};

static bool enter(struct tc_sched *s, struct visits *stack, int cluster) {
  const struct visit fresh = {.cluster = cluster};
  if (cluster < 0 || s->clusters.data[cluster]->mark == s->mark) return true;
  s->clusters.data[cluster]->mark = s->mark;
  return tc_vec_push(s->alloc, stack, fresh);
}

/* The next cluster that the top of the stack reads; false when there is none. */
static bool next_read(const struct tc_sched *s, struct visit *v, int *cluster) {
  const struct tc_cluster *c = s->clusters.data[v->cluster];
  for (; v->member < c->members.len; v->member++, v->read = 0) {
    const struct tc_info *info = &s->info[c->members.data[v->member]];
    if (v->read == info->reads.len) continue;
    *cluster = s->info[info->reads.data[v->read++].loop].cluster;
    return true;
  }
  return false;
}

bool tc_order_units(struct tc_sched *s) {
  struct visits stack = {0};
  s->units = TC_NEW_ARRAY(s->alloc, int, s->clusters.len + 1);
  if (!s->units) return false;
  s->mark++;
  for (int i = 0; i < s->n_order; i++) {
    if (!enter(s, &stack, s->info[s->order[i]].cluster)) return false;
    while (stack.len) {
      struct visit *top = &stack.data[stack.len - 1];
      int read;
      if (next_read(s, top, &read)) {
        if (!enter(s, &stack, read)) return false;
        continue;
      }
      s->units[s->n_units++] = top->cluster;
      stack.len--;
    }
  }
  return true;
}
