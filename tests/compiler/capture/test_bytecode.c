/* The decoder of Lua chunks: what it reads of good ones, and that no damaged one gets past it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <lauxlib.h>
#include <lualib.h>
#include <string.h>

#include "base/strbuf.h"
#include "capture/bytecode/bytecode.h"

static int append(lua_State *L, const void *bytes, size_t count, void *buffer) {
  (void)L;
  tc_strbuf_bytes(buffer, bytes, count);
  return 0;
}

/* The chunk of the function that `code` returns. */
static void dump(const char *code, int strip, struct tc_strbuf *out) {
  lua_State *L = luaL_newstate();
  assert_int_equal(luaL_loadbuffer(L, code, strlen(code), "@dir/file.lua"), LUA_OK);
  assert_int_equal(lua_pcall(L, 0, 1, 0), LUA_OK);
  tc_strbuf_init(out, tc_alloc_system());
  assert_int_equal(lua_dump(L, append, out, strip), 0);
  lua_close(L);
}

struct decoded {
  struct tc_arena *arena;
  struct tc_proto *proto;
  struct tc_error err;
  tc_status status;
};

static struct decoded decode(const void *bytes, size_t count) {
  struct decoded d = {.arena = tc_arena_new(tc_alloc_system())};
  d.status = tc_bytecode_decode(d.arena, bytes, count, &d.proto, &d.err);
  return d;
}

static const char sample[] = "local up, other = 1, {}\n"
                             "return function(a, b, ...)\n"
                             "  local sum = a + b + 0x7fffffffffffffff + 2.5\n"
                             "  local inner = function() up = up + sum; return other end\n"
                             "  for i = 1, 3 do sum = sum .. 'text' end\n"
                             "  if a == true or b == false or a == nil then return inner end\n"
                             "  return sum, ...\n"
                             "end";

static void test_fields(void **state) {
  (void)state;
  struct tc_strbuf chunk;
  dump(sample, 0, &chunk);
  struct decoded d = decode(chunk.data, chunk.len);
  assert_int_equal(d.status, TC_OK);
  const struct tc_proto *p = d.proto;
  assert_string_equal(p->source, "@dir/file.lua");
  assert_string_equal(p->chunk, "dir/file.lua");
  assert_int_equal(p->line_defined, 2);
  assert_int_equal(p->last_line_defined, 8);
  assert_int_equal(p->n_params, 2);
  assert_true(p->is_vararg);
  assert_int_equal(p->n_upvalues, 2);
  assert_string_equal(p->upvalues[0].name, "up");
  assert_string_equal(p->upvalues[1].name, "other");
  assert_int_equal(p->n_protos, 1);
  assert_int_equal(p->protos[0]->line_defined, 4);
  assert_string_equal(p->protos[0]->source, "@dir/file.lua");
  assert_string_equal(tc_proto_local(p, 1, 0), "a");
  assert_string_equal(tc_proto_local(p, 2, 0), "b");
  assert_null(tc_proto_local(p, 3, 0));
  assert_int_equal(tc_code_op(p->code[0]), TC_LUA_VARARGPREP);
  assert_int_equal(tc_proto_line(p, 1), 3);
  assert_int_equal(tc_proto_line(p, p->n_code - 1), 8);
  assert_int_equal(tc_proto_line(p, -1), 0);
  assert_int_equal(tc_proto_line(p, p->n_code), 0);
  bool has_integer = false, has_float = false, has_text = false;
  for (int i = 0; i < p->n_constants; i++) {
    const struct tc_constant *k = &p->constants[i];
    has_integer |= k->type == LUA_TNUMBER && k->is_integer && k->integer == INT64_MAX;
    has_float |= k->type == LUA_TNUMBER && !k->is_integer && k->number == 2.5;
    has_text |= k->type == LUA_TSTRING && k->text.length == 4 && !memcmp(k->text.bytes, "text", 5);
  }
  assert_true(has_integer && has_float && has_text);
  tc_arena_free(d.arena);
  tc_strbuf_free(&chunk);
}

/* Lua's own idea of every line, against ours: a function long enough for absolute entries, and with jumps of
 * many lines. */
