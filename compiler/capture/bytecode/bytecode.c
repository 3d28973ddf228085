/* Decoder of Lua 5.4 chunks.
 *
 * Invariants:
 *  1. Every byte is read through `take`, which checks the end. A count is checked against the bytes that are
 *     left before anything is allocated for it, so memory is bounded by a constant times the size of the
 *     chunk.
 *  2. A proto is given out only when all its instructions passed `check_code`. */
#include "capture/bytecode/bytecode.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"

/* The header of Lua 5.4: version, format, a pattern that text transfers would damage, sizes, and two
 * numbers. */
enum { LUA_54 = 0x54, FORMAT_OFFICIAL = 0, PROBE_INTEGER = 0x5678 };
static const char signature[] = "\x1bLua", probe_text[] = "\x19\x93\r\n\x1a\n";
static const double probe_number = 370.5;

/* Tags of constants: type, and variant in the upper bits. */
enum {
  TAG_NIL = 0x00,
  TAG_FALSE = 0x01,
  TAG_TRUE = 0x11,
  TAG_INTEGER = 0x03,
  TAG_FLOAT = 0x13,
  TAG_SHORT_TEXT = 0x04,
  TAG_LONG_TEXT = 0x14
};
enum { SHOWN_NAME = 60 };       /* bytes of a chunk name in messages, as in Lua's */
enum { ABSOLUTE_LINE = -0x80 }; /* in lineinfo: the line stands in abslineinfo */

struct reader {
  struct tc_arena *arena;
  const unsigned char *at, *end;
  struct tc_error *err;
  tc_status status; /* the first failure; later reads give zeros */
};

static void fail(struct reader *r, tc_status status, const char *what) {
  if (r->status) return;
  r->status = tc_fail(r->err, status, "capture", "bytecode: %s", what);
}

static const void *take(struct reader *r, size_t bytes) {
  if (r->status || (size_t)(r->end - r->at) < bytes) {
    fail(r, TC_CORRUPT, "the chunk ends too early");
    return NULL;
  }
  const void *at = r->at;
  r->at += bytes;
  return at;
}

static int take_byte(struct reader *r) {
  const unsigned char *byte = take(r, 1);
  return byte ? *byte : 0;
}

/* 7 bits a byte, the most significant first; the last byte has its top bit set. */
static uint64_t take_unsigned(struct reader *r, uint64_t limit) {
  uint64_t value = 0;
  for (;;) {
    const int byte = take_byte(r);
    if (r->status) return 0;
    if (value > limit >> 7) {
      fail(r, TC_CORRUPT, "a number is too large");
      return 0;
    }
    value = value << 7 | (unsigned)(byte & 0x7f);
    if (byte & 0x80) break;
  }
  if (value > limit) fail(r, TC_CORRUPT, "a number is too large");
  return r->status ? 0 : value;
}

static int take_int(struct reader *r) { return (int)take_unsigned(r, INT_MAX); }

/* A count of items that take at least `bytes` each. */
static int take_count(struct reader *r, size_t bytes) {
  const int count = take_int(r);
  if ((size_t)(r->end - r->at) / bytes >= (size_t)count) return count;
  fail(r, TC_CORRUPT, "a count is larger than the chunk");
  return 0;
}

static void *new_items(struct reader *r, int count, size_t bytes) {
  if (r->status) return NULL;
  void *items = tc_arena_bytes(r->arena, (size_t)count * bytes + 1);
  if (items)
    memset(items, 0, (size_t)count * bytes + 1);
  else
    fail(r, TC_NOMEM, "out of memory");
  return items;
}

/* NULL when there is none. */
static const char *take_text(struct reader *r, size_t *length) {
  const uint64_t size = take_unsigned(r, SIZE_MAX);
  *length = size ? (size_t)size - 1 : 0;
  if (!size || r->status) return NULL;
  const void *bytes = take(r, *length);
  char *text = bytes ? new_items(r, 1, *length) : NULL;
  if (text) memcpy(text, bytes, *length);
  return text;
}

