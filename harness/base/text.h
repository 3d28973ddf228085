/* Texts that come from outside (suites, Lua, other programs) made fit for a terminal and a JSON document. */
#ifndef TB_TEXT_H
#define TB_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include <cjson/cJSON.h>

/* What stays beside printable UTF-8. */
enum tb_text_kept {
  TB_TEXT_LINE /* nothing: one line */,
  TB_TEXT_TABS,
  TB_TEXT_LINES /* tabs and ends of lines */
};

/* In place: control characters become blanks, bytes that are no UTF-8 become '?'. */
void tb_text_clean(char *text, enum tb_text_kept kept);
/* All texts of a document, with its siblings: lines and tabs stay. */
void tb_text_clean_json(cJSON *item);
/* Whether it is UTF-8. */
bool tb_text_is_utf8(const char *text);
/* Offset of the first byte that belongs to no text: it is no UTF-8, or zero. `length`: there is none. A zero
 * stands behind the text. */
size_t tb_text_broken_at(const char *text, size_t length);

/* What follows "%d case" and the like: "" for 1, else "s". */
static inline const char *tb_plural(double count) { return count == 1 ? "" : "s"; }

#endif
