/* `tbench explain suite=NAME [axis=VALUE…]`: what the compiler makes of each case, in the words of tb.explain: graphs, breaks
 * with their lines, guards, what was fused into each kernel, fallbacks, and the time of each stage. The on-disk cache is left
 * alone, as an entry of it would hide kernels and stages, unless cache=on is written out. */
#include <stdio.h>
#include <string.h>

#include "harness/role.h"
#include "harness/verb.h"
#include "harness/verbs.h"

static bool asks_for_cache(const struct tb_spec *spec) {
  for (size_t i = 0; i < spec->switches.len; i++)
    if (!strcmp(spec->switches.data[i].name, "cache")) return true;
  return false;
}

/* The case's explanation on standard output, or its failure on standard error. */
static enum tb_exit explain_case(struct tb_run *run, const struct tb_case *planned) {
  struct tb_case uncached = *planned;
  const struct tb_case *kase = &uncached;
  struct tc_error err = {0};
  struct tb_process process;
  struct tb_prepared prepared;
  cJSON *reply = NULL;
  enum tb_exit code = TB_EXIT_PASS;
  uncached.config.cache = planned->config.cache && asks_for_cache(&run->spec);
  printf("%s\n", kase->id);
  tc_status status = tb_role_start(run, kase, TB_ROLE_EXPLAINED, NULL, &process, &prepared, &err);
  if (!status) status = tb_process_ask(&process, tb_process_request(TB_REQUEST_explain), tb_run_timeout(run, kase), &reply, &err);
  if (!status) {
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

int tb_verb_explain(int argc, char *const *argv) {
  struct tb_run run;
  enum tb_exit code = tb_run_open(&run, "explain", argc, argv);
  if (code == TB_EXIT_PASS && run.spec.measuring) code = tb_verb_usage("explain", "it takes no '%s': nothing is measured", run.spec.measuring);
  for (size_t i = 0; code != TB_EXIT_USAGE && code != TB_EXIT_INTERRUPTED && i < run.plan.cases.len; i++)
    code = tb_exit_worse(code, explain_case(&run, &run.plan.cases.data[i]));
  tb_run_close(&run);
  return code;
}
