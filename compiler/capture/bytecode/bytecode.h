/* Decoder of a Lua 5.4 chunk (what lua_dump writes with strip = 0).
 *
 * In: bytes, trusted in nothing. Out: a tree of protos in an arena, whose instructions were checked: opcodes
 * exist, constants, upvalues, nested functions and jump targets are inside, and registers lie below
 * TC_REGISTERS. Strings of the chunk are copied. Threads: pure. Errors: TC_VERSION (another version of Lua,
 * or of its number types), TC_CORRUPT, TC_LIMIT, TC_NOMEM. */
#ifndef TC_CAPTURE_BYTECODE_H
#define TC_CAPTURE_BYTECODE_H

#include <lua.h>

#include "base/arena.h"
#include "base/error.h"
#include "capture/bytecode/opcodes.h"

enum {
  TC_REGISTERS = 256,       /* a register operand has 8 bits */
  TC_MAX_PROTO_DEPTH = 200, /* functions inside of one another: Lua's own limit of nested C calls */
};

struct tc_constant {
  int type; /* LUA_TNIL, LUA_TBOOLEAN, LUA_TNUMBER, LUA_TSTRING */
  bool is_integer;
  union {
    bool boolean;
    lua_Integer integer;
    lua_Number number;
    struct {
      const char *bytes;
      size_t length;
    } text; /* zero-terminated too */
  };
};

struct tc_upvalue_row {
  bool in_stack;
  int index;
  const char *name;
};
struct tc_local_row {
  const char *name;
  int start, end;
}; /* live at start ≤ pc < end */

struct tc_proto {
  const char *source; /* chunk name as Lua keeps it ("@file", "=name", text); "=?" when stripped */
  const char *chunk;  /* the same as messages show it */
  int line_defined, last_line_defined;
  int n_params, max_stack;
  bool is_vararg;
  int n_code, n_constants, n_upvalues, n_protos, n_locals;
  uint32_t *code;
  struct tc_constant *constants;
  struct tc_upvalue_row *upvalues;
  struct tc_proto **protos;
  int *lines; /* of each instruction; NULL when stripped */
  struct tc_local_row *locals;
  struct tc_tracked
      *tracked; /* the tracer's: the constants as tracked values, NULL before the function runs */
};

tc_status tc_bytecode_decode(struct tc_arena *arena, const void *chunk, size_t bytes, struct tc_proto **out,
                             struct tc_error *err);
/* Dumps the Lua function at the stack top and decodes it. */
tc_status tc_bytecode_of_function(struct tc_arena *arena, lua_State *L, struct tc_proto **out,
                                  struct tc_error *err);
/* Line of an instruction; 0 when unknown. */
int tc_proto_line(const struct tc_proto *proto, int pc);
/* Name of the n-th local variable (from 1) that is live at pc: parameters come first. NULL when unknown. */
const char *tc_proto_local(const struct tc_proto *proto, int number, int pc);
/* The chunk name as Lua's messages show it, at most `bytes` with the terminator. */
void tc_chunk_name(const char *source, char *out, size_t bytes);

#endif
