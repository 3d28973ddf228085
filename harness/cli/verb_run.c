/* `tbench run`: from the plan to the written result. Everything that can be wrong with the input, the machine
 * or the place of the result is told before anything is measured. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "harness/base/folder.h"
#include "harness/base/text.h"
#include "harness/base/verb.h"
#include "harness/cli/verbs.h"
#include "harness/compare/selection.h"
#include "harness/machine/counter_selection.h"
#include "harness/push/pusher.h"
#include "harness/run/environment.h"
#include "harness/run/record.h"
#include "harness/run/replicates.h"
#include "harness/run/role.h"
#include "harness/run/run.h"
#include "harness/run/summary.h"
#include "reporters/gnuplot/plot.h"

enum { MINUTE = 60 };
static const double environment_estimate_s = 2;
static const char suffix[] = ".json";

/* --- before --- */

/* A session's estimate is a constant and a share for each of its cases, so groups need not be looked at one
 * by one. */
static double expected_seconds(const struct tb_run *run, int replicates) {
  const double groups = run->plan.n_groups, cases = (double)run->plan.cases.len,
               later = (double)(replicates - 1);
  const double first = tb_session_estimate(run, 0, true), other = tb_session_estimate(run, 0, false);
  const double share = tb_session_estimate(run, 1, false) - other;
  return environment_estimate_s + groups * (first + later * other) + cases * share * (1 + later);
}

/* Nobody knows how long a compile takes under callgrind before it was tried: the estimate is without. */
static bool counts_instructions(const struct tb_run *run) {
  struct tc_error err;
  struct tb_counter_selection counter_selection = {0};
  for (size_t i = 0; i < run->plan.cases.len; i++)
    if (!tb_run_counter_selection(run, &run->plan.cases.data[i], &counter_selection, &err) &&
        counter_selection.callgrind)
      return true;
  return false;
}

static void print_plan(const struct tb_run *run) {
  const struct tb_replication *r = &run->replication;
  const int most = tb_replication_most(r), least = tb_replication_least(r),
            seconds = (int)ceil(expected_seconds(run, least)),
            longest = (int)ceil(expected_seconds(run, most));
  const size_t cases = run->plan.cases.len;
  fprintf(stderr, "%zu case%s, ", cases, tb_plural((double)cases));
  if (least < most)
    fprintf(stderr, "%d to %d replicates, about %02d:%02d to %02d:%02d", least, most, seconds / MINUTE,
            seconds % MINUTE, longest / MINUTE, longest % MINUTE);
  else
    fprintf(stderr, "%d replicate%s, about %02d:%02d", most, tb_plural(most), seconds / MINUTE,
            seconds % MINUTE);
  fputs(counts_instructions(run) ? ", and what counting under callgrind takes\n" : "\n", stderr);
  if (!run->spec.options.dry_run) return;
  for (size_t i = 0; i < run->plan.cases.len; i++) puts(run->plan.cases.data[i].id);
}

/* --- after --- */

/* Pictures beside the result; a missing gnuplot is told and is no failure. */
static const char *draw(const cJSON *document, const char *out, struct tb_plot *plot, const char *stem) {
  const struct tb_plot_options options = {0};
  if (!stem || !tb_plot_result(document, stem, &options, plot))
    return fprintf(stderr, "tbench run: no pictures of %s: %s\n", out,
                   stem ? plot->message : "out of memory"),
           NULL;
  if (*plot->message) fprintf(stderr, "tbench run: %s\n", plot->message);
  return plot->drawn ? plot->picture[TB_PLOT_SVG] : NULL;
}

static enum tb_exit publish(struct tb_run *run) {
  struct tc_error err = {0};
  struct tb_plot plot;
  const char *written;
  cJSON *document = tb_record_json(&run->result);
  const tc_status status = tb_save_finished(run, document, &written, &err);
  const char *out = run->save.path;
  if (status) {
    fprintf(stderr, "tbench run: %s; ", err.message);
    if (written)
      fprintf(stderr, "the result is in %s instead\n", written);
    else if (run->save.there)
      fprintf(stderr, "%s has the earlier part; the whole table follows\n", run->save.path);
    else
      fputs("the result is lost; its table follows\n", stderr);
  }
  const size_t before = tc_text_stem(out, suffix);
  const char *stem = tb_format(run->arena, "%.*s", (int)(before ? before : strlen(out)), out);
  const char *picture = status ? NULL : draw(document, out, &plot, stem);
  const struct tb_report_options options = {.verbose = run->spec.options.verbose,
                                            .colour = tb_verb_colour(),
                                            .result_path = written,
                                            .plot_path = picture};
  const bool shown = document && tb_report_console(document, &options, stdout) && !fflush(stdout);
  cJSON_Delete(document);
  return status || !shown ? TB_EXIT_FAILED : TB_EXIT_PASS;
}

