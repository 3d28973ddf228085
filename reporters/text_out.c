/* Escapes, numbers, and JSON. To add a format's escape: a function here that tells what each character
 * becomes. */
#include "reporters/text_out.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/text.h"

static const char unknown_character[] = "\xEF\xBF\xBD"; /* U+FFFD */
enum { FIRST_PRINTED = 0x20, DELETE = 0x7F, LAST_CONTROL = 0x9F, LAST_ASCII = 0x7F, REPLACEMENT = 0xFFFD };

void tb_put_text(FILE *out, const char *text, tb_escape *escape) {
  while (*text) {
    char buffer[TB_ESCAPE_ROOM];
    uint32_t character = REPLACEMENT;
    const size_t length = tc_text_character(text, TC_CHARACTER_BYTES, &character);
    const char *instead = escape(length ? character : REPLACEMENT, buffer);
    if (instead)
      fputs(instead, out);
    else if (length)
      fwrite(text, 1, length, out);
    else
      fputs(unknown_character, out);
    text += length ? length : 1;
  }
}

void tb_html_text(FILE *out, const char *text) { tb_put_text(out, text, tb_escape_markup); }

/* --- escapes --- */

static bool is_control(uint32_t c) { return c < FIRST_PRINTED || (c >= DELETE && c <= LAST_CONTROL); }
static bool is_word(uint32_t c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

const char *tb_escape_markup(uint32_t c, char *buffer) {
  (void)buffer;
  switch (c) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    case '\t':
    case '\n': return NULL;
    default: return is_control(c) || c == 0xFFFE || c == 0xFFFF ? unknown_character : NULL;
  }
}

const char *tb_escape_json(uint32_t c, char *buffer) {
  if (c != '"' && c != '\\' && !is_control(c)) return NULL;
  if (is_control(c))
    snprintf(buffer, TB_ESCAPE_ROOM, "\\u%04x", (unsigned)c);
  else
    snprintf(buffer, TB_ESCAPE_ROOM, "\\%c", (char)c);
  return buffer;
}

const char *tb_escape_label(uint32_t c, char *buffer) {
  (void)buffer;
  return c == '"' ? "\\\"" : tb_escape_help(c, buffer);
}

const char *tb_escape_help(uint32_t c, char *buffer) {
  (void)buffer;
  if (c == '\n') return "\\n";
  return c == '\\' ? "\\\\" : is_control(c) && c != '\t' ? unknown_character : NULL;
}

/* Readers do not agree on a backslash that is no escape, and none takes a line's end: the one becomes a
 * slash, the other a space. */
const char *tb_escape_influx(uint32_t c, char *buffer) {
  if (c == '\\') return "/";
  if (is_control(c)) return "\\ ";
  if (c != ',' && c != '=' && c != ' ') return NULL;
  snprintf(buffer, TB_ESCAPE_ROOM, "\\%c", (char)c);
  return buffer;
}

const char *tb_escape_line(uint32_t c, char *buffer) {
  (void)buffer;
  return is_control(c) ? " " : NULL;
}

/* A character reference never means anything to Markdown, so all that could is one; line ends would end a
 * cell. */
const char *tb_escape_markdown(uint32_t c, char *buffer) {
  if (is_control(c)) return c == '\t' || c == '\n' || c == '\r' ? " " : unknown_character;
  if (c > LAST_ASCII || !strchr("\\`*_[]<>#|~&$@", (int)c)) return NULL;
  snprintf(buffer, TB_ESCAPE_ROOM, "&#%u;", (unsigned)c);
  return buffer;
}

const char *tb_escape_name(uint32_t c, char *buffer) {
  (void)buffer;
  return is_word(c) ? NULL : "_";
}

/* --- numbers --- */

void tb_shortest_text(double value, char out[TB_NUMBER_TEXT]) {
  enum { FEWEST = 15, MOST = 17 };
  for (int digits = FEWEST; digits <= MOST; digits++) {
    snprintf(out, TB_NUMBER_TEXT, "%.*g", digits, value);
    if (strtod(out, NULL) == value) return;
  }
}

void tb_put_number(FILE *out, double value) {
  char text[TB_NUMBER_TEXT];
  tb_shortest_text(value, text);
  fputs(text, out);
}

/* --- names of a limited length --- */

void tb_short_text(const char *text, size_t most, char *out) {
  const size_t length = strlen(text);
  size_t kept = most - TB_SHORT_DIGITS - 1;
  char digits[TC_SHA256_HEX];
  if (length <= most) {
    memcpy(out, text, length + 1);
    return;
  }
  while (kept && ((unsigned char)text[kept] & 0xC0) == 0x80) kept--; /* not within a character */
  while (kept && text[kept - 1] == '-') kept--;
  tc_sha256_of(text, length, digits);
  snprintf(out, most + 1, "%.*s-%.*s", (int)kept, text, TB_SHORT_DIGITS, digits);
}

/* --- JSON --- */

static void begin_member(struct tb_json *json, const char *key) {
  if (json->filled) fputc(',', json->out);
  if (json->indented && json->depth) fprintf(json->out, "\n%*s", 2 * json->depth, "");
  json->filled = true;
  if (!key) return;
  fputc('"', json->out);
  tb_put_text(json->out, key, tb_escape_json);
  fputs(json->indented ? "\": " : "\":", json->out);
}

void tb_emit_open(struct tb_json *json, const char *key, char bracket) {
  begin_member(json, key);
  fputc(bracket, json->out);
  json->depth++;
  json->filled = false;
}

void tb_emit_close(struct tb_json *json, char bracket) {
  json->depth--;
  if (json->indented && json->filled) fprintf(json->out, "\n%*s", 2 * json->depth, "");
  fputc(bracket, json->out);
  json->filled = json->depth > 0;
  if (!json->depth) fputc('\n', json->out);
}

void tb_emit_text(struct tb_json *json, const char *key, const char *text) {
  if (!text) return;
  begin_member(json, key);
  fputc('"', json->out);
  tb_put_text(json->out, text, tb_escape_json);
  fputc('"', json->out);
}

void tb_emit_number(struct tb_json *json, const char *key, double value) {
  if (!isfinite(value)) return;
  begin_member(json, key);
  tb_put_number(json->out, value);
}

void tb_emit_bool(struct tb_json *json, const char *key, bool value) {
  begin_member(json, key);
  fputs(value ? "true" : "false", json->out);
}
