/* `tbench gate RESULT.json against=FILE|FOLDER`: may tonight's result pass? */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/folder.h"
#include "harness/base/text.h"
#include "harness/base/verb.h"
#include "harness/cli/verbs.h"
#include "harness/cli/verdicts_verb.h"
#include "harness/compare/confirm.h"
#include "harness/run/record.h"
#include "harness/verdict/baseline.h"
#include "harness/verdict/history.h"
#include "harness/verdict/history_step.h"
#include "harness/verdict/stored.h"
#include "results/document.h"

static const double percent = 100;

struct gate {
  struct tb_verb *verb;
  const char *result, *against;
  enum tb_update update;
  struct tb_telling telling;
  struct tb_policy policy;
  cJSON *head, *base; /* base: NULL for a history */
  struct tb_history history;
  struct tb_verdicts comparison;
};

/* --- against a file --- */

/* Two measurings never have all figures in common. */
static bool is_same_result(const cJSON *base, const cJSON *head) {
  return !strcmp(tb_doc_text(base, "started", ""), tb_doc_text(head, "started", "")) &&
         cJSON_Compare(tb_doc_at(base, "cases"), tb_doc_at(head, "cases"), true);
}

/* Against itself a result could but pass. */
static tc_status check_sides(struct gate *g, struct tc_error *err) {
  const char *base = tb_doc_text(g->base, "started", ""), *head = tb_doc_text(g->head, "started", "");
  if (is_same_result(g->base, g->head))
    return tc_fail(err, TC_ARG, "gate",
                   "against=%s is %s itself: name the result of an earlier run (if there is none yet, "
                   "update=yes makes the first baseline)",
                   g->against, g->result);
  if (!*head || strcmp(head, base) >= 0) return TC_OK;
  const char *text = tb_format(
      g->verb->arena, "head's result is older than base's: head started at %s, base at %s", head, base);
  return tb_verdicts_remark(&g->comparison, text) ? TC_OK : tc_fail_memory(err, "gate");
}

static tc_status compare_file(struct gate *g, struct tc_error *err) {
  g->base = tb_stored_load_result(g->verb->arena, g->against, err);
  const tc_status status = g->base ? check_sides(g, err) : err->status;
  if (status) return status;
  g->comparison.base = tb_origin_of(g->against, g->base);
  const bool good = tb_verdicts_add_documents(&g->comparison, g->base, g->head) &&
                    tb_verdicts_decide_unpaired(&g->comparison);
  return good ? TC_OK : tc_fail_memory(err, "gate");
}

/* --- against a folder --- */

static bool judge_by_forecast(struct gate *g, const struct tb_history_series *series,
                              struct tb_compared *one) {
  bool calibrated;
  const double value = tb_history_value(one->head, &calibrated);
  tb_doubles logs = {0}, aa_pairs = {0};
  one->past = series ? &series->past : NULL;
  if (!series || !tb_compared_measured(one) || !(value > 0)) return true;
  if (!tb_compared_logs(g->verb->arena, one->head, calibrated, &logs, &aa_pairs)) return false;
  const struct tb_spread tonight =
      tb_spread_of(logs.data, logs.len, aa_pairs.data, aa_pairs.len, tb_confidence_default);
  one->time =
      tb_forecast_decide_within(&series->forecast, value, &tonight, tb_policy_threshold(&g->policy, one->id),
                                tb_policy_floor_limit(&g->policy, one->id));
  one->timed = true;
  one->foretold = series->forecast.half_width;
  if (series->forecast.known)
    one->expected_ns = tb_doc_number(one->head, "steady.median_ns") /
                       one->time.ratio; /* at tonight's speed of the calibration kernel */
  if (tb_history_step(series, tb_policy_threshold(&g->policy, one->id), &one->step)) {
    const double unit = tb_doc_number(one->head, "steady.median_ns") / value; /* likewise */
    one->step.before *= unit, one->step.after *= unit;
  }
  const size_t points = series->forecast.points;
  if (!series->points.len)
    one->basis = "no points with the same calibration kernel";
  else if (!points)
    one->basis = "no points since the newest mark";
  else if (!series->forecast.known)
    one->basis = tb_format(g->verb->arena, "%zu point%s since %s", points, tb_plural((double)points),
                           series->points.data[series->forecast.first].started);
  else
    one->basis =
        tb_format(g->verb->arena, "%zu points since %s; spread %.2g%%", points,
                  series->points.data[series->forecast.first].started, series->forecast.spread * percent);
  return one->basis != NULL;
}

