/* Invariants:
 *  1. A piece that is given out decodes: its operands are inside of it, and control stays inside of its code.
 *  2. What one encoding loses, the next one does not: encoded, decoded and encoded again, a function has the
 *     same bytes. */
#include "tests/fuzz/pieces.h"

#include <stdlib.h>
#include <string.h>

#include "capture/bytecode/flow.h"

enum { MOST_OPEN = 3 }; /* open values that a step is made with, from -1 (none) on */

static struct tc_proto *decoded(struct tc_arena *arena, const struct tc_strbuf *chunk) {
  struct tc_proto *proto;
  struct tc_error err;
  if (!arena || tc_bytecode_decode(arena, chunk->data, chunk->len, &proto, &err)) abort();
  return proto;
}

bool tests_fuzz_round_trip(const struct tc_proto *proto) {
  struct tc_strbuf first, second;
  struct tc_error err;
  tc_strbuf_init(&first, tc_alloc_system());
  tc_strbuf_init(&second, tc_alloc_system());
  const bool encoded = !tc_bytecode_encode(proto, &first, &err);
  if (encoded) {
    struct tc_arena *arena = tc_arena_new(tc_alloc_system());
    if (tc_bytecode_encode(decoded(arena, &first), &second, &err)) abort();
    if (first.len != second.len || memcmp(first.data, second.data, first.len)) abort();
    tc_arena_free(arena);
  }
  tc_strbuf_free(&first);
  tc_strbuf_free(&second);
  return encoded;
}

static void check_piece(const struct tc_proto *of, const struct tc_strbuf *chunk, tests_chunk_made *made,
                        void *data) {
  struct tc_arena *arena = tc_arena_new(tc_alloc_system());
  struct tc_error err;
  if (tc_flow_check(decoded(arena, chunk), &err)) abort();
  tc_arena_free(arena);
  if (made) made(data, of, chunk);
}

static void pieces_at(const struct tc_resume *r, int pc, int open, tests_chunk_made *made, void *data) {
  struct tc_resume_unit unit;
  struct tc_strbuf chunk;
  struct tc_error err;
  const char *why;
  if (tc_resume_unit_at(r, pc, open, &unit, &err)) return;
  if (unit.first < 0 || unit.last >= r->proto->n_code) abort();
  for (int i = 0; i < unit.n_exits; i++)
    if (unit.exits[i] < 0 || unit.exits[i] >= r->proto->n_code) abort();
  if (tc_resume_registers(r, pc, open) < 0 || (!tc_resume_may_cut(r, pc, &why) && !why)) abort();
  for (int is_step = open >= 0; is_step < 2; is_step++) {
    tc_strbuf_init(&chunk, tc_alloc_system());
    const tc_status status =
        is_step ? tc_resume_step(r, pc, open, &chunk, &err) : tc_resume_continuation(r, pc, &chunk, &err);
    if (!status) check_piece(r->proto, &chunk, made, data);
    tc_strbuf_free(&chunk);
  }
}

static void pieces_of(const struct tc_proto *proto, tests_chunk_made *made, void *data) {
  struct tc_arena *arena = tc_arena_new(tc_alloc_system());
  struct tc_resume *r;
  struct tc_error err;
  if (!arena) abort();
  if (!tc_resume_open(arena, proto, &r, &err))
    for (int pc = 0; pc < proto->n_code; pc++)
      for (int open = -1; open <= MOST_OPEN; open++) pieces_at(r, pc, open, made, data);
  tc_arena_free(arena);
}

void tests_fuzz_pieces(const struct tc_proto *proto, tests_chunk_made *made, void *data) {
  if (tests_fuzz_round_trip(proto)) pieces_of(proto, made, data);
  for (int i = 0; i < proto->n_protos; i++) tests_fuzz_pieces(proto->protos[i], made, data);
}
