/* Fuel: the first so many optional transformations are made, whatever the limit; and with any limits results
 * are right. */
#include "tests/compiler/ir/random_graph.h"

#include "base/fuel.h"

static const double scale_f64 = 1e3;

static int64_t *limit_of(struct tc_config *config, int kind) {
  int64_t *const limits[] = {
#define TC_FUEL(name, unit, where) &config->fuel_##name,
#include "base/fuel.def"
#undef TC_FUEL
  };
  return limits[kind];
}

static struct tc_config verifying(void) {
  struct tc_config config;
  tc_config_default(&config);
  config.verify = true;
  return config;
}

static struct lowered lower_random(uint64_t seed, const struct tc_config *config) {
  struct lowered l = {.arena = tc_arena_new(tc_alloc_system())};
  lower_with(&l, random_graph(l.arena, seed, TC_F64), config);
  return l;
}

static char *text_of(const struct lowered *l) {
  struct tc_strbuf text;
  tc_strbuf_init(&text, tc_alloc_system());
  tc_launch_print(&text, l->list);
  char *copy = strdup(tc_strbuf_text(&text));
  tc_strbuf_free(&text);
  return copy;
}

static void test_any_limits_are_right(void **state) {
  (void)state;
  enum { GRAPHS = 600, MOST = 12 };
  for (uint64_t seed = 1; seed <= GRAPHS; seed++) {
    struct tc_config config = verifying();
    for (int kind = 0; kind < TC_FUEL_COUNT; kind++)
      if (random_word() & 1) *limit_of(&config, kind) = random_below(MOST);
    struct lowered l = lower_random(seed, &config);
    run_and_compare(&l, 1, scale_f64);
    tc_arena_free(l.arena);
  }
}

static void test_none_is_right(void **state) {
  (void)state;
  enum { FIRST = 500, GRAPHS = 60 };
  struct tc_config config = verifying();
  for (int kind = 0; kind < TC_FUEL_COUNT; kind++) *limit_of(&config, kind) = 0;
  for (uint64_t seed = FIRST; seed < FIRST + GRAPHS; seed++) {
    struct lowered l = lower_random(seed, &config);
    for (int kind = 0; kind < TC_FUEL_COUNT; kind++) assert_int_equal(l.list->fuel->spent[kind], 0);
    run_and_compare(&l, 2, scale_f64);
    tc_arena_free(l.arena);
  }
}

/* With fewer than there are of a kind, as many as the limit says are made, and the last one is told. */
static void check_limit(uint64_t seed, int kind, int64_t limit) {
  struct tc_config config = verifying();
  *limit_of(&config, kind) = limit;
  struct lowered l = lower_random(seed, &config);
  assert_int_equal(l.list->fuel->spent[kind], limit);
  assert_int_equal(l.list->fuel->last[kind] != NULL, limit > 0);
  tc_arena_free(l.arena);
}

static void test_counts_and_limits(void **state) {
  (void)state;
  enum { GRAPHS = 40 };
  int64_t reached[TC_FUEL_COUNT] = {0};
  for (uint64_t seed = 1; seed <= GRAPHS; seed++) {
    struct tc_config config = verifying();
    struct lowered whole = lower_random(seed, &config);
    char *expected = text_of(&whole);
    for (int kind = 0; kind < TC_FUEL_COUNT; kind++) {
      const int64_t all = whole.list->fuel->spent[kind];
      reached[kind] += all;
      assert_null(whole.list->fuel->last[kind]);
      for (int64_t limit = 0; limit < all; limit += 1 + all / 4) check_limit(seed, kind, limit);
      *limit_of(&config, kind) = all; /* enough: nothing changes */
    }
    struct lowered same = lower_random(seed, &config);
    char *got = text_of(&same);
    assert_string_equal(got, expected);
    free(got);
    free(expected);
    tc_arena_free(whole.arena);
    tc_arena_free(same.arena);
  }
  assert_true(reached[TC_FUEL_fuse] && reached[TC_FUEL_inline] && reached[TC_FUEL_kernels] &&
              reached[TC_FUEL_dims] && reached[TC_FUEL_code] && reached[TC_FUEL_reuse]);
}

/* Kernels beyond the limit come apart; those before it stay. */
static void test_kernels_come_apart(void **state) {
  (void)state;
  static const char text[] =
      "graph {\n  v0 = input [0] : f32[64, 32] strides [32, 1]\n  v1 = input [1] : f32[16, 8] strides [8, "
      "1]\n"
      "  v2 = exp v0 : f32[64, 32]\n  v3 = sum v2 [1, 1] : f32[64, 1]\n  v4 = div v2 v3 : f32[64, 32]\n"
      "  v5 = exp v1 : f32[16, 8]\n  v6 = sum v5 [1, 1] : f32[16, 1]\n  v7 = div v5 v6 : f32[16, 8]\n  "
      "return v4 v7\n}\n";
  int kernels[3];
  for (int limit = 0; limit < 3; limit++) {
    struct lowered l = {.arena = tc_arena_new(tc_alloc_system())};
    struct tc_config config = verifying();
    struct tc_graph *g = NULL;
    struct tc_error err = {0};
    config.fuel_kernels = limit;
    LOWERED_OK(tc_graph_parse(l.arena, text, &g, &err), err);
    lower_with(&l, g, &config);
    run_and_compare(&l, 1, 1);
    kernels[limit] = count_launches(l.list, TC_LAUNCH_KERNEL);
    tc_arena_free(l.arena);
  }
  assert_int_equal(kernels[2], 2);
  assert_true(kernels[0] > kernels[1] && kernels[1] > kernels[2]);
}

static int count_streams(const struct lowered *l) {
  const struct tc_kernel *k = l->list->codes[0].kernel;
  int streams = 0;
  for (int i = 0; i < k->n_buffers; i++) streams += k->buffers[i].stream;
  return streams;
}

static void test_streams(void **state) {
  (void)state;
  static const char text[] = "graph {\n  v0 = input [0] : f32[256, 64] strides [64, 1]\n  v1 = exp v0 : "
                             "f32[256, 64]\n  return v1\n}\n";
  const struct tc_target whole = lowered_target;
  lowered_target.l2_bytes = lowered_target.l3_bytes = 1 << 12;
  for (int limit = 0; limit < 2; limit++) {
    struct lowered l = {.arena = tc_arena_new(tc_alloc_system())};
    struct tc_config config = verifying();
    struct tc_graph *g = NULL;
    struct tc_error err = {0};
    config.fuel_stream = limit;
    LOWERED_OK(tc_graph_parse(l.arena, text, &g, &err), err);
    lower_with(&l, g, &config);
    assert_int_equal(count_streams(&l), limit);
    tc_arena_free(l.arena);
  }
  struct lowered off = lower_switched(text, "stream_stores", "off");
  assert_int_equal(count_streams(&off), 0);
  tc_arena_free(off.arena);
  lowered_target = whole;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_any_limits_are_right),
      cmocka_unit_test(test_none_is_right),
      cmocka_unit_test(test_counts_and_limits),
      cmocka_unit_test(test_kernels_come_apart),
      cmocka_unit_test(test_streams),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
