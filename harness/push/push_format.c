/* The table of formats, and the way from a result to the bodies of requests. */
#include "harness/push/push_format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "harness/base/args.h"
#include "reporters/reporter.h"

static const struct tb_push_format formats[] = {
#define TB_PUSH_FORMAT(name, reporter, cut, path, mark, must, query, method, type, gzip, credential, stored, \
                       known, proof, member, twice, help)                                                    \
  {#name,        #reporter,                                                                                  \
   TB_CUT_##cut, path,                                                                                       \
   mark,         must,                                                                                       \
   query,        #method,                                                                                    \
   type,         gzip,                                                                                       \
   credential,   stored,                                                                                     \
   known,        TB_PROOF_##proof,                                                                           \
   member,       TB_TWICE_##twice,                                                                           \
   help},
#define TB_PUSH_FILE_ONLY(name, why)
#include "harness/push/push_formats.def"
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
#define TB_PUSH_FORMAT(name, reporter, cut, path, mark, must, query, method, type, gzip, credential, stored, \
                       known, proof, member, twice, help)
#define TB_PUSH_FILE_ONLY(format, why)                                                                       \
  if (!strcmp(name, #format)) return why;
#include "harness/push/push_formats.def"
#undef TB_PUSH_FORMAT
#undef TB_PUSH_FILE_ONLY
  return NULL;
}

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

/* Value of a parameter of a query, in the arena; NULL: it has none, or memory is out. */
static const char *value_of(struct tc_arena *arena, const char *query, const char *name) {
  const size_t length = strlen(name);
  for (const char *at = query; *at; at += strcspn(at, "&"), at += *at == '&')
    if (!strncmp(at, name, length) && at[length] == '=')
      return tb_format(arena, "%.*s", (int)strcspn(at + length + 1, "&"), at + length + 1);
  return NULL;
}

tc_status tb_push_target(struct tc_arena *arena, const struct tb_push_format *format,
                         const struct tb_url *url, const char **target, struct tc_error *err) {
  const char *path =
      strstr(url->path, format->mark) ? url->path : tb_format(arena, "%s%s", url->path, format->path);
  const char *query = url->query;
  for (const char *at = format->query; *at && query; at += strcspn(at, "&"), at += *at == '&')
    if (!says(query, at, strcspn(at, "=")))
      query = tb_format(arena, "%s%s%.*s", query, *query ? "&" : "", (int)strcspn(at, "&"), at);
  *target = path && query ? tb_format(arena, "%s%s%s%s", url->start, path, *query ? "?" : "", query) : NULL;
  if (!*target) return tc_fail_memory(err, "push");
  if (has_one(*target, format->must)) return TC_OK;
  return tc_fail(err, TC_ARG, "push", "format=%s: to= has no '%s' (%s)", format->name, format->must,
                 format->help);
}

bool tb_push_replaces(const struct tb_push_format *format) { return !strcmp(format->method, "PUT"); }

/* Base64 as URLs take it (RFC 4648, 5), without '=' at its end. */
static const char *base64(struct tc_arena *arena, const char *text) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  enum { IN_BITS = 8, OUT_BITS = 6, OUT_MASK = (1 << OUT_BITS) - 1 };
  char *out = tc_arena_bytes(arena, 2 * strlen(text) + 1), *to = out;
  unsigned held = 0, bits = 0;
  for (const char *at = text; out && *at; at++) {
    held = held << IN_BITS | (unsigned char)*at;
    for (bits += IN_BITS; bits >= OUT_BITS; bits -= OUT_BITS)
      *to++ = digits[held >> (bits - OUT_BITS) & OUT_MASK];
  }
  if (out && bits) *to++ = digits[held << (OUT_BITS - bits) & OUT_MASK];
  if (out) *to = '\0';
  return out;
}

/* "/text" behind a label's name in a path of the Pushgateway, or, where text has what a path cannot say,
 * "@base64/…". */
