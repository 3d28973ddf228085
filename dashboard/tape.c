/* Reading of JSON, one pass, without recursion: a stack of open arrays and objects. */
#include "dashboard/tape.h"

#include <emmintrin.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
  struct tb_tape *json;
  const char *text, *at, *end;
  uint32_t open[TB_TAPE_DEPTH];
  int depth;
  bool limit;
  const char *problem;
};

static bool fail(struct reader *r, const char *problem) {
  r->problem = problem;
  return false;
}

static bool over(struct reader *r, const char *problem) {
  r->limit = true;
  return fail(r, problem);
}

static void skip_blanks(struct reader *r) {
  while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\r' || *r->at == '\t')) r->at++;
}

/* --- texts --- */

/* Bytes that need no look: neither a quote, nor a backslash, nor below a blank, nor beyond ASCII. */
static const char *skip_plain(const char *at, const char *end) {
  const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\'), blank = _mm_set1_epi8(' ');
  while (end - at >= 16) {
    const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
    /* signed: bytes beyond ASCII are below a blank too */
    const __m128i stop = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash)), _mm_cmplt_epi8(bytes, blank));
    const int mask = _mm_movemask_epi8(stop);
    if (mask) return at + __builtin_ctz((unsigned)mask);
    at += 16;
  }
  while (at < end && *at != '"' && *at != '\\' && (unsigned char)*at >= ' ' && (unsigned char)*at < 0x80) at++;
  return at;
}

/* Length of the UTF-8 sequence at `at`, of a byte beyond ASCII; 0: it is none. */
static int utf8_length(const char *at, const char *end) {
  const unsigned char *b = (const unsigned char *)at;
  const int length = b[0] >= 0xF0 ? 4 : b[0] >= 0xE0 ? 3 : 2;
  if (b[0] < 0xC2 || b[0] > 0xF4 || end - at < length) return 0;
  for (int i = 1; i < length; i++)
    if ((b[i] & 0xC0) != 0x80) return 0;
  if ((b[0] == 0xE0 && b[1] < 0xA0) || (b[0] == 0xED && b[1] > 0x9F) || (b[0] == 0xF0 && b[1] < 0x90) || (b[0] == 0xF4 && b[1] > 0x8F)) return 0;
  return length;
}

static int hex_digit(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1; }

