/* Reading of result documents, and what may be told of them. */
#include "results/document.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum { WHY = 256 };

int tb_doc_count(const cJSON *documents) {
  return cJSON_IsArray(documents) ? cJSON_GetArraySize(documents) : 1;
}
const cJSON *tb_doc_nth(const cJSON *documents, int index) {
  return cJSON_IsArray(documents) ? cJSON_GetArrayItem(documents, index) : documents;
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

int tb_case_environment_number(const cJSON *one_case) {
  const double number = one_case ? tb_doc_number(one_case, "env") : 0;
  return number >= 0 && number < INT_MAX && number == floor(number) ? (int)number : -1;
}

const cJSON *tb_case_environment(const cJSON *result, const cJSON *one_case) {
  const int number = tb_case_environment_number(one_case);
  return number < 0 ? NULL : cJSON_GetArrayItem(tb_doc_at(result, "environments"), number);
}

const char *tb_doc_commit(const cJSON *result) {
  const char *commit = tb_doc_text(result, "tbench.commit", "");
  return *commit && tc_text_hex(commit) == strlen(commit) ? commit : NULL;
}

const char *tb_doc_whole_commit(const cJSON *result) {
  enum { SHA1 = 40 };
  const char *whole = tb_doc_text(result, "tbench.commit_whole", NULL),
             *commit = whole ? whole : tb_doc_commit(result);
  return commit && strlen(commit) == SHA1 && tc_text_hex(commit) == SHA1 ? commit : NULL;
}

/* --- what may be told --- */

bool tb_case_right(const cJSON *one_case) { return !strcmp(tb_doc_text(one_case, "outcome", ""), "ok"); }

double tb_case_figure(const cJSON *one_case, const char *path) {
  return tb_case_right(one_case) ? tb_doc_number(one_case, path) : NAN;
}

static bool was_not_reached(const cJSON *one_case) {
  return cJSON_IsTrue(tb_doc_at(one_case, "interrupted"));
}

bool tb_case_absent(const cJSON *one_case) {
  return !strcmp(tb_doc_text(one_case, "outcome", ""), "unsupported") || was_not_reached(one_case);
}

void tb_omitted_add(struct tb_omitted *u, const cJSON *one_case) {
  char word[TB_OMITTED_WORD];
  int k = 0;
  if (tb_case_right(one_case)) return;
  snprintf(word, sizeof word, "%s",
           was_not_reached(one_case) ? "interrupted"
                                     : tb_doc_text(one_case, "outcome", "without an outcome"));
  while (k < u->n_kinds && strcmp(u->kinds[k].outcome, word)) k++;
  u->total++;
  if (k == TB_OMITTED_KINDS) return; /* the total has it */
  if (k == u->n_kinds) memcpy(u->kinds[u->n_kinds++].outcome, word, sizeof word);
  u->kinds[k].count++;
}

static void append(char *out, size_t size, const char *text) {
  const size_t used = strlen(out);
  if (used + 1 < size) snprintf(out + used, size - used, "%s", text);
}

void tb_omitted_text(const struct tb_omitted *u, char *out, size_t size) {
  *out = '\0';
  for (int k = 0; k < u->n_kinds; k++) {
    char text[TB_OMITTED_WORD + 32];
    snprintf(text, sizeof text, "%s%d %s", k ? ", " : "", u->kinds[k].count, u->kinds[k].outcome);
    append(out, size, text);
  }
}

bool tb_result_open(const cJSON *result) { return cJSON_IsNull(tb_doc_at(result, "finished")); }

/* Cases of the plan; where it does not say how many they were, those that are there. */
static int planned_cases(const cJSON *result) {
  const int there = cJSON_GetArraySize(tb_doc_at(result, "cases"));
  const double planned = tb_doc_number(result, "planned");
  return planned > there && planned < INT_MAX ? (int)planned : there;
}

int tb_result_missing(const cJSON *result) {
  const cJSON *c;
  int reached = 0;
  cJSON_ArrayForEach(c, tb_doc_at(result, "cases")) reached += !was_not_reached(c);
  return planned_cases(result) - reached;
}

bool tb_result_incomplete(const cJSON *result, char *out, size_t size) {
  const bool open = tb_result_open(result), interrupted = cJSON_IsTrue(tb_doc_at(result, "interrupted"));
  const int missing = tb_result_missing(result);
  const char *why = open          ? "the run did not end"
                    : interrupted ? "the run was interrupted"
                                  : "the result is not whole";
  *out = '\0';
  if (missing)
    snprintf(out, size, "%s: %d of %d planned cases %s not measured", why, missing, planned_cases(result),
             missing == 1 ? "was" : "were");
  else if (open || interrupted)
    snprintf(out, size, "%s: replicates may be missing", why);
  return *out != '\0';
}

bool tb_result_complete(const cJSON *result) {
  char why[WHY];
  return !tb_result_incomplete(result, why, sizeof why);
}

double tb_case_complete(const cJSON *one_case) {
  const cJSON *stop = tb_doc_at(one_case, "speedup.replicates_stop");
  if (cJSON_IsNull(stop)) return 0; /* the run goes on, or was killed */
  if (!cJSON_IsString(stop)) return NAN;
  return strcmp(stop->valuestring, "budget") && strcmp(stop->valuestring, "interrupted");
}

/* --- names --- */

const char *tb_case_column(const cJSON *one_case) {
  const char *backend = tb_doc_text(one_case, "case.backend", "?");
  return strcmp(backend, "inductor") ? backend : tb_doc_text(one_case, "case.mode", "?");
}

static void append_params(const cJSON *params, char *out, size_t size) {
  const cJSON *p;
  cJSON_ArrayForEach(p, params) {
    char text[128];
    if (!p->string) return; /* no object */
    if (cJSON_IsString(p))
      snprintf(text, sizeof text, " · %s=%s", p->string, p->valuestring);
    else if (cJSON_IsBool(p))
      snprintf(text, sizeof text, " · %s=%s", p->string, cJSON_IsTrue(p) ? "true" : "false");
    else if (cJSON_IsNumber(p) && isfinite(p->valuedouble))
      snprintf(text, sizeof text, " · %s=%.10g", p->string, p->valuedouble);
    else
      snprintf(text, sizeof text, " · %s=?", p->string);
    append(out, size, text);
  }
}

void tb_case_group(const cJSON *one_case, char *out, size_t size) {
  char threads[32] = "?";
  const double count = tb_doc_number(one_case, "case.threads");
  if (!isnan(count)) snprintf(threads, sizeof threads, "%.10g", count);
  snprintf(out, size, "%s · %s · %s, %s thread%s on %s", tb_doc_text(one_case, "case.workload", "?"),
           tb_doc_text(one_case, "case.dtype", "?"), tb_doc_text(one_case, "case.device", "?"), threads,
           count == 1 ? "" : "s", tb_doc_text(one_case, "case.topology", "?"));
  append_params(tb_doc_at(one_case, "case.params"), out, size);
  append_params(tb_doc_at(one_case, "case.switches"), out, size);
}

void tb_format3(double value, char *out, size_t size) {
  const double a = fabs(value);
  if (isnan(value))
    snprintf(out, size, "–");
  else if (isinf(value))
    snprintf(out, size, "inf");
  else
    snprintf(out, size, "%.*f", a < 9.995 ? 2 : a < 99.95 ? 1 : 0, value);
}