static const char *label_value(struct tc_arena *arena, const char *text) {
  static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._,-";
  if (!*text) text = "unknown";
  if (strspn(text, safe) == strlen(text) && text[strspn(text, ".")]) return tb_format(arena, "/%s", text);
  const char *encoded = base64(arena, text);
  return encoded ? tb_format(arena, "@base64/%s", encoded) : NULL;
}

/* "mlp" or "mlp,pointwise", in the order of the cases. */
static const char *suites_of(struct tc_arena *arena, const cJSON *result) {
  const cJSON *cases = tb_doc_at(result, "cases"), *one, *other;
  const char *all = "";
  cJSON_ArrayForEach(one, cases) {
    const char *suite = tb_doc_text(one, "case.suite", "");
    other = cases->child;
    while (other != one && strcmp(tb_doc_text(other, "case.suite", ""), suite)) other = other->next;
    if (other == one && *suite && all) all = tb_format(arena, "%s%s%s", all, *all ? "," : "", suite);
  }
  return all;
}

static const char *replace(struct tc_arena *arena, const char *text, const char *place, const char *value) {
  const char *at = text && value ? strstr(text, place) : NULL;
  if (!at) return value ? text : NULL;
  return tb_format(arena, "%.*s%s%s", (int)(at - text), text, value, at + strlen(place));
}

const char *tb_push_target_of(struct tc_arena *arena, const char *target, const cJSON *result) {
  if (!strchr(target, '{')) return target; /* no URL that was given has one */
  const char *host = tb_doc_text(cJSON_GetArrayItem(tb_doc_at(result, "environments"), 0), "host", ""),
             *suites = suites_of(arena, result);
  const char *with_host = replace(arena, target, "{host}", label_value(arena, host));
  return replace(arena, with_host, "{suites}", suites ? label_value(arena, suites) : NULL);
}

/* --- what goes --- */

static tc_status add_body(struct tc_arena *arena, const char *text, size_t bytes, tb_push_bodies *bodies,
                          struct tc_error *err) {
  char *copy = text ? tc_arena_bytes(arena, bytes + 1) : NULL;
  if (!copy) return tc_fail_memory(err, "push");
  memcpy(copy, text, bytes);
  copy[bytes] = '\0';
  return tc_vec_push(tc_arena_alloc(arena), bodies, ((struct tb_push_body){copy, bytes}))
             ? TC_OK
             : tc_fail_memory(err, "push");
}

static tc_status add_json(struct tc_arena *arena, const cJSON *item, tb_push_bodies *bodies,
                          struct tc_error *err) {
  char *text = item ? cJSON_PrintUnformatted(item) : NULL;
  const tc_status status = add_body(arena, text, text ? strlen(text) : 0, bodies, err);
  cJSON_free(text);
  return status;
}

static tc_status add_elements(struct tc_arena *arena, const char *text, tb_push_bodies *bodies,
                              struct tc_error *err) {
  cJSON *all = cJSON_Parse(text);
  tc_status status =
      cJSON_IsArray(all) ? TC_OK : tc_fail(err, TC_CORRUPT, "push", "the reporter wrote no list of requests");
  const cJSON *one;
  if (!status)
    cJSON_ArrayForEach(one, all)
      if (!status) status = add_json(arena, one, bodies, err);
  cJSON_Delete(all);
  return status;
}

/* A UUID (of version 8) that is the same for the same document, by which Bencher knows one that it has. */
static bool add_key(cJSON *document) {
  char text[sizeof "00000000-0000-8000-8000-000000000000"], digits[TC_SHA256_HEX],
      *printed = cJSON_PrintUnformatted(document);
  if (!printed) return false;
  tc_sha256_of(printed, strlen(printed), digits);
  cJSON_free(printed);
  snprintf(text, sizeof text, "%.8s-%.4s-8%.3s-8%.3s-%.12s", digits, digits + 8, digits + 12, digits + 15,
           digits + 18);
  return cJSON_AddStringToObject(document, "idempotency_key", text);
}

