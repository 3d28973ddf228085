/* The page of results: a section a result, in it a table and a chart a group. */
#include "reporters/html/html.h"

#include <stdlib.h>

#include "reporters/ablation.h"
#include "reporters/series.h"

static const char style[] =
    "<style>\n"
    ":root { color-scheme: light dark; --back: #fff; --ink: #1b1f24; --faint: #5b6570; --line: #d9dde2; "
    "--box: #f6f8fa; --bad: #b3261e; --good: #1a6b2f; --unsure: #8a5a00;\n"
    "  --s0: #0072b2; --s1: #d55e00; --s2: #007a5a; --s3: #aa4c8a; --s4: #56719b; --s5: #806000; }\n"
    "@media (prefers-color-scheme: dark) { :root { --back: #14181d; --ink: #dde3ea; --faint: #98a2ad; "
    "--line: #343b43; --box: #1c2229; --bad: #ff8a80; --good: #7fd694;\n"
    "  --unsure: #f0c36d; --s0: #56b4e9; --s1: #ff9350; --s2: #3fd0a4; --s3: #e59cc9; --s4: #a9bfe0; --s5: "
    "#e0c040; } }\n"
    "* { box-sizing: border-box; } body { margin: 0 auto; padding: 1rem clamp(.6rem, 2vw, 2.5rem) 3rem; "
    "background: var(--back); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }\n"
    "p, li, h3 { overflow-wrap: anywhere; } h1 { font-size: 1.4rem; margin: .4rem 0; } h2 { font-size: "
    "1.1rem; margin: 2rem 0 .5rem; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; } h3 { "
    "font-size: .95rem; margin: 1rem 0 .4rem; }\n"
    ".faint, figcaption { color: var(--faint); font-size: .85rem; } .groups { display: grid; gap: 1rem 2rem; "
    "grid-template-columns: repeat(auto-fit, minmax(min(100%, 46rem), 1fr)); align-items: start; }\n"
    ".groups > section { min-width: 0; } .scroll { overflow-x: auto; } table { border-collapse: collapse; "
    "font-variant-numeric: tabular-nums; font-size: .87rem; }\n"
    "th, td { padding: .2rem .7rem .2rem 0; text-align: right; white-space: nowrap; border-bottom: 1px solid "
    "var(--line); vertical-align: top; } th { color: var(--faint); font-weight: 600; }\n"
    ".l { text-align: left; } td.id { font: .8rem/1.5 ui-monospace, monospace; white-space: normal; "
    "overflow-wrap: anywhere; min-width: min(14rem, 35vw); } td.text { white-space: normal; min-width: 7rem; "
    "max-width: 32rem; text-align: left; }\n"
    "tr.bad td { color: var(--bad); } .SLOWER, .bad { color: var(--bad); font-weight: 600; } .FASTER { "
    "color: var(--good); font-weight: 600; } .UNSURE { color: var(--unsure); font-weight: 600; }\n"
    "figure { margin: .8rem 0; } svg.chart { display: block; width: 100%; max-width: 36rem; } svg text { "
    "fill: var(--faint); font: 12px system-ui, sans-serif; } svg.small { width: 10rem; height: 1rem; }\n"
    ".grid { stroke: var(--line); } .one { stroke: var(--ink); stroke-width: 1.2; } .line, .bar { fill: "
    "none; stroke: currentColor; stroke-width: 1.6; } .mark { fill: currentColor; }\n"
    ".s0 { color: var(--s0); } .s1 { color: var(--s1); } .s2 { color: var(--s2); } .s3 { color: var(--s3); } "
    ".s4 { color: var(--s4); } .s5 { color: var(--s5); }\n"
    ".s1 .line { stroke-dasharray: 7 3; } .s2 .line { stroke-dasharray: 2 3; } .s3 .line { stroke-dasharray: "
    "9 3 2 3; } .s4 .line { stroke-dasharray: 4 2; } .s5 .line { stroke-dasharray: 1 4; }\n"
    ".legend { list-style: none; display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; margin: .2rem 0; "
    "padding: 0; font-size: .85rem; } .legend svg { vertical-align: middle; }\n"
    "details { margin: 1rem 0; padding: .3rem .8rem; background: var(--box); border: 1px solid var(--line); "
    "border-radius: 4px; } summary { cursor: pointer; } pre { overflow-x: auto; font-size: .8rem; }\n"
    "</style>\n";

void tb_html_begin(FILE *out, const char *title) {
  fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
        "content=\"width=device-width, initial-scale=1\">\n<title>",
        out);
  tb_html_text(out, title);
  fputs("</title>\n", out);
  fputs(style, out);
  fputs("</head>\n<body>\n<main>\n<h1>", out);
  tb_html_text(out, title);
  fputs("</h1>\n", out);
}

void tb_html_end(FILE *out) { fputs("</main>\n</body>\n</html>\n", out); }

/* --- groups --- */

struct writing {
  FILE *out;
  const struct tb_report_options *options;
  bool good;
};