static tc_status compare_history(struct gate *g, struct tc_error *err) {
  const tc_status status = tb_history_load(g->verb->arena, g->against, g->head, &g->history, err);
  if (status) return status;
  g->comparison.base = (struct tb_origin){.what = tb_format(g->verb->arena, "%s (%d result%s)", g->against,
                                                            g->history.files, tb_plural(g->history.files))};
  bool good = g->comparison.base.what != NULL;
  const cJSON *one;
  cJSON_ArrayForEach(one, tb_doc_at(g->head, "cases")) {
    const char *id = tb_doc_text(one, "id", "?");
    const struct tb_history_series *series = tb_history_find(&g->history, id);
    struct tb_compared *added =
        good ? tb_verdicts_add(&g->comparison, id, series ? series->newest : NULL, one) : NULL;
    good = added && judge_by_forecast(g, series, added);
  }
  cJSON_ArrayForEach(one, tb_doc_at(g->head, "left_out")) {
    const struct tb_history_series *series = tb_history_find(&g->history, tb_doc_text(one, "id", "?"));
    good = good && tb_verdicts_add_left_out(&g->comparison, one, series ? series->newest : NULL);
  }
  cJSON_ArrayForEach(one, g->history.vanished)
    good = good && tb_verdicts_add(&g->comparison, tb_doc_text(one, "id", "?"), one, NULL);
  for (size_t i = 0; i < g->history.passed_over.len; i++)
    fprintf(stderr, "tbench gate: skipped %s\n", g->history.passed_over.data[i]);
  good = good && tb_verdicts_correct(&g->comparison, g->comparison.cases.len);
  return good ? TC_OK : tc_fail_memory(err, "gate");
}

/* --- update --- */

/* What a link leads to is what is brought up to date: others name it otherwise. */
static enum tb_exit write_baseline(const struct gate *g, const cJSON *document, const char *path) {
  struct tc_error err = {0};
  struct stat info;
  if (!document) return tb_verb_failed("gate", "out of memory");
  char *real = lstat(path, &info) ? NULL : realpath(path, NULL);
  const bool lost = !real && errno != ENOENT, dangling = !real && !lstat(path, &info);
  const tc_status status =
      lost || dangling ? tc_fail(&err, TC_IO, "gate", "%s does not lead to a file that can be written", path)
                       : tb_record_write(document, real ? real : path, &err);
  free(real);
  if (status) return tb_verb_failed("gate", "%s", err.message);
  fprintf(stderr, "tbench gate: wrote %s, from %s\n", path, g->result);
  return TB_EXIT_PASS;
}

/* A win never fails; it proposes. */
static enum tb_exit update_file(const struct gate *g) {
  const enum tb_update wanted = g->update == TB_UPDATE_NO ? TB_UPDATE_WINS : g->update;
  const int changes = tb_baseline_changes(&g->comparison, wanted);
  if (!changes) return TB_EXIT_PASS;
  if (g->update == TB_UPDATE_NO) {
    fprintf(stderr,
            "tbench gate: %d case%s better or new; to accept %s: tbench gate %s against=%s update=yes\n",
            changes, tb_plural(changes), changes == 1 ? "it" : "them", g->result, g->against);
    return TB_EXIT_PASS;
  }
  cJSON *document = tb_baseline_updated(&g->comparison, g->base, g->head, wanted);
  const enum tb_exit code = write_baseline(g, document, g->against);
  cJSON_Delete(document);
  return code;
}

/* The result's own name, or, where another result has it, one with the time before it. NULL when memory is
 * out. */
