/* Reading of JSON, one pass, without recursion: a stack of open arrays and objects. */
#include "dashboard/ingest/tape.h"

#include <emmintrin.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* Functions below take the place where they begin and give the place behind what they read; NULL: r->problem
 * says what is wrong. The place is handed on in a register: this is what the server does most. */
struct reader {
  struct tb_tape *json;
  const char *text, *end;
  uint32_t open[TB_TAPE_DEPTH];
  int depth;
  bool limit;
  const char *problem, *where;
};

__attribute__((cold)) static const char *fail(struct reader *r, const char *at, const char *problem) {
  r->problem = problem;
  r->where = at;
  return NULL;
}

__attribute__((cold)) static const char *over(struct reader *r, const char *at, const char *problem) {
  r->limit = true;
  return fail(r, at, problem);
}

static inline const char *skip_blanks(const char *at, const char *end) {
  while (at < end && (unsigned char)*at <= ' ' && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t'))
    at++;
  return at;
}

/* --- texts --- */

/* Bytes that need no look: neither a quote, nor a backslash, nor below a blank, nor beyond ASCII. */
static inline const char *skip_plain(const char *at, const char *end) {
  const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\'), blank = _mm_set1_epi8(' ');
  while (end - at >= 16) {
    const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
    /* signed: bytes beyond ASCII are below a blank too */
    const __m128i stop =
        _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash)),
                     _mm_cmplt_epi8(bytes, blank));
    const int mask = _mm_movemask_epi8(stop);
    if (mask) return at + __builtin_ctz((unsigned)mask);
    at += 16;
  }
  while (at < end && *at != '"' && *at != '\\' && (unsigned char)*at >= ' ' && (unsigned char)*at < 0x80)
    at++;
  return at;
}

