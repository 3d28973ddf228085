/* Pages' parts. */
#include "dashboard/pages/html.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dashboard/analysis/movers.h"
#include "dashboard/server/answer.h"
#include "harness/base/build.h"
#include "results/document.h"
#include "results/outcome.h"
#include "results/stats/decide.h"

static const char dash[] = "–";

void tb_web_text(struct tc_strbuf *out, const char *text) {
  for (text = text ? text : dash; *text; text++) {
    switch (*text) {
      case '&': tc_strbuf_puts(out, "&amp;"); break;
      case '<': tc_strbuf_puts(out, "&lt;"); break;
      case '>': tc_strbuf_puts(out, "&gt;"); break;
      case '"': tc_strbuf_puts(out, "&quot;"); break;
      case '\'': tc_strbuf_puts(out, "&#39;"); break;
      default: tc_strbuf_bytes(out, (unsigned char)*text < ' ' || *text == 0x7F ? " " : text, 1);
    }
  }
}

void tb_web_query(struct tc_strbuf *out, const char *text) {
  for (; text && *text; text++) {
    if (isalnum((unsigned char)*text) || strchr("-_.~", *text))
      tc_strbuf_bytes(out, text, 1);
    else
      tc_strbuf_printf(out, "%%%02X", (unsigned char)*text);
  }
}

/* --- the frame --- */

void tb_web_begin(struct tb_query *request, const char *title, const char *here) {
  static const struct {
    const char *path, *name;
  } pages[] = {{"/", "Overview"},
               {"/cases", "Cases"},
               {"/regressions", "Regressions"},
               {"/compare", "Compare"},
               {"/ablation", "Ablation"}};
  struct tc_strbuf *out = &request->answer.body;
  request->answer.type = "text/html; charset=utf-8";
  tc_strbuf_puts(out, "<!DOCTYPE html>\n<html lang=en>\n<head><meta charset=utf-8><meta name=viewport "
                      "content=\"width=device-width, initial-scale=1\">"
                      "<meta name=color-scheme content=\"light dark\"><title>");
  tb_web_text(out, title);
  tc_strbuf_puts(out,
                 " · tbench</title>\n<link rel=icon href=\"data:,\"><link rel=stylesheet "
                 "href=/static/dygraph.css><link rel=stylesheet href=\"/static/style.css?" TB_COMMIT "\">"
                 "<script src=/static/dygraph.js defer></script><script src=\"/static/page.js?" TB_COMMIT
                 "\" defer></script></head>\n<body>\n"
                 "<a class=skip href=#main>to the content</a>\n<header><a class=brand href=/>tbench</a><nav "
                 "aria-label=pages>");
  for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
    tc_strbuf_printf(out, "<a href=\"%s\"%s>%s</a>", pages[i].path,
                     strcmp(here, pages[i].path) ? "" : " aria-current=page", pages[i].name);
  tc_strbuf_puts(
      out, "</nav><form role=search action=/cases><input name=match type=search placeholder=\"find cases: "
           "mlp*\" aria-label=\"find cases by a pattern\"></form></header>\n<main id=main>\n<h1>");
  tb_web_text(out, title);
  tc_strbuf_puts(out, "</h1>\n");
}

void tb_web_end(struct tb_query *request) {
  struct tc_strbuf *out = &request->answer.body;
  tc_strbuf_puts(out,
                 "</main>\n<footer>tbench " PACKAGE_VERSION
                 " · <a href=/metrics>metrics</a> · <a href=/health>health</a></footer>\n</body></html>\n");
}

void tb_web_error(struct tb_query *request) {
  struct tb_answer *answer = &request->answer;
  const unsigned status = answer->status;
  answer->body.len = 0;
  tb_web_begin(request, status == MHD_HTTP_NOT_FOUND ? "Not here" : "This request failed", "");
  tc_strbuf_puts(&answer->body, "<p class=problem>");
  tb_web_text(&answer->body, answer->problem);
  tc_strbuf_puts(&answer->body, "</p>\n");
  tb_web_end(request);
  answer->status = status;
}

/* --- figures --- */

/* Three digits, also of what is so small or so large that it would be 0.00 or a row of digits. */
void tb_web_number(struct tc_strbuf *out, double value) {
  static const double small = 0.01, large = 1e6;
  const double size = fabs(value);
  char text[32];
  if (isfinite(value) && size && (size < small || size >= large))
    snprintf(text, sizeof text, "%.3g", value);
  else
    tb_format3(value, text, sizeof text);
  tc_strbuf_puts(out, text);
}

struct unit {
  double from;
  const char *name;
};

static void put_scaled(struct tc_strbuf *out, double value, const struct unit *units) {
  size_t i = 0;
  if (isnan(value)) {
    tc_strbuf_puts(out, dash);
    return;
  }
  while (units[i].from && value < units[i].from) i++;
  tb_web_number(out, value / (units[i].from ? units[i].from : 1));
  tc_strbuf_printf(out, " %s", units[i].name);
}

