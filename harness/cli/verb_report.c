/* `tbench report FILE… [format=NAME]`: stored results and comparisons in another form. Several are written
 * one after the other, together, or not at all, as the row of the format says. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/verb.h"
#include "harness/cli/verbs.h"
#include "harness/verdict/stored.h"
#include "reporters/reporter.h"

typedef bool writer(const cJSON *document, const struct tb_report_options *options, FILE *out);

/* "console, json, csv"; `comparisons`: those alone that take one. */
static const char *format_names(struct tc_arena *arena, bool comparisons) {
  const char *names = "";
  for (int i = 0; i < tb_reporter_count() && names; i++)
    if (!comparisons || tb_reporter_at(i)->write_comparison)
      names = tb_format(arena, "%s%s%s", names, *names ? ", " : "", tb_reporter_at(i)->name);
  return names ? names : "";
}

/* NULL with a line on standard error. */
static const struct tb_reporter *find_reporter(const struct tb_verb *verb) {
  const char *format = tb_args_value(&verb->args, "format");
  const struct tb_reporter *reporter = tb_reporter_find(format ? format : "console");
  if (reporter) return reporter;
  struct tb_nearest nearest = tb_nearest_to(format);
  for (int i = 0; i < tb_reporter_count(); i++) tb_nearest_offer(&nearest, tb_reporter_at(i)->name);
  tb_verb_usage("report", "there is no format '%s'%s; formats: %s", format,
                tb_nearest_hint(verb->arena, &nearest), format_names(verb->arena, false));
  return NULL;
}

/* All files, as a JSON array. NULL with a line on standard error. */
static cJSON *load_all(struct tb_verb *verb) {
  cJSON *all = cJSON_CreateArray();
  if (!all) tb_verb_failed("report", "out of memory");
  for (size_t i = 0; all && i < verb->args.words.len; i++) {
    struct tc_error err = {0};
    cJSON *document = tb_stored_load(verb->arena, verb->args.words.data[i], &err);
    if (document && cJSON_AddItemToArray(all, document)) continue;
    tb_verb_usage("report", "%s", document ? "out of memory" : err.message);
    cJSON_Delete(document);
    cJSON_Delete(all);
    all = NULL;
  }
  return all;
}

/* What writes these documents in that format; NULL with a line on standard error. */
static writer *writer_of(struct tb_verb *verb, const struct tb_reporter *reporter, const cJSON *all) {
  const bool comparison = tb_stored_is_comparison(all->child);
  const size_t n = verb->args.words.len;
  for (size_t i = 0; i < n; i++)
    if (tb_stored_is_comparison(cJSON_GetArrayItem(all, (int)i)) != comparison) {
      const char *const *files = (const char *const *)verb->args.words.data;
      tb_verb_usage("report", "%s is a %s, %s is a %s: name files of one kind", files[0],
                    comparison ? "comparison" : "result", files[i], comparison ? "result" : "comparison");
      return NULL;
    }
  if (n > 1 && reporter->several == TB_REPORT_ONE)
    tb_verb_usage("report", "format=%s holds one result: name one file", reporter->name);
  else if (comparison && !reporter->write_comparison)
    tb_verb_usage("report", "%s is a comparison; its formats: %s", verb->args.words.data[0],
                  format_names(verb->arena, true));
  else
    return comparison ? reporter->write_comparison : reporter->write;
  return NULL;
}

/* One after the other, or all at once. */
static bool write_all(const struct tb_verb *verb, const struct tb_reporter *reporter, writer *write,
                      const cJSON *all, struct tb_report_options *options) {
  const size_t n = verb->args.words.len;
  bool good = true;
  options->paths = (const char *const *)verb->args.words.data;
  if (n > 1 && reporter->several == TB_REPORT_TOGETHER) return write(all, options, stdout);
  for (size_t i = 0; good && i < n; i++) {
    if (i) fputc('\n', stdout);
    options->result_path = verb->args.words.data[i];
    good = write(cJSON_GetArrayItem(all, (int)i), options, stdout);
  }
  return good;
}

static enum tb_exit report(struct tb_verb *verb) {
  char failure[TB_REPORT_FAILURE] = "";
  struct tb_report_options options = {.colour = tb_verb_colour(), .failure = failure};
  const struct tb_reporter *reporter = find_reporter(verb);
  if (!reporter || !tb_verb_flag(verb, "verbose", &options.verbose)) return TB_EXIT_USAGE;
  if (!verb->args.words.len)
    return tb_verb_usage("report", "name result files: tbench report results/….json");
  cJSON *all = load_all(verb);
  if (!all) return TB_EXIT_USAGE;
  writer *write = writer_of(verb, reporter, all);
  if (write) {
    /* Of results that are not whole: most formats have no place to say so. Comparisons tell it themselves. */
    char why[TB_REPORT_FAILURE];
    for (size_t i = 0; i < verb->args.words.len; i++) {
      const cJSON *document = cJSON_GetArrayItem(all, (int)i);
      if (!tb_stored_is_comparison(document) && tb_result_incomplete(document, why, sizeof why))
        fprintf(stderr, "tbench report: %s: %s\n", verb->args.words.data[i], why);
    }
  }
  enum tb_exit code = TB_EXIT_USAGE;
  if (write && (write_all(verb, reporter, write, all, &options) || ferror(stdout)))
    code = TB_EXIT_PASS; /* a stream that fails is told in main */
  else if (write && *failure)
    code = tb_verb_usage("report", "format=%s: %s", reporter->name, failure);
  else if (write)
    code = tb_verb_failed("report", "out of memory");
  cJSON_Delete(all);
  return code;
}

int tb_verb_report(int argc, char *const *argv) {
  struct tb_verb verb;
  if (!tb_verb_begin(&verb, "report", argc, argv, SIZE_MAX)) return TB_EXIT_USAGE;
  const enum tb_exit code = report(&verb);
  tb_verb_end(&verb);
  return code;
}
