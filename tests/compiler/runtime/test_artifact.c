/* Artifacts: what is written reads back to the same bytes; damage is always noticed or harmless, never a
 * crash. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/artifact.h"

enum { N_DAMAGED = 20000 };

static tc_sym c(int64_t value) { return tc_sym_const(value); }

/* A list with a kernel of every buffer role, a GEMM, and outputs of both kinds. */
static void make_list(struct tc_arena *arena, struct tc_launch_list *list) {
  const struct tc_alloc *a = tc_arena_alloc(arena);
  struct tc_symtab *tab = tc_symtab_new(a);
  *list = (struct tc_launch_list){.n_launches = 2,
                                  .n_codes = 1,
                                  .n_slots = 6,
                                  .n_tiles = 1,
                                  .n_outputs = 2,
                                  .n_allocated = 1,
                                  .n_inputs = 2,
                                  .n_sizes = 1,
                                  .draws = 3,
                                  .n_graph_ops = 7};
  list->codes = TC_NEW_ARRAY(a, struct tc_code, 1);
  list->slots = TC_NEW_ARRAY(a, struct tc_slot, 6);
  list->tiles = TC_NEW_ARRAY(a, struct tc_tiles, 1);
  list->tiles[0] = (struct tc_tiles){0, 2, c(4), c(25), 16, c(640)};
  list->launches = TC_NEW_ARRAY(a, struct tc_launch, 2);
  list->outputs = TC_NEW_ARRAY(a, struct tc_output, 2);
  list->allocated_bytes = TC_NEW_ARRAY(a, tc_sym, 1);
  list->allocated_bytes[0] = tc_sym_mul(tab, tc_sym_size(tab, 0, 8), c(4096));
  list->pool_bytes = c(8192);
  list->pool_bytes_without_reuse = 99999;
  list->size_hints = TC_NEW_ARRAY(a, int64_t, 1);
  list->size_hints[0] = 8;
  list->n_facts = 1;
  list->facts = TC_NEW_ARRAY(a, struct tc_sym_fact, 1);
  list->facts[0] = (struct tc_sym_fact){true, false, tc_sym_mod(tab, tc_sym_size(tab, 0, 8), c(4)), c(1)};
  list->codes[0] = (struct tc_code){.symbol = "fused_add_relu",
                                    .generator = "llvm",
                                    .n_buffers = 5,
                                    .roles = TC_NEW_ARRAY(a, enum tc_buffer_role, 5),
                                    .scratch_bytes = TC_NEW_ARRAY(a, tc_sym, 5)};
  static const enum tc_buffer_role roles[] = {TC_ROLE_READ, TC_ROLE_WRITE, TC_ROLE_SCRATCH, TC_ROLE_STATUS,
                                              TC_ROLE_RNG};
  memcpy(list->codes[0].roles, roles, sizeof roles);
  list->codes[0].scratch_bytes[2] = c(512);
  list->slots[0] = (struct tc_slot){TC_SLOT_INPUT, 1, TC_F32, c(100), TC_SYM_INVALID};
  list->slots[1] = (struct tc_slot){TC_SLOT_OUTPUT, 0, TC_BF16, c(100), TC_SYM_INVALID};
  list->slots[2] = (struct tc_slot){TC_SLOT_POOL, 0, TC_F32, c(100), c(64)};
  list->slots[3] = (struct tc_slot){.kind = TC_SLOT_STATUS};
  list->slots[4] = (struct tc_slot){.kind = TC_SLOT_RNG};
  list->slots[5] = (struct tc_slot){TC_SLOT_TILE, 0, TC_F32, c(1000), c(0)};
  static int slots[] = {0, 5, -1, 3, 4}, depends[] = {0};
  list->launches[0] = (struct tc_launch){.kind = TC_LAUNCH_KERNEL,
                                         .slots = slots,
                                         .items = tc_sym_size(tab, 0, 8),
                                         .work = c(100),
                                         .label = "fused_add_relu",
                                         .fused = "add relu",
                                         .bytes = 1,
                                         .flops = 2,
                                         .n_ops = 3};
  struct tc_gemm g = {
      .dtype = TC_F64, .m = c(8), .n = c(16), .k = tc_sym_size(tab, 0, 8), .n_batch = 1, .batch = {c(4)}};
  g.a = (struct tc_gemm_operand){0, c(0), c(16), c(1), {c(128)}};
  g.b = (struct tc_gemm_operand){2, c(7), c(1), c(16), {c(0)}};
  g.c = (struct tc_gemm_operand){1, c(0), c(16), c(1), {c(256)}};
  list->launches[1] = (struct tc_launch){.kind = TC_LAUNCH_GEMM,
                                         .gemm = g,
                                         .items = c(1),
                                         .work = c(4096),
                                         .n_depends = 1,
                                         .depends = depends,
                                         .label = "matmul",
                                         .fused = "matmul",
                                         .n_ops = 1};
  list->outputs[0] = (struct tc_output){1, TC_BF16, 2, c(0), {c(10), c(10)}, {c(10), c(1)}};
  list->outputs[1] = (struct tc_output){0, TC_F32, 1, c(5), {c(10)}, {c(2)}};
}

