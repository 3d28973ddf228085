/* GET /case: one case on a machine: its history, where it changed, its runs, and what the newest run says of it. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dashboard/answer.h"
#include "dashboard/html.h"
#include "dashboard/series.h"
#include "reporters/reporter.h"

enum { SHOWN = 60, LIST_MOST = 400 };

/* --- charts: a link to the data, which the script makes a chart of --- */

struct chart { const char *title, *unit, *middle, *low, *high; };

static void put_chart(struct tc_strbuf *out, const struct tb_series_name *series, const struct chart *chart) {
  tc_strbuf_printf(out, "<figure class=chart data-title=\"%s\" data-unit=\"%s\" data-middle=%s data-low=\"%s\" data-high=\"%s\" data-case=\"", chart->title, chart->unit, chart->middle, chart->low,
                   chart->high);
  tb_web_text(out, series->name);
  tc_strbuf_puts(out, "\" data-machine=\"");
  tb_web_text(out, series->machine);
  tc_strbuf_printf(out, "\"><figcaption>%s</figcaption><div class=plot></div></figure>\n", chart->title);
}

static void put_data_links(struct tc_strbuf *out, const struct tb_series_name *series) {
  static const char *const formats[] = {"json", "csv"};
  tc_strbuf_puts(out, "<p class=data>this history as data:");
  for (int i = 0; i < 2; i++) {
    tc_strbuf_puts(out, " <a href=\"/api/v1/series?case=");
    tb_web_query(out, series->name);
    tc_strbuf_puts(out, "&amp;machine=");
    tb_web_query(out, series->machine);
    tc_strbuf_printf(out, "&amp;format=%s\">%s</a>", formats[i], i ? "CSV" : "JSON");
  }
  tc_strbuf_puts(out, "</p>\n");
}

/* --- machines --- */

static void put_machines(struct tc_strbuf *out, struct tb_store *store, const struct tb_series_name *series) {
  sqlite3_stmt *rows = tb_store_get(store, TB_SQL_LATEST);
  if (!rows) return;
  sqlite3_bind_text(rows, 1, series->name, -1, SQLITE_STATIC);
  tc_strbuf_puts(out, "<ul class=machines>");
  while (sqlite3_step(rows) == SQLITE_ROW) {
    const char *machine = tb_column_text(rows, 1);
    const bool here = !strcmp(machine, series->machine);
    tc_strbuf_puts(out, "<li><a href=\"/case?case=");
    tb_web_query(out, series->name);
    tc_strbuf_puts(out, "&amp;machine=");
    tb_web_query(out, machine);
    tc_strbuf_printf(out, "\"%s>", here ? " aria-current=true" : "");
    tb_web_text(out, machine);
    tc_strbuf_puts(out, "</a> ");
    tb_web_verdict(out, sqlite3_column_type(rows, 11) == SQLITE_NULL ? -1 : sqlite3_column_int(rows, 11));
    tc_strbuf_puts(out, " ");
    tb_web_ns(out, tb_column_number(rows, 5));
    tc_strbuf_puts(out, "</li>");
  }
  tc_strbuf_puts(out, "</ul>\n");
  tb_store_done(rows);
}

/* --- change points --- */

static void put_changes(struct tc_strbuf *out, struct tb_store *store, int64_t series) {
  static const char *const columns[] = {"from", "commit", "time, new over old", "p", "taken back by", "on"};
  sqlite3_stmt *rows = tb_store_get(store, TB_SQL_CHANGES_OF);
  int n = 0;
  if (!rows) return;
  sqlite3_bind_int64(rows, 1, series);
  tc_strbuf_puts(out, "<section><h2>Change points</h2>\n");
  while (sqlite3_step(rows) == SQLITE_ROW) {
    if (!n++) tc_strbuf_puts(out, "<div class=scroll tabindex=0 role=region aria-label=\"change points\"><table>"), tb_web_header(out, columns, 6);
    tc_strbuf_puts(out, "<tr><td class=date>");
    tb_web_time(out, sqlite3_column_int64(rows, 0));
    tc_strbuf_puts(out, "<td><code>");
    tb_web_text(out, tb_column_text(rows, 1));
    tc_strbuf_printf(out, "</code><td class=figure><span class=\"mark %s\">", sqlite3_column_int(rows, 2) ? "slower" : "faster");
    tb_web_percent(out, tb_column_number(rows, 4) / tb_column_number(rows, 3));
    tc_strbuf_printf(out, "</span><td class=figure>%.3g<td><code>", tb_column_number(rows, 5));
    tb_web_text(out, tb_column_text(rows, 7));
    tc_strbuf_puts(out, "</code><td class=date>");
    tb_web_time(out, sqlite3_column_int64(rows, 6));
    tc_strbuf_puts(out, "</tr>\n");
  }
  tc_strbuf_puts(out, n ? "</table></div></section>\n" : "<p class=quiet>None: as far as these runs tell, it never changed.</p></section>\n");
  tb_store_done(rows);
}

