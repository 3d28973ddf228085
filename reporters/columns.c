/* Columns of the tables for people. To add one: a row in `columns` with the function that formats its cell;
 * `verbose` ones are shown when they are asked for. Figures are read by tb_case_figure: a case that is not
 * right has its outcome, and none of them. */
#include <math.h>
#include <string.h>

#include "reporters/table.h"

static const double ns_per_us = 1e3, ns_per_ms = 1e6, giga = 1e9, million = 1e6, hundred = 100;

static void scaled(const cJSON *c, const char *path, double unit, char *out) {
  tb_format3(tb_case_figure(c, path) / unit, out, TB_CELL);
}

static void cell_batch(const cJSON *c, char *out) {
  const double batch = tb_doc_number(c, "case.batch");
  if (isnan(batch))
    snprintf(out, TB_CELL, "–");
  else
    snprintf(out, TB_CELL, "%.0f", batch);
}
static void cell_mode(const cJSON *c, char *out) { snprintf(out, TB_CELL, "%s", tb_case_column(c)); }
static void cell_baseline(const cJSON *c, char *out) { scaled(c, "baseline.median_ns", ns_per_us, out); }
static void cell_steady(const cJSON *c, char *out) { scaled(c, "steady.median_ns", ns_per_us, out); }
static void cell_speedup(const cJSON *c, char *out) {
  const double ratio = tb_case_figure(c, "speedup.ratio"), lo = tb_case_figure(c, "speedup.lo"),
               hi = tb_case_figure(c, "speedup.hi");
  if (isnan(ratio))
    snprintf(out, TB_CELL, "–");
  else if (isnan(lo) || isnan(hi))
    snprintf(out, TB_CELL, "%.2f", ratio);
  else
    snprintf(out, TB_CELL, "%.2f [%.2f, %.2f]", ratio, lo, hi);
}
static void cell_cold(const cJSON *c, char *out) { scaled(c, "compile.cold_ns.median", ns_per_ms, out); }
static void cell_disk(const cJSON *c, char *out) { scaled(c, "compile.disk_ns.median", ns_per_ms, out); }
static void cell_break_even(const cJSON *c, char *out) {
  const double calls = tb_case_figure(c, "compile.pays_off_after_calls");
  const double high = tb_case_figure(c, "speedup.hi"), first = tb_case_figure(c, "compile.pays_off_lo"),
               last = tb_case_figure(c, "compile.pays_off_hi");
  const bool infinite = cJSON_IsTrue(tb_doc_at(c, "compile.pays_off_infinite"));
  char interval[TB_CELL] = "";
  if (infinite && (first >= 1 || (first >= 0 && !isnan(calls))))
    snprintf(interval, sizeof interval, " [%.0f, ∞)", ceil(first));
  if (!isnan(first) && !isnan(last))
    snprintf(interval, sizeof interval, " [%.0f, %.0f]", ceil(first), ceil(last));
  const bool unknown =
      isnan(high) ||
      (high > 1 &&
       isnan(tb_case_figure(c, "compile.cold_ns.median"))); /* that a call loses is enough to know */
  if (isnan(calls))
    snprintf(out, TB_CELL, "%s%s",
             unknown    ? "–"
             : high > 1 ? "unsure"
                        : "never",
             !unknown && high > 1 ? interval : "");
  else
    snprintf(out, TB_CELL, "%.0f call%s%s", ceil(calls), ceil(calls) == 1 ? "" : "s", interval);
}
static void cell_floor(const cJSON *c, char *out) {
  const double share = tb_case_figure(c, "speedup.noise_floor");
  if (isnan(share))
    snprintf(out, TB_CELL, "–");
  else
    snprintf(out, TB_CELL, "±%.1f%%", hundred * share);
}
static void cell_kernels(const cJSON *c, char *out) {
  const double kernels = tb_case_figure(c, "graph.kernels"), calls = tb_case_figure(c, "graph.library_calls");
  if (isnan(kernels) || isnan(calls))
    snprintf(out, TB_CELL, "–");
  else
    snprintf(out, TB_CELL, "%.0f+%.0f", kernels, calls);
}
static void cell_memory(const cJSON *c, char *out) { scaled(c, "compile.memory_ns.median", ns_per_ms, out); }
static void cell_first_call(const cJSON *c, char *out) {
  scaled(c, "compile.first_call_ns.median", ns_per_ms, out);
}
static void cell_library(const cJSON *c, char *out) {
  scaled(c, "compile.library_ns.median", ns_per_ms, out);
}
static void cell_start(const cJSON *c, char *out) { scaled(c, "compile.start_ns.median", ns_per_ms, out); }
static void cell_bandwidth(const cJSON *c, char *out) { scaled(c, "work.bytes_per_s", giga, out); }
static void cell_rate(const cJSON *c, char *out) { scaled(c, "work.flops_per_s", giga, out); }
static void cell_cold_count(const cJSON *c, char *out) { scaled(c, "instructions.cold.total", million, out); }
static void cell_disk_count(const cJSON *c, char *out) { scaled(c, "instructions.disk.total", million, out); }
static void cell_steady_count(const cJSON *c, char *out) { scaled(c, "instructions.steady", million, out); }
static void cell_outcome(const cJSON *c, char *out) {
  snprintf(out, TB_CELL, "%s", tb_doc_text(c, "outcome", "?"));
}

static const struct tb_column columns[] = {{"batch", "", cell_batch, false, false},
                                           {"mode", "", cell_mode, true, false},
                                           {"baseline", "(µs)", cell_baseline, false, false},
                                           {"compiled", "(µs)", cell_steady, false, false},
                                           {"speedup [95%]", "", cell_speedup, false, false},
                                           {"A/A", "", cell_floor, false, true},
                                           {"cold", "(ms)", cell_cold, false, false},
                                           {"disk", "(ms)", cell_disk, false, false},
                                           {"memory", "(ms)", cell_memory, false, true},
                                           {"first call", "(ms)", cell_first_call, false, true},
                                           {"library", "(ms)", cell_library, false, true},
                                           {"start", "(ms)", cell_start, false, true},
                                           {"pays off after", "", cell_break_even, false, false},
                                           {"kernels+calls", "", cell_kernels, false, false},
                                           {"bytes", "(GB/s)", cell_bandwidth, false, true},
                                           {"flops", "(GFLOP/s)", cell_rate, false, true},
                                           {"cold", "(M instr)", cell_cold_count, false, true},
                                           {"disk", "(M instr)", cell_disk_count, false, true},
                                           {"steady", "(M instr)", cell_steady_count, false, true},
                                           {"outcome", "", cell_outcome, true, false}};

int tb_column_count(void) { return (int)(sizeof columns / sizeof *columns); }
const struct tb_column *tb_column_at(int index) { return &columns[index]; }
bool tb_column_shown(const struct tb_report_options *options, int index) {
  return options->verbose || !columns[index].verbose;
}
