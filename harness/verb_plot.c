/* `tbench plot FILE [out=STEM]` and `tbench report FILE [format=NAME]`: readers of stored results. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/folder.h"
#include "harness/result.h"
#include "harness/text.h"
#include "harness/verb.h"
#include "harness/verbs.h"
#include "reporters/reporter.h"

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

static bool all_objects(const cJSON *array) {
  for (const cJSON *item = array->child; item; item = item->next)
    if (!cJSON_IsObject(item)) return false;
  return true;
}

/* Why a document cannot be read; NULL: it can. */
static const char *not_readable(struct tc_arena *arena, const cJSON *document) {
  const cJSON *cases = tb_doc_at(document, "cases"), *schema = tb_doc_at(document, "schema");
  if (!cJSON_IsArray(cases) || !all_objects(cases)) return "is no result of tbench: it has no list of cases";
  if (!schema || (cJSON_IsNumber(schema) && schema->valuedouble == TB_SCHEMA)) return NULL;
  const char *text = tb_format(arena, "was written by another version of tbench: its schema is not %d", TB_SCHEMA);
  return text ? text : "has another schema";
}

/* The document; NULL with a line on standard error. */
static cJSON *parse(struct tb_verb *verb, const char *path, const char *text) {
  const char *end = text;
  cJSON *document = cJSON_ParseWithOpts(text, &end, true);
  if (!document) {
    int line = 1;
    for (const char *c = text; c < end; c++) line += *c == '\n';
    tb_verb_usage(verb->name, "%s: line %d is no JSON", path, line);
    return NULL;
  }
  const char *why = not_readable(verb->arena, document);
  if (!why) {
    tb_text_clean_json(document); /* it may come from anywhere, and goes to a terminal */
    return document;
  }
  tb_verb_usage(verb->name, "%s %s", path, why);
  cJSON_Delete(document);
  return NULL;
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
  return parse(verb, path, text);
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
  cJSON *document = load(&verb);
  if (document) {
    struct tb_plot plot;
    struct tc_error err = {0};
    const char *out = tb_args_value(&verb.args, "out"), *stem = stem_of(&verb, out);
    if (!stem) code = tb_verb_failed("plot", "out of memory");
    else if (out && tb_folder_there(verb.arena, out, &err)) code = tb_verb_usage("plot", "%s", err.message);
    else if (!tb_plot_result(document, stem, &plot)) code = tb_verb_failed("plot", "%s", plot.message);
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

int tb_verb_report(int argc, char *const *argv) {
  struct tb_verb verb;
  if (!tb_verb_begin(&verb, "report", argc, argv, 1)) return TB_EXIT_USAGE;
  int code = TB_EXIT_USAGE;
  struct tb_report_options options = {.colour = isatty(STDOUT_FILENO) && !getenv("NO_COLOR")};
  const struct tb_reporter *reporter = find_reporter(&verb);
  cJSON *document = reporter && tb_verb_flag(&verb, "verbose", &options.verbose) ? load(&verb) : NULL;
  if (document) {
    options.result_path = verb.args.words.data[0];
    const bool good = reporter->write(document, &options, stdout) || ferror(stdout); /* a stream that fails is told in main */
    code = good ? TB_EXIT_PASS : tb_verb_failed("report", "out of memory");
    cJSON_Delete(document);
  }
  tb_verb_end(&verb);
  return code;
}
