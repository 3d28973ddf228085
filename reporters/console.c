/* The table for people: a group for each workload, dtype and machine part; a row for each batch and mode.
 * To add a column: a row in `columns` with the function that formats its cell; `verbose` ones are shown when they are asked for. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reporters/ablation.h"

enum { CELL = 64, GROUP = 256, GAP = 2 };

static const double ns_per_us = 1e3, ns_per_ms = 1e6, ns_per_s = 1e9, giga = 1e9, million = 1e6, hundred = 100,
                    much_taken = 0.01 /* of the CPU time */;

static void scaled(const cJSON *c, const char *path, double unit, char *out) { tb_format3(tb_doc_number(c, path) / unit, out, CELL); }

static void cell_batch(const cJSON *c, char *out) {
  const double batch = tb_doc_number(c, "case.batch");
  if (isnan(batch)) snprintf(out, CELL, "–");
  else snprintf(out, CELL, "%.0f", batch);
}
static void cell_mode(const cJSON *c, char *out) { snprintf(out, CELL, "%s", tb_case_column(c)); }
static void cell_baseline(const cJSON *c, char *out) { scaled(c, "baseline.median_ns", ns_per_us, out); }
static void cell_steady(const cJSON *c, char *out) { scaled(c, "steady.median_ns", ns_per_us, out); }
static void cell_speedup(const cJSON *c, char *out) {
  const double ratio = tb_doc_number(c, "speedup.ratio"), lo = tb_doc_number(c, "speedup.lo"), hi = tb_doc_number(c, "speedup.hi");
  if (isnan(ratio)) snprintf(out, CELL, "–");
  else if (isnan(lo) || isnan(hi)) snprintf(out, CELL, "%.2f", ratio);
  else snprintf(out, CELL, "%.2f [%.2f, %.2f]", ratio, lo, hi);
}
static void cell_cold(const cJSON *c, char *out) { scaled(c, "compile.cold_ns.median", ns_per_ms, out); }
static void cell_disk(const cJSON *c, char *out) { scaled(c, "compile.disk_ns.median", ns_per_ms, out); }
static void cell_pays(const cJSON *c, char *out) {
  const double calls = tb_doc_number(c, "compile.pays_off_after_calls");
  const double high = tb_doc_number(c, "speedup.hi"), first = tb_doc_number(c, "compile.pays_off_lo"), last = tb_doc_number(c, "compile.pays_off_hi");
  const bool infinite = cJSON_IsTrue(tb_doc_at(c, "compile.pays_off_infinite"));
  char interval[CELL] = "";
  if (infinite && first >= 1) snprintf(interval, sizeof interval, " [%.0f, ∞)", ceil(first));
  if (!isnan(first) && !isnan(last)) snprintf(interval, sizeof interval, " [%.0f, %.0f]", ceil(first), ceil(last));
  if (isnan(calls)) snprintf(out, CELL, "%s%s", isnan(high) ? "–" : high > 1 ? "unsure" : "never", high > 1 ? interval : "");
  else snprintf(out, CELL, "%.0f call%s%s", ceil(calls), ceil(calls) == 1 ? "" : "s", interval);
}
static void cell_floor(const cJSON *c, char *out) {
  const double share = tb_doc_number(c, "speedup.noise_floor");
  if (isnan(share)) snprintf(out, CELL, "–");
  else snprintf(out, CELL, "±%.1f%%", hundred * share);
}
static void cell_kernels(const cJSON *c, char *out) {
  const double kernels = tb_doc_number(c, "graph.kernels"), calls = tb_doc_number(c, "graph.library_calls");
  if (isnan(kernels)) snprintf(out, CELL, "–");
  else snprintf(out, CELL, "%.0f+%.0f", kernels, calls);
}
static void cell_memory(const cJSON *c, char *out) { scaled(c, "compile.memory_ns.median", ns_per_ms, out); }
static void cell_first_call(const cJSON *c, char *out) { scaled(c, "compile.first_call_ns.median", ns_per_ms, out); }
static void cell_library(const cJSON *c, char *out) { scaled(c, "compile.library_ns.median", ns_per_ms, out); }
static void cell_start(const cJSON *c, char *out) { scaled(c, "compile.start_ns.median", ns_per_ms, out); }
static void cell_bandwidth(const cJSON *c, char *out) { scaled(c, "work.bytes_per_s", giga, out); }
static void cell_rate(const cJSON *c, char *out) { scaled(c, "work.flops_per_s", giga, out); }
static void cell_cold_count(const cJSON *c, char *out) { scaled(c, "instructions.cold.total", million, out); }
static void cell_disk_count(const cJSON *c, char *out) { scaled(c, "instructions.disk.total", million, out); }
static void cell_steady_count(const cJSON *c, char *out) { scaled(c, "instructions.steady", million, out); }
static void cell_outcome(const cJSON *c, char *out) { snprintf(out, CELL, "%s", tb_doc_text(c, "outcome", "?")); }

