/* E-Divisive by energy statistics. Invariants:
 * 1. A cut leaves min_segment points on either side, of the series' ends, of marks and of other cuts, where
 *    it is tested.
 * 2. Every cut but a mark has passed its permutation test between its final neighbours, and the test of
 *    effect size. Only then place_at_ends tells one near an end where the step is.
 * 3. A scan of n points takes n log n: the sum of distances to the points already on one side comes from two
 *    Fenwick trees, of counts and of sums by rank, so a permutation is no more than a shuffle of ranks.
 *
 * Paper: the statistic of a cut into m and n points is mn / (m + n) times 2 mean|x - y| - mean|x - x'| -
 * mean|y - y'|. It also scans over where the right part ends, so that a step up and down again does not hide
 * itself, in n^2; here windows of three lengths do that (the permutations go through the same windows, so the
 * test stays exact), and cuts are then placed, and tested, again between their final neighbours. */
#include "results/stats/changepoint.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "results/stats/random.h"
#include "results/stats/stats.h"

enum {
  SETTLING = 4 /* rounds of placing and testing cuts again; each mostly changes nothing after the second. Then
                  cuts only go */
};

struct tb_change_options tb_change_defaults(void) {
  return (struct tb_change_options){
      .significance = 0.01, .permutations = 199, .min_segment = 5, .min_step = 0.01, .seed = 1};
}

struct work {
  const struct tb_change_options *options;
  const double *logs; /* of the whole series */
  size_t *rank;       /* of the segment at hand, from 1, in its order in time */
  double *sorted;     /* its values, by rank - 1 */
  double *left;       /* sums of distances within what comes before a point */
  double *tree_sum;
  size_t *tree_count;
  unsigned char *cut; /* of the whole series: enum cut_kind of each point that begins a segment */
};
enum cut_kind { NO_CUT, FOUND, MARK };

/* --- energy --- */

static void tree_add(const struct work *w, size_t n, size_t at, double value) {
  for (; at <= n; at += at & -at) {
    w->tree_sum[at] += value;
    w->tree_count[at]++;
  }
}

/* Sum of distances from the value of a rank to all in the tree, of `count` values with sum `sum`. */
static double distances(const struct work *w, size_t rank, size_t count, double sum) {
  const double x = w->sorted[rank - 1];
  double below_sum = 0;
  size_t below = 0;
  for (size_t at = rank; at; at &= at - 1) {
    below_sum += w->tree_sum[at];
    below += w->tree_count[at];
  }
  return x * (double)below - below_sum + (sum - below_sum) - x * (double)(count - below);
}

static void tree_clear(const struct work *w, size_t n) {
  memset(w->tree_sum, 0, (n + 1) * sizeof *w->tree_sum);
  memset(w->tree_count, 0, (n + 1) * sizeof *w->tree_count);
}

struct best {
  size_t at;
  double energy;
};
enum windows { WHOLE = 1, DOWN_TO_QUARTERS = 4 };

/* The best cut within [begin, end) of the segment of n points whose ranks, in order of time, are w->rank. */
static struct best scan_window(const struct work *w, size_t n, size_t begin, size_t end) {
  double sum = 0, all = 0, right = 0;
  struct best best = {0, -INFINITY};
  tree_clear(w, n);
  for (size_t k = begin; k < end; k++) {
    const double x = w->sorted[w->rank[k] - 1];
    w->left[k] = all;
    all += distances(w, w->rank[k], k - begin, sum);
    tree_add(w, n, w->rank[k], x);
    sum += x;
  }
  tree_clear(w, n);
  sum = 0;
  const size_t margin = (size_t)w->options->min_segment;
  for (size_t k = end; k-- > begin + margin;) {
    const double x = w->sorted[w->rank[k] - 1], a = (double)(k - begin), b = (double)(end - k);
    right += distances(w, w->rank[k], end - k - 1, sum);
    tree_add(w, n, w->rank[k], x);
    sum += x;
    if (end - k < margin) continue;
    const double cross = all - w->left[k] - right;
    const double energy =
        a * b / (a + b) * (2 * cross / (a * b) - 2 * w->left[k] / (a * (a - 1)) - 2 * right / (b * (b - 1)));
    if (energy > best.energy) best = (struct best){k, energy};
  }
  return best;
}

/* The best cut over windows: the whole, and those of a half and a quarter of it, each beginning half a window
 * after the one before. */
static struct best scan(const struct work *w, size_t n, enum windows windows) {
  struct best best = scan_window(w, n, 0, n);
  for (size_t part = 2; part <= windows; part *= 2) {
    const size_t length = n / part;
    if (length < 2 * (size_t)w->options->min_segment) break;
    for (size_t i = 0; i <= 2 * (part - 1); i++) {
      const struct best other = scan_window(w, n, i * length / 2, i * length / 2 + length);
      if (other.energy > best.energy) best = other;
    }
  }
  return best;
}

