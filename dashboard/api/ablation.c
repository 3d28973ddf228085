/* GET /api/v1/ablation. */
#include "dashboard/api/ablation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dashboard/api/lists.h"
#include "dashboard/server/answer.h"

enum { MODEL = 256 };

/* --- which result --- */

static bool find_newest(struct tb_query *request, struct tb_store *store, char *key) {
  sqlite3_stmt *rows = tb_store_get(store, TB_SQL_ABLATIONS);
  if (!rows) return tb_answer_store_failed(request, store), false;
  sqlite3_bind_int(rows, 1, 1);
  const bool found = tb_store_step(store, rows);
  if (found) snprintf(key, TB_ABLATION_KEY, "%s", tb_column_text(rows, 0));
  tb_store_done(rows);
  if (!found)
    tb_answer_error(request, MHD_HTTP_NOT_FOUND,
                    "no result has cases with compile-time switches (opt.*) off: run suite=compile_opts, and "
                    "push its result");
  return found;
}

bool tb_ablation_query(struct tb_query *request, struct tb_store *store, struct tb_stored_ablation *out) {
  const char *key = tb_argument(request, "key");
  *out = (struct tb_stored_ablation){0};
  if (key)
    snprintf(out->key, sizeof out->key, "%s", strlen(key) < sizeof out->key ? key : "");
  else if (!find_newest(request, store, out->key))
    return false;
  if (!(out->document = tb_document_json(request, store, out->key))) return false;
  if (tb_ablation_make(out->document, &out->rows)) return true;
  tb_answer_error(request, MHD_HTTP_SERVICE_UNAVAILABLE, "out of memory");
  tb_stored_ablation_free(out);
  return false;
}

void tb_stored_ablation_free(struct tb_stored_ablation *ablation) {
  tb_ablation_free(&ablation->rows);
  cJSON_Delete(ablation->document);
  *ablation = (struct tb_stored_ablation){0};
}

/* --- its rows --- */

void tb_ablation_model(const struct tb_stored_ablation *ablation, const struct tb_ablation_row *row,
                       char *out, size_t size) {
  if (row->on)
    tb_case_group(row->on, out, size);
  else
    snprintf(out, size, "over %d models", ablation->rows.n_models);
}

struct tb_ratio tb_ablation_figure_of(const struct tb_ablation_row *row, enum tb_ablation_figure figure) {
  return tb_ablation_ratio(row, figure);
}

const char *tb_ablation_artifact(const struct tb_ablation_row *row) {
  const char *off = row->off ? tb_doc_text(row->off, "graph.artifact", NULL) : NULL,
             *on = row->on ? tb_doc_text(row->on, "graph.artifact", NULL) : NULL;
  return !off || !on ? NULL : strcmp(off, on) ? "differs" : "equal";
}

/* --- as data --- */

/* Columns of a row that are numbers. */
struct column {
  const char *name;
  double value;
};
enum { COLUMNS = 8 };

static void find_columns(const struct tb_ablation_row *row, struct column *out) {
  const struct tb_ratio cold = tb_ablation_figure_of(row, TB_ABLATION_COLD),
                        whole = tb_ablation_figure_of(row, TB_ABLATION_WHOLE);
  const struct column all[COLUMNS] = {{"cold", cold.ratio},
                                      {"cold_lo", cold.lo},
                                      {"cold_hi", cold.hi},
                                      {"start_cold", whole.ratio},
                                      {"start_cold_lo", whole.lo},
                                      {"start_cold_hi", whole.hi},
                                      {"instructions", row->instructions},
                                      {"cold_ns", row->median_ns}};
  memcpy(out, all, sizeof all);
}

static void put_csv(struct tc_strbuf *out, const struct tb_stored_ablation *ablation) {
  struct column columns[COLUMNS];
  char model[MODEL];
  tc_strbuf_puts(out, "model,off,cold,cold_lo,cold_hi,start_cold,start_cold_lo,start_cold_hi,instructions,"
                      "cold_ns,artifact,case\n");
  for (int i = 0; i < ablation->rows.n_rows; i++) {
    const struct tb_ablation_row *row = &ablation->rows.rows[i];
    const char *artifact = tb_ablation_artifact(row);
    tb_ablation_model(ablation, row, model, sizeof model);
    tb_csv_put_text(out, model);
    tc_strbuf_puts(out, ",");
    tb_csv_put_text(out, row->label);
    find_columns(row, columns);
    for (int k = 0; k < COLUMNS; k++) tc_strbuf_puts(out, ","), tb_csv_put_number(out, columns[k].value);
    tc_strbuf_printf(out, ",%s,", artifact ? artifact : "");
    tb_csv_put_text(out, row->off ? tb_doc_text(row->off, "id", "") : "");
    tc_strbuf_puts(out, "\n");
  }
}

static void put_text(struct tc_strbuf *out, const char *name, const char *text) {
  tc_strbuf_printf(out, "\"%s\":", name);
  tb_json_put_text(out, text);
  tc_strbuf_puts(out, ",");
}

static void put_json_row(struct tc_strbuf *out, const struct tb_stored_ablation *ablation,
                         const struct tb_ablation_row *row) {
  struct column columns[COLUMNS];
  char model[MODEL];
  tb_ablation_model(ablation, row, model, sizeof model);
  tc_strbuf_puts(out, "{");
  put_text(out, "model", model);
  put_text(out, "off", row->label);
  put_text(out, "case", row->off ? tb_doc_text(row->off, "id", NULL) : NULL);
  put_text(out, "artifact", tb_ablation_artifact(row));
  find_columns(row, columns);
  for (int k = 0; k < COLUMNS; k++)
    tc_strbuf_printf(out, "%s\"%s\":", k ? "," : "", columns[k].name),
        tb_json_put_number(out, columns[k].value);
  char *switches = cJSON_PrintUnformatted(row->switches);
  tc_strbuf_printf(out, ",\"switches\":%s}", switches ? switches : "null");
  cJSON_free(switches);
}

static void put_json(struct tc_strbuf *out, const struct tb_stored_ablation *ablation) {
  tc_strbuf_puts(out, "{");
  put_text(out, "key", ablation->key);
  put_text(out, "commit", tb_doc_text(ablation->document, "tbench.commit", NULL));
  put_text(out, "started", tb_doc_text(ablation->document, "started", NULL));
  tc_strbuf_puts(out, "\"confidence\":0.95,\"rows\":[");
  for (int i = 0; i < ablation->rows.n_rows; i++) {
    tc_strbuf_puts(out, i ? ",\n" : "\n");
    put_json_row(out, ablation, &ablation->rows.rows[i]);
  }
  tc_strbuf_puts(out, "]}\n");
}

void tb_api_ablation(struct tb_query *request, struct tb_store *store) {
  struct tb_stored_ablation ablation;
  bool csv;
  if (!tb_argument_csv(request, &csv) || !tb_ablation_query(request, store, &ablation)) return;
  if (csv)
    put_csv(&request->answer.body, &ablation);
  else
    put_json(&request->answer.body, &ablation);
  tb_stored_ablation_free(&ablation);
}
