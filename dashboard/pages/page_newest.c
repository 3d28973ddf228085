/* A case out of its document. */
#include "dashboard/pages/page_newest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dashboard/pages/html.h"
#include "reporters/table.h"

enum { LIST_MOST = 400 };

static void put_section(struct tc_strbuf *out, const char *title) {
  tc_strbuf_printf(out, "<section><h2>%s</h2>\n", title);
}

static void put_count(struct tc_strbuf *out, double value) {
  if (isnan(value))
    tb_web_text(out, NULL);
  else
    tc_strbuf_printf(out, "%.10g", value);
}

static void put_row_name(struct tc_strbuf *out, const char *name) {
  tc_strbuf_puts(out, "<tr><th scope=row>");
  tb_web_text(out, name);
}

/* --- kernels --- */

static void put_launch(struct tc_strbuf *out, const cJSON *launch, int number) {
  tc_strbuf_printf(out, "<tr><td class=figure>%d", number);
  tb_web_cell_text(out, tb_doc_text(launch, "label", "?"));
  tb_web_cell_text(out, tb_doc_text(launch, "fused", ""));
  tc_strbuf_puts(out, "<td class=figure>");
  tb_web_bytes(out, tb_doc_number(launch, "bytes"));
  tc_strbuf_puts(out, "<td class=figure>");
  tb_web_flops(out, tb_doc_number(launch, "flops"));
  tb_web_cell_text(out, tb_doc_text(launch, "generator", "?"));
  tc_strbuf_puts(out, "</tr>\n");
}

static void put_launches(struct tc_strbuf *out, const cJSON *graph) {
  static const char *const columns[] = {
      "", "kernel or library call", "operations in it", "moves", "computes", "made by"};
  const cJSON *list = tb_doc_at(graph, "launches"), *launch;
  const int count = cJSON_GetArraySize(list);
  int n = 0;
  if (!cJSON_IsObject(graph)) return;
  put_section(out, "Kernels");
  tc_strbuf_puts(out, "<p class=quiet>");
  put_count(out, tb_doc_number(graph, "kernels"));
  tc_strbuf_puts(out, " kernels, ");
  put_count(out, tb_doc_number(graph, "library_calls"));
  tc_strbuf_puts(out, " library calls; machine code: ");
  tb_web_bytes(out, tb_doc_number(graph, "code_bytes"));
  tc_strbuf_printf(out, "%s</p>\n", list ? "" : ". This result does not list them");
  if (count) tb_web_table(out, "kernels and library calls, in order", columns, TB_COUNT(columns));
  cJSON_ArrayForEach(launch, list)
    if (n < LIST_MOST) put_launch(out, launch, ++n);
  if (count) tb_web_table_end(out);
  if (count > n) tc_strbuf_printf(out, "<p class=quiet>%d more are in the result</p>\n", count - n);
  tc_strbuf_puts(out, "</section>\n");
}

/* --- cold and warm --- */

/* "1 missed": what the compiler's counters say of its cache. */
static void put_evidence(struct tc_strbuf *out, const cJSON *evidence) {
  static const struct {
    const char *name, *told;
  } counts[] = {{"misses", "missed"}, {"disk_hits", "from disk"}, {"memory_hits", "from memory"}};
  int n = 0;
  tc_strbuf_puts(out, "<td>");
  for (int i = 0; i < TB_COUNT(counts); i++) {
    const double count = tb_doc_number(evidence, counts[i].name);
    if (count > 0) tc_strbuf_printf(out, "%s%.0f %s", n++ ? ", " : "", count, counts[i].told);
  }
  if (!n) tb_web_text(out, NULL);
}

/* As on the console: whole calls. */
static void put_break_even(struct tc_strbuf *out, const cJSON *one) {
  char text[TB_CELL];
  for (int i = 0; i < tb_column_count(); i++) {
    if (strcmp(tb_column_at(i)->title, "pays off after")) continue;
    tb_column_at(i)->format(one, text);
    tb_web_text(out, text);
  }
}

