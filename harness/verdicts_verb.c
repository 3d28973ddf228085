/* Shared by the verbs that compare. */
#include "harness/verdicts_verb.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/folder.h"
#include "harness/record.h"
#include "harness/verb.h"
#include "reporters/reporter.h"

enum tb_exit tb_verdicts_policy(const char *verb, struct tc_arena *arena, const char *text, struct tb_policy *out) {
  struct tc_error err = {0};
  const tc_status status = tb_policy_load(arena, text, out, &err);
  if (!status) return TB_EXIT_PASS;
  return status == TC_NOMEM ? tb_verb_failed(verb, "%s", err.message) : tb_verb_usage(verb, "%s", err.message);
}

enum tb_exit tb_verdicts_check(const char *verb, struct tc_arena *arena, const struct tb_telling *telling) {
  struct tc_error err = {0};
  if (strcmp(telling->format, "console") && strcmp(telling->format, "json")) return tb_verb_usage(verb, "format=%s: use console or json", telling->format);
  if (telling->out && tb_folder_writable(arena, telling->out, &err)) return tb_verb_usage(verb, "%s", err.message);
  return TB_EXIT_PASS;
}

static bool show(const cJSON *document, const struct tb_telling *telling) {
  const struct tb_report_options options = {.verbose = telling->verbose, .colour = isatty(STDOUT_FILENO) && !getenv("NO_COLOR"), .result_path = telling->out};
  const bool good = strcmp(telling->format, "json") ? tb_report_comparison(document, &options, stdout) : tb_report_json(document, &options, stdout);
  return good && !fflush(stdout);
}

enum tb_exit tb_verdicts_tell(const struct tb_verdicts *c, const struct tb_telling *telling) {
  struct tc_error err = {0};
  cJSON *document = tb_verdicts_json(c);
  if (!document) return tb_exit_worse(c->exit, (enum tb_exit)tb_verb_failed(c->verb, "out of memory"));
  enum tb_exit code = c->exit;
  if (telling->out && tb_record_write(document, telling->out, &err)) code = tb_exit_worse(code, (enum tb_exit)tb_verb_failed(c->verb, "%s", err.message));
  if (!show(document, telling)) code = tb_exit_worse(code, TB_EXIT_FAILED);
  cJSON_Delete(document);
  return code;
}

struct tb_origin tb_origin_of(const char *path, const cJSON *document) {
  return (struct tb_origin){.what = path, .version = tb_doc_text(document, "tbench.version", NULL), .commit = tb_doc_text(document, "tbench.commit", NULL),
                            .started = tb_doc_text(document, "started", NULL)};
}