static void read_header(struct reader *r) {
  const char *mark = take(r, sizeof signature - 1);
  if (!mark || memcmp(mark, signature, sizeof signature - 1)) {
    fail(r, TC_CORRUPT, "this is no Lua chunk");
    return;
  }
  const int version = take_byte(r);
  if (!r->status && version != LUA_54) {
    r->status = tc_fail(r->err, TC_VERSION, "capture",
                        "bytecode of Lua %d.%d; tbench reads that of Lua 5.4 (build it against liblua5.4)",
                        version >> 4, version & 15);
    return;
  }
  const int format = take_byte(r);
  const char *text = take(r, sizeof probe_text - 1);
  const unsigned char *sizes = take(r, 3);
  const void *integer = take(r, sizeof(lua_Integer)), *number = take(r, sizeof(lua_Number));
  take_byte(r); /* upvalues of the main function, told again in it */
  if (r->status) return;
  const lua_Integer wanted_integer = PROBE_INTEGER;
  const bool fits = format == FORMAT_OFFICIAL && !memcmp(text, probe_text, sizeof probe_text - 1) &&
                    sizes[0] == sizeof(uint32_t) && sizes[1] == sizeof(lua_Integer) &&
                    sizes[2] == sizeof(lua_Number) &&
                    !memcmp(integer, &wanted_integer, sizeof wanted_integer) &&
                    !memcmp(number, &probe_number, sizeof probe_number);
  if (!fits) fail(r, TC_VERSION, "this Lua 5.4 has other number types than 64-bit integers and doubles");
}

static void read_constant(struct reader *r, struct tc_constant *k) {
  const void *number;
  switch (take_byte(r)) {
    case TAG_NIL: k->type = LUA_TNIL; break;
    case TAG_FALSE: k->type = LUA_TBOOLEAN; break;
    case TAG_TRUE:
      k->type = LUA_TBOOLEAN;
      k->boolean = true;
      break;
    case TAG_INTEGER:
      k->type = LUA_TNUMBER;
      k->is_integer = true;
      if ((number = take(r, sizeof k->integer))) memcpy(&k->integer, number, sizeof k->integer);
      break;
    case TAG_FLOAT:
      k->type = LUA_TNUMBER;
      if ((number = take(r, sizeof k->number))) memcpy(&k->number, number, sizeof k->number);
      break;
    case TAG_SHORT_TEXT:
    case TAG_LONG_TEXT:
      k->type = LUA_TSTRING;
      k->text.bytes = take_text(r, &k->text.length);
      if (!k->text.bytes) fail(r, TC_CORRUPT, "a constant string is missing");
      break;
    default: fail(r, TC_CORRUPT, "a constant of an unknown type");
  }
}

static void read_lines(struct reader *r, struct tc_proto *p) {
  const int n_steps = take_count(r, 1);
  const signed char *steps = take(r, (size_t)n_steps);
  const int n_absolute = take_count(r, 2);
  if (n_steps != 0 && n_steps != p->n_code)
    fail(r, TC_CORRUPT, "the line table has another length than the code");
  int *lines = new_items(r, n_steps, sizeof *lines);
  if (r->status) return;
  int line = p->line_defined, pc = 0;
  for (int i = 0; i <= n_absolute && !r->status; i++) {
    const int stop = i < n_absolute ? take_int(r) : n_steps;
    if (stop < pc || stop > n_steps) {
      fail(r, TC_CORRUPT, "the line table is out of order");
      return;
    }
    for (; pc < stop; pc++) {
      if (steps[pc] == ABSOLUTE_LINE) fail(r, TC_CORRUPT, "the line table misses an entry");
      line = (int)((unsigned)line + (unsigned)steps[pc]);
      lines[pc] = line;
    }
    if (i == n_absolute) break;
    line = take_int(r);
    if (pc < n_steps) lines[pc++] = line;
  }
  p->lines = n_steps ? lines : NULL;
}

