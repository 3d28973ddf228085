/* Starting workers: what a transport starts becomes a process that has said its hello. */
#include "harness/wire/process.h"

#include <stdio.h>
#include <string.h>

#include "harness/base/build.h"
#include "harness/base/clock.h"
#include "harness/base/text.h"

/* Workers of before are spoken to as they know it; a launcher is of this version, or none. */
static tc_status check_protocol(struct tb_process *p, const cJSON *hello, struct tc_error *err) {
  const double protocol = tb_json_number(hello, "protocol", 0);
  const bool launcher = tb_json_bool(hello, "launcher", false);
  if (launcher ? protocol == TB_PROTOCOL : protocol <= TB_PROTOCOL) return TC_OK;
  p->link.transport->kind->kill(&p->link);
  if (launcher)
    return tb_process_fail(
        p, TB_OUTCOME_ERROR, err,
        "tbench launch there is of version %s and speaks protocol %.0f, this program %s and "
        "%d: install one version on both sides",
        tb_json_text(hello, "version", "?"), protocol, PACKAGE_VERSION, TB_PROTOCOL);
  return tb_process_fail(p, TB_OUTCOME_ERROR, err,
                         "the worker speaks protocol %.0f, and this program no later one than %d: run the "
                         "newer tbench, and name this one as the other side",
                         protocol, TB_PROTOCOL);
}

static tc_status receive_hello(struct tb_process *p, double timeout_s, struct tc_error *err) {
  cJSON *hello;
  const tc_status status = tb_process_receive(p, timeout_s, &hello, err);
  if (status) return status;
  const cJSON *facts = cJSON_GetObjectItemCaseSensitive(hello, "hello");
  p->greeted = true;
  const double ready = tb_json_number(facts, "ready_ns", 0);
  p->artifact_abi = (int)tb_json_number(facts, "artifact_abi", -1);
  snprintf(p->generators, sizeof p->generators, "%s", tb_json_text(facts, "generators", ""));
  snprintf(p->framework, sizeof p->framework, "%s", tb_json_text(facts, "framework", ""));
  tb_text_clean(p->framework, TB_TEXT_LINE);
  /* A launcher has the clock that the worker was ready by, and tells the difference. */
  p->start_ns = tb_json_number(facts, "start_ns", ready - (double)p->link.started_ns);
  p->link.bound = tb_json_bool(facts, "bound", p->link.bound);
  const tc_status checked = check_protocol(p, facts, err);
  cJSON_Delete(hello);
  return checked;
}

void tb_process_clear(struct tb_process *p) {
  *p = (struct tb_process){.link = tb_link_none(), .outcome = TB_OUTCOME_OK, .asked = TB_REQUEST_COUNT};
  tc_strbuf_init(&p->inbox, tc_alloc_system());
  tc_strbuf_init(&p->values, tc_alloc_system());
}

static tc_status fail_start(struct tb_process *p, const struct tb_launch *launch,
                            const struct tc_error *reason, struct tc_error *err) {
  char why[TB_WHY_BYTES];
  const enum tb_outcome outcome = tb_launch_why_not(launch, reason, why);
  return tb_process_fail(p, outcome, err, "%s", why);
}

tc_status tb_process_start(struct tb_process *p, const struct tb_launch *launch,
                           struct tb_interrupt *interrupt, double timeout_s, struct tc_error *err) {
  const int64_t begun = tb_now_ns();
  const struct tb_transport *transport = launch->transport ? launch->transport : tb_transport_local();
  tb_process_clear(p);
  p->interrupt = interrupt;
  p->ledger = launch->ledger;
  p->echo = *launch->config->logs != '\0';
  tb_output_stream_begin(&p->output_stream, p->echo ? NULL : launch->worker_output,
                         launch->suite ? launch->suite : "");
  struct tc_error reason = {0};
  const sigset_t *mask = interrupt ? &interrupt->before : NULL;
  tc_status status = transport->kind->start(transport, launch, mask, &p->link, &reason);
  if (status)
    status = status == TC_INTERRUPTED ? tc_fail(err, status, "worker", "interrupted")
                                      : fail_start(p, launch, &reason, err);
  else if (transport->kind->launched)
    status = receive_hello(p, timeout_s, err); /* the launcher's */
  if (!status) status = receive_hello(p, timeout_s, err);
  if (p->ledger) {
    p->ledger->processes++;
    p->ledger->start_ns += (double)(tb_now_ns() - begun);
  }
  return status;
}
