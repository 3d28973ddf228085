/* Questions about texts that several parts ask. Pure. */
#ifndef TC_BASE_TEXT_H
#define TC_BASE_TEXT_H

#include <string.h>

/* Length of what stands before `suffix` at the end of a text; 0: the text does not end so, or is nothing else. */
static inline size_t tc_text_stem(const char *text, const char *suffix) {
  const size_t length = strlen(text), end = strlen(suffix);
  return length > end && !memcmp(text + length - end, suffix, end) ? length - end : 0;
}

/* How many lower-case hex digits a text begins with. */
static inline size_t tc_text_hex(const char *text) { return strspn(text, "0123456789abcdef"); }

#endif
