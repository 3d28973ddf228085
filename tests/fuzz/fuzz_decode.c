/* Fuzz target: the decoder on arbitrary bytes. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "tests/fuzz/pieces.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

/* What a decoded function tells of itself can be read. */
static void read_all(const struct tc_proto *p) {
  for (int pc = -1; pc <= p->n_code; pc++) {
    (void)tc_proto_line(p, pc);
    for (int number = 1; number <= p->n_locals && tc_proto_local(p, number, pc); number++) {}
  }
  if (!p->chunk || !p->source) abort();
  for (int i = 0; i < p->n_protos; i++) read_all(p->protos[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  struct tc_arena *arena = tc_arena_new(tc_alloc_system());
  struct tc_proto *proto;
  struct tc_error err;
  if (!tc_bytecode_decode(arena, bytes, count, &proto, &err)) {
    read_all(proto);
    tests_fuzz_round_trip(proto);
  }
  tc_arena_free(arena);
  return 0;
}
