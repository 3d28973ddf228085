/* GET /case: one case on a machine: its history, where it changed, its runs, its variants, and what the
 * newest of these runs says of it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dashboard/api/series.h"
#include "dashboard/pages/html.h"
#include "dashboard/pages/page_newest.h"
#include "dashboard/server/answer.h"

enum { SHOWN = 60, VARIANTS = 60, NUMBER = 32 };

#define TEXT_OF(number) #number
#define TEXT(number)    TEXT_OF(number)
#define WHOLE_TEXT      TEXT(TB_SERIES_MOST)

/* --- charts: what the script makes charts of; each names its figures, and links to them as data --- */

enum { LINES = 3 };
struct chart {
  const char *title, *unit, *names; /* names of the lines, with commas; "": it has one */
  enum tb_figure lines[LINES];
  int n_lines;
  enum tb_figure low, high; /* its band; TB_FIGURE_COUNT: none */
  bool logarithmic, changes /* it shows the change points */;
  bool value; /* it has no figures, but what change points are found in: the time over the calibration
                 kernel's, of runs with the newest one's calibration kernel */
};
#define NO_BAND TB_FIGURE_COUNT, TB_FIGURE_COUNT
static const struct chart charts[] = {
    {"Time of a compiled call",
     "ns",
     "",
     {TB_FIGURE_steady},
     1,
     TB_FIGURE_steady_p05,
     TB_FIGURE_steady_p95,
     false,
     true,
     false},
    {"Time over that of the probe", "×", "", {0}, 0, NO_BAND, false, true, true},
    {"Speedup over eager",
     "×",
     "",
     {TB_FIGURE_speedup},
     1,
     TB_FIGURE_speedup_lo,
     TB_FIGURE_speedup_hi,
     true,
     false,
     false},
    {"Compile time, cold and warm",
     "ns",
     "cold,warm (disk),warm (memory)",
     {TB_FIGURE_cold, TB_FIGURE_disk, TB_FIGURE_memory},
     3,
     NO_BAND,
     true,
     false,
     false},
    {"Memory and machine code",
     "B",
     "moved by a call,peak,code",
     {TB_FIGURE_moved, TB_FIGURE_peak, TB_FIGURE_code},
     3,
     NO_BAND,
     true,
     false,
     false},
    {"Kernels", "", "", {TB_FIGURE_kernels}, 1, NO_BAND, false, false, false},
    {"Instructions of a call", "", "", {TB_FIGURE_instructions}, 1, NO_BAND, false, false, false},
};

static const char *figure_name(enum tb_figure figure) {
  return figure == TB_FIGURE_COUNT ? "" : tb_figure_name(figure);
}

static void put_chart(struct tc_strbuf *out, const struct tb_series_name *series, const struct chart *chart) {
  char lines[128] = "", all[256];
  if (chart->value) snprintf(lines, sizeof lines, "value");
  for (int i = 0, used = 0; i < chart->n_lines; i++)
    used += snprintf(lines + used, sizeof lines - (size_t)used, "%s%s", i ? "," : "",
                     tb_figure_name(chart->lines[i]));
  const bool band = chart->low != TB_FIGURE_COUNT;
  snprintf(all, sizeof all, "%s%s%s%s%s", lines, band ? "," : "", figure_name(chart->low), band ? "," : "",
           figure_name(chart->high));
  tc_strbuf_printf(out,
                   "<figure class=chart data-title=\"%s\" data-unit=\"%s\" data-figures=\"%s\" "
                   "data-names=\"%s\" data-low=\"%s\" data-high=\"%s\"%s%s%s data-runs=%lld data-series=\"",
                   chart->title, chart->unit, lines, chart->names, figure_name(chart->low),
                   figure_name(chart->high), chart->logarithmic ? " data-log" : "",
                   chart->changes ? " data-changes" : "", chart->value ? " data-probed" : "",
                   (long long)series->points);
  const struct tb_web_pair drawn[] = {
      {"case", series->name}, {"machine", series->machine}, {"limit", TEXT(TB_SERIES_DRAWN)}};
  tb_web_target(out, "/api/v1/series", drawn, TB_COUNT(drawn), NULL);
  tc_strbuf_printf(out, "\"><figcaption>%s</figcaption><div class=plot></div>\n", chart->title);
  const struct tb_web_pair query[] = {{"case", series->name}, {"machine", series->machine}, {"figures", all}};
  tb_web_data(out, "this chart as data:", "/api/v1/series", query, TB_COUNT(query));
  tc_strbuf_puts(out, "</figure>\n");
}

