/* Cleaning of texts. */
#include "harness/base/text.h"

#include <string.h>

#include "base/text.h"

enum { DELETE = 0x7F, C1_FIRST = 0x80, C1_LAST = 0x9F };

static bool is_control(uint32_t code) {
  return code < ' ' || code == DELETE || (code >= C1_FIRST && code <= C1_LAST);
}

void tb_text_clean(char *text, enum tb_text_kept kept) {
  uint32_t code = 0;
  for (char *at = text; *at;) {
    const size_t n = tc_text_character(at, TC_CHARACTER_BYTES, &code);
    const bool stays = (code == '\t' && kept != TB_TEXT_LINE) || (code == '\n' && kept == TB_TEXT_LINES);
    if (!n)
      *at++ = '?';
    else if (is_control(code) && !stays)
      memset(at, ' ', n), at += n;
    else
      at += n;
  }
}

void tb_text_clean_json(cJSON *item) {
  for (; item; item = item->next) {
    if (item->valuestring) tb_text_clean(item->valuestring, TB_TEXT_LINES);
    tb_text_clean_json(item->child);
  }
}

size_t tb_text_broken_at(const char *text, size_t length) {
  size_t at = 0;
  uint32_t code;
  for (size_t n; at < length && text[at]; at += n)
    if (!(n = tc_text_character(text + at, length - at, &code))) return at;
  return at;
}

bool tb_text_is_utf8(const char *text) {
  const size_t length = strlen(text);
  return tb_text_broken_at(text, length) == length;
}
