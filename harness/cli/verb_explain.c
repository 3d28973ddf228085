/* `tbench explain suite=NAME [axis=VALUE…]`: what the compiler makes of each case, in the words of
 * tb.explain: graphs, breaks with their lines, guards, what was fused into each kernel, fallbacks, and the
 * time of each stage; as text, or as a document (format=json, format=html). The on-disk cache is left alone,
 * as an entry of it would hide kernels and stages, unless cache=on is written out. */
#include <stdio.h>
#include <string.h>

#include "harness/base/folder.h"
#include "harness/base/verb.h"
#include "harness/cli/explanation.h"
#include "harness/cli/verbs.h"
#include "harness/run/role.h"

static bool asks_for_cache(const struct tb_spec *spec) {
  for (size_t i = 0; i < spec->switches.len; i++)
    if (!strcmp(spec->switches.data[i].name, "cache")) return true;
  return false;
}

enum form { FORM_TEXT, FORM_JSON, FORM_HTML, FORMS };
static const char *const form_names[FORMS] = {"text", "json", "html"};

/* The case's explanation goes into the document, or (NULL) to standard output; its failure to standard
 * error. */
static enum tb_exit explain_case(struct tb_run *run, const struct tb_case *planned, cJSON *document) {
  struct tb_case uncached = *planned;
  const struct tb_case *kase = &uncached;
  struct tc_error err = {0};
  struct tb_process process;
  struct tb_prepared prepared;
  cJSON *reply = NULL;
  enum tb_exit code = TB_EXIT_PASS;
  if (planned->peer)
    return tb_verb_usage("explain", "backend=%s is a peer; only tbench's own backends can be explained",
                         planned->backend);
  uncached.config.cache = planned->config.cache && asks_for_cache(&run->spec);
  if (!document) printf("%s\n", kase->id);
  tc_status status = tb_role_start(run, kase, TB_ROLE_EXPLAINED, NULL, &process, &prepared, &err);
  if (!status) {
    cJSON *asked = tb_process_request(TB_REQUEST_explain);
    if (document) cJSON_AddBoolToObject(asked, "table", true);
    status = tb_process_ask(&process, asked, tb_run_timeout(run, kase), &reply, &err);
  }
  if (!status && document) {
    if (!tb_explanation_add(document, kase->id,
                            cJSON_DetachItemFromObjectCaseSensitive(reply, "explanation")))
      code = tb_verb_failed("explain", "out of memory");
  } else if (!status) {
    printf("%s\n", tb_json_text(reply, "text", ""));
  } else if (status == TC_INTERRUPTED || tb_interrupt_poll(&run->interrupt)) {
    code = TB_EXIT_INTERRUPTED;
  } else {
    tb_verb_failed("explain", "%s: %s: %s", kase->id, tb_outcome_text(process.outcome), process.why);
    if (process.trace) fprintf(stderr, "%s\n", process.trace);
    code = tb_outcome_exit(process.outcome);
  }
  cJSON_Delete(reply);
  tb_process_stop(&process);
  return code;
}

/* What the options ask for; FORMS: they do not fit, and a line went to standard error. */
static enum form read_form(struct tb_run *run) {
  const struct tb_options *o = &run->spec.options;
  struct tc_error err = {0};
  int form = 0;
  while (form < FORMS && strcmp(form_names[form], o->format)) form++;
  if (run->spec.measuring)
    tb_verb_usage("explain", "it takes no '%s': nothing is measured", run->spec.measuring);
  else if (form == FORMS)
    tb_verb_usage("explain", "format=%s: use text, json or html", o->format);
  else if (*o->out && form == FORM_TEXT)
    tb_verb_usage("explain", "out=%s: the text goes to standard output; write format=json or format=html too",
                  o->out);
  else if (*o->out && tb_folder_writable(run->arena, o->out, &err))
    tb_verb_usage("explain", "%s", err.message);
  else
    return (enum form)form;
  return FORMS;
}

static enum tb_exit write_document(const struct tb_run *run, enum form form, cJSON *document) {
  struct tc_error err = {0};
  if (!document) return TB_EXIT_PASS;
  return tb_explanation_write(document, form == FORM_HTML, run->spec.options.out, &err)
             ? tb_verb_failed("explain", "%s", err.message)
             : TB_EXIT_PASS;
}

static enum tb_exit explain_all(struct tb_run *run) {
  enum tb_exit code = TB_EXIT_PASS;
  const enum form form = read_form(run);
  if (form == FORMS) return TB_EXIT_USAGE;
  cJSON *document = form == FORM_TEXT ? NULL : tb_explanation_new();
  if (form != FORM_TEXT && !document) return tb_verb_failed("explain", "out of memory");
  for (size_t i = 0; code != TB_EXIT_USAGE && code != TB_EXIT_INTERRUPTED && i < run->plan.cases.len; i++)
    code = tb_exit_worse(code, explain_case(run, &run->plan.cases.data[i], document));
  code = tb_exit_worse(code, write_document(run, form, document));
  cJSON_Delete(document);
  return code;
}

int tb_verb_explain(int argc, char *const *argv) {
  struct tb_run run;
  enum tb_exit code = tb_run_open(&run, "explain", argc, argv);
  if (code == TB_EXIT_PASS) code = explain_all(&run);
  tb_run_close(&run);
  return code;
}
