/* After how many calls compiling has paid for itself, as an interval.
 *
 * The figure is a ratio: what the cold compile costs over what a call gains. Both vary between replicates, in
 * processes of their own, so their errors are independent. Fieller's interval of such a ratio: all n for
 * which cost - n · gain is within the t interval of 0 (E. C. Fieller, "Some problems in interval estimation",
 * JRSS B 16, 1954). It knows that a gain which could be nothing may never pay. */
#ifndef TB_BREAK_EVEN_H
#define TB_BREAK_EVEN_H

#include <stdbool.h>
#include <stddef.h>

struct tb_break_even {
  double lo, hi; /* calls; NaN: not known. hi is also NaN where it is infinite */
  bool infinite; /* there is no end: it may never pay (lo is known), or it does not (lo is NaN) */
};

/* From samples of the cost of compiling and of the gain of a call, in the same unit, each at least two;
 * fewer: nothing is known. */
struct tb_break_even tb_break_even_interval(const double *costs, size_t n_costs, const double *gains,
                                            size_t n_gains, double confidence);

#endif
