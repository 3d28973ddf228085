/* Rooflines (Williams, Waterman and Patterson, CACM 52, 2009): the rate that a case achieves over its
 * arithmetic intensity, below what the memory and the arithmetic units of the same part of the machine gave
 * to the same number of threads.
 *
 * Operations and bytes are the compiler's count of a case's graph, time is the median of a steady call. Roofs
 * are those of the case's environment: a triad over arrays far larger than all caches, and f32 multiply-adds
 * in registers, both measured bound to the CPUs of the case with its number of threads; a panel an
 * environment. Cases on another device or another number of threads are not drawn, and counted. What stays in
 * a cache may lie above the slanted roof. Data: of the roof intensity, rate; of curves intensity, rate, share
 * of the roof, batch. */
#include <math.h>
#include <string.h>

#include "reporters/gnuplot/gnuplot.h"

enum { CURVES_MAX = 3 * TB_PLOT_SERIES, LABELLED = 3, CURVE_PIXELS = 20, PANEL_PIXELS = 420 };
static const double giga = 1e9, around = 1.6;

struct machine {
  int number;
  double bytes_per_s, flops_per_s, threads;
  const cJSON *json;
};

static double intensity_of(const cJSON *c) {
  return tb_doc_number(c, "graph.flops") / tb_doc_number(c, "graph.bytes_moved");
}
static double rate_of(const cJSON *c) {
  return tb_doc_number(c, "graph.flops") / tb_doc_number(c, "steady.median_ns");
} /* a nanosecond: GFLOP/s */
static double roof_at(const struct machine *m, double intensity) {
  return fmin(m->flops_per_s, m->bytes_per_s * intensity) / giga;
}
static double steady_of(const cJSON *c) { return tb_doc_number(c, "steady.median_ns"); }

static bool is_drawable(const cJSON *c) {
  const double x = intensity_of(c), y = rate_of(c);
  return tb_case_right(c) && x > 0 && isfinite(x) && y > 0 && isfinite(y);
}

static bool fits(const cJSON *c, const void *data) {
  const struct machine *m = data;
  return is_drawable(c) && tb_case_environment_number(c) == m->number &&
         !strcmp(tb_doc_text(c, "case.device", "?"), "cpu") && tb_doc_number(c, "case.threads") == m->threads;
}

static bool has_roofs(const struct machine *m) {
  return m->bytes_per_s > 0 && m->flops_per_s > 0 && isfinite(m->bytes_per_s) && isfinite(m->flops_per_s);
}

/* Cases that have a rate, and are in no panel. */
static int count_others(const cJSON *result) {
  const cJSON *c;
  int n = 0;
  cJSON_ArrayForEach(c, tb_doc_at(result, "cases")) {
    const cJSON *e = tb_case_environment(result, c);
    const struct machine m = {tb_case_environment_number(c), tb_doc_number(e, "triad_bytes_per_s"),
                              tb_doc_number(e, "fma_flops_per_s"), tb_doc_number(e, "threads"), e};
    n += is_drawable(c) && !(has_roofs(&m) && fits(c, &m));
  }
  return n;
}

struct range {
  double x_lo, x_hi, y_lo, y_hi;
};

static void put_curve(struct tb_page *page, const struct machine *m, const struct tb_curve *curve,
                      bool labelled, struct range *r) {
  tb_page_block(page, curve->title, "intensity (FLOP/byte)  rate (GFLOP/s)  share of the roof  batch  case");
  for (int i = 0; i < curve->count; i++) {
    const cJSON *c = curve->cases[i];
    const double x = intensity_of(c), y = rate_of(c), batch = tb_doc_number(c, "case.batch");
    const bool named = labelled && (!i || i == curve->count - 1);
    char label[32] = "";
    if (named && !isnan(batch)) snprintf(label, sizeof label, "b%.10g", batch);
    fprintf(page->data, "%.17g %.17g %.4g ", x, y, y / roof_at(m, x));
    tb_plot_column(page->data, label);
    fputc(' ', page->data);
    tb_plot_column(page->data, tb_doc_text(c, "id", "?"));
    fputc('\n', page->data);
    r->x_lo = fmin(r->x_lo, x), r->x_hi = fmax(r->x_hi, x);
    r->y_lo = fmin(r->y_lo, y), r->y_hi = fmax(r->y_hi, y);
  }
}

/* From the left end over the ridge to the right end. */
static int put_roof(struct tb_page *page, const struct machine *m, const struct range *r) {
  const double ridge = m->flops_per_s / m->bytes_per_s, points[] = {r->x_lo, ridge, r->x_hi};
  const int block = tb_page_block(page, "roof", "intensity (FLOP/byte)  rate (GFLOP/s)");
  for (int i = 0; i < 3; i++) fprintf(page->data, "%.17g %.17g\n", points[i], roof_at(m, points[i]));
  return block;
}

