/* Questions about texts that several parts ask. Pure. */
#ifndef TC_BASE_TEXT_H
#define TC_BASE_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Length of what stands before `suffix` at the end of a text; 0: the text does not end so, or is nothing
 * else. */
static inline size_t tc_text_stem(const char *text, const char *suffix) {
  const size_t length = strlen(text), end = strlen(suffix);
  return length > end && !memcmp(text + length - end, suffix, end) ? length - end : 0;
}

/* Bytes of the character that begins at `text`, of which `room` bytes may be read, and which one it is; 0: no
 * UTF-8 (RFC 3629: forms that are longer than needed, halves of surrogate pairs and what is beyond U+10FFFF
 * are none). Nothing is read behind a zero: in a text that ends with one the room is TC_CHARACTER_BYTES
 * anywhere before it. */
enum { TC_CHARACTER_BYTES = 4 };
static inline size_t tc_text_character(const char *text, size_t room, uint32_t *code) {
  static const struct {
    unsigned char mask, lead;
    uint32_t least;
  } forms[TC_CHARACTER_BYTES] = {
      {0x80, 0, 0}, {0xE0, 0xC0, 0x80}, {0xF0, 0xE0, 0x800}, {0xF8, 0xF0, 0x10000}};
  const unsigned char *byte = (const unsigned char *)text;
  for (size_t length = 1; length <= TC_CHARACTER_BYTES && length <= room; length++) {
    if ((byte[0] & forms[length - 1].mask) != forms[length - 1].lead) continue;
    uint32_t value = byte[0] & (unsigned char)~forms[length - 1].mask;
    for (size_t i = 1; i < length; i++) {
      if ((byte[i] & 0xC0) != 0x80) return 0;
      value = value << 6 | (byte[i] & 0x3F);
    }
    *code = value;
    return value < forms[length - 1].least || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)
               ? 0
               : length;
  }
  return 0;
}

/* How many lower-case hex digits a text begins with. */
static inline size_t tc_text_hex(const char *text) { return strspn(text, "0123456789abcdef"); }

#endif