/* Four digits; -1: they are not there. */
static int hex4(const char *at, const char *end) {
  int value = 0;
  if (end - at < 4) return -1;
  for (int i = 0; i < 4; i++) {
    const int digit = hex_digit(at[i]);
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

enum { SURROGATE = 0xD800, LOW_SURROGATE = 0xDC00, SURROGATE_END = 0xE000, ESCAPE_U = 6 /* \uXXXX */ };

/* Length of the escape at `at`, its character in *code; 0: it is none. */
static int escape_at(const char *at, const char *end, uint32_t *code) {
  static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
  if (end - at < 2) return 0;
  const char *letter = at[1] ? strchr(letters, at[1]) : NULL;
  if (letter) {
    *code = (uint32_t)meant[letter - letters];
    return 2;
  }
  const int first = at[1] == 'u' ? hex4(at + 2, end) : -1;
  if (first <= 0 || (first >= LOW_SURROGATE && first < SURROGATE_END)) return 0;
  *code = (uint32_t)first;
  if (first < SURROGATE || first >= LOW_SURROGATE) return ESCAPE_U;
  const char *low = at + ESCAPE_U;
  const int second = end - low >= ESCAPE_U && low[0] == '\\' && low[1] == 'u' ? hex4(low + 2, end) : -1;
  if (second < LOW_SURROGATE || second >= SURROGATE_END) return 0;
  *code = 0x10000u + ((uint32_t)(first - SURROGATE) << 10) + (uint32_t)(second - LOW_SURROGATE);
  return 2 * ESCAPE_U;
}

/* From behind the opening quote to behind the closing one. */
static bool read_text(struct reader *r, uint32_t *start, uint32_t *length, bool *plain) {
  const char *first = r->at;
  uint32_t code;
  *plain = true;
  for (;;) {
    r->at = skip_plain(r->at, r->end);
    if (r->at == r->end) return fail(r, "a text does not end");
    if (*r->at == '"') break;
    int step = 0;
    if (*r->at == '\\') {
      *plain = false;
      if (!(step = escape_at(r->at, r->end, &code))) return fail(r, "an escape that is none, or a zero");
    } else if ((unsigned char)*r->at < ' ') {
      return fail(r, "a control character in a text");
    } else if (!(step = utf8_length(r->at, r->end))) {
      return fail(r, "bytes that are no UTF-8");
    }
    r->at += step;
  }
  *start = (uint32_t)(first - r->text);
  *length = (uint32_t)(r->at - first);
  r->at++;
  return true;
}

/* --- values --- */

static bool is_digit(const struct reader *r) { return r->at < r->end && *r->at >= '0' && *r->at <= '9'; }

static bool skip_digits(struct reader *r) {
  const char *first = r->at;
  while (is_digit(r)) r->at++;
  return r->at > first || fail(r, "a number without digits");
}

static bool read_number(struct reader *r, bool *whole) {
  *whole = true;
  if (*r->at == '-') r->at++;
  if (r->at < r->end && *r->at == '0') r->at++;
  else if (!skip_digits(r)) return false;
  if (is_digit(r)) return fail(r, "a number that begins with 0");
  if (r->at < r->end && *r->at == '.') {
    *whole = false;
    r->at++;
    if (!skip_digits(r)) return false;
  }
  if (r->at < r->end && (*r->at == 'e' || *r->at == 'E')) {
    *whole = false;
    r->at++;
    if (r->at < r->end && (*r->at == '+' || *r->at == '-')) r->at++;
    if (!skip_digits(r)) return false;
  }
  return true;
}

static bool read_word(struct reader *r, const char *word) {
  const size_t length = strlen(word);
  if ((size_t)(r->end - r->at) < length || memcmp(r->at, word, length)) return fail(r, "what is no value");
  r->at += length;
  return true;
}

static struct tb_tape_node *add_node(struct reader *r) {
  struct tb_tape *json = r->json;
  enum { FIRST = 1024 };
  if (json->count == json->most_nodes) return over(r, "more values than the server takes"), NULL;
  if (json->count == json->cap) {
    const size_t cap = json->cap ? json->cap * 2 : FIRST;
    struct tb_tape_node *nodes = realloc(json->nodes, cap * sizeof *nodes);
    if (!nodes) return over(r, "out of memory"), NULL;
    json->nodes = nodes;
    json->cap = cap;
  }
  return &json->nodes[json->count++];
}

/* A value at r->at; arrays and objects are opened. */
static bool read_value(struct reader *r, const struct tb_tape_node *named) {
  struct tb_tape_node *node = add_node(r);
  if (!node) return false;
  if (r->at == r->end) return fail(r, "a value is missing");
  *node = *named;
  node->text = (uint32_t)(r->at - r->text);
  node->next = (uint32_t)r->json->count;
  switch (*r->at) {
  case '"':
    node->kind = TB_TAPE_STRING;
    r->at++;
    return read_text(r, &node->text, &node->length, &node->plain);
  case '{':
  case '[':
    node->kind = *r->at == '{' ? TB_TAPE_OBJECT : TB_TAPE_ARRAY;
    if (r->depth == TB_TAPE_DEPTH) return over(r, "nested too deep");
    r->open[r->depth++] = (uint32_t)(r->json->count - 1);
    r->at++;
    return true;
  case 't': node->kind = TB_TAPE_TRUE; return read_word(r, "true");
  case 'f': node->kind = TB_TAPE_FALSE; return read_word(r, "false");
  case 'n': node->kind = TB_TAPE_NULL; return read_word(r, "null");
  default:
    if (*r->at != '-' && (*r->at < '0' || *r->at > '9')) return fail(r, "what is no value");
    node->kind = TB_TAPE_NUMBER;
    if (!read_number(r, &node->plain)) return false;
    node->length = (uint32_t)(r->at - r->text) - node->text;
    return true;
  }
}

static bool read_member(struct reader *r) {
  struct tb_tape_node named = {0};
  uint32_t length;
  bool plain;
  if (r->at == r->end || *r->at != '"') return fail(r, "a member without a name");
  r->at++;
  if (!read_text(r, &named.name, &length, &plain)) return false;
  if (!plain) return fail(r, "a name with escapes");
  if (length > TB_TAPE_NAME) return over(r, "a name that is too long");
  named.name_length = (uint16_t)length;
  skip_blanks(r);
  if (r->at == r->end || *r->at != ':') return fail(r, "a ':' is missing");
  r->at++;
  skip_blanks(r);
  return read_value(r, &named);
}

/* What comes next in the innermost open array or object: its end, or one more item. `fresh`: nothing stands in it yet. */
static bool read_inside(struct reader *r, bool fresh) {
  static const struct tb_tape_node nameless = {0};
  struct tb_tape_node *open = &r->json->nodes[r->open[r->depth - 1]];
  const bool object = open->kind == TB_TAPE_OBJECT;
  skip_blanks(r);
  if (r->at == r->end) return fail(r, object ? "an object does not end" : "an array does not end");
  if (*r->at == (object ? '}' : ']')) {
    r->at++;
    open->next = (uint32_t)r->json->count;
    open->length = (uint32_t)(r->at - r->text) - open->text;
    r->depth--;
    return true;
  }
  if (!fresh) {
    if (*r->at != ',') return fail(r, "a ',' is missing");
    r->at++;
    skip_blanks(r);
  }
  return object ? read_member(r) : read_value(r, &nameless);
}

static bool read_all(struct reader *r) {
  static const struct tb_tape_node nameless = {0};
  skip_blanks(r);
  if (!read_value(r, &nameless)) return false;
  while (r->depth) {
    const uint32_t open = r->open[r->depth - 1];
    if (!read_inside(r, open + 1 == r->json->count)) return false;
  }
  skip_blanks(r);
  return r->at == r->end || fail(r, "something behind the value");
}

bool tb_tape_parse(struct tb_tape *json, const char *text, size_t length, bool *limit, char *why) {
  struct reader r = {.json = json, .text = text, .at = text, .end = text + length};
  json->text = text;
  json->count = 0;
  *limit = false;
  bool good = length < UINT32_MAX || over(&r, "too large");
  good = good && read_all(&r);
  if (good) return true;
  *limit = r.limit;
  snprintf(why, TB_TAPE_WHY, "no JSON that can be taken: %s (at byte %zu)", r.problem, (size_t)(r.at - text) + 1);
  return false;
}

void tb_tape_free(struct tb_tape *json) {
  free(json->nodes);
  *json = (struct tb_tape){.most_nodes = json->most_nodes};
}

/* --- reading of nodes --- */

static uint32_t find(const struct tb_tape *json, uint32_t object, const char *name, size_t length) {
  const struct tb_tape_node *nodes = json->nodes;
  if (nodes[object].kind != TB_TAPE_OBJECT) return 0;
  for (uint32_t i = tb_tape_first(object); i < nodes[object].next; i = nodes[i].next)
    if (nodes[i].name_length == length && !memcmp(json->text + nodes[i].name, name, length)) return i;
  return 0;
}

uint32_t tb_tape_member(const struct tb_tape *json, uint32_t object, const char *name) { return find(json, object, name, strlen(name)); }

uint32_t tb_tape_at(const struct tb_tape *json, uint32_t object, const char *path) {
  for (;;) {
    const size_t length = strcspn(path, ".");
    object = find(json, object, path, length);
    if (!object || !path[length]) return object;
    path += length + 1;
  }
}

/* Digits with a point, of which a double holds all: the quotient of two doubles that are exact is the nearest one. */
static bool short_number(const char *at, const char *end, double *out) {
  static const double powers[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
  enum { DIGITS = 15 };
  const bool negative = *at == '-';
  uint64_t value = 0;
  int digits = 0, behind = 0;
  bool point = false;
  for (at += negative; at < end; at++) {
    if (*at == '.') {
      point = true;
      continue;
    }
    if (*at < '0' || *at > '9' || digits++ == DIGITS) return false;
    value = value * 10 + (uint64_t)(*at - '0');
    behind += point;
  }
  *out = (negative ? -(double)value : (double)value) / powers[behind];
  return true;
}

double tb_tape_number(const struct tb_tape *json, uint32_t node) {
  enum { LONGEST = 400 }; /* longer ones are cut: their last digits say nothing, but their exponent might */
  const struct tb_tape_node *n = &json->nodes[node];
  char text[LONGEST];
  double value;
  if (n->kind != TB_TAPE_NUMBER) return NAN;
  if (short_number(json->text + n->text, json->text + n->text + n->length, &value)) return value;
  if (n->length >= sizeof text) return NAN;
  memcpy(text, json->text + n->text, n->length);
  text[n->length] = '\0';
  return strtod(text, NULL);
}

bool tb_tape_is(const struct tb_tape *json, uint32_t node, const char *text) {
  const struct tb_tape_node *n = &json->nodes[node];
  return n->kind == TB_TAPE_STRING && n->length == strlen(text) && !memcmp(json->text + n->text, text, n->length);
}

static char *put_utf8(char *out, uint32_t code) {
  if (code < 0x80) *out++ = (char)code;
  else if (code < 0x800) *out++ = (char)(0xC0 | code >> 6), *out++ = (char)(0x80 | (code & 0x3F));
  else if (code < 0x10000) *out++ = (char)(0xE0 | code >> 12), *out++ = (char)(0x80 | (code >> 6 & 0x3F)), *out++ = (char)(0x80 | (code & 0x3F));
  else *out++ = (char)(0xF0 | code >> 18), *out++ = (char)(0x80 | (code >> 12 & 0x3F)), *out++ = (char)(0x80 | (code >> 6 & 0x3F)), *out++ = (char)(0x80 | (code & 0x3F));
  return out;
}

bool tb_tape_copy(const struct tb_tape *json, uint32_t node, char *out, size_t size) {
  const struct tb_tape_node *n = &json->nodes[node];
  const char *at = json->text + n->text, *end = at + n->length;
  if (n->kind != TB_TAPE_STRING || n->length >= size) return false;
  if (n->plain) {
    memcpy(out, at, n->length);
    out += n->length;
  } else {
    while (at < end) {
      uint32_t code;
      const int step = *at == '\\' ? escape_at(at, end, &code) : 0;
      if (step) out = put_utf8(out, code); /* never longer than the escape */
      else *out++ = *at;
      at += step ? step : 1;
    }
  }
  *out = '\0';
  return true;
}
