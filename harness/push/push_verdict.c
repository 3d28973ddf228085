/* What an answer means. Invariants:
 * 1. STORED and KNOWN come from a status that the format's row names, with the body that it names: a log-in
 *    page or a proxy answers 200 to everything, and another document's key acknowledges another document.
 * 2. REFUSED is what stays true when the same bytes are sent again; whatever may pass by itself is RETRY;
 *    what speaks of the URL or of a proxy, not of the bytes, is HOLD.
 * 3. What an endpoint says is one line of clean text without the token. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/text.h"
#include "harness/push/push.h"
#include "results/document.h"

enum {
  REQUEST_TIMEOUT = 408,
  TOO_EARLY = 425,
  TOO_MANY = 429,
  UNAUTHORIZED = 401,
  FORBIDDEN = 403,
  UNSUPPORTED_MEDIA = 415,
  NOT_FOUND = 404,
  NO_METHOD = 405,
  PROXY_DENIED = 407,
  GONE = 410,
  MISDIRECTED = 421,
  NOT_IMPLEMENTED = 501,
  HTTP_VERSION = 505,
  CLIENT_ERRORS = 400,
  SERVER_ERRORS = 500,
  REDIRECTS = 300,
  SUCCESSES = 200
};
enum { TOKEN_PIECE = 4 /* characters of a token that are worth hiding */ };

static bool lists(const char *statuses, int status) {
  for (char *end; *statuses; statuses = end + (*end == ' '))
    if (strtol(statuses, &end, 10) == status) return true;
  return false;
}

/* Stars for each place that holds the token, and for its begin at the end of a text that was cut off. */
static void blot_out(char *text, const char *token) {
  const size_t length = token ? strlen(token) : 0;
  if (!length) return;
  for (char *at = strstr(text, token); at; at = strstr(at + length, token)) memset(at, '*', length);
  const size_t whole = strlen(text);
  for (size_t piece = length - 1; piece >= TOKEN_PIECE; piece--)
    if (piece <= whole && !memcmp(text + whole - piece, token, piece))
      memset(text + whole - piece, '*', piece);
}

/* What the body says of an error: the text of a field that endpoints use for it, or its begin. */
static void reason_of(const struct tb_push_answer *answer, const char *token, char out[TB_PUSH_TEXT]) {
  static const char *const fields[] = {"error",       "message",      "msg",
                                       "description", "errorMessage", "error.message"};
  cJSON *document = cJSON_Parse(answer->text);
  const char *found = NULL;
  for (size_t i = 0; !found && i < sizeof fields / sizeof *fields; i++)
    found = tb_doc_text(document, fields[i], NULL);
  const cJSON *described =
      found ? NULL : tb_doc_at(document, "description"); /* Conbench: an object of complaints */
  char *printed = described ? cJSON_PrintUnformatted(described) : NULL;
  const char *text = found ? found : printed ? printed : answer->text;
  snprintf(out, TB_PUSH_TEXT, "%s", text + strspn(text, " \t\r\n"));
  cJSON_free(printed);
  cJSON_Delete(document);
  blot_out(out, token);
}

/* --- what the body shows --- */

static const char *begin_of(const char *text) { return text + strspn(text, " \t\r\n"); }

/* Whether an endpoint of this format speaks, of this document; `body`: as JSON, NULL: it is none. Of a long
 * answer the begin alone is kept: where no key is asked for, that it begins as one must do, for sent again it
 * might be stored twice. */
static bool proves(const struct tb_push_format *format, const struct tb_push_request *request,
                   const struct tb_push_answer *answer, const cJSON *body) {
  const cJSON *member = tb_doc_at(body, format->member);
  switch (format->proof) {
    case TB_PROOF_KEY: return cJSON_IsString(member) && !strcasecmp(member->valuestring, request->key);
    case TB_PROOF_MEMBER:
      return answer->cut ? *begin_of(answer->text) == '{' && strcasestr(answer->type, "json")
                         : member && !cJSON_IsNull(member);
    case TB_PROOF_NOTHING: break;
  }
  return !answer->cut && !*begin_of(answer->text);
}

static bool is_page(const struct tb_push_answer *answer) {
  return !strncasecmp(answer->type, "text/html", strlen("text/html"));
}

/* Or of a proxy: other bytes would be answered the same. */
static bool speaks_of_url(int status) {
  return status == NOT_FOUND || status == NO_METHOD || status == PROXY_DENIED || status == GONE ||
         status == MISDIRECTED;
}

/* --- verdicts --- */

static bool claims(const struct tb_push_format *format, int status) {
  return lists(format->stored, status) || lists(format->known, status);
}

