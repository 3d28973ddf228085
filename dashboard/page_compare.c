/* GET /compare: two commits, or machines, side by side; GET /result: one stored result, with what its techniques buy. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dashboard/answer.h"
#include "dashboard/compare.h"
#include "dashboard/html.h"
#include "harness/decide.h"
#include "reporters/reporter.h"

/* --- the form --- */

static void put_choice(struct tb_query *request, struct tb_store *store, enum tb_statement which, const char *name, const char *title) {
  enum { MOST = 300 };
  struct tc_strbuf *out = &request->answer.body;
  const char *chosen = tb_argument(request, name);
  sqlite3_stmt *rows = tb_store_get(store, which);
  tc_strbuf_printf(out, "<label>%s <input name=%s list=list-%s value=\"", title, name, name);
  tb_web_text(out, chosen ? chosen : "");
  tc_strbuf_printf(out, "\"></label><datalist id=list-%s>", name);
  if (rows && sqlite3_bind_parameter_count(rows)) sqlite3_bind_int(rows, 1, MOST);
  while (rows && sqlite3_step(rows) == SQLITE_ROW) {
    tc_strbuf_puts(out, "<option value=\"");
    tb_web_text(out, tb_column_text(rows, 0));
    tc_strbuf_puts(out, "\">");
  }
  tc_strbuf_puts(out, "</datalist>\n");
  if (rows) tb_store_done(rows);
}

static void put_form(struct tb_query *request, struct tb_store *store) {
  struct tc_strbuf *out = &request->answer.body;
  tc_strbuf_puts(out, "<form class=choose action=/compare>\n");
  put_choice(request, store, TB_SQL_COMMITS, "base", "base commit");
  put_choice(request, store, TB_SQL_COMMITS, "head", "head commit");
  put_choice(request, store, TB_SQL_MACHINES, "base_machine", "machine of base");
  put_choice(request, store, TB_SQL_MACHINES, "head_machine", "machine of head");
  tc_strbuf_puts(out, "<button>compare</button></form>\n");
}

/* --- the comparison --- */

static void put_compared(struct tc_strbuf *out, const cJSON *one) {
  enum tb_verdict verdict;
  const bool judged = tb_verdict_parse(tb_doc_text(one, "time.verdict", ""), &verdict);
  tc_strbuf_puts(out, "<tr><td>");
  tb_web_verdict(out, judged ? (int)verdict : TB_VERDICT_UNSURE);
  tc_strbuf_puts(out, "<td class=figure>");
  tb_web_move(out, tb_doc_number(one, "time.ratio"), tb_doc_number(one, "time.lo"), tb_doc_number(one, "time.hi"));
  tc_strbuf_puts(out, "<td class=name>");
  tb_web_case(out, tb_doc_text(one, "id", "?"), NULL);
  tc_strbuf_puts(out, "<td class=figure>");
  tb_web_ns(out, tb_doc_number(one, "base_ns"));
  tc_strbuf_puts(out, "<td class=figure>");
  tb_web_ns(out, tb_doc_number(one, "head_ns"));
  tc_strbuf_puts(out, "<td>");
  const char *presence = tb_doc_text(one, "presence", "both"), *problem = tb_doc_text(one, "problem", NULL);
  if (strcmp(presence, "both")) tb_web_text(out, presence);
  else tb_web_text(out, problem ? problem : tb_doc_text(one, "time.why", ""));
  const cJSON *finding;
  cJSON_ArrayForEach(finding, tb_doc_at(one, "exact")) {
    const char *line = tb_doc_text(finding, "line", NULL);
    if (line) tc_strbuf_puts(out, " "), tb_web_text(out, line);
  }
  tc_strbuf_puts(out, "</tr>\n");
}

/* How far a case moved; cases that were not judged come last. */
static double weight(const cJSON *one) {
  const double ratio = tb_doc_number(one, "time.ratio");
  enum tb_verdict verdict;
  const bool moved = tb_verdict_parse(tb_doc_text(one, "time.verdict", ""), &verdict) && (verdict == TB_VERDICT_SLOWER || verdict == TB_VERDICT_FASTER);
  return (ratio > 0 ? fabs(log(ratio)) : 0) + (moved ? 100 : 0);
}

static int by_weight(const void *a, const void *b) {
  const double first = weight(*(const cJSON *const *)a), second = weight(*(const cJSON *const *)b);
  return (first < second) - (first > second);
}

