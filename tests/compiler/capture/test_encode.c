/* The encoder of Lua chunks: what the decoder read comes back, whatever it was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/bytecode/resume.h"

static int append(lua_State *L, const void *bytes, size_t count, void *buffer) {
  (void)L;
  tc_strbuf_bytes(buffer, bytes, count);
  return 0;
}

static void dump(lua_State *L, int strip, struct tc_strbuf *out) {
  tc_strbuf_init(out, tc_alloc_system());
  assert_int_equal(lua_dump(L, append, out, strip), 0);
}

struct decoded {
  struct tc_arena *arena;
  struct tc_proto *proto;
  struct tc_error err;
  tc_status status;
};

static struct decoded decode(const struct tc_strbuf *chunk) {
  struct decoded d = {.arena = tc_arena_new(tc_alloc_system())};
  d.status = tc_bytecode_decode(d.arena, chunk->data, chunk->len, &d.proto, &d.err);
  return d;
}

static void same_text(const char *a, const char *b) {
  if (a && b)
    assert_string_equal(a, b);
  else
    assert_ptr_equal(a, b);
}

static void same_constants(const struct tc_proto *a, const struct tc_proto *b) {
  assert_int_equal(a->n_constants, b->n_constants);
  for (int i = 0; i < a->n_constants; i++) {
    const struct tc_constant *k = &a->constants[i], *l = &b->constants[i];
    assert_int_equal(k->type, l->type);
    assert_int_equal(k->is_integer, l->is_integer);
    if (k->type == LUA_TSTRING) {
      assert_int_equal(k->text.length, l->text.length);
      assert_memory_equal(k->text.bytes, l->text.bytes, k->text.length + 1);
    } else if (k->type == LUA_TNUMBER) {
      assert_memory_equal(&k->integer, &l->integer, sizeof k->integer);
    } else if (k->type == LUA_TBOOLEAN) {
      assert_int_equal(k->boolean, l->boolean);
    }
  }
}

static void same_names(const struct tc_proto *a, const struct tc_proto *b) {
  assert_int_equal(a->n_upvalues, b->n_upvalues);
  for (int i = 0; i < a->n_upvalues; i++) {
    assert_int_equal(a->upvalues[i].in_stack, b->upvalues[i].in_stack);
    assert_int_equal(a->upvalues[i].index, b->upvalues[i].index);
    same_text(a->upvalues[i].name, b->upvalues[i].name);
  }
  assert_int_equal(a->n_locals, b->n_locals);
  for (int i = 0; i < a->n_locals; i++) {
    assert_string_equal(a->locals[i].name ? a->locals[i].name : "?", b->locals[i].name);
    assert_int_equal(a->locals[i].start, b->locals[i].start);
    assert_int_equal(a->locals[i].end, b->locals[i].end);
  }
}

static void same(const struct tc_proto *a, const struct tc_proto *b) {
  assert_string_equal(a->source, b->source);
  assert_string_equal(a->chunk, b->chunk);
  assert_int_equal(a->line_defined, b->line_defined);
  assert_int_equal(a->last_line_defined, b->last_line_defined);
  assert_int_equal(a->n_params, b->n_params);
  assert_int_equal(a->max_stack, b->max_stack);
  assert_int_equal(a->is_vararg, b->is_vararg);
  assert_int_equal(a->n_code, b->n_code);
  assert_memory_equal(a->code, b->code, sizeof *a->code * (size_t)a->n_code);
  assert_int_equal(!a->lines, !b->lines);
  if (a->lines) assert_memory_equal(a->lines, b->lines, sizeof *a->lines * (size_t)a->n_code);
  same_constants(a, b);
  same_names(a, b);
  assert_int_equal(a->n_protos, b->n_protos);
  for (int i = 0; i < a->n_protos; i++) same(a->protos[i], b->protos[i]);
}

/* Encodes what was decoded, decodes that, and compares. The chunk is given out. */
static void check_back(const struct tc_proto *proto, struct tc_strbuf *chunk) {
  struct tc_error err;
  tc_strbuf_init(chunk, tc_alloc_system());
  assert_int_equal(tc_bytecode_encode(proto, chunk, &err), TC_OK);
  struct decoded again = decode(chunk);
  assert_int_equal(again.status, TC_OK);
  same(proto, again.proto);
  tc_arena_free(again.arena);
}

