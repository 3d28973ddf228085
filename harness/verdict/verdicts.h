/* Two measurements of the same cases, judged case by case: what `tbench ab`, `compare` and `gate` share.
 *
 * A comparison is made of case objects of result documents (results/schema.json), which outlive it. First the
 * verb adds its pairs of cases and, where times are compared, their decisions; then it is judged: by the
 * policy, each case gets its findings and an exit code. Invariant: a case that could not be compared never
 * passes as if it had been: it has a `problem`. Ownership: everything in the arena. Threads: one. */
#ifndef TB_VERDICTS_H
#define TB_VERDICTS_H

#include <cjson/cJSON.h>

#include "harness/run/result.h"
#include "harness/verdict/exact_history.h"
#include "harness/verdict/policy.h"
#include "results/exitcode.h"
#include "results/stats/decide.h"

enum tb_presence {
  TB_PRESENCE_BOTH,
  TB_PRESENCE_VANISHED, /* base has it, head has not */
  TB_PRESENCE_NEW,      /* head has it, base has not: told, fails nothing */
  TB_PRESENCE_LEFT_OUT, /* head planned it and did not time it, since its artifact was that of an earlier
                           result (changed-since=) */
};

/* Whose fault a difference is: of the code that the compiler made, or of what runs it (tbench ab). */
struct tb_attribution {
  bool known;
  struct tb_decision artifact; /* head's artifact on base's runtime, against base */
  struct tb_decision runtime;  /* base's artifact on head's runtime, against base */
  const char *why;             /* not known: the reason; NULL: it was not asked */
};

/* Of a history: its level changed since an earlier result (history_step.h). */
struct tb_step {
  double before, after;       /* levels, as times of a call at tonight's speed of the calibration kernel */
  const char *since, *commit; /* of the first result at the new one; since NULL: there is no step */
};

struct tb_compared {
  const char *id;
  const cJSON *base, *head; /* NULL: that side has none */
  enum tb_presence presence;
  const char *left_out;  /* LEFT_OUT: the artifact that head saw; NULL: none */
  bool timed;            /* `time` was decided */
  bool confirmed;        /* and flagged again on fresh pairs */
  const char *other_cpu; /* BOTH: base's, where head was measured on another one; else NULL */
  bool control; /* both sides run the same artifact in the same way on the same program: a difference is noise
                 */
  struct tb_decision time;
  tb_doubles log_ratios, aa_log_ratios; /* what it rests on (of ab) */
  tb_doubles base_ns, head_ns; /* times of a call that those ratios are of, one a process; none: not of ab,
                                  the documents have the times */
  double calibration_ratio;    /* of two runs: head/base of the calibration kernel's times; NaN: not one
                                  calibration kernel in both. Else 0 */
  double drift;                /* share that `time`'s interval is wider by, to both sides, for it */
  double expected_ns; /* of a history: the time of a call that the forecast expects of head; 0: none */
  double foretold;    /* and to within which share; 0 or NaN: there is no forecast */
  tb_doubles fresh_log_ratios, fresh_aa_log_ratios; /* of the confirmation */
  struct tb_step step;                              /* of a history */
  const struct tb_exact_history *past;              /* of a history: exact figures until then; NULL: none */
  enum tb_outcome failed;                           /* of a worker of the paired comparison; with `failure` */
  const char *failure;                              /* NULL: none failed */
  const char *stop_reason;                          /* of ab; NULL: none */
  const char *basis;                                /* of a history: what the forecast rests on; NULL: none */
  struct tb_attribution attribution;
  /* set by tb_verdicts_judge */
  bool required;
  tb_exact_findings exact;
  const char *problem;  /* why it was not compared, or what else is wrong; NULL: nothing */
  enum tb_exit tonight; /* without what an open step of the history says */
  enum tb_exit exit;
};

/* One side, as the report names it. */
struct tb_origin {
  const char *what /* file, program, or switches */, *version, *commit, *started;
};

