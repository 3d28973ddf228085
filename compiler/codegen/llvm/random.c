/* Random numbers: Philox 4x32-10, counter-based, so that a number depends on seed, draw and element alone.
 *
 * Key: seed. Counter: element (two words), draw (two words), where draw = the graph's first draw + the
 * expression's. Words 0 and 1 of the result give the uniform and the normal number; device/cpu/random.c
 * computes the same bits. */
#include "codegen/llvm/types.h"

enum { PHILOX_ROUNDS = 10, PHILOX_WORDS = 4, WORD_BITS = 32, UNIFORM_SHIFT = 8 };
static const uint32_t PHILOX_M0 = 0xD2511F53u, PHILOX_M1 = 0xCD9E8D57u, PHILOX_W0 = 0x9E3779B9u,
                      PHILOX_W1 = 0xBB67AE85u;
static const double UNIFORM_STEP = 1.0 / 16777216.0; /* 2^-24 */

struct words {
  LLVMTypeRef word, wide;
  LLVMValueRef w[PHILOX_WORDS], key[2];
};

static LLVMValueRef low_word(struct ll_emit *e, LLVMValueRef wide, LLVMTypeRef word) {
  return LLVMBuildTrunc(e->m->builder, wide, word, "");
}
static LLVMValueRef high_word(struct ll_emit *e, LLVMValueRef wide, LLVMTypeRef word) {
  return low_word(e, LLVMBuildLShr(e->m->builder, wide, ll_const_int(LLVMTypeOf(wide), WORD_BITS), ""), word);
}

static void philox_round(struct ll_emit *e, struct words *s) {
  LLVMBuilderRef at = e->m->builder;
  LLVMValueRef p0 =
      LLVMBuildMul(at, LLVMBuildZExt(at, s->w[0], s->wide, ""), ll_const_int(s->wide, PHILOX_M0), "");
  LLVMValueRef p1 =
      LLVMBuildMul(at, LLVMBuildZExt(at, s->w[2], s->wide, ""), ll_const_int(s->wide, PHILOX_M1), "");
  LLVMValueRef w0 = LLVMBuildXor(at, LLVMBuildXor(at, high_word(e, p1, s->word), s->w[1], ""), s->key[0], "");
  LLVMValueRef w2 = LLVMBuildXor(at, LLVMBuildXor(at, high_word(e, p0, s->word), s->w[3], ""), s->key[1], "");
  s->w[0] = w0, s->w[1] = low_word(e, p1, s->word), s->w[2] = w2, s->w[3] = low_word(e, p0, s->word);
  s->key[0] = LLVMBuildAdd(at, s->key[0], ll_const_int(s->word, PHILOX_W0), "");
  s->key[1] = LLVMBuildAdd(at, s->key[1], ll_const_int(s->word, PHILOX_W1), "");
}

/* (word >> 8) + plus, times 2^-24 */
static LLVMValueRef fraction(struct ll_emit *e, LLVMValueRef word, int plus) {
  LLVMBuilderRef at = e->m->builder;
  LLVMTypeRef type = LLVMTypeOf(word), real = ll_like(e->m->f32, type);
  LLVMValueRef bits = LLVMBuildLShr(at, word, ll_const_int(type, UNIFORM_SHIFT), "");
  if (plus) bits = LLVMBuildAdd(at, bits, ll_const_int(type, plus), "");
  return LLVMBuildFMul(at, LLVMBuildSIToFP(at, bits, real, ""), ll_const_real(real, UNIFORM_STEP), "");
}

LLVMValueRef ll_random(struct ll_emit *e, const struct tc_expr *x, LLVMValueRef element) {
  LLVMBuilderRef at = e->m->builder;
  const bool varying = ll_is_vector(LLVMTypeOf(element));
  struct words s = {.wide = LLVMTypeOf(element), .word = ll_like(e->m->i32, LLVMTypeOf(element))};
  LLVMValueRef seed = ll_buffer_word(e, e->rng_buffer, 0);
  LLVMValueRef draw = LLVMBuildAdd(at, ll_buffer_word(e, e->rng_buffer, 1), ll_i64(e, x->acc), "");
  LLVMValueRef scalars[] = {draw, seed}, *targets[] = {&s.w[2], &s.key[0]};
  for (int i = 0; i < 2; i++) {
    LLVMValueRef low = low_word(e, scalars[i], e->m->i32), high = high_word(e, scalars[i], e->m->i32);
    targets[i][0] = varying ? ll_splat(e, low) : low;
    targets[i][1] = varying ? ll_splat(e, high) : high;
  }
  s.w[0] = low_word(e, element, s.word), s.w[1] = high_word(e, element, s.word);
  for (int i = 0; i < PHILOX_ROUNDS; i++) philox_round(e, &s);
  LLVMValueRef value = x->op == TC_E_UNIFORM
                           ? fraction(e, s.w[0], 0)
                           : ll_box_muller(e, fraction(e, s.w[0], 1), fraction(e, s.w[1], 0));
  return ll_convert(e, value, TC_F32, x->dtype);
}