static lua_State *load_file(const char *name) {
  lua_State *L = luaL_newstate();
  const char *root = getenv("TB_SRCDIR");
  char path[1024];
  luaL_openlibs(L);
  snprintf(path, sizeof path, "%s/tests/compiler/%s", root ? root : ".", name);
  if (luaL_loadfile(L, path) != LUA_OK) fail_msg("%s", lua_tostring(L, -1));
  return L;
}

/* Whole files, with what is inside of their functions; with debug information and without. */
static void test_files(void **state) {
  (void)state;
  static const char *const files[] = {"capture/corpus.lua", "capture/programs.lua",
                                      "capture/resume_cases.lua", "ops/sweep.lua", "lua/compile.lua"};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    lua_State *L = load_file(files[i]);
    for (int strip = 0; strip < 2; strip++) {
      struct tc_strbuf chunk, back;
      dump(L, strip, &chunk);
      struct decoded d = decode(&chunk);
      assert_int_equal(d.status, TC_OK);
      check_back(d.proto, &back);
      assert_int_equal(luaL_loadbufferx(L, back.data, back.len, "back", "b"), LUA_OK);
      lua_pop(L, 1);
      tc_arena_free(d.arena);
      tc_strbuf_free(&chunk);
      tc_strbuf_free(&back);
    }
    lua_close(L);
  }
}

/* A nested function becomes a chunk of its own, with the name of the file. */
static void test_nested(void **state) {
  (void)state;
  lua_State *L = load_file("capture/corpus.lua");
  struct tc_strbuf chunk, back;
  dump(L, 0, &chunk);
  struct decoded d = decode(&chunk);
  assert_int_equal(d.status, TC_OK);
  for (int i = 0; i < d.proto->n_protos; i++) {
    check_back(d.proto->protos[i], &back);
    tc_strbuf_free(&back);
  }
  tc_arena_free(d.arena);
  tc_strbuf_free(&chunk);
  lua_close(L);
}

/* Lines as Lua itself finds them: long stretches without a change, large steps both ways, and the table's
 * limits. */
static void test_lines(void **state) {
  (void)state;
  enum { STEPS = 9, REPEATS = 130, LINES = 100000 };
  static const int steps[STEPS] = {0, 1, 127, -127, 128, -128, 129, 5000, -4000};
  lua_State *L = luaL_newstate();
  struct tc_strbuf chunk, back;
  struct tc_error err;
  luaL_openlibs(L);
  assert_int_equal(luaL_loadstring(L, "return function() local t = {} end"), LUA_OK);
  assert_int_equal(lua_pcall(L, 0, 1, 0), LUA_OK);
  dump(L, 0, &chunk);
  struct decoded d = decode(&chunk);
  assert_int_equal(d.status, TC_OK);
  struct tc_proto p = *d.proto;
  const uint32_t ends = p.code[p.n_code - 1];
  p.n_code = STEPS * REPEATS + 1;
  p.code = tc_arena_bytes(d.arena, sizeof *p.code * (size_t)p.n_code);
  p.lines = tc_arena_bytes(d.arena, sizeof *p.lines * (size_t)p.n_code);
  int line = LINES;
  for (int pc = 0; pc < p.n_code; pc++) {
    line += steps[pc / REPEATS % STEPS] * (pc % 2 ? 1 : -1);
    p.code[pc] = pc + 1 < p.n_code ? (uint32_t)TC_LUA_LOADTRUE : ends;
    p.lines[pc] = line;
  }
  tc_strbuf_init(&back, tc_alloc_system());
  assert_int_equal(tc_bytecode_encode(&p, &back, &err), TC_OK);
  assert_int_equal(luaL_loadbufferx(L, back.data, back.len, "back", "b"), LUA_OK);
  lua_Debug ar;
  lua_getinfo(L, ">L", &ar);
  for (int pc = 0; pc < p.n_code; pc++) {
    lua_rawgeti(L, -1, p.lines[pc]);
    assert_true(lua_toboolean(L, -1));
    lua_pop(L, 1);
  }
  p.lines[1] = -1;
  p.lines[2] = -1000;
  assert_int_equal(tc_bytecode_encode(&p, &back, &err), TC_CORRUPT);
  tc_arena_free(d.arena);
  tc_strbuf_free(&chunk);
  tc_strbuf_free(&back);
  lua_close(L);
}