static void put_comparison(struct tc_strbuf *out, const cJSON *document) {
  static const char *const columns[] = {"verdict", "time, head over base", "case", "base", "head", "remarks"};
  const cJSON *cases = tb_doc_at(document, "cases"), *one;
  const int count = cJSON_GetArraySize(cases);
  const cJSON **order = malloc(((size_t)count + 1) * sizeof *order);
  int n = 0;
  if (!order) return;
  cJSON_ArrayForEach(one, cases) order[n++] = one;
  qsort(order, (size_t)n, sizeof *order, by_weight);
  tc_strbuf_puts(out, "<section><h2>Cases, the largest changes first</h2><div class=scroll tabindex=0 role=region aria-label=comparison><table>");
  tb_web_header(out, columns, sizeof columns / sizeof *columns);
  for (int i = 0; i < n; i++) put_compared(out, order[i]);
  tc_strbuf_puts(out, "</table></div></section>\n");
  free(order);
}

static void put_json_link(struct tb_query *request) {
  static const char *const names[] = {"base", "head", "machine", "base_machine", "head_machine"};
  struct tc_strbuf *out = &request->answer.body;
  tc_strbuf_puts(out, "<p class=data><a href=\"/api/v1/compare?");
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *value = tb_argument(request, names[i]);
    if (!value) continue;
    tc_strbuf_printf(out, "%s%s=", i ? "&amp;" : "", names[i]);
    tb_web_query(out, value);
  }
  tc_strbuf_puts(out, "\">this comparison as JSON</a></p>\n");
}

void tb_page_compare(struct tb_query *request, struct tb_store *store) {
  const bool asked = tb_argument(request, "base") || tb_argument(request, "head");
  cJSON *document = asked ? tb_compare_query(request, store) : NULL;
  if (asked && !document) {
    tb_web_error(request);
    return;
  }
  tb_web_begin(request, "Compare", "/compare");
  put_form(request, store);
  if (document) {
    put_comparison(&request->answer.body, document);
    put_json_link(request);
  } else {
    tc_strbuf_puts(&request->answer.body, "<p class=quiet>Two commits, or one commit on two machines. Times of two runs are held against each other by the probe that each of them measured.</p>\n");
  }
  cJSON_Delete(document);
  tb_web_end(request);
}

/* --- one result --- */

/* What a reporter prints, as it stands. */
static void put_report(struct tc_strbuf *out, const cJSON *document, const char *name, const char *title) {
  const struct tb_reporter *reporter = tb_reporter_find(name);
  const struct tb_report_options options = {.verbose = true};
  char *text = NULL;
  size_t length = 0;
  FILE *stream = reporter ? open_memstream(&text, &length) : NULL;
  if (!stream) return;
  const bool good = reporter->write(document, &options, stream);
  if (!fclose(stream) && good && length) {
    tc_strbuf_printf(out, "<section><h2>%s</h2><pre tabindex=0>", title);
    for (char *line = text; *line;) {
      const size_t bytes = strcspn(line, "\n");
      const bool more = line[bytes];
      line[bytes] = '\0';
      tb_web_text(out, line);
      tc_strbuf_puts(out, "\n");
      line += bytes + more;
    }
    tc_strbuf_puts(out, "</pre></section>\n");
  }
  free(text);
}

void tb_page_result(struct tb_query *request, struct tb_store *store) {
  const char *key = tb_argument(request, "key");
  struct tc_strbuf *out = &request->answer.body;
  request->rest = key ? strdup(key) : NULL;
  tb_api_document(request, store);
  const char *text = tc_strbuf_text(out);
  cJSON *document = request->answer.status == MHD_HTTP_OK && text ? cJSON_Parse(text) : NULL;
  if (!document) {
    tb_web_error(request);
    return;
  }
  out->len = 0;
  tb_web_begin(request, "Result", "/result");
  tc_strbuf_puts(out, "<p>commit <code>");
  tb_web_text(out, tb_doc_text(document, "tbench.commit", "?"));
  tc_strbuf_puts(out, "</code>, started ");
  tb_web_text(out, tb_doc_text(document, "started", "?"));
  tc_strbuf_printf(out, " · <a href=\"/api/v1/results/%s\">JSON</a></p>\n", request->rest);
  put_report(out, document, "ablation", "What each technique buys");
  put_report(out, document, "console", "Figures");
  cJSON_Delete(document);
  tb_web_end(request);
}
