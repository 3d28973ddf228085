/* Answers. */
#include "dashboard/server/answer.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "dashboard/analysis/analysis.h"
#include "dashboard/analysis/movers.h"
#include "harness/base/args.h"
#include "reporters/text_out.h"
#include "results/outcome.h"

enum { RETRY_S = 5 };

void tb_answer_error(struct tb_query *request, unsigned status, const char *format, ...) {
  char text[TB_SCHEMA_WHY + TB_TAPE_WHY];
  struct tc_strbuf *out = &request->answer.body;
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  out->len = 0;
  request->answer.status = status;
  request->answer.type = "application/json";
  free(request->answer.problem);
  request->answer.problem = strdup(text);
  tc_strbuf_puts(out, "{\"error\":");
  tb_json_put_text(out, text);
  tc_strbuf_puts(out, "}\n");
}

bool tb_answer_busy(struct tb_query *request, const char *what) {
  request->answer.retry_s = 1;
  request->answer.cached = false;
  tb_answer_error(request, MHD_HTTP_SERVICE_UNAVAILABLE, "%s", what);
  return false;
}

void tb_answer_store_failed(struct tb_query *request, const struct tb_store *store) {
  const int code = store->failed & 0xff; /* without its details */
  const bool room = code != SQLITE_NOMEM && code != SQLITE_FULL && code != SQLITE_BUSY;
  tb_answer_error(request, room ? MHD_HTTP_INTERNAL_SERVER_ERROR : MHD_HTTP_SERVICE_UNAVAILABLE, "%s",
                  store->error);
  if (!room) request->answer.retry_s = RETRY_S;
}

void tb_answer_end(struct tb_query *request, const struct tb_store *store, bool whole) {
  if (whole)
    tc_strbuf_puts(&request->answer.body, "}\n");
  else
    tb_answer_store_failed(request, store);
}

const char *tb_argument(const struct tb_query *request, const char *name) {
  const char *text = MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, name);
  return text && *text ? text : NULL;
}

bool tb_argument_number(struct tb_query *request, const char *name, int64_t lowest, int64_t highest,
                        int64_t *value) {
  const char *text = tb_argument(request, name);
  long long number;
  if (!text) return true;
  if (tb_whole_parse(text, &number) && number >= lowest && number <= highest) return *value = number, true;
  tb_answer_error(request, MHD_HTTP_BAD_REQUEST, "%s: use a whole number from %lld to %lld", name,
                  (long long)lowest, (long long)highest);
  return false;
}

bool tb_argument_csv(struct tb_query *request, bool *csv) {
  const char *format = tb_argument(request, "format");
  *csv = format && !strcmp(format, "csv");
  if (*csv) request->answer.type = "text/csv; charset=utf-8";
  if (!format || *csv || !strcmp(format, "json")) return true;
  tb_answer_error(request, MHD_HTTP_BAD_REQUEST, "format: json or csv");
  return false;
}

/* --- JSON --- */

/* What is no UTF-8 becomes U+FFFD: a query may have sent it, and JSON has no place for it. */
static void put_plain(struct tc_strbuf *out, const char *text, size_t length) {
  static const char unknown[] = "\xEF\xBF\xBD";
  size_t from = 0;
  uint32_t character;
  for (size_t at = 0, n; at < length; at += n) {
    if ((n = tc_text_character(text + at, length - at, &character))) continue;
    tc_strbuf_bytes(out, text + from, at - from);
    tc_strbuf_puts(out, unknown);
    from = at + (n = 1);
  }
  tc_strbuf_bytes(out, text + from, length - from);
}

void tb_json_put_text(struct tc_strbuf *out, const char *text) {
  if (!text) {
    tc_strbuf_puts(out, "null");
    return;
  }
  tc_strbuf_puts(out, "\"");
  while (*text) {
    const size_t plain = strcspn(text, "\"\\\b\f\n\r\t\001\002\003\004\005\006\007\013\016\017\020\021\022"
                                       "\023\024\025\026\027\030\031\032\033\034\035\036\037<>&");
    put_plain(out, text, plain);
    text += plain;
    if (*text)
      tc_strbuf_printf(out, "\\u%04x",
                       (unsigned char)*text++); /* <, > and & too: the text may lie within a page */
  }
  tc_strbuf_puts(out, "\"");
}

static void put_number(struct tc_strbuf *out, double value) {
  char text[TB_NUMBER_TEXT];
  tb_shortest_text(value, text);
  tc_strbuf_puts(out, text);
}

void tb_json_put_number(struct tc_strbuf *out, double value) {
  if (isfinite(value))
    put_number(out, value);
  else
    tc_strbuf_puts(out, "null");
}

void tb_json_put_column(struct tc_strbuf *out, sqlite3_stmt *row, int column) {
  switch (sqlite3_column_type(row, column)) {
    case SQLITE_INTEGER: tc_strbuf_printf(out, "%lld", (long long)sqlite3_column_int64(row, column)); break;
    case SQLITE_FLOAT: tb_json_put_number(out, sqlite3_column_double(row, column)); break;
    case SQLITE_TEXT: tb_json_put_text(out, (const char *)sqlite3_column_text(row, column)); break;
    default: tc_strbuf_puts(out, "null");
  }
}

/* Numbers that stand for words are told as these, by the name of their column. */
static const char *word_of(const char *name, int64_t value) {
  if (!strcmp(name, "outcome") && value >= 0 && value < TB_OUTCOME_COUNT)
    return tb_outcome_text((enum tb_outcome)value);
  if (!strcmp(name, "verdict") && value >= 0 && value < TB_VERDICT_COUNT)
    return tb_verdict_word((enum tb_verdict)value);
  if (!strcmp(name, "verdict") && value == TB_MOVERS_GONE) return "not measured";
  return strcmp(name, "basis") ? NULL : tb_basis_name((int)value);
}

void tb_json_put_row(struct tc_strbuf *out, sqlite3_stmt *row, const char *const *names, int count) {
  for (int i = 0; i < count; i++) {
    if (!names[i]) continue;
    tc_strbuf_printf(out, "%s\"%s\":", i ? "," : "{", names[i]);
    const char *word = sqlite3_column_type(row, i) == SQLITE_INTEGER
                           ? word_of(names[i], sqlite3_column_int64(row, i))
                           : NULL;
    if (word)
      tb_json_put_text(out, word);
    else
      tb_json_put_column(out, row, i);
  }
  tc_strbuf_puts(out, "}");
}

bool tb_json_put_rows(struct tc_strbuf *out, struct tb_store *store, sqlite3_stmt *rows, const char *name,
                      const char *const *names, int count) {
  int n = 0;
  if (!rows) return false;
  tc_strbuf_printf(out, "\"%s\":[", name);
  while (tb_store_step(store, rows)) {
    tc_strbuf_puts(out, n++ ? ",\n" : "\n");
    tb_json_put_row(out, rows, names, count);
  }
  tc_strbuf_puts(out, "]");
  tb_store_done(rows);
  return !store->failed;
}

/* --- CSV --- */

void tb_csv_put_text(struct tc_strbuf *out, const char *text) {
  const bool formula = *text && strchr("=+-@\t\r", *text);
  if (!formula && !text[strcspn(text, "\",\n\r")]) {
    tc_strbuf_puts(out, text);
    return;
  }
  tc_strbuf_puts(out, formula ? "\"'" : "\"");
  for (; *text; text++) tc_strbuf_bytes(out, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
  tc_strbuf_puts(out, "\"");
}

void tb_csv_put_number(struct tc_strbuf *out, double value) {
  if (isfinite(value)) put_number(out, value);
}
