/* Entries that run tile by tile: which ones do, what stays in a thread's memory, and the results, against the
 * reference. */
#include "tests/compiler/device/compiled_run.h"

/* Tiles are made where they keep more than the second cache in it. */
enum { TINY_CACHE = 64 };

#define ATTENTION                                                                                            \
  "graph {\n v0 = input [0] : f32[3, 2, 37, 8] strides [592, 296, 8, 1]\n v1 = input [1] : f32[3, 2, 8, "    \
  "21] strides [336, 168, 21, 1]\n"                                                                          \
  " v2 = input [2] : f32[3, 2, 21, 5] strides [210, 105, 5, 1]\n v3 = matmul v0 v1 : f32[3, 2, 37, 21]\n"    \
  " v4 = softmax v3 [3] : f32[3, 2, 37, 21]\n v5 = matmul v4 v2 : f32[3, 2, 37, 5]\n"

static struct lowered lower_tiled(const char *text, int64_t cache) {
  const int64_t kept = lowered_target.l2_bytes;
  lowered_target.l2_bytes = cache;
  struct lowered l = lower_text(text, true);
  lowered_target.l2_bytes = kept;
  return l;
}

static int count_slots(const struct lowered *l, enum tc_slot_kind kind) {
  int count = 0;
  for (int i = 0; i < l->list->n_slots; i++) count += l->list->slots[i].kind == kind;
  return count;
}

/* Both runners; the interpreter has no tiles. */
static void run_both(const struct lowered *l, double scale) {
  run_and_compare(l, 2, scale);
  lowered_run = run_compiled;
  run_and_compare(l, 1, scale);
  lowered_run = interpret;
}

static void test_attention(void **state) {
  (void)state;
  struct lowered l = lower_tiled(ATTENTION " return v5\n}\n", TINY_CACHE);
  assert_int_equal(l.list->n_tiles, 1);
  const struct tc_tiles *t = &l.list->tiles[0];
  assert_int_equal(t->first, 0);
  assert_int_equal(t->count, 3);
  assert_true(tc_sym_is(t->batches, 6) && tc_sym_is(t->rows, 37));
  assert_int_equal(t->step, 16);
  assert_true(tc_sym_is(l.list->pool_bytes, 0));
  /* Softmax writes over the scores. */
  assert_int_equal(count_slots(&l, TC_SLOT_TILE), 2);
  assert_true(tc_sym_is(t->bytes, (16 * 21 * 4 + 63) / 64 * 64));
  run_both(&l, 10);
  tc_arena_free(l.arena);
}

static void test_small_ones_run_whole(void **state) {
  (void)state;
  struct lowered l = lower_tiled(ATTENTION " return v5\n}\n", 1 << 20);
  assert_int_equal(l.list->n_tiles, 0);
  assert_int_equal(count_slots(&l, TC_SLOT_TILE), 0);
  run_both(&l, 10);
  tc_arena_free(l.arena);
}

/* The same graph as test_attention's, with the switch off: entries run one after the other, with the scores
 * in memory. */
static void test_switched_off(void **state) {
  (void)state;
  const int64_t kept = lowered_target.l2_bytes;
  lowered_target.l2_bytes = TINY_CACHE;
  struct lowered l = lower_switched(ATTENTION " return v5\n}\n", "tile", "off");
  lowered_target.l2_bytes = kept;
  assert_int_equal(l.list->n_tiles, 0);
  assert_int_equal(count_slots(&l, TC_SLOT_TILE), 0);
  assert_true(tc_sym_value(l.list->pool_bytes) > 0);
  run_both(&l, 10);
  tc_arena_free(l.arena);
}

/* The weights are a result too: they have memory, and are still handed over row by row. */
static void test_weights_returned(void **state) {
  (void)state;
  struct lowered l = lower_tiled(ATTENTION " return v4 v5\n}\n", TINY_CACHE);
  assert_int_equal(l.list->n_tiles, 1);
  assert_int_equal(l.list->tiles[0].count, 3);
  assert_int_equal(count_slots(&l, TC_SLOT_TILE), 1);
  run_both(&l, 10);
  tc_arena_free(l.arena);
}