static const char *history_path(const struct gate *g) {
  struct tc_error ignored = {0};
  const char *slash = strrchr(g->result, '/'), *name = slash ? slash + 1 : g->result,
             *started = tb_doc_text(g->head, "started", "");
  const char *path = tb_format(g->verb->arena, "%s/%s", g->against, name);
  if (!path || access(path, F_OK)) return path;
  cJSON *other = tb_stored_load_result(g->verb->arena, path, &ignored);
  const bool same = other && !strcmp(tb_doc_text(other, "started", ""), started);
  cJSON_Delete(other);
  return same ? path : tb_format(g->verb->arena, "%s/%s_%s", g->against, started, name);
}

/* Whether nothing speaks against a result but that the history cannot judge the times of some cases, or has
 * no cases at all. Such a result belongs to it: it is what a history begins with, and goes on with behind a
 * step; points make narrower what is foretold; and a history of quiet nights alone would foretell less noise
 * than there is. *short_of: of cases whose history is too short; *unclear: of others. */
static bool is_only_unknown(const struct tb_verdicts *c, int *short_of, int *unclear) {
  int measured = 0;
  *short_of = *unclear = 0;
  if (c->tonight != TB_EXIT_NOT_MEASURABLE || c->interrupted || c->missing) return false;
  for (size_t i = 0; i < c->cases.len; i++) {
    const struct tb_compared *one = &c->cases.data[i];
    const bool unknown = tb_verdicts_time_unknown(c, one), unsure = one->time.verdict == TB_VERDICT_UNSURE;
    if (one->tonight != TB_EXIT_PASS && !unknown) return false;
    if (unknown && unsure &&
        (one->time.why == TB_UNSURE_SHORT_HISTORY || one->time.why == TB_UNSURE_WIDE_FORECAST))
      ++*short_of;
    else
      *unclear += unknown;
    measured += one->head && !strcmp(tb_doc_text(one->head, "outcome", ""), "ok");
  }
  return measured > 0;
}

static enum tb_exit update_history(const struct gate *g) {
  int short_of, unclear;
  const bool unknown = is_only_unknown(&g->comparison, &short_of, &unclear);
  if (g->update == TB_UPDATE_NO) return TB_EXIT_PASS;
  if (unknown && (short_of || !unclear))
    fputs("tbench gate: the history is too short to judge the result; it is added\n", stderr);
  if (unknown && unclear)
    fprintf(stderr,
            "tbench gate: %d case%s too noisy to judge, or unclear; nothing else is wrong with the result, "
            "so it is added\n",
            unclear, unclear == 1 ? " is" : "s are");
  if (g->comparison.tonight == TB_EXIT_PASS && g->comparison.exit != TB_EXIT_PASS)
    fputs(
        "tbench gate: a step of the history is open; nothing else is wrong with the result, so it is added\n",
        stderr);
  if (g->comparison.tonight != TB_EXIT_PASS && !unknown && g->update != TB_UPDATE_ALL) {
    fputs("tbench gate: the result did not pass and is not added to the history; update=all adds it\n",
          stderr);
    return TB_EXIT_PASS;
  }
  const char *path = history_path(g);
  return write_baseline(g, path ? g->head : NULL, path);
}

/* --- the whole --- */

/* The first baseline: there is nothing to compare with, and the user has asked for it. */
static enum tb_exit first_baseline(struct gate *g) {
  const cJSON *one;
  int failed = 0;
  cJSON_ArrayForEach(one, tb_doc_at(g->head, "cases"))
    failed += strcmp(tb_doc_text(one, "outcome", ""), "ok") &&
              strcmp(tb_doc_text(one, "outcome", ""), "unsupported");
  if (failed || tb_result_unfinished(g->head) || !cJSON_GetArraySize(tb_doc_at(g->head, "cases")))
    return tb_verb_failed(
        "gate", "%s cannot be a baseline: it is unfinished, has no cases, or has failed cases", g->result);
  return write_baseline(g, g->head, g->against);
}