struct tb_verdicts {
  struct tc_arena *arena;
  const struct tb_policy *policy;
  const char *verb;
  struct tb_origin base, head;
  cJSON *result; /* what both sides were measured as, to keep with the comparison (of ab); NULL: none;
                    borrowed */
  bool base_now; /* base was measured in this run as head was (of ab): its failures are this run's */
  TC_VEC(struct tb_compared) cases;
  bool interrupted; /* head's measuring was ended early */
  bool base_unfinished;
  int missing;       /* cases that head planned and does not have */
  int repeated;      /* cases that stand in one of the documents a second time */
  tb_texts remarks;  /* of the verb, told as they are */
  tb_texts problems; /* of the whole, by tb_verdicts_judge: required cases that are nowhere, a result that is
                        not whole */
  enum tb_exit tonight, exit; /* the worst of all; set by tb_verdicts_judge */
};

struct tb_verdicts tb_verdicts_new(struct tc_arena *arena, const struct tb_policy *policy, const char *verb);
/* Adds a pair; either may be NULL, not both. NULL when memory is out. Valid until the next one is added. */
struct tb_compared *tb_verdicts_add(struct tb_verdicts *c, const char *id, const cJSON *base,
                                    const cJSON *head);
/* Adds a case that head left out; `base` may be NULL. NULL when memory is out. */
struct tb_compared *tb_verdicts_add_left_out(struct tb_verdicts *c, const cJSON *entry, const cJSON *base);
/* Whether a result was ended early, or its run was killed: cases may be missing from it. */
bool tb_result_unfinished(const cJSON *document);
/* Whether head's document has all that it planned, and each once. False when memory is out. */
bool tb_verdicts_take_head(struct tb_verdicts *c, const cJSON *head);
/* All cases of two documents, by id, in head's order, then what it left out, then what vanished. False when
 * memory is out. */
bool tb_verdicts_add_documents(struct tb_verdicts *c, const cJSON *base, const cJSON *head);
/* Both sides were measured and are right. */
bool tb_compared_measured(const struct tb_compared *one);
/* Its time was compared and tells of a change. */
static inline bool tb_compared_flagged(const struct tb_compared *one) {
  return one->timed && tb_verdict_flags(one->time.verdict);
}
/* Logarithms of a case's times, one a replicate, over the calibration kernel's where `calibrated`; and its
 * A/A pairs, added to `aa_pairs`. False when memory is out. */
bool tb_compared_logs(struct tc_arena *arena, const cJSON *one_case, bool calibrated, tb_doubles *logs,
                      tb_doubles *aa_pairs);
/* Decides the times of all pairs from two runs that were not interleaved, normalised by the calibration
 * kernel where both have it, with intervals that are wider by what the calibration kernel moved
 * (verdicts_unpaired.c), and corrects those flagged over all. Those of two CPUs are UNSURE: no calibration
 * kernel tells how fast code of another CPU would be here. Remarks tell that these are two runs, how fast the
 * calibration kernel was, and which times were compared without it. False when memory is out. */
bool tb_verdicts_decide_unpaired(struct tb_verdicts *c);
/* Holm's correction over the flagged; `family`: see tb_decide_correct. Cases that were measured again count
 * in it, also those that fresh pairs took back: each was one more chance of a false flag. False when memory
 * is out. */
bool tb_verdicts_correct(struct tb_verdicts *c, size_t family);
/* Exact figures, policy, exit codes. False when memory is out. */
bool tb_verdicts_judge(struct tb_verdicts *c);
/* Whether a judged case is not measurable since it is not known how its time changed (UNSURE, or too noisy),
 * and no exact figure is missing. */
bool tb_verdicts_time_unknown(const struct tb_verdicts *c, const struct tb_compared *one);
/* Keeps a remark; its text NULL: memory is out. False when memory is out. */
bool tb_verdicts_remark(struct tb_verdicts *c, const char *text);
/* Remarks on hosts, software and causes of noise that differ between two documents. False when memory is
 * out. */
bool tb_verdicts_remark_environments(struct tb_verdicts *c, const cJSON *base, const cJSON *head);
/* Remarks on rules of the policy that hold for no case here; once, by the verb. False when memory is out. */
bool tb_verdicts_remark_policy(struct tb_verdicts *c);
/* The document that reporters read; the caller deletes it; NULL when memory is out. */
cJSON *tb_verdicts_json(const struct tb_verdicts *c);

#endif
