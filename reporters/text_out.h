/* Texts and numbers on a stream, as formats want them. A document may come from anywhere: any byte may stand
 * in its texts, so each is decoded, what is no UTF-8 becomes U+FFFD, and each character goes through the
 * escape of its format. Threads: pure apart from the stream. */
#ifndef TB_REPORTERS_TEXT_OUT_H
#define TB_REPORTERS_TEXT_OUT_H

#include <stdint.h>

#include "reporters/reporter.h"

/* What stands for a character; NULL: it stands for itself. The text is valid until the next call with the
 * same `buffer`. */
enum { TB_ESCAPE_ROOM = 16 };
typedef const char *tb_escape(uint32_t character, char buffer[TB_ESCAPE_ROOM]);

tb_escape tb_escape_markup;   /* HTML and XML, text and attributes; what XML 1.0 cannot hold is U+FFFD */
tb_escape tb_escape_json;     /* inside of the quotes */
tb_escape tb_escape_label;    /* Prometheus: value of a label, inside of the quotes */
tb_escape tb_escape_help;     /* Prometheus: text of HELP */
tb_escape tb_escape_influx;   /* tag keys, tag values and field keys of the line protocol */
tb_escape tb_escape_markdown; /* text that has no meaning to Markdown, also in a cell of a table */
tb_escape tb_escape_line;     /* one line of a terminal, which obeys nothing of it */
tb_escape tb_escape_name;     /* [a-zA-Z0-9_] stays, anything else is _ */

void tb_put_text(FILE *out, const char *text, tb_escape *escape);
/* As HTML: whatever means something there is escaped. */
void tb_html_text(FILE *out, const char *text);
/* The shortest of 15 to 17 digits that reads back as the same value. It must be finite. */
enum { TB_NUMBER_TEXT = 32 };
void tb_shortest_text(double value, char out[TB_NUMBER_TEXT]);
void tb_put_number(FILE *out, double value);

/* A name for a format that holds so many bytes: the text, or, where it is longer, its begin, '-', and digits
 * of its hash, which tell it from others of the same begin. `most` is TB_SHORT_LEAST or more; `out` has room
 * for most + 1. The same text gives the same name, always. */
enum { TB_SHORT_DIGITS = 16, TB_SHORT_LEAST = 2 * TB_SHORT_DIGITS };
void tb_short_text(const char *text, size_t most, char *out);

/* A JSON document as a stream of its parts. Keys are NULL inside of arrays. */
struct tb_json {
  FILE *out;
  bool indented; /* else all of it on one line */
  int depth;
  bool filled; /* what is open has a member already */
};
void tb_emit_open(struct tb_json *json, const char *key, char bracket); /* '{' or '[' */
void tb_emit_close(struct tb_json *json,
                   char bracket); /* '}' or ']'; behind the last one comes a line's end */
void tb_emit_text(struct tb_json *json, const char *key, const char *text); /* NULL: left out */
void tb_emit_number(struct tb_json *json, const char *key, double value);   /* not finite: left out */
void tb_emit_bool(struct tb_json *json, const char *key, bool value);

#endif