static void test_lines(void **state) {
  (void)state;
  enum { STATEMENTS = 700 };
  struct tc_strbuf code, chunk;
  tc_strbuf_init(&code, tc_alloc_system());
  tc_strbuf_puts(&code, "return function(t)\n");
  for (int i = 0; i < STATEMENTS; i++) {
    tc_strbuf_puts(&code, "t.x = t.y + 1\n");
    if (i % 97 == 0)
      for (int k = 0; k < 300; k++) tc_strbuf_puts(&code, "\n");
  }
  tc_strbuf_puts(&code, "end\n");
  dump(tc_strbuf_text(&code), 0, &chunk);
  struct decoded d = decode(chunk.data, chunk.len);
  assert_int_equal(d.status, TC_OK);
  int pc = 0, line = 2;
  for (int i = 0; i < STATEMENTS;
       i++) { /* GETFIELD, ADDI, MMBINI, SETFIELD; in long functions constants need no more */
    for (; pc < d.proto->n_code && tc_proto_line(d.proto, pc) == line; pc++) {}
    line += i % 97 == 0 ? 301 : 1;
    assert_int_equal(tc_proto_line(d.proto, pc), line);
  }
  tc_arena_free(d.arena);
  tc_strbuf_free(&chunk);
  tc_strbuf_free(&code);
}

static void test_stripped(void **state) {
  (void)state;
  struct tc_strbuf chunk;
  dump(sample, 1, &chunk);
  struct decoded d = decode(chunk.data, chunk.len);
  assert_int_equal(d.status, TC_OK);
  assert_null(d.proto->lines);
  assert_int_equal(tc_proto_line(d.proto, 0), 0);
  assert_null(tc_proto_local(d.proto, 1, 0));
  assert_string_equal(d.proto->chunk, "?");
  tc_arena_free(d.arena);
  tc_strbuf_free(&chunk);
}

static void test_versions(void **state) {
  (void)state;
  enum { VERSION_AT = 4, FORMAT_AT = 5, SIZE_AT = 12 };
  struct tc_strbuf chunk;
  dump(sample, 0, &chunk);
  static const struct {
    int at;
    char value;
    tc_status status;
  } damages[] = {{0, 'L', TC_CORRUPT},        {VERSION_AT, 0x53, TC_VERSION}, {VERSION_AT, 0x55, TC_VERSION},
                 {FORMAT_AT, 1, TC_VERSION},  {SIZE_AT, 8, TC_VERSION},       {SIZE_AT + 1, 4, TC_VERSION},
                 {SIZE_AT + 2, 4, TC_VERSION}};
  for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
    const char kept = chunk.data[damages[i].at];
    chunk.data[damages[i].at] = damages[i].value;
    struct decoded d = decode(chunk.data, chunk.len);
    assert_int_equal(d.status, damages[i].status);
    assert_non_null(strchr(d.err.message, ' '));
    tc_arena_free(d.arena);
    chunk.data[damages[i].at] = kept;
  }
  tc_strbuf_free(&chunk);
}

/* Every prefix of a chunk is refused; so is one with bytes behind it. The copies end where the allocation
 * ends. */
static void test_truncated(void **state) {
  (void)state;
  struct tc_strbuf chunk;
  dump(sample, 0, &chunk);
  for (size_t length = 0; length < chunk.len; length++) {
    char *copy = tc_new_bytes(tc_alloc_system(), length + 1);
    memcpy(copy + 1, chunk.data, length); /* the last byte of the block is the last of the chunk */
    struct decoded d = decode(copy + 1, length);
    assert_int_not_equal(d.status, TC_OK);
    tc_arena_free(d.arena);
    tc_free_bytes(tc_alloc_system(), copy, length + 1);
  }
  tc_strbuf_bytes(&chunk, "", 1);
  struct decoded d = decode(chunk.data, chunk.len);
  assert_int_equal(d.status, TC_CORRUPT);
  tc_arena_free(d.arena);
  tc_strbuf_free(&chunk);
}

/* Whatever one byte becomes: the decoder ends, and what it accepts has its operands inside. */
static void test_damaged(void **state) {
  (void)state;
  struct tc_strbuf chunk;
  uint32_t random = 1;
  dump(sample, 0, &chunk);
  for (size_t at = 0; at < chunk.len; at++) {
    const char kept = chunk.data[at];
    for (int i = 0; i < 8; i++) {
      random = random * 1664525u + 1013904223u;
      chunk.data[at] = (char)(random >> 24);
      struct decoded d = decode(chunk.data, chunk.len);
      if (d.status == TC_OK) {
        for (int pc = 0; pc < d.proto->n_code; pc++)
          assert_non_null(tc_opcode_row(tc_code_op(d.proto->code[pc])));
      } else {
        assert_true(d.err.message[0]);
      }
      tc_arena_free(d.arena);
    }
    chunk.data[at] = kept;
  }
  tc_strbuf_free(&chunk);
}