void tb_web_ns(struct tc_strbuf *out, double ns) {
  static const struct unit units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}, {0, "ns"}};
  put_scaled(out, ns, units);
}

void tb_web_bytes(struct tc_strbuf *out, double bytes) {
  static const struct unit units[] = {{1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {0, "B"}};
  put_scaled(out, bytes, units);
}

void tb_web_flops(struct tc_strbuf *out, double flops) {
  static const struct unit units[] = {{1e9, "GFLOP"}, {1e6, "MFLOP"}, {1e3, "kFLOP"}, {0, "FLOP"}};
  put_scaled(out, flops, units);
}

void tb_web_percent(struct tc_strbuf *out, double ratio) {
  if (isfinite(ratio))
    tc_strbuf_printf(out, "%+.1f%%", (ratio - 1) * 100);
  else
    tc_strbuf_puts(out, dash);
}

void tb_web_move(struct tc_strbuf *out, double move, double lo, double hi) {
  tb_web_percent(out, move);
  if (!isfinite(lo) || !isfinite(hi)) return;
  tc_strbuf_puts(out, " <span class=interval>[");
  tb_web_percent(out, lo);
  tc_strbuf_puts(out, ", ");
  tb_web_percent(out, hi);
  tc_strbuf_puts(out, "]</span>");
}

void tb_web_interval(struct tc_strbuf *out, double value, double lo, double hi) {
  tb_web_number(out, value);
  if (!isfinite(lo) || !isfinite(hi)) return;
  tc_strbuf_puts(out, " <span class=interval>[");
  tb_web_number(out, lo);
  tc_strbuf_puts(out, ", ");
  tb_web_number(out, hi);
  tc_strbuf_puts(out, "]</span>");
}

void tb_web_time(struct tc_strbuf *out, int64_t ms) {
  char text[32];
  if (!ms) {
    tc_strbuf_puts(out, dash);
    return;
  }
  tb_time_text(ms, text, sizeof text);
  tc_strbuf_printf(out, "<time datetime=%s title=%s>%.10s</time>", text, text, text);
}

void tb_web_verdict(struct tc_strbuf *out, int verdict) {
  static const char *const classes[] = {[TB_VERDICT_FASTER] = "faster",
                                        [TB_VERDICT_SLOWER] = "slower",
                                        [TB_VERDICT_SAME] = "same",
                                        [TB_VERDICT_UNSURE] = "unsure"};
  if (verdict == TB_MOVERS_GONE)
    tc_strbuf_puts(out, "<span class=\"mark unsure\">not measured now</span>");
  else if (verdict < 0 || verdict >= TB_VERDICT_COUNT)
    tc_strbuf_puts(out, "<span class=\"mark unsure\">waits</span>");
  else
    tc_strbuf_printf(out, "<span class=\"mark %s\">%s %s</span>", classes[verdict],
                     tb_verdict_symbol((enum tb_verdict)verdict), tb_verdict_word((enum tb_verdict)verdict));
}

void tb_web_outcome(struct tc_strbuf *out, int outcome) {
  const bool known = outcome >= 0 && outcome < TB_OUTCOME_COUNT;
  tc_strbuf_printf(out, "<span class=\"mark %s\">%s</span>",
                   outcome == TB_OUTCOME_OK            ? "same"
                   : outcome == TB_OUTCOME_UNSUPPORTED ? "unsure"
                                                       : "slower",
                   known ? tb_outcome_text((enum tb_outcome)outcome) : "?");
}

void tb_web_state(struct tc_strbuf *out, sqlite3_stmt *row, int outcome, int verdict) {
  const int known = sqlite3_column_int(row, outcome);
  if (known != TB_OUTCOME_OK)
    tb_web_outcome(out, known);
  else
    tb_web_verdict(out,
                   sqlite3_column_type(row, verdict) == SQLITE_NULL ? -1 : sqlite3_column_int(row, verdict));
}

void tb_web_commit(struct tc_strbuf *out, const char *commit) {
  tc_strbuf_puts(out, "<code>");
  tb_web_text(out, commit);
  tc_strbuf_puts(out, "</code>");
}

void tb_web_case(struct tc_strbuf *out, const char *name, const char *machine) {
  tc_strbuf_puts(out, "<a href=\"/case?case=");
  tb_web_query(out, name);
  if (machine) tc_strbuf_puts(out, "&amp;machine="), tb_web_query(out, machine);
  tc_strbuf_puts(out, "\">");
  tb_web_text(out, name);
  tc_strbuf_puts(out, "</a>");
}

double tb_column_number(sqlite3_stmt *row, int column) {
  return sqlite3_column_type(row, column) == SQLITE_NULL ? NAN : sqlite3_column_double(row, column);
}