struct valued {
  double value;
  size_t at;
};

static int by_value(const void *a, const void *b) {
  const struct valued *x = a, *y = b;
  if (x->value != y->value) return x->value < y->value ? -1 : 1;
  return (x->at > y->at) - (x->at < y->at);
}

static bool rank_segment(struct work *w, size_t from, size_t n) {
  struct valued *items = malloc(n * sizeof *items);
  if (!items) return false;
  for (size_t i = 0; i < n; i++) items[i] = (struct valued){w->logs[from + i], i};
  qsort(items, n, sizeof *items, by_value);
  for (size_t i = 0; i < n; i++) {
    w->sorted[i] = items[i].value;
    w->rank[items[i].at] = i + 1;
  }
  free(items);
  return true;
}

static void shuffle(struct tb_random *random, size_t *items, size_t count) {
  for (size_t i = count; i-- > 1;) {
    const size_t j = (size_t)(tb_random_next(random) % (i + 1)), kept = items[i];
    items[i] = items[j];
    items[j] = kept;
  }
}

struct tested {
  size_t at;
  double p;
  bool cut;
};

/* The best cut of [from, to), and whether it is one. False: memory is out. */
static bool test_segment(struct work *w, size_t from, size_t to, enum windows windows, struct tested *out) {
  const size_t n = to - from;
  const struct tb_change_options *options = w->options;
  *out = (struct tested){.p = 1};
  if (n < 2 * (size_t)options->min_segment) return true;
  if (!rank_segment(w, from, n)) return false;
  const struct best best = scan(w, n, windows);
  struct tb_random random = {options->seed ^ (uint64_t)from << 32 ^ (uint64_t)to};
  const double tries = options->permutations + 1;
  const int most =
      (int)floor(options->significance * tries) - 1; /* as many permutations may reach the energy */
  int reached = 0;
  if (w->sorted[0] == w->sorted[n - 1]) return true;
  for (int i = 0; i < options->permutations && reached <= most; i++) {
    shuffle(&random, w->rank, n);
    reached += scan(w, n, windows).energy >= best.energy;
  }
  *out = (struct tested){.at = from + best.at, .p = (reached + 1) / tries, .cut = reached <= most};
  return true;
}

/* --- cutting --- */

/* Cuts [from, to) until nothing is left to cut. False: memory is out. */
static bool bisect(struct work *w, size_t from, size_t to) {
  struct tested tested;
  if (!test_segment(w, from, to, DOWN_TO_QUARTERS, &tested)) return false;
  if (!tested.cut) return true;
  w->cut[tested.at] = FOUND;
  return bisect(w, from, tested.at) && bisect(w, tested.at, to);
}

static size_t previous_cut(const struct work *w, size_t at) {
  while (at > 0 && !w->cut[--at]) continue;
  return at;
}

static size_t next_cut(const struct work *w, size_t at, size_t count) {
  for (at++; at < count && !w->cut[at];) at++;
  return at;
}

static double step_of(const struct work *w, size_t from, size_t at, size_t to) {
  return tb_median(w->logs + at, to - at) - tb_median(w->logs + from, at - from);
}

/* Places each cut again between its neighbours, and drops those that no longer hold. *changed: something
 * did. */
static bool settle(struct work *w, size_t count, bool *changed) {
  *changed = false;
  for (size_t at = next_cut(w, 0, count), next; at < count; at = next) {
    const size_t from = previous_cut(w, at), to = next = next_cut(w, at, count);
    struct tested tested;
    if (w->cut[at] == MARK) continue;
    if (!test_segment(w, from, to, WHOLE, &tested)) return false;
    const bool holds = tested.cut && fabs(step_of(w, from, tested.at, to)) >= log1p(w->options->min_step);
    *changed |= !holds || tested.at != at;
    w->cut[at] = NO_CUT;
    if (holds) w->cut[tested.at] = FOUND;
  }
  return true;
}

/* What was found, with the p of its last test. False: memory is out. */
static bool tell(struct work *w, size_t count, struct tb_change *out, size_t *found) {
  for (size_t at = next_cut(w, 0, count), from = 0, to; at < count; from = at, at = to) {
    to = next_cut(w, at, count);
    struct tested tested = {.p = 0};
    if (w->cut[at] != MARK && !test_segment(w, from, to, WHOLE, &tested)) return false;
    out[(*found)++] = (struct tb_change){.at = at,
                                         .before = exp(tb_median(w->logs + from, at - from)),
                                         .after = exp(tb_median(w->logs + at, to - at)),
                                         .p = tested.p,
                                         .marked = w->cut[at] == MARK};
  }
  return true;
}