/* What the second product reads whole was written by the kernel before it: those two cannot share tiles. */
static void test_right_operand_is_whole(void **state) {
  (void)state;
  struct lowered l = lower_tiled("graph {\n v0 = input [0] : f32[6, 32, 8] strides [256, 8, 1]\n v1 = input "
                                 "[1] : f32[6, 8, 32] strides [256, 32, 1]\n"
                                 " v2 = input [2] : f32[6, 32, 32] strides [1024, 32, 1]\n v3 = matmul v0 v1 "
                                 ": f32[6, 32, 32]\n v4 = softmax v3 [2] : f32[6, 32, 32]\n"
                                 " v5 = matmul v2 v4 : f32[6, 32, 32]\n return v5\n}\n",
                                 TINY_CACHE);
  assert_int_equal(l.list->n_tiles, 1);
  assert_int_equal(l.list->tiles[0].count, 2);
  assert_int_equal(count_slots(&l, TC_SLOT_TILE), 1);
  run_both(&l, 10);
  tc_arena_free(l.arena);
}

/* Rows of the kernel are columns of the product: nothing is handed over row by row. */
static void test_columns_do_not_join(void **state) {
  (void)state;
  struct lowered l = lower_tiled("graph {\n v0 = input [0] : f32[6, 32, 8] strides [256, 8, 1]\n v1 = input "
                                 "[1] : f32[6, 8, 32] strides [256, 32, 1]\n"
                                 " v2 = input [2] : f32[6, 32, 8] strides [256, 8, 1]\n v3 = matmul v0 v1 : "
                                 "f32[6, 32, 32]\n v4 = softmax v3 [1] : f32[6, 32, 32]\n"
                                 " v5 = matmul v4 v2 : f32[6, 32, 8]\n return v5\n}\n",
                                 TINY_CACHE);
  for (int i = 0; i < l.list->n_tiles; i++) assert_true(l.list->tiles[i].first > 0);
  run_both(&l, 10);
  tc_arena_free(l.arena);
}

/* Pointwise work between products, masks that are read by all tiles, and a second pair of products behind. */
static void test_pointwise_and_a_second_region(void **state) {
  (void)state;
  struct lowered l = lower_tiled(
      "graph {\n v0 = input [0] : f32[6, 48, 8] strides [384, 8, 1]\n v1 = input [1] : f32[6, 8, 48] strides "
      "[384, 48, 1]\n"
      " v2 = input [2] : f32[48, 48] strides [48, 1]\n v3 = input [3] : f32[6, 48, 9] strides [432, 9, 1]\n"
      " v4 = matmul v0 v1 : f32[6, 48, 48]\n v5 = add v4 v2 : f32[6, 48, 48]\n v6 = relu v5 : f32[6, 48, "
      "48]\n v7 = matmul v6 v3 : f32[6, 48, 9]\n"
      " v8 = permute v7 [0, 2, 1] : f32[6, 9, 48]\n v9 = matmul v8 v3 : f32[6, 9, 9]\n v10 = softmax v9 [2] "
      ": f32[6, 9, 9]\n return v10\n}\n",
      TINY_CACHE);
  assert_true(l.list->n_tiles >= 1);
  run_both(&l, 100);
  tc_arena_free(l.arena);
}

/* A kernel that reads a part of the product, element by element, has other rows than the product. */
static void test_prefix_does_not_join(void **state) {
  (void)state;
  struct lowered l = lower_tiled("graph {\n v0 = input [0] : f32[16, 32, 8] strides [256, 8, 1]\n v1 = input "
                                 "[1] : f32[16, 8, 32] strides [256, 32, 1]\n"
                                 " v2 = matmul v0 v1 : f32[16, 32, 32]\n v3 = slice v2 [0, 0, 8, 1] : f32[8, "
                                 "32, 32]\n v4 = relu v3 : f32[8, 32, 32]\n return v4\n}\n",
                                 TINY_CACHE);
  assert_int_equal(l.list->n_tiles, 0);
  run_both(&l, 10);
  tc_arena_free(l.arena);
}

static void test_times(void **state) {
  (void)state;
  struct lowered l = lower_tiled(ATTENTION " return v5\n}\n", TINY_CACHE);
  lowered_run = time_compiled;
  run_and_compare(&l, 1, 10);
  lowered_run = interpret;
  for (int i = 0; i < l.list->n_launches; i++) assert_true(timed_ns[i] > 0);
  tc_arena_free(l.arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_attention),
      cmocka_unit_test(test_small_ones_run_whole),
      cmocka_unit_test(test_weights_returned),
      cmocka_unit_test(test_right_operand_is_whole),
      cmocka_unit_test(test_columns_do_not_join),
      cmocka_unit_test(test_pointwise_and_a_second_region),
      cmocka_unit_test(test_prefix_does_not_join),
      cmocka_unit_test(test_switched_off),
      cmocka_unit_test(test_times),
  };
  return cmocka_run_group_tests(tests, open_device, close_device);
}