static void put_group(const cJSON **cases, int count, void *context) {
  struct writing *w = context;
  char group[TB_GROUP];
  tb_case_group(cases[0], group, sizeof group);
  fputs("<section>\n<h3>", w->out);
  tb_html_text(w->out, group);
  fputs("</h3>\n<div class=\"scroll\" tabindex=\"0\"><table>\n", w->out);
  fputs("<thead><tr>", w->out);
  for (int k = 0; k < tb_column_count(); k++) {
    const struct tb_column *column = tb_column_at(k);
    if (!tb_column_shown(w->options, k)) continue;
    fprintf(w->out, "<th scope=\"col\"%s>%s%s%s</th>", column->left ? " class=\"l\"" : "", column->title,
            *column->unit ? "<br>" : "", column->unit);
  }
  fputs("</tr></thead>\n<tbody>\n", w->out);
  for (int i = 0; i < count; i++) {
    fprintf(w->out, "<tr%s>", tb_case_right(cases[i]) || tb_case_absent(cases[i]) ? "" : " class=\"bad\"");
    for (int k = 0; k < tb_column_count(); k++) {
      char cell[TB_CELL];
      if (!tb_column_shown(w->options, k)) continue;
      tb_column_at(k)->format(cases[i], cell);
      fputs(tb_column_at(k)->left ? "<td class=\"l\">" : "<td>", w->out);
      tb_html_text(w->out, cell);
      fputs("</td>", w->out);
    }
    fputs("</tr>\n", w->out);
  }
  fputs("</tbody></table></div>\n", w->out);
  w->good &= tb_html_speedup(w->out, cases, count, group);
  fputs("</section>\n", w->out);
}

/* --- what else is to be known --- */

static void put_failures(FILE *out, const cJSON *result) {
  const cJSON *c;
  cJSON_ArrayForEach(c, tb_doc_at(result, "cases")) {
    const char *error = tb_case_error(c);
    if (tb_case_right(c) || tb_case_absent(c)) continue;
    fputs("<p><code>", out);
    tb_html_text(out, tb_doc_text(c, "id", "?"));
    fputs("</code>: <span class=\"bad\">", out);
    tb_html_text(out, tb_doc_text(c, "outcome", "?"));
    fputs("</span> ", out);
    tb_html_text(out, error ? error : "");
    fputs("</p>\n", out);
  }
}

static void put_item(const char *text, void *context) {
  fputs("<li>", context);
  tb_html_text(context, text);
  fputs("</li>\n", context);
}

static void put_named(FILE *out, const cJSON *item, const char *path, const char *name) {
  const char *text = tb_doc_text(item, path, NULL);
  if (!text) return;
  fprintf(out, "<li>%s: ", name);
  tb_html_text(out, text);
  fputs("</li>\n", out);
}

static void put_notes(FILE *out, const cJSON *result) {
  const cJSON *environment = cJSON_GetArrayItem(tb_doc_at(result, "environments"), 0), *c, *note;
  fputs("<details><summary>Machine and notes</summary><ul>\n", out);
  put_named(out, environment, "host", "host");
  put_named(out, environment, "cpu.model", "CPU");
  put_named(out, environment, "os", "system");
  put_named(out, environment, "llvm", "LLVM");
  put_named(out, environment, "blas", "BLAS");
  put_named(out, result, "tbench.version", "tbench");
  put_named(out, result, "tbench.commit", "commit");
  tb_each_note(result, put_item, out);
  cJSON_ArrayForEach(c, tb_doc_at(result, "cases")) {
    cJSON_ArrayForEach(note, tb_doc_at(c, "graph.fallbacks")) {
      if (cJSON_IsString(note)) put_item(note->valuestring, out);
    }
  }
  fputs("</ul></details>\n", out);
}

static bool put_ablation(FILE *out, const cJSON *result) {
  char *text = NULL;
  size_t bytes;
  const struct tb_report_options plain = {0};
  FILE *table = open_memstream(&text, &bytes);
  bool good = table && tb_report_ablation(result, &plain, table);
  if (table && fclose(table)) good = false;
  fputs("<h3>What each switch of compile time buys</h3>\n<pre>", out);
  if (text) tb_html_text(out, text);
  fputs("</pre>\n", out);
  free(text);
  return good;
}

static bool put_result(struct writing *w, const cJSON *result) {
  FILE *out = w->out;
  bool ablation = false, good = true;
  fputs("<section>\n<h2>", out);
  tb_html_text(out, tb_doc_text(cJSON_GetArrayItem(tb_doc_at(result, "cases"), 0), "case.suite", "no cases"));
  fputs(" · ", out);
  tb_html_text(out, tb_doc_text(result, "started", "?"));
  fputs("</h2>\n<p>", out);
  tb_put_summary(out, result);
  fputs("</p>\n", out);
  put_failures(out, result);
  fputs("<div class=\"groups\">\n", out);
  good &= tb_each_group(result, put_group, w, &ablation);
  fputs("</div>\n", out);
  if (ablation) good &= put_ablation(out, result);
  put_notes(out, result);
  fputs("</section>\n", out);
  return good;
}

bool tb_report_html(const cJSON *result, const struct tb_report_options *options, FILE *out) {
  struct writing w = {out, options, true};
  bool good = true;
  tb_html_begin(out, "tbench: results");
  for (int i = 0; i < tb_doc_count(result); i++) good &= put_result(&w, tb_doc_nth(result, i));
  tb_html_end(out);
  return good && w.good && !ferror(out);
}
