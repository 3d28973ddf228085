/* `tbench run`: from the plan to the written result. Everything that can be wrong with the input, the machine or the place
 * of the result is told before anything is measured. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/build.h"
#include "harness/environment.h"
#include "harness/folder.h"
#include "harness/record.h"
#include "harness/run.h"
#include "harness/text.h"
#include "harness/verb.h"
#include "harness/verbs.h"
#include "reporters/reporter.h"
#include "tcompile.h"

enum { MINUTE = 60 };
static const double environment_estimate_s = 2;
static const char suffix[] = ".json";

/* --- before --- */

/* Where out= says, in a folder that is there; else results/<UTC time>_<suite>+<suite>.json, whose folder is made. */
static tc_status choose_out(struct tb_run *run, struct tc_error *err) {
  static const char folder[] = "results";
  run->save = (struct tb_save){.path = run->spec.options.out, .asked = *run->spec.options.out};
  if (run->save.asked) return tb_folder_writable(run->arena, run->save.path, err);
  const char *names = "";
  for (int i = 0; i < run->spec.n_suites && names; i++) names = tb_format(run->arena, "%s%s%s", names, i ? "+" : "", run->suites[i].name);
  const char *time = tb_time_text(run->arena, true);
  run->save.path = names && time ? tb_format(run->arena, "%s/%s_%s%s", folder, time, names, suffix) : NULL;
  if (!run->save.path) return tc_fail(err, TC_NOMEM, "harness", "out of memory");
  const tc_status status = tb_folder_make(folder, err);
  return status ? status : tb_folder_writable(run->arena, run->save.path, err);
}

/* The folder of this run's caches: under cache_dir where it is given, else under $TMPDIR or /tmp. */
static tc_status make_cache_root(struct tb_run *run, struct tc_error *err) {
  const char *parent = run->config.cache_dir;
  for (size_t i = 0; i < run->spec.switches.len; i++)
    if (!strcmp(run->spec.switches.data[i].name, "cache_dir")) parent = run->spec.switches.data[i].values[0];
  if (*parent && mkdir(parent, 0777) && errno != EEXIST) return tc_fail(err, TC_ARG, "harness", "cache_dir=%s cannot be made: %s", parent, strerror(errno));
  if (*parent && access(parent, R_OK | W_OK | X_OK)) return tc_fail(err, TC_ARG, "harness", "cache_dir=%s cannot be used: %s", parent, strerror(errno));
  const char *temporary = getenv("TMPDIR");
  if (!*parent) parent = temporary && *temporary ? temporary : "/tmp";
  run->cache_root = tb_folder_private(run->arena, parent, err);
  return run->cache_root ? TC_OK : err->status;
}

static tc_status prepare_result(struct tb_run *run, int argc, char *const *argv, struct tc_error *err) {
  struct tb_result *r = &run->result;
  const struct tc_alloc *alloc = tc_arena_alloc(run->arena);
  *r = (struct tb_result){.arena = run->arena, .version = PACKAGE_VERSION, .commit = TB_COMMIT, .build = TB_COMPILER, .artifact_abi = TC_ARTIFACT_ABI};
  r->seed = (double)run->spec.options.seed;
  r->planned = (int)run->plan.cases.len;
  r->started = tb_time_text(run->arena, false);
  bool good = r->started && tc_vec_push(alloc, &r->argv, "tbench") && tc_vec_push(alloc, &r->argv, "run");
  for (int i = 0; good && i < argc; i++) good = tc_vec_push(alloc, &r->argv, (const char *)argv[i]);
  for (size_t i = 0; good && i < run->plan.cases.len; i++) good = tc_vec_push(alloc, &r->cases, tb_case_result_new(&run->plan.cases.data[i]));
  run->tracks = tc_new_zeroed(alloc, run->plan.cases.len + 1, sizeof *run->tracks);
  return good && run->tracks ? TC_OK : tc_fail(err, TC_NOMEM, "harness", "out of memory");
}

/* A session's estimate is a constant and a share for each of its cases, so groups need not be looked at one by one. */
static double expected_seconds(const struct tb_run *run) {
  const double groups = run->plan.n_groups, cases = (double)run->plan.cases.len, later = (double)(run->spec.options.replicates - 1);
  const double first = tb_session_estimate(run, 0, true), other = tb_session_estimate(run, 0, false);
  const double share = tb_session_estimate(run, 1, false) - other;
  return environment_estimate_s + groups * (first + later * other) + cases * share * (1 + later);
}

static void print_plan(const struct tb_run *run) {
  const int seconds = (int)ceil(expected_seconds(run));
  const size_t cases = run->plan.cases.len;
  const long long replicates = run->spec.options.replicates;
  fprintf(stderr, "%zu case%s, %lld replicate%s, about %02d:%02d\n", cases, tb_plural((double)cases), replicates, tb_plural((double)replicates),
          seconds / MINUTE, seconds % MINUTE);
  if (!run->spec.options.dry_run) return;
  for (size_t i = 0; i < run->plan.cases.len; i++) puts(run->plan.cases.data[i].id);
}

/* --- measuring --- */

