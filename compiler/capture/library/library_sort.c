/* table.sort: Lua's own quicksort, step by step, so that equal elements end where Lua leaves them and a
 * comparison function is called in Lua's order.
 *
 * Invariants:
 *  1. `low` and `high` are Lua's lo and up; elements are read and written as lua_geti and lua_seti do.
 *  2. Lua draws the pivot of a large and badly balanced range by the clock: there the trace breaks. */
#include <limits.h>

#include "capture/library/library.h"
#include "capture/trace/frames.h"
#include "capture/trace/metamethods.h"

enum {
  LARGE_RANGE = 100,
  BALANCE = 128
}; /* Lua's: ranges below take the middle as pivot; how much smaller one part may be */

struct sorting {
  struct tc_trace *t;
  struct tc_tracked table, compare; /* compare: nil for < */
};

static tc_status get(const struct sorting *s, unsigned i, struct tc_tracked *out) {
  return tc_index(s->t, &s->table, tc_int(i), out);
}
static tc_status set(const struct sorting *s, unsigned i, const struct tc_tracked *value) {
  return tc_set_index(s->t, &s->table, tc_int(i), value);
}

static tc_status put_two(const struct sorting *s, unsigned i, const struct tc_tracked *at_i, unsigned j,
                         const struct tc_tracked *at_j) {
  const tc_status status = set(s, i, at_i);
  return status ? status : set(s, j, at_j);
}

static tc_status less(const struct sorting *s, const struct tc_tracked *a, const struct tc_tracked *b,
                      bool *out) {
  struct tc_tracked left = *a, right = *b, result;
  tc_status status = tc_turn(s->t);
  if (status) return status;
  if (s->compare.kind == TC_IS_NIL) return tc_less(s->t, TC_EVENT_LT, &left, &right, out);
  status = tc_call_values(s->t, &s->compare, 2, (struct tc_tracked[]){left, right}, 1, &result);
  return status ? status : tc_truth(s->t, &result, out);
}

/* Puts the elements at i < j in order. */
static tc_status order(const struct sorting *s, unsigned i, unsigned j) {
  struct tc_tracked a, b;
  bool swap = false;
  tc_status status = get(s, i, &a);
  if (!status) status = get(s, j, &b);
  if (!status) status = less(s, &b, &a, &swap);
  return status || !swap ? status : put_two(s, i, &b, j, &a);
}

/* The pivot, at `middle`, is put in order with both ends. */
static tc_status order_pivot(const struct sorting *s, unsigned low, unsigned middle, unsigned high) {
  struct tc_tracked pivot, end;
  bool swap = false;
  tc_status status = get(s, middle, &pivot);
  if (!status) status = get(s, low, &end);
  if (!status) status = less(s, &pivot, &end, &swap);
  if (status) return status;
  if (swap) return put_two(s, middle, &end, low, &pivot);
  status = get(s, high, &end);
  if (!status) status = less(s, &end, &pivot, &swap);
  return status || !swap ? status : put_two(s, middle, &end, high, &pivot);
}

static tc_status wrong_order(const struct sorting *s) {
  return tc_trace_raises(s->t, "invalid order function for sorting");
}

/* The pivot lies at high - 1; *middle: where it goes. */
static tc_status partition(const struct sorting *s, unsigned low, unsigned high,
                           const struct tc_tracked *pivot, unsigned *middle) {
  unsigned i = low, j = high - 1;
  for (;;) {
    struct tc_tracked left, right;
    bool goes_on = true;
    tc_status status;
    while (goes_on) {
      if ((status = get(s, ++i, &left)) || (status = less(s, &left, pivot, &goes_on))) return status;
      if (goes_on && i == high - 1) return wrong_order(s);
    }
    for (goes_on = true; goes_on;) {
      if ((status = get(s, --j, &right)) || (status = less(s, pivot, &right, &goes_on))) return status;
      if (goes_on && j < i) return wrong_order(s);
    }
    *middle = i;
    if (j < i) return put_two(s, high - 1, &left, i, pivot);
    if ((status = put_two(s, i, &right, j, &left))) return status;
  }
}

/* One turn of the loop: three elements are put in order, the others on the sides of a pivot. *middle 0: no
 * more is to be done. */
static tc_status divide(const struct sorting *s, unsigned low, unsigned high, unsigned *middle) {
  struct tc_tracked pivot, other;
  const unsigned at = (low + high) / 2;
  *middle = 0;
  tc_status status = order(s, low, high);
  if (status || high - low == 1) return status;
  if ((status = order_pivot(s, low, at, high)) || high - low == 2) return status;
  status = get(s, at, &pivot);
  if (!status) status = get(s, high - 1, &other);
  if (!status) status = put_two(s, at, &other, high - 1, &pivot);
  return status ? status : partition(s, low, high, &pivot, middle);
}

static tc_status sort_range(const struct sorting *s, unsigned low, unsigned high, bool is_balanced) {
  while (low < high) {
    unsigned middle, smaller;
    if (!is_balanced && high - low >= LARGE_RANGE)
      return tc_trace_break(s->t, TC_BREAK_C_FUNCTION, "sort of a list that Lua sorts by the clock");
    tc_status status = divide(s, low, high, &middle);
    if (status || !middle) return status;
    if (middle - low < high - middle) {
      status = sort_range(s, low, middle - 1, is_balanced);
      smaller = middle - low;
      low = middle + 1;
    } else {
      status = sort_range(s, middle + 1, high, is_balanced);
      smaller = high - middle;
      high = middle - 1;
    }
    if (status) return status;
    if ((high - low) / BALANCE > smaller) is_balanced = false;
  }
  return TC_OK;
}

tc_status tc_library_table_sort(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  struct sorting s = {
      .t = t, .table = tc_argument(t, at, n_args, 0), .compare = tc_argument(t, at, n_args, 1)};
  struct tc_tracked length;
  tc_use_type(t, &s.table);
  if (s.table.kind != TC_IS_TABLE) return tc_bad_argument(t, at);
  tc_status status = tc_length(t, &s.table, &length);
  if (!status) status = tc_use(t, &length);
  if (status) return status;
  *n_results = 0;
  if (length.kind != TC_IS_INT || length.integer >= INT_MAX) return tc_bad_argument(t, at);
  if (length.integer <= 1) return TC_OK;
  tc_use_type(t, &s.compare);
  if (s.compare.kind != TC_IS_NIL && tc_tracked_type(&s.compare) != LUA_TFUNCTION)
    return tc_bad_argument(t, at);
  return sort_range(&s, 1, (unsigned)length.integer, true);
}
