/* Inside of the Markdown of results and comparisons: parts of a comment, which has a greatest length. A
 * comment of GitHub holds 65536 characters. What does not fit is counted and told: nothing is cut in its
 * middle. */
#ifndef TB_REPORTERS_MARKDOWN_H
#define TB_REPORTERS_MARKDOWN_H

#include "reporters/table.h"

struct tb_comment {
  FILE *out;
  size_t used, limit; /* bytes */
  int left_out;       /* parts that did not fit */
  char *text;         /* of the part that is being written */
  size_t bytes;
  bool failed; /* memory is out */
};
/* A part is written to the stream between the two; NULL: memory is out, and the comment has failed. It is
 * written whole or not at all. */
FILE *tb_part_begin(struct tb_comment *comment);
void tb_part_end(struct tb_comment *comment, FILE *part);

void tb_markdown_text(FILE *out, const char *text);
/* Figures, which are not broken over lines. */
void tb_markdown_cell(FILE *out, const char *text);
/* A name as code: it is taken as it stands, and mentions nobody. */
void tb_markdown_code(FILE *out, const char *text);

#endif
