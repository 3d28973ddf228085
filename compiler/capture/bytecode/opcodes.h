/* Instructions of Lua 5.4: 7 bits of opcode, then
 *   ABC: A 8, k 1, B 8, C 8    ABX: A 8, Bx 17    ASBX: the same, Bx in excess of 65535    AX: 25    SJ: 25
 *   in excess of 2^24 - 1 */
#ifndef TC_CAPTURE_OPCODES_H
#define TC_CAPTURE_OPCODES_H

#include <stdbool.h>
#include <stdint.h>

enum tc_opcode {
#define TC_OPCODE(NAME, format, operands, handler) TC_LUA_##NAME,
#include "capture/bytecode/opcodes.def"
#undef TC_OPCODE
  TC_LUA_OPCODES
};

enum tc_opcode_format { TC_FORMAT_ABC, TC_FORMAT_ABX, TC_FORMAT_ASBX, TC_FORMAT_AX, TC_FORMAT_SJ };

struct tc_opcode_row {
  const char *name;
  enum tc_opcode_format format;
  const char *operands;
};
const struct tc_opcode_row *tc_opcode_row(int opcode); /* NULL when there is no such opcode */

enum { TC_BX_EXCESS = 0xffff, TC_JUMP_EXCESS = 0xffffff }; /* what signed operands are stored in excess of */

static inline int tc_code_op(uint32_t code) { return code & 0x7f; }
static inline int tc_code_a(uint32_t code) { return code >> 7 & 0xff; }
static inline bool tc_code_k(uint32_t code) { return code >> 15 & 1; }
static inline int tc_code_b(uint32_t code) { return code >> 16 & 0xff; }
static inline int tc_code_c(uint32_t code) { return code >> 24; }
static inline int tc_code_signed_b(uint32_t code) { return tc_code_b(code) - 127; }
static inline int tc_code_signed_c(uint32_t code) { return tc_code_c(code) - 127; }
static inline int tc_code_bx(uint32_t code) { return (int)(code >> 15); }
static inline int tc_code_signed_bx(uint32_t code) { return tc_code_bx(code) - TC_BX_EXCESS; }
static inline int tc_code_ax(uint32_t code) { return (int)(code >> 7); }
static inline int tc_code_jump(uint32_t code) { return (int)(code >> 7) - TC_JUMP_EXCESS; }
static inline bool tc_code_is_call(uint32_t code) {
  return tc_code_op(code) == TC_LUA_CALL || tc_code_op(code) == TC_LUA_TAILCALL;
}

/* Instructions of the formats ABC and ABX. */
static inline uint32_t tc_code_abc(enum tc_opcode op, int a, int b, int c, bool k) {
  return (uint32_t)op | (uint32_t)a << 7 | (uint32_t)k << 15 | (uint32_t)b << 16 | (uint32_t)c << 24;
}
static inline uint32_t tc_code_abx(enum tc_opcode op, int a, int bx) {
  return (uint32_t)op | (uint32_t)a << 7 | (uint32_t)bx << 15;
}

#endif
