/* The table of formats, and the way from a result to the bodies of requests. */
#include "harness/push_format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/args.h"
#include "harness/stats.h"
#include "reporters/reporter.h"

static const struct tb_push_format formats[] = {
#define TB_PUSH_FORMAT(name, reporter, cut, path, mark, must, query, method, type, gzip, credential, stored, known, twice, help)                            \
  {#name, #reporter, TB_CUT_##cut, path, mark, must, query, #method, type, gzip, credential, stored, known, TB_TWICE_##twice, help},
#define TB_PUSH_FILE_ONLY(name, why)
#include "harness/push_formats.def"
#undef TB_PUSH_FORMAT
#undef TB_PUSH_FILE_ONLY
};

int tb_push_format_count(void) { return (int)(sizeof formats / sizeof *formats); }
const struct tb_push_format *tb_push_format_at(int index) { return &formats[index]; }

const struct tb_push_format *tb_push_format_find(const char *name) {
  for (int i = 0; i < tb_push_format_count(); i++)
    if (!strcmp(formats[i].name, name)) return &formats[i];
  return NULL;
}

const char *tb_push_file_only(const char *name) {
#define TB_PUSH_FORMAT(name, reporter, cut, path, mark, must, query, method, type, gzip, credential, stored, known, twice, help)
#define TB_PUSH_FILE_ONLY(format, why) \
  if (!strcmp(name, #format)) return why;
#include "harness/push_formats.def"
#undef TB_PUSH_FORMAT
#undef TB_PUSH_FILE_ONLY
  return NULL;
}

static tc_status no_memory(struct tc_error *err) { return tc_fail(err, TC_NOMEM, "push", "out of memory"); }

/* --- where it goes --- */

/* Whether the text contains one of "a|b|c". */
static bool has_one(const char *text, const char *alternatives) {
  char word[64];
  if (!*alternatives) return true;
  for (const char *at = alternatives; *at; at += strcspn(at, "|"), at += *at == '|') {
    snprintf(word, sizeof word, "%.*s", (int)strcspn(at, "|"), at);
    if (strstr(text, word)) return true;
  }
  return false;
}

/* Whether a query says a parameter. */
static bool says(const char *query, const char *name, size_t length) {
  for (const char *at = query; *at; at += strcspn(at, "&"), at += *at == '&')
    if (!strncmp(at, name, length) && at[length] == '=') return true;
  return false;
}

tc_status tb_push_target(struct tc_arena *arena, const struct tb_push_format *format, const struct tb_url *url, const char **target, struct tc_error *err) {
  const char *path = strstr(url->path, format->mark) ? url->path : tb_format(arena, "%s%s", url->path, format->path);
  const char *query = url->query;
  for (const char *at = format->query; *at && query; at += strcspn(at, "&"), at += *at == '&')
    if (!says(query, at, strcspn(at, "="))) query = tb_format(arena, "%s%s%.*s", query, *query ? "&" : "", (int)strcspn(at, "&"), at);
  *target = path && query ? tb_format(arena, "%s%s%s%s", url->start, path, *query ? "?" : "", query) : NULL;
  if (!*target) return no_memory(err);
  if (has_one(*target, format->must)) return TC_OK;
  return tc_fail(err, TC_ARG, "push", "format=%s: to= has no '%s' (%s)", format->name, format->must, format->help);
}

/* --- what goes --- */

static tc_status add_body(struct tc_arena *arena, const char *text, size_t bytes, tb_push_bodies *bodies, struct tc_error *err) {
  char *copy = text ? tc_arena_bytes(arena, bytes + 1) : NULL;
  if (!copy) return no_memory(err);
  memcpy(copy, text, bytes);
  copy[bytes] = '\0';
  return tc_vec_push(tc_arena_alloc(arena), bodies, ((struct tb_push_body){copy, bytes})) ? TC_OK : no_memory(err);
}

static tc_status add_json(struct tc_arena *arena, const cJSON *item, tb_push_bodies *bodies, struct tc_error *err) {
  char *text = item ? cJSON_PrintUnformatted(item) : NULL;
  const tc_status status = add_body(arena, text, text ? strlen(text) : 0, bodies, err);
  cJSON_free(text);
  return status;
}

static tc_status add_elements(struct tc_arena *arena, const char *text, tb_push_bodies *bodies, struct tc_error *err) {
  cJSON *all = cJSON_Parse(text);
  tc_status status = cJSON_IsArray(all) ? TC_OK : tc_fail(err, TC_CORRUPT, "push", "the reporter wrote no list of requests");
  const cJSON *one;
  if (!status) cJSON_ArrayForEach(one, all)
    if (!status) status = add_json(arena, one, bodies, err);
  cJSON_Delete(all);
  return status;
}

/* A whole SHA-1 or SHA-256 of git; NULL: the commit is shortened, unknown, or of a changed tree, and names no version. */
static const char *whole_commit(const cJSON *result) {
  enum { SHA1 = 40, SHA256 = 64 };
  const char *commit = tb_doc_text(result, "tbench.commit", "");
  const size_t n = strlen(commit);
  return (n == SHA1 || n == SHA256) && strspn(commit, "0123456789abcdef") == n ? commit : NULL;
}

/* Bencher's JsonNewReport: the document of the reporter is one text in its list of results. */
static tc_status add_report(struct tc_arena *arena, const char *text, const cJSON *result, const char *branch, tb_push_bodies *bodies, struct tc_error *err) {
  cJSON *report = cJSON_CreateObject(), *settings = cJSON_CreateObject(), *results = cJSON_CreateArray(), *one = cJSON_CreateString(text);
  const char *started = tb_doc_text(result, "started", ""), *finished = tb_doc_text(result, "finished", started), *commit = whole_commit(result);
  const cJSON *environment = cJSON_GetArrayItem(tb_doc_at(result, "environments"), 0);
  bool good = report && settings && results && one && cJSON_AddStringToObject(report, "branch", branch);
  good = good && (!commit || cJSON_AddStringToObject(report, "hash", commit)) && cJSON_AddStringToObject(report, "testbed", tb_doc_text(environment, "host", "unknown"));
  good = good && cJSON_AddStringToObject(report, "start_time", started) && cJSON_AddStringToObject(report, "end_time", finished);
  good = good && cJSON_AddStringToObject(settings, "adapter", "json");
  if (good && cJSON_AddItemToArray(results, one)) one = NULL;
  if (good && cJSON_AddItemToObject(report, "results", results)) results = NULL;
  if (good && cJSON_AddItemToObject(report, "settings", settings)) settings = NULL;
  const tc_status status = good && !one && !results && !settings ? add_json(arena, report, bodies, err) : no_memory(err);
  cJSON_Delete(one);
  cJSON_Delete(results);
  cJSON_Delete(settings);
  cJSON_Delete(report);
  return status;
}

tc_status tb_push_make(struct tc_arena *arena, const struct tb_push_format *format, const cJSON *result, const char *branch, tb_push_bodies *bodies, struct tc_error *err) {
  const struct tb_reporter *reporter = tb_reporter_find(format->reporter);
  if (!reporter) return tc_fail(err, TC_UNSUPPORTED, "push", "this build has no reporter '%s'", format->reporter);
  char failure[TB_REPORT_FAILURE] = "";
  const struct tb_report_options options = {.half_width = tb_half_width, .failure = failure};
  char *text = NULL;
  size_t bytes = 0;
  FILE *out = open_memstream(&text, &bytes);
  bool good = out && reporter->write(result, &options, out);
  if (out && fclose(out)) good = false;
  tc_status status = TC_OK;
  if (!good) status = *failure ? tc_fail(err, TC_ARG, "push", "format=%s: %s", format->name, failure) : no_memory(err);
  else if (format->cut == TB_CUT_WHOLE) status = add_body(arena, text, bytes, bodies, err);
  else if (format->cut == TB_CUT_ELEMENTS) status = add_elements(arena, text, bodies, err);
  else status = add_report(arena, text, result, branch, bodies, err);
  free(text);
  return status;
}
