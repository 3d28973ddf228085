/* Holm's step-down correction, as adjusted p values. */
#include "results/stats/multiple.h"

#include <math.h>
#include <stdlib.h>

struct placed {
  double p;
  size_t index;
};

static int by_p(const void *a, const void *b) {
  const struct placed *x = a, *y = b;
  if (x->p != y->p) return x->p < y->p ? -1 : 1;
  return (x->index > y->index) - (x->index < y->index);
}

static struct placed *sorted(const double *p, size_t count) {
  struct placed *items = malloc((count + 1) * sizeof *items);
  if (!items) return NULL;
  for (size_t i = 0; i < count; i++) items[i] = (struct placed){isnan(p[i]) ? 1 : p[i], i};
  qsort(items, count, sizeof *items, by_p);
  return items;
}

bool tb_holm(const double *p, size_t count, size_t family, double *adjusted) {
  struct placed *items = sorted(p, count);
  if (!items) return false;
  double least = 0;
  for (size_t i = 0; i < count; i++) {
    least = fmax(least, fmin(1, (double)(family - i) * items[i].p));
    adjusted[items[i].index] = least;
  }
  free(items);
  return true;
}
