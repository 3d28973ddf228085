/* Everything from graph to machine code at once: random graphs are lowered, fused, generated, loaded and
 * run, and compared with a reference in doubles. The interpreter's twin is tests/ir/test_lower.c: what
 * passes there and fails here is the generator's or the runner's fault. */
#include "tests/ir/random_graph.h"

#include "codegen/emit.h"
#include "device/device.h"

enum { THREADS = 2, FIRST_SEED = 1000, GRAPHS = 60 };

static struct tc_device *device;
static int open_device(void **state) {
  struct tc_error err;
  (void)state;
  return tc_device_cpu_open(tc_alloc_system(), "auto", THREADS, &device, &err) != TC_OK;
}
static int close_device(void **state) {
  (void)state;
  device->methods->close(device);
  return 0;
}

/* The entry point of each code, wherever it was loaded. */
static bool find_codes(const struct tc_launch_list *list, struct tc_loaded *const *loaded, int n_loaded, tc_cpu_kernel *codes) {
  for (int i = 0; i < list->n_codes; i++) {
    codes[i] = NULL;
    for (int k = 0; k < n_loaded && !codes[i]; k++) codes[i] = device->methods->symbol(loaded[k], list->codes[i].symbol);
    if (!codes[i]) return false;
  }
  return true;
}

static tc_status run_compiled(const struct tc_interpreted_run *given, struct tc_error *err) {
  static const struct tc_codegen *const codegens[] = {&tc_codegen_llvm, NULL};
  struct tc_launch_list list = *given->list;
  struct tc_config config;
  struct tc_blobs blobs = {0};
  struct tc_loaded *loaded[TC_MAX_MODULES] = {0};
  int n_loaded = 0;
  tc_config_default(&config);
  tc_status status = tc_emit_kernels(tc_alloc_system(), codegens, &device->target, &config, &list, &blobs, NULL, err);
  for (; status == TC_OK && n_loaded < blobs.count; n_loaded += status == TC_OK)
    status = device->methods->load(device, &blobs.blob[n_loaded], &loaded[n_loaded], err);
  tc_cpu_kernel *codes = calloc((size_t)list.n_codes + 1, sizeof *codes);
  if (status == TC_OK && !find_codes(&list, loaded, n_loaded, codes)) status = tc_fail(err, TC_CODEGEN, "test", "a kernel is missing from its blob");
  const struct tc_run run = {.list = &list, .inputs = given->inputs, .outputs = given->outputs, .pool = given->pool, .sizes = given->sizes,
                             .codes = codes, .status = given->status, .rng = {given->rng[0], given->rng[1]}};
  if (status == TC_OK) status = device->methods->run(device, &run, err);
  free(codes);
  for (int i = 0; i < n_loaded; i++) device->methods->unload(device, loaded[i]);
  tc_blobs_free(&blobs);
  return status;
}

static void run_graphs(tc_dtype dtype, double scale) {
  lowered_run = run_compiled;
  for (uint64_t seed = FIRST_SEED; seed < FIRST_SEED + GRAPHS; seed++) {
    struct lowered l = {.arena = tc_arena_new(tc_alloc_system())};
    lower_graph(&l, random_graph(l.arena, seed, dtype), true);
    run_and_compare(&l, 1, scale);
    tc_arena_free(l.arena);
  }
}

static void test_f64(void **state) {
  (void)state;
  run_graphs(TC_F64, 1e3);
}
static void test_f32(void **state) {
  (void)state;
  run_graphs(TC_F32, 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_f64), cmocka_unit_test(test_f32)};
  return cmocka_run_group_tests(tests, open_device, close_device);
}