static void put_titles(struct tb_page *page, const struct machine *m, const char *group) {
  char title[TB_PLOT_TITLE], second[TB_PLOT_TITLE], where[64] = "";
  const char *cpus = tb_doc_text(m->json, "cpus", "");
  if (*cpus) snprintf(where, sizeof where, ", CPUs %.40s", cpus);
  snprintf(title, sizeof title,
           "roofline: %.10g thread%s on %.40s%s; the roofs were measured there with as many threads",
           m->threads, m->threads == 1 ? "" : "s", tb_doc_text(m->json, "bound_to", "this machine"), where);
  snprintf(second, sizeof second, "%.120s", *group ? group : tb_doc_text(m->json, "cpu.model", ""));
  tb_page_title(page, title, second);
}

static void add_panel(struct tb_page *page, const struct machine *m, const struct tb_curves *curves,
                      int first, int count) {
  const double ridge = m->flops_per_s / m->bytes_per_s;
  struct range r = {ridge, ridge, m->flops_per_s / giga,
                    m->flops_per_s / giga}; /* the ridge is in sight in any case, and right of it the roof */
  const int block = page->n_blocks + 1;
  char label[TB_PLOT_TITLE];
  for (int i = 0; i < count; i++)
    put_curve(page, m, &curves->data[first + i], !i || count <= LABELLED,
              &r); /* names of many curves' ends would lie upon one another */
  r.x_lo /= around, r.x_hi *= around * around;
  const int roof = put_roof(page, m, &r);
  tb_page_panel(page, PANEL_PIXELS + CURVE_PIXELS * (count + 1), count + 1, "roofline");
  put_titles(page, m, tb_curves_group(curves, first, count));
  FILE *out = page->script;
  fputs("set xlabel 'arithmetic intensity (FLOP/byte)'\nset ylabel 'rate (GFLOP/s)'\n", out);
  tb_plot_log_axis(out, 'x', r.x_lo, r.x_hi);
  tb_plot_log_axis(out, 'y', r.y_lo, r.y_hi);
  fputs("plot ", out);
  tb_page_index(page, roof);
  snprintf(label, sizeof label,
           "roof: memory %.3g GB/s (triad), then f32 multiply-add %.4g GFLOP/s; what stays in a cache may "
           "lie above",
           m->bytes_per_s / giga, m->flops_per_s / giga);
  fputs("with lines lc rgb '#333333' lw 2 dt 1 title ", out);
  tb_plot_quote(out, label);
  for (int i = 0; i < count; i++) {
    tb_curve_legend(curves, first, count, i, label);
    fputs(", \\\n  ", out);
    tb_page_index(page, block + i);
    fprintf(out, "using 1:2 with linespoints lt %d lw 1 title ", i + 1);
    tb_plot_quote(out, label);
    fputs(", \\\n  ", out);
    tb_page_index(page, block + i);
    fprintf(out, "using 1:2:4 with labels left offset 0.8,-0.4 font ',9' tc lt %d notitle", i + 1);
  }
  fputc('\n', out);
}

static bool add_machine(struct tb_page *page, const cJSON *cases, const struct machine *m) {
  struct tb_curves curves;
  if (!tb_curves_make(cases, fits, m, steady_of, &curves)) return tb_curves_free(&curves), false;
  const int dropped = tb_curves_keep(&curves, CURVES_MAX);
  if (dropped)
    tb_page_note(page,
                 "%d of %d curves of a roofline are left out: the fastest cases; case=PATTERN picks others",
                 dropped, dropped + curves.count);
  for (int first = 0, count; first < curves.count; first += count) {
    count = tb_curves_panel(&curves, first);
    add_panel(page, m, &curves, first, count);
  }
  tb_curves_free(&curves);
  return true;
}

bool tb_plot_roofline(struct tb_page *page, const struct tb_plot_subject *s) {
  const cJSON *e;
  int number = 0;
  const int before = page->n_panels;
  cJSON_ArrayForEach(e, tb_doc_at(s->result, "environments")) {
    const struct machine m = {number++, tb_doc_number(e, "triad_bytes_per_s"),
                              tb_doc_number(e, "fma_flops_per_s"), tb_doc_number(e, "threads"), e};
    if (has_roofs(&m) && !add_machine(page, tb_doc_at(s->result, "cases"), &m)) return false;
  }
  const int others = count_others(s->result);
  if (others && page->n_panels > before)
    tb_page_note(
        page,
        "%d case%s no roof in the roofline: it was not measured on their device with their number of threads",
        others, others == 1 ? " has" : "s have");
  return true;
}
