/* `tbench plot FILE… [kind=…] [format=…] [case=PATTERN] [marks=FILE] [out=STEM]`: pictures of stored results.
 *
 * One file is drawn itself. Of several, or of a folder, the history is; the other kinds show the newest
 * finished one. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "harness/base/folder.h"
#include "harness/base/text.h"
#include "harness/base/verb.h"
#include "harness/cli/verbs.h"
#include "harness/verdict/policy.h"
#include "harness/verdict/stored.h"
#include "harness/verdict/timeline.h"
#include "reporters/gnuplot/plot.h"

struct plotting {
  struct tb_verb *verb;
  struct tb_history_source source;
  bool several; /* files, or a folder of them */
  struct tb_plot_options options;
  cJSON *document; /* what is drawn; of several the newest */
  struct tb_history history;
  struct tb_plot_history timeline;
};

/* --- what is asked for --- */

/* Bits of the names in a list with commas, of `count` that `name_of` has; false, with a line on standard
 * error, where one is unknown. */
static bool parse_names(struct tb_verb *verb, const char *option, int count,
                        const char *(*name_of)(int index), unsigned *out) {
  const char *text = tb_args_value(&verb->args, option), *all = "";
  int n = 0;
  *out = 0;
  const char **parts = text ? tb_split(verb->arena, text, &n) : NULL;
  if (text && (!parts || !n)) return tb_verb_usage(verb->name, "%s=: name at least one", option), false;
  for (int k = 0; k < count && all; k++)
    all = tb_format(verb->arena, "%s%s%s", all, k ? ", " : "", name_of(k));
  for (int i = 0; i < n; i++) {
    struct tb_nearest nearest = tb_nearest_to(parts[i]);
    int found = 0;
    while (found < count && strcmp(parts[i], name_of(found))) tb_nearest_offer(&nearest, name_of(found++));
    if (found == count)
      return tb_verb_usage(verb->name, "there is no %s '%s'%s; there are: %s", option, parts[i],
                           tb_nearest_hint(verb->arena, &nearest), all ? all : ""),
             false;
    *out |= 1u << found;
  }
  return true;
}

static const char *kind_name(int kind) { return tb_plot_kind_name((enum tb_plot_kind)kind); }
static const char *format_name(int format) { return tb_plot_format_name((enum tb_plot_format)format); }

static bool is_folder(const char *path) {
  struct stat info;
  return !stat(path, &info) && S_ISDIR(info.st_mode);
}

/* The name of out=; or that of the file without ".json", of a folder FOLDER/history, of several files
 * `history` beside the first. */
static const char *stem_of(const struct plotting *p, const char *out) {
  const char *first = p->source.places[0], *slash = strrchr(first, '/');
  if (!out && is_folder(first))
    return tb_format(p->verb->arena, "%s%shistory", first, slash && !slash[1] ? "" : "/");
  if (!out && p->several)
    return tb_format(p->verb->arena, "%.*shistory", slash ? (int)(slash + 1 - first) : 0, first);
  const char *text = out ? out : first;
  const size_t stem = tc_text_stem(text, ".json");
  return tb_format(p->verb->arena, "%.*s", (int)(stem ? stem : strlen(text)), text);
}

/* --- what is drawn --- */

static bool named_once(const struct plotting *p) {
  for (size_t i = 0; i < p->source.n_places; i++)
    for (size_t k = 0; k < i; k++)
      if (!strcmp(p->source.places[i], p->source.places[k]))
        return tb_verb_usage("plot", "%s is named twice", p->source.places[i]), false;
  return true;
}

/* Each file that was named is a result; those of a folder need not be. */
static bool load_one_by_one(struct plotting *p) {
  struct tc_error err = {0};
  for (size_t i = 0; i < p->source.n_places; i++) {
    struct tc_arena *scratch = tc_arena_new(tc_alloc_system());
    if (is_folder(p->source.places[i])) {
      tc_arena_free(scratch);
      continue;
    }
    cJSON *document = scratch ? tb_stored_load_result(scratch, p->source.places[i], &err) : NULL;
    if (!document) tb_verb_usage("plot", "%s", scratch ? err.message : "out of memory");
    if (p->several)
      cJSON_Delete(document);
    else
      p->document = document;
    tc_arena_free(scratch);
    if (!document) return false;
  }
  if (!p->several) return true;
  const tc_status status = tb_history_newest(p->verb->arena, &p->source, &p->document, &err);
  if (status) tb_verb_usage("plot", "%s", err.message);
  return !status;
}

