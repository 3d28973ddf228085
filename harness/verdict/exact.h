/* Exact figures with exact rules: what does not vary from run to run needs no statistics. The figures are the
 * rows of results/fields.def with an EXACT cell; both sides are case objects of result documents
 * (results/schema.json). Pure; texts are borrowed from the documents and the table. */
#ifndef TB_EXACT_H
#define TB_EXACT_H

#include <cjson/cJSON.h>

#include "base/arena.h"
#include "base/vec.h"
#include "results/exitcode.h"
#include "results/fields.h"

/* What one figure of one case came to. */
enum tb_exact_outcome {
  TB_EXACT_SAME,     /* within the tolerance */
  TB_EXACT_WORSE,    /* more than the tolerance above the baseline: a regression */
  TB_EXACT_BETTER,   /* below: proposes a new baseline, fails nothing */
  TB_EXACT_CHANGED,  /* other, and neither better nor worse (artifact), or worse and accepted by a mark: told,
                        fails nothing */
  TB_EXACT_COLLAPSE, /* fell so far that something was not measured: an error */
  TB_EXACT_MISSING,  /* the baseline has it, head has not: not measurable */
  TB_EXACT_NEW,      /* head has it, the baseline has not: told, fails nothing */
};
const char *tb_exact_outcome_text(enum tb_exact_outcome outcome); /* "same", "worse", … */
enum tb_exit tb_exact_outcome_exit(enum tb_exact_outcome outcome);

int tb_exact_count(void);
const struct tb_field *tb_exact_at(int index);
const struct tb_field *tb_exact_find(const char *name); /* by its exact name; NULL: no such figure */

/* Below this share of the baseline, a whole instruction count has collapsed. */
static const double tb_exact_collapse_share = 0.8;

struct tb_exact_finding {
  const struct tb_field *figure;
  const char *member; /* of a row with a figure for each member: which; else NULL */
  enum tb_exact_outcome outcome;
  double base, head;                 /* NaN: not there, or no number */
  const char *base_text, *head_text; /* of TEXT; else NULL */
  double tolerance;                  /* that was applied */
  const char *since; /* of a history: when the result was started that has `base`, where it is not the newest
                        (exact_history.h); else NULL */
  bool accepted;     /* of a history: CHANGED since a mark accepts what is worse */
};
typedef TC_VEC(struct tb_exact_finding) tb_exact_findings;

/* A rule as the policy has it: off, or with which tolerance. */
struct tb_exact_rule {
  bool on;
  double tolerance;
};
typedef struct tb_exact_rule (*tb_exact_rule_of)(const void *policy, const struct tb_field *figure);

/* Appends a finding for each figure that is on and that one side has, in the table's order, SAME ones too.
 * `rule_of` NULL: the table's defaults. A figure that is null on both sides makes no finding. False when
 * memory is out. */
bool tb_exact_compare(struct tc_arena *arena, const cJSON *base_case, const cJSON *head_case,
                      tb_exact_rule_of rule_of, const void *policy, tb_exact_findings *out);
/* "kernels 3 -> 4 (+33.3%): worse", "kernels 3" where it is the same: one line, in the arena. NULL when
 * memory is out. */
const char *tb_exact_line(struct tc_arena *arena, const struct tb_exact_finding *finding);
/* The worst exit code of the findings. */
enum tb_exit tb_exact_exit(const tb_exact_findings *findings);

#endif
