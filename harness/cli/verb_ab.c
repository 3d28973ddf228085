/* `tbench ab base=… head=… suite=…`: two programs, or two sets of switches, against each other in one run. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/build.h"
#include "harness/base/folder.h"
#include "harness/base/text.h"
#include "harness/base/verb.h"
#include "harness/cli/verbs.h"
#include "harness/cli/verdicts_verb.h"
#include "harness/compare/ab.h"
#include "harness/compare/arms.h"
#include "harness/run/environment.h"
#include "harness/run/record.h"
#include "harness/run/replicates.h"
#include "harness/run/summary.h"

enum { MINUTE = 60 };
static const double environment_estimate_s = 2;
static const char verb_name[] = "ab";

struct work {
  struct tb_run run;
  struct tb_arms arms;
  struct tb_policy policy;
  struct tb_verdicts comparison;
  struct tb_telling telling;
  struct tb_ab ab;
  cJSON *result;
  int argc;
  char *const *argv;
};

static enum tb_exit read_options(struct work *w) {
  enum { SECONDS_MOST = 100000, PAIRS_LEAST = 4, PAIRS_MOST = 4096 };
  const char *format = tb_arms_value(&w->arms, "format"), *attribute = tb_arms_value(&w->arms, "attribute");
  long long seconds, pairs;
  if (!tb_arms_whole(&w->arms, verb_name, "seconds", 1, SECONDS_MOST, &seconds) ||
      !tb_arms_whole(&w->arms, verb_name, "pairs", PAIRS_LEAST, PAIRS_MOST, &pairs))
    return TB_EXIT_USAGE;
  w->ab = (struct tb_ab){.run = &w->run,
                         .comparison = &w->comparison,
                         .seconds = (double)seconds,
                         .pairs = (int)pairs,
                         .attribute = true};
  if (attribute && !tb_flag_parse(attribute, &w->ab.attribute))
    return tb_verb_usage(verb_name, "attribute=%s: use yes or no", attribute);
  w->telling =
      (struct tb_telling){.format = format ? format : "console", .verbose = w->run.spec.options.verbose};
  const enum tb_exit code = tb_verdicts_check(verb_name, w->run.arena, &w->telling);
  return code == TB_EXIT_PASS
             ? tb_verdicts_policy(verb_name, w->run.arena, tb_arms_value(&w->arms, "policy"), &w->policy)
             : code;
}

/* "self fuse=off" */
static struct tb_origin origin_of(struct tc_arena *arena, const struct tb_arm *arm) {
  const char *text = arm->program ? arm->program : "this program";
  for (size_t i = 0; i < arm->settings.len && text; i++)
    text = tb_format(arena, "%s %s=%s", text, arm->settings.data[i].name, arm->settings.data[i].value);
  return (struct tb_origin){.what = text,
                            .version = arm->program ? NULL : PACKAGE_VERSION,
                            .commit = arm->program ? NULL : TB_COMMIT};
}

static void print_plan(const struct work *w) {
  const size_t pairs = w->run.plan.cases.len / TB_ARM_COUNT;
  const double each = w->ab.seconds + tb_session_estimate(&w->run, TB_ARM_COUNT, true);
  const int seconds = (int)ceil(environment_estimate_s + (double)pairs * each);
  fprintf(stderr,
          "%zu case%s, two sides each, at most %02d:%02d, and as much again for cases that seem to have "
          "changed\n",
          pairs, tb_plural((double)pairs), seconds / MINUTE, seconds % MINUTE);
  for (size_t i = 0; i < w->run.plan.cases.len && w->run.spec.options.dry_run; i++)
    puts(w->run.plan.cases.data[i].id);
}

/* --- measuring --- */

static bool add_pairs(struct work *w) {
  const cJSON *cases = cJSON_GetObjectItemCaseSensitive(w->result, "cases");
  for (size_t i = 0; i < w->run.plan.cases.len; i += TB_ARM_COUNT)
    if (!tb_verdicts_add(&w->comparison, w->run.plan.cases.data[i].pair, cJSON_GetArrayItem(cases, (int)i),
                         cJSON_GetArrayItem(cases, (int)i + 1)))
      return false;
  return true;
}

/* What is known so far, so that a killed run leaves it. The table tells of a disk that is full, at the
 * end. */
static bool save_so_far(void *self) {
  struct work *w = self;
  struct tb_verdicts so_far = w->comparison;
  so_far.interrupted = true;
  if (!tb_verdicts_judge(&so_far)) return false;
  cJSON *document = tb_verdicts_json(&so_far);
  if (document) (void)tb_record_write(document, w->run.save.path, NULL);
  cJSON_Delete(document);
  return document != NULL;
}

static enum tb_exit failed(struct work *w, tc_status status, const struct tc_error *err) {
  tb_progress_end(&w->run.progress);
  return status == TC_INTERRUPTED ? TB_EXIT_INTERRUPTED
                                  : (enum tb_exit)tb_verb_failed(verb_name, "%s", err->message);
}