/* Which figures the points have that charts draw, and over which calibration kernel the newest value is; 0:
 * over none. */
struct known {
  bool figures[TB_FIGURE_COUNT];
  int64_t calibration;
};

static void find_figures(struct tb_store *store, int64_t series, struct known *known) {
  enum { CALIBRATION, VALUE, FIGURES }; /* columns */
  sqlite3_stmt *rows = tb_store_get(store, TB_SQL_DRAWN);
  if (!rows) return;
  sqlite3_bind_int64(rows, 1, series);
  sqlite3_bind_int(rows, 2, TB_SERIES_DRAWN);
  for (bool newest = true; tb_store_step(store, rows);) {
    for (int i = 0; i < TB_FIGURE_COUNT; i++)
      known->figures[i] = known->figures[i] || sqlite3_column_type(rows, FIGURES + i) != SQLITE_NULL;
    if (!newest || sqlite3_column_type(rows, VALUE) == SQLITE_NULL) continue;
    known->calibration = sqlite3_column_int64(rows, CALIBRATION);
    newest = false;
  }
  tb_store_done(rows);
}

static void put_charts(struct tc_strbuf *out, const struct tb_series_name *series,
                       const struct known *known) {
  tc_strbuf_puts(out, "<noscript><p class=quiet>Charts need JavaScript; the <a href=#runs>table of runs</a> "
                      "has their figures.</p></noscript>\n<section class=charts aria-label=charts>\n");
  for (int i = 0; i < TB_COUNT(charts); i++)
    if (charts[i].value ? known->calibration > 0 : known->figures[charts[i].lines[0]])
      put_chart(out, series, &charts[i]);
  tc_strbuf_puts(out, "</section>\n");
  const struct tb_web_pair query[] = {
      {"case", series->name}, {"machine", series->machine}, {"limit", WHOLE_TEXT}};
  tb_web_data(out,
              series->points > TB_SERIES_MOST ? "the newest " WHOLE_TEXT
                                                " runs of this history as data (older ones: before=):"
                                              : "this whole history as data:",
              "/api/v1/series", query, TB_COUNT(query));
}

/* --- machines and variants --- */

static void put_machines(struct tc_strbuf *out, struct tb_store *store, const struct tb_series_name *series) {
  sqlite3_stmt *rows = tb_store_get(store, TB_SQL_LATEST);
  if (!rows) return;
  sqlite3_bind_text(rows, 1, series->name, -1, SQLITE_STATIC);
  tc_strbuf_puts(out, "<ul class=machines>");
  while (tb_store_step(store, rows)) {
    const char *machine = tb_column_text(rows, 1);
    const struct tb_web_pair query[] = {{"case", series->name}, {"machine", machine}};
    tc_strbuf_puts(out, "<li>");
    tb_web_link(out, strcmp(machine, series->machine) ? "" : "aria-current=true", "/case", query,
                TB_COUNT(query), machine);
    tc_strbuf_puts(out, " ");
    tb_web_state(out, rows, 4, 11);
    tc_strbuf_puts(out, " ");
    tb_web_ns(out, tb_column_number(rows, 5));
    tc_strbuf_puts(out, "</li>");
  }
  tc_strbuf_puts(out, "</ul>\n");
  tb_store_done(rows);
}

