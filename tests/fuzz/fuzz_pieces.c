/* Fuzz target: bytes that the decoder takes, and all that is made of them: copies, continuations, steps. Lua
 * sees none of it. */
#include <stddef.h>
#include <stdint.h>

#include "tests/fuzz/pieces.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  struct tc_arena *arena = tc_arena_new(tc_alloc_system());
  struct tc_proto *proto;
  struct tc_error err;
  if (!tc_bytecode_decode(arena, bytes, count, &proto, &err)) tests_fuzz_pieces(proto, NULL, NULL);
  tc_arena_free(arena);
  return 0;
}
