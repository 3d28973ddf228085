/* `tbench plot FILE [out=STEM]` and `tbench report FILE [format=NAME]`: readers of stored results. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/folder.h"
#include "harness/stats.h"
#include "harness/stored.h"
#include "harness/verb.h"
#include "harness/verbs.h"
#include "reporters/reporter.h"

/* NULL with a line on standard error. `comparisons`: also those of ab, compare and gate. */
static cJSON *load(struct tb_verb *verb, bool comparisons) {
  struct tc_error err = {0};
  if (verb->args.words.len != 1) {
    tb_verb_usage(verb->name, "name one result file: tbench %s results/….json", verb->name);
    return NULL;
  }
  cJSON *document = comparisons ? tb_stored_load(verb->arena, verb->args.words.data[0], &err) : tb_stored_load_result(verb->arena, verb->args.words.data[0], &err);
  if (!document) tb_verb_usage(verb->name, "%s", err.message);
  return document;
}

/* The name of out=, or of the result, without ".json". */
static const char *stem_of(struct tb_verb *verb, const char *out) {
  char *stem = tc_arena_text(verb->arena, out ? out : verb->args.words.data[0]);
  const size_t n = stem ? strlen(stem) : 0;
  if (n > strlen(".json") && !strcmp(stem + n - strlen(".json"), ".json")) stem[n - strlen(".json")] = '\0';
  return stem;
}

int tb_verb_plot(int argc, char *const *argv) {
  struct tb_verb verb;
  if (!tb_verb_begin(&verb, "plot", argc, argv, 1)) return TB_EXIT_USAGE;
  int code = TB_EXIT_USAGE;
  cJSON *document = load(&verb, false);
  if (document) {
    struct tb_plot plot;
    struct tc_error err = {0};
    const char *out = tb_args_value(&verb.args, "out"), *stem = stem_of(&verb, out);
    if (!stem) code = tb_verb_failed("plot", "out of memory");
    else if (out && tb_folder_there(verb.arena, out, &err)) code = tb_verb_usage("plot", "%s", err.message);
    else if (!tb_plot_result(document, stem, tb_half_width, &plot)) code = tb_verb_failed("plot", "%s", plot.message);
    else if (!plot.drawn) code = tb_verb_failed("plot", "%s", plot.message);
    else code = TB_EXIT_PASS;
    if (code == TB_EXIT_PASS) {
      printf("%s\n%s\n", plot.svg, plot.png);
      if (*plot.message) fprintf(stderr, "tbench plot: %s\n", plot.message);
    }
    cJSON_Delete(document);
  }
  tb_verb_end(&verb);
  return code;
}

/* "console, json, csv" */
static const char *format_names(struct tc_arena *arena) {
  const char *names = "";
  for (int i = 0; i < tb_reporter_count() && names; i++) names = tb_format(arena, "%s%s%s", names, i ? ", " : "", tb_reporter_at(i)->name);
  return names ? names : "";
}

/* NULL with a line on standard error. */
static const struct tb_reporter *find_reporter(const struct tb_verb *verb) {
  const char *format = tb_args_value(&verb->args, "format");
  const struct tb_reporter *reporter = tb_reporter_find(format ? format : "console");
  if (reporter) return reporter;
  struct tb_nearest nearest = tb_nearest_to(format);
  for (int i = 0; i < tb_reporter_count(); i++) tb_nearest_offer(&nearest, tb_reporter_at(i)->name);
  tb_verb_usage("report", "there is no format '%s'%s; formats: %s", format, tb_nearest_hint(verb->arena, &nearest), format_names(verb->arena));
  return NULL;
}

/* What shows a document in that format; NULL: nothing does. */
static const struct tb_reporter *reporter_for(const struct tb_reporter *reporter, const cJSON *document) {
  static const struct tb_reporter comparison = {"console", "", tb_report_comparison};
  if (!tb_stored_is_comparison(document) || !strcmp(reporter->name, "json")) return reporter;
  return strcmp(reporter->name, comparison.name) ? NULL : &comparison;
}

int tb_verb_report(int argc, char *const *argv) {
  struct tb_verb verb;
  if (!tb_verb_begin(&verb, "report", argc, argv, 1)) return TB_EXIT_USAGE;
  int code = TB_EXIT_USAGE;
  struct tb_report_options options = {.colour = isatty(STDOUT_FILENO) && !getenv("NO_COLOR"), .half_width = tb_half_width};
  const struct tb_reporter *reporter = find_reporter(&verb);
  cJSON *document = reporter && tb_verb_flag(&verb, "verbose", &options.verbose) ? load(&verb, true) : NULL;
  if (document) {
    options.result_path = verb.args.words.data[0];
    if (!(reporter = reporter_for(reporter, document))) code = tb_verb_usage("report", "%s is a comparison; its formats: console, json", options.result_path);
    else if (reporter->write(document, &options, stdout) || ferror(stdout)) code = TB_EXIT_PASS; /* a stream that fails is told in main */
    else code = tb_verb_failed("report", "out of memory");
    cJSON_Delete(document);
  }
  tb_verb_end(&verb);
  return code;
}