/* Drops the first cut that does not hold between its neighbours; moves none. *dropped: there was one. */
static bool drop_one(struct work *w, size_t count, bool *dropped) {
  *dropped = false;
  for (size_t at = next_cut(w, 0, count), from = 0, next; at < count; from = at, at = next) {
    struct tested tested;
    next = next_cut(w, at, count);
    if (w->cut[at] == MARK) continue;
    if (!test_segment(w, from, next, WHOLE, &tested)) return false;
    if (tested.cut && fabs(step_of(w, from, at, next)) >= log1p(w->options->min_step)) continue;
    w->cut[at] = NO_CUT;
    *dropped = true;
    return true;
  }
  return true;
}

static bool cut_all(struct work *w, size_t count) {
  for (size_t from = 0, to; from < count; from = to) {
    for (to = from + 1; to < count && w->cut[to] != MARK;) to++;
    if (!bisect(w, from, to)) return false;
  }
  bool changed = true;
  for (int i = 0; i < SETTLING && changed; i++)
    if (!settle(w, count, &changed)) return false;
  while (changed)
    if (!drop_one(w, count, &changed)) return false;
  return true;
}

/* --- cuts near an end --- */

/* Sum of the distances of [from, to) to their median. */
static double deviation(const struct work *w, size_t from, size_t to) {
  const double median = tb_median(w->logs + from, to - from);
  double sum = 0;
  for (size_t i = from; i < to; i++) sum += fabs(w->logs[i] - median);
  return sum;
}

/* A cut that lies as near to an end as the test can see may lie nearer yet: a step of three nights ago is
 * found, but as if it were of five. So it goes to where what is on its sides scatters the least, at the place
 * that was tested or beyond. */
static size_t place_beyond(const struct work *w, size_t from, size_t at, size_t to, size_t count) {
  const size_t margin = (size_t)w->options->min_segment;
  const size_t begin = !from && at == margin ? 1 : at, end = to == count && to - at == margin ? to : at + 1;
  size_t best = at;
  double least = deviation(w, from, at) + deviation(w, at, to);
  for (size_t i = begin; i < end; i++) {
    const double here = deviation(w, from, i) + deviation(w, i, to);
    if (here < least) least = here, best = i;
  }
  return best;
}

static void place_at_ends(const struct work *w, size_t count, struct tb_change *changes, size_t found) {
  for (size_t i = 0; i < found; i++) {
    struct tb_change *c = &changes[i];
    const size_t from = previous_cut(w, c->at), to = next_cut(w, c->at, count);
    if (c->marked) continue;
    c->at = place_beyond(w, from, c->at, to, count);
    c->before = exp(tb_median(w->logs + from, c->at - from));
    c->after = exp(tb_median(w->logs + c->at, to - c->at));
  }
}

static bool make_room(struct work *w, size_t count) {
  w->rank = malloc((count + 1) * sizeof *w->rank);
  w->sorted = malloc((count + 1) * sizeof *w->sorted);
  w->left = calloc(count + 1, sizeof *w->left);
  w->tree_sum = malloc((count + 1) * sizeof *w->tree_sum);
  w->tree_count = malloc((count + 1) * sizeof *w->tree_count);
  w->cut = calloc(count + 1, sizeof *w->cut);
  return w->rank && w->sorted && w->left && w->tree_sum && w->tree_count && w->cut;
}

static void free_room(struct work *w) {
  free(w->rank);
  free(w->sorted);
  free(w->left);
  free(w->tree_sum);
  free(w->tree_count);
  free(w->cut);
}

static tc_status check(const double *values, size_t count, const struct tb_change_options *o,
                       struct tc_error *err) {
  if (!(o->significance > 0 && o->significance < 1) || o->min_segment < 2 || !(o->min_step >= 0) ||
      o->significance * (o->permutations + 1) < 1)
    return tc_fail(err, TC_ARG, "changes",
                   "segments need 2 points at least, and (permutations + 1) x significance 1 at least");
  for (size_t i = 0; i < count; i++)
    if (!(values[i] > 0) || !isfinite(values[i]))
      return tc_fail(err, TC_ARG, "changes", "value %zu of the history, %g, is not above 0", i + 1,
                     values[i]);
  return TC_OK;
}

tc_status tb_change_points(const double *values, size_t count, const size_t *marks, size_t mark_count,
                           const struct tb_change_options *options, struct tb_change *out, size_t *found,
                           struct tc_error *err) {
  *found = 0;
  const tc_status status = check(values, count, options, err);
  if (status) return status;
  double *logs = malloc((count + 1) * sizeof *logs);
  struct work w = {.options = options, .logs = logs};
  bool good = logs && make_room(&w, count);
  if (good) {
    for (size_t i = 0; i < count; i++) logs[i] = log(values[i]);
    for (size_t i = 0; i < mark_count; i++)
      if (marks[i] > 0 && marks[i] < count) w.cut[marks[i]] = MARK;
    good = cut_all(&w, count) && tell(&w, count, out, found);
    if (good) place_at_ends(&w, count, out, *found);
  }
  free_room(&w);
  free(logs);
  return good ? TC_OK : tc_fail_memory(err, "changes");
}