/* --- runs --- */

static void put_run(struct tc_strbuf *out, sqlite3_stmt *row) {
  tc_strbuf_puts(out, "<tr><td class=date>");
  tb_web_time(out, sqlite3_column_int64(row, TB_POINT_STARTED));
  tc_strbuf_puts(out, "<td><code>");
  tb_web_text(out, tb_column_text(row, TB_POINT_COMMIT));
  tc_strbuf_puts(out, "</code><td>");
  tb_web_outcome(out, sqlite3_column_int(row, TB_POINT_OUTCOME));
  static const enum tb_figure times[] = {TB_FIGURE_steady, TB_FIGURE_baseline};
  for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
    tc_strbuf_puts(out, "<td class=figure>");
    tb_web_ns(out, tb_column_number(row, TB_POINT_FIGURES + (int)times[i]));
  }
  tc_strbuf_puts(out, "<td class=figure>");
  tb_web_number(out, tb_column_number(row, TB_POINT_FIGURES + TB_FIGURE_speedup));
  static const enum tb_figure compiles[] = {TB_FIGURE_cold, TB_FIGURE_disk};
  for (size_t i = 0; i < sizeof compiles / sizeof *compiles; i++) {
    tc_strbuf_puts(out, "<td class=figure>");
    tb_web_ns(out, tb_column_number(row, TB_POINT_FIGURES + (int)compiles[i]));
  }
  const char *key = tb_column_text(row, TB_POINT_KEY);
  if (key) tc_strbuf_printf(out, "<td><a href=\"/result?key=%s\">result</a>", key);
  else tc_strbuf_puts(out, "<td>–");
  tc_strbuf_puts(out, "</tr>\n");
}

/* Newest first. Leaves the newest document, and the case's place in it. */
static bool put_runs(struct tc_strbuf *out, struct tb_store *store, int64_t series, int64_t *document, int *position) {
  static const char *const columns[] = {"run", "commit", "outcome", "compiled", "eager", "speedup", "cold", "warm (disk)", ""};
  sqlite3_stmt *rows = tb_series_points(store, series, true, INT64_MAX, SHOWN);
  if (!rows) return false;
  tc_strbuf_printf(out, "<section><h2>Runs</h2><p class=quiet>the newest %d; all of them are in the data</p>\n<div class=scroll tabindex=0 role=region aria-label=runs><table>", SHOWN);
  tb_web_header(out, columns, sizeof columns / sizeof *columns);
  while (sqlite3_step(rows) == SQLITE_ROW) {
    if (!*document) *document = sqlite3_column_int64(rows, TB_POINT_DOCUMENT), *position = sqlite3_column_int(rows, TB_POINT_POSITION);
    put_run(out, rows);
  }
  tc_strbuf_puts(out, "</table></div></section>\n");
  tb_store_done(rows);
  return true;
}

/* --- what the newest document says --- */

/* Rows of name and value, of an object's members; those that are null are left out. */
static void put_members(struct tc_strbuf *out, const char *title, const cJSON *object) {
  const cJSON *item;
  int n = 0;
  cJSON_ArrayForEach(item, object) {
    const cJSON *value = cJSON_IsObject(item) ? cJSON_GetObjectItemCaseSensitive(item, "value") : item;
    if (!value || cJSON_IsNull(value) || cJSON_IsObject(value) || n == LIST_MOST) continue;
    if (!n++) tc_strbuf_printf(out, "<section><h2>%s</h2><div class=scroll tabindex=0 role=region aria-label=\"%s\"><table>", title, title);
    tc_strbuf_puts(out, "<tr><th scope=row>");
    tb_web_text(out, item->string);
    tc_strbuf_puts(out, "<td class=figure>");
    if (cJSON_IsNumber(value)) tc_strbuf_printf(out, "%.10g", value->valuedouble);
    else if (cJSON_IsString(value)) tb_web_text(out, value->valuestring);
    else if (cJSON_IsArray(value)) tc_strbuf_printf(out, "%d", cJSON_GetArraySize(value));
    else tc_strbuf_puts(out, cJSON_IsTrue(value) ? "yes" : "no");
    tc_strbuf_puts(out, "</tr>\n");
  }
  if (n) tc_strbuf_puts(out, "</table></div></section>\n");
}