static void read_names(struct reader *r, struct tc_proto *p) {
  size_t length;
  p->n_locals = take_count(r, 3);
  p->locals = new_items(r, p->n_locals, sizeof *p->locals);
  for (int i = 0; i < p->n_locals && !r->status; i++) {
    p->locals[i].name = take_text(r, &length);
    p->locals[i].start = take_int(r);
    p->locals[i].end = take_int(r);
  }
  const int n_names = take_count(r, 1);
  if (n_names > p->n_upvalues) fail(r, TC_CORRUPT, "more names than upvalues");
  for (int i = 0; i < n_names && !r->status; i++) p->upvalues[i].name = take_text(r, &length);
}

static bool is_inside(const struct tc_proto *p, char letter, int operand, bool k, int pc) {
  switch (letter) {
    case 'U': return operand < p->n_upvalues;
    case 'K': return operand < p->n_constants;
    case 'S': return operand < p->n_constants && p->constants[operand].type == LUA_TSTRING;
    case 'X': return !k || operand < p->n_constants;
    case 'P': return operand < p->n_protos;
    case 'J': return operand <= pc + 1;
    case 'F': return pc + 1 + operand < p->n_code;
    default: return true; /* 8-bit registers lie inside of TC_REGISTERS */
  }
}

static bool is_good(const struct tc_proto *p, int pc) {
  const uint32_t code = p->code[pc];
  const struct tc_opcode_row *row = tc_opcode_row(tc_code_op(code));
  if (!row) return false;
  if (row->format == TC_FORMAT_SJ)
    return pc + 1 + tc_code_jump(code) >= 0 && pc + 1 + tc_code_jump(code) < p->n_code;
  if (tc_code_op(code) == TC_LUA_LOADKX) {
    return pc + 1 < p->n_code && tc_code_op(p->code[pc + 1]) == TC_LUA_EXTRAARG &&
           tc_code_ax(p->code[pc + 1]) < p->n_constants;
  }
  if (!*row->operands) return true;
  if (!is_inside(p, row->operands[0], tc_code_a(code), false, pc)) return false;
  if (row->format != TC_FORMAT_ABC) return is_inside(p, row->operands[1], tc_code_bx(code), false, pc);
  return is_inside(p, row->operands[1], tc_code_b(code), false, pc) &&
         is_inside(p, row->operands[2], tc_code_c(code), tc_code_k(code), pc);
}

static void read_source(struct reader *r, struct tc_proto *p, const struct tc_proto *parent) {
  size_t length;
  char shown[SHOWN_NAME];
  p->source = take_text(r, &length);
  if (!p->source && parent) {
    p->source = parent->source;
    p->chunk = parent->chunk;
    return;
  }
  if (!p->source) p->source = "=?";
  tc_chunk_name(p->source, shown, sizeof shown);
  p->chunk = tc_arena_text(r->arena, shown);
  if (!p->chunk) fail(r, TC_NOMEM, "out of memory");
}

static struct tc_proto *read_proto(struct reader *r, const struct tc_proto *parent, int depth) {
  struct tc_proto *p = new_items(r, 1, sizeof *p);
  if (depth > TC_MAX_PROTO_DEPTH) fail(r, TC_LIMIT, "functions are nested too deeply");
  if (r->status) return NULL;
  read_source(r, p, parent);
  p->line_defined = take_int(r);
  p->last_line_defined = take_int(r);
  p->n_params = take_byte(r);
  p->is_vararg = take_byte(r);
  p->max_stack = take_byte(r);
  if (p->n_params > p->max_stack) fail(r, TC_CORRUPT, "a function has more parameters than registers");
  p->n_code = take_count(r, sizeof *p->code);
  p->code = new_items(r, p->n_code, sizeof *p->code);
  const void *code = take(r, sizeof *p->code * (size_t)p->n_code);
  if (code) memcpy(p->code, code, sizeof *p->code * (size_t)p->n_code);
  p->n_constants = take_count(r, 1);
  p->constants = new_items(r, p->n_constants, sizeof *p->constants);
  for (int i = 0; i < p->n_constants && !r->status; i++) read_constant(r, &p->constants[i]);
  p->n_upvalues = take_count(r, 3);
  if (p->n_upvalues > TC_REGISTERS - 1) fail(r, TC_CORRUPT, "a function has too many upvalues");
  p->upvalues = new_items(r, p->n_upvalues, sizeof *p->upvalues);
  for (int i = 0; i < p->n_upvalues && !r->status; i++) {
    p->upvalues[i].in_stack = take_byte(r);
    p->upvalues[i].index = take_byte(r);
    take_byte(r); /* kind: to-be-closed, constant, … : the compiler of Lua has seen to it */
  }
  p->n_protos = take_count(r, 1);
  p->protos = new_items(r, p->n_protos, sizeof(struct tc_proto *));
  for (int i = 0; i < p->n_protos && !r->status; i++) p->protos[i] = read_proto(r, p, depth + 1);
  read_lines(r, p);
  read_names(r, p);
  for (int pc = 0; pc < p->n_code && !r->status; pc++)
    if (!is_good(p, pc)) fail(r, TC_CORRUPT, "an instruction has an operand outside of its function");
  if (!p->n_code) fail(r, TC_CORRUPT, "a function has no code");
  return r->status ? NULL : p;
}