static const struct column { const char *title, *unit; void (*format)(const cJSON *c, char *out); bool left, verbose; } columns[] = {
    {"batch", "", cell_batch, false, false},           {"mode", "", cell_mode, true, false},
    {"baseline", "(µs)", cell_baseline, false, false}, {"compiled", "(µs)", cell_steady, false, false},
    {"speedup [95%]", "", cell_speedup, false, false}, {"A/A", "", cell_floor, false, true}, {"cold", "(ms)", cell_cold, false, false},
    {"disk", "(ms)", cell_disk, false, false},         {"memory", "(ms)", cell_memory, false, true},
    {"first call", "(ms)", cell_first_call, false, true}, {"library", "(ms)", cell_library, false, true},
    {"start", "(ms)", cell_start, false, true},        {"pays off after", "", cell_pays, false, false},
    {"kernels+calls", "", cell_kernels, false, false}, {"bytes", "(GB/s)", cell_bandwidth, false, true},
    {"flops", "(GFLOP/s)", cell_rate, false, true},
    {"cold", "(M instr)", cell_cold_count, false, true}, {"disk", "(M instr)", cell_disk_count, false, true},
    {"steady", "(M instr)", cell_steady_count, false, true}, {"outcome", "", cell_outcome, true, false}};
enum { N_COLUMNS = sizeof columns / sizeof *columns };

/* Characters on the screen: UTF-8 continuation bytes do not count. */
static int width_of(const char *text) {
  int n = 0;
  for (; *text; text++) n += ((unsigned char)*text & 0xC0) != 0x80;
  return n;
}

static void put_cell(FILE *out, const char *text, int width, bool left, bool last) {
  const int pad = width - width_of(text);
  if (left) fprintf(out, "%s%*s", text, last ? 0 : pad, "");
  else fprintf(out, "%*s%s", pad, "", text);
  if (!last) fprintf(out, "%*s", GAP, "");
}

static bool same_group(const cJSON *a, const cJSON *b) {
  char x[GROUP], y[GROUP];
  tb_case_group(a, x, sizeof x);
  tb_case_group(b, y, sizeof y);
  return !strcmp(x, y) && !strcmp(tb_doc_text(a, "case.suite", ""), tb_doc_text(b, "case.suite", ""));
}

static int by_batch(const void *a, const void *b) {
  const cJSON *x = *(const cJSON *const *)a, *y = *(const cJSON *const *)b;
  const double p = tb_doc_number(x, "case.batch"), q = tb_doc_number(y, "case.batch");
  if (p != q && !isnan(p) && !isnan(q)) return p < q ? -1 : 1;
  return strcmp(tb_doc_text(x, "id", ""), tb_doc_text(y, "id", ""));
}

static void put_title(FILE *out, const struct tb_report_options *options, const cJSON *first) {
  char group[GROUP];
  tb_case_group(first, group, sizeof group);
  fprintf(out, "%s%s%s\n", options->colour ? "\033[1m" : "", group, options->colour ? "\033[0m" : "");
}

/* Whether a column is in the table. */
static bool shown(const struct tb_report_options *options, int column) { return options->verbose || !columns[column].verbose; }

static void find_widths(const struct tb_report_options *options, const cJSON **cases, int n, int widths[N_COLUMNS]) {
  char cell[CELL];
  for (int k = 0; k < N_COLUMNS; k++) {
    widths[k] = 0;
    if (!shown(options, k)) continue;
    widths[k] = width_of(columns[k].title) > width_of(columns[k].unit) ? width_of(columns[k].title) : width_of(columns[k].unit);
    for (int i = 0; i < n; i++) {
      columns[k].format(cases[i], cell);
      if (width_of(cell) > widths[k]) widths[k] = width_of(cell);
    }
  }
}

/* One line: titles, units, or the cells of a case. */
static void put_line(FILE *out, const struct tb_report_options *options, const int widths[N_COLUMNS], const cJSON *c, bool units) {
  char cell[CELL];
  for (int k = 0; k < N_COLUMNS; k++) {
    if (!shown(options, k)) continue;
    if (c) columns[k].format(c, cell);
    put_cell(out, c ? cell : units ? columns[k].unit : columns[k].title, widths[k], columns[k].left, k + 1 == N_COLUMNS);
  }
}

