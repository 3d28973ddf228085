/* The searches of tbench bisect, without what they search in. Pure: they ask, and count on no more than the
 * answers. */
#ifndef TB_BISECT_SEARCH_H
#define TB_BISECT_SEARCH_H

#include <stdbool.h>

enum tb_bad {
  TB_BAD_NO,
  TB_BAD_YES,
  TB_BAD_UNSURE, /* not to be told, however long it was measured */
  TB_BAD_STOP    /* the search cannot go on: interrupted, or a failure that was told */
};

/* The least n in (good, bad] that is bad, where `good` is not bad, `bad` is, and both were asked before. YES:
 * it is *n, and *n - 1 was found not bad. UNSURE or STOP: that was the answer at *n. */
enum tb_bad tb_search_least(void *self, enum tb_bad (*ask)(void *self, long long n), long long good,
                            long long bad, long long *n);

/* Takes elements out of in[count] (those that are true at first are bad together) until no single one can go:
 * what is left is bad (delta debugging, Zeller and Hildebrandt 2002). YES: it is minimal. UNSURE: it is bad,
 * and some question had no answer. At most 64 elements. */
enum { TB_SEARCH_ELEMENTS = 64 };
enum tb_bad tb_search_subset(void *self, enum tb_bad (*ask)(void *self, const bool *in), bool *in, int count);

#endif