static void put_starts(struct tc_strbuf *out, const cJSON *one) {
  const cJSON *compile = tb_doc_at(one, "compile");
  static const char *const columns[] = {"start", "to the first kernel", "whole first call", "cache"};
  static const struct {
    const char *name, *entry, *call, *evidence, *invalid;
  } states[] = {
      {"cold", "cold_ns.median", "first_call_ns.median", "evidence.cold", "invalid.cold"},
      {"warm, from disk", "disk_ns.median", "disk_first_call_ns.median", "evidence.disk", "invalid.disk"},
      {"warm, in memory", "memory_ns.median", "memory_first_call_ns.median", "evidence.memory",
       "invalid.memory"},
  };
  put_section(out, "Cold and warm");
  tb_web_table(out, "cold and warm", columns, TB_COUNT(columns));
  for (int i = 0; i < TB_COUNT(states); i++) {
    const cJSON *evidence = tb_doc_at(compile, states[i].evidence);
    const char *invalid = tb_doc_text(compile, states[i].invalid, NULL);
    put_row_name(out, states[i].name);
    tb_web_cell_ns(out, tb_doc_number(compile, states[i].entry));
    tb_web_cell_ns(out, tb_doc_number(compile, states[i].call));
    if (invalid)
      tb_web_cell_text(out, invalid);
    else
      put_evidence(out, evidence);
    tc_strbuf_puts(out, "</tr>\n");
  }
  tb_web_table_end(out);
  tc_strbuf_puts(out, "<p class=quiet>Opening the matrix library: ");
  tb_web_ns(out, tb_doc_number(compile, "library_ns.median"));
  tc_strbuf_puts(out, ". Start of a process: ");
  tb_web_ns(out, tb_doc_number(compile, "start_ns.median"));
  tc_strbuf_puts(out, ". Compiling pays off after: ");
  put_break_even(out, one);
  tc_strbuf_puts(out, ".</p></section>\n");
}

/* --- counters and instructions --- */

static void put_counters(struct tc_strbuf *out, const cJSON *counters) {
  static const char *const columns[] = {"counter", "of one call"};
  const cJSON *one;
  if (!cJSON_GetArraySize(counters)) return;
  put_section(out, "Counters");
  tb_web_table(out, "counters", columns, TB_COUNT(columns));
  cJSON_ArrayForEach(one, counters) {
    const double value = tb_doc_number(one, "value");
    put_row_name(out, one->string);
    if (isnan(value))
      tc_strbuf_puts(out, "<td class=quiet>not counted: "), tb_web_text(out, tb_doc_text(one, "why", "?"));
    else
      tc_strbuf_printf(out, "<td class=figure>%.10g", value);
    tc_strbuf_puts(out, "</tr>\n");
  }
  tb_web_table_end(out);
  tc_strbuf_puts(out, "</section>\n");
}

static void put_counts(struct tc_strbuf *out, const cJSON *const *sides, int count, const char *name,
                       const char *path) {
  put_row_name(out, name);
  for (int i = 0; i < count; i++) {
    const double value =
        path ? tb_doc_number(sides[i], path) : tb_doc_number(tb_doc_at(sides[i], "stages"), name);
    tc_strbuf_puts(out, "<td class=figure>");
    put_count(out, value);
  }
  tc_strbuf_puts(out, "</tr>\n");
}

static void put_instructions(struct tc_strbuf *out, const cJSON *instructions) {
  static const char *const columns[] = {"stage", "cold", "warm (disk)", "warm (memory)"};
  const cJSON *const sides[] = {tb_doc_at(instructions, "cold"), tb_doc_at(instructions, "disk"),
                                tb_doc_at(instructions, "memory")},
                     *stage;
  if (!cJSON_IsObject(instructions)) return;
  put_section(out, "Instructions, counted under callgrind");
  tb_web_table(out, "instructions", columns, TB_COUNT(columns));
  put_counts(out, sides, TB_COUNT(sides), "whole first call", "total");
  cJSON_ArrayForEach(stage, tb_doc_at(sides[0], "stages"))
    put_counts(out, sides, TB_COUNT(sides), stage->string, NULL);
  tb_web_table_end(out);
  tc_strbuf_puts(out, "<p class=quiet>a later call: ");
  put_count(out, tb_doc_number(instructions, "steady"));
  tc_strbuf_puts(out, "</p></section>\n");
}

/* --- the rest --- */

/* Rows of name and value, of an object's members; those that are null are left out. */
static void put_members(struct tc_strbuf *out, const char *title, const cJSON *object) {
  const cJSON *item;
  int n = 0;
  cJSON_ArrayForEach(item, object) {
    if (cJSON_IsNull(item) || cJSON_IsObject(item) || n == LIST_MOST) continue;
    if (!n++)
      tc_strbuf_printf(
          out, "<section><h2>%s</h2><div class=scroll tabindex=0 role=region aria-label=\"%s\"><table>",
          title, title);
    put_row_name(out, item->string);
    tc_strbuf_puts(out, "<td class=figure>");
    if (cJSON_IsNumber(item))
      tc_strbuf_printf(out, "%.10g", item->valuedouble);
    else if (cJSON_IsString(item))
      tb_web_text(out, item->valuestring);
    else if (cJSON_IsArray(item))
      tc_strbuf_printf(out, "%d", cJSON_GetArraySize(item));
    else
      tc_strbuf_puts(out, cJSON_IsTrue(item) ? "yes" : "no");
    tc_strbuf_puts(out, "</tr>\n");
  }
  if (n) tc_strbuf_puts(out, "</table></div></section>\n");
}