static void put_rows(FILE *out, const struct tb_report_options *options, const cJSON **cases, int n) {
  int widths[N_COLUMNS];
  find_widths(options, cases, n, widths);
  put_line(out, options, widths, NULL, false);
  fputc('\n', out);
  put_line(out, options, widths, NULL, true);
  fputc('\n', out);
  for (int i = 0; i < n; i++) {
    const bool bad = strcmp(tb_doc_text(cases[i], "outcome", "ok"), "ok") != 0;
    if (bad && options->colour) fputs("\033[31m", out);
    put_line(out, options, widths, cases[i], false);
    if (bad && options->colour) fputs("\033[0m", out);
    fputc('\n', out);
  }
}

/* What made figures worse, where the harness saw it. */
static void put_warnings(FILE *out, const cJSON *result) {
  const cJSON *environment, *warning;
  cJSON_ArrayForEach(environment, tb_doc_at(result, "environments")) {
    cJSON_ArrayForEach(warning, tb_doc_at(environment, "warnings")) {
      if (cJSON_IsString(warning)) fprintf(out, "note: %s\n", warning->valuestring);
    }
  }
}

/* What took CPU time away while the run went on. */
static void put_disturbance(FILE *out, const cJSON *result) {
  const double others = tb_doc_number(result, "disturbance.others_share"), stolen = tb_doc_number(result, "disturbance.steal_share");
  if (others > much_taken) fprintf(out, "note: other processes took %.0f%% of the machine's CPU time during the run\n", hundred * others);
  if (stolen > much_taken) fprintf(out, "note: the hypervisor took %.0f%% of the machine's CPU time during the run\n", hundred * stolen);
}

/* How many causes of noise there are; doctor has them with what mends each. */
static void put_noise(FILE *out, const cJSON *result) {
  const cJSON *cause;
  int worse = 0, unknown = 0;
  cJSON_ArrayForEach(cause, tb_doc_at(cJSON_GetArrayItem(tb_doc_at(result, "environments"), 0), "noise")) {
    worse += !strcmp(tb_doc_text(cause, "state", ""), "worse");
    unknown += !strcmp(tb_doc_text(cause, "state", ""), "unknown");
  }
  if (worse || unknown) fprintf(out, "note: %d cause%s of noise, %d more cannot be seen here: tbench doctor tells what mends them\n", worse, worse == 1 ? "" : "s", unknown);
}

/* What the harness itself costs. */
static void put_harness(FILE *out, const cJSON *result) {
  const double wall = tb_doc_number(result, "harness.wall_ns"), own = tb_doc_number(result, "harness.own_ns"), processes = tb_doc_number(result, "harness.processes");
  if (!(wall > 0) || !(processes > 0)) return;
  fprintf(out, "harness: %.1f s for %.0f processes, of which %.1f%% its own: %.1f ms a process, %.1f ms of that pauses between blocks\n", wall / ns_per_s, processes,
          hundred * own / wall, own / processes / ns_per_ms, tb_doc_number(result, "harness.settle_ns") / processes / ns_per_ms);
}

/* An interval over the blocks of one pair of processes does not know how pairs differ. */
static void put_interval_note(FILE *out, const cJSON **cases, int n) {
  bool any = false, all = true;
  for (int i = 0; i < n; i++) {
    const char *over = tb_doc_text(cases[i], "speedup.interval_over", "");
    any |= !strcmp(over, "blocks");
    all &= !*over || !strcmp(over, "blocks");
  }
  if (any) fprintf(out, "note: %sintervals are over the blocks of one pair of processes; more replicates also show how processes differ\n", all ? "" : "some ");
}

/* What a person must know of a case beside its figures: errors and fallbacks. */
static void put_notes(FILE *out, const cJSON *c) {
  const cJSON *error = tb_doc_at(c, "error"), *note;
  const char *text = cJSON_IsString(error) ? error->valuestring : tb_doc_text(error, "message", NULL);
  if (text) fprintf(out, "  %s: %s\n", tb_doc_text(c, "id", "?"), text);
  cJSON_ArrayForEach(note, tb_doc_at(c, "graph.fallbacks")) {
    if (cJSON_IsString(note)) fprintf(out, "  %s: %s\n", tb_doc_text(c, "id", "?"), note->valuestring);
  }
}

/* Right cases of an ablation have rows of its table instead. */
static bool in_ablation(const cJSON *result, const cJSON *c) {
  return !strcmp(tb_doc_text(c, "outcome", ""), "ok") && tb_ablation_reference(result, c);
}

