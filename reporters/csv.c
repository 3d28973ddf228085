/* One line a case (RFC 4180). Times in nanoseconds; what was not measured is empty. To add a column: a row below. */
#include <math.h>
#include <string.h>

#include "reporters/text_out.h"

static const struct { const char *title, *path; } columns[] = {
    {"id", "id"}, {"suite", "case.suite"}, {"workload", "case.workload"}, {"backend", "case.backend"}, {"mode", "case.mode"}, {"device", "case.device"},
    {"dtype", "case.dtype"}, {"batch", "case.batch"}, {"topology", "case.topology"}, {"threads", "case.threads"}, {"outcome", "outcome"},
    {"baseline_ns", "baseline.median_ns"}, {"steady_ns", "steady.median_ns"}, {"speedup", "speedup.ratio"}, {"speedup_lo", "speedup.lo"},
    {"speedup_hi", "speedup.hi"}, {"cold_ns", "compile.cold_ns.median"}, {"disk_ns", "compile.disk_ns.median"}, {"memory_ns", "compile.memory_ns.median"},
    {"first_call_ns", "compile.first_call_ns.median"}, {"start_ns", "compile.start_ns.median"}, {"pays_off_after_calls", "compile.pays_off_after_calls"},
    {"kernels", "graph.kernels"}, {"library_calls", "graph.library_calls"}, {"bytes_moved", "graph.bytes_moved"}, {"flops", "graph.flops"},
    {"max_error", "correctness.max_error"}, {"bound", "correctness.bound"}, {"artifact", "graph.artifact"}, {"error", "error"},
    {"interval_over", "speedup.interval_over"}, {"interrupted", "interrupted"},
    {"disk_first_call_ns", "compile.disk_first_call_ns.median"}, {"memory_first_call_ns", "compile.memory_first_call_ns.median"},
    {"library_ns", "compile.library_ns.median"}, {"work_bytes", "work.bytes"}, {"work_flops", "work.flops"}, {"bytes_per_s", "work.bytes_per_s"},
    {"flops_per_s", "work.flops_per_s"}, {"counted_calls", "counted_calls"},
    {"cold_instructions", "instructions.cold.total"}, {"disk_instructions", "instructions.disk.total"}, {"memory_instructions", "instructions.memory.total"},
    {"steady_instructions", "instructions.steady"}};
enum { N_COLUMNS = sizeof columns / sizeof *columns };

/* Inside of quotes. Line ends stay as they are. */
static const char *escape_quoted(uint32_t c, char *buffer) {
  (void)buffer;
  return c == '"' ? "\"\"" : c && c < ' ' && c != '\t' && c != '\n' && c != '\r' ? "\xEF\xBF\xBD" : NULL;
}

static void put_text(FILE *out, const char *text) {
  bool plain = true;
  for (const char *c = text; *c; c++) plain &= *c >= ' ' && *c < 0x7F && *c != ',' && *c != '"';
  if (plain) {
    fputs(text, out);
    return;
  }
  fputc('"', out);
  tb_put_text(out, text, escape_quoted);
  fputc('"', out);
}

static void put_value(FILE *out, const cJSON *value) {
  if (cJSON_IsString(value)) put_text(out, value->valuestring);
  else if (cJSON_IsNumber(value) && isfinite(value->valuedouble)) tb_put_number(out, value->valuedouble);
  else if (cJSON_IsBool(value)) fputs(cJSON_IsTrue(value) ? "yes" : "no", out);
  else if (cJSON_IsObject(value)) put_text(out, tb_doc_text(value, "message", ""));
}

static void put_cases(FILE *out, const cJSON *result) {
  const cJSON *one_case;
  cJSON_ArrayForEach(one_case, tb_doc_at(result, "cases")) {
    for (int i = 0; i < N_COLUMNS; i++) {
      if (i) fputc(',', out);
      put_value(out, tb_doc_at(one_case, columns[i].path));
    }
    fputs("\r\n", out);
  }
}

bool tb_report_csv(const cJSON *result, const struct tb_report_options *options, FILE *out) {
  (void)options;
  for (int i = 0; i < N_COLUMNS; i++) fprintf(out, "%s%s", i ? "," : "", columns[i].title);
  fputs("\r\n", out);
  for (int i = 0; i < tb_doc_count(result); i++) put_cases(out, tb_doc_nth(result, i));
  return !ferror(out);
}