tc_status tc_bytecode_decode(struct tc_arena *arena, const void *chunk, size_t bytes, struct tc_proto **out,
                             struct tc_error *err) {
  struct reader r = {.arena = arena, .at = chunk, .end = (const unsigned char *)chunk + bytes, .err = err};
  read_header(&r);
  if (!r.status) *out = read_proto(&r, NULL, 0);
  if (!r.status && r.at != r.end) fail(&r, TC_CORRUPT, "bytes are left behind the chunk");
  return r.status;
}

static int write_chunk(lua_State *L, const void *bytes, size_t count, void *buffer) {
  (void)L;
  tc_strbuf_bytes(buffer, bytes, count);
  return ((struct tc_strbuf *)buffer)->failed;
}

tc_status tc_bytecode_of_function(struct tc_arena *arena, lua_State *L, struct tc_proto **out,
                                  struct tc_error *err) {
  struct tc_strbuf chunk;
  tc_strbuf_init(&chunk, tc_arena_alloc(arena));
  if (lua_dump(L, write_chunk, &chunk, 0))
    return tc_fail(err, TC_NOMEM, "capture", "bytecode: out of memory");
  const tc_status status = tc_bytecode_decode(arena, chunk.data, chunk.len, out, err);
  tc_strbuf_free(&chunk);
  return status;
}

int tc_proto_line(const struct tc_proto *proto, int pc) {
  return proto->lines && pc >= 0 && pc < proto->n_code ? proto->lines[pc] : 0;
}

const char *tc_proto_local(const struct tc_proto *proto, int number, int pc) {
  for (int i = 0; i < proto->n_locals && proto->locals[i].start <= pc; i++) {
    if (pc >= proto->locals[i].end) continue;
    if (--number == 0) return proto->locals[i].name;
  }
  return NULL;
}

void tc_chunk_name(const char *source, char *out, size_t bytes) {
  if (*source == '=' || *source == '@') {
    const size_t length = strlen(source + 1);
    if (*source == '=' || length < bytes)
      snprintf(out, bytes, "%s", source + 1);
    else
      snprintf(out, bytes, "...%s", source + 1 + length - (bytes - sizeof "..."));
    return;
  }
  static const char opening[] = "[string \"", dots[] = "...", closing[] = "\"]";
  const size_t room = bytes - sizeof opening - (sizeof dots - 1) - (sizeof closing - 1) + 1;
  const size_t line = strcspn(source, "\n");
  const bool whole = !source[line] && line < room;
  snprintf(out, bytes, "%s%.*s%s%s", opening, (int)(line < room ? line : room - 1), source, whole ? "" : dots,
           closing);
}

const struct tc_opcode_row *tc_opcode_row(int opcode) {
  static const struct tc_opcode_row rows[] = {
#define TC_OPCODE(NAME, format, operands, handler) {#NAME, TC_FORMAT_##format, operands},
#include "capture/bytecode/opcodes.def"
#undef TC_OPCODE
  };
  return opcode >= 0 && opcode < TC_LUA_OPCODES ? &rows[opcode] : NULL;
}
