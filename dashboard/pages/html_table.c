/* Pages' tables and links. */
#include "dashboard/pages/html.h"

void tb_web_table(struct tc_strbuf *out, const char *label, const char *const *columns, int count) {
  tc_strbuf_printf(out, "<div class=scroll role=region aria-label=\"%s\" tabindex=0><table><thead><tr>",
                   label);
  for (int i = 0; i < count; i++) tc_strbuf_printf(out, "<th scope=col>%s</th>", columns[i]);
  tc_strbuf_puts(out, "</tr></thead>\n");
}

void tb_web_table_end(struct tc_strbuf *out) { tc_strbuf_puts(out, "</table></div>\n"); }

int tb_web_list(struct tc_strbuf *out, struct tb_store *store, sqlite3_stmt *rows,
                const struct tb_web_list *list) {
  int n = 0;
  tc_strbuf_printf(out, "<section><h2>%s</h2>\n", list->title);
  while (tb_store_step(store, rows)) {
    if (!n++) tb_web_table(out, list->title, list->columns, list->n_columns);
    tc_strbuf_puts(out, "<tr>");
    list->put(out, rows);
    tc_strbuf_puts(out, "</tr>\n");
  }
  if (n)
    tb_web_table_end(out);
  else
    tc_strbuf_printf(out, "<p class=quiet>%s</p>", list->nothing);
  tc_strbuf_puts(out, "</section>\n");
  if (rows) tb_store_done(rows);
  return n;
}

void tb_web_cell_text(struct tc_strbuf *out, const char *text) {
  tc_strbuf_puts(out, "<td>");
  tb_web_text(out, text);
}

void tb_web_cell_machine(struct tc_strbuf *out, const char *machine) {
  tc_strbuf_puts(out, "<td class=machine>");
  tb_web_text(out, machine);
}

void tb_web_cell_commit(struct tc_strbuf *out, const char *commit) {
  tc_strbuf_puts(out, "<td>");
  tb_web_commit(out, commit);
}

void tb_web_cell_time(struct tc_strbuf *out, int64_t ms) {
  tc_strbuf_puts(out, "<td class=date>");
  tb_web_time(out, ms);
}

void tb_web_cell_ns(struct tc_strbuf *out, double ns) {
  tc_strbuf_puts(out, "<td class=figure>");
  tb_web_ns(out, ns);
}

void tb_web_target(struct tc_strbuf *out, const char *path, const struct tb_web_pair *query, int count,
                   const char *format) {
  const char *before = "?";
  tc_strbuf_puts(out, path);
  for (int i = 0; i < count; i++) {
    if (!query[i].value) continue;
    tc_strbuf_printf(out, "%s%s=", before, query[i].name);
    tb_web_query(out, query[i].value);
    before = "&amp;";
  }
  if (format) tc_strbuf_printf(out, "%sformat=%s", before, format);
}

void tb_web_link(struct tc_strbuf *out, const char *attributes, const char *path,
                 const struct tb_web_pair *query, int count, const char *text) {
  tc_strbuf_printf(out, "<a%s%s href=\"", *attributes ? " " : "", attributes);
  tb_web_target(out, path, query, count, NULL);
  tc_strbuf_puts(out, "\">");
  tb_web_text(out, text);
  tc_strbuf_puts(out, "</a>");
}

void tb_web_data(struct tc_strbuf *out, const char *what, const char *path, const struct tb_web_pair *query,
                 int count) {
  static const struct {
    const char *format, *name;
  } formats[] = {{"json", "JSON"}, {"csv", "CSV"}};
  tc_strbuf_printf(out, "<p class=data>%s", what);
  for (int i = 0; i < TB_COUNT(formats); i++) {
    tc_strbuf_puts(out, " <a href=\"");
    tb_web_target(out, path, query, count, formats[i].format);
    tc_strbuf_printf(out, "\">%s</a>", formats[i].name);
  }
  tc_strbuf_puts(out, "</p>\n");
}
