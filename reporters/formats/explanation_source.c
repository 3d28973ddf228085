#include "reporters/formats/explanation_source.h"

#include <stdlib.h>
#include <string.h>

enum {
  WHOLE_FILE = 400 /* lines: a file up to this is shown whole */,
  AROUND = 3 /* lines around what is shown of a longer one */
};

void tb_each_entry(const cJSON *explanation, tb_entry_visit visit, void *context) {
  const cJSON *piece, *entry;
  int graphs = 0;
  cJSON_ArrayForEach(piece, tb_doc_at(explanation, "pieces"))
    cJSON_ArrayForEach(entry, tb_doc_at(piece, "entries"))
      visit(piece, entry, tb_doc_at(entry, "artifact") ? ++graphs : 0, context);
}

/* --- places --- */

struct file {
  FILE *out;
  const cJSON *explanation;
  const char *name;
  int line, first, last;
  bool broken;
};

static bool stands_at(const cJSON *item, const char *file, int line) {
  return !strcmp(tb_doc_text(item, "file", ""), file) && tb_html_whole(item, "line", 0) == line;
}

/* The line of a file among the calls that a break happened in ("file:line in function 'f'; …", innermost
 * first); 0: none. */
static int calling_line(const cJSON *one, const char *file) {
  const size_t length = strlen(file);
  for (const char *at = tb_doc_text(one, "stack", ""); *at;) {
    if (!strncmp(at, file, length) && at[length] == ':') return atoi(at + length + 1);
    const char *next = strstr(at, "; ");
    if (!next) break;
    at = next + 2;
  }
  return 0;
}

static void widen(struct file *f, int line) {
  if (line < 1) return;
  if (line < f->first) f->first = line;
  if (line > f->last) f->last = line;
}

/* --- what stands beside a line --- */

static bool goes_on(const cJSON *piece) { return !strcmp(tb_doc_text(piece, "kind", ""), "continuation"); }

/* A piece that goes on behind a break of the same line is shown below it. */
static void note_graph(const cJSON *piece, const cJSON *entry, int graph, void *context) {
  const struct file *f = context;
  if (stands_at(piece, f->name, f->line) && !(f->broken && goes_on(piece)))
    tb_html_entry(f->out, piece, entry, graph);
}

static void note_graph_behind(const cJSON *piece, const cJSON *entry, int graph, void *context) {
  const struct file *f = context;
  if (stands_at(piece, f->name, f->line) && f->broken && goes_on(piece))
    tb_html_entry(f->out, piece, entry, graph);
}

static void note_operations(const cJSON *piece, const cJSON *entry, int graph, void *context) {
  const struct file *f = context;
  const cJSON *op;
  (void)piece;
  cJSON_ArrayForEach(op, tb_doc_at(entry, "operations")) {
    if (!stands_at(op, f->name, f->line)) continue;
    fprintf(f->out, "<div class=\"op g%d\"><b>graph %d</b> <code>", graph % 6, graph);
    tb_html_text(f->out, tb_doc_text(op, "text", ""));
    fputs("</code></div>", f->out);
  }
}

static void note_breaks(const struct file *f) {
  const cJSON *one;
  int number = 0;
  cJSON_ArrayForEach(one, tb_doc_at(f->explanation, "breaks")) {
    number++;
    if (calling_line(one, f->name) == f->line || stands_at(one, f->name, f->line))
      tb_html_break(f->out, one, number);
  }
}

struct found {
  const struct file *file;
  int graph;
};

static void find_graph(const cJSON *piece, const cJSON *entry, int graph, void *context) {
  struct found *found = context;
  const cJSON *op;
  (void)piece;
  cJSON_ArrayForEach(op, tb_doc_at(entry, "operations"))
    if (!found->graph && stands_at(op, found->file->name, found->file->line)) found->graph = graph;
}