/* Cases that Ctrl-C came before have no row; the summary counts them. */
static bool not_reached(const cJSON *c) { return cJSON_IsTrue(tb_doc_at(c, "interrupted")); }

static void put_groups(FILE *out, const struct tb_report_options *options, const cJSON *result, const cJSON **cases, int n) {
  const cJSON **group = calloc((size_t)n, sizeof *group);
  bool *done = calloc((size_t)n, sizeof *done);
  bool ablation = false;
  for (int i = 0; done && i < n; i++) ablation |= done[i] = in_ablation(result, cases[i]);
  for (int i = 0; group && done && i < n; i++) {
    if (done[i] || not_reached(cases[i])) continue;
    int members = 0;
    for (int k = i; k < n; k++) {
      if (done[k] || not_reached(cases[k]) || !same_group(cases[i], cases[k])) continue;
      done[k] = true;
      group[members++] = cases[k];
    }
    qsort(group, (size_t)members, sizeof *group, by_batch);
    put_title(out, options, group[0]);
    put_rows(out, options, group, members);
    for (int k = 0; k < members; k++) put_notes(out, group[k]);
    fputc('\n', out);
  }
  if (ablation && tb_report_ablation(result, options, out)) fputc('\n', out);
  free(group);
  free(done);
}

/* What right cases were held against: cases with a comparison with the plain function alone are told apart. */
static void put_against(FILE *out, const cJSON **cases, int n) {
  int f64 = 0, baseline = 0;
  for (int i = 0; i < n; i++) {
    const char *against = tb_doc_text(cases[i], "correctness.against", "");
    if (!cJSON_IsTrue(tb_doc_at(cases[i], "correctness.ok"))) continue;
    f64 += !strcmp(against, "f64");
    baseline += !strcmp(against, "baseline");
  }
  if (!baseline) fputs(" (against f64)", out);
  else if (!f64) fputs(" (against the baseline)", out);
  else fprintf(out, " (%d against f64, %d against the baseline)", f64, baseline);
}

/* What a run leaves that was killed, or that goes on. */
static bool unfinished(const cJSON *result) { return cJSON_IsNull(tb_doc_at(result, "finished")); }

static void put_summary(FILE *out, const struct tb_report_options *options, const cJSON *result, const cJSON **cases, int n) {
  int right = 0, compared = 0, reached = 0;
  for (int i = 0; i < n; i++) {
    const cJSON *ok = tb_doc_at(cases[i], "correctness.ok");
    if (not_reached(cases[i])) continue;
    reached++;
    compared += cJSON_IsBool(ok);
    right += cJSON_IsTrue(ok) && !strcmp(tb_doc_text(cases[i], "outcome", ""), "ok");
  }
  const double planned = tb_doc_number(result, "planned");
  const int all = planned > n && planned < INT_MAX ? (int)planned : n, missing = all - reached;
  fprintf(out, "%d of %d right", right, all);
  put_against(out, cases, n);
  if (compared < reached) fprintf(out, ", %d not compared", reached - compared);
  if (missing) fprintf(out, ", %d not measured%s", missing, cJSON_IsTrue(tb_doc_at(result, "interrupted")) ? " (interrupted)" : unfinished(result) ? " (the run did not end)" : "");
  if (options->result_path) fprintf(out, " · %s", options->result_path);
  if (options->plot_path) fprintf(out, " · %s", options->plot_path);
  fputc('\n', out);
}

bool tb_report_console(const cJSON *result, const struct tb_report_options *options, FILE *out) {
  const cJSON *list = tb_doc_at(result, "cases"), *item;
  const int n = cJSON_GetArraySize(list);
  const cJSON **cases = calloc((size_t)n + 1, sizeof *cases);
  if (!cases) return false;
  int i = 0;
  cJSON_ArrayForEach(item, list) cases[i++] = item;
  put_groups(out, options, result, cases, n);
  put_warnings(out, result);
  put_disturbance(out, result);
  put_noise(out, result);
  put_interval_note(out, cases, n);
  if (options->verbose) put_harness(out, result);
  const int left_out = cJSON_GetArraySize(tb_doc_at(result, "left_out"));
  if (left_out) fprintf(out, "note: %d more case%s not timed: the compiler makes the same of %s as in %s\n", left_out, left_out == 1 ? " was" : "s were",
                        left_out == 1 ? "it" : "them", tb_doc_text(result, "changed_since", "?"));
  if (unfinished(result)) fputs("note: the run did not end: cases and replicates are missing\n", out);
  put_summary(out, options, result, cases, n);
  free(cases);
  return !ferror(out);
}
