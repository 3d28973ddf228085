/* The page of tbench explain format=html. It stands alone: no script, no other file. All texts are
 * escaped. */
#include <math.h>
#include <string.h>

#include "reporters/formats/explanation_source.h"

int tb_html_whole(const cJSON *item, const char *path, int otherwise) {
  const double value = tb_doc_number(item, path);
  return isfinite(value) && fabs(value) < 1e9 ? (int)value : otherwise;
}

static const char style[] =
    "<style>\n"
    ":root { --back: #fff; --ink: #1b1f24; --faint: #6a737d; --line: #e3e6ea; --box: #f6f8fa; --bad: "
    "#b3261e; --bad-back: #fdeceb;\n"
    "  --g0: #e8f1fd; --g1: #e7f6ea; --g2: #fdf3e1; --g3: #f3eafd; --g4: #e4f6f7; --g5: #fdeaf4; }\n"
    "@media (prefers-color-scheme: dark) { :root { --back: #14181d; --ink: #dde3ea; --faint: #8b949e; "
    "--line: #2b3138; --box: #1c2229; --bad: #ff8a80;\n"
    "  --bad-back: #3b1f1f; --g0: #1a2a3d; --g1: #1a3022; --g2: #352b17; --g3: #2b2140; --g4: #173033; --g5: "
    "#38202f; } }\n"
    "body { margin: 2rem auto; max-width: 110rem; padding: 0 1.5rem; background: var(--back); color: "
    "var(--ink); font: 15px/1.5 system-ui, sans-serif; }\n"
    "h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2.5rem; border-bottom: 1px solid "
    "var(--line); } h3 { font-size: .95rem; }\n"
    "pre, code { font: 12.5px/1.45 ui-monospace, monospace; } pre { margin: 0; white-space: pre-wrap; "
    "overflow-wrap: anywhere; }\n"
    "table.source { border-collapse: collapse; width: 100%; table-layout: fixed; } table.source td { "
    "vertical-align: top; padding: 1px 8px; }\n"
    "td.no { width: 3rem; text-align: right; color: var(--faint); font: 12.5px/1.45 ui-monospace, monospace; "
    "} td.code { width: 44%; }\n"
    "td.notes { border-left: 1px solid var(--line); }\n"
    "details, .break, .op { margin: 2px 0; padding: 1px 8px; border-radius: 4px; } details { background: "
    "var(--box); border: 1px solid var(--line); }\n"
    "summary { cursor: pointer; } details h4 { margin: .6rem 0 .1rem; font-size: .8rem; color: var(--faint); "
    "}\n"
    "details ul, details ol { margin: 0; padding-left: 1.4rem; } .op { display: block; } .op b { font-size: "
    ".75rem; font-weight: 600; color: var(--faint); }\n"
    ".break { background: var(--bad-back); border-left: 3px solid var(--bad); } .break b { color: "
    "var(--bad); } .faint { color: var(--faint); }\n"
    "tr.broken td.code { background: var(--bad-back); }\n"
    ".g0, tr.g0 td.code { background: var(--g0); } .g1, tr.g1 td.code { background: var(--g1); } .g2, tr.g2 "
    "td.code { background: var(--g2); }\n"
    ".g3, tr.g3 td.code { background: var(--g3); } .g4, tr.g4 td.code { background: var(--g4); } .g5, tr.g5 "
    "td.code { background: var(--g5); }\n"
    "tr.g0, tr.g1, tr.g2, tr.g3, tr.g4, tr.g5 { background: none; }\n"
    "table.stages { border-collapse: collapse; } table.stages td, table.stages th { padding: 0 .8rem 0 0; "
    "text-align: right; font-weight: normal; }\n"
    "</style>\n";

/* --- parts --- */

static void put_titled(FILE *out, const char *title, const char *text) {
  if (!*text) return;
  fprintf(out, "<h4>%s</h4><pre>", title);
  tb_html_text(out, text);
  fputs("</pre>", out);
}

enum { SHORT_LIST = 12 }; /* a longer one is folded */

static void put_list(FILE *out, const char *title, const cJSON *list) {
  const cJSON *item;
  const int count = cJSON_GetArraySize(list);
  if (!count) return;
  fprintf(out, "<h4>%s</h4>", title);
  if (count > SHORT_LIST) fprintf(out, "<details><summary>%d of them</summary>", count);
  fputs("<ul>", out);
  cJSON_ArrayForEach(item, list) {
    fputs("<li><code>", out);
    tb_html_text(out, cJSON_IsString(item) ? item->valuestring : "");
    fputs("</code></li>", out);
  }
  fputs("</ul>\n", out);
  if (count > SHORT_LIST) fputs("</details>", out);
}

/* "3 graphs", behind another text. */
static void put_count(FILE *out, const char *before, int count, const char *what) {
  fprintf(out, "%s%d %s%s", before, count, what, count == 1 ? "" : "s");
}

static void put_launches(FILE *out, const cJSON *launches) {
  const cJSON *launch;
  if (!cJSON_GetArraySize(launches)) return;
  fputs("<h4>a call launches</h4><ol>", out);
  cJSON_ArrayForEach(launch, launches) {
    const bool is_kernel = !strcmp(tb_doc_text(launch, "kind", ""), "kernel");
    fprintf(out, "<li>%s <code>", is_kernel ? "kernel" : "library");
    tb_html_text(out, tb_doc_text(launch, "label", ""));
    fprintf(out, "</code> <span class=\"faint\">%.3g MB, %.3g MFLOP", tb_doc_number(launch, "bytes") / 1e6,
            tb_doc_number(launch, "flops") / 1e6);
    if (is_kernel) fputs(", fused: ", out);
    if (is_kernel) tb_html_text(out, tb_doc_text(launch, "fused", ""));
    fputs("</span></li>", out);
  }
  fputs("</ol>", out);
}