static void put_line(struct file *f, const char *text, size_t length) {
  const cJSON *one;
  f->broken = false;
  cJSON_ArrayForEach(one, tb_doc_at(f->explanation, "breaks"))
    f->broken |= calling_line(one, f->name) == f->line || stands_at(one, f->name, f->line);
  fputs("<tr", f->out);
  /* The colour of a line: that of a break, or of the graph that it became a part of. */
  struct found found = {.file = f};
  tb_each_entry(f->explanation, find_graph, &found);
  if (f->broken)
    fputs(" class=\"broken\"", f->out);
  else if (found.graph)
    fprintf(f->out, " class=\"g%d\"", found.graph % 6);
  fprintf(f->out, "><td class=\"no\">%d</td><td class=\"code\"><pre>", f->line);
  char *line = strndup(text, length);
  tb_html_text(f->out, line ? line : "");
  free(line);
  fputs("</pre></td><td class=\"notes\">", f->out);
  tb_each_entry(f->explanation, note_graph, f);
  tb_each_entry(f->explanation, note_operations, f);
  note_breaks(f);
  tb_each_entry(f->explanation, note_graph_behind, f);
  const cJSON *piece;
  cJSON_ArrayForEach(piece, tb_doc_at(f->explanation, "pieces")) {
    if (stands_at(piece, f->name, f->line) && cJSON_IsTrue(tb_doc_at(piece, "eager")))
      fputs("<div class=\"break\">runs eagerly from here</div>", f->out);
  }
  fputs("</td></tr>\n", f->out);
}

/* --- files --- */

static void put_file(FILE *out, const cJSON *explanation, const char *name, const char *text) {
  struct file f = {.out = out, .explanation = explanation, .name = name};
  int count = 1;
  for (const char *c = text; *c; c++) count += *c == '\n' && c[1];
  /* The lines that there is something to say about. */
  const cJSON *item;
  f.first = count, f.last = 1;
  cJSON_ArrayForEach(item, tb_doc_at(explanation, "pieces")) {
    if (strcmp(tb_doc_text(item, "file", ""), f.name)) continue;
    widen(&f, tb_html_whole(item, "line", 0));
    widen(&f, tb_html_whole(item, "last_line", 0));
  }
  cJSON_ArrayForEach(item, tb_doc_at(explanation, "breaks")) widen(&f, calling_line(item, f.name));
  f.first -= AROUND, f.last += AROUND;
  if (count <= WHOLE_FILE || f.first < 1) f.first = 1;
  if (count <= WHOLE_FILE || f.last > count) f.last = count;
  fputs("<h3>", out);
  tb_html_text(out, name);
  fputs("</h3>\n<table class=\"source\"><tbody>\n", out);
  for (f.line = 1; f.line <= f.last; f.line++) {
    const size_t length = strcspn(text, "\n");
    if (f.line >= f.first) put_line(&f, text, length);
    text += length + (text[length] == '\n');
  }
  fputs("</tbody></table>\n", out);
}

static const char *text_of(const cJSON *sources, const char *chunk) {
  const cJSON *source;
  cJSON_ArrayForEach(source, sources)
    if (!strcmp(tb_doc_text(source, "chunk", ""), chunk)) return tb_doc_text(source, "text", "");
  return NULL;
}

/* The first piece of each file that can be shown, in order. */
static bool is_first(const cJSON *pieces, const cJSON *piece) {
  const cJSON *other;
  cJSON_ArrayForEach(other, pieces) {
    if (other == piece) return true;
    if (!strcmp(tb_doc_text(other, "chunk", ""), tb_doc_text(piece, "chunk", ""))) return false;
  }
  return true;
}

bool tb_break_is_shown(const cJSON *explanation, const cJSON *sources, const cJSON *one) {
  const cJSON *piece;
  cJSON_ArrayForEach(piece, tb_doc_at(explanation, "pieces")) {
    const char *file = tb_doc_text(piece, "file", "");
    if (text_of(sources, tb_doc_text(piece, "chunk", "")) &&
        (calling_line(one, file) || !strcmp(tb_doc_text(one, "file", ""), file)))
      return true;
  }
  return false;
}

/* A piece of code that is in no file that can be shown. */
static void put_entry(const cJSON *piece, const cJSON *entry, int graph, void *context) {
  const struct file *f = context;
  if (!strcmp(tb_doc_text(piece, "file", ""), f->name)) tb_html_entry(f->out, piece, entry, graph);
}

void tb_html_sources(FILE *out, const cJSON *explanation, const cJSON *sources) {
  const cJSON *pieces = tb_doc_at(explanation, "pieces"), *piece;
  cJSON_ArrayForEach(piece, pieces) {
    const char *text = text_of(sources, tb_doc_text(piece, "chunk", "")),
               *name = tb_doc_text(piece, "file", "");
    struct file f = {.out = out, .name = name};
    if (!is_first(pieces, piece)) continue;
    if (text) {
      put_file(out, explanation, name, text);
      continue;
    }
    fputs("<h3>", out);
    tb_html_text(out, name);
    fputs(" (its source cannot be read)</h3>\n", out);
    tb_each_entry(explanation, put_entry, &f);
  }
}