/* Each operand outside of its function is refused. */
static void test_operands(void **state) {
  (void)state;
  struct tc_strbuf chunk;
  dump("local u; return function(a) local v = u; return v.field end", 0,
       &chunk); /* GETUPVAL, GETFIELD, RETURN1, RETURN0 */
  struct decoded good = decode(chunk.data, chunk.len);
  assert_int_equal(good.status, TC_OK);
  const uint32_t first = good.proto->code[0];
  assert_int_equal(tc_code_op(first), TC_LUA_GETUPVAL);
  char *place = NULL;
  for (size_t i = 0; i + sizeof first <= chunk.len && !place; i++)
    if (!memcmp(chunk.data + i, &first, sizeof first)) place = chunk.data + i;
  assert_non_null(place);
  const uint32_t bad[] = {
      TC_LUA_OPCODES,                       /* no such opcode */
      TC_LUA_GETUPVAL | 1u << 16,           /* the second of one upvalue */
      TC_LUA_LOADK | 1u << 15,              /* the second of one constant */
      TC_LUA_GETFIELD | 1u << 24,           /* the same as a key */
      TC_LUA_CLOSURE,                       /* no nested function */
      TC_LUA_JMP | (0xffffffu + 100u) << 7, /* forward out */
      TC_LUA_JMP | (0xffffffu - 100u) << 7, /* back out */
      TC_LUA_FORLOOP | 50u << 15,
      TC_LUA_FORPREP | 50u << 15,
      TC_LUA_LOADKX, /* without its EXTRAARG */
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    memcpy(place, &bad[i], sizeof bad[i]);
    struct decoded d = decode(chunk.data, chunk.len);
    assert_int_equal(d.status, TC_CORRUPT);
    tc_arena_free(d.arena);
  }
  tc_arena_free(good.arena);
  tc_strbuf_free(&chunk);
}

static void test_names(void **state) {
  (void)state;
  enum { ROOM = 20 };
  char name[ROOM];
  tc_chunk_name("=stdin", name, sizeof name);
  assert_string_equal(name, "stdin");
  tc_chunk_name("@short.lua", name, sizeof name);
  assert_string_equal(name, "short.lua");
  tc_chunk_name("@a/very/long/path/to/the/file.lua", name, sizeof name);
  assert_string_equal(name, ".../to/the/file.lua");
  tc_chunk_name("x = 1\ny = 2", name, sizeof name);
  assert_string_equal(name, "[string \"x = 1...\"]");
  tc_chunk_name("x", name, sizeof name);
  assert_string_equal(name, "[string \"x\"]");
}

/* The table of opcodes has Lua's order: a few fixed numbers, and the length. */
static void test_table(void **state) {
  (void)state;
  assert_int_equal(TC_LUA_OPCODES, 83);
  assert_int_equal(TC_LUA_GETTABUP, 11);
  assert_int_equal(TC_LUA_MMBIN, 46);
  assert_int_equal(TC_LUA_CALL, 68);
  assert_int_equal(TC_LUA_EXTRAARG, 82);
  for (int i = 0; i < TC_LUA_OPCODES; i++) {
    const struct tc_opcode_row *row = tc_opcode_row(i);
    const size_t operands = row->format == TC_FORMAT_ABC                                    ? 3
                            : row->format == TC_FORMAT_ABX || row->format == TC_FORMAT_ASBX ? 2
                                                                                            : 0;
    assert_int_equal(strlen(row->operands), operands);
  }
  assert_null(tc_opcode_row(TC_LUA_OPCODES));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_fields),   cmocka_unit_test(test_lines),     cmocka_unit_test(test_stripped),
      cmocka_unit_test(test_versions), cmocka_unit_test(test_truncated), cmocka_unit_test(test_damaged),
      cmocka_unit_test(test_operands), cmocka_unit_test(test_names),     cmocka_unit_test(test_table)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