/* `proven`: the body shows what a status that claims it is stored says. */
static enum tb_push_verdict_kind kind_of(const struct tb_push_format *format, int status, bool proven,
                                         bool compressed) {
  if (proven && claims(format, status))
    return lists(format->stored, status) ? TB_JUDGED_STORED : TB_JUDGED_KNOWN;
  if (status == UNSUPPORTED_MEDIA && compressed) return TB_JUDGED_PLAIN;
  if (status == UNAUTHORIZED || status == FORBIDDEN) return TB_JUDGED_DENIED;
  if (status == REQUEST_TIMEOUT || status == TOO_EARLY || status == TOO_MANY) return TB_JUDGED_RETRY;
  if (speaks_of_url(status)) return TB_JUDGED_HOLD;
  if (status == NOT_IMPLEMENTED || status == HTTP_VERSION) return TB_JUDGED_REFUSED;
  if (status >= SERVER_ERRORS) return TB_JUDGED_RETRY;
  if (status >= CLIENT_ERRORS) return TB_JUDGED_REFUSED;
  return status >= SUCCESSES && status < REDIRECTS ? TB_JUDGED_RETRY : TB_JUDGED_HOLD;
}

/* What came in the place of an acknowledgement. */
static void say_unproven(const struct tb_push_format *format, const struct tb_push_request *request,
                         const struct tb_push_answer *answer, const cJSON *body, const char *reason,
                         struct tb_push_verdict *v) {
  char other[TB_PUSH_TEXT];
  snprintf(other, sizeof other, "%s",
           format->proof == TB_PROOF_KEY ? tb_doc_text(body, format->member, "") : "");
  blot_out(other, request->token);
  if (*other) {
    snprintf(v->why, sizeof v->why,
             "it answered %d with the key of another document, %.20s…; the key of this one is %.20s…",
             answer->status, other, request->key);
    return;
  }
  const char *quote = *reason ? "'" : "";
  snprintf(v->why, sizeof v->why,
           "it answered %d with %s%.100s%s%s, which does not acknowledge format=%s (%s%s%s): it may be a "
           "log-in page, a proxy or another program",
           answer->status, quote, *reason ? reason : "nothing", quote, answer->cut ? " (cut off)" : "",
           format->name, *format->member ? "JSON with '" : "an empty body", format->member,
           *format->member ? "'" : "");
}

static void say_status(const struct tb_push_answer *answer, const char *token, const char *reason,
                       struct tb_push_verdict *v) {
  const int status = answer->status;
  char location[TB_PUSH_URL];
  snprintf(location, sizeof location, "%s", answer->location);
  blot_out(location, token);
  if (v->kind == TB_JUDGED_HOLD && status < CLIENT_ERRORS && *location)
    snprintf(v->why, sizeof v->why,
             "it answered %d and redirects to %.250s. Redirects are not followed, since the token is for "
             "this host: give the right URL in to=",
             status, location);
  else if (status < CLIENT_ERRORS && is_page(answer))
    snprintf(v->why, sizeof v->why, "a web page answered (%d), not an endpoint of this format", status);
  else if (speaks_of_url(status))
    snprintf(v->why, sizeof v->why,
             "it answered %d, which is about the URL or a proxy, not about the document%s%.350s", status,
             *reason ? ": " : "", reason);
  else if (*reason)
    snprintf(v->why, sizeof v->why, "it answered %d: %.400s", status, reason);
  else
    snprintf(v->why, sizeof v->why, "it answered %d", status);
}

void tb_push_judge(const struct tb_push_format *format, const struct tb_push_request *request,
                   const struct tb_push_answer *answer, struct tb_push_verdict *verdict) {
  char reason[TB_PUSH_TEXT];
  reason_of(answer, request->token, reason);
  switch (answer->reach) {
    case TB_PUSH_ANSWERED: {
      cJSON *body = answer->cut ? NULL : cJSON_ParseWithOpts(answer->text, NULL, true);
      const bool proven = !is_page(answer) && proves(format, request, answer, body);
      verdict->kind = kind_of(format, answer->status, proven, request->encoding);
      if (!proven && !is_page(answer) && answer->status < REDIRECTS && claims(format, answer->status))
        say_unproven(format, request, answer, body, reason, verdict);
      else
        say_status(answer, request->token, reason, verdict);
      cJSON_Delete(body);
      break;
    }
    case TB_PUSH_UNREACHED: verdict->kind = TB_JUDGED_RETRY; break;
    case TB_PUSH_INTERRUPTED: verdict->kind = TB_JUDGED_INTERRUPTED; break;
    case TB_PUSH_UNTRUSTED:
    case TB_PUSH_IMPOSSIBLE: verdict->kind = TB_JUDGED_HOLD; break;
  }
  if (answer->reach != TB_PUSH_ANSWERED) snprintf(verdict->why, sizeof verdict->why, "%.500s", reason);
  tb_text_clean(verdict->why, TB_TEXT_LINE);
}
