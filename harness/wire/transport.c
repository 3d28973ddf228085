/* What all transports share. */
#include "harness/wire/transport.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/wire/protocol.h"

enum tb_outcome tb_launch_why_not(const struct tb_launch *launch, const struct tc_error *reason,
                                  char why[TB_WHY_BYTES]) {
  if (launch->script && launch->program && reason->status == TC_IO) {
    snprintf(why, TB_WHY_BYTES, "a peer needs %s: %s (TBENCH_PYTHON names another Python)", launch->program,
             reason->message);
    return TB_OUTCOME_UNSUPPORTED;
  }
  snprintf(why, TB_WHY_BYTES, "a worker cannot be started: %s", reason->message);
  return TB_OUTCOME_ERROR;
}

static const char *const end_names[] = {"left", "signal", "memory", "lost"};
enum { N_ENDS = sizeof end_names / sizeof *end_names };

cJSON *tb_end_json(const struct tb_end *end) {
  cJSON *json = cJSON_CreateObject();
  cJSON_AddStringToObject(json, "how", end_names[end->how]);
  cJSON_AddNumberToObject(json, "number", end->number);
  return json;
}

bool tb_end_parse(const cJSON *json, struct tb_end *end) {
  const char *how = tb_json_text(json, "how", "");
  for (int i = 0; i < N_ENDS; i++) {
    if (strcmp(how, end_names[i])) continue;
    *end = (struct tb_end){(enum tb_end_how)i, (int)tb_json_number(json, "number", 0)};
    return true;
  }
  return false;
}

void tb_link_close(struct tb_link *link) {
  int *const fds[] = {&link->control, &link->exchange, &link->text};
  for (size_t i = 0; i < sizeof fds / sizeof *fds; i++) {
    if (*fds[i] >= 0) close(*fds[i]);
    *fds[i] = -1;
  }
}