static tc_status run_sessions(struct tb_run *run, struct tc_error *err) {
  int *order = tc_arena_bytes(run->arena, sizeof *order * (size_t)(run->plan.n_groups + 1));
  if (!order) return tc_fail(err, TC_NOMEM, "harness", "out of memory");
  for (int replicate = 0; replicate < (int)run->spec.options.replicates; replicate++) {
    tb_plan_order(&run->plan, (uint64_t)run->spec.options.seed, replicate, order);
    for (int i = 0; i < run->plan.n_groups; i++) {
      if (tb_interrupt_poll(&run->interrupt)) return TC_OK;
      const tc_status status = tb_session_run(run, order[i], replicate, err);
      if (status) return status;
      run->progress.done++;
      tb_save_so_far(run);
    }
  }
  return TC_OK;
}

/* A case that nothing is known of is recorded as such: no planned case is missing from a result. Returns how many are known. */
static size_t mark_unmeasured(struct tb_result *result) {
  size_t known = 0;
  for (size_t i = 0; i < result->cases.len; i++) {
    struct tb_case_result *r = &result->cases.data[i];
    if (tb_case_known(r)) {
      known++;
      continue;
    }
    r->outcome = TB_OUTCOME_ERROR;
    r->interrupted = result->interrupted;
    r->error = result->interrupted ? "interrupted before it was measured" : "no round of blocks was completed";
  }
  return known;
}

/* --- after --- */

/* Pictures beside the result; a missing gnuplot is told and is no failure. */
static const char *draw(const cJSON *document, const char *out, struct tb_plot *plot, const char *stem) {
  if (!stem || !tb_plot_result(document, stem, plot))
    return fprintf(stderr, "tbench run: no pictures of %s: %s\n", out, stem ? plot->message : "out of memory"), NULL;
  if (*plot->message) fprintf(stderr, "tbench run: %s\n", plot->message);
  return plot->drawn ? plot->svg : NULL;
}

static void tell_failure(const struct tb_save *save, const char *written, const struct tc_error *err) {
  fprintf(stderr, "tbench run: %s; ", err->message);
  if (written) fprintf(stderr, "the result lies in %s instead\n", written);
  else if (save->there) fprintf(stderr, "%s has what was known before, the table of the whole follows\n", save->path);
  else fputs("the result is lost, its table follows\n", stderr);
}

static enum tb_exit publish(struct tb_run *run) {
  struct tc_error err = {0};
  struct tb_plot plot;
  const char *written;
  cJSON *document = tb_record_json(&run->result);
  const tc_status status = tb_save_finished(run, document, &written, &err);
  const char *out = run->save.path;
  if (status) tell_failure(&run->save, written, &err);
  const size_t length = strlen(out), end = strlen(suffix);
  const bool named = length > end && !strcmp(out + length - end, suffix);
  const char *stem = tb_format(run->arena, "%.*s", (int)(named ? length - end : length), out);
  const char *picture = status ? NULL : draw(document, out, &plot, stem);
  const struct tb_report_options options = {.verbose = run->spec.options.verbose, .colour = isatty(STDOUT_FILENO) && !getenv("NO_COLOR"), .result_path = written, .plot_path = picture};
  const bool shown = document && tb_report_console(document, &options, stdout) && !fflush(stdout);
  cJSON_Delete(document);
  return status || !shown ? TB_EXIT_FAILED : TB_EXIT_PASS;
}

/* A run that cannot go on: what it has saved stays. */
static enum tb_exit broken_off(struct tb_run *run, tc_status status, const struct tc_error *err) {
  if (run->save.there) fprintf(stderr, "tbench run: what was measured before lies in %s, unfinished\n", run->save.path);
  return status == TC_INTERRUPTED ? TB_EXIT_INTERRUPTED : tb_verb_failed("run", "%s", err->message);
}

static enum tb_exit measure(struct tb_run *run, struct tc_error *err) {
  tb_progress_begin(&run->progress, run->plan.n_groups * (int)run->spec.options.replicates);
  tc_status status = tb_environments_make(run, err);
  if (!status) status = run_sessions(run, err);
  tb_progress_end(&run->progress);
  if (status) return broken_off(run, status, err);
  run->result.interrupted = tb_interrupt_poll(&run->interrupt) > 0;
  run->result.finished = tb_time_text(run->arena, false);
  if (!mark_unmeasured(&run->result) && run->result.interrupted) {
    fputs("tbench run: interrupted before anything was measured\n", stderr);
    return TB_EXIT_INTERRUPTED;
  }
  tb_summarise(run);
  const enum tb_exit published = publish(run);
  return tb_exit_worse(tb_result_exit(&run->result), published);
}

static enum tb_exit run_all(struct tb_run *run, int argc, char *const *argv, struct tc_error *err) {
  print_plan(run);
  if (run->spec.options.dry_run) return TB_EXIT_PASS;
  if (choose_out(run, err) || make_cache_root(run, err)) return tb_verb_usage("run", "%s", err->message);
  if (prepare_result(run, argc, argv, err)) return tb_verb_failed("run", "%s", err->message);
  return measure(run, err);
}

int tb_verb_run(int argc, char *const *argv) {
  struct tc_error err = {0};
  struct tb_run run;
  signal(SIGPIPE, SIG_IGN); /* who no longer reads the progress does not end the measurement */
  enum tb_exit code = tb_run_open(&run, "run", argc, argv);
  if (code == TB_EXIT_PASS && run.spec.explaining) code = tb_verb_usage("run", "it takes no '%s'; tbench explain does", run.spec.explaining);
  if (code == TB_EXIT_PASS) code = run_all(&run, argc, argv, &err);
  tb_folder_remove(run.cache_root);
  tb_run_close(&run);
  return code;
}