static void write_bytes(struct tc_strbuf *out, const struct tc_launch_list *list) {
  unsigned char code[] = {1, 2, 3, 4, 5, 6, 7};
  const struct tc_blobs blobs = {2, {{code, sizeof code, NULL}, {code, 3, NULL}}};
  tc_strbuf_init(out, tc_alloc_system());
  tc_artifact_write(out, list, &blobs);
  assert_false(out->failed);
}

static void assert_same_text(const struct tc_launch_list *a, const struct tc_launch_list *b) {
  struct tc_strbuf one, other;
  tc_strbuf_init(&one, tc_alloc_system());
  tc_strbuf_init(&other, tc_alloc_system());
  tc_launch_print(&one, a);
  tc_launch_print(&other, b);
  assert_string_equal(tc_strbuf_text(&one), tc_strbuf_text(&other));
  tc_strbuf_free(&one);
  tc_strbuf_free(&other);
}

static tc_status read_damaged(const unsigned char *bytes, size_t size) {
  struct tc_arena *arena = tc_arena_new(tc_alloc_system());
  struct tc_launch_list *list;
  struct tc_blobs blobs;
  const tc_status status = tc_artifact_read(arena, tc_alloc_system(), bytes, size, &list, &blobs, NULL);
  if (!status) tc_blobs_free(&blobs);
  tc_arena_free(arena);
  return status;
}

/* A tile's memory is no one's outside of its entries. */
static void test_tile_slots(void **state) {
  (void)state;
  struct tc_arena *arena = tc_arena_new(tc_alloc_system());
  struct tc_launch_list list;
  make_list(arena, &list);
  list.tiles[0].first = 1, list.tiles[0].count = 1; /* entry 0 touches slot 5 */
  struct tc_strbuf bytes;
  write_bytes(&bytes, &list);
  assert_int_equal(read_damaged((unsigned char *)bytes.data, bytes.len), TC_CORRUPT);
  tc_strbuf_free(&bytes);
  tc_arena_free(arena);
}

/* A list of constants: one product from an input into an output, and a slot of the pool. */
static tc_status read_spans(int64_t pool_bytes, int64_t output_bytes, int64_t k, int64_t result_rows) {
  struct tc_slot slots[] = {{TC_SLOT_INPUT, 0, TC_F32, c(64), c(0)},
                            {TC_SLOT_POOL, 0, TC_F32, c(64), c(64)},
                            {TC_SLOT_OUTPUT, 0, TC_F32, c(64), c(0)}};
  struct tc_launch launch = {
      .kind = TC_LAUNCH_GEMM, .items = c(1), .work = c(512), .label = "matmul", .fused = "matmul"};
  launch.gemm = (struct tc_gemm){.dtype = TC_F32, .m = c(8), .n = c(8), .k = c(k)};
  launch.gemm.a = (struct tc_gemm_operand){0, c(0), c(8), c(1), {c(0)}};
  launch.gemm.b = (struct tc_gemm_operand){1, c(0), c(8), c(1), {c(0)}};
  launch.gemm.c = (struct tc_gemm_operand){2, c(0), c(8), c(1), {c(0)}};
  struct tc_output output = {2, TC_F32, 2, c(0), {c(result_rows), c(8)}, {c(8), c(1)}};
  tc_sym allocated[] = {c(output_bytes)};
  const struct tc_launch_list list = {.n_launches = 1,
                                      .n_slots = 3,
                                      .n_outputs = 1,
                                      .n_allocated = 1,
                                      .n_inputs = 1,
                                      .launches = &launch,
                                      .slots = slots,
                                      .outputs = &output,
                                      .allocated_bytes = allocated,
                                      .pool_bytes = c(pool_bytes)};
  struct tc_strbuf bytes;
  write_bytes(&bytes, &list);
  const tc_status status = read_damaged((unsigned char *)bytes.data, bytes.len);
  tc_strbuf_free(&bytes);
  return status;
}