static bool add_list_of_one(cJSON *document, const char *name, const char *text) {
  cJSON *list = cJSON_AddArrayToObject(document, name), *one = cJSON_CreateString(text);
  if (list && one && cJSON_AddItemToArray(list, one)) return true;
  cJSON_Delete(one);
  return false;
}

/* Bencher's JsonNewRun: the document of the reporter is one text in its list of results. */
static tc_status add_report(struct tc_arena *arena, const char *text, const cJSON *result,
                            const struct tb_push_place *place, tb_push_bodies *bodies, struct tc_error *err) {
  enum { TESTBED = 64 };
  const char *started = tb_doc_text(result, "started", NULL),
             *finished = tb_doc_text(result, "finished", started),
             *commit = tb_doc_whole_commit(result); /* Bencher takes no other one */
  const char *project = value_of(arena, place->url->query, "project"),
             *host = tb_doc_text(cJSON_GetArrayItem(tb_doc_at(result, "environments"), 0), "host", "");
  char testbed[TESTBED + 1];
  if (!project) return tc_fail(err, TC_ARG, "push", "format=bencher: to= has no project=NAME");
  if (!started)
    return tc_fail(err, TC_ARG, "push", "format=bencher: the result has no start time, which Bencher needs");
  snprintf(testbed, sizeof testbed, "%s", *host ? host : "unknown");
  cJSON *run = cJSON_CreateObject(), *settings = cJSON_AddObjectToObject(run, "settings");
  const bool good = settings && cJSON_AddStringToObject(settings, "adapter", "json") &&
                    cJSON_AddStringToObject(run, "project", project) &&
                    cJSON_AddStringToObject(run, "branch", place->branch) &&
                    (!commit || cJSON_AddStringToObject(run, "hash", commit)) &&
                    cJSON_AddStringToObject(run, "testbed", testbed) &&
                    cJSON_AddStringToObject(run, "start_time", started) &&
                    cJSON_AddStringToObject(run, "end_time", finished) &&
                    add_list_of_one(run, "results", text) && add_key(run);
  const tc_status status = good ? add_json(arena, run, bodies, err) : tc_fail_memory(err, "push");
  cJSON_Delete(run);
  return status;
}

static tc_status make_report(struct tc_arena *arena, const struct tb_push_format *format, const cJSON *result,
                             const struct tb_push_place *place, tb_push_bodies *bodies,
                             struct tc_error *err) {
  const struct tb_reporter *reporter = tb_reporter_find(format->reporter);
  if (!reporter)
    return tc_fail(err, TC_UNSUPPORTED, "push", "this build has no reporter '%s'", format->reporter);
  char failure[TB_REPORT_FAILURE] = "";
  const struct tb_report_options options = {.failure = failure};
  char *text = NULL;
  size_t bytes = 0;
  FILE *out = open_memstream(&text, &bytes);
  bool good = out && reporter->write(result, &options, out);
  if (out && fclose(out)) good = false;
  tc_status status = TC_OK;
  if (!good)
    status = *failure ? tc_fail(err, TC_ARG, "push", "format=%s: %s", format->name, failure)
                      : tc_fail_memory(err, "push");
  else if (format->cut == TB_CUT_WHOLE)
    status = add_body(arena, text, bytes, bodies, err);
  else if (format->cut == TB_CUT_ELEMENTS)
    status = add_elements(arena, text, bodies, err);
  else
    status = add_report(arena, text, result, place, bodies, err);
  free(text);
  return status;
}

tc_status tb_push_make(struct tc_arena *arena, const struct tb_push_format *format,
                       const struct tb_push_document *document, const struct tb_push_place *place,
                       tb_push_bodies *bodies, struct tc_error *err) {
  const struct tb_push_body file = {document->text, document->bytes};
  if (format->cut != TB_CUT_FILE) return make_report(arena, format, document->result, place, bodies, err);
  return tc_vec_push(tc_arena_alloc(arena), bodies, file) ? TC_OK : tc_fail_memory(err, "push");
}