static bool has_negative_line(const struct tc_proto *p) {
  for (int pc = 0; p->lines && pc < p->n_code; pc++)
    if (p->lines[pc] < 0) return true;
  for (int i = 0; i < p->n_protos; i++)
    if (has_negative_line(p->protos[i])) return true;
  return false;
}

/* Every piece that can be made of a damaged function decodes: operands are inside of it. */
static void make_pieces(const struct decoded *d) {
  struct tc_resume *r;
  struct tc_error err;
  if (tc_resume_open(d->arena, d->proto, &r, &err)) return;
  for (int pc = -1; pc <= d->proto->n_code; pc++) {
    for (int open = -1; open < 3; open++) {
      struct tc_strbuf chunk;
      struct tc_resume_unit unit;
      tc_strbuf_init(&chunk, tc_alloc_system());
      const bool is_unit = !tc_resume_unit_at(r, pc, open, &unit, &err);
      const bool made = is_unit && !tc_resume_step(r, pc, open, &chunk, &err);
      if (made && !has_negative_line(d->proto)) {
        struct decoded again = decode(&chunk);
        if (again.status) fail_msg("a step at %d: %s", pc, again.err.message);
        tc_arena_free(again.arena);
      }
      if (open < 0 && is_unit) (void)tc_resume_continuation(r, pc, &chunk, &err);
      tc_strbuf_free(&chunk);
    }
  }
}

static const char sample[] = "local up, other = 1, {}\n"
                             "return function(a, b, ...)\n"
                             "  local sum = a + b + 0x7fffffffffffffff + 2.5\n"
                             "  local inner = function() up = up + sum; return other end\n"
                             "  for i = 1, 3 do sum = sum .. 'text' end\n"
                             "  for k, v in pairs(a) do other[k] = {v, ...} end\n"
                             "  while a do a = inner(b, ...) end\n"
                             "  if a == true or b == false or a == nil then return inner end\n"
                             "  return sum, ...\n"
                             "end";

/* Whatever a byte becomes: what the decoder accepts is encoded, and pieces are made of it or refused. */
static void test_damaged(void **state) {
  (void)state;
  enum { VALUES = 12 };
  lua_State *L = luaL_newstate();
  struct tc_strbuf chunk, back;
  uint32_t random = 7;
  int accepted = 0;
  assert_int_equal(luaL_loadbuffer(L, sample, sizeof sample - 1, "@damaged.lua"), LUA_OK);
  assert_int_equal(lua_pcall(L, 0, 1, 0), LUA_OK);
  dump(L, 0, &chunk);
  for (size_t at = 0; at < chunk.len; at++) {
    const char kept = chunk.data[at];
    for (int i = 0; i < VALUES; i++) {
      random = random * 1664525u + 1013904223u;
      chunk.data[at] = (char)(random >> 24);
      struct decoded d = decode(&chunk);
      if (d.status == TC_OK) {
        accepted++;
        if (!has_negative_line(d.proto)) {
          check_back(d.proto, &back);
          tc_strbuf_free(&back);
        }
        make_pieces(&d);
      }
      tc_arena_free(d.arena);
    }
    chunk.data[at] = kept;
  }
  assert_true(accepted > 1000);
  tc_strbuf_free(&chunk);
  lua_close(L);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_files), cmocka_unit_test(test_nested),
                                     cmocka_unit_test(test_lines), cmocka_unit_test(test_damaged)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