/* Cases that the pattern does not match are taken out. */
static bool pick_cases(struct plotting *p) {
  const char *pattern = tb_args_value(&p->verb->args, "case");
  cJSON *cases = cJSON_GetObjectItemCaseSensitive(p->document, "cases");
  if (!pattern) return true;
  const char *first = tb_format(p->verb->arena, "%s", tb_doc_text(cases->child, "id", "none"));
  for (cJSON *one = cases->child, *next; one; one = next) {
    next = one->next;
    if (!tb_glob(pattern, tb_doc_text(one, "id", "?"))) cJSON_Delete(cJSON_DetachItemViaPointer(cases, one));
  }
  if (cases->child) return true;
  return tb_verb_usage("plot", "no case matches '%s'; a star stands for any characters, the first case is %s",
                       pattern, first ? first : "?"),
         false;
}

static enum tb_exit read_history(struct plotting *p) {
  struct tc_error err = {0};
  const tc_status status = tb_history_read(p->verb->arena, &p->source, p->document, &p->history, &err);
  if (status == TC_NOMEM) return tb_verb_failed("plot", "%s", err.message);
  if (status) return tb_verb_usage("plot", "%s", err.message);
  enum { TOLD = 3 };
  for (size_t i = 0; i < p->history.passed_over.len && i < TOLD; i++)
    fprintf(stderr, "tbench plot: skipped %s\n", p->history.passed_over.data[i]);
  if (p->history.passed_over.len > TOLD)
    fprintf(stderr, "tbench plot: and skipped %zu more\n", p->history.passed_over.len - TOLD);
  if (!tb_timeline_make(&p->history, &p->timeline)) return tb_verb_failed("plot", "out of memory");
  p->options.history = &p->timeline;
  return TB_EXIT_PASS;
}

static enum tb_exit draw(struct plotting *p) {
  struct tb_plot plot;
  struct tc_error err = {0};
  const char *out = tb_args_value(&p->verb->args, "out"), *stem = stem_of(p, out);
  if (!stem) return tb_verb_failed("plot", "out of memory");
  if (out && tb_folder_there(p->verb->arena, out, &err)) return tb_verb_usage("plot", "%s", err.message);
  if (!tb_plot_result(p->document, stem, &p->options, &plot) || !plot.drawn)
    return tb_verb_failed("plot", "%s", plot.message);
  for (int f = 0; f < TB_PLOT_FORMATS; f++)
    if (*plot.picture[f]) puts(plot.picture[f]);
  if (*plot.message) fprintf(stderr, "tbench plot: %s\n", plot.message);
  return TB_EXIT_PASS;
}

static enum tb_exit plot_all(struct plotting *p) {
  struct tb_verb *verb = p->verb;
  if (!verb->args.words.len)
    return tb_verb_usage("plot",
                         "name a result file, several, or a folder of them: tbench plot results/….json");
  p->source = (struct tb_history_source){verb->args.words.data, verb->args.words.len,
                                         tb_args_value(&verb->args, "marks"), true};
  p->several = verb->args.words.len > 1 || is_folder(verb->args.words.data[0]);
  if (!parse_names(verb, "kind", TB_PLOT_KINDS, kind_name, &p->options.kinds) ||
      !parse_names(verb, "format", TB_PLOT_FORMATS, format_name, &p->options.formats))
    return TB_EXIT_USAGE;
  const bool history = p->options.kinds ? p->options.kinds >> TB_PLOT_HISTORY & 1 : p->several;
  if (p->source.marks && !history) return tb_verb_usage("plot", "marks= belongs to kind=history");
  if (!named_once(p) || !load_one_by_one(p) || !pick_cases(p)) return TB_EXIT_USAGE;
  const enum tb_exit code = history ? read_history(p) : TB_EXIT_PASS;
  return code == TB_EXIT_PASS ? draw(p) : code;
}

int tb_verb_plot(int argc, char *const *argv) {
  struct tb_verb verb;
  if (!tb_verb_begin(&verb, "plot", argc, argv, SIZE_MAX)) return TB_EXIT_USAGE;
  struct plotting p = {.verb = &verb};
  const enum tb_exit code = plot_all(&p);
  tb_history_close(&p.history);
  cJSON_Delete(p.document);
  tb_verb_end(&verb);
  return code;
}
