/* Verdicts on times: did head become slower than base? Pure functions of arrays; nothing is kept but in the
 * caller's structs.
 *
 * What is decided on. A *pair* is a fresh process of base and one of head that take turns in one run; its log
 * ratio is the median over its rounds of log(head time / base time) (above 0: head is slower); beside bursts
 * of load the interval is half as wide as with the mean. An *A/A pair* is two fresh processes of the same
 * program, measured in the same way in the same run. Four live processes base1 base2 head1 head2 that
 * take turns give two pairs (head1/base1, head2/base2) and two A/A pairs (base2/base1, head2/head1), so the
 * floor costs no process of its own.
 *
 * Estimator: Hodges-Lehmann (median of the means of all two, Walsh averages), its interval from the exact
 * distribution of Wilcoxon's signed ranks. Why: with both programs equal, base and head may be exchanged
 * within a pair, so each log ratio is as likely as its negative, whatever the noise is (heavy tails, bursts,
 * offsets of a process, a spread that changes from pair to pair). That alone makes the interval exact; a t
 * interval needs normal noise too. One pair in four may be spoilt without moving the estimate far, and under
 * normal noise it needs 5% more pairs than the mean. Too few pairs for the confidence (5 or fewer at 95%):
 * Student's t.
 *
 * Many short pairs decide better than a few long ones: what differs from process to process does not average
 * out within one. With a spread of 2% from pair to pair, 64 pairs give an interval of +-0.5%; 5 pairs one of
 * +-2.5%.
 *
 * Shares: threshold, floor and limit are shares (0.01 is 1%). Ratios are head/base. NaN: not known. Threads:
 * pure. */
#ifndef TB_DECIDE_H
#define TB_DECIDE_H

#include <stdbool.h>
#include <stddef.h>

enum tb_verdict {
#define TB_VERDICT(NAME, word, symbol, meaning, todo) TB_VERDICT_##NAME,
#include "results/stats/verdict.def"
#undef TB_VERDICT
  TB_VERDICT_COUNT
};
const char *tb_verdict_word(enum tb_verdict verdict);
const char *tb_verdict_symbol(enum tb_verdict verdict); /* one character */
const char *tb_verdict_meaning(enum tb_verdict verdict);
const char *tb_verdict_todo(enum tb_verdict verdict);
/* By its word, any case; false: no such verdict. */
bool tb_verdict_parse(const char *word, enum tb_verdict *out);
/* Whether it tells of a change: what is flagged is confirmed, and corrected over all that are. */
static inline bool tb_verdict_flags(enum tb_verdict verdict) {
  return verdict == TB_VERDICT_SLOWER || verdict == TB_VERDICT_FASTER;
}

/* Why a decision is UNSURE; a static text of the reason, "" for NONE. */
enum tb_unsure {
  TB_UNSURE_NONE,
  TB_UNSURE_CROSSES,
  TB_UNSURE_FEW_PAIRS,
  TB_UNSURE_NO_AA,
  TB_UNSURE_CORRECTED,
  TB_UNSURE_NOT_CONFIRMED,
  TB_UNSURE_OTHER_CPU,
  TB_UNSURE_MOVED,
  TB_UNSURE_SHORT_HISTORY,
  TB_UNSURE_WIDE_FORECAST,
  TB_UNSURE_WITHIN_FLOOR,
  TB_UNSURE_COUNT
};
const char *tb_unsure_text(enum tb_unsure why);

static const double tb_threshold_default = 0.01, tb_confidence_default = 0.95;

struct tb_decision {
  enum tb_verdict verdict;
  enum tb_unsure why;   /* NONE unless the verdict is UNSURE */
  double ratio, lo, hi; /* head/base and its interval; lo and hi NaN with fewer than 2 pairs */
  double p; /* two-sided, of "ratio is 1": exact sign flips of the signed ranks; Student's t where they are
               too few */
  double floor;      /* noise: half-width of the same estimator on the A/A pairs; NaN: fewer than 2 of them */
  bool aa_differ;    /* their interval excludes 1: the run favours one place in the order; the floor then is
                           its far end */
  double limit;      /* max(threshold, floor); against a history what segment.h says */
  double confidence; /* that the interval has */
  int pairs, aa_pairs; /* finite values used */
  int points;          /* of a history: results that foretell; else 0 */
  bool by_ranks;       /* false: by Student's t */
};

struct tb_decide_options {
  double threshold;  /* 0.01: changes up to 1% are none */
  double confidence; /* of interval and floor: 0.95, or what tb_look_confidence says */
};

/* Values that are not finite are left out. Fewer than 2 pairs, or fewer than 2 A/A pairs: UNSURE. SLOWER and
 * FASTER are told by an interval that is wholly beyond the limit; SAME by one that is wholly within, unless
 * it is wholly beyond the threshold: such a change is there, and no larger than what equal programs differ by
 * in that run, so it is neither (TB_UNSURE_WITHIN_FLOOR). */
