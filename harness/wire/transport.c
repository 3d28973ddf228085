/* What all transports share. */
#include "harness/wire/transport.h"

#include <string.h>
#include <unistd.h>

#include "harness/wire/protocol.h"

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
