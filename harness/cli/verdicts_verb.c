/* Shared by the verbs that compare. */
#include "harness/cli/verdicts_verb.h"

#include <stdio.h>
#include <string.h>

#include "harness/base/folder.h"
#include "harness/base/verb.h"
#include "harness/run/record.h"
#include "reporters/reporter.h"

enum tb_exit tb_verdicts_policy(const char *verb, struct tc_arena *arena, const char *text,
                                struct tb_policy *out) {
  struct tc_error err = {0};
  const tc_status status = tb_policy_load(arena, text, out, &err);
  if (!status) return TB_EXIT_PASS;
  return status == TC_NOMEM ? tb_verb_failed(verb, "%s", err.message)
                            : tb_verb_usage(verb, "%s", err.message);
}

/* Formats that take a comparison. */
static const char *format_names(struct tc_arena *arena) {
  const char *names = "";
  for (int i = 0; i < tb_reporter_count() && names; i++)
    if (tb_reporter_at(i)->write_comparison)
      names = tb_format(arena, "%s%s%s", names, *names ? ", " : "", tb_reporter_at(i)->name);
  return names ? names : "";
}

enum tb_exit tb_verdicts_check(const char *verb, struct tc_arena *arena, const struct tb_telling *telling) {
  struct tc_error err = {0};
  const struct tb_reporter *reporter = tb_reporter_find(telling->format);
  if (!reporter || !reporter->write_comparison)
    return tb_verb_usage(verb, "format=%s: use one of %s", telling->format, format_names(arena));
  if (telling->out && tb_folder_writable(arena, telling->out, &err))
    return tb_verb_usage(verb, "%s", err.message);
  return TB_EXIT_PASS;
}

/* Where that fails, the document lies elsewhere, or nowhere: *written tells. */
static enum tb_exit save(const struct tb_verdicts *c, const cJSON *document, const char *path,
                         const char **written) {
  struct tc_error err = {0};
  if (!tb_record_save(c->arena, document, path, written, &err)) return TB_EXIT_PASS;
  if (*written)
    return (enum tb_exit)tb_verb_failed(c->verb, "%s; the comparison is in %s instead", err.message,
                                        *written);
  return (enum tb_exit)tb_verb_failed(c->verb, "%s; the comparison is only shown here", err.message);
}

enum tb_exit tb_verdicts_tell(const struct tb_verdicts *c, const struct tb_telling *telling) {
  const char *written = NULL;
  cJSON *document = tb_verdicts_json(c);
  if (!document) return tb_exit_worse(c->exit, (enum tb_exit)tb_verb_failed(c->verb, "out of memory"));
  enum tb_exit code = c->exit;
  if (telling->out) code = tb_exit_worse(code, save(c, document, telling->out, &written));
  const struct tb_report_options options = {
      .verbose = telling->verbose, .colour = tb_verb_colour(), .result_path = written};
  if (!(tb_reporter_find(telling->format)->write_comparison(document, &options, stdout) && !fflush(stdout)))
    code = tb_exit_worse(code, TB_EXIT_FAILED);
  cJSON_Delete(document);
  return code;
}

struct tb_origin tb_origin_of(const char *path, const cJSON *document) {
  return (struct tb_origin){.what = path,
                            .version = tb_doc_text(document, "tbench.version", NULL),
                            .commit = tb_doc_text(document, "tbench.commit", NULL),
                            .started = tb_doc_text(document, "started", NULL)};
}