struct tb_decision tb_decide(const double *log_ratios, size_t pairs, const double *aa_log_ratios,
                             size_t aa_pairs, struct tb_decide_options options);

/* Two runs that were not interleaved (compare, history): log times of fresh processes of each, already
 * divided by the calibration kernel's time of the same run. Estimator: median of all differences head - base,
 * interval from the exact distribution of Mann-Whitney's U, t (Welch) where there are too few. A/A pairs are
 * those of both runs. `drift`: half-width, as a share, of what lies between two runs and is not seen within
 * one (0: none; of compare that of the calibration kernel: verdicts_unpaired.c); it widens the interval on
 * both sides. decision.pairs is the smaller of both counts. */
struct tb_decision tb_decide_unpaired(const double *base_logs, size_t base_count, const double *head_logs,
                                      size_t head_count, const double *aa_log_ratios, size_t aa_pairs,
                                      double drift, struct tb_decide_options options);

/* How well one run measured a figure that is the median of its log values, one a process. */
struct tb_spread {
  int values; /* finite ones */
  double
      half_width; /* what lies around the median: the farther end of the interval that tb_decide's estimator
                   * has, in logarithms, so that all of that interval is within; NaN: fewer than 2 values */
  double freedom; /* values - 1 */
  int aa_pairs;
  double floor; /* of the A/A pairs, as a decision's */
};
struct tb_spread tb_spread_of(const double *logs, size_t count, const double *aa_log_ratios, size_t aa_pairs,
                              double confidence);

/* --- looking more than once --- */

/* A run that looks at its interval again and again and stops when it likes it flags too much. So the error (1
 * - confidence) is spent over planned looks: up to the look at n of N pairs, (n/N)^2 of it (the power family
 * of Kim and DeMets 1987), and each look has an interval of its own share; by the union bound the shares' sum
 * holds, whatever the looks have in common. Looks are at 12 pairs and then at each doubling. */
enum { TB_LOOK_FIRST = 12 };
struct tb_looks {
  int max_pairs;     /* N: planned pairs, >= 2; 64 unless the budget allows fewer */
  double confidence; /* of the whole run: 0.95 */
  double spent;      /* error spent so far; 0 at first */
  int looked;        /* pairs at the last look; 0 at first */
};
/* Whether to look with this many pairs (at `last` always). `last`: no more will be measured; whatever is left
 * is spent then. */
bool tb_look_due(const struct tb_looks *looks, int pairs, bool last);
/* Confidence of this look's interval; spends it. */
double tb_look_confidence(struct tb_looks *looks, int pairs, bool last);
/* Whether a look's decision is final, so that measuring may end: SLOWER or FASTER; SAME where the noise floor
 * is within the threshold (an early floor is wide, and SAME within it would say little). */
bool tb_look_settles(const struct tb_decision *decision, double threshold);

/* --- flagged cases --- */

/* A flagged decision (FASTER or SLOWER) against that on fresh pairs, which did not play a part in flagging
 * it: the verdict stands if the fresh interval excludes 1 on the same side and the fresh ratio is beyond the
 * fresh limit. Then the result is the fresh decision (an estimate that was selected for being extreme is too
 * extreme) with this verdict; its interval may reach into the limit, since two looks agree. Else: SAME if the
 * fresh verdict is SAME; UNSURE otherwise. A decision that was not flagged is given back as it is. */
struct tb_decision tb_decide_confirm(const struct tb_decision *flagged, const struct tb_decision *fresh);

/* Whether fresh pairs are as many (`needed`: tb_pairs_needed) and as quiet (`floor_limit`) as it takes to
 * take a flag back. They are where they settled it at a planned look (`settled`); a floor above the limit
 * does not matter to a change that they find again beyond it. */
bool tb_decide_counts(const struct tb_decision *flagged, const struct tb_decision *fresh, bool settled,
                      int needed, double floor_limit);

/* Holm's correction (multiple.h) of p over the flagged among `count` decisions: one that it takes back
 * becomes UNSURE (TB_UNSURE_CORRECTED), never SAME. `family`: how many could have been flagged, at least as
 * many as are: where p comes from fresh pairs (tb_decide_confirm), those that fresh pairs were measured for,
 * whatever they said; without them the number of cases compared. Returns how many were taken back; -1 when
 * memory is out (nothing is changed then). */
int tb_decide_correct(struct tb_decision *decisions, size_t count, size_t family, double confidence);

/* Fewest pairs with which a case can still be flagged when `flagged` of them are corrected together: 2 / 2^n
 * <= (1 - confidence) / flagged. The number of pairs to confirm with is never planned below this; fewer, as
 * where time was over, take nothing back (tb_decide_counts). */
int tb_pairs_needed(double confidence, size_t flagged);

#endif