static void put_texts(struct tc_strbuf *out, const char *title, const cJSON *list) {
  const cJSON *item;
  int n = 0;
  cJSON_ArrayForEach(item, list) {
    const char *text = cJSON_IsString(item) ? item->valuestring : tb_doc_text(item, "reason", NULL);
    if (!text || n == LIST_MOST) continue;
    if (!n++) tc_strbuf_printf(out, "<section><h2>%s</h2><ul>", title);
    tc_strbuf_puts(out, "<li>");
    tb_web_text(out, text);
    tc_strbuf_puts(out, "</li>");
  }
  if (n) tc_strbuf_puts(out, "</ul></section>\n");
}

static void put_newest(struct tc_strbuf *out, const cJSON *one) {
  tc_strbuf_puts(out, "<h2 class=part>The newest run</h2>\n<div class=columns>");
  put_members(out, "Case", tb_doc_at(one, "case"));
  put_members(out, "Switches", tb_doc_at(one, "case.switches"));
  put_members(out, "Graph and kernels", tb_doc_at(one, "graph"));
  put_members(out, "Counters, of one call", tb_doc_at(one, "counters"));
  put_members(out, "Stages of the cold compile (ns)", tb_doc_at(one, "compile.stages_ns"));
  put_members(out, "Correctness", tb_doc_at(one, "correctness"));
  put_members(out, "Work of one call", tb_doc_at(one, "work"));
  put_texts(out, "Graph breaks", tb_doc_at(one, "graph.breaks"));
  put_texts(out, "Fallbacks", tb_doc_at(one, "graph.fallbacks"));
  tc_strbuf_puts(out, "</div>\n");
}

static void put_document(struct tc_strbuf *out, struct tb_store *store, int64_t document, int position) {
  sqlite3_stmt *row = tb_store_get(store, TB_SQL_DOCUMENT_BY_ID);
  size_t length = 0;
  if (!row) return;
  sqlite3_bind_int64(row, 1, document);
  char *text = sqlite3_step(row) == SQLITE_ROW ? tb_store_unpack(store, row, 0, &length) : NULL;
  tb_store_done(row);
  cJSON *json = text ? cJSON_ParseWithLength(text, length) : NULL;
  const cJSON *one = cJSON_GetArrayItem(tb_doc_at(json, "cases"), position);
  if (one) put_newest(out, one);
  cJSON_Delete(json);
  free(text);
}

void tb_page_case(struct tb_query *request, struct tb_store *store) {
  static const struct chart charts[] = {
      {"Time of a compiled call", "ns", "steady", "steady_p05", "steady_p95"},
      {"Speedup over eager", "×", "speedup", "speedup_lo", "speedup_hi"},
      {"Cold compile", "ns", "cold", "", ""},
      {"Warm compile, from disk", "ns", "disk", "", ""},
  };
  struct tc_strbuf *out = &request->answer.body;
  struct tb_series_name series;
  int64_t document = 0;
  int position = 0;
  if (!tb_series_find(request, store, &series)) {
    tb_web_error(request);
    return;
  }
  tb_web_begin(request, series.name, "/case");
  put_machines(out, store, &series);
  tc_strbuf_puts(out, "<section class=charts aria-label=charts>\n");
  for (size_t i = 0; i < sizeof charts / sizeof *charts; i++) put_chart(out, &series, &charts[i]);
  tc_strbuf_puts(out, "</section>\n");
  put_data_links(out, &series);
  put_changes(out, store, series.id);
  if (!put_runs(out, store, series.id, &document, &position)) {
    tb_answer_store_failed(request, store);
    return;
  }
  put_document(out, store, document, position);
  tb_web_end(request);
}
