/* Reading of result documents. Nothing here trusts a field to be there. */
#include <math.h>
#include <string.h>

#include "reporters/reporter.h"

int tb_doc_count(const cJSON *documents) { return cJSON_IsArray(documents) ? cJSON_GetArraySize(documents) : 1; }
const cJSON *tb_doc_nth(const cJSON *documents, int index) { return cJSON_IsArray(documents) ? cJSON_GetArrayItem(documents, index) : documents; }

bool tb_report_lacks(const struct tb_report_options *options, const char *what) {
  if (options->failure) snprintf(options->failure, TB_REPORT_FAILURE, "%s", what);
  return false;
}

const cJSON *tb_doc_at(const cJSON *item, const char *path) {
  char name[64];
  while (item && *path) {
    const size_t n = strcspn(path, ".");
    if (n >= sizeof name) return NULL;
    memcpy(name, path, n);
    name[n] = '\0';
    item = cJSON_GetObjectItemCaseSensitive(item, name);
    path += n + (path[n] == '.');
  }
  return item;
}

double tb_doc_number(const cJSON *item, const char *path) {
  const cJSON *at = tb_doc_at(item, path);
  return cJSON_IsNumber(at) && isfinite(at->valuedouble) ? at->valuedouble : NAN;
}

const char *tb_doc_text(const cJSON *item, const char *path, const char *otherwise) {
  const cJSON *at = tb_doc_at(item, path);
  return cJSON_IsString(at) ? at->valuestring : otherwise;
}

const char *tb_case_column(const cJSON *one_case) {
  const char *backend = tb_doc_text(one_case, "case.backend", "?");
  return strcmp(backend, "inductor") ? backend : tb_doc_text(one_case, "case.mode", "?");
}

static void append(char *out, size_t size, const char *text) {
  const size_t used = strlen(out);
  if (used + 1 < size) snprintf(out + used, size - used, "%s", text);
}

static void append_params(const cJSON *params, char *out, size_t size) {
  const cJSON *p;
  cJSON_ArrayForEach(p, params) {
    char text[128];
    if (!p->string) return; /* no object */
    if (cJSON_IsString(p)) snprintf(text, sizeof text, " · %s=%s", p->string, p->valuestring);
    else if (cJSON_IsBool(p)) snprintf(text, sizeof text, " · %s=%s", p->string, cJSON_IsTrue(p) ? "true" : "false");
    else if (cJSON_IsNumber(p) && isfinite(p->valuedouble)) snprintf(text, sizeof text, " · %s=%.10g", p->string, p->valuedouble);
    else snprintf(text, sizeof text, " · %s=?", p->string);
    append(out, size, text);
  }
}

void tb_case_group(const cJSON *one_case, char *out, size_t size) {
  char threads[32] = "?";
  const double count = tb_doc_number(one_case, "case.threads");
  if (!isnan(count)) snprintf(threads, sizeof threads, "%.10g", count);
  snprintf(out, size, "%s · %s · %s, %s thread%s on %s", tb_doc_text(one_case, "case.workload", "?"), tb_doc_text(one_case, "case.dtype", "?"),
           tb_doc_text(one_case, "case.device", "?"), threads, count == 1 ? "" : "s", tb_doc_text(one_case, "case.topology", "?"));
  append_params(tb_doc_at(one_case, "case.params"), out, size);
  append_params(tb_doc_at(one_case, "case.switches"), out, size);
}

void tb_format3(double value, char *out, size_t size) {
  const double a = fabs(value);
  if (isnan(value)) snprintf(out, size, "–");
  else if (isinf(value)) snprintf(out, size, "inf");
  else snprintf(out, size, "%.*f", a < 9.995 ? 2 : a < 99.95 ? 1 : 0, value);
}
