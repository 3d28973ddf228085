/* Cleaning of texts. */
#include "harness/text.h"

#include <string.h>

enum { CONTINUATION = 0x80, LONGEST = 4, DELETE = 0x7F, C1_FIRST = 0x80, C1_LAST = 0x9F };

/* Bytes of the character at `text`: 1 to 4; 0 where it is none. *code: which one. */
static size_t character(const unsigned char *text, unsigned *code) {
  static const struct { unsigned char mask, head; unsigned smallest; } forms[LONGEST] = {
      {0x80, 0, 0}, {0xE0, 0xC0, 0x80}, {0xF0, 0xE0, 0x800}, {0xF8, 0xF0, 0x10000}};
  *code = 0;
  for (size_t n = 1; n <= LONGEST; n++) {
    if ((text[0] & forms[n - 1].mask) != forms[n - 1].head) continue;
    *code = text[0] & (unsigned char)~forms[n - 1].mask;
    for (size_t i = 1; i < n; i++) {
      if ((text[i] & 0xC0) != CONTINUATION) return 0;
      *code = *code << 6 | (text[i] & 0x3F);
    }
    const bool surrogate = *code >= 0xD800 && *code <= 0xDFFF;
    return *code >= forms[n - 1].smallest && *code <= 0x10FFFF && !surrogate ? n : 0;
  }
  return 0;
}

static bool is_control(unsigned code) { return code < ' ' || code == DELETE || (code >= C1_FIRST && code <= C1_LAST); }

void tb_text_clean(char *text, enum tb_text_kept kept) {
  unsigned code;
  for (char *at = text; *at;) {
    const size_t n = character((const unsigned char *)at, &code);
    const bool stays = (code == '\t' && kept != TB_TEXT_LINE) || (code == '\n' && kept == TB_TEXT_LINES);
    if (!n) *at++ = '?';
    else if (is_control(code) && !stays) memset(at, ' ', n), at += n;
    else at += n;
  }
}

void tb_text_clean_json(cJSON *item) {
  for (; item; item = item->next) {
    if (item->valuestring) tb_text_clean(item->valuestring, TB_TEXT_LINES);
    tb_text_clean_json(item->child);
  }
}

bool tb_text_is_utf8(const char *text) {
  unsigned code;
  for (size_t n; *text; text += n)
    if (!(n = character((const unsigned char *)text, &code))) return false;
  return true;
}