void tb_html_entry(FILE *out, const cJSON *piece, const cJSON *entry, int graph) {
  const char *kind = tb_doc_text(piece, "kind", "");
  const int n_guards = cJSON_GetArraySize(tb_doc_at(entry, "guards")),
            n_launches = cJSON_GetArraySize(tb_doc_at(entry, "launches"));
  fputs("<details open><summary>", out);
  if (graph)
    fprintf(out, "<b>graph %d</b>", graph);
  else
    fputs("<b>nothing to compute</b>", out);
  fputs(!strcmp(kind, "continuation") ? ", goes on behind a break"
        : !strcmp(kind, "callee")     ? ", of a function that is called"
                                      : "",
        out);
  fputs(" <span class=\"faint\">", out);
  put_count(out, "", tb_html_whole(entry, "ops", 0), "captured operation");
  fprintf(out, ", %d launch%s", n_launches, n_launches == 1 ? "" : "es");
  put_count(out, ", ", n_guards, "guard");
  fputs("</span></summary>", out);
  put_list(out, "guards: it is used again while these hold", tb_doc_at(entry, "guards"));
  put_titled(out, "left open", tb_doc_text(entry, "open", ""));
  put_launches(out, tb_doc_at(entry, "launches"));
  put_titled(out, "returns", tb_doc_text(entry, "returns", ""));
  put_titled(out, "hands on, to what comes behind the break", tb_doc_text(entry, "hands_on", ""));
  fputs("<details><summary>the captured graph</summary><pre>", out);
  tb_html_text(out, tb_doc_text(entry, "graph", ""));
  fputs("</pre></details></details>\n", out);
}

void tb_html_break(FILE *out, const cJSON *one, int number) {
  fprintf(out, "<div class=\"break\"><b>graph break %d</b> ", number);
  tb_html_text(out, tb_doc_text(one, "reason", ""));
  fputs(" (", out);
  tb_html_text(out, tb_doc_text(one, "detail", ""));
  fputs(")<br>hint: ", out);
  tb_html_text(out, tb_doc_text(one, "hint", ""));
  fputs("<br><span class=\"faint\">in ", out);
  tb_html_text(out, tb_doc_text(one, "stack", ""));
  fputs("</span></div>", out);
}

/* --- a case --- */

static void put_summary(FILE *out, const cJSON *e) {
  static const struct {
    const char *path, *what;
  } counts[] = {{"guards", "guard"},
                {"ops", "captured operation"},
                {"kernels", "kernel"},
                {"library_calls", "library call"},
                {"recompiles", "recompile"}};
  put_count(out, "<p>", tb_html_whole(e, "graphs", 0), "graph");
  put_count(out, " · ", cJSON_GetArraySize(tb_doc_at(e, "breaks")), "graph break");
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
    put_count(out, " · ", tb_html_whole(e, counts[i].path, 0), counts[i].what);
  fputs(" · cache: ", out);
  tb_html_text(out, tb_doc_text(e, "cache", "?"));
  fputs("</p>\n", out);
}

static void put_stages(FILE *out, const cJSON *e) {
  const cJSON *stages = tb_doc_at(e, "stages"), *ns = tb_doc_at(e, "stages_ns"), *stage;
  if (!cJSON_GetArraySize(stages)) return;
  fputs("<table class=\"stages\"><tr><th class=\"faint\">stage</th>", out);
  cJSON_ArrayForEach(stage, stages) {
    fputs("<th>", out);
    tb_html_text(out, cJSON_IsString(stage) ? stage->valuestring : "");
    fputs("</th>", out);
  }
  fputs("</tr><tr><td class=\"faint\">µs</td>", out);
  cJSON_ArrayForEach(stage, stages)
    fprintf(out, "<td>%.1f</td>", tb_doc_number(ns, cJSON_IsString(stage) ? stage->valuestring : "") / 1e3);
  fputs("</tr></table>\n", out);
}

static void put_case(FILE *out, const cJSON *one_case, const cJSON *sources) {
  const cJSON *e = tb_doc_at(one_case, "explanation"), *one;
  int number = 0;
  fputs("<section>\n<h2>", out);
  tb_html_text(out, tb_doc_text(one_case, "id", "?"));
  fputs("</h2>\n", out);
  put_summary(out, e);
  put_stages(out, e);
  put_list(out, "fallbacks", tb_doc_at(e, "fallbacks"));
  put_list(out, "recompiles", tb_doc_at(e, "recompile_reasons"));
  tb_html_sources(out, e, sources);
  cJSON_ArrayForEach(one, tb_doc_at(e, "breaks")) {
    number++;
    if (!tb_break_is_shown(e, sources, one)) tb_html_break(out, one, number);
  }
  fputs("</section>\n", out);
}

bool tb_explanation_html(const cJSON *document, FILE *out) {
  const cJSON *one_case, *sources = tb_doc_at(document, "sources");
  fputs("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
        "content=\"width=device-width\">\n<title>tbench explain</title>\n",
        out);
  fputs(style, out);
  fputs("</head>\n<body>\n<h1>What is compiled, and where it breaks</h1>\n", out);
  cJSON_ArrayForEach(one_case, tb_doc_at(document, "cases")) put_case(out, one_case, sources);
  fputs("</body>\n</html>\n", out);
  return !ferror(out);
}