/* A case that differs in what stands behind the first semicolon. */
static void put_variant(struct tc_strbuf *out, sqlite3_stmt *rows, const char *here) {
  const char *name = tb_column_text(rows, 0), *machine = tb_column_text(rows, 1), *what = strchr(name, ';');
  const struct tb_web_pair query[] = {{"case", name}, {"machine", machine}};
  tc_strbuf_puts(out, "<tr><td class=name>");
  tb_web_link(out, strcmp(name, here) ? "" : "aria-current=true", "/case", query, TB_COUNT(query),
              what ? what + 1 : "all at their defaults");
  tb_web_cell_ns(out, tb_column_number(rows, 5));
  tc_strbuf_puts(out, "<td class=figure>");
  tb_web_interval(out, tb_column_number(rows, 6), tb_column_number(rows, 7), tb_column_number(rows, 8));
  tb_web_cell_ns(out, tb_column_number(rows, 9));
  tb_web_cell_time(out, sqlite3_column_int64(rows, 2));
  tc_strbuf_puts(out, "</tr>\n");
}

static void put_variants(struct tc_strbuf *out, struct tb_store *store, const struct tb_series_name *series) {
  static const char *const columns[] = {"switches and parameters", "compiled", "speedup", "cold", "run"};
  sqlite3_stmt *rows = tb_store_get(store, TB_SQL_SWITCHED);
  int n = 0;
  if (!rows) return;
  sqlite3_bind_text(rows, 1, series->name, (int)strcspn(series->name, ";"), SQLITE_STATIC);
  sqlite3_bind_text(rows, 2, series->machine, -1, SQLITE_STATIC);
  sqlite3_bind_int(rows, 3, VARIANTS);
  tc_strbuf_puts(out, "<section><h2>Switches</h2>\n");
  while (tb_store_step(store, rows)) {
    if (!n++) tb_web_table(out, "the same case with other switches", columns, TB_COUNT(columns));
    put_variant(out, rows, series->name);
  }
  tb_store_done(rows);
  if (n) tb_web_table_end(out);
  if (n == 1) tc_strbuf_puts(out, "<p class=quiet>No result has this case with other switches.</p>\n");
  tc_strbuf_puts(out, "</section>\n");
}

/* --- change points and runs --- */

/* A link to the comparison of a commit with the one before it, on this machine. */
static void put_comparison(struct tc_strbuf *out, const struct tb_series_name *series, const char *base,
                           const char *head) {
  const struct tb_web_pair query[] = {{"base", base}, {"head", head}, {"machine", series->machine}};
  tc_strbuf_puts(out, "<td>");
  if (base && head && strcmp(base, head)) tb_web_link(out, "", "/compare", query, TB_COUNT(query), "compare");
}

static void put_changes(struct tc_strbuf *out, struct tb_store *store, const struct tb_series_name *series,
                        bool calibrated) {
  static const char *const columns[] = {"from",          "commit", "time, new over old",    "p",
                                        "taken back by", "on",     "with the commit before"};
  sqlite3_stmt *rows = tb_store_get(store, TB_SQL_CHANGES_OF);
  int n = 0;
  if (!rows) return;
  sqlite3_bind_int64(rows, 1, series->id);
  tc_strbuf_puts(out, "<section><h2>Change points</h2>\n");
  if (calibrated)
    tc_strbuf_puts(
        out, "<p class=quiet>They are found in the time over that of the probe, a fixed piece of work that "
             "was measured in the same rounds, and so is how far the time moved: a machine that is "
             "faster or slower for a while makes none. In the time by itself a step may be hidden, or one be "
             "seen that is not here.</p>\n");
  while (tb_store_step(store, rows)) {
    const char *commit = tb_column_text(rows, 1);
    if (!n++) tb_web_table(out, "change points", columns, TB_COUNT(columns));
    tc_strbuf_puts(out, "<tr>");
    tb_web_cell_time(out, sqlite3_column_int64(rows, 0));
    tb_web_cell_commit(out, commit);
    tc_strbuf_printf(out, "<td class=figure><span class=\"mark %s\">",
                     sqlite3_column_int(rows, 2) ? "slower" : "faster");
    tb_web_percent(out, tb_column_number(rows, 4) / tb_column_number(rows, 3));
    tc_strbuf_printf(out, "</span><td class=figure>%.3g", tb_column_number(rows, 5));
    tb_web_cell_commit(out, tb_column_text(rows, 7));
    tb_web_cell_time(out, sqlite3_column_int64(rows, 6));
    put_comparison(out, series, tb_column_text(rows, 8), commit);
    tc_strbuf_puts(out, "</tr>\n");
  }
  if (n)
    tb_web_table_end(out);
  else
    tc_strbuf_puts(out, "<p class=quiet>None: as far as these runs tell, it never changed.</p>\n");
  tc_strbuf_puts(out, "</section>\n");
  tb_store_done(rows);
}