static enum tb_exit judge(struct gate *g, bool is_folder) {
  struct tc_error err = {0};
  g->comparison = tb_verdicts_new(g->verb->arena, &g->policy, "gate");
  g->comparison.head = tb_origin_of(g->result, g->head);
  if (!tb_verdicts_take_head(&g->comparison, g->head)) return tb_verb_failed("gate", "out of memory");
  tc_status status = is_folder ? compare_history(g, &err) : compare_file(g, &err);
  if (!status)
    status = tb_confirm_flagged(&g->comparison, g->head, tb_args_value(&g->verb->args, "base"),
                                tb_args_value(&g->verb->args, "head"), &err);
  if (status == TC_INTERRUPTED) return TB_EXIT_INTERRUPTED;
  if (status == TC_NOMEM || status == TC_IO) return tb_verb_failed("gate", "%s", err.message);
  if (status) return tb_verb_usage("gate", "%s", err.message);
  if (!tb_verdicts_judge(&g->comparison) || !tb_verdicts_remark_policy(&g->comparison))
    return tb_verb_failed("gate", "out of memory");
  const enum tb_exit told = tb_verdicts_tell(&g->comparison, &g->telling),
                     updated = is_folder ? update_history(g) : update_file(g);
  return tb_exit_worse(told, updated);
}

/* A baseline may be replaced in its folder whatever its own mode is, but who made it read-only did not want
 * that. */
static bool is_read_only(const char *path, const struct stat *info) {
  return S_ISREG(info->st_mode) && (!(info->st_mode & (S_IWUSR | S_IWGRP | S_IWOTH)) || access(path, W_OK));
}

static enum tb_exit gate(struct gate *g) {
  struct tc_error err = {0};
  struct stat info;
  g->head = tb_stored_load_result(g->verb->arena, g->result, &err);
  if (!g->head) return tb_verb_usage("gate", "%s", err.message);
  if (!stat(g->against, &info)) {
    if (g->update != TB_UPDATE_NO && is_read_only(g->against, &info))
      return tb_verb_usage("gate", "against=%s is read-only: leave update= out, or make it writable",
                           g->against);
    return judge(g, S_ISDIR(info.st_mode));
  }
  if (errno == ENOENT && g->update != TB_UPDATE_NO) return first_baseline(g);
  return tb_verb_usage("gate", "against=%s: %s; the first baseline is made with update=yes", g->against,
                       strerror(errno));
}

static enum tb_exit read_options(struct gate *g) {
  const struct tb_args *args = &g->verb->args;
  const char *update = tb_args_value(args, "update"), *format = tb_args_value(args, "format");
  if (args->words.len != 1)
    return tb_verb_usage("gate", "name one result file: tbench gate results/….json against=baseline.json");
  g->result = args->words.data[0];
  g->against = tb_args_value(args, "against");
  if (!g->against)
    return tb_verb_usage("gate", "against= is missing: a baseline's file, or a folder of earlier results");
  if (update && !tb_update_parse(update, &g->update))
    return tb_verb_usage("gate", "update=%s: use no, yes (better and new cases) or all", update);
  g->telling = (struct tb_telling){.format = format ? format : "console", .out = tb_args_value(args, "out")};
  if (!tb_verb_flag(g->verb, "verbose", &g->telling.verbose)) return TB_EXIT_USAGE;
  return tb_verdicts_check("gate", g->verb->arena, &g->telling);
}

int tb_verb_gate(int argc, char *const *argv) {
  struct tb_verb verb;
  if (!tb_verb_begin(&verb, "gate", argc, argv, 1)) return TB_EXIT_USAGE;
  struct gate g = {.verb = &verb};
  const char *policy = tb_args_value(&verb.args, "policy");
  enum tb_exit code = TB_EXIT_PASS;
  if (policy && !strcmp(policy, "default") && !verb.args.words.len) {
    fputs(tb_policy_default_text(), stdout);
  } else {
    code = read_options(&g);
    if (code == TB_EXIT_PASS) code = tb_verdicts_policy("gate", verb.arena, policy, &g.policy);
    if (code == TB_EXIT_PASS) code = gate(&g);
  }
  cJSON_Delete(g.head);
  cJSON_Delete(g.base);
  tb_history_close(&g.history);
  tb_verb_end(&verb);
  return code;
}
