/* GET /compare: two commits, or machines, side by side. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dashboard/api/compare.h"
#include "dashboard/pages/bars.h"
#include "dashboard/pages/html.h"
#include "dashboard/server/answer.h"
#include "results/document.h"
#include "results/outcome.h"
#include "results/stats/decide.h"

/* --- the form --- */

static void put_choice(struct tb_query *request, struct tb_store *store, enum tb_statement which,
                       const char *name, const char *title) {
  enum { MOST = 300 };
  struct tc_strbuf *out = &request->answer.body;
  const char *own = tb_argument(request, name),
             *chosen = own || which != TB_SQL_MACHINES ? own : tb_argument(request, "machine");
  sqlite3_stmt *rows = tb_store_get(store, which);
  tc_strbuf_printf(out, "<label>%s <input name=%s list=list-%s value=\"", title, name, name);
  tb_web_text(out, chosen ? chosen : "");
  tc_strbuf_printf(out, "\"></label><datalist id=list-%s>", name);
  if (rows && sqlite3_bind_parameter_count(rows)) sqlite3_bind_int(rows, 1, MOST);
  while (tb_store_step(store, rows)) {
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

/* A side's outcome where it has one that is not right, else NULL. */
static const char *failure_of(const cJSON *one, const char *side) {
  const char *outcome = tb_doc_text(one, side, NULL);
  return outcome && strcmp(outcome, tb_outcome_text(TB_OUTCOME_OK)) ? outcome : NULL;
}

static void put_mark(struct tc_strbuf *out, const char *class, const char *side, const char *text) {
  tc_strbuf_printf(out, "<span class=\"mark %s\">%s", class, side);
  tb_web_text(out, text);
  tc_strbuf_puts(out, "</span>");
}

/* The verdict, or why there is none. */
static void put_state(struct tc_strbuf *out, const cJSON *one) {
  const char *presence = tb_doc_text(one, "presence", "both"), *head = failure_of(one, "head_outcome"),
             *base = failure_of(one, "base_outcome");
  enum tb_verdict verdict;
  if (head)
    put_mark(out, strcmp(head, tb_outcome_text(TB_OUTCOME_UNSUPPORTED)) ? "slower" : "unsure",
             "head: ", head);
  else if (base)
    put_mark(out, "unsure", "base: ", base);
  else if (strcmp(presence, "both"))
    put_mark(out, "unsure", "", presence);
  else
    tb_web_verdict(out, tb_verdict_parse(tb_doc_text(one, "time.verdict", ""), &verdict) ? (int)verdict
                                                                                         : TB_VERDICT_UNSURE);
}

struct machines {
  const char *base, *head;
}; /* NULL: any */

/* Where the case is: head's machine may never have had one that head lacks. */
static const char *machine_of(const cJSON *one, const struct machines *machines) {
  return tb_doc_text(one, "base_outcome", NULL) && !tb_doc_text(one, "head_outcome", NULL) ? machines->base
                                                                                           : machines->head;
}

static void put_compared(struct tc_strbuf *out, const cJSON *one, const struct machines *machines) {
  tc_strbuf_puts(out, "<tr><td>");
  put_state(out, one);
  tc_strbuf_puts(out, "<td class=name>");
  tb_web_case(out, tb_doc_text(one, "id", "?"), machine_of(one, machines));
  tc_strbuf_puts(out, "<td class=figure>");
  tb_web_move(out, tb_doc_number(one, "time.ratio"), tb_doc_number(one, "time.lo"),
              tb_doc_number(one, "time.hi"));
  tc_strbuf_puts(out, "<td class=figure>");
  tb_web_ns(out, tb_doc_number(one, "base_ns"));
  tc_strbuf_puts(out, "<td class=figure>");
  tb_web_ns(out, tb_doc_number(one, "head_ns"));
  tc_strbuf_puts(out, "<td>");
  const char *presence = tb_doc_text(one, "presence", "both"), *problem = tb_doc_text(one, "problem", NULL);
  tb_web_text(out, problem                    ? problem
                   : strcmp(presence, "both") ? presence
                                              : tb_doc_text(one, "time.why", ""));
  const cJSON *finding;
  cJSON_ArrayForEach(finding, tb_doc_at(one, "exact")) {
    const char *line = tb_doc_text(finding, "line", NULL);
    if (line && strcmp(tb_doc_text(finding, "outcome", ""), "same"))
      tc_strbuf_puts(out, " "), tb_web_text(out, line);
  }
  tc_strbuf_puts(out, "</tr>\n");
}

/* First what fails on head and did not on base, then what fails on both; then how far a case moved. What was
 * not judged comes last. */
static double weight(const cJSON *one) {
  enum { MOVED = 100, FAILS = 1000, NEWLY = 2000 };
  const char *failure = failure_of(one, "head_outcome");
  if (failure && strcmp(failure, tb_outcome_text(TB_OUTCOME_UNSUPPORTED)))
    return failure_of(one, "base_outcome") ? FAILS : NEWLY;
  const double ratio = tb_doc_number(one, "time.ratio");
  enum tb_verdict verdict;
  const bool moved = tb_verdict_parse(tb_doc_text(one, "time.verdict", ""), &verdict) &&
                     (verdict == TB_VERDICT_SLOWER || verdict == TB_VERDICT_FASTER);
  return (ratio > 0 ? fabs(log(ratio)) : 0) + (moved ? MOVED : 0);
}

static int by_weight(const void *a, const void *b) {
  const double first = weight(*(const cJSON *const *)a), second = weight(*(const cJSON *const *)b);
  return (first < second) - (first > second);
}

/* The cases in that order; free() it. NULL when memory is out. */
static const cJSON **order_of(const cJSON *document, int *count) {
  const cJSON *cases = tb_doc_at(document, "cases"), *one;
  const cJSON **order = malloc(((size_t)cJSON_GetArraySize(cases) + 1) * sizeof *order);
  *count = 0;
  if (!order) return NULL;
  cJSON_ArrayForEach(one, cases) order[(*count)++] = one;
  qsort(order, (size_t)*count, sizeof *order, by_weight);
  return order;
}

/* As its verdict says, which knows more than the interval. */
static enum tb_bar_kind kind_of(const cJSON *one) {
  enum tb_verdict verdict;
  if (!tb_verdict_parse(tb_doc_text(one, "time.verdict", ""), &verdict)) return TB_BAR_UNSURE;
  return verdict == TB_VERDICT_SLOWER   ? TB_BAR_LESS
         : verdict == TB_VERDICT_FASTER ? TB_BAR_MORE
                                        : TB_BAR_UNSURE;
}

static void put_bars(struct tc_strbuf *out, const cJSON *const *order, int count) {
  enum { BARS = 24 };
  struct tb_bar bars[BARS];
  struct tb_bar_range range = tb_bar_range_none;
  int n = 0;
  for (int i = 0; i < count && n < BARS; i++) {
    const struct tb_bar bar = {.label = tb_doc_text(order[i], "id", "?"),
                               .ratio = tb_doc_number(order[i], "time.ratio"),
                               .lo = tb_doc_number(order[i], "time.lo"),
                               .hi = tb_doc_number(order[i], "time.hi"),
                               .kind = kind_of(order[i])};
    if (isnan(bar.ratio)) continue;
    tb_bar_range_add(&range, &bar);
    bars[n++] = bar;
  }
  if (n)
    tb_web_bars(
        out, n < count ? "The largest changes" : "All cases",
        "time of a compiled call, head over base; orange: slower, blue: faster, grey: neither is certain",
        bars, n, &range);
}

static void put_comparison(struct tc_strbuf *out, const cJSON *document, const struct machines *machines) {
  static const char *const columns[] = {"verdict", "case", "time, head over base", "base", "head", "remarks"};
  int n;
  const cJSON **order = order_of(document, &n);
  if (!order) return;
  put_bars(out, order, n);
  tc_strbuf_puts(out, "<section><h2>Cases: those that fail, then the largest changes</h2>\n");
  tb_web_table(out, "comparison", columns, TB_COUNT(columns));
  for (int i = 0; i < n; i++) put_compared(out, order[i], machines);
  tb_web_table_end(out);
  tc_strbuf_puts(out, "</section>\n");
  free(order);
}

static void put_data(struct tb_query *request) {
  struct tb_web_pair query[] = {
      {"base", NULL}, {"head", NULL}, {"machine", NULL}, {"base_machine", NULL}, {"head_machine", NULL}};
  for (int i = 0; i < TB_COUNT(query); i++) query[i].value = tb_argument(request, query[i].name);
  tb_web_data(&request->answer.body, "this comparison as data:", "/api/v1/compare", query, TB_COUNT(query));
}

void tb_page_compare(struct tb_query *request, struct tb_store *store) {
  const bool asked = tb_compare_is_asked(request);
  cJSON *document = asked ? tb_compare_query(request, store) : NULL;
  if (asked && !document) {
    tb_web_error(request);
    return;
  }
  tb_web_begin(request, "Compare", "/compare");
  put_form(request, store);
  if (document) {
    const char *base = tb_argument(request, "base_machine"), *head = tb_argument(request, "head_machine"),
               *both = tb_argument(request, "machine");
    put_comparison(&request->answer.body, document,
                   &(struct machines){base ? base : both, head ? head : both});
    put_data(request);
  } else {
    tc_strbuf_puts(&request->answer.body,
                   "<p class=quiet>Two commits, or one commit on two machines. Times of two runs are held "
                   "against each other by the probe that each of them measured.</p>\n");
  }
  cJSON_Delete(document);
  tb_web_end(request);
}
