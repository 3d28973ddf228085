/* Names of machines out of documents. */
#include "dashboard/analysis/machine.h"
#include "results/document.h"

#include <stdio.h>
#include <string.h>

void tb_machine_name(const cJSON *environment, char out[TB_MACHINE_NAME]) {
  snprintf(out, TB_MACHINE_NAME, "%.*s · %.*s", TB_SUBMISSION_NAME / 2, tb_doc_text(environment, "host", "?"),
           TB_SUBMISSION_NAME / 2, tb_doc_text(environment, "cpu.model", "?"));
}

int tb_machine_keep(cJSON *document, const char *machine) {
  cJSON *cases = cJSON_GetObjectItemCaseSensitive(document, "cases"), *next;
  cJSON *planned = cJSON_GetObjectItemCaseSensitive(document, "planned");
  const int before = cJSON_GetArraySize(cases);
  char name[TB_MACHINE_NAME];
  for (cJSON *one = cases ? cases->child : NULL; one; one = next) {
    next = one->next;
    tb_machine_name(tb_case_environment(document, one), name);
    if (strcmp(name, machine)) cJSON_Delete(cJSON_DetachItemViaPointer(cases, one));
  }
  const int left = cJSON_GetArraySize(cases);
  if (planned) cJSON_SetNumberHelper(planned, planned->valuedouble + left - before);
  return left;
}
