/* `tbench plot FILE [out=STEM]` and `tbench report FILE [format=NAME]`: readers of stored results. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/verb.h"
#include "reporters/reporter.h"

int tb_verb_plot(int argc, char *const *argv);
int tb_verb_report(int argc, char *const *argv);

enum { RESULT_LIMIT = 1 << 30 };

/* The whole file in the arena, zero-terminated. */
static char *read_file(struct tc_arena *arena, const char *path, struct tc_error *err) {
  FILE *in = fopen(path, "rbe");
  struct stat info;
  char *text = NULL;
  if (!in || fstat(fileno(in), &info)) tc_fail(err, TC_IO, "result", "%s: %s", path, strerror(errno));
  else if (!S_ISREG(info.st_mode)) tc_fail(err, TC_IO, "result", "%s is no file", path);
  else if (info.st_size > RESULT_LIMIT) tc_fail(err, TC_LIMIT, "result", "%s is larger than 1 GiB", path);
  else if (!(text = tc_arena_bytes(arena, (size_t)info.st_size + 1))) tc_fail(err, TC_NOMEM, "result", "out of memory for %s", path);
  else text[fread(text, 1, (size_t)info.st_size, in)] = '\0';
  if (in) fclose(in);
  return text;
}

/* NULL with a line on standard error. */
static cJSON *load(struct tb_verb *verb) {
  struct tc_error err = {0};
  if (verb->args.words.len != 1) {
    tb_verb_usage(verb->name, "name one result file: tbench %s results/….json", verb->name);
    return NULL;
  }
  const char *path = verb->args.words.data[0];
  const char *text = read_file(verb->arena, path, &err);
  if (!text) {
    tb_verb_usage(verb->name, "%s", err.message);
    return NULL;
  }
  const char *end = text;
  cJSON *document = cJSON_ParseWithOpts(text, &end, false);
  if (!document || !cJSON_IsArray(tb_doc_at(document, "cases"))) {
    int line = 1;
    for (const char *c = text; !document && c < end; c++) line += *c == '\n';
    if (document) tb_verb_usage(verb->name, "%s is no result of tbench: it has no list of cases", path);
    else tb_verb_usage(verb->name, "%s: line %d is no JSON", path, line);
    cJSON_Delete(document);
    return NULL;
  }
  return document;
}

/* The file's name without ".json". */
static const char *stem_of(struct tb_verb *verb) {
  const char *given = tb_args_value(&verb->args, "out");
  char *stem = tc_arena_text(verb->arena, given ? given : verb->args.words.data[0]);
  const size_t n = stem ? strlen(stem) : 0;
  if (n > strlen(".json") && !strcmp(stem + n - strlen(".json"), ".json")) stem[n - strlen(".json")] = '\0';
  return stem;
}

int tb_verb_plot(int argc, char *const *argv) {
  static const char *const names[] = {"out", NULL};
  struct tb_verb verb;
  if (!tb_verb_begin(&verb, "plot", argc, argv, names, NULL)) return TB_EXIT_USAGE;
  int code = TB_EXIT_USAGE;
  cJSON *document = load(&verb);
  if (document) {
    struct tb_plot plot;
    const char *stem = stem_of(&verb);
    if (!stem) code = tb_verb_failed("plot", "out of memory");
    else if (!tb_plot_result(document, stem, &plot)) code = tb_verb_failed("plot", "%s", plot.message);
    else if (!plot.drawn) code = tb_verb_failed("plot", "%s", plot.message);
    else code = printf("%s\n%s\n", plot.svg, plot.png) < 0 ? TB_EXIT_FAILED : TB_EXIT_PASS;
    cJSON_Delete(document);
  }
  tb_verb_end(&verb);
  return code;
}

int tb_verb_report(int argc, char *const *argv) {
  static const char *const names[] = {"format", NULL};
  struct tb_verb verb;
  if (!tb_verb_begin(&verb, "report", argc, argv, names, NULL)) return TB_EXIT_USAGE;
  int code = TB_EXIT_USAGE;
  const char *format = tb_args_value(&verb.args, "format");
  const struct tb_reporter *reporter = tb_reporter_find(format ? format : "console");
  cJSON *document = NULL;
  if (!reporter) {
    struct tb_nearest nearest = tb_nearest_to(format);
    for (int i = 0; i < tb_reporter_count(); i++) tb_nearest_offer(&nearest, tb_reporter_at(i)->name);
    tb_verb_usage("report", "there is no format '%s'%s; `tbench help report` lists them", format, tb_nearest_hint(verb.arena, &nearest));
  } else {
    document = load(&verb);
  }
  if (document) {
    const struct tb_report_options options = {.colour = isatty(STDOUT_FILENO) && !getenv("NO_COLOR"), .result_path = verb.args.words.data[0]};
    const bool good = reporter->write(document, &options, stdout) && !fflush(stdout);
    code = good ? TB_EXIT_PASS : tb_verb_failed("report", "writing: %s", strerror(errno));
    cJSON_Delete(document);
  }
  tb_verb_end(&verb);
  return code;
}