static double figure_of(sqlite3_stmt *row, enum tb_figure figure) {
  return tb_column_number(row, TB_POINT_FIGURES + (int)figure);
}

static void put_count(struct tc_strbuf *out, double count) {
  if (isnan(count))
    tc_strbuf_puts(out, "–");
  else
    tc_strbuf_printf(out, "%.0f", count);
}

/* What charts draw beside times: each is a column where the case has it. */
static const struct {
  const char *title;
  enum tb_figure figure;
  void (*put)(struct tc_strbuf *out, double value);
} further[] = {
    {"moved", TB_FIGURE_moved, tb_web_bytes},
    {"peak memory", TB_FIGURE_peak, tb_web_bytes},
    {"code", TB_FIGURE_code, tb_web_bytes},
    {"kernels", TB_FIGURE_kernels, put_count},
    {"instructions", TB_FIGURE_instructions, put_count},
};

/* As the chart has it: a value over another calibration kernel has another scale. */
static void put_further(struct tc_strbuf *out, sqlite3_stmt *row, const struct known *known) {
  if (known->calibration > 0) {
    tc_strbuf_puts(out, "<td class=figure>");
    tb_web_number(out, sqlite3_column_int64(row, TB_POINT_CALIBRATION) == known->calibration
                           ? tb_column_number(row, TB_POINT_VALUE)
                           : NAN);
  }
  for (int i = 0; i < TB_COUNT(further); i++) {
    if (!known->figures[further[i].figure]) continue;
    tc_strbuf_puts(out, "<td class=figure>");
    further[i].put(out, figure_of(row, further[i].figure));
  }
}

/* All of a run's row but for its last cell, which needs the run before it. */
static void put_run(struct tc_strbuf *out, sqlite3_stmt *row, const struct known *known) {
  static const enum tb_figure compiles[] = {TB_FIGURE_cold, TB_FIGURE_disk, TB_FIGURE_memory};
  const char *key = tb_column_text(row, TB_POINT_KEY);
  tc_strbuf_puts(out, "<tr>");
  tb_web_cell_time(out, sqlite3_column_int64(row, TB_POINT_STARTED));
  tb_web_cell_commit(out, tb_column_text(row, TB_POINT_COMMIT));
  tc_strbuf_puts(out, "<td>");
  tb_web_outcome(out, sqlite3_column_int(row, TB_POINT_OUTCOME));
  tb_web_cell_ns(out, figure_of(row, TB_FIGURE_steady));
  tc_strbuf_puts(out, "<td class=\"figure interval\">");
  tb_web_ns(out, figure_of(row, TB_FIGURE_steady_p05));
  tc_strbuf_puts(out, " to ");
  tb_web_ns(out, figure_of(row, TB_FIGURE_steady_p95));
  tb_web_cell_ns(out, figure_of(row, TB_FIGURE_baseline));
  tc_strbuf_puts(out, "<td class=figure>");
  tb_web_interval(out, figure_of(row, TB_FIGURE_speedup), figure_of(row, TB_FIGURE_speedup_lo),
                  figure_of(row, TB_FIGURE_speedup_hi));
  for (int i = 0; i < TB_COUNT(compiles); i++) tb_web_cell_ns(out, figure_of(row, compiles[i]));
  put_further(out, row, known);
  if (key)
    tc_strbuf_printf(out, "<td><a href=\"/result?key=%s\">result</a>", key);
  else
    tc_strbuf_puts(out, "<td>–");
}

struct shown {
  int count;
  struct tb_series_place newest, oldest;
}; /* of the runs of a page */

