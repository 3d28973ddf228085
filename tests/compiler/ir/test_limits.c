/* What cannot be compiled is refused with the status that says why: sizes that overflow are a limit, and
 * memory that is out is told as that, at whichever allocation. */
#include "tests/compiler/ir/lowered.h"

/* `way`: of every matrix product. */
static tc_status compile(struct tc_arena *arena, const char *text, enum tc_product way,
                         struct tc_error *err) {
  struct tc_graph *g = NULL;
  struct tc_loops *loops;
  struct tc_launch_list *list;
  struct tc_config config;
  tc_config_default(&config);
  tc_status status = tc_graph_parse(arena, text, &g, err);
  if (!status) status = tc_decompose(g, &config, &g, err);
  for (size_t i = 0; !status && i < g->nodes.len; i++) g->nodes.data[i]->product = way;
  if (!status) status = tc_lower(g, &config, &loops, err);
  if (!status) status = tc_schedule(g, loops, &lowered_target, &config, &list, err);
  return status;
}

/* 2^60 elements are a size; the bytes that they take are none. */
static void test_overflow(void **state) {
  struct tc_arena *arena = tc_arena_new(tc_alloc_system());
  struct tc_error err = {0};
  (void)state;
  assert_int_equal(compile(arena,
                           "graph {\n v0 = input [0] : f32[1, 1]\n v1 = expand v0 [1073741824, 1073741824]\n "
                           "v2 = relu v1\n return v2\n}\n",
                           TC_PRODUCT_library, &err),
                   TC_LIMIT);
  assert_string_equal(err.stage, "schedule");
  assert_non_null(strstr(err.message, "62 bits"));
  assert_false(tc_arena_failed(arena));
  tc_arena_free(arena);
}

struct starving {
  struct tc_alloc alloc;
  int left;
};
static void *starving_resize(void *self, void *block, size_t old_bytes, size_t new_bytes) {
  struct starving *s = self;
  if (new_bytes && s->left-- == 0) return NULL;
  return tc_alloc_system()->resize(tc_alloc_system()->self, block, old_bytes, new_bytes);
}

/* Attention-like: products, a softmax (several passes), reshapes, a gather: what every part of scheduling
 * meets. */
static const char everything[] = "graph {\n"
                                 "  v0 = input [0] : f32[4, 64, 32] strides [2048, 32, 1]\n"
                                 "  v1 = input [1] : i64[3] strides [1]\n"
                                 "  v2 = permute v0 [0, 2, 1]\n"
                                 "  v3 = matmul v0 v2\n"
                                 "  v4 = softmax v3 [2]\n"
                                 "  v5 = matmul v4 v0\n"
                                 "  v6 = reshape v5 [4, 32, 64]\n"
                                 "  v7 = tanh v6\n"
                                 "  v8 = sum v7 [0, 0, 1, 2]\n"
                                 "  v9 = index_select v7 v1 [0]\n"
                                 "  v10 = exp v9\n"
                                 "  return v8 v10 v7\n"
                                 "}\n";

/* It takes at least so many blocks of memory: an arena's grow, so these are few. */
static void run_out(enum tc_product way, int blocks) {
  enum { MORE_THAN_IT_MAKES = 1000 };
  for (int n = 1;; n++) {
    assert_true(n < MORE_THAN_IT_MAKES);
    struct starving s = {.left = n};
    struct tc_error err = {0};
    s.alloc = (struct tc_alloc){starving_resize, &s};
    struct tc_arena *arena = tc_arena_new(&s.alloc);
    const tc_status status = compile(arena, everything, way, &err);
    tc_arena_free(arena);
    if (status == TC_OK) {
      assert_true(n > blocks);
      break;
    }
    assert_int_equal(status, TC_NOMEM);
  }
}

static void test_memory_runs_out(void **state) {
  (void)state;
  run_out(TC_PRODUCT_library, 5);
  run_out(TC_PRODUCT_tile_4x2, 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_overflow), cmocka_unit_test(test_memory_runs_out)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