static enum tb_exit measure(struct work *w) {
  struct tc_error err = {0};
  tb_progress_begin(&w->run.progress, 2 * w->run.plan.n_groups);
  /* Each arm's cold compile, graph, and correctness; the times that are compared come from the paired
   * comparisons. */
  tc_status status = tb_environments_make(&w->run, &err);
  for (int group = 0; group < w->run.plan.n_groups && !status; group++) {
    if (tb_interrupt_poll(&w->run.interrupt)) break;
    status = tb_session_run(&w->run, group, 0, &err);
    w->run.progress.done++;
  }
  if (status) return failed(w, status, &err);
  (void)tb_run_end_result(&w->run);
  tb_summarise(&w->run);
  w->result = tb_record_json(&w->run.result);
  if (!w->result || !add_pairs(w)) return failed(w, tc_fail_memory(&err, verb_name), &err);
  w->comparison.result = w->result;
  status = tb_ab_run(&w->ab, save_so_far, w, &err);
  if (status) return failed(w, status, &err);
  tb_progress_end(&w->run.progress);
  w->comparison.interrupted = tb_interrupt_poll(&w->run.interrupt) > 0;
  if (!tb_verdicts_judge(&w->comparison) || !tb_verdicts_remark_policy(&w->comparison))
    return tb_verb_failed(verb_name, "out of memory");
  return tb_verdicts_tell(&w->comparison, &w->telling);
}

/* Options of tbench run that would change nothing here. */
static enum tb_exit refuse_others(struct work *w) {
  static const char of_run[] = "tbench run does",
                    pairs[] = "pairs=N says how many pairs of processes a case has at most",
                    seconds[] = "seconds=N says how long a case may take";
  static const struct {
    const char *name, *instead;
  } none[] = {{"changed-since", of_run},
              {"share", of_run},
              {"push", of_run},
              {"replicates", pairs},
              {"replicates_max", pairs},
              {"quick", seconds},
              {"budget", seconds},
              {"target", "a case is measured until the policy's threshold is decided (policy=FILE)"}};
  struct tb_args args;
  struct tc_error err = {0};
  if (w->run.spec.explaining)
    return tb_verb_usage(verb_name, "it takes no '%s'; tbench explain does", w->run.spec.explaining);
  if (tb_args_parse(w->run.arena, w->arms.argc, w->arms.argv, tb_option_alone, NULL, &args, &err))
    return tb_verb_usage(verb_name, "%s", err.message);
  for (size_t i = 0; i < sizeof none / sizeof *none; i++)
    if (tb_args_value(&args, none[i].name))
      return tb_verb_usage(verb_name, "it takes no '%s'; %s", none[i].name, none[i].instead);
  return TB_EXIT_PASS;
}

static enum tb_exit run_all(struct work *w) {
  struct tc_error err = {0};
  enum tb_exit code = refuse_others(w);
  if (code == TB_EXIT_PASS) code = read_options(w);
  if (code != TB_EXIT_PASS) return code;
  if (tb_arms_apply(w->run.arena, &w->arms, &w->run.plan, &err))
    return tb_verb_usage(verb_name, "%s", err.message);
  print_plan(w);
  if (w->run.spec.options.dry_run) return TB_EXIT_PASS;
  w->run.spec.options.quick = true;
  if (tb_run_choose_out(&w->run, "ab_", &err) || tb_run_make_cache(&w->run, &err))
    return tb_verb_usage(verb_name, "%s", err.message);
  w->telling.out = w->run.save.path;
  if (tb_run_begin_result(&w->run, verb_name, w->argc, w->argv, &err))
    return tb_verb_failed(verb_name, "%s", err.message);
  w->comparison = tb_verdicts_new(w->run.arena, &w->policy, verb_name);
  w->comparison.base_now = true;
  w->comparison.base = origin_of(w->run.arena, &w->arms.arm[TB_ARM_BASE]);
  w->comparison.head = origin_of(w->run.arena, &w->arms.arm[TB_ARM_HEAD]);
  return measure(w);
}

int tb_verb_ab(int argc, char *const *argv) {
  struct tc_error err = {0};
  struct work w = {.argc = argc, .argv = argv};
  signal(SIGPIPE, SIG_IGN);
  struct tc_arena *arena = tc_arena_new(tc_alloc_system());
  if (!arena) return tb_verb_failed(verb_name, "out of memory");
  enum tb_exit code = TB_EXIT_PASS;
  if (tb_arms_parse(arena, verb_name, argc, argv, &w.arms, &err))
    code = tb_verb_usage(verb_name, "%s", err.message);
  if (code == TB_EXIT_PASS) {
    code = tb_run_open(&w.run, verb_name, w.arms.argc, w.arms.argv);
    if (code == TB_EXIT_PASS) code = run_all(&w);
    tb_folder_remove(w.run.cache_root);
    cJSON_Delete(w.result);
    tb_run_close(&w.run);
  }
  tc_arena_free(arena);
  return code;
}