/* What a list touches lies in the memory it asks for. */
static void test_spans(void **state) {
  (void)state;
  assert_int_equal(read_spans(320, 256, 8, 8), TC_OK);
  assert_int_equal(read_spans(319, 256, 8, 8), TC_CORRUPT);
  assert_int_equal(read_spans(320, 255, 8, 8), TC_CORRUPT);
  assert_int_equal(read_spans(320, 256, 9, 8), TC_CORRUPT);
  assert_int_equal(read_spans(320, 256, -1, 8), TC_CORRUPT);
  assert_int_equal(read_spans(320, 256, 8, 9), TC_CORRUPT);
  assert_int_equal(read_spans(320, 256, 8, 0), TC_OK);
  assert_int_equal(read_spans(320, 256, 8, INT64_MAX / 8), TC_CORRUPT);
}

static void test_round_trip(void **state) {
  (void)state;
  struct tc_arena *arena = tc_arena_new(tc_alloc_system());
  struct tc_launch_list list, *back;
  make_list(arena, &list);
  struct tc_strbuf first, second;
  write_bytes(&first, &list);
  struct tc_blobs blobs;
  struct tc_error err = {0};
  assert_int_equal(
      tc_artifact_read(arena, tc_alloc_system(), (unsigned char *)first.data, first.len, &back, &blobs, &err),
      TC_OK);
  tc_strbuf_init(&second, tc_alloc_system());
  tc_artifact_write(&second, back, &blobs);
  assert_int_equal(first.len, second.len);
  assert_memory_equal(first.data, second.data, first.len);
  assert_string_equal(back->codes[0].symbol, "fused_add_relu");
  assert_int_equal(back->outputs[1].slot, 0);
  assert_string_equal(back->launches[0].fused, "add relu");
  assert_same_text(&list, back);
  assert_int_equal(tc_sym_value(back->launches[1].work), 4096);
  assert_int_equal(tc_sym_hint(back->launches[0].items), 8);
  assert_int_equal(back->n_facts, 1);
  assert_true(back->facts[0].less && !back->facts[0].holds);
  const int64_t even[] = {6}, whole[] = {8};
  assert_true(tc_sym_fact_true(&back->facts[0], even));
  assert_false(tc_sym_fact_true(&back->facts[0], whole));
  tc_blobs_free(&blobs);
  tc_strbuf_free(&first);
  tc_strbuf_free(&second);
  tc_arena_free(arena);
}

static void test_damage(void **state) {
  (void)state;
  struct tc_arena *arena = tc_arena_new(tc_alloc_system());
  struct tc_launch_list list;
  make_list(arena, &list);
  struct tc_strbuf whole;
  write_bytes(&whole, &list);
  for (size_t size = 0; size < whole.len; size++)
    assert_int_equal(read_damaged((unsigned char *)whole.data, size), TC_CORRUPT);
  unsigned char *copy = malloc(whole.len);
  srand(1);
  for (int i = 0; i < N_DAMAGED; i++) {
    memcpy(copy, whole.data, whole.len);
    for (int k = 0; k <= i % 3; k++) copy[(size_t)rand() % whole.len] = (unsigned char)rand();
    (void)read_damaged(copy, whole.len);
  }
  free(copy);
  tc_strbuf_free(&whole);
  tc_arena_free(arena);
}

/* An allocator whose n-th allocation fails. */
struct failing {
  struct tc_alloc alloc;
  int left;
};
static void *failing_resize(void *self, void *block, size_t old_bytes, size_t new_bytes) {
  struct failing *f = self;
  if (new_bytes && f->left-- == 0) return NULL;
  return tc_alloc_system()->resize(NULL, block, old_bytes, new_bytes);
}

static void test_no_memory(void **state) {
  (void)state;
  struct tc_arena *outer = tc_arena_new(tc_alloc_system());
  struct tc_launch_list list;
  make_list(outer, &list);
  struct tc_strbuf whole;
  write_bytes(&whole, &list);
  bool worked = false;
  int failures = 0;
  for (int n = 0; !worked; n++) {
    struct failing f = {{failing_resize, &f}, n};
    struct tc_arena *arena = tc_arena_new(&f.alloc);
    struct tc_launch_list *back;
    struct tc_blobs blobs = {0};
    if (arena)
      worked =
          !tc_artifact_read(arena, &f.alloc, (unsigned char *)whole.data, whole.len, &back, &blobs, NULL);
    failures += !worked;
    f.left = -1;
    tc_blobs_free(&blobs);
    tc_arena_free(arena);
  }
  assert_true(failures > 2);
  tc_strbuf_free(&whole);
  tc_arena_free(outer);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_round_trip), cmocka_unit_test(test_tile_slots),
                                     cmocka_unit_test(test_spans), cmocka_unit_test(test_damage),
                                     cmocka_unit_test(test_no_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