static void begin_runs(struct tc_strbuf *out, const struct known *known) {
  static const char *const all[] = {"run",   "commit",  "outcome", "compiled",   "5% to 95%",
                                    "eager", "speedup", "cold",    "warm: disk", "memory"},
                           *const links[] = {"", ""};
  const char *columns[TB_COUNT(all) + 1 + TB_COUNT(further) + TB_COUNT(links)];
  int n = 0;
  for (; n < TB_COUNT(all); n++) columns[n] = all[n];
  if (known->calibration > 0) columns[n++] = "over probe";
  for (int i = 0; i < TB_COUNT(further); i++)
    if (known->figures[further[i].figure]) columns[n++] = further[i].title;
  for (int i = 0; i < TB_COUNT(links); i++) columns[n++] = links[i];
  tc_strbuf_puts(out, "<section class=runs><h2 id=runs>Runs</h2>\n");
  tb_web_table(out, "runs", columns, n);
}

/* Newest first. */
static void put_runs(struct tc_strbuf *out, struct tb_store *store, const struct tb_series_name *series,
                     const struct tb_series_place *before, const struct known *known, struct shown *shown) {
  sqlite3_stmt *rows = tb_series_points(store, series->id, true, before, SHOWN);
  char *newer = NULL; /* commit of the row that waits for its last cell */
  if (!rows) return;
  begin_runs(out, known);
  while (tb_store_step(store, rows)) {
    const char *commit = tb_column_text(rows, TB_POINT_COMMIT);
    shown->oldest = (struct tb_series_place){sqlite3_column_int64(rows, TB_POINT_STARTED),
                                             sqlite3_column_int64(rows, TB_POINT_DOCUMENT),
                                             sqlite3_column_int64(rows, TB_POINT_POSITION)};
    if (!shown->count++)
      shown->newest = shown->oldest;
    else
      put_comparison(out, series, commit, newer), tc_strbuf_puts(out, "</tr>\n");
    free(newer);
    newer = strdup(commit);
    put_run(out, rows, known);
  }
  if (shown->count) tc_strbuf_puts(out, "<td></tr>\n");
  free(newer);
  tb_store_done(rows);
  tb_web_table_end(out);
}

static void put_neighbours(struct tc_strbuf *out, const struct tb_series_name *series, bool newest,
                           const struct shown *shown) {
  char started[NUMBER], document[NUMBER], position[NUMBER];
  snprintf(started, sizeof started, "%lld", (long long)shown->oldest.started);
  snprintf(document, sizeof document, "%lld", (long long)shown->oldest.document);
  snprintf(position, sizeof position, "%lld", (long long)shown->oldest.position);
  const struct tb_web_pair query[] = {{"case", series->name},
                                      {"machine", series->machine},
                                      {"before", started},
                                      {"before_document", document},
                                      {"before_position", position}};
  tc_strbuf_puts(out, "<nav class=pages aria-label=\"pages of runs\">");
  if (!newest) tb_web_link(out, "rel=prev accesskey=p", "/case", query, 2, "← the newest runs");
  if (shown->count == SHOWN)
    tb_web_link(out, "rel=next accesskey=n", "/case", query, TB_COUNT(query), "older runs →");
  tc_strbuf_puts(out, "</nav></section>\n");
}

void tb_page_case(struct tb_query *request, struct tb_store *store) {
  struct tc_strbuf *out = &request->answer.body;
  struct tb_series_name series;
  struct shown shown = {0};
  struct known known = {0};
  struct tb_series_place before;
  if (!tb_series_before(request, &before) || !tb_series_find(request, store, &series)) {
    tb_web_error(request);
    return;
  }
  tb_web_begin(request, series.name, "/case");
  put_machines(out, store, &series);
  find_figures(store, series.id, &known);
  put_charts(out, &series, &known);
  put_changes(out, store, &series, known.calibration > 0);
  put_variants(out, store, &series);
  const bool newest = before.started == INT64_MAX;
  put_runs(out, store, &series, &before, &known, &shown);
  put_neighbours(out, &series, newest, &shown);
  if (shown.count) tb_web_newest(out, store, shown.newest.document, (int)shown.newest.position, newest);
  tb_web_end(request);
}