static void put_breaks(struct tc_strbuf *out, const cJSON *breaks) {
  static const char *const columns[] = {"why", "what", "where"};
  const cJSON *one;
  int n = 0;
  if (!cJSON_GetArraySize(breaks)) return;
  put_section(out, "Graph breaks");
  tb_web_table(out, "graph breaks", columns, TB_COUNT(columns));
  cJSON_ArrayForEach(one, breaks) {
    if (n++ == LIST_MOST) break;
    tc_strbuf_puts(out, "<tr>");
    tb_web_cell_text(out, tb_doc_text(one, "reason", NULL));
    tb_web_cell_text(out, tb_doc_text(one, "detail", NULL));
    tb_web_cell_text(out, tb_doc_text(one, "file", NULL));
    tc_strbuf_puts(out, ":");
    put_count(out, tb_doc_number(one, "line"));
    tc_strbuf_puts(out, "</tr>\n");
  }
  tb_web_table_end(out);
  tc_strbuf_puts(out, "</section>\n");
}

static void put_texts(struct tc_strbuf *out, const char *title, const cJSON *list) {
  const cJSON *item;
  int n = 0;
  cJSON_ArrayForEach(item, list) {
    if (!cJSON_IsString(item) || n == LIST_MOST) continue;
    if (!n++) put_section(out, title), tc_strbuf_puts(out, "<ul>");
    tc_strbuf_puts(out, "<li>");
    tb_web_text(out, item->valuestring);
    tc_strbuf_puts(out, "</li>");
  }
  if (n) tc_strbuf_puts(out, "</ul></section>\n");
}

static void put_setting(struct tc_strbuf *out, const cJSON *one) {
  put_members(out, "Case", tb_doc_at(one, "case"));
  put_members(out, "Parameters", tb_doc_at(one, "case.params"));
  put_members(out, "Switches that are not at their default", tb_doc_at(one, "case.switches"));
}

/* What helps to find out why a case is not right. Figures are those of cases that are. */
static void put_failed(struct tc_strbuf *out, const cJSON *one) {
  tc_strbuf_puts(
      out,
      "<p class=quiet>Its figures are not told: a case that is not right has none.</p>\n<div class=columns>");
  put_setting(out, one);
  put_members(out, "Correctness", tb_doc_at(one, "correctness"));
  put_breaks(out, tb_doc_at(one, "graph.breaks"));
  put_texts(out, "Fallbacks", tb_doc_at(one, "graph.fallbacks"));
  tc_strbuf_puts(out, "</div>\n");
}

static void put_case(struct tc_strbuf *out, const cJSON *one) {
  put_launches(out, tb_doc_at(one, "graph"));
  tc_strbuf_puts(out, "<div class=columns>");
  put_starts(out, one);
  put_counters(out, tb_doc_at(one, "counters"));
  put_instructions(out, tb_doc_at(one, "instructions"));
  put_setting(out, one);
  put_members(out, "Graph", tb_doc_at(one, "graph"));
  put_members(out, "Stages of the cold compile (ns)", tb_doc_at(one, "compile.stages_ns"));
  put_members(out, "Correctness", tb_doc_at(one, "correctness"));
  put_members(out, "Work of one call", tb_doc_at(one, "work"));
  put_breaks(out, tb_doc_at(one, "graph.breaks"));
  put_texts(out, "Fallbacks", tb_doc_at(one, "graph.fallbacks"));
  tc_strbuf_puts(out, "</div>\n");
}

void tb_web_newest(struct tc_strbuf *out, struct tb_store *store, int64_t document, int position,
                   bool newest) {
  sqlite3_stmt *row = tb_store_get(store, TB_SQL_DOCUMENT_BY_ID);
  size_t length = 0;
  if (!row) return;
  sqlite3_bind_int64(row, 1, document);
  char *text = tb_store_step(store, row) ? tb_store_unpack(store, row, 0, &length) : NULL;
  tb_store_done(row);
  cJSON *json = text ? cJSON_ParseWithLength(text, length) : NULL;
  const cJSON *one = cJSON_GetArrayItem(tb_doc_at(json, "cases"), position);
  if (one) {
    tc_strbuf_printf(out, "<h2 class=part>The newest %s, commit ", newest ? "run" : "of these runs");
    tb_web_commit(out, tb_doc_text(json, "tbench.commit", "?"));
    tc_strbuf_puts(out, "</h2>\n");
    if (tb_doc_text(one, "error", NULL))
      tc_strbuf_puts(out, "<p class=problem>"), tb_web_text(out, tb_doc_text(one, "error", "")),
          tc_strbuf_puts(out, "</p>\n");
    if (tb_case_right(one))
      put_case(out, one);
    else
      put_failed(out, one);
  }
  cJSON_Delete(json);
  free(text);
}
