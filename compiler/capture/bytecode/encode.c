/* Encoder of Lua 5.4 chunks: the inverse of the decoder.
 *
 * Invariants:
 *  1. What is written is what was read: instructions, constants, upvalues, names, and the line of each
 *     instruction. Kinds of upvalues are written as "regular": only Lua's compiler looks at them.
 *  2. Lines are steps of one byte, and at least every LINES_APART instructions an absolute entry. Lua looks
 *     entries up by pc / 128 - 1 (5.4.0: by 120) as a lower bound of the entry that it needs, without a
 *     check. */
#include <limits.h>
#include <string.h>

#include "capture/bytecode/resume.h"

enum { LUA_54 = 0x54, FORMAT_OFFICIAL = 0, PROBE_INTEGER = 0x5678 };
enum {
  TAG_NIL = 0x00,
  TAG_FALSE = 0x01,
  TAG_TRUE = 0x11,
  TAG_INTEGER = 0x03,
  TAG_FLOAT = 0x13,
  TAG_SHORT_TEXT = 0x04,
  TAG_LONG_TEXT = 0x14
};
enum { SHORT_TEXT = 40 }; /* bytes of a short string at most */
enum { LINES_APART = 120, LEAST_STEP = -127, GREATEST_STEP = 127, ABSOLUTE_LINE = -128 };
static const char probe_text[] = "\x19\x93\r\n\x1a\n";
static const double probe_number = 370.5;

struct writer {
  struct tc_strbuf *out;
  bool damaged;
};

static void put_byte(struct writer *w, int value) {
  const unsigned char byte = (unsigned char)value;
  tc_strbuf_bytes(w->out, &byte, 1);
}

/* 7 bits a byte, the most significant first; the last byte has its top bit set. */
static void put_unsigned(struct writer *w, uint64_t value) {
  int shift = 0;
  while (value >> shift >> 7) shift += 7;
  for (; shift > 0; shift -= 7) put_byte(w, (int)(value >> shift & 0x7f));
  put_byte(w, (int)(value & 0x7f) | 0x80);
}

static void put_int(struct writer *w, int value) {
  if (value < 0)
    w->damaged = true;
  else
    put_unsigned(w, (unsigned)value);
}

static void put_text(struct writer *w, const char *bytes, size_t length) {
  put_unsigned(w, (uint64_t)length + 1);
  tc_strbuf_bytes(w->out, bytes, length);
}

static void put_name(struct writer *w, const char *name) {
  if (name)
    put_text(w, name, strlen(name));
  else
    put_unsigned(w, 0);
}

static void put_constant(struct writer *w, const struct tc_constant *k) {
  switch (k->type) {
    case LUA_TNIL: put_byte(w, TAG_NIL); break;
    case LUA_TBOOLEAN: put_byte(w, k->boolean ? TAG_TRUE : TAG_FALSE); break;
    case LUA_TNUMBER:
      put_byte(w, k->is_integer ? TAG_INTEGER : TAG_FLOAT);
      if (k->is_integer)
        tc_strbuf_bytes(w->out, &k->integer, sizeof k->integer);
      else
        tc_strbuf_bytes(w->out, &k->number, sizeof k->number);
      break;
    default:
      put_byte(w, k->text.length <= SHORT_TEXT ? TAG_SHORT_TEXT : TAG_LONG_TEXT);
      put_text(w, k->text.bytes, k->text.length);
  }
}

/* Goes through the lines of the instructions. */
struct line_walk {
  int pc, line, apart;
};

/* The byte of the next instruction: its step, or that it has an absolute entry. */
static int next_line(struct line_walk *walk, const struct tc_proto *p) {
  const int line = p->lines[walk->pc++];
  const int64_t step = (int64_t)line - walk->line;
  const bool absolute = step < LEAST_STEP || step > GREATEST_STEP || ++walk->apart >= LINES_APART;
  walk->line = line;
  if (absolute) walk->apart = 0;
  return absolute ? ABSOLUTE_LINE : (int)step;
}

static void put_lines(struct writer *w, const struct tc_proto *p) {
  const int n_lines = p->lines ? p->n_code : 0;
  int n_absolute = 0;
  put_int(w, n_lines);
  for (struct line_walk walk = {.line = p->line_defined}; walk.pc < n_lines;) {
    const int byte = next_line(&walk, p);
    n_absolute += byte == ABSOLUTE_LINE;
    put_byte(w, byte);
  }
  put_int(w, n_absolute);
  for (struct line_walk walk = {.line = p->line_defined}; walk.pc < n_lines;) {
    if (next_line(&walk, p) != ABSOLUTE_LINE) continue;
    put_int(w, walk.pc - 1);
    put_int(w, walk.line);
  }
}

static void put_proto(struct writer *w, const struct tc_proto *p, const struct tc_proto *parent) {
  put_name(w, parent && parent->source == p->source ? NULL : p->source);
  put_int(w, p->line_defined);
  put_int(w, p->last_line_defined);
  put_byte(w, p->n_params);
  put_byte(w, p->is_vararg);
  put_byte(w, p->max_stack);
  put_int(w, p->n_code);
  tc_strbuf_bytes(w->out, p->code, sizeof *p->code * (size_t)p->n_code);
  put_int(w, p->n_constants);
  for (int i = 0; i < p->n_constants; i++) put_constant(w, &p->constants[i]);
  put_int(w, p->n_upvalues);
  for (int i = 0; i < p->n_upvalues; i++) {
    put_byte(w, p->upvalues[i].in_stack);
    put_byte(w, p->upvalues[i].index);
    put_byte(w, 0);
  }
  put_int(w, p->n_protos);
  for (int i = 0; i < p->n_protos; i++) put_proto(w, p->protos[i], p);
  put_lines(w, p);
  bool has_names = false;
  put_int(w, p->n_locals);
  for (int i = 0; i < p->n_locals; i++) {
    put_name(w, p->locals[i].name ? p->locals[i].name : "?"); /* Lua expects a name */
    put_int(w, p->locals[i].start);
    put_int(w, p->locals[i].end);
  }
  for (int i = 0; i < p->n_upvalues; i++) has_names |= p->upvalues[i].name != NULL;
  put_int(w, has_names ? p->n_upvalues : 0);
  for (int i = 0; i < p->n_upvalues && has_names; i++) put_name(w, p->upvalues[i].name);
}

tc_status tc_bytecode_encode(const struct tc_proto *proto, struct tc_strbuf *chunk, struct tc_error *err) {
  struct writer w = {.out = chunk};
  const lua_Integer integer = PROBE_INTEGER;
  const lua_Number number = probe_number;
  tc_strbuf_bytes(w.out, LUA_SIGNATURE, sizeof LUA_SIGNATURE - 1);
  put_byte(&w, LUA_54);
  put_byte(&w, FORMAT_OFFICIAL);
  tc_strbuf_bytes(w.out, probe_text, sizeof probe_text - 1);
  put_byte(&w, sizeof(uint32_t));
  put_byte(&w, sizeof(lua_Integer));
  put_byte(&w, sizeof(lua_Number));
  tc_strbuf_bytes(w.out, &integer, sizeof integer);
  tc_strbuf_bytes(w.out, &number, sizeof number);
  put_byte(&w, proto->n_upvalues);
  put_proto(&w, proto, NULL);
  if (w.damaged) return tc_fail(err, TC_CORRUPT, "capture", "bytecode: a line or a position is negative");
  return chunk->failed ? tc_fail(err, TC_NOMEM, "capture", "bytecode: out of memory") : TC_OK;
}