/* --- measuring --- */

static enum tb_exit measure(struct tb_run *run, struct tc_error *err) {
  tb_progress_begin(&run->progress, run->plan.n_groups * tb_replication_most(&run->replication));
  tc_status status = tb_environments_make(run, err);
  if (!status) status = tb_run_sessions(run, err);
  tb_progress_end(&run->progress);
  if (status) {
    /* A run that cannot go on: what it has saved stays. */
    if (run->save.there) fprintf(stderr, "tbench run: the unfinished result is in %s\n", run->save.path);
    return status == TC_INTERRUPTED ? TB_EXIT_INTERRUPTED : tb_verb_failed("run", "%s", err->message);
  }
  if (!tb_run_end_result(run) && run->result.interrupted) {
    fputs("tbench run: interrupted before anything was measured\n", stderr);
    return TB_EXIT_INTERRUPTED;
  }
  tb_summarise(run);
  const enum tb_exit published = publish(run);
  return tb_exit_worse(tb_result_exit(&run->result), published);
}

static enum tb_exit select_and_measure(struct tb_run *run, struct tb_selection *selection, int argc,
                                       char *const *argv, struct tc_error *err) {
  const tc_status status = tb_selection_apply(run, selection, err);
  if (status)
    return status == TC_INTERRUPTED ? TB_EXIT_INTERRUPTED
                                    : (enum tb_exit)tb_verb_failed("run", "%s", err->message);
  if (tb_run_begin_result(run, "run", argc, argv, err)) return tb_verb_failed("run", "%s", err->message);
  tb_selection_record(selection, &run->result);
  return measure(run, err);
}

/* --- sending --- */

/* Sends the result as `tbench push` does; what cannot be sent now lies in the spool, and is told: that is no
 * failure of the run. */
static enum tb_exit send_result(const struct tb_run *run, struct tb_pusher *pusher) {
  tb_spool_names names = {0};
  if (!run->save.there) return TB_EXIT_PASS; /* that was told */
  tb_pusher_add(pusher, run->save.path, &names);
  tb_pusher_deliver(pusher, &names);
  tb_pusher_summarise(pusher, stderr);
  return pusher->count[TB_FATE_REFUSED] || tb_pusher_left(pusher) ? TB_EXIT_FAILED : TB_EXIT_PASS;
}

static enum tb_exit measure_and_send(struct tb_run *run, struct tb_selection *selection, int argc,
                                     char *const *argv, struct tc_error *err) {
  struct tb_pusher pusher;
  struct tb_pusher_options options = tb_pusher_defaults("run");
  options.to = run->spec.options.push;
  if (!*options.to) return select_and_measure(run, selection, argc, argv, err);
  enum tb_exit code;
  const tc_status status = tb_pusher_open(&pusher, &options, run->arena, &run->interrupt, err);
  if (status) {
    code = status == TC_ARG ? tb_verb_usage("run", "push: %s", err->message)
                            : tb_verb_failed("run", "push: %s", err->message);
  } else {
    code = select_and_measure(run, selection, argc, argv, err);
    if (code != TB_EXIT_INTERRUPTED)
      code = tb_exit_worse(code, send_result(run, &pusher));
    else if (run->save.there)
      fprintf(stderr, "tbench run: %s was not sent, since the run was interrupted\n", run->save.path);
  }
  tb_pusher_close(&pusher);
  return code;
}

static enum tb_exit run_all(struct tb_run *run, int argc, char *const *argv, struct tc_error *err) {
  struct tb_selection selection;
  if (tb_selection_open(run, &selection, err)) return tb_verb_usage("run", "changed-since: %s", err->message);
  print_plan(run);
  enum tb_exit code = TB_EXIT_PASS;
  if (!run->spec.options.dry_run) {
    const bool ready = !tb_run_choose_out(run, "", err) && !tb_run_make_cache(run, err);
    code = ready ? measure_and_send(run, &selection, argc, argv, err)
                 : (enum tb_exit)tb_verb_usage("run", "%s", err->message);
  }
  tb_selection_close(&selection);
  return code;
}

int tb_verb_run(int argc, char *const *argv) {
  struct tc_error err = {0};
  struct tb_run run;
  signal(SIGPIPE, SIG_IGN); /* who no longer reads the progress does not end the measurement */
  enum tb_exit code = tb_run_open(&run, "run", argc, argv);
  if (code == TB_EXIT_PASS && run.spec.explaining)
    code = tb_verb_usage("run", "it takes no '%s'; tbench explain does", run.spec.explaining);
  if (code == TB_EXIT_PASS) code = run_all(&run, argc, argv, &err);
  tb_folder_remove(run.cache_root);
  tb_run_close(&run);
  return code;
}