/* Four digits; -1: they are not there. */
static int hex4(const char *at, const char *end) {
  int value = 0;
  if (end - at < 4) return -1;
  for (int i = 0; i < 4; i++) {
    const char c = at[i];
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
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

/* An escape, or a character beyond ASCII. */
static const char *read_special(struct reader *r, const char *at, bool *plain) {
  uint32_t code;
  if ((unsigned char)*at < ' ') return fail(r, at, "a control character in a text");
  if (*at != '\\') {
    const size_t step = tc_text_character(at, (size_t)(r->end - at), &code);
    return step ? at + step : fail(r, at, "invalid UTF-8");
  }
  const int step = escape_at(at, r->end, &code);
  *plain = false;
  return step ? at + step : fail(r, at, "an invalid escape, or a zero");
}

/* From behind the opening quote to the closing one. */
static inline const char *read_text(struct reader *r, const char *at, bool *plain) {
  *plain = true;
  for (;;) {
    at = skip_plain(at, r->end);
    if (at == r->end) return fail(r, at, "a text does not end");
    if (*at == '"') return at;
    if (!(at = read_special(r, at, plain))) return NULL;
  }
}

/* --- values --- */

static inline bool is_digit(const char *at, const char *end) {
  return at < end && (unsigned char)(*at - '0') <= 9;
}

static inline const char *skip_digits(struct reader *r, const char *at) {
  const char *first = at;
  while (is_digit(at, r->end)) at++;
  return at > first ? at : fail(r, at, "a number without digits");
}

/* Behind the whole part of a number, at a point or an e. */
static const char *read_fraction(struct reader *r, struct tb_tape_node *node, const char *at) {
  if (*at == '.' && !(at = skip_digits(r, at + 1))) return NULL;
  if (at == r->end || (*at != 'e' && *at != 'E')) return at;
  node->power = true;
  at++;
  if (at < r->end && (*at == '+' || *at == '-')) at++;
  return skip_digits(r, at);
}

static inline const char *read_number(struct reader *r, struct tb_tape_node *node, const char *at) {
  at += *at == '-';
  if (at < r->end && *at == '0')
    at++;
  else if (!(at = skip_digits(r, at)))
    return NULL;
  if (is_digit(at, r->end)) return fail(r, at, "a number that begins with 0");
  node->plain = at == r->end || (*at != '.' && *at != 'e' && *at != 'E');
  return node->plain ? at : read_fraction(r, node, at);
}

static inline const char *read_word(struct reader *r, const char *at, const char *word, size_t length) {
  return (size_t)(r->end - at) < length || memcmp(at, word, length) ? fail(r, at, "not a value")
                                                                    : at + length;
}

static bool more_nodes(struct reader *r, const char *at) {
  enum { FIRST = 1024 };
  struct tb_tape *json = r->json;
  const size_t cap = json->cap ? json->cap * 2 : FIRST;
  struct tb_tape_node *nodes = realloc(json->nodes, cap * sizeof *nodes);
  if (!nodes) return json->no_memory = true, fail(r, at, "out of memory") != NULL;
  json->nodes = nodes;
  json->cap = cap;
  return true;
}

/* The next node; NULL with r->problem. */
static inline struct tb_tape_node *add_node(struct reader *r, const char *at) {
  struct tb_tape *json = r->json;
  if (json->count == json->most_nodes) return over(r, at, "more values than the server accepts"), NULL;
  if (json->count == json->cap && !more_nodes(r, at)) return NULL;
  return &json->nodes[json->count++];
}

struct name {
  uint32_t at;
  uint16_t length;
};

/* The value of a node; arrays and objects are opened, texts and numbers have their length. */
static inline const char *fill_node(struct reader *r, struct tb_tape_node *node, const char *at) {
  const char *end;
  bool plain;
  switch (*at) {
    case '"':
      node->kind = TB_TAPE_STRING;
      node->text++;
      if (!(end = read_text(r, at + 1, &plain))) return NULL;
      node->plain = plain;
      node->length = (uint32_t)(end - at) - 1;
      return end + 1;
    case '{':
    case '[':
      node->kind = *at == '{' ? TB_TAPE_OBJECT : TB_TAPE_ARRAY;
      if (r->depth == TB_TAPE_DEPTH) return over(r, at, "nested too deep");
      r->open[r->depth++] = (uint32_t)(node - r->json->nodes);
      return at + 1;
    case 't': node->kind = TB_TAPE_TRUE; return read_word(r, at, "true", strlen("true"));
    case 'f': node->kind = TB_TAPE_FALSE; return read_word(r, at, "false", strlen("false"));
    case 'n': node->kind = TB_TAPE_NULL; return read_word(r, at, "null", strlen("null"));
    default:
      if (*at != '-' && !is_digit(at, r->end)) return fail(r, at, "not a value");
      node->kind = TB_TAPE_NUMBER;
      if (!(end = read_number(r, node, at))) return NULL;
      node->length = (uint32_t)(end - at);
      return end;
  }
}

static inline const char *read_value(struct reader *r, const char *at, struct name name) {
  struct tb_tape_node *node = add_node(r, at);
  if (!node) return NULL;
  if (at == r->end) return fail(r, at, "a value is missing");
  *node = (struct tb_tape_node){.text = (uint32_t)(at - r->text),
                                .name = name.at,
                                .name_length = name.length,
                                .next = (uint32_t)r->json->count};
  return fill_node(r, node, at);
}

/* Whether a name has an escape where a letter of ASCII could stand as well. All others make it a name that
 * nothing is looked for by (of ours none has such characters), so that it may stay as it is written. */
static bool spells_ascii(const char *at, const char *end) {
  uint32_t code;
  while ((at = memchr(at, '\\', (size_t)(end - at)))) {
    at += escape_at(at, end, &code);
    if (code >= ' ' && code < 0x7F && !strchr("\"\\/", (int)code)) return true;
  }
  return false;
}

static inline const char *read_member(struct reader *r, const char *at) {
  const char *const end = r->end;
  bool plain;
  if (at == end || *at != '"') return fail(r, at, "a member without a name");
  const char *const first = ++at;
  if (!(at = read_text(r, at, &plain))) return NULL;
  if (!plain && spells_ascii(first, at)) return fail(r, at + 1, "a name with letters as escapes");
  if (at - first > TB_TAPE_NAME) return over(r, at + 1, "a name that is too long");
  const struct name name = {(uint32_t)(first - r->text), (uint16_t)(at - first)};
  at = skip_blanks(at + 1, end);
  if (at == end || *at != ':') return fail(r, at, "a ':' is missing");
  return read_value(r, skip_blanks(at + 1, end), name);
}

/* What comes next in the innermost open array or object: its end, or one more item. */
static inline const char *read_inside(struct reader *r, const char *at) {
  static const struct name nameless = {0, 0};
  const uint32_t number = r->open[r->depth - 1];
  struct tb_tape_node *open = &r->json->nodes[number];
  const bool object = open->kind == TB_TAPE_OBJECT, fresh = number + 1 == r->json->count;
  at = skip_blanks(at, r->end);
  if (at == r->end) return fail(r, at, object ? "an object does not end" : "an array does not end");
  if (*at == (object ? '}' : ']')) {
    at++;
    open->next = (uint32_t)r->json->count;
    open->length = (uint32_t)(at - r->text) - open->text;
    r->depth--;
    return at;
  }
  if (!fresh) {
    if (*at != ',') return fail(r, at, "a ',' is missing");
    at = skip_blanks(at + 1, r->end);
  }
  return object ? read_member(r, at) : read_value(r, at, nameless);
}

static const char *read_all(struct reader *r) {
  const char *at = read_value(r, skip_blanks(r->text, r->end), (struct name){0, 0});
  while (at && r->depth) at = read_inside(r, at);
  if (at) at = skip_blanks(at, r->end);
  return !at || at == r->end ? at : fail(r, at, "text after the value");
}

bool tb_tape_parse(struct tb_tape *json, const char *text, size_t length, bool *limit, char *why) {
  struct reader r = {.json = json, .text = text, .end = text + length};
  json->text = text;
  json->count = 0;
  json->no_memory = false;
  const char *end = length < UINT32_MAX ? read_all(&r) : over(&r, text, "too large");
  *limit = r.limit;
  if (!end && json->no_memory)
    snprintf(why, TB_TAPE_WHY, "out of memory");
  else if (!end)
    snprintf(why, TB_TAPE_WHY, "not valid JSON: %s (at byte %zu)", r.problem, (size_t)(r.where - text) + 1);
  return end != NULL;
}

void tb_tape_free(struct tb_tape *json) {
  free(json->nodes);
  *json = (struct tb_tape){.most_nodes = json->most_nodes};
}

/* --- reading of nodes --- */

uint32_t tb_tape_named(const struct tb_tape *json, uint32_t object, const char *name, size_t length) {
  const struct tb_tape_node *nodes = json->nodes;
  const uint32_t end = nodes[object].next;
  if (nodes[object].kind != TB_TAPE_OBJECT) return 0;
  for (uint32_t i = tb_tape_first(object); i < end; i = nodes[i].next)
    if (nodes[i].name_length == length && tb_tape_same_name(json->text + nodes[i].name, name, length))
      return i;
  return 0;
}

uint32_t tb_tape_member(const struct tb_tape *json, uint32_t object, const char *name) {
  return tb_tape_named(json, object, name, strlen(name));
}

uint32_t tb_tape_at(const struct tb_tape *json, uint32_t object, const char *path) {
  for (size_t length;; path += length + 1) {
    length = strcspn(path, ".");
    object = tb_tape_named(json, object, path, length);
    if (!object || !path[length]) return object;
  }
}

/* Digits with a point, of which a double holds all: the quotient of two doubles that are exact is the nearest
 * one. */
static bool short_number(const char *at, const char *end, double *out) {
  static const double powers[] = {1,   1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
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
  return n->kind == TB_TAPE_STRING && n->length == strlen(text) &&
         !memcmp(json->text + n->text, text, n->length);
}

static char *put_utf8(char *out, uint32_t code) {
  if (code < 0x80)
    *out++ = (char)code;
  else if (code < 0x800)
    *out++ = (char)(0xC0 | code >> 6), *out++ = (char)(0x80 | (code & 0x3F));
  else if (code < 0x10000)
    *out++ = (char)(0xE0 | code >> 12), *out++ = (char)(0x80 | (code >> 6 & 0x3F)),
    *out++ = (char)(0x80 | (code & 0x3F));
  else
    *out++ = (char)(0xF0 | code >> 18), *out++ = (char)(0x80 | (code >> 12 & 0x3F)),
    *out++ = (char)(0x80 | (code >> 6 & 0x3F)), *out++ = (char)(0x80 | (code & 0x3F));
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
      if (step)
        out = put_utf8(out, code); /* never longer than the escape */
      else
        *out++ = *at;
      at += step ? step : 1;
    }
  }
  *out = '\0';
  return true;
}
