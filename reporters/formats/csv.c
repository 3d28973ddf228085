/* One line a case (RFC 4180). Times in nanoseconds; what was not measured is empty, and so are all figures of
 * a case that is not right, save how far off it was. The last columns tell the runs of several files apart.
 * To add a column: a row below. */
#include <math.h>
#include <string.h>

#include "reporters/series.h"
#include "reporters/text_out.h"

enum home { CASE, FIGURE /* of a case, where it may be told */, RESULT, MACHINE, FILE_NAME };
static const struct {
  const char *title, *path;
  enum home home;
} columns[] = {{"id", "id", CASE},
               {"suite", "case.suite", CASE},
               {"workload", "case.workload", CASE},
               {"backend", "case.backend", CASE},
               {"mode", "case.mode", CASE},
               {"device", "case.device", CASE},
               {"dtype", "case.dtype", CASE},
               {"batch", "case.batch", CASE},
               {"topology", "case.topology", CASE},
               {"threads", "case.threads", CASE},
               {"outcome", "outcome", CASE},
               {"baseline_ns", "baseline.median_ns", FIGURE},
               {"steady_ns", "steady.median_ns", FIGURE},
               {"speedup", "speedup.ratio", FIGURE},
               {"speedup_lo", "speedup.lo", FIGURE},
               {"speedup_hi", "speedup.hi", FIGURE},
               {"cold_ns", "compile.cold_ns.median", FIGURE},
               {"disk_ns", "compile.disk_ns.median", FIGURE},
               {"memory_ns", "compile.memory_ns.median", FIGURE},
               {"first_call_ns", "compile.first_call_ns.median", FIGURE},
               {"start_ns", "compile.start_ns.median", FIGURE},
               {"pays_off_after_calls", "compile.pays_off_after_calls", FIGURE},
               {"kernels", "graph.kernels", FIGURE},
               {"library_calls", "graph.library_calls", FIGURE},
               {"bytes_moved", "graph.bytes_moved", FIGURE},
               {"flops", "graph.flops", FIGURE},
               {"max_error", "correctness.max_error", CASE},
               {"bound", "correctness.bound", CASE},
               {"artifact", "graph.artifact", CASE},
               {"error", "error", CASE},
               {"interval_over", "speedup.interval_over", FIGURE},
               {"interrupted", "interrupted", CASE},
               {"disk_first_call_ns", "compile.disk_first_call_ns.median", FIGURE},
               {"memory_first_call_ns", "compile.memory_first_call_ns.median", FIGURE},
               {"library_ns", "compile.library_ns.median", FIGURE},
               {"work_bytes", "work.bytes", FIGURE},
               {"work_flops", "work.flops", FIGURE},
               {"bytes_per_s", "work.bytes_per_s", FIGURE},
               {"flops_per_s", "work.flops_per_s", FIGURE},
               {"counted_calls", "counted_calls", FIGURE},
               {"cold_instructions", "instructions.cold.total", FIGURE},
               {"disk_instructions", "instructions.disk.total", FIGURE},
               {"memory_instructions", "instructions.memory.total", FIGURE},
               {"steady_instructions", "instructions.steady", FIGURE},
               {"started", "started", RESULT},
               {"commit", "tbench.commit", RESULT},
               {"host", "host", MACHINE},
               {"file", "", FILE_NAME}};
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
  if (cJSON_IsString(value))
    put_text(out, value->valuestring);
  else if (cJSON_IsNumber(value) && isfinite(value->valuedouble))
    tb_put_number(out, value->valuedouble);
  else if (cJSON_IsBool(value))
    fputs(cJSON_IsTrue(value) ? "yes" : "no", out);
  else if (cJSON_IsObject(value))
    put_text(out, tb_doc_text(value, "message", ""));
}

/* A document, and the file that it is from; NULL: unknown. */
struct source {
  const cJSON *result;
  const char *path;
};

static void put_column(FILE *out, int column, const struct source *source, const cJSON *one_case) {
  const char *path = columns[column].path;
  switch (columns[column].home) {
    case CASE: put_value(out, tb_doc_at(one_case, path)); break;
    case FIGURE: put_value(out, tb_case_right(one_case) ? tb_doc_at(one_case, path) : NULL); break;
    case RESULT: put_value(out, tb_doc_at(source->result, path)); break;
    case MACHINE: put_value(out, tb_doc_at(tb_case_environment(source->result, one_case), path)); break;
    case FILE_NAME: put_text(out, source->path ? source->path : ""); break;
  }
}

static void put_cases(FILE *out, const struct source *source) {
  const cJSON *one_case;
  cJSON_ArrayForEach(one_case, tb_doc_at(source->result, "cases")) {
    for (int i = 0; i < N_COLUMNS; i++) {
      if (i) fputc(',', out);
      put_column(out, i, source, one_case);
    }
    fputs("\r\n", out);
  }
}

bool tb_report_csv(const cJSON *result, const struct tb_report_options *options, FILE *out) {
  for (int i = 0; i < N_COLUMNS; i++) fprintf(out, "%s%s", i ? "," : "", columns[i].title);
  fputs("\r\n", out);
  for (int i = 0; i < tb_doc_count(result); i++) {
    const struct source source = {tb_doc_nth(result, i), !cJSON_IsArray(result) ? options->result_path
                                                         : options->paths       ? options->paths[i]
                                                                                : NULL};
    put_cases(out, &source);
  }
  return !ferror(out);
}
