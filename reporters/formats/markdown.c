/* A result as the comment of a pull request: the summary, a table a group, and folded below it what else is
 * to be known. */
#include "reporters/formats/markdown.h"

#include <stdlib.h>
#include <string.h>

#include "reporters/ablation.h"
#include "reporters/series.h"
#include "reporters/text_out.h"

enum { COMMENT = 60000 /* of the 65536 characters of a comment, so that the last line fits */ };

FILE *tb_part_begin(struct tb_comment *comment) {
  comment->text = NULL;
  FILE *part = comment->failed ? NULL : open_memstream(&comment->text, &comment->bytes);
  comment->failed |= !part;
  return part;
}

void tb_part_end(struct tb_comment *comment, FILE *part) {
  if (!part || fclose(part))
    comment->failed = true;
  else if (comment->used + comment->bytes > comment->limit)
    comment->left_out++;
  else
    comment->used += fwrite(comment->text, 1, comment->bytes, comment->out);
  free(comment->text);
  comment->text = NULL;
}

void tb_markdown_text(FILE *out, const char *text) { tb_put_text(out, text, tb_escape_markdown); }

static const char *escape_cell(uint32_t c, char *buffer) {
  return c == ' ' ? "&nbsp;" : tb_escape_markdown(c, buffer);
}
void tb_markdown_cell(FILE *out, const char *text) { tb_put_text(out, text, escape_cell); }

void tb_markdown_code(FILE *out, const char *text) {
  fputs("<code>", out);
  tb_put_text(out, text, tb_escape_markdown);
  fputs("</code>", out);
}

/* --- tables --- */

struct writing {
  struct tb_comment comment;
  const struct tb_report_options *options;
};

static void put_group(const cJSON **cases, int count, void *context) {
  struct writing *w = context;
  char group[TB_GROUP];
  FILE *part = tb_part_begin(&w->comment);
  if (!part) return;
  tb_case_group(cases[0], group, sizeof group);
  fputs("\n**", part);
  tb_markdown_text(part, group);
  fputs("**\n\n", part);
  for (int k = 0; k < tb_column_count(); k++)
    if (tb_column_shown(w->options, k))
      fprintf(part, "| %s%s%s ", tb_column_at(k)->title, *tb_column_at(k)->unit ? " " : "",
              tb_column_at(k)->unit);
  fputs("|\n", part);
  for (int k = 0; k < tb_column_count(); k++)
    if (tb_column_shown(w->options, k)) fputs(tb_column_at(k)->left ? "|:--" : "|--:", part);
  fputs("|\n", part);
  for (int i = 0; i < count; i++) {
    for (int k = 0; k < tb_column_count(); k++) {
      char cell[TB_CELL];
      if (!tb_column_shown(w->options, k)) continue;
      tb_column_at(k)->format(cases[i], cell);
      fputs("| ", part);
      tb_markdown_cell(part, cell);
      fputc(' ', part);
    }
    fputs("|\n", part);
  }
  tb_part_end(&w->comment, part);
}

/* --- below the tables --- */

static void put_failures(struct tb_comment *comment, const cJSON *result) {
  const cJSON *c;
  cJSON_ArrayForEach(c, tb_doc_at(result, "cases")) {
    const char *error = tb_case_error(c);
    if (tb_case_right(c) || tb_case_absent(c)) continue;
    FILE *part = tb_part_begin(comment);
    if (!part) return;
    fputs("\n- ", part);
    tb_markdown_code(part, tb_doc_text(c, "id", "?"));
    fputs(": **", part);
    tb_markdown_text(part, tb_doc_text(c, "outcome", "?"));
    fputs("** ", part);
    tb_markdown_text(part, error ? error : "");
    tb_part_end(comment, part);
  }
}

static void put_note(const char *text, void *context) {
  fputs("- ", context);
  tb_markdown_text(context, text);
  fputc('\n', context);
}

static void put_notes(struct tb_comment *comment, const cJSON *result) {
  FILE *part = tb_part_begin(comment);
  if (!part) return;
  const cJSON *environment = cJSON_GetArrayItem(tb_doc_at(result, "environments"), 0);
  fputs("\n\n<details><summary>Machine and notes</summary>\n\n- ", part);
  tb_markdown_text(part, tb_doc_text(environment, "host", "?"));
  fputs(", ", part);
  tb_markdown_text(part, tb_doc_text(environment, "cpu.model", "unknown CPU"));
  fputs(", tbench ", part);
  tb_markdown_text(part, tb_doc_text(result, "tbench.version", "?"));
  fputc(' ', part);
  tb_markdown_text(part, tb_doc_text(result, "tbench.commit", ""));
  fputc('\n', part);
  tb_each_note(result, put_note, part);
  const cJSON *c, *note;
  cJSON_ArrayForEach(c, tb_doc_at(result, "cases")) {
    cJSON_ArrayForEach(note, tb_doc_at(c, "graph.fallbacks")) {
      if (!cJSON_IsString(note)) continue;
      fputs("- ", part);
      tb_markdown_code(part, tb_doc_text(c, "id", "?"));
      fputs(": ", part);
      put_note(note->valuestring, part);
    }
  }
  fputs("\n</details>\n", part);
  tb_part_end(comment, part);
}

static void put_ablation(struct tb_comment *comment, const cJSON *result) {
  const struct tb_report_options plain = {0};
  FILE *part = tb_part_begin(comment);
  if (!part) return;
  fputs("\n\n<details><summary>What each switch of compile time buys</summary>\n\n<pre>\n", part);
  char *text = NULL;
  size_t bytes;
  FILE *table = open_memstream(&text, &bytes);
  if (!table || !tb_report_ablation(result, &plain, table)) comment->failed = true;
  if (table && fclose(table)) comment->failed = true;
  if (text) tb_put_text(part, text, tb_escape_markup);
  free(text);
  fputs("</pre>\n\n</details>\n", part);
  tb_part_end(comment, part);
}

bool tb_report_markdown(const cJSON *result, const struct tb_report_options *options, FILE *out) {
  struct writing w = {.comment = {.out = out, .limit = COMMENT}, .options = options};
  bool ablation = false;
  fputs("### tbench: ", out);
  tb_put_summary(out, result);
  fputc('\n', out);
  put_failures(&w.comment, result);
  fputc('\n', out);
  if (!tb_each_group(result, put_group, &w, &ablation)) return false;
  if (ablation) put_ablation(&w.comment, result);
  put_notes(&w.comment, result);
  if (w.comment.left_out)
    fprintf(out, "\n%d more part%s did not fit into a comment.\n", w.comment.left_out,
            w.comment.left_out == 1 ? "" : "s");
  return !w.comment.failed && !ferror(out);
}
